package analyze

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A Suggestion is the policy that traces suggest, beside the one in force, and
// each value with what it rests on.
type Suggestion struct {
	Input        Input
	Policy       *Policy                // in force; the defaults where none was given
	Routes       []*SuggestedRoute      // by service, then route
	Dependencies []*SuggestedDependency // by caller, callee, operation
}

// A Value is one number of a policy: what the policy gives, and what the data say.
type Value struct {
	Given    *time.Duration // nil: the policy does not say
	Measured *time.Duration // nil: not known
	// The quantile that Measured rests on, its values, and where it lies.
	Quantile Quantile
	N        int
	Estimate Estimate
}

// InForce is the given value, else the measured one.
func (v *Value) InForce() *time.Duration {
	if v.Given != nil {
		return v.Given
	}
	return v.Measured
}

// A Basis says what a value rests on, where several things can be its reason.
type Basis string

const (
	BasisPolicy    Basis = "policy"
	BasisFlag      Basis = "flag"      // --deadline
	BasisRecorded  Basis = "recorded"  // on the spans
	BasisInherited Basis = "inherited" // the callers' deadlines hold; there is none of its own
	BasisInferred  Basis = "inferred"  // callers left after one and the same time
	BasisHint      Basis = "hint"      // SuggestedDependency.Hint
	BasisMethod    Basis = "method"    // GET, HEAD or OPTIONS
	BasisRead      Basis = "read"      // a database read
	BasisNone      Basis = ""          // nothing says it
)

// A SuggestedRoute is a route with its deadline.
type SuggestedRoute struct {
	Service, Route string
	Requests       int
	Rule           *DeadlineRule  // of the policy; nil: none is about it
	Deadline       *time.Duration // in force, else suggested; nil: not known, or only inherited
	Basis          Basis          // of Deadline
	// What requests record or inherit: budgets, deadline - start.
	Recorded, Inherited Value
	Least, Most         *time.Duration // of the recorded budgets
	Inferred            *InferredDeadline
	Reserve             Value // p99 of the own work after the last awaited answer
	Latency             Latency
	Late, Answered      int      // Answered: complete and partial, with a deadline
	LateShare           *float64 // Late / Answered, weighted; nil: not known

	times *weighedTime // of its requests
	path  []wide       // by node of graph: time on the paths of its requests, weighted
	graph *callGraph
	table *routeTable
}

// An InferredDeadline is a pile of requests whose callers left after one and the
// same time.
type InferredDeadline struct {
	At     time.Duration // median of the pile
	Pile   int           // requests in it
	Left   int           // requests whose callers left
	Answer int           // answered requests that took longer: at most 1 %
}

// A SuggestedDependency is a dependency with what a policy can say of it. What is
// InForce never repeats a call that is not known to be safe to repeat.
type SuggestedDependency struct {
	Caller, Callee, Operation string
	Transport                 Transport
	Languages                 []string // of the caller's SDK, sorted; "": spans that name none
	Calls, Attempts, Errors   int
	ErrorShare                *float64        // Errors / Attempts, weighted; nil: not known
	Rule                      *DependencyRule // of the policy; nil: none is about it
	Required                  bool            // in force
	RequiredBasis             Basis           // policy, hint, or nothing: to be decided
	Hint                      string          // service.criticality of the callee, or "fallback"
	Safe                      bool            // known to be safe to repeat
	SafeBasis                 Basis           // policy, method or read
	Minimum                   Value
	Ceiling                   Value    // capped
	ShareCut                  *float64 // that the measured ceiling cuts; nil: not known
	GivenCut                  *float64 // that the given ceiling cuts
	Capped                    bool
	DoesNotFit                []string // routes whose deadline leaves less than the minimum
	FalseTimeouts             Quantile // accepted
	Margin                    Quantile // over the quantile, before rounding; 0 for an optional one
	Current                   *CurrentTimeout
	HedgeAfter                Value    // measured: where a hedge would do, nil elsewhere
	HedgeLoad                 *float64 // second copies a call that it would add; nil: not known
	NoHedge                   []string // why no hedge would do: HedgePlan.Not
	Again                     Again    // what the data suggest: retry, hedge, or neither
	Attempt                   int      // attempts in force; 1: no retries
	SuggestedAttempts         int
	RetryBase                 time.Duration // in force; suggested where the policy gives none
	RetryOn                   []string
	Refused                   []string // what the policy says and is not obeyed, in words: repeating what is not known safe

	dep   int32
	table *depTable
}

