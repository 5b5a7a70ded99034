package analyze

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// PlanSchema names the form of a Plan in JSON.
const PlanSchema = "overrun.plan/v1"

// A Plan is how the time of a route is divided: the timeout formula at its worst,
// where each earlier call uses its whole timeout. An optional call that is left
// below its minimum gets nothing.
type Plan struct {
	Route *SuggestedRoute
	Total time.Duration
	// Reserve is the work that is no call, on the longest path through the call
	// graph: before the first call, between calls, and the tail. It and the budgets of
	// Longest sum to WorstCase.
	Reserve   time.Duration
	Tail      *time.Duration // of Reserve; nil: not known, and counted as 0
	WorstCase time.Duration
	Longest   []int // indexes into Calls, in their order
	Calls     []PlannedCall
	Seldom    int // further calls, which less than 1 % of the requests make: not planned
	// InSequence is the worst case if calls that are now in sequence and now side by side are in
	// sequence, each with its budget; nil: there are none. The plan has them side by side.
	InSequence *time.Duration
}

// A PlannedCall is one call of a plan.
type PlannedCall struct {
	Name        string // callee and operation, and #n from the second call to it on
	Dependency  *SuggestedDependency
	Start       time.Duration // at the latest
	Reserve     time.Duration // kept after it: the tail, and the minimums of required calls ahead
	Budget      time.Duration // its whole timeout, attempts and waits in it; 0: it is not made
	MaxAttempts int           // that fit in Budget at worst; 1 where it is not known to be safe to repeat
	Left        time.Duration // what the deadline leaves it when the calls before it take their minimums
	After       []int         // calls that it waits for
	Beyond      *float64      // share of attempts that take longer than Budget; nil: not known

	path wide // time that it held requests of the route, all together, weighted
}

// A PlanError is a rule of plans that one breaks.
type PlanError struct {
	Route string
	Text  string
}

func (e *PlanError) Error() string { return e.Route + ": " + e.Text }

// errNoDeadline is the error of Plans where no route has a deadline.
var errNoDeadline = errors.New("no route with calls has a deadline to divide: give --deadline, or a policy with deadlines")

// WorstWith is the worst case of the route if one call may take another time than its
// budget, and all others keep theirs.
func (p *Plan) WorstWith(call int, budget time.Duration) time.Duration {
	return p.worst(func(c int) time.Duration {
		if c == call {
			return budget
		}
		return p.Calls[c].Budget
	}, false)
}

// worst is the worst case of the route if its calls take their budgets. mixed: calls that are now in
// sequence are so.
func (p *Plan) worst(budget func(call int) time.Duration, mixed bool) time.Duration {
	nodes := p.Route.graph.nodes
	ends := make([]time.Duration, len(nodes))
	last := time.Duration(0)
	for c, n := range nodes {
		start := n.head
		after := func(b int) { start = max(start, ends[b]+p.Route.between(b, c)) }
		for _, b := range n.before {
			after(b)
		}
		if mixed {
			for _, b := range n.mixed {
				after(b)
			}
		}
		ends[c] = start + budget(c)
		last = max(last, ends[c])
	}
	if p.Tail != nil {
		last += *p.Tail
	}
	return last
}

// between is the median own work between two calls of the route that follow each other.
func (r *SuggestedRoute) between(b, c int) time.Duration {
	return r.table.gap(r.graph.nodes[b].dep, r.graph.nodes[c].dep)
}

// PathShares gives, for each call, the share of the time of the route's requests
// that it held, and the share that was own work, weighted; nil: there are no requests, or
// some weights are known and others not.
func (p *Plan) PathShares() (calls []float64, own *float64) {
	times := p.Route.times
	total := times.sums[len(categories)].float()
	if times.of.mixed() || total <= 0 {
		return nil, nil
	}
	for i := range p.Calls {
		calls = append(calls, p.Calls[i].path.float()/total)
	}
	share := times.own().float() / total
	return calls, &share
}

