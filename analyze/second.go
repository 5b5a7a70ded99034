package analyze

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"
)

// A HedgePlan is what a second copy after the p95 would do, by the recorded latencies.
type HedgePlan struct {
	After     time.Duration `json:"after_ns"`   // p95
	ExtraLoad *float64      `json:"extra_load"` // second copies a call
	Touched   int           `json:"touched"`    // calls with a deadline that took longer than After
	Fits      int           `json:"fits"`       // of those: time left after After is at least the minimum
	// Rescued is the share of requests with a deadline that call it, which were late and
	// would not have been: from none, if the second copy is as slow as the first, to this
	// many, if it is independent of it. null: no request with a deadline calls it.
	Rescued  *float64 `json:"rescued_share_high"`
	Requests int      `json:"requests"` // those with a deadline that call it
	Not      []string `json:"not"`      // why it is not suggested: not-safe, retried, does-not-fit, too-much-load, no-second-replica
}

// secondCopies collects what a second copy would do to the calls of a dependency.
type secondCopies struct {
	touched, fits int
	due           headcount   // requests with a deadline that call it
	rescued       float64     // of those, weighted: late ones that would not have been, if copies are independent
	answers       *cumulation // of its calls; nil: no late request asked
	last          int         // the request that is added to, by request.nth
	slow          []slowCall  // of it, if it was late
}

// A slowCall held a late request, and took longer than the p95.
type slowCall struct {
	left time.Duration // what it took beyond the p95
	most time.Duration // by how much the request would have ended earlier, had a copy answered at once: at most
}

// hedge adds the calls of a decided request.
func (a *Analysis) hedge(r *request) {
	if r.deadline == nil || r.table == nil {
		return
	}
	overrun, late := r.late()
	late = late && !r.failed
	var beside beside
	if late {
		beside = a.besides(r)
	}
	var held []*secondCopies // what held the request
	for k := range r.calls {
		c := &r.calls[k]
		d := a.deps[c.dep]
		h := &d.hedging
		if d.p95 == nil || c.messaging || c.unfinished || !c.awaited {
			continue
		}
		if h.last != r.nth {
			h.last, h.slow = r.nth, h.slow[:0]
			h.due.add(r.weight)
		}
		if !c.slowerThan(*d.p95) {
			continue
		}
		h.touched++
		took := c.end - c.start
		if left := r.deadline.budget - c.start - *d.p95 - c.reserve; d.minimumInForce != nil && left >= *d.minimumInForce {
			h.fits++
		}
		if late && c.path > 0 && c.outcome.Answered() && !beside.hold(c) {
			if h.slow = append(h.slow, slowCall{took - *d.p95, min(c.path, took-*d.p95)}); len(h.slow) == 1 {
				held = append(held, h)
				if h.answers == nil {
					h.answers = new(d.latency.cumulated())
				}
			}
		}
	}
	for _, h := range held {
		h.rescued += float64(r.weight.orOne()) / float64(oneWeight) * h.rescue(overrun)
	}
}

// slowerThan reports whether a second copy would have been sent after the p95.
func (c *call) slowerThan(p95 time.Duration) bool {
	return len(c.attempts) == 1 && c.end-c.start > p95
}

// rescue is how likely second copies of its slow calls save a late request, at most. To save
// it, they have to make it end earlier by the overrun, together; then one of them at least
// brings its part of that, however the parts are chosen. They are chosen by what each can
// bring:
//
//	1 - product over calls of (1 - F(left - part)),   part = overrun * most / sum of most
//
// of which the single call, whose part is the overrun, is exact.
func (h *secondCopies) rescue(overrun time.Duration) float64 {
	all := 0.0
	for _, c := range h.slow {
		all += float64(c.most)
	}
	not := 1.0
	for _, c := range h.slow {
		if part := time.Duration(float64(overrun) * (float64(c.most) / all)); part <= c.most {
			not *= 1 - h.answers.within(c.left-part)
		}
	}
	return 1 - not
}

// A beside knows the calls that would have held a late request past its deadline whatever
// became of calls that ran beside them.
type beside struct {
	calls []heldBy // by start
	// Of the calls up to each, the one that ended last, and the one of another dependency
	// that did.
	last []([2]heldBy)
}

