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
	Reread   bool          // RunSaved: the store keeps its spans
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
	hoard   *hoard
	stored  []*ingest.Spool // traces with their requests, in the order of ingest.Order; those of Run in that of the dump
	run     bool            // made by Run
	crop    *crop           // of the input; without what the stored traces say
	symbols *symbols
	byPeer  []int32       // dependencies by number of symbols.peers; -1: no request that counts calls it
	byRoute []*routeTable // by number of symbols.routes; nil: no request that counts is of it
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

// failure is why something cannot be spilled, or what was spilled cannot be read back; nil: all
// is well.
func (a *Analysis) failure() error { return cmp.Or(a.err, a.spooler.Err()) }

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
	a.hoard = &hoard{spooler: a.spooler, limit: o.Memory / 8}
	a.hoard.lodge(&a.arrival.took)
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
	a.languages.forget()
	a.meetCallees()
	crop := *a.crop
	crop.notes = ingest.Notes{}
	for _, n := range a.crop.notes.List() {
		crop.notes.Merge(n)
	}
	sizes := a.outline(crop.look)
	a.meet()
	visitors := a.visitors(sizes)
	a.pass(visitors, (*visitor).learn)
	for _, v := range visitors {
		a.arrival.merge(&v.arrival)
	}
	a.spread(len(visitors), func(i int) { visitors[i].gaps.settle() })
	a.setMinimums()
	a.pass(visitors, (*visitor).survey)
	a.setCeilings()
	a.setPatterns()
	a.pass(visitors, (*visitor).sumUp)
	s := visitors[0].summary
	for _, v := range visitors[1:] {
		s.merge(v.summary)
	}
	if err := cmp.Or(a.failure(), ctx.Err()); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.Report = s.report(&crop)
	if err := a.failure(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
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

// learn adds a request to the tables of its route and its dependencies.
func (v *visitor) learn(r *request) {
	for k := range r.calls {
		v.deps[r.calls[k].dep].learn(r, k)
	}
	v.arrival.learn(r)
	if r.table != nil {
		r.table.learn(r, &v.gaps)
	}
}

// survey adds to the tables what rests on minimums and reserves.
func (v *visitor) survey(r *request) {
	for k := range r.calls {
		v.deps[r.calls[k].dep].survey(r, k)
	}
	if r.table != nil && r.deadline != nil {
		v.plan(r, &v.chain)
		v.leaveCaps(r, &v.chain)
		r.table.group.survey(r, r.table.median)
	}
}

// sumUp decides about a request, and adds it to the summary.
func (v *visitor) sumUp(r *request) {
	v.chainOf(r, &v.chain)
	v.decide(r, &v.chain)
	v.summary.add(r)
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
	a.spread(len(a.deps), func(i int) {
		d := a.deps[i]
		defer putAway(d.samples()...)
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
	})
	a.spread(len(a.routes), func(i int) {
		t := a.routes[i]
		t.settle()
		if rule := a.opts.Policy.DeadlineFor(t.key.service, t.key.route); rule != nil && rule.Reserve != nil {
			t.tail, t.tailKnown = *rule.Reserve, true
		}
	})
}
