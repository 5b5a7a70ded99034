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
// request to one dependency the tightest counts. A cap below the minimum does
// not fit: then there is no ceiling to recommend.
func (a *Analysis) setCeilings() {
	margin := a.policy().Margin
	for _, d := range a.deps {
		d.ceiling = d.suggestCeiling(margin)
	}
	for _, t := range a.routes {
		for dep, caps := range t.caps {
			d := a.deps[dep]
			limit := caps.Point(P50)
			if limit == nil {
				continue
			}
			if d.minimum != nil && *limit < *d.minimum {
				d.misfits = append(d.misfits, t.key)
			}
			if d.ceiling != nil && *limit < *d.ceiling {
				d.ceiling, d.capped = limit, true
			}
		}
	}
	for _, d := range a.deps {
		if len(d.misfits) > 0 {
			d.ceiling = nil
		}
		d.ceilingInForce = d.ceiling
		if d.rule != nil && d.rule.Ceiling != nil {
			d.ceilingInForce = d.rule.Ceiling
		}
	}
}

// timeout is the computed timeout of a call: min(left - reserve, ceiling). It
// may be negative. Under fixed timeouts it is the ceiling alone; nil where
// that is not known.
func (a *Analysis) timeout(dep int32, left, reserve time.Duration) *time.Duration {
	ceiling := a.deps[dep].ceilingInForce
	if a.opts.Policy != nil && a.opts.Policy.Timeouts == FixedCeiling {
		return ceiling
	}
	t := left - reserve
	if ceiling != nil {
		t = min(t, *ceiling)
	}
	return &t
}
