package analyze

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"overrun/ingest"
)

// A dependency is whom a call goes to, as seen from one caller.
// split is the value of Options.SplitBy, "" without.
type dependency struct{ caller, callee, operation, split string }

func (d dependency) compare(e dependency) int {
	return cmp.Or(cmp.Compare(d.caller, e.caller), cmp.Compare(d.callee, e.callee), cmp.Compare(d.operation, e.operation), cmp.Compare(d.split, e.split))
}

// An attempt is one try of a call. Its times are those of the trace until
// groupCalls makes them offsets from the start of its request.
type attempt struct {
	span        ingest.SpanID
	start, end  time.Duration
	outcome     Outcome
	code        string // HTTP status or gRPC code of a bad answer; "": none recorded
	hedge       bool   // began while an earlier attempt of the same call ran
	unfinished  bool
	index       int    // resends before it, as recorded; 0: first, or not recorded
	hidden      int    // resends inside it that cannot be told apart
	how         string // rule by which it belongs to its call; "": it is a call's only one, or has the call around it
	at          int32  // span index
	server      int32  // span index of the callee's entry; -1: no span
	phases      phases
	calleeEnd   time.Duration // of the callee's entry; 0: no span
	calleeOK    bool          // the callee ended well, or worked on to its end although told to stop
	calleeGuess bool          // calleeOK is inferred
	leg         time.Duration // network leg back; valid with calleeEnd, as is
	word        time.Duration // how long the callee may take to hear of a cut: see traced.word
	instance    string        // of the callee
	timeout     time.Duration // recorded for this call; 0: none
	class       class         // what its latency is to a Sample, if it is one (tails.go)
	took        time.Duration // that latency
	weight      weight        // for how many attempts it stands
}

// A call is a logical outgoing call of a request.
type call struct {
	to         *dependency   // whom it goes to
	who        *peer         // whom it went to as far as its trace tells
	span       ingest.SpanID // of the span around all attempts, else of the first attempt
	file       string
	position   int64
	start, end time.Duration // of the span around the attempts; else the first attempt's start to the winner's end, or the last one's
	outcome    Outcome       // of the winner, or the last attempt
	attempts   []attempt     // by start
	winner     int           // index into attempts; -1: none answered
	messaging  bool          // a PRODUCER
	awaited    bool          // its request is not known to have gone on without it
	unfinished bool
	path       time.Duration // on the path of its request
	hint       string        // service.criticality of the callee
	peer       uint32        // number among symbols.peers, once stored
	nameable   bool          // its callee is known by its address alone: see callees
	protocol   protocol      // what it speaks
	rules      *callRules    // nil once stored

	at  int32    // span index of span
	met *meeting // that named its peer

	// Filled when all requests are known.
	dep      int32         // index into the table of dependencies
	node     int32         // index into the nodes of its route; -1: not tracked
	reserve  time.Duration // own work and minimums ahead
	before   time.Duration // longest chain of minimums that came before
	findings []FindingCode
}

// callRules are the ids of the rules that named the callee and the operation.
type callRules struct{ callee, operation string }

// raceTolerance is the time within which events of one process count as one (N8).
const raceTolerance = time.Millisecond

// tryAll decides which spans are the attempts of each unit, and gives every
// span of a unit its attempt.
func (t *traced) tryAll() {
	t.attempt = again(&t.rec.room.attempt, len(t.Spans))
	for i := range t.attempt {
		t.attempt[i] = -1
	}
	for k := range t.units {
		u := &t.units[k]
		switch {
		case len(u.marked) > 0:
			u.tries = u.marked
			if first := t.tryBefore(u); first >= 0 {
				u.tries = append([]int32{first}, u.marked...)
			}
		case len(u.inner) > 0 && (u.scope || t.resent(u.inner)):
			u.tries = u.inner
		default:
			u.self = [1]int32{u.at}
			u.tries = u.self[:]
		}
		for _, i := range u.tries {
			place := t.seen[i].backoff
			if place == inGap && u.scope {
				place = t.seen[u.at].backoff
			}
			t.try(i, place)
		}
	}
	for _, i := range t.order {
		p := t.Spans[i].Parent
		if p < 0 {
			continue
		}
		switch {
		case t.unit[i] >= 0 && t.attempt[i] < 0 && t.unit[p] == t.unit[i]:
			t.attempt[i] = t.attempt[p]
		case t.seen[i].part == entryPart && t.unit[p] >= 0:
			a := t.attempt[p]
			if u := &t.units[t.unit[p]]; a < 0 && len(u.tries) == 1 {
				a = t.attempt[u.tries[0]]
			}
			if a >= 0 {
				t.served(&t.attempts[a], i)
			}
		}
	}
}

