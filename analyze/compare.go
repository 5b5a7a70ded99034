package analyze

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// CompareSchema names the form of a Comparison in JSON.
const CompareSchema = "overrun.compare/v1"

// ErrorRate is how much of what is called better or worse may be chance: of all
// differences that are called so, this share at the most is expected to be none. Where
// nothing differs, a comparison calls anything so in this share of cases at the most.
const ErrorRate = 0.05

// A Comparison puts two analyses side by side.
type Comparison struct {
	Schema    string  `json:"schema"`
	SplitBy   string  `json:"split_by,omitempty"`
	ErrorRate float64 `json:"error_rate"`
	Tested    int     `json:"tested"` // differences for which there is a p
	Before    Input   `json:"before"`
	After     Input   `json:"after"`
	// Routes and Dependencies are sorted as those of a Report.
	Routes       []RouteChange      `json:"routes"`
	Dependencies []DependencyChange `json:"dependencies"`
	Acceptance   []Check            `json:"acceptance"` // by rule, then route; empty: the policy has no rules
}

// Seen says on which sides a row is.
type Seen string

const (
	SeenBoth   Seen = "both"
	SeenBefore Seen = "before"
	SeenAfter  Seen = "after"
)

// A RouteChange is what became of a route.
type RouteChange struct {
	Service     string       `json:"service"`
	Route       string       `json:"route"`
	Split       *string      `json:"split,omitempty"`
	Seen        Seen         `json:"seen"`
	Differences []Difference `json:"differences"`
	Warnings    []Warning    `json:"warnings"`
}

// A DependencyChange is what became of a dependency.
type DependencyChange struct {
	Caller      string       `json:"caller"`
	Callee      string       `json:"callee"`
	Operation   string       `json:"operation"`
	Split       *string      `json:"split,omitempty"`
	Seen        Seen         `json:"seen"`
	Differences []Difference `json:"differences"`
	Warnings    []Warning    `json:"warnings"`
}

// A Measure is what is compared.
type Measure string

const (
	InTime         Measure = "in_time"          // complete and partial in time, of requests with a deadline, failed ones too
	CompleteInTime Measure = "complete_in_time" // complete in time, of the same
	PartialAnswers Measure = "partial"          // of answered requests
	LateAnswers    Measure = "late"             // of answered requests with a deadline
	FailedShare    Measure = "failed"           // of requests; of attempts: error, refused, connect-error
	CutShare       Measure = "cut"              // of attempts: the three timeouts and cancelled-caller
	SlowerPairs    Measure = "slower"           // pairs of a value before and one after of which the latter is greater
	LatencyP50     Measure = "p50"
	LatencyP95     Measure = "p95"
	LatencyP99     Measure = "p99"
	LatencyP999    Measure = "p999"
	TimeTotal      Measure = "time_total"           // mean of a request; time_own and the like: of a category
	PathTime       Measure = "path_time"            // that calls held the critical path, mean of all requests of the caller
	AttemptsEach   Measure = "attempts_per_request" // of all calls of a request; at one dependency: mean of all requests of the caller
	ExtraLoad      Measure = "extra_load"           // attempts a call - 1
)

// timeOf is the measure of the time of a category.
func timeOf(c Category) Measure {
	return Measure("time_" + strings.ReplaceAll(string(c), "-", "_"))
}

// A Unit is what the numbers of a difference are.
type Unit string

const (
	Shares Unit = "share" // fractions of 1
	Times  Unit = "ns"
	Counts Unit = "count"
)

// A Verdict says what a difference shows.
type Verdict string

const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	NoEvidence Verdict = "no-evidence" // what there is may be chance
	TooFew     Verdict = "too-few"     // there are so few values that hardly any difference would show, or that one or two decide
	NotKnown   Verdict = "not-known"   // what was recorded cannot tell: cuts hide it, or weights are missing
	OneSided   Verdict = "one-sided"   // there is nothing on the other side
)

