package ingest

import "bytes"

// pythonSpan reads a span as Python's ConsoleSpanExporter writes it, pretty,
// one object after the other: ids with 0x, kinds as SpanKind.SERVER, times as
// RFC 3339. There is no scope.
func (t *jsonText) pythonSpan(o *object) {
	t.alone(o.start, func(t *jsonText, r *record) { t.consoleFields(r, &pythonEvent) })
}

// consoleFields reads a span of Python or PHP, whose events have the form.
func (t *jsonText) consoleFields(r *record, events *eventForm) {
	c := clock{}
	t.object(func(key []byte) {
		switch string(key) {
		case "name":
			r.span.Name = t.cache.get(t.text())
		case "context":
			t.consoleContext(r)
		case "parent_id", "parent_span_id":
			t.parent(r.span.ParentID[:], t.idText())
		case "kind":
			r.span.Kind = kindOf(bytes.TrimPrefix(t.word(), []byte("KIND_")))
		case "span_kind": // of OpenInference's examples; of Phoenix what an agent did
			r.span.Kind = kindOf(t.word())
		case "start_time": // of MLflow, before version 3, nanoseconds
			c.start = t.instant()
		case "end_time": // null while the span is open
			c.end = t.instant()
		case "start":
			c.start, _ = t.nanos()
		case "end":
			c.end, _ = t.nanos()
		case "status":
			t.consoleStatus(&r.span)
		case "status_code": // of Phoenix, which has the status in the span
			r.span.Status = statusOf(t.word())
		case "status_message":
			r.span.StatusText = t.cache.get(t.text())
		case "attributes":
			t.consoleAttributes()
		case "events":
			t.eventsOf(events)
		case "links":
			t.list(t.consoleLink)
		case "resource":
			t.consoleResource()
		default:
			t.skip()
		}
	})
	start, end := c.times()
	t.finish(r, start, end)
}

var pythonEvent = eventForm{"name", "timestamp", "attributes", instant, (*jsonText).consoleAttributes}

// consoleContext reads the ids of a span.
func (t *jsonText) consoleContext(r *record) {
	t.object(func(key []byte) {
		switch string(key) {
		case "trace_id":
			t.id(r.trace[:])
		case "span_id":
			t.id(r.span.ID[:])
		case "trace_state": // of Python the text of a dictionary or a list: [] and {} are empty
			if text := t.word(); len(text) > 2 {
				r.span.TraceState = t.cache.get(text)
			}
		default:
			t.skip()
		}
	})
}

func (t *jsonText) consoleStatus(span *Span) {
	t.object(func(key []byte) {
		switch string(key) {
		case "status_code", "code": // Python's, PHP's
			span.Status = statusOf(t.word())
		case "description", "message":
			span.StatusText = t.cache.get(t.text())
		default:
			t.skip()
		}
	})
}

// consoleLink reads {"context":{…},"attributes":{…}}.
func (t *jsonText) consoleLink() { t.only("context", t.linkOf) }

// consoleResource reads {"attributes":{…},"schema_url":""}, or of PHP and old
// versions of Python the attributes alone.
func (t *jsonText) consoleResource() {
	if t.noAttributes() {
		return
	}
	t.object(func(key []byte) {
		switch {
		case string(key) == "attributes" && t.peek() == '{':
			t.nativeAttributes(true)
		case string(key) == "schema_url":
			t.skip()
		default:
			t.nativeAttribute(key, true)
		}
	})
}

func (t *jsonText) consoleAttributes() {
	if !t.noAttributes() {
		t.nativeAttributes(false)
	}
}

// noAttributes skips the empty list that PHP makes of an empty object, and reports
// whether it did.
func (t *jsonText) noAttributes() bool { return t.peek() == '[' && t.skip() }
