package report

import (
	"bytes"
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"time"

	"overrun/analyze"
)

// ReplayJSON writes a replay as one object on one line.
func ReplayJSON(w io.Writer, r *analyze.ReplayReport) error {
	return putJSON(w, r)
}

// ReplayText writes a replay for a terminal or a ticket's plain text.
func ReplayText(w io.Writer, r *analyze.ReplayReport, o Options) error {
	out, err := layText(buildReplay(r, o), o)
	if err != nil {
		return err
	}
	return put(w, out)
}

// ReplayMarkdown writes a replay as GitHub's Markdown.
func ReplayMarkdown(w io.Writer, r *analyze.ReplayReport, o Options) error {
	return put(w, layMarkdown(buildReplay(r, o), o))
}

func buildReplay(r *analyze.ReplayReport, o Options) *document {
	d := new(document)
	timeoutSection(d, r.Timeout)
	sweepSection(d, r, o)
	replayedSection(d, r, o)
	replayedCallsSection(d, r, o)
	return d
}

// replayedSection has, for each route, what was observed beside what would have
// been.
func replayedSection(d *document, r *analyze.ReplayReport, o Options) {
	d.head("Replayed", "observed beside what would have been; most requests first; draws by seed ", strconv.FormatUint(r.Seed, 10))
	if len(r.Routes) == 0 {
		d.say("no routes: no span is a request")
		return
	}
	routes := sorted(r.Routes, func(a, b *analyze.ReplayRoute) int { return b.Observed.Requests - a.Observed.Requests })
	n := o.rows(len(routes), 1)
	for _, route := range routes[:n] {
		d.prose(routeLabel(route.Service, route.Route, route.Split))
		d.prose(replayedWords(route))
		ends := d.table("", column{head: "requests", left: true}, column{head: "p50"}, column{head: "p95"}, column{head: "p99"},
			column{head: "late"}, column{head: "share"}, column{head: "95 % interval"}, column{head: "complete"}, column{head: "partial"}, column{head: "failed"})
		calls := &table{doc: d, columns: []column{{head: "calls", left: true}, {head: "made"}, {head: "attempts"}, {head: "skipped"}, {head: "cut"},
			{head: "complete in time"}, {head: "partial in time"}, {head: "drawn"}, {head: "ranges"}}}
		w := rowWarnings{table: ends, all: route.Warnings}
		for _, m := range []struct {
			name string
			*analyze.Measures
		}{{"observed", &route.Observed}, {replayedName(route.ReplayedAtBest != nil), &route.Replayed}, {"at best", route.ReplayedAtBest}} {
			if m.Measures == nil {
				continue
			}
			name := cell{line: say(m.name)}
			if m.name != "observed" {
				name.notes = w.rest()
			}
			ends.rows = append(ends.rows, row{cells: append([]cell{name}, endCells(m.Measures)...)})
			drawn, bounded := count(m.Drawn), count(m.Bounded)
			if m.name == "observed" {
				drawn, bounded = unknown, unknown
			}
			calls.rows = append(calls.rows, row{cells: plain(m.name, count(m.Calls), count(m.Attempts), count(m.Skipped), count(m.Cut),
				inTime(m.CompleteInTime, m.Measures), inTime(m.PartialInTime, m.Measures), drawn, bounded)})
		}
		d.blocks = append(d.blocks, block{table: calls})
	}
	if n < len(routes) {
		d.say(more(len(routes) - n))
	}
}

func replayedName(open bool) string {
	if open {
		return "at worst"
	}
	return "replayed"
}

// replayedWords says what a replay comes to for one route.
func replayedWords(r *analyze.ReplayRoute) line {
	l := say("saves ", spanOf(r.Saved, "request"), ", loses ", spanOf(r.Lost, ""), "; late or failed all the same: ", spanOf(r.LateAgain, ""))
	if t := r.Theory; t != nil {
		l = append(l, say(". If the ", Plural(t.Branches, "call"), " of the last group were independent, ", percent(t.Late), " would be late or timed out (",
			percent(t.Low), " … ", percent(t.High), "); of ", Plural(t.Requests, "request"), " ", percent(t.Observed), " were")...)
	}
	return l
}

