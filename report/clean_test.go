package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"overrun/analyze"
	"overrun/ingest"
)

func TestClean(t *testing.T) {
	for _, test := range []struct {
		s    string
		max  int
		want string
	}{
		{"GET /card/{id}", 30, "GET /card/{id}"},
		{"a\nb\r\tc\x00\x7f", 30, `a\nb\r\tc\x00\x7f`},
		{"\x1b[31mred", 30, `\x1b[31mred`},
		{"\u009b31m", 30, `\u009b31m`},
		{"\u202eexe\u2066", 30, `\u202eexe\u2066`},
		{"a\u200bb\ufeff\u00ad", 30, `a\u200bb\ufeff\u00ad`},
		{"\U000e0041", 30, `\U000e0041`},
		{"\u2028\u00a0\u3000", 30, `\u2028\u00a0\u3000`},
		{"\xff\xc3", 30, `\xff\xc3`},
		{"\ufffd", 30, "\ufffd"}, // recorded as such
		{"\u0301a", 30, `\u0301a`},
		{"e\u0301\u0301\u0301\u0301", 30, "e\u0301\u0301\u0301\\u0301"},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"abcdef", 4, "abc…"},
		{"a\nb", 3, `a…`}, // an escape is whole or not there
		{" a ", 30, `\x20a\x20`},
		{"  ", 30, `\x20\x20`},
		{"", 30, "–"},
		{`\n`, 30, `\n`},
		{"❤\ufe0f", 30, `❤\ufe0f`},
	} {
		if got := cleanName(test.s, test.max, false); got != test.want {
			t.Errorf("cleanName(%q, %d) = %q, want %q", test.s, test.max, got, test.want)
		}
	}
	if got, want := cleanName("dumps/a/part-0001.json", 12, true), "…t-0001.json"; got != want {
		t.Errorf("the end of a file is %q, want %q", got, want)
	}
}

func TestLinkTo(t *testing.T) {
	for template, want := range map[string]string{
		"":                  "",
		"https://x/":        "",
		"https://x/{trace}": "https://x/ab",
		"https://x/{trace}?y={trace}&z=(1)|\"\x1b\\ é": "https://x/ab?y=ab&z=%281%29%7C%22%1B%5C%20%C3%A9",
	} {
		if got := linkTo(template, "ab"); got != want {
			t.Errorf("linkTo(%q) = %q, want %q", template, got, want)
		}
	}
}

// everywhere puts a name wherever one can be.
func everywhere(name string) (*analyze.Report, []analyze.View) {
	r, v := sample(), append(views(), tries()...)
	for i := range r.Input.Notes {
		r.Input.Notes[i].Text, r.Input.Notes[i].Example.File, r.Input.Notes[i].Code = name, name, ingest.Code(name)
	}
	for i := range r.Routes {
		r.Routes[i].Service, r.Routes[i].Route = name, name
		r.Routes[i].DeadlineSources = map[analyze.Source]int{analyze.Source(name): 1}
		r.Routes[i].Warnings = append(r.Routes[i].Warnings, analyze.Warning(name))
	}
	for i := range r.Dependencies {
		d := &r.Dependencies[i]
		d.Caller, d.Callee, d.Operation, d.CurrentTimeout = name, name, name, &analyze.CurrentTimeout{Source: name}
		d.DoesNotFit, d.Hint = []string{name}, name
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Service, f.Route, f.Callee, f.Operation = name, name, name, name
		if len(f.Examples) == 0 || f.Examples[0].Detail == nil { // what a detail says depends on the code
			f.Code = analyze.FindingCode(name)
		}
		for j := range f.Examples {
			f.Examples[j].File = name
			if d := f.Examples[j].Detail; d != nil {
				d.Instance, d.Success = name, name
			}
		}
	}
	for i := range r.Worst {
		w := &r.Worst[i]
		w.Service, w.Route, w.File, w.Source = name, name, name, analyze.Source(name)
		w.SavedBy, w.Path = []string{name}, []analyze.PathShare{{Callee: name, Operation: name}}
	}
	for i := range v {
		v[i].Service, v[i].Route, v[i].File, v[i].Source, v[i].Ended = name, name, name, analyze.Source(name), analyze.Ended(name)
		for j := range v[i].Path {
			p := &v[i].Path[j]
			p.Name, p.Service, p.Callee, p.Operation, p.Category = name, name, name, name, analyze.Category(name)
		}
		for j := range v[i].Calls {
			c := &v[i].Calls[j]
			c.Service, c.Callee, c.Operation, c.Findings = name, name, name, []analyze.FindingCode{analyze.FindingCode(name)}
			c.Rules = analyze.CallRules{Callee: name, Operation: name}
			for k := range c.Tries {
				c.Tries[k].Rules = analyze.TryRules{Part: name, Outcome: name, Join: name}
				if c.Tries[k].Phases != nil {
					c.Tries[k].Phases[name] = 1
				}
			}
		}
		for j := range v[i].Notes {
			v[i].Notes[j].Code = ingest.Code(name)
		}
	}
	return r, v
}

