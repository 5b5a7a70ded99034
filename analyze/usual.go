package analyze

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// A routeKey names a route.
type routeKey struct{ service, route, split string }

// key is the route of a request.
func (r *request) key() routeKey { return routeKey{r.service, r.route, r.split} }

// maxNodes is how many nodes of a route are tracked to know which calls are
// usual. Requests with more differ so much that nothing is usual.
const maxNodes = 256

// A routeNode is the n-th call of a request to a dependency.
type routeNode struct {
	dep int32
	nth int32 // from 0
}

// key is the node as a number, which maps hash faster.
func (n routeNode) key() uint64 { return uint64(uint32(n.dep))<<32 | uint64(uint32(n.nth)) }

// A routeTable is what all requests of a route show together.
type routeTable struct {
	key       routeKey
	requests  int // all that count
	writes    int // those whose entry records a deadline
	ok        int // complete or partial
	tails     Sample
	tail      time.Duration // in force: the policy's reserve, else p99 of tails; 0 where neither is known
	tailKnown bool
	index     map[uint64]int32 // by routeNode.key
	nodes     []nodeTable
	full      bool                       // more nodes than are tracked
	gaps      map[[2]int32]*Sample       // own work between two dependencies, by immediate successors in ok requests
	gap       map[[2]int32]time.Duration // their medians
	group     groupTable
	median    time.Duration     // of tails; 0 where it is not known
	caps      map[int32]*Sample // by dependency: what each deadline left its tightest call; negative counts as 0
	order     order             // of its calls, by all its requests
	owns      Sample            // own time on the path of ok requests
	own       *time.Duration    // its median; nil: not known
}

// A nodeTable counts one node over the ok requests of its route.
type nodeTable struct {
	routeNode
	holds int           // ok requests that hold the node
	start time.Duration // sum of its starts, for a stable order
	after []int32       // by other node: ok requests in which that one began after this one had ended
}

// mean is the mean start of the node.
func (n *nodeTable) mean() time.Duration {
	if n.holds == 0 {
		return 0
	}
	return n.start / time.Duration(n.holds)
}

// usuallyAfter reports whether node d begins after node c ended in at least
// half of the ok requests that hold c, three or more.
func (t *routeTable) usuallyAfter(c, d int32) bool {
	n := &t.nodes[c]
	return n.holds >= 3 && int(d) < len(n.after) && 2*int(n.after[d]) >= n.holds
}

// awaitedCalls are the calls of a request that it waited for, by start.
func (r *request) awaitedCalls() []*call {
	list := make([]*call, 0, len(r.calls))
	for k := range r.calls {
		if c := &r.calls[k]; c.awaited && !c.unfinished {
			list = append(list, c)
		}
	}
	return list
}

// learn adds a request to its route's table. Requests come in a fixed order, so
// that nodes are numbered alike in every run.
func (t *routeTable) learn(r *request) {
	if r.loose() || r.broken {
		return
	}
	t.requests++
	if r.writes {
		t.writes++
	}
	t.order.learn(r)
	if r.failed {
		return
	}
	t.ok++
	t.owns.Add(r.time.Own)
	if r.tailed {
		t.tails.add(answered, r.tail, r.weight)
	}
	calls := r.awaitedCalls()
	t.number(calls, true)
	t.group.learn(calls)
	for _, c := range calls {
		if c.node < 0 {
			continue
		}
		n := &t.nodes[c.node]
		n.holds++
		n.start += c.start
	}
	for i, c := range calls {
		from, to := successors(calls, i)
		seen := map[int32]bool{}
		for _, d := range calls[from:to] {
			if pair := [2]int32{c.dep, d.dep}; !seen[d.dep] {
				seen[d.dep] = true
				if t.gaps[pair] == nil {
					t.gaps[pair] = new(Sample)
				}
				t.gaps[pair].add(answered, d.start-c.end, r.weight)
			}
		}
		if c.node < 0 {
			continue
		}
		for _, d := range calls[from:] {
			if d.node < 0 {
				continue
			}
			n := &t.nodes[c.node]
			if missing := int(d.node) + 1 - len(n.after); missing > 0 {
				n.after = append(n.after, make([]int32, missing)...)
			}
			n.after[d.node]++
		}
	}
}

// number gives the calls their nodes; grow adds nodes that are new.
func (t *routeTable) number(calls []*call, grow bool) {
	const few = 16 // looking back costs less than a map
	var count map[int32]int32
	if len(calls) > few {
		count = map[int32]int32{}
	}
	for i, c := range calls {
		key := routeNode{dep: c.dep}
		if count == nil {
			for _, before := range calls[:i] {
				if before.dep == c.dep {
					key.nth++
				}
			}
		} else {
			key.nth = count[c.dep]
			count[c.dep]++
		}
		n, ok := t.index[key.key()]
		switch {
		case ok:
		case grow && len(t.nodes) < maxNodes:
			n = int32(len(t.nodes))
			t.index[key.key()] = n
			t.nodes = append(t.nodes, nodeTable{routeNode: key})
		default:
			n = -1
			t.full = t.full || grow
		}
		c.node = n
	}
}