// Again says why a call is tried again, or is not.
type Again string

const (
	AgainRetry    Again = "retry"      // its failures are more than what its ceiling cuts
	AgainHedge    Again = "hedge"      // its slow answers are
	AgainUnsafe   Again = "unsafe"     // not known to be safe to repeat
	AgainNoFail   Again = "no-failure" // no failure to retry after, and no hedge that would do
	AgainNoRoom   Again = "no-room"    // two attempts do not fit below the ceiling
	AgainNotKnown Again = "not-known"  // minimum or ceiling are not known
)

// DefaultRetryOn is on which answers to retry where nobody says otherwise: the
// callee did not take the call on.
var DefaultRetryOn = []string{"unavailable", "503"}

// Suggest gives the policy that the traces suggest. Minimums, ceilings, reserves and
// shares are those of the report. It reads all requests once more, and fails if
// they cannot be read back.
func (a *Analysis) Suggest() (*Suggestion, error) {
	s := &Suggestion{Input: a.Report.Input, Policy: a.policy(), Routes: []*SuggestedRoute{}, Dependencies: []*SuggestedDependency{}}
	reported := map[dependency]*Dependency{}
	for i := range a.Report.Dependencies {
		d := &a.Report.Dependencies[i]
		reported[dependency{caller: d.Caller, callee: d.Callee, operation: d.Operation}] = d
	}
	for i, d := range a.deps {
		if r := reported[d.name]; r != nil {
			s.Dependencies = append(s.Dependencies, a.suggestDependency(int32(i), r))
			putAway(d.samples()...)
		}
	}
	slices.SortFunc(s.Dependencies, func(x, y *SuggestedDependency) int { return x.name().compare(y.name()) })
	s.Routes = a.suggestRoutes()
	return s, a.failure()
}

// shareAbove is the share of attempts that take longer; nil: not known.
func (d *depTable) shareAbove(t time.Duration) *float64 { return d.latency.ShareAbove(t).Point }

func (d *SuggestedDependency) name() dependency {
	return dependency{caller: d.Caller, callee: d.Callee, operation: d.Operation}
}

// String names it as reports do.
func (d *SuggestedDependency) String() string { return d.name().String() }

// String names it as reports do.
func (r *SuggestedRoute) String() string {
	return routeKey{service: r.Service, route: r.Route}.String()
}

// A routeSketch is what a pass over all requests learns of a route.
type routeSketch struct {
	recorded, inherited Sample
	least, most         time.Duration   // of recorded
	left                []time.Duration // at which callers left, of requests without a deadline; at most maxLeft
	leftAll             int
	took                Sample // of answered requests without a deadline
	times               weighedTime
	path                []wide // by node: time on the path, weighted
	graph               *graphSketch
}

// maxLeft is how many requests whose callers left are kept to find a pile in.
const maxLeft = 1 << 16

// suggestRoutes reads all requests once more.
func (a *Analysis) suggestRoutes() []*SuggestedRoute {
	sketches := map[*routeTable]*routeSketch{}
	a.each(func(r *request) {
		if r.table == nil {
			return
		}
		k := sketches[r.table]
		if k == nil {
			nodes := len(r.table.nodes)
			k = &routeSketch{path: make([]wide, nodes), graph: newGraphSketch(nodes)}
			a.hoard.lodge(&k.recorded, &k.inherited, &k.took)
			sketches[r.table] = k
		}
		k.learn(r)
	})
	list := []*SuggestedRoute{}
	for i := range a.Report.Routes {
		r := &a.Report.Routes[i]
		t := a.routeOf[routeKey{service: r.Service, route: r.Route}]
		list = append(list, a.suggestRoute(r, t, sketches[t]))
	}
	return list
}

