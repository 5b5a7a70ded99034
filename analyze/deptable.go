package analyze

import (
	"slices"
	"time"
)

// A depTable is what all attempts at a dependency show together.
type depTable struct {
	name          dependency
	rule          *DependencyRule // nil: the policy does not name it
	required      bool            // what reserves assume: true unless a rule says otherwise
	falseTimeouts Quantile
	latency       Sample
	ranOn         Sample // of latency: cut attempts whose callee ran on and finished
	failed        Sample // of attempts that ended badly
	calls         int
	attempts      int
	hidden        int // resends that spans hide inside
	hedges        int
	outcomes      [len(Outcomes)]int // of attempts, and calls that were skipped
	onPath        int
	path          time.Duration
	held          weighed   // path time of its calls
	extra         weighed   // attempts of a call after the first, hidden ones too
	again, copies wide      // of those that have spans: tries again, and hedges; weighted as extra is
	made, bad     headcount // attempts, and those of them that ended badly
	hint          string    // service.criticality of the callee; "fallback": something else was done instead of a failed call
	blind         bool      // a call on a path says nothing about connecting
	protocols     protocols

	connect, pool, read Sample // see Dependency
	slow                slowTable
	hedging             secondCopies
	late                LateCalls
	messaging           bool   // calls are messages sent
	cuts                Sample // how long attempts ran that their caller cut
	pile                *pile  // of cuts; nil: there is none
	timeouts            Sample // that client spans record for their calls
	instances           map[string]*instanceTable
	retried, hedgedAt   *Example // the worst call with several attempts
	p95                 *time.Duration
	fixed               *pile // a fixed timeout; nil: none was found
	unclear             bool  // a pile that may be the deadline
	falseCuts, lateCuts int   // false-timeout and late-anyway findings
	deadlines           bool  // some call had a deadline, without which neither is known

	minimum, minimumInForce *time.Duration
	weight                  time.Duration // what a call ahead adds to a reserve: the minimum of a required dependency, where it is known
	ceiling, ceilingInForce *time.Duration
	capped                  bool
	misfits                 []routeKey // routes whose deadline leaves less than the minimum
	misfitsInForce          []routeKey // and less than the minimum in force
}

func (a *Analysis) newDep(name dependency) *depTable {
	d := &depTable{name: name, required: true, falseTimeouts: FalseTimeoutsRequired}
	a.hoard.lodge(d.samples()...)
	if d.rule = a.opts.Policy.Rule(name.caller, name.callee, name.operation); d.rule != nil {
		d.required, d.falseTimeouts = d.rule.Required, d.rule.FalseTimeouts
	}
	return d
}

// samples are all that the table keeps.
func (d *depTable) samples() []*Sample {
	return []*Sample{&d.latency, &d.ranOn, &d.failed, &d.connect, &d.pool, &d.read, &d.cuts, &d.timeouts}
}

// learn adds a call. Answers are events; cut and cancelled attempts are known
// to have lasted longer than they did; all others say nothing about latency.
func (d *depTable) learn(r *request, k int) {
	c := &r.calls[k]
	d.calls++
	d.messaging = d.messaging || c.messaging
	d.deadlines = d.deadlines || r.deadline != nil
	d.protocols.learn(c.protocol)
	if !r.orphaned(c) {
		d.extra.add(r.weight, int64(c.tries()-1))
		if n := len(c.attempts) - 1; n > 0 {
			copies := c.hedges()
			d.again.add(1, uint64(r.weight.orOne()), uint64(n-copies))
			d.copies.add(1, uint64(r.weight.orOne()), uint64(copies))
		}
	}
	d.blind = d.blind || c.path > 0 && c.blind()
	if !r.loose() { // what the path of a piece says of the request around it, nobody knows
		d.held.add(r.weight, int64(c.path))
		if c.path > 0 {
			d.onPath++
			d.path = plus(d.path, c.path)
		}
	}
	if c.hint != "" {
		d.hint = c.hint
	} else if d.hint == "" && r.fallback && !r.failed && !c.outcome.Answered() {
		d.hint = "fallback"
	}
	if len(c.attempts) > 1 {
		at := &d.retried
		if c.hedged() {
			at = &d.hedgedAt
		}
		if *at == nil || c.end-c.start > (*at).Amount {
			e := exampleOf(r, c)
			*at = &e
		}
	}
	for i := range c.attempts {
		t := &c.attempts[i]
		d.attempts++
		outcome := t.outcome
		if t.unfinished {
			outcome = Unfinished
		}
		d.outcomes[outcome.number()]++
		d.made.add(t.weight)
		if outcome.Bad() {
			d.bad.add(t.weight)
		}
		if t.hedge {
			d.hedges++
		}
		d.hidden += t.hidden
		if t.timeout > 0 {
			d.timeouts.Add(t.timeout)
		}
		if t.cut() {
			d.cuts.Add(t.end - t.start)
		}
		if t.hidden > 0 { // several tries in one span: not the latency of one
			continue
		}
		switch {
		case outcome.Answered(), outcome.Cut(), outcome == CancelledRace:
			d.latency.add(t.class, t.took, t.weight)
			if t.class == answered && !outcome.Answered() {
				d.ranOn.add(answered, t.took, t.weight)
			}
		case outcome.Bad():
			d.failed.add(answered, t.took, t.weight)
		}
		d.learnPhases(t, outcome)
	}
}

