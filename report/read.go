package report

import (
	"fmt"
	"slices"
	"strings"

	"overrun/analyze"
	"overrun/ingest"
)

// readSection says what was read, and how far it can be trusted.
func readSection(d *document, r *analyze.Report) {
	in := &r.Input
	d.head("Read")
	d.say(Plural(in.Files, "file"), ", ", Size(in.Bytes), ": ", Plural(in.Spans, "span"), ", ", Plural(in.Traces, "trace"), ", ",
		Plural(in.Requests, "request"), ", ", Plural(in.Fragments, "fragment"))
	if in.Start != nil && in.End != nil {
		d.say(fromTo(*in.Start, *in.End))
	} else {
		d.say("no times are known")
	}
	d.say(deadlines(r.Routes))
	if in.Skew.Traces > 0 {
		d.say("clocks: moved in ", Plural(in.Skew.Traces, "trace"), ", by ", dur(in.Skew.Largest), " at the most")
	} else {
		d.say("clocks: none was moved")
	}
	switch w := in.Weights; {
	case w.Known == nil || w.Unknown == nil:
	case *w.Known == 0:
		d.say("sampling weights: none; numbers are of recorded spans")
	default:
		of := Plural(*w.Known+*w.Unknown, "request")
		if in.Fragments > 0 {
			of += " and fragments"
		}
		d.say("sampling weights: known for ", count(*w.Known), " of ", of, "; counts are of recorded spans; quantiles, means and shares are weighted")
	}
	for _, w := range in.Warnings {
		d.say(warningText(w))
	}
	if len(in.Notes) == 0 {
		d.say("no notes: nothing was repaired or doubted")
		return
	}
	t := d.table("", column{head: "count"}, column{head: "note", left: true}, column{head: "meaning", left: true, fill: true})
	t.detail = "first example"
	for _, n := range in.Notes {
		meaning := say(analyze.NoteText[n.Code])
		if analyze.NoteText[n.Code] == "" {
			meaning = say(unknown)
		}
		first := say("first: ", place(n.Example))
		if n.Text != "" {
			first = append(first, say(": ", named(n.Text))...)
		}
		t.rows = append(t.rows, row{
			cells:   []cell{{line: say(count(n.Count))}, {line: say(named(n.Code))}, {line: meaning}},
			details: []line{first},
		})
	}
}

// place says where to look. Positions are not grouped: they are for tools.
func place(p analyze.Place) line {
	var l line
	if p.File != "" { // a trace of several inputs is in none
		l = whereIn(p.File, p.Position)
	}
	if p.Trace != nil && *p.Trace != (ingest.TraceID{}) {
		l = append(l, say(comma(l), "trace ", *p.Trace)...)
	}
	if p.Span != nil && *p.Span != (ingest.SpanID{}) {
		l = append(l, say(comma(l), "span ", p.Span.String())...)
	}
	return l
}

// comma parts what follows from a line that is not empty.
func comma(l line) string {
	if len(l) == 0 {
		return ""
	}
	return ", "
}

func whereIn(file string, position int64) line {
	return say(path(file), " at byte ", fmt.Sprint(position))
}

// sources in the order reports show them, with their words.
var sources = []struct {
	source analyze.Source
	words  string
}{{analyze.Recorded, "recorded"}, {analyze.Inherited, "inherited"}, {analyze.ByPolicy, "by policy"}, {analyze.ByFlag, "by flag"}}

func sourceWords(s analyze.Source) string {
	for _, known := range sources {
		if known.source == s {
			return known.words
		}
	}
	return string(s)
}

// sourceLine is sourceWords where a source we do not know may be hostile.
func sourceLine(s analyze.Source) line {
	if w := sourceWords(s); w != string(s) || s == analyze.Recorded || s == analyze.Inherited {
		return say(w)
	}
	return say(named(s))
}

// noDeadline is what lateness is without deadlines.
const noDeadline = "no deadline is known: nothing can be late; give --deadline or a policy, or record deadlines on spans"

// deadlines sums up where the deadlines of all routes came from.
func deadlines(routes []analyze.Route) line {
	bySource, requests, with := make(map[analyze.Source]int), 0, 0
	for i := range routes {
		requests += routes[i].Requests
		with += routes[i].WithDeadline
		for s, n := range routes[i].DeadlineSources {
			bySource[s] += n
		}
	}
	if with == 0 {
		return say(noDeadline)
	}
	var order []analyze.Source
	for _, s := range sources {
		order = append(order, s.source)
	}
	var others []analyze.Source
	for s := range bySource {
		if !slices.Contains(order, s) {
			others = append(others, s)
		}
	}
	slices.Sort(others)
	var parts []string
	for _, s := range append(order, others...) {
		if n := bySource[s]; n > 0 {
			parts = append(parts, count(n)+" "+sourceWords(s))
		}
	}
	if n := requests - with; n > 0 {
		parts = append(parts, count(n)+" without")
	}
	return say("deadlines: ", strings.Join(parts, ", "))
}