func (k *routeSketch) learn(r *request) {
	k.times.add(r.weight, &r.time)
	calls := r.awaitedCalls()
	r.table.number(calls, false)
	for _, c := range calls {
		if c.node >= 0 {
			k.path[c.node].add(1, uint64(r.weight.orOne()), uint64(c.path))
		}
	}
	if !r.failed {
		k.graph.learn(r, calls)
	}
	switch {
	case r.deadline != nil && r.deadline.source == Recorded:
		b := r.deadline.budget
		if k.recorded.N() == 0 {
			k.least, k.most = b, b
		}
		k.least, k.most = min(k.least, b), max(k.most, b)
		k.recorded.Add(b)
	case r.deadline != nil && r.deadline.source == Inherited:
		k.inherited.Add(r.deadline.budget)
	case r.deadline == nil && r.timedOut: // its caller left: nothing else says so without a deadline
		if k.leftAll++; len(k.left) < maxLeft {
			k.left = append(k.left, r.duration)
		}
	case r.deadline == nil && !r.failed:
		k.took.Add(r.duration)
	}
}

func (a *Analysis) suggestRoute(r *Route, t *routeTable, k *routeSketch) *SuggestedRoute {
	s := &SuggestedRoute{Service: r.Service, Route: r.Route, Requests: r.Requests, Latency: r.Latency, Late: r.Late, LateShare: r.LateShare,
		Answered: r.CompleteInTime + r.PartialInTime + r.Late, table: t,
		Recorded: valueOf(&k.recorded, P50), Inherited: valueOf(&k.inherited, P50), Reserve: valueOf(&t.tails, P99),
		Inferred: k.infer(), times: &k.times, graph: k.graph.graph(t)}
	for _, n := range s.graph.nodes {
		s.path = append(s.path, k.path[t.index.find(n.routeNode)])
	}
	if k.recorded.N() > 0 {
		s.Least, s.Most = &k.least, &k.most
	}
	if s.Rule = a.opts.Policy.DeadlineFor(r.Service, r.Route); s.Rule != nil {
		s.Reserve.Given = s.Rule.Reserve
	}
	flagged := r.DeadlineSources[ByFlag] > 0
	switch {
	case s.Rule != nil:
		s.Deadline, s.Basis = &s.Rule.Deadline, BasisPolicy
	case s.Recorded.Measured != nil && *s.Recorded.Measured > 0:
		s.Deadline, s.Basis = s.Recorded.Measured, BasisRecorded
	case flagged:
		s.Deadline, s.Basis = &a.opts.Deadline, BasisFlag
	case s.Inherited.Measured != nil:
		s.Basis = BasisInherited
	case s.Inferred != nil:
		s.Deadline, s.Basis = &s.Inferred.At, BasisInferred
	}
	return s
}

// Varies reports whether the recorded deadlines are not one: each request brings what is
// left of another, so that a fixed one would be too short for half of them.
func (r *SuggestedRoute) Varies() bool {
	return r.Basis == BasisRecorded && r.Least != nil && *r.Most-*r.Least > pileWidth(*r.Deadline)
}

// typical is the deadline, or the median of what callers leave; nil: neither is known.
func (r *SuggestedRoute) typical() *time.Duration {
	if r.Deadline == nil {
		return r.Inherited.Measured
	}
	return r.Deadline
}

// infer finds the time after which callers leave: the shortest window of
// max(2 ms, 2 %) that holds most of at least 20, and 60 % of them, with at
// most 1 % of the answers longer.
func (k *routeSketch) infer() *InferredDeadline {
	left := k.left
	if len(left) < 20 {
		return nil
	}
	slices.Sort(left)
	from, to := densest(left)
	in := left[from:to]
	longer := k.took.answersAbove(in[len(in)-1])
	if len(in) < 20 || 10*len(in) < 6*len(left) || 100*longer > k.took.N() {
		return nil
	}
	return &InferredDeadline{At: in[P50.Rank(len(in))-1], Pile: len(in), Left: k.leftAll, Answer: longer}
}