// served notes that an entry of the callee worked for an attempt. One that begins after another
// had failed in a way that is tried again was sent anew within the span of the attempt, which
// hides that it was.
func (t *traced) served(a *attempt, i int32) {
	if a.server < 0 {
		a.server = i
		return
	}
	s, before := &t.Spans[i], &t.Spans[a.server]
	if t.Spans[a.at].Kind == ingest.Client && s.Resource.Service == before.Resource.Service && s.Name == before.Name &&
		before.Defect == 0 && s.Start >= before.End && t.rec.tables.signals.InferRetries && t.retryable(a.server) {
		a.server = i
		a.hidden++
	}
}

// tryBefore is the try that only resends are marked after: in a retry scope whose
// marked attempts begin with a resend, the last call to end before that (R17); -1: none.
func (t *traced) tryBefore(u *unit) int32 {
	first := int32(-1)
	if !u.scope || t.seen[u.marked[0]].index <= 0 {
		return first
	}
	for _, i := range u.inner {
		if s := &t.Spans[i]; s.End <= t.Spans[u.marked[0]].Start+raceTolerance && (first < 0 || s.End > t.Spans[first].End) {
			first = i
		}
	}
	return first
}

// resent reports whether the spans inside a call are several tries of it: one is
// counted as a resend, or each but the last failed in a way that is tried again.
func (t *traced) resent(inner []int32) bool {
	if slices.ContainsFunc(inner, func(i int32) bool { return t.seen[i].index > 0 }) {
		return true
	}
	if !t.rec.tables.signals.InferRetries {
		return false
	}
	for _, i := range inner[:len(inner)-1] {
		if !t.retryable(i) {
			return false
		}
	}
	return len(inner) > 1
}

// try makes a span an attempt, with its back-off at the place.
func (t *traced) try(i int32, place backoffPlace) {
	s := &t.Spans[i]
	a := attempt{span: s.ID, start: s.Start, end: s.End, outcome: t.seen[i].outcome, unfinished: s.Defect != 0,
		index: int(max(t.seen[i].index, 0)), hidden: int(t.seen[i].hidden), at: i, server: -1, timeout: t.sentTimeout[i]}
	// Back-off inside the span of an attempt is no part of the try.
	if kids := t.forest.children(i); len(kids) > 0 {
		switch place {
		case inTail:
			last := t.Spans[kids[0]].End
			for _, k := range kids {
				last = max(last, t.Spans[k].End)
			}
			a.end = min(a.end, max(last, a.start))
		case inHead:
			a.start = max(a.start, min(t.Spans[kids[0]].Start, a.end))
		}
	}
	told := i // the span that says how the attempt ended
	// A caller's own span around a try may not say it: the call inside does.
	if w := &t.seen[i]; w.part == attemptPart && s.Kind == ingest.Internal && (w.rule.outcome == "" || w.flags&ofBefore != 0) {
		last := int32(-1)
		for _, k := range t.forest.children(i) {
			if t.exchanges(k) && (last < 0 || t.Spans[k].End > t.Spans[last].End) {
				last = k
			}
		}
		if last >= 0 {
			w.ends(t.seen[last].verdict, t.seen[last].rule.outcome)
			w.flags = t.seen[last].flags
			a.outcome, a.timeout, told = w.outcome, t.sentTimeout[last], last
		}
	}
	lost := t.seen[i].rule.hedge != "" && t.seen[i].hedge == hedgeLost
	if a.outcome == CancelledCaller && lost {
		a.outcome = CancelledRace
	}
	if a.outcome == Failure {
		l := t.looks[told]
		a.code = cmp.Or(l.get(httpStatusKey), l.get(rpcCodeKey))
	}
	t.attempt[i] = int32(len(t.attempts))
	t.attempts = append(t.attempts, a)
}

