package analyze

import (
	"sort"
	"time"
)

// The bootstrap over requests draws n of n requests with replacement, again and
// again. What endless drawing comes to is known, for a count and for a quantile:
// so nothing is drawn here, and the intervals are exact.
//
//	count k of n:         k* ~ Bin(n, k/n)
//	order statistic x_k:  P(x_k* <= x_j) = P(Bin(n, j/n) >= k)
//
// Hutson, Ernst, The exact bootstrap mean and variance of an L-estimator, J. R.
// Statist. Soc. B 62 (2000), section 2. 95 %, equal tails.

// bootstrapCount gives the interval of a count. Of none or all, each drawing has none or
// all: that says nothing about others, and low = high.
func bootstrapCount(n, k int) (low, high int) {
	if k <= 0 || k >= n {
		return k, k
	}
	return binomialRange(n, float64(k)/float64(n))
}

// bootstrapShare gives the interval of k / n, 0 <= k <= n, n > 0; of none or all that of
// Clopper and Pearson, because that of the bootstrap would be a point.
func bootstrapShare(n, k int) (low, high float64) {
	if k == 0 || k == n {
		return binomialInterval(float64(k), float64(n))
	}
	l, h := bootstrapCount(n, k)
	return float64(l) / float64(n), float64(h) / float64(n)
}

// bootstrapRanks gives the ranks of the values that bound the order statistic of
// rank k, from 1.
func bootstrapRanks(n, k int) (low, high int) {
	reach := func(j int) float64 { return binomialTail(n, k, float64(j)/float64(n)) } // P(x_k* <= x_j)
	low = 1 + sort.Search(n-1, func(j int) bool { return reach(j+1) > oneTail })
	high = 1 + sort.Search(n-1, func(j int) bool { return reach(j+1) >= 1-oneTail })
	return low, high
}

// bootstrapped is the latency of answers alone, with intervals of the bootstrap.
func (s *Sample) bootstrapped() Latency {
	l := s.Latency()
	n := s.N()
	if n == 0 {
		return l
	}
	for _, q := range []struct {
		of Quantile
		to *Estimate
	}{{P50, &l.P50}, {P95, &l.P95}, {P99, &l.P99}, {P999, &l.P999}} {
		low, high := bootstrapRanks(n, q.of.Rank(n))
		q.to.Low, q.to.High = s.nth(low), s.nth(high)
	}
	return l
}

// nth is the answer of a rank, from 1.
func (s *Sample) nth(rank int) (d *time.Duration) {
	if s.seal(); !s.binned {
		return kept(s.answers.values[rank-1])
	}
	s.walk(func(m *moment) bool {
		rank -= m.of[answered].n
		if rank <= 0 {
			d = &m.at
		}
		return rank > 0
	})
	return d
}
