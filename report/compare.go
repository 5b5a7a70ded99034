package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"overrun/analyze"
)

// CompareText writes a comparison for a terminal or a ticket's plain text.
func CompareText(w io.Writer, c *analyze.Comparison, o Options) error {
	out, err := layText(buildCompare(c, o), o)
	if err != nil {
		return err
	}
	return put(w, out)
}

// CompareMarkdown writes a comparison as GitHub's Markdown.
func CompareMarkdown(w io.Writer, c *analyze.Comparison, o Options) error {
	return put(w, layMarkdown(buildCompare(c, o), o))
}

// CompareJSON writes a comparison as one object on one line.
func CompareJSON(w io.Writer, c *analyze.Comparison) error {
	return putJSON(w, c)
}

// A changed is a row of a comparison: a route or a dependency.
type changed struct {
	label       line
	seen        analyze.Seen
	differences []analyze.Difference
	warnings    []analyze.Warning
}

func routesChanged(c *analyze.Comparison) (list []changed) {
	for i := range c.Routes {
		r := &c.Routes[i]
		list = append(list, changed{routeLabel(r.Service, r.Route, r.Split), r.Seen, r.Differences, r.Warnings})
	}
	return list
}

func dependenciesChanged(c *analyze.Comparison) (list []changed) {
	for i := range c.Dependencies {
		d := &c.Dependencies[i]
		list = append(list, changed{callLabel(d.Caller, d.Callee, d.Operation, d.Split), d.Seen, d.Differences, d.Warnings})
	}
	return list
}

// of counts the differences with a verdict.
func (c *changed) of(v analyze.Verdict) (n int) {
	for i := range c.differences {
		if c.differences[i].Verdict == v {
			n++
		}
	}
	return n
}

// buildCompare makes the document of a comparison.
func buildCompare(c *analyze.Comparison, o Options) *document {
	d := new(document)
	routes, dependencies := routesChanged(c), dependenciesChanged(c)
	comparedSection(d, c)
	checklistSection(d, c.Acceptance)
	changesSection(d, slices.Concat(routes, dependencies), o)
	sidesSection(d, "Routes", "route", routes, o)
	sidesSection(d, "Dependencies", "dependency", dependencies, o)
	return d
}

// comparedSection says what was read, and how far verdicts are to be believed.
func comparedSection(d *document, c *analyze.Comparison) {
	d.head("Compared")
	for _, side := range []struct {
		name string
		in   *analyze.Input
	}{{"before", &c.Before}, {"after", &c.After}} {
		l := say(side.name, ": ", Plural(side.in.Files, "file"), ", ", Plural(side.in.Traces, "trace"), ", ", Plural(side.in.Requests, "request"))
		if side.in.Start != nil && side.in.End != nil {
			l = append(l, say(", ", fromTo(*side.in.Start, *side.in.End))...)
		}
		d.say(l)
		for _, w := range side.in.Warnings {
			d.say(side.name, ": ", warningText(w))
		}
	}
	d.say("intervals are 95 % each. Verdicts are corrected for ", Plural(c.Tested, "difference"), " that could be tested (Benjamini and Hochberg, ", percent(c.ErrorRate),
		"): of those called better or worse, at most ", percent(c.ErrorRate), " are expected to be chance")
	d.say("requests of one trace are not independent: all that a trace says of a row counts as one value")
}

// checklistSection lists what was accepted beforehand.
func checklistSection(d *document, checks []analyze.Check) {
	if len(checks) == 0 {
		return
	}
	d.head("Acceptance", "rules of the policy; kept or broken if the whole 95 % interval is")
	t := d.table("route", column{left: true}, column{head: "rule", left: true}, column{head: "found"}, column{head: "95 % interval"}, column{head: "so", left: true})
	above := line(nil)
	for i := range checks {
		c := &checks[i]
		so := cell{line: say(rulingText(c.Ruling))}
		if c.Ruling == analyze.Undecided {
			so.notes = []int{t.foot(undecided(c))}
		}
		label := routeLabel(c.Service, c.Route, c.Split)
		if slices.Equal(label, above) {
			label = nil
		} else {
			above = label
		}
		t.rows = append(t.rows, row{label: label, cells: []cell{{line: say(mark(c.Ruling))}, {line: say(checkText(c))},
			{line: say(checkNumber(c, c.Value.Point))}, {line: say(checkNumber(c, c.Value.Low) + " … " + checkNumber(c, c.Value.High))}, so}})
	}
}

func mark(r analyze.Ruling) string {
	switch r {
	case analyze.Kept:
		return "[x]"
	case analyze.Broken:
		return "[ ]"
	}
	return "[?]"
}

func rulingText(r analyze.Ruling) string {
	if r == analyze.Broken {
		return "BROKEN"
	}
	return string(r)
}

