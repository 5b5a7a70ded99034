package analyze

import (
	"math/bits"
	"slices"
	"time"
)

// A donor is a request of the same route whose calls stand for those that a request
// never made, because it had failed or skipped before: whole, with their own times
// among themselves.

// donorKeep is how many requests of a route are kept to choose donors from.
const donorKeep = 128

// donates reports whether a request could be a donor.
func (g *record) donates() bool {
	return !g.failed && len(g.skipped) == 0 && len(g.pieces) <= maxNodes && len(g.upTo) == 0
}

// clone is a copy that lasts.
func (g *record) clone() *record {
	c := *g
	c.pieces, c.preds, c.predAt = slices.Clone(g.pieces), slices.Clone(g.preds), slices.Clone(g.predAt)
	c.byEnd, c.upTo, c.skipped = slices.Clone(g.byEnd), slices.Clone(g.upTo), slices.Clone(g.skipped)
	return &c
}

// nodes is the set of nodes of a record; ok is false where one is not tracked.
func (g *record) nodes() (set bitset, ok bool) {
	for i := range g.pieces {
		n := g.pieces[i].node
		if n < 0 {
			return set, false
		}
		set.add(int(n))
	}
	return set, true
}

// withRest is the record with all that its donor did after the call that ended the
// request here; nil: there is no donor.
func (g *record) withRest(p *player) *record {
	if g.arranged {
		if e := g.original.withRest(p); e != nil {
			return e.arrange(p.sc.order, p)
		}
		return nil
	}
	if g.rest == nil && !g.noRest {
		at := g.pieces[g.cause].node
		donor := g.donor(p, func(d *record, have bitset) bool {
			ended := never
			for i := range d.pieces {
				if q := &d.pieces[i]; q.node == at {
					ended = q.end()
				}
			}
			for i := range d.pieces {
				q := &d.pieces[i]
				if !have.has(int(q.node)) && q.start < ended || have.has(int(q.node)) && !q.aside && !q.outcome.Answered() {
					return false
				}
			}
			return true
		})
		if donor == nil {
			g.noRest = true
			return nil
		}
		have, _ := g.nodes()
		g.rest = g.extend(donor, func(n int32) bool { return !have.has(int(n)) }, true)
	}
	return g.rest
}

// withSkipped is the record with the calls that it skipped for lack of time, where
// the scenario decides anew; nil: it is as it was.
func (g *record) withSkipped(p *player) *record {
	if len(g.skipped) == 0 || !slices.ContainsFunc(g.skipped, func(m absent) bool { return p.sc.plans[m.dep].policed }) {
		return nil
	}
	if g.arranged {
		if e := g.original.withSkipped(p); e != nil {
			return e.arrange(p.sc.order, p)
		}
		return nil
	}
	if g.inserted == nil && !g.noMore {
		donor := g.donor(p, func(d *record, _ bitset) bool {
			return !slices.ContainsFunc(g.skipped, func(m absent) bool {
				return !slices.ContainsFunc(d.pieces, func(q piece) bool { return q.node == m.node && q.outcome.Answered() })
			})
		})
		if donor == nil {
			g.noMore = true
			return nil
		}
		g.inserted = g.extend(donor, func(n int32) bool {
			return slices.ContainsFunc(g.skipped, func(m absent) bool { return m.node == n })
		}, false)
	}
	return g.inserted
}

