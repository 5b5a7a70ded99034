package analyze

import (
	"strings"
	"time"

	"overrun/ingest"
)

// A sighting is what the recogniser says about one span, and the rules that
// say so; "" is a rule that needs no sign.
type sighting struct {
	part    part
	backoff backoffPlace
	place   phasePlace
	verdict
	flags   outcomeFlag
	index   int32 // resends before this attempt; -1: not recorded
	hidden  int32 // resends within this one span, which hides them
	hedge   hedgeSays
	instead insteadSays
	rule    *sightingRules // of its look, unless something other than rules decided too
}

// ends says how the span ended in place of its rule.
func (w *sighting) ends(as verdict, by string) {
	rules := *w.rule
	rules.outcome = by
	w.verdict, w.rule = as, &rules
}

// sightingRules are the ids of the rules behind a sighting.
type sightingRules struct{ part, outcome, count, hedge, instead string }

// A recogniser reads spans by tables. It is for one goroutine: it remembers names, and
// what spans looked like.
type recogniser struct {
	tables   *tables
	canon    *canon
	looks    looks
	meetings map[meetingKey]*meeting
	emitters emitters
	room     room
}

func newRecogniser(by *tables) *recogniser {
	return &recogniser{tables: by, canon: new(canon), looks: newLooks(by), meetings: map[meetingKey]*meeting{}, emitters: newEmitters()}
}

// look recognises a span. late: its CLIENT parent timed out.
func (r *recogniser) look(t *ingest.Trace, s *ingest.Span, parent part, late bool) *look {
	marks, loose := lookMarks{s.Alike, s.Kind, s.Status, s.Defect, parent, late}, &r.looks.loose
	near := r.looks.nearest(marks, s)
	if near != nil {
		for i := range near {
			if near[i].holds(marks, s, loose) {
				return near[i].look
			}
		}
	}
	known, again := r.looks.find(s, parent, late)
	if known != nil {
		if near != nil {
			if n, ok := nearLookOf(marks, s, known, loose); ok {
				near[0], near[1] = n, near[0]
			}
		}
		return known
	}
	l := r.room.looks.next()
	f := r.canon.facts(t, s, parent, l)
	f.tables, f.words = r.tables, r.tables.signals.Words
	f.recognise(late)
	if again {
		return r.looks.keep(l, s)
	}
	return l
}

// recognise asks the rules.
func (f *facts) recognise(late bool) {
	l := f.look
	w := &l.sighting
	w.rule = &l.rules
	var part partSays
	part, w.rule.part = partOf(f)
	w.part, w.backoff, w.place = part.part, part.backoff, part.place
	var ended outcomeSays
	ended, w.rule.outcome = outcomeOf(f, late)
	w.verdict, w.flags = ended.verdict, ended.flags
	w.index = -1
	if tally, id := tallyOf(f); id != "" {
		w.rule.count = id
		if tally.hidden > 0 {
			w.hidden = int32(tally.hidden)
		} else {
			w.index = int32(tally.index)
		}
		if tally.backoff != inGap {
			w.backoff = tally.backoff
		}
	}
	w.hedge, w.rule.hedge = hedgeOf(f)
	w.instead, w.rule.instead = insteadOf(f)
	if w.rule.instead != "" && w.instead == callSkipped && f.span.Kind == ingest.Client && !w.outcome.Answered() {
		w.outcome = Skipped
	}
	var room [24]int32
	l.dated = len(f.tables.deadlines.candidates(f, room[:])) > 0
	l.phased = len(f.tables.phases.candidates(f, room[:])) > 0
}

// facts is what is known of a span of the trace.
func (t *traced) fact(i int32) facts {
	return facts{t.rec.tables, t.Trace, &t.Spans[i], t.rec.tables.signals.Words, t.looks[i]}
}

