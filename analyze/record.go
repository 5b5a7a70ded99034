package analyze

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"overrun/ingest"
)

// A record is a request made ready for replay: its whole group of calls, each with
// the calls it waits for and its own work after the last of them.
//
//	start(d) = latest new end of its predecessors + gap(d)
//	gap(d)   = recorded start(d) - latest recorded end of its predecessors
//
// The end of the request is one more node. Where no length changes, every
// start, every end and the duration are the recorded ones, exactly.
// Source: Chow et al., The Mystery Machine, OSDI 2014, section 4.
type record struct {
	key      replayKey
	start    int64 // Unix nanoseconds
	duration time.Duration
	budget   time.Duration // valid with limited
	limited  bool          // there is a deadline
	failed   bool          // what the record says
	timedOut bool
	ended    Ended
	pieces   []piece // each after those it waits for
	open     int     // calls without an end, which no replay moves
	tries    int     // attempts of those
	arranged bool    // in another order than the recorded one

	preds  []int32       // predecessors of all pieces, and of the end
	predAt []int32       // by piece: where its predecessors begin; then those of the end, and the end of all
	gap    time.Duration // of the end
	byEnd  []int32       // with more than maxNodes pieces, in place of preds: pieces by recorded end
	upTo   []int32       // by piece, then the end: it waits for byEnd[:upTo]
	timed  bool          // some order rests on the times of this request alone

	cause   int32    // index of the required call whose failure ended the request; -1: none
	skipped []absent // calls that were not made for lack of time: inferred

	original       *record // with arranged: as recorded
	rest, inserted *record // with the calls of a donor, once asked for
	noRest, noMore bool    // there is no donor
}

// A replayKey names a request, for draws that depend on nothing else.
type replayKey struct {
	trace ingest.TraceID
	span  ingest.SpanID
}

// An absent is a call that a record lacks. node is -1 where no request of the
// route shows which it would be.
type absent struct{ dep, node int32 }

// A piece is a call of a record, as it was.
type piece struct {
	node, dep int32
	call      int32 // index in its request
	span      ingest.SpanID
	start     time.Duration
	length    time.Duration
	gap       time.Duration // own work before it, after the last of its predecessors
	reserve   time.Duration
	outcome   Outcome
	code      string        // of a bad answer
	known     time.Duration // as of its one attempt
	tries     []tried       // its attempts, where there are several
	aside     bool          // nobody waited for it
	message   bool          // it stays as it is
	after     bool          // it was cut as, or after, the cause ended: a consequence
	donated   bool          // of another request
}

func (p *piece) end() time.Duration { return p.start + p.length }

// A tried is one attempt of several.
type tried struct {
	start   time.Duration // since the start of the call
	length  time.Duration
	outcome Outcome
	code    string
	hedge   bool
	known   time.Duration // how long the answer took of one that was cut, where the callee's span tells; 0: not known
}

// record makes a request ready. The result shares nothing with it but strings,
// and is valid until the next call with the same g.
func (a *Analysis) record(r *request, g *record) {
	*g = record{key: replayKey{r.trace, r.span}, start: r.start, duration: r.duration, failed: r.failed, timedOut: r.timedOut,
		ended: r.ended, cause: -1, pieces: g.pieces[:0], preds: g.preds[:0], predAt: g.predAt[:0], byEnd: g.byEnd[:0], upTo: g.upTo[:0]}
	if r.deadline != nil {
		g.limited, g.budget = true, r.deadline.budget
	}
	calls := r.settled(make([]*call, 0, len(r.calls)))
	for k := range r.calls {
		if c := &r.calls[k]; c.unfinished {
			g.open++
			g.tries += len(c.attempts)
		}
	}
	order := &r.table.order
	nodes := order.nodes.number(calls, nil, false)
	for k := range r.calls {
		if c := &r.calls[k]; !c.unfinished {
			g.pieces = append(g.pieces, newPiece(c, nodes[len(g.pieces)]))
			g.pieces[len(g.pieces)-1].call = int32(k)
		}
	}
	for _, s := range r.skipped {
		g.skipped = append(g.skipped, absent{s.dep, order.free(s.dep, nodes, g.skipped)})
	}
	if len(g.pieces) > maxNodes {
		g.linkByTime()
	} else {
		g.link(order, r.eps)
	}
	g.findCause(a)
}

