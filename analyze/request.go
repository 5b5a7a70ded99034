package analyze

import (
	"cmp"
	"math"
	"slices"
	"sort"
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
	number   uint32 // of service and route among symbols.routes, once stored
	split    string // value of Options.SplitBy
	start    int64  // Unix nanoseconds, after clocks were moved
	duration time.Duration
	role     role
	consumer bool
	root     bool // it starts at a span without a parent id
	broken   bool // its entry has no start or no end: it counts nowhere
	failed   bool // what its entry says
	timedOut bool
	deadline *deadline // nil: none
	chosen   deadline  // where deadline points to
	grounds  grounds
	calls    []call // by start
	time     Time
	tail     time.Duration // own work after the last awaited answer
	tailed   bool          // there was one
	lastCut  bool          // the last awaited answer was a call that was cut
	eps      time.Duration // within which the ends of its parts count as one
	work     []work        // work that ran on for nobody, and what else its trace alone shows
	lost     bool          // its caller had a recorded deadline, and its entry records none
	writes   bool          // its entry records a deadline
	weight   weight        // for how many requests it stands
	forced   bool          // somebody chose to sample it (sampling.priority)

	entry    int32 // span index of the entry, in the repaired trace
	fallback bool  // it did something instead of a call
	blind    bool  // on its path a call was read without a word about connecting

	// Filled when all requests are known.
	table   *routeTable
	ended   Ended
	skipped []skip  // inferred: usual calls that were not made
	nth     int     // among all requests as they are stored
	awaited []*call // of calls: see awaitedCalls; nil: not listed yet
}

// A role says what a request is to its trace.
type role uint8

const (
	top      role = iota // starts at a span without a parent id, or at an orphaned SERVER or CONSUMER, or one below spans of no request
	nested               // was called by another request of the trace
	fragment             // starts at a span whose parent is missing, and that is no SERVER or CONSUMER
	guest                // starts at a span of another service than its parent, and that is no SERVER or CONSUMER

	roles = iota
)

// loose reports whether the request is none: its attempts count for their
// dependencies, and it counts nowhere else.
func (r *request) loose() bool { return r.role == fragment || r.role == guest }

// orphaned reports whether the call is an attempt whose parent is missing. Which other attempts are of the
// same call, nobody knows.
func (r *request) orphaned(c *call) bool { return r.role == fragment && c.span == r.span }

// alone reports whether the request has a View of its own: nothing in the trace
// is known to hold it.
func (r *request) alone() bool { return r.role == top || r.role == fragment }

// A traced is a trace under analysis: repaired spans, what each is and how it
// ended, and which request, call and attempt each belongs to.
type traced struct {
	*ingest.Trace
	rec      *recogniser
	splitBy  string
	links    map[linkTo][]phaseTime // connection setups of other traces, by their root; times since 1970
	emitters []*emitter
	clock    []int32
	forest   *forest
	seen     []sighting
	looks    []*look
	moved    []moved
	order    []int32 // spans, parents first

	request []int32 // index into requests; -1: evidence only (a phase without a call), or ignored
	unit    []int32 // index into units: the call that the span is, or is part of; -1: none
	attempt []int32 // index into attempts that the span is, or is part of; -1: none
	around  []bool  // of spans around one try of a call of several; nil: there are none
	async   []bool  // between the span and the entry of its request nobody waits
	orphan  []bool
	rooted  bool // a span has no parent id

	requests    []*request
	units       []unit
	outermost   []int32 // by unit: see findOutermost; only where units may be tries of one call
	attempts    []attempt
	stray       []int32 // phase spans beside calls, not in them
	told        []toldPhase
	toldLengths []toldLength

	sentTimeout []time.Duration // the timeout that a CLIENT span records for its call; 0: none
	written     []*deadline     // the deadline that a span records
	baggage     map[[3]string]bool
	headers     map[int32]time.Duration   // when CLIENT spans began to write headers (C5); nil: not asked yet
	answers     map[int32][]time.Duration // when CLIENT spans ended well, by parent; nil: not asked yet

	legs  []leg       // medians, by pair
	ahead []clockPair // whose callee ended after an answer that took no less than it did: its clock seems ahead, and nothing moved it
	notes []pathNote  // of the walk, and of deadlines that cannot be read; node is a span
}