// spanOf writes a number that may be a range, with its interval.
func spanOf(s analyze.Span, noun string) string {
	low, high := min(s.Worst, s.Best), max(s.Worst, s.Best)
	text := count(low)
	if high > low {
		text += " to " + count(high)
	}
	if noun != "" {
		if text += " " + noun; high != 1 {
			text += "s"
		}
	}
	if s.Low < low || s.High > high {
		text += " (" + count(s.Low) + " … " + count(s.High) + ")"
	}
	return text
}

// plain makes cells of strings of ours.
func plain(texts ...string) (cells []cell) {
	for _, t := range texts {
		cells = append(cells, cell{line: say(t)})
	}
	return cells
}

func inTime(n int, m *analyze.Measures) string {
	if m.WithDeadline == 0 {
		return unknown
	}
	return count(n)
}

// endCells are the cells about how requests ended.
func endCells(m *analyze.Measures) []cell {
	late, share, interval := unknown, unknown, unknown
	if m.LateShare != nil {
		late, share = count(m.Late), percent(*m.LateShare)
		interval = percent(*m.LateLow) + " … " + percent(*m.LateHigh)
	}
	return plain(quantile(&m.Latency.P50), quantile(&m.Latency.P95), quantile(&m.Latency.P99), late, share, interval,
		count(m.Complete), count(m.Partial), count(m.Failed))
}

// replayedCallsSection says what became of the calls to each dependency.
func replayedCallsSection(d *document, r *analyze.ReplayReport, o Options) {
	if len(r.Dependencies) == 0 {
		return
	}
	d.head("Calls", "caller → callee operation, observed → replayed, most extra attempts first")
	deps := sorted(r.Dependencies, func(a, b *analyze.ReplayDependency) int {
		return extraAttempts(b) - extraAttempts(a)
	})
	n := o.rows(len(deps), 1)
	t := d.table("dependency", column{head: "calls"}, column{head: "attempts"}, column{head: "extra load"}, column{head: "skipped"}, column{head: "cut"})
	if slices.Contains(r.Warnings, analyze.LoadNotModelled) {
		t.columns[2].notes = []int{t.foot(warningText(analyze.LoadNotModelled))}
	}
	t.columns[4].notes = []int{t.foot("calls that ended so; a report of analyze counts attempts")}
	multiplied := slices.ContainsFunc(r.Dependencies, func(d analyze.ReplayDependency) bool { return d.Bottom > 1 })
	if multiplied {
		t.column(column{head: "at bottom", notes: []int{t.foot("up to so many attempts of it for one top request, by the policy")}})
	}
	t.left = len(deps) - n
	for _, dep := range deps[:n] {
		w := rowWarnings{table: t, all: dep.Warnings}
		change := func(of func(c *analyze.CallCount) int) string {
			was, low, high := of(&dep.Observed), of(&dep.Replayed), of(&dep.ReplayedAtBest)
			low, high = min(low, high), max(low, high)
			switch {
			case low < high:
				return count(was) + " → " + count(low) + " … " + count(high)
			case low != was:
				return count(was) + " → " + count(low)
			}
			return count(was)
		}
		cells := plain(change(func(c *analyze.CallCount) int { return c.Calls }), change(func(c *analyze.CallCount) int { return c.Attempts }),
			orUnknown(dep.ExtraLoad, signedPercent), change(func(c *analyze.CallCount) int { return c.Skipped }), change(func(c *analyze.CallCount) int { return c.Cut }))
		if multiplied {
			cells = append(cells, cell{line: say(count(dep.Bottom)), notes: w.at(analyze.RetriesMultiply)})
		}
		label := callLabel(dep.Caller, dep.Callee, dep.Operation, dep.Split)
		if !dep.Required {
			label = append(label, say(" (optional)")...)
		}
		t.rows = append(t.rows, row{label: label, cells: cells, notes: w.rest()})
	}
}

