package analyze

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// A chain is what a request's calls still had ahead of them. Its memory serves one
// request after the other.
type chain struct {
	value  []time.Duration // V, by call of awaitedCalls
	absent []absence       // usual nodes that the request does not hold, in the order they would have come
	byEnd  []*call
}

// An absence is a usual node that a request does not hold.
type absence struct {
	node  int32
	at    time.Duration // end of its last predecessor; 0: none
	value time.Duration // V
}

// plan gives every call of the request its reserve and the chain before it:
//
//	reserve(c) = tail + max over d ahead of c (between(c, d) + V(d))
//	V(d)       = weight(d) + max over e ahead of d (between(d, e) + V(e))
//
// weight is the minimum of a required call and 0 of an optional one; between
// the median own work between the two dependencies. Ahead of a call is what
// began after it ended, and what is absent here but usually does.
func (a *Analysis) plan(r *request, ch *chain) {
	t := r.table
	calls := r.awaitedCalls()
	t.number(calls, false)
	ch.value = again(&ch.value, len(calls))
	ch.findAbsent(t, calls)

	// From the last to the first, absent nodes where they would have come.
	i, k := len(calls), len(ch.absent)
	for i > 0 || k > 0 {
		longest := time.Duration(0)
		if k > 0 && (i == 0 || ch.absent[k-1].at > calls[i-1].start) {
			k--
			n := ch.absent[k].node
			dep := t.nodes[n].dep
			for _, m := range ch.absent[k+1:] {
				if t.usuallyAfter(n, m.node) {
					longest = max(longest, t.gap(dep, t.nodes[m.node].dep)+m.value)
				}
			}
			for j := i; j < len(calls); j++ {
				if c := calls[j]; c.node >= 0 && t.usuallyAfter(n, c.node) {
					longest = max(longest, t.gap(dep, c.dep)+ch.value[j])
				}
			}
			ch.absent[k].value = a.deps[dep].weight + longest
			continue
		}
		i--
		c := calls[i]
		from, to := successors(calls, i)
		for j := from; j < to; j++ {
			longest = max(longest, t.gap(c.dep, calls[j].dep)+ch.value[j])
		}
		if c.node >= 0 {
			for _, m := range ch.absent[k:] {
				if t.usuallyAfter(c.node, m.node) {
					longest = max(longest, t.gap(c.dep, t.nodes[m.node].dep)+m.value)
				}
			}
		}
		ch.value[i] = a.deps[c.dep].weight + longest
		c.reserve = t.tail + longest
	}
	for k := range r.calls {
		if c := &r.calls[k]; !c.awaited || c.unfinished {
			c.reserve = t.tail
		}
	}
}

// findAbsent lists the usual nodes of the route that none of the calls is.
func (ch *chain) findAbsent(t *routeTable, calls []*call) {
	ch.absent = ch.absent[:0]
	var held bitset
	for _, c := range calls {
		if c.node >= 0 {
			held.add(int(c.node))
		}
	}
	for _, n := range t.usual {
		if held.has(int(n)) {
			continue
		}
		miss := absence{node: n}
		for _, c := range calls {
			if c.node >= 0 && t.usuallyAfter(c.node, n) {
				miss.at = max(miss.at, c.end)
			}
		}
		ch.absent = append(ch.absent, miss)
	}
	if len(ch.absent) > 1 {
		slices.SortFunc(ch.absent, func(x, y absence) int {
			return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(t.nodes[x.node].mean(), t.nodes[y.node].mean()), cmp.Compare(x.node, y.node))
		})
	}
}

// leaveCaps notes what the deadline of a planned request leaves its calls, of those to
// one dependency the tightest:
//
//	left(c)   = deadline - reserve(c) - before(c)
//	before(c) = max over e that ended before c began (before(e) + weight(e))
func (a *Analysis) leaveCaps(r *request, ch *chain) {
	t, calls := r.table, r.awaitedCalls()
	ch.byEnd = append(ch.byEnd[:0], calls...)
	if byEnd := func(x, y *call) int { return cmp.Compare(x.end, y.end) }; !slices.IsSortedFunc(ch.byEnd, byEnd) {
		slices.SortStableFunc(ch.byEnd, byEnd)
	}
	t.room.caps = t.room.caps[:0]
	longest, next := time.Duration(0), 0
	for _, c := range calls {
		for next < len(ch.byEnd) && ch.byEnd[next].end <= c.start && ch.byEnd[next] != c {
			longest = max(longest, ch.byEnd[next].before+a.deps[ch.byEnd[next].dep].weight)
			next++
		}
		c.before = longest
		left := r.deadline.budget - c.reserve - c.before
		p := t.capOf(c.dep)
		switch {
		case !p.open:
			p.open, p.left = true, left
			t.room.caps = append(t.room.caps, p)
		case left < p.left:
			p.left = left
		}
	}
	for _, p := range t.room.caps {
		p.add(answered, p.left, r.weight)
		p.open = false
	}
}

// A skip is a usual call that was not made, since the time left was below its
// minimum: inferred.
type skip struct {
	dep     int32
	at      time.Duration // end of its last predecessor
	reserve time.Duration
	timeout time.Duration
}

// findSkipped infers which usual calls a request with a deadline skipped. A
// request that failed is only looked at if all its calls were answered: else
// the failure may be why they are absent.
func (a *Analysis) findSkipped(r *request, ch *chain) {
	r.skipped = nil
	if r.deadline == nil || len(ch.absent) == 0 || r.failed && !r.allAnswered() {
		return
	}
	for _, miss := range ch.absent {
		dep := r.table.nodes[miss.node].dep
		s := skip{dep: dep, at: miss.at, reserve: r.table.tail + miss.value - a.deps[dep].weight}
		minimum, known := a.deps[dep].minimumInForce, false
		if s.timeout, known = a.timeout(dep, r.deadline.budget-s.at, s.reserve); known && minimum != nil && s.timeout < *minimum {
			r.skipped = append(r.skipped, s)
		}
	}
}

// allAnswered reports whether all calls of a request were answered.
func (r *request) allAnswered() bool {
	for k := range r.calls {
		if !r.calls[k].outcome.Answered() {
			return false
		}
	}
	return true
}

// successors gives the range of calls that begin at or after the end of
// calls[i] with none wholly between. calls[from:] all begin after it.
func successors(calls []*call, i int) (from, to int) {
	end := calls[i].end
	from = i + 1
	if from < len(calls) && calls[from].start < end { // most begin one after the other
		from += sort.Search(len(calls)-from, func(k int) bool { return calls[from+k].start >= end })
	}
	if from >= len(calls) {
		return from, from
	}
	soonest := calls[from].end
	for to = from + 1; to < len(calls) && calls[to].start < soonest; to++ {
		soonest = min(soonest, calls[to].end)
	}
	return from, to
}
