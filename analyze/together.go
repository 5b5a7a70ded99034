package analyze

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"time"
)

// Independence compares how often requests of a route are late or timed out with how often
// they would be if the branches of their last parallel group were slow independently. A
// branch that a timeout cut is not answered by the deadline: so requests count that
// timed out, and those that failed otherwise do not.
type Independence struct {
	Branches  []string `json:"branches"` // callee and operation, in the order in which they are first called
	Requests  int      `json:"requests"` // with a deadline, that hold all branches
	Predicted float64  `json:"predicted_share"`
	Observed  float64  `json:"observed_share"` // late or timed out
	Ratio     *float64 `json:"ratio"`          // observed / predicted; null: nothing is predicted
	Verdict   string   `json:"verdict"`        // together, apart, independent or too-few
}

// A groupTable counts what the last parallel group of a route's requests did.
type groupTable struct {
	seen     map[string]int // requests by the nodes of their group
	last     []int32        // nodes of the group of the request at hand
	key      []byte         // and as a key
	nodes    []int32        // of the most frequent group
	all      headcount      // requests that hold all of nodes
	late     headcount
	answered []headcount // by node: answered by the deadline less the median tail
}

// mostGroups is how many groups of one route are told apart.
const mostGroups = 256

// lastGroup gives the last calls, by start, of which each runs while one before it
// does.
func lastGroup(calls []*call) []*call {
	from, reach := 0, time.Duration(-1)
	for i, c := range calls {
		if c.start >= reach {
			from = i
		}
		reach = max(reach, c.end)
	}
	return calls[from:]
}

// learn counts the last group of a request.
func (g *groupTable) learn(calls []*call) {
	nodes, key := g.last[:0], g.key[:0]
	for _, c := range lastGroup(calls) {
		if c.node >= 0 {
			nodes = append(nodes, c.node)
		}
	}
	if g.last = nodes; len(nodes) < 2 {
		return
	}
	slices.Sort(nodes)
	for _, n := range nodes {
		key = binary.BigEndian.AppendUint16(key, uint16(n))
	}
	g.key = key
	if g.seen == nil {
		g.seen = map[string]int{}
	}
	if g.seen[string(key)] > 0 || len(g.seen) < mostGroups {
		g.seen[string(key)]++
	}
}

// choose settles on the most frequent group.
func (g *groupTable) choose() {
	best := ""
	for _, key := range slices.Sorted(maps.Keys(g.seen)) {
		if g.seen[key] > g.seen[best] {
			best = key
		}
	}
	for b := []byte(best); len(b) > 0; b = b[2:] {
		g.nodes = append(g.nodes, int32(binary.BigEndian.Uint16(b)))
	}
	g.answered = make([]headcount, len(g.nodes))
}

// survey counts a request with a deadline whose calls have their nodes.
func (g *groupTable) survey(r *request, tail time.Duration) {
	if len(g.nodes) == 0 || r.failed && !r.timedOut {
		return
	}
	by := r.deadline.budget - tail
	inTime := make([]bool, len(g.nodes))
	held := 0
	for k := range r.calls {
		c := &r.calls[k]
		if i, ok := slices.BinarySearch(g.nodes, c.node); ok && c.awaited && !c.unfinished {
			held++
			inTime[i] = c.outcome.Answered() && c.end <= by
		}
	}
	if held < len(g.nodes) {
		return
	}
	g.all.add(r.weight)
	if r.timedOut || r.duration > r.deadline.budget {
		g.late.add(r.weight)
	}
	for i, ok := range inTime {
		if ok {
			g.answered[i].add(r.weight)
		}
	}
}

// Limits of a verdict on independence, of requests by their effective number.
const (
	togetherRequests = 20
	togetherExpected = 5.0  // late requests
	togetherChance   = 0.01 // two-sided
)

// theory is what independent branches would do; nil: the route has no parallel group, no
// deadline, or weights of which only some are known.
//
//	late = 1 - product of F_i(deadline - median tail)
//
// The interval is put together of those of the branches, [l_i, u_i], on the scale of
// logarithms, with the high end alike:
//
//	log low = sum log F_i - sqrt(sum (log F_i - log l_i)^2)
//
// Zou and Donner, Stat. Med. 27 (2008) 1693; for a product and Clopper and Pearson's
// intervals, so that branches that all answered, or none of which did, leave it open how
// many will. A product is no more than its least factor.
func (g *groupTable) theory() *Theory {
	observed := g.late.shareIn(&g.all)
	if len(g.nodes) < 2 || observed.Point == nil {
		return nil
	}
	product, most := 1.0, 1.0
	var down, up float64 // sums of squares
	for i := range g.answered {
		f := g.answered[i].shareIn(&g.all)
		product *= *f.Point
		most = min(most, *f.High)
		if *f.Point > 0 {
			down += math.Pow(math.Log(*f.Point / *f.Low), 2)
			up += math.Pow(math.Log(*f.High / *f.Point), 2)
		}
	}
	low, high := product*math.Exp(-math.Sqrt(down)), min(most, product*math.Exp(math.Sqrt(up)))
	if product == 0 {
		high = most
	}
	return &Theory{Branches: len(g.nodes), Requests: g.all.n, Late: 1 - product, Low: 1 - high, High: 1 - low, Observed: *observed.Point}
}

// independence compares the theory with what is; nil: there is none.
func (g *groupTable) independence(name func(node int32) string) *Independence {
	t := g.theory()
	if t == nil {
		return nil
	}
	in := &Independence{Requests: t.Requests, Predicted: t.Late, Observed: t.Observed}
	for _, n := range g.nodes {
		in.Branches = append(in.Branches, name(n))
	}
	if in.Predicted > 0 {
		ratio := in.Observed / in.Predicted
		in.Ratio = &ratio
	}
	n := rounded(g.all.effective())
	k := in.Observed * n
	switch {
	case n < togetherRequests || max(k, in.Predicted*n) < togetherExpected:
		in.Verdict = "too-few"
	case in.Observed < in.Predicted && 1-binomialTail(n, k+1, in.Predicted) < togetherChance/2:
		in.Verdict = "together"
	case in.Observed > in.Predicted && binomialTail(n, k, in.Predicted) < togetherChance/2:
		in.Verdict = "apart"
	default:
		in.Verdict = "independent"
	}
	return in
}

// branchName names a node of a route.
func (a *Analysis) branchName(t *routeTable) func(node int32) string {
	return func(node int32) string {
		d := a.deps[t.nodes[node].dep].name
		return cmp.Or(join(d.callee, d.operation), "?")
	}
}
