package ingest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// A packed is a file in an archive.
type packed struct{ name, content string }

func tarOf(t testing.TB, files ...packed) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content))}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, f.content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func zipOf(t testing.TB, files ...packed) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		e, err := w.Create(f.name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(e, f.content)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func utf16Of(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, u := range utf16.Encode([]rune("\uFEFF" + text)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

// criOf writes lines as a container's runtime does, in parts of n bytes.
func criOf(text string, n int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		for len(line) > n {
			fmt.Fprintf(&out, "2026-11-29T23:27:26.000000001Z stdout P %s\n", line[:n])
			fmt.Fprintf(&out, "2026-11-29T23:27:26.000000001+00:00 stderr F {\"level\":\"info\"\n")
			line = line[n:]
		}
		fmt.Fprintf(&out, "2026-11-29T23:27:26.000000002Z stdout F %s\n", line)
	}
	return out.String()
}

// dockerOf writes lines as Docker's json-file driver does.
func dockerOf(text string, n int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		for len(line) > 0 {
			part := line[:min(n, len(line))]
			line = line[len(part):]
			quoted, _ := json.Marshal(part)
			fmt.Fprintf(&out, "{\"log\":%s,\"stream\":\"stdout\",\"time\":\"2026-11-29T23:27:26.000000001Z\"}\n", quoted)
		}
	}
	return out.String()
}

// Whatever a dump is wrapped in, its spans are the same.
func TestWrappings(t *testing.T) {
	quoted := func(text string) string {
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	text := strings.Join(three, "\n") + "\n"
	parts := []packed{{"a/1.json", three[0]}, {"a/2.json.gz", string(gz([]byte(three[1])))}, {"b.txt.zst", string(zst([]byte(three[2])))}}
	want := readText(t, text)
	var indent bytes.Buffer
	for _, line := range three {
		if err := json.Indent(&indent, []byte(line), "", "  "); err != nil {
			t.Fatal(err)
		}
		indent.WriteByte('\n')
	}
	indented := strings.TrimSuffix(indent.String(), "\n")
	for name, content := range map[string]string{
		"tar":                                 tarOf(t, parts...),
		"tar in gzip":                         string(gz([]byte(tarOf(t, parts...)))),
		"tar in tar":                          tarOf(t, packed{"x.tar", tarOf(t, parts[:2]...)}, parts[2]),
		"zip":                                 zipOf(t, parts...),
		"zip in gzip":                         string(gz([]byte(zipOf(t, parts...)))),
		"zip in tar":                          tarOf(t, packed{"x.zip", zipOf(t, parts[1:]...)}, parts[0]),
		"tar in zip":                          zipOf(t, packed{"x.tar.gz", string(gz([]byte(tarOf(t, parts...))))}),
		"UTF-16, little end first":            utf16Of(text, binary.LittleEndian),
		"UTF-16, big end first":               utf16Of(text, binary.BigEndian),
		"UTF-16, little, no mark":             utf16Of(text, binary.LittleEndian)[2:],
		"UTF-16, big, no mark":                utf16Of(text, binary.BigEndian)[2:],
		"UTF-16 in gzip":                      string(gz([]byte(utf16Of(text, binary.LittleEndian)))),
		"CRI":                                 criOf(text, 1<<20),
		"docker":                              dockerOf(text, 1<<20),
		"docker, split":                       dockerOf(text, 100),
		"docker in gzip":                      string(gz([]byte(dockerOf(text, 1<<20)))),
		"a shipper's log":                     strings.ReplaceAll(strings.ReplaceAll(dockerOf(text, 1<<20), `\n",`, `",`), `"}`+"\n", `","kubernetes":{"pod":"x"}}`+"\n"),
		"CRI in UTF-16":                       utf16Of(criOf(text, 1<<20), binary.LittleEndian),
		"a logger's prefix":                   "INFO: " + strings.Join(three, "\nINFO: "),
		"a compose prefix":                    "web-1  | " + strings.Join(three, "\nweb-1  | "),
		"a log subscription":                  `{"messageType":"DATA_MESSAGE","logGroup":"g","logEvents":[{"id":"1","timestamp":1,"message":` + quoted(three[0]) + `},{"id":"2","message":` + quoted(three[1]) + `}]}{"logEvents":[{"id":"3","message":` + quoted(three[2]) + `}]}`,
		"indented, behind compose's prefixes": "web-1     | " + strings.ReplaceAll(indented, "\n", "\nweb-1     | "),
		"indented, behind kubectl's times":    "2026-11-29T23:27:26.000000000Z " + strings.ReplaceAll(indented, "\n", "\r\n2026-11-29T23:27:26.100000000Z "),
		"indented, behind pods' names":        "[pod/x/otelcol] " + strings.ReplaceAll(indented, "\n", "\n[pod/x/otelcol] "),
		"indented, behind syslog's":           "Nov  9 23:27:26 node-1 web[812]: " + strings.ReplaceAll(indented, "\n", "\nNov 29 23:27:26 node-1 web[812]: "),
		"indented, behind syslog's new ones":  "2026-11-29T23:27:26.5+01:00 node-1 web[812]: " + strings.ReplaceAll(indented, "\n", "\n2026-11-29T23:27:26+01:00 node-1 web[812]: "),
		"indented, behind names and times":    "web-1  | 2026-11-29T23:27:26Z " + strings.ReplaceAll(indented, "\n", "\nweb-1  | 2026-11-29T23:27:26Z "),
		"a kubectl prefix":                    "[pod/x/otelcol] " + strings.Join(three, "\n[pod/x/otelcol] "),
		"a prefix, then bare spans":           "INFO: " + strings.NewReplacer(`{"resourceSpans":[`, "", `]}]}]}`+"\n", "]}]}\nINFO: ", "]}]}]}", "]}]}").Replace(text[:len(text)-1]),
	} {
		for _, from := range []string{"file", "stdin"} {
			o, path := keepAll, "-"
			if from == "file" {
				path = write(t, "x", []byte(content))
			} else {
				o.Stdin = strings.NewReader(content)
			}
			got := mustRead(t, o, path)
			if d := diff(want.Traces, got.Traces); d != "" {
				t.Errorf("%s, %s %s", name, from, d)
			}
			if len(got.Notes) > 0 {
				t.Errorf("%s, %s: notes %+v, want none", name, from, got.Notes)
			}
			if len(got.Files) != 1 || got.Files[0].Spans != 3 || got.Files[0].Bytes > int64(len(content)) {
				t.Errorf("%s, %s: files %+v, want one with 3 spans and at most %d bytes", name, from, got.Files, len(content))
			}
		}
	}
}

// contrib#36494, #44371: a runtime cuts long lines, and lines of standard error
// come in between. They are no spans and noted as such.
func TestCRIParts(t *testing.T) {
	want := readText(t, strings.Join(three, "\n"))
	got := readText(t, criOf(strings.Join(three, "\n"), 50))
	if d := diff(want.Traces, got.Traces); d != "" {
		t.Error(d)
	}
	if n := note(got, Unreadable); n.Count == 0 {
		t.Errorf("notes %+v, want those of standard error", got.Notes)
	}
	// The last part of a line is missing: what is there is cut, not lost in silence.
	cut := criOf(three[0]+"\n"+three[1], 1<<20)
	cut = strings.Replace(cut, " stdout F "+three[1], " stdout P "+three[1][:200], 1)
	got = readText(t, cut)
	if n := note(got, Truncated); got.Spans != 1 || n.Bytes != 200 {
		t.Errorf("%d spans, note %+v, want one and 200 bytes truncated", got.Spans, n)
	}
}

// contrib#36641: every span knows the file it came from, in an archive too.
func TestArchiveNames(t *testing.T) {
	path := write(t, "x.tgz", gz([]byte(tarOf(t, packed{"./a/1.json", three[0]}, packed{"README", "hello"},
		packed{"x.parquet", "PAR1...."}, packed{"empty.json", ""}, packed{"in.zip", zipOf(t, packed{`b\2.json`, "\n" + three[2]})}))))
	d := mustRead(t, keepAll, path)
	got := map[string]int64{}
	for _, trace := range d.Traces {
		for _, s := range trace.Spans {
			got[strings.TrimPrefix(s.File, path)] = s.Position
		}
	}
	at := int64(strings.Index(three[0], `{"traceId"`))
	if len(got) != 2 || got[":a/1.json"] != at || got[":in.zip:b/2.json"] != at+1 {
		t.Errorf("places %v, want :a/1.json at %d and :in.zip:b/2.json at %d", got, at, at+1)
	}
	if n := note(d, Unreadable); n.Count != 2 || n.Bytes != 5+8 || n.Example.File != path+":README" {
		t.Errorf("unreadable %+v, want the README and the Parquet file", n)
	}
	if n := note(d, EmptyFile); n.Count != 1 || n.Example.File != path+":empty.json" {
		t.Errorf("no-spans %+v, want the empty file", n)
	}
}

func TestArchiveErrors(t *testing.T) {
	deep := three[0]
	for range maxWrappings {
		deep = string(gz([]byte(deep)))
	}
	nested := three[0]
	for range maxWrappings {
		nested = tarOf(t, packed{"x", nested})
	}
	encrypted := []byte(zipOf(t, packed{"x.json", three[0]}))
	at := bytes.Index(encrypted, []byte("PK\x01\x02"))
	encrypted[at+8] |= 1
	for name, test := range map[string]struct{ content, want string }{
		"an empty tar":       {tarOf(t) + strings.Repeat("\x00", 512), "empty"},
		"an empty zip":       {zipOf(t), "in zip: empty"},
		"a tar of strays":    {tarOf(t, packed{"a.bin", "\x01\x02\x03"}, packed{"b.csv", "trace_id,span_id,name\n"}), "in tar: a.bin: no known form, begins 01 02 03"},
		"a tar of tables":    {string(gz([]byte(tarOf(t, packed{"b.csv", "trace_id,span_id,name\n"})))), "in gzip: in tar: b.csv: a table (CSV)"},
		"a tar without dump": {tarOf(t, packed{"README", "hello"}), `plain text, begins "hello"`},
		"an encrypted zip":   {string(encrypted), "in zip: x.json: encrypted"},
		"half a zip":         {zipOf(t, packed{"x", three[0]})[:100], "in zip: no directory at its end: was the archive cut?"},
		"a zip but its end":  {zipOf(t, packed{"x", three[0]})[:len(zipOf(t, packed{"x", three[0]}))-1], "in zip: no directory at its end: was the archive cut?"},
		"half a zip in gzip": {string(gz([]byte(zipOf(t, packed{"x", three[0]})[:100]))), "in gzip: in zip: no directory at its end: was the archive cut?"},
		"too many gzips":     {string(gz([]byte(deep))), "wrapped more than 8 times"},
		"too many tars":      {tarOf(t, packed{"x", nested}), "in tar: x: "},
		"half a tar":         {tarOf(t, packed{"x", three[0]})[:600], "at 0: packed data ends early"},
	} {
		_, err := Read(context.Background(), []string{write(t, "x", []byte(test.content))}, keepAll)
		if err == nil || !strings.Contains(err.Error(), "/x: "+test.want) {
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
	}
	// What came before the end of half an archive is read.
	whole := tarOf(t, packed{"1", three[0]}, packed{"2", three[1] + strings.Repeat(" ", 2000)})
	d := readText(t, whole[:len(whole)-3500])
	if n := note(d, Truncated); d.Spans < 1 || n.Count == 0 {
		t.Errorf("half a tar: %d spans, note %+v, want one or more and truncated", d.Spans, n)
	}
}

// Bombs end with a note, after bounded work.
func TestBombsInArchives(t *testing.T) {
	j := newJob(context.Background(), []input{{path: "x"}}, Options{})
	f := &source{reading: &reading{job: j}, path: "x", meter: &meter{entries: maxEntries}}
	if a := newArchive(f, 1); a.add("one more", 1, strings.NewReader("{}")) || len(f.reading.notes.List()) != 1 {
		t.Errorf("one file more than %d was read; notes %+v", maxEntries, f.reading.notes.List())
	}
	j.bytes[0] = 10
	f.meter = &meter{bytes: freeBytes + 10*maxRatio}
	r := unpacked{f, strings.NewReader(strings.Repeat("a", 2*maxRatio))}
	if n, err := io.Copy(io.Discard, r); err != errRatio || n > 2*maxRatio {
		t.Errorf("read %d bytes with %v, want %v", n, err, errRatio)
	}
}

// contrib#22747: a line that rotation cut is joined, whatever the files are
// packed in.
func TestRotation(t *testing.T) {
	text := strings.Join(three, "\n") + "\n"
	want := readText(t, text)
	cuts := []int{1, 10, len(three[0]) - 1, len(three[0]), len(three[0]) + 1, len(three[0]) + 300, len(text) - 10, len(text) - 2}
	for _, at := range cuts {
		for name, files := range map[string][2]string{
			"old names": {"traces-2026-11-29T23-27-26.167.json", "traces.json"},
			"new names": {"traces-2026-11-29T23-27-26.167-size.json", "traces.json"},
			"two old":   {"traces-2026-11-29T23-27-26.167-size.json", "traces-2026-11-30T00-00-00.000-time.json"},
			"gzip":      {"traces-2026-11-29T23-27-26.167-size.json.gz", "traces.json"},
			"no suffix": {"traces-2026-11-29T23-27-26.167", "traces"},
			"others":    {"a-2026-11-29T23-27-26.167.json", "a.json"},
		} {
			dir := t.TempDir()
			for i, content := range []string{text[:at], text[at:]} {
				b := []byte(content)
				if strings.HasSuffix(files[i], ".gz") {
					b = gz(b)
				}
				if err := os.WriteFile(filepath.Join(dir, files[i]), b, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			// Files that sort in between, and are of no rotation.
			os.WriteFile(filepath.Join(dir, "traces-2026.json"), []byte(three[0]), 0o666)
			os.WriteFile(filepath.Join(dir, "traces-b.json"), []byte(three[0]), 0o666)
			got := mustRead(t, keepAll, dir)
			var spans []*Trace
			for _, trace := range got.Traces {
				c := *trace
				c.Notes = nil
				spans = append(spans, &c)
			}
			if d := diff(want.Traces, spans); d != "" {
				t.Errorf("%s, cut at %d %s", name, at, d)
			}
			for _, n := range got.Notes {
				if n.Code != Duplicate && n.Code != EmptyFile {
					t.Errorf("%s, cut at %d: note %+v", name, at, n)
				}
			}
		}
	}
}

// What does not go on in the next file is lost, and how much is said.
func TestRotationLost(t *testing.T) {
	for name, test := range map[string]struct {
		files     map[string]string
		truncated int64
	}{
		"the next begins anew":    {map[string]string{"t-2026-11-29T23-27-26.167.json": three[0] + "\n" + three[1][:90], "t.json": three[2]}, 90},
		"the next is another's":   {map[string]string{"t-2026-11-29T23-27-26.167.json": three[0] + "\n" + three[1][:90], "u.json": three[1][90:] + "\n" + three[2]}, 90},
		"there is no next":        {map[string]string{"t-2026-11-29T23-27-26.167.json": three[0] + "\n" + three[2] + "\n" + three[1][:90]}, 90},
		"the live file is cut":    {map[string]string{"t.json": three[0] + "\n" + three[2] + "\n" + three[1][:90]}, 90},
		"the next is no dump":     {map[string]string{"t-2026-11-29T23-27-26.167.json": three[0] + "\n" + three[2] + "\n" + three[1][:90], "t.json": "\x01\x02\x03"}, 90},
		"the times are reversed":  {map[string]string{"t-2026-11-29T23-27-26.168.json": three[0] + "\n" + three[1][:90], "t-2026-11-29T23-27-26.167.json": three[1][90:] + "\n" + three[2]}, 90},
		"a folder lies between":   {map[string]string{"a/t-2026-11-29T23-27-26.167.json": three[0] + "\n" + three[1][:90], "b/t.json": three[1][90:] + "\n" + three[2]}, 90},
		"both are in the archive": {map[string]string{"x.tar": tarOf(t, packed{"t-2026-11-29T23-27-26.167.json", three[0] + "\n" + three[1][:90]}, packed{"t.json", three[1][90:] + "\n" + three[2]})}, 0},
	} {
		dir := t.TempDir()
		for file, content := range test.files {
			os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o777)
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		d := mustRead(t, keepAll, dir)
		want := int64(3)
		if test.truncated > 0 {
			want = 2
		}
		if n := note(d, Truncated); d.Spans != want || n.Bytes != test.truncated {
			t.Errorf("%s: %d spans, %+v; want %d spans, %d bytes truncated", name, d.Spans, n, want, test.truncated)
		}
	}
}

// The real cut line of the corpus, under names that a collector gives.
func TestRotatedCorpus(t *testing.T) {
	corpus(t)
	whole, err := os.ReadFile(filepath.Join(shared, "corpus/gen-go__fileexporter.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	head, err := os.ReadFile(filepath.Join(shared, "corpus/nasty__rotated-mid-line-head.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(whole, head) {
		t.Skip("the head is not the beginning of the file")
	}
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "traces-2026-11-29T23-27-26.167-size.json"), head, 0o666)
	os.WriteFile(filepath.Join(dir, "traces.json"), whole[len(head):], 0o666)
	want := mustRead(t, keepAll, filepath.Join(shared, "corpus/gen-go__fileexporter.jsonl"))
	got := mustRead(t, keepAll, dir)
	if d := diff(want.Traces, got.Traces); d != "" {
		t.Error(d)
	}
}

func writeTo(t testing.TB, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Lengths may look like text, and text like lengths.
func TestLengthsAndText(t *testing.T) {
	message := func(name int) []byte {
		td := ptrace.NewTraces()
		s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		s.SetName(strings.Repeat("{", name))
		b, err := new(ptrace.ProtoMarshaler).MarshalTraces(td)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	long := message(31_600)
	if n := len(long); n < 0x7b00 || n > 0x7bff {
		t.Fatalf("a message of %d bytes", n)
	}
	bare := message(105)
	if !bytes.HasPrefix(bare, []byte("\x0a\x7b")) {
		t.Fatalf("begins % x", bare[:2])
	}
	for name, content := range map[string]string{
		"a length of 00 00 7b":              string(prefixed(long)),
		"the same, and more":                string(prefixed(long, bare)),
		"bare protobuf that begins 0a 7b":   string(bare),
		"four bytes of white space, then {": "\n   {\n" + three[0][1:],
		"tabs, then {":                      "\n\t\t\t" + three[0],
	} {
		if d := readText(t, content); d.Spans == 0 || len(d.Notes) > 0 && d.Notes[0].Code == Unreadable {
			t.Errorf("%s: %d spans, notes %+v", name, d.Spans, d.Notes)
		}
	}
}

// What log rotation and editors leave before a text is no part of it, however
// much it is. NULs are noted.
func TestBeforeText(t *testing.T) {
	for name, test := range map[string]struct {
		before string
		nuls   Note
	}{
		"some NULs":               {strings.Repeat("\x00", 1000), Note{Count: 1, Bytes: 1000}},
		"a head of NULs":          {strings.Repeat("\x00", headSize), Note{Count: 1, Bytes: headSize}},
		"more NULs than a head":   {strings.Repeat("\x00", headSize+1), Note{Count: 1, Bytes: headSize + 1}},
		"very many NULs":          {strings.Repeat("\x00", 20<<20), Note{Count: 1, Bytes: 20 << 20}},
		"white space":             {strings.Repeat(" \n", headSize), Note{}},
		"NULs in white space":     {strings.Repeat("\x00", 40_000) + strings.Repeat("\r\n", 40_000) + strings.Repeat("\x00", 40_000), Note{Count: 2, Bytes: 80_000}},
		"a mark behind many NULs": {strings.Repeat("\x00", headSize-1) + string(bom), Note{Count: 1, Bytes: headSize - 1}},
	} {
		d := readText(t, test.before+three[0])
		n := note(d, NULs)
		n.Code, n.Example = "", Place{}
		at := int64(len(test.before) + strings.Index(three[0], `{"traceId"`))
		if d.Spans != 1 || n != test.nuls || d.Traces[0].Spans[0].Position != at {
			t.Errorf("%s: %d spans, notes %+v, the first span %+v; want one at %d, and NULs %+v", name, d.Spans, d.Notes, d.Traces[0].Spans[0], at, test.nuls)
		}
	}
}

// A log need not begin with a whole line of its own: its lines are joined, and
// what is none costs itself.
func TestLogBegins(t *testing.T) {
	text := strings.Join(three, "\n") + "\n"
	want := readText(t, text)
	for log, content := range map[string]string{
		"CRI":            criOf(text, 1<<20),
		"CRI, split":     strings.ReplaceAll(criOf(text, 100), "2026-11-29T23:27:26.000000001+00:00 stderr F {\"level\":\"info\"\n", ""),
		"docker":         dockerOf(text, 1<<20),
		"docker, split":  dockerOf(text, 100),
		"docker, spaced": strings.ReplaceAll(dockerOf(text, 100), `","`, `", "`),
	} {
		first := content[:strings.IndexByte(content, '\n')+1]
		for name, test := range map[string]struct {
			before string
			notes  []Code
		}{
			"a byte order mark":         {string(bom), nil},
			"NULs":                      {strings.Repeat("\x00", 5), []Code{NULs}},
			"NULs and the mark":         {strings.Repeat("\x00", 70_000) + string(bom), []Code{NULs}},
			"so many that little shows": {strings.Repeat("\x00", headSize-100), []Code{NULs}},
			"a blank line":              {"\n", nil},
			"blank lines":               {" \r\n\n", nil},
			"the name of the file":      {"==> /var/log/pods/x/0.log <==\n", []Code{Unreadable}},
			"half a line":               {first[len(first)/2:], []Code{Unreadable}},
			"the end of a line":         {first[len(first)-3:], []Code{Unreadable}},
			"a line that breaks off":    {`{"log":"starti` + "\n", []Code{Unreadable}},
		} {
			if name == "the end of a line" && strings.HasPrefix(log, "CRI") {
				continue // brackets are as good as nothing
			}
			got := readText(t, test.before+content)
			if d := diff(want.Traces, got.Traces); d != "" {
				t.Errorf("%s, %s first %s", log, name, d)
			}
			var codes []Code
			for _, n := range got.Notes {
				codes = append(codes, n.Code)
				if n.Code == Unreadable && n.Bytes > int64(len(test.before)) {
					t.Errorf("%s, %s first: note %+v, want at most the %d bytes before the log", log, name, n, len(test.before))
				}
			}
			if !slices.Equal(codes, test.notes) {
				t.Errorf("%s, %s first: notes %+v, want %v", log, name, got.Notes, test.notes)
			}
		}
	}
	// One broken line, and nothing else.
	_, err := Read(t.Context(), []string{write(t, "x", []byte(`{"log":"{\"resourceSpans\":[`))}, keepAll)
	if err == nil || strings.Contains(err.Error(), "wrapped") {
		t.Errorf("a broken line: error %v, want what it is", err)
	}
}

// UTF-16 that ends in half of two bytes gives all that came before.
func TestUTF16Cut(t *testing.T) {
	line := three[0] + "\r\n"
	n := 100_000 / len(line) // two heads
	for order, with := range map[string]binary.AppendByteOrder{"little end first": binary.LittleEndian, "big end first": binary.BigEndian} {
		text := utf16Of(strings.Repeat(line, n), with)
		for name, test := range map[string]struct {
			content   string
			spans     int64
			truncated Note // position and bytes of the last
		}{
			"the last byte":          {text[:len(text)-1], int64(n), Note{Count: 1, Bytes: 1, Example: Place{Position: int64(n*len(line) - 1)}}},
			"in the middle of lines": {text[:2*len(line)*(n-1)+2+201], int64(n - 1), Note{Count: 2, Bytes: 101, Example: Place{Position: int64(len(line) * (n - 1))}}},
			"one byte more":          {text + "\x00", int64(n), Note{Count: 1, Bytes: 1, Example: Place{Position: int64(n * len(line))}}},
			"within a pair":          {text + utf16Of("\U0001F600", with)[2:5], int64(n), Note{Count: 1, Bytes: 1, Example: Place{Position: int64(n*len(line) + len("\uFFFD"))}}},
			"one line":               {text[:2+2*len(line)-1], 1, Note{Count: 1, Bytes: 1, Example: Place{Position: int64(len(line) - 1)}}},
			"whole":                  {text, int64(n), Note{}},
		} {
			d := readText(t, test.content)
			got := note(d, Truncated)
			got.Code, got.Text, got.Example.File = "", "", ""
			if d.Files[0].Spans != test.spans || got != test.truncated {
				t.Errorf("%s, %s: %d spans, truncated %+v; want %d, %+v", order, name, d.Files[0].Spans, got, test.spans, test.truncated)
			}
		}
		_, err := Read(t.Context(), []string{write(t, "x", []byte(text[:3]))}, keepAll)
		if err == nil || !strings.HasSuffix(err.Error(), "/x: in UTF-16: empty") {
			t.Errorf("%s, half of the first: error %v, want that it is empty", order, err)
		}
	}
}
