package analyze

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"overrun/ingest"
)

// Views gives what `overrun trace` prints for one trace of the dump: one View
// for each top request and each fragment that is picked, or holds a request that
// is, by start. Not for several goroutines at once. Computed timeouts rest on
// the whole dump.
func (a *Analysis) Views(trace *ingest.Trace) []View {
	t := newTraced(trace, &a.opts, a.rec, a.links)
	for _, r := range t.requests {
		for k := range r.calls {
			r.calls[k].dep = a.dependencyOf(&r.calls[k])
		}
		var ch chain
		if table := a.routeOf[r.key()]; table != nil && !r.loose() && !r.broken {
			r.table = table
			a.plan(r, &ch)
		}
		a.decide(r, &ch)
		r.mark(a.find(r))
	}
	var views []View
	held := t.holdings()
	for i, r := range t.requests {
		if r.alone() && slices.ContainsFunc(held[i].requests, a.opts.Pick.picks) {
			views = append(views, a.view(t, int32(i), &held[i]))
		}
	}
	slices.SortStableFunc(views, func(x, y View) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), bytes.Compare(x.Root[:], y.Root[:]))
	})
	return views
}

// A holding is what a top request or a fragment holds: requests, itself
// included, and notes on its spans.
type holding struct {
	requests  []*request
	notes     []ingest.TraceNote
	pathNotes []pathNote
}

// holdings gives every request what it holds: nothing where another holds it.
func (t *traced) holdings() []holding {
	under := make([]int32, len(t.Spans)) // by span: the request that holds it; -1: none
	for _, i := range t.order {
		under[i] = -1
		if r := t.request[i]; r >= 0 && t.requests[r].alone() && t.requests[r].entry == i {
			under[i] = r
		} else if p := t.Spans[i].Parent; p >= 0 {
			under[i] = under[p]
		}
	}
	held := make([]holding, len(t.requests))
	for _, r := range t.requests {
		if k := under[r.entry]; k >= 0 {
			held[k].requests = append(held[k].requests, r)
		}
	}
	for _, n := range t.Trace.Notes {
		if k := under[n.Span]; k >= 0 {
			held[k].notes = append(held[k].notes, n)
		}
	}
	for _, n := range t.notes {
		if k := under[n.node]; k >= 0 {
			held[k].pathNotes = append(held[k].pathNotes, n)
		}
	}
	return held
}

func (a *Analysis) view(t *traced, index int32, held *holding) View {
	r := t.requests[index]
	base := t.Spans[r.entry].Start
	v := View{Trace: t.ID, Root: r.span, Fragment: r.role == fragment, Service: r.service, Route: r.route, Start: r.start,
		Ended: r.ended, TimedOut: r.timedOut, File: r.file, Position: r.position,
		Path: []PathSegment{}, Calls: []ViewCall{}, Notes: []ViewNote{}}
	if !r.broken {
		v.Duration = kept(r.duration)
	}
	if r.deadline != nil {
		budget := r.deadline.budget
		v.Deadline, v.Source = &budget, r.deadline.source
	}
	for _, s := range t.stretches(r.entry, nil) {
		span := &t.Spans[s.node]
		p := PathSegment{Span: span.ID, Name: span.Name, Service: span.Resource.Service, Start: s.start - base, End: s.end - base,
			Category: s.what, InFlight: s.inFlight}
		if s.call != nil {
			p.Callee, p.Operation = s.call.to.callee, s.call.to.operation
		}
		v.Path = append(v.Path, p)
	}
	for _, q := range held.requests {
		offset := t.Spans[q.entry].Start - base
		slack := a.slack(q)
		for k := range q.calls {
			v.Calls = append(v.Calls, a.viewCall(t, q, &q.calls[k], offset))
			v.Calls[len(v.Calls)-1].Slack = slack[k]
		}
		for _, s := range q.skipped {
			v.Calls = append(v.Calls, a.viewSkip(q, s, offset))
		}
	}
	slices.SortStableFunc(v.Calls, func(x, y ViewCall) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.LastSeen(), y.LastSeen()))
	})
	for _, n := range held.notes {
		v.Notes = append(v.Notes, viewNote(t, n.Code, n.Span, n.Amount, n.Amount != 0))
	}
	for _, n := range held.pathNotes {
		v.Notes = append(v.Notes, viewNote(t, n.code, n.node, n.amount, n.amount >= 0 || n.code == ClockSkew || n.code == SkewTooLarge))
	}
	slices.SortStableFunc(v.Notes, func(x, y ViewNote) int {
		return cmp.Or(cmp.Compare(x.Code, y.Code), bytes.Compare(x.Span[:], y.Span[:]))
	})
	return v
}

func (a *Analysis) viewCall(in *traced, r *request, c *call, offset time.Duration) ViewCall {
	span := c.span
	v := ViewCall{Span: &span, Service: r.service, Callee: c.to.callee, Operation: c.to.operation, Required: a.requiredness(c.dep),
		Start: c.start + offset, End: kept(c.end + offset), Outcome: c.outcome, Attempts: len(c.attempts), Minimum: a.deps[c.dep].minimumInForce,
		Timeout: a.timeoutOf(r, c, c.start), Path: c.path, Findings: append([]FindingCode{}, c.findings...)}
	if c.unfinished && c.winner < 0 {
		v.Outcome = Unfinished
		if c.end == c.start {
			v.End = nil
		}
	}
	if r.deadline != nil {
		left, reserve := r.deadline.budget-c.start, c.reserve
		v.Remaining, v.Reserve = &left, &reserve
	}
	for i := range c.attempts {
		t := &c.attempts[i]
		seen := &in.seen[t.at]
		by := seen.rule
		end := kept(t.end + offset)
		if t.unfinished {
			end = nil
		}
		v.Tries = append(v.Tries, Try{Span: t.span, Start: t.start + offset, End: end, Outcome: t.outcome, Flags: seen.flags.shown(), Hedge: t.hedge,
			Hidden: t.hidden, Phases: t.phases.table(), Rules: TryRules{by.part, by.outcome, t.how}})
	}
	if pool, ok := c.poolWait(); ok {
		v.Pool = &pool
	}
	v.Rules = CallRules{c.rules.callee, c.rules.operation}
	return v
}

func (a *Analysis) viewSkip(r *request, s skip, offset time.Duration) ViewCall {
	d := a.deps[s.dep]
	left := r.deadline.budget - s.at
	return ViewCall{Service: r.service, Callee: d.name.callee, Operation: d.name.operation, Required: a.requiredness(s.dep),
		Start: s.at + offset, End: kept(s.at + offset), Outcome: Skipped, Tries: []Try{}, Remaining: &left, Timeout: &s.timeout,
		Minimum: d.minimumInForce, Reserve: &s.reserve, Inferred: true, Findings: []FindingCode{}}
}

// requiredness is what the policy says of a dependency; nil without a policy.
func (a *Analysis) requiredness(dep int32) *bool {
	if a.opts.Policy == nil {
		return nil
	}
	required := a.deps[dep].required
	return &required
}

func viewNote(t *traced, code ingest.Code, span int32, amount time.Duration, measured bool) ViewNote {
	n := ViewNote{Code: code, Span: t.Spans[span].ID}
	if measured {
		n.Amount = &amount
	}
	return n
}
