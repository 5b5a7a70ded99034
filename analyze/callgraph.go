package analyze

import (
	"cmp"
	"slices"
	"time"
)

// graphRequests is how many requests of a route its call graph is learnt from: the
// first that were answered, in the order of each. Their order says nothing about
// their calls.
const graphRequests = 4096

// graphPairs is how many pairs of calls are looked at, after which no further request is:
// requests of very many calls show their order in fewer.
const graphPairs = 1 << 22

// A callGraph is which calls the requests of a route make, and which of them wait
// for which others. It holds the calls that at least half of the answered requests
// make, and those that 1 % and three of them do.
type callGraph struct {
	requests int
	nodes    []graphNode // by mean start, so that no edge points back
	seldom   int         // calls that fewer requests make: not in nodes
}

// A graphNode is the n-th call of a request to a dependency.
type graphNode struct {
	routeNode
	holds  int
	before []int         // nodes that had ended whenever this one began, ascending
	mixed  []int         // nodes that had ended in some requests and not in others, ascending
	head   time.Duration // median own work before it, from the request's start; only where before is empty
}

// A graphSketch is a callGraph while requests are read. Its slices are by the node
// numbers of the route's table.
type graphSketch struct {
	requests int
	pairs    int // looked at
	holds    []int
	sum      []time.Duration   // of starts
	heads    [][]time.Duration // from the request's start to that of the call, without the time of calls that had ended by then
	both     map[[2]int32]int  // requests that hold both
	breach   map[[2]int32]int  // of both: the second began before the first had ended
}

func newGraphSketch(nodes int) *graphSketch {
	return &graphSketch{holds: make([]int, nodes), sum: make([]time.Duration, nodes), heads: make([][]time.Duration, nodes),
		both: map[[2]int32]int{}, breach: map[[2]int32]int{}}
}

// learn adds a request whose calls have their nodes.
//
//	the second waits for the first:   first  ====      the order is broken:   first  ====
//	                                  second      ===                         second    ===
func (g *graphSketch) learn(r *request, calls []*call) {
	if g.requests == graphRequests || g.pairs >= graphPairs {
		return
	}
	g.requests++
	calls = slices.DeleteFunc(slices.Clone(calls), func(c *call) bool { return c.node < 0 })
	g.pairs += len(calls) * len(calls)
	eps := min(r.duration/100, time.Millisecond)
	for i, c := range calls {
		g.holds[c.node]++
		g.sum[c.node] += c.start
		waited, reach := time.Duration(0), time.Duration(0) // for calls that had ended, which come by start
		for k, d := range calls {
			if k == i {
				continue
			}
			if end := min(d.end, c.start); d.end <= c.start+eps && end > reach {
				waited, reach = waited+end-max(d.start, reach), end
			}
			pair := [2]int32{c.node, d.node}
			g.both[pair]++
			if d.start < c.end-eps {
				g.breach[pair]++
			}
		}
		g.heads[c.node] = append(g.heads[c.node], c.start-waited)
	}
}

// orderRequests is how many requests have to hold two calls, to believe their order: of
// two that have none, the same one comes first in so many once in a million.
const orderRequests = 20

// mixedRequests is in one of how many requests, at least, a call has to begin after another had
// ended, to say that they are now in sequence and now side by side.
const mixedRequests = 20

// graph keeps what is not seldom. d waits for c if no request that holds both begins d
// before c ended; of 1 000 or more, at most 0.1 % may. Fewer than orderRequests are
// believed if they are half of those that hold the rarer call.
func (g *graphSketch) graph(t *routeTable) *callGraph {
	result := &callGraph{requests: g.requests}
	var order []int32
	for n := range t.nodes {
		switch holds := g.holds[n]; {
		case holds == 0:
		case 2*holds >= g.requests, holds >= 3 && 100*holds >= g.requests:
			order = append(order, int32(n))
		default:
			result.seldom++
		}
	}
	mean := func(n int32) time.Duration { return g.sum[n] / time.Duration(g.holds[n]) }
	slices.SortFunc(order, func(x, y int32) int { return cmp.Or(cmp.Compare(mean(x), mean(y)), cmp.Compare(x, y)) })
	for i, n := range order {
		node := graphNode{routeNode: t.nodes[n].routeNode, holds: g.holds[n]}
		for k, m := range order[:i] {
			pair := [2]int32{m, n}
			both, breach := g.both[pair], g.breach[pair]
			told := both >= orderRequests || both > 0 && 2*both >= min(g.holds[m], g.holds[n])
			switch {
			case !told:
			case breach == 0, both >= 1000 && 1000*breach <= both:
				node.before = append(node.before, k)
			case mixedRequests*(both-breach) >= both:
				node.mixed = append(node.mixed, k)
			}
		}
		if len(node.before) == 0 {
			node.head = nearest(g.heads[n], P50)
		}
		result.nodes = append(result.nodes, node)
	}
	return result
}
