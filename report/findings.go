package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"overrun/analyze"
)

// findingsSection lists trouble: what, where, how often, and the worst example.
func findingsSection(d *document, r *analyze.Report, o Options) {
	if len(r.Findings) == 0 {
		d.head("Findings")
		d.say("no findings")
		return
	}
	d.head("Findings", "most frequent first")
	findings := sorted(r.Findings, func(a, b *analyze.Finding) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Code, b.Code), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Route, b.Route),
			cmp.Compare(a.Callee, b.Callee), cmp.Compare(a.Operation, b.Operation))
	})
	n := o.rows(len(findings), 1)
	t := d.table("where", column{head: "what", left: true}, column{head: "count"}, column{head: "from elsewhere"}, column{head: "worst"}, column{head: "worst trace", left: true})
	t.detail = "evidence"
	t.columns[2].notes = []int{t.foot("the same trouble here that began elsewhere, and is counted there")}
	t.columns[3].notes = []int{t.foot("what examples are ordered by: how late, how far below or above, how early, or how long")}
	t.left = len(findings) - n
	for _, f := range findings[:n] {
		what := cell{line: say(named(f.Code))}
		if meaning := findingMeaning(f.Code); meaning != "" {
			what.notes = []int{t.foot(string(f.Code), ": ", meaning)}
		}
		amount, trace := say(unknown), say(unknown)
		var details []line
		if len(f.Examples) > 0 {
			e := &f.Examples[0]
			trace = say(e.Trace)
			if f.Code != analyze.DeadlineLost { // which measures nothing
				amount = say(dur(e.Amount))
			}
			if l := evidence(f); l != nil {
				details = append(details, append(say("worst: "), l...))
			}
			details = append(details, append(say("in "), whereIn(e.File, e.Position)...))
		}
		if f.First != 0 || f.Last != 0 {
			details = append(details, say("seen ", fromTo(f.First, f.Last)))
		}
		t.rows = append(t.rows, row{label: findingLabel(f), details: details,
			cells: []cell{what, {line: say(count(f.Count))}, {line: say(count(f.CausedBy))}, {line: amount}, {line: trace}}})
	}
}

// findingLabel says where: a route, a call of a route, or, without a route, a
// dependency as a whole.
func findingLabel(f *analyze.Finding) line {
	switch {
	case f.Callee == "" && f.Operation == "":
		return routeLabel(f.Service, f.Route, f.Split)
	case f.Route == "":
		return callLabel(f.Service, f.Callee, f.Operation, f.Split)
	}
	return append(routeLabel(f.Service, f.Route, f.Split), say(" → ", named(f.Callee), " ", named(f.Operation))...)
}

// findingMeaning says a code in words; "": it is not known here.
func findingMeaning(code analyze.FindingCode) string {
	for _, known := range analyze.FindingCodes {
		if known.Code == code {
			return known.Text
		}
	}
	return ""
}

// evidence writes the numbers of the worst example; nil: it has none.
func evidence(f *analyze.Finding) line {
	e := &f.Examples[0]
	switch {
	case e.Lateness != nil:
		return why(e.Lateness)
	case e.WorkEvidence != nil:
		return worked(e.WorkEvidence)
	}
	l := told(f, e)
	if e.CallEvidence != nil {
		if l != nil {
			l = append(l, say("; ")...)
		}
		l = append(l, say(called(e.CallEvidence, f.Code == analyze.TimeoutOverBudget))...)
	}
	return l
}

// told writes what the detail, or the amount, of an example is for its code; nil:
// nothing that other columns do not say.
func told(f *analyze.Finding, e *analyze.Example) line {
	d := e.Detail
	if d == nil {
		d = new(analyze.Detail) // all unknown
	}
	switch f.Code {
	case analyze.TimeoutOverBudget:
		l := say("own timeout ", orUnknown(d.Timeout, setting))
		if e.CallEvidence != nil {
			l = append(l, say(", ", setting(e.Remaining), " were left")...)
		}
		return l
	case analyze.FixedTimeout:
		return say(Plural(f.Count, "attempt"), " cut at ", orUnknown(d.Timeout, setting))
	case analyze.DeadlineWidened:
		return say("promised ", setting(e.Amount), " more than was left")
	case analyze.RetryAmplified:
		l := say(Plural(d.Attempts, "attempt"), " for ", Plural(d.Calls, "call"))
		if d.Each != nil {
			l = append(l, say(", ", number(*d.Each), " each, weighted")...)
		}
		if d.Bottom > 0 {
			l = append(l, say(", ", count(d.Bottom), " at the bottom for one top request")...)
		}
		return l
	case analyze.HedgeEarly:
		return say("second copy sent ", setting(e.Amount), " before half of the p95, which is ", orUnknown(d.P95, dur))
	case analyze.HedgeLate:
		return say("second copy sent ", setting(e.Amount), " after twice the p95, which is ", orUnknown(d.P95, dur))
	case analyze.HedgeNotCancelled:
		return say("the copy that lost ran on for ", setting(e.Amount))
	case analyze.HedgeLoad:
		return say(orUnknown(d.Share, percent), " more requests, over ", Plural(d.Calls, "call"))
	case analyze.FalseTimeout:
		return say("the answer was there at ", orUnknown(d.Callee, setting), ", ", setting(e.Amount), " before it was too late (", named(d.Success), ")")
	case analyze.LateAnyway:
		return say("the answer was there at ", orUnknown(d.Callee, setting), ", ", setting(e.Amount), " after it was too late (", named(d.Success), ")")
	case analyze.ConnectSlow:
		return say("connecting took ", setting(e.Amount))
	case analyze.OneInstance:
		return say(named(d.Instance), ": ", orUnknown(d.Share, percent), " of the answers, ", orUnknown(d.Slow, percent), " of the slow ones")
	}
	return nil
}

