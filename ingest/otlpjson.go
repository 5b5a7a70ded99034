package ingest

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"
	"time"
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

// traces reads the array of ResourceSpans.
func (t *jsonText) traces() bool {
	if !t.open('[') {
		return t.why == ""
	}
	for first := true; t.more(']', first); first = false {
		if !t.resourceSpans() {
			return false
		}
	}
	return t.why == ""
}

// resourceSpans reads one ResourceSpans. The resource may come after the
// spans. Where the text breaks off before it came, nobody knows whose spans
// they are, and they are given up.
//
// Scopes under the old names are read only if there are none under the new
// one: collectors wrote both for a while, with equal content.
func (t *jsonText) resourceSpans() bool {
	if !t.open('{') {
		return t.why == ""
	}
	from, start := len(t.records), t.pos
	t.owner.reset()
	t.deferred = t.deferred[:0]
	owned, scopes := false, 0
	for first := true; t.more('}', first); first = false {
		switch string(t.key()) {
		case "resource":
			if t.resourceObject() {
				owned = true
			}
		case "scopeSpans", "scope_spans":
			scopes += t.scopes()
		case "instrumentationLibrarySpans", "instrumentation_library_spans", "deprecatedScopeSpans", "deprecated_scope_spans":
			t.peek()
			t.deferred = append(t.deferred, t.pos)
			t.skip()
		default:
			if t.why == "" {
				t.skip()
			}
		}
	}
	if scopes == 0 && t.why == "" {
		end := t.pos
		for _, at := range t.deferred {
			t.pos = at
			t.scopes()
		}
		t.pos = end
	}
	if t.why != "" && !owned {
		t.forget(from)
		t.saved = min(t.saved, start)
		return false
	}
	resource := t.resource()
	for i := from; i < len(t.records); i++ {
		t.records[i].span.Resource = resource
	}
	t.found[t.index].spans += int64(len(t.records) - from)
	return t.why == ""
}

// forget gives up the records from the index on.
func (s *sink) forget(from int) {
	clear(s.records[from:])
	s.records = s.records[:from]
}

func (t *jsonText) resourceObject() bool {
	if !t.open('{') {
		return t.why == ""
	}
	for first := true; t.more('}', first); first = false {
		switch string(t.key()) {
		case "attributes":
			t.attributes(true)
		default:
			if t.why == "" {
				t.skip()
			}
		}
	}
	return t.why == ""
}

// scopes reads an array of ScopeSpans and returns how many there were.
func (t *jsonText) scopes() (n int) {
	if !t.open('[') {
		return 0
	}
	for first := true; t.more(']', first); first = false {
		if t.open('{') {
			t.scopeSpans()
			n++
		}
	}
	return n
}

func (t *jsonText) scopeSpans() {
	from := len(t.records)
	scope := ""
	for first := true; t.more('}', first); first = false {
		switch string(t.key()) {
		case "scope", "instrumentationLibrary", "instrumentation_library":
			scope = t.scope(scope)
		case "spans":
			if t.open('[') {
				for first := true; t.more(']', first); first = false {
					t.spanObject()
				}
			}
		default:
			if t.why == "" {
				t.skip()
			}
		}
	}
	for i := from; i < len(t.records); i++ {
		t.records[i].span.Scope = scope
	}
}

func (t *jsonText) scope(name string) string {
	if !t.open('{') {
		return name
	}
	for first := true; t.more('}', first); first = false {
		switch string(t.key()) {
		case "name":
			name = t.cache.get(t.text())
		default:
			if t.why == "" {
				t.skip()
			}
		}
	}
	return name
}

// spanObject reads one span. One that cannot be read costs itself only, as
// long as its brackets are whole. A null is no span.
func (t *jsonText) spanObject() {
	t.peek()
	start := t.pos
	if !t.open('{') {
		if t.why != "" && t.why != endOfInput {
			t.badSpan(start)
		}
		return
	}
	r := t.start(t.base + int64(start))
	if t.fields(r) {
		t.saved = t.pos
		return
	}
	t.drop()
	if t.why != endOfInput {
		t.badSpan(start)
	}
}

func (t *jsonText) badSpan(start int) {
	why := t.why
	t.pos, t.why = start, ""
	if t.skip() {
		t.unreadable(t.offsetOf(start), int64(t.pos-start), why)
		t.saved = t.pos
	}
}

