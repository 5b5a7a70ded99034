package ingest

import "bytes"

// signozRow reads a row of SigNoz's tables signoz_index_v3 and signoz_index_v2, local or
// distributed, as ClickHouse gives it in the formats of clickhouseRow: the start in the
// zone of the server, which is taken to be UTC, the duration in nanoseconds, attributes in
// a map for each type, events and links as JSON in strings. Neither has scopes, the second
// no links.
//
// Without the column of the parent, each span would be a root: such a row is none of this
// form. Nor are spans of SigNoz's API, whose starts are cut to milliseconds.
//
// Reference: signoz.io/docs, "Traces Schema"; SigNoz's collector,
// exporter/clickhousetracesexporter.
func (t *jsonText) signozRow(o *object) { t.alone(o.start, (*jsonText).signozFields) }

func (t *jsonText) signozFields(r *record) {
	c := clock{}
	links := 0
	t.object(func(key []byte) {
		switch string(key) {
		case "timestamp":
			c.start = t.instant()
		case "duration_nano", "durationNano":
			c.duration, c.lasts = t.nanos()
		case "trace_id", "traceID":
			t.id(r.trace[:])
		case "span_id", "spanID":
			t.id(r.span.ID[:])
		case "parent_span_id", "parentSpanID":
			t.parent(r.span.ParentID[:], t.text())
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
		case "attributes_string", "attributes_number", "attributes_bool", "stringTagMap", "numberTagMap", "boolTagMap":
			t.flatAttributes(false)
		case "events":
			if t.events == nil {
				t.skip()
			} else {
				t.list(func() { t.within(func() { t.eventsOf(&signozEvent) }) })
			}
		case "links", "references":
			links = t.skipTo()
		default: // among these columns for single attributes, which are in the maps as well
			t.skip()
		}
	})
	t.readAt(links, func() { t.within(func() { t.list(func() { t.signozLink(r) }) }) })
	start, end := c.times()
	t.finish(r, start, end)
}

var signozEvent = eventForm{"name", "timeUnixNano", "attributeMap", nanosOrInstant, func(t *jsonText) { t.nativeAttributes(false) }}

// signozLink reads a link. The first is to the parent.
func (t *jsonText) signozLink(r *record) {
	from := len(t.linked)
	t.linkOf()
	if n := len(t.linked); n > from && t.linked[from] == (Link{r.trace, r.span.ParentID}) {
		t.linked = t.linked[:from]
	}
}

// within reads the JSON in the string that comes next, which is a list or an element of
// one.
func (t *jsonText) within(read func()) {
	at, text := t.offset(), bytes.Clone(t.text())
	if t.why != "" || len(text) == 0 {
		return
	}
	if text[0] != '[' {
		text = append(append([]byte("["), text...), ']')
	}
	scanner, base := t.jsonScanner, t.base
	t.jsonScanner, t.base = jsonScanner{buf: text}, at
	read()
	why := t.why
	t.jsonScanner, t.base = scanner, base
	if why != "" {
		t.fail(why)
	}
}