// A Difference is one measure of one row, before and after.
type Difference struct {
	Measure       Measure
	Unit          Unit
	Before, After Side // of SlowerPairs: no points
	// Difference is after - before with its 95 % interval, not corrected for how many
	// differences there are. That of SlowerPairs is its share - 1/2.
	Difference Range
	P          *float64 // that chance alone makes such a difference, or a larger one; nil: not tested
	Adjusted   *float64 // P corrected for Comparison.Tested (Benjamini and Hochberg): at most ErrorRate, and it is called one
	Verdict    Verdict

	leading bool // see weigh
	up      bool // the greater is after
}

// A Side is one side of a difference.
type Side struct {
	N         int     // values
	Effective float64 // independent ones; 0: not known
	Range
}

// higherIsBetter is so of shares in time alone.
func (m Measure) higherIsBetter() bool { return m == InTime || m == CompleteInTime }

// MarshalJSON writes keys that name their unit: before_ns, where times are whole
// nanoseconds.
func (d Difference) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	suffix := ""
	if d.Unit == Times {
		suffix = "_ns"
	}
	number := func(v *float64) string {
		switch {
		case v == nil || math.IsNaN(*v) || math.IsInf(*v, 0):
			return "null"
		case d.Unit == Times:
			return fmt.Sprintf("%d", int64(math.Round(*v)))
		}
		return text(v)
	}
	fmt.Fprintf(&b, `{"measure":%q,"unit":%q`, d.Measure, d.Unit)
	for _, side := range []struct {
		name string
		of   *Side
	}{{"before", &d.Before}, {"after", &d.After}} {
		fmt.Fprintf(&b, `,"%s_n":%d,"%[1]s_effective_n":%[3]s,"%[1]s%[4]s":%[5]s,"%[1]s_low%[4]s":%[6]s,"%[1]s_high%[4]s":%[7]s`,
			side.name, side.of.N, text(&side.of.Effective), suffix, number(side.of.Point), number(side.of.Low), number(side.of.High))
	}
	fmt.Fprintf(&b, `,"difference%s":%s,"difference_low%[1]s":%[3]s,"difference_high%[1]s":%[4]s,"p":%[5]s,"p_adjusted":%[6]s,"verdict":%[7]q}`,
		suffix, number(d.Difference.Point), number(d.Difference.Low), number(d.Difference.High), text(d.P), text(d.Adjusted), d.Verdict)
	return []byte(b.String()), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Difference) UnmarshalJSON(data []byte) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return err
	}
	var bad error
	get := func(key string, to any) {
		if raw, ok := keys[key]; ok {
			bad = cmp.Or(bad, json.Unmarshal(raw, to))
		}
	}
	*d = Difference{}
	get("measure", &d.Measure)
	get("unit", &d.Unit)
	get("verdict", &d.Verdict)
	get("p", &d.P)
	get("p_adjusted", &d.Adjusted)
	suffix := ""
	if d.Unit == Times {
		suffix = "_ns"
	}
	interval := func(name string, r *Range) {
		get(name+suffix, &r.Point)
		get(name+"_low"+suffix, &r.Low)
		get(name+"_high"+suffix, &r.High)
	}
	for name, side := range map[string]*Side{"before": &d.Before, "after": &d.After} {
		get(name+"_n", &side.N)
		get(name+"_effective_n", &side.Effective)
		interval(name, &side.Range)
	}
	interval("difference", &d.Difference)
	return bad
}

