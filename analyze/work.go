package analyze

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"overrun/ingest"
)

// A work is effort that nobody waited for any more, under its originator: the
// request whose deadline passed first, or the call (or request) whose caller
// left first.
type work struct {
	code     FindingCode
	to       dependency // of the call that was left; zero: the request itself
	span     ingest.SpanID
	file     string
	position int64
	start    int64 // Unix nanoseconds of the deadline, or of the leaving
	caused   bool  // began elsewhere: counted there
	total    time.Duration
	spans    int
	services []ServiceWork // nil: not about work
	detail   *Detail
}

const never = time.Duration(math.MaxInt64)

// findWork finds spans that ran on after the deadline of their request, and
// after a caller further up had left, by more than the doubt about the instant.
// Over a bond across which nobody waits there is nobody to leave.
func (t *traced) findWork() {
	leftAt := t.findAbandoned()
	t.findLateWork(leftAt)
}

// findAbandoned finds what ran on for callers that had left. leftAt is when the first
// caller above each span had; never: none had.
func (t *traced) findAbandoned() (leftAt []time.Duration) {
	n, room := len(t.Spans), &t.rec.room
	leftAt = again(&room.leftAt, n)
	leftBy := again(&room.leftBy, n) // its span
	doubt := again(&room.doubt, n)   // about leftAt, as seen from the span
	var (                            // made when needed: hardly ever
		abandoned map[int32]*runOn // by the span that left
		later     map[int32]bool   // spans that left after one above them had
	)
	for _, i := range t.order {
		leftAt[i], leftBy[i] = never, -1
		s := &t.Spans[i]
		p := s.Parent
		if p < 0 || t.forest.bonds[i].async() || t.seen[i].part == entryPart && t.adrift(i) {
			continue
		}
		leftAt[i], leftBy[i] = leftAt[p], leftBy[p]
		if leftAt[i] != never {
			doubt[i] = doubt[p] + t.word(i)
		}
		if b := t.forest.bonds[i]; (b == waitsLeft || b == leftFailing) && !t.lostRace(p) && !t.answeredBadly(p) {
			if end := t.Spans[p].End; end < leftAt[i] {
				leftAt[i], leftBy[i], doubt[i] = end, p, t.word(i)
			} else {
				if later == nil {
					later = map[int32]bool{}
				}
				later[p] = true
			}
		}
		if by := leftBy[i]; by >= 0 && s.Defect == 0 && s.End-leftAt[i] > doubt[i] {
			if abandoned == nil {
				abandoned = map[int32]*runOn{}
			}
			if abandoned[by] == nil {
				abandoned[by] = newRunOn()
			}
			abandoned[by].add(s, leftAt[i], s.End)
		}
	}
	for _, by := range slices.Sorted(maps.Keys(abandoned)) {
		t.report(by, abandoned[by], AbandonedWork, t.Spans[by].End, false)
		delete(later, by)
	}
	for _, by := range slices.Sorted(maps.Keys(later)) {
		t.report(by, newRunOn(), AbandonedWork, t.Spans[by].End, true)
	}
	return leftAt
}

// findLateWork finds what ran on after deadlines, up to where its caller left: from then on it
// is abandoned.
func (t *traced) findLateWork(leftAt []time.Duration) {
	var late map[int32]map[int32]*runOn // by origin of the deadline, and request; made when needed
	for i := range t.Spans {
		s := &t.Spans[i]
		if t.request[i] < 0 || t.async[i] || s.Defect != 0 {
			continue
		}
		r := t.request[i]
		d := t.requests[r].deadline
		if d == nil {
			continue
		}
		// Whose caller left at the deadline, give or take the moment that takes,
		// works on for nobody from then on: that is counted as abandoned.
		least := d.doubt
		if leftAt[i] != never {
			least = max(least, d.tolerated())
		}
		if min(s.End, leftAt[i])-d.at <= least {
			continue
		}
		if late == nil {
			late = map[int32]map[int32]*runOn{}
		}
		if late[d.origin] == nil {
			late[d.origin] = map[int32]*runOn{}
		}
		if late[d.origin][r] == nil {
			late[d.origin][r] = newRunOn()
		}
		late[d.origin][r].add(s, d.at, min(s.End, leftAt[i]))
	}
	for _, origin := range slices.Sorted(maps.Keys(late)) {
		all := newRunOn()
		o := t.requests[origin]
		for _, r := range slices.Sorted(maps.Keys(late[origin])) {
			all.merge(late[origin][r])
			if r != origin {
				t.report(t.requests[r].entry, newRunOn(), WorkPastDeadline, o.deadline.at, true)
			}
		}
		if o.timedOut && all.last-o.deadline.at <= o.deadline.tolerated() {
			continue
		}
		t.report(o.entry, all, WorkPastDeadline, o.deadline.at, false)
	}
}

// lostRace reports whether a span is, or is part of, an attempt that lost to a
// sibling: its caller has the answer.
func (t *traced) lostRace(i int32) bool {
	return t.attempt[i] >= 0 && t.attempts[t.attempt[i]].outcome == CancelledRace
}

// answeredBadly reports whether a span is, or is part of, an attempt that an answer ended, which
// said that it failed: nobody left, and its callee goes on as after any answer.
func (t *traced) answeredBadly(i int32) bool {
	return t.attempt[i] >= 0 && t.attempts[t.attempt[i]].outcome == Failure && t.attempts[t.attempt[i]].code != ""
}

// report files work under the request that the span by belongs to.
func (t *traced) report(by int32, ran *runOn, code FindingCode, since time.Duration, caused bool) {
	if t.request[by] < 0 {
		return
	}
	r := t.requests[t.request[by]]
	s := &t.Spans[by]
	w := work{code: code, span: s.ID, file: s.File, position: s.Position, start: t.Epoch + int64(since), caused: caused}
	if u := t.unit[by]; u >= 0 && code == AbandonedWork {
		w.to = *r.calls[t.units[u].calls].to
	}
	w.services = ran.services()
	for _, s := range w.services {
		w.total += s.Work
		w.spans += s.Spans
	}
	r.work = append(r.work, w)
}

// A runOn collects, by service, when its spans ran on.
type runOn struct {
	ran  map[string][]interval
	last time.Duration // the latest end
}

func newRunOn() *runOn { return &runOn{ran: map[string][]interval{}, last: math.MinInt64} }

func (r *runOn) add(s *ingest.Span, since, until time.Duration) {
	service := s.Resource.Service
	r.ran[service] = append(r.ran[service], interval{max(s.Start, since), until})
	r.last = max(r.last, until)
}

func (r *runOn) merge(o *runOn) {
	for service, list := range o.ran {
		r.ran[service] = append(r.ran[service], list...)
	}
	r.last = max(r.last, o.last)
}

// services sums up the union of the intervals of each service, so that nested
// spans do not count twice.
func (r *runOn) services() (list []ServiceWork) {
	for _, service := range slices.Sorted(maps.Keys(r.ran)) {
		ran := r.ran[service]
		slices.SortFunc(ran, func(a, b interval) int { return cmp.Or(cmp.Compare(a.low, b.low), cmp.Compare(a.high, b.high)) })
		w := ServiceWork{Service: service, Spans: len(ran)}
		reach := time.Duration(math.MinInt64)
		for _, i := range ran {
			if from := max(i.low, reach); i.high > from {
				w.Work += i.high - from
				reach = i.high
			}
		}
		list = append(list, w)
	}
	return list
}
