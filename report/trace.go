package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"overrun/analyze"
	"overrun/ingest"
)

// barCells is the width of the bars of a path.
const barCells = 28

// TraceText writes views for people: what the request was, its critical path as
// a waterfall, its calls, and notes.
func TraceText(w io.Writer, views []analyze.View, o Options) error {
	d := new(document)
	for i := range views {
		viewSection(d, &views[i], o)
	}
	if len(views) == 0 {
		d.say("no traces")
	}
	out, err := layText(d, o)
	if err != nil {
		return err
	}
	return put(w, out)
}

func viewSection(d *document, v *analyze.View, o Options) {
	if v.Fragment {
		d.head("Fragment", "of trace ", v.Trace, ": its parent is missing, so it is no request")
	} else {
		d.head("Trace", v.Trace)
	}
	d.say(routeLabel(v.Service, v.Route, nil), ", root span ", v.Root.String())
	d.say("started ", at(v.Start), "; ", whereIn(v.File, v.Position))
	d.say("took ", orUnknown(v.Duration, setting), ended(v))
	if v.Deadline != nil {
		d.say("deadline ", setting(*v.Deadline), ", ", sourceLine(v.Source), lateness(v))
	} else if !v.Fragment {
		d.say(noDeadline)
	}
	pathTable(d, v, o)
	callTable(d, v, o)
	notesTable(d, v, o)
}

// ended says how the view ended, whatever its time.
func ended(v *analyze.View) string {
	switch {
	case v.Ended == "":
		return ""
	case v.TimedOut:
		return ", " + string(v.Ended) + " (timed out)"
	}
	return ", " + string(v.Ended)
}

func lateness(v *analyze.View) string {
	if v.Duration == nil {
		return ""
	}
	late := *v.Duration - *v.Deadline
	switch {
	case late <= 0:
		return ": in time, " + setting(-late) + " left"
	case v.Ended == analyze.Failed: // late is a word for answers
		return ": ended " + setting(late) + " after it"
	}
	return ": late by " + setting(late)
}

// pathTable draws the critical path, a row a segment; the phases of an attempt
// are one as long as their time is spent on one thing.
func pathTable(d *document, v *analyze.View, o Options) {
	if len(v.Path) == 0 || v.Duration == nil {
		d.head("Critical path")
		d.say("no path: the span has no length, or its times are not known")
		return
	}
	segments := joined(v)
	n := o.rows(len(segments), 10)
	if n < len(segments) {
		d.head("Critical path", "by timing; the longest segments")
	} else {
		d.head("Critical path", "by timing")
	}
	bar := column{left: true}
	if v.Deadline != nil && *v.Deadline >= 0 && *v.Deadline < *v.Duration {
		bar.head = "│ deadline"
	}
	t := d.table("", column{head: "start, ms"}, column{head: "end, ms"}, bar, column{head: "took"},
		column{head: "time", left: true}, column{head: "who", left: true, fill: true})
	t.left = len(segments) - n
	write := offsets(*v.Duration)
	for _, i := range largest(len(segments), n, func(i int) time.Duration { return segments[i].End - segments[i].Start }) {
		s := &segments[i]
		who := say(named(s.Service), " ", named(s.Name))
		if s.Callee != "" {
			who = callLabel(s.Service, s.Callee, s.Operation, nil)
		}
		category := cell{line: say(string(s.Category))}
		if s.InFlight {
			category.notes = []int{t.foot("in flight: a child ran meanwhile that nobody waited for")}
		}
		t.rows = append(t.rows, row{cells: []cell{{line: say(write(s.Start))}, {line: say(write(s.End))},
			{line: say(drawBar(s.Start, s.End, v))}, {line: say(dur(s.End - s.Start))}, category, {line: who}}})
	}
}

// joined gives the path with neighbours joined that are one attempt and one
// category: an HTTP client that records its phases has a segment for each.
func joined(v *analyze.View) (list []analyze.PathSegment) {
	tries := make(map[ingest.SpanID]*analyze.Try)
	for i := range v.Calls {
		for k := range v.Calls[i].Tries {
			t := &v.Calls[i].Tries[k]
			tries[t.Span] = t
		}
	}
	var try *analyze.Try // of the last row; nil: only spans inside it were seen
	for _, s := range v.Path {
		this := tries[s.Span]
		if n := len(list); n > 0 {
			last := &list[n-1]
			same := (s.Callee != "" || s.Operation != "") && last.Service == s.Service && last.Callee == s.Callee && last.Operation == s.Operation &&
				last.Category == s.Category && last.InFlight == s.InFlight && last.End == s.Start
			switch {
			case this != nil && try == nil: // what came before began within it
				same = same && this.Start <= last.Start
			case this == nil && try != nil:
				same = same && s.End <= try.LastSeen()
			default:
				same = same && this == try
			}
			if same {
				last.End = s.End
				if this != nil {
					try = this
				}
				continue
			}
		}
		list, try = append(list, s), this
	}
	return list
}

