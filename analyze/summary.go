package analyze

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"overrun/ingest"
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
	if d.rule = a.opts.Policy.Rule(name.caller, name.callee, name.operation); d.rule != nil {
		d.required, d.falseTimeouts = d.rule.Required, d.rule.FalseTimeouts
	}
	return d
}

// learn adds a call. Answers are events; cut and cancelled attempts are known
// to have lasted longer than they did; all others say nothing about latency.
func (d *depTable) learn(r *request, k int) {
	c := &r.calls[k]
	d.calls++
	d.messaging = d.messaging || c.messaging
	d.deadlines = d.deadlines || r.deadline != nil
	d.protocols.learn(c.protocol)
	d.held.add(r.weight, int64(c.path))
	d.extra.add(r.weight, int64(c.tries()-1))
	if c.path > 0 {
		d.onPath++
		d.path += c.path
		d.blind = d.blind || c.blind()
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
		if d.p95 != nil && took > *d.p95 {
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

// A summary adds up decided requests.
type summary struct {
	a        *Analysis
	routes   map[*routeTable]*routeSum
	findings map[findingKey]*Finding
	worst    []lateRequest
	requests int
	weighed  int // requests and fragments whose sampling weight is known
	orphans  int
}

// MaxWorst is how many late requests a report lists.
const MaxWorst = 100

// A lateRequest is a LateOne with its place among all requests as they are stored.
type lateRequest struct {
	LateOne
	nth int
}

// A routeSum is a Route under construction.
type routeSum struct {
	Route
	latency, failed Sample
	due, overdue    headcount // answered requests with a deadline, and those of them that were late
	limited, met    headcount // requests with a deadline, and those of them that were complete in time
	times           weighedTime
	byTen           map[int64]int
	blind           bool // connecting was not told apart from reading somewhere
}

func newSummary(a *Analysis) *summary {
	return &summary{a: a, routes: map[*routeTable]*routeSum{}, findings: map[findingKey]*Finding{}}
}

func (s *summary) add(r *request) {
	s.a.hedge(r)
	for _, f := range s.a.find(r) {
		s.file(r.service, r.route, r.split, &f)
		switch f.code {
		case RequestLate:
			s.a.learnLate(r, f.example.Amount, f.remedies)
			s.addWorst(r, &f)
		case FalseTimeout:
			s.a.deps[f.dep].falseCuts++
		case LateAnyway:
			s.a.deps[f.dep].lateCuts++
		}
	}
	for _, f := range s.a.findFixed(r) {
		s.file(f.to.caller, "", f.to.split, &f)
	}
	if r.weight != unknownWeight {
		s.weighed++
	}
	if r.role == fragment {
		s.orphans++
	}
	if r.table == nil {
		return
	}
	s.requests++
	for _, k := range r.skipped {
		s.a.deps[k.dep].outcomes[Skipped.number()]++
	}
	t := s.routes[r.table]
	if t == nil {
		t = &routeSum{Route: Route{Service: r.service, Route: r.route, Split: s.a.split(r.split), DeadlineSources: map[Source]int{}}, byTen: map[int64]int{}}
		s.routes[r.table] = t
	}
	t.add(r)
}

// merge adds what another summary, of other services, adds up.
func (s *summary) merge(o *summary) {
	maps.Copy(s.routes, o.routes)
	maps.Copy(s.findings, o.findings)
	for i := range o.worst {
		s.keepWorst(&o.worst[i])
	}
	s.requests += o.requests
	s.weighed += o.weighed
	s.orphans += o.orphans
}

// file counts a finding under its place.
func (s *summary) file(service, route, split string, f *found) {
	key := findingKey{f.code, service, route, split, f.to.callee, f.to.operation}
	if s.findings[key] == nil {
		s.findings[key] = &Finding{Code: f.code, Service: service, Route: route, Callee: f.to.callee, Operation: f.to.operation, Split: s.a.split(split)}
	}
	s.findings[key].count(f)
}

func (t *routeSum) add(r *request) {
	t.Requests++
	t.Time = t.Time.plus(r.time)
	t.times.add(r.weight, &r.time)
	t.blind = t.blind || r.blind
	_, late := r.late()
	inTime := 0
	if r.deadline != nil {
		t.WithDeadline++
		t.DeadlineSources[r.deadline.source]++
		t.limited.add(r.weight)
		if !late {
			inTime = 1
		}
	}
	if r.ended == Failed {
		t.Failed++
		if r.timedOut {
			t.TimedOut++
		}
		t.failed.add(answered, r.duration, r.weight)
		return
	}
	t.latency.add(answered, r.duration, r.weight)
	if r.deadline != nil {
		t.due.add(r.weight)
		if late {
			t.overdue.add(r.weight)
		}
	}
	if r.ended == Complete {
		t.Complete++
		if t.CompleteInTime += inTime; inTime > 0 {
			t.met.add(r.weight)
		}
	} else {
		t.Partial++
		t.PartialInTime += inTime
	}
	if late {
		t.Late++
		const ten = int64(10 * time.Minute)
		t.byTen[r.start-((r.start%ten)+ten)%ten]++
		start := r.start
		if t.FirstLate == nil || start < *t.FirstLate {
			t.FirstLate = &start
		}
		if t.LastLate == nil || start > *t.LastLate {
			t.LastLate = &start
		}
	}
}

// addWorst adds a late request to the worst.
func (s *summary) addWorst(r *request, f *found) {
	s.keepWorst(&lateRequest{LateOne{Trace: r.trace, Span: r.span, File: r.file, Position: r.position, Service: r.service, Route: r.route, Split: s.a.split(r.split),
		Start: r.start, Overrun: f.example.Amount, Source: r.deadline.source, Lateness: *f.example.Lateness}, r.nth})
}

// keepWorst keeps the MaxWorst latest requests.
func (s *summary) keepWorst(one *lateRequest) {
	i, _ := slices.BinarySearchFunc(s.worst, one, func(x lateRequest, y *lateRequest) int {
		return cmp.Or(cmp.Compare(y.Overrun, x.Overrun), bytes.Compare(x.Trace[:], y.Trace[:]), bytes.Compare(x.Span[:], y.Span[:]),
			cmp.Compare(y.nth, x.nth)) // ids may be there twice
	})
	if i < MaxWorst {
		s.worst = slices.Insert(s.worst, i, *one)
		s.worst = s.worst[:min(len(s.worst), MaxWorst)]
	}
}

// report puts all together, in an order that depends on names alone.
func (s *summary) report(c *crop) Report {
	r := Report{Schema: ReportSchema, SplitBy: s.a.opts.SplitBy, Input: s.input(c), Routes: []Route{},
		Findings: []Finding{}, Worst: []LateOne{}}
	for i := range s.worst {
		r.Worst = append(r.Worst, s.worst[i].LateOne)
	}
	for table, t := range s.routes {
		r.Routes = append(r.Routes, t.finish(s.a, table))
	}
	slices.SortFunc(r.Routes, func(x, y Route) int {
		return cmp.Or(cmp.Compare(x.Service, y.Service), cmp.Compare(x.Route, y.Route), bySplit(x.Split, y.Split))
	})
	for i, d := range s.a.deps {
		for _, f := range s.a.findPatterns(int32(i)) {
			s.file(d.name.caller, "", d.name.split, &f)
		}
	}
	r.Dependencies = make([]Dependency, len(s.a.deps))
	s.a.spread(len(s.a.deps), func(i int) { r.Dependencies[i] = s.a.finishDep(s.a.deps[i]) })
	s.sharePaths(r.Dependencies)
	slices.SortFunc(r.Dependencies, func(x, y Dependency) int {
		return x.name().compare(y.name())
	})
	for _, f := range s.findings {
		if f.Examples == nil {
			f.Examples = []Example{}
		}
		r.Findings = append(r.Findings, *f)
	}
	slices.SortFunc(r.Findings, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Code, y.Code), cmp.Compare(x.Service, y.Service), cmp.Compare(x.Route, y.Route),
			cmp.Compare(x.Callee, y.Callee), cmp.Compare(x.Operation, y.Operation), bySplit(x.Split, y.Split))
	})
	r.Advice = advise(&r)
	return r
}