func (t *jsonText) fields(r *record) bool {
	var start, end uint64
	for first := true; t.more('}', first); first = false {
		switch string(t.key()) {
		case "traceId", "trace_id":
			t.id(r.trace[:], "trace id")
		case "spanId", "span_id":
			t.id(r.span.ID[:], "span id")
		case "parentSpanId", "parent_span_id":
			t.id(r.span.ParentID[:], "parent span id")
		case "traceState", "trace_state":
			r.span.TraceState = t.cache.get(t.text())
		case "name":
			r.span.Name = t.cache.get(t.text())
		case "kind":
			r.span.Kind = kindOf(t.word())
		case "startTimeUnixNano", "start_time_unix_nano":
			start = t.time()
		case "endTimeUnixNano", "end_time_unix_nano":
			end = t.time()
		case "attributes":
			t.attributes(false)
		case "status":
			t.status(&r.span)
		default:
			if t.why == "" {
				t.skip()
			}
		}
	}
	if t.why != "" {
		return false
	}
	t.finish(r, start, end)
	return true
}

func (t *jsonText) id(dst []byte, what string) {
	if text := t.text(); t.why == "" && !parseID(dst, text) {
		t.fail("malformed " + what)
	}
}

// time reads Unix nanoseconds. A negative number is as good as none. Some
// exporters write RFC 3339 in its place.
func (t *jsonText) time() uint64 {
	text := t.word()
	if len(text) == 0 {
		return 0
	}
	v, negative, ok := parseInteger(text)
	if negative {
		return 0
	}
	if ok {
		return v
	}
	if at, err := time.Parse(time.RFC3339Nano, string(text)); err == nil && at.Year() >= 1970 && at.Year() < 2262 {
		return uint64(at.UnixNano())
	}
	if _, err := strconv.ParseFloat(string(text), 64); err == nil {
		return math.MaxUint64 // a number beyond 64 bits
	}
	t.fail("malformed time")
	return 0
}

func (t *jsonText) status(span *Span) {
	if !t.open('{') {
		return
	}
	for first := true; t.more('}', first); first = false {
		switch string(t.key()) {
		case "code":
			span.Status = statusOf(t.word())
		case "message":
			span.StatusText = t.cache.get(t.text())
		default:
			if t.why == "" {
				t.skip()
			}
		}
	}
}

// kindOf reads a span kind: its number, or its name with or without
// SPAN_KIND_ in front. What is neither is Unspecified.
func kindOf(text []byte) Kind {
	if len(text) == 1 && text[0] >= '0' && text[0] <= '5' {
		return Kind(text[0] - '0')
	}
	switch string(text) { // the names of the specification, without a copy
	case "SPAN_KIND_INTERNAL":
		return Internal
	case "SPAN_KIND_SERVER":
		return Server
	case "SPAN_KIND_CLIENT":
		return Client
	}
	if v, negative, ok := parseInteger(text); ok {
		if negative || v > uint64(Consumer) {
			return Unspecified
		}
		return Kind(v)
	}
	text = bytes.TrimPrefix(bytes.ToUpper(text), []byte("SPAN_KIND_"))
	switch string(text) {
	case "INTERNAL":
		return Internal
	case "SERVER":
		return Server
	case "CLIENT":
		return Client
	case "PRODUCER":
		return Producer
	case "CONSUMER":
		return Consumer
	}
	return Unspecified
}

func statusOf(text []byte) Status {
	if v, negative, ok := parseInteger(text); ok {
		if negative || v > uint64(Error) {
			return Unset
		}
		return Status(v)
	}
	text = bytes.TrimPrefix(bytes.ToUpper(text), []byte("STATUS_CODE_"))
	switch string(text) {
	case "OK":
		return OK
	case "ERROR":
		return Error
	}
	return Unset
}

// attributes reads an array of KeyValue, or the plain object that some
// writers put in its place.
func (t *jsonText) attributes(resource bool) {
	if t.peek() == '{' {
		t.pos++
		for first := true; t.more('}', first); first = false {
			name, kept := t.want(t.key(), resource)
			if t.why == "" {
				t.keep1(name, kept, resource)
			}
		}
		return
	}
	if !t.open('[') {
		return
	}
	for first := true; t.more(']', first); first = false {
		if t.open('{') {
			t.keyValue(resource)
		}
	}
}

// want answers whether the value of the key is to be read.
func (s *sink) want(key []byte, resource bool) (string, bool) {
	name, kept := s.keep.match(key, s.cache)
	if resource && !kept && string(key) == serviceKey {
		return serviceKey, true
	}
	return name, kept
}

