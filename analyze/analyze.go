package analyze

import (
	"cmp"
	"context"
	"errors"
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
	SplitBy  string        // attribute of entry spans, else of their resources, by whose values rows are told apart; "": none
	Memory   int64         // bytes that the run may use, of which requests take their part; 0: any number
	Temp     string        // folder for what does not fit; "": the system's
	Reread   bool          // RunStore: the store keeps its spans
	Hints    bool          // a dependency that no rule of the policy is about is optional where the traces hint at it; false: it is required
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
	languages  languages
	arrival    arrival
	routes     []*routeTable
	routeOf    map[routeKey]*routeTable
	links      map[linkTo][]phaseTime // connection setups of .NET
	rec        *recogniser            // of Views

	spooler *ingest.Spooler
	stored  []*ingest.Spool // traces with their requests, in the order of ingest.Order; those of Run in that of the dump
	run     bool            // made by Run
	crop    *crop           // of the input; without what the stored traces say
	symbols *symbols
	byPeer  []int32       // dependencies by number of symbols.peers; -1: not known yet
	byRoute []*routeTable // by number of symbols.routes; nil: not known yet
	err     error         // of reading requests back
}

// Run analyses a dump. It reads every trace by itself first (requests, calls,
// paths, deadlines), then all together (minimums, usual calls, reserves,
// ceilings), and decides last what rests on both (timeouts, findings).
func Run(dump *ingest.Dump, o Options) *Analysis {
	o.Memory = 0
	a, _ := run(context.Background(), dumped(dump), o) // nothing is read back, and nothing ends it
	a.run = true
	return a
}

// RunStore analyses the traces of a store, which gives up its spans on the way
// unless o.Reread is set. It fails if what was spilled cannot be read back, if
// requests cannot be spilled, or if ctx ended. Close the Analysis.
func RunStore(ctx context.Context, s *ingest.Store, o Options) (*Analysis, error) {
	return run(ctx, stocked(s, !o.Reread), o)
}

// Close gives up the stored requests.
func (a *Analysis) Close() error {
	for _, s := range a.stored {
		s.Drop()
	}
	return a.spooler.Close()
}

func run(ctx context.Context, from *source, o Options) (*Analysis, error) {
	a := newAnalysis(o)
	stored, crop, err := a.reap(ctx, from)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.stored, a.crop = stored, crop
	return a.finish(ctx)
}

func newAnalysis(o Options) *Analysis {
	a := &Analysis{opts: o, tables: o.Policy.tables(), depOf: map[dependency]int32{}, routeOf: map[routeKey]*routeTable{},
		operations: map[[2]string]int{}, callees: newCallees(), languages: languages{}, spooler: ingest.NewSpooler(o.Memory/8, o.Temp), symbols: newSymbols()}
	a.rec = newRecogniser(a.tables)
	return a
}

// reap analyses every trace of a source by itself.
func (a *Analysis) reap(ctx context.Context, from *source) (stored []*ingest.Spool, c *crop, err error) {
	if a.links, err = setups(ctx, from, a.tables); err != nil {
		return nil, nil, err
	}
	return a.harvest(ctx, from)
}

// finish makes the report of what is stored.
func (a *Analysis) finish(ctx context.Context) (*Analysis, error) {
	a.meetCallees()
	crop := *a.crop
	crop.notes = ingest.Notes{}
	for _, n := range a.crop.notes.List() {
		crop.notes.Merge(n)
	}
	a.visit(crop.look, a.learn)
	a.setMinimums()
	var ch chain
	a.each(func(r *request) { a.survey(r, &ch) })
	a.setCeilings()
	a.setPatterns()
	s := newSummary(a)
	a.each(func(r *request) {
		a.chainOf(r, &ch)
		a.decide(r, &ch)
		s.add(r)
	})
	if err := cmp.Or(a.err, ctx.Err()); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.Report = s.report(&crop)
	return a, nil
}

// meetCallees learns whom calls go to from the calls of the requests that count.
func (a *Analysis) meetCallees() {
	peers := a.symbols.peers
	all := a.opts.Pick == Pick{}
	called := make([]bool, len(peers))
	if !all {
		d := newRequestReader(a.symbols)
		var rooms roomList
		a.err = a.traces(func(b []byte) error {
			_, list := rooms.read(d, b)
			for _, r := range list {
				for k := range r.calls {
					called[r.calls[k].peer] = called[r.calls[k].peer] || a.opts.Pick.picks(r)
				}
			}
			return nil
		})
	}
	for i := range peers {
		if all || called[i] {
			a.callees.meet(&peers[i])
		}
	}
}