// newTraced takes a trace apart into requests and calls.
func newTraced(t *ingest.Trace, o *Options, rec *recogniser, links map[linkTo][]phaseTime) *traced {
	tr := traced{Trace: t, rec: rec, links: links, splitBy: o.SplitBy}
	room := &rec.room
	room.requests.reset()
	room.meetings.reset()
	room.looks.reset()
	limit := o.MaxSkew
	if limit == 0 {
		limit = DefaultMaxSkew
	}
	n := len(tr.Spans)
	tr.layOut()
	if limit > 0 {
		tr.Trace, tr.moved = repairSkew(t, tr.clock, tr.order, limit, func(i int32) bool {
			return rec.look(t, &t.Spans[i], noPart, false).outcome.Answered()
		})
		if tr.Trace != t {
			tr.layOut()
		}
	}
	calls := 0
	for i := range tr.Spans {
		if k := tr.Spans[i].Kind; k == ingest.Client || k == ingest.Producer {
			calls++
		}
	}
	tr.units, tr.attempts = again(&room.units, calls)[:0], again(&room.attempts, calls)[:0]
	tr.sentTimeout, tr.written = again(&room.sent, n), again(&room.written, n)
	tr.see()
	tr.forest = newForest(tr.nodes(), &room.forest)
	tr.divide()
	tr.tryAll()
	tr.legs = tr.networkLegs()
	tr.findPhases()
	tr.groupCalls()
	tr.attribute()
	tr.setDeadlines(o)
	tr.classify()
	tr.findWork()
	tr.findAmplified()
	tr.takeNotes()
	return &tr
}

// layOut finds who emitted each span, its clock, and which span comes after which.
func (t *traced) layOut() {
	room := &t.rec.room
	t.emitters, t.clock = again(&room.emitters, len(t.Spans)), again(&room.clock, len(t.Spans))
	t.rec.emitters.emit(t.Trace, t.emitters)
	for i, e := range t.emitters {
		t.clock[i] = e.clock()
	}
	t.order = room.topDown(t.Trace)
}

// nodes gives the walk its view of the spans.
func (t *traced) nodes() []node {
	nodes := again(&t.rec.room.nodes, len(t.Spans))
	for i := range t.Spans {
		s := &t.Spans[i]
		nodes[i] = node{id: s.ID, parent: s.Parent, kind: s.Kind, state: t.seen[i].state, follows: s.FollowsFrom,
			unfinished: s.Defect&ingest.NoEnd != 0, start: s.Start, end: s.End, grain: t.emitters[i].grain()}
	}
	return nodes
}

// A unit is a call in the making: the outermost span of a call in its request.
type unit struct {
	at     int32
	scope  bool    // the span holds attempts, and is none
	marked []int32 // spans inside that are attempts by their own mark
	inner  []int32 // CLIENT spans inside, outermost first
	within []int32 // CLIENT spans inside those, or inside a marked attempt
	tries  []int32 // the spans that are its attempts
	self   [1]int32
	calls  int32 // index of its call in its request, once grouped
}

// divide gives every span its request and unit, from the top down.
func (t *traced) divide() {
	n := len(t.Spans)
	room := &t.rec.room
	t.request, t.unit = again(&room.request, n), again(&room.unit, n)
	t.async, t.orphan = again(&room.async, n), again(&room.orphan, n)
	inner := again(&room.inner, n) // within an attempt, marked or not, of its unit
	for _, note := range t.Notes {
		if note.Code == ingest.Orphan {
			t.orphan[note.Span] = true
		}
	}
	for i := range t.Spans {
		t.rooted = t.rooted || t.Spans[i].Parent < 0 && !t.orphan[i]
	}
	for _, i := range t.order {
		p := t.Spans[i].Parent
		is := t.seen[i].part
		t.request[i], t.unit[i] = -1, -1
		switch {
		case is == noPart && (p < 0 || entryKinds.has(t.Spans[i].Kind) || t.Spans[i].Resource.Service != t.Spans[p].Resource.Service): // ignored: what would begin here is none
		case p < 0 && is.phase(): // evidence, never a request
			t.stray = append(t.stray, i)
		case p < 0 && (is == entryPart || !t.orphan[i]):
			t.begin(i, top)
		case is == entryPart && t.request[p] < 0:
			t.begin(i, top)
		case is == entryPart:
			t.begin(i, nested)
		case p < 0:
			t.begin(i, fragment)
		case t.Spans[i].Resource.Service != t.Spans[p].Resource.Service && !is.phase():
			t.begin(i, guest)
		default:
			t.request[i], t.unit[i], inner[i] = t.request[p], t.unit[p], inner[p]
			t.async[i] = t.async[p] || t.forest.bonds[i].async()
			switch u := t.unit[i]; {
			case t.request[i] < 0:
			case u < 0 && is.calls():
				t.newUnit(i)
			case u < 0 && t.seen[i].place == inStead && t.seen[i].state != healthy && !t.seen[p].part.phase():
				if t.seen[i].outcome == Failure { // nobody answered
					t.seen[i].ends(verdict{failed, ConnectError}, t.seen[i].rule.outcome)
				}
				t.newUnit(i)
			case is == fallbackPart:
				t.requests[t.request[i]].fallback = true
			case u < 0 && is.phase():
				t.stray = append(t.stray, i)
			case u >= 0 && is == attemptPart:
				t.units[u].marked = append(t.units[u].marked, i)
				inner[i] = true
			case u >= 0 && is == callPart && !inner[i]:
				t.units[u].inner = append(t.units[u].inner, i)
				inner[i] = true
			case u >= 0 && is == callPart:
				t.units[u].within = append(t.units[u].within, i)
			}
		}
	}
}

