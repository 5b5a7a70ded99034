package analyze

import (
	"math"
	"slices"
	"strings"
	"time"
)

// A scenario is what a replay changes.
type scenario struct {
	plans []depPlan // by dependency
	order Arrangement
}

// A depPlan is how calls to one dependency are made in a scenario.
type depPlan struct {
	required bool
	policed  bool          // timeouts are the scenario's; else recorded cuts stay cut
	shared   bool          // min(left - reserve, ceiling), not made below the minimum
	ceiling  time.Duration // 0: none
	minimum  time.Duration
	attempts int           // 0: as recorded
	base     time.Duration // of back-off
	on       []string      // what to try again on; none: all that is no answer
	hedge    time.Duration // delay of the second copy; 0: none
	factor   float64       // of every length
	without  bool          // calls are not made, and not missed
	failing  Quantile      // share of calls that get no answer
	now      time.Duration // timeout that is seen in use; 0: none is known
}

// A world is how a replay takes what the record leaves open.
type world uint8

const (
	worst world = iota // a second copy is as slow as the first; what is not known never answers
	best               // copies are independent; what is not known answers where it was cut
)

// A fate is what became of a call in a replay.
type fate struct {
	start, end time.Duration
	outcome    Outcome
	attempts   int
	made       bool
	left       bool // not made, since too little time was left
	gone       bool // taken out: neither made nor missed
}

// played is what became of a request.
type played struct {
	end      time.Duration
	ended    Ended
	timedOut bool
	failedAt time.Duration // when a call newly ended it; never: none did
	drawn    bool          // rests on a draw
	ranged   bool          // something is left open: the worlds differ
}

// A player replays records. Its fates are those of the last one.
type player struct {
	*replayer
	*replayRoute
	sc    *scenario
	world world
	g     *record
	fates []fate
	ends  []time.Duration // of fates
	drawn bool
	open  bool
}

// play replays a record in one world.
func (p *player) play(g *record, sc *scenario, w world) played {
	p.sc, p.world = sc, w
	if extended := g.withSkipped(p); extended != nil {
		g = extended
	}
	out := p.pass(g, false)
	if g.cause < 0 || out.failedAt != never || !p.fates[g.cause].outcome.Answered() && !p.fates[g.cause].gone {
		return out
	}
	// What ended the request ends it no more: what it cut is free, and what never
	// came to pass comes from a donor.
	out = p.pass(g, true)
	if out.failedAt != never {
		return out
	}
	if extended := g.withRest(p); extended != nil {
		out = p.pass(extended, true)
		out.drawn = true
		return out
	}
	out.ranged = true
	if w == worst {
		out.end, out.ended, out.timedOut = g.duration, Failed, g.timedOut
		return out
	}
	out.end = p.table.median
	for i := range p.fates {
		if !g.pieces[i].aside {
			out.end = max(out.end, plus(p.fates[i].end, p.table.median))
		}
	}
	return out
}