// recordedTimeout is the timeout that client spans record, where it is one and
// the same for all that record one; 0: none, or what is left of a deadline.
func (d *depTable) recordedTimeout() time.Duration {
	value := d.timeouts.Point(P50)
	if value == nil {
		return 0
	}
	if low, high := d.timeouts.Range(); high-low > pileWidth(*value) {
		return 0
	}
	return *value
}

// survey adds a call to what rests on all calls: how slow each instance of the callee
// is, by p95; and cuts in one pile.
func (d *depTable) survey(r *request, k int) {
	c := &r.calls[k]
	for i := range c.attempts {
		t := &c.attempts[i]
		if d.pile != nil && t.cut() && d.pile.holds(t.end-t.start, d.cuts.binned) {
			d.pile.add(r, t)
		}
		if t.hidden > 0 || t.unfinished || !t.outcome.Answered() {
			continue
		}
		d.slow.add(r, k, t)
		if t.instance == "" {
			continue
		}
		if d.instances == nil {
			d.instances = map[string]*instanceTable{}
		}
		in := d.instances[t.instance]
		if in == nil {
			in = new(instanceTable)
			d.instances[t.instance] = in
		}
		took := t.end - t.start
		in.answers++
		if d.p95 != nil && took >= *d.p95 {
			in.slow++
		}
		if in.answers == 1 || took > in.slowest {
			in.slowest, in.worst = took, exampleOf(r, c)
		}
	}
}

// learnPhases adds what is known of connecting. An attempt that was cut while
// connecting, or waiting for the pool, took longer than it shows.
func (d *depTable) learnPhases(t *attempt, outcome Outcome) {
	if t.phases.none() {
		return
	}
	pool, waited := t.phases.length(func(p part) bool { return p == poolPart })
	connect, opened := t.phases.length(part.opening)
	// until gives the class of a phase, in which an attempt of the outcome was cut.
	until := func(cut bool) class {
		if cut {
			return t.class
		}
		return answered
	}
	if waited {
		d.pool.add(until(outcome == PoolTimeout), pool, t.weight)
	}
	if opened {
		d.connect.add(until(outcome == ConnectTimeout), connect, t.weight)
	}
	if waited || opened {
		switch rest := t.took - pool - connect; {
		case outcome.Answered(), outcome == ReadTimeout, outcome == CancelledCaller, outcome == CancelledRace:
			d.read.add(t.class, rest, t.weight)
		}
	}
}

