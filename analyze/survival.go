package analyze

import (
	"math"
	"time"
)

// ninetyFive is the normal quantile of 0.975.
const ninetyFive = 1.959963984540054

// budgetShare is the part of 1-q that cuts of the class budget below a quantile may
// weigh, and the product-limit estimate still be believed: a tenth. They cut slow
// requests early, so that what they hide is slower than what they leave.
const budgetShare = 0.1

// A curve is the product-limit estimate of the share of calls that take longer
// than a time:
//
//	S(t) = product over t_i <= t of (1 - d_i/w_i)
//	V(t) = sum over t_i <= t of h_i/(1 - h_i) / n_i,  h_i = d_i/w_i
//
// where d_i is the weight of the answers at t_i, w_i that of all calls that took t_i
// or longer, cut at t_i or later, and n_i their effective number, w_i^2 / (sum of
// squared weights). Cuts at t_i come after answers at t_i. The 95 % interval of S(t)
// is S(t)^exp(+-1.96 sqrt(V(t))/|log S(t)|).
//
// Kaplan and Meier, J. Am. Stat. Assoc. 53 (1958) 457; Greenwood's variance, and
// its log-log interval: Kalbfleisch and Prentice, The Statistical Analysis of Failure
// Time Data, 2nd ed. 2002, section 1.4. Note: with weights, n_i stands in for the
// number at risk.
type curve struct {
	atRisk, square float64
	logS           float64 // <= 0; -Inf: nothing takes longer
	variance       float64
}

// tiny is by how much sums of logarithms may be off, relative to S.
const tiny = 1e-9

func newCurve(all mass) curve { return curve{atRisk: all.weight, square: all.square} }

// answer takes answers of a weight off the curve.
func (c *curve) answer(weight float64) {
	if weight <= 0 || c.atRisk <= 0 {
		return
	}
	h := min(weight/c.atRisk, 1)
	c.logS += math.Log1p(-h)
	c.variance += h / (1 - h) * c.square / (c.atRisk * c.atRisk)
}

// leave takes calls that are no longer at risk out.
func (c *curve) leave(t mass) {
	c.atRisk -= t.weight
	c.square -= t.square
}

// reaches reports whether S is at most p, whose logarithm is given.
func (c *curve) reaches(logP float64) bool { return c.logS <= logP+tiny }

// mayReach reports whether the low end of S's interval is at most p.
func (c *curve) mayReach(logP float64) bool {
	if c.reaches(logP) {
		return true
	}
	// exp(z se) log S <= log p, with se = sqrt(V)/|log S|; log y >= 1 - 1/y spares
	// the logarithm where it is far from that.
	se := ninetyFive * math.Sqrt(c.variance) / -c.logS
	return se >= 1-c.logS/logP && se >= math.Log(logP/c.logS)
}

// surelyReaches reports whether the high end of S's interval is at most p.
func (c *curve) surelyReaches(logP float64) bool {
	if !c.reaches(logP) || math.IsInf(c.logS, -1) {
		return false
	}
	se := ninetyFive * math.Sqrt(c.variance) / -c.logS
	ratio := c.logS / logP
	return se <= ratio-1 && se <= math.Log(ratio)
}

// share is S with its interval, once answers have come and some are left.
func (c *curve) share() (s, low, high float64) {
	se := ninetyFive * math.Sqrt(c.variance) / -c.logS
	return math.Exp(c.logS), math.Exp(c.logS * math.Exp(se)), math.Exp(c.logS * math.Exp(-se))
}

// answered is 1 - S.
func (c *curve) answered() float64 { return -math.Expm1(c.logS) }

// A bracket is a quantile on a curve, with its interval.
type bracket struct{ point, low, high *time.Duration }

// look notes the first time at which the curve, and the high end of its interval, are
// down at p, and from which on the low end is.
func (b *bracket) look(c *curve, logP float64, at time.Duration) {
	b.lookLow(c, logP, at)
	if b.point == nil && c.reaches(logP) {
		b.point = kept(at)
	}
	if b.high == nil && c.surelyReaches(logP) {
		b.high = kept(at)
	}
}

// lookLow notes the time from which on the low end of the curve's interval is down at p. It may
// have been before, and up again: the variance after a first answer that weighs next to
// nothing, times its square in the effective number, says nothing of the others.
func (b *bracket) lookLow(c *curve, logP float64, at time.Duration) {
	switch {
	case b.point != nil:
	case !c.mayReach(logP):
		b.low = nil
	case b.low == nil:
		b.low = kept(at)
	}
}

// kept is a copy to point at.
func kept(d time.Duration) *time.Duration { return &d }

