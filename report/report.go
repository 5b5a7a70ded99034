package report

import (
	"io"

	"overrun/analyze"
)

// Options steer the forms for people. The zero value is a report of ten rows a
// table, 100 columns wide, without colour or links.
type Options struct {
	All     bool   // every row; Top counts for nothing
	Top     int    // rows a table; 0: 10. TraceText shows ten times as many segments and calls
	Link    string // URL of a trace, with {trace} where its id goes; without {trace}: no links
	Colour  bool   // the writer is a terminal that may be sent escape sequences; Markdown has none
	Explain bool   // TraceText: after each call and attempt, the ids of the rules behind it; RulesNote says where to look them up
	Width   int    // columns of the text form; 0: 100. Names are cut and lines wrapped to it; numbers never are
}

const (
	defaultTop   = 10
	defaultWidth = 100
	minWidth     = 60 // narrower, nothing fits: the text is this wide then
)

// rows is how many of n rows a table shows.
func (o Options) rows(n, times int) int {
	top := o.Top
	if top <= 0 {
		top = defaultTop
	}
	if o.All || n <= top*times {
		return n
	}
	return top * times
}

func (o Options) width() int {
	if o.Width == 0 {
		return defaultWidth
	}
	return max(o.Width, minWidth)
}

// Text writes a report for a terminal or a ticket's plain text.
func Text(w io.Writer, r *analyze.Report, o Options) error {
	out, err := layText(build(r, o), o)
	if err != nil {
		return err
	}
	return put(w, out)
}

// Markdown writes a report as GitHub's Markdown.
func Markdown(w io.Writer, r *analyze.Report, o Options) error {
	return put(w, layMarkdown(build(r, o), o))
}

// build makes the document of a report.
func build(r *analyze.Report, o Options) *document {
	d := new(document)
	adviceSection(d, r)
	readSection(d, r)
	routesSection(d, r, o)
	dependenciesSection(d, r, o)
	findingsSection(d, r, o)
	worstSection(d, r, o)
	return d
}

// put writes everything at once, so that there is one error to check.
func put(w io.Writer, out []byte) error {
	n, err := w.Write(out)
	if err == nil && n < len(out) {
		err = io.ErrShortWrite
	}
	return err
}
