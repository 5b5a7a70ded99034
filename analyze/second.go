package analyze

import (
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
	due           headcount // requests with a deadline that call it
	// room is, of late requests that the call alone held for longer than they were
	// late, how long the call might have taken.
	room Sample
}

// hedge adds the calls of a decided request.
func (a *Analysis) hedge(r *request) {
	if r.deadline == nil || r.table == nil {
		return
	}
	overrun, late := r.late()
	for k := range r.calls {
		c := &r.calls[k]
		d := a.deps[c.dep]
		h := &d.hedging
		if d.p95 == nil || c.messaging || c.unfinished || !c.awaited {
			continue
		}
		if !r.callsBefore(k, c.dep) {
			h.due.add(r.weight)
		}
		took := c.end - c.start
		if len(c.attempts) > 1 || took <= *d.p95 {
			continue
		}
		h.touched++
		if left := r.deadline.budget - c.start - *d.p95 - c.reserve; d.minimumInForce != nil && left >= *d.minimumInForce {
			h.fits++
		}
		if late && !r.failed && c.path >= overrun && c.outcome.Answered() && !r.heldBeside(c) {
			h.room.add(answered, took-overrun, r.weight)
		}
	}
}

// heldBeside reports whether another call that ran beside c would have held a late
// request past its deadline all the same.
func (r *request) heldBeside(c *call) bool {
	by := r.deadline.budget - r.tail
	for k := range r.calls {
		b := &r.calls[k]
		if b.span != c.span && b.awaited && b.end > by && b.start < c.end && c.start < b.end {
			return true
		}
	}
	return false
}

// callsBefore reports whether a call before call k goes to the dependency.
func (r *request) callsBefore(k int, dep int32) bool {
	for i := range r.calls[:k] {
		if r.calls[i].dep == dep {
			return true
		}
	}
	return false
}

// plan says what a second copy would do; nil: the p95 is not known.
func (d *depTable) plan(accepted Quantile) *HedgePlan {
	if d.p95 == nil || d.messaging {
		return nil
	}
	h := &HedgePlan{After: *d.p95, ExtraLoad: d.latency.ShareAbove(*d.p95).Point, Touched: d.hedging.touched, Fits: d.hedging.fits, Not: []string{}}
	if all := d.hedging.due.mass(); all.weight > 0 {
		// A copy sent at p95 has to answer within what is left of the room.
		var answers cumulation
		if d.hedging.room.N() > 0 {
			answers = d.latency.cumulated()
		}
		rescued := 0.0
		d.hedging.room.walk(func(m *moment) bool {
			rescued += m.of[answered].weight * answers.within(m.at-*d.p95)
			return true
		})
		if !d.hedging.room.weighted() {
			rescued *= float64(d.hedging.room.light) / float64(oneWeight)
		}
		share := rescued / all.weight
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

// A cumulation is the share of calls answered by a time.
type cumulation struct {
	of    *Sample // simple: asked itself; else nil
	at    []time.Duration
	share []float64
}

// cumulated is the product-limit estimate at every time at which a call was answered.
func (s *Sample) cumulated() (f cumulation) {
	if s.empty() {
		return f
	}
	if s.simple() {
		return cumulation{of: s}
	}
	all := s.total(allClasses...)
	c := newCurve(all)
	s.walk(func(m *moment) bool {
		if m.of[answered].n > 0 {
			c.answer(m.of[answered].weight)
			f.at = append(f.at, m.at)
			f.share = append(f.share, c.answered())
		}
		c.leave(m.of[answered].plus(m.cut()))
		return true
	})
	return f
}

// within is the share answered within d.
func (f *cumulation) within(d time.Duration) float64 {
	if f.of != nil {
		return 1 - float64(f.of.answersAbove(max(d, -1)))/float64(f.of.n)
	}
	k := sort.Search(len(f.at), func(i int) bool { return f.at[i] > d })
	if k == 0 {
		return 0
	}
	return f.share[k-1]
}
