package report

import (
	"cmp"
	"slices"
	"time"

	"overrun/analyze"
)

// ceilingWarnings are those that the table of timeouts shows; the others stand
// with the latencies.
var ceilingWarnings = []analyze.Warning{analyze.NoCeiling, analyze.FewCeiling, analyze.CappedByBudget, analyze.DoesNotFit,
	analyze.AssumesRequired, analyze.MinimumUnknown, analyze.TimeoutUnclear}

// dependenciesSection has two tables with the same rows, what calls did and what
// timeouts follow from it, and between them one of connecting, where that was
// recorded.
func dependenciesSection(d *document, r *analyze.Report, o Options) {
	if len(r.Dependencies) == 0 {
		d.head("Dependencies")
		d.say("no dependencies: no span of a request is a call, of kind CLIENT or PRODUCER")
		return
	}
	d.head("Dependencies", "caller → callee operation, longest on the critical path first")
	deps := sorted(r.Dependencies, func(a, b *analyze.Dependency) int {
		return cmp.Or(cmp.Compare(b.Path, a.Path), cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee), cmp.Compare(a.Operation, b.Operation))
	})
	n := o.rows(len(deps), 1)

	t := d.table("dependency", column{head: "calls"}, column{head: "attempts"}, column{head: "cut"}, column{head: "errors"},
		column{head: "p50"}, column{head: "p99"}, column{head: "p99.9"}, column{head: "95 % interval"}, column{head: "path"})
	t.columns[7].notes = []int{t.foot("of the p99.9")}
	t.columns[8].notes = []int{t.foot("share of the caller's time: path time of these calls / (path time of all calls of the caller + own time of its routes)")}
	t.left = len(deps) - n
	for _, dep := range deps[:n] {
		w := rowWarnings{table: t, all: dep.Warnings}
		w.place(ceilingWarnings...)
		w.place(analyze.ClusteredTail, analyze.DriftSlower, analyze.DriftFaster, analyze.TwoModes, analyze.PileOfAnswers) // the details say more
		w.place(analyze.ConnectInRead)                                                                                    // these latencies are of whole attempts; the table of times says it
		cells := []cell{{line: say(count(dep.Calls))}, {line: say(count(dep.Attempts)), notes: w.at(analyze.HiddenRetries)}, {line: say(count(dep.Cut))}, {line: say(count(dep.Errors))}}
		if dep.RanOn > 0 {
			cells[2].notes = []int{t.foot("the callees of some of these ran on and finished: the latency of those is to the end of the callee's span, and the way back (where no answered call of the trace shows how long that is, the gap between the starts of both spans: inferred)")}
		}
		cells = append(cells, quantiles(&w, &dep.Latency, false)...)
		interval := cell{line: say(between(dep.Latency.P999.Low, dep.Latency.P999.High))}
		if dep.Latency.P999.High == nil && !w.has(analyze.FewP999) {
			interval.notes = w.at(analyze.CutsHideEnd)
		}
		w.place(analyze.CutsHideEnd) // of another quantile, or for want of values: the interval is not shown, or says nothing of cuts
		cells = append(cells, interval, cell{line: say(orUnknown(dep.PathShare, percent))})
		t.rows = append(t.rows, row{label: callLabel(dep.Caller, dep.Callee, dep.Operation, dep.Split), cells: cells, notes: w.rest(), details: shapeDetails(dep)})
		if len(t.rows[len(t.rows)-1].details) > 0 {
			t.detail = "remarks"
		}
	}
	failedTable(d, deps[:n])
	connectTable(d, deps[:n])
	timeoutTable(d, deps[:n])
	hedgeTable(d, deps[:n])
}

// connectTable says how long connecting, waiting for the pool and reading took,
// for the dependencies of which something of it was recorded.
func connectTable(d *document, deps []*analyze.Dependency) {
	var rows []*analyze.Dependency
	for _, dep := range deps {
		if dep.Connect != nil || dep.Pool != nil || dep.Read != nil {
			rows = append(rows, dep)
		}
	}
	if rows == nil {
		return
	}
	d.prose("Connecting, as far as it was recorded: how many attempts opened a connection, waited for one of the pool, and got to reading (sending, waiting and receiving), and for how long.")
	t := d.table("dependency", column{head: "connect"}, column{head: "p50"}, column{head: "p99"}, column{head: "ceiling"},
		column{head: "pool"}, column{head: "p50"}, column{head: "p99"}, column{head: "read"}, column{head: "p50"}, column{head: "p99"}, column{head: "ceiling"})
	t.columns[3].notes = []int{t.foot("suggested as for whole calls, of connecting and of reading alone; not capped at what deadlines leave")}
	for _, dep := range rows {
		var cells []cell
		for i, l := range []*analyze.Latency{dep.Connect, dep.Pool, dep.Read} {
			ceiling := []*time.Duration{dep.ConnectCeiling, nil, dep.ReadCeiling}[i]
			if l == nil {
				cells = append(cells, cell{line: say(unknown)}, cell{line: say(unknown)}, cell{line: say(unknown)})
				if i != 1 {
					cells = append(cells, cell{line: say(unknown)})
				}
				continue
			}
			w := rowWarnings{table: t, all: l.Warnings()}
			cells = append(cells, cell{line: say(count(l.N))}, quantileCell(&w, &l.P50, analyze.FewP50), quantileCell(&w, &l.P99, analyze.FewP99))
			if i != 1 {
				cells = append(cells, cell{line: say(orUnknown(ceiling, setting))})
			}
		}
		t.rows = append(t.rows, row{label: callLabel(dep.Caller, dep.Callee, dep.Operation, dep.Split), cells: cells})
	}
}

