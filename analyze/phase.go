package analyze

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"overrun/ingest"
)

// phases is what is known of the inside of an attempt. A phase that was not
// recorded is not there, which is not the same as 0.
type phases struct {
	intervals []phaseInterval // by start, within the attempt; of one part they do not overlap
	loose     []phaseLength   // of which only the length is known
}

// A phaseInterval is a stretch of an attempt spent on one part.
type phaseInterval struct {
	part part
	interval
	rule string
}

// phaseNames are the words for phases in reports.
var phaseNames = map[part]string{
	poolPart: "pool", dnsPart: "dns", tcpPart: "tcp", tlsPart: "tls", connectPart: "connect", sendPart: "send",
	waitPart: "waiting", receivePart: "receiving", resolvePart: "resolve", pickPart: "pick", backoffPart: "back-off",
}

// connecting reports whether the part comes before the request is sent.
func (p part) connecting() bool {
	switch p {
	case poolPart, dnsPart, tcpPart, tlsPart, connectPart, resolvePart, pickPart:
		return true
	}
	return false
}

// opening reports whether the part shows that a connection was opened.
func (p part) opening() bool { return p == dnsPart || p == tcpPart || p == tlsPart || p == connectPart }

// length sums up the parts for which which holds; ok is false where none of
// them was recorded. Overlaps count once.
func (p *phases) length(which func(part) bool) (d time.Duration, ok bool) {
	if p.none() {
		return 0, false
	}
	reach := time.Duration(-1 << 62)
	for _, i := range p.intervals {
		if which(i.part) {
			ok = true
			if i.high > reach {
				d += i.high - max(i.low, reach)
				reach = i.high
			}
		}
	}
	for _, l := range p.loose {
		if which(l.part) {
			ok = true
			d += l.length
		}
	}
	return d, ok
}

// none reports whether no phase was recorded.
func (p *phases) none() bool { return len(p.intervals)+len(p.loose) == 0 }

// recorded reports whether anything is known of connecting, if only that an old
// connection was used.
func (p *phases) recorded() bool {
	_, ok := p.length(part.connecting)
	return ok
}

// table is the phases by name, for a report; nil: none was recorded.
func (p *phases) table() map[string]time.Duration {
	var m map[string]time.Duration
	for kind, name := range phaseNames {
		if d, ok := p.length(func(q part) bool { return q == kind }); ok {
			if m == nil {
				m = map[string]time.Duration{}
			}
			m[name] = d
		}
	}
	return m
}

// A linkTo names a span of another trace.
type linkTo struct {
	trace ingest.TraceID
	span  ingest.SpanID
}