// densest is the window of pileWidth that holds most of sorted values, the
// shortest of several.
func densest(values []time.Duration) (from, to int) {
	for i, j := 0, 0; i < len(values); i++ {
		for j < len(values) && values[j]-values[i] <= pileWidth(values[i]) {
			j++
		}
		if n, best := j-i, to-from; n > best || n == best && values[j-1]-values[i] < values[to-1]-values[from] {
			from, to = i, j
		}
	}
	return from, to
}

// valueOf is a quantile of a sample.
func valueOf(s *Sample, q Quantile) Value {
	e := s.Estimate(q)
	return Value{Measured: e.Point, Quantile: q, N: s.N(), Estimate: e}
}

func (a *Analysis) suggestDependency(dep int32, r *Dependency) *SuggestedDependency {
	d, p := a.deps[dep], a.policy()
	s := &SuggestedDependency{Caller: r.Caller, Callee: r.Callee, Operation: r.Operation, Transport: d.protocols.transport(),
		Languages: a.languages[r.Caller], Calls: r.Calls, Attempts: r.Attempts, Errors: r.Errors, ErrorShare: r.ErrorShare, Rule: d.rule,
		Required: d.required, Hint: d.hint, ShareCut: r.CeilingShareCut, DoesNotFit: r.DoesNotFit, Capped: d.capped,
		FalseTimeouts: d.falseTimeouts, Current: r.CurrentTimeout, dep: dep, table: d}
	s.Minimum = valueOf(&d.latency, P50)
	s.Minimum.Measured = r.Minimum
	s.Ceiling = valueOf(&d.latency, whole-d.falseTimeouts)
	s.Ceiling.Measured = r.Ceiling
	s.HedgeAfter = valueOf(&d.latency, P95)
	s.HedgeAfter.Measured = r.HedgeAfter
	if r.Hedge != nil {
		s.HedgeLoad, s.NoHedge = r.Hedge.ExtraLoad, r.Hedge.Not
	}
	if d.required {
		s.Margin = p.Margin
	}
	if d.rule != nil {
		s.Minimum.Given, s.Ceiling.Given = d.rule.Minimum, d.rule.Ceiling
		if s.Ceiling.Given != nil {
			s.GivenCut = d.shareAbove(*s.Ceiling.Given)
		}
		if d.rule.Lines == nil || d.rule.Lines["required"] > 0 {
			s.RequiredBasis = BasisPolicy
		}
	} else if h := hintOf(d.hint); h == hintOptional && a.opts.Hints || h == hintRequired {
		s.RequiredBasis = BasisHint
	}
	// A policy file holds no longer durations, and no ceiling that is below the
	// minimum.
	s.Minimum.Measured, s.Ceiling.Measured = writable(s.Minimum.Measured), writable(s.Ceiling.Measured)
	if c, m := s.Ceiling.InForce(), s.Minimum.InForce(); c != nil && m != nil && *c < *m {
		s.Ceiling.Measured = nil
	}
	s.Safe, s.SafeBasis = d.repeatable()
	s.setAgain()
	s.setInForce()
	return s
}

func writable(d *time.Duration) *time.Duration {
	if d == nil || *d > maxPolicyTime || *d < 0 {
		return nil
	}
	return d
}