// exchanges reports whether a span sends a request and waits for its answer: that of a
// client, or of the caller's own around one, as in the AWS SDK for Go (R10).
func (t *traced) exchanges(i int32) bool {
	if t.seen[i].part == callPart {
		return true
	}
	f := t.fact(i)
	return t.Spans[i].Kind == ingest.Internal && t.unit[i] >= 0 && f.httpMethod() != ""
}

// builtInRetryable are failed answers that say try again.
var builtInRetryable = []string{"408", "425", "429", "500", "502", "503", "504", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"}

// retryable reports whether a span ended in a way that clients try again: no
// answer, or one that says try again (3.2).
func (t *traced) retryable(i int32) bool {
	w := &t.seen[i]
	switch w.outcome {
	case Refused, ConnectError, ConnectTimeout, PoolTimeout, ReadTimeout, CancelledCaller, CancelledRace:
		return true
	case Failure:
		f := t.fact(i)
		code := cmp.Or(f.get(httpStatusKey), f.get(rpcCodeKey))
		if code == "" {
			return f.httpMethod() != "" // an HTTP call without any answer
		}
		return slices.Contains(t.rec.tables.signals.Retryable, code)
	}
	return false
}

// redirected reports whether the attempt was answered by a redirect or a
// challenge to authenticate: what follows is counted as a resend, and is none.
func (t *traced) redirected(i int32) bool {
	f := t.fact(i)
	status := f.get(httpStatusKey)
	return strings.HasPrefix(status, "3") || status == "401" || status == "407"
}

// addCall makes one call of a group.
func (t *traced) addCall(g *group) {
	var attempts []attempt
	if u := &t.units[g.units[0]]; len(g.units) == 1 && len(u.tries) == 1 {
		k := t.attempt[u.tries[0]]
		attempts = t.attempts[k : k+1 : k+1]
	} else {
		for i, k := range g.units {
			for _, try := range t.units[k].tries {
				a := t.attempts[t.attempt[try]]
				if g.how != nil {
					a.how = g.how[i]
				}
				attempts = append(attempts, a)
			}
		}
	}
	slices.SortStableFunc(attempts, func(a, b attempt) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.at, b.at)) })
	u := &t.units[t.unit[attempts[0].at]]
	r := t.requests[t.request[u.at]]
	s := &t.Spans[u.at]
	c := call{span: s.ID, file: s.File, position: s.Position, attempts: attempts, winner: -1, at: u.at,
		messaging: s.Kind == ingest.Producer, awaited: !t.async[u.at]}
	base := t.Spans[r.entry].Start
	running := attempts[0].end
	for i := range attempts {
		a := &attempts[i]
		a.hedge = i > 0 && a.start+raceTolerance < running
		running = max(running, a.end)
		c.unfinished = c.unfinished || a.unfinished
		// A sibling that ended just before was a copy if both are tries of one call. Else that is
		// chance, or one failure cancelled the rest.
		if len(attempts) > 1 && a.outcome == CancelledCaller && t.forest.loser[a.at] {
			a.outcome = CancelledRace
			t.attempts[t.attempt[a.at]].outcome = CancelledRace
		}
		if w := c.winner; a.outcome.Answered() && (w < 0 || a.end < attempts[w].end) {
			c.winner = i
		}
		t.lookAtCallee(a, base)
		a.start -= base
		a.end -= base
		for k := range a.phases.intervals {
			a.phases.intervals[k].low -= base
			a.phases.intervals[k].high -= base
		}
	}
	end := c.winner
	if end < 0 {
		end = len(attempts) - 1
	}
	c.start, c.end, c.outcome = attempts[0].start, attempts[end].end, attempts[end].outcome
	if len(g.units) == 1 && attempts[0].at != u.at && s.Defect == 0 { // a span holds the attempts: its caller waited for it
		c.start, c.end = s.Start-base, s.End-base
	}
	c.end = max(c.end, c.start)
	// The attempt that got farthest tells best who was called.
	known := end
	if attempts[known].server < 0 {
		if i := slices.IndexFunc(attempts, func(a attempt) bool { return a.server >= 0 }); i >= 0 {
			known = i
		}
	}
	t.identify(&c, &attempts[known])
	r.calls = append(r.calls, c)
}

