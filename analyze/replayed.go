package analyze

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// ReplaySchema names the form of a ReplayReport in JSON.
const ReplaySchema = "overrun.replay/v1"

// A ReplayReport is what `overrun replay` found. Its JSON form is its definition,
// as that of Report is.
//
// What the record leaves open is taken in two ways, and both are given where they
// differ. Replayed takes it at the worst: a second copy is as slow as the first,
// a call whose latency nothing tells never answers. At the best copies are
// independent, and such a call answers where it was cut.
type ReplayReport struct {
	Schema       string             `json:"schema"`
	Seed         uint64             `json:"seed"`
	Routes       []ReplayRoute      `json:"routes"`       // by service, then route
	Dependencies []ReplayDependency `json:"dependencies"` // by caller, callee, operation
	Timeout      *TimeoutAnswer     `json:"timeout"`      // null: not asked for
	Sweep        []SweepPoint       `json:"sweep"`        // null: not asked for
	Warnings     []Warning          `json:"warnings"`
}

// A ReplayRoute is a route beside what it would have been.
type ReplayRoute struct {
	Service        string    `json:"service"`
	Route          string    `json:"route"`
	Split          *string   `json:"split,omitempty"` // value of --split-by; none: not split
	Observed       Measures  `json:"observed"`
	Replayed       Measures  `json:"replayed"`
	ReplayedAtBest *Measures `json:"replayed_at_best"` // null: it is the same
	Saved          Span      `json:"saved"`            // requests that were late or failed and are in time
	Lost           Span      `json:"lost"`             // the reverse
	LateAgain      Span      `json:"late_again"`       // late or failed, and so again
	Theory         *Theory   `json:"theory"`           // null: no deadline, or no parallel calls
	Warnings       []Warning `json:"warnings"`
}

// A Span is a number of requests at the worst and at the best, with the 95 %
// interval of the bootstrap over requests around both. That of none or of all is none.
type Span struct {
	Worst int `json:"worst"`
	Best  int `json:"best"`
	Low   int `json:"low"`
	High  int `json:"high"`
}

// Measures are what is counted of requests. Complete, Partial and Failed sum to
// Requests. The intervals are those of the bootstrap over requests; where a share is 0 or 1,
// of which it says nothing, the exact one of Clopper and Pearson.
type Measures struct {
	Requests       int      `json:"requests"`
	WithDeadline   int      `json:"with_deadline"`
	Complete       int      `json:"complete"`
	Partial        int      `json:"partial"`
	Failed         int      `json:"failed"`
	Late           int      `json:"late"`
	LateShare      *float64 `json:"late_share"` // Late / (complete + partial with a deadline)
	LateLow        *float64 `json:"late_share_low"`
	LateHigh       *float64 `json:"late_share_high"`
	CompleteShare  *float64 `json:"complete_share"` // Complete / Requests
	CompleteLow    *float64 `json:"complete_share_low"`
	CompleteHigh   *float64 `json:"complete_share_high"`
	TimedOut       int      `json:"timed_out"`
	CompleteInTime int      `json:"complete_in_time"`
	PartialInTime  int      `json:"partial_in_time"`
	Latency        Latency  `json:"latency"` // over complete and partial
	LatencyFailed  Latency  `json:"latency_failed"`
	Calls          int      `json:"calls"`    // that were made
	Skipped        int      `json:"skipped"`  // not made for lack of time
	Cut            int      `json:"cut"`      // calls
	Attempts       int      `json:"attempts"` //
	Drawn          int      `json:"drawn"`    // requests whose result rests on draws
	Bounded        int      `json:"bounded"`  // requests whose result is a range
}

// A ReplayDependency is what calls to a dependency did, and would have done.
type ReplayDependency struct {
	Caller         string    `json:"caller"`
	Callee         string    `json:"callee"`
	Operation      string    `json:"operation"`
	Split          *string   `json:"split,omitempty"`
	Required       bool      `json:"required"` // as replayed
	Observed       CallCount `json:"observed"`
	Replayed       CallCount `json:"replayed"`
	ReplayedAtBest CallCount `json:"replayed_at_best"`
	// ExtraLoad is the largest of (replayed - observed attempts) / observed attempts
	// of the two; null: none was observed.
	ExtraLoad *float64 `json:"extra_load"`
	// Bottom is up to how many attempts one top request can make of it, by the policy:
	// the product of the attempts on the way there.
	Bottom   int       `json:"attempts_at_bottom"`
	Warnings []Warning `json:"warnings"`
}

// A CallCount counts calls of requests.
type CallCount struct {
	Calls    int `json:"calls"`
	Attempts int `json:"attempts"`
	Skipped  int `json:"skipped"`
	Cut      int `json:"cut"`
}