// pass makes the calls of a record, one after what it waits for. free: the
// recorded cause of a failure ends nothing.
func (p *player) pass(g *record, free bool) played {
	p.g, p.drawn, p.open = g, false, false
	p.fates = slices.Grow(p.fates[:0], len(g.pieces))[:len(g.pieces)]
	p.ends = slices.Grow(p.ends[:0], len(g.pieces))[:len(g.pieces)]
	reached := prefixMax{g: g, ends: p.ends}
	cause := int32(-1)
	if !free {
		cause = g.cause
	}
	for i := range g.pieces {
		piece := &g.pieces[i]
		start := plus(reached.latest(i), piece.gap)
		if cause >= 0 && piece.after {
			p.fates[i] = fate{start: start, end: start, outcome: piece.outcome, attempts: piece.attempts(), made: true}
			p.ends[i] = start
			continue
		}
		p.fates[i] = p.call(piece, start)
		p.drawn = p.drawn || piece.donated
		p.ends[i] = p.fates[i].end
	}
	out := played{failedAt: never}
	stays := g.failed && (cause >= 0 || g.cause < 0) // it fails as recorded, whatever else
	if cause >= 0 {
		by := &p.fates[cause]
		if by.gone || by.outcome.Answered() {
			stays = false
		}
		for i := range g.pieces {
			if piece := &g.pieces[i]; piece.after {
				p.ends[i] = max(p.fates[i].start, plus(by.end, piece.end()-g.pieces[cause].end()))
				p.fates[i].end = p.ends[i]
			}
		}
	}
	tail := time.Duration(0)
	for i := range g.pieces {
		piece, f := &g.pieces[i], &p.fates[i]
		recorded := !piece.donated && !piece.outcome.Answered() && !(free && g.cause >= 0 && piece.end() >= g.pieces[g.cause].end())
		switch {
		case piece.aside || !p.sc.plans[piece.dep].required || f.gone || !f.left && !f.outcome.fails():
		case cause >= 0 && piece.after:
		case recorded && !(g.arranged && int32(i) == g.cause): // it failed then, too: the request lived with it, or its own end tells
		case f.end < out.failedAt:
			out.failedAt = f.end
			tail = p.errorTail
			if recorded {
				tail = g.duration - piece.end()
			}
			out.timedOut = f.outcome.Cut()
		}
	}
	if stays && cause >= 0 && !g.arranged && out.failedAt >= p.fates[cause].end {
		out.failedAt = never
	}
	if out.failedAt != never {
		out.end, out.ended = plus(out.failedAt, tail), Failed
		out.timedOut = out.timedOut && g.limited && out.end >= g.budget-time.Millisecond
		for i := range p.fates {
			f := &p.fates[i]
			if f.start >= out.failedAt && !(f.left && f.end == out.failedAt) {
				f.made, f.left, f.gone = false, false, false
			} else if f.made && f.end > out.failedAt && !g.pieces[i].aside {
				f.end, f.outcome = out.failedAt, CancelledCaller
			}
		}
		out.drawn, out.ranged = p.drawn, p.open
		return out
	}
	out.end = plus(reached.latest(len(g.pieces)), g.gap)
	out.drawn, out.ranged = p.drawn, p.open
	switch {
	case stays:
		out.ended, out.timedOut = Failed, g.timedOut
	case p.missesOptional(out.end):
		out.ended = PartlyOK
	default:
		out.ended = Complete
	}
	return out
}

// fails reports whether a call that ended so was no use to its request.
func (o Outcome) fails() bool { return o.Cut() || o.Bad() }

// missesOptional reports whether an optional part was late, failed or skipped.
func (p *player) missesOptional(end time.Duration) bool {
	for i := range p.g.pieces {
		piece, f := &p.g.pieces[i], &p.fates[i]
		if p.sc.plans[piece.dep].required || f.gone {
			continue
		}
		if f.left || f.outcome.fails() || piece.aside && !piece.message && f.end > end {
			return true
		}
	}
	for _, m := range p.g.skipped {
		if !p.sc.plans[m.dep].required {
			return true
		}
	}
	return false
}

// A prefixMax gives the latest new end of what a piece waits for. With byEnd the
// prefixes grow, and so does the maximum.
type prefixMax struct {
	g    *record
	ends []time.Duration // new ends of the pieces
	n    int32
	most time.Duration
}

func (m *prefixMax) latest(i int) time.Duration {
	if len(m.g.upTo) > 0 {
		for ; m.n < m.g.upTo[i]; m.n++ {
			m.most = max(m.most, m.ends[m.g.byEnd[m.n]])
		}
		return m.most
	}
	most := time.Duration(0)
	for _, k := range m.g.of(i) {
		most = max(most, m.ends[k])
	}
	return most
}

func (p *piece) attempts() int { return max(1, len(p.tries)) }

