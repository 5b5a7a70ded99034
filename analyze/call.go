package analyze

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

	"overrun/ingest"
)

// A dependency is whom a call goes to, as seen from one caller.
type dependency struct{ caller, callee, operation string }

func (d dependency) compare(e dependency) int {
	return cmp.Or(cmp.Compare(d.caller, e.caller), cmp.Compare(d.callee, e.callee), cmp.Compare(d.operation, e.operation))
}

// An attempt is one try of a call. Its times are those of the trace until
// groupCalls makes them offsets from the start of its request.
type attempt struct {
	span        ingest.SpanID
	start, end  time.Duration
	outcome     Outcome
	hedge       bool // began while an earlier attempt of the same call ran
	unfinished  bool
	index       int    // resends before it, as recorded; 0: first, or not recorded
	hidden      int    // resends inside it that cannot be told apart
	how         string // rule by which it belongs to its call; "": it is a call's only one, or has the call around it
	at          int32  // span index
	server      int32  // span index of the callee's entry; -1: no span
	phases      phases
	calleeEnd   time.Duration // of the callee's entry; 0: no span
	calleeOK    bool          // the callee ended well, or worked on to its end although told to stop
	calleeGuess bool          // calleeOK is inferred
	leg         time.Duration // network leg back; valid with calleeEnd, as is
	doubt       time.Duration // about calleeEnd, as seen from the caller
	instance    string        // of the callee
	timeout     time.Duration // recorded for this call; 0: none
	rules       sightingRules
}

// A call is a logical outgoing call of a request.
type call struct {
	to         dependency
	alone      dependency    // what its own span says of the callee, where the callee has one too; else zero
	span       ingest.SpanID // of the span around all attempts, else of the first attempt
	file       string
	position   int64
	start, end time.Duration // of the span around the attempts; else the first attempt's start to the winner's end, or the last one's
	outcome    Outcome       // of the winner, or the last attempt
	attempts   []attempt     // by start
	winner     int           // index into attempts; -1: none answered
	messaging  bool          // a PRODUCER
	awaited    bool          // its request is not known to have gone on without it
	unfinished bool
	path       time.Duration // on the path of its request
	hint       string        // service.criticality of the callee
	rules      callRules

	at int32 // span index of span

	// Filled when all requests are known.
	dep      int32          // index into the table of dependencies
	node     int32          // index into the nodes of its route; -1: not tracked
	reserve  time.Duration  // own work and minimums ahead
	before   time.Duration  // longest chain of minimums that came before
	timeout  *time.Duration // computed; nil without a deadline
	findings []FindingCode
}

// callRules are the ids of the rules that named the callee and the operation.
type callRules struct{ callee, operation string }

// raceTolerance is the time within which events of one process count as one (N8).
const raceTolerance = time.Millisecond

// tryAll decides which spans are the attempts of each unit, and gives every
// span of a unit its attempt.
func (t *traced) tryAll() {
	t.attempt = make([]int32, len(t.Spans))
	for i := range t.attempt {
		t.attempt[i] = -1
	}
	for k := range t.units {
		u := &t.units[k]
		switch {
		case len(u.marked) > 0:
			u.tries = u.marked
		case len(u.inner) > 0 && (u.scope || t.resent(u.inner)):
			u.tries = u.inner
		default:
			u.self = [1]int32{u.at}
			u.tries = u.self[:]
		}
		for _, i := range u.tries {
			place := t.seen[i].backoff
			if place == inGap && u.scope {
				place = t.seen[u.at].backoff
			}
			t.try(i, place)
		}
	}
	for _, i := range t.order {
		p := t.Spans[i].Parent
		if p < 0 {
			continue
		}
		switch {
		case t.unit[i] >= 0 && t.attempt[i] < 0 && t.unit[p] == t.unit[i]:
			t.attempt[i] = t.attempt[p]
		case t.seen[i].part == entryPart && t.unit[p] >= 0:
			a := t.attempt[p]
			if u := &t.units[t.unit[p]]; a < 0 && len(u.tries) == 1 {
				a = t.attempt[u.tries[0]]
			}
			if a >= 0 && t.attempts[a].server < 0 {
				t.attempts[a].server = i
			}
		}
	}
}

