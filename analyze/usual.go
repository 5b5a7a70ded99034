package analyze

import "time"

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

// A nodeList numbers the nodes of a route.
type nodeList struct {
	numbering
	list []routeNode // by number
}

// number appends the node of each call to nodes: the n-th call to a dependency. Nodes
// beyond maxNodes are not tracked: -1; grow adds nodes that are new.
func (l *nodeList) number(calls []*call, nodes []int32, grow bool) []int32 {
	const few = 16 // looking back costs less than a map
	var count map[int32]int32
	if len(calls) > few {
		count = make(map[int32]int32, len(calls))
	}
	for i, c := range calls {
		node := routeNode{dep: c.dep}
		if count == nil {
			for _, before := range calls[:i] {
				if before.dep == c.dep {
					node.nth++
				}
			}
		} else {
			node.nth = count[c.dep]
			count[c.dep]++
		}
		n := l.find(node)
		if n < 0 && grow && len(l.list) < maxNodes {
			n = l.add(pairKey(node.dep, node.nth))
			l.list = append(l.list, node)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// find is the number of a node; -1: it has none.
func (l *nodeList) find(n routeNode) int32 { return l.numbering.find(pairKey(n.dep, n.nth)) }

// A routeTable is what all requests of a route show together. One goroutine at a time
// adds to it.
type routeTable struct {
	key       routeKey
	requests  int // all that count
	writes    int // those whose entry records a deadline
	ok        int // complete or partial
	tails     Sample
	tail      time.Duration // in force: the policy's reserve, else p99 of tails; 0 where neither is known
	tailKnown bool
	index     nodeList    // of nodes
	nodes     []nodeTable // by number
	usual     []int32     // nodes that at least half of its ok requests hold, three or more
	full      bool        // more nodes than are tracked
	pairs     numbering   // of dependencies that follow each other immediately in ok requests
	gaps      []int32     // by pair: its number in log
	log       *gapLog     // nil: there are none
	group     groupTable
	median    time.Duration  // of tails; 0 where it is not known
	capped    numbering      // dependencies
	caps      []*capTable    // by number of capped; nil once ceilings are known
	order     order          // of its calls, by all its requests
	lateOwn   LateHeld       // late requests that own work held
	owns      Sample         // own time on the path of ok requests
	own       *time.Duration // its median; nil: not known
	room      routeRoom
}

// samples are all that the table keeps.
func (t *routeTable) samples() []*Sample { return []*Sample{&t.tails, &t.owns} }

// A capTable collects what each deadline left the tightest call of its request to a
// dependency; negative counts as 0.
type capTable struct {
	Sample
	dep    int32
	left   time.Duration  // what the request at hand leaves
	open   bool           // it leaves something
	median *time.Duration // nil: not known
}

// A routeRoom is memory that one request of a route leaves to the next.
type routeRoom struct {
	nodes []int32
	caps  []*capTable
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
	if r.awaited == nil {
		r.await(make([]*call, 0, len(r.calls)))
	}
	return r.awaited
}

// await lists the awaited calls in the memory given.
func (r *request) await(list []*call) {
	for k := range r.calls {
		if c := &r.calls[k]; c.awaited && !c.unfinished {
			list = append(list, c)
		}
	}
	r.awaited = list
}

// learn adds a request to its route's table, and to the log that it shares with others.
// Requests come in a fixed order, so that nodes are numbered alike in every run.
func (t *routeTable) learn(r *request, log *gapLog) {
	t.log = log
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
		log.calls++
		for _, d := range calls[from:to] {
			log.add(t.gapOf(c.dep, d.dep), d.start-c.end, r.weight)
		}
		if c.node < 0 {
			continue
		}
		n := &t.nodes[c.node]
		for _, d := range calls[from:] {
			if d.node < 0 {
				continue
			}
			if missing := int(d.node) + 1 - len(n.after); missing > 0 {
				n.after = append(n.after, make([]int32, missing)...)
			}
			n.after[d.node]++
		}
	}
}

// gapOf is the number of two dependencies in the log.
func (t *routeTable) gapOf(c, d int32) int32 {
	n := t.pairs.add(pairKey(c, d))
	if int(n) == len(t.gaps) {
		t.gaps = append(t.gaps, t.log.newPair())
	}
	return t.gaps[n]
}

// gap is the median own work between two dependencies; 0 where it is not known.
func (t *routeTable) gap(c, d int32) time.Duration {
	n := t.pairs.find(pairKey(c, d))
	if n < 0 {
		return 0
	}
	return t.log.between[t.gaps[n]]
}

func (t *routeTable) capOf(dep int32) *capTable {
	n := t.capped.add(uint64(dep))
	if int(n) == len(t.caps) {
		c := &capTable{dep: dep}
		t.owns.hoard.lodge(&c.Sample)
		t.caps = append(t.caps, c)
	}
	return t.caps[n]
}

// settle decides what is usual, once all requests are known.
func (t *routeTable) settle() {
	defer putAway(t.samples()...)
	t.own = t.owns.Point(P50)
	tails := t.tails.estimates(P50, P99)
	if p := tails[1].Point; p != nil {
		t.tail, t.tailKnown = *p, true
	}
	if p := tails[0].Point; p != nil {
		t.median = *p
	}
	t.group.choose()
	for n := range t.nodes {
		if h := t.nodes[n].holds; h >= 3 && 2*h >= t.ok {
			t.usual = append(t.usual, int32(n))
		}
	}
}

// number gives the calls their nodes; grow adds nodes that are new.
func (t *routeTable) number(calls []*call, grow bool) {
	t.room.nodes = t.index.number(calls, t.room.nodes[:0], grow)
	for i, n := range t.room.nodes {
		calls[i].node = n
		t.full = t.full || grow && n < 0
	}
	for _, n := range t.index.list[len(t.nodes):] {
		t.nodes = append(t.nodes, nodeTable{routeNode: n})
	}
}