// checkName breaks t if a name gets out of its place in any form.
func checkName(t interface {
	Helper()
	Fatalf(string, ...any)
}, name string) {
	t.Helper()
	r, v := everywhere(name)
	plain, plainViews := everywhere("x")
	write := func(f func(io.Writer) error) string {
		var b bytes.Buffer
		if err := f(&b); err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		return b.String()
	}

	for form, text := range map[string]string{
		"Text":      write(func(w io.Writer) error { return Text(w, r, Options{}) }),
		"Markdown":  write(func(w io.Writer) error { return Markdown(w, r, Options{}) }),
		"TraceText": write(func(w io.Writer) error { return TraceText(w, v, Options{Explain: true}) }),
		"JSON":      strings.ReplaceAll(write(func(w io.Writer) error { return JSON(w, r) }), `\`, ""),
		"TraceJSON": strings.ReplaceAll(write(func(w io.Writer) error { return TraceJSON(w, v) }), `\`, ""),
	} {
		for _, c := range text {
			if c != '\n' && (c == utf8.RuneError && !strings.Contains(name, string(utf8.RuneError)) && form != "JSON" && form != "TraceJSON" ||
				unicode.In(c, unicode.C, unicode.Zl, unicode.Zp, unicode.Variation_Selector)) {
				t.Fatalf("%s of %.200q holds %U", form, name, c)
			}
		}
	}

	md := write(func(w io.Writer) error { return Markdown(w, r, Options{Link: "https://x/{trace}"}) })
	want := write(func(w io.Writer) error { return Markdown(w, plain, Options{Link: "https://x/{trace}"}) })
	got, like := strings.Split(md, "\n"), strings.Split(want, "\n")
	for _, l := range got {
		ours := l == ""
		for _, start := range []string{"## ", "| ", "- ", "… and ", "most ", "caller ", "longest ", "Where ", "These routes ", "Suggested ", "Connecting, "} {
			ours = ours || strings.HasPrefix(l, start)
		}
		if !ours {
			t.Fatalf("Markdown of %.200q has a line of its own: %.200q", name, l)
		}
	}
	tables := func(lines []string) (shape []int) {
		for _, l := range lines {
			if strings.HasPrefix(l, "|") {
				shape = append(shape, markdownCells(l))
			}
		}
		return shape
	}
	a, b := tables(got), tables(like)
	if len(a) != len(b) {
		t.Fatalf("Markdown of %q has %d rows, want %d", name, len(a), len(b))
	}
	for i := range a {
		if a[i] != b[i] {
			t.Fatalf("row %d of %q has %d cells, want %d:\n%s", i, name, a[i], b[i], md)
		}
	}

	fields, err := csv.NewReader(strings.NewReader(write(func(w io.Writer) error { return CSV(w, r) }))).ReadAll()
	if err != nil {
		t.Fatalf("CSV of %q: %v", name, err)
	}
	back := strings.ReplaceAll(name, "\r\n", "\n") // encoding/csv reads it so
	for _, row := range fields[1:] {
		for _, field := range row[:3] {
			if field != back && field != "'"+back {
				t.Fatalf("CSV of %q gives %q", name, field)
			}
			if field != "" && strings.ContainsRune("=+-@\t\r\n", rune(field[0])) {
				t.Fatalf("CSV of %q can be a formula", name)
			}
		}
	}

	var decoded analyze.Report
	dec := json.NewDecoder(strings.NewReader(write(func(w io.Writer) error { return JSON(w, strip(r)) })))
	if err := dec.Decode(&decoded); err != nil {
		t.Fatalf("JSON of %q: %v", name, err)
	}
	if decoded.Dependencies[0].Callee != strings.ToValidUTF8(name, "\ufffd") && utf8.ValidString(name) {
		t.Fatalf("JSON of %q gives %q", name, decoded.Dependencies[0].Callee)
	}
	lines := strings.Split(strings.TrimSuffix(write(func(w io.Writer) error { return TraceJSON(w, v) }), "\n"), "\n")
	if len(lines) != len(plainViews) {
		t.Fatalf("TraceJSON of %q has %d lines", name, len(lines))
	}
	for _, l := range lines {
		if !json.Valid([]byte(l)) {
			t.Fatalf("TraceJSON of %q is not JSON: %s", name, l)
		}
	}
}

// strip leaves out what cannot be decoded: ids have no UnmarshalText.
func strip(r *analyze.Report) *analyze.Report {
	r.Input.Notes, r.Findings, r.Worst = nil, nil, nil
	return r
}

// markdownCells counts the cells of a table's row as cmark-gfm does: a backslash
// takes the punctuation that follows with it, code spans do not matter.
func markdownCells(row string) int {
	n := 0
	for i := 0; i < len(row); i++ {
		switch {
		case row[i] == '\\' && i+1 < len(row) && unicode.In(rune(row[i+1]), unicode.P, unicode.S) && row[i+1] < utf8.RuneSelf:
			i++
		case row[i] == '|':
			n++
		}
	}
	return n - 1
}

var nastyNames = []string{"", " ", "a", nasty, "|", `\|`, `\\|`, `\`, "`", "``", "`a", "a`|`", "\r\n", "\n| x | y |", "=1+1", "-x", "@SUM(A1)", "\t", "'", `"`, "a,b",
	"\u202e", "\x1b]8;;http://x\x1b\\y", "\x9b31m", "\xff\xfe", strings.Repeat("日", 4000), strings.Repeat("e\u0301\u0302\u0303", 1000), "<!-- ", "![x](y)", "@user", "#1",
	"\U000e0001", "\u1160\u3164", "🏳\ufe0f\u200d🌈", "כתב", "\ufffd", strings.Repeat("`|", 50), "flag", "request-late", "skipped", "unknown", "+", "＝1"}

// The nasty names are the seeds of FuzzNames.
func TestNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkName(t, rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("|\\`\n\r\t =+-@<>[]()!*_~$#'\"a\u202e\u200b\u0301日\x1b"))),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "name"))
	})
}

