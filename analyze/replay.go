package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// ReplayOptions say what a replay changes. The policy is that of the analysis.
// The zero value changes nothing but what the policy does.
type ReplayOptions struct {
	Seed    uint64 // of all draws; the result depends on it and on the data alone
	Order   Arrangement
	Changes []Change // of several timeouts, the last is answered
	Sweep   *Sweep   // nil: none
}

// A Change is a what-if about the dependencies that a name matches.
type Change struct {
	Kind    ChangeKind
	Name    string        // glob over the callee, or over "callee operation"
	Factor  float64       // Slower, Faster: how many times, from 1/MaxFactor to MaxFactor
	Share   Quantile      // Failing: of calls
	Timeout time.Duration // Timeout: the ceiling
}

// A ChangeKind is what a Change does.
type ChangeKind string

const (
	Slower  ChangeKind = "slower"
	Faster  ChangeKind = "faster"
	Without ChangeKind = "without" // the calls are taken out
	Failing ChangeKind = "cut"     // a share of the calls gets no answer
	Timeout ChangeKind = "timeout" // the calls have this timeout, whatever they had
)

// A Sweep replays with one ceiling after the other.
type Sweep struct {
	Name           string // as in Change
	From, To, Step time.Duration
}

// MaxSweep is how many values a sweep may have.
const MaxSweep = 1000

// SweepStep is a step of 1, 2 or 5 x 10^k by which a sweep has at most 20 steps.
func SweepStep(from, to time.Duration) time.Duration {
	for step := time.Duration(1); ; step *= 10 {
		for _, s := range []time.Duration{step, 2 * step, 5 * step} {
			if (to-from)/s < 20 || (to-from) == 20*s {
				return s
			}
		}
	}
}

// Values are the ceilings of a sweep, To included.
func (s *Sweep) Values() (list []time.Duration) {
	for v := s.From; v < s.To && len(list) < MaxSweep; v += s.Step {
		list = append(list, v)
	}
	return append(list, s.To)
}

// matches reports whether a name of a change means a dependency.
func (d dependency) matches(name string) bool {
	return glob(name, d.callee) || glob(name, join(d.callee, d.operation))
}

// Replay predicts what would have happened to the requests of the analysis. It
// visits them twice: to learn what draws rest on, and to replay each under
// every scenario. An error says which name
// means nothing; Policy.Check says it of rules.
func (a *Analysis) Replay(o ReplayOptions) (*ReplayReport, error) {
	r, err := a.newReplayer(&o)
	if err != nil {
		return nil, err
	}
	var g record
	p := player{replayer: r}
	r.visit(func(q *request) { r.replay(q, &g, &p) })
	report := r.report()
	return report, a.failure()
}

// newReplayer learns what draws rest on.
func (a *Analysis) newReplayer(o *ReplayOptions) (*replayer, error) {
	if err := a.checkReplay(o); err != nil {
		return nil, err
	}
	r := &replayer{a: a, o: o, seed: o.Seed, survivals: survivals{a: a, byDep: map[int32]*survival{}}, pools: map[int32]*attemptPools{},
		routes: map[*routeTable]*replayRoute{}, seen: make([]depTally, len(a.deps)),
		would: [2][]depTally{make([]depTally, len(a.deps)), make([]depTally, len(a.deps))}}
	r.setScenarios()
	var g record
	r.visit(func(q *request) { r.learn(q, &g) })
	if err := a.failure(); err != nil {
		return nil, err
	}
	for _, t := range r.routes {
		t.errorTail = t.errorTails.median()
		if o.Sweep != nil && !t.calls(r, o.Sweep.Name) { // no value of the sweep is about it
			t.sums = t.sums[:1]
		}
	}
	return r, nil
}

// visit gives every request, decided, to do. It is valid during the visit only.
func (r *replayer) visit(do func(q *request)) {
	var ch chain
	r.a.each(func(q *request) {
		r.a.chainOf(q, &ch)
		r.a.decide(q, &ch)
		do(q)
	})
}

