package report

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	indent    = "  "
	minLabel  = 12 // columns that make it worth while to put labels before the numbers
	minFill   = 20 // columns of a filling column, whatever the width
	maxInCell = 30 // columns of a name in a cell that does not fill
)

// layText lays a document out in columns.
func layText(d *document, o Options) ([]byte, error) {
	f := &textForm{width: o.width(), colour: o.Colour}
	if o.Colour {
		f.link = o.Link
	}
	last := block{}
	for i, b := range d.blocks {
		if i > 0 && (b.head != "" || last.table != nil || b.table != nil && last.head == "") {
			f.out.WriteByte('\n')
		}
		switch {
		case b.head != "":
			title := strings.ToUpper(b.head)
			if o.Colour {
				title = "\x1b[1m" + title + "\x1b[0m"
			}
			f.wrap(title+gap+f.line(b.about, f.width-columns(b.head)-len(gap)), "")
		case b.table != nil:
			if err := f.table(b.table); err != nil {
				return nil, err
			}
		default:
			f.wrap(f.prose(b.text, f.width), "")
		}
		last = b
	}
	return f.out.Bytes(), nil
}

type textForm struct {
	out    bytes.Buffer
	width  int
	colour bool
	link   string // "": none
}

// put writes a line of the given parts.
func (f *textForm) put(parts ...string) {
	line := strings.Join(parts, gap)
	f.out.WriteString(strings.TrimRight(line, " "))
	f.out.WriteByte('\n')
}

// line writes runs on one line. Names are cut alike until all is at most limit
// columns wide, as far as that makes sense.
func (f *textForm) line(l line, limit int) string { return f.runs(l, limit, 0) }

// prose writes runs that are wrapped: however long our own words are, names have half of
// limit to themselves.
func (f *textForm) prose(l line, limit int) string { return f.runs(l, limit, limit/2) }

// runs writes runs in limit columns, of which names have what our own words leave, and no
// less than forNames.
func (f *textForm) runs(l line, limit, forNames int) string {
	const least = 8 // a name is not cut below
	var names []int
	for _, r := range l {
		if r.kind == name || r.kind == file {
			names = append(names, columns(cleanName(r.text, limit, false)))
		}
	}
	share := min(limit, f.width-3*len(indent)) // a name must fit a wrapped line
	if limit <= f.width {
		share = limit
	}
	room := max(limit-l.ours(), forNames)
	for ; share > least; share-- {
		sum := 0
		for _, w := range names {
			sum += min(w, share)
		}
		if sum <= room {
			break
		}
	}
	var b strings.Builder
	for _, r := range l {
		switch r.kind {
		case name:
			b.WriteString(cleanName(r.text, share, false))
		case file:
			b.WriteString(cleanName(r.text, share, true))
		case traceID:
			if url := linkTo(f.link, r.text); url != "" {
				b.WriteString("\x1b]8;;" + url + "\x1b\\" + r.text + "\x1b]8;;\x1b\\")
			} else {
				b.WriteString(r.text)
			}
		default:
			b.WriteString(clean(r.text, len(r.text), false))
		}
	}
	return b.String()
}

// ours is how many columns the runs take that are no names.
func (l line) ours() (n int) {
	for _, r := range l {
		if r.kind != name && r.kind != file {
			n += columns(r.text)
		}
	}
	return n
}

// wrap writes a line at spaces to the width. Lines after the first begin with
// the indent and two columns more.
func (f *textForm) wrap(s, before string) {
	for i, l := range fold(s, f.width-columns(before)) {
		if i > 0 {
			l = indent + l
		}
		f.put(before + l)
	}
}

// fold cuts a line at spaces so that each is at most limit columns wide, those after the
// first with an indent before them. A word that is longer stays whole.
func fold(s string, limit int) (lines []string) {
	cur, n, empty := "", 0, true
	for _, word := range strings.Split(s, " ") {
		w := columns(word)
		if !empty && n+1+w > limit {
			lines = append(lines, cur)
			cur, n, empty = "", len(indent), true
		}
		if !empty {
			cur, n = cur+" ", n+1
		}
		cur, n, empty = cur+word, n+w, false
	}
	return append(lines, cur)
}

// refs writes references to footnotes.
func refs(notes []int) string {
	if len(notes) == 0 {
		return ""
	}
	s := " ["
	for i, n := range notes {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprint(n)
	}
	return s + "]"
}

