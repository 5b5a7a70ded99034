package analyze

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var fourQuantiles = []Quantile{P50, P95, P99, P999}

// AddCut adds a call of unknown weight that a timeout of its own cut after d.
func (s *Sample) AddCut(d time.Duration) { s.add(cutFixed, d, unknownWeight) }

func TestRank(t *testing.T) {
	check := func(q Quantile, n int) string {
		exact := new(big.Rat).Mul(big.NewRat(int64(q), 1_000_000), new(big.Rat).SetInt64(int64(n)))
		// ceil(a/b) = floor((a+b-1)/b)
		up := new(big.Int).Add(exact.Num(), exact.Denom())
		want := up.Sub(up, big.NewInt(1)).Div(up, exact.Denom()).Int64()
		want = min(max(want, 1), int64(n))
		if got := q.Rank(n); int64(got) != want {
			return fmt.Sprintf("Quantile(%d).Rank(%d) = %d, want %d", q, n, got, want)
		}
		return ""
	}
	for _, q := range fourQuantiles {
		if got := q.Rank(0); got != 0 {
			t.Errorf("Quantile(%d).Rank(0) = %d, want 0", q, got)
		}
		for n := 1; n <= 20_000; n++ {
			if text := check(q, n); text != "" {
				t.Fatal(text)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		q := Quantile(rapid.Int64Range(0, 1_000_000).Draw(t, "q"))
		n := rapid.IntRange(1, math.MaxInt).Draw(t, "n")
		if text := check(q, n); text != "" {
			t.Fatal(text)
		}
	})
}

// exactRanks gives intervalRanks from sums of the binomial distribution in
// fractions.
func exactRanks(n int, q Quantile) (low, high int) {
	p := big.NewRat(int64(q), 1_000_000)
	rest := new(big.Rat).Sub(big.NewRat(1, 1), p)
	power := func(x *big.Rat, k int) *big.Rat {
		y := big.NewRat(1, 1)
		for range k {
			y.Mul(y, x)
		}
		return y
	}
	tail := big.NewRat(25, 1000)
	rise := new(big.Rat).Sub(big.NewRat(1, 1), tail)
	sum := new(big.Rat) // P(B <= r-1)
	for r := 0; r <= n+1; r++ {
		if sum.Cmp(tail) <= 0 {
			low = r
		}
		if sum.Cmp(rise) >= 0 {
			return low, r
		}
		if r <= n {
			term := new(big.Rat).SetInt(new(big.Int).Binomial(int64(n), int64(r)))
			term.Mul(term, power(p, r)).Mul(term, power(rest, n-r))
			sum.Add(sum, term)
		}
	}
	panic("the distribution does not sum to 1")
}

func TestIntervalRanksSmall(t *testing.T) {
	for _, q := range fourQuantiles {
		for n := 1; n <= 60; n++ {
			low, high := exactRanks(n, q)
			if gotLow, gotHigh := intervalRanks(n, q); gotLow != low || gotHigh != high {
				t.Errorf("intervalRanks(%d, %d) = %d, %d, want %d, %d", n, q, gotLow, gotHigh, low, high)
			}
		}
	}
}

// TestIntervalRanksLarge sums the distribution with 200 bits.
func TestIntervalRanksLarge(t *testing.T) {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(200).SetFloat64(x) }
	million := number(1e6)
	sizes := []int{61, 71, 72, 73, 99, 100, 367, 368, 500, 1000, 3687, 3688, 9999, 10_000, 100_000, exactValues}
	for _, q := range fourQuantiles {
		for _, n := range sizes {
			if n == exactValues && q != P99 {
				continue // a second each
			}
			p := number(float64(q))
			p.Quo(p, million)
			rest := number(float64(whole - q))
			rest.Quo(rest, million)
			odds := new(big.Float).SetPrec(200).Quo(p, rest)
			term := number(1) // P(B = b), from b = 0
			for k, x := n, rest; k > 0; k >>= 1 {
				if k&1 == 1 {
					term.Mul(term, x)
				}
				x = new(big.Float).SetPrec(200).Mul(x, x)
			}
			low, high := 0, n+1
			sum := number(0)
			tail := number(25)
			tail.Quo(tail, number(1000))
			rise := new(big.Float).SetPrec(200).Sub(number(1), tail)
			for b := 0; b <= n; b++ {
				sum.Add(sum, term)
				if sum.Cmp(tail) <= 0 {
					low = b + 1
				}
				if sum.Cmp(rise) >= 0 {
					high = b + 1
					break
				}
				term.Mul(term, odds).Mul(term, number(float64(n-b)))
				term.Quo(term, number(float64(b+1)))
			}
			if gotLow, gotHigh := intervalRanks(n, q); gotLow != low || gotHigh != high {
				t.Errorf("intervalRanks(%d, %d) = %d, %d, want %d, %d", n, q, gotLow, gotHigh, low, high)
			}
		}
	}
}

