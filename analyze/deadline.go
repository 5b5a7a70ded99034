package analyze

import (
	"time"

	"overrun/ingest"
)

// A deadline is the instant after which an answer is worthless.
type deadline struct {
	at     time.Duration // offset in the trace
	budget time.Duration // at - start of the request; may be negative
	source Source
	// doubt is how far at may be off: the grain of the recorded value, and a
	// network leg and 1 ms for every change of clock on the way.
	doubt  time.Duration
	origin int32 // index of the request whose deadline it first was
}

// BadDeadline is the note for a recorded deadline that cannot be read, or that
// no sane caller would set.
const BadDeadline ingest.Code = "bad-deadline"

// setDeadlines gives every request its effective deadline: the earliest of the
// recorded one (on its entry or on the client span that called it), the one of
// the request that called it, and the policy's. At a top request recorded
// beats policy beats --deadline. Callers come before what they called.
func (t *traced) setDeadlines(o *Options) {
	for i, r := range t.requests {
		if r.loose() {
			continue
		}
		d := t.recorded(r.entry)
		parent := t.Spans[r.entry].Parent
		bound := parent >= 0 && !r.consumer && !t.forest.bonds[r.entry].async() && !t.async[parent]
		if bound && t.Spans[parent].Kind == ingest.Client {
			if sent := t.recorded(parent); sent != nil {
				sent.doubt += t.doubt(r.entry)
				d = earlier(d, sent)
			}
		}
		var rule *DeadlineRule
		if o.Policy != nil {
			rule = o.Policy.DeadlineFor(r.service, r.route)
		}
		start := t.Spans[r.entry].Start
		if r.role == nested {
			if bound && t.request[parent] >= 0 {
				if caller := t.requests[t.request[parent]]; caller.deadline != nil {
					inherited := *caller.deadline
					inherited.source = Inherited
					inherited.doubt += t.doubt(r.entry)
					d = earlier(d, &inherited)
				}
			}
			if rule != nil {
				d = earlier(d, &deadline{at: start + rule.Deadline, source: ByPolicy, origin: -1})
			}
		} else if d == nil {
			switch {
			case rule != nil:
				d = &deadline{at: start + rule.Deadline, source: ByPolicy, origin: -1}
			case o.Deadline > 0 && !r.consumer && (r.root || !t.rooted):
				d = &deadline{at: start + o.Deadline, source: ByFlag, origin: -1}
			}
		}
		if d != nil {
			d.budget = d.at - start
			if d.source != Inherited {
				d.origin = int32(i)
			}
			r.deadline = d
		}
		t.setTimedOut(r)
	}
}

// earlier is the earlier of two deadlines, the first of two at one instant.
func earlier(a, b *deadline) *deadline {
	if a == nil || b.at < a.at {
		return b
	}
	return a
}

// recorded is the earliest deadline written on a span; nil: none.
func (t *traced) recorded(i int32) (d *deadline) {
	s := &t.Spans[i]
	for _, form := range recordedDeadlines {
		if int(s.Kind) >= len(form.kinds) || !form.kinds[s.Kind] {
			continue
		}
		text := first(s, form.keys)
		if text == "" {
			continue
		}
		left, grain, ok := form.parse(text)
		if !ok {
			t.notes = append(t.notes, pathNote{BadDeadline, i, -1})
			continue
		}
		found := &deadline{at: s.Start + left, source: Recorded, doubt: grain, origin: -1}
		d = earlier(d, found)
	}
	return d
}

// setTimedOut decides whether a failed request timed out: its caller left, or
// it ended by a timeout at or after its deadline - 1 ms.
func (t *traced) setTimedOut(r *request) {
	if !r.failed {
		return
	}
	e := r.entry
	if p := t.Spans[e].Parent; p >= 0 && t.attempt[p] >= 0 {
		switch o := t.attempts[t.attempt[p]].outcome; {
		case o.Cut():
			r.timedOut = true
			return
		case o == CancelledRace: // its caller had the answer from another copy
			return
		}
	}
	state := t.verdicts[e].state
	entry := t.Spans[e].Kind == ingest.Server || t.Spans[e].Kind == ingest.Consumer
	if state == cancelled && entry { // whoever called it is not in the trace, and left
		r.timedOut = true
		return
	}
	stopped := state == timedOut || state == cancelled || r.lastCut
	r.timedOut = stopped && r.deadline != nil && t.Spans[e].End >= r.deadline.at-time.Millisecond
}

// tolerated is how long after its deadline a timed-out request may end without
// being late: it takes a moment to give up.
func (d *deadline) tolerated() time.Duration { return max(5*time.Millisecond, d.budget/20) }