// drawBar marks [start, end) of a view, at least one cell, and its deadline.
func drawBar(start, end time.Duration, v *analyze.View) string {
	// Neighbours share a rounded edge, so that bars tile as segments do.
	edge := func(d time.Duration) int {
		if *v.Duration <= 0 {
			return 0
		}
		return int(math.Round(min(max(float64(d)/float64(*v.Duration), 0), 1) * barCells))
	}
	from := min(edge(start), barCells-1)
	to := max(edge(end), from+1)
	bar := slices.Repeat([]rune{' '}, barCells)
	if v.Deadline != nil && *v.Deadline >= 0 && *v.Deadline < *v.Duration {
		bar[min(edge(*v.Deadline), barCells-1)] = '│'
	}
	for i := from; i < to; i++ {
		bar[i] = '█'
	}
	return string(bar)
}

// offsets gives how offsets in a view are written: in milliseconds, with as many
// decimals as its length makes sense of.
func offsets(whole time.Duration) func(time.Duration) string {
	decimals := 1
	switch {
	case whole < 100*time.Millisecond:
		decimals = 3
	case whole < 10*time.Second:
		decimals = 2
	}
	return func(d time.Duration) string {
		unit := uint64(time.Millisecond)
		by := unit / uint64(math.Pow10(decimals))
		sign, n := "", uint64(d)
		if d < 0 {
			sign, n = "-", -n
		}
		n = round(n, by)
		if n == 0 {
			sign = ""
		}
		return sign + count(int64(n/unit)) + "." + fmt.Sprintf("%0*d", decimals, n%unit/by)
	}
}

// largest gives the indexes of the n largest of total elements, in their order.
func largest(total, n int, of func(int) time.Duration) []int {
	index := make([]int, total)
	for i := range index {
		index[i] = i
	}
	if n < total {
		slices.SortStableFunc(index, func(a, b int) int { return cmp.Compare(of(b), of(a)) })
		index = index[:n]
		slices.Sort(index)
	}
	return index
}

// callTable lists the calls of all requests of a view. Columns about deadlines
// and slack are there only if some call has them.
func callTable(d *document, v *analyze.View, o Options) {
	if len(v.Calls) == 0 {
		d.head("Calls")
		d.say("no calls")
		return
	}
	any := func(has func(*analyze.ViewCall) bool) bool {
		return slices.ContainsFunc(v.Calls, func(c analyze.ViewCall) bool { return has(&c) })
	}
	n := o.rows(len(v.Calls), 10)
	about := "of every request in it"
	if n < len(v.Calls) {
		about += "; those with findings, then the longest"
	}
	held := any(func(c *analyze.ViewCall) bool { return c.Path > 0 })
	if held {
		about += "; " + heldMark + " held its request"
	}
	silent := !any(func(c *analyze.ViewCall) bool {
		return slices.ContainsFunc(c.Tries, func(t analyze.Try) bool { return t.Phases != nil })
	})
	if silent {
		about += "; phases not recorded"
	}
	d.head("Calls", about)
	deadlines := any(func(c *analyze.ViewCall) bool { return c.Remaining != nil || c.Timeout != nil })
	minimums := any(func(c *analyze.ViewCall) bool { return c.Minimum != nil })
	slacks := any(func(c *analyze.ViewCall) bool { return c.Slack != nil })

	t := d.table("call", column{head: "start, ms"}, column{head: "end, ms"}, column{head: "took"}, column{head: "on path"},
		column{head: "outcome", left: true}, column{head: "attempts"})
	if deadlines {
		t.column(column{head: "left", notes: []int{t.foot("when the call started: time to the deadline of the request that made it")}})
		t.column(column{head: "timeout", notes: []int{t.foot("computed: min(left - reserve, ceiling)")}})
	}
	if minimums {
		t.column(column{head: "minimum"})
	}
	if slacks {
		t.column(column{head: "slack"})
	}
	t.left = len(v.Calls) - n
	var whole time.Duration
	if v.Duration != nil {
		whole = *v.Duration
	}
	write := offsets(whole)
	first := func(i int) time.Duration {
		if len(v.Calls[i].Findings) > 0 {
			return math.MaxInt64
		}
		return v.Calls[i].LastSeen() - v.Calls[i].Start
	}
	for _, i := range largest(len(v.Calls), n, first) {
		c := &v.Calls[i]
		end, took := say(orUnknown(c.End, write)), say(orUnknown(c.Took(), dur))
		outcome, attempts, onPath := c.Outcome.String(), count(c.Attempts), dur(c.Path)
		switch {
		case c.Outcome == analyze.Skipped:
			if c.Inferred {
				outcome += " (inferred)"
			}
			end, took, attempts = say(unknown), say(unknown), unknown
		case c.End == nil:
			onPath = unknown
		case len(c.Tries) == 1 && len(c.Tries[0].Flags) > 0: // of several, each says it below
			outcome += " (" + strings.Join(c.Tries[0].Flags, ", ") + ")"
		}
		cells := []cell{{line: say(write(c.Start))}, {line: end}, {line: took}, {line: say(onPath)}, {line: say(named(outcome))}, {line: say(attempts)}}
		if deadlines {
			cells = append(cells, cell{line: say(orUnknown(c.Remaining, setting))}, cell{line: say(orUnknown(c.Timeout, setting))})
		}
		if minimums {
			cells = append(cells, cell{line: say(orUnknown(c.Minimum, setting))})
		}
		if slacks {
			cells = append(cells, cell{line: say(orUnknown(c.Slack, setting))})
		}
		label := callLabel(c.Service, c.Callee, c.Operation, nil)
		switch {
		case c.Path > 0:
			label = append(say(heldMark+" "), label...)
		case held:
			label = append(say("  "), label...)
		}
		if c.Required != nil && !*c.Required {
			label = append(label, say(" (optional)")...)
		}
		t.rows = append(t.rows, row{label: label, cells: cells, details: callDetails(c, write, o, silent)})
	}
}