// Compare puts two analyses side by side, which were made with the same options. It
// fails if no route is in both, or requests cannot be read back.
//
// Requests of one trace are not independent. Every number of values is therefore that
// of the traces (bunch): as if all that a trace says of a row were one value.
func Compare(before, after *Analysis) (*Comparison, error) {
	b, err := before.ledger()
	if err != nil {
		return nil, err
	}
	a, err := after.ledger()
	if err != nil {
		return nil, err
	}
	if err := disjoint(b, a); err != nil {
		return nil, err
	}
	c := &Comparison{Schema: CompareSchema, SplitBy: after.opts.SplitBy, ErrorRate: ErrorRate, Before: before.Report.Input, After: after.Report.Input,
		Routes: []RouteChange{}, Dependencies: []DependencyChange{}, Acceptance: []Check{}}
	for _, key := range union(b.routes, a.routes, routeKey.compare) {
		x, y := b.routes[key], a.routes[key]
		row := RouteChange{Service: key.service, Route: key.route, Split: after.split(key.split), Seen: seen(x, y), Warnings: []Warning{}}
		x, y = orNew(x), orNew(y)
		if x.blind || y.blind {
			row.Warnings = append(row.Warnings, ConnectInRead)
		}
		row.Differences = x.differences(y)
		row.Warnings = append(row.Warnings, doubts(row.Differences)...)
		c.Routes = append(c.Routes, row)
	}
	for _, name := range union(b.deps, a.deps, dependency.compare) {
		x, y := b.deps[name], a.deps[name]
		row := DependencyChange{Caller: name.caller, Callee: name.callee, Operation: name.operation, Split: after.split(name.split), Seen: seen(x, y), Warnings: []Warning{}}
		x, y = orNewDep(x), orNewDep(y)
		who := callerKey{name.caller, name.split}
		row.Differences = x.differences(y, orNew(b.callers[who]), orNew(a.callers[who]))
		row.Warnings = append(row.Warnings, doubts(row.Differences)...)
		c.Dependencies = append(c.Dependencies, row)
	}
	c.judge()
	c.Acceptance = after.opts.Policy.accept(c)
	return c, nil
}

// disjoint fails where there is nothing to compare.
func disjoint(b, a *ledger) error {
	for key := range b.routes {
		if a.routes[key] != nil {
			return nil
		}
	}
	if len(b.routes)+len(a.routes) == 0 {
		for name := range b.deps {
			if a.deps[name] != nil {
				return nil
			}
		}
		return errors.New("nothing to compare: no request, and no dependency that is in both")
	}
	list := func(t *ledger) string {
		const few = 3
		var names []string
		for _, key := range slices.SortedFunc(maps.Keys(t.routes), routeKey.compare) {
			names = append(names, key.String())
		}
		switch {
		case len(names) == 0:
			return "no route"
		case len(names) > few:
			return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
		}
		return strings.Join(names, ", ")
	}
	return fmt.Errorf("nothing to compare: no route is in both: before are %s, after are %s", list(b), list(a))
}

func (k routeKey) compare(l routeKey) int {
	return cmp.Or(cmp.Compare(k.service, l.service), cmp.Compare(k.route, l.route), cmp.Compare(k.split, l.split))
}

// union lists the keys of two maps in order.
func union[K comparable, V any](a, b map[K]V, compare func(K, K) int) []K {
	return slices.CompactFunc(slices.SortedFunc(func(yield func(K) bool) {
		for _, m := range []map[K]V{a, b} {
			for k := range m {
				if !yield(k) {
					return
				}
			}
		}
	}, compare), func(x, y K) bool { return x == y })
}

func seen[T any](before, after *T) Seen {
	switch {
	case before == nil:
		return SeenAfter
	case after == nil:
		return SeenBefore
	}
	return SeenBoth
}

func orNew[T any](v *T) *T {
	if v == nil {
		return new(T)
	}
	return v
}

func orNewDep(d *depLedger) *depLedger {
	if d == nil {
		return &depLedger{latency: new(Sample)}
	}
	return d
}

// doubts are the warnings about a row that its differences call for.
func doubts(list []Difference) (w []Warning) {
	if slices.ContainsFunc(list, func(d Difference) bool { return d.Verdict == NotKnown }) {
		w = append(w, HidesChange)
	}
	return w
}

// differences compares a route before with the same after.
func (x *routeTally) differences(y *routeTally) []Difference {
	list := []Difference{
		x.inTime.against(&y.inTime, InTime),
		x.completeInTime.against(&y.completeInTime, CompleteInTime),
		x.partial.against(&y.partial, PartialAnswers),
		x.late.against(&y.late, LateAnswers),
		x.failed.against(&y.failed, FailedShare),
	}
	list = append(list, latencies(&x.latency, &y.latency, &x.answers, &y.answers)...)
	for i := range categories {
		if d := x.times[i].against(&y.times[i], timeOf(categories[i]), Times); x.times[i].sum != (wide{}) || y.times[i].sum != (wide{}) {
			list = append(list, d)
		}
	}
	return append(list, x.times[len(categories)].against(&y.times[len(categories)], TimeTotal, Times),
		x.attempts.against(&y.attempts, AttemptsEach, Counts), x.extra.against(&y.extra, ExtraLoad, Counts))
}

