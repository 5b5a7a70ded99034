package analyze

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > within {
		t.Errorf("%s = %.6g, want %.6g", what, got, want)
	}
}

// TestWilson: the examples of Newcombe, Statistics in Medicine 17 (1998) 857, table I,
// method 3.
func TestWilson(t *testing.T) {
	for _, row := range []struct{ k, n, low, high float64 }{
		{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718},
	} {
		low, high := wilson(row.k/row.n, row.n)
		near(t, "low", low, row.low, 5e-5)
		near(t, "high", high, row.high, 5e-5)
	}
}

// TestNewcombe: the examples of Newcombe, Statistics in Medicine 17 (1998) 873, table
// II, method 10.
func TestNewcombe(t *testing.T) {
	for _, row := range []struct{ a, m, b, n, low, high float64 }{
		{56, 70, 48, 80, 0.0524, 0.3339}, {9, 10, 3, 10, 0.1705, 0.8090}, {6, 7, 2, 7, 0.0582, 0.8062}, {5, 56, 0, 29, -0.0381, 0.1926},
		{0, 10, 0, 20, -0.1611, 0.2775}, {0, 10, 0, 10, -0.2775, 0.2775}, {10, 10, 0, 20, 0.6791, 1}, {10, 10, 0, 10, 0.6075, 1},
	} {
		of := func(k, n float64) Range {
			p := k / n
			low, high := wilson(p, n)
			return Range{&p, &low, &high}
		}
		d := apart(of(row.b, row.n), of(row.a, row.m))
		near(t, "difference", *d.Point, row.a/row.m-row.b/row.n, 1e-12)
		near(t, "low", *d.Low, row.low, 5e-5)
		near(t, "high", *d.High, row.high, 5e-5)
	}
}

// TestApartUnknown: an end that rests on an unknown one is unknown.
func TestApartUnknown(t *testing.T) {
	full, open := Range{new(2.0), new(1.0), new(4.0)}, Range{new(2.0), new(1.0), nil}
	if d := apart(full, open); d.High != nil || d.Low == nil {
		t.Errorf("apart(full, open) = %v", d)
	}
	if d := apart(open, full); d.Low != nil || d.High == nil {
		t.Errorf("apart(open, full) = %v", d)
	}
	if d := apart(Range{}, full); d.Point != nil || d.Low != nil || d.High != nil {
		t.Errorf("apart of an unknown one = %v", d)
	}
}

// TestFisher: the tea tasting of Fisher, The Design of Experiments, 1935, chapter II
// (one side 17/70), and his twins of convicts (one side 0.0004652: R, ?fisher.test), each
// doubled; and every table with margins up to 7 by brute force.
func TestFisher(t *testing.T) {
	near(t, "tea", fisher(3, 4, 1, 4), 2*17.0/70, 1e-12)
	near(t, "twins", fisher(2, 17, 10, 13), 2*0.0004652, 2e-7)
	near(t, "large", fisher(500_000, 1_000_000, 500_000, 1_000_000), 1, 1e-9)
	choose := func(n, k int) float64 {
		c := 1.0
		for i := range k {
			c = c * float64(n-i) / float64(i+1)
		}
		return c
	}
	for n1 := 1; n1 <= 7; n1++ {
		for n2 := 1; n2 <= 7; n2++ {
			for k1 := 0; k1 <= n1; k1++ {
				for k2 := 0; k2 <= n2; k2++ {
					low, high := 0.0, 0.0
					for k := max(0, k1+k2-n2); k <= min(n1, k1+k2); k++ {
						p := choose(n1, k) * choose(n2, k1+k2-k) / choose(n1+n2, k1+k2)
						if k <= k1 {
							low += p
						}
						if k >= k1 {
							high += p
						}
					}
					near(t, "fisher", fisher(k1, n1, k2, n2), min(1, 2*min(low, high)), 1e-9)
				}
			}
		}
	}
}

// TestWelch: Student's sleep data (Biometrika 6 (1908) 20), as R prints it (?t.test):
// t = -1.8608, df = 17.776, p = 0.07939, interval -3.3654832 to 0.2054832.
func TestWelch(t *testing.T) {
	of := func(list []float64) *average {
		a := new(average)
		for i, x := range list {
			a.add(int64(i+1), unknownWeight, int64(math.Round(10*(x+10)))) // whole numbers, not negative
		}
		return a
	}
	x := of([]float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0})
	y := of([]float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4})
	d := x.mean() - y.mean()
	p, half := welch(d, x.variance(), 10, y.variance(), 10)
	near(t, "p", p, 0.07939, 5e-6)
	near(t, "low", (d-half)/10, -3.3654832, 5e-7)
	near(t, "high", (d+half)/10, 0.2054832, 5e-7)
}

