package ingest

import "bytes"

// plainSpan reads a span of a writer that is not known: a tool with a form of its own, an
// export of a user interface, rows that somebody selected. It is read where its keys leave no
// doubt: an id, a start, and an end or a duration whose name says the unit:
//
//	{"traceId":…,"spanId":…,"parentSpanId":…,"name":…,"startTime":"2026-11-29T23:27:24Z","endTime":…}
//	{"trace_id":…,"span_id":…,"parent_id":…,"service":…,"start_time":"2026-11-29T23:27:24Z","duration_ms":2.5}
//	{"id":…,"traceId":…,"parentObservationId":…,"startTime":…,"endTime":…}    (Langfuse)
//
// Left out are a duration without a unit, and a timestamp: of a line of a log it may be the
// end.
func (t *jsonText) plainSpan(o *object) {
	t.alone(o.start, func(t *jsonText, r *record) { t.plainFields(r, false) })
}

// plainSpanByID reads a span whose own id is called id.
func (t *jsonText) plainSpanByID(o *object) {
	t.alone(o.start, func(t *jsonText, r *record) { t.plainFields(r, true) })
}

var plainEvent = documentEvent("timestamp", instant)

func (t *jsonText) plainFields(r *record, byID bool) {
	c := clock{}
	t.object(func(key []byte) {
		switch string(key) {
		case "traceId", "trace_id":
			t.id(r.trace[:])
		case "spanId", "span_id":
			t.id(r.span.ID[:])
		case "id":
			if byID {
				t.id(r.span.ID[:])
			} else {
				t.skip()
			}
		case "parentSpanId", "parent_span_id", "parentId", "parent_id", "parentObservationId":
			t.parent(r.span.ParentID[:], t.idText())
		case "name", "span_name", "spanName", "operation", "operation_name":
			r.span.Name = t.cache.get(t.text())
		case "kind", "span_kind", "spanKind":
			r.span.Kind = kindOf(t.word())
		case "startTime", "start_time":
			c.start = t.date()
		case "endTime", "end_time": // null while the span is open
			c.end = t.date()
		case "durationMs", "duration_ms":
			c.duration, c.lasts = t.amount(6)
		case "status":
			if t.peek() == '{' {
				t.consoleStatus(&r.span)
			} else {
				t.status(&r.span)
			}
		case "status_code", "statusCode", "level": // Langfuse's level is ERROR where the status is
			if s := statusOf(t.word()); s > r.span.Status { // it may be HTTP's, beside the other
				r.span.Status = s
			}
		case "status_message", "statusMessage":
			r.span.StatusText = t.cache.get(t.text())
		case "service", "service_name", "serviceName":
			if t.peek() == '"' {
				t.serviceName(t.text())
			} else {
				t.skip()
			}
		case "resource":
			if t.peek() == '{' { // it may be a name
				t.documentResource()
			} else {
				t.skip()
			}
		case "attributes", "span_attributes", "spanAttributes":
			t.plainAttributes(false)
		case "resource_attributes", "resourceAttributes":
			t.plainAttributes(true)
		case "events":
			if t.peek() == '[' {
				t.eventsOf(&plainEvent)
			} else {
				t.skip()
			}
		case "links":
			if t.peek() == '[' {
				t.list(t.linkOf)
			} else {
				t.skip()
			}
		case "children":
			t.noChildren()
		default:
			t.flatAttribute(key)
		}
	})
	start, end := c.times()
	t.finish(r, start, end)
}

// plainAttributes reads attributes as documents have them, or the text of such, which columns
// of tables hold.
func (t *jsonText) plainAttributes(resource bool) {
	switch t.peek() {
	case '{', '[':
		t.documentAttributes(resource)
	case '"':
		at := t.offset()
		t.inText(bytes.Clone(t.text()), at, func() {
			if t.peek() == '{' {
				t.documentAttributes(resource)
			}
		})
	default:
		t.skip()
	}
}

// date reads a point in time. A number that is small counts from a start that is not known,
// and nobody knows its unit.
func (t *jsonText) date() int64 {
	text := t.word()
	ns, ok := instant(text)
	if n, small := scaled(text, 0); small && n > 0 && n < 1e8 {
		ok = false
	}
	if !ok {
		t.fail("malformed time")
	}
	return ns
}

// noChildren gives a span up that has others in it.
func (t *jsonText) noChildren() {
	if t.peek() != '[' {
		t.skip()
		return
	}
	t.list(func() {
		if t.peek() == '{' {
			t.fail("spans inside a span: write each as an object of its own")
			return
		}
		t.skip()
	})
}
