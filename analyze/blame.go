package analyze

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// attribute walks the path of every request over its calls, and says what each
// instant was spent on. A request's tree holds its own spans, its calls as
// leaves, and what other services did under it without a call of its own.
func (t *traced) attribute() {
	room := &t.rec.room
	for len(room.members) < len(t.requests) {
		room.members = append(room.members, nil)
	}
	members := room.members[:len(t.requests)] // spans of each request's tree that are no part of a call
	for i := range members {
		members[i] = members[i][:0]
	}
	for i := range t.Spans {
		if t.around != nil && t.around[i] {
			continue
		}
		if r := t.request[i]; r >= 0 && (t.unit[i] < 0 || t.requests[r].entry == int32(i)) {
			members[r] = append(members[r], int32(i))
		}
		if p := t.Spans[i].Parent; p >= 0 && t.request[p] >= 0 && t.request[p] != t.request[i] && t.request[i] >= 0 && t.unit[p] < 0 {
			members[t.request[p]] = append(members[t.request[p]], int32(i))
		}
	}
	local := again(&room.local, len(t.Spans)) // index of a span's node; valid for own spans of the request at hand
	for i, r := range t.requests {
		if !r.broken {
			t.attributeOne(int32(i), members[i], local)
		}
	}
}

// A leaf says what a node of a request's tree is: a call, or something that no
// call of the request explains.
const (
	ownNode     int32 = -1
	foreignNode int32 = -2
)

// A member is a node of the tree of a request.
type member struct {
	node
	span, call int32 // call: index into r.calls, ownNode or foreignNode
}

// attributeOne walks the path of a request. members are its spans and those of others under
// it that are no part of a call; local is room.
func (t *traced) attributeOne(index int32, members, local []int32) {
	r := t.requests[index]
	tree := t.tree(index, members)
	for k := range tree {
		if tree[k].call == ownNode {
			local[tree[k].span] = int32(k)
		}
	}
	nodes := again(&t.rec.room.ownNodes, len(tree))
	for k := range tree {
		nodes[k] = tree[k].node
		if tree[k].span == r.entry && tree[k].call == ownNode {
			nodes[k].parent = -1
		} else {
			nodes[k].parent = local[t.outside(nodes[k].parent)]
		}
	}
	f := newForest(nodes, &t.rec.room.own)
	for k := range tree {
		if c := tree[k].call; c >= 0 && f.bonds[k].async() {
			r.calls[c].awaited = false
		}
	}
	path := f.walk(local[r.entry], nil)
	r.eps = f.nodes[local[r.entry]].eps()
	base := t.Spans[r.entry].Start
	r.spend(path, tree, base)
	if last := r.findTail(path, tree, base); last >= 0 {
		c := &r.calls[last]
		try := c.attempts[len(c.attempts)-1].at
		r.lastCut = c.outcome.Cut() || t.seen[try].flags&upstreamTimeout != 0
	}
}

// tree lists the nodes of a request's tree by start: its members and its calls.
func (t *traced) tree(index int32, members []int32) []member {
	r := t.requests[index]
	tree := again(&t.rec.room.tree, len(members)+len(r.calls))[:0]
	for _, i := range members {
		m := member{t.forest.nodes[i], i, ownNode}
		if t.request[i] != index {
			m.call = foreignNode
		}
		tree = append(tree, m)
	}
	base := t.Spans[r.entry].Start
	for k := range r.calls {
		c := &r.calls[k]
		n := t.forest.nodes[c.at]
		n.start, n.end = base+c.start, base+c.end
		n.state, n.unfinished = healthy, false
		if c.winner < 0 {
			last := c.attempts[len(c.attempts)-1].at
			n.state, n.unfinished = t.seen[last].state, c.unfinished
		}
		if c.at == r.entry { // a request that is its own only call
			n.parent = r.entry
		}
		tree = append(tree, member{n, c.at, int32(k)})
	}
	slices.SortStableFunc(tree, func(a, b member) int {
		// An entry that is its own call comes before it.
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.span, b.span), cmp.Compare(a.call, b.call))
	})
	return tree
}