// sharePaths says what share of the time of each caller its calls to a dependency held. The
// list is still in the order of the tables. Where a row holds all the rest, nothing is said: nobody
// knows how much of its own work, or of its calls, is whose.
func (s *summary) sharePaths(list []Dependency) {
	if _, rest := s.a.depOf[restDependency]; rest || s.a.routeOf[restRoute] != nil {
		return
	}
	type total struct {
		n, known int
		time     float64
	}
	callers := map[callerKey]*total{}
	add := func(service, split string, of *headcount, sum *wide) *total {
		who := callerKey{service, split}
		t := callers[who]
		if t == nil {
			t = new(total)
			callers[who] = t
		}
		t.n, t.known, t.time = t.n+of.n, t.known+of.known, t.time+sum.float()
		return t
	}
	whole := make([]*total, len(list))
	for i, d := range s.a.deps {
		whole[i] = add(d.name.caller, d.name.split, &d.held.of, &d.held.sum)
	}
	for _, table := range s.a.routes {
		if t := s.routes[table]; t != nil {
			add(table.key.service, table.key.split, &t.times.of, t.times.own())
		}
	}
	for i, d := range s.a.deps {
		if t := whole[i]; t.time > 0 && (t.known == 0 || t.known == t.n) {
			share := d.held.sum.float() / t.time
			list[i].PathShare = &share
		}
	}
}