// calls reports whether a span of this part makes a call, or tries to.
func (p part) calls() bool { return p == callPart || p == attemptPart || p == scopePart }

// newUnit starts a call at a span.
func (t *traced) newUnit(i int32) {
	t.unit[i] = int32(len(t.units))
	t.units = append(t.units, unit{at: i, scope: t.seen[i].part == scopePart})
}

// begin starts a request at a span.
func (t *traced) begin(i int32, as role) {
	s := &t.Spans[i]
	r := t.rec.room.requests.next()
	*r = request{trace: t.ID, span: s.ID, file: s.File, position: s.Position, service: s.Resource.Service,
		route: t.routeOf(i), start: t.Epoch + int64(s.Start), duration: s.Duration(), role: as,
		consumer: s.Kind == ingest.Consumer, root: as == top && !t.orphan[i], broken: s.Defect != 0, entry: i}
	r.failed = t.seen[i].state != healthy
	if by := t.splitBy; by != "" {
		r.split = cmp.Or(s.Attr(by), s.Resource.Attr(by))
	}
	own := t.weigh(i)
	r.weight, r.forced = own.weight, own.forced
	t.request[i] = int32(len(t.requests))
	t.requests = append(t.requests, r)
	if t.seen[i].part.calls() {
		t.newUnit(i)
	}
}

// routeOf is the class of a request: METHOD http.route where both are known,
// else the route, the RPC method, the name of the span.
func (t *traced) routeOf(i int32) string {
	l := t.looks[i]
	if l.route == "" || !l.kept {
		f := t.fact(i)
		l.route = f.route()
		if l.kept {
			l.route = strings.Clone(l.route)
		}
	}
	return l.route
}

func (f *facts) route() string {
	method, route := f.get("http.request.method"), f.get("http.route")
	switch {
	case route != "" && method != "":
		return method + " " + route
	case route != "":
		return route
	}
	if rpc := f.rpcMethod(); rpc != "" {
		return rpc
	}
	return f.span.Name
}

// A leg is the time a message needs over the network between two clocks: half of what a
// client waited longer than its server worked.
type leg struct {
	clockPair
	time time.Duration
}

func (l leg) compare(o leg) int {
	return cmp.Or(cmp.Compare(l.parent, o.parent), cmp.Compare(l.child, o.child))
}

// networkLegs gives the median leg of the trace's answered calls of each clock pair, by
// pair.
func (t *traced) networkLegs() []leg {
	all := t.rec.room.legs[:0]
	for i := range t.Spans {
		c := &t.Spans[i]
		if c.Parent < 0 || c.Kind != ingest.Server || c.Defect != 0 {
			continue
		}
		p := &t.Spans[c.Parent]
		if p.Kind != ingest.Client || p.Defect != 0 || !t.seen[c.Parent].outcome.Answered() {
			continue
		}
		if pair := (clockPair{t.clock[c.Parent], t.clock[i]}); pair.parent != pair.child && c.Duration() <= p.Duration() && c.End > p.End+provedSkew {
			t.ahead = append(t.ahead, pair)
		}
		if a := t.attempt[c.Parent]; a >= 0 && t.attempts[a].hidden > 0 { // it was under way more than once
			continue
		}
		all = append(all, leg{clockPair{t.clock[c.Parent], t.clock[i]}, max(0, (p.Duration()-c.Duration())/2)})
	}
	t.rec.room.legs = all
	slices.SortFunc(all, func(a, b leg) int { return cmp.Or(a.compare(b), cmp.Compare(a.time, b.time)) })
	medians := all[:0]
	for i := 0; i < len(all); {
		n := 1
		for i+n < len(all) && all[i+n].clockPair == all[i].clockPair {
			n++
		}
		medians = append(medians, all[i+P50.Rank(n)-1])
		i += n
	}
	return medians
}