// heldMark stands before calls that are on the path of their request.
const heldMark = "█"

// callDetails says what was left when a call was cut, its findings, its attempts
// if there were several, and what is known of the inside of each. silent: no
// attempt of the view has phases, which the head says.
func callDetails(c *analyze.ViewCall, write func(time.Duration) string, o Options, silent bool) (details []line) {
	if c.Outcome.Cut() {
		cut := "cut after " + orUnknown(c.Took(), setting)
		if c.Remaining != nil {
			cut += ", " + left(*c.Remaining-(c.LastSeen()-c.Start))
		}
		details = append(details, say(cut))
	}
	if len(c.Findings) > 0 {
		l := say("findings: ")
		for i, f := range c.Findings {
			if i > 0 {
				l = append(l, say(", ")...)
			}
			l = append(l, run{name, string(f)})
		}
		details = append(details, l)
	}
	told := slices.ContainsFunc(c.Tries, func(t analyze.Try) bool { _, ok := t.Phases["pool"]; return ok })
	if c.Pool != nil && !told {
		details = append(details, say(setting(*c.Pool), " waiting for a connection of the pool"))
	}
	switch {
	case len(c.Tries) > 1:
		if o.Explain {
			details = append(details, whyCall(c))
		}
		return append(details, attempts(c, write, o, silent)...)
	case len(c.Tries) == 1:
		var l line
		if t := &c.Tries[0]; t.Hidden > 0 {
			l = say(hidden(t.Hidden))
		}
		if p := phases(c.Tries[0].Phases, silent); p != nil {
			if l != nil {
				l = append(l, say("; ")...)
			}
			l = append(l, p...)
		}
		if l != nil {
			details = append(details, l)
		}
	}
	if o.Explain {
		l := whyCall(c)
		if len(c.Tries) == 1 {
			l = append(append(l, say(", ")...), whyTry(&c.Tries[0])...)
		}
		details = append(details, l)
	}
	return details
}

// attempts lists the attempts of a call, and the back-off between them.
func attempts(c *analyze.ViewCall, write func(time.Duration) string, o Options, silent bool) (details []line) {
	winner := -1
	for i := range c.Tries {
		if t := &c.Tries[i]; t.Outcome.Answered() && (winner < 0 || t.LastSeen() < c.Tries[winner].LastSeen()) {
			winner = i
		}
	}
	hedged := slices.ContainsFunc(c.Tries, func(t analyze.Try) bool { return t.Hedge })
	n := o.rows(len(c.Tries), 1)
	known, end := true, c.Tries[0].Start // when all attempts so far had ended
	for i := range c.Tries[:n] {
		t := &c.Tries[i]
		if wait := t.Start - end; i > 0 && known && wait > 0 {
			details = append(details, say("waited ", setting(wait)))
		}
		head := "attempt " + strconv.Itoa(i+1)
		if t.Hedge {
			head += " (hedge)"
		}
		l := say(head, ": ", write(t.Start), " … ", orUnknown(t.End, write), " ms, took ", orUnknown(t.Took(), setting), ", ", named(t.Outcome.String()))
		if t.End == nil {
			l = say(head, ": from ", write(t.Start), " ms, end not known")
			known = false
		}
		end = max(end, t.LastSeen())
		if t.Outcome == analyze.CancelledRace || hedged && winner >= 0 && i != winner && t.LastSeen() > c.Tries[winner].LastSeen() {
			l = append(l, say(", lost the race")...)
		}
		if len(t.Flags) > 0 {
			l = append(l, say(" (", strings.Join(t.Flags, ", "), ")")...)
		}
		if t.Hidden > 0 {
			l = append(l, say(", ", hidden(t.Hidden))...)
		}
		if isInferred(t.Rules.Join) && !o.Explain {
			l = append(l, say(", joined by ", named(t.Rules.Join), " (inferred)")...)
		}
		if p := phases(t.Phases, silent); p != nil {
			l = append(append(l, say("; ")...), p...)
		}
		details = append(details, l)
		if o.Explain {
			details = append(details, append(say(indent, "why: "), whyTry(t)...))
		}
	}
	if n < len(c.Tries) {
		details = append(details, say(more(len(c.Tries)-n)))
	}
	return details
}