// TestCorrect: the 15 p-values of Benjamini and Hochberg, J. R. Stat. Soc. B 57 (1995)
// 289, section 3.2: four are rejected at 5 %. With one weight doubled and another halved
// the result is that of the values divided by hand.
func TestCorrect(t *testing.T) {
	p := []float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1}
	same := slices.Repeat([]float64{3}, len(p))
	slices.Reverse(p)
	rejected := 0
	for _, q := range correct(p, same) {
		if q <= 0.05 {
			rejected++
		}
	}
	if rejected != 4 {
		t.Errorf("%d are rejected, want 4", rejected)
	}
	got := correct([]float64{0.04, 0.01}, []float64{3, 1}) // weights 1.5 and 0.5
	near(t, "first", got[0], 0.04/1.5, 1e-12)
	near(t, "second", got[1], 0.04/1.5, 1e-12)
}

// TestSlower: the pain scores of Brunner and Munzel, Biometrical Journal 42 (2000) 17:
// t = 3.1375, df = 17.683, p = 0.005786, P(X<Y) + P(X=Y)/2 = 0.788961, interval 0.5952169
// to 0.9827052 (R, lawstat and brunnermunzel).
func TestSlower(t *testing.T) {
	of := func(list ...int) *Sample {
		s := new(Sample)
		for _, v := range list {
			s.Add(time.Duration(v))
		}
		return s
	}
	share, p := slower(of(1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 1, 1), of(3, 3, 4, 3, 1, 2, 3, 1, 1, 5, 4), 14, 11)
	near(t, "p", p, 0.005786, 5e-7)
	near(t, "share", *share.Point, 0.788961, 5e-7)
	near(t, "low", *share.Low, 0.5952169, 5e-7)
	near(t, "high", *share.High, 0.9827052, 5e-7)
}

// TestSlowerOfCuts: every pair by hand, as Gehan counts: a cut is greater than an answer
// up to it, and all else with a cut in it is open.
func TestSlowerOfCuts(t *testing.T) {
	type value struct {
		d   time.Duration
		cut bool
	}
	x := []value{{1, false}, {3, true}, {3, false}, {5, false}, {7, true}}
	y := []value{{2, true}, {3, false}, {4, false}, {5, true}, {9, false}, {3, true}}
	less := func(a, b value) bool { // a is surely less than b
		return !a.cut && (a.d < b.d || a.d == b.d && b.cut)
	}
	want := 0.0
	a, b := new(Sample), new(Sample)
	ofX, ofY := make([]float64, len(x)), make([]float64, len(y)) // the place of each among the other's
	for i, v := range x {
		for k, w := range y {
			score := 0.0
			switch {
			case less(v, w):
				score = 1
			case !less(w, v):
				score = 0.5
			}
			want += score
			ofX[i] += (1 - score) / 6
			ofY[k] += score / 5
		}
	}
	variance := func(of []float64) (v float64) { // of the mean
		mean, n := 0.0, float64(len(of))
		for _, p := range of {
			mean += p / n
		}
		for _, p := range of {
			v += (p - mean) * (p - mean)
		}
		return v / (n - 1) / n
	}
	for s, list := range map[*Sample][]value{a: x, b: y} {
		for _, v := range list {
			if v.cut {
				s.AddCut(v.d)
			} else {
				s.Add(v.d)
			}
		}
	}
	share, p := slower(a, b, 5, 6)
	near(t, "share", *share.Point, want/30, 1e-12)
	wantP, half := welch(want/30-0.5, variance(ofX), 5, variance(ofY), 6)
	near(t, "p", p, wantP, 1e-12)
	near(t, "low", *share.Low, want/30-half, 1e-12)
	near(t, "high", *share.High, want/30+half, 1e-12)
	back, _ := slower(b, a, 6, 5)
	near(t, "the other way", *back.Point, 1-want/30, 1e-12)
}

// TestBunch: Kish's number, by hand: traces of 3, 1 and 2 values.
func TestBunch(t *testing.T) {
	var b bunch
	for _, trace := range []int64{1, 1, 1, 2, 3, 3} {
		b.add(trace, unknownWeight)
	}
	near(t, "effective", b.effective(), 36.0/14, 1e-12)
	near(t, "spread", b.spread(), 6.0/14, 1e-12)
	var w bunch
	for i, weight := range []float64{1, 2, 4} {
		w.add(int64(i+1), weigh(weight, true))
	}
	near(t, "weighted", w.effective(), 49.0/21, 1e-12)
	w.add(9, unknownWeight)
	if w.effective() != 0 || !w.mixed() {
		t.Errorf("weights known and unknown: effective %v", w.effective())
	}
}

// TestExactSums: sums of products, against math/big.
func TestExactSums(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var s wide
	want := new(big.Int)
	for range 1000 {
		a, b, c := r.Uint64()>>r.IntN(64), r.Uint64()>>r.IntN(64), r.Uint64()>>r.IntN(64)
		s.add(a, b, c)
		p := new(big.Int).SetUint64(a)
		p.Mul(p, new(big.Int).SetUint64(b)).Mul(p, new(big.Int).SetUint64(c))
		want.Add(want, p)
	}
	got := new(big.Int)
	for i := len(s) - 1; i >= 0; i-- {
		got.Lsh(got, 64).Add(got, new(big.Int).SetUint64(s[i]))
	}
	if got.Cmp(want) != 0 {
		t.Errorf("sum %v, want %v", got, want)
	}
	f, _ := new(big.Float).SetInt(want).Float64()
	near(t, "as a float", s.float()/f, 1, 1e-12)
}
