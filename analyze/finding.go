package analyze

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"overrun/ingest"
)

// decide infers skipped calls, and says how the request ended.
func (a *Analysis) decide(r *request, ch *chain) {
	if r.table == nil {
		return
	}
	a.findSkipped(r, ch)
	switch {
	case r.failed:
		r.ended = Failed
	case a.missesOptional(r):
		r.ended = PartlyOK
	default:
		r.ended = Complete
	}
}

// missesOptional reports whether an optional part of an answer was late,
// failed or skipped. Late means that the request went on without it: an answer
// that it waited for is received, however slow.
func (a *Analysis) missesOptional(r *request) bool {
	for k := range r.calls {
		c := &r.calls[k]
		if a.deps[c.dep].required {
			continue
		}
		if c.outcome.Bad() || c.outcome.Cut() || !c.messaging && !c.awaited && c.end > r.duration {
			return true
		}
	}
	return len(r.skipped) > 0 && slices.ContainsFunc(r.skipped, func(s skip) bool { return !a.deps[s.dep].required })
}

// late reports whether the request ended after its deadline, and by how much.
func (r *request) late() (overrun time.Duration, late bool) {
	if r.deadline == nil {
		return 0, false
	}
	overrun = r.duration - r.deadline.budget
	return overrun, overrun > 0
}

// past reports whether an instant of the request is at or after its deadline,
// beyond the doubt about it.
func (r *request) past(at time.Duration) (by time.Duration, past bool) {
	by = at - r.deadline.budget
	return by, by > r.deadline.doubt || by == 0 && r.deadline.doubt == 0
}

// A found is one finding at one place, before it is counted.
type found struct {
	code    FindingCode
	to      dependency // zero: about the request itself
	dep     int32      // its number; of false-timeout and late-anyway
	caused  bool
	call    *call // whose attempt it is about; nil: it is about none
	again   bool  // an earlier attempt of the call was found to be so
	example Example

	remedies []remedy // of request-late
}

// find lists all findings of a request whose calls were decided.
func (a *Analysis) find(r *request) (list []found) {
	for _, w := range r.work {
		list = append(list, found{code: w.code, to: w.to, caused: w.caused, example: Example{Trace: r.trace, Span: w.span, File: w.file,
			Position: w.position, Start: w.start, Amount: w.total, Detail: w.detail}})
		if w.services != nil {
			list[len(list)-1].example.WorkEvidence = &WorkEvidence{w.total, w.spans, w.services}
		}
	}
	if r.table != nil && r.lost && 2*r.table.writes >= r.table.requests {
		list = append(list, found{code: DeadlineLost, example: Example{Trace: r.trace, Span: r.span, File: r.file,
			Position: r.position, Start: r.start}})
	}
	list = a.findHedges(r, list)
	if r.table == nil {
		return list
	}
	list = a.findConnecting(r, list)
	if r.deadline == nil {
		return list
	}
	overrun, late := r.late()
	if late && !(r.ended == Failed && r.timedOut && overrun <= r.deadline.tolerated()) {
		remedies := a.remedies(r)
		list = append(list, found{code: RequestLate, remedies: remedies, example: Example{Trace: r.trace, Span: r.span, File: r.file,
			Position: r.position, Start: r.start, Amount: overrun, Source: r.deadline.source, Lateness: a.lateness(r, remedies)}})
	}
	for k := range r.calls {
		c := &r.calls[k]
		if !c.awaited || c.unfinished {
			continue
		}
		for i := range c.attempts {
			if f, ok := a.findAttempt(r, c, i); ok {
				list = append(list, f)
			}
			list = a.findTimeouts(r, c, i, list)
		}
		if f, ok := a.findOptional(r, c, overrun); ok {
			list = append(list, f)
		}
	}
	return list
}

// byCall marks findings about a call of which an earlier attempt was found to be so. Those of one
// code about the attempts of one call have none about another call between them.
func byCall(list []found) {
	var of *call
	var codes []FindingCode
	for i := range list {
		f := &list[i]
		if f.call == nil {
			continue
		}
		if f.call != of {
			of, codes = f.call, codes[:0]
		}
		if f.again = slices.Contains(codes, f.code); !f.again {
			codes = append(codes, f.code)
		}
	}
}

// mark notes on the calls of a request what was found about them.
func (r *request) mark(list []found) {
	calls := make(map[ingest.SpanID][]*call, len(r.calls))
	for k := range r.calls {
		c := &r.calls[k]
		calls[c.span] = append(calls[c.span], c)
		for i := range c.attempts {
			if span := c.attempts[i].span; span != c.span {
				calls[span] = append(calls[span], c)
			}
		}
	}
	for _, f := range list {
		for _, c := range calls[f.example.Span] {
			if f.to == *c.to && !slices.Contains(c.findings, f.code) {
				c.findings = append(c.findings, f.code)
			}
		}
	}
}