func extraAttempts(d *analyze.ReplayDependency) int {
	return max(d.Replayed.Attempts, d.ReplayedAtBest.Attempts) - d.Observed.Attempts
}

// signedPercent writes a change: +5.00 %, -3.00 %.
func signedPercent(share float64) string {
	switch {
	case share > 0:
		return "+" + percent(share)
	case share < 0:
		return "-" + percent(-share)
	}
	return percent(0)
}

// sweepSection is the frontier: what is in time against what is complete.
func sweepSection(d *document, r *analyze.ReplayReport, o Options) {
	if r.Sweep == nil {
		return
	}
	d.head("Sweep", "in time against complete, one ceiling after the other")
	if len(r.Sweep) == 0 {
		d.say("no request makes such a call")
	}
	routes := 0
	for i := 0; i < len(r.Sweep); {
		first := &r.Sweep[i]
		if routes++; routes > o.rows(routes, 1) {
			d.say("… and more routes (--all)")
			break
		}
		d.prose(routeLabel(first.Service, first.Route, first.Split))
		t := d.table("", column{head: "ceiling"}, column{head: "in time"}, column{head: "complete"}, column{head: "complete in time"},
			column{head: "late"}, column{head: "failed"}, column{head: "p50"}, column{head: "p99"}, column{head: "cut"})
		for ; i < len(r.Sweep) && r.Sweep[i].Service == first.Service && r.Sweep[i].Route == first.Route && ifKnown(r.Sweep[i].Split, plainText) == ifKnown(first.Split, plainText); i++ {
			p := &r.Sweep[i]
			for _, m := range []*analyze.Measures{&p.Replayed, p.ReplayedAtBest} {
				if m == nil {
					continue
				}
				ceiling := setting(p.Ceiling)
				if m == p.ReplayedAtBest {
					ceiling = "at best"
				}
				of := m.WithDeadline // none: share is unknown
				t.rows = append(t.rows, row{cells: plain(ceiling, share(m.CompleteInTime+m.PartialInTime, of), share(m.Complete, m.Requests), share(m.CompleteInTime, of),
					share(m.Late, of), share(m.Failed, m.Requests), quantile(&m.Latency.P50), quantile(&m.Latency.P99), count(m.Cut))})
			}
		}
		if first.Replayed.WithDeadline > 0 {
			of := []int{t.foot("share of the requests with a deadline, failed ones too")}
			t.columns[1].notes, t.columns[3].notes, t.columns[4].notes = of, of, of
		}
	}
}

// timeoutSection answers whoever says "raise the timeout".
func timeoutSection(d *document, t *analyze.TimeoutAnswer) {
	if t == nil {
		return
	}
	d.head("Timeout", named(t.Name), " with ", setting(t.Timeout))
	now := "no timeout is seen in use"
	if t.Now != nil {
		now = setting(*t.Now) + " is seen in use"
	}
	d.say(now, "; ", Plural(t.Calls, "call"))
	d.say("saves ", spanOf(t.Saved, "request"), "; late or failed all the same: ", spanOf(t.LateAgain, ""), "; no longer in time: ", spanOf(t.Lost, ""))
	rate := "at the busiest minute's " + decimal(t.Arrivals) + " calls a second"
	if t.Per100 {
		rate = "for every 100 requests a second (" + decimal(t.Arrivals) + " calls; how many the record left out is not known, it shows " + decimal(t.Recorded) + " calls a second in its busiest minute)"
	}
	d.say("workers that wait, ", rate, ": ", decimal(t.WorkersNow), " now, ", setting(t.BoundNow), " each; ",
		decimal(t.WorkersThen), " then, ", setting(t.BoundThen), " each")
	d.say("if it answers no more: ", decimal(t.WorkersAll), " workers, ", setting(t.BoundAll), " each, in ", Plural(t.Attempts, "attempt"))
}