// resent reports whether the spans inside a call are several tries of it: one is
// counted as a resend, or each but the last failed in a way that is tried again.
func (t *traced) resent(inner []int32) bool {
	if slices.ContainsFunc(inner, func(i int32) bool { return t.seen[i].index > 0 }) {
		return true
	}
	if !t.rec.tables.signals.InferRetries {
		return false
	}
	for _, i := range inner[:len(inner)-1] {
		if !t.retryable(i) {
			return false
		}
	}
	return len(inner) > 1
}

// try makes a span an attempt, with its back-off at the place.
func (t *traced) try(i int32, place backoffPlace) {
	s := &t.Spans[i]
	a := attempt{span: s.ID, start: s.Start, end: s.End, outcome: t.seen[i].outcome, unfinished: s.Defect != 0,
		index: int(max(t.seen[i].index, 0)), hidden: int(t.seen[i].hidden), at: i, server: -1, timeout: t.sentTimeout[i], rules: t.seen[i].rule}
	// Back-off inside the span of an attempt is no part of the try.
	if kids := t.forest.children(i); len(kids) > 0 {
		switch place {
		case inTail:
			last := t.Spans[kids[0]].End
			for _, k := range kids {
				last = max(last, t.Spans[k].End)
			}
			a.end = min(a.end, max(last, a.start))
		case inHead:
			a.start = max(a.start, min(t.Spans[kids[0]].Start, a.end))
		}
	}
	// A caller's own span around a try may not say how it ended: the call inside does.
	if w := &t.seen[i]; w.part == attemptPart && s.Kind == ingest.Internal && w.rule.outcome == "" {
		last := int32(-1)
		for _, k := range t.forest.children(i) {
			if t.seen[k].part == callPart && (last < 0 || t.Spans[k].End > t.Spans[last].End) {
				last = k
			}
		}
		if last >= 0 {
			w.verdict, w.flags, w.rule.outcome = t.seen[last].verdict, t.seen[last].flags, t.seen[last].rule.outcome
			a.outcome, a.timeout, a.rules = w.outcome, t.sentTimeout[last], w.rule
		}
	}
	lost := t.forest.loser[i] || t.seen[i].rule.hedge != "" && t.seen[i].hedge == hedgeLost
	if a.outcome == CancelledCaller && lost {
		a.outcome = CancelledRace
	}
	t.attempt[i] = int32(len(t.attempts))
	t.attempts = append(t.attempts, a)
}