// spend says what each piece of the path was spent on. The request starts at base.
func (r *request) spend(path []segment, tree []member, base time.Duration) {
	for _, s := range path {
		d := s.end - s.start
		switch c := tree[s.node].call; c {
		case ownNode:
			r.time.Own += d
		case foreignNode:
			r.time.Unknown += d
		default:
			r.calls[c].split(s.start-base, s.end-base, func(what Category, from, to time.Duration) {
				*r.time.of(what) += to - from
				if what != Unknown {
					r.calls[c].path += to - from
				}
			})
			r.blind = r.blind || r.calls[c].blind()
		}
	}
	r.time.Total = r.duration
}

// findTail finds the own work after what the request waited for last, and returns what
// that was: a call, foreignNode, or ownNode where it waited for nothing.
func (r *request) findTail(path []segment, tree []member, base time.Duration) (last int32) {
	last = ownNode
	for k := len(path) - 1; k >= 0; k-- {
		if last = tree[path[k].node].call; last != ownNode {
			r.tailed, r.tail = true, base+r.duration-path[k].end
			break
		}
	}
	for k := range r.calls {
		// A call that took no time has no piece of the path: a clock may count whole
		// milliseconds, and a call past its deadline ends at once.
		c := &r.calls[k]
		tail := r.duration - c.end
		if c.start == c.end && c.awaited && !c.unfinished && c.outcome != CancelledRace && tail >= 0 && (!r.tailed || tail <= r.tail) {
			last, r.tailed, r.tail = int32(k), true, tail
		}
	}
	return last
}

// blind reports whether an attempt of the call says nothing about connecting.
func (c *call) blind() bool {
	if c.messaging {
		return false
	}
	for i := range c.attempts {
		if !c.attempts[i].phases.recorded() {
			return true
		}
	}
	return false
}

// of is the field of a category.
func (t *Time) of(c Category) *time.Duration {
	switch c {
	case Own:
		return &t.Own
	case Connect:
		return &t.Connect
	case Read:
		return &t.Read
	case Retry:
		return &t.Retry
	case RetryWait:
		return &t.RetryWait
	case Hedge:
		return &t.Hedge
	case Messaging:
		return &t.Messaging
	}
	return &t.Unknown
}

// plus adds two sums, each of which is the longest time at most.
func (t Time) plus(u Time) Time {
	return Time{plus(t.Own, u.Own), plus(t.Connect, u.Connect), plus(t.Read, u.Read), plus(t.Retry, u.Retry), plus(t.RetryWait, u.RetryWait),
		plus(t.Hedge, u.Hedge), plus(t.Messaging, u.Messaging), plus(t.Unknown, u.Unknown), plus(t.Total, u.Total)}
}

