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
				add(a, p, s.Start, s.End, t.seen[i].rule.part)
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
	followed := t.followed()
	for _, i := range t.stray { // parents first
		if t.Spans[i].Defect != 0 || t.seen[i].part == queuePart {
			continue
		}
		a := int32(-1)
		switch p := t.Spans[i].Parent; {
		case p >= 0 && t.seen[p].part.phase() && t.attempt[p] >= 0: // inside another: what that belongs to
			a = t.attempt[p]
		case p >= 0 && t.seen[i].place != inCall:
			if k, ok := followed[i]; ok {
				a = k
			}
		default:
			a = t.besideStray(i, tries[t.Spans[i].Resource])
		}
		if a < 0 {
			continue
		}
		add(a, t.seen[i].part, t.Spans[i].Start, t.Spans[i].End, t.seen[i].rule.part)
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

// mostFollowers is among how many spans that begin as a phase ends its attempt is looked for.
const mostFollowers = 64

// followed finds the attempts that phases ahead of them belong to, by span: under one parent a
// phase ends as the attempt begins, or as the next phase of that attempt does, which is another
// one. Each begins after one of them.
func (t *traced) followed() map[int32]int32 {
	type next struct {
		span, attempt int32 // attempt -1: a phase that is not known to belong to one
		free          int   // the index of this one, or where it is taken of one to look on from
	}
	var phases []int32
	under := map[int32][]next{} // what begins there, by parent
	for _, i := range t.stray {
		if s := &t.Spans[i]; t.seen[i].place != inCall && s.Parent >= 0 && s.Defect == 0 {
			phases = append(phases, i)
			under[s.Parent] = append(under[s.Parent], next{i, -1, 0})
		}
	}
	if len(phases) == 0 {
		return nil
	}
	for k := range t.attempts {
		at := t.attempts[k].at
		if list, ok := under[t.Spans[at].Parent]; ok {
			under[t.Spans[at].Parent] = append(list, next{at, int32(k), 0})
		}
	}
	for _, list := range under {
		slices.SortFunc(list, func(a, b next) int { return cmp.Compare(a.span, b.span) }) // spans are by start
		for k := range list {
			list[k].free = k
		}
	}
	untaken := func(list []next, k int) int {
		for k < len(list) && list[k].free != k {
			if on := list[k].free; on < len(list) {
				list[k].free = list[on].free
			}
			k = list[k].free
		}
		return k
	}
	// From the end, so that what a phase leads to is known before it.
	slices.SortFunc(phases, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.Spans[b].End, t.Spans[a].End), cmp.Compare(b, a))
	})
	of := map[int32]int32{}
	for _, i := range phases {
		s, list := &t.Spans[i], under[t.Spans[i].Parent]
		from := s.End - t.emitters[i].grain()
		first := sort.Search(len(list), func(k int) bool { return t.Spans[list[k].span].Start >= from })
		looked := 0
		for k := untaken(list, first); k < len(list) && t.Spans[list[k].span].Start <= s.End+raceTolerance && looked < mostFollowers; k = untaken(list, k+1) {
			looked++
			n := &list[k]
			if a, ok := of[n.span]; ok {
				n.attempt = a
			}
			if n.attempt < 0 || t.Spans[n.span].Name == s.Name || t.otherHost(i, n.span) {
				continue
			}
			n.free, of[i] = k+1, n.attempt
			break
		}
	}
	return of
}

// otherHost reports whether two spans name different hosts.
func (t *traced) otherHost(i, k int32) bool {
	f, g := t.fact(i), t.fact(k)
	a, b := f.host(), g.host()
	return a != "" && b != "" && a != b
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

// innermost lists the parts that are phases. Each holds those before it where it overlaps
// them: connecting that is not told apart holds the handshake, which may hold connecting, and
// that looking up; waiting for the pool holds all of them. The rest stand beside each other.
var innermost = [...]part{dnsPart, tcpPart, tlsPart, resolvePart, connectPart, pickPart, poolPart,
	sendPart, waitPart, receivePart, backoffPart}

// settle cuts the phases of an attempt to it, joins what overlaps within a part, and takes
// what lies inside a phase of connecting off it: they sum up to what connecting took.
func settle(list []phaseInterval, start, end time.Duration) []phaseInterval {
	byStart := func(a, b phaseInterval) int {
		return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(a.part, b.part), cmp.Compare(a.high, b.high))
	}
	slices.SortStableFunc(list, byStart)
	clampDials(list)
	var out, these []phaseInterval
	var inside []interval // connecting so far
	for _, kind := range innermost {
		these = these[:0]
		for _, p := range list {
			whole := p.interval
			p.low, p.high = max(p.low, start), min(p.high, end)
			if p.part != kind || p.high < p.low || p.high == p.low && whole.high > whole.low {
				continue
			}
			if n := len(these); n > 0 && p.low <= these[n-1].high {
				these[n-1].high = max(these[n-1].high, p.high)
				continue
			}
			these = append(these, p)
		}
		if !kind.connecting() {
			out = append(out, these...)
			continue
		}
		for _, p := range these {
			out = p.without(inside, out)
		}
		for _, p := range these {
			inside = append(inside, p.interval)
		}
		inside = joined(inside)
	}
	slices.SortStableFunc(out, byStart)
	return out
}

// clampDials cuts what Go did for a connection to its getting one: it may finish a dial after
// another connection came free. The list is by start.
func clampDials(list []phaseInterval) {
	var whole []phaseInterval
	for i := range list {
		if list[i].getsConn() {
			whole = append(whole, list[i])
		}
	}
	for i := range list {
		p := &list[i]
		if !p.part.opening() || p.getsConn() {
			continue
		}
		begun := sort.Search(len(whole), func(k int) bool { return whole[k].low > p.low })
		if begun > 0 && p.low < whole[begun-1].high {
			p.high = min(p.high, whole[begun-1].high)
		}
	}
}

// getsConn reports whether a phase is Go's http.getconn (C1, C8).
func (p *phaseInterval) getsConn() bool {
	return (p.rule == "C1" || p.rule == "C8") && (p.part == connectPart || p.part == poolPart)
}

// without adds what is left of a phase beside others, which are disjoint and by start.
func (p phaseInterval) without(others []interval, to []phaseInterval) []phaseInterval {
	k := sort.Search(len(others), func(k int) bool { return others[k].high > p.low })
	if k < len(others) && others[k].low < p.high && p.getsConn() {
		p.part = poolPart // what is left was waiting
	}
	for ; k < len(others) && others[k].low < p.high; k++ {
		if before := p; others[k].low > p.low {
			before.high = others[k].low
			to = append(to, before)
		}
		if p.low = others[k].high; p.low >= p.high {
			return to
		}
	}
	return append(to, p)
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
	if a.outcome != ReadTimeout || sent >= 0 { // sent: the request was on its way
		return
	}
	ran := func(p phaseInterval) bool { return p.high >= a.end-raceTolerance && p.part.connecting() }
	switch {
	case slices.ContainsFunc(a.phases.intervals, func(p phaseInterval) bool { return ran(p) && p.part != poolPart }):
		a.outcome = ConnectTimeout
	case slices.ContainsFunc(a.phases.intervals, ran):
		a.outcome = PoolTimeout
	}
}