// finishDep is the row of a dependency, once all requests are known.
func (a *Analysis) finishDep(t *depTable) Dependency {
	defer putAway(t.samples()...)
	d := Dependency{Caller: t.name.caller, Callee: t.name.callee, Operation: t.name.operation, Split: a.split(t.name.split), Calls: t.calls, Attempts: t.attempts,
		Outcomes: map[Outcome]int{}, OnPath: t.onPath, Path: t.path, ErrorShare: t.bad.shareIn(&t.made).Point, ExtraLoad: t.extra.mean(), Latency: t.latency.Latency(),
		RanOn: t.ranOn.N(), Minimum: t.minimum, Ceiling: t.ceiling, Warnings: []Warning{}, DoesNotFit: []string{}}
	if a.opts.Policy != nil {
		d.Required = &t.required
	}
	d.Hint, d.Hidden = t.hint, t.hidden
	for _, part := range []struct {
		from *Sample
		to   **Latency
	}{{&t.connect, &d.Connect}, {&t.pool, &d.Pool}, {&t.read, &d.Read}} {
		if part.from.N() > 0 {
			l := part.from.Latency()
			*part.to = &l
		}
	}
	if t.failed.N() > 0 {
		l := t.failed.Latency()
		d.LatencyFailed = &l
	}
	if now := t.recordedTimeout(); now > 0 {
		d.CurrentTimeout = t.current(now, "recorded")
	}
	if t.fixed != nil {
		d.CurrentTimeout = t.current(t.fixed.value, "pile")
	}
	if t.deadlines {
		d.FalseTimeouts, d.LateAnyway = &t.falseCuts, &t.lateCuts
	}
	for i, n := range t.outcomes {
		if n == 0 {
			continue
		}
		o := Outcomes[i]
		d.Outcomes[o] = n
		switch {
		case o == OutcomeOK:
			d.OK += n
		case o.Bad():
			d.Errors += n
		case o.Cut():
			d.Cut += n
		}
	}
	if t.rule != nil {
		d.PolicyMinimum, d.PolicyCeiling = t.rule.Minimum, t.rule.Ceiling
	}
	if t.ceiling != nil {
		share := t.latency.ShareAbove(*t.ceiling)
		d.CeilingShareCut, d.CeilingShareCutLow, d.CeilingShareCutHigh = share.Point, share.Low, share.High
	}
	t.finishTails(&d, a.policy())
	warn := func(w Warning, when bool) {
		if when {
			d.Warnings = append(d.Warnings, w)
		}
	}
	d.Warnings = append(d.Warnings, d.Latency.Warnings()...)
	warn(HistogramValues, !t.latency.Exact())
	warn(ClusteredTail, len(d.ClusteredTail) > 0)
	warn(DriftSlower, d.Drift != nil && d.Drift.Last > d.Drift.First)
	warn(DriftFaster, d.Drift != nil && d.Drift.Last < d.Drift.First)
	warn(TwoModes, d.Modes != nil)
	warn(PileOfAnswers, d.Pile != nil)
	warn(ConnectInRead, t.blind)
	warn(ManyOperations, t.name.operation == otherOperations && t.name != restDependency)
	warn(ManyRows, t.name == restDependency)
	warn(HiddenRetries, t.hidden > 0)
	warn(TimeoutUnclear, t.unclear)
	warn(MinimumUnknown, t.minimumInForce == nil)
	n := t.latency.effectiveN()
	warn(FewCeiling, t.ceiling != nil && !t.capped && n != nil && *n < fewest(whole-t.falseTimeouts))
	warn(CappedByBudget, t.capped && t.ceiling != nil)
	warn(DoesNotFit, len(t.misfits) > 0)
	warn(NoCeiling, t.ceiling == nil && len(t.misfits) == 0)
	warn(AssumesRequired, a.opts.Policy == nil)
	d.DoesNotFit = append(d.DoesNotFit, namesOf(t.misfits)...)
	if d.PolicyMinimum != nil {
		d.PolicyDoesNotFit = namesOf(t.misfitsInForce)
	}
	return d
}

// namesOf are the names of routes, sorted.
func namesOf(keys []routeKey) (names []string) {
	for _, k := range keys {
		names = append(names, k.service+" "+k.route)
	}
	slices.Sort(names)
	return names
}

// finishTails adds what the shape of the latencies, and the slow ones, say.
func (t *depTable) finishTails(d *Dependency, p *Policy) {
	d.ConnectCeiling, d.ReadCeiling = t.ceilingOf(&t.connect, p.Margin), t.ceilingOf(&t.read, p.Margin)
	if t.late.Worst.Trace != nil || t.late.AtP50+t.late.AtCeiling > 0 {
		d.Late = &t.late
	}
	if d.Hedge = t.plan(p.HedgeLoad); d.Hedge != nil && len(d.Hedge.Not) == 0 {
		d.HedgeAfter = &d.Hedge.After
	}
	d.ClusteredTail, d.Drift = t.slow.clusters(t.instances), t.slow.drift()
	if d.ClusteredTail == nil {
		d.ClusteredTail = []Cluster{}
	}
	d.Modes, d.Pile = t.latency.modes(), t.latency.pile()
}

// current is the timeout that the caller uses, and what it cuts.
func (d *depTable) current(timeout time.Duration, source string) *CurrentTimeout {
	share := d.latency.shareCut(timeout, pileWidth(timeout))
	return &CurrentTimeout{timeout, source, share.Point, share.Low, share.High}
}