// call makes one call that starts at a time.
func (p *player) call(c *piece, start time.Duration) fate {
	plan := &p.sc.plans[c.dep]
	switch {
	case plan.without:
		return fate{start: start, end: start, gone: true}
	case c.aside, c.message, c.outcome == Skipped, c.outcome == Unfinished:
		f := fate{start: start, end: plus(start, plan.scaled(c.length)), outcome: c.outcome, attempts: c.attempts(), made: true}
		return f
	case plan.hedge > 0:
		return p.hedged(c, plan, start)
	case plan.attempts > 0:
		return p.retried(c, plan, start)
	case plan.changes() && c.separable():
		return p.repeated(c, plan, start)
	}
	lead := time.Duration(0)
	last := tried{length: c.length, outcome: c.outcome, code: c.code, known: c.known}
	if n := len(c.tries); n > 0 {
		// The attempts of the record are kept together: what bounds the call bounds the last.
		lead = min(plan.scaled(c.tries[n-1].start), plan.scaled(c.length))
		last.length, last.known = max(0, c.length-c.tries[n-1].start), c.tries[n-1].known
	}
	timeout, skip := p.timeout(c, plan, last, start, lead)
	if skip {
		return fate{start: start, end: start, outcome: Skipped, left: true}
	}
	if timeout != never {
		timeout = max(0, timeout-lead)
	}
	a := p.attempt(c, plan, last, timeout, 0)
	return fate{start: start, end: plus(plus(start, lead), a.length), outcome: a.outcome, attempts: c.attempts(), made: true}
}

// changes reports whether calls may end otherwise than they did.
func (d *depPlan) changes() bool {
	return d.policed || d.ceiling > 0 || d.factor != 1 || d.failing > 0
}

// scaled is a length as the scenario has it.
func (d *depPlan) scaled(t time.Duration) time.Duration {
	if d.factor == 1 {
		return t
	}
	return lasting(float64(t) * d.factor)
}

// longest is the longest time that is told from never.
const longest = never - 1

// lasting is a time in whole nanoseconds; what is longer than the longest is the longest.
func lasting(ns float64) time.Duration {
	if ns >= float64(longest) {
		return longest
	}
	return time.Duration(math.Round(ns))
}

// plus adds a length to a time. What would be later than the longest is the longest: clocks
// that are wrong by decades make such times, and many times as long makes them longer.
func plus(at, length time.Duration) time.Duration {
	if at > 0 && length > longest-at {
		return longest
	}
	return at + length
}

// timeout is how long a call that starts at a time may take; never: no end to
// it. lead is what goes before the attempt t, to which the ceiling applies. Where the scenario
// has no timeout, what was cut is cut again when it was, and what is seen in use holds
// for what takes longer than recorded.
func (p *player) timeout(c *piece, plan *depPlan, t tried, start, lead time.Duration) (timeout time.Duration, skip bool) {
	timeout = never
	if plan.ceiling > 0 {
		timeout = plus(lead, plan.ceiling)
	}
	if plan.shared && p.g.limited {
		timeout = min(timeout, p.g.budget-min(plus(start, c.reserve), longest/2))
		if timeout < plan.minimum || timeout <= 0 {
			return 0, true
		}
	}
	if plan.policed || plan.ceiling > 0 {
		return timeout, false
	}
	switch {
	case t.outcome.Cut() || c.outcome == CancelledRace:
		timeout = plus(lead, t.length)
	case plan.now > 0 && plan.changes():
		timeout = plus(lead, max(plan.now, t.length))
	}
	return timeout, false
}