func newPiece(c *call, node int32) piece {
	p := piece{node: node, dep: c.dep, span: c.span, start: c.start, length: c.end - c.start, reserve: c.reserve,
		outcome: c.outcome, aside: !c.awaited, message: c.messaging}
	last := &c.attempts[len(c.attempts)-1]
	p.code = last.code
	if len(c.attempts) == 1 {
		p.known = last.answeredIn(c.outcome, c.start)
	} else {
		p.tries = make([]tried, len(c.attempts))
		for i := range c.attempts {
			t := &c.attempts[i]
			p.tries[i] = tried{t.start - c.start, t.end - t.start, t.outcome, t.code, t.hedge, t.answeredIn(t.outcome, t.start)}
		}
	}
	return p
}

// answeredIn is how long the answer took, counted from an instant, of an attempt that was
// cut while its callee ran on; 0: not known.
func (t *attempt) answeredIn(as Outcome, from time.Duration) time.Duration {
	if !as.Cut() || t.calleeEnd == 0 || !t.calleeOK {
		return 0
	}
	return max(0, t.calleeEnd+t.leg-from)
}

// separable reports whether the record tells why each attempt began: the first with the
// call, a hedge beside the one before it, and a retry because all before it had failed.
func (p *piece) separable() bool {
	failed := true
	for i := range p.tries {
		if i > 0 && !p.tries[i].hedge && !failed {
			return false
		}
		failed = failed && p.tries[i].outcome.fails()
	}
	return len(p.tries) > 0
}

// decided is when the first answer came, or else the last attempt ended, since the start of
// the call.
func (p *piece) decided() time.Duration {
	at := never
	for i := range p.tries {
		if t := &p.tries[i]; t.outcome.Answered() {
			at = min(at, t.start+t.length)
		}
	}
	if last := &p.tries[len(p.tries)-1]; at == never {
		return last.start + last.length
	}
	return at
}

// A bitset holds positions of up to maxNodes pieces.
type bitset [maxNodes / 64]uint64

func (b *bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b *bitset) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b *bitset) union(c *bitset) {
	for i := range b {
		b[i] |= c[i]
	}
}

// link gives every piece its predecessors. By their middles pieces are in an
// order in which none comes before what it waits for. A predecessor of a
// predecessor is left out where it can never be the later of the two.
func (g *record) link(o *order, eps time.Duration) {
	slices.SortStableFunc(g.pieces, func(x, y piece) int { // by the middle, of which twice may be too much
		return cmp.Or(cmp.Compare(x.start+x.length/2, y.start+y.length/2), cmp.Compare(x.length%2, y.length%2))
	})
	hidden := make([]bitset, len(g.pieces)) // by piece: those that end no later than it, whatever changes
	for j := range g.pieces {
		d := &g.pieces[j]
		g.predAt = append(g.predAt, int32(len(g.preds)))
		var covered bitset
		latest := time.Duration(0)
		for i := j - 1; i >= 0; i-- {
			c := &g.pieces[i]
			if c.aside || covered.has(i) || !waitedFor(c.start, c.end(), d.start, d.end(), eps) {
				continue
			}
			switch o.claim(c.node, d.node) {
			case refuted:
				continue
			case unclaimed:
				g.timed = true
			}
			g.preds = append(g.preds, int32(i))
			latest = max(latest, c.end())
			covered.add(i)
			covered.union(&hidden[i])
		}
		if d.gap = d.start - latest; d.gap >= 0 {
			hidden[j] = covered
		}
	}
	g.predAt = append(g.predAt, int32(len(g.preds)))
	var covered bitset
	latest := time.Duration(0)
	for i := len(g.pieces) - 1; i >= 0; i-- {
		c := &g.pieces[i]
		if c.aside || covered.has(i) || c.end() > g.duration+eps {
			continue
		}
		g.preds = append(g.preds, int32(i))
		latest = max(latest, c.end())
		covered.add(i)
		covered.union(&hidden[i])
	}
	g.gap = g.duration - latest
	g.predAt = append(g.predAt, int32(len(g.preds)))
}

// linkByTime makes every piece wait for all that ended before it began. There are
// too many for pairs: those that it waits for are a prefix of the pieces by end.
func (g *record) linkByTime() {
	g.timed = true
	for i := range g.pieces {
		if !g.pieces[i].aside {
			g.byEnd = append(g.byEnd, int32(i))
		}
	}
	slices.SortStableFunc(g.byEnd, func(x, y int32) int {
		p, q := &g.pieces[x], &g.pieces[y]
		return cmp.Or(cmp.Compare(p.end(), q.end()), cmp.Compare(p.start, q.start))
	})
	for i := range g.pieces {
		d := &g.pieces[i]
		n := sort.Search(len(g.byEnd), func(k int) bool {
			c := &g.pieces[g.byEnd[k]]
			return c.end() > d.start || c.end() == d.start && c.start >= d.start
		})
		g.upTo = append(g.upTo, int32(n))
		d.gap = d.start - g.latestOf(n)
	}
	n := sort.Search(len(g.byEnd), func(k int) bool { return g.pieces[g.byEnd[k]].end() > g.duration })
	g.upTo = append(g.upTo, int32(n))
	g.gap = g.duration - g.latestOf(n)
}

