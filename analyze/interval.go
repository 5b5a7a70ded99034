package analyze

import "math"

// A Range is an interval with its point; nil is unknown.
type Range struct{ Point, Low, High *float64 }

// wilson is the 95 % score interval of a share p of n, 0 < n; n need not be whole:
//
//	(p + z^2/2n +- z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)
//
// Wilson, J. Am. Stat. Assoc. 22 (1927) 209.
func wilson(p, n float64) (low, high float64) {
	const z = ninetyFive
	middle := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	low, high = (middle-half)/(1+z*z/n), (middle+half)/(1+z*z/n)
	if p == 0 {
		low = 0
	}
	if p == 1 {
		high = 1
	}
	return low, high
}

// apart is the interval of after - before, from the intervals of the two:
//
//	low  = d - sqrt((after - after.low)^2 + (before.high - before)^2)
//	high = d + sqrt((after.high - after)^2 + (before - before.low)^2)
//
// With score intervals it is method 10 of Newcombe, Statistics in Medicine 17 (1998)
// 873; for any others, Zou and Donner, Statistics in Medicine 27 (2008) 1693. An end
// that rests on an unknown one is unknown.
func apart(before, after Range) (d Range) {
	if before.Point == nil || after.Point == nil {
		return d
	}
	point := *after.Point - *before.Point
	d.Point = &point
	if after.Low != nil && before.High != nil {
		low := point - math.Hypot(*after.Point-*after.Low, *before.High-*before.Point)
		d.Low = &low
	}
	if after.High != nil && before.Low != nil {
		high := point + math.Hypot(*after.High-*after.Point, *before.Point-*before.Low)
		d.High = &high
	}
	return d
}

// fisher is the two-sided p of Fisher's exact test: that of k1 of n1 and k2 of n2, or of
// what is further apart, where k1 + k2 of n1 + n2 are dealt out at random. It is twice
// the smaller side. Fisher, Statistical Methods for Research Workers, 5th ed. 1934,
// section 21.02; doubling: Yates, J. R. Stat. Soc. A 147 (1984) 426.
func fisher(k1, n1, k2, n2 int) float64 {
	hits, all := k1+k2, n1+n2
	lowest, highest := max(0, hits-n2), min(hits, n1)
	ways := logBinomial(all, n1)
	chance := func(k int) float64 {
		return math.Exp(logBinomial(hits, k) + logBinomial(all-hits, n1-k) - ways)
	}
	// Terms fall without end away from the middle: what is left when one no longer
	// shows does not show either.
	tail := func(step, end int) float64 {
		p := 0.0
		for k := k1; k != end+step; k += step {
			term := chance(k)
			p += term
			if term < p*1e-17 {
				break
			}
		}
		return p
	}
	side := 0.0
	if k1*all < hits*n1 { // below its share
		side = tail(-1, lowest)
	} else {
		side = tail(1, highest)
	}
	return min(1, 2*side)
}

// leastFisher is the least p that hits among n1 and n2 can give: with all of them on one
// side. A test that cannot come below the error rate is none (Tarone, Biometrics 46
// (1990) 515).
func leastFisher(hits, n1, n2 int) float64 {
	lowest, highest := max(0, hits-n2), min(hits, n1)
	return min(fisher(lowest, n1, hits-lowest, n2), fisher(highest, n1, hits-highest, n2))
}

// welch is the two-sided p of a difference d of means whose variances are va, of n
// values, and vb, of m, and its 95 % half width:
//
//	t = d / sqrt(va + vb),  df = (va + vb)^2 / (va^2/(n-1) + vb^2/(m-1))
//
// Welch, Biometrika 34 (1947) 28.
func welch(d, va, n, vb, m float64) (p, half float64) {
	v := va + vb
	if v <= 0 {
		if d == 0 {
			return 1, 0
		}
		return 0, 0
	}
	df := v * v / (va*va/(n-1) + vb*vb/(m-1))
	return studentTail(d/math.Sqrt(v), df), studentQuantile(df) * math.Sqrt(v)
}

// studentTail is P(|T| >= |t|) for Student's T of df degrees of freedom.
func studentTail(t, df float64) float64 { return incompleteBeta(df/(df+t*t), df/2, 0.5) }

// studentQuantile is the t with P(|T| >= t) = 5 %.
func studentQuantile(df float64) float64 {
	low, high := 1.9, 13.0 // of df = 1, t is 12.7
	for range 60 {
		if middle := (low + high) / 2; studentTail(middle, df) > 2*oneTail {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// normalTail is P(|Z| >= z) of a standard normal Z.
func normalTail(z float64) float64 { return math.Erfc(z / math.Sqrt2) }

// correct gives p-values corrected for their number, by Benjamini and Hochberg: the
// smallest error rate at which each would be called a difference. A weight says how
// much of the error rate a test takes; only their ratios count.
//
//	adjusted(i) = min over j with p(j)/w(j) >= p(i)/w(i) of m p(j) / (w(j) rank(j)),  mean of w = 1
//
// Benjamini and Hochberg, J. R. Stat. Soc. B 57 (1995) 289; weights: Genovese, Roeder
// and Wasserman, Biometrika 93 (2006) 509.
func correct(p, weights []float64) []float64 {
	m, sum := len(p), 0.0
	for _, w := range weights {
		sum += w
	}
	scaled, order := make([]float64, m), make([]int, m)
	for i := range p {
		scaled[i], order[i] = p[i]/(weights[i]*float64(m)/sum), i
	}
	sortBy(order, func(i int) float64 { return scaled[i] })
	adjusted, least := make([]float64, m), 1.0
	for rank := m; rank > 0; rank-- {
		i := order[rank-1]
		least = min(least, scaled[i]*float64(m)/float64(rank))
		adjusted[i] = least
	}
	return adjusted
}
