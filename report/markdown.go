package report

import (
	"bytes"
	"fmt"
	"strings"
)

// layMarkdown lays a document out in GitHub's Markdown. Names are code spans:
// nothing in one is a link, an image, HTML, an emoji or a mention.
func layMarkdown(d *document, o Options) []byte {
	f := &markdownForm{width: o.width(), link: o.Link}
	for i, b := range d.blocks {
		switch {
		case b.head != "":
			if i > 0 {
				f.out.WriteByte('\n')
			}
			f.out.WriteString("## " + escapeWords(b.head) + "\n\n")
			if len(b.about) > 0 {
				f.out.WriteString(f.line(b.about) + "\n\n")
			}
		case b.table != nil:
			if i > 0 && d.blocks[i-1].head == "" {
				f.out.WriteByte('\n')
			}
			f.table(b.table)
		default:
			if i > 0 && d.blocks[i-1].table != nil {
				f.out.WriteByte('\n')
			}
			if !b.prose {
				f.out.WriteString("- ")
			}
			f.out.WriteString(f.line(b.text) + "\n")
		}
	}
	return f.out.Bytes()
}

type markdownForm struct {
	out   bytes.Buffer
	width int // of a name
	link  string
}

// line lays a line out outside of tables.
func (f *markdownForm) line(l line) string { return f.lay(l, code) }

// cell lays a line out in a cell of a table.
func (f *markdownForm) cell(l line) string { return f.lay(l, codeInCell) }

// lay lays a line out, with names as code makes them.
func (f *markdownForm) lay(l line, code func(string) string) string {
	var b strings.Builder
	for _, r := range l {
		switch r.kind {
		case name, file:
			if r.text == "" {
				b.WriteString(unknown)
				break
			}
			b.WriteString(code(cleanName(r.text, f.width, r.kind == file)))
		case traceID:
			if url := linkTo(f.link, r.text); url != "" {
				b.WriteString("[`" + r.text + "`](" + strings.ReplaceAll(url, "&", "&amp;") + ")")
			} else {
				b.WriteString("`" + r.text + "`")
			}
		default:
			b.WriteString(escapeWords(clean(r.text, len(r.text), false)))
		}
	}
	return b.String()
}

// code makes a code span of a clean string, in which nothing has a meaning.
func code(s string) string { return codeSpan(s, s) }

// codeInCell makes a code span in a table. There | ends a cell even in one, unless escaped, and
// an escape must not follow a backslash of the name's own.
func codeInCell(s string) string {
	var b strings.Builder
	before := byte(0)
	for _, c := range []byte(s) {
		switch {
		case c == '|' && before == '\\':
			b.WriteString(`\x7c`)
		case c == '|':
			b.WriteString(`\|`)
		default:
			b.WriteByte(c)
		}
		before = c
	}
	return codeSpan(s, b.String())
}

// codeSpan puts a body, which is that of a clean string, between enough backquotes.
func codeSpan(s, body string) string {
	run, longest := 0, 0
	for _, c := range []byte(s) {
		if c == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		body = " " + body + " "
	}
	return fence + body + fence
}

// wordsEscaper escapes what Markdown would take for more than text.
var wordsEscaper = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
	"|", `\|`, "~", `\~`, "$", `\$`, "<", "&lt;", ">", "&gt;", "&", "&amp;")

func escapeWords(s string) string { return wordsEscaper.Replace(s) }

// sup writes references to footnotes.
func sup(notes []int) string {
	if len(notes) == 0 {
		return ""
	}
	return "<sup>" + strings.Trim(refs(notes), " []") + "</sup>"
}

func (f *markdownForm) table(t *table) {
	var heads, rules []string
	if t.label != "" {
		heads, rules = append(heads, escapeWords(t.label)), append(rules, ":--")
	}
	for _, c := range t.columns {
		rule := "--:"
		if c.left {
			rule = ":--"
		}
		heads, rules = append(heads, escapeWords(c.head)+sup(c.notes)), append(rules, rule)
	}
	if t.detail != "" {
		heads, rules = append(heads, escapeWords(t.detail)), append(rules, ":--")
	}
	f.row(heads)
	f.row(rules)
	for _, r := range t.rows {
		var cells []string
		if t.label != "" {
			cells = append(cells, f.cell(r.label)+sup(r.notes))
		}
		for _, c := range r.cells {
			s := f.cell(c.line)
			if c.under != "" && c.under != unknown {
				s += " (" + escapeWords(c.under) + ")"
			}
			cells = append(cells, s+sup(c.notes))
		}
		if t.detail != "" {
			var details []string
			for _, d := range r.details {
				details = append(details, f.cell(d))
			}
			cells = append(cells, strings.Join(details, "<br>"))
		}
		f.row(cells)
	}
	if t.left > 0 {
		f.out.WriteString("\n" + more(t.left) + "\n")
	}
	if len(t.feet) > 0 {
		f.out.WriteByte('\n')
	}
	for _, n := range t.feet {
		fmt.Fprintf(&f.out, "- <sup>%d</sup> %s\n", n.number, f.line(n.text))
	}
}

func (f *markdownForm) row(cells []string) {
	f.out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}
