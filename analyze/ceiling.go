package analyze

import (
	"math"
	"time"
)

// roundUp rounds a ceiling up to a multiple of the largest of 1, 2, 5 x 10^k ns
// that is at most an eighth of it: 48 -> 50, 108 -> 110, 401 -> 450.
func roundUp(d time.Duration) time.Duration {
	if d < 8 {
		return d
	}
	step := time.Duration(1)
	for step <= d/8/10 {
		step *= 10
	}
	switch {
	case 5*step <= d/8:
		step *= 5
	case 2*step <= d/8:
		step *= 2
	}
	if up := (d + step - 1) / step; up <= math.MaxInt64/step {
		return up * step
	}
	return d
}

// suggestCeiling is the ceiling that the recorded latencies suggest, before
// it is capped; nil where the quantile is not known.
//
//	required: (1 + margin) x quantile(1 - accepted false timeouts)
//	optional: quantile(1 - accepted false timeouts)
func (d *depTable) suggestCeiling(margin Quantile) *time.Duration {
	return d.ceilingOf(&d.latency, margin)
}

// ceilingOf is the ceiling that a sample of the dependency's calls suggests.
func (d *depTable) ceilingOf(s *Sample, margin Quantile) *time.Duration {
	q := whole - d.falseTimeouts
	if q <= 0 {
		return nil
	}
	point := s.Point(q)
	if point == nil {
		return nil
	}
	ceiling := d.ceilingFrom(*point, margin)
	return &ceiling
}

// ceilingFrom is the ceiling that a quantile suggests.
func (d *depTable) ceilingFrom(quantile time.Duration, margin Quantile) time.Duration {
	if d.required {
		quantile = time.Duration(math.Round(float64(quantile) * float64(whole+margin) / float64(whole)))
	}
	return roundUp(quantile)
}

// setCeilings suggests a ceiling for every dependency, capped at what the
// deadlines of the routes that use it leave:
//
//	cap = deadline - reserve - longest chain of minimums before
//
// the median over the route's requests with a deadline; of the calls of one
// request to one dependency the tightest counts. A route whose cap is below the minimum does
// not fit, and caps nothing: there no call is to be made. Where no route with a deadline fits
// there is no ceiling to recommend.
func (a *Analysis) setCeilings() {
	margin := a.policy().Margin
	a.spread(len(a.deps), func(i int) {
		a.deps[i].ceiling = a.deps[i].suggestCeiling(margin)
		a.deps[i].latency.putAway()
	})
	a.spread(len(a.routes), func(i int) {
		for _, c := range a.routes[i].caps {
			c.median = c.Point(P50)
			c.drop()
		}
	})
	fits := make([]bool, len(a.deps)) // some route with a deadline leaves the minimum
	for _, t := range a.routes {
		for _, caps := range t.caps {
			d := a.deps[caps.dep]
			limit := caps.median
			if limit == nil {
				continue
			}
			misfit := d.minimum != nil && *limit < *d.minimum
			if misfit {
				d.misfits = append(d.misfits, t.key)
			}
			fits[caps.dep] = fits[caps.dep] || !misfit
			if d.minimumInForce != nil && *limit < *d.minimumInForce {
				d.misfitsInForce = append(d.misfitsInForce, t.key)
			}
			if !misfit && d.ceiling != nil && *limit < *d.ceiling {
				d.ceiling, d.capped = limit, true
			}
		}
		t.caps = nil
	}
	for i, d := range a.deps {
		if len(d.misfits) > 0 && !fits[i] {
			d.ceiling, d.capped = nil, false
		}
		d.ceilingInForce = d.ceiling
		if d.rule != nil && d.rule.Ceiling != nil {
			d.ceilingInForce = d.rule.Ceiling
		}
	}
}

// timeout is the computed timeout of a call: min(left - reserve, ceiling). It
// may be negative. Under fixed timeouts it is the ceiling alone, and not known where
// that is not.
func (a *Analysis) timeout(dep int32, left, reserve time.Duration) (t time.Duration, known bool) {
	ceiling := a.deps[dep].ceilingInForce
	if a.opts.Policy != nil && a.opts.Policy.Timeouts == FixedCeiling {
		if ceiling == nil {
			return 0, false
		}
		return *ceiling, true
	}
	t = left - reserve
	if ceiling != nil {
		t = min(t, *ceiling)
	}
	return t, true
}

// timeoutOf is the computed timeout of an attempt of a call; nil: it is not known, or the
// request has no deadline.
func (a *Analysis) timeoutOf(r *request, c *call, start time.Duration) *time.Duration {
	if r.deadline == nil {
		return nil
	}
	t, known := a.timeout(c.dep, r.deadline.budget-start, c.reserve)
	if !known {
		return nil
	}
	return &t
}
