package ingest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
)

// Files that people hold beside those of the corpus, and what was misread in
// them.

// A span id in base64 may begin with what looks like the mark of hexadecimal:
// seen in the translation of a real load to Jaeger's JSON, where one in 4096 does.
func TestBase64LikeHexadecimal(t *testing.T) {
	for text, want := range map[string]SpanID{
		"0XWkFx76ofA=":       {0xd1, 0x75, 0xa4, 0x17, 0x1e, 0xfa, 0xa1, 0xf0},
		"0xWkFx76ofA=":       {0xd3, 0x15, 0xa4, 0x17, 0x1e, 0xfa, 0xa1, 0xf0},
		"0x1234567890abcdef": {0x12, 0x34, 0x56, 0x78, 0x90, 0xab, 0xcd, 0xef},
		"0X1":                {7: 1},
	} {
		var id SpanID
		if !parseID(id[:], []byte(text)) || id != want {
			t.Errorf("parseID(%s) = %s, want %s", text, id, want)
		}
	}
}

// Lines inside the objects of shippers and loggers.
func TestLogObjects(t *testing.T) {
	want := readText(t, strings.Join(three, "\n"))
	bare := strings.NewReplacer(`{"resourceSpans":[`, "", `]}]}]}`, "]}]}").Replace(three[1])
	for name, row := range map[string][2]string{ // around a line
		"Fluent Bit": {`{"date":1796021570.1,"log":`, `,"kubernetes":{"pod":"x"}}`},
		"Vector":     {`{"file":"/var/log/x","message":`, `,"source_type":"file"}`},
		"journald":   {`{"MESSAGE":`, `,"_PID":"1"}`},
		"Loki":       {`{"labels":{"a":"b"},"line":`, `,"timestamp":"2026-11-29T23:27:26Z"}`},
		"kcat":       {`{"topic":"otlp_spans","partition":0,"offset":1,"key":null,"payload":`, `}`},
		"rpk":        {`{"topic":"otlp_spans","key":"k","value":`, `,"timestamp":1796021570123,"partition":0,"offset":1}`},
		"Cloud":      {`{"insertId":"x","textPayload":`, `,"timestamp":"2026-11-29T23:27:26Z"}`},
		"Insights":   {`{"@timestamp":"2026-11-29 23:27:26.000","@message":`, `,"@ptr":"x"}`},
		"its API":    {`[{"field":"@timestamp","value":"2026-11-29 23:27:26.000"},{"field":"@message","value":`, `},{"field":"@ptr","value":"x"}]`},
		"slog":       {`{"time":"2026-11-29T23:27:26Z","level":"INFO","msg":`, `}`},
	} {
		var text strings.Builder
		text.WriteString(row[0] + `"collector started"` + row[1] + "\n")
		for i, line := range []string{three[0], "INFO: " + bare, three[2]} {
			quoted, err := json.Marshal(line)
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(row[0] + string(quoted) + row[1] + strings.Repeat("\n", i))
		}
		got := readText(t, text.String())
		if d := diff(want.Traces, got.Traces); d != "" {
			t.Errorf("%s %s", name, d)
		}
		if n := note(got, Unreadable); len(got.Notes) != 1 || n.Count != 1 || !strings.HasSuffix(n.Text, " without spans") {
			t.Errorf("%s: notes %+v, want one about the line without spans", name, got.Notes)
		}
	}
	// A text in a text in a text ends.
	text := three[0]
	for range 5 {
		quoted, _ := json.Marshal(text)
		text = `{"msg":` + string(quoted) + `,"x":1}`
	}
	if _, err := Read(t.Context(), []string{write(t, "x", []byte(text))}, keepAll); err == nil || !strings.HasSuffix(err.Error(), "a line of a log without spans") {
		t.Errorf("log in log: error %v", err)
	}
}

