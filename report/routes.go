package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"overrun/analyze"
)

// routesSection has two tables with the same rows: how requests ended and how
// long they took, and where their time went.
func routesSection(d *document, r *analyze.Report, o Options) {
	if len(r.Routes) == 0 {
		d.head("Routes")
		d.say("no routes: no span is a request")
		return
	}
	d.head("Routes", "most late first; times are of complete and partial requests")
	routes := sorted(r.Routes, func(a, b *analyze.Route) int {
		return cmp.Or(b.Late-a.Late, b.Requests-a.Requests, cmp.Compare(a.Service, b.Service), cmp.Compare(a.Route, b.Route))
	})
	n := o.rows(len(routes), 1)

	t := d.table("route", column{head: "requests"}, column{head: "late"}, column{head: "share"}, column{head: "partial"}, column{head: "failed"},
		column{head: "p50"}, column{head: "p95"}, column{head: "p99"}, column{head: "p99.9"})
	t.left = len(routes) - n
	for _, r := range routes[:n] {
		w := rowWarnings{table: t, all: r.Warnings}
		w.place(analyze.ConnectInRead) // in the table of times
		late, lateShare, lateUnder := cell{line: say(unknown)}, unknown, ""
		if r.WithDeadline > 0 {
			late = cell{line: say(count(r.Late))}
		}
		if r.LateInherited > 0 {
			late.under = count(r.LateInherited) + " inherited"
			late.notes = append(late.notes, t.foot("inherited: late by the deadline of who called, of which little or nothing may have been left when the request began"))
		}
		if r.LateShare != nil {
			lateShare = percent(*r.LateShare)
			between := orUnknown(r.LateShareLow, percent) + " … " + orUnknown(r.LateShareHigh, percent)
			if r.LateShareLow != nil {
				lateUnder = between
			}
			if r.WithDeadline < r.Requests {
				late.notes = append(late.notes, t.foot("only some requests of this route have a deadline; the share is of those, failed ones left out"))
			}
		}
		cells := []cell{{line: say(count(r.Requests))}, late, {line: say(lateShare), under: lateUnder}, {line: say(count(r.Partial))}, {line: say(count(r.Failed))}}
		cells = append(cells, quantiles(&w, &r.Latency, true)...)
		t.rows = append(t.rows, row{label: routeLabel(r.Service, r.Route, r.Split), cells: cells, notes: w.rest()})
	}
	reserveTable(d, routes[:n])
	timeTable(d, routes[:n])
}

// routeLabel names a route, with the value by which rows are split in brackets.
func routeLabel(service, route string, split *string) line {
	return append(say(named(service), " ", named(route)), splitLabel(split)...)
}

func splitLabel(split *string) line {
	switch {
	case split == nil:
		return nil
	case *split == "":
		return say(" [not recorded]")
	}
	return say(" [", named(*split), "]")
}

// sorted gives pointers to the elements in an order. The elements stay.
func sorted[T any](list []T, order func(a, b *T) int) []*T {
	s := make([]*T, len(list))
	for i := range list {
		s[i] = &list[i]
	}
	slices.SortStableFunc(s, order)
	return s
}

// quantiles gives the cells of p50, p95 if wanted, p99 and p99.9, with the
// warnings that concern them.
func quantiles(w *rowWarnings, l *analyze.Latency, p95 bool) (cells []cell) {
	for i, q := range []struct {
		e   *analyze.Estimate
		few analyze.Warning
	}{{&l.P50, analyze.FewP50}, {&l.P95, analyze.FewP95}, {&l.P99, analyze.FewP99}, {&l.P999, analyze.FewP999}} {
		if i == 1 && !p95 {
			w.place(q.few)
			continue
		}
		cells = append(cells, quantileCell(w, q.e, q.few))
	}
	return cells
}

// quantileCell gives the cell of a quantile. few is the warning of too few values
// for it.
func quantileCell(w *rowWarnings, e *analyze.Estimate, few analyze.Warning) cell {
	c := cell{line: say(quantile(e))}
	if e.Naive != nil && (e.Point == nil || *e.Point != *e.Naive) {
		c.under = "naive " + dur(*e.Naive)
		c.notes = append(c.notes, w.table.foot("naive: of the answers that are known, also of callees that ran on, as if no other call had been made"))
	}
	switch {
	case e.Point != nil || e.IfAnswered == nil:
		c.notes = append(w.at(few), c.notes...)
	case e.IfNever != nil:
		c.notes = append(w.at(few, analyze.CutsHidePoint), c.notes...)
	default: // says more than that there are too few
		w.place(few, analyze.CurveEnds)
		c.notes = append([]int{w.table.foot(warningText(analyze.CurveEnds))}, c.notes...)
	}
	return c
}

