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

// The grounds of a request are what its deadline is chosen from, as its trace alone
// tells: another policy, or another --deadline, chooses anew without its spans.
type grounds struct {
	written *deadline     // recorded on its entry, or by the client span that called it; nil: on neither
	told    *deadline     // recorded on its entry, where it is later than the one of that client span; nil: it is not
	caller  int32         // the request, of those of its trace, that it inherits from; -1: from none
	call    int32         // the call of caller that it serves; -1: not known
	doubt   time.Duration // about an instant of the caller
	ending  ending
	reach   time.Duration // the latest end of its spans that somebody waited for, as an offset from its start
}

// An ending says whether a request timed out.
type ending uint8

const (
	endedItself ending = iota // it did not
	stopped                   // it did if that was at its deadline
	callerLeft                // it did
	endings     = iota
)

// setDeadlines gives every request its effective deadline.
func (t *traced) setDeadlines(o *Options) {
	for _, r := range t.requests {
		t.ground(r)
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		if k := t.request[i]; k >= 0 && !t.async[i] && s.Defect == 0 {
			r := t.requests[k]
			r.grounds.reach = max(r.grounds.reach, s.End-t.Spans[r.entry].Start)
		}
	}
	chooseDeadlines(t.requests, t.rooted, t.Epoch, o)
}

// ground finds the grounds of a request.
func (t *traced) ground(r *request) {
	g := &r.grounds
	*g = grounds{caller: -1, call: -1, reach: r.duration}
	if r.loose() {
		return
	}
	start := t.Spans[r.entry].Start
	d := t.written[r.entry].copy()
	r.writes = d != nil && d.own
	parent := t.Spans[r.entry].Parent
	if parent >= 0 && !r.consumer && !t.forest.bonds[r.entry].async() && !t.async[parent] && !t.adrift(r.entry) {
		if t.Spans[parent].Kind == ingest.Client {
			if sent := t.written[parent].copy(); sent != nil {
				sent.doubt += t.doubt(r.entry)
				if promised(d, sent, t.word(r.entry)) > 0 {
					g.told = d
					g.told.budget = d.at - start
				}
				d = earlier(d, sent)
			}
		}
		if r.role == nested && t.request[parent] >= 0 {
			g.caller, g.doubt = t.request[parent], t.doubt(r.entry)
			if u := t.unit[parent]; u >= 0 {
				g.call = t.units[u].calls
			}
		}
	}
	if d != nil {
		d.budget = d.at - start
		g.written = d
	}
	g.ending = t.endingOf(r)
}

// endingOf says whether a failed request timed out: its caller left, or it was ended by a
// timeout.
func (t *traced) endingOf(r *request) ending {
	if !r.failed {
		return endedItself
	}
	e := r.entry
	if p := t.Spans[e].Parent; p >= 0 && t.attempt[p] >= 0 {
		switch o := t.attempts[t.attempt[p]].outcome; {
		case o.Cut():
			return callerLeft
		case o == CancelledRace: // its caller had the answer from another copy
			return endedItself
		}
	}
	state := t.seen[e].state
	entry := t.Spans[e].Kind == ingest.Server || t.Spans[e].Kind == ingest.Consumer
	if state == cancelled && entry { // whoever called it is not in the trace, and left
		return callerLeft
	}
	if state == timedOut || state == cancelled || r.lastCut || t.seen[e].flags&upstreamTimeout != 0 { // a call was cut, or answered that one below was
		return stopped
	}
	return endedItself
}

// chooseDeadlines gives the requests of a trace their effective deadlines: the earliest of
// the recorded one, the one of the request that called it, and the policy's. At a top
// request recorded beats policy beats --deadline. Callers come before what they
// called. rooted: the trace has a root. Offsets in the trace count from epoch.
func chooseDeadlines(list []*request, rooted bool, epoch int64, o *Options) {
	for i, r := range list {
		if r.loose() {
			continue
		}
		g := &r.grounds
		r.lost = false
		start := time.Duration(r.start - epoch)
		var d *deadline
		if g.written != nil {
			own := *g.written
			own.at = start + own.budget
			d = &own
		}
		var rule *DeadlineRule
		if o.Policy != nil {
			rule = o.Policy.DeadlineFor(r.service, r.route)
		}
		if r.role == nested {
			if g.caller >= 0 {
				caller := list[g.caller]
				told, left := d, (*deadline)(nil)
				if g.told != nil {
					told, left = g.told.copy(), d
					told.at = start + told.budget
				}
				var inherited *deadline
				if caller.deadline != nil {
					inherited = caller.deadline.copy()
					inherited.source = Inherited
					inherited.doubt += g.doubt
					r.lost = inherited.wrote && !r.writes
				}
				if by := promised(told, earlier(left, inherited), caller.word(g.call)); by > 0 {
					caller.widened(r, by)
				}
				d = earlier(d, inherited)
			}
			if rule != nil {
				d = earlier(d, &deadline{at: start + rule.Deadline, source: ByPolicy, origin: -1})
			}
		} else if d == nil {
			switch {
			case rule != nil:
				d = &deadline{at: start + rule.Deadline, source: ByPolicy, origin: -1}
			case o.Deadline > 0 && !r.consumer && (r.root || !rooted):
				d = &deadline{at: start + o.Deadline, source: ByFlag, origin: -1}
			}
		}
		if d != nil {
			d.budget = d.at - start
			if d.source != Inherited {
				d.origin, d.wrote = int32(i), d.source == Recorded
			}
		}
		r.deadline = nil
		if d != nil {
			r.chosen = *d
			r.deadline = &r.chosen
		}
		r.timedOut = g.ending == callerLeft || g.ending == stopped && d != nil && r.duration >= d.budget-time.Millisecond
	}
}

// word is how long word may take from a request to the callee of a call (traced.word); 0: not known.
func (r *request) word(call int32) (longest time.Duration) {
	if call < 0 {
		return 0
	}
	for _, a := range r.calls[call].attempts {
		longest = max(longest, a.word)
	}
	return longest
}

// promised is how much more time a callee was promised than its caller had, or gave its call,
// beyond the doubt about both; 0: not more. A time left counts anew from where it arrives, late by
// the way of the word.
func promised(recorded, left *deadline, word time.Duration) time.Duration {
	if recorded == nil || left == nil {
		return 0
	}
	if by := recorded.at - left.at; by > recorded.doubt+max(left.doubt, word) {
		return by
	}
	return 0
}

// widened files under the caller that a request it called was promised more.
func (r *request) widened(callee *request, by time.Duration) {
	w := work{code: DeadlineWidened, span: callee.span, file: callee.file, position: callee.position, start: callee.start, total: by}
	if k := callee.grounds.call; k >= 0 {
		w.to = *r.calls[k].to
	}
	r.work = append(r.work, w)
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

// tolerated is how long after its deadline a timed-out request may end without
// being late: it takes a moment to give up.
func (d *deadline) tolerated() time.Duration { return max(5*time.Millisecond, d.budget/20) }