// see recognises every span of the trace, parents first.
func (t *traced) see() {
	room := &t.rec.room
	room.looks.reset()
	t.seen, t.looks = again(&room.seen, len(t.Spans)), again(&room.look, len(t.Spans))
	asked := false
	for _, i := range t.order {
		s := &t.Spans[i]
		late, above := false, noPart
		if p := s.Parent; p >= 0 {
			above = t.seen[p].part
			late = t.seen[p].state == timedOut && (t.Spans[p].Kind == ingest.Client || !entryKinds.has(s.Kind))
		}
		l := t.rec.look(t.Trace, s, above, late)
		t.looks[i], t.seen[i] = l, l.sighting
		w := &t.seen[i]
		if l.dated && w.part != noPart {
			t.readTimeouts(i)
		}
		if w.flags&maybeTimeout != 0 && w.outcome == CancelledCaller && t.endsInTime(i) {
			w.verdict = verdict{timedOut, ReadTimeout}
		}
		t.judgeCancel(i, w)
		asked = asked || w.flags&maybeLeft != 0
		if l.phased && w.part.calls() {
			f := t.fact(i)
			for _, p := range phasesOf(&f) {
				t.told = append(t.told, toldPhase{i, p})
			}
			for _, p := range lengthsOf(&f) {
				t.toldLengths = append(t.toldLengths, toldLength{i, p})
			}
		}
	}
	if asked {
		t.judgeCauses()
	}
}

// endsInTime reports whether a span ends as the timeout that it records fires (T16), or at
// the deadline that its request records (T21b): a cancel then is that timeout.
func (t *traced) endsInTime(i int32) bool {
	s := &t.Spans[i]
	fits := func(off, whole time.Duration) bool { return max(off, -off) <= pileWidth(whole) }
	if sent := t.sentTimeout[i]; sent > 0 && fits(s.Duration()-sent, sent) {
		return true
	}
	for p := s.Parent; p >= 0; p = t.Spans[p].Parent {
		if d := t.written[p]; d != nil {
			return fits(s.End-d.at, d.at-t.Spans[p].Start)
		}
		if entryKinds.has(t.Spans[p].Kind) {
			break
		}
	}
	return false
}

// A toldPhase is a phase that events of a span tell; a toldLength one of
// which only the length is known.
type (
	toldPhase struct {
		span int32
		phaseTime
	}
	toldLength struct {
		span int32
		phaseLength
	}
)

// pileWidth is the width within which two timeouts of about d are one:
// max(2 ms, 2 %).
func pileWidth(d time.Duration) time.Duration { return max(2*time.Millisecond, d/50) }

// readTimeouts notes what deadlines the span records: those that bound a
// request for setDeadlines, and the timeout that a client gave its call.
func (t *traced) readTimeouts(i int32) {
	s := &t.Spans[i]
	if s.Kind != ingest.Server && s.Kind != ingest.Client && s.Parent >= 0 {
		return
	}
	f := t.fact(i)
	deadlinesOf(&f, func(v recordedValue) {
		if !v.read {
			t.notes = append(t.notes, pathNote{BadDeadline, i, -1})
			return
		}
		left := time.Duration(v.left)
		// An absolute value is the deadline handed on, no timeout of the call.
		if s.Kind == ingest.Client && !v.absolute && left > 0 && (t.sentTimeout[i] == 0 || left < t.sentTimeout[i]) {
			t.sentTimeout[i] = left
		}
		if v.perTry && s.Kind != ingest.Server {
			return
		}
		if !v.absolute && t.copied(s, v.key, f.get(v.key)) {
			return
		}
		from := s.Start
		if s.Kind == ingest.Client && !v.absolute && strings.HasPrefix(v.key, "header ") {
			from = t.headersWritten(i)
		}
		d := &deadline{at: from + left, source: Recorded, rule: v.id, own: v.id != "D21" || strings.HasPrefix(v.key, "header "), doubt: time.Duration(v.grain), origin: -1}
		t.written[i] = earlier(t.written[i], d)
	})
}

// headersWritten is when a CLIENT span wrote its headers, which is when a time left that is
// one of them was true: Go writes them once the connection is ready (5.5). The start of
// the span where nothing tells.
func (t *traced) headersWritten(i int32) time.Duration {
	if t.headers == nil {
		t.headers = map[int32]time.Duration{}
		for k := range t.Spans { // by start: the last write is that of the connection that was used
			if s := &t.Spans[k]; s.Parent >= 0 && s.Name == "http.headers" {
				t.headers[s.Parent] = s.Start
			}
		}
	}
	if at, ok := t.headers[i]; ok {
		return max(at, t.Spans[i].Start)
	}
	return t.Spans[i].Start
}

// copied reports whether a relative value was seen on a span of the service
// before: baggage is copied to every span, and counts from the first alone
// (N11). Captured headers are no baggage.
func (t *traced) copied(s *ingest.Span, key, value string) bool {
	if strings.HasPrefix(key, "header ") {
		return false
	}
	if t.baggage == nil {
		t.baggage = map[[3]string]bool{}
	}
	k := [3]string{s.Resource.Service, key, value}
	was := t.baggage[k]
	t.baggage[k] = true
	return was
}