// setups collects the connection setups that .NET writes as traces of their
// own (C10), for the requests that link to them. Times count from 1970.
func setups(ctx context.Context, from *source, by *tables) (map[linkTo][]phaseTime, error) {
	if !from.setup {
		return nil, nil
	}
	found := map[linkTo][]phaseTime{}
	rec := newRecogniser(by)
	for part := range from.parts {
		err := from.part(ctx, part, func(t *ingest.Trace) error {
			setupsOf(t, rec, found)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func setupsOf(t *ingest.Trace, rec *recogniser, found map[linkTo][]phaseTime) {
	rec.room.looks.reset()
	for i := range t.Spans {
		root := &t.Spans[i]
		if root.Parent >= 0 || !strings.HasPrefix(root.Name, setupName) || root.Defect != 0 {
			continue
		}
		key := linkTo{t.ID, root.ID}
		epoch := time.Duration(t.Epoch)
		found[key] = append(found[key], phaseTime{connectPart, epoch + root.Start, epoch + root.End, "C10"})
		for k := range t.Spans {
			s := &t.Spans[k]
			if s.Parent != int32(i) || s.Defect != 0 {
				continue
			}
			if l := rec.look(t, s, connectPart, false); l.part.phase() {
				found[key] = append(found[key], phaseTime{l.part, epoch + s.Start, epoch + s.End, l.rule.part})
			}
		}
	}
}

// findPhases gives every attempt the phases that are known of it: from spans
// inside, spans beside and without a parent, events, and linked traces.
func (t *traced) findPhases() {
	raw := map[int32][]phaseInterval{} // by attempt
	add := func(a int32, p part, start, end time.Duration, rule string) {
		raw[a] = append(raw[a], phaseInterval{p, interval{start, end}, rule})
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		if p := t.seen[i].part; p.phase() && t.unit[i] >= 0 && s.Defect == 0 {
			if a := t.attemptFor(int32(i)); a >= 0 {
				t.addSpan(add, a, int32(i))
			}
		}
		for _, l := range s.Links {
			for _, p := range t.links[linkTo{l.TraceID, l.SpanID}] {
				if a := t.attempt[i]; a >= 0 {
					epoch := time.Duration(t.Epoch)
					add(a, p.part, p.start-epoch, p.end-epoch, p.id)
				}
			}
		}
	}
	var tries map[*ingest.Resource]*tryList
	if len(t.stray) > 0 {
		tries = t.triesOf()
	}
	for _, i := range t.stray { // parents first
		if t.Spans[i].Defect != 0 || t.seen[i].part == queuePart {
			continue
		}
		a := int32(-1)
		if p := t.Spans[i].Parent; p >= 0 && t.seen[p].part.phase() { // inside another: what that belongs to
			a = t.attempt[p]
		}
		if a < 0 {
			a = t.besideStray(i, tries[t.Spans[i].Resource])
		}
		if a < 0 {
			continue
		}
		t.addSpan(add, a, i)
		try := &t.attempts[a]
		try.start = min(try.start, t.Spans[i].Start)
		t.attempt[i] = a
		if t.request[i] >= 0 {
			t.unit[i] = t.unit[try.at]
		}
	}
	for _, p := range t.told {
		if a := t.attemptFor(p.span); a >= 0 {
			if try := &t.attempts[a]; p.part.connecting() && t.attempt[p.span] < 0 {
				try.start = min(try.start, p.start) // of the call, for its first attempt
			}
			add(a, p.part, p.start, p.end, p.id)
		}
	}
	for _, l := range t.toldLengths {
		if a := t.attempt[l.span]; a >= 0 && l.part != backoffPart {
			t.attempts[a].phases.loose = append(t.attempts[a].phases.loose, l.phaseLength)
		}
	}
	for a, list := range raw {
		try := &t.attempts[a]
		try.phases.intervals = settle(list, try.start, try.end)
		t.refine(try)
	}
}

// attemptFor is the attempt that a span of a call tells about: its own, else
// the next of its unit to begin, else the last.
func (t *traced) attemptFor(i int32) int32 {
	if t.attempt[i] >= 0 || t.unit[i] < 0 {
		return t.attempt[i]
	}
	tries := t.units[t.unit[i]].tries
	for _, k := range tries {
		if t.Spans[k].Start+raceTolerance >= t.Spans[i].Start {
			return t.attempt[k]
		}
	}
	return t.attempt[tries[len(tries)-1]]
}

// addSpan adds a phase span, less the phases inside it, and cut to the phase it is
// inside of. What is left of Go's http.getconn besides looking up, connecting and the
// handshake is waiting for the pool.
func (t *traced) addSpan(add func(int32, part, time.Duration, time.Duration, string), a, i int32) {
	whole := t.phaseSpan(i)
	if whole.high < whole.low {
		return
	}
	kind, rule := t.seen[i].part, t.seen[i].rule.part
	var inside []interval
	for _, k := range t.forest.children(i) {
		if c := &t.Spans[k]; t.seen[k].part.phase() && c.Defect == 0 {
			inside = append(inside, interval{max(c.Start, whole.low), min(c.End, whole.high)})
		}
	}
	if len(inside) == 0 {
		add(a, kind, whole.low, whole.high, rule)
		return
	}
	if kind == connectPart && t.Spans[i].Name == "http.getconn" {
		kind = poolPart
	}
	beside(whole, inside, func(low, high time.Duration) { add(a, kind, low, high, rule) })
}

// phaseSpan is when a phase span was of use to the phase it is inside of, if any: a dial
// may go on after another connection came free.
func (t *traced) phaseSpan(i int32) interval {
	s := &t.Spans[i]
	if s.Parent < 0 || !t.seen[s.Parent].part.phase() || t.Spans[s.Parent].Defect != 0 {
		return interval{s.Start, s.End}
	}
	p := &t.Spans[s.Parent]
	return interval{max(s.Start, p.Start), min(s.End, p.End)}
}

// A tryList is the attempts of one resource by start; reach is the latest end of
// each and those before it.
type tryList struct {
	tries []int32
	reach []time.Duration
}

// triesOf lists the attempts of every resource.
func (t *traced) triesOf() map[*ingest.Resource]*tryList {
	of := map[*ingest.Resource]*tryList{}
	for k := range t.attempts {
		r := t.Spans[t.attempts[k].at].Resource
		if of[r] == nil {
			of[r] = new(tryList)
		}
		of[r].tries = append(of[r].tries, int32(k))
	}
	for _, l := range of {
		slices.SortFunc(l.tries, func(a, b int32) int { return cmp.Compare(t.attempts[a].at, t.attempts[b].at) }) // spans are by start
		reach := time.Duration(math.MinInt64)
		for _, k := range l.tries {
			reach = max(reach, t.Spans[t.attempts[k].at].End)
			l.reach = append(l.reach, reach)
		}
	}
	return of
}

// besideStray finds the attempt that a phase span beside it belongs to: the
// one CLIENT span of its resource that encloses it, else, under the same
// parent, the one that begins as it ends. -1: none, or not one.
func (t *traced) besideStray(i int32, of *tryList) int32 {
	if of == nil {
		return -1
	}
	s := &t.Spans[i]
	client := func(k int) *ingest.Span { return &t.Spans[t.attempts[of.tries[k]].at] }
	found := int32(-1)
	begun := sort.Search(len(of.tries), func(k int) bool { return client(k).Start > s.Start+raceTolerance })
	for k := begun - 1; k >= 0 && of.reach[k] >= s.End-raceTolerance; k-- {
		if client(k).End < s.End-raceTolerance {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = of.tries[k]
	}
	if found >= 0 || s.Parent < 0 {
		return found
	}
	after := sort.Search(len(of.tries), func(k int) bool { return client(k).Start >= s.End-raceTolerance })
	for k := after; k < len(of.tries) && client(k).Start <= s.End+raceTolerance; k++ {
		if client(k).Parent != s.Parent {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = of.tries[k]
	}
	return found
}

// settle cuts the phases of an attempt to it and joins what overlaps within a part.
func settle(list []phaseInterval, start, end time.Duration) []phaseInterval {
	slices.SortStableFunc(list, func(a, b phaseInterval) int {
		return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(a.part, b.part), cmp.Compare(a.high, b.high))
	})
	var out []phaseInterval
	last := map[part]int{}
	for _, p := range list {
		whole := p.interval
		p.low, p.high = max(p.low, start), min(p.high, end)
		if p.high < p.low || p.high == p.low && whole.high > whole.low {
			continue
		}
		if k, ok := last[p.part]; ok && p.low <= out[k].high {
			out[k].high = max(out[k].high, p.high)
			continue
		}
		last[p.part] = len(out)
		out = append(out, p)
	}
	return out
}

// refine adds what follows from the phases: waiting is what lies between the
// end of sending and the first byte; and an attempt that was cut while it was
// connecting was cut by, or at the cost of, connecting.
func (t *traced) refine(a *attempt) {
	var sent, received time.Duration = -1, -1
	waits := false
	for _, p := range a.phases.intervals {
		switch p.part {
		case sendPart:
			sent = max(sent, p.high)
		case receivePart:
			if received < 0 {
				received = p.low
			}
		case waitPart:
			waits = true
		}
	}
	if !waits && sent >= 0 && received > sent {
		a.phases.intervals = settle(append(a.phases.intervals, phaseInterval{waitPart, interval{sent, received}, "C7"}), a.start, a.end)
	}
	if a.outcome != ReadTimeout {
		return
	}
	for _, p := range a.phases.intervals {
		if p.high >= a.end-raceTolerance && p.part.connecting() {
			if a.outcome = ConnectTimeout; p.part == poolPart {
				a.outcome = PoolTimeout
			}
		}
	}
	if sent >= 0 {
		a.outcome = ReadTimeout // the request was on its way
	}
}