// differences compares a dependency before with the same after. The callers are the
// requests of the caller.
func (x *depLedger) differences(y *depLedger, callersX, callersY *bunch) []Difference {
	list := []Difference{x.failed.against(&y.failed, FailedShare), x.cut.against(&y.cut, CutShare)}
	list = append(list, latencies(x.latency, y.latency, &x.attempts, &y.attempts)...)
	path, each := x.path.among(callersX), x.perRequest.among(callersX)
	pathY, eachY := y.path.among(callersY), y.perRequest.among(callersY)
	return append(list, path.against(&pathY, PathTime, Times), each.against(&eachY, AttemptsEach, Counts), x.extra.against(&y.extra, ExtraLoad, Counts))
}

// leastValues is how many independent values each side of a difference needs, so that
// the distributions that tests take for granted are near.
const leastValues = 30

// begin is a difference of two bunches, decided where they leave nothing to test.
func begin(m Measure, unit Unit, x, y *bunch) (d Difference, decided bool) {
	d = Difference{Measure: m, Unit: unit, Before: Side{N: x.n, Effective: x.effective()}, After: Side{N: y.n, Effective: y.effective()}}
	switch {
	case x.mixed() || y.mixed():
		d.Verdict = NotKnown
	case x.n == 0 || y.n == 0:
		d.Verdict = OneSided
		if x.n == 0 && y.n == 0 {
			d.Verdict = TooFew
		}
	case d.Before.Effective < leastValues || d.After.Effective < leastValues:
		d.Verdict = TooFew
	}
	return d, d.Verdict != ""
}

// test notes the p of a difference.
func (d *Difference) test(p float64, up bool) {
	p = min(max(p, 0), 1)
	d.P, d.up = &p, up
}

// against compares two shares.
func (x *portion) against(y *portion, m Measure) Difference {
	d, decided := begin(m, Shares, &x.all, &y.all)
	if d.Verdict == TooFew && d.Before.Effective >= 1 && d.After.Effective >= 1 {
		d.Verdict, decided = "", false // its test is exact, and says itself what is too few
	}
	for _, side := range []struct {
		of *portion
		to *Side
	}{{x, &d.Before}, {y, &d.After}} {
		if n := side.to.Effective; n > 0 {
			p := side.of.share()
			low, high := wilson(p, n)
			side.to.Range = Range{&p, &low, &high}
		}
	}
	d.Difference = apart(d.Before.Range, d.After.Range)
	d.leading = m == InTime
	if !decided {
		k1, n1 := wholes(x.share(), d.Before.Effective)
		k2, n2 := wholes(y.share(), d.After.Effective)
		switch d.Verdict = NoEvidence; {
		case k1+k2 == 0 || k1+k2 == n1+n2: // all are the same
			if min(n1, n2) < leastValues {
				d.Verdict = TooFew
			}
		case leastFisher(k1+k2, n1, n2) > ErrorRate:
			d.Verdict = TooFew
		default:
			d.test(fisher(k1, n1, k2, n2), y.share() > x.share())
		}
	}
	return d
}

// wholes is a share of n in whole numbers.
func wholes(p, n float64) (hits, all int) {
	n = math.Floor(n)
	return int(math.Round(p * n)), int(n)
}

// against compares two means. What is the same for all values cannot differ by chance;
// equal means that rounding sets apart are equal.
func (x *average) against(y *average, m Measure, unit Unit) Difference {
	d, decided := begin(m, unit, &x.all, &y.all)
	side := func(of *average, to *Side) (v float64) {
		if to.Effective == 0 {
			return 0
		}
		mean := of.mean()
		to.Point = &mean
		if to.Effective < 2 {
			return 0
		}
		v = of.variance()
		half := studentQuantile(to.Effective-1) * math.Sqrt(v)
		low, high := max(mean-half, 0), mean+half
		to.Low, to.High = &low, &high
		return v
	}
	vx, vy := side(x, &d.Before), side(y, &d.After)
	if d.Before.Point == nil || d.After.Point == nil {
		return d
	}
	point := *d.After.Point - *d.Before.Point
	if math.Abs(point) <= 1e-9*math.Abs(*d.Before.Point) {
		point = 0
	}
	d.Difference.Point = &point
	if d.Before.Effective < 2 || d.After.Effective < 2 {
		return d
	}
	p, half := welch(point, vx, d.Before.Effective, vy, d.After.Effective)
	low, high := point-half, point+half
	d.Difference.Low, d.Difference.High = &low, &high
	if !decided {
		alike, few := x.alike(y, point)
		switch d.Verdict = NoEvidence; {
		case few:
			d.Verdict = TooFew
		case point != 0 || vx+vy > 0:
			d.test(max(p, alike), point > 0)
		}
	}
	return d
}