func hidden(n int) string {
	if n == 1 {
		return "1 retry hidden inside"
	}
	return count(n) + " retries hidden inside"
}

// phaseOrder is the order of phases within an attempt.
var phaseOrder = []string{"pool", "dns", "tcp", "tls", "connect", "resolve", "pick", "send", "waiting", "receiving"}

// phases writes the phases of an attempt; nil: none was recorded, and silent
// says that this is said elsewhere.
func phases(p map[string]time.Duration, silent bool) (l line) {
	if p == nil && !silent {
		return say("phases not recorded")
	}
	place := func(phase string) int {
		if i := slices.Index(phaseOrder, phase); i >= 0 {
			return i
		}
		return len(phaseOrder)
	}
	order := slices.Sorted(maps.Keys(p))
	slices.SortStableFunc(order, func(a, b string) int { return place(a) - place(b) })
	for _, phase := range order {
		if l != nil {
			l = append(l, say(", ")...)
		}
		l = append(l, say(named(phase), " ", setting(p[phase]))...)
	}
	return l
}

// RulesNote says where the rules are explained whose ids Options.Explain prints:
// for the end of the output, once.
const RulesNote = "Rules: overrun signals [ID...] explains the ids; analyze/signals.md lists them all."

// whyCall names the rules that say whom a call went to.
func whyCall(c *analyze.ViewCall) line {
	if len(c.Tries) == 0 {
		return say("why: inferred: this call is usual on the route, and is absent")
	}
	return say("why: ", by("callee", c.Rules.Callee, "by default"), ", ", by("operation", c.Rules.Operation, "by default"))
}

// whyTry names the rules that make a span an attempt, with its outcome, of its call.
func whyTry(t *analyze.Try) line {
	l := say(by("part", t.Rules.Part, "by kind of span"), ", ", by("outcome", t.Rules.Outcome, "by default"))
	switch join := t.Rules.Join; {
	case isInferred(join):
		l = append(l, say(", joined by ", named(join), " (inferred from siblings)")...)
	case join != "":
		l = append(l, say(", joined by ", named(join))...)
	}
	return l
}

// by writes what a rule says and its id, or what holds where no rule had to.
func by(what, id, otherwise string) line {
	if id == "" {
		return say(what, " ", otherwise)
	}
	return say(what, " ", named(id))
}

func notesTable(d *document, v *analyze.View, o Options) {
	if len(v.Notes) == 0 {
		return
	}
	d.head("Notes")
	var notes []analyze.ViewNote
	var times []int // how often each follows itself
	for i, note := range v.Notes {
		if i > 0 && sameNote(note, v.Notes[i-1]) {
			times[len(times)-1]++
		} else {
			notes, times = append(notes, note), append(times, 1)
		}
	}
	n := o.rows(len(notes), 10)
	t := d.table("", column{head: "count"}, column{head: "note", left: true}, column{head: "amount"}, column{head: "span", left: true})
	t.left = len(notes) - n
	for i, note := range notes[:n] {
		code := cell{line: say(named(note.Code))}
		if meaning := analyze.NoteText[note.Code]; meaning != "" {
			code.notes = []int{t.foot(meaning)}
		}
		span := unknown
		if note.Span != (ingest.SpanID{}) {
			span = note.Span.String()
		}
		t.rows = append(t.rows, row{cells: []cell{{line: say(count(times[i]))}, code, {line: say(orUnknown(note.Amount, setting))}, {line: say(span)}}})
	}
}

func sameNote(a, b analyze.ViewNote) bool {
	if (a.Amount == nil) != (b.Amount == nil) || a.Amount != nil && *a.Amount != *b.Amount {
		return false
	}
	return a.Code == b.Code && a.Span == b.Span
}