// undecided says why a rule is.
func undecided(c *analyze.Check) string {
	switch {
	case c.N == 0:
		return "undecided: there is nothing to hold it against after the change"
	case c.Value.Point == nil:
		return "undecided: the value is not known"
	case c.More != nil && *c.More < 1e6:
		return fmt.Sprintf("undecided: the interval holds the limit; about %s times as many requests would decide, if the value stayed", strconv.FormatFloat(math.Ceil(*c.More*10)/10, 'f', 1, 64))
	}
	return "undecided: too few values for an interval that decides"
}

// CheckText says on one line which rule a check is of, and what was found.
func CheckText(c *analyze.Check) string {
	where := lineName(c.Service + " " + c.Route)
	if c.Split != nil {
		where += " [" + lineName(*c.Split) + "]"
	}
	text := where + ": " + checkText(c) + ", found " + checkNumber(c, c.Value.Point) + " (" + checkNumber(c, c.Value.Low) + " … " + checkNumber(c, c.Value.High) + ")"
	if c.Ruling == analyze.Undecided {
		text += "; " + strings.TrimPrefix(undecided(c), "undecided: ")
	}
	return text
}

// checkText writes a rule in words.
func checkText(c *analyze.Check) string {
	limit := c.Limit
	switch c.Measure {
	case analyze.InTime:
		return "in time: lower by " + shortened(points(-limit)) + " at most"
	case analyze.PartialAnswers:
		return "partial answers: " + shortened(percent(limit)) + " at most"
	case analyze.AttemptsEach:
		return "attempts per request: " + shortened(number(limit)) + " at most"
	}
	return "p99: " + setting(time.Duration(limit)) + " at most"
}

// shortened writes a number without the zeros that it ends in: 5 %.
func shortened(s string) string {
	digits, unit, ok := strings.Cut(s, " ")
	if ok {
		unit = " " + unit
	}
	if strings.Contains(digits, ".") && !strings.Contains(digits, "e") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	return digits + unit
}

func checkNumber(c *analyze.Check, v *float64) string {
	if c.Measure == analyze.InTime {
		return difference(c.Unit, v)
	}
	return quantity(c.Unit, v)
}

// changesSection lists what is called better or worse.
func changesSection(d *document, rows []changed, o Options) {
	type change struct {
		of *changed
		d  *analyze.Difference
	}
	var changes []change
	for i := range rows {
		for k := range rows[i].differences {
			if diff := &rows[i].differences[k]; diff.Verdict == analyze.Better || diff.Verdict == analyze.Worse {
				changes = append(changes, change{&rows[i], diff})
			}
		}
	}
	if len(changes) == 0 {
		d.head("Changes")
		d.say("no evidence of a difference")
		return
	}
	d.head("Changes", "worse before better, surest first")
	slices.SortStableFunc(changes, func(a, b change) int {
		return cmp.Or(-cmp.Compare(a.d.Verdict, b.d.Verdict), cmp.Compare(*a.d.Adjusted, *b.d.Adjusted))
	})
	n := o.rows(len(changes), 1)
	t := d.table("where", sideColumns()...)
	t.left = len(changes) - n
	for _, c := range changes[:n] {
		t.rows = append(t.rows, row{label: c.of.label, cells: sideCells(t, c.of, c.d)})
	}
}

// sidesSection puts all measures of rows side by side: rows with worse first.
func sidesSection(d *document, title, label string, rows []changed, o Options) {
	var both []*changed
	var single []*changed
	for i := range rows {
		if r := &rows[i]; r.seen == analyze.SeenBoth {
			both = append(both, r)
		} else {
			single = append(single, r)
		}
	}
	if len(rows) == 0 {
		return
	}
	d.head(title, "most that is worse first")
	if len(both) > 0 {
		slices.SortStableFunc(both, func(a, b *changed) int {
			return cmp.Or(b.of(analyze.Worse)-a.of(analyze.Worse), b.of(analyze.Better)-a.of(analyze.Better))
		})
		n := o.rows(len(both), 1)
		t := d.table(label, sideColumns()...)
		t.left = len(both) - n
		for _, r := range both[:n] {
			for k := range r.differences {
				name := r.label
				if k > 0 {
					name = nil
				}
				t.rows = append(t.rows, row{label: name, cells: sideCells(t, r, &r.differences[k])})
			}
		}
	}
	n := o.rows(len(single), 1)
	for _, r := range single[:n] {
		d.say("only ", string(r.seen), ": ", r.label)
	}
	if n < len(single) {
		d.say(more(len(single) - n))
	}
}

func sideColumns() []column {
	return []column{{head: "measure", left: true}, {head: "before"}, {head: "after"}, {head: "difference"}, {head: "95 % interval"}, {head: "verdict", left: true}}
}