// A Theory is what would be late or time out if the calls of the last parallel group were
// independent of each other, beside what is: Independence, with an interval.
type Theory struct {
	Branches int     `json:"branches"`
	Requests int     `json:"requests"` // that hold all of them, and were answered or timed out
	Late     float64 `json:"late_share"`
	Low      float64 `json:"late_share_low"` // 95 % interval
	High     float64 `json:"late_share_high"`
	Observed float64 `json:"observed_late_share"`
}

// A SweepPoint is one value of a sweep, on a route that calls the dependency.
type SweepPoint struct {
	Ceiling        time.Duration `json:"ceiling_ns"`
	Service        string        `json:"service"`
	Route          string        `json:"route"`
	Split          *string       `json:"split,omitempty"`
	Replayed       Measures      `json:"replayed"`
	ReplayedAtBest *Measures     `json:"replayed_at_best"`
}

// report puts all together.
func (r *replayer) report() *ReplayReport {
	out := &ReplayReport{Schema: ReplaySchema, Seed: r.seed, Routes: []ReplayRoute{}, Dependencies: []ReplayDependency{}, Warnings: []Warning{}}
	for _, t := range r.sortedRoutes() {
		out.Routes = append(out.Routes, t.finish(r.a))
	}
	out.Dependencies = r.dependencies()
	for i := range out.Dependencies {
		if e := out.Dependencies[i].ExtraLoad; e != nil && *e > 0.01 {
			out.Warnings = []Warning{LoadNotModelled}
		}
	}
	if s := r.o.Sweep; s != nil {
		out.Sweep = []SweepPoint{}
		for _, t := range r.sortedRoutes() {
			if !t.calls(r, s.Name) {
				continue
			}
			for i, ceiling := range s.Values() {
				sum := &t.sums[1+i]
				p := SweepPoint{Ceiling: ceiling, Service: t.table.key.service, Route: t.table.key.route, Split: r.a.split(t.table.key.split), Replayed: sum.measures(worst)}
				if sum.bounded > 0 {
					p.ReplayedAtBest = new(Measures)
					*p.ReplayedAtBest = sum.measures(best)
				}
				out.Sweep = append(out.Sweep, p)
			}
		}
	}
	out.Timeout = r.timeout.answer(r)
	return out
}

// calls reports whether requests of the route call a dependency that a name
// matches.
func (t *replayRoute) calls(r *replayer, name string) bool {
	return slices.ContainsFunc(t.table.order.nodes.list, func(n routeNode) bool { return r.a.deps[n.dep].name.matches(name) })
}

func (t *replayRoute) finish(a *Analysis) ReplayRoute {
	sum := &t.sums[0]
	r := ReplayRoute{Service: t.table.key.service, Route: t.table.key.route, Split: a.split(t.table.key.split), Warnings: []Warning{},
		Observed: t.observed.measures(&t.latencies[0], &t.latencies[1]), Replayed: sum.measures(worst),
		Saved: sum.span(sum.saved), Lost: sum.span(sum.lost), LateAgain: sum.span(sum.lateAgain)}
	if sum.bounded > 0 {
		high := sum.measures(best)
		r.ReplayedAtBest = &high
	}
	r.Theory = t.table.group.theory()
	warn := func(w Warning, when bool) {
		if when {
			r.Warnings = append(r.Warnings, w)
		}
	}
	warn(OrderByTiming, t.timed > 0)
	warn(NotWeighted, t.weights.light < t.weights.heavy || t.weights.mixed())
	warn(NoErrorTail, t.errorTails.N() == 0 && sum.worlds[worst].failed > t.observed.failed)
	return r
}

func (s *scenarioSum) span(n [2]int) Span {
	return bootstrapSpan(s.worlds[worst].requests, n)
}

// bootstrapSpan is a number of all requests in both worlds, with its interval.
func bootstrapSpan(all int, n [2]int) Span {
	low, _ := bootstrapCount(all, min(n[worst], n[best]))
	_, high := bootstrapCount(all, max(n[worst], n[best]))
	return Span{n[worst], n[best], low, high}
}

// measures is what a world came to.
func (s *scenarioSum) measures(w world) Measures {
	var samples [2]Sample
	for i := range samples {
		samples[i].merge(&s.same[i])
		samples[i].merge(&s.apart[w][i])
	}
	m := s.worlds[w].measures(&samples[0], &samples[1])
	m.Drawn, m.Bounded = s.drawn, s.bounded
	return m
}