func (g *record) latestOf(n int) time.Duration {
	if n == 0 {
		return 0
	}
	return max(0, g.pieces[g.byEnd[n-1]].end())
}

// of gives the predecessors of piece i, or with i = len(pieces) of the end.
func (g *record) of(i int) []int32 {
	if len(g.byEnd) > 0 || len(g.upTo) > 0 {
		return g.byEnd[:g.upTo[i]]
	}
	return g.preds[g.predAt[i]:g.predAt[i+1]]
}

// causes reports whether p rather than q ended the request that both are of.
func (p *piece) causes(q *piece) bool {
	if p.end() != q.end() {
		return p.end() < q.end()
	}
	return q.outcome == CancelledCaller && p.outcome != CancelledCaller
}

// findCause looks for the required call whose failure ended a failed request: the
// first to end among those after whose end no call began. Of those that ended at once
// it is one that its caller did not cancel, as that is a consequence.
func (g *record) findCause(a *Analysis) {
	if !g.failed {
		return
	}
	last := time.Duration(0)
	for i := range g.pieces {
		if p := &g.pieces[i]; !p.aside { // it may begin when all is over
			last = max(last, p.start)
		}
	}
	for i := range g.pieces {
		p := &g.pieces[i]
		if p.aside || p.outcome.Answered() || p.outcome == CancelledRace || !a.deps[p.dep].required || p.end() < last || p.end() > g.duration+time.Millisecond {
			continue
		}
		if g.cause < 0 || p.causes(&g.pieces[g.cause]) {
			g.cause = int32(i)
		}
	}
	if g.cause < 0 {
		return
	}
	// What another call waited for is no consequence, even if it ended with the
	// cause, or a trifle after it.
	at := g.pieces[g.cause].end()
	n := len(g.pieces)
	waited := make([]bool, n)
	if len(g.upTo) > 0 {
		for _, k := range g.byEnd[:g.upTo[n-1]] { // the longest prefix holds all others
			waited[k] = true
		}
	}
	for i := n - 1; i >= 0; i-- {
		p := &g.pieces[i]
		p.after = int32(i) != g.cause && !waited[i] && p.end() >= at && (p.outcome.Cut() || p.outcome == CancelledRace)
		if len(g.upTo) == 0 {
			for _, k := range g.of(i) {
				waited[k] = true
			}
		}
	}
}

// slack says how much each piece can lengthen without moving the end of the
// request; -1 where nothing waited for it.
//
//	slack(c) = min over d that wait for c, the end among them, of
//	           slack(d) + latest recorded end of d's predecessors - end(c)
func (g *record) slack() []time.Duration {
	n := len(g.pieces)
	room := make([]time.Duration, n) // never: nothing waits
	for i := range room {
		room[i] = never
	}
	if len(g.upTo) > 0 {
		g.slackByTime(room)
	} else {
		for j := n; j >= 0; j-- {
			own, begins := time.Duration(0), g.duration-g.gap
			if j < n {
				if own = room[j]; own == never {
					continue
				}
				begins = g.pieces[j].start - g.pieces[j].gap
			}
			for _, i := range g.of(j) {
				room[i] = min(room[i], own+begins-g.pieces[i].end())
			}
		}
	}
	for i := range room {
		if room[i] == never {
			room[i] = -1
		}
	}
	return room
}

// slackByTime is slack where what a piece is waited for by is a suffix of the
// pieces by start.
func (g *record) slackByTime(room []time.Duration) {
	n := len(g.pieces)
	place := make([]int32, n) // in byEnd; n: in none
	for i := range place {
		place[i] = int32(n)
	}
	for k, i := range g.byEnd {
		place[i] = int32(k)
	}
	// Pieces come by start, so that upTo does not fall. least[i]: over those from
	// i on, the least of slack + latest end before it.
	least := make([]time.Duration, n+1)
	least[n] = never
	for i := n - 1; i >= 0; i-- {
		p := &g.pieces[i]
		if int(place[i]) < n {
			k := sort.Search(n, func(j int) bool { return g.upTo[j] > place[i] })
			if k > i && least[k] != never {
				room[i] = least[k] - p.end()
			}
			if g.upTo[n] > place[i] {
				room[i] = min(room[i], g.duration-g.gap-p.end())
			}
		}
		least[i] = least[i+1]
		if room[i] != never {
			least[i] = min(least[i], room[i]+p.start-p.gap)
		}
	}
}
