package analyze

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

	"overrun/ingest"
)

// A group is units under one parent that are one call.
type group struct {
	units []int32  // by start
	how   []string // rule by which each belongs to the call; nil: one unit alone
}

// join adds a unit by a rule.
func (g *group) join(unit int32, how string) {
	g.units, g.how = append(g.units, unit), append(g.reasons(), how)
}

// reasons is how, with room for each unit.
func (g *group) reasons() []string {
	if g.how == nil {
		return make([]string, len(g.units), len(g.units)+1)
	}
	return g.how
}

// race takes in the units of a group whose last one lost against the last one here, which
// stays the last.
func (g *group) race(lost *group) {
	won, against := g.reasons(), lost.reasons()
	won[len(won)-1], against[len(against)-1] = "H5", "H5"
	g.units, g.how = append(slices.Clip(lost.units), g.units...), append(against, won...)
	lost.units = nil
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
//
// Spans of the caller's own that hold one unit each count as that unit: see outermost.
func (t *traced) groupCalls() {
	groups, open := t.group(t.besides())
	if t.rec.tables.signals.InferHedges {
		for _, b := range open {
			if len(b.all) > 1 {
				t.race(groups, b.all)
			}
		}
		t.raceReplicas(groups, open)
	}
	t.unwrap(groups)
	t.addCalls(groups)
}

// A place is where units may be tries of one call: under one parent, with one name.
type place struct {
	parent int32
	name   string
	inside string // name of the unit, where that is of a span around it; else ""
}

// besides counts the units of each place that has several under its parent, one of which may
// go on or lose. Elsewhere nothing is to be joined.
func (t *traced) besides() (count map[place]int) {
	restless := func(k int) bool { return t.resends(int32(k)) > 0 || !t.firstTry(int32(k)).outcome.Answered() }
	first := 0
	for first < len(t.units) && !restless(first) {
		first++
	}
	if first == len(t.units) || len(t.units) == 1 {
		return nil
	}
	t.findOutermost()
	under := again(&t.rec.room.under, len(t.Spans)+1)    // units by parent
	mayGo := again(&t.rec.room.restless, len(t.Spans)+1) // whether one of them may go on, or lose
	for k := range t.units {
		p := t.Spans[t.outermost[k]].Parent + 1
		under[p]++
		mayGo[p] = mayGo[p] || k >= first && restless(k)
	}
	for k := range t.units {
		if p := t.Spans[t.outermost[k]].Parent + 1; under[p] > 1 && mayGo[p] {
			if count == nil {
				count = map[place]int{}
			}
			count[t.place(int32(k))]++
		}
	}
	return count
}

// findOutermost finds the outermost span that holds each unit and no other: where a caller
// opens a span of its own around each try, that lies beside those of the others.
//
//	retry        [====================]
//	  attempt 1  [======]
//	    GET       [====]                  outermost: attempt 1
//	  attempt 2            [==========]
//	    GET                 [========]    outermost: attempt 2
func (t *traced) findOutermost() {
	held := again(&t.rec.room.held, len(t.Spans)) // units at the span or below it, of its request
	t.outermost = again(&t.rec.room.outermost, len(t.units))
	for k := range t.units {
		held[t.units[k].at]++
	}
	for n := len(t.order) - 1; n >= 0; n-- {
		i := t.order[n]
		if p := t.Spans[i].Parent; p >= 0 && held[i] > 0 && t.request[p] == t.request[i] {
			held[p] += held[i]
		}
	}
	for k := range t.units {
		i := t.units[k].at
		entry := t.requests[t.request[i]].entry
		for p := t.Spans[i].Parent; i != entry && p != entry && held[p] == 1 && t.wraps(p); p = t.Spans[i].Parent {
			i = p
		}
		t.outermost[k] = i
	}
}

// wraps reports whether a span is one that a caller opens around a try.
func (t *traced) wraps(i int32) bool {
	is := t.seen[i].part
	return t.Spans[i].Kind == ingest.Internal && (is == ownPart || is == breakerPart)
}

// place says where a unit lies: where its outermost span does.
func (t *traced) place(unit int32) place {
	u := &t.units[unit]
	i := t.outermost[unit]
	here := place{parent: t.Spans[i].Parent, name: t.siblingName(i)}
	if t.Spans[i].Kind == ingest.Internal {
		here.inside = t.Spans[t.sender(u)].Name
	}
	return here
}

// sender is the span of a unit that tells whom it calls.
func (t *traced) sender(u *unit) int32 {
	if len(u.inner) > 0 {
		return u.inner[0]
	}
	return u.tries[0]
}

// A peerPlace is a place and whom its units call.
type peerPlace struct {
	place
	peer string
}

// group puts units into groups by start, one after the other continued or begun anew. beside
// is what besides counts. open is the groups of each place and peer.
func (t *traced) group(beside map[place]int) (groups []group, open map[peerPlace]*siblings) {
	byStart := again(&t.rec.room.byStart, len(t.units))[:0]
	for i, k := range t.unit { // spans are by start
		if k >= 0 && t.units[k].at == int32(i) {
			byStart = append(byStart, k)
		}
	}
	groups = again(&t.rec.room.groups, len(t.units))[:0]
	for i, k := range byStart {
		u := &t.units[k]
		alone := group{units: byStart[i : i+1 : i+1]}
		if beside == nil || t.Spans[u.at].Parent < 0 || len(u.tries) > 1 || t.Spans[u.at].Kind == ingest.Producer {
			groups = append(groups, alone)
			continue
		}
		here := t.place(k)
		if beside[here] < 2 {
			groups = append(groups, alone)
			continue
		}
		at := peerPlace{here, t.peerKey(t.sender(u))}
		if open == nil {
			open = map[peerPlace]*siblings{}
		}
		if open[at] == nil {
			open[at] = newSiblings(t)
		}
		g, how := open[at].continued(k)
		if g < 0 {
			g = int32(len(groups))
			groups = append(groups, alone)
			open[at].all = append(open[at].all, g)
		} else {
			groups[g].join(k, how)
		}
		open[at].add(g, k)
	}
	return groups, open
}

// raceReplicas joins copies that were sent to several addresses which the spans of the callee show
// to be one service. Tries one after the other at different addresses may as well be calls to
// its parts: nothing joins them.
func (t *traced) raceReplicas(groups []group, open map[peerPlace]*siblings) {
	lost := false
	var all []int32
	for _, b := range open {
		for _, g := range b.all {
			if len(groups[g].units) == 0 {
				continue
			}
			all = append(all, g)
			lost = lost || t.seen[t.lastTry(&groups[g]).at].state == cancelled
		}
	}
	if !lost {
		return
	}
	slices.Sort(all)
	replicas := map[peerPlace][]int32{}
	for _, g := range all {
		k := groups[g].units[len(groups[g].units)-1]
		if server := t.firstTry(k).server; server >= 0 {
			at := peerPlace{t.place(k), t.requestKey(t.sender(&t.units[k]), t.Spans[server].Resource.Service)}
			replicas[at] = append(replicas[at], g)
		}
	}
	for _, list := range replicas {
		if len(list) > 1 {
			t.race(groups, list)
		}
	}
}

// unwrap marks the spans around the units of groups that several make up: what they hold is
// then beside the call, which goes on beyond each of them.
func (t *traced) unwrap(groups []group) {
	t.around = nil
	for i := range groups {
		if len(groups[i].units) < 2 {
			continue
		}
		for _, k := range groups[i].units {
			for at := t.units[k].at; at != t.outermost[k]; {
				if t.around == nil {
					t.around = again(&t.rec.room.around, len(t.Spans))
				}
				at = t.Spans[at].Parent
				t.around[at] = true
			}
		}
	}
}

// outside is the nearest span from i upwards that is not around one try of a call of several.
func (t *traced) outside(i int32) int32 {
	for t.around != nil && i >= 0 && t.around[i] {
		i = t.Spans[i].Parent
	}
	return i
}

// addCalls makes a call of each group, by start within its request.
func (t *traced) addCalls(groups []group) {
	calls := again(&t.rec.room.counts, len(t.requests))
	total := 0
	for i := range groups {
		if u := groups[i].units; len(u) > 0 {
			calls[t.request[t.units[u[0]].at]]++
			total++
		}
	}
	room := again(&t.rec.room.calls, total)
	for i, r := range t.requests {
		r.calls, room = room[:0:calls[i]], room[calls[i]:]
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

// siblingName is the name that attempts of one call share: that of a span around one try
// may end with its number (attempt_2).
func (t *traced) siblingName(i int32) string {
	if t.Spans[i].Kind == ingest.Internal {
		return strings.TrimRight(t.Spans[i].Name, "0123456789")
	}
	return t.Spans[i].Name
}

// peerKey is what attempts of one call have in common.
func (t *traced) peerKey(i int32) string {
	f := t.fact(i)
	return t.requestKey(i, f.address()+"\x00"+f.get("service.peer.name"))
}

// requestKey is what a span sends, and to whom.
func (t *traced) requestKey(i int32, whom string) string {
	f := t.fact(i)
	path := f.get("url.path")
	if path == "" {
		path, _, _ = strings.Cut(f.recorded("url.full"), "?")
	}
	return strings.Join([]string{f.httpMethod(), whom, f.rpcMethod(), path, f.get("db.operation.name"), f.get("db.collection.name")}, "\x00")
}

// siblings are the calls to one peer under one parent that may go on: those
// whose last attempt counts, or failed. Units come by start.
type siblings struct {
	t       *traced
	counted map[int]*lastTries // by the resends before the last attempt: the latest to end first
	pending lastTries          // failed and uncounted, not over when last looked at: the first to be over first
	ready   []lastTry          // failed and uncounted, over, in that order
	all     []int32            // all groups
	last    map[int32]int32    // unit that is the last of each group: others were continued already
	added   int
}

func newSiblings(t *traced) *siblings {
	return &siblings{t: t, counted: map[int]*lastTries{}, pending: lastTries{before: firstOver}, last: map[int32]int32{}}
}

// A lastTry is an attempt that was the last of its group when it was added.
type lastTry struct {
	end         time.Duration
	over        time.Duration // when the next one may begin
	group, unit int32
	nth         int // to be added
}

// newLastTry says when an attempt was over: at its end, give or take the grain of clocks (N8). Of
// what is as short as that the greater part has to be over: calls to a closed port end within a
// millisecond, side by side too.
func newLastTry(a *attempt, group, unit int32, nth int) lastTry {
	return lastTry{a.end, a.end - min(raceTolerance, (a.end-a.start)/2), group, unit, nth}
}

// lastTries is a heap: before says which of two comes first.
type lastTries struct {
	list   []lastTry
	before func(a, b *lastTry) bool
}

func firstOver(a, b *lastTry) bool {
	return cmp.Or(cmp.Compare(a.over, b.over), cmp.Compare(a.end, b.end), cmp.Compare(a.group, b.group)) < 0
}

func latestEnd(a, b *lastTry) bool {
	return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.nth, b.nth)) > 0
}

func (h *lastTries) Len() int           { return len(h.list) }
func (h *lastTries) Less(i, j int) bool { return h.before(&h.list[i], &h.list[j]) }
func (h *lastTries) Swap(i, j int)      { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *lastTries) Push(x any)         { h.list = append(h.list, x.(lastTry)) }
func (h *lastTries) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}