func (t *endTally) measures(latency, failed *Sample) Measures {
	m := Measures{Requests: t.requests, WithDeadline: t.withDeadline, Complete: t.complete, Partial: t.partial, Failed: t.failed, Late: t.late,
		TimedOut: t.timedOut, CompleteInTime: t.completeInTime, PartialInTime: t.partInTime,
		Calls: t.calls, Skipped: t.skipped, Cut: t.cut, Attempts: t.attempts,
		Latency: latency.bootstrapped(), LatencyFailed: failed.bootstrapped()}
	share := func(k, n int) (share, low, high *float64) {
		if n == 0 {
			return nil, nil, nil
		}
		of := float64(k) / float64(n)
		l, h := bootstrapShare(n, k)
		return &of, &l, &h
	}
	m.LateShare, m.LateLow, m.LateHigh = share(t.late, t.completeInTime+t.partInTime+t.late)
	m.CompleteShare, m.CompleteLow, m.CompleteHigh = share(t.complete, t.requests)
	return m
}

// dependencies are the rows of what calls did.
func (r *replayer) dependencies() []ReplayDependency {
	list := []ReplayDependency{}
	plans := r.scenarios[0].plans
	bottom := r.bottoms()
	for i, d := range r.a.deps {
		sums := [2]depTally{r.would[worst][i], r.would[best][i]}
		seen := r.seen[i]
		row := ReplayDependency{Caller: d.name.caller, Callee: d.name.callee, Operation: d.name.operation, Split: r.a.split(d.name.split), Required: d.required,
			Observed: seen.count(), Replayed: sums[worst].count(), ReplayedAtBest: sums[best].count(), Bottom: bottom[i], Warnings: []Warning{}}
		if seen.attempts > 0 {
			extra := float64(max(sums[worst].attempts, sums[best].attempts)-seen.attempts) / float64(seen.attempts)
			row.ExtraLoad = &extra
		}
		safe, _ := d.repeatable()
		if rule := d.rule; rule != nil && !safe && (rule.Attempts > 1 || rule.HedgeAfter > 0) {
			row.Warnings = append(row.Warnings, NotRepeatable)
		}
		if own := max(1, plans[i].attempts); bottom[i] > own {
			row.Warnings = append(row.Warnings, RetriesMultiply)
		}
		list = append(list, row)
	}
	slices.SortFunc(list, func(x, y ReplayDependency) int {
		return cmp.Or(cmp.Compare(x.Caller, y.Caller), cmp.Compare(x.Callee, y.Callee), cmp.Compare(x.Operation, y.Operation), bySplit(x.Split, y.Split))
	})
	return list
}

func (d depTally) count() CallCount { return CallCount{d.calls, d.attempts, d.skipped, d.cut} }

// maxBottom is where counting attempts at the bottom ends.
const maxBottom = 1 << 20

// bottoms is, for each dependency, up to how many attempts one top request can make of
// it: the product of the attempts of the calls on the way, from service to
// service, on the way with the most. Services that call each other in a circle
// count as one: nobody knows how often a request goes round.
func (r *replayer) bottoms() []int {
	plans := r.scenarios[0].plans
	attempts := func(i int) int {
		if plans[i].hedge > 0 {
			return 2
		}
		return max(1, plans[i].attempts)
	}
	out, in := map[string][]int{}, map[string][]int{} // dependencies by caller, by callee
	for i, d := range r.a.deps {
		out[d.name.caller] = append(out[d.name.caller], i)
		in[d.name.callee] = append(in[d.name.callee], i)
	}
	// Kosaraju: services in the order in which a search leaves them; then circles,
	// callers before callees, by searches against the calls.
	var left []string
	seen := map[string]bool{}
	var leave func(service string)
	leave = func(service string) {
		if seen[service] {
			return
		}
		seen[service] = true
		for _, i := range out[service] {
			leave(r.a.deps[i].name.callee)
		}
		left = append(left, service)
	}
	for _, service := range slices.Sorted(maps.Keys(out)) {
		leave(service)
	}
	circle := map[string]int{} // from 1
	var join func(service string, n int)
	join = func(service string, n int) {
		if circle[service] > 0 || !seen[service] {
			return
		}
		circle[service] = n
		for _, i := range in[service] {
			join(r.a.deps[i].name.caller, n)
		}
	}
	times := []int{0} // by circle: most attempts at its services for one top request
	bottom := make([]int, len(r.a.deps))
	for _, service := range slices.Backward(left) {
		if circle[service] == 0 {
			join(service, len(times))
			times = append(times, 1)
		}
	}
	for _, service := range slices.Backward(left) { // all calls to a circle come before those from it
		for _, i := range out[service] {
			to := circle[r.a.deps[i].name.callee]
			if to != circle[service] {
				times[to] = max(times[to], min(times[circle[service]]*attempts(i), maxBottom))
			}
		}
	}
	for i, d := range r.a.deps {
		bottom[i] = min(times[circle[d.name.caller]]*attempts(i), maxBottom)
	}
	return bottom
}
