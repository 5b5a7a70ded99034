package ingest

import (
	"bytes"
	"strconv"
)

// jsonText decodes runs of JSON text: values one after the other, with or
// without line feeds, commas or array brackets between them.
type jsonText struct {
	*sink
	jsonScanner
	base int64 // offset of buf in the content of the file

	saved    int   // index after the last span read: what lies before is not lost
	deferred []int // offsets of scopes under the old name, see resourceSpans
}

// A jsonForm says what is done with a top-level object that has the key.
type jsonForm struct {
	key  string
	read func(*jsonText) bool // consumes the value; nil: the form is known and not read
	name string               // for messages
}

// jsonForms are looked up for each key of a top-level object; the first key
// that is here decides.
var jsonForms = []jsonForm{
	{"resourceSpans", (*jsonText).traces, "OTLP"},
	{"resource_spans", (*jsonText).traces, "OTLP"},
	{"resourceLogs", (*jsonText).other, "OTLP logs"},
	{"resource_logs", (*jsonText).other, "OTLP logs"},
	{"resourceMetrics", (*jsonText).other, "OTLP metrics"},
	{"resource_metrics", (*jsonText).other, "OTLP metrics"},
	{"resourceProfiles", (*jsonText).other, "OTLP profiles"},
	{"resource_profiles", (*jsonText).other, "OTLP profiles"},
	{"batches", nil, "an answer of Tempo's API (batches)" + notYet},
	{"trace", nil, "an answer of Tempo's API (trace)" + notYet},
	{"result", nil, "an answer of Jaeger's API (result)" + notYet},
	{"data", nil, "an answer of Jaeger's API or of Aspire (data)" + notYet},
	{"traces", nil, "a search result (traces), which holds no spans: fetch the traces by id"},
	{"scopeSpans", nil, "bare OTLP ResourceSpans" + notYet},
	{"scope_spans", nil, "bare OTLP ResourceSpans" + notYet},
	{"processes", nil, "a trace of Jaeger's UI" + notYet},
	{"traceID", nil, "a Jaeger span" + notYet},
	{"localEndpoint", nil, "a Zipkin span" + notYet},
	{"binaryAnnotations", nil, "a Zipkin v1 span" + notYet},
	{"SpanContext", nil, "a span of Go's stdouttrace" + notYet},
	{"SpanAttributes", nil, "a row of ClickHouse's otel_traces" + notYet},
	{"span_start_timestamp_nanos", nil, "a Quickwit document" + notYet},
	{"traceId", nil, "a span of Jaeger or Zipkin" + notYet},
	{"trace_id", nil, "a single span outside OTLP" + notYet},
	{"context", nil, "a span of Python's console exporter" + notYet},
}

const notYet = ", a form that is not read"

func (t *jsonText) offset() int64 { return t.offsetOf(t.pos) }

func (t *jsonText) offsetOf(index int) int64 { return t.base + int64(index) }

// decode reads a run of text. tail is as in unit. If a value has no end and
// nothing follows, that is noted and decode returns true.
//
// A line that begins with an object of OTLP begins a value, whatever went
// before: where a writer died within a line, the next one wrote on.
func (t *jsonText) decode(buf []byte, base int64, tail string) (inside bool) {
	t.pos, t.base, t.why, t.saved = 0, base, "", 0
	for end := 0; end < len(buf); {
		end = nextRecord(buf, end)
		t.buf = buf[:end]
		if end < len(buf) {
			t.run("")
		} else {
			inside = t.run(tail)
		}
	}
	return inside
}

// nextRecord returns the index of the first line after i that begins with an
// object of OTLP, len(b) if there is none.
func nextRecord(b []byte, i int) int {
	for {
		at := bytes.Index(b[i:], []byte("\n{"))
		if at < 0 {
			return len(b)
		}
		i += at + 1
		if isRecord(b[i:]) {
			return i
		}
	}
}

