package analyze

import (
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestFreireich: weeks in remission of 21 patients given 6-mercaptopurine (Freireich
// et al., Blood 21 (1963) 699). Survivor function, standard errors and log-log
// intervals as printed for these data by textbooks and packages (Kleinbaum and Klein,
// Survival Analysis, 3rd ed. 2012, chapter 2; Stata, sts list).
func TestFreireich(t *testing.T) {
	s := &Sample{}
	for _, week := range []time.Duration{6, 6, 6, 7, 10, 13, 16, 22, 23} {
		s.Add(week)
	}
	for _, week := range []time.Duration{6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35} {
		s.AddCut(week)
	}
	published := map[time.Duration][4]float64{ // S, standard error, interval
		6:  {0.8571, 0.0764, 0.6197, 0.9516},
		7:  {0.8067, 0.0869, 0.5631, 0.9228},
		10: {0.7529, 0.0963, 0.5032, 0.8894},
		13: {0.6902, 0.1068, 0.4316, 0.8491},
		16: {0.6275, 0.1141, 0.3675, 0.8049},
		22: {0.5378, 0.1282, 0.2678, 0.7468},
		23: {0.4482, 0.1346, 0.1881, 0.6801},
	}
	c := newCurve(s.total(allClasses...))
	s.walk(func(m *moment) bool {
		c.answer(m.of[answered].weight)
		if m.of[answered].n > 0 {
			p, low, high := c.share()
			got := [4]float64{p, p * math.Sqrt(c.variance), low, high}
			for i, want := range published[m.at] {
				if math.Abs(got[i]-want) > 0.00006 {
					t.Errorf("week %d: S, error, interval = %.4f, want %v", m.at, got, published[m.at])
					break
				}
			}
			delete(published, m.at)
		}
		c.leave(m.of[answered].plus(m.cut()))
		return true
	})
	if len(published) > 0 {
		t.Errorf("not on the curve: %v", published)
	}
	e := s.Estimate(P50) // median 23 weeks, from 13 to no end
	if e.Point == nil || *e.Point != 23 || e.Low == nil || *e.Low != 13 || e.High != nil {
		t.Errorf("median: %s, want 23, interval 13 to none", estimateText(e))
	}
	if e = s.Estimate(600_000); e.Point != nil || e.Above == nil || *e.Above != 35 {
		t.Errorf("the curve ends at 35 above 0.4: %s, above %s", estimateText(e), text(e.Above))
	}
}

// A value is what a Sample is given.
type value struct {
	d      time.Duration
	class  class
	weight float64 // 0: not known
}

func (v value) to(s *Sample) { s.add(v.class, v.d, weigh(v.weight, v.weight > 0)) }

func sampleOf(values []value) *Sample {
	s := &Sample{}
	for _, v := range values {
		v.to(s)
	}
	return s
}

func drawValues(t *rapid.T, most int) []value {
	weights := rapid.SampledFrom([][]float64{{0}, {1}, {4}, {1, 2, 4}, {1, 2.5, 100}}).Draw(t, "weights")
	cuts := rapid.SampledFrom([][]class{{answered}, {answered, cutFixed, cutRace}, {answered, answered, answered, cutFixed, cutBudget}}).Draw(t, "classes")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) value {
		return value{time.Duration(rapid.IntRange(0, 15).Draw(t, "d")), rapid.SampledFrom(cuts).Draw(t, "class"), rapid.SampledFrom(weights).Draw(t, "weight")}
	}), 1, most).Draw(t, "values")
}

func rational(f float64) *big.Rat { return new(big.Rat).SetFloat64(f) }

// A slowPoint is a step of the slow curve.
type slowPoint struct {
	at          time.Duration
	answered    *big.Rat // F by the product-limit estimate
	low, high   float64  // interval of S
	budgetBelow float64  // weight
}