// TestIntervalRanksPublished: the ranks of ../../shared/spec.md section 7.
func TestIntervalRanksPublished(t *testing.T) {
	for _, row := range []struct {
		n         int
		q         Quantile
		low, high int
	}{
		{1000, P99, 983, 997},
		{10_000, P999, 9983, 9997},
		// Conover 1999, section 3.2, example 1, has 16 values and an upper
		// quartile; 20 and a median is in every table: 6 and 15.
		{20, P50, 6, 15},
		{100, P50, 40, 61},
	} {
		if low, high := intervalRanks(row.n, row.q); low != row.low || high != row.high {
			t.Errorf("intervalRanks(%d, %d) = %d, %d, want %d, %d", row.n, row.q, low, high, row.low, row.high)
		}
	}
	for q, first := range map[Quantile]int{P50: 6, P95: 72, P99: 368, P999: 3688} {
		for n := 1; n < first+500; n++ {
			if _, high := intervalRanks(n, q); (high <= n) != (n >= first) {
				t.Errorf("intervalRanks(%d, %d): upper end is rank %d; the first n with one is %d", n, q, high, first)
			}
		}
	}
}

// unanswered stands for a call that never answers.
const unanswered = time.Duration(math.MaxInt64)

// A smallSample is what a Sample was given.
type smallSample struct {
	answers, cuts []time.Duration
}

func drawSample(t *rapid.T, most int) smallSample {
	value := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.IntRange(0, 12).Draw(t, "value")) })
	return smallSample{rapid.SliceOfN(value, 0, most).Draw(t, "answers"), rapid.SliceOfN(value, 0, most/2).Draw(t, "cuts")}
}

func (s smallSample) sample() *Sample {
	to := &Sample{}
	for _, d := range s.answers {
		to.Add(d)
	}
	for _, d := range s.cuts {
		to.AddCut(d)
	}
	return to
}

// ways calls f with every way in which the cuts could have ended: at the cut, just
// after it, a while after it, never. The values are sorted.
func (s smallSample) ways(f func(sorted []time.Duration)) {
	values := append(slices.Clone(s.answers), s.cuts...)
	var end func(i int)
	end = func(i int) {
		if i == len(s.cuts) {
			sorted := slices.Clone(values)
			slices.Sort(sorted)
			f(sorted)
			return
		}
		for _, d := range []time.Duration{s.cuts[i], s.cuts[i] + 3, unanswered} {
			values[len(s.answers)+i] = d
			end(i + 1)
		}
	}
	end(0)
}

func pointerTo[T any](v T) *T { return &v }

// knownAnswer is nil for a call that never answered.
func knownAnswer(d time.Duration) *time.Duration {
	if d == unanswered {
		return nil
	}
	return &d
}

