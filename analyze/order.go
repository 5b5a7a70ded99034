package analyze

import (
	"slices"
	"time"
)

// An order is what all requests of a route show about which call waits for which.
// It is a claim about a pair of nodes, learned by looking for what refutes it:
//
//	c -> d holds unless a request that has both starts d before c's end - eps
//
// From manyPairs requests on, one in a thousand may do so. Under fewPairs
// there is too little to learn from: what the request at hand shows decides.
// Siblings prove no dependency; what was never seen otherwise is what is
// assumed.
type order struct {
	index map[routeNode]int32
	list  []routeNode   // by index
	pairs [][]pairCount // by later node d, then earlier node c
}

// A pairCount counts the requests that have both nodes, and of those the ones
// in which the later did not wait for the earlier.
type pairCount struct{ both, refuted int32 }

const (
	fewPairs  = 20
	manyPairs = 1000
	oddPairs  = 1000 // one request in so many may show otherwise, from manyPairs on
)

// A claim is what is known about c -> d.
type claim uint8

const (
	unclaimed claim = iota // too few requests: what this one shows decides
	holds
	refuted
)

// settled are the calls of a request that have an end, by start. They are the
// ones that a replay moves.
func (r *request) settled() []*call {
	list := make([]*call, 0, len(r.calls))
	for k := range r.calls {
		if c := &r.calls[k]; !c.unfinished {
			list = append(list, c)
		}
	}
	return list
}

// number appends the node of each call to nodes: the n-th call to a dependency.
// Nodes beyond maxNodes are not tracked: -1.
func (o *order) number(calls []*call, nodes []int32, grow bool) []int32 {
	if o.index == nil {
		o.index = map[routeNode]int32{}
	}
	count := make(map[int32]int32, len(calls))
	for _, c := range calls {
		key := routeNode{c.dep, count[c.dep]}
		count[c.dep]++
		n, ok := o.index[key]
		switch {
		case ok:
		case grow && len(o.index) < maxNodes:
			n = int32(len(o.index))
			o.index[key] = n
			o.list = append(o.list, key)
			o.pairs = append(o.pairs, nil)
		default:
			n = -1
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// free is the first node of a dependency that is neither among the nodes nor
// already taken; -1: there is none.
func (o *order) free(dep int32, nodes []int32, taken []absent) int32 {
	for n := range int32(maxNodes) {
		node, ok := o.index[routeNode{dep, n}]
		if !ok {
			return -1
		}
		if !slices.Contains(nodes, node) && !slices.Contains(taken, absent{dep, node}) {
			return node
		}
	}
	return -1
}

// learn looks at all pairs of calls of a request. Requests with more than
// maxNodes calls differ too much to learn an order from.
func (o *order) learn(r *request) {
	calls := r.settled()
	if len(calls) > maxNodes {
		return
	}
	nodes := o.number(calls, nil, true)
	for j, d := range calls {
		for i, c := range calls {
			if i == j || nodes[i] < 0 || nodes[j] < 0 {
				continue
			}
			n := o.pair(nodes[i], nodes[j])
			n.both++
			if !waitedFor(c.start, c.end, d.start, d.end, r.eps) {
				n.refuted++
			}
		}
	}
}

func (o *order) pair(c, d int32) *pairCount {
	if missing := int(c) + 1 - len(o.pairs[d]); missing > 0 {
		o.pairs[d] = append(o.pairs[d], make([]pairCount, missing)...)
	}
	return &o.pairs[d][c]
}

// claim says what is known of c -> d.
func (o *order) claim(c, d int32) claim {
	if c < 0 || d < 0 || int(c) >= len(o.pairs[d]) {
		return unclaimed
	}
	switch n := o.pairs[d][c]; {
	case n.both < fewPairs:
		return unclaimed
	case n.both >= manyPairs && int64(n.refuted)*oddPairs <= int64(n.both), n.refuted == 0:
		return holds
	}
	return refuted
}

// waitedFor reports whether by these times d can have waited for c: it began
// after c's end, or at most eps before it.
//
//	c  [=======]
//	d         [=====]   the overlap is at most eps, and half of the shorter one
//
// Without the second bound, two calls shorter than eps that ran side by side
// would each seem to wait for the other.
func waitedFor(cStart, cEnd, dStart, dEnd, eps time.Duration) bool {
	overlap := cEnd - dStart
	return overlap <= 0 || overlap <= eps && 2*overlap <= min(cEnd-cStart, dEnd-dStart)
}