// single is by how many of its standard errors one value may move the mean of a side. A
// mean that rests on one or two is not normal, however many there are: five retries in
// ten thousand requests.
const single = 0.32

// alike is the p of a difference of means if the values of both sides are alike: Student's
// test, which does not believe a side on which nothing happened that there is no
// variance. few: one value weighs too much.
func (x *average) alike(y *average, d float64) (p float64, few bool) {
	both := x.squares.float() + y.squares.float()
	weight := x.all.total.float() + y.all.total.float()
	mean := (x.sum.float() + y.sum.float()) / weight
	v := both/weight - mean*mean
	if v <= 1e-14*mean*mean {
		return 1, false
	}
	n, m := x.all.effective(), y.all.effective()
	far := float64(max(x.most, y.most)) - mean
	if far*far > single*single*v*min(n, m) {
		return 1, true
	}
	return studentTail(d/math.Sqrt(v*(1/n+1/m)), n+m-2), false
}

// latencies compares latencies as a whole, and their quantiles. The bunches say how
// far values are less independent than they look.
func latencies(x, y *Sample, bx, by *bunch) []Difference {
	sides := [2]sampled{newSampled(x, bx), newSampled(y, by)}
	list := []Difference{sides[0].whole(&sides[1])}
	pooled := new(Sample)
	pooled.merge(x)
	pooled.merge(y)
	levels := []Quantile{P50, P95, P99, P999}
	ex, ey := sides[0].estimates(levels), sides[1].estimates(levels)
	ep := pooled.estimates(levels...)
	for i, m := range []Measure{LatencyP50, LatencyP95, LatencyP99, LatencyP999} {
		list = append(list, sides[0].quantile(&sides[1], m, levels[i], ex[i], ey[i], ep[i].Point))
	}
	return list
}

// A sampled is the latencies of one side.
type sampled struct {
	*Sample
	bunch  *bunch
	spread float64 // 1: all values are independent
	n      float64 // effective
}

func newSampled(s *Sample, b *bunch) sampled {
	at := sampled{Sample: s, bunch: b, spread: b.spread()}
	if n := s.effectiveN(); n != nil {
		at.n = rounded(*n * at.spread)
	}
	return at
}

func (s *sampled) begin(t *sampled, m Measure, unit Unit) (d Difference, decided bool) {
	d, decided = begin(m, unit, s.bunch, t.bunch)
	d.Before.N, d.After.N, d.Before.Effective, d.After.Effective = s.N(), t.N(), s.n, t.n
	switch {
	case s.mixed() || t.mixed():
		d.Verdict, decided = NotKnown, true
	case !decided && (s.n < leastValues || t.n < leastValues):
		d.Verdict, decided = TooFew, true
	}
	return d, decided
}

// whole compares latencies as a whole. Cuts by the deadline say more of the deadline
// than of the latencies: with more of them than a tenth of a half, nothing is said.
func (s *sampled) whole(t *sampled) Difference {
	d, decided := s.begin(t, SlowerPairs, Shares)
	d.leading = true
	if decided {
		return d
	}
	for _, of := range []*sampled{s, t} {
		if of.total(cutBudget).weight >= budgetShare/2*of.total(allClasses...).weight {
			d.Verdict = NotKnown
			return d
		}
	}
	share, p := slower(s.Sample, t.Sample, s.n, t.n)
	for _, v := range []*float64{share.Point, share.Low, share.High} {
		*v -= 0.5
	}
	d.Verdict, d.Difference = NoEvidence, share
	d.test(p, *share.Point > 0)
	return d
}

