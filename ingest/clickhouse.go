package ingest

import "slices"

const useEachRow = ": use FORMAT JSONEachRow"

// clickhouseRow reads a row of the table otel_traces of the collector's
// ClickHouse exporter, in the formats JSONEachRow (with progress or without) and
// JSON; the others are named. Timestamp is in the zone of the server, which is
// taken to be UTC; Duration is in nanoseconds. 64-bit numbers are strings unless
// output_format_json_quote_64bit_integers is off. The Tinybird exporter writes the
// same columns in snake case, with the end beside the duration.
func (t *jsonText) clickhouseRow(o *object) { t.alone(o.start, (*jsonText).clickhouseFields) }

func (t *jsonText) clickhouseFields(r *record) {
	c := clock{}
	var events, links columns
	t.object(func(key []byte) {
		switch string(key) {
		case "Timestamp", "start_time":
			c.start = t.instant()
		case "Duration", "duration":
			c.duration, c.lasts = t.nanos()
		case "end_time":
			c.end = t.instant()
		case "TraceId", "trace_id":
			t.id(r.trace[:])
		case "SpanId", "span_id":
			t.id(r.span.ID[:])
		case "ParentSpanId", "parent_span_id":
			t.parent(r.span.ParentID[:], t.idText())
		case "TraceState", "trace_state":
			r.span.TraceState = t.cache.get(t.text())
		case "SpanName", "span_name":
			r.span.Name = t.cache.get(t.text())
		case "SpanKind", "span_kind":
			r.span.Kind = kindOf(t.word())
		case "ServiceName", "service_name":
			t.serviceName(t.text())
		case "ScopeName", "scope_name":
			r.span.Scope = t.cache.get(t.text())
		case "StatusCode", "status_code":
			r.span.Status = statusOf(t.word())
		case "StatusMessage", "status_message":
			r.span.StatusText = t.cache.get(t.text())
		case "ResourceAttributes", "resource_attributes":
			t.flatAttributes(true)
		case "SpanAttributes", "span_attributes":
			t.flatAttributes(false)
		case "Events.Timestamp", "events_timestamp":
			events[0] = t.skipTo()
		case "Events.Name", "events_name":
			events[1] = t.skipTo()
		case "Events.Attributes", "events_attributes":
			events[2] = t.skipTo()
		case "Events":
			if t.peek() == '{' {
				t.columnsOf(&events, "Timestamp", "Name", "Attributes")
			} else {
				t.eventsOf(&clickhouseEvent)
			}
		case "Links":
			if t.peek() == '{' {
				t.columnsOf(&links, "TraceId", "SpanId")
			} else {
				t.list(t.linkOf)
			}
		case "Links.TraceId", "links_trace_id":
			links[0] = t.skipTo()
		case "Links.SpanId", "links_span_id":
			links[1] = t.skipTo()
		default:
			t.skip()
		}
	})
	t.clickhouseEvents(events)
	t.clickhouseLinks(links)
	start, end := c.times()
	t.finish(r, start, end)
}

// clickhouseEvent is for tables whose nested columns are not flattened, as ClickHouse Cloud
// makes them (flatten_nested): events, and links, are lists of objects.
var clickhouseEvent = eventForm{"Name", "Timestamp", "Attributes", instant, func(t *jsonText) { t.flatAttributes(false) }}

// flatAttributes reads an object whose members are attributes. Where the
// column has the type JSON, a dotted key is an object in an object.
func (t *jsonText) flatAttributes(resource bool) {
	t.path = t.path[:0]
	t.flatten(resource, 0)
}

func (t *jsonText) flatten(resource bool, depth int) {
	t.object(func(key []byte) {
		from := len(t.path)
		t.path = append(t.path, key...)
		if t.peek() == '{' && depth < maxValueDepth {
			t.path = append(t.path, '.')
			t.flatten(resource, depth+1)
		} else {
			t.nativeAttribute(t.path, resource)
		}
		t.path = t.path[:from]
	})
}

// columns are the indexes of arrays of equal length, the fields of what has no
// rows of its own.
type columns [3]int

// columnsOf notes the columns of an object, which tools that write such rows themselves make
// of nested ones.
func (t *jsonText) columnsOf(at *columns, names ...string) {
	t.object(func(key []byte) {
		i := slices.Index(names, string(key))
		if i < 0 {
			t.skip()
			return
		}
		at[i] = t.skipTo()
	})
}

// clickhouseEvents reads the events of a row.
func (t *jsonText) clickhouseEvents(at columns) {
	if t.events == nil {
		return
	}
	var times []int64
	var names []string
	var kept []bool
	t.readAt(at[0], func() {
		t.list(func() {
			ns, _ := instant(t.word())
			times = append(times, ns)
		})
	})
	t.readAt(at[1], func() {
		t.list(func() {
			name, want := t.wantEvent(t.text())
			names, kept = append(names, name), append(kept, want)
		})
	})
	put := func(i, from int) {
		ns := int64(0)
		if i < len(times) {
			ns = max(times[i], 0)
		}
		t.putEvent(names[i], uint64(ns), from)
	}
	read := 0 // of the events, whose attributes are known to be
	t.readAt(at[2], func() {
		t.list(func() {
			i := read
			read++
			if i >= len(names) || !kept[i] {
				t.skip()
				return
			}
			from := len(t.held)
			t.flatAttributes(false)
			put(i, from)
		})
	})
	for i := read; i < len(names) && t.why == ""; i++ {
		if kept[i] {
			put(i, len(t.held))
		}
	}
}

// clickhouseLinks reads the links of a row.
func (t *jsonText) clickhouseLinks(at columns) {
	if !t.links {
		return
	}
	var found []Link
	t.readAt(at[0], func() {
		t.list(func() {
			var l Link
			t.id(l.TraceID[:])
			found = append(found, l)
		})
	})
	n := 0
	t.readAt(at[1], func() {
		t.list(func() {
			var id SpanID
			t.id(id[:])
			if n < len(found) {
				found[n].SpanID = id
			}
			n++
		})
	})
	for _, l := range found {
		t.putLink(l)
	}
}