// run reads values from t.pos to the end of t.buf.
func (t *jsonText) run(tail string) (inside bool) {
	for t.pos < len(t.buf) {
		start := t.pos
		switch c := t.buf[t.pos]; {
		case isFiller(c):
			t.pos++
		case c == 0xEF && bytes.HasPrefix(t.buf[t.pos:], bom):
			t.pos += len(bom)
		case c == '{' && t.top():
		case c == 'n' && t.null():
		default:
			start = max(start, t.saved)
			if t.why != endOfInput || tail == "" {
				t.garbage(start)
				continue
			}
			if tail == tooLong {
				t.unreadable(t.offsetOf(start), int64(len(t.buf)-start), tail)
			} else {
				t.cutOff(t.offsetOf(start), int64(len(t.buf)-start), tail)
			}
			return true
		}
	}
	return false
}

var bom = []byte{0xEF, 0xBB, 0xBF}

// isFiller reports whether the byte may stand between values. The brackets and
// commas are those of an array around all values; NULs are what log rotation
// leaves at the head of a file.
func isFiller(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', 0, ',', '[', ']':
		return true
	}
	return false
}

// garbage gives up what began at start and goes on at the next line that
// starts a value.
func (t *jsonText) garbage(start int) {
	why := t.why
	if why == "" || why == "want null" {
		why = "no JSON value"
		t.odd(t.offsetOf(start), "plain text, begins "+quoteHead(t.buf[start:]))
	} else {
		t.odd(t.offsetOf(start), "broken JSON ("+why+"), begins "+quoteHead(t.buf[start:]))
	}
	t.why = ""
	// The failure may have been seen on the line after the broken one.
	end := max(t.pos, start)
	for end > start && isFiller(t.buf[end-1]) {
		end--
	}
	t.pos = nextValueLine(t.buf, end)
	t.unreadable(t.offsetOf(start), int64(t.pos-start), why)
}

// quoteHead quotes the start of a text for a message.
func quoteHead(b []byte) string {
	if at := bytes.IndexByte(b, '\n'); at >= 0 {
		b = b[:at]
	}
	if len(b) > 40 {
		b = b[:40]
	}
	return strconv.Quote(string(valid(b)))
}

// nextValueLine returns the index of the first line after i whose first byte
// other than white space is an opening bracket, or len(b).
func nextValueLine(b []byte, i int) int {
	for {
		at := bytes.IndexByte(b[i:], '\n')
		if at < 0 {
			return len(b)
		}
		i += at + 1
		for k := i; k < len(b); k++ {
			switch b[k] {
			case ' ', '\t', '\r':
				continue
			case '{', '[':
				return i
			}
			break
		}
	}
}

// top reads a top-level object.
func (t *jsonText) top() bool {
	start := t.offset()
	form := -1
	some := false
	t.pos++
	for first := true; t.more('}', first); first = false {
		key := t.key()
		if t.why != "" {
			return false
		}
		some = true
		at := formOf(key)
		if at >= 0 && jsonForms[at].read != nil {
			form = at
			if !jsonForms[at].read(t) {
				return false
			}
			continue
		}
		if at >= 0 && (form < 0 || at < form) {
			form = at
		}
		if !t.skip() {
			return false
		}
	}
	if t.why != "" {
		return false
	}
	switch {
	case !some:
	case form < 0:
		t.odd(start, "JSON without resourceSpans")
		t.unreadable(start, t.offset()-start, "JSON without resourceSpans")
	case jsonForms[form].read == nil:
		t.odd(start, jsonForms[form].name)
		t.unreadable(start, t.offset()-start, jsonForms[form].name)
	}
	return true
}

func formOf(key []byte) int {
	for i := range jsonForms {
		if jsonForms[i].key == string(key) {
			return i
		}
	}
	return -1
}

// other skips a signal that is no trace. An empty list of it is nothing.
func (t *jsonText) other() bool {
	at := t.offset()
	if t.peek() == '[' {
		probe := t.jsonScanner
		probe.pos++
		if probe.peek() != ']' {
			t.otherSignal(at)
		}
	}
	return t.skip()
}
