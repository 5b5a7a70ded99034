package ingest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

// line is one ResourceSpans object of a line with one span.
func line(trace, span, parent int, service, name string, kind, start, end int) string {
	parentID := ""
	if parent != 0 {
		parentID = fmt.Sprintf("%016x", parent)
	}
	return fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":%q}}]},`+
		`"scopeSpans":[{"scope":{"name":"s"},"spans":[{"traceId":"%032x","spanId":"%016x","parentSpanId":%q,"name":%q,"kind":%d,`+
		`"startTimeUnixNano":"%d","endTimeUnixNano":"%d"}]}]}]}`, service, trace, span, parentID, name, kind, start, end)
}

// three is three lines, one span each.
var three = []string{
	line(1, 1, 0, "a", "GET /", 2, 1000, 2000),
	line(1, 2, 1, "a", "call", 3, 1100, 1900),
	line(2, 3, 0, "b", "job", 1, 5000, 6000),
}

func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func gz(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func zst(b []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return w.EncodeAll(b, nil)
}

func prefixed(messages ...[]byte) []byte {
	var out []byte
	for _, m := range messages {
		out = binary.BigEndian.AppendUint32(out, uint32(len(m)))
		out = append(out, m...)
	}
	return out
}

// Whatever the spans are wrapped in, they are the same.
func TestForms(t *testing.T) {
	joined := strings.Join(three, "\n") + "\n"
	pretty := strings.ReplaceAll(strings.Join(three, "\n"), "{", "{\n   ")
	var legacy, packedLines [][]byte
	for _, l := range three {
		legacy = append(legacy, zst([]byte(l)))
		packedLines = append(packedLines, []byte(l))
	}
	forms := map[string][]byte{
		"lines":                    []byte(joined),
		"last line without feed":   []byte(strings.Join(three, "\n")),
		"carriage returns":         []byte(strings.Join(three, "\r\n")),
		"several a line":           []byte(strings.Join(three, "")),
		"pretty":                   []byte(pretty),
		"array":                    []byte("[" + strings.Join(three, ",") + "]"),
		"array of lines":           []byte("[\n" + strings.Join(three, ",\n") + "\n]\n"),
		"array of arrays":          []byte("[[" + strings.Join(three, ",") + "]]"),
		"byte order mark":          []byte("\xEF\xBB\xBF" + joined),
		"NULs in front":            []byte(strings.Repeat("\x00", 1000) + joined),
		"NULs in between":          []byte(three[0] + "\n\x00\x00\x00" + three[1] + three[2]),
		"line feeds in front":      []byte("\n\n\n\n\n" + joined),
		"feeds, then pretty":       []byte("\n" + pretty),
		"gzip":                     gz([]byte(joined)),
		"members of gzip":          append(gz([]byte(three[0]+"\n")), gz([]byte(three[1]+three[2]))...),
		"zstd":                     zst([]byte(joined)),
		"frames of zstd":           append(zst([]byte(three[0]+"\n")), zst([]byte(three[1]+three[2]))...),
		"gzip in zstd in gzip":     gz(zst(gz([]byte(joined)))),
		"length and frame":         prefixed(legacy...),
		"length and frame in zstd": zst(prefixed(legacy...)),
		"length and JSON":          prefixed(packedLines...),
		"nulls and empties":        []byte("null\n{}\n" + `{"resourceSpans":null}` + "\n" + joined + `{"resourceSpans":[]}` + "\n[]\n"),
	}
	want := mustRead(t, keepAll, write(t, "x", []byte(joined)))
	if want.Spans != 3 || len(want.Traces) != 2 {
		t.Fatalf("%d spans in %d traces, want 3 in 2", want.Spans, len(want.Traces))
	}
	for name, content := range forms {
		got := mustRead(t, keepAll, write(t, "x", content))
		if d := diff(want.Traces, got.Traces); d != "" {
			t.Errorf("%s %s", name, d)
		}
		wantNotes := map[string]Note{
			"NULs in front":   {Code: NULs, Count: 1, Bytes: 1000},
			"NULs in between": {Code: NULs, Count: 1, Bytes: 3, Example: Place{Position: int64(len(three[0]) + 1)}},
		}
		if want, ok := wantNotes[name]; ok {
			want.Example.File = got.Files[0].Path
			if len(got.Notes) != 1 || got.Notes[0] != want {
				t.Errorf("%s: notes %v, want %v", name, got.Notes, want)
			}
		} else if len(got.Notes) > 0 {
			t.Errorf("%s: notes %v, want none", name, got.Notes)
		}
	}
}

// A file longer than several blocks gives the same as its parts, however it is
// cut for the workers.
func TestManyBlocks(t *testing.T) {
	var all, indented strings.Builder
	for i := range 8000 {
		l := line(i/3+1, i+1, 0, "svc", strings.Repeat("n", 1500)+fmt.Sprint(i), 2, 1000+i, 2000+i)
		all.WriteString(l + "\n")
		indented.WriteString("  " + l + "\n") // no line begins with a brace: brackets are counted
	}
	want := mustRead(t, Options{Workers: 1}, write(t, "x", []byte(all.String())))
	if want.Spans != 8000 {
		t.Fatalf("%d spans, want 8000", want.Spans)
	}
	for name, content := range map[string]string{"lines": all.String(), "indented": indented.String(), "one line": strings.ReplaceAll(all.String(), "\n", "")} {
		for _, workers := range []int{1, 8} {
			got := mustRead(t, Options{Workers: workers}, write(t, "x", []byte(content)))
			if d := diff(want.Traces, got.Traces); d != "" {
				t.Errorf("%s, %d workers %s", name, workers, d)
			}
			if len(got.Notes) > 0 {
				t.Errorf("%s: notes %v, want none", name, got.Notes)
			}
		}
	}
}

func TestPosition(t *testing.T) {
	content := strings.Join(three, "\n")
	d := mustRead(t, keepAll, write(t, "x", []byte(content)))
	for _, trace := range d.Traces {
		for _, s := range trace.Spans {
			at := content[s.Position:]
			if want := fmt.Sprintf(`{"traceId":"%s","spanId":"%s"`, trace.ID, s.ID); !strings.HasPrefix(at, want) {
				t.Errorf("position %d is %.60s, want %s", s.Position, at, want)
			}
		}
	}
}

// What cannot be read costs itself only.
func TestDamage(t *testing.T) {
	badSpan := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"xyz","spanId":"0000000000000009","name":"bad"},` +
		`{"traceId":"00000000000000000000000000000009","spanId":"0000000000000009","name":"good"}]}]}]}`
	badSyntax := strings.Replace(badSpan, `"xyz"`, `GET /`, 1)
	cut := three[1][:len(three[1])-30]
	tests := []struct {
		name    string
		content string
		spans   int64
		code    Code
		count   int64
		bytes   int64
		at      int64
	}{
		{"a comment", three[0] + "\n# comment\n" + three[1], 2, Unreadable, 1, 10, int64(len(three[0]) + 1)},
		{"two kinds of garbage", "x\n" + three[0] + "\n}\n" + three[1], 2, Unreadable, 2, 4, 0},
		{"a line cut in a string, and more", three[0] + "\n" + three[1][:200] + "\n" + three[2], 2, Unreadable, 1, 201, int64(len(three[0]) + 1)},
		{"a line cut between values, and more", three[0] + "\n" + `{"resourceSpans":[` + "\n" + three[2], 2, Unreadable, 1, 19, int64(len(three[0]) + 1)},
		{"a cut line of another kind, and more", three[0] + "\n" + `{"a":1` + "\n" + `{"b":1}` + "\n" + three[2], 2, Unreadable, 2, 14, int64(len(three[0]) + 1)},
		{"the last line cut", three[0] + "\n" + cut, 1, Truncated, 1, int64(len(cut)), int64(len(three[0]) + 1)},
		{"an id that is a label", badSpan, 2, LabelID, 1, 0, 43 + int64(len(`{"traceId":`))},
		{"an id that is none", strings.Replace(badSpan, "xyz", "?", 1), 2, BadID, 1, 0, 43 + int64(len(`{"traceId":`))},
		{"malformed JSON in a span", badSyntax, 1, Unreadable, 1, int64(len(`{"traceId":GET /,"spanId":"0000000000000009","name":"bad"}`)), 43},
		{"an object of another kind", three[0] + `{"hello":1}`, 1, Unreadable, 1, 11, int64(len(three[0]))},
		{"logs and metrics", `{"resourceLogs":[{}]}` + three[0] + `{"resourceMetrics":[{}]}{"resourceLogs":[]}`, 1, OtherSignal, 2, 0, 16},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := write(t, "x", []byte(test.content))
			d := mustRead(t, keepAll, path)
			if d.Spans != test.spans {
				t.Errorf("%d spans, want %d", d.Spans, test.spans)
			}
			n := note(d, test.code)
			if n.Count != test.count || n.Bytes != test.bytes {
				t.Errorf("note %+v, want count %d, bytes %d", n, test.count, test.bytes)
			}
			if want := (Place{File: path, Position: test.at}); n.Example != want {
				t.Errorf("example %+v, want %+v", n.Example, want)
			}
		})
	}
}

// A file cut anywhere gives what was whole before, and says so.
func TestCutAnywhere(t *testing.T) {
	joined := []byte(strings.Join(three, "\n"))
	packed := map[string][]byte{
		"lines": joined, "array": []byte("[" + strings.Join(three, ",") + "]"),
		"gzip": gz(joined), "zstd": append(append(zst([]byte(three[0])), zst([]byte(three[1]))...), zst([]byte(three[2]))...),
		"legacy": prefixed(zst([]byte(three[0])), zst([]byte(three[1])), zst([]byte(three[2]))),
	}
	for name, content := range packed {
		path := write(t, "x", nil)
		spans := int64(0)
		for n := 1; n < len(content); n++ {
			if err := os.WriteFile(path, content[:n], 0o666); err != nil {
				t.Fatal(err)
			}
			d, err := Read(context.Background(), []string{path}, keepAll)
			if err != nil {
				if !strings.HasPrefix(err.Error(), path+": ") {
					t.Fatalf("%s cut at %d: %v, want the path in front", name, n, err)
				}
				if spans > 0 {
					t.Errorf("%s cut at %d: %v, but %d spans before", name, n, err, spans)
				}
				continue
			}
			check(t, d)
			if d.Spans < spans {
				t.Errorf("%s cut at %d: %d spans, but %d before", name, n, d.Spans, spans)
			}
			spans = d.Spans
			if (strings.HasPrefix(name, "gzip") || name == "array") && note(d, Truncated).Count != 1 {
				t.Errorf("%s cut at %d: notes %v, want truncated", name, n, d.Notes)
			}
		}
		if spans < 2 {
			t.Errorf("%s: %d spans at most, want 2 or more", name, spans)
		}
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	at := func(name, content string) string {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o777)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	folder := filepath.Join(dir, "empty")
	os.Mkdir(folder, 0o777)
	tests := []struct{ name, path, want string }{
		{"no such file", filepath.Join(dir, "none"), "no such file or directory"},
		{"no match", filepath.Join(dir, "*.none"), "no file matches"},
		{"empty folder", folder, "no file in the folder"},
		{"empty file", at("empty.json", ""), "empty"},
		{"empty gzip", at("empty.gz", string(gz(nil))), "in gzip: empty"},
		{"text", at("notes.txt", "hello\nworld\n"), `plain text, begins "hello"`},
		{"Parquet", at("x.parquet", "PAR1\x15\x04"), "a Parquet file: export it as JSON lines"},
		{"git-lfs", at("x.lfs", "version https://git-lfs.github.com/spec/v1\n"), "a git-lfs pointer, not the file: run git lfs pull"},
		{"HTML", at("x.html", "<!DOCTYPE html><html>"), "an HTML page, not a dump: was the download refused?"},
		{"UTF-16", at("x.ps1", "\xff\xfe{\x00}\x00"), "no spans"},
		{"zip", at("x.zip", "PK\x03\x04...."), "in zip: no directory at its end: was the archive cut?"},
		{"binary", at("x.bin", "\x01\x02\x03\x04\x05"), "no known form, begins 01 02 03 04 05"},
		{"other JSON", at("x.json", `{"hello":[1]}`), "JSON of no known form: export OTLP instead, to a collector's file exporter"},
		{"Tempo", at("tempo.json", `{"traces":[]}`), "a search result of Tempo's API, which holds no whole traces: fetch them by id, with /api/v2/traces/<id>"},
		{"no spans", at("none.json", `{"resourceSpans":[]}`), "no spans"},
		{"logs", at("logs.json", `{"resourceLogs":[{}]}`), "logs, metrics or profiles, and no spans"},
		{"bad parent", at("id.json", `{"resourceSpans":[{"scopeSpans":[{"spans":[{"parentSpanId":"?"}]}]}]}`), "at 43: malformed parent span id"},
	}
	for _, test := range tests {
		_, err := Read(context.Background(), []string{test.path}, Options{})
		if want := test.path + ": " + test.want; err == nil || err.Error() != want {
			t.Errorf("%s: error %q, want %q", test.name, err, want)
		}
	}
	if _, err := Read(context.Background(), nil, Options{}); err == nil {
		t.Error("no paths: no error")
	}
	_, err := Read(context.Background(), []string{filepath.Join(dir, "notes.txt"), filepath.Join(dir, "x.json")}, Options{})
	if want := "no spans in 2 files; the first: " + filepath.Join(dir, "notes.txt") + `: plain text, begins "hello"`; err == nil || err.Error() != want {
		t.Errorf("two files: error %q, want %q", err, want)
	}
}

// Files of nothing are empty, alone, in wrappings, and among others, whatever
// nothing is made of.
func TestBlank(t *testing.T) {
	for name, content := range map[string]string{
		"nothing":           "",
		"a line feed":       "\n",
		"line feeds":        "\n\n\n\n\n\n\n\n\n\n\n\n",
		"blanks":            "  \t\r\n",
		"a byte order mark": "\ufeff",
		"mark and feed":     "\ufeff\r\n",
		"a NUL":             "\x00",
		"NULs":              strings.Repeat("\x00", 5000),
		"as many as looked": strings.Repeat("\x00", headSize),
		"many NULs":         strings.Repeat("\x00", 3*headSize+7),
		"many line feeds":   strings.Repeat("\n", 3*headSize),
	} {
		path := write(t, "x", []byte(content))
		if _, err := Read(t.Context(), []string{path}, Options{}); err == nil || err.Error() != path+": empty" {
			t.Errorf("%s: error %v, want empty", name, err)
		}
		for _, other := range []string{write(t, "x", []byte(content)), write(t, "x", gz([]byte(content))), write(t, "x", []byte(tarOf(t, packed{"a", content})))} {
			d := mustRead(t, keepAll, other, write(t, "y", []byte(three[0])))
			notes := 1
			if strings.Contains(content, "\x00") { // they are noted too
				notes = 2
			}
			if n := note(d, EmptyFile); d.Spans != 1 || len(d.Notes) != notes || n.Bytes != 0 || !strings.HasSuffix(n.Text, "empty") {
				t.Errorf("%s, among others: %d spans, notes %+v, want 1 and that it is empty", name, d.Spans, d.Notes)
			}
		}
	}
	path := write(t, "x", []byte(strings.Repeat("\x00", 2*headSize)+"\x01"))
	if _, err := Read(t.Context(), []string{path}, Options{}); err == nil || !strings.Contains(err.Error(), "no known form, begins 01") {
		t.Errorf("NULs and more: error %v, want no known form", err)
	}
}

// Among files that gave spans, one that did not is a note.
func TestNotesOfFiles(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a.json": three[0], "sub/b.json": three[1], "sub/c.txt": "hello", "d.json": "", "e.json": `{"resourceSpans":[]}`,
	} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d := mustRead(t, keepAll, dir)
	if d.Spans != 2 || len(d.Files) != 5 {
		t.Errorf("%d spans in %d files, want 2 in 5", d.Spans, len(d.Files))
	}
	if n := note(d, Unreadable); n.Count != 1 || n.Example.File != filepath.Join(dir, "sub/c.txt") || n.Bytes != 5 {
		t.Errorf("unreadable: %+v", n)
	}
	if n := note(d, EmptyFile); n.Count < 2 || n.Example.File != filepath.Join(dir, "d.json") || n.Text != "empty" {
		t.Errorf("no-spans: %+v", n)
	}
	// A path that leads nowhere stays an error.
	if _, err := Read(context.Background(), []string{dir, filepath.Join(dir, "none")}, keepAll); err == nil {
		t.Error("missing file among others: no error")
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	for i, l := range three {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", i)), []byte(l), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want := mustRead(t, keepAll, dir)
	if want.Spans != 3 {
		t.Fatalf("%d spans, want 3", want.Spans)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, paths := range [][]string{
		{in("2.json"), in("0.json"), in("1.json")},
		{in("*.json")},
		{in("[01].json"), in("2.json")},
		{dir, in("1.json"), dir + "/./1.json", dir + "/../" + filepath.Base(dir)},
	} {
		got := mustRead(t, keepAll, paths...)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Read(%q) (-want +got):\n%s", paths, diff)
		}
	}
	o := keepAll
	o.Stdin = strings.NewReader(strings.Join(three, "\n"))
	got := mustRead(t, o, "-")
	if d := diff(want.Traces, got.Traces); d != "" {
		t.Errorf("stdin (-want +got):\n%s", d)
	}
	if got.Files[0].Path != "-" || got.Files[0].Bytes != int64(len(strings.Join(three, "\n"))) {
		t.Errorf("stdin: %+v", got.Files[0])
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, []string{write(t, "x", []byte(three[0]))}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, want %v", err, context.Canceled)
	}
}

func TestProgress(t *testing.T) {
	content := []byte(strings.Join(three, "\n"))
	read, total := int64(-1), int64(0)
	spans := int64(0)
	o := Options{Progress: func(p Progress) {
		if p.Read < read || p.Spans < spans {
			t.Errorf("progress went from %d bytes and %d spans to %+v", read, spans, p)
		}
		read, total, spans = p.Read, p.Total, p.Spans
	}}
	mustRead(t, o, write(t, "x", content))
	if read != int64(len(content)) || total != read || spans != 3 {
		t.Errorf("progress ended at %d of %d bytes and %d spans, want %d and 3", read, total, spans, len(content))
	}
}

// A small file must not need much memory, whatever its lengths say.
func TestBombs(t *testing.T) {
	long := make([]byte, 4<<20)
	for i := range long {
		long[i] = 'a'
	}
	huge := binary.BigEndian.AppendUint32(nil, 0xffff_fff0)
	tests := map[string][]byte{
		"a length of 4 GB":             append(prefixed([]byte("\x0a\x00")), append(huge, "\x0a\x00"...)...),
		"a length of 200 MB":           append(prefixed([]byte("\x0a\x00")), append(binary.BigEndian.AppendUint32(nil, 200<<20), "\x0a\x00"...)...),
		"a line without end in gzip":   gz(append([]byte(`{"a":"`), long...)),
		"brackets without end in zstd": zst(bytes.Repeat([]byte(`{"a":[`), 1<<20)),
		"a bare length of 2 GB":        []byte("\x0a\xf0\xff\xff\xff\x07\x0a\x00"),
	}
	for name, content := range tests {
		path := write(t, "x", content)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Read(context.Background(), []string{path}, Options{Workers: 1}); err == nil {
			t.Errorf("%s: no error", name)
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
			t.Errorf("%s: %d MB allocated", name, grown>>20)
		}
	}
}

// Which file a span lies in, in which order, next to which others, and how
// many workers there are: none of it matters.
func TestOrderDoesNotMatter(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var lines []string
		for range rapid.IntRange(1, 25).Draw(t, "spans") {
			lines = append(lines, line(
				rapid.IntRange(0, 2).Draw(t, "trace"), rapid.IntRange(0, 6).Draw(t, "id"), rapid.IntRange(0, 6).Draw(t, "parent"),
				rapid.SampledFrom([]string{"a", "b"}).Draw(t, "service"), rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name"),
				rapid.IntRange(0, 5).Draw(t, "kind"), rapid.SampledFrom([]int{0, 100, 101}).Draw(t, "start"), rapid.SampledFrom([]int{0, 99, 102, 200e9}).Draw(t, "end")))
		}
		read := func(lines []string, files, workers int) *Dump {
			var paths []string
			for i := range files {
				path := filepath.Join(dir, fmt.Sprint(i))
				part := lines[i*len(lines)/files : (i+1)*len(lines)/files]
				if err := os.WriteFile(path, []byte(strings.Join(part, "\n")), 0o666); err != nil {
					t.Fatal(err)
				}
				paths = append(paths, path)
			}
			d, err := Read(context.Background(), paths, Options{Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			if breaches := d.Check(); breaches != nil {
				t.Fatalf("breaches:\n%s", strings.Join(breaches, "\n"))
			}
			return d
		}
		want := read(lines, 1, 1)
		shuffled := rapid.Permutation(lines).Draw(t, "shuffled")
		got := read(shuffled, rapid.IntRange(1, min(3, len(lines))).Draw(t, "files"), 8)
		if d := diff(want.Traces, got.Traces); d != "" {
			t.Error(d)
		}
	})
}