// called writes the evidence of a call. leftTold: what was left stands already.
func called(c *analyze.CallEvidence, leftTold bool) string {
	parts := []string{"called after " + setting(c.At)}
	if !leftTold {
		parts = append(parts, left(c.Remaining))
	}
	for _, v := range []struct {
		name string
		d    *time.Duration
	}{{"computed timeout", c.Timeout}, {"reserve", c.Reserve}, {"minimum", c.Minimum}, {"ceiling", c.Ceiling}, {"on the path for", c.OnPath}} {
		if v.d != nil {
			parts = append(parts, v.name+" "+setting(*v.d))
		}
	}
	if c.AssumesRequired {
		parts = append(parts, "every call taken for required")
	}
	return strings.Join(parts, ", ")
}

func worked(w *analyze.WorkEvidence) line {
	const most = 3 // services named
	l := say(setting(w.Work), " of work in ", Plural(w.Spans, "span"))
	for i, s := range w.Services {
		if i == most {
			return append(l, say(", and ", Plural(len(w.Services)-most, "more service"))...)
		}
		before := ", "
		if i == 0 {
			before = ": "
		}
		l = append(l, say(before, named(s.Service), " ", setting(s.Work), " in ", count(s.Spans))...)
	}
	return l
}

// left says how much time was left, or by how much the deadline had passed.
func left(remaining time.Duration) string {
	if remaining < 0 {
		return setting(-remaining) + " past the deadline"
	}
	return setting(remaining) + " left"
}

// why says in one line what made a request late: the dependencies that held its
// path longest, its own work, and the rest.
func why(l *analyze.Lateness) line {
	const most = 2 // dependencies named
	var out line
	rest := l.Duration - l.Own
	for i, p := range l.Path {
		rest -= p.Path
		if i >= most {
			continue
		}
		if i == 0 {
			out = say(part(p.Path, l.Duration), " on the path in ")
		} else {
			out = append(out, say(", ", setting(p.Path), " in ")...)
		}
		out = append(out, run{name, p.Callee})
		if p.Operation != "" {
			out = append(out, say(" ", named(p.Operation))...)
		}
		out = append(out, say(" (", share(p.Path, l.Duration), ")")...)
	}
	if n := len(l.Path) - most; n > 0 {
		sum := time.Duration(0)
		for _, p := range l.Path[most:] {
			sum += p.Path
		}
		out = append(out, say(fmt.Sprintf(", %s in %d more", setting(sum), n))...)
	}
	if out == nil {
		out = say(part(l.Own, l.Duration), " own work (", share(l.Own, l.Duration), "), no call on the path")
	} else {
		out = append(out, say(", own ", setting(l.Own))...)
	}
	if rest != 0 {
		out = append(out, say(", other ", setting(rest))...)
	}
	if l.SavedBy == nil {
		return out
	}
	if len(l.SavedBy) == 0 {
		return append(out, say("; nothing alone would have saved it")...)
	}
	out = append(out, say("; saved by any of: ")...)
	for i, s := range l.SavedBy {
		if i > 0 {
			out = append(out, say(", ")...)
		}
		out = append(out, run{name, s})
	}
	return out
}

// worstSection lists the requests that were late by most.
func worstSection(d *document, r *analyze.Report, o Options) {
	if len(r.Worst) == 0 {
		d.head("Worst late requests")
		d.say("no late requests")
		return
	}
	late := 0
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Code == analyze.RequestLate {
			late += f.Count
		}
	}
	if late > len(r.Worst) {
		d.head("Worst late requests", "longest overrun first, failed ones too; the ", count(len(r.Worst)), " latest of ", count(late))
	} else {
		d.head("Worst late requests", "longest overrun first, failed ones too")
	}
	n := o.rows(len(r.Worst), 1)
	t := d.table("route", column{head: "took"}, column{head: "deadline"}, column{head: "overrun"}, column{head: "deadline from", left: true}, column{head: "trace", left: true})
	t.detail = "why"
	t.left = len(r.Worst) - n
	for i := range r.Worst[:n] {
		l := &r.Worst[i]
		t.rows = append(t.rows, row{
			label: routeLabel(l.Service, l.Route, l.Split),
			cells: []cell{{line: say(dur(l.Duration))}, {line: say(setting(l.Budget))}, {line: say(dur(l.Overrun))},
				{line: sourceLine(l.Source)}, {line: say(l.Trace)}},
			details: []line{why(&l.Lateness), append(say("started ", at(l.Start), "; "), whereIn(l.File, l.Position)...)},
		})
	}
}