// Lines of otlp-stdout-span-exporter, and messages whose bytes a tool wrote as base64
// (https://pypi.org/project/otlp-stdout-span-exporter).
func TestBase64Lines(t *testing.T) {
	td := everything()
	message, _ := marshalled(t, td)
	want := FromTraces(td, keepAll)
	line := func(payload []byte) string {
		return `{"__otel_otlp_stdout":"0.1.0","source":"w","endpoint":"http://localhost:4318/v1/traces","content-type":"application/x-protobuf","payload":"` +
			base64.StdEncoding.EncodeToString(payload) + `","base64":true}` + "\n"
	}
	for name, text := range map[string]string{
		"gzip":    line(gz(message)),
		"plain":   line(message),
		"between": `{"level":"INFO","message":"Chat"}` + "\n" + line(gz(message)),
		"kcat":    `{"topic":"otlp_spans","partition":0,"offset":1,"payload":"` + base64.StdEncoding.EncodeToString(message) + `"}`,
		"Kinesis": `{"Records":[{"SequenceNumber":"1","Data":"` + base64.StdEncoding.EncodeToString(message) + `","PartitionKey":"1"}],"NextShardIterator":"x"}`,
		"damaged": line(gz(message)[:20]) + line(message) + line(gz(nil)),
	} {
		got := readText(t, text)
		if d := diff(want.Traces, got.Traces); d != "" {
			t.Errorf("%s %s", name, d)
		}
		if n, unread := note(got, Unreadable), map[string]int64{"between": 1, "damaged": 2}[name]; n.Count != unread {
			t.Errorf("%s: %d unreadable, want %d", name, n.Count, unread)
		}
	}
	text := line(gz([]byte(three[0] + "\n" + three[1] + "\n" + three[2])))
	if d := diff(readText(t, strings.Join(three, "\n")).Traces, readText(t, text).Traces); d != "" {
		t.Errorf("JSON %s", d)
	}
}

// Rows that a tool wrote itself, with an object of columns for each nested one.
func TestClickHouseObjectsOfColumns(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testdata, "forms", "clickhouse.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	moved := 0
	for line := range strings.Lines(string(text)) {
		flat, row := map[string]json.RawMessage{}, map[string]any{}
		if err := json.Unmarshal([]byte(line), &flat); err != nil {
			t.Fatal(err)
		}
		for key, value := range flat {
			outer, inner, nested := strings.Cut(key, ".")
			if !nested {
				row[key] = value
				continue
			}
			if row[outer] == nil {
				row[outer] = map[string]json.RawMessage{}
			}
			row[outer].(map[string]json.RawMessage)[inner] = value
			moved++
		}
		whole, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		rows.Write(append(whole, '\n'))
	}
	if d := diff(readText(t, string(text)).Traces, readText(t, rows.String()).Traces); moved == 0 || d != "" {
		t.Errorf("%d columns moved, %s", moved, d)
	}
}

// Messages of OTLP in protobuf with something else in between are named, and those
// with nothing are read.
func TestLinedProtobuf(t *testing.T) {
	message := ld(1, ld(1, ld(1, ld(1, "service.name"), ld(2, ld(1, "svc")))), ld(2, ld(2, ld(1, traceBytes), ld(2, spanBytes), f64(7, 1), f64(8, 2))))
	framed := "\x00" + string(binary.BigEndian.AppendUint32(nil, uint32(len(message)))) + message
	delimited := string(binary.AppendUvarint(nil, uint64(len(message)))) + message
	for content, want := range map[string]string{
		message + message + message:               "",
		message + "\n" + message + "\n":           "as kcat writes it: let it write none (kcat -D '')",
		strings.Repeat(message+"\n", 9):           "as kcat writes it: let it write none (kcat -D '')",
		message + message + "\n" + message:        "as kcat writes it: let it write none (kcat -D '')",
		framed + framed:                           "in the frames of gRPC: write the messages without the 5 bytes before each",
		delimited + delimited:                     "one message a file",
		message + "\n" + message[:len(message)/2]: "as kcat writes it: let it write none (kcat -D '')",
	} {
		_, err := Read(t.Context(), []string{write(t, "x", []byte(content))}, keepAll)
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasSuffix(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", content, err, want)
		}
	}
}