func sideCells(t *table, of *changed, d *analyze.Difference) []cell {
	measure := cell{line: measureName(d.Measure)}
	if note := measureNote(d.Measure); note != "" {
		measure.notes = []int{t.foot(note)}
	}
	if (d.Measure == readTime || d.Measure == connectTime) && slices.Contains(of.warnings, analyze.ConnectInRead) {
		measure.notes = append(measure.notes, t.foot(warningText(analyze.ConnectInRead)))
	}
	verdict := cell{line: say(verdictText(d.Verdict))}
	if note := verdictNote(d.Verdict); note != nil {
		verdict.notes = []int{t.foot(note)}
	}
	interval := unknown
	if d.Difference.Low != nil || d.Difference.High != nil {
		interval = difference(d.Unit, d.Difference.Low) + " … " + difference(d.Unit, d.Difference.High)
	}
	return []cell{measure, {line: say(quantity(d.Unit, d.Before.Point))}, {line: say(quantity(d.Unit, d.After.Point))},
		{line: say(difference(d.Unit, d.Difference.Point))}, {line: say(interval)}, verdict}
}

// measureName names a measure. One of a later version is its code.
func measureName(m analyze.Measure) line {
	if text, ok := measureNames[m]; ok {
		return say(text)
	}
	return say(named(m))
}

var measureNames = map[analyze.Measure]string{
	analyze.InTime: "in time", analyze.CompleteInTime: "complete in time", analyze.PartialAnswers: "partial", analyze.LateAnswers: "late",
	analyze.FailedShare: "failed", analyze.CutShare: "cut", analyze.SlowerPairs: "latency, as a whole", analyze.LatencyP50: "p50",
	analyze.LatencyP95: "p95", analyze.LatencyP99: "p99", analyze.LatencyP999: "p99.9", analyze.TimeTotal: "time, total",
	"time_own": "time, own", connectTime: "time, connect", readTime: "time, read", "time_retry": "time, retry", "time_retry_wait": "time, retry wait",
	"time_hedge": "time, hedge", "time_messaging": "time, messaging", "time_unknown": "time, unknown",
	analyze.PathTime: "path time", analyze.AttemptsEach: "attempts/request", analyze.ExtraLoad: "extra load",
}

const connectTime, readTime analyze.Measure = "time_connect", "time_read"

func measureNote(m analyze.Measure) string {
	switch m {
	case analyze.InTime:
		return "in time: of requests with a deadline, complete and partial ones that met it; failed ones did not. pp: percentage points"
	case analyze.SlowerPairs:
		return "latency as a whole: of all pairs of one before and one after, the share in which the latter is slower, less one half (Brunner and Munzel)"
	case analyze.TimeTotal:
		return "time: mean of all requests, failed ones too"
	case analyze.PathTime:
		return "path time: that these calls held the critical path, mean of all requests of the caller"
	case analyze.ExtraLoad:
		return "extra load: attempts per call, less one"
	}
	return ""
}

func verdictText(v analyze.Verdict) string {
	switch v {
	case analyze.Worse:
		return "WORSE"
	case analyze.NoEvidence:
		return "no evidence"
	case analyze.TooFew:
		return "too few"
	case analyze.NotKnown:
		return "not known"
	case analyze.OneSided:
		return "one side"
	}
	return string(v)
}

func verdictNote(v analyze.Verdict) line {
	switch v {
	case analyze.TooFew:
		return say("too few values: a verdict would rest on one or two of them, or hardly any difference could show")
	case analyze.NotKnown:
		return warningText(analyze.HidesChange)
	case analyze.OneSided:
		return say("one side: there is nothing of it on the other")
	}
	return nil
}

// quantity writes a value of a unit.
func quantity(u analyze.Unit, v *float64) string {
	switch {
	case v == nil:
		return unknown
	case u == analyze.Shares:
		return percent(*v)
	case u == analyze.Times:
		return dur(time.Duration(math.Round(*v)))
	}
	return number(*v)
}

// difference writes a difference with its sign; that of shares in percentage points.
func difference(u analyze.Unit, v *float64) string {
	if v == nil {
		return unknown
	}
	sign, size := "+", *v
	if size < 0 {
		sign, size = "-", -size
	}
	text := ""
	switch {
	case size == 0:
		return quantityZero(u)
	case u == analyze.Shares:
		text = points(size)
	case u == analyze.Times:
		text = dur(time.Duration(math.Round(size)))
	default:
		text = number(size)
	}
	return sign + text
}

func quantityZero(u analyze.Unit) string {
	switch u {
	case analyze.Shares:
		return "0 pp"
	case analyze.Times:
		return "0 ms"
	}
	return "0"
}

// points writes a part of 1 in percentage points.
func points(v float64) string {
	if v > 0 && v < 0.0001 {
		return strconv.FormatFloat(v*100, 'g', 2, 64) + " pp"
	}
	return strconv.FormatFloat(v*100, 'f', 2, 64) + " pp"
}

// number writes a number with three significant digits.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.001:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case v < 1:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v < 1e15:
		return count(int64(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