// slowCurve is the product-limit estimate by redistribution to the right (Efron,
// Proc. 5th Berkeley Symp. 4 (1967) 831), in fractions: every cut hands its mass to
// all that come after it, by weight. What lies on the last cut stays there. The
// intervals are those of the formula, summed anew for each step.
func slowCurve(values []value, q func(v value) bool) (list []slowPoint) {
	sorted := slices.Clone(values)
	slices.SortStableFunc(sorted, func(a, b value) int {
		if a.d != b.d {
			return int(a.d - b.d)
		}
		return int(a.class) - int(b.class) // answers first
	})
	weight := func(v value) float64 {
		if v.weight == 0 {
			return 1
		}
		return v.weight
	}
	mass := make([]*big.Rat, len(sorted))
	for i, v := range sorted {
		mass[i] = rational(weight(v))
	}
	sum := new(big.Rat)
	for _, m := range mass {
		sum.Add(sum, m)
	}
	for i, v := range sorted {
		if q(v) {
			continue
		}
		right := new(big.Rat)
		for _, u := range sorted[i+1:] {
			right.Add(right, rational(weight(u)))
		}
		if right.Sign() == 0 {
			continue
		}
		for k := i + 1; k < len(sorted); k++ {
			part := new(big.Rat).Mul(mass[i], rational(weight(sorted[k])))
			mass[k].Add(mass[k], part.Quo(part, right))
		}
		mass[i] = new(big.Rat)
	}
	f := new(big.Rat)
	for i, v := range sorted {
		if !q(v) {
			continue
		}
		f.Add(f, mass[i])
		if i+1 < len(sorted) && sorted[i+1].d == v.d && q(sorted[i+1]) {
			continue
		}
		p := slowPoint{at: v.d, answered: new(big.Rat).Quo(f, sum)}
		variance := 0.0
		for _, at := range sorted {
			if at.class == cutBudget && at.d < v.d {
				p.budgetBelow += weight(at)
			}
		}
		seen := map[time.Duration]bool{}
		for _, at := range sorted {
			if !q(at) || at.d > v.d || seen[at.d] {
				continue
			}
			seen[at.d] = true
			died, risk, square := 0.0, 0.0, 0.0
			for _, u := range sorted {
				if u.d == at.d && q(u) {
					died += weight(u)
				}
				if u.d >= at.d {
					risk += weight(u)
					square += weight(u) * weight(u)
				}
			}
			effective := risk * risk / square
			variance += died / risk / (1 - died/risk) / effective
		}
		s, _ := new(big.Rat).Sub(big.NewRat(1, 1), p.answered).Float64()
		se := 1.959964 * math.Sqrt(variance) / math.Abs(math.Log(s))
		p.low, p.high = math.Pow(s, math.Exp(se)), math.Pow(s, math.Exp(-se))
		if s < 1e-12 {
			p.low, p.high = 0, 1
		}
		list = append(list, p)
	}
	return list
}

// TestEstimateSlowly compares points and intervals of cut and weighted samples with
// the slow curve.
func TestEstimateSlowly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := drawValues(t, 30)
		q := rapid.SampledFrom([]Quantile{P50, P95, 250_000, 800_000, 900_000}).Draw(t, "q")
		s := sampleOf(values)
		if s.cuts() == 0 && !s.weighted() {
			return
		}
		e := s.Estimate(q)
		curve := slowCurve(values, func(v value) bool { return v.class == answered })
		p := 1 - q.fraction()
		all, budget := 0.0, 0.0
		for _, v := range values {
			w := max(v.weight, 1)
			if v.weight == 0 || !s.weighted() {
				w = 1
			}
			all += w
			if v.class == cutBudget {
				budget += w
			}
		}
		var point, low, high *time.Duration
		for _, at := range curve {
			for _, end := range []float64{at.low, at.high} {
				if math.Abs(end-p) < 1e-6 {
					return // 1.959964 is not the whole of it
				}
			}
			if point == nil && at.answered.Cmp(big.NewRat(int64(q), 1_000_000)) >= 0 {
				point, budget = &at.at, at.budgetBelow
				if !s.weighted() {
					budget /= max(values[0].weight, 1)
				}
			}
			switch { // the last time that it came down
			case at.low > p:
				low = nil
			case low == nil:
				low = &at.at
			}
			if high == nil && at.high <= p {
				high = &at.at
			}
		}
		enough := 1.0
		for math.Pow(q.fraction(), enough) > 0.025 {
			enough++
		}
		if *s.effectiveN() < enough {
			high = nil
		}
		if believed := budget < 0.1*p*all*(1-1e-12); !believed {
			if e.Point != nil && !same(e.IfAnswered, e.IfNever) {
				t.Fatalf("%v: budget cuts of %g of %g below, and point %s", values, budget, all, text(e.Point))
			}
			if e.IfAnswered == nil {
				t.Fatalf("%v: no bound", values)
			}
			return
		}
		if !same(e.Point, point) {
			t.Fatalf("%v at %d: point %s, want %s", values, q, text(e.Point), text(point))
		}
		if !s.weighted() {
			// Ranks, where they are the same whatever cuts would have done.
			var all, answers []time.Duration
			for _, v := range values {
				all = append(all, v.d)
				if v.class == answered {
					answers = append(answers, v.d)
				}
			}
			slices.Sort(all)
			slices.Sort(answers)
			kth := func(list []time.Duration, k int) *time.Duration {
				if k < 1 || k > len(list) {
					return nil
				}
				return &list[k-1]
			}
			l, h := exactRanks(len(all), q)
			if same(kth(all, l), kth(answers, l)) && same(kth(all, h), kth(answers, h)) {
				low, high = kth(all, l), kth(all, h)
			}
		}
		if !same(e.Low, low) || !same(e.High, high) {
			t.Fatalf("%v at %d: interval %s to %s, want %s to %s", values, q, text(e.Low), text(e.High), text(low), text(high))
		}
	})
}