// Plans gives the plan of each route that has a deadline of its own and makes calls. An
// error joins one PlanError for each rule that a plan breaks.
func (s *Suggestion) Plans() ([]*Plan, error) {
	var plans []*Plan
	var broken []error
	for _, r := range s.Routes {
		if r.Deadline == nil || len(r.graph.nodes) == 0 {
			continue
		}
		p := s.plan(r, *r.Deadline)
		plans = append(plans, p)
		broken = append(broken, p.Check(s.Policy.Timeouts)...)
	}
	if len(plans) == 0 {
		return nil, errNoDeadline
	}
	return plans, errors.Join(broken...)
}

// plan divides a total among the calls of a route:
//
//	start(c)   = max over b before c of (start(b) + budget(b) + between(b, c)); without one, the own work before it
//	reserve(c) = tail + max over d ahead of c of (between(c, d) + V(d))
//	V(d)       = weight(d) + max over e ahead of d of (between(d, e) + V(e))
//	budget(c)  = min(total - start(c) - reserve(c), ceiling(c)); under fixed timeouts, ceiling(c)
//
// weight is the minimum of a required call, and 0 of an optional one.
func (s *Suggestion) plan(r *SuggestedRoute, total time.Duration) *Plan {
	nodes := r.graph.nodes
	byDep := map[int32]*SuggestedDependency{}
	for _, d := range s.Dependencies {
		byDep[d.dep] = d
	}
	p := &Plan{Route: r, Total: total, Tail: r.Reserve.InForce(), Seldom: r.graph.seldom, Calls: make([]PlannedCall, len(nodes))}
	tail := time.Duration(0)
	if p.Tail != nil {
		tail = *p.Tail
	}
	weight := func(c int) time.Duration {
		if d := p.Calls[c].Dependency; d.Required && d.Minimum.InForce() != nil {
			return *d.Minimum.InForce()
		}
		return 0
	}
	for c, n := range nodes {
		p.Calls[c].Dependency, p.Calls[c].After, p.Calls[c].path = byDep[n.dep], n.before, r.path[c]
	}
	ahead := make([]time.Duration, len(nodes)) // the longest chain after c
	for d := len(nodes) - 1; d >= 0; d-- {
		for _, c := range nodes[d].before {
			ahead[c] = max(ahead[c], r.between(c, d)+weight(d)+ahead[d])
		}
	}
	own := make([]time.Duration, len(nodes))   // work that is no call, on the longest path to c
	previous := make([]int, len(nodes))        // on that path; -1: none
	least := make([]time.Duration, len(nodes)) // start of c if the calls before it take their minimums
	end, longest := time.Duration(0), -1
	for c := range nodes {
		call, d := &p.Calls[c], p.Calls[c].Dependency
		call.Name = d.callName(nodes[c].nth)
		previous[c], own[c], call.Start, least[c] = -1, nodes[c].head, nodes[c].head, nodes[c].head
		for _, b := range nodes[c].before {
			if at := p.Calls[b].Start + p.Calls[b].Budget + r.between(b, c); at > call.Start || previous[c] < 0 {
				previous[c], own[c], call.Start = b, own[b]+r.between(b, c), at
			}
			least[c] = max(least[c], least[b]+weight(b)+r.between(b, c))
		}
		call.Reserve = tail + ahead[c]
		call.Left = total - least[c] - call.Reserve
		left := total - call.Start - call.Reserve
		ceiling, minimum := d.Ceiling.InForce(), d.Minimum.InForce()
		switch {
		case s.Policy.Timeouts == FixedCeiling && ceiling != nil:
			call.Budget = *ceiling
		case ceiling != nil:
			call.Budget = min(left, *ceiling)
		default:
			call.Budget = left
		}
		if s.Policy.Timeouts != FixedCeiling && !d.Required && (call.Budget <= 0 || minimum != nil && call.Budget < *minimum) {
			call.Budget = 0
		}
		call.MaxAttempts, call.Beyond = d.fitting(call.Budget), d.table.shareAbove(call.Budget)
		if at := call.Start + call.Budget; longest < 0 || at > end {
			end, longest = at, c
		}
	}
	p.WorstCase = end + tail
	if slices.ContainsFunc(nodes, func(n graphNode) bool { return len(n.mixed) > 0 }) {
		worst := p.worst(func(c int) time.Duration { return p.Calls[c].Budget }, true)
		p.InSequence = &worst
	}
	p.Reserve = tail
	if longest >= 0 {
		p.Reserve += own[longest]
	}
	for c := longest; c >= 0; c = previous[c] {
		p.Longest = append(p.Longest, c)
	}
	slices.Reverse(p.Longest)
	return p
}