// A heldBy is such a call; dep is -1 where no second copy would have been sent.
type heldBy struct {
	start, end time.Duration
	dep        int32
}

// besides finds them.
func (a *Analysis) besides(r *request) (s beside) {
	by := r.deadline.budget - r.tail
	for k := range r.calls {
		c := &r.calls[k]
		if !c.awaited || c.end <= by {
			continue
		}
		b := heldBy{c.start, c.end, -1}
		if p95 := a.deps[c.dep].p95; p95 != nil && !c.messaging && !c.unfinished && c.slowerThan(*p95) {
			b.dep = c.dep
		}
		s.calls = append(s.calls, b)
	}
	slices.SortFunc(s.calls, func(x, y heldBy) int { return cmp.Compare(x.start, y.start) })
	last := [2]heldBy{{end: math.MinInt64, dep: -1}, {end: math.MinInt64, dep: -1}}
	for _, b := range s.calls {
		switch {
		case b.dep == last[0].dep && b.dep >= 0:
			last[0].end = max(last[0].end, b.end)
		case b.end > last[0].end:
			last[0], last[1] = b, last[0]
		case b.end > last[1].end:
			last[1] = b
		}
		s.last = append(s.last, last)
	}
	return s
}

// hold reports whether one of them ran beside c, other than those to the same dependency that
// get a second copy too.
func (s *beside) hold(c *call) bool {
	n := sort.Search(len(s.calls), func(i int) bool { return s.calls[i].start >= c.end })
	if n == 0 {
		return false
	}
	last := s.last[n-1][0]
	if last.dep == c.dep {
		last = s.last[n-1][1]
	}
	return last.end > c.start
}

// plan says what a second copy would do; nil: the p95 is not known.
func (d *depTable) plan(accepted Quantile) *HedgePlan {
	d.hedging.answers = nil
	if d.p95 == nil || d.messaging {
		return nil
	}
	h := &HedgePlan{After: *d.p95, ExtraLoad: d.latency.ShareAbove(*d.p95).Point, Touched: d.hedging.touched, Fits: d.hedging.fits, Not: []string{}}
	if all := d.hedging.due.mass(); all.weight > 0 {
		share := d.hedging.rescued / all.weight
		h.Rescued, h.Requests = &share, all.n
	}
	not := func(why string, when bool) {
		if when {
			h.Not = append(h.Not, why)
		}
	}
	safe, _ := d.repeatable()
	not("not-safe", !safe)
	not("retried", d.rule != nil && d.rule.Attempts > 1)
	not("does-not-fit", h.Touched == 0 || 2*h.Fits < h.Touched)
	not("too-much-load", h.ExtraLoad == nil || *h.ExtraLoad > accepted.fraction())
	not("no-second-replica", len(d.instances) < 2)
	return h
}

// A cumulation is the share of calls answered by a time, in at most mostSteps steps. Of more
// it takes several together, at the first with the share of the last: it is high by one part
// in mostSteps at most.
type cumulation struct {
	at    []time.Duration
	share []float64
}

// mostSteps is how many steps a cumulation has.
const mostSteps = 1 << 12

// cumulated is the product-limit estimate at the times at which calls were answered.
func (s *Sample) cumulated() (f cumulation) {
	if s.empty() {
		return f
	}
	defer s.putAway()
	c := newCurve(s.total(allClasses...))
	together, n, seen := (s.answers.n+mostSteps-1)/mostSteps, 0, 0
	plain := s.cuts() == 0 && !s.weighted() // a count says it without logarithms
	s.walk(func(m *moment) bool {
		if m.of[answered].n > 0 {
			c.answer(m.of[answered].weight)
			if n%together == 0 {
				f.at, f.share = append(f.at, m.at), append(f.share, 0)
			}
			f.share[len(f.share)-1] = c.answered()
			if seen += m.of[answered].n; plain {
				f.share[len(f.share)-1] = float64(seen) / float64(s.n)
			}
			n++
		}
		c.leave(m.of[answered].plus(m.cut()))
		return true
	})
	return f
}

// within is the share answered within d.
func (f *cumulation) within(d time.Duration) float64 {
	k := sort.Search(len(f.at), func(i int) bool { return f.at[i] > d })
	if k == 0 {
		return 0
	}
	return f.share[k-1]
}