// TestEstimateAllWays: bounds hold whatever the cut calls would have done, and are
// reached; without cuts there is one answer.
func TestEstimateAllWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, 12)
		n := len(s.answers) + len(s.cuts)
		q := rapid.SampledFrom(append(fourQuantiles, 250_000, 800_000)).Draw(t, "q")
		got := s.sample().Estimate(q)
		if n == 0 {
			if got != (Estimate{}) {
				t.Fatalf("estimate of nothing = %s", estimateText(got))
			}
			return
		}
		low, high := exactRanks(n, q)
		least, most := unanswered, time.Duration(0)                    // of the quantile
		lowest, highest := time.Duration(unanswered), time.Duration(0) // of the ends of its interval
		s.ways(func(sorted []time.Duration) {
			v := sorted[q.Rank(n)-1]
			least, most = min(least, v), max(most, v)
			if low >= 1 {
				lowest = min(lowest, sorted[low-1])
			}
			if high <= n {
				highest = max(highest, sorted[high-1])
			}
		})
		if len(s.cuts) == 0 {
			want := Estimate{Point: &least}
			if low >= 1 {
				want.Low = &lowest
			}
			if high <= n {
				want.High = &highest
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("Estimate(%d) of %+v:\n got %s\nwant %s", q, s, estimateText(got), estimateText(want))
			}
			return
		}
		if !got.Cut || !reflect.DeepEqual(got.IfAnswered, knownAnswer(least)) || !reflect.DeepEqual(got.IfNever, knownAnswer(most)) {
			t.Fatalf("Estimate(%d) of %+v: %s; the bounds are %s and %s", q, s, estimateText(got), text(knownAnswer(least)), text(knownAnswer(most)))
		}
		if p := got.Point; p != nil && (*p < least || *p > most) || p == nil && least == most && most != unanswered {
			t.Fatalf("Estimate(%d) of %+v: %s; the bounds are %s and %s", q, s, estimateText(got), least, most)
		}
		if got.Point == nil && got.IfNever == nil && (got.Above == nil || *got.Above < least) {
			t.Fatalf("Estimate(%d) of %+v: %s; at least %s is known", q, s, estimateText(got), least)
		}
	})
}

func estimateText(e Estimate) string {
	return fmt.Sprintf("point %s, interval %s to %s, bounds %s to %s, cut %v",
		text(e.Point), text(e.Low), text(e.High), text(e.IfAnswered), text(e.IfNever), e.Cut)
}

func TestShareAboveAllWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, 10)
		n := len(s.answers) + len(s.cuts)
		d := time.Duration(rapid.IntRange(-2, 14).Draw(t, "d"))
		var want *float64
		if n > 0 {
			// A call that was cut took longer than its cut: at equal times
			// answers come first.
			least, most := n, 0
			after := smallSample{s.answers, slices.Clone(s.cuts)}
			for i := range after.cuts {
				after.cuts[i]++
			}
			after.ways(func(sorted []time.Duration) {
				above := 0
				for _, v := range sorted {
					if v > d {
						above++
					}
				}
				least, most = min(least, above), max(most, above)
			})
			if least == most {
				want = pointerTo(float64(least) / float64(n))
			}
		}
		got := s.sample().ShareAbove(d).Point
		if want != nil && (got == nil || math.Abs(*got-*want) > 1e-12) {
			t.Fatalf("ShareAbove(%d) of %+v = %s, want %s", d, s, text(got), text(want))
		}
		if n == 0 && got != nil {
			t.Fatalf("ShareAbove(%d) of nothing = %s", d, text(got))
		}
	})
}

// TestSampleOrder: neither the order of adding nor looking in between shows.
func TestSampleOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, 200)
		want := s.sample().Latency()
		type value struct {
			d   time.Duration
			cut bool
		}
		var values []value
		for _, d := range s.answers {
			values = append(values, value{d, false})
		}
		for _, d := range s.cuts {
			values = append(values, value{d, true})
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		look := rapid.IntRange(1, 20).Draw(t, "look")
		to := &Sample{}
		for i, v := range values {
			if v.cut {
				to.AddCut(v.d)
			} else {
				to.Add(v.d)
			}
			if i%look == 0 {
				to.Latency()
				to.ShareAbove(5)
			}
		}
		if got := to.Latency(); !reflect.DeepEqual(got, want) {
			t.Fatalf("latency of %+v depends on the order:\n got %+v\nwant %+v", s, got, want)
		}
		if to.N() != len(values) || !to.Exact() {
			t.Fatalf("N = %d, Exact = %v, want %d, true", to.N(), to.Exact(), len(values))
		}
	})
}

func TestSampleNegative(t *testing.T) {
	s := &Sample{}
	s.Add(-5)
	s.AddCut(-7)
	if got := s.Estimate(P50); got.Point == nil || *got.Point != 0 {
		t.Errorf("point of {-5, cut at -7} = %s, want 0", text(got.Point))
	}
}