// A sentence with commas before spans is no table, and a table with JSON in it is
// one.
func TestTables(t *testing.T) {
	python := `{"name":"n","context":{"trace_id":"0x00000000000000000000000000000001","span_id":"0x0000000000000001"},"kind":"SpanKind.SERVER","parent_id":null,"start_time":"2026-11-29T23:27:24Z","end_time":"2026-11-29T23:27:25Z"}`
	for text, want := range map[string]bool{
		"Starting trace demo, 3 requests, Ctrl+C to stop\n" + python:                                  false,
		"Starting trace demo, 3 requests, Ctrl+C to stop\n{\n  \"name\": \"a, b, c\",\n" + python[1:]: false,
		"Starting trace demo, 3 requests, Ctrl+C to stop\n" + three[0]:                                false,
		"Starting trace demo, 3 requests, Ctrl+C to stop\nINFO: " + three[0]:                          false,
		"Starting trace demo, 3 requests, Ctrl+C to stop\n2026-11-29 23:27:24,1 ready\n" + three[0]:   false,
		"traceID,spanID,name\n":                                              true,
		"traceID,spanID,name\n1,2,n\n":                                       true,
		"traceID;spanID;name":                                                true,
		"trace_id\tspan_id\ttags\n1\t2\t{\"a\":1}\n":                         true,
		"trace_id,span_id,tags\n1,2,\"{\n\"\"a\"\": [\n{\n}]}\"\n":           true,
		"trace_id,span_id,tags\n\"1\",\"2\",\"{\"\"a\"\":1,\"\"b\"\":2}\"\n": true,
	} {
		o := keepAll
		o.Stdin = strings.NewReader(text)
		d, err := Read(t.Context(), []string{"-"}, o)
		isTable := err != nil && strings.Contains(err.Error(), "a table (CSV)")
		if isTable != want || !want && (err != nil || d.Spans != 1) {
			t.Errorf("%q: error %v, want a table: %t, or one span", text, err, want)
		}
	}
}

