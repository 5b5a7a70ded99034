package ingest

import "bytes"

// pythonSpan reads a span as Python's ConsoleSpanExporter writes it, pretty,
// one object after the other: ids with 0x, kinds as SpanKind.SERVER, times as
// RFC 3339. There is no scope.
func (t *jsonText) pythonSpan(o *object) { t.alone(o.start, (*jsonText).pythonFields) }

func (t *jsonText) pythonFields(r *record) {
	c := clock{}
	t.object(func(key []byte) {
		switch string(key) {
		case "name":
			r.span.Name = t.cache.get(t.text())
		case "context":
			t.object(func(key []byte) {
				switch string(key) {
				case "trace_id":
					t.id(r.trace[:])
				case "span_id":
					t.id(r.span.ID[:])
				case "trace_state": // the text of a dictionary or a list: [] and {} are empty
					if text := t.word(); len(text) > 2 {
						r.span.TraceState = t.cache.get(text)
					}
				default:
					t.skip()
				}
			})
		case "parent_id":
			t.parent(r.span.ParentID[:], t.text())
		case "kind":
			r.span.Kind = kindOf(bytes.TrimPrefix(t.word(), []byte("SpanKind.")))
		case "start_time":
			c.start = t.instant()
		case "end_time": // null while the span is open
			c.end = t.instant()
		case "status":
			t.object(func(key []byte) {
				switch string(key) {
				case "status_code":
					r.span.Status = statusOf(bytes.TrimPrefix(t.word(), []byte("StatusCode.")))
				case "description":
					r.span.StatusText = t.cache.get(t.text())
				default:
					t.skip()
				}
			})
		case "attributes":
			t.nativeAttributes(false)
		case "events":
			t.eventsOf(&pythonEvent)
		case "links":
			t.list(func() {
				t.object(func(key []byte) {
					if string(key) == "context" {
						t.linkOf()
					} else {
						t.skip()
					}
				})
			})
		case "resource":
			t.pythonResource()
		default:
			t.skip()
		}
	})
	start, end := c.times()
	t.finish(r, start, end)
}

var pythonEvent = eventForm{"name", "timestamp", "attributes", instant, func(t *jsonText) { t.nativeAttributes(false) }}

// pythonResource reads {"attributes":{…},"schema_url":""}, or in old versions
// the attributes alone.
func (t *jsonText) pythonResource() {
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
