package analyze

import (
	"strings"
	"time"

	"overrun/ingest"
)

// A request is what one service did for one entry span: the entry, and all its
// own service does for it. What it holds depends on its trace and the policy
// alone. Times of its parts are offsets from its start.
type request struct {
	trace    ingest.TraceID
	span     ingest.SpanID
	file     string
	position int64
	service  string
	route    string
	start    int64 // Unix nanoseconds, after clocks were moved
	duration time.Duration
	role     role
	consumer bool
	root     bool // it starts at a span without a parent id
	broken   bool // its entry has no start or no end: it counts nowhere
	failed   bool // what its entry says
	timedOut bool
	deadline *deadline
	calls    []call // by start
	time     Time
	tail     time.Duration // own work after the last awaited answer
	tailed   bool          // there was one
	lastCut  bool          // the last awaited answer was a call that was cut
	work     []work        // that ran on for nobody, found in this request

	entry int32 // span index of the entry, in the repaired trace

	// Filled when all requests are known.
	table   *routeTable
	ended   Ended
	skipped []skip // inferred: usual calls that were not made
}

// A role says what a request is to its trace.
type role uint8

const (
	top      role = iota // starts at a span without a parent id, or at an orphaned SERVER or CONSUMER
	nested               // was called by another request of the trace
	fragment             // starts at a span whose parent is missing, and that is no SERVER or CONSUMER
	guest                // starts at a span of another service than its parent, and that is no SERVER or CONSUMER
)

// loose reports whether the request is none: its attempts count for their
// dependencies, and it counts nowhere else.
func (r *request) loose() bool { return r.role == fragment || r.role == guest }

// alone reports whether the request has a View of its own: nothing in the trace
// is known to hold it.
func (r *request) alone() bool { return r.role == top || r.role == fragment }

// A traced is a trace under analysis: repaired spans, how each ended, and which
// request and call each belongs to.
type traced struct {
	*ingest.Trace
	clock    []int32
	forest   *forest
	verdicts []verdict
	moved    []moved
	order    []int32 // spans, parents first
	request  []int32 // index into requests; -1: evidence only (an orphaned phase)
	attempt  []int32 // index into attempts that the span is, or is part of; -1: none
	async    []bool  // between the span and the entry of its request nobody waits
	orphan   []bool
	rooted   bool // a span has no parent id
	requests []*request
	attempts []attempt
	legs     map[clockPair]time.Duration
	notes    []pathNote // of the walk, and of deadlines that cannot be read; node is a span
}

// trace takes a trace apart into requests and calls.
func newTraced(t *ingest.Trace, o *Options) *traced {
	var tr traced
	switch {
	case o.MaxSkew < 0:
		tr.Trace = t
	case o.MaxSkew == 0:
		tr.Trace, tr.moved = repairSkew(t, DefaultMaxSkew)
	default:
		tr.Trace, tr.moved = repairSkew(t, o.MaxSkew)
	}
	tr.clock = clocks(tr.Trace)
	tr.order = topDown(tr.Trace)
	tr.judge()
	tr.forest = newForest(tr.nodes())
	tr.divide()
	tr.legs = tr.networkLegs()
	tr.groupCalls()
	tr.attribute()
	tr.setDeadlines(o)
	tr.findWork()
	tr.takeNotes()
	return &tr
}

// judge decides how every span ended.
func (t *traced) judge() {
	t.verdicts = make([]verdict, len(t.Spans))
	for _, i := range t.order {
		var client verdict
		if p := t.Spans[i].Parent; p >= 0 && t.Spans[p].Kind == ingest.Client {
			client = t.verdicts[p]
		}
		t.verdicts[i] = judge(&t.Spans[i], client)
	}
}

// nodes gives the walk its view of the spans.
func (t *traced) nodes() []node {
	grain := grains(t.Trace)
	nodes := make([]node, len(t.Spans))
	for i := range t.Spans {
		s := &t.Spans[i]
		nodes[i] = node{id: s.ID, parent: s.Parent, kind: s.Kind, state: t.verdicts[i].state, follows: s.FollowsFrom,
			unfinished: s.Defect&ingest.NoEnd != 0, start: s.Start, end: s.End, grain: grain[s.Resource]}
	}
	return nodes
}

// grains is the grain of each resource's clock: 1 ms where the SDK is known to
// write whole milliseconds (Node, browsers), or where all starts of the
// resource, three or more, are whole milliseconds.
func grains(t *ingest.Trace) map[*ingest.Resource]time.Duration {
	type seen struct{ starts, whole int }
	starts := map[*ingest.Resource]*seen{}
	for i := range t.Spans {
		s := &t.Spans[i]
		n := starts[s.Resource]
		if n == nil {
			n = new(seen)
			starts[s.Resource] = n
		}
		if s.Defect&ingest.NoStart != 0 {
			continue
		}
		n.starts++
		if (t.Epoch+int64(s.Start))%int64(time.Millisecond) == 0 {
			n.whole++
		}
	}
	grain := make(map[*ingest.Resource]time.Duration, len(starts))
	for r, n := range starts {
		language := first(&ingest.Span{Attrs: r.Attrs}, keysLanguage)
		if language == "nodejs" || language == "webjs" || n.starts >= 3 && n.whole == n.starts {
			grain[r] = time.Millisecond
		}
	}
	return grain
}