func FuzzNames(f *testing.F) {
	for _, name := range nastyNames {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) { checkName(t, name) })
}

func TestWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "s"), rapid.IntRange(1, 40).Draw(t, "n")
		for _, end := range []bool{false, true} {
			if got := cleanName(s, n, end); columns(got) > n {
				t.Fatalf("cleanName(%q, %d, %v) = %q, %d columns", s, n, end, got, columns(got))
			}
		}
	})
}

// failing takes a few bytes and then fails, or forgets to say so.
type failing struct {
	err error
}

func (f failing) Write(p []byte) (int, error) { return len(p) / 2, f.err }

func TestWriteErrors(t *testing.T) {
	full := errors.New("disk full")
	for name, write := range map[string]func(io.Writer) error{
		"Text":      func(w io.Writer) error { return Text(w, sample(), Options{}) },
		"Markdown":  func(w io.Writer) error { return Markdown(w, sample(), Options{}) },
		"JSON":      func(w io.Writer) error { return JSON(w, sample()) },
		"CSV":       func(w io.Writer) error { return CSV(w, sample()) },
		"TraceText": func(w io.Writer) error { return TraceText(w, views(), Options{}) },
		"TraceJSON": func(w io.Writer) error { return TraceJSON(w, views()) },
	} {
		if err := write(failing{full}); !errors.Is(err, full) {
			t.Errorf("%s to a full disk: %v", name, err)
		}
		if err := write(failing{}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%s with a short write: %v", name, err)
		}
	}
}

// TestInputStays guards the order of what is not ours.
func TestInputStays(t *testing.T) {
	r := sample()
	var before, after bytes.Buffer
	if err := errors.Join(JSON(&before, r), Text(io.Discard, r, Options{}), JSON(&after, r)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before.Bytes(), after.Bytes()) {
		t.Error("Text changed the report")
	}
}
