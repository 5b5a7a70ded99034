package analyze

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// Simulated truth: samples are drawn from a known distribution, and intervals have to
// cover what is true of it. All runs are seeded.

const runs = 2000

// logNormal is the latency of the product card: lognormal(ln 30 ms, 0.8).
func logNormal(z float64) time.Duration {
	return time.Duration(math.Exp(math.Log(30e6) + 0.8*z))
}

// normalQuantile is the standard normal quantile of q.
func normalQuantile(q float64) float64 { return math.Sqrt2 * math.Erfinv(2*q-1) }

func covers(e Estimate, truth time.Duration) bool {
	return (e.Low == nil || *e.Low <= truth) && (e.High == nil || *e.High >= truth)
}

// TestCoverageOfCuts: latencies cut by a fixed timeout at their p90, p95 and p99.
func TestCoverageOfCuts(t *testing.T) {
	t.Parallel()
	const n = 1000
	truth := map[Quantile]time.Duration{}
	for _, q := range fourQuantiles {
		truth[q] = logNormal(normalQuantile(q.fraction()))
	}
	for _, cutAt := range []Quantile{900_000, 950_000, 990_000} {
		timeout := logNormal(normalQuantile(cutAt.fraction()))
		r := rand.New(rand.NewPCG(uint64(cutAt), 1))
		var covered, beyond, naive [4]int
		for range runs {
			s := &Sample{}
			for range n {
				if d := logNormal(r.NormFloat64()); d > timeout {
					s.AddCut(timeout)
				} else {
					s.Add(d)
				}
			}
			for i, e := range s.estimates(fourQuantiles...) {
				q := fourQuantiles[i]
				if covers(e, truth[q]) {
					covered[i]++
				}
				if e.Point == nil && e.Above != nil && *e.Above == timeout {
					beyond[i]++
				}
				if e.Naive != nil && float64(*e.Naive) > 0.9*float64(truth[q]) {
					naive[i]++
				}
			}
		}
		for i, q := range fourQuantiles {
			if share := float64(covered[i]) / runs; share < 0.93 {
				t.Errorf("cut at %d: the interval covers the true quantile %d in %.4f of the runs, want 0.93", cutAt, q, share)
			}
			switch {
			case q < cutAt && beyond[i] > 0:
				t.Errorf("cut at %d: quantile %d is beyond the cut in %d runs", cutAt, q, beyond[i])
			case q > cutAt && float64(beyond[i]) < 0.999*runs:
				t.Errorf("cut at %d: quantile %d is not known to be more in %d runs", cutAt, q, runs-beyond[i])
			}
		}
		if naive[3] > 0 {
			t.Errorf("cut at %d: the p99.9 of answers alone is within a tenth of the truth in %d runs", cutAt, naive[3])
		}
	}
}

// TestCoverageOfRaces: latencies cut at random, by calls that answered first, and
// weights that differ.
func TestCoverageOfRaces(t *testing.T) {
	t.Parallel()
	const n = 1000
	for name, weights := range map[string][]float64{"alike": {1}, "differ": {1, 2, 4}} {
		r := rand.New(rand.NewPCG(7, 7))
		var covered [2]int
		for range runs / 4 {
			s := &Sample{}
			for range n {
				w := weigh(weights[r.IntN(len(weights))], true)
				d, other := logNormal(r.NormFloat64()), logNormal(r.NormFloat64()+2)
				if other < d {
					s.add(cutRace, other, w)
				} else {
					s.add(answered, d, w)
				}
			}
			for i, q := range []Quantile{P50, P95} {
				if covers(s.Estimate(q), logNormal(normalQuantile(q.fraction()))) {
					covered[i]++
				}
			}
		}
		for i, n := range covered {
			if share := float64(n) / (runs / 4); share < 0.93 {
				t.Errorf("weights %s: interval %d covers in %.4f of the runs, want 0.93", name, i, share)
			}
		}
	}
}

// TestCoverageOfRanks: without cuts, the share of runs covered is the one computed:
// P(low <= B < high), B ~ Bin(n, q).
func TestCoverageOfRanks(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		n int
		q Quantile
	}{{20, P50}, {100, P50}, {100, P95}, {400, P99}} {
		low, high := intervalRanks(row.n, row.q)
		want := 0.0
		for b := low; b < min(high, row.n+1); b++ {
			want += binomialTerm(row.n, b, row.q.fraction())
		}
		truth := logNormal(normalQuantile(row.q.fraction()))
		r := rand.New(rand.NewPCG(uint64(row.n), uint64(row.q)))
		covered := 0
		const runs = 8000 // a standard error of 0.25 points
		for range runs {
			s := &Sample{}
			for range row.n {
				s.Add(logNormal(r.NormFloat64()))
			}
			if covers(s.Estimate(row.q), truth) {
				covered++
			}
		}
		if got := float64(covered) / runs; math.Abs(got-want) > 0.01 {
			t.Errorf("%d values at %d: covered %.4f, computed %.4f", row.n, row.q, got, want)
		}
	}
}

// TestSharedDeadline: two calls one after the other, of latencies correlated by 0.8,
// under a deadline that cuts the second in about 8 % of the requests. What is cut
// early is what would have been slow: no point is given, and the bounds enclose the
// truth.
func TestSharedDeadline(t *testing.T) {
	t.Parallel()
	const n, deadline = 1000, 180 * time.Millisecond
	r := rand.New(rand.NewPCG(8, 8))
	cuts, wrong := 0, 0
	var covered [3]int
	for range runs {
		s, blind := &Sample{}, &Sample{} // blind takes the cuts as fixed timeouts
		var uncut []time.Duration
		for range n {
			z := r.NormFloat64()
			first, second := logNormal(z), logNormal(0.8*z+0.6*r.NormFloat64())
			uncut = append(uncut, second)
			if left := deadline - first; second > left {
				s.add(cutBudget, left, unknownWeight)
				blind.add(cutFixed, left, unknownWeight)
				cuts++
			} else {
				s.Add(second)
				blind.Add(second)
			}
		}
		for i, e := range s.estimates(P95, P99, P999) {
			q := []Quantile{P95, P99, P999}[i]
			if e.Point != nil {
				t.Fatalf("the point at %d is given: %s", q, estimateText(e))
			}
			// Of the same requests, had nothing been cut.
			if truth := nearest(uncut, q); e.IfAnswered == nil || *e.IfAnswered > truth || e.IfNever != nil && *e.IfNever < truth {
				t.Fatalf("%s does not enclose the true quantile %d, %s", estimateText(e), q, truth)
			}
			if covers(e, logNormal(normalQuantile(q.fraction()))) {
				covered[i]++
			}
		}
		if p := blind.Point(P95); p != nil && float64(*p) < 0.9*float64(logNormal(normalQuantile(0.95))) {
			wrong++
		}
	}
	if share := float64(cuts) / (n * runs); share < 0.07 || share > 0.09 {
		t.Errorf("%.3f of the calls are cut, want about 0.08", share)
	}
	for i, n := range covered {
		if share := float64(n) / runs; share < 0.93 {
			t.Errorf("the interval of quantile %d covers the truth in %.4f of the runs", i, share)
		}
	}
	if wrong < runs/2 {
		t.Errorf("the product-limit estimate would have been wrong in %d of %d runs only: the case shows nothing", wrong, runs)
	}
}