// builtInRetryable are failed answers that say try again.
var builtInRetryable = []string{"408", "425", "429", "500", "502", "503", "504", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"}

// retryable reports whether a span ended in a way that clients try again: no
// answer, or one that says try again (3.2).
func (t *traced) retryable(i int32) bool {
	w := &t.seen[i]
	switch w.outcome {
	case Refused, ConnectError, ConnectTimeout, PoolTimeout, ReadTimeout, CancelledCaller, CancelledRace:
		return true
	case Failure:
		f := t.fact(i)
		code := cmp.Or(f.get(httpStatusKey), f.get(rpcCodeKey))
		if code == "" {
			return f.httpMethod() != "" // an HTTP call without any answer
		}
		return slices.Contains(t.rec.tables.signals.Retryable, code)
	}
	return false
}

// redirected reports whether the attempt was answered by a redirect or a
// challenge to authenticate: what follows is counted as a resend, and is none.
func (t *traced) redirected(i int32) bool {
	f := t.fact(i)
	status := f.get(httpStatusKey)
	return strings.HasPrefix(status, "3") || status == "401" || status == "407"
}

// A group is units under one parent that are one call.
type group struct {
	units []int32  // by start
	how   []string // rule by which each belongs to the call; nil: one unit alone
}

// join adds a unit by a rule.
func (g *group) join(unit int32, how string) {
	if g.how == nil {
		g.how = make([]string, len(g.units), len(g.units)+1)
	}
	g.units, g.how = append(g.units, unit), append(g.how, how)
}

// defaultMaxGap is the longest wait between two attempts that nothing marks.
const defaultMaxGap = 5 * time.Second

// groupCalls makes calls of units. Units under one parent to one peer are one
// call if
//
//	the instrumentation counts resends: count k follows the latest to have
//	ended of those with k-1 (3.2, 1); or
//	it does not, and one begins after another failed in a way that is tried
//	again, within the largest gap (3.2, 3: inferred); or
//	they overlap, one was answered, and the others were cancelled as it was
//	(H5: inferred).
func (t *traced) groupCalls(o *Options) {
	byStart := make([]int32, len(t.units))
	for k := range t.units {
		byStart[k] = int32(k)
	}
	slices.SortFunc(byStart, func(a, b int32) int {
		x, y := t.units[a].at, t.units[b].at
		return cmp.Or(cmp.Compare(t.Spans[x].Start, t.Spans[y].Start), cmp.Compare(x, y))
	})
	under := make([]int32, len(t.Spans)+1) // units by parent
	for k := range t.units {
		under[t.Spans[t.units[k].at].Parent+1]++
	}
	type place struct {
		parent int32
		name   string
	}
	beside := map[place]int{} // where there are several
	for k := range t.units {
		if s := &t.Spans[t.units[k].at]; under[s.Parent+1] > 1 {
			beside[place{s.Parent, s.Name}]++
		}
	}
	type key struct {
		place
		peer string
	}
	open := map[key]*siblings{}
	groups := make([]group, 0, len(t.units))
	for i, k := range byStart {
		u := &t.units[k]
		s := &t.Spans[u.at]
		here := place{s.Parent, s.Name}
		if s.Parent < 0 || under[s.Parent+1] < 2 || beside[here] < 2 || len(u.tries) > 1 || s.Kind == ingest.Producer {
			groups = append(groups, group{units: byStart[i : i+1 : i+1]})
			continue
		}
		peer := u.tries[0]
		if len(u.inner) > 0 {
			peer = u.inner[0]
		}
		at := key{here, t.peerKey(peer)}
		if open[at] == nil {
			open[at] = &siblings{t: t}
		}
		g, how := open[at].continued(k)
		if g < 0 {
			g = int32(len(groups))
			groups = append(groups, group{units: byStart[i : i+1 : i+1]})
			open[at].all = append(open[at].all, g)
		} else {
			groups[g].join(k, how)
		}
		open[at].add(g, k)
	}
	for _, b := range open {
		if len(b.all) > 1 && t.rec.tables.signals.InferHedges {
			t.race(groups, b.all)
		}
	}
	calls := make([]int, len(t.requests))
	for i := range groups {
		if u := groups[i].units; len(u) > 0 {
			calls[t.request[t.units[u[0]].at]]++
		}
	}
	for i, r := range t.requests {
		r.calls = make([]call, 0, calls[i])
	}
	for i := range groups {
		if len(groups[i].units) > 0 {
			t.addCall(&groups[i])
		}
	}
	for i := range t.requests {
		r := t.requests[i]
		if !slices.IsSortedFunc(r.calls, byCallStart) {
			slices.SortStableFunc(r.calls, byCallStart)
		}
		for k := range r.calls {
			for _, a := range r.calls[k].attempts {
				t.units[t.unit[a.at]].calls = int32(k)
			}
		}
	}
}

func byCallStart(a, b call) int {
	return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.at, b.at))
}

// peerKey is what attempts of one call have in common.
func (t *traced) peerKey(i int32) string {
	f := t.fact(i)
	path := f.get("url.path")
	if path == "" {
		path, _, _ = strings.Cut(f.get("url.full"), "?")
	}
	return strings.Join([]string{f.httpMethod(), f.address(), f.get("service.peer.name"), f.rpcMethod(), path,
		f.get("db.operation.name"), f.get("db.collection.name")}, "\x00")
}

// siblings are the calls to one peer under one parent that may go on: those
// whose last attempt counts, or failed. Units come by start.
type siblings struct {
	t       *traced
	counted map[int][]lastTry // by the resends before the last attempt
	pending lastTries         // failed and uncounted, a heap by end: still running when last looked at
	ready   []lastTry         // failed and uncounted, over, by end
	all     []int32           // all groups
	last    map[int32]int32   // unit that is the last of each group: others were continued already
}

// A lastTry is an attempt that was the last of its group when it was added.
type lastTry struct {
	end         time.Duration
	group, unit int32
}

type lastTries []lastTry

func (h lastTries) Len() int { return len(h) }
func (h lastTries) Less(i, j int) bool {
	return h[i].end < h[j].end || h[i].end == h[j].end && h[i].group < h[j].group
}
func (h lastTries) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *lastTries) Push(x any)   { *h = append(*h, x.(lastTry)) }
func (h *lastTries) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func (t *traced) firstTry(unit int32) *attempt { return &t.attempts[t.attempt[t.units[unit].tries[0]]] }

