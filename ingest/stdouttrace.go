package ingest

// stdouttraceSpan reads a span as Go's stdouttrace exporter writes it, one
// object a span, compact or pretty. The numbers of kinds are those of OTLP.
//
// Before version 1.0 it wrote a list a batch, the parent's id, the status and its
// text as fields of the span, and events under another name.
func (t *jsonText) stdouttraceSpan(o *object) { t.alone(o.start, (*jsonText).stdouttraceFields) }

func (t *jsonText) stdouttraceFields(r *record) {
	c := clock{}
	t.object(func(key []byte) {
		switch string(key) {
		case "Name":
			r.span.Name = t.cache.get(t.text())
		case "SpanContext":
			t.object(func(key []byte) {
				switch string(key) {
				case "TraceID":
					t.id(r.trace[:])
				case "SpanID":
					t.id(r.span.ID[:])
				case "TraceState":
					r.span.TraceState = t.cache.get(t.word())
				default:
					t.skip()
				}
			})
		case "Parent":
			t.only("SpanID", func() { t.parent(r.span.ParentID[:], t.idText()) })
		case "ParentSpanID":
			t.parent(r.span.ParentID[:], t.idText())
		case "SpanKind":
			r.span.Kind = kindOf(t.word())
		case "StartTime":
			c.start = t.instant()
		case "EndTime": // Go's zero time while the span is open
			c.end = t.instant()
		case "Attributes":
			t.goAttributes(false)
		case "Events", "MessageEvents":
			t.eventsOf(&stdouttraceEvent)
		case "Links":
			t.list(func() { t.only("SpanContext", t.linkOf) })
		case "Status":
			if t.peek() != '{' {
				r.span.Status = grpcStatus(t.word())
				return
			}
			t.object(func(key []byte) {
				switch string(key) {
				case "Code":
					r.span.Status = goStatus(t.word())
				case "Description":
					r.span.StatusText = t.cache.get(t.text())
				default:
					t.skip()
				}
			})
		case "StatusCode":
			r.span.Status = grpcStatus(t.word())
		case "StatusMessage":
			r.span.StatusText = t.cache.get(t.text())
		case "Resource":
			t.goAttributes(true)
		case "InstrumentationScope", "InstrumentationLibrary":
			t.only("Name", func() { r.span.Scope = t.cache.get(t.text()) })
		default:
			t.skip()
		}
	})
	start, end := c.times()
	t.finish(r, start, end)
}

var stdouttraceEvent = eventForm{"Name", "Time", "Attributes", instant, func(t *jsonText) { t.goAttributes(false) }}

// goStatus reads a code of Go's package codes: its name, or in old versions
// its number, where 1 is Error and 2 is Ok.
func goStatus(text []byte) Status {
	switch string(text) {
	case "1":
		return Error
	case "2":
		return OK
	}
	return statusOf(text)
}

// grpcStatus reads a status that is a field of the span: the name of a code, or
// before version 0.13 the number of one of gRPC's, all of which but 0 are errors.
func grpcStatus(text []byte) Status {
	if len(text) > 0 && text[0] >= '1' && text[0] <= '9' {
		return Error
	}
	return statusOf(text)
}

// goAttributes reads [{"Key":…,"Value":{"Type":…,"Value":…}}].
func (t *jsonText) goAttributes(resource bool) {
	t.list(func() {
		at := 0
		t.jaeger.key = t.jaeger.key[:0]
		t.object(func(key []byte) {
			switch string(key) {
			case "Key":
				t.jaeger.key = append(t.jaeger.key, t.text()...)
			case "Value":
				t.only("Value", func() { at = t.skipTo() })
			default:
				t.skip()
			}
		})
		t.readAt(at, func() { t.nativeAttribute(t.jaeger.key, resource) })
	})
}