// doubt is what comparing an instant of one span with one of its parent, on
// another clock, leaves open: a network leg and 1 ms. On one clock: 0.
func (t *traced) doubt(child int32) time.Duration {
	if pair := (clockPair{t.clock[t.Spans[child].Parent], t.clock[child]}); pair.parent == pair.child && pair.parent != 0 {
		return 0
	}
	return t.word(child)
}

// word is how long word from the parent of a span may take to reach and stop it, or ages on the
// way, on one clock too: a network leg, and the 1 ms within which events count as one (N8).
// Within one process: 0.
func (t *traced) word(child int32) time.Duration {
	if c := &t.Spans[child]; c.Resource == t.Spans[c.Parent].Resource {
		return 0
	}
	return t.leg(child) + raceTolerance
}

// leg is the time an answer of the entry child needs to its caller: the median of
// the clock pair, else at most what lay between the two starts.
func (t *traced) leg(child int32) time.Duration {
	c := &t.Spans[child]
	pair := leg{clockPair: clockPair{t.clock[c.Parent], t.clock[child]}}
	if k, ok := slices.BinarySearchFunc(t.legs, pair, leg.compare); ok {
		return t.legs[k].time
	}
	return max(0, c.Start-t.Spans[c.Parent].Start)
}

// A window is a request that calls some service; those of one service are sorted
// by start. reach is the latest end of it and those before it, of request by, and
// next that of any other request.
type window struct {
	start, end  time.Duration
	request, by int32
	reach, next time.Duration
}

// noteLost notes callees that worked for a call of the trace whose attempt left
// no span: entries without their parent, of a service that the trace calls, within
// the request that calls it.
func (t *traced) noteLost() {
	if !slices.ContainsFunc(t.requests, (*request).lostCaller) {
		return
	}
	calling := map[string][]window{} // by callee
	for i, r := range t.requests {
		s := &t.Spans[r.entry]
		for k := range r.calls {
			list := calling[r.calls[k].to.callee]
			if n := len(list); n == 0 || list[n-1].request != int32(i) {
				calling[r.calls[k].to.callee] = append(list, window{start: s.Start, end: s.End, request: int32(i)})
			}
		}
	}
	for _, list := range calling {
		slices.SortFunc(list, func(a, b window) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.request, b.request)) })
		by, reach, next := int32(-1), time.Duration(math.MinInt64), time.Duration(math.MinInt64)
		for k := range list {
			switch w := &list[k]; {
			case w.request == by:
				reach = max(reach, w.end)
			case w.end > reach:
				by, reach, next = w.request, w.end, reach
			default:
				next = max(next, w.end)
			}
			list[k].by, list[k].reach, list[k].next = by, reach, next
		}
	}
	for i, r := range t.requests {
		if !r.lostCaller() {
			continue
		}
		at := t.Spans[r.entry].Start
		list := calling[r.service]
		k := sort.Search(len(list), func(k int) bool { return list[k].start > at }) - 1
		if k < 0 {
			continue
		}
		if w := list[k]; w.by != int32(i) && w.reach > at || w.by == int32(i) && w.next > at {
			t.notes = append(t.notes, pathNote{LostAttempt, r.entry, -1})
		}
	}
}

// lostCaller reports whether the request was called by a span that is missing.
func (r *request) lostCaller() bool { return r.role == top && !r.root && !r.broken }

// takeNotes collects what is noteworthy along the critical paths.
func (t *traced) takeNotes() {
	if t.rooted {
		t.noteLost()
	}
	for _, m := range t.moved {
		code := ClockSkew
		if m.beyond {
			code = SkewTooLarge
		}
		t.notes = append(t.notes, pathNote{code, m.span, m.amount})
	}
	if len(t.Spans) > 1 && !slices.ContainsFunc(t.Spans, func(s ingest.Span) bool { return s.Kind != ingest.Unspecified }) {
		t.notes = append(t.notes, pathNote{NoKinds, t.order[0], -1})
	}
	for _, r := range t.requests {
		if !r.alone() {
			continue
		}
		t.forest.walk(r.entry, func(n int32) { t.notes = append(t.notes, t.forest.notes(n)...) })
	}
}