// table writes a table: a label before its numbers where it fits, else above.
func (f *textForm) table(t *table) error {
	heads, left, grid, first := f.grid(t)
	numbers := 0
	for i := range heads {
		w := columns(heads[i])
		for _, r := range grid {
			w = max(w, columns(r[i]))
		}
		numbers += w + len(gap)
	}

	labels, hang := make([]string, len(t.rows)), make([]bool, len(t.rows))
	before := ""
	if t.label != "" {
		before = indent
		room, inline := f.width-numbers, false
		for i, r := range t.rows {
			labels[i] = f.line(r.label, f.width-len(refs(r.notes))) + refs(r.notes)
			if labels[i] == "" { // the row belongs to the one above
				continue
			}
			hang[i] = room < minLabel || columns(labels[i]) > room
			inline = inline || !hang[i]
		}
		if inline {
			before = ""
			heads, left = append([]string{t.label}, heads...), append([]bool{true}, left...)
			for i := range grid {
				grid[i] = append([]string{""}, grid[i]...)
			}
			for i := range t.rows {
				if !hang[i] {
					grid[first[i]][0] = labels[i]
				}
			}
		}
	}
	lines, err := align(heads, left, grid)
	if err != nil {
		return err
	}
	f.put(before + lines[0])
	f.put(before + lines[1])
	for i, r := range t.rows {
		if t.label != "" && hang[i] {
			f.put(labels[i])
		}
		end := len(grid)
		if i+1 < len(t.rows) {
			end = first[i+1]
		}
		for _, l := range lines[2+first[i] : 2+end] {
			f.put(before + l)
		}
		for _, detail := range r.details {
			f.wrap(f.prose(detail, 2*(f.width-3*len(indent))), indent+indent) // two lines, if our own words are short
		}
	}
	if t.left > 0 {
		f.put(more(t.left))
	}
	for _, n := range t.feet {
		f.wrap(fmt.Sprintf("[%d] ", n.number)+f.prose(n.text, 2*f.width), indent)
	}
	return nil
}

// grid gives the cells of a table without labels as text. first says for each
// row of the table which row of the grid it begins with.
func (f *textForm) grid(t *table) (heads []string, left []bool, grid [][]string, first []int) {
	for _, r := range t.rows {
		first = append(first, len(grid))
		cells, under, has := make([]string, len(t.columns)), make([]string, len(t.columns)), false
		for i, c := range r.cells {
			if !t.columns[i].fill {
				cells[i] = f.line(c.line, maxInCell)
			}
			under[i] = c.under
			has = has || c.under != ""
		}
		if grid = append(grid, cells); has {
			grid = append(grid, under)
		}
	}
	used, fill := 0, -1
	for i, c := range t.columns {
		left = append(left, c.left)
		if c.fill {
			fill = i
		}
		heads = append(heads, "")
		f.refer(t, grid, first, heads, i)
		if c.fill {
			continue
		}
		w := columns(heads[i])
		for _, r := range grid {
			w = max(w, columns(r[i]))
		}
		used += w + len(gap)
	}
	if fill >= 0 {
		grid, first = f.pour(t, grid, first, fill, max(f.width-used, minFill))
	}
	return heads, left, grid, first
}

// pour writes the cells of the filling column in the width given. Names are cut to fit it,
// and words of ours are wrapped: further lines are further rows of the grid.
func (f *textForm) pour(t *table, grid [][]string, first []int, fill, width int) (all [][]string, begins []int) {
	for i, r := range t.rows {
		begins = append(begins, len(all))
		end := len(grid)
		if i+1 < len(first) {
			end = first[i+1]
		}
		all = append(all, grid[first[i]:end]...)
		c := r.cells[fill]
		ref := refs(c.notes)
		room := max(width-len(ref), minFill)
		lines := []string{f.line(c.line, room) + ref}
		if c.line.ours() > room/2 {
			lines = fold(f.prose(c.line, room)+ref, width)
		}
		for j, l := range lines {
			if j > 0 {
				l = indent + l
			}
			at := begins[i] + j
			if at == len(all) {
				all = append(all, make([]string, len(t.columns)))
			}
			all[at][fill] = l
		}
	}
	return all, begins
}

// refer adds the references to footnotes to a column. In one of numbers, those
// without get spaces instead, so that digits stand under digits.
func (f *textForm) refer(t *table, grid [][]string, first []int, heads []string, i int) {
	c := t.columns[i]
	widest := 0
	for _, r := range t.rows {
		widest = max(widest, len(refs(r.cells[i].notes)))
	}
	pad := func(ref string) string {
		if c.left {
			return ref
		}
		return ref + strings.Repeat(" ", max(widest-len(ref), 0))
	}
	heads[i] = c.head + pad(refs(c.notes))
	if c.fill {
		return
	}
	for _, r := range grid {
		r[i] += pad("")
	}
	for j, r := range t.rows {
		ref := refs(r.cells[i].notes)
		if cell := &grid[first[j]][i]; ref != "" {
			*cell = strings.TrimRight(*cell, " ") + pad(ref)
		}
	}
}

// more says how many rows were left out.
func more(n int) string { return "… and " + count(n) + " more (--all)" }