// The body of a bulk request has an action before each document.
func TestBulk(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(testdata, "forms", "jaeger-es.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	want := readText(t, string(content))
	for _, action := range []string{`{"index":{"_index":"jaeger-span-2026-11-29"}}`, `{"create":{}}`} {
		got := readText(t, action+"\n"+strings.ReplaceAll(strings.TrimSpace(string(content)), "\n", "\n"+action+"\n")+"\n")
		if d := diff(want.Traces, got.Traces); d != "" || len(got.Notes) > 0 || want.Spans != 4 {
			t.Errorf("%s: %s; notes %+v, want 4 spans and none", action, d, got.Notes)
		}
	}
}

// RFC 7464, as jq --seq writes it.
func TestSequence(t *testing.T) {
	want := readText(t, strings.Join(three, "\n"))
	got := readText(t, "\x1e"+strings.Join(three, "\n\x1e")+"\n")
	if d := diff(want.Traces, got.Traces); d != "" || len(got.Notes) > 0 {
		t.Errorf("%s; notes %+v, want none", d, got.Notes)
	}
}

// A file that begins within the spans of a resource, exactly at one of them or at the comma before it, has lost whose
// they are: they are none, whatever the rest of the file holds. Spans that stand alone are read.
func TestBeheaded(t *testing.T) {
	const (
		one   = `{"traceId":"00000000000000000000000000000001","spanId":"0000000000000001","startTimeUnixNano":"1","endTimeUnixNano":"2"}`
		two   = `{"traceId":"00000000000000000000000000000001","spanId":"0000000000000002","startTimeUnixNano":"1","endTimeUnixNano":"2"}`
		whole = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00000000000000000000000000000002","spanId":"0000000000000003","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}` + "\n"
	)
	for text, want := range map[string]int64{
		"," + one + "," + two + "]}]}]}\n" + whole:                    1,
		one + "," + two + "]}]}]}\n" + whole:                          1,
		two + "]}]}]}\n" + whole:                                      1,
		",\n  " + one + ",\n  " + two + "\n  ]\n }\n]}\n]}\n" + whole: 1,
		one + ",\n  " + two + "\n  ]\n }\n]}\n]}\n" + whole:           1,
		"[" + one + "," + two + "]\n":                                 2,
		one + ",\n" + two + "\n":                                      2,
		one + "\n" + two + "\n":                                       2,
	} {
		got := readText(t, text)
		if got.Spans != want {
			t.Errorf("%q: %d spans, want %d", text, got.Spans, want)
		}
		if lost := slices.ContainsFunc(got.Notes, func(n Note) bool { return n.Code == Unreadable }); lost != (want == 1) {
			t.Errorf("%q: notes %+v", text, got.Notes)
		}
	}
}

// Events as SDKs and the collector write them into Zipkin's annotations.
func TestZipkinAnnotations(t *testing.T) {
	for text, want := range map[string][2]string{
		`exception`: {"exception", ""},
		`exception|{"exception.type":"Timeout"}|0`:   {"exception", `{"exception.type":"Timeout"}`},
		`"exception": {"exception.type":"a: {b}|1"}`: {"exception", `{"exception.type":"a: {b}|1"}`},
		`a|b`:     {"a|b", ""},
		`a|{b}|c`: {"a|{b}|c", ""},
		`a}|1|{`:  {"a}|1|{", ""},
		`"a": {b`: {`"a": {b`, ""},
		`": {}`:   {`": {}`, ""},
		``:        {"", ""},
	} {
		name, attrs := splitAnnotation([]byte(text))
		if string(name) != want[0] || string(attrs) != want[1] {
			t.Errorf("splitAnnotation(%s) = %s, %s; want %s, %s", text, name, attrs, want[0], want[1])
		}
	}
}

// Other packings, and what is refused by name.
func TestPackings(t *testing.T) {
	text := strings.Join(three, "\n") + "\n"
	want := readText(t, text)
	var snappy strings.Builder
	for _, o := range [][]s2.WriterOption{{s2.WriterSnappyCompat()}, nil} {
		snappy.Reset()
		w := s2.NewWriter(&snappy, o...)
		w.Write([]byte(text))
		w.Close()
		if d := diff(want.Traces, readText(t, snappy.String()).Traces); d != "" {
			t.Errorf("snappy, S2: %s", d)
		}
	}
	// Stores pad gzip with NULs; what comes behind is no loss of what came before.
	if d := diff(want.Traces, readText(t, string(gz([]byte(text)))+strings.Repeat("\x00", 512)).Traces); d != "" {
		t.Errorf("padded gzip: %s", d)
	}
	for content, refused := range map[string]string{
		"\xfd7zXZ\x00\x00\x04":                                         "packed with xz: unpack it first (xz -d)",
		"\x04\x22\x4d\x18\x64\x40\xa7":                                 "packed with lz4: unpack it first (lz4 -d)",
		"Obj\x01\x04\x14avro.codec":                                    "an Avro file: export its records as JSON lines",
		"SQLite format 3\x00\x10\x00":                                  "a database of SQLite: export its spans as OTLP or JSON lines",
		"#<struct OpenTelemetry::SDK::Trace::SpanData\n name=\"x\",\n": "output of Ruby's console exporter",
	} {
		_, err := Read(t.Context(), []string{write(t, "x", []byte(content))}, keepAll)
		if err == nil || !strings.Contains(err.Error(), "/x: "+refused) {
			t.Errorf("%.20q: error %v, want %s", content, err, refused)
		}
	}
}
