package analyze

import "time"

// classify says what the latency of every attempt is: an answer, or a cut of some
// class, as far as that does not depend on deadlines (cutAtDeadline). It looks at nothing
// beyond the trace.
func (t *traced) classify() {
	for _, r := range t.requests {
		left, away := t.leaving(r)
		for k := range r.calls {
			for i := range r.calls[k].attempts {
				a := &r.calls[k].attempts[i]
				a.setTook()
				a.weight = t.weightOfAttempt(r, a)
				switch {
				case a.outcome.Answered(), a.ranOn():
				case a.outcome == CancelledRace:
					a.class = cutRace
				case away && a.end >= left, a.outcome == CancelledCaller && a.end >= r.duration-leaveTolerance:
					a.class = cutBudget
				default:
					a.class = cutFixed
				}
			}
		}
	}
}

// cutAtDeadline says which cuts were made by the deadline of the request, and not by a
// timeout of their own.
func (r *request) cutAtDeadline() {
	for k := range r.calls {
		for i := range r.calls[k].attempts {
			if a := &r.calls[k].attempts[i]; a.class == cutFixed && r.atDeadline(a.end) {
				a.class = cutBudget
			}
		}
	}
}

// ranOn reports whether the callee of an attempt that was cut did not stop, and
// finished: then what the answer would have taken is known.
func (a *attempt) ranOn() bool {
	return (a.outcome.Cut() || a.outcome == CancelledRace) && a.calleeEnd != 0 && a.calleeOK && a.calleeEnd-a.end > a.word
}

// answered reports whether the callee of an attempt that was cut had answered by then. One that
// ends just as its caller leaves has more likely obeyed: many servers say then that all was well.
func (a *attempt) answered() bool {
	return a.calleeEnd != 0 && a.calleeOK && !a.calleeGuess && a.end-a.calleeEnd > a.word
}

// setTook sets the latency of an attempt: to where its caller stopped waiting, or to
// when the answer of a callee that ran on would have been there.
func (a *attempt) setTook() {
	if a.took = a.end - a.start; a.ranOn() {
		a.took = a.calleeEnd + a.leg - a.start
	}
}

// leaveTolerance is how long it takes at most to give up, once the caller has left: as
// in the rule of spec section 1 for timed-out requests, for a small budget.
const leaveTolerance = 5 * time.Millisecond

// leaving is when the caller of a request left, less what that may be off, as an
// offset from the start of the request; away is false if it did not, as far as is
// known.
func (t *traced) leaving(r *request) (at time.Duration, away bool) {
	p := t.Spans[r.entry].Parent
	if p < 0 || r.role != nested || t.attempt[p] < 0 {
		return 0, false
	}
	caller := &t.attempts[t.attempt[p]]
	if !caller.outcome.Cut() {
		return 0, false
	}
	return t.Spans[p].End - t.Spans[r.entry].Start - t.word(r.entry) - leaveTolerance, true
}

// atDeadline reports whether an instant is the deadline of the request, give or take
// the doubt about it and the moment that giving up takes. A call may be stopped before
// the deadline by as much as the request needs to fail.
func (r *request) atDeadline(at time.Duration) bool {
	if r.deadline == nil {
		return false
	}
	off := r.deadline.budget - at
	return max(off, -off) <= r.deadline.doubt+r.deadline.tolerated()
}

// weightOfAttempt is the weight of the request, unless the span has a tracestate
// of its own that says otherwise: a service may sample what it calls anew.
func (t *traced) weightOfAttempt(r *request, a *attempt) weight {
	s := &t.Spans[a.at]
	if s.TraceState == "" || s.TraceState == t.Spans[r.entry].TraceState {
		return r.weight
	}
	if own := t.weigh(a.at); own.recorded {
		return own.weight
	}
	return r.weight
}
