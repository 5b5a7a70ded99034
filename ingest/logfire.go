package ingest

// logfireRow reads a row of Logfire's table records, as its API answers them: start and end in
// UTC, attributes and those of the resource as objects, or as their text. The kind is
// Logfire's (span, log, pending_span); for that of OpenTelemetry there is no column, so that
// a span is of no kind. Of its events there is the first exception, without its time.
//
// Logs are rows as well, whose duration is null, and so are spans that had not ended when
// they were first sent, which come again.
//
// References: pydantic/logfire, docs/reference/sql.md and logfire/experimental/query_client.py.
func (t *jsonText) logfireRow(o *object) {
	kind := ""
	t.readAt(o.member("kind"), func() { kind = string(t.word()) })
	log := false
	t.readAt(o.member("duration"), func() { log = t.peek() == 'n' })
	switch kind {
	case "log", "event", "span_event", "pending_span":
		log = true
	}
	if log {
		if !o.cut {
			t.otherSignal(t.offsetOf(o.start))
		}
		return
	}
	t.alone(o.start, (*jsonText).logfireFields)
}

func (t *jsonText) logfireFields(r *record) {
	c := clock{}
	exceptionType, exceptionMessage := 0, 0
	t.object(func(key []byte) {
		switch string(key) {
		case "start_timestamp":
			c.start = t.instant()
		case "end_timestamp":
			c.end = t.instant()
		case "trace_id":
			t.id(r.trace[:])
		case "span_id":
			t.id(r.span.ID[:])
		case "parent_span_id":
			t.parent(r.span.ParentID[:], t.text())
		case "span_name":
			r.span.Name = t.cache.get(t.text())
		case "otel_status_code":
			r.span.Status = statusOf(t.word())
		case "otel_status_message":
			r.span.StatusText = t.cache.get(t.text())
		case "otel_scope_name":
			r.span.Scope = t.cache.get(t.text())
		case "service_name":
			t.serviceName(t.text())
		case "otel_resource_attributes":
			t.attributesWithin(true)
		case "attributes":
			t.attributesWithin(false)
		case "exception_type":
			exceptionType = t.skipTo()
		case "exception_message":
			exceptionMessage = t.skipTo()
		default: // among these columns for single attributes, which are in the objects as well
			t.skip()
		}
	})
	t.readAt(exceptionType, func() {
		if name, kept := t.wantEvent([]byte("exception")); kept && t.peek() == '"' {
			from := len(t.held)
			t.nativeAttribute([]byte("exception.type"), false)
			t.readAt(exceptionMessage, func() { t.columnAttribute([]byte("exception.message"), false) })
			t.putEvent(name, 0, from)
		}
	})
	start, end := c.times()
	t.finish(r, start, end)
}

// attributesWithin is nativeAttributes for an object that may be in a string.
func (t *jsonText) attributesWithin(resource bool) {
	if t.peek() == '"' {
		t.within(func() { t.list(func() { t.nativeAttributes(resource) }) })
	} else {
		t.nativeAttributes(resource)
	}
}
