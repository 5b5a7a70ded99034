package analyze

import (
	"math"
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

const bootstrapTail = 0.025

// bootstrapCount gives the interval of a count.
func bootstrapCount(n, k int) (low, high int) {
	if k <= 0 || k >= n {
		return k, k
	}
	p := float64(k) / float64(n)
	low = sort.Search(n, func(j int) bool { return binomialUpTo(n, j, p) > bootstrapTail })
	high = sort.Search(n, func(j int) bool { return binomialUpTo(n, j, p) >= 1-bootstrapTail })
	return low, high
}

// bootstrapRanks gives the ranks of the values that bound the order statistic of
// rank k, from 1.
func bootstrapRanks(n, k int) (low, high int) {
	reach := func(j int) float64 { // P(x_k* <= x_j)
		if j >= n {
			return 1
		}
		return 1 - binomialUpTo(n, k-1, float64(j)/float64(n))
	}
	low = 1 + sort.Search(n-1, func(j int) bool { return reach(j+1) > bootstrapTail })
	high = 1 + sort.Search(n-1, func(j int) bool { return reach(j+1) >= 1-bootstrapTail })
	return low, high
}

// binomialUpTo is P(B <= k) for B ~ Bin(n, p), 0 < p < 1. Terms beyond 12 standard
// deviations of the mean are below 1e-30 and left out.
func binomialUpTo(n, k int, p float64) float64 {
	mean, sd := float64(n)*p, math.Sqrt(float64(n)*p*(1-p))
	from, to := max(0, int(mean-12*sd)-20), min(n, int(mean+12*sd)+20)
	switch {
	case k < from:
		return 0
	case k >= to:
		return 1
	}
	term, sum := binomialTerm(n, from, p), 0.0
	for b := from; b <= k; b++ {
		sum += term
		term *= float64(n-b) / float64(b+1) * p / (1 - p)
	}
	return min(sum, 1)
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