// attempt makes one attempt that may take timeout. n tells those of one call apart.
func (p *player) attempt(c *piece, plan *depPlan, t tried, timeout time.Duration, n int) tried {
	cut := tried{length: timeout, outcome: ReadTimeout}
	if t.outcome.Cut() || t.outcome == CancelledRace && c.outcome == CancelledRace { // of a call that was answered, a loser runs on until it is cut
		cut.outcome = t.outcome
	}
	if plan.failing > 0 {
		if chance(p.seed, p.g.key, c.span, drawFailing, n) < plan.failing.fraction() {
			p.drawn = true
			if timeout == never {
				cut.length = plan.scaled(t.length)
			}
			return cut
		}
		p.drawn = true
	}
	length := plan.scaled(t.length)
	switch {
	case t.outcome.Cut(), t.outcome == CancelledRace:
		switch {
		case length >= timeout:
			return cut
		case t.known > 0:
			length = plan.scaled(t.known)
		default:
			u := chance(p.seed, p.g.key, c.span, drawLatency, n)
			latency, ok := p.survivals.of(c.dep).beyond(t.length, u)
			switch {
			case ok:
				p.drawn = true
				length = plan.scaled(latency)
			case p.world == best:
				p.open = true
				length = plan.scaled(latency)
			default:
				p.open = true
				if timeout == never {
					cut.length = length
				}
				return cut
			}
		}
		if length > timeout {
			return cut
		}
		return tried{length: length, outcome: OutcomeOK}
	case length > timeout:
		return cut
	}
	return tried{length: length, outcome: t.outcome, code: t.code}
}

// first is the first attempt of a call, as recorded.
func (c *piece) first() tried {
	if len(c.tries) > 0 {
		return c.tries[0]
	}
	return tried{length: c.length, outcome: c.outcome, code: c.code, known: c.known}
}

// repeated makes the attempts of the record again, until one is given the time to answer:
// a retry after those before it have ended, and the wait that was recorded; a hedge as long
// after the attempt before it as was recorded, if none has answered by then.
//
//	recorded  [==a==] wait [==b==        a copy  [==a==|        slower  [====a====|
//	slower    [====a====] wait [====b===         [  hedge]              [  ====hedge]
//
// A copy that lost its race is asked for its answer last, and only if that can have come
// before the one that won: it took longer than it was given.
func (p *player) repeated(c *piece, plan *depPlan, start time.Duration) fate {
	f := fate{start: start, end: start, made: true}
	answer := never
	try := func(n int, at, timeout time.Duration) (end time.Duration) {
		a := p.attempt(c, plan, c.tries[n], timeout, n)
		end = plus(at, a.length)
		switch {
		case a.outcome.Answered() && end < answer:
			answer, f.end, f.outcome = end, end, a.outcome
		case answer == never:
			f.end, f.outcome = end, a.outcome
		}
		return end
	}
	type made struct{ at, timeout time.Duration }
	var all []made
	var reached, before time.Duration // latest end of all so far, as made and as recorded
	for n := range c.tries {
		t := &c.tries[n]
		at := plus(start, t.start)
		switch {
		case n > 0 && t.hedge:
			at = plus(all[n-1].at, t.start-c.tries[n-1].start)
		case n > 0:
			at = plus(reached, t.start-before)
		}
		if answer <= at {
			break
		}
		timeout, skip := p.timeout(c, plan, *t, at, 0)
		if skip && n == 0 {
			return fate{start: start, end: start, outcome: Skipped, left: true}
		} else if skip {
			break
		}
		all = append(all, made{at, timeout})
		if t.outcome != CancelledRace {
			reached, before = max(reached, try(n, at, timeout)), max(before, t.start+t.length)
		}
	}
	for n, m := range all {
		if t := &c.tries[n]; t.outcome == CancelledRace && m.at < answer && plus(m.at, min(plan.scaled(t.length), m.timeout)) < answer {
			try(n, m.at, m.timeout)
		}
	}
	for _, m := range all {
		if m.at < answer {
			f.attempts++
		}
	}
	f.end = plus(f.end, c.length-c.decided()) // what a span around the attempts took besides
	return f
}