// put stores s.value as the value of an attribute.
func (s *sink) put(name string, resource bool) {
	text := s.cache.get(s.value)
	if !resource {
		s.span = append(s.span, Attr{name, text})
		return
	}
	if name == serviceKey {
		s.owner.service = text
		if _, kept := s.keep.match([]byte(serviceKey), s.cache); !kept {
			return
		}
	}
	s.owner.attrs = append(s.owner.attrs, Attr{name, text})
}

// keep1 reads or skips the value of an attribute.
func (t *jsonText) keep1(name string, kept, resource bool) {
	if !kept {
		t.skip()
		return
	}
	t.value = t.value[:0]
	t.anyValue(0, plain, 0)
	if t.why == "" {
		t.put(name, resource)
	}
}

// keyValue reads a KeyValue after its bracket. The key nearly always comes
// first; where it does not, the object is read twice.
func (t *jsonText) keyValue(resource bool) {
	start := t.pos
	if t.usualPair(resource) {
		return
	}
	t.pos = start
	name, kept := "", false
	named, again := false, false
	t.value = t.value[:0]
	for first := true; t.more('}', first); first = false {
		switch string(t.key()) {
		case "key":
			name, kept = t.want(t.text(), resource)
			again = again || named
			named = true
		case "value":
			if kept {
				t.anyValue(0, plain, 0)
			} else {
				again = again || !named
				t.skip()
			}
		default:
			if t.why == "" {
				t.skip()
			}
		}
	}
	if t.why != "" {
		return
	}
	if !named {
		name, kept = t.want(nil, resource)
	}
	if !kept {
		return
	}
	if again || !named {
		t.value = t.value[:0]
		t.rereadValue(start, plain, 0)
	}
	t.put(name, resource)
}

// usualPair reads a KeyValue as the JSON marshaller of the collector and of the
// SDKs writes it: no white space, key first, one member, a scalar. It reports
// false for any other, which is then read from the start.
func (t *jsonText) usualPair(resource bool) bool {
	const head, middle = `"key":"`, `,"value":{"`
	b, at := t.buf, t.pos
	if len(b)-at < len(head) || string(b[at:at+len(head)]) != head {
		return false
	}
	at += len(head)
	end := plainText(b, at)
	if len(b)-end < 1+len(middle)+16 || b[end] != '"' || string(b[end+1:end+1+len(middle)]) != middle {
		return false
	}
	key := b[at:end]
	at = end + 1 + len(middle)
	// The names of members differ in their first letter.
	first := b[at]
	switch {
	case first == 's' && string(b[at:at+13]) == `stringValue":`:
		at += 13
	case first == 'i' && string(b[at:at+10]) == `intValue":`:
		at += 10
	case first == 'b' && string(b[at:at+11]) == `boolValue":`:
		at += 11
	case first == 'd' && string(b[at:at+13]) == `doubleValue":`:
		at += 13
	default:
		return false
	}
	var value []byte
	quoted := b[at] == '"'
	if quoted {
		at++
		end = plainText(b, at)
		if end >= len(b) || b[end] != '"' {
			return false
		}
		value, at = b[at:end], end+1
	} else {
		end = at
		for end < len(b) && b[end] != '}' && b[end] > ' ' && b[end] != ',' && b[end] != '"' {
			end++
		}
		value, at = b[at:end], end
	}
	if len(b)-at < 2 || b[at] != '}' || b[at+1] != '}' {
		return false
	}
	if !quoted && (first == 's' || len(value) == 0 || value[0] == 'n' || value[0] == '{' || value[0] == '[') {
		return false
	}
	name, kept := t.want(key, resource)
	if kept {
		t.value = t.value[:0]
		switch first {
		case 's':
			t.value = append(t.value, value...)
		case 'i':
			t.integer(value, plain)
		case 'b':
			t.boolean(value, plain)
		case 'd':
			t.double(value, plain)
		}
		t.put(name, resource)
	}
	t.pos = at + 2
	return true
}

// rereadValue appends the value of the KeyValue at start, now that its key is
// known.
func (t *jsonText) rereadValue(start int, s style, depth int) {
	t.pos = start
	from := len(t.value)
	for first := true; t.more('}', first); first = false {
		if string(t.key()) == "value" {
			t.anyValue(from, s, depth)
		} else {
			t.skip()
		}
	}
	if len(t.value) == from {
		t.value = appendUnset(t.value, s)
	}
}

