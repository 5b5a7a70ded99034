package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// However many files are read at once, and wherever rotation cut them, the
// result is that of one after the other, notes and places included; and the spans
// are those of the text in one piece.
func TestRotationAtOnce(t *testing.T) {
	dir := t.TempDir()
	number := 0
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for i := range rapid.IntRange(1, 40).Draw(t, "lines") {
			lines = append(lines, rapid.SampledFrom([]string{
				line(i/3+1, i+1, 0, "svc", strings.Repeat("n", rapid.SampledFrom([]int{1, 50_000}).Draw(t, "length")), 2, 1000+i, 2000+i),
				line(i/3+1, i+1, 0, "svc", "\n", 2, 1000+i, 2000+i),
			}).Draw(t, "line"))
		}
		text := strings.Join(lines, "\n") + "\n"
		var cuts []int // at most one a line, since a line may lie in two files
		at := 0
		for _, l := range lines {
			if rapid.IntRange(0, 2).Draw(t, "cut?") == 0 {
				cuts = append(cuts, at+rapid.IntRange(0, len(l)+1).Draw(t, "cut"))
			}
			at += len(l) + 1
		}
		number++
		folder := filepath.Join(dir, fmt.Sprint(number))
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		from := 0
		for i, to := range append(cuts, len(text)) {
			name := "traces.json"
			if i < len(cuts) {
				name = fmt.Sprintf("traces-2026-11-29T23-27-26.%03d.json", i)
			}
			content := []byte(text[from:to])
			if rapid.Bool().Draw(t, "gzip") {
				name, content = name+".gz", gz(content)
			}
			if err := os.WriteFile(filepath.Join(folder, name), content, 0o666); err != nil {
				t.Fatal(err)
			}
			from = to
		}
		read := func(workers int) *Dump {
			o := keepAll
			o.Workers = workers
			d, err := Read(t.Context(), []string{folder}, o)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		want := read(1)
		if want.Spans != int64(len(lines)) {
			t.Errorf("%d spans, want %d; notes %+v", want.Spans, len(lines), want.Notes)
		}
		for range 3 {
			if diff := cmp.Diff(want, read(4)); diff != "" {
				t.Fatalf("4 workers (-one worker +four):\n%.2000s", diff)
			}
		}
	})
}

// One reading at a time holds much; a file that waits for the one before it does
// not keep it from that.
func TestWideReadings(t *testing.T) {
	dir := t.TempDir()
	wide := line(1, 1, 0, "svc", strings.Repeat("n", 3*maxNarrow), 2, 1000, 2000)
	for i := range 4 {
		content := strings.ReplaceAll(wide, `"spanId":"0000000000000001"`, fmt.Sprintf(`"spanId":"%016x"`, i+1)) + "\n"
		if i%2 == 1 {
			content = string(gz([]byte(content)))
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("traces-2026-11-29T23-27-26.%03d.json", i)), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Workers: 4}
	if d := mustRead(t, o, dir); d.Spans != 4 {
		t.Errorf("%d spans, want 4", d.Spans)
	}
}