// TestHistogram compares more than exactValues values with their sorted list.
func TestHistogram(t *testing.T) {
	if testing.Short() {
		t.Skip("2^20 values")
	}
	n := exactValues + 5000
	r := rand.New(rand.NewPCG(1, 2))
	values := make([]time.Duration, n)
	cut := make([]bool, n)
	for i := range values {
		values[i] = time.Duration(math.Exp(r.NormFloat64()*2.5 + 17)) // around 24 ms
		switch {
		case i%1000 == 0:
			values[i] = time.Duration(r.Int64())
		case i%5000 == 1:
			values[i] = time.Duration(r.IntN(3000))
		}
		cut[i] = i%3 == 0
	}
	fill := func(cuts bool, order []int) *Sample {
		s := &Sample{}
		for _, i := range order {
			if cuts && cut[i] {
				s.AddCut(values[i])
			} else {
				s.Add(values[i])
			}
		}
		return s
	}
	order := r.Perm(n)
	upwards := slices.Clone(order)
	slices.Sort(upwards)
	byValue := slices.Clone(order)
	slices.SortFunc(byValue, func(a, b int) int { return int(min(max(values[a]-values[b], -1), 1)) })

	sorted := slices.Clone(values)
	slices.Sort(sorted)
	var answers []time.Duration
	for i, d := range values {
		if !cut[i] {
			answers = append(answers, d)
		}
	}
	slices.Sort(answers)
	kth := func(list []time.Duration, k int) *time.Duration {
		if k < 1 || k > len(list) {
			return nil
		}
		return &list[k-1]
	}
	within := func(got, want *time.Duration) bool {
		if got == nil || want == nil {
			return got == want
		}
		return math.Abs(float64(*got-*want)) <= float64(*want)*0.0005
	}
	for _, cuts := range []bool{false, true} {
		s := fill(cuts, order)
		if s.Exact() || s.N() != n {
			t.Fatalf("Exact = %v, N = %d, want false, %d", s.Exact(), s.N(), n)
		}
		list := sorted
		if cuts {
			list = answers
		}
		for _, q := range append(fourQuantiles, 1, 100_000, 600_000, 1_000_000) {
			e := s.Estimate(q)
			if want := kth(list, q.Rank(n)); !cuts && !within(e.Point, want) {
				t.Errorf("point at %d is %s, want %s", q, text(e.Point), text(want))
			}
			if cuts {
				if want := kth(sorted, q.Rank(n)); !within(e.IfAnswered, want) {
					t.Errorf("if_answered at %d is %s, want %s", q, text(e.IfAnswered), text(want))
				}
				if want := kth(list, q.Rank(n)); !within(e.IfNever, want) {
					t.Errorf("if_never at %d is %s, want %s", q, text(e.IfNever), text(want))
				}
			}
			if q == 1_000_000 {
				continue // no interval
			}
			if cuts {
				if e.Point != nil && (e.Low == nil || *e.Low > *e.Point || e.High != nil && *e.High < *e.Point) {
					t.Errorf("at %d: %s", q, estimateText(e))
				}
				continue
			}
			low, high := intervalRanks(n, q)
			if want := kth(sorted, low); !within(e.Low, want) {
				t.Errorf("low end at %d is %s, want %s", q, text(e.Low), text(want))
			}
			if want := kth(list, high); !within(e.High, want) {
				t.Errorf("high end at %d is %s, want %s", q, text(e.High), text(want))
			}
		}
		want := s.Latency()
		for name, o := range map[string][]int{"as drawn": upwards, "ascending": byValue} {
			if got := fill(cuts, o).Latency(); !reflect.DeepEqual(got, want) {
				t.Errorf("values %s: latency\n got %+v\nwant %+v", name, got, want)
			}
		}
		if !cuts {
			for _, d := range []time.Duration{0, 1, 2000, 5 * time.Millisecond, time.Second, math.MaxInt64} {
				// Values in the bucket of d may be on either side.
				above := func(d time.Duration) float64 {
					i, _ := slices.BinarySearch(sorted, d+1)
					return float64(n-i) / float64(n)
				}
				least, most := above(min(d, math.MaxInt64/1001*1000)/1000*1001), above(d/1001*1000-1)
				if d < 2048 {
					least, most = above(d), above(d)
				}
				if d == math.MaxInt64 {
					least, most = 0, above(d/1001*1000)
				}
				if got := s.ShareAbove(d).Point; got == nil || *got < least || *got > most {
					t.Errorf("ShareAbove(%d) = %s, want between %g and %g", d, text(got), least, most)
				}
			}
			func() {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("ShareAbove(-1) panics: %v", p)
					}
				}()
				if got := s.ShareAbove(-1).Point; got == nil || *got != 1 {
					t.Errorf("ShareAbove(-1) = %s, want 1", text(got))
				}
			}()
		}
	}
}

