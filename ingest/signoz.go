package ingest

import "bytes"

// signozRow reads a row of SigNoz's tables signoz_index_v3 and signoz_index_v2, local or
// distributed, and a span as the column model of signoz_spans has it. ClickHouse gives them
// in the formats of clickhouseRow: the start in the zone of the server, which is taken to be
// UTC, the duration in nanoseconds, attributes in a map for each type, events and references
// as JSON in strings. None has scopes, the second no references.
//
// Without the column of the parent, each span would be a root: such a row is none of this
// form. Nor are spans of SigNoz's API, whose starts are cut to milliseconds.
//
// Reference: signoz.io/docs, "Traces Schema"; SigNoz's collector,
// exporter/clickhousetracesexporter.
func (t *jsonText) signozRow(o *object) { t.alone(o.start, (*jsonText).signozFields) }

func (t *jsonText) signozFields(r *record) {
	c := clock{}
	references := 0
	t.object(func(key []byte) {
		switch string(key) {
		case "timestamp":
			c.start = t.instant()
		case "startTimeUnixNano":
			c.start = t.nanosOrInstant()
		case "duration_nano", "durationNano":
			c.duration, c.lasts = t.nanos()
		case "trace_id", "traceID", "traceId":
			t.id(r.trace[:])
		case "span_id", "spanID", "spanId":
			t.id(r.span.ID[:])
		case "parent_span_id", "parentSpanID":
			t.parent(r.span.ParentID[:], t.idText())
		case "trace_state":
			r.span.TraceState = t.cache.get(t.text())
		case "name":
			r.span.Name = t.cache.get(t.text())
		case "kind":
			r.span.Kind = kindOf(t.word())
		case "status_code", "statusCode":
			r.span.Status = statusOf(t.word())
		case "status_message", "statusMessage":
			r.span.StatusText = t.cache.get(t.text())
		case "serviceName", "resource_string_service$$name":
			t.serviceName(t.text())
		case "resources_string", "resourceTagsMap", "resource":
			t.flatAttributes(true)
		case "attributes_string", "attributes_number", "attributes_bool", "tagMap", "stringTagMap", "numberTagMap", "boolTagMap":
			t.flatAttributes(false)
		case "events", "event":
			if t.events == nil {
				t.skip()
			} else {
				t.list(func() { t.within(func() { t.eventsOf(&signozEvent) }) })
			}
		case "links", "references":
			references = t.skipTo()
		default: // among these columns for single attributes, which are in the maps as well
			t.skip()
		}
	})
	t.readAt(references, func() { t.within(func() { t.list(func() { t.signozReference(r) }) }) })
	start, end := c.times()
	t.finish(r, start, end)
}

var signozEvent = eventForm{"name", "timeUnixNano", "attributeMap", nanosOrInstant, func(t *jsonText) { t.nativeAttributes(false) }}

// signozReference reads a reference: to the parent, or a link.
func (t *jsonText) signozReference(r *record) {
	var l Link
	parent := false
	t.object(func(key []byte) {
		switch string(key) {
		case "traceId":
			t.id(l.TraceID[:])
		case "spanId":
			t.id(l.SpanID[:])
		case "refType":
			parent = string(t.text()) == "CHILD_OF"
		default:
			t.skip()
		}
	})
	switch {
	case t.why != "":
	case parent && l.TraceID == r.trace && (r.span.ParentID == SpanID{} || r.span.ParentID == l.SpanID):
		r.span.ParentID = l.SpanID
	case t.links:
		t.putLink(l)
	}
}

// within reads the JSON in the string that comes next, which is a list or an element of
// one. What is no string is read as it stands.
func (t *jsonText) within(read func()) {
	if t.peek() != '"' {
		read()
		return
	}
	at, text := t.offset(), bytes.Clone(t.text())
	if t.why != "" || len(text) == 0 {
		return
	}
	if text[0] != '[' {
		text = append(append([]byte("["), text...), ']')
	}
	if why := t.inText(text, at, read); why != "" {
		t.fail(why)
	}
}