func callLabel(caller, callee, operation string, split *string) line {
	return append(calling(say(named(caller)), callee, operation), splitLabel(split)...)
}

// calling goes on from who calls.
func calling(l line, callee, operation string) line {
	l = append(l, say(" → ", named(callee))...)
	if operation != "" {
		l = append(l, say(" ", named(operation))...)
	}
	return l
}

// misfits is how many routes are named that a call does not fit.
const misfits = 3

// timeoutTable has the suggestions, beside the policy and the timeout that is
// used now where those are known.
func timeoutTable(d *document, deps []*analyze.Dependency) {
	d.prose("Suggested timeouts: no call with less than the minimum left, no wait beyond the ceiling.")
	any := func(has func(*analyze.Dependency) bool) bool { return slices.ContainsFunc(deps, has) }
	unclear := func(d *analyze.Dependency) bool { return slices.Contains(d.Warnings, analyze.TimeoutUnclear) }
	current := any(func(d *analyze.Dependency) bool { return d.CurrentTimeout != nil || unclear(d) })
	required := any(func(d *analyze.Dependency) bool { return d.Required != nil || d.Hint != "" })

	t := d.table("dependency")
	if required {
		t.column(column{head: "required", left: true})
	}
	minimum := t.column(column{head: "minimum"})
	t.column(column{head: "ceiling"})
	cuts := t.column(column{head: "cuts"})
	if current {
		t.column(column{head: "timeout now"})
		t.column(column{head: "cuts now"})
		t.column(column{head: "seen in", left: true})
	}
	t.columns[cuts].notes = []int{t.foot("false timeouts: share of calls that take longer, with its 95 % interval")}
	for _, dep := range deps {
		if slices.Contains(dep.Warnings, analyze.AssumesRequired) {
			t.columns[minimum+1].notes = []int{t.foot(warningText(analyze.AssumesRequired))}
		}
	}
	for _, dep := range deps {
		w := rowWarnings{table: t, all: dep.Warnings}
		var cells []cell
		add := func(s string, notes ...int) { cells = append(cells, cell{line: say(s), notes: notes}) }
		if required {
			c := cell{line: say(orUnknown(dep.Required, yesNo))}
			if dep.Hint != "" {
				c.line = append(c.line, say(" (", named(dep.Hint), ")")...)
				c.notes = []int{t.foot(hintText(dep.Hint))}
			}
			cells = append(cells, c)
		}
		cells = append(cells,
			cell{line: say(orUnknown(dep.Minimum, dur)), notes: w.at(analyze.MinimumUnknown), under: inPolicy(dep.PolicyMinimum)},
			cell{line: say(orUnknown(dep.Ceiling, setting)), under: inPolicy(dep.PolicyCeiling),
				notes: w.at(analyze.NoCeiling, analyze.FewCeiling, analyze.CappedByBudget, analyze.DoesNotFit)})
		shareCell := func(p, low, high *float64) {
			c := cell{line: say(orUnknown(p, percent))}
			if low != nil && high != nil {
				c.under = percent(*low) + " … " + percent(*high)
			}
			cells = append(cells, c)
		}
		shareCell(dep.CeilingShareCut, dep.CeilingShareCutLow, dep.CeilingShareCutHigh)
		if now := dep.CurrentTimeout; current && now != nil {
			add(setting(now.NS))
			shareCell(now.ShareCut, now.ShareCutLow, now.ShareCutHigh)
			source := cell{line: say(named(now.Source))}
			if now.Source == "pile" {
				source.notes = []int{t.foot("pile: most of the cuts lie at this time")}
			}
			cells = append(cells, source)
		} else if current {
			add(unknown, w.at(analyze.TimeoutUnclear)...)
			add(unknown)
			add(unknown)
		}
		var details []line
		fits := func(what string, routes []string) {
			for i, r := range routes {
				if i == misfits {
					details = append(details, say("and ", count(len(routes)-i), " more"))
					break
				}
				details = append(details, say(what, named(r)))
			}
		}
		fits("does not fit ", dep.DoesNotFit)
		fits("the policy's minimum does not fit ", dep.PolicyDoesNotFit)
		if n := dep.FalseTimeouts; n != nil && *n > 0 {
			details = append(details, say("false timeouts: ", count(*n), " cut whose answer would have come in time"))
		}
		if n := dep.LateAnyway; n != nil && *n > 0 {
			details = append(details, say("late anyway: ", count(*n), " cut whose answer would have come too late all the same"))
		}
		if details != nil {
			t.detail = "remarks"
		}
		t.rows = append(t.rows, row{label: callLabel(dep.Caller, dep.Callee, dep.Operation, dep.Split), cells: cells, details: details})
	}
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// hintText says what a hint at whether a call is required rests on.
func hintText(hint string) string {
	if hint == "fallback" {
		return "fallback: something else was done instead of a failed call, so it may be optional"
	}
	return "in brackets what the callee says of itself: service.criticality"
}

// inPolicy writes what the policy says, for under what is suggested.
func inPolicy(d *time.Duration) string {
	if d == nil {
		return ""
	}
	return "policy " + setting(*d)
}