// estimates are quantiles with intervals. Where the values of a trace count as one, the
// ends are the quantiles at the ends of the score interval of q itself (Woodruff, J. Am.
// Stat. Assoc. 47 (1952) 635).
func (s *sampled) estimates(levels []Quantile) []Estimate {
	list := s.Sample.estimates(levels...)
	if s.spread == 1 || s.n == 0 {
		return list
	}
	var ends []Quantile
	for _, q := range levels {
		low, high := wilson(q.fraction(), s.n)
		ends = append(ends, Quantile(math.Floor(low*float64(whole))), Quantile(math.Ceil(high*float64(whole))))
	}
	at := s.Sample.estimates(ends...)
	for i := range list {
		list[i].Low, list[i].High = at[2*i].Point, at[2*i+1].Point
		if s.n < fewest(levels[i]) || ends[2*i+1] >= whole {
			list[i].High = nil
		}
	}
	return list
}

// quantile compares one quantile: by how many values lie above the quantile of all, on
// either side. Both sides have half of their values above their common median, and so
// on, if nothing differs.
func (s *sampled) quantile(t *sampled, m Measure, q Quantile, ex, ey Estimate, pooled *time.Duration) Difference {
	d, decided := s.begin(t, m, Times)
	d.Before.Range, d.After.Range = asRange(ex), asRange(ey)
	d.Difference = apart(d.Before.Range, d.After.Range)
	switch {
	case decided:
		return d
	case s.n < fewest(q) || t.n < fewest(q):
		d.Verdict = TooFew
		return d
	case pooled == nil:
		d.Verdict = NotKnown
		return d
	}
	x, y := s.ShareAbove(*pooled), t.ShareAbove(*pooled)
	if x.Point == nil || y.Point == nil {
		d.Verdict = NotKnown
		return d
	}
	d.Verdict = NoEvidence
	up := *y.Point > *x.Point
	if s.cuts()+t.cuts() == 0 {
		k1, n1 := wholes(*x.Point, s.n)
		k2, n2 := wholes(*y.Point, t.n)
		if k1+k2 > 0 {
			d.test(fisher(k1, n1, k2, n2), up)
		}
		return d
	}
	// The share above is one of the product-limit curve, with Greenwood's interval.
	between := apart(Range(x), Range(y))
	toZero := *between.Point - *between.Low
	if !up {
		toZero = *between.High - *between.Point
	}
	toZero /= math.Sqrt(min(s.spread, t.spread))
	switch {
	case *between.Point == 0:
		d.test(1, up)
	case toZero > 0:
		d.test(normalTail(ninetyFive*math.Abs(*between.Point)/toZero), up)
	}
	return d
}

func asRange(e Estimate) Range {
	float := func(d *time.Duration) *float64 {
		if d == nil {
			return nil
		}
		f := float64(*d)
		return &f
	}
	return Range{float(e.Point), float(e.Low), float(e.High)}
}

// judge corrects all p for their number, and gives verdicts. Half of the error rate is
// kept for what leads: latencies as a whole, and shares in time. All else has the
// other half.
func (c *Comparison) judge() {
	var tested []*Difference
	leading := 0
	for i := range c.Routes {
		tested = append(tested, testedOf(c.Routes[i].Differences)...)
	}
	for i := range c.Dependencies {
		tested = append(tested, testedOf(c.Dependencies[i].Differences)...)
	}
	for _, d := range tested {
		if d.leading {
			leading++
		}
	}
	p, weights := make([]float64, len(tested)), make([]float64, len(tested))
	for i, d := range tested {
		p[i] = *d.P
		if weights[i] = 1 / float64(max(len(tested)-leading, 1)); d.leading {
			weights[i] = 1 / float64(leading)
		}
	}
	for i, adjusted := range correct(p, weights) {
		d := tested[i]
		if d.Adjusted = &adjusted; adjusted > ErrorRate {
			continue
		}
		if d.Verdict = Worse; d.up == d.Measure.higherIsBetter() {
			d.Verdict = Better
		}
	}
	c.Tested = len(tested)
}

func testedOf(list []Difference) (tested []*Difference) {
	for i := range list {
		if list[i].P != nil {
			tested = append(tested, &list[i])
		}
	}
	return tested
}