// quantile writes a quantile: its point, or the bounds it lies between.
func quantile(e *analyze.Estimate) string {
	switch {
	case e.Point != nil:
		return dur(*e.Point)
	case e.IfAnswered == nil:
		return unknown
	case e.IfNever == nil && e.Above != nil:
		return "> " + dur(*e.Above)
	case e.IfNever == nil:
		return "> " + dur(*e.IfAnswered)
	}
	return between(e.IfAnswered, e.IfNever)
}

// timeTable says where the time of a mean request went. Categories that no row
// has are left out and named below.
func timeTable(d *document, routes []*analyze.Route) {
	d.prose("Where the time went: mean of all requests, failed ones too, and share of the total.")
	t := d.table("route", column{head: "total"})
	var none []string
	var shown []func(*analyze.Time) time.Duration
	for _, c := range []struct {
		head   string
		always bool
		of     func(*analyze.Time) time.Duration
	}{
		{"own", true, func(t *analyze.Time) time.Duration { return t.Own }},
		{"connect", true, func(t *analyze.Time) time.Duration { return t.Connect }},
		{"read", true, func(t *analyze.Time) time.Duration { return t.Read }},
		{"retry", false, func(t *analyze.Time) time.Duration { return t.Retry }},
		{"retry wait", false, func(t *analyze.Time) time.Duration { return t.RetryWait }},
		{"hedge", false, func(t *analyze.Time) time.Duration { return t.Hedge }},
		{"messaging", false, func(t *analyze.Time) time.Duration { return t.Messaging }},
		{"unknown", false, func(t *analyze.Time) time.Duration { return t.Unknown }},
	} {
		if c.always || slices.ContainsFunc(routes, func(r *analyze.Route) bool { return c.of(&r.Time) != 0 }) {
			t.column(column{head: c.head})
			shown = append(shown, c.of)
		} else {
			none = append(none, c.head)
		}
	}
	const connect, read = 1, 2 // in shown
	for _, r := range routes {
		w := rowWarnings{table: t, all: r.Warnings}
		if r.MeanTime == nil {
			cells := []cell{{line: say(unknown), notes: w.at(analyze.MixedWeights)}}
			for range shown {
				cells = append(cells, cell{line: say(unknown)})
			}
			t.rows = append(t.rows, row{label: routeLabel(r.Service, r.Route, r.Split), cells: cells})
			continue
		}
		cells := []cell{{line: say(mean(r.MeanTime.Total, r.Time.Total))}}
		for i, of := range shown {
			c := cell{line: say(mean(of(r.MeanTime), of(&r.Time))), under: meanShare(of(r.MeanTime), r.MeanTime.Total, of(&r.Time), r.Time.Total)}
			switch {
			case i != connect && i != read || !w.has(analyze.ConnectInRead):
			case r.Time.Connect != 0:
				w.place(analyze.ConnectInRead)
				c.notes = []int{t.foot("some calls do not tell connecting apart from waiting for the answer: theirs is inside read")}
			default:
				c.notes = w.at(analyze.ConnectInRead)
			}
			if i == connect && r.Time.Connect == 0 && w.has(analyze.ConnectInRead) {
				c.line, c.under = say(unknown), unknown
			}
			cells = append(cells, c)
		}
		t.rows = append(t.rows, row{label: routeLabel(r.Service, r.Route, r.Split), cells: cells})
	}
	if len(none) > 0 {
		d.prose("These routes spent nothing on: ", strings.Join(none, ", ")+".")
	}
}

// mean writes the mean of what has a sum.
func mean(mean, sum time.Duration) string {
	if mean == 0 && sum > 0 {
		return "< 1 ns"
	}
	return dur(mean)
}

// meanShare writes part / whole of means in percent: what rounding to 1 ns makes none or all is
// neither, as the sums show.
func meanShare(part, whole, sum, all time.Duration) string {
	switch {
	case part == 0 && sum > 0:
		return percent(math.SmallestNonzeroFloat64)
	case part == whole && sum < all:
		return percent(math.Nextafter(1, 0))
	}
	return share(part, whole)
}