// again is the n-th attempt (from 1) after the first: as recorded, else like an
// attempt of the same time, or like the one before.
func (p *player) again(c *piece, plan *depPlan, first tried, start, timeout time.Duration, n int, hedge bool) tried {
	k := 0
	for _, t := range c.tries[min(1, len(c.tries)):] {
		if t.hedge != hedge {
			continue
		}
		if k++; k == n {
			return p.attempt(c, plan, t, timeout, n)
		}
	}
	other, ok := p.pools[c.dep].like(p.g.key, p.g.start+int64(start), chance(p.seed, p.g.key, c.span, drawCopy, n))
	if ok {
		p.open = true
		if p.world == best {
			p.drawn = true
			return p.attempt(c, plan, other, timeout, n)
		}
	}
	// The same cause: as slow, and as bad.
	if timeout != never && (first.outcome.Cut() || first.length > timeout) {
		return tried{length: timeout, outcome: ReadTimeout}
	}
	return first
}

// retried makes a call in up to plan.attempts attempts, with exponential back-off
// and full jitter:
//
//	wait before attempt k+1 = uniform in [0, base * 2^(k-1)]
//
// No wait is begun unless a call still fits after it.
func (p *player) retried(c *piece, plan *depPlan, start time.Duration) fate {
	timeout, skip := p.timeout(c, plan, c.first(), start, 0)
	if skip {
		return fate{start: start, end: start, outcome: Skipped, left: true}
	}
	f := fate{start: start, made: true}
	a := p.attempt(c, plan, c.first(), timeout, 0)
	for at := start; ; {
		f.attempts++
		f.end, f.outcome = plus(at, a.length), a.outcome
		if !a.outcome.fails() || f.attempts >= plan.attempts || !plan.retries(&a) {
			return f
		}
		u := 0.0
		if plan.base > 0 {
			u = chance(p.seed, p.g.key, c.span, drawWait, f.attempts)
			p.drawn = true
		}
		at = plus(f.end, lasting(math.Floor(u*float64(plan.base)*math.Exp2(float64(f.attempts-1)))))
		if timeout, skip = p.timeout(c, plan, a, at, 0); skip {
			return f
		}
		a = p.again(c, plan, a, at, timeout, f.attempts, false)
	}
}

// retries reports whether a failed attempt is one to try again.
func (d *depPlan) retries(a *tried) bool {
	if len(d.on) == 0 {
		return true
	}
	return slices.ContainsFunc(d.on, func(code string) bool {
		switch {
		case strings.EqualFold(code, a.code) && code != "", strings.EqualFold(code, a.outcome.String()):
			return true
		case strings.EqualFold(code, "timeout"), strings.EqualFold(code, "deadline_exceeded"), strings.EqualFold(code, "deadline-exceeded"):
			return a.outcome.Cut()
		case strings.EqualFold(code, "unavailable"):
			return a.outcome == Refused || a.outcome == ConnectError || a.code == "503"
		}
		return false
	})
}

// hedged makes a call, and a second copy if the first still runs after the delay.
// The first good answer is taken, and the other copy cancelled.
func (p *player) hedged(c *piece, plan *depPlan, start time.Duration) fate {
	timeout, skip := p.timeout(c, plan, c.first(), start, 0)
	if skip {
		return fate{start: start, end: start, outcome: Skipped, left: true}
	}
	a := p.attempt(c, plan, c.first(), timeout, 0)
	f := fate{start: start, end: plus(start, a.length), outcome: a.outcome, attempts: 1, made: true}
	if a.length <= plan.hedge {
		return f
	}
	sent := plus(start, plan.hedge)
	timeout, skip = p.timeout(c, plan, c.first(), sent, 0)
	if skip {
		return f
	}
	f.attempts = 2
	b := p.again(c, plan, a, sent, timeout, 1, true)
	end := plus(sent, b.length)
	switch {
	case b.outcome.fails() && a.outcome.fails():
		if end > f.end {
			f.end, f.outcome = end, b.outcome
		}
	case !b.outcome.fails() && (a.outcome.fails() || end < f.end):
		f.end, f.outcome = end, b.outcome
	}
	return f
}
