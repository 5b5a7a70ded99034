package analyze

import "math"

// binomialInterval is the 95 % interval, with equal tails, of a share of which k of n
// were seen, 0 <= k <= n. They need not be whole numbers:
//
//	low:  I_low(k, n-k+1) = 0.025, 0 for k = 0
//	high: I_high(k+1, n-k) = 0.975, 1 for k = n
//
// where I is the regularised incomplete beta function.
func binomialInterval(k, n float64) (low, high float64) {
	low, high = 0, 1
	if k > 0 {
		low = betaQuantile(oneTail, k, n-k+1)
	}
	if k < n {
		high = betaQuantile(1-oneTail, k+1, n-k)
	}
	return low, high
}

// binomialRange is the 95 % range of B ~ Bin(n, p), 0 < p < 1, with equal tails:
//
//	low:  smallest k with P(B <= k) > 0.025
//	high: smallest k with P(B <= k) >= 0.975
func binomialRange(n int, p float64) (low, high int) {
	// B concentrates within 12 standard deviations of its mean; beyond, terms
	// are below 1e-30 and no sum that is compared with 0.025 can see them.
	mean, sd := float64(n)*p, math.Sqrt(float64(n)*p*(1-p))
	from, to := max(0, int(mean-12*sd)-20), min(n, int(mean+12*sd)+20)
	term, sum := math.Exp(logBinomial(n, from)+float64(from)*math.Log(p)+float64(n-from)*math.Log1p(-p)), 0.0
	for low, high = from, from; high < to; high++ {
		sum += term
		if sum <= oneTail {
			low = high + 1
		}
		if sum >= 1-oneTail {
			break
		}
		term *= float64(n-high) / float64(high+1) * p / (1 - p)
	}
	return low, high
}

// binomialTail is P(B >= k) for B ~ Bin(n, p). n and k need not be whole numbers.
func binomialTail[T int | float64](n, k T, p float64) float64 {
	switch {
	case k <= 0 || p >= 1:
		return 1
	case p <= 0 || k > n:
		return 0
	}
	return incompleteBeta(p, float64(k), float64(n-k+1))
}

// logBinomial is the logarithm of n over k.
func logBinomial(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// betaQuantile is the x at which I_x(a, b) = p, by bisection to the last digit.
func betaQuantile(p, a, b float64) float64 {
	low, high := 0.0, 1.0
	for range 200 {
		middle := low + (high-low)/2
		if middle == low || middle == high {
			break
		}
		if incompleteBeta(middle, a, b) < p {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// incompleteBeta is I_x(a, b). The fraction converges fast left of the mean.
func incompleteBeta(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - betaFraction(1-x, b, a)
	}
	return betaFraction(x, a, b)
}

// betaFraction is I_x(a, b) by the continued fraction 26.5.8 of Abramowitz and Stegun,
// Handbook of Mathematical Functions, 1964, evaluated as Lentz does.
func betaFraction(x, a, b float64) float64 {
	ab, _ := math.Lgamma(a + b)
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	front := math.Exp(ab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	const least = 1e-300
	lift := func(v float64) float64 {
		if math.Abs(v) < least {
			return least
		}
		return v
	}
	c, d := 1.0, 1/lift(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m <= 10_000; m++ {
		for _, term := range [2]float64{
			m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m)),
			-(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1)),
		} {
			d = 1 / lift(1+term*d)
			c = lift(1 + term/c)
			f *= c * d
		}
		if math.Abs(c*d-1) < 1e-15 {
			break
		}
	}
	return front * f
}