// successors gives the range of calls that begin at or after the end of
// calls[i] with none wholly between. calls[from:] all begin after it.
func successors(calls []*call, i int) (from, to int) {
	end := calls[i].end
	from = max(i+1, sort.Search(len(calls), func(k int) bool { return calls[k].start >= end }))
	if from >= len(calls) {
		return from, from
	}
	soonest := calls[from].end
	for to = from + 1; to < len(calls) && calls[to].start < soonest; to++ {
		soonest = min(soonest, calls[to].end)
	}
	return from, to
}

// A chain is what a request's calls still had ahead of them.
type chain struct {
	value  []time.Duration // V, by call of awaitedCalls
	absent []absence       // usual nodes that the request does not hold, in the order they would have come
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
//	before(c)  = max over e that ended before c began (before(e) + weight(e))
//
// weight is the minimum of a required call and 0 of an optional one; between
// the median own work between the two dependencies. Ahead of a call is what
// began after it ended, and what is absent here but usually does.
func (a *Analysis) plan(r *request) chain {
	t := r.table
	calls := r.awaitedCalls()
	t.number(calls, false)
	ch := chain{value: make([]time.Duration, len(calls)), absent: t.absent(calls)}
	between := func(c, d int32) time.Duration { return t.gap[[2]int32{c, d}] }

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
					longest = max(longest, between(dep, t.nodes[m.node].dep)+m.value)
				}
			}
			for j := i; j < len(calls); j++ {
				if c := calls[j]; c.node >= 0 && t.usuallyAfter(n, c.node) {
					longest = max(longest, between(dep, c.dep)+ch.value[j])
				}
			}
			ch.absent[k].value = a.weight(dep) + longest
			continue
		}
		i--
		c := calls[i]
		from, to := successors(calls, i)
		for j := from; j < to; j++ {
			longest = max(longest, between(c.dep, calls[j].dep)+ch.value[j])
		}
		if c.node >= 0 {
			for _, m := range ch.absent[k:] {
				if t.usuallyAfter(c.node, m.node) {
					longest = max(longest, between(c.dep, t.nodes[m.node].dep)+m.value)
				}
			}
		}
		ch.value[i] = a.weight(c.dep) + longest
		c.reserve = t.tail + longest
	}

	byEnd := slices.Clone(calls)
	slices.SortStableFunc(byEnd, func(x, y *call) int { return cmp.Compare(x.end, y.end) })
	longest, next := time.Duration(0), 0
	for _, c := range calls {
		for next < len(byEnd) && byEnd[next].end <= c.start && byEnd[next] != c {
			longest = max(longest, byEnd[next].before+a.weight(byEnd[next].dep))
			next++
		}
		c.before = longest
	}
	for k := range r.calls {
		if c := &r.calls[k]; !c.awaited || c.unfinished {
			c.reserve = t.tail
		}
	}
	return ch
}

// absent lists the usual nodes of the route that none of the calls is: those
// that at least half of its ok requests hold, three or more.
func (t *routeTable) absent(calls []*call) (list []absence) {
	held := make([]bool, len(t.nodes))
	for _, c := range calls {
		if c.node >= 0 {
			held[c.node] = true
		}
	}
	for n := range t.nodes {
		if h := t.nodes[n].holds; held[n] || h < 3 || 2*h < t.ok {
			continue
		}
		miss := absence{node: int32(n)}
		for _, c := range calls {
			if c.node >= 0 && t.usuallyAfter(c.node, miss.node) {
				miss.at = max(miss.at, c.end)
			}
		}
		list = append(list, miss)
	}
	slices.SortFunc(list, func(x, y absence) int {
		return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(t.nodes[x.node].mean(), t.nodes[y.node].mean()), cmp.Compare(x.node, y.node))
	})
	return list
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
func (a *Analysis) findSkipped(r *request, ch chain) {
	r.skipped = nil
	if r.deadline == nil {
		return
	}
	if r.failed && slices.ContainsFunc(r.calls, func(c call) bool { return !c.outcome.Answered() }) {
		return
	}
	for _, miss := range ch.absent {
		dep := r.table.nodes[miss.node].dep
		s := skip{dep: dep, at: miss.at, reserve: r.table.tail + miss.value - a.weight(dep)}
		timeout, minimum := a.timeout(dep, r.deadline.budget-s.at, s.reserve), a.deps[dep].minimumInForce
		if timeout != nil && minimum != nil && *timeout < *minimum {
			s.timeout = *timeout
			r.skipped = append(r.skipped, s)
		}
	}
}