func (t *routeSum) finish(a *Analysis, table *routeTable) Route {
	r := t.Route
	r.Latency, r.LatencyFailed = t.latency.Latency(), t.failed.Latency()
	tails := table.tails.estimates(P50, P99)
	r.Tail = Tail{tails[0].Point, tails[1].Point}
	if table.lateOwn.Held > 0 {
		r.LateOwn = &table.lateOwn
	}
	r.Independence = table.group.independence(a.branchName(table))
	share := t.overdue.shareIn(&t.due)
	r.LateShare, r.LateShareLow, r.LateShareHigh = share.Point, share.Low, share.High
	r.CompleteInTimeShare, r.MeanTime = t.met.shareIn(&t.limited).Point, t.times.mean()
	r.LateByTen = []LateTen{}
	for _, start := range slices.Sorted(maps.Keys(t.byTen)) {
		r.LateByTen = append(r.LateByTen, LateTen{start, t.byTen[start]})
	}
	r.Warnings = append([]Warning{}, r.Latency.Warnings()...)
	if t.times.of.mixed() && !slices.Contains(r.Warnings, MixedWeights) { // of answers, they are not
		r.Warnings = append(r.Warnings, MixedWeights)
	}
	if !t.latency.Exact() {
		r.Warnings = append(r.Warnings, HistogramValues)
	}
	if t.blind {
		r.Warnings = append(r.Warnings, ConnectInRead)
	}
	if !table.tailKnown && r.WithDeadline > 0 {
		r.Warnings = append(r.Warnings, TailUnknown)
	}
	if table.full {
		r.Warnings = append(r.Warnings, ManyCallsNoUsual)
	}
	if table.key == restRoute {
		r.Warnings = append(r.Warnings, ManyRows)
	}
	return r
}

func (a *Analysis) finishDep(t *depTable) Dependency {
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

// input says what was read.
func (s *summary) input(c *crop) Input {
	in := Input{Files: c.files, Bytes: c.bytes, Spans: c.spans, Traces: c.traces, Requests: s.requests, Fragments: s.orphans,
		Skew: Skew{c.moved, c.largest}}
	unknown := s.requests + s.orphans - s.weighed
	in.Weights = Weights{&s.weighed, &unknown}
	if c.timed {
		in.Start, in.End = &c.start, &c.end
	}
	in.Notes, in.Warnings = []Note{}, []Warning{}
	if s.a.arrival.looksChosen() {
		in.Warnings = append(in.Warnings, TailSampled)
	}
	for _, n := range c.notes.List() {
		note := Note{Code: n.Code, Count: n.Count, Text: n.Text, Example: Place{File: n.Example.File, Position: n.Example.Position}}
		if n.Example.Trace != (ingest.TraceID{}) || n.Example.Span != (ingest.SpanID{}) {
			note.Example.Trace, note.Example.Span = &n.Example.Trace, &n.Example.Span
		}
		in.Notes = append(in.Notes, note)
	}
	return in
}

// split is the value by which a row is told apart; nil: rows are not split.
func (a *Analysis) split(value string) *string {
	if a.opts.SplitBy == "" {
		return nil
	}
	return &value
}

// bySplit orders the values by which rows are told apart.
func bySplit(x, y *string) int {
	if x == nil || y == nil {
		return 0
	}
	return cmp.Compare(*x, *y)
}

// name is whom the row is about.
func (d *Dependency) name() dependency {
	n := dependency{caller: d.Caller, callee: d.Callee, operation: d.Operation}
	if d.Split != nil {
		n.split = *d.Split
	}
	return n
}