// adrift reports whether no time of an entry can be held against one of its caller's, since nothing was
// proved that would move a clock which seems to be off: the entry begins before the span that called
// it, by more than clocks that agree can be off; or another of this trace, on the same clocks, ends after its
// answer was there.
func (t *traced) adrift(entry int32) bool {
	p := t.Spans[entry].Parent
	return p >= 0 && (startsEarly(&t.Spans[entry], &t.Spans[p]) || t.ahead != nil && slices.Contains(t.ahead, clockPair{t.clock[p], t.clock[entry]}))
}

// lookAtCallee notes what the callee's span says about an attempt.
func (t *traced) lookAtCallee(a *attempt, base time.Duration) {
	if a.server < 0 {
		return
	}
	s := &t.Spans[a.server]
	a.instance = t.emitters[a.server].instance
	if s.Defect != 0 || t.adrift(a.server) {
		return
	}
	a.calleeEnd, a.leg, a.word = s.End-base, t.leg(a.server), t.word(a.server)
	switch t.seen[a.server].state {
	case healthy:
		a.calleeOK = true
	case cancelled, timedOut:
		// It was told to stop and went on: what it did then was whole, unless a
		// call of its own failed.
		a.calleeOK = !slices.ContainsFunc(t.forest.children(a.server), func(k int32) bool { return t.seen[k].state != healthy })
		a.calleeGuess = true
	}
}

// identify says whom a call went to.
func (t *traced) identify(c *call, a *attempt) {
	if a.server >= 0 {
		c.hint = t.emitters[a.server].criticality
	}
	m := t.whom(a)
	c.met, c.to, c.who, c.nameable, c.protocol, c.rules = m, &m.to, &m.peer, m.nameable, m.protocol, &m.rules
}

// whom says whom a call went to: the span of the call that tells it best does. Of several
// that tell it as well the outermost counts, so that it is the same whether or not the call was
// tried again; but those of the caller's own work around a call count last.
func (t *traced) whom(a *attempt) (best *meeting) {
	s, u := &t.Spans[a.at], &t.units[t.unit[a.at]]
	ask := func(i int32) {
		if m := t.meet(s.Resource.Service, i, a.server); best == nil || m.rank < best.rank {
			best = m
		}
	}
	wrapped := u.at != a.at
	if wrapped && t.Spans[u.at].Kind != ingest.Internal {
		ask(u.at)
	}
	if s.Kind == ingest.Internal {
		for _, list := range [...][]int32{u.inner, u.within} {
			for _, k := range list {
				if t.attempt[k] >= 0 && t.attempts[t.attempt[k]].at == a.at {
					ask(k)
				}
			}
		}
	}
	ask(a.at)
	if wrapped {
		ask(u.at)
	}
	return best
}

// join joins the words that are known.
func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// poolWait is how long attempts of the call waited for a connection; ok is false
// where that was not recorded.
func (c *call) poolWait() (d time.Duration, ok bool) {
	for i := range c.attempts {
		wait, recorded := c.attempts[i].phases.length(func(p part) bool { return p == poolPart })
		d, ok = d+wait, ok || recorded
	}
	return d, ok
}
