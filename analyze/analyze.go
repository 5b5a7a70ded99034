package analyze

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"overrun/ingest"
)

// Options steer an analysis. The zero value knows no policy and no deadline,
// moves no clock by more than DefaultMaxSkew, and uses one worker a processor.
type Options struct {
	Policy   *Policy       // nil: none
	Deadline time.Duration // for top requests, from their start; 0: none
	MaxSkew  time.Duration // the most a clock is moved; 0: DefaultMaxSkew; negative: none is moved
	Workers  int           // goroutines; 0: one a processor. The result does not depend on it
	Pick     Pick          // which requests count
}

// A Pick says which requests count, with the calls they make. The zero value
// picks all. What a request inherits from its callers it inherits all the same.
type Pick struct {
	Since, Until int64  // start of the request in [Since, Until), Unix nanoseconds; 0: no bound
	Service      string // glob; "": any
	Route        string // glob; "": any
}

// picks reports whether a request counts.
func (p *Pick) picks(r *request) bool {
	return (p.Since == 0 || r.start >= p.Since) && (p.Until == 0 || r.start < p.Until) &&
		(p.Service == "" || glob(p.Service, r.service)) && (p.Route == "" || glob(p.Route, r.route))
}

// DefaultMaxSkew is the most that a clock is moved where nobody says otherwise.
const DefaultMaxSkew = time.Minute

// An Analysis holds the report, and the tables over all requests that it rests
// on.
type Analysis struct {
	Report Report

	opts       Options
	tables     *tables
	deps       []*depTable // by index; the report sorts them by name
	depOf      map[dependency]int32
	operations map[[2]string]int // operations told apart, by caller and callee
	callees    callees
	routes     []*routeTable
	routeOf    map[routeKey]*routeTable
	requests   []*request
	links      map[linkTo][]phaseTime // connection setups of .NET
	rec        *recogniser            // of Views
}

// Run analyses a dump. It reads every trace by itself first (requests, calls,
// paths, deadlines), then all together (minimums, usual calls, reserves,
// ceilings), and decides last what rests on both (timeouts, findings).
func Run(dump *ingest.Dump, o Options) *Analysis {
	a := &Analysis{opts: o, tables: o.Policy.tables(), depOf: map[dependency]int32{}, routeOf: map[routeKey]*routeTable{},
		operations: map[[2]string]int{}, callees: callees{map[[2]string]naming{}, map[dependency]naming{}}}
	a.rec = newRecogniser(a.tables)
	a.links = setups(dump.Traces, a.tables)
	parts := takeApart(dump.Traces, &a.opts, a.tables, a.links)
	for i := range parts {
		for _, r := range parts[i].requests {
			a.callees.meet(r)
		}
	}
	for i := range parts {
		for _, r := range parts[i].requests {
			a.learn(r)
		}
		a.requests = append(a.requests, parts[i].requests...)
	}
	a.setMinimums()
	chains := make([]chain, len(a.requests))
	for i, r := range a.requests {
		if r.table == nil {
			continue
		}
		chains[i] = a.plan(r)
		a.leaveCaps(r)
	}
	a.setCeilings()
	a.setPatterns()
	s := newSummary(a)
	for i, r := range a.requests {
		a.decide(r, chains[i])
		s.add(r)
	}
	a.Report = s.report(dump, parts)
	return a
}

// each gives visit every picked request, in an order that depends on the data
// alone. A request, and all that it points to but strings, is valid during the
// visit only: copy what is to stay.
func (a *Analysis) each(visit func(r *request)) {
	for _, r := range a.requests {
		visit(r)
	}
}

// A harvest is what one trace yields.
type harvest struct {
	requests []*request
	moved    time.Duration // the farthest that a clock was moved; 0: none
	notes    []Note        // of the analysis; Count is 1
}

// takeApart analyses traces one by one, on several goroutines.
func takeApart(traces []*ingest.Trace, o *Options, by *tables, links map[linkTo][]phaseTime) []harvest {
	parts := make([]harvest, len(traces))
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	const batch = 64 // traces a worker takes at a time
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, len(traces)/batch+1) {
		wg.Go(func() {
			rec := newRecogniser(by)
			for {
				from := int(next.Add(batch)) - batch
				if from >= len(traces) {
					return
				}
				for i := from; i < min(from+batch, len(traces)); i++ {
					parts[i] = newTraced(traces[i], o, rec, links).harvest(&o.Pick)
				}
			}
		})
	}
	wg.Wait()
	return parts
}

func (t *traced) harvest(pick *Pick) harvest {
	p := harvest{requests: slices.DeleteFunc(slices.Clone(t.requests), func(r *request) bool { return !pick.picks(r) })}
	for _, m := range t.moved {
		if !m.beyond {
			p.moved = max(p.moved, m.amount, -m.amount)
		}
	}
	for _, n := range t.notes {
		s := &t.Spans[n.node]
		trace, span := t.ID, s.ID
		p.notes = append(p.notes, Note{Code: n.code, Count: 1, Example: Place{s.File, s.Position, &trace, &span}})
	}
	return p
}

// learn adds a request to the tables of its route and its dependencies.
func (a *Analysis) learn(r *request) {
	for k := range r.calls {
		c := &r.calls[k]
		c.dep = a.dependencyOf(c)
		a.deps[c.dep].learn(r, k)
	}
	if r.loose() || r.broken {
		return
	}
	key := routeKey{r.service, r.route}
	t := a.routeOf[key]
	if t == nil {
		t = &routeTable{key: key, index: map[routeNode]int32{}, gaps: map[[2]int32]*Sample{},
			gap: map[[2]int32]time.Duration{}, caps: map[int32][]time.Duration{}}
		a.routeOf[key] = t
		a.routes = append(a.routes, t)
	}
	r.table = t
	t.learn(r)
}

// setMinimums decides what the reserves rest on: minimums, tails and the own
// work between calls.
func (a *Analysis) setMinimums() {
	for _, d := range a.deps {
		d.minimum = d.latency.Point(P50)
		d.minimumInForce = d.minimum
		if d.rule != nil && d.rule.Minimum != nil {
			d.minimumInForce = d.rule.Minimum
		}
	}
	for _, t := range a.routes {
		if p := t.tails.Point(P99); p != nil {
			t.tail, t.tailKnown = *p, true
		}
		if rule := a.opts.Policy.DeadlineFor(t.key.service, t.key.route); rule != nil && rule.Reserve != nil {
			t.tail, t.tailKnown = *rule.Reserve, true
		}
		for pair, gaps := range t.gaps {
			t.gap[pair] = *gaps.Point(P50)
		}
	}
}

// weight is what a call ahead adds to a reserve: the minimum of a required
// dependency, where it is known.
func (a *Analysis) weight(dep int32) time.Duration {
	if d := a.deps[dep]; d.required && d.minimumInForce != nil {
		return *d.minimumInForce
	}
	return 0
}

// leaveCaps notes what the deadline of a request leaves its calls.
func (a *Analysis) leaveCaps(r *request) {
	if r.deadline == nil {
		return
	}
	tightest := map[int32]time.Duration{}
	for _, c := range r.awaitedCalls() {
		left := r.deadline.budget - c.reserve - c.before
		if t, ok := tightest[c.dep]; !ok || left < t {
			tightest[c.dep] = left
		}
	}
	for dep, left := range tightest {
		r.table.caps[dep] = append(r.table.caps[dep], left)
	}
}
