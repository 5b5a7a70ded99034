package ingest

import "bytes"

// greptimeTable reads what GreptimeDB's SQL API answers:
//
//	{"output":[{"records":{"schema":{"column_schemas":[{"name":"timestamp","data_type":"TimestampNanosecond"},…]},
//	 "rows":[[1736480942444376000,…],…]}}],"execution_time_ms":5}
func (t *jsonText) greptimeTable(o *object) {
	var names [][]byte
	t.readAt(o.member("schema"), func() {
		t.only("column_schemas", func() { names = t.columnNames() })
	})
	t.tableRows(o, names, o.member("rows"))
}

// greptimeRow reads a row of the table opentelemetry_traces. Times are in nanoseconds. The
// pipeline greptime_trace_v1 has a column for each attribute, which is null in the rows that
// do not have it; greptime_trace_v0 has an object for those of the span and one for those of
// the resource.
//
// References: GreptimeDB, src/servers/src/otlp/trace (v0.rs, v1.rs, span.rs) and
// tests-integration/tests/http.rs (test_otlp_traces_v0 and _v1).
func (t *jsonText) greptimeRow(o *object) { t.alone(o.start, (*jsonText).greptimeFields) }

// greptimeEvent has its time as 2025-01-10 03:49:02.444376+0000.
var greptimeEvent = documentEvent("time", instant)

func (t *jsonText) greptimeFields(r *record) {
	c := clock{}
	t.object(func(key []byte) {
		switch string(key) {
		case "timestamp":
			c.start = t.nanosOrInstant()
		case "timestamp_end":
			c.end = t.nanosOrInstant()
		case "duration_nano":
			c.duration, c.lasts = t.nanos()
		case "trace_id":
			t.id(r.trace[:])
		case "span_id":
			t.id(r.span.ID[:])
		case "parent_span_id":
			t.parent(r.span.ParentID[:], t.text())
		case "trace_state":
			r.span.TraceState = t.cache.get(t.text())
		case "span_name":
			r.span.Name = t.cache.get(t.text())
		case "span_kind":
			r.span.Kind = kindOf(t.word())
		case "span_status_code":
			r.span.Status = statusOf(t.word())
		case "span_status_message":
			r.span.StatusText = t.cache.get(t.text())
		case "scope_name":
			r.span.Scope = t.cache.get(t.text())
		case "service_name":
			t.serviceName(t.text())
		case "resource_attributes":
			t.flatAttributes(true)
		case "span_attributes":
			t.flatAttributes(false)
		case "span_events":
			t.within(func() { t.eventsOf(&greptimeEvent) })
		case "span_links":
			t.within(func() { t.list(t.linkOf) })
		default: // among these scope_version and scope_attributes
			if name, ok := bytes.CutPrefix(key, []byte("span_attributes.")); ok {
				t.columnAttribute(name, false)
			} else if name, ok := bytes.CutPrefix(key, []byte("resource_attributes.")); ok {
				t.columnAttribute(name, true)
			} else {
				t.skip()
			}
		}
	})
	start, end := c.times()
	t.finish(r, start, end)
}

// columnAttribute reads an attribute that has a column of its own, in which rows without it
// have null.
func (t *jsonText) columnAttribute(key []byte, resource bool) {
	if t.peek() == 'n' {
		t.null()
		return
	}
	t.nativeAttribute(key, resource)
}