// A seeker collects what a walk over a sample says of one quantile.
type seeker struct {
	q              Quantile
	logP           float64 // log(1-q)
	lowest, upmost int     // ranks of intervalRanks
	limit          bracket // on the product-limit curve
	// Bounds by nearest rank, and their intervals: of all, as if cuts were answers; of
	// answers, as if cuts never ended.
	answered, never        bracket
	rankLow, rankHigh      *time.Duration // answered at lowest, never at upmost
	answeredHigh, neverLow *time.Duration // never at lowest, answered at upmost
	naive                  *time.Duration
	budgetBelow            float64 // weight of budget cuts below limit.point
}

// estimates gives quantiles with their intervals and bounds, in one walk. A sample that says
// nothing gives unknown throughout.
func (s *Sample) estimates(qs ...Quantile) []Estimate {
	list := make([]Estimate, len(qs))
	switch {
	case s.empty():
		for i := range list {
			list[i].Cut = s.cuts() > 0
		}
		return list
	case s.simple():
		for i, q := range qs {
			list[i] = s.plain(q)
		}
		return list
	}
	all, answers := s.total(allClasses...), s.total(answered)
	seekers := make([]seeker, len(qs))
	for i, q := range qs {
		low, high := intervalRanks(s.n, q)
		seekers[i] = seeker{q: q, logP: math.Log1p(-q.fraction()), lowest: low, upmost: high}
	}
	limit, asAnswered, asNever := newCurve(all), newCurve(all), newCurve(all)
	var passed, passedAnswers mass
	budget := 0.0
	last := time.Duration(0)
	s.walk(func(m *moment) bool {
		ok := m.of[answered]
		here := ok.plus(m.cut())
		limit.answer(ok.weight)
		if s.weighted() {
			asAnswered.answer(here.weight)
			asNever.answer(ok.weight)
		}
		passed, passedAnswers = passed.plus(here), passedAnswers.plus(ok)
		last = m.at
		for i := range seekers {
			seekers[i].look(s, m.at, ok.n > 0, all, answers, passed, passedAnswers, &limit, &asAnswered, &asNever, budget)
		}
		limit.leave(here)
		asAnswered.leave(here)
		asNever.leave(ok)
		budget += m.of[cutBudget].weight
		return true
	})
	n := all.weight * all.weight / all.square
	for i := range seekers {
		list[i] = seekers[i].estimate(s, all, n, budget, last)
	}
	return list
}

// simple reports whether the sample is answers that all weigh the same, kept as they
// are.
func (s *Sample) simple() bool {
	return !s.empty() && s.cuts() == 0 && !s.weighted() && !s.binned
}

// plain is a quantile of answers that all weigh the same.
func (s *Sample) plain(q Quantile) Estimate {
	s.seal()
	values := s.answers.values
	kth := func(k int) *time.Duration {
		if k < 1 || k > len(values) {
			return nil
		}
		d := values[k-1]
		return &d
	}
	low, high := intervalRanks(s.n, q)
	return Estimate{Point: kth(q.Rank(s.n)), Low: kth(low), High: kth(high)}
}

func (k *seeker) look(s *Sample, at time.Duration, answers bool, all, allAnswers, passed, passedAnswers mass, limit, asAnswered, asNever *curve, budget float64) {
	first := func(to **time.Duration, reached bool) {
		if *to == nil && reached {
			*to = kept(at)
		}
	}
	// The nearest rank, in whole numbers where all weigh the same.
	reached := func(passed, of mass) bool {
		if !s.weighted() {
			return passed.n >= k.q.Rank(of.n)
		}
		return passed.weight*float64(whole) >= float64(k.q)*of.weight
	}
	if s.weighted() {
		k.answered.lookLow(asAnswered, k.logP, at)
	}
	first(&k.answered.point, reached(passed, all))
	first(&k.rankLow, k.lowest > 0 && passed.n >= k.lowest)
	first(&k.answeredHigh, passed.n >= k.upmost)
	if !answers {
		return
	}
	first(&k.never.point, reached(passedAnswers, all))
	first(&k.rankHigh, passedAnswers.n >= k.upmost)
	first(&k.neverLow, k.lowest > 0 && passedAnswers.n >= k.lowest)
	first(&k.naive, allAnswers.weight > 0 && reached(passedAnswers, allAnswers))
	if s.weighted() {
		first(&k.never.high, asNever.surelyReaches(k.logP))
	}
	if k.limit.point == nil {
		k.budgetBelow = budget
	}
	k.limit.look(limit, k.logP, at)
}

