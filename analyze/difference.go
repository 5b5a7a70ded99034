package analyze

import (
	"math"
	"time"
)

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