// callName names the nth call to the dependency, from 0.
func (d *SuggestedDependency) callName(nth int32) string {
	name := strings.TrimSpace(d.Callee + " " + d.Operation)
	if nth > 0 {
		name += fmt.Sprintf(" #%d", nth+1)
	}
	return name
}

// Waits is the longest that the waits between k attempts take together; 0: there is
// no wait to speak of.
func (d *SuggestedDependency) Waits(k int) time.Duration {
	return longestWaits(k, d.base(), maxPolicyTime)
}

// base is the wait before the second attempt, at the most.
func (d *SuggestedDependency) base() time.Duration {
	if d.RetryBase == 0 && d.Minimum.InForce() != nil {
		return roundUp(*d.Minimum.InForce())
	}
	return d.RetryBase
}

// fitting is how many attempts fit in a budget; 1 at the most where the call is not
// known to be safe to repeat, or how long an attempt needs is not known.
func (d *SuggestedDependency) fitting(budget time.Duration) int {
	minimum := d.Minimum.InForce()
	switch {
	case budget <= 0:
		return 0
	case !d.Safe || minimum == nil || *minimum <= 0:
		return 1
	}
	return MaxAttempts(budget, *minimum, d.base())
}

// Check lists the rules that a plan breaks, with the numbers.
func (p *Plan) Check(timeouts Timeouts) (broken []error) {
	add := func(format string, args ...any) {
		broken = append(broken, &PlanError{p.Route.String(), fmt.Sprintf(format, args...)})
	}
	var names []string
	sum := time.Duration(0)
	for _, c := range p.Longest {
		names = append(names, p.Calls[c].Name)
		sum += p.Calls[c].Budget
	}
	switch {
	case p.Tail == nil:
		add("no reserve: no request shows own work after its last answer: write a reserve into the policy")
	case p.Reserve <= 0:
		add("no reserve: of the total %v, the calls may use %v, and nothing is left for work that is no call: write a reserve into the policy", p.Total, sum)
	}
	if p.WorstCase > p.Total {
		add("calls %v + reserve %v = %v, %v more than the total %v (longest path: %s)", sum, p.Reserve, p.WorstCase,
			p.WorstCase-p.Total, p.Total, strings.Join(names, ", "))
	}
	if timeouts != FixedCeiling {
		p.checkStarved(add)
	}
	return broken
}

// checkStarved looks for required calls that would get less than they need, and for what
// takes it from them.
func (p *Plan) checkStarved(add func(format string, args ...any)) {
	var endless []string // calls without a ceiling
	starved := 0
	for i := range p.Calls {
		c := &p.Calls[i]
		if c.Dependency.Ceiling.InForce() == nil {
			endless = append(endless, c.Name)
		}
		switch minimum := c.Dependency.Minimum.InForce(); {
		case !c.Dependency.Required:
		case minimum != nil && c.Budget < *minimum:
			add("%s is required and needs %v, and is left %v: it may start at %v, and %v is kept after it", c.Name, *minimum, c.Budget, c.Start, c.Reserve)
		case c.Budget <= 0:
			starved++
		}
	}
	const few = 3
	if starved > 0 {
		more := ""
		if n := len(endless) - few; n > 0 {
			endless, more = endless[:few], fmt.Sprintf(" and %d more", n)
		}
		add("nothing is left for required calls whose minimum is not known (%d), since calls without a ceiling may take all: write ceilings for %s%s, or minimums", starved,
			strings.Join(endless, ", "), more)
	}
}