// donor chooses among the requests that hold all nodes of this one and fit.
func (g *record) donor(p *player, fits func(d *record, have bitset) bool) *record {
	have, ok := g.nodes()
	if !ok || len(g.upTo) > 0 {
		return nil
	}
	var list []*record
	for _, k := range p.donors.list {
		d := k.value
		theirs, _ := d.nodes()
		if d.key != g.key && theirs.holds(&have) && fits(d, have) {
			list = append(list, d)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[int(chance(p.seed, g.key, g.key.span, drawDonor, 0)*float64(len(list)))]
}

// holds reports whether all of c is in b.
func (b *bitset) holds(c *bitset) bool {
	n := 0
	for i := range b {
		n += bits.OnesCount64(c[i] &^ b[i])
	}
	return n == 0
}

// extend adds the donor's wanted calls to a copy of the record. They wait for what
// they waited for in the donor, as far as it is here. With end the request ends as
// the donor did, else when it would have and the new calls have ended too. What is new
// begins, and the request ends, when it would have beside what was recorded here: the times
// of the donor are of another request.
func (g *record) extend(donor *record, want func(int32) bool, end bool) *record {
	e := g.clone()
	e.skipped, e.rest, e.inserted = nil, nil, nil
	if end {
		e.cause, e.failed, e.timedOut = -1, false, false
		for i := range e.pieces {
			e.pieces[i].after = false
		}
	}
	ends := slices.Clone(e.of(len(g.pieces)))
	e.preds = e.preds[:e.predAt[len(g.pieces)]]
	e.predAt = e.predAt[:len(g.pieces)+1]
	place := map[int32]int32{} // by node
	for i := range e.pieces {
		place[e.pieces[i].node] = int32(i)
	}
	// The predecessors of a donor's piece, as places here. What is not here gives
	// way to what it waited for itself, which is found once: it came before.
	gone := map[int32][]int32{} // by place in the donor
	var waits func(i int) []int32
	waits = func(i int) (list []int32) {
		for _, k := range donor.of(i) {
			if at, ok := place[donor.pieces[k].node]; ok {
				list = append(list, at)
				continue
			}
			before, ok := gone[k]
			if !ok {
				before = waits(int(k))
				gone[k] = before
			}
			list = append(list, before...)
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	endsOf := map[int32]bool{}
	for _, k := range donor.of(len(donor.pieces)) {
		endsOf[k] = true
	}
	for i := range donor.pieces {
		q := donor.pieces[i]
		if !want(q.node) {
			continue
		}
		q.donated = true
		before := waits(i)
		q.start = e.latest(before) + q.gap
		e.preds = append(e.preds, before...)
		e.predAt = append(e.predAt, int32(len(e.preds)))
		place[q.node] = int32(len(e.pieces))
		if !end && endsOf[int32(i)] {
			ends = append(ends, int32(len(e.pieces)))
		}
		e.pieces = append(e.pieces, q)
	}
	if end {
		ends = waits(len(donor.pieces))
		e.gap = donor.gap
	}
	e.preds = append(e.preds, ends...)
	e.predAt = append(e.predAt, int32(len(e.preds)))
	e.duration = e.latest(ends) + e.gap
	return e
}

// latest is the latest recorded end of pieces; 0: there are none.
func (g *record) latest(list []int32) (end time.Duration) {
	for _, i := range list {
		end = max(end, g.pieces[i].end())
	}
	return end
}

// An Arrangement is the order in which a request makes its calls.
type Arrangement string

const (
	AsRecorded Arrangement = ""
	Sequential Arrangement = "sequential" // each call begins when the one before it ends
	Parallel   Arrangement = "parallel"   // all begin when the first one did
)

// arrange is the record with its calls in another order. Own work keeps its
// length: what lay between calls comes after them. Calls that nobody waited for
// stay where they were.
func (g *record) arrange(order Arrangement, p *player) *record {
	e := g.clone()
	e.arranged, e.original = true, g
	slices.SortStableFunc(e.pieces, func(x, y piece) int { return int(min(max(x.start-y.start, -1), 1)) })
	e.cause = -1
	e.byEnd, e.upTo, e.preds, e.predAt = nil, nil, nil, nil
	first, reached, covered := never, time.Duration(0), time.Duration(0)
	for i := range e.pieces {
		c := &e.pieces[i]
		c.after = false
		if g.cause >= 0 && c.span == g.pieces[g.cause].span {
			e.cause = int32(i)
		}
		if c.aside {
			continue
		}
		if first == never {
			first, reached = c.start, c.start
		}
		if end := c.end(); end > reached {
			covered += end - max(reached, c.start)
			reached = end
		}
	}
	var ends []int32
	last := int32(-1)
	minimums := time.Duration(0) // of required calls still ahead
	for i := range e.pieces {
		if c := &e.pieces[i]; !c.aside {
			minimums += p.weightOf(c.dep)
		}
	}
	for i := range e.pieces {
		c := &e.pieces[i]
		e.predAt = append(e.predAt, int32(len(e.preds)))
		if c.aside {
			c.gap = c.start
			continue
		}
		minimums -= p.weightOf(c.dep)
		c.gap, c.reserve = first, p.table.tail
		if order == Sequential {
			c.reserve += minimums
			if last >= 0 {
				e.preds = append(e.preds, last)
				c.gap = 0
				ends = ends[:0]
			}
		}
		last = int32(i)
		ends = append(ends, last)
	}
	e.predAt = append(e.predAt, int32(len(e.preds)))
	e.preds = append(e.preds, ends...)
	e.predAt = append(e.predAt, int32(len(e.preds)))
	e.gap = g.duration
	if last >= 0 {
		e.gap = g.duration - first - covered
	}
	return e
}