// divide gives every span its request and attempt, from the top down.
func (t *traced) divide() {
	n := len(t.Spans)
	t.request, t.attempt = make([]int32, n), make([]int32, n)
	t.async, t.orphan = make([]bool, n), make([]bool, n)
	for _, note := range t.Notes {
		if note.Code == ingest.Orphan {
			t.orphan[note.Span] = true
		}
	}
	for i := range t.Spans {
		t.rooted = t.rooted || t.Spans[i].Parent < 0 && !t.orphan[i]
	}
	for _, i := range t.order {
		s := &t.Spans[i]
		p := s.Parent
		t.request[i], t.attempt[i] = -1, -1
		entry := s.Kind == ingest.Server || s.Kind == ingest.Consumer
		phase := phaseNames[s.Name]
		switch {
		case p < 0 && !t.orphan[i]:
			t.begin(i, top)
		case entry && p < 0:
			t.begin(i, top)
		case entry:
			t.answer(i)
			t.begin(i, nested)
		case p < 0 && phase: // evidence, never a request
		case p < 0:
			t.begin(i, fragment)
		case s.Resource.Service != t.Spans[p].Resource.Service && !phase:
			t.begin(i, guest)
		default:
			t.request[i], t.attempt[i] = t.request[p], t.attempt[p]
			t.async[i] = t.async[p] || t.forest.bonds[i].async()
			if call := s.Kind == ingest.Client || s.Kind == ingest.Producer; call && !phase && t.attempt[i] < 0 && t.request[i] >= 0 {
				t.try(i)
			}
		}
	}
}

// begin starts a request at a span.
func (t *traced) begin(i int32, as role) {
	s := &t.Spans[i]
	r := &request{trace: t.ID, span: s.ID, file: s.File, position: s.Position, service: s.Resource.Service,
		route: routeOf(s), start: t.Epoch + int64(s.Start), duration: s.Duration(), role: as,
		consumer: s.Kind == ingest.Consumer, root: as == top && !t.orphan[i], broken: s.Defect != 0, entry: i}
	v := t.verdicts[i]
	r.failed = v.state != healthy
	t.request[i] = int32(len(t.requests))
	t.requests = append(t.requests, r)
	if s.Kind == ingest.Client || s.Kind == ingest.Producer {
		t.try(i)
	}
}

// routeOf is the class of a request: METHOD http.route where both are known,
// else the route, the RPC method, the name of the span.
func routeOf(s *ingest.Span) string {
	method, route := first(s, keysHTTPMethod), first(s, keysRoute)
	switch {
	case route != "" && method != "":
		return method + " " + route
	case route != "":
		return route
	}
	if rpc := rpcMethod(s); rpc != "" {
		return rpc
	}
	return s.Name
}

// rpcMethod is the full name of the RPC method, service/method; "" where none
// was recorded (N6).
func rpcMethod(s *ingest.Span) string {
	service, method := first(s, keysRPCService), first(s, keysRPCMethod)
	switch {
	case method == "" || service == "" || strings.Contains(method, "/"):
		return method
	}
	return service + "/" + method
}

// A leg is the time a message needs over the network: half of what a client
// waited longer than its server worked. networkLegs gives the median over the
// trace's answered calls of each clock pair.
func (t *traced) networkLegs() map[clockPair]time.Duration {
	legs := map[clockPair][]time.Duration{}
	for i := range t.Spans {
		c := &t.Spans[i]
		if c.Parent < 0 || c.Kind != ingest.Server || c.Defect != 0 {
			continue
		}
		p := &t.Spans[c.Parent]
		if p.Kind != ingest.Client || p.Defect != 0 || !t.verdicts[c.Parent].outcome.Answered() {
			continue
		}
		pair := clockPair{t.clock[c.Parent], t.clock[i]}
		legs[pair] = append(legs[pair], max(0, (p.Duration()-c.Duration())/2))
	}
	median := make(map[clockPair]time.Duration, len(legs))
	for pair, values := range legs {
		median[pair] = nearest(values, P50)
	}
	return median
}

// doubt is what comparing an instant of one span with one of its parent, on
// another clock, leaves open: a network leg and 1 ms. On one clock: 0.
// Where the trace has no answered call between the two clocks, the leg is at
// most what lay between the two starts.
func (t *traced) doubt(child int32) time.Duration {
	c := &t.Spans[child]
	p := &t.Spans[c.Parent]
	pair := clockPair{t.clock[c.Parent], t.clock[child]}
	if c.Resource == p.Resource || pair.parent == pair.child && pair.parent != 0 {
		return 0
	}
	leg, ok := t.legs[pair]
	if !ok {
		leg = max(0, c.Start-p.Start)
	}
	return leg + time.Millisecond
}

// takeNotes collects what is noteworthy along the critical paths.
func (t *traced) takeNotes() {
	for _, m := range t.moved {
		code := ClockSkew
		if m.beyond {
			code = SkewTooLarge
		}
		t.notes = append(t.notes, pathNote{code, m.span, m.amount})
	}
	for _, r := range t.requests {
		if !r.alone() {
			continue
		}
		t.forest.Path(r.entry, func(n int32) { t.notes = append(t.notes, t.forest.notes(n)...) })
	}
}
