package analyze

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"overrun/ingest"
)

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
	list := s.a.find(r)
	byCall(list)
	for _, f := range list {
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
		s.a.hoard.lodge(&t.latency, &t.failed)
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
		if r.deadline.source == Inherited {
			t.LateInherited++
		}
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
		of   headcount // how many, and of how many the weight is known
		time float64
	}
	callers := map[callerKey]*total{}
	add := func(service, split string, of *headcount, sum *wide) *total {
		who := callerKey{service, split}
		t := callers[who]
		if t == nil {
			t = new(total)
			callers[who] = t
		}
		t.of.n, t.of.known, t.time = t.of.n+of.n, t.of.known+of.known, t.time+sum.float()
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
		if t := whole[i]; d.held.of.n > 0 && t.time > 0 && !t.of.mixed() {
			share := d.held.sum.float() / t.time
			list[i].PathShare = &share
		}
	}
}

func (t *routeSum) finish(a *Analysis, table *routeTable) Route {
	defer putAway(append(table.samples(), &t.latency, &t.failed)...)
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
