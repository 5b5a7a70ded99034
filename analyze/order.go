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
	nodes nodeList
	pairs [][]pairCount // by later node d, then earlier node c
	calls []*call       // of the request at hand
	room  []int32       // and their nodes
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

// settled appends to list the calls of a request that have an end, by start. They are
// the ones that a replay moves.
func (r *request) settled(list []*call) []*call {
	for k := range r.calls {
		if c := &r.calls[k]; !c.unfinished {
			list = append(list, c)
		}
	}
	return list
}

// free is the first node of a dependency that is neither among the nodes nor
// already taken; -1: there is none.
func (o *order) free(dep int32, nodes []int32, taken []absent) int32 {
	for n := range int32(maxNodes) {
		node := o.nodes.find(routeNode{dep, n})
		if node < 0 {
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
	o.calls = r.settled(o.calls[:0])
	if len(o.calls) > maxNodes {
		return
	}
	calls, nodes := o.calls, o.nodes.number(o.calls, o.room[:0], true)
	o.room = nodes
	for len(o.pairs) < len(o.nodes.list) {
		o.pairs = append(o.pairs, nil)
	}
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
