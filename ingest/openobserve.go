package ingest

import "bytes"

const openObserveResource = "service_"

// openObserveRow reads a row of a stream of traces of OpenObserve, among the hits of its
// search or alone: start and end are in nanoseconds (the duration is in microseconds, and
// was in nanoseconds once), the kind is a number, the parent a reference, events and links
// are JSON in strings. Attributes are columns of their own, those of the resource behind
// service_, all in lower case and with _ for whatever is no letter or digit:
// http.request.method is http_request_method. Names that are asked for are given back
// (keeper.matchColumn), others stay as they are.
//
// A root has no column for the parent. As that is also how a row looks of which only some
// columns were asked for, a row that has not all of those that every span has is none.
//
// References: OpenObserve, src/service/traces/mod.rs, src/common/meta/traces.rs and
// src/config/src/utils/flatten.rs; an answer of version 0.91.2 in
// dcoric/openobserve-traces-grafana-plugin, pkg/plugin/testdata/live_trace_v0.91.2.json.
func (t *jsonText) openObserveRow(o *object) { t.alone(o.start, (*jsonText).openObserveFields) }

// openObserveEvent has its attributes beside its name.
var openObserveEvent = eventForm{name: "name", time: "_timestamp", at: nanosOrInstant}

func (t *jsonText) openObserveFields(r *record) {
	c := clock{}
	t.object(func(key []byte) {
		switch string(key) {
		case "start_time":
			c.start, _ = t.nanos()
		case "end_time":
			c.end, _ = t.nanos()
		case "trace_id":
			t.id(r.trace[:])
		case "span_id":
			t.id(r.span.ID[:])
		case "reference_parent_span_id":
			t.parent(r.span.ParentID[:], t.text())
		case "operation_name":
			r.span.Name = t.cache.get(t.text())
		case "span_kind":
			r.span.Kind = kindOf(t.word())
		case "span_status":
			r.span.Status = statusOf(t.word())
		case "status_message":
			r.span.StatusText = t.cache.get(t.text())
		case "service_name":
			t.serviceName(t.text())
		case "events":
			t.within(func() { t.eventsOf(&openObserveEvent) })
		case "links":
			t.within(func() { t.list(t.contextLink) })
		case "_timestamp", "duration", "flags", "status_code", "reference_parent_trace_id", "reference_ref_type":
			t.skip()
		default:
			if name, ok := bytes.CutPrefix(key, []byte(openObserveResource)); ok {
				t.flattenedColumn(name, true)
			} else {
				t.flattenedColumn(key, false)
			}
		}
	})
	start, end := c.times()
	t.finish(r, start, end)
}

// flattenedColumn is columnAttribute for a column whose name has lost its dots.
func (t *jsonText) flattenedColumn(column []byte, resource bool) {
	if t.peek() == 'n' {
		t.null()
		return
	}
	name, kept := t.keep.matchColumn(column, t.cache)
	if !kept {
		t.skip()
		return
	}
	t.nativeValue(name, resource)
}

// contextLink reads a link whose ids are in an object of their own.
func (t *jsonText) contextLink() {
	t.only("context", t.linkOf)
}
