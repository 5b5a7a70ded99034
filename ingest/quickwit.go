package ingest

// quickwitRow reads a document of Quickwit's index otel-traces: times in
// nanoseconds, ids in hexadecimal or, in old indexes, base64.
func (t *jsonText) quickwitRow(o *object) { t.alone(o.start, (*jsonText).quickwitFields) }

func (t *jsonText) quickwitFields(r *record) {
	c := clock{}
	t.object(func(key []byte) {
		switch string(key) {
		case "trace_id":
			t.id(r.trace[:])
		case "span_id":
			t.id(r.span.ID[:])
		case "parent_span_id":
			t.parent(r.span.ParentID[:], t.idText())
		case "trace_state":
			r.span.TraceState = t.cache.get(t.text())
		case "service_name":
			t.serviceName(t.text())
		case "resource_attributes":
			t.nativeAttributes(true)
		case "scope_name":
			r.span.Scope = t.cache.get(t.text())
		case "span_name":
			r.span.Name = t.cache.get(t.text())
		case "span_kind":
			r.span.Kind = kindOf(t.word())
		case "span_start_timestamp_nanos":
			c.start, _ = t.nanos()
		case "span_end_timestamp_nanos":
			c.end, _ = t.nanos()
		case "span_attributes":
			t.nativeAttributes(false)
		case "span_status":
			t.object(func(key []byte) {
				switch string(key) {
				case "code":
					r.span.Status = statusOf(t.word())
				case "message":
					r.span.StatusText = t.cache.get(t.text())
				default:
					t.skip()
				}
			})
		case "events":
			t.eventsOf(&quickwitEvent)
		case "links":
			t.list(t.linkOf)
		default: // among these span_duration_millis and event_names
			t.skip()
		}
	})
	start, end := c.times()
	t.finish(r, start, end)
}

var quickwitEvent = eventForm{"event_name", "event_timestamp_nanos", "event_attributes",
	func(text []byte) (int64, bool) { return scaled(text, 0) },
	func(t *jsonText) { t.nativeAttributes(false) }}
