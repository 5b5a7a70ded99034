package analyze

import "time"

// An endTally counts how requests ended, and their calls.
type endTally struct {
	requests, withDeadline        int
	complete, partial, failed     int
	late, timedOut                int
	completeInTime, partInTime    int
	calls, skipped, cut, attempts int
}

// end counts how a request ended.
func (t *endTally) end(g *record, end time.Duration, ended Ended, timedOut bool) {
	t.requests++
	late := g.limited && end > g.budget
	inTime := 0
	if g.limited {
		t.withDeadline++
		if !late {
			inTime = 1
		}
	}
	switch ended {
	case Failed:
		t.failed++
		if timedOut {
			t.timedOut++
		}
		return
	case PartlyOK:
		t.partial++
		t.partInTime += inTime
	default:
		t.complete++
		t.completeInTime += inTime
	}
	if late {
		t.late++
	}
}

// A depTally counts the calls to a dependency.
type depTally struct {
	calls, skipped, cut, attempts int
	took                          sum // over the calls that were made: of how long they took
}

func (d depTally) plus(e depTally) depTally {
	d.took.add(e.took)
	return depTally{d.calls + e.calls, d.skipped + e.skipped, d.cut + e.cut, d.attempts + e.attempts, d.took}
}

// A scenarioSum adds up the replays of a route's requests under a scenario, in
// both worlds.
type scenarioSum struct {
	worlds    [2]endTally
	same      [2]Sample    // lengths that are alike in both worlds: answered, failed
	apart     [2][2]Sample // by world: the others
	drawn     int
	bounded   int
	saved     [2]int // by world: was late or failed, is in time
	lost      [2]int // the reverse
	lateAgain [2]int // was late or failed, and is so again
}

// add adds a request: low is its worst, high its best.
func (s *scenarioSum) add(g *record, low, high played) {
	s.worlds[worst].end(g, low.end, low.ended, low.timedOut)
	s.worlds[best].end(g, high.end, high.ended, high.timedOut)
	if low.drawn || high.drawn {
		s.drawn++
	}
	if low.end == high.end && low.ended == high.ended {
		s.same[latencyOf(low.ended)].Add(low.end)
	} else {
		s.bounded++
		s.apart[worst][latencyOf(low.ended)].Add(low.end)
		s.apart[best][latencyOf(high.ended)].Add(high.end)
	}
	was := g.bad(g.duration, g.ended)
	for w, out := range [...]played{worst: low, best: high} {
		switch is := g.bad(out.end, out.ended); {
		case was && !is:
			s.saved[w]++
		case !was && is:
			s.lost[w]++
		case was && is:
			s.lateAgain[w]++
		}
	}
}

// latencyOf is 1 for failed requests, whose lengths are kept apart.
func latencyOf(e Ended) int {
	if e == Failed {
		return 1
	}
	return 0
}

// bad reports whether an end is of no use: failed, or late.
func (g *record) bad(end time.Duration, ended Ended) bool {
	return ended == Failed || g.limited && end > g.budget
}

// count adds the calls of the last replay. deps are tallies by dependency; nil:
// nobody wants them.
func (s *scenarioSum) count(p *player, w world, deps []depTally) {
	all := &s.worlds[w]
	for i := range p.fates {
		f := &p.fates[i]
		var d depTally
		if f.left {
			d.skipped = 1
		}
		if f.made {
			d.calls, d.attempts, d.took = 1, f.attempts, sum{0, uint64(f.end - f.start)}
			if f.outcome.Cut() {
				d.cut = 1
			}
		}
		all.calls += d.calls
		all.skipped += d.skipped
		all.attempts += d.attempts
		all.cut += d.cut
		if deps != nil {
			to := &deps[p.g.pieces[i].dep]
			*to = to.plus(d)
		}
	}
	all.skipped += len(p.g.skipped)
	for _, m := range p.g.skipped {
		if deps != nil {
			deps[m.dep].skipped++
		}
	}
	all.calls += p.g.open
	all.attempts += p.g.tries
}

// observe counts a request as it was recorded.
func (t *replayRoute) observe(q *request, g *record) {
	t.weights.add(q.weight)
	t.observed.end(g, g.duration, g.ended, g.timedOut)
	t.latencies[latencyOf(g.ended)].Add(g.duration)
	for k := range q.calls {
		t.observed.calls++
		t.observed.attempts += len(q.calls[k].attempts)
		if c := &q.calls[k]; !c.unfinished && c.outcome.Cut() {
			t.observed.cut++
		}
	}
	t.observed.skipped += len(q.skipped)
}

// observe counts the calls of a request by dependency, as recorded.
func (r *replayer) observe(q *request, g *record) {
	for k := range q.calls {
		c := &q.calls[k]
		d := &r.seen[c.dep]
		d.calls++
		d.attempts += len(c.attempts)
		if !c.unfinished {
			d.took.add(sum{0, uint64(c.end - c.start)})
			if c.outcome.Cut() {
				d.cut++
			}
		}
	}
	for _, s := range q.skipped {
		r.seen[s.dep].skipped++
	}
}