// TestHistogramEdge: the last exact value and the first of the histogram.
func TestHistogramEdge(t *testing.T) {
	s := &Sample{}
	for i := range exactValues {
		s.Add(time.Duration(i) * time.Microsecond)
	}
	if !s.Exact() {
		t.Errorf("%d values are not exact", exactValues)
	}
	want := s.Latency()
	if got := *want.P50.Point; got != time.Duration(P50.Rank(exactValues)-1)*time.Microsecond {
		t.Errorf("p50 of %d values = %v", exactValues, got)
	}
	s.Add(0)
	if s.Exact() {
		t.Errorf("%d values are exact", exactValues+1)
	}
	if a, b := float64(*want.P99.Point), float64(*s.Latency().P99.Point); math.Abs(a-b) > a*0.0005 {
		t.Errorf("p99 jumps from %v to %v", a, b)
	}
}

func TestBuckets(t *testing.T) {
	size := len(histogram{}.pages) << mantissa
	check := func(d time.Duration) string {
		b := bucket(d)
		if b < 0 || b >= size {
			return fmt.Sprintf("bucket(%d) = %d, want it in [0, %d)", d, b, size)
		}
		m := middle(b)
		if bucket(m) != b {
			return fmt.Sprintf("middle(%d) = %d is in bucket %d", b, m, bucket(m))
		}
		// |m - d| / d <= 2^-11, in integers
		off := new(big.Int).Abs(big.NewInt(int64(m - d)))
		if off.Lsh(off, mantissa+1).Cmp(big.NewInt(int64(d))) > 0 || d < 1<<(mantissa+1) && m != d {
			return fmt.Sprintf("middle(bucket(%d)) = %d: off by more than 2^-%d", d, m, mantissa+1)
		}
		if d < math.MaxInt64 {
			if next := bucket(d + 1); next != b && next != b+1 {
				return fmt.Sprintf("bucket(%d) = %d, bucket(%d) = %d", d, b, d+1, next)
			}
		}
		return ""
	}
	for d := time.Duration(0); d < 1<<14; d++ {
		if text := check(d); text != "" {
			t.Fatal(text)
		}
	}
	for shift := 10; shift < 63; shift++ {
		for around := time.Duration(-3); around <= 3; around++ {
			for _, part := range []uint64{1 << shift, 1<<shift + 1<<(shift-10), 1<<shift + 1<<shift/2} {
				if text := check(time.Duration(part) + around); text != "" {
					t.Fatal(text)
				}
			}
		}
	}
	if text := check(math.MaxInt64); text != "" {
		t.Fatal(text)
	}
	if got := bucket(math.MaxInt64); got != size-1 {
		t.Errorf("bucket(MaxInt64) = %d, want the last, %d", got, size-1)
	}
	for b := 1; b < size; b++ {
		if middle(b) <= middle(b-1) {
			t.Fatalf("middle(%d) = %d, middle(%d) = %d: not ascending", b-1, middle(b-1), b, middle(b))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		// Uniform in the number of bits.
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "d") >> rapid.IntRange(0, 62).Draw(t, "bits"))
		if text := check(d); text != "" {
			t.Fatal(text)
		}
		e := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "e") >> rapid.IntRange(0, 62).Draw(t, "bits of e"))
		if (bucket(d) < bucket(e)) && d > e || bucket(d) > bucket(e) && d < e {
			t.Fatalf("bucket(%d) = %d, bucket(%d) = %d: not ascending", d, bucket(d), e, bucket(e))
		}
	})
}

