package ingest

import (
	"fmt"
	"testing"
)

// The first two are what the collector's test of its Elasticsearch exporter
// expects of the times 1721314113467654123 and 0 (otelserializer/traces_test.go);
// the third is what its code writes of 1721314113467000005.
func TestMilliNanos(t *testing.T) {
	for stamp, want := range map[string]int64{
		`"1721314113467.654123"`:           1721314113467654123,
		`"0.0"`:                            0,
		`"1721314113467.5"`:                1721314113467000005,
		`1721314113467`:                    1721314113467000000,
		`"2024-07-18T14:48:33.467654123Z"`: 1721314113467654123,
	} {
		d := readText(t, `{"@timestamp":`+stamp+`,"trace_id":"00000000000000000000000000000001","span_id":"0000000000000001","name":"n","kind":"Server","duration":2000000,"resource":{},"scope":{},"status":{}}`)
		if len(d.Traces) != 1 || d.Traces[0].Epoch != want || want > 0 && d.Traces[0].Spans[0].End != 2e6 {
			t.Errorf("%s: %+v, want %d and 2 ms", stamp, d.Traces, want)
		}
	}
	for _, stamp := range []string{`"1721314113467.1654123"`, `"1721314113467.x"`, `"x"`} {
		d := readText(t, `{"@timestamp":`+stamp+`,"trace_id":"00000000000000000000000000000001","span_id":"0000000000000001","duration":1,"resource":{}}`+three[0])
		if n := note(d, Unreadable); d.Spans != 1 || n.Text != "malformed time" {
			t.Errorf("%s: %d spans, note %+v, want the other one and a malformed time", stamp, d.Spans, n)
		}
	}
}

// A document may be asked for in part, and its attributes may be objects in
// objects, as stores give them back.
func TestDocuments(t *testing.T) {
	const ids = `"traceId":"00000000000000000000000000000001","spanId":"0000000000000001",`
	for doc, want := range map[string]string{
		`{` + ids + `"startTime":"2021-05-18T18:58:44.695Z","durationInNanos":65000000,"serviceName":"cartservice"}`:                                                              "cartservice [{service.name cartservice}] [] 65ms",
		`{` + ids + `"startTime":"2021-05-18T18:58:44.695Z","durationInNanos":1,"attributes":{"http":{"request":{"method":"GET"}},"a@b":1}}`:                                      " [] [{a.b 1} {http.request.method GET}] 1ns",
		`{` + ids + `"startTimeUnixNano":1621364324695000000,"durationNano":7,"resource.attributes.service.name":"w","serviceName":"w","attributes.a.b":"c"}`:                     "w [{service.name w}] [{a.b c}] 7ns",
		`{"trace_id":"1","span_id":"1","start_time_unix_nano":1621364324695000000,"duration_nano":7,"resource":{"service.name":"w"},"status_code":2,"span_attributes":{"a":"b"}}`: "w [{service.name w}] [{a b}] 7ns",
		`{` + ids + `"startTimeUnixNano":1621364324695000000,"durationNano":7,"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"w"}}]}}`:                    "w [{service.name w}] [] 7ns",
	} {
		d := readText(t, doc)
		s := d.Traces[0].Spans[0]
		if got := fmt.Sprint(s.Resource.Service, " ", s.Resource.Attrs, " ", s.Attrs, " ", s.End); got != want || len(d.Notes) > 0 {
			t.Errorf("%s: %s, notes %+v, want %s", doc, got, d.Notes, want)
		}
	}
}