// each gives visit every picked request, in an order that depends on the data
// alone. A request, and all that it points to but strings, is valid during the
// visit only: copy what is to stay. Where requests cannot be read back, a.err
// says why.
func (a *Analysis) each(visit func(r *request)) { a.visit(func(*heading) {}, visit) }

// visit is each, with the headings of traces before their requests.
func (a *Analysis) visit(head func(h *heading), visit func(r *request)) {
	d := newRequestReader(a.symbols)
	picked := a.opts.Pick == Pick{}
	for len(a.byPeer) < len(a.symbols.peers) {
		a.byPeer = append(a.byPeer, -1)
	}
	for len(a.byRoute) < len(a.symbols.routes) {
		a.byRoute = append(a.byRoute, nil)
	}
	for _, s := range a.stored {
		err := s.Blocks(func(b []byte) error {
			for d.b = b; len(d.b) > 0; {
				d.b = d.b[sizeBytes:]
				h := d.heading()
				head(&h)
				for range h.requests {
					if r := d.next(h.id); picked || a.opts.Pick.picks(r) {
						a.ready(r, &h)
						visit(r)
					}
				}
			}
			return nil
		})
		if err != nil && a.err == nil {
			a.err = err
		}
	}
}

// ready makes a stored request one that can be visited. Where its trace came in pieces
// that were torn apart within requests, none of them is known to be whole: all are
// fragments.
func (a *Analysis) ready(r *request, h *heading) {
	if h.apart && h.torn && r.role != guest {
		r.role, r.deadline, r.timedOut, r.lost = fragment, nil, false, false
		r.work = nil
	}
	r.cutAtDeadline()
	for k := range r.work {
		if r.work[k].to != (dependency{}) {
			r.work[k].to.split = r.split
		}
	}
	for k := range r.calls {
		a.place(&r.calls[k])
	}
	if !r.loose() && !r.broken {
		r.table = a.byRoute[r.number]
		if r.table != nil && r.table.key == restRoute {
			r.service, r.route, r.split = restOf, restOf, ""
		}
	}
}

// place gives a call the dependency that it is a call to.
func (a *Analysis) place(c *call) {
	dep := &a.byPeer[c.peer]
	if *dep < 0 {
		*dep = a.dependencyOf(c)
	}
	c.dep, c.to = *dep, a.deps[*dep].name
}

// learn adds a request to the tables of its route and its dependencies.
func (a *Analysis) learn(r *request) {
	for k := range r.calls {
		a.deps[r.calls[k].dep].learn(r, k)
	}
	a.arrival.learn(r)
	if r.loose() || r.broken {
		return
	}
	if r.table == nil {
		r.table = a.tableOf(r)
	}
	r.table.learn(r)
}

// survey adds to the tables what rests on minimums and reserves.
func (a *Analysis) survey(r *request, ch *chain) {
	for k := range r.calls {
		a.deps[r.calls[k].dep].survey(r, k)
	}
	if r.table != nil && r.deadline != nil {
		a.plan(r, ch)
		a.leaveCaps(r, ch)
		r.table.group.survey(r, r.table.median)
	}
}

// chainOf is the plan of a request with a deadline. Without one there is nothing to
// plan for.
func (a *Analysis) chainOf(r *request, ch *chain) {
	if r.table != nil && r.deadline != nil {
		a.plan(r, ch)
		return
	}
	ch.value, ch.absent = ch.value[:0], ch.absent[:0]
}

// setMinimums decides what the reserves rest on: minimums, tails and the own
// work between calls.
func (a *Analysis) setMinimums() {
	for _, d := range a.deps {
		if a.opts.Hints && d.rule == nil && hintOf(d.hint) == hintOptional {
			d.required, d.falseTimeouts = false, FalseTimeoutsOptional
		}
		l := d.latency.Latency()
		d.minimum, d.p95 = l.P50.Point, l.P95.Point
		d.slow.expect(&l)
		d.pile = d.openPile()
		d.minimumInForce = d.minimum
		if d.rule != nil && d.rule.Minimum != nil {
			d.minimumInForce = d.rule.Minimum
		}
		if d.required && d.minimumInForce != nil {
			d.weight = *d.minimumInForce
		}
	}
	for _, t := range a.routes {
		t.settle()
		if rule := a.opts.Policy.DeadlineFor(t.key.service, t.key.route); rule != nil && rule.Reserve != nil {
			t.tail, t.tailKnown = *rule.Reserve, true
		}
	}
}