// setAgain decides between retries and hedges, never both: retries help after
// failures, hedges with slow answers. What is more frequent decides.
func (d *SuggestedDependency) setAgain() {
	d.SuggestedAttempts, d.RetryBase, d.RetryOn = 1, 0, nil
	minimum, ceiling := d.Minimum.InForce(), d.Ceiling.InForce()
	hedge := d.HedgeAfter.Measured != nil && ceiling != nil && *d.HedgeAfter.Measured < *ceiling && *d.HedgeAfter.Measured > 0
	switch slow, bad := d.ShareCut, d.ErrorShare; {
	case !d.Safe:
		d.Again = AgainUnsafe
	case hedge && (d.Errors == 0 || slow != nil && bad != nil && *bad <= *slow):
		d.Again = AgainHedge
	case d.Errors == 0:
		d.Again = AgainNoFail
	case minimum == nil || ceiling == nil || *minimum == 0:
		d.Again = AgainNotKnown
	default:
		d.RetryBase = roundUp(*minimum)
		if MaxAttempts(*ceiling, *minimum, d.RetryBase) < 2 {
			d.Again, d.RetryBase = AgainNoRoom, 0
			break
		}
		d.Again, d.SuggestedAttempts, d.RetryOn = AgainRetry, 2, DefaultRetryOn
	}
	if d.Again != AgainHedge {
		d.HedgeAfter.Measured = nil
	}
}

// setInForce puts the policy's attempts and hedges above the suggested ones, but
// for a call that is not known to be safe to repeat.
func (d *SuggestedDependency) setInForce() {
	d.Attempt = d.SuggestedAttempts
	if r := d.Rule; r != nil {
		d.Attempt = r.Attempts
		after := r.HedgeAfter
		d.HedgeAfter.Given = &after
		if r.RetryBase > 0 {
			d.RetryBase = r.RetryBase
		} else if d.RetryBase == 0 && r.Attempts > 1 && d.Minimum.InForce() != nil {
			d.RetryBase = roundUp(*d.Minimum.InForce())
		}
		if len(r.RetryOn) > 0 {
			d.RetryOn = r.RetryOn
		} else if d.Attempt > 1 {
			d.RetryOn = DefaultRetryOn
		}
		if !d.Safe {
			if d.Attempt > 1 {
				d.Refused = append(d.Refused, "attempts")
			}
			if after > 0 {
				d.Refused = append(d.Refused, "hedge_after")
			}
		}
	}
	if !d.Safe {
		d.Attempt, d.RetryBase, d.RetryOn = 1, 0, nil
		if d.HedgeAfter.Given != nil {
			none := time.Duration(0)
			d.HedgeAfter.Given = &none
		}
	}
}

// Hedge is the hedge delay in force; 0: no hedges.
func (d *SuggestedDependency) Hedge() time.Duration {
	if h := d.HedgeAfter.InForce(); h != nil && d.Safe && d.Attempt == 1 {
		return *h
	}
	return 0
}

// MaxAttempts is how many attempts fit in a budget at worst: the largest k with
//
//	k x minimum + sum over i < k of base x 2^(i-1) <= budget
//
// where each attempt has its minimum, and each wait is as long as its full jitter
// allows. 0: not even one; never more than maxAttempts.
func MaxAttempts(budget, minimum, base time.Duration) int {
	k, used, wait := 0, time.Duration(0), time.Duration(0)
	for k < maxAttempts {
		if used += wait + minimum; used > budget {
			break
		}
		k++
		if wait = 2 * wait; k == 1 {
			wait = base
		}
		if wait > budget {
			break
		}
	}
	return k
}

// longestWaits is the longest that the waits between k attempts can be together:
// base x (2^(k-1) - 1); budget where that is less.
func longestWaits(k int, base, budget time.Duration) time.Duration {
	sum, wait := time.Duration(0), base
	for range k - 1 {
		if sum += wait; sum >= budget {
			return budget
		}
		wait = min(2*wait, budget)
	}
	return sum
}

// Amplified is a chain of dependencies that each try more than once: their
// attempts multiply.
type Amplified struct {
	Path     []*SuggestedDependency // from the top down
	Attempts int                    // at the bottom, for one call at the top
}