// TestWeightsRepeat: a span of weight 3 counts as three recorded ones, in quantiles
// and shares.
func TestWeightsRepeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) value {
			return value{time.Duration(rapid.IntRange(0, 40).Draw(t, "d")), rapid.SampledFrom([]class{answered, answered, cutRace}).Draw(t, "class"), float64(rapid.IntRange(1, 5).Draw(t, "weight"))}
		}), 1, 40).Draw(t, "values")
		var repeated []value
		for _, v := range values {
			for range int(v.weight) {
				repeated = append(repeated, value{v.d, v.class, 1})
			}
		}
		a, b := sampleOf(values), sampleOf(repeated)
		for _, q := range append(fourQuantiles, 250_000, 700_000) {
			x, y := a.Estimate(q), b.Estimate(q)
			if !same(x.Point, y.Point) || !same(x.IfAnswered, y.IfAnswered) || !same(x.IfNever, y.IfNever) || !same(x.Naive, y.Naive) || !same(x.Above, y.Above) {
				t.Fatalf("%v at %d:\n weighted %s\n repeated %s", values, q, estimateText(x), estimateText(y))
			}
		}
		for d := time.Duration(0); d < 42; d++ {
			x, y := a.ShareAbove(d).Point, b.ShareAbove(d).Point
			if (x == nil) != (y == nil) || x != nil && math.Abs(*x-*y) > 1e-9 {
				t.Fatalf("%v: share above %d: %s weighted, %s repeated", values, d, text(x), text(y))
			}
		}
	})
}

// TestMixedWeights: nothing is said of values of which some stand for many and
// others for nobody knows how many.
func TestMixedWeights(t *testing.T) {
	s := sampleOf([]value{{1, answered, 4}, {2, answered, 0}, {3, cutFixed, 4}})
	if e := s.Estimate(P50); e != (Estimate{Cut: true}) { // with the keys of a row with cuts, all null
		t.Errorf("estimate %s", estimateText(e))
	}
	if x := s.ShareAbove(1); x != (Share{}) {
		t.Errorf("share %v", x)
	}
	l := s.Latency()
	if l.EffectiveN != nil || l.N != 3 || !slices.Equal(l.Warnings(), []Warning{MixedWeights}) {
		t.Errorf("latency %+v, warnings %v", l, l.Warnings())
	}
	s = sampleOf([]value{{1, answered, 1}, {2, answered, 3}})
	if got, want := *s.effectiveN(), 16.0/10; got != want {
		t.Errorf("effective n of weights 1 and 3 = %v, want %v", got, want)
	}
}

// TestLightAnswers: an answer that stands for next to nothing beside the others does not
// change their intervals, wherever it lies.
func TestLightAnswers(t *testing.T) {
	for _, at := range []time.Duration{1, 30, 95, 150} {
		plain, with := &Sample{}, &Sample{}
		for i := range 100 {
			for _, s := range []*Sample{plain, with} {
				s.add(answered, time.Duration(10+i), 1000*oneWeight+weight(i%2))
			}
		}
		with.add(answered, at, 1)
		for _, q := range []Quantile{253_000, 503_000, 951_000} { // beside the ranks
			e, f := plain.Estimate(q), with.Estimate(q)
			if !same(e.Low, f.Low) || !same(e.Point, f.Point) || !same(e.High, f.High) {
				t.Errorf("with a light answer at %d, %d: %s, want %s", at, q, estimateText(f), estimateText(e))
			}
		}
		if e := plain.Estimate(P50); *e.Low < 45 || *e.Low > 52 || *e.High < 67 || *e.High > 74 { // binomial ranks: 40 and 61 of 100
			t.Errorf("p50 of 10 to 109: %s", estimateText(e))
		}
	}
}

