package ingest

import "bytes"

// Splunk gets a span from the collector's exporter as an event: an object of its HTTP Event
// Collector, whose fields are the attributes of the resource. Times are in nanoseconds since
// 1970; that of the event is the start once more, cut to milliseconds. A scope is not written.
//
//	{"time":1,"host":"node-1","event":{"trace_id":"…","span_id":"…","name":"root","kind":"SPAN_KIND_SERVER",
//	 "status":{"message":"","code":"STATUS_CODE_OK"},"start_time":1000000000,"end_time":2000000000},"fields":{"service.name":"web"}}
//
// What a search gives back has the event as text in _raw, and the fields beside it, among
// those that Splunk knows of every event (host, _time) and those it took from the text
// (attributes.http.route).
//
//	{"preview":false,"offset":0,"result":{"_raw":"{\"trace_id\":\"…\",…}","_time":"…","host":"node-1","service.name":"web"}}
//
// References: the collector's exporter/splunkhecexporter (tracedata_to_splunk.go,
// testdata/hec_span_event.json); Splunk's REST API, search/jobs/export.

// splunkKeys are those of a span that the exporter always writes.
var splunkKeys = []string{"trace_id", "span_id", "parent_span_id", "start_time", "end_time"}

// splunkEvent reads an event; one that is no span of the exporter may have other JSON in it.
func (t *jsonText) splunkEvent(o *object) {
	if !t.hasKeys(o.member("event"), splunkKeys...) {
		t.inside(o)
		return
	}
	t.alone(o.start, func(t *jsonText, r *record) {
		event := 0
		t.object(func(key []byte) {
			switch string(key) {
			case "event":
				event = t.skipTo()
			case "fields":
				t.flatAttributes(true)
			default:
				t.skip()
			}
		})
		t.readAt(event, func() { t.documentFields(r, &splunkSpanEvent) })
	})
}

// splunkResult reads what a search found; what is no span of the exporter may be a line of a log.
func (t *jsonText) splunkResult(o *object) {
	t.pos = o.member("_raw")
	text := t.text()
	for _, key := range splunkKeys {
		if t.why != "" || !bytes.Contains(text, []byte(`"`+key+`"`)) {
			t.why = ""
			t.logObject(o)
			return
		}
	}
	t.alone(o.start, func(t *jsonText, r *record) {
		raw := 0
		t.object(func(key []byte) {
			switch {
			case string(key) == "_raw":
				raw = t.skipTo()
			case isSplunkField(key):
				t.nativeAttribute(key, true)
			default:
				t.skip()
			}
		})
		t.readAt(raw, func() { t.within(func() { t.list(func() { t.documentFields(r, &splunkSpanEvent) }) }) })
	})
}

// isSplunkField reports whether the field of a result is an attribute of the resource, and
// neither one that every event has nor one of the span's.
func isSplunkField(key []byte) bool {
	outer, _, dotted := bytes.Cut(key, []byte("."))
	if !dotted || key[0] == '_' {
		return false
	}
	switch string(outer) {
	case "attributes", "status", "events{}", "links{}":
		return false
	}
	return true
}
