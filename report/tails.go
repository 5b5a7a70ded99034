package report

import (
	"fmt"
	"slices"
	"time"

	"overrun/analyze"
)

// reserveTable says what routes need after their last answer, and whether their
// parallel calls are slow together.
func reserveTable(d *document, routes []*analyze.Route) {
	var rows []*analyze.Route
	together := false
	for _, r := range routes {
		if r.Tail.P50 != nil || r.Independence != nil {
			rows = append(rows, r)
		}
		together = together || r.Independence != nil
	}
	if rows == nil {
		return
	}
	d.prose("Own work after the last answer, which a reserve has to hold; and how many requests would be late or timed out if parallel calls were slow independently.")
	t := d.table("route", column{head: "own work p50"}, column{head: "p99"})
	if together {
		t.column(column{head: "late or timed out"})
		t.column(column{head: "if independent"})
		t.column(column{head: "ratio"})
		t.column(column{head: "so", left: true})
	}
	for _, r := range rows {
		cells := []cell{{line: say(orUnknown(r.Tail.P50, dur))}, {line: say(orUnknown(r.Tail.P99, dur))}}
		if in := r.Independence; in != nil {
			cells = append(cells, cell{line: say(percent(in.Observed))}, cell{line: say(percent(in.Predicted)), notes: []int{t.foot(fmt.Sprintf("1 - product of the shares of each of the %d branches that answer by the deadline less the median own work, over %s requests that hold all of them", len(in.Branches), count(in.Requests)))}},
				cell{line: say(orUnknown(in.Ratio, func(f float64) string { return fmt.Sprintf("%.2f", f) }))}, cell{line: say(verdict(in.Verdict))})
		} else if together {
			cells = append(cells, cell{line: say(unknown)}, cell{line: say(unknown)}, cell{line: say(unknown)}, cell{line: say(unknown)})
		}
		t.rows = append(t.rows, row{label: routeLabel(r.Service, r.Route, r.Split), cells: cells})
	}
}

func verdict(v string) line {
	switch v {
	case "together":
		return say("they are slow together")
	case "apart":
		return say("they are slow in turn")
	case "independent":
		return say("no sign of a common cause")
	case "too-few":
		return say("too few to tell")
	}
	return say(named(v))
}

// failedTable has the latencies of bad answers, which those of good ones leave out.
func failedTable(d *document, deps []*analyze.Dependency) {
	var rows []*analyze.Dependency
	for _, dep := range deps {
		if dep.LatencyFailed != nil {
			rows = append(rows, dep)
		}
	}
	if rows == nil {
		return
	}
	d.prose("How long it took to fail: attempts that ended in an error, were refused or could not connect.")
	t := d.table("dependency", column{head: "failed"}, column{head: "p50"}, column{head: "p95"}, column{head: "p99"}, column{head: "p99.9"})
	for _, dep := range rows {
		w := rowWarnings{table: t, all: dep.LatencyFailed.Warnings()}
		cells := append([]cell{{line: say(count(dep.LatencyFailed.N))}}, quantiles(&w, dep.LatencyFailed, true)...)
		t.rows = append(t.rows, row{label: callLabel(dep.Caller, dep.Callee, dep.Operation, dep.Split), cells: cells, notes: w.rest()})
	}
}

// hedgeTable says what second copies would do, for dependencies where somebody could
// send them.
func hedgeTable(d *document, deps []*analyze.Dependency) {
	var rows []*analyze.Dependency
	for _, dep := range deps {
		if h := dep.Hedge; h != nil && h.Touched > 0 && !slices.Contains(h.Not, "not-safe") && !slices.Contains(h.Not, "retried") {
			rows = append(rows, dep)
		}
	}
	if rows == nil {
		return
	}
	d.prose("Second copies, for calls that are safe to repeat: sent when the first has taken its p95, the first answer counts.")
	t := d.table("dependency", column{head: "after"}, column{head: "extra calls"}, column{head: "slow calls"}, column{head: "with time left"}, column{head: "saves"}, column{head: "but", left: true})
	t.columns[4].notes = []int{t.foot("share of requests that would be in time: nothing if the second copy is as slow as the first, the greater number if it is independent of it. The load that it adds is not modelled")}
	for _, dep := range rows {
		h := dep.Hedge
		after := unknown
		if dep.HedgeAfter != nil {
			after = dur(*dep.HedgeAfter)
		}
		saves := unknown
		if h.Rescued != nil {
			saves = "0 … " + percent(*h.Rescued)
		}
		but := line{}
		for i, why := range h.Not {
			if i > 0 {
				but = append(but, say(", ")...)
			}
			but = append(but, hedgeBut(why)...)
		}
		t.rows = append(t.rows, row{label: callLabel(dep.Caller, dep.Callee, dep.Operation, dep.Split), cells: []cell{{line: say(after)}, {line: say(orUnknown(h.ExtraLoad, percent))},
			{line: say(count(h.Touched))}, {line: say(share(h.Fits, h.Touched))}, {line: say(saves)}, {line: but}}})
	}
}

func hedgeBut(why string) line {
	switch why {
	case "does-not-fit":
		return say("too late by then")
	case "too-much-load":
		return say("too much load")
	case "no-second-replica":
		return say("no second replica seen")
	}
	return say(named(why))
}

// shapeDetails says what is odd about the latencies of a dependency.
func shapeDetails(dep *analyze.Dependency) (list []line) {
	for _, c := range dep.ClusteredTail {
		list = append(list, say(fmt.Sprintf("clustered tail: %s of the %s slowest answers (above the low end of %s) come from one ", percent(c.Share), count(c.Slow), tailName(c.Quantile)),
			named(c.Of), " ", named(c.Name)))
	}
	if dr := dep.Drift; dr != nil {
		list = append(list, say(fmt.Sprintf("drift: %s of the answers took longer than p50 in the first third of the time, %s in the last", percent(dr.First), percent(dr.Last))))
	}
	if len(dep.Modes) == 2 {
		list = append(list, say("two modes: many answers take about ", setting(round2(dep.Modes[0])), ", and many about ", setting(round2(dep.Modes[1]))))
	}
	if p := dep.Pile; p != nil {
		list = append(list, say("pile: ", percent(p.Share), " of the answers took about ", dur(p.At)))
	}
	return list
}

// tailName writes the quantile of a clustered tail: p99.9.
func tailName(q string) string {
	if q == "p999" {
		return "p99.9"
	}
	return q
}

// round2 rounds to two digits: modes are known to a third.
func round2(d time.Duration) time.Duration {
	step := time.Duration(1)
	for d/step >= 100 {
		step *= 10
	}
	return (d + step/2) / step * step
}
