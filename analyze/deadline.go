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
	rule   string // by which it was read; "" unless recorded
	own    bool   // recorded in a way that baggage cannot have copied there
	// doubt is how far at may be off: the grain of the recorded value, and a
	// network leg and 1 ms for every change of clock on the way.
	doubt  time.Duration
	origin int32 // index of the request whose deadline it first was
	wrote  bool  // it was first recorded, wherever that was
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
		d := t.written[r.entry].copy()
		r.writes = d != nil && d.own
		parent := t.Spans[r.entry].Parent
		bound := parent >= 0 && !r.consumer && !t.forest.bonds[r.entry].async() && !t.async[parent]
		if bound && t.Spans[parent].Kind == ingest.Client {
			if sent := t.written[parent].copy(); sent != nil {
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
					r.lost = inherited.wrote && !r.writes
					if by := promised(d, &inherited); by > 0 {
						t.widened(caller, r.entry, by)
					}
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
				d.origin, d.wrote = int32(i), d.source == Recorded
			}
			r.deadline = d
		}
		t.setTimedOut(r)
	}
}

// promised is how much more time a callee was promised than its caller had, beyond
// the doubt about both; 0: not more.
func promised(recorded, left *deadline) time.Duration {
	if recorded == nil {
		return 0
	}
	if by := recorded.at - left.at; by > recorded.doubt+left.doubt {
		return by
	}
	return 0
}

// widened files under the caller that the request at entry was promised more.
func (t *traced) widened(caller *request, entry int32, by time.Duration) {
	s := &t.Spans[entry]
	w := work{code: DeadlineWidened, span: s.ID, file: s.File, position: s.Position, start: t.Epoch + int64(s.Start), total: by}
	if u := t.unit[s.Parent]; u >= 0 {
		w.to = caller.calls[t.units[u].calls].to
	}
	caller.work = append(caller.work, w)
}

// earlier is the earlier of two deadlines, the first of two at one instant.
func earlier(a, b *deadline) *deadline {
	if b == nil {
		return a
	}
	if a == nil || b.at < a.at {
		return b
	}
	return a
}

// copy is a deadline of its own; nil of nil.
func (d *deadline) copy() *deadline {
	if d == nil {
		return nil
	}
	c := *d
	return &c
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
	state := t.seen[e].state
	entry := t.Spans[e].Kind == ingest.Server || t.Spans[e].Kind == ingest.Consumer
	if state == cancelled && entry { // whoever called it is not in the trace, and left
		r.timedOut = true
		return
	}
	stopped := state == timedOut || state == cancelled || r.lastCut || t.seen[e].flags&upstreamTimeout != 0 // a call was cut, or answered that one below was
	r.timedOut = stopped && r.deadline != nil && t.Spans[e].End >= r.deadline.at-time.Millisecond
}

// tolerated is how long after its deadline a timed-out request may end without
// being late: it takes a moment to give up.
func (d *deadline) tolerated() time.Duration { return max(5*time.Millisecond, d.budget/20) }