// anyValue writes the text of an AnyValue to t.value from the index on, or
// leaves that alone if the value says nothing. Of several members the last
// wins, as in protobuf. A bare scalar is taken as it stands.
func (t *jsonText) anyValue(from int, s style, depth int) {
	switch t.peek() {
	case '{':
	case '[':
		t.skip()
		return
	default:
		if text := t.word(); len(text) > 0 {
			t.value = appendText(t.value[:from], text, s)
		}
		return
	}
	if depth >= maxValueDepth {
		t.skip()
		return
	}
	t.pos++
	for first := true; t.more('}', first); first = false {
		kind := string(t.key()) // does not escape: no allocation
		switch kind {
		case "stringValue", "string_value", "intValue", "int_value", "doubleValue", "double_value",
			"boolValue", "bool_value", "bytesValue", "bytes_value", "arrayValue", "array_value",
			"kvlistValue", "kvlist_value", "stringValueStrindex", "string_value_strindex":
			t.value = t.value[:from]
		}
		switch kind {
		case "stringValue", "string_value":
			t.value = appendText(t.value, t.text(), s)
		case "intValue", "int_value":
			t.integer(t.word(), s)
		case "doubleValue", "double_value":
			t.double(t.word(), s)
		case "boolValue", "bool_value":
			t.boolean(t.word(), s)
		case "bytesValue", "bytes_value":
			t.bytes(s)
		case "arrayValue", "array_value":
			t.array(s, depth+1)
		case "kvlistValue", "kvlist_value":
			t.kvlist(depth + 1)
		default:
			// Among these stringValueStrindex, an index into the dictionary of
			// the profiles signal: no text.
			if t.why == "" {
				t.skip()
			}
		}
	}
}

// nested appends a value inside an array or a map.
func (t *jsonText) nested(s style, depth int) {
	from := len(t.value)
	t.anyValue(from, s, depth)
	if len(t.value) == from {
		t.value = appendUnset(t.value, s)
	}
}

func (t *jsonText) integer(text []byte, s style) {
	v, negative, ok := parseInteger(text)
	switch {
	case len(text) == 0:
		t.value = appendUnset(t.value, s)
	case ok && !negative && v <= math.MaxInt64:
		t.value = appendInt(t.value, int64(v))
	case ok && negative && v <= 1<<63:
		t.value = appendInt(t.value, -int64(v))
	default:
		t.value = appendText(t.value, text, s)
	}
}

func (t *jsonText) double(text []byte, s style) {
	if len(text) == 0 {
		t.value = appendUnset(t.value, s)
		return
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		t.value = appendText(t.value, text, s)
		return
	}
	t.value = appendDouble(t.value, v, s)
}

func (t *jsonText) boolean(text []byte, s style) {
	switch string(text) {
	case "":
		t.value = appendUnset(t.value, s)
	case "true", "false":
		t.value = append(t.value, text...)
	default:
		t.value = appendText(t.value, text, s)
	}
}

func (t *jsonText) bytes(s style) {
	text := t.text()
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		t.value = appendText(t.value, text, s)
		return
	}
	t.value = appendBytes(t.value, raw, s)
}

func (t *jsonText) array(s style, depth int) {
	t.value = appendOpen(t.value, s)
	n := 0
	t.values(func() {
		if n > 0 {
			t.value = append(t.value, ',')
		}
		n++
		t.nested(s.inside(), depth)
	})
	t.value = appendClose(t.value, s)
}

func (t *jsonText) kvlist(depth int) {
	t.value = append(t.value, '{')
	n := 0
	t.values(func() {
		if n > 0 {
			t.value = append(t.value, ',')
		}
		n++
		t.entry(depth)
	})
	t.value = append(t.value, '}')
}

// values calls read at each element of the "values" of an ArrayValue or
// KeyValueList.
func (t *jsonText) values(read func()) {
	if !t.open('{') {
		return
	}
	for first := true; t.more('}', first); first = false {
		if string(t.key()) != "values" {
			if t.why == "" {
				t.skip()
			}
			continue
		}
		if t.open('[') {
			for first := true; t.more(']', first); first = false {
				read()
			}
		}
	}
}

// entry appends one entry of a map: its key, quoted, and its value. It reads
// the entry twice, since the key may come last.
func (t *jsonText) entry(depth int) {
	if !t.open('{') {
		t.value = append(t.value, `"":null`...)
		return
	}
	start, from := t.pos, len(t.value)
	t.value = append(t.value, `"":`...)
	for first := true; t.more('}', first); first = false {
		if string(t.key()) == "key" {
			t.value = append(appendQuoted(t.value[:from], valid(t.text())), ':')
		} else if t.why == "" {
			t.skip()
		}
	}
	if t.why == "" {
		t.rereadValue(start, asJSON, depth)
	}
}
