package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"overrun/analyze"
)

// TrendText writes a trend for a terminal or a ticket's plain text.
func TrendText(w io.Writer, t *analyze.Trend, o Options) error {
	out, err := layText(buildTrend(t, o), o)
	if err != nil {
		return err
	}
	return put(w, out)
}

// TrendMarkdown writes a trend as GitHub's Markdown.
func TrendMarkdown(w io.Writer, t *analyze.Trend, o Options) error {
	return put(w, layMarkdown(buildTrend(t, o), o))
}

// TrendJSON writes a trend as one object on one line.
func TrendJSON(w io.Writer, t *analyze.Trend) error {
	return putJSON(w, t)
}

// figures say in words what the figures of a trend are, and how their numbers are written.
var figures = map[analyze.Figure]struct {
	head, about string
	write       func(float64) string
}{
	analyze.FigureP50:      {"p50", "of whole attempts", asDuration},
	analyze.FigureP999:     {"p99.9", "of whole attempts", asDuration},
	analyze.FigureCeiling:  {"ceiling", "suggested; one that deadlines cap has no interval", asDuration},
	analyze.FigureLate:     {"late share", "of answered requests with a deadline that call the dependency", percent},
	analyze.FigureAttempts: {"attempts per request", "of requests that call the dependency", func(f float64) string { return fmt.Sprintf("%.2f", f) }},
}

func asDuration(f float64) string { return dur(time.Duration(f)) }

func buildTrend(t *analyze.Trend, o Options) *document {
	d := new(document)
	d.head("Nights", "oldest first")
	nights := d.table("night", column{head: "began (UTC)", left: true}, column{head: "spans"}, column{head: "requests"}, column{head: "notes"})
	for i := range t.Nights {
		n := &t.Nights[i]
		began := unknown
		if n.Start != nil {
			began = time.Unix(0, *n.Start).UTC().Format(time.DateTime)
		}
		nights.rows = append(nights.rows, row{label: say(path(n.File)), cells: []cell{{line: say(began)}, {line: say(count(n.Spans))},
			{line: say(count(n.Requests))}, {line: say(count(len(n.Notes)))}}})
	}
	for _, f := range t.NoNights {
		d.prose("no night: ", path(f.File), ": ", f.Why)
	}
	driftSection(d, t, o)
	for i, f := range analyze.Figures {
		figureSection(d, t, i, f, o)
	}
	return d
}

// driftSection lists what drifted.
func driftSection(d *document, t *analyze.Trend, o Options) {
	d.head("Drifts", "the 95 % interval of the last night lies wholly above or below those of more than half of the nights before")
	var rows []row
	for i := range t.Dependencies {
		dep := &t.Dependencies[i]
		for k := range dep.Series {
			if s := &dep.Series[k]; s.Drift != "" {
				f := figures[s.Figure]
				first, last := ends(s)
				rows = append(rows, row{label: trendLabel(dep), cells: []cell{{line: say(f.head)}, {line: say(spark(s.Points))},
					{line: say(first)}, {line: say(last)}, {line: say(s.Drift)}}})
			}
		}
	}
	switch {
	case len(t.Nights) < 3:
		d.say("not known: it takes three nights; overrun compare tells two apart")
		return
	case rows == nil:
		d.say("none")
		return
	}
	table := d.table("dependency", column{head: "of", left: true}, column{head: "nights", left: true}, column{head: "first"}, column{head: "last"}, column{head: "drift", left: true})
	n := o.rows(len(rows), 2)
	table.rows, table.left = rows[:n], len(rows)-n
}

// figureSection has a row for each dependency that has the figure in some night.
func figureSection(d *document, t *analyze.Trend, at int, f analyze.Figure, o Options) {
	says := figures[f]
	d.head(says.head, says.about)
	deps := sorted(t.Dependencies, func(a, b *analyze.TrendRow) int {
		drifts := func(r *analyze.TrendRow) int { return min(1, len(r.Series[at].Drift)) }
		return cmp.Or(cmp.Compare(drifts(b), drifts(a)), cmp.Compare(b.Calls, a.Calls))
	})
	deps = slices.DeleteFunc(deps, func(r *analyze.TrendRow) bool {
		return !slices.ContainsFunc(r.Series[at].Points, func(v *analyze.Reading) bool { return v != nil && v.Point != nil })
	})
	if len(deps) == 0 {
		d.say("not known of any dependency")
		return
	}
	n := o.rows(len(deps), 1)
	table := d.table("dependency", column{head: "nights", left: true}, column{head: "first"}, column{head: "last"}, column{head: "95 % interval"}, column{head: "drift", left: true})
	table.left = len(deps) - n
	for _, dep := range deps[:n] {
		s := &dep.Series[at]
		first, last := ends(s)
		interval := unknown
		if v := s.Points[len(s.Points)-1]; v != nil && (v.Low != nil || v.High != nil) {
			interval = orUnknown(v.Low, says.write) + " … " + orUnknown(v.High, says.write)
		}
		table.rows = append(table.rows, row{label: trendLabel(dep), cells: []cell{{line: say(spark(s.Points))}, {line: say(first)}, {line: say(last)},
			{line: say(interval)}, {line: say(s.Drift)}}})
	}
}

func trendLabel(r *analyze.TrendRow) line { return callLabel(r.Caller, r.Callee, r.Operation, r.Split) }

// ends writes the first and the last night.
func ends(s *analyze.Series) (first, last string) {
	write := func(v *analyze.Reading) string {
		if v == nil {
			return unknown
		}
		return orUnknown(v.Point, figures[s.Figure].write)
	}
	return write(s.Points[0]), write(s.Points[len(s.Points)-1])
}

// spark draws one character a night, from the least value to the greatest; · where the
// value is not known.
func spark(points []*analyze.Reading) string {
	const bars = "▁▂▃▄▅▆▇█"
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range points {
		if v != nil && v.Point != nil {
			low, high = min(low, *v.Point), max(high, *v.Point)
		}
	}
	steps := []rune(bars)
	var b strings.Builder
	for _, v := range points {
		switch {
		case v == nil || v.Point == nil:
			b.WriteRune('·')
		case low == high:
			b.WriteRune(steps[3])
		default:
			b.WriteRune(steps[int(math.Round((*v.Point-low)/(high-low)*float64(len(steps)-1)))])
		}
	}
	return b.String()
}