// decimal writes a number with three significant digits, or all before the point.
func decimal(f float64) string {
	switch {
	case f >= 99.95:
		return count(int64(f + 0.5))
	case f >= 9.995:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// ReplayCSV writes one row for each route and what was observed, or replayed, of it;
// of a sweep one for each value, too.
func ReplayCSV(w io.Writer, r *analyze.ReplayReport) error {
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	if err := c.Write(replayRow("", "", nil, "", nil, &analyze.Measures{}, true)); err != nil {
		return err
	}
	write := func(service, route string, split *string, what string, ceiling *time.Duration, m *analyze.Measures) error {
		if m == nil {
			return nil
		}
		return c.Write(replayRow(service, route, split, what, ceiling, m, false))
	}
	for i := range r.Routes {
		t := &r.Routes[i]
		for _, m := range []struct {
			what string
			*analyze.Measures
		}{{"observed", &t.Observed}, {"replayed", &t.Replayed}, {"replayed at best", t.ReplayedAtBest}} {
			if err := write(t.Service, t.Route, t.Split, m.what, nil, m.Measures); err != nil {
				return err
			}
		}
	}
	for i := range r.Sweep {
		p := &r.Sweep[i]
		if err := write(p.Service, p.Route, p.Split, "replayed", &p.Ceiling, &p.Replayed); err != nil {
			return err
		}
		if err := write(p.Service, p.Route, p.Split, "replayed at best", &p.Ceiling, p.ReplayedAtBest); err != nil {
			return err
		}
	}
	c.Flush()
	if err := c.Error(); err != nil {
		return err
	}
	return put(w, b.Bytes())
}

// replayRow gives the fields of a row, or with heads their names.
func replayRow(service, route string, split *string, what string, ceiling *time.Duration, m *analyze.Measures, heads bool) (row []string) {
	add := func(head, value string) {
		if heads {
			value = head
		}
		row = append(row, value)
	}
	add("service", inert(service))
	add("route", inert(route))
	add("split", inert(ifKnown(split, plainText)))
	add("what", what)
	add("ceiling_ns", ifKnown(ceiling, nanos))
	for _, n := range []struct {
		head string
		n    int
	}{{"requests", m.Requests}, {"with_deadline", m.WithDeadline}, {"complete", m.Complete}, {"partial", m.Partial}, {"failed", m.Failed},
		{"late", m.Late}, {"timed_out", m.TimedOut}, {"complete_in_time", m.CompleteInTime}, {"partial_in_time", m.PartialInTime},
		{"calls", m.Calls}, {"attempts", m.Attempts}, {"skipped", m.Skipped}, {"cut", m.Cut}, {"drawn", m.Drawn}, {"bounded", m.Bounded}} {
		add(n.head, strconv.Itoa(n.n))
	}
	for _, f := range []struct {
		head string
		f    *float64
	}{{"late_share", m.LateShare}, {"late_share_low", m.LateLow}, {"late_share_high", m.LateHigh},
		{"complete_share", m.CompleteShare}, {"complete_share_low", m.CompleteLow}, {"complete_share_high", m.CompleteHigh}} {
		add(f.head, ifKnown(f.f, fraction))
	}
	for _, q := range []struct {
		head string
		e    *analyze.Estimate
	}{{"p50", &m.Latency.P50}, {"p95", &m.Latency.P95}, {"p99", &m.Latency.P99}, {"p999", &m.Latency.P999}} {
		add(q.head+"_ns", ifKnown(q.e.Point, nanos))
		add(q.head+"_low_ns", ifKnown(q.e.Low, nanos))
		add(q.head+"_high_ns", ifKnown(q.e.High, nanos))
	}
	return row
}

func plainText(s string) string { return s }