// Amplified lists the chains of two or more levels that try again, with the most attempts
// first. Each level is a dependency whose callee is the caller of the next; only
// chains that cannot be made longer are listed.
func (s *Suggestion) Amplified() []Amplified {
	tries := func(d *SuggestedDependency) int {
		if d.Hedge() > 0 {
			return 2
		}
		return d.Attempt
	}
	byCaller := map[string][]*SuggestedDependency{}
	called := map[string]bool{}
	for _, d := range s.Dependencies {
		if tries(d) > 1 {
			byCaller[d.Caller] = append(byCaller[d.Caller], d)
			called[d.Callee] = true
		}
	}
	var list []Amplified
	var walk func(path []*SuggestedDependency, product int)
	walk = func(path []*SuggestedDependency, product int) {
		last, longer := path[len(path)-1], false
		for _, d := range byCaller[last.Callee] {
			if len(list) == maxChains {
				return
			}
			if len(path) < maxLevels && !slices.ContainsFunc(path, func(p *SuggestedDependency) bool { return p.Caller == d.Caller }) {
				longer = true
				walk(append(slices.Clone(path), d), product*tries(d))
			}
		}
		if !longer && len(path) > 1 {
			list = append(list, Amplified{path, product})
		}
	}
	for _, d := range s.Dependencies {
		if tries(d) > 1 && !called[d.Caller] {
			walk([]*SuggestedDependency{d}, tries(d))
		}
	}
	slices.SortStableFunc(list, func(x, y Amplified) int { return cmp.Compare(y.Attempts, x.Attempts) })
	return list
}

// Limits of Amplified: levels of one chain, and chains.
const (
	maxLevels = 8
	maxChains = 1000
)

// Callers lists who makes calls, sorted.
func (s *Suggestion) Callers() []string {
	var list []string
	for _, d := range s.Dependencies {
		if at, ok := slices.BinarySearch(list, d.Caller); !ok {
			list = slices.Insert(list, at, d.Caller)
		}
	}
	return list
}

// NewRule is what a new rule says of the dependency.
func (d *SuggestedDependency) NewRule() DependencyRule {
	r := DependencyRule{Caller: Star(d.Caller), Callee: Star(d.Callee), Operation: Star(d.Operation), Required: d.Required, Safe: d.Safe,
		Minimum: d.Minimum.Measured, Ceiling: d.Ceiling.Measured, FalseTimeouts: d.FalseTimeouts, Attempts: d.SuggestedAttempts,
		RetryBase: d.RetryBase, RetryOn: d.RetryOn}
	if r.Attempts == 1 {
		r.RetryBase, r.RetryOn = 0, nil
		if h := d.HedgeAfter.Measured; h != nil {
			r.HedgeAfter = *h
		}
	}
	return r
}

// Star is the glob for a name; an empty one has none of its own.
func Star(name string) string {
	if name == "" {
		return "*"
	}
	return name
}

// vague says how many globs of a new rule match other names, too. Rules that do
// come last, so that they hide no other.
func (r *DependencyRule) vague() int { return strings.Count(r.Caller+r.Callee+r.Operation, "*") }

// NewRules gives rules for the routes and dependencies that none of the policy is about, in an
// order in which none of them hides another.
func (s *Suggestion) NewRules() (routes []*SuggestedRoute, dependencies []*SuggestedDependency) {
	for _, r := range s.Routes {
		if r.Rule == nil && r.Deadline != nil && !r.Varies() && *r.Deadline > 0 && *r.Deadline <= maxPolicyTime {
			routes = append(routes, r)
		}
	}
	slices.SortStableFunc(routes, func(x, y *SuggestedRoute) int {
		return cmp.Or(cmp.Compare(strings.Count(Star(x.Service)+Star(x.Route), "*"), strings.Count(Star(y.Service)+Star(y.Route), "*")))
	})
	for _, d := range s.Dependencies {
		if d.Rule == nil {
			dependencies = append(dependencies, d)
		}
	}
	slices.SortStableFunc(dependencies, func(x, y *SuggestedDependency) int {
		a, b := x.NewRule(), y.NewRule()
		return cmp.Compare(a.vague(), b.vague())
	})
	return routes, dependencies
}