// checkReplay refuses names that mean nothing here.
func (a *Analysis) checkReplay(o *ReplayOptions) error {
	known := func(matches func(d *depTable) bool) bool { return slices.ContainsFunc(a.deps, matches) }
	for _, c := range o.Changes {
		if !known(func(d *depTable) bool { return d.name.matches(c.Name) }) {
			return fmt.Errorf("--%s %s: no call goes to %q: %s", c.Kind, c.Name, c.Name, a.calleeNames())
		}
	}
	for _, d := range a.deps {
		var plan depPlan
		if plan.factor = 1; !plan.changed(d.name, o.Changes) {
			return fmt.Errorf("--slower and --faster: calls to %q would take %g times as long: at most %dx, and at least 1/%[3]d of the time, all together", join(d.name.callee, d.name.operation), plan.factor, MaxFactor)
		}
	}
	if s := o.Sweep; s != nil && !known(func(d *depTable) bool { return d.name.matches(s.Name) }) {
		return fmt.Errorf("--sweep ceiling:%s: no call goes to %q: %s", s.Name, s.Name, a.calleeNames())
	}
	return nil
}

// calleeNames names some callees, for who mistyped one.
func (a *Analysis) calleeNames() string {
	var names []string
	for _, d := range a.deps {
		names = append(names, d.name.callee)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch n := len(names); {
	case n == 0:
		return "there are no calls in the input"
	case n > 3:
		return fmt.Sprintf("callees are %q and %d more", names[:3], n-3)
	}
	return fmt.Sprintf("callees are %q", names)
}

// A replayer holds what replays of all requests share.
type replayer struct {
	a         *Analysis
	o         *ReplayOptions
	seed      uint64
	scenarios []scenario // the first is the one asked for; then those of the sweep
	survivals survivals
	pools     map[int32]*attemptPools // of dependencies whose calls may be repeated
	routes    map[*routeTable]*replayRoute
	timeout   timeoutTally
	seen      []depTally    // by dependency, as recorded
	would     [2][]depTally // by world and dependency, in the scenario asked for
}

// A replayRoute is what the replays of a route's requests share and add up to.
type replayRoute struct {
	table      *routeTable
	donors     reservoir[*record]
	errorTails Sample // of failed requests
	errorTail  time.Duration
	sums       []scenarioSum
	observed   endTally
	latencies  [2]Sample // observed: of complete and partial, of failed
	timed      int       // requests whose order rests on their own times alone
	weights    headcount // of its requests
}

// lodge makes the samples of the route lie in the hoard.
func (t *replayRoute) lodge(h *hoard) {
	h.lodge(&t.errorTails, &t.latencies[0], &t.latencies[1])
	for i := range t.sums {
		s := &t.sums[i]
		h.lodge(&s.same[0], &s.same[1])
		for w := range s.apart {
			h.lodge(&s.apart[w][0], &s.apart[w][1])
		}
	}
}

// survivals are made when they are asked for, and again where they all together have no
// room: as much as values of samples have.
type survivals struct {
	a     *Analysis
	byDep map[int32]*survival
	bytes int64
}

func (t *survivals) of(dep int32) *survival {
	if t.byDep[dep] == nil {
		if most := t.a.hoard.limit; most > 0 && t.bytes > most {
			clear(t.byDep)
			t.bytes = 0
		}
		s := &t.a.deps[dep].latency
		t.byDep[dep] = s.survival()
		t.bytes += 16 * int64(len(t.byDep[dep].at))
		s.putAway()
	}
	return t.byDep[dep]
}

func (r *replayer) weightOf(dep int32) time.Duration { return r.a.deps[dep].weight }

// setScenarios makes the plans of the scenario that was asked for, and of each
// value of the sweep.
func (r *replayer) setScenarios() {
	base := scenario{order: r.o.Order}
	for i := range r.o.Changes {
		if c := &r.o.Changes[i]; c.Kind == Timeout {
			r.timeout = timeoutTally{change: c, minutes: map[int64]float64{}, attempts: map[int32]int{}}
		}
	}
	for i, d := range r.a.deps {
		plan := r.a.depPlan(d)
		plan.changed(d.name, r.o.Changes)
		base.plans = append(base.plans, plan)
		if plan.attempts > 1 || plan.hedge > 0 {
			r.pools[int32(i)] = new(attemptPools)
		}
	}
	r.scenarios = []scenario{base}
	if s := r.o.Sweep; s != nil {
		for _, ceiling := range s.Values() {
			one := scenario{order: base.order, plans: slices.Clone(base.plans)}
			for i, d := range r.a.deps {
				if d.name.matches(s.Name) {
					one.plans[i].ceiling = ceiling
				}
			}
			r.scenarios = append(r.scenarios, one)
		}
	}
}

// depPlan is what the policy makes of the calls to a dependency. Under fixed
// timeouts a ceiling that no rule gives is none: whoever wants to know what
// waiting does writes no ceiling. Under the shared deadline it is the measured one.
func (a *Analysis) depPlan(d *depTable) depPlan {
	plan := depPlan{required: d.required, factor: 1, now: d.recordedTimeout()}
	if d.fixed != nil {
		plan.now = d.fixed.value
	}
	policy := a.opts.Policy
	if policy == nil {
		return plan
	}
	plan.policed = true
	if policy.Timeouts == SharedDeadline {
		plan.shared = true
		if d.minimumInForce != nil {
			plan.minimum = *d.minimumInForce
		}
		if d.ceilingInForce != nil {
			plan.ceiling = *d.ceilingInForce
		}
	}
	rule := d.rule
	if rule == nil {
		return plan
	}
	if rule.Ceiling != nil {
		plan.ceiling = *rule.Ceiling
	}
	if safe, _ := d.repeatable(); safe {
		plan.hedge = rule.HedgeAfter
		if rule.Attempts > 1 || rule.Lines["attempts"] > 0 {
			plan.attempts, plan.base, plan.on = rule.Attempts, rule.RetryBase, rule.RetryOn
		}
	}
	return plan
}

// MaxFactor is how many times as long calls may take, and how many times less, by all changes
// together.
const MaxFactor = 1000

// changed applies the what-ifs about a dependency, and reports whether they leave the length
// of its calls within bounds.
func (p *depPlan) changed(name dependency, all []Change) bool {
	for _, c := range all {
		if name.matches(c.Name) {
			p.change(c)
		}
	}
	const rounding = 1 + 1e-9
	return p.factor <= MaxFactor*rounding && p.factor*MaxFactor*rounding >= 1
}

// change applies a what-if.
func (p *depPlan) change(c Change) {
	switch c.Kind {
	case Slower:
		p.factor *= c.Factor
	case Faster:
		p.factor /= c.Factor
	case Without:
		p.without = true
	case Failing:
		p.failing = c.Share
	case Timeout:
		p.ceiling = c.Timeout
	}
}

// learn takes from a request what draws rest on.
func (r *replayer) learn(q *request, g *record) {
	for k := range q.calls {
		c := &q.calls[k]
		if pool := r.pools[c.dep]; pool != nil {
			for i := range c.attempts {
				if t := &c.attempts[i]; !t.unfinished && t.hidden == 0 && t.outcome != Skipped && t.outcome != Unfinished {
					pool.add(r.seed, q, t)
				}
			}
		}
	}
	r.timeout.learn(r, q)
	if q.table == nil {
		return
	}
	t := r.routes[q.table]
	if t == nil {
		t = &replayRoute{table: q.table, sums: make([]scenarioSum, len(r.scenarios))}
		t.lodge(r.a.hoard)
		r.routes[q.table] = t
	}
	if q.failed {
		if q.tailed {
			t.errorTails.Add(q.tail)
		}
		return
	}
	h := hash(r.seed, replayKey{q.trace, q.span}, q.span, drawPlace, 0)
	if t.donors.takes(h, donorKeep) {
		if r.a.record(q, g); g.donates() {
			t.donors.add(h, donorKeep, g.clone())
		}
	}
}

// replay replays a request under every scenario.
func (r *replayer) replay(q *request, g *record, p *player) {
	if q.table == nil {
		return
	}
	t := r.routes[q.table]
	p.replayRoute = t
	r.a.record(q, g)
	if g.timed {
		t.timed++
	}
	t.observe(q, g)
	r.observe(q, g)
	played := g
	if r.o.Order != AsRecorded {
		played = g.arrange(r.o.Order, p)
	}
	for i := range t.sums {
		sc := &r.scenarios[i]
		var deps [2][]depTally
		if i == 0 {
			deps = r.would
		}
		low := p.play(played, sc, worst)
		t.sums[i].count(p, worst, deps[worst])
		high := low
		if low.ranged {
			high = p.play(played, sc, best)
		}
		t.sums[i].count(p, best, deps[best])
		t.sums[i].add(g, low, high)
		if i == 0 {
			r.timeout.add(r, g, low, high)
		}
	}
}

// sortedRoutes are the routes by name.
func (r *replayer) sortedRoutes() []*replayRoute {
	var list []*replayRoute
	for _, t := range r.a.routes {
		if r.routes[t] != nil {
			list = append(list, r.routes[t])
		}
	}
	slices.SortFunc(list, func(x, y *replayRoute) int {
		return cmp.Or(cmp.Compare(x.table.key.service, y.table.key.service), cmp.Compare(x.table.key.route, y.table.key.route), cmp.Compare(x.table.key.split, y.table.key.split))
	})
	return list
}
