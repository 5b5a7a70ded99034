package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"overrun/analyze"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestGolden(t *testing.T) {
	empty := &analyze.Report{Schema: analyze.ReportSchema}
	link := "https://tempo.example/trace/{trace}?a=1&b=(2)"
	for _, test := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"report.txt", func(w io.Writer) error { return Text(w, sample(), Options{}) }},
		{"report.md", func(w io.Writer) error { return Markdown(w, sample(), Options{Link: link}) }},
		{"report.csv", func(w io.Writer) error { return CSV(w, sample()) }},
		{"report.json", func(w io.Writer) error { return JSON(w, sample()) }},
		{"top.txt", func(w io.Writer) error { return Text(w, sample(), Options{Top: 1, Width: 72, Link: link}) }},
		{"wide.txt", func(w io.Writer) error { return Text(w, sample(), Options{All: true, Width: 160}) }},
		{"colour.txt", func(w io.Writer) error { return Text(w, sample(), Options{Top: 1, Colour: true, Link: link}) }},
		{"empty.txt", func(w io.Writer) error { return Text(w, empty, Options{}) }},
		{"empty.md", func(w io.Writer) error { return Markdown(w, empty, Options{}) }},
		{"trace.txt", func(w io.Writer) error { return TraceText(w, views(), Options{}) }},
		{"trace-top.txt", func(w io.Writer) error { return TraceText(w, long(), Options{Top: 1}) }},
		{"tries.txt", func(w io.Writer) error { return TraceText(w, tries(), Options{}) }},
		{"explain.txt", func(w io.Writer) error { return TraceText(w, tries(), Options{Explain: true}) }},
		{"many-tries.txt", func(w io.Writer) error { return TraceText(w, many(), Options{Top: 1, Width: 72}) }},
		{"rules.txt", func(w io.Writer) error { return Signals(w, rules("C1", "T3", "R6", "R3", "H5"), Options{}) }},
		{"replay.txt", func(w io.Writer) error { return ReplayText(w, replaySample(), Options{}) }},
		{"replay.md", func(w io.Writer) error { return ReplayMarkdown(w, replaySample(), Options{}) }},
		{"replay.csv", func(w io.Writer) error { return ReplayCSV(w, replaySample()) }},
		{"replay.json", func(w io.Writer) error { return ReplayJSON(w, replaySample()) }},
		{"compare.txt", func(w io.Writer) error { return CompareText(w, comparison(), Options{}) }},
		{"compare.md", func(w io.Writer) error { return CompareMarkdown(w, comparison(), Options{}) }},
		{"compare.json", func(w io.Writer) error { return CompareJSON(w, comparison()) }},
		{"compare.csv", func(w io.Writer) error { return CompareCSV(w, comparison()) }},
		{"compare.prom", func(w io.Writer) error { return CompareMetrics(w, comparison()) }},
		{"compare.xml", func(w io.Writer) error { return JUnit(w, comparison(), "policy.yaml", false) }},
		{"report.prom", func(w io.Writer) error { return Metrics(w, sample()) }},
		{"same.txt", func(w io.Writer) error { return CompareText(w, &analyze.Comparison{}, Options{}) }},
		{"trace.json", func(w io.Writer) error { return TraceJSON(w, views()) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := test.write(&b); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", test.name)
			if *update {
				if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// long has more segments and calls than are shown.
func long() []analyze.View {
	v := views()[0]
	for range 3 {
		v.Path = append(v.Path, v.Path...)
		v.Calls = append(v.Calls, v.Calls...)
		v.Notes = append(v.Notes, v.Notes...)
	}
	return []analyze.View{v}
}

// many has a call with more attempts than are shown.
func many() []analyze.View {
	v := tries()[:1]
	c := &v[0].Calls[0]
	c.Tries = append(c.Tries, c.Tries...)
	v[0].Calls = v[0].Calls[:1]
	return v
}

// rules are those with the given ids.
func rules(ids ...string) (list []analyze.SignalRow) {
	for _, r := range Rules() {
		if slices.Contains(ids, r.ID) {
			list = append(list, r)
		}
	}
	return list
}