func same(a, b *time.Duration) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// estimate puts together what was found. n is the effective number of values, budget
// the weight of all budget cuts, last the time of the last value.
func (k *seeker) estimate(s *Sample, all mass, n, budget float64, last time.Duration) Estimate {
	e := Estimate{Cut: s.cuts() > 0}
	few := n < fewest(k.q)
	if k.limit.point == nil {
		k.budgetBelow = budget
	}
	believed := k.budgetBelow*float64(whole) < budgetShare*float64(whole-k.q)*all.weight
	if e.Cut {
		e.IfAnswered, e.IfNever, e.Naive = k.answered.point, k.never.point, k.naive
	}
	switch {
	case k.never.point != nil && same(k.answered.point, k.never.point):
		e.Point = k.answered.point // the bounds meet: it is known
	case believed:
		e.Point = k.limit.point
	}
	if e.Point == nil && e.IfNever == nil {
		if e.Above = e.IfAnswered; believed {
			e.Above = &last
		}
	}
	switch {
	case !s.weighted() && same(k.rankLow, k.neverLow) && same(k.rankHigh, k.answeredHigh):
		e.Low, e.High = k.rankLow, k.rankHigh // no cut lies below: the ranks are those without cuts
	case believed:
		e.Low, e.High = k.limit.low, k.limit.high
	case s.weighted():
		e.Low, e.High = k.answered.low, k.never.high
	default:
		e.Low, e.High = k.rankLow, k.rankHigh
	}
	if few {
		e.High = nil
	}
	return e
}

// Estimate gives one quantile with its interval and bounds.
func (s *Sample) Estimate(q Quantile) Estimate { return s.estimates(q)[0] }

// Point is the quantile alone; nil where it is unknown.
func (s *Sample) Point(q Quantile) *time.Duration {
	if s.simple() {
		s.seal()
		return kept(s.answers.values[q.Rank(s.n)-1])
	}
	return s.Estimate(q).Point
}

// Latency gives the four quantiles.
func (s *Sample) Latency() Latency {
	if s.latency == nil || s.latency.N != s.n {
		e := s.estimates(P50, P95, P99, P999)
		s.latency = &Latency{s.n, s.effectiveN(), e[0], e[1], e[2], e[3]}
	}
	return *s.latency
}

// A Share is a part of all, in [0, 1], with its 95 % interval of equal tails; nil is
// unknown.
type Share struct{ Point, Low, High *float64 }

// shareOf is the share of part in all, which has an effective number of values:
// Clopper and Pearson, Biometrika 26 (1934) 404, exact where all weigh the same;
// with weights as Korn and Graubard, Survey Methodology 24 (1998) 193, without their
// correction of degrees of freedom.
func shareOf(part, all mass) Share {
	if all.weight <= 0 {
		return Share{}
	}
	p := min(max(part.weight/all.weight, 0), 1)
	n := all.weight * all.weight / all.square
	low, high := binomialInterval(p*n, n)
	return Share{&p, &low, &high}
}

// ShareAbove is the share of calls that take longer than d. It is unknown where
// cuts below d leave it open, or the sample is empty.
func (s *Sample) ShareAbove(d time.Duration) Share { return s.shareCut(d, 0) }

// shareCut is the share of calls that take longer than d. Cuts up to slack before d
// count as cut at d: a timeout of d fires a little early or late.
func (s *Sample) shareCut(d, slack time.Duration) Share {
	if s.empty() {
		return Share{}
	}
	all := s.total(allClasses...)
	if d < 0 {
		return shareOf(all, all)
	}
	if s.simple() {
		return shareOf(mass{weight: float64(s.answersAbove(d))}, all)
	}
	from := d - slack
	if s.binned { // the bucket of d counts as d
		d, from = middle(bucket(d)), middle(bucket(max(from, 0)))
	}
	c := newCurve(all)
	var answers, cuts mass // answers up to d; cuts before it
	left := 0              // values beyond d, or cut at it
	budget := 0.0
	s.walk(func(m *moment) bool {
		if m.at > d {
			left++
			return false
		}
		answers = answers.plus(m.of[answered])
		c.answer(m.of[answered].weight)
		c.leave(m.of[answered])
		if m.at >= from {
			left += m.cut().n
			return true
		}
		cuts = cuts.plus(m.cut())
		budget += m.of[cutBudget].weight
		c.leave(m.cut())
		return true
	})
	switch {
	case cuts.n == 0:
		return shareOf(mass{weight: all.weight - answers.weight}, all)
	case left == 0 && !math.IsInf(c.logS, -1): // the curve ends before d
		return Share{}
	case budget >= budgetShare*math.Exp(c.logS)*all.weight:
		return Share{}
	case c.logS == 0 || math.IsInf(c.logS, -1): // no answer yet, or none beyond: there is no variance
		return shareOf(mass{weight: math.Exp(c.logS) * all.weight}, all)
	}
	p, low, high := c.share()
	return Share{&p, &low, &high}
}