// continued finds the group that a unit goes on with, the latest to have ended,
// takes it off, and says by which rule; -1: none.
func (b *siblings) continued(unit int32) (g int32, how string) {
	a := b.t.firstTry(unit)
	if b.t.seen[a.at].index >= 0 {
		list := b.counted[a.index-1]
		best := -1
		for k := range list {
			if b.last[list[k].group] == list[k].unit && (best < 0 || list[k].end >= list[best].end) {
				best = k
			}
		}
		if best < 0 {
			return -1, ""
		}
		g = list[best].group
		b.counted[a.index-1] = slices.Delete(list, best, best+1)
		return g, b.t.seen[a.at].rule.count
	}
	for len(b.pending) > 0 && b.pending[0].end <= a.start+raceTolerance {
		b.ready = append(b.ready, heap.Pop(&b.pending).(lastTry))
	}
	for len(b.ready) > 0 {
		latest := b.ready[len(b.ready)-1]
		if a.start-latest.end > b.t.rec.tables.signals.LargestGap {
			break
		}
		b.ready = b.ready[:len(b.ready)-1]
		if b.last[latest.group] == latest.unit {
			return latest.group, "R3"
		}
	}
	return -1, ""
}

// add makes a unit the last of its group.
func (b *siblings) add(g, unit int32) {
	a := b.t.firstTry(unit)
	last := lastTry{a.end, g, unit}
	if b.last == nil {
		b.last = map[int32]int32{}
	}
	b.last[g] = unit
	if b.t.redirected(a.at) {
		return
	}
	// The first attempt carries no count where later ones do.
	if b.counted == nil {
		b.counted = map[int][]lastTry{}
	}
	b.counted[a.index] = append(b.counted[a.index], last)
	if b.t.rec.tables.signals.InferRetries && b.t.seen[a.at].index < 0 && !a.unfinished && b.t.retryable(a.at) {
		heap.Push(&b.pending, last)
	}
}

// race joins groups of one attempt each that are copies of one call: they
// overlap, exactly one was answered, and the others were cancelled within
// raceTolerance of its end. All answered is fan-out (H6).
func (t *traced) race(groups []group, list []int32) {
	var won, lost []int32
	for _, g := range list {
		if len(groups[g].units) != 1 {
			continue
		}
		switch a := t.firstTry(groups[g].units[0]); {
		case a.outcome.Answered():
			won = append(won, g)
		case t.seen[a.at].state == cancelled && !a.unfinished:
			lost = append(lost, g)
		}
	}
	if len(won) == 0 || len(lost) == 0 {
		return
	}
	first := func(g int32) *attempt { return t.firstTry(groups[g].units[0]) }
	// Winners by end; one that another answered attempt overlaps is fan-out.
	slices.SortFunc(won, func(a, b int32) int { return cmp.Or(cmp.Compare(first(a).start, first(b).start), cmp.Compare(a, b)) })
	alone := won[:0:0]
	reach := time.Duration(-1 << 62)
	for i, w := range won {
		if a := first(w); a.start >= reach && (i+1 == len(won) || first(won[i+1]).start >= a.end) {
			alone = append(alone, w)
		}
		reach = max(reach, first(w).end)
	}
	for _, l := range lost {
		c := first(l)
		i, _ := slices.BinarySearchFunc(alone, c.end-raceTolerance, func(w int32, end time.Duration) int { return cmp.Compare(first(w).end, end) })
		if i == len(alone) || first(alone[i]).end > c.end+raceTolerance {
			continue
		}
		w := alone[i]
		win := first(w)
		if c.start >= win.end || win.start >= c.end || c.start == win.start || t.seen[c.at].index >= 0 && t.seen[win.at].index >= 0 {
			continue
		}
		c.outcome = CancelledRace
		groups[w].join(groups[l].units[0], "H5")
		groups[w].how[0] = "H5"
		groups[l].units = nil
	}
}

