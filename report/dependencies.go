package report

import (
	"cmp"
	"slices"
	"time"

	"overrun/analyze"
)

// ceilingWarnings are those that the table of timeouts shows; the others stand
// with the latencies.
var ceilingWarnings = []analyze.Warning{analyze.NoCeiling, analyze.CappedByBudget, analyze.DoesNotFit, analyze.AssumesRequired, analyze.MinimumUnknown}

// dependenciesSection has two tables with the same rows: what calls did, and
// what timeouts follow from it.
func dependenciesSection(d *document, r *analyze.Report, o Options) {
	if len(r.Dependencies) == 0 {
		d.head("Dependencies")
		d.say("no dependencies: no request makes a call")
		return
	}
	d.head("Dependencies", "caller → callee operation, longest on the critical path first")
	deps := sorted(r.Dependencies, func(a, b *analyze.Dependency) int {
		return cmp.Or(cmp.Compare(b.Path, a.Path), cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee), cmp.Compare(a.Operation, b.Operation))
	})
	n := o.rows(len(deps), 1)
	held := callerTime(r)

	t := d.table("dependency", column{head: "calls"}, column{head: "attempts"}, column{head: "cut"}, column{head: "errors"},
		column{head: "p50"}, column{head: "p99"}, column{head: "p99.9"}, column{head: "95 % interval"}, column{head: "path"})
	t.columns[8].notes = []int{t.foot("share of the caller's time: path time of these calls / (path time of all calls of the caller + own time of its routes)")}
	t.left = len(deps) - n
	for _, dep := range deps[:n] {
		w := rowWarnings{table: t, all: dep.Warnings}
		w.place(ceilingWarnings...)
		w.place(analyze.ConnectInRead) // these latencies are of whole attempts; the table of times says it
		cells := []cell{{line: say(count(dep.Calls))}, {line: say(count(dep.Attempts))}, {line: say(count(dep.Cut))}, {line: say(count(dep.Errors))}}
		cells = append(cells, quantiles(&w, &dep.Latency, false)...)
		cells = append(cells, cell{line: say(between(dep.Latency.P999.Low, dep.Latency.P999.High))}, cell{line: say(share(dep.Path, held[dep.Caller]))})
		t.rows = append(t.rows, row{label: callLabel(dep.Caller, dep.Callee, dep.Operation), cells: cells, notes: w.rest()})
	}
	timeoutTable(d, deps[:n])
}

func callLabel(caller, callee, operation string) line {
	l := say(named(caller), " → ", named(callee))
	if operation != "" {
		l = append(l, say(" ", named(operation))...)
	}
	return l
}

// callerTime is, for each caller, the path time of all its calls and the own
// time of its routes: what a share of the path is a share of.
func callerTime(r *analyze.Report) map[string]time.Duration {
	held := make(map[string]time.Duration)
	for i := range r.Dependencies {
		held[r.Dependencies[i].Caller] += r.Dependencies[i].Path
	}
	for i := range r.Routes {
		if _, calls := held[r.Routes[i].Service]; calls {
			held[r.Routes[i].Service] += r.Routes[i].Time.Own
		}
	}
	return held
}

// misfits is how many routes are named that a call does not fit.
const misfits = 3

// timeoutTable has the suggestions, beside the policy and the timeout that is
// used now where those are known.
func timeoutTable(d *document, deps []*analyze.Dependency) {
	d.prose("Suggested timeouts: no call with less than the minimum left, no wait beyond the ceiling.")
	any := func(has func(*analyze.Dependency) bool) bool { return slices.ContainsFunc(deps, has) }
	policy := any(func(d *analyze.Dependency) bool { return d.PolicyMinimum != nil || d.PolicyCeiling != nil })
	current := any(func(d *analyze.Dependency) bool { return d.CurrentTimeout != nil })
	required := any(func(d *analyze.Dependency) bool { return d.Required != nil })

	t := d.table("dependency")
	if required {
		t.column(column{head: "required"})
	}
	minimum := t.column(column{head: "minimum"})
	t.column(column{head: "ceiling"})
	cuts := t.column(column{head: "cuts"})
	if policy {
		t.column(column{head: "policy min."})
		t.column(column{head: "policy ceil."})
	}
	if current {
		t.column(column{head: "timeout now"})
		t.column(column{head: "cuts now"})
		t.column(column{head: "seen in", left: true})
	}
	t.columns[cuts].notes = []int{t.foot("share of answers that take longer than the ceiling")}
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
			add(orUnknown(dep.Required, func(yes bool) string {
				if yes {
					return "yes"
				}
				return "no"
			}))
		}
		add(orUnknown(dep.Minimum, dur), w.at(analyze.MinimumUnknown)...)
		add(orUnknown(dep.Ceiling, setting), w.at(analyze.NoCeiling, analyze.FewCeiling, analyze.CappedByBudget, analyze.DoesNotFit)...)
		add(orUnknown(dep.CeilingShareCut, percent))
		if policy {
			add(orUnknown(dep.PolicyMinimum, setting))
			add(orUnknown(dep.PolicyCeiling, setting))
		}
		if now := dep.CurrentTimeout; current && now != nil {
			add(setting(now.NS))
			add(orUnknown(now.ShareCut, percent))
			cells = append(cells, cell{line: say(named(now.Source))})
		} else if current {
			add(unknown)
			add(unknown)
			add(unknown)
		}
		var details []line
		for i, r := range dep.DoesNotFit {
			if i == misfits {
				details = append(details, say("and ", count(len(dep.DoesNotFit)-i), " more"))
				break
			}
			details = append(details, say("does not fit ", named(r)))
		}
		if details != nil {
			t.detail = "routes it does not fit"
		}
		t.rows = append(t.rows, row{label: callLabel(dep.Caller, dep.Callee, dep.Operation), cells: cells, details: details})
	}
}