// split says what the call spent [from, to) on, in order; the pieces tile it.
// At every instant the first that applies: between attempts none runs (retry
// wait); one runs that ended before a later one began (retry); a hedge that won
// runs (hedge); the one that runs is known to be connecting (connect); the rest
// is reading. A call without an end is unknown throughout, and so is the time after an
// attempt without one, until another begins.
func (c *call) split(from, to time.Duration, yield func(what Category, from, to time.Duration)) {
	switch {
	case from >= to:
		return
	case c.messaging:
		yield(Messaging, from, to)
		return
	case c.unfinished && c.winner < 0:
		yield(Unknown, from, to)
		return
	case len(c.attempts) == 1 && len(c.attempts[0].phases.intervals) == 0:
		yield(Read, from, to)
		return
	}
	cuts := []time.Duration{from, to}
	cut := func(at time.Duration) {
		if at > from && at < to {
			cuts = append(cuts, at)
		}
	}
	for i := range c.attempts {
		a := &c.attempts[i]
		cut(a.start)
		cut(a.end)
		for _, p := range a.phases.intervals {
			if p.part.connecting() || p.part == backoffPart {
				cut(p.low)
				cut(p.high)
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	s := c.spending()
	for i, at := range cuts[:len(cuts)-1] {
		yield(s.at(at), at, cuts[i+1])
	}
}

// A spending says what a call spends one instant after the other on.
type spending struct {
	*call
	firstStart, lastEnd time.Duration
	retried             []interval // when attempts ran that ended before a later one began
	rest                []int32    // the others that are not over; all end after the last one began

	of                int32      // attempt to which the next two belong; -1: none
	backOff, connects []interval // its phases
}

func (c *call) spending() *spending {
	s := &spending{call: c, firstStart: c.attempts[0].start, lastEnd: c.attempts[0].end, of: -1}
	lastStart := c.attempts[0].start
	for i := range c.attempts {
		lastStart, s.lastEnd = max(lastStart, c.attempts[i].start), max(s.lastEnd, c.attempts[i].end)
	}
	for k := range c.attempts {
		a := &c.attempts[k]
		// Also where a clock's grain makes them overlap (N8), as in what a hedge is.
		if a.end <= lastStart || k < len(c.attempts)-1 && k != c.winner && a.end <= lastStart+raceTolerance {
			s.retried = append(s.retried, interval{a.start, a.end})
		} else {
			s.rest = append(s.rest, int32(k))
		}
	}
	s.retried = joined(s.retried)
	return s
}

// at is what the call spends an instant on: see split. Instants come in order.
func (s *spending) at(at time.Duration) Category {
	if within(s.retried, at) {
		return Retry
	}
	runs := s.running(at)
	if runs < 0 && at >= s.firstStart && at < s.lastEnd {
		if s.openAt(at) {
			return Unknown
		}
		return RetryWait
	}
	if w := s.winner; w >= 0 && s.attempts[w].hedge && at >= s.attempts[w].start {
		return Hedge
	}
	if runs < 0 {
		return Read // in the span around the attempts, before or after them
	}
	if s.of != runs {
		s.of = runs
		p := &s.attempts[runs].phases
		s.backOff = p.during(func(p part) bool { return p == backoffPart })
		s.connects = p.during(part.connecting)
	}
	switch {
	case within(s.backOff, at): // inside a span that holds several tries
		return RetryWait
	case within(s.connects, at):
		return Connect
	}
	return Read
}

// running is the attempt that counts at an instant: the winner if it runs, else the first that does;
// -1: none.
func (s *spending) running(at time.Duration) int32 {
	runs := func(k int32) bool { return s.attempts[k].start <= at && s.attempts[k].end > at }
	if s.winner >= 0 && runs(int32(s.winner)) {
		return int32(s.winner)
	}
	for len(s.rest) > 0 && s.attempts[s.rest[0]].end <= at {
		s.rest = s.rest[1:]
	}
	if k := slices.IndexFunc(s.rest, runs); k >= 0 {
		return s.rest[k]
	}
	return -1
}

// joined sorts intervals by start and joins those that overlap or touch.
func joined(list []interval) []interval {
	slices.SortFunc(list, func(a, b interval) int { return cmp.Compare(a.low, b.low) })
	all := list[:0]
	for _, i := range list {
		if n := len(all); n > 0 && i.low <= all[n-1].high {
			all[n-1].high = max(all[n-1].high, i.high)
			continue
		}
		all = append(all, i)
	}
	return all
}

// within reports whether an instant is in one of intervals that are joined.
func within(list []interval, at time.Duration) bool {
	k := sort.Search(len(list), func(k int) bool { return list[k].high > at })
	return k < len(list) && list[k].low <= at
}

// openAt reports whether the last attempt to have begun has no end: nobody knows how long it ran.
func (c *call) openAt(at time.Duration) bool {
	begun := sort.Search(len(c.attempts), func(k int) bool { return c.attempts[k].start > at })
	return begun > 0 && c.attempts[begun-1].unfinished
}

// during is when the attempt was in a phase for which which holds, joined.
func (p *phases) during(which func(part) bool) (list []interval) {
	for _, i := range p.intervals {
		if which(i.part) {
			list = append(list, i.interval)
		}
	}
	return joined(list)
}

// A stretch is a piece of a top request's path of spans, with what it was
// spent on, as seen by the request that owns the span.
type stretch struct {
	segment
	what     Category
	call     *call // nil outside calls
	inFlight bool  // a child of the span ran meanwhile, and was not waited for
}

// stretches is the critical path of the tree under a root span.
func (t *traced) stretches(root int32, visited func(int32)) (list []stretch) {
	callOf := func(span int32) (*request, *call) {
		if t.request[span] < 0 || t.unit[span] < 0 {
			return nil, nil
		}
		r := t.requests[t.request[span]]
		return r, &r.calls[t.units[t.unit[span]].calls]
	}
	waits := map[int32][]wait{} // by request
	spent := spentPieces{}
	for _, s := range t.forest.walk(root, visited) {
		r, c := callOf(s.node)
		if c == nil {
			var own []wait
			if k := t.request[s.node]; k >= 0 {
				if _, ok := waits[k]; !ok {
					waits[k] = t.requests[k].waits()
				}
				own = waits[k]
			}
			list = t.ownStretches(list, s, own, spent)
			continue
		}
		base := t.Spans[r.entry].Start
		spent.split(c, s.start-base, s.end-base, func(what Category, from, to time.Duration) {
			if n := len(list); n > 0 && list[n-1].node == s.node && list[n-1].what == what && list[n-1].end == from+base {
				list[n-1].end = to + base
				return
			}
			list = append(list, stretch{segment: segment{s.node, from + base, to + base}, what: what, call: c})
		})
	}
	t.forest.markInFlight(list)
	return list
}

// spentPieces remembers what calls spent their time on that are looked at piece by piece.
type spentPieces map[*call][]spentPiece

type spentPiece struct {
	interval
	what Category
}

// split is call.split.
func (m spentPieces) split(c *call, from, to time.Duration, yield func(what Category, from, to time.Duration)) {
	if from < c.start || to > c.end {
		c.split(from, to, yield)
		return
	}
	all, known := m[c]
	if !known {
		c.split(c.start, c.end, func(what Category, from, to time.Duration) {
			all = append(all, spentPiece{interval{from, to}, what})
		})
		m[c] = all
	}
	first := sort.Search(len(all), func(k int) bool { return all[k].high > from })
	for _, p := range all[first:] {
		if p.low >= to {
			return
		}
		yield(p.what, max(p.low, from), min(p.high, to))
	}
}

// A wait is a call of several attempts that held its request; reach is the latest
// end of it and those before it.
type wait struct {
	*call
	reach time.Duration
}

// waits lists the calls of a request between whose attempts it waited, by start.
func (r *request) waits() (list []wait) {
	reach := time.Duration(0)
	for k := range r.calls {
		if c := &r.calls[k]; len(c.attempts) > 1 && c.path > 0 {
			reach = max(reach, c.end)
			list = append(list, wait{c, reach})
		}
	}
	return list
}

// ownStretches adds a segment of a service's own span. Where it lies between two
// attempts of a call that the request waited for, it is the wait before the next.
func (t *traced) ownStretches(list []stretch, s segment, waits []wait, spent spentPieces) []stretch {
	at := s.start
	if len(waits) > 0 {
		base := t.Spans[t.requests[t.request[s.node]].entry].Start
		first := sort.Search(len(waits), func(k int) bool { return base+waits[k].reach > at })
		for _, w := range waits[first:] {
			if base+w.start >= s.end {
				break
			}
			from, to := max(at, base+w.start), min(s.end, base+w.end)
			if to <= from {
				continue
			}
			if from > at {
				list = append(list, stretch{segment: segment{s.node, at, from}, what: Own})
			}
			spent.split(w.call, from-base, to-base, func(what Category, from, to time.Duration) {
				list = append(list, stretch{segment: segment{s.node, base + from, base + to}, what: what, call: w.call})
			})
			at = to
		}
	}
	if at < s.end {
		list = append(list, stretch{segment: segment{s.node, at, s.end}, what: Own})
	}
	return list
}