// addCall makes one call of a group.
func (t *traced) addCall(g *group) {
	var attempts []attempt
	if u := &t.units[g.units[0]]; len(g.units) == 1 && len(u.tries) == 1 {
		k := t.attempt[u.tries[0]]
		attempts = t.attempts[k : k+1 : k+1]
	} else {
		for i, k := range g.units {
			for _, try := range t.units[k].tries {
				a := t.attempts[t.attempt[try]]
				if g.how != nil {
					a.how = g.how[i]
				}
				attempts = append(attempts, a)
			}
		}
	}
	slices.SortStableFunc(attempts, func(a, b attempt) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.at, b.at)) })
	u := &t.units[t.unit[attempts[0].at]]
	r := t.requests[t.request[u.at]]
	s := &t.Spans[u.at]
	c := call{span: s.ID, file: s.File, position: s.Position, attempts: attempts, winner: -1, at: u.at,
		messaging: s.Kind == ingest.Producer, awaited: !t.async[u.at]}
	base := t.Spans[r.entry].Start
	running := attempts[0].end
	for i := range attempts {
		a := &attempts[i]
		a.hedge = i > 0 && a.start+raceTolerance < running
		running = max(running, a.end)
		c.unfinished = c.unfinished || a.unfinished
		if w := c.winner; a.outcome.Answered() && (w < 0 || a.end < attempts[w].end) {
			c.winner = i
		}
		t.lookAtCallee(a, base)
		a.start -= base
		a.end -= base
		for k := range a.phases.intervals {
			a.phases.intervals[k].low -= base
			a.phases.intervals[k].high -= base
		}
	}
	end := c.winner
	if end < 0 {
		end = len(attempts) - 1
	}
	c.start, c.end, c.outcome = attempts[0].start, attempts[end].end, attempts[end].outcome
	if len(g.units) == 1 && attempts[0].at != u.at && s.Defect == 0 { // a span holds the attempts: its caller waited for it
		c.start, c.end = s.Start-base, s.End-base
	}
	c.end = max(c.end, c.start)
	// The attempt that got farthest tells best who was called.
	known := end
	if attempts[known].server < 0 {
		if i := slices.IndexFunc(attempts, func(a attempt) bool { return a.server >= 0 }); i >= 0 {
			known = i
		}
	}
	t.identify(&c, &attempts[known])
	r.calls = append(r.calls, c)
}

// lookAtCallee notes what the callee's span says about an attempt.
func (t *traced) lookAtCallee(a *attempt, base time.Duration) {
	if a.server < 0 {
		return
	}
	s := &t.Spans[a.server]
	for _, key := range []string{"service.instance.id", "k8s.pod.uid", "k8s.pod.name", "host.id", "host.name", "container.id"} {
		if a.instance = s.Resource.Attr(key); a.instance != "" {
			break
		}
	}
	if s.Defect != 0 {
		return
	}
	a.calleeEnd, a.leg, a.doubt = s.End-base, t.leg(a.server), t.doubt(a.server)
	switch t.seen[a.server].state {
	case healthy:
		a.calleeOK = true
	case cancelled, timedOut:
		// It was told to stop and went on: what it did then was whole, unless a
		// call of its own failed.
		a.calleeOK = !slices.ContainsFunc(t.forest.children(a.server), func(k int32) bool { return t.seen[k].state != healthy })
		a.calleeGuess = true
	}
}

// identify says whom a call went to. Where the attempt itself does not know
// (gRPC's own spans carry no names), the call inside it or the span around it does.
func (t *traced) identify(c *call, a *attempt) {
	s := &t.Spans[a.at]
	c.to.caller = s.Resource.Service
	var server *ingest.Span
	if a.server >= 0 {
		server = &t.Spans[a.server]
		c.hint = server.Resource.Attr("service.criticality")
	}
	look := func(i int32) bool {
		f := t.fact(i)
		to, by := peerOf(f, server)
		sure := by.callee != "P13"
		if by.callee == "P2" {
			alone, _ := peerOf(f, nil)
			c.alone = alone
		}
		if c.to.callee == "" || sure {
			c.to.callee, c.to.operation, c.rules = to.callee, to.operation, by
		}
		return sure
	}
	if s.Kind == ingest.Internal { // the call inside it knows best
		u := &t.units[t.unit[a.at]]
		for _, k := range append(u.inner[:len(u.inner):len(u.inner)], u.within...) {
			if t.attempt[k] >= 0 && t.attempts[t.attempt[k]].at == a.at && look(k) {
				return
			}
		}
	}
	if !look(a.at) && c.at != a.at {
		look(c.at)
	}
}

// join joins the words that are known.
func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// poolWait is how long attempts of the call waited for a connection; ok is false
// where that was not recorded.
func (c *call) poolWait() (d time.Duration, ok bool) {
	for i := range c.attempts {
		wait, recorded := c.attempts[i].phases.length(func(p part) bool { return p == poolPart })
		d, ok = d+wait, ok || recorded
	}
	return d, ok
}