// TestWeightlessAnswers: answers that stand for nothing (ot=p:63) say nothing of the answers.
func TestWeightlessAnswers(t *testing.T) {
	var s Sample
	s.add(answered, 1, 0)
	s.add(cutFixed, 3, oneWeight)
	if e := s.Estimate(P50); e.Naive != nil || e.IfNever != nil || e.Point != nil || e.Above == nil || *e.Above != 3 {
		t.Errorf("estimate %s, want > 3 alone", estimateText(e))
	}
}

// content is all that a sample holds, as a walk shows it.
func content(s *Sample) (list []moment) {
	s.walk(func(m *moment) bool { list = append(list, *m); return true })
	return list
}

// TestMerge: parts, in any order and grouping, and the whole are the same.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := drawValues(t, 60)
		if rapid.Bool().Draw(t, "some unknown") {
			values[0].weight = 0
		}
		whole := sampleOf(values)
		parts := make([]*Sample, rapid.IntRange(1, 6).Draw(t, "parts"))
		for i := range parts {
			parts[i] = &Sample{}
		}
		for _, v := range values {
			v.to(parts[rapid.IntRange(0, len(parts)-1).Draw(t, "part")])
		}
		binned := rapid.Bool().Draw(t, "binned")
		if binned {
			whole.bin()
			for _, p := range parts {
				if rapid.Bool().Draw(t, "part binned") && p.n > 0 {
					p.bin()
				}
			}
			if !parts[0].binned {
				parts[0].bin() // the whole is
			}
		}
		for len(parts) > 1 {
			i := rapid.IntRange(0, len(parts)-2).Draw(t, "into")
			k := rapid.IntRange(i+1, len(parts)-1).Draw(t, "from")
			parts[i].merge(parts[k])
			parts = slices.Delete(parts, k, k+1)
		}
		if got, want := content(parts[0]), content(whole); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v merged:\n got %v\nwant %v", values, got, want)
		}
		if got, want := parts[0].Latency(), whole.Latency(); !reflect.DeepEqual(got, want) || parts[0].known != whole.known {
			t.Fatalf("%v merged:\n got %+v\nwant %+v", values, got, want)
		}
	})
}

// TestMergeBeyond: the same across the bound up to which values are kept.
func TestMergeBeyond(t *testing.T) {
	if testing.Short() {
		t.Skip("2^20 values")
	}
	r := rand.New(rand.NewPCG(3, 4))
	values := make([]value, exactValues+1000)
	for i := range values {
		values[i] = value{time.Duration(math.Exp(r.NormFloat64() + 17)), class(r.IntN(40) / 37), []float64{1, 2, 3.7}[r.IntN(3)]}
	}
	for name, of := range map[string][]value{"beyond": values, "within": values[:exactValues-1000]} {
		whole := sampleOf(of)
		a, b, c := sampleOf(of[:1000]), sampleOf(of[1000:400_000]), sampleOf(of[400_000:])
		left, right := &Sample{}, sampleOf(of[1000:400_000])
		for _, p := range []*Sample{c, a, b} { // (c + a) + b
			left.merge(p)
		}
		right.merge(c) // a + (b + c)
		a.merge(right)
		want := content(whole)
		for _, m := range []*Sample{a, left} {
			if !slices.Equal(content(m), want) || m.Exact() != whole.Exact() || !reflect.DeepEqual(m.Latency(), whole.Latency()) {
				t.Errorf("%s: the parts and the whole differ", name)
			}
		}
		// Histograms are within 0.05 % of the values.
		if name == "within" {
			exact := whole.Latency()
			whole.bin()
			binned := whole.Latency()
			for i, q := range exact.quantiles() {
				x, y := float64(*q.e.Point), float64(*binned.quantiles()[i].e.Point)
				if math.Abs(x-y) > 0.0005*x {
					t.Errorf("%s is %g, in a histogram %g", q.name, x, y)
				}
			}
		}
	}
}