func TestLatencyJSON(t *testing.T) {
	duration := rapid.Custom(func(t *rapid.T) *time.Duration {
		if rapid.Bool().Draw(t, "unknown") {
			return nil
		}
		return pointerTo(time.Duration(rapid.Int64().Draw(t, "ns")))
	})
	estimate := rapid.Custom(func(t *rapid.T) Estimate {
		e := Estimate{Point: duration.Draw(t, "point"), Low: duration.Draw(t, "low"), High: duration.Draw(t, "high"), Cut: rapid.Bool().Draw(t, "cut")}
		if e.Cut {
			e.IfAnswered, e.IfNever = duration.Draw(t, "if answered"), duration.Draw(t, "if never")
			e.Above, e.Naive = duration.Draw(t, "above"), duration.Draw(t, "naive")
		}
		return e
	})
	rapid.Check(t, func(t *rapid.T) {
		want := Latency{N: rapid.IntRange(0, math.MaxInt).Draw(t, "n"), P50: estimate.Draw(t, "p50"), P95: estimate.Draw(t, "p95"),
			P99: estimate.Draw(t, "p99"), P999: estimate.Draw(t, "p999")}
		if rapid.Bool().Draw(t, "weights") {
			want.EffectiveN = pointerTo(rapid.Float64Range(0, 1e30).Draw(t, "effective n"))
		}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Latency
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("unmarshal(marshal(latency)): %s\n got %+v\nwant %+v", data, got, want)
		}
		again, err := json.Marshal(&got)
		if err != nil || string(again) != string(data) {
			t.Fatalf("marshalled again: %v\n got %s\nwant %s", err, again, data)
		}
		var keys map[string]any
		if err := json.Unmarshal(data, &keys); err != nil {
			t.Fatal(err)
		}
		for name, e := range map[string]Estimate{"p50": want.P50, "p95": want.P95, "p99": want.P99, "p999": want.P999} {
			for _, end := range []string{"_ns", "_low_ns", "_high_ns"} {
				if _, ok := keys[name+end]; !ok {
					t.Fatalf("no key %s in %s", name+end, data)
				}
			}
			for _, end := range []string{"_if_answered_ns", "_if_never_ns"} {
				if _, ok := keys[name+end]; ok != e.Cut {
					t.Fatalf("key %s: %v, want %v: %s", name+end, ok, e.Cut, data)
				}
			}
		}
	})
}

// TestLatencyJSONErrors: what MarshalJSON never writes is refused, not read as
// unknown.
func TestLatencyJSONErrors(t *testing.T) {
	for _, data := range []string{`[]`, `{"n":"x"}`, `{"n":1.5}`, `{"p50_ns":1e400}`, `{"p50_ns":0.25}`, `{"p50_ns":9223372036854775808}`} {
		var l Latency
		if err := json.Unmarshal([]byte(data), &l); err == nil {
			t.Errorf("unmarshal of %s: no error", data)
		}
	}
}

func TestLatencyWarnings(t *testing.T) {
	fill := func(n, cuts int) *Latency {
		s := &Sample{}
		for i := range n {
			s.Add(time.Duration(i))
		}
		for range cuts {
			s.AddCut(time.Duration(n / 2))
		}
		l := s.Latency()
		return &l
	}
	for _, row := range []struct {
		n, cuts int
		want    []Warning
	}{
		{0, 0, nil},
		{1, 0, []Warning{FewP50, FewP95, FewP99, FewP999}},
		{5, 0, []Warning{FewP50, FewP95, FewP99, FewP999}},
		{6, 0, []Warning{FewP95, FewP99, FewP999}},
		{71, 0, []Warning{FewP95, FewP99, FewP999}},
		{72, 0, []Warning{FewP99, FewP999}},
		{367, 0, []Warning{FewP99, FewP999}},
		{368, 0, []Warning{FewP999}},
		{3687, 0, []Warning{FewP999}},
		{3688, 0, nil},
		{3680, 8, []Warning{CutsHideEnd}},
	} {
		if got := fill(row.n, row.cuts).Warnings(); !slices.Equal(got, row.want) {
			t.Errorf("warnings of %d values and %d cuts = %v, want %v", row.n, row.cuts, got, row.want)
		}
	}
}

func TestNearest(t *testing.T) {
	if got := nearest([]int{}, P50); got != 0 {
		t.Errorf("nearest of nothing = %d, want 0", got)
	}
	for _, row := range []struct {
		q    Quantile
		want int
	}{{P50, 5}, {P95, 10}, {100_000, 1}, {100_001, 2}, {0, 1}, {whole, 10}} {
		if got := nearest([]int{10, 9, 1, 2, 8, 7, 3, 4, 6, 5}, row.q); got != row.want {
			t.Errorf("nearest(1…10, %d) = %d, want %d", row.q, got, row.want)
		}
	}
}