// findAttempt looks at the time that was left when an attempt began.
func (a *Analysis) findAttempt(r *request, c *call, i int) (f found, ok bool) {
	try := &c.attempts[i]
	d := a.deps[c.dep]
	again := i > 0 || try.index > 0
	timeout, known := a.timeout(c.dep, r.deadline.budget-try.start, c.reserve)
	code, retry, amount := CallPastDeadline, RetryPastDeadline, time.Duration(0)
	if by, past := r.past(try.start); past {
		amount = by
	} else if known && d.minimumInForce != nil && timeout < *d.minimumInForce {
		code, retry, amount = CallBelowMinimum, RetryBelowMinimum, *d.minimumInForce-timeout
	} else {
		return f, false
	}
	if again {
		code = retry
	}
	f = found{code: code, to: *c.to, call: c, example: a.callExample(r, c, i, a.timeoutOf(r, c, try.start))}
	f.example.Amount = amount
	return f, true
}

// findOptional looks whether an optional call held the answer beyond its
// ceiling, or for so long that the request would have been in time without it.
func (a *Analysis) findOptional(r *request, c *call, overrun time.Duration) (f found, ok bool) {
	d := a.deps[c.dep]
	if d.required || c.path == 0 {
		return f, false
	}
	held := time.Duration(0)
	if d.ceilingInForce != nil {
		held = c.path - *d.ceilingInForce
	}
	if overrun > 0 && c.path >= overrun {
		held = max(held, overrun)
	}
	if held <= 0 {
		return f, false
	}
	path := c.path
	f = found{code: OptionalOnPath, to: *c.to, example: a.callExample(r, c, 0, a.timeoutOf(r, c, c.start))}
	f.example.Amount, f.example.OnPath = held, &path
	return f, true
}

// callExample is the evidence of a finding about attempt i of a call.
func (a *Analysis) callExample(r *request, c *call, i int, timeout *time.Duration) Example {
	try := &c.attempts[i]
	d := a.deps[c.dep]
	reserve := c.reserve
	return Example{Trace: r.trace, Span: try.span, File: c.file, Position: c.position, Start: r.start + int64(try.start),
		Source: r.deadline.source, CallEvidence: &CallEvidence{At: try.start, Remaining: r.deadline.budget - try.start,
			Reserve: &reserve, Timeout: timeout, Minimum: d.minimumInForce, Ceiling: d.ceilingInForce,
			AssumesRequired: a.opts.Policy == nil}}
}

// lateness says where the time of a late request went.
func (a *Analysis) lateness(r *request, remedies []remedy) *Lateness {
	l := &Lateness{Duration: r.duration, Budget: r.deadline.budget, Own: r.time.Own}
	share := map[int32]int{}
	for k := range r.calls {
		c := &r.calls[k]
		if c.path == 0 {
			continue
		}
		i, ok := share[c.dep]
		if !ok {
			i = len(l.Path)
			share[c.dep] = i
			l.Path = append(l.Path, PathShare{Callee: c.to.callee, Operation: c.to.operation})
		}
		l.Path[i].Path += c.path
	}
	slices.SortStableFunc(l.Path, func(x, y PathShare) int {
		return cmp.Or(cmp.Compare(y.Path, x.Path), cmp.Compare(x.Callee, y.Callee), cmp.Compare(x.Operation, y.Operation))
	})
	l.SavedBy = []string{}
	for _, s := range remedies {
		l.SavedBy = append(l.SavedBy, a.remedyName(s))
	}
	return l
}

// worse orders examples: by amount, the greatest first, then trace and span.
func (e *Example) worse(f *Example) int {
	return cmp.Or(cmp.Compare(f.Amount, e.Amount), bytes.Compare(e.Trace[:], f.Trace[:]),
		bytes.Compare(e.Span[:], f.Span[:]), cmp.Compare(e.Start, f.Start))
}

// A findingKey is what findings are counted by.
type findingKey struct {
	code                  FindingCode
	service, route, split string
	callee, op            string
}

// count adds a finding to its kind.
func (f *Finding) count(one *found) {
	e := &one.example
	if f.Count+f.CausedBy == 0 {
		f.First, f.Last = e.Start, e.Start
	}
	f.First, f.Last = min(f.First, e.Start), max(f.Last, e.Start)
	if one.caused {
		f.CausedBy++
		return
	}
	f.Count++
	if c := one.call; c != nil && !one.again {
		f.Calls++
		if c.winner < 0 {
			f.Unanswered++
		}
	}
	i, _ := slices.BinarySearchFunc(f.Examples, e, func(x Example, y *Example) int { return x.worse(y) })
	if i < MaxExamples {
		f.Examples = slices.Insert(f.Examples, i, *e)
		f.Examples = f.Examples[:min(len(f.Examples), MaxExamples)]
	}
}
