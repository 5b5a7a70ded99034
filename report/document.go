package report

import (
	"fmt"
	"slices"

	"overrun/analyze"
	"overrun/ingest"
)

// A document is what a form lays out: blocks from top to bottom.
type document struct {
	blocks []block
	feet   int // footnotes given out so far
}

// A block is a heading, a line or a table: the one that is set.
type block struct {
	head  string
	about line // of a heading: more about it, such as how what follows is sorted
	text  line // a fact, or with prose a sentence about the table that follows
	prose bool
	table *table
}

// A line is a sequence of runs.
type line []run

// A run is a stretch of a line that is of one kind.
type run struct {
	kind kind
	text string
}

type kind uint8

const (
	words   kind = iota // ours
	name                // from the input: hostile
	file                // hostile too; its end says more than its beginning
	traceID             // hexadecimal; a link where there is one to make
)

// A named is a string from the input, for say.
type named string

// A path is a file of the input, for say.
type path string

// say makes a line of strings (ours), named, path and trace ids.
func say(parts ...any) line {
	l := make(line, 0, len(parts))
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			l = append(l, run{words, p})
		case named:
			l = append(l, run{name, string(p)})
		case path:
			l = append(l, run{file, string(p)})
		case ingest.TraceID:
			l = append(l, run{traceID, p.String()})
		case line:
			l = append(l, p...)
		default:
			panic(fmt.Sprintf("say(%T)", p))
		}
	}
	return l
}

func (d *document) head(title string, about ...any) {
	d.blocks = append(d.blocks, block{head: title, about: say(about...)})
}

func (d *document) say(parts ...any) {
	d.blocks = append(d.blocks, block{text: say(parts...)})
}

func (d *document) prose(parts ...any) {
	d.blocks = append(d.blocks, block{text: say(parts...), prose: true})
}

// table begins a table. label heads its labels; "": its rows have none.
func (d *document) table(label string, columns ...column) *table {
	t := &table{doc: d, label: label, columns: columns}
	d.blocks = append(d.blocks, block{table: t})
	return t
}

// A table has rows of one cell for each column.
type table struct {
	doc     *document
	label   string
	detail  string // what details say: the head of their column in Markdown
	columns []column
	rows    []row
	feet    []foot
	left    int // rows that were left out
}

// A column of a table. Numbers stand right.
type column struct {
	head  string
	left  bool  // aligned left
	fill  bool  // text: cut to what the other columns leave of the width
	notes []int // footnotes
}

type row struct {
	label   line
	notes   []int // of the label
	cells   []cell
	details []line
}

type cell struct {
	line
	notes []int
	under string // text: below the line; Markdown: in brackets after it
}

// A foot is a numbered footnote.
type foot struct {
	number int
	text   line
}

// foot gives the number of the table's footnote with a text, made as by say.
func (t *table) foot(parts ...any) int {
	text := say(parts...)
	for _, f := range t.feet {
		if slices.Equal(f.text, text) {
			return f.number
		}
	}
	t.doc.feet++
	t.feet = append(t.feet, foot{t.doc.feet, text})
	return t.doc.feet
}

// column adds a column and returns its index.
func (t *table) column(c column) int {
	t.columns = append(t.columns, c)
	return len(t.columns) - 1
}

// A rowWarnings places the warnings of one row, each at the cells it concerns.
type rowWarnings struct {
	table  *table
	all    []analyze.Warning
	placed map[analyze.Warning]bool
}

// at gives the footnotes for a cell that the given warnings concern, as far as
// the row has them.
func (w *rowWarnings) at(codes ...analyze.Warning) (notes []int) {
	for _, code := range codes {
		for _, have := range w.all {
			if have == code {
				w.place(code)
				notes = append(notes, w.table.foot(warningText(code)))
				break
			}
		}
	}
	return notes
}

// has reports whether the row has a warning.
func (w *rowWarnings) has(code analyze.Warning) bool {
	for _, have := range w.all {
		if have == code {
			return true
		}
	}
	return false
}

// place says that a warning is shown elsewhere.
func (w *rowWarnings) place(codes ...analyze.Warning) {
	if w.placed == nil {
		w.placed = make(map[analyze.Warning]bool)
	}
	for _, code := range codes {
		w.placed[code] = true
	}
}

// rest gives the footnotes of warnings that no cell took: those of the row.
func (w *rowWarnings) rest() (notes []int) {
	for _, have := range w.all {
		if !w.placed[have] {
			notes = append(notes, w.at(have)...)
		}
	}
	return notes
}

// warningText never loses a warning: one without words is its code.
func warningText(w analyze.Warning) line {
	if text := analyze.WarningText[w]; text != "" {
		return say(text)
	}
	return say(named(w))
}