func (t *traced) firstTry(unit int32) *attempt { return &t.attempts[t.attempt[t.units[unit].tries[0]]] }

// lastTry is the last attempt of a group, if its units are single attempts.
func (t *traced) lastTry(g *group) *attempt { return t.firstTry(g.units[len(g.units)-1]) }

// resends is how many sends of a call a unit was counted to come after; -1: not counted. What an
// attempt inside a unit counts are those inside it.
func (t *traced) resends(unit int32) int { return int(t.seen[t.units[unit].at].index) }

// continued finds the group that a unit goes on with, the latest to have ended,
// takes it off, and says by which rule; -1: none.
func (b *siblings) continued(unit int32) (g int32, how string) {
	a := b.t.firstTry(unit)
	if n := b.t.resends(unit); n >= 0 {
		for list := b.counted[n-1]; list != nil && list.Len() > 0; {
			if latest := heap.Pop(list).(lastTry); b.last[latest.group] == latest.unit {
				return latest.group, b.t.seen[b.t.units[unit].at].rule.count
			}
		}
		return -1, ""
	}
	for b.pending.Len() > 0 && b.pending.list[0].over <= a.start {
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
	last := newLastTry(a, g, unit, b.added)
	b.last[g] = unit
	b.added++
	if b.t.redirected(a.at) {
		return
	}
	// The first attempt carries no count where later ones do.
	n := b.t.resends(unit)
	if b.counted[max(n, 0)] == nil {
		b.counted[max(n, 0)] = &lastTries{before: latestEnd}
	}
	heap.Push(b.counted[max(n, 0)], last)
	if b.t.rec.tables.signals.InferRetries && n < 0 && !a.unfinished && b.t.retryable(a.at) {
		heap.Push(&b.pending, last)
	}
}

// race joins groups whose last attempts are copies of one call: they overlap,
// exactly one was answered, and the others were cancelled within raceTolerance of its
// end. All answered is fan-out (H6). Attempts before the last are retries, of either copy.
func (t *traced) race(groups []group, list []int32) {
	var won, lost []int32
	for _, g := range list {
		switch a := t.lastTry(&groups[g]); {
		case a.outcome.Answered():
			won = append(won, g)
		case t.seen[a.at].state == cancelled && !a.unfinished:
			lost = append(lost, g)
		}
	}
	if len(won) == 0 || len(lost) == 0 {
		return
	}
	last := func(g int32) *attempt { return t.lastTry(&groups[g]) }
	counted := func(g int32) bool { return t.resends(groups[g].units[len(groups[g].units)-1]) >= 0 }
	// Winners by start; one that another answered attempt overlaps is fan-out, so
	// that those left are by end too.
	slices.SortFunc(won, func(a, b int32) int { return cmp.Or(cmp.Compare(last(a).start, last(b).start), cmp.Compare(a, b)) })
	alone := won[:0:0]
	reach := time.Duration(-1 << 62)
	for i, w := range won {
		if a := last(w); a.start >= reach && (i+1 == len(won) || last(won[i+1]).start >= a.end) {
			alone = append(alone, w)
		}
		reach = max(reach, last(w).end)
	}
	for _, l := range lost {
		c := last(l)
		i, _ := slices.BinarySearchFunc(alone, c.end-raceTolerance, func(w int32, end time.Duration) int { return cmp.Compare(last(w).end, end) })
		if i == len(alone) || last(alone[i]).end > c.end+raceTolerance {
			continue
		}
		w := alone[i]
		win := last(w)
		if c.start >= win.end || win.start >= c.end || c.start == win.start || counted(l) && counted(w) {
			continue
		}
		c.outcome = CancelledRace
		groups[w].race(&groups[l])
	}
}
