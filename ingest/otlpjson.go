package ingest

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"
)

// traces reads the array of ResourceSpans. One that cannot be read to its end
// costs what is left of it, as long as its brackets are whole.
func (t *jsonText) traces() bool {
	if !t.openArray() {
		return t.why == ""
	}
	for first := true; t.more(']', first); first = false {
		t.peek()
		start := t.pos
		if !t.resourceSpans() && !t.leave(start) {
			return false
		}
	}
	return t.why == ""
}

// openArray consumes the bracket of an array and returns true. A value that is none is
// left, and costs itself.
func (t *jsonText) openArray() bool {
	t.peek()
	start := t.pos
	if t.open('[') {
		return true
	}
	if t.why != "" {
		t.leave(start)
	}
	return false
}

// leave goes on behind the value that begins at start, in which reading failed, and
// notes what was not read of it. It returns false where the value has no end.
func (t *jsonText) leave(start int) bool {
	if t.why == endOfInput {
		return false
	}
	failed, why := t.pos, t.why
	t.pos, t.why = start, ""
	if !t.skip() {
		t.pos, t.why = failed, why
		return false
	}
	t.unreadable(t.offsetOf(failed), int64(max(t.pos-failed, 0)), why)
	t.saved = t.pos
	return true
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
		case "spans": // of programs that leave out the scope
			t.spans()
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
	t.complete()
	return t.why == ""
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
	if !t.openArray() {
		return 0
	}
	for first := true; t.more(']', first); first = false {
		t.peek()
		if start := t.pos; t.open('{') {
			t.scopeSpans()
			n++
		} else if t.why != "" {
			t.leave(start)
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
			t.spans()
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

func (t *jsonText) spans() {
	if t.openArray() {
		for first := true; t.more(']', first); first = false {
			t.spanObject()
		}
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
		if t.why != "" {
			t.leave(start)
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
		if t.usualFields(r, &start, &end) {
			continue
		}
		switch string(t.key()) {
		case "traceId", "trace_id":
			t.id(r.trace[:])
		case "spanId", "span_id":
			t.id(r.span.ID[:])
		case "parentSpanId", "parent_span_id":
			t.parent(r.span.ParentID[:], t.idText())
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
		case "events":
			t.eventArray()
		case "links":
			t.linkArray()
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

// id reads an id, which may be a label. A malformed one is as good as none, and noted.
func (t *jsonText) id(dst []byte) {
	at := t.pos
	t.anyID(dst, at, t.idText())
}

func (t *jsonText) anyID(dst []byte, at int, text []byte) {
	if t.why == "" && !t.idOrLabel(dst, text, t.offsetOf(at)) {
		clear(dst)
		t.badID(t.offsetOf(at), string(text))
	}
}

// idText consumes a string or what stands for one, and returns its text, which holds until
// the next call: a list of bytes, as Rust writes them without more ado; what JSON.stringify
// makes of bytes, {"type":"Buffer","data":[…]} of a Buffer and {"0":…,"1":…} of an Uint8Array;
// an integer, which is the id as Thrift and Python hold it. Those become hexadecimal.
func (t *jsonText) idText() []byte {
	switch c := t.peek(); {
	case c == '{':
		t.idObject()
	case c == '[' && !bytes.HasPrefix(bytes.TrimLeft(t.buf[t.pos+1:], " \t\r\n"), []byte(`"`)):
		t.str = t.str[:0]
		t.list(t.idByte)
	case c == '-' || '0' <= c && c <= '9':
		t.idInteger()
	default:
		return t.text()
	}
	return t.str
}

func (t *jsonText) idByte() {
	b, negative, ok := parseInteger(t.word())
	if t.why == "" && (!ok || negative || b > math.MaxUint8) {
		t.fail("malformed id")
	}
	t.str = hex.AppendEncode(t.str, []byte{byte(b)})
}

func (t *jsonText) idObject() {
	t.str = t.str[:0]
	t.object(func(key []byte) {
		switch {
		case string(key) == "type":
			t.skip()
		case string(key) == "data" && t.peek() == '[':
			t.list(t.idByte)
		case string(key) == strconv.Itoa(len(t.str)/2):
			t.idByte()
		default:
			t.fail("malformed id")
		}
	})
}

// idInteger makes t.str the hexadecimal digits of an integer, of a negative one those of its
// 64 bits.
func (t *jsonText) idInteger() {
	const most = len("-340282366920938463463374607431768211456") // 2^128: more would take its time
	n, ok := new(big.Int), false
	if text := t.word(); len(text) <= most {
		n, ok = n.SetString(string(text), 10)
	}
	if ok && n.Sign() < 0 {
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), 64))
	}
	if t.why == "" && (!ok || n.Sign() < 0) {
		t.fail("malformed id")
		return
	}
	t.str = fmt.Appendf(t.str[:0], "%016x", n)
}

// eventArray reads the events of the span being decoded.
func (t *jsonText) eventArray() {
	if t.events == nil {
		t.skip()
		return
	}
	t.objects((*jsonText).event)
}

// objects reads an array of objects, each after its bracket.
func (t *jsonText) objects(read func(*jsonText)) {
	if !t.open('[') {
		return
	}
	for first := true; t.more(']', first); first = false {
		if t.open('{') {
			read(t)
		}
	}
}

// event reads an event after its bracket. Only one that is kept is looked at
// again, for its attributes, which may stand before its name. A time that
// cannot be read is as good as none: it is not worth the span.
func (t *jsonText) event() {
	start := t.pos
	name, kept := t.wantEvent(nil)
	at := uint64(0)
	for first := true; t.more('}', first); first = false {
		switch string(t.key()) {
		case "name":
			name, kept = t.wantEvent(t.text())
		case "timeUnixNano", "time_unix_nano":
			at, _ = unixNano(t.word())
		default:
			if t.why == "" {
				t.skip()
			}
		}
	}
	if !kept || t.why != "" {
		return
	}
	from := len(t.held)
	t.pos = start
	for first := true; t.more('}', first); first = false {
		if string(t.key()) == "attributes" {
			t.attributes(false)
		} else {
			t.skip()
		}
	}
	t.putEvent(name, at, from)
}

// linkArray reads the links of the span being decoded.
func (t *jsonText) linkArray() {
	if !t.links {
		t.skip()
		return
	}
	t.objects((*jsonText).link)
}

func (t *jsonText) link() {
	var l Link
	for first := true; t.more('}', first); first = false {
		switch string(t.key()) {
		case "traceId", "trace_id":
			t.id(l.TraceID[:])
		case "spanId", "span_id":
			t.id(l.SpanID[:])
		default:
			if t.why == "" {
				t.skip()
			}
		}
	}
	t.putLink(l)
}

// time reads Unix nanoseconds.
func (t *jsonText) time() uint64 {
	v, ok := unixNano(t.word())
	if !ok {
		t.fail("malformed time")
	}
	return v
}

// unixNano reads Unix nanoseconds. No text and a negative number are as good
// as none. Some exporters write RFC 3339 in its place.
func unixNano(text []byte) (v uint64, ok bool) {
	if len(text) == 0 {
		return 0, true
	}
	v, negative, ok := parseInteger(text)
	if negative {
		return 0, true
	}
	if ok {
		return v, true
	}
	if at, err := time.Parse(time.RFC3339Nano, string(text)); err == nil && at.Year() >= 1970 && at.Year() < 2262 {
		return uint64(at.UnixNano()), true
	}
	if _, err := strconv.ParseFloat(string(text), 64); err == nil {
		return math.MaxUint64, true // a number beyond 64 bits
	}
	return 0, false
}

func (t *jsonText) status(span *Span) {
	if c := t.peek(); c == '"' || c-'0' < 10 { // the code alone, as some write by hand
		span.Status = statusOf(t.word())
		return
	}
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
	text = bytes.TrimPrefix(text, []byte("SPANKIND.")) // of Python
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
	text = bytes.TrimPrefix(text, []byte("STATUSCODE.")) // of Python
	switch string(text) {
	case "OK":
		return OK
	case "ERROR":
		return Error
	}
	return Unset
}
