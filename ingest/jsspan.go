package ingest

import "bytes"

// jsSpan reads a span of JavaScript's SDK as JSON. Programs that write their own
// telemetry to a file (VS Code's Copilot, Gemini CLI, Qwen Code) have it from
// JSON.stringify, with the private fields of the SDK:
//
//	{"_spanContext":{"traceId":…,"spanId":…},"parentSpanContext":{…},"kind":0,
//	 "startTime":[1795994844,0],"endTime":[1795994844,2000000],"resource":{"_rawAttributes":[["service.name","web"]]},…}
//
// The object that the console exporter shows, which some write as JSON, has the ids in
// the span, timestamp and duration in microseconds. Kinds are one less than OTLP's.
//
// Reference: opentelemetry-js, sdk-trace-base (Span.ts, ConsoleSpanExporter.ts) and
// resources (ResourceImpl.ts), versions 1 and 2.
func (t *jsonText) jsSpan(o *object) { t.alone(o.start, (*jsonText).jsFields) }

func (t *jsonText) jsFields(r *record) {
	c := clock{}
	t.object(func(key []byte) {
		switch string(key) {
		case "_spanContext", "spanContext":
			t.contextOf(r.trace[:], r.span.ID[:])
		case "traceId":
			t.id(r.trace[:])
		case "id":
			t.id(r.span.ID[:])
		case "parentSpanContext", "_parentSpanContext":
			t.only("spanId", func() { t.parent(r.span.ParentID[:], t.idText()) })
		case "parentSpanId", "parentId": // of version 1
			t.parent(r.span.ParentID[:], t.idText())
		case "traceState":
			r.span.TraceState = t.cache.get(t.text())
		case "name":
			r.span.Name = t.cache.get(t.text())
		case "kind":
			r.span.Kind = jsKind(t.word())
		case "startTime":
			c.start = t.hrTime()
		case "endTime": // [0,0] while the span is open
			c.end = t.hrTime()
		case "timestamp":
			c.start, _ = t.micros()
		case "duration":
			if t.peek() == '[' {
				c.duration = t.hrTime()
			} else {
				c.duration, _ = t.micros()
			}
			c.lasts = c.duration >= 0 // [-1,-1] while the span is open
		case "status":
			t.status(&r.span)
		case "attributes":
			t.documentAttributes(false)
		case "events":
			t.eventsOf(&jsEvent)
		case "links":
			t.list(t.consoleLink)
		case "resource":
			t.jsResource()
		case "instrumentationScope", "instrumentationLibrary":
			t.only("name", func() { r.span.Scope = t.cache.get(t.text()) })
		default:
			t.skip()
		}
	})
	start, end := c.times()
	t.finish(r, start, end)
}

var jsEvent = eventForm{"name", "time", "attributes", hrTime, func(t *jsonText) { t.documentAttributes(false) }}

// jsResource reads {"attributes":{…}}, or what JSON.stringify makes of the class.
func (t *jsonText) jsResource() {
	t.object(func(key []byte) {
		switch string(key) {
		case "attributes", "_attributes":
			t.documentAttributes(true)
		case "_rawAttributes":
			t.jsPairs()
		default:
			t.skip()
		}
	})
}

// jsPairs reads [["service.name","web"],…]. Of several pairs with one key the first
// counts, here the last that is read: defaults, such as unknown_service, stand behind
// what replaces them.
func (t *jsonText) jsPairs() {
	var pairs []int
	t.list(func() { pairs = append(pairs, t.skipTo()) })
	for i := len(pairs) - 1; i >= 0; i-- {
		t.readAt(pairs[i], func() {
			at := 0
			t.path = t.path[:0]
			t.list(func() {
				if len(t.path) == 0 {
					t.path = append(t.path, t.word()...)
				} else {
					at = t.skipTo()
				}
			})
			t.readAt(at, func() { t.nativeAttribute(t.path, true) })
		})
	}
}

// jsKind reads a number of JavaScript's API, where 0 is INTERNAL, or a name.
func jsKind(text []byte) Kind {
	if len(text) == 1 && text[0] >= '0' && text[0] <= '4' {
		return Kind(text[0]-'0') + Internal
	}
	return kindOf(text)
}

func (t *jsonText) hrTime() int64 {
	ns, ok := hrTime(t.wordOrList())
	if !ok {
		t.fail("malformed time")
	}
	return ns
}

// hrTime reads [seconds,nanoseconds], or RFC 3339.
func hrTime(text []byte) (ns int64, ok bool) {
	if len(text) == 0 || text[0] != '[' {
		return instant(text)
	}
	seconds, rest, _ := bytes.Cut(bytes.Trim(text, "[] \t\r\n"), []byte(","))
	s, ok := scaled(bytes.TrimSpace(seconds), 9)
	ns, valid := scaled(bytes.TrimSpace(rest), 0)
	return s + ns, ok && valid
}
