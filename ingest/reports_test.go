package ingest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// brief writes a dump in short: of each span its trace and id without leading
// zeros, its parent's id if it has one, kind, status if it has one, start and
// end in ns from the epoch, defects, service and name; then the codes of the
// notes.
func brief(d *Dump) string {
	var out []string
	short := func(id fmt.Stringer) string { return strings.TrimLeft(id.String(), "0") }
	for _, t := range d.Traces {
		for _, s := range t.Spans {
			text := short(t.ID) + "/" + short(s.ID)
			if s.ParentID != (SpanID{}) {
				text += "<" + short(s.ParentID)
			}
			text += " " + []string{"-", "I", "S", "C", "P", "Q"}[s.Kind] + []string{"", "+", "!"}[s.Status]
			text += fmt.Sprintf(" %d-%d", s.Start, s.End)
			for i, defect := range []string{"?start", "?end", "end<start"} {
				if s.Defect>>i&1 == 1 {
					text += " " + defect
				}
			}
			if s.FollowsFrom {
				text += " follows"
			}
			out = append(out, text+" "+s.Resource.Service+":"+s.Name)
		}
	}
	for _, n := range d.Notes {
		out = append(out, string(n.Code))
	}
	return strings.Join(out, "; ")
}

func in(spans string) string {
	return `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"w"}}]},"scopeSpans":[{"spans":[` + spans + `]}]}]}`
}

// What people ran into, one row a report: repository#number.
func TestReports(t *testing.T) {
	const span = `"name":"n","kind":2,"startTimeUnixNano":"10","endTimeUnixNano":"20"`
	const n1 = "1/1 S 0-10 w:n"
	tests := []struct{ report, text, want string }{
		{"contrib#44077: a length and a zstd frame a message", string(prefixed(zst([]byte(in(`{"traceId":"1","spanId":"1",` + span + `}`))))), n1},
		{"contrib#49328: zstd, and lengths in it all the same", string(zst(prefixed([]byte(in(`{"traceId":"1","spanId":"1",` + span + `}`))))), n1},
		{"contrib#46038: a zstd frame a write", string(zst([]byte(in(`{"traceId":"1","spanId":"1",`+span+`}`+"\n")))) + string(zst([]byte(in(`{"traceId":"2","spanId":"1",`+span+`}`)))), n1 + "; 2/1 S 0-10 w:n"},
		{"contrib#34832: NULs after rotation", strings.Repeat("\x00", 100) + in(`{"traceId":"1","spanId":"1",`+span+`}`), n1 + "; nul-bytes"},
		{"contrib#35738: signals mixed in one file", `{"resourceLogs":[{}]}` + in(`{"traceId":"1","spanId":"1",`+span+`}`) + `{"resourceMetrics":[{}]}`, n1 + "; other-signal"},
		{"contrib#34782, specification#786, tempo#3802, #5437: ids in base64", in(`{"traceId":"AAAAAAAAAAAAAAAAAAAAAQ==","spanId":"AAAAAAAAAAE=",` + span + `}`), n1},
		{"swift#537: base64 of hexadecimal", in(`{"traceId":"MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDE=","spanId":"MDAwMDAwMDAwMDAwMDAwMQ==",` + span + `}`), n1},
		{"grafana#43060: names of kinds", in(`{"traceId":"1","spanId":"1",` + strings.Replace(span, "2", `"SPAN_KIND_SERVER"`, 1) + `}`), n1},
		{"contrib#12726, #14974, cpp#1681: the old name of scopes", strings.Replace(in(`{"traceId":"1","spanId":"1",`+span+`}`), "scopeSpans", "instrumentationLibrarySpans", 1), n1},
		{"java#6749: bare ResourceSpans", `{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"w"}}]},"scopeSpans":[{"spans":[{"traceId":"1","spanId":"1",` + span + `}]}]}`, n1},
		{"jaeger#5293: all ids empty", in(`{"traceId":"","spanId":"",` + span + `},{"traceId":"","spanId":"",` + span + `}`), "/ S 0-10 w:n; / S 0-10 w:n; empty-ids"},
		{"fluent-bit#11762: documents without separator", in(`{"traceId":"1","spanId":"1",`+span+`}`) + in(`{"traceId":"2","spanId":"1",`+span+`}`), n1 + "; 2/1 S 0-10 w:n"},
		{"js#2643, #4062: numbers in halves", in(`{"traceId":"1","spanId":"1","name":"n","kind":2,"startTimeUnixNano":{"low":-1,"high":1},"endTimeUnixNano":{"high":2,"low":9,"unsigned":true}}`), "1/1 S 0-10 w:n"},
		{"js#2643: half a number is none", in(`{"traceId":"1","spanId":"1",` + span + `},{"traceId":"1","spanId":"2","startTimeUnixNano":{"low":1}}`), n1 + "; unreadable"},
		{"openobserve#3150: times as strings and as numbers", in(`{"traceId":"1","spanId":"1","name":"n","kind":2,"startTimeUnixNano":10,"endTimeUnixNano":"20"}`), n1},
		{"a comma before a closing bracket, as people leave behind", strings.ReplaceAll(strings.ReplaceAll(in(`{"traceId":"1","spanId":"1",`+span+`,"attributes":[{"key":"k","value":{"stringValue":"v"}}]}`), "}", ",}"), "]", " , ]"), n1},
		{"perf-sentinel#81: an empty array value", in(`{"traceId":"1","spanId":"1",` + span + `,"attributes":[{"key":"k","value":{"arrayValue":{}}}]}`), n1},
		{"rust#3682: intValue null", in(`{"traceId":"1","spanId":"1",` + span + `,"attributes":[{"key":"k","value":{"intValue":null}}]}`), n1},
		{"opentelemetry-go#3021, contrib#35723: invalid UTF-8", in(`{"traceId":"1","spanId":"1",` + span + `,"name":"n` + "\xff" + `"}`), "1/1 S 0-10 w:n\uFFFD"},
		{"js#3279: a negative duration", `{"traceID":"1","spanID":"1","operationName":"n","startTime":10,"duration":-3,"process":{"serviceName":"w"}}`, "1/1 - 0-0 end<start w:n; end-before-start"},
		{"openobserve#14368: a duration that wrapped", in(`{"traceId":"1","spanId":"1","name":"n","kind":2,"startTimeUnixNano":"20","endTimeUnixNano":"10"}`), "1/1 S 0-0 end<start w:n; end-before-start"},
		{"collector#1749: Zipkin without a duration", `[{"traceId":"1","id":"1","name":"n","timestamp":10,"localEndpoint":{"serviceName":"w"}}]`, "1/1 I 0-0 ?end w:n; no-end"},
		{"uipath-python#1806: an open snapshot, then the span", in(`{"traceId":"1","spanId":"1","name":"n","kind":2,"startTimeUnixNano":"10"},{"traceId":"1","spanId":"1",` + span + `}`), n1 + "; duplicate"},
		{"mastra#24233: a null end", in(`{"traceId":"1","spanId":"1","name":"n","kind":2,"startTimeUnixNano":"10","endTimeUnixNano":null}`), "1/1 S 0-0 ?end w:n; no-end"},
		{"tempo#1476, #4693, zipkin#3507: no root", in(`{"traceId":"1","spanId":"1","parentSpanId":"9",` + span + `}`), "1/1<9 S 0-10 w:n; orphan; root-missing"},
		{"tempo#4457: a wrong parent is not mended", in(`{"traceId":"1","spanId":"1",` + span + `},{"traceId":"1","spanId":"2","parentSpanId":"9",` + span + `}`), n1 + "; 1/2<9 S 0-10 w:n; orphan"},
		{"collector#11056, contrib#2622, otel-desktop-viewer#409: a retry, and the same id with another outcome", in(`{"traceId":"1","spanId":"1",` + span + `},{"traceId":"1","spanId":"1",` + span + `},{"traceId":"1","spanId":"1",` + span + `,"status":{"code":2}}`), n1 + "; 1/1 S! 0-10 w:n; duplicate"},
		{"kibana#177913: self-parent and cycle", in(`{"traceId":"1","spanId":"1","parentSpanId":"1",` + span + `},{"traceId":"1","spanId":"2","parentSpanId":"3",` + span + `},{"traceId":"1","spanId":"3","parentSpanId":"2",` + span + `}`),
			"1/1<1 S 0-10 w:n; 1/2<3 S 0-10 w:n; 1/3<2 S 0-10 w:n; cycle-cut; root-missing; self-parent"},
		{"tempo#5395, jaeger#1578: zeros on the right", in(`{"traceId":"0000000000000abc0000000000000000","spanId":"1",` + span + `}`), "abc0000000000000000/1 S 0-10 w:n; padded-id"},
		{"tempo#5395, jaeger#1578: zeros dropped on the left", `{"traceID":"abc","spanID":"01","operationName":"n","startTime":10,"duration":0,"process":{"serviceName":"w"}}`, "abc/1 - 0-0 w:n"},
		{"tempo: an answer that is not whole", `{"trace":{"resourceSpans":[` + in(`{"traceId":"1","spanId":"1",` + span + `}`)[18:] + `,"status":"PARTIAL","message":"too big"}`, n1 + "; partial"},
	}
	for _, test := range tests {
		if got := brief(readText(t, test.text)); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.report, got, test.want)
		}
	}
}

// Hand-made samples of what one form can say and others cannot.
func TestFormDetails(t *testing.T) {
	jaeger := func(fields string) string {
		return `{"data":[{"traceID":"1","spans":[` + fields + `],"processes":{"p1":{"serviceName":"a"},"p2":{"serviceName":"b"}}}]}`
	}
	const n0 = `"name":"n","startTimeUnixNano":"10","endTimeUnixNano":"20"`
	embedded := `{"traceID":"1","spanID":"1","operationName":"p","references":[],"startTime":10,"duration":5,"processID":"p1"}`
	tests := []struct{ name, text, want string }{
		{"Jaeger, the parent in the reference", jaeger(embedded + `,{"traceID":"1","spanID":"2","operationName":"c","references":[{"refType":"CHILD_OF","traceID":"1","spanID":"1","span":` + embedded + `}],"startTime":11,"duration":2,"processID":"p2"}`),
			"1/1 - 0-5000 a:p; 1/2<1 - 1000-3000 b:c"},
		{"Jaeger, FOLLOWS_FROM only", jaeger(embedded + `,{"traceID":"0001","spanID":"2","operationName":"c","references":[{"refType":"FOLLOWS_FROM","traceID":"01","spanID":"1"}],"startTime":11,"duration":2,"processID":"p1"}`),
			"1/1 - 0-5000 a:p; 1/2<1 - 1000-3000 follows a:c"},
		{"Jaeger, CHILD_OF before FOLLOWS_FROM, and another trace is no parent", jaeger(`{"references":[{"refType":"CHILD_OF","traceID":"9","spanID":"8"},{"refType":"FOLLOWS_FROM","traceID":"1","spanID":"7"},{"refType":"CHILD_OF","traceID":"1","spanID":"6"}],"traceID":"1","spanID":"2","operationName":"c","startTime":11,"duration":2,"processID":"p1"}`),
			"1/2<6 - 0-2000 a:c; orphan; root-missing"},
		{"Jaeger, one reference that is no list", jaeger(embedded + `,{"traceID":"1","spanID":"2","operationName":"c","references":{"refType":"FOLLOWS_FROM","traceID":"1","spanID":"1"},"startTime":11,"duration":2,"processID":"p2"}`),
			"1/1 - 0-5000 a:p; 1/2<1 - 1000-3000 follows b:c"},
		{"Jaeger, processes in a list", `{"spans":[` + embedded + `],"processes":[{"processID":"p2","serviceName":"b"},{"key":"p1","value":{"serviceName":"a"}}]}`, "1/1 - 0-5000 a:p"},
		{"Jaeger, a flattened document of two references", `{"traceID":"1","spanID":"2","operationName":"c","references.refType":["FOLLOWS_FROM","CHILD_OF"],"references.traceID":["1","1"],"references.spanID":["6","7"],"startTime":10,"duration":5,"tags.key":["span.kind","a"],"tags.value":["client","b"],"process.serviceName":"w"}`,
			"1/2<7 C 0-5000 w:c; orphan; root-missing"},
		{"Jaeger, a flattened document that has equal values once", `{"traceID":"1","spanID":"1","operationName":"p","startTime":10,"duration":5,"process.serviceName":"a"}` + `{"traceID":"1","spanID":"2","operationName":"c","references.refType":["CHILD_OF"],"references.traceID":["1"],"references.spanID":["6","7"],"startTime":10,"duration":5,"process.serviceName":"w"}`,
			"1/1 - 0-5000 a:p; unreadable"},
		{"Jaeger, a flattened document without the values of its tags", `{"traceID":"1","spanID":"1","operationName":"p","startTime":10,"duration":5,"process.serviceName":"a"}{"traceID":"1","spanID":"2","operationName":"p","startTime":10,"duration":5,"process.serviceName":"a","tags.key":["span.kind"]}`,
			"1/1 - 0-5000 a:p; unreadable"},
		{"Jaeger, a flattened document of two logs", `{"traceID":"1","spanID":"1","operationName":"p","startTime":10,"duration":5,"process.serviceName":"a","logs.timestamp":[11,12],"logs.fields.key":["event","event"],"logs.fields.value":["x","y"]}`,
			"1/1 - 0-5000 a:p; unreadable"},
		{"Jaeger, a process that is not there", jaeger(`{"traceID":"1","spanID":"2","operationName":"c","startTime":11,"duration":2,"processID":"p3"}`), "1/2 - 0-2000 :c"},
		// jaegertracing/jaeger-ui: src/components/TracePage/CriticalPath/testCases/happyTrace.json. The ids are what
		// sha256sum says of trace-1, span-A, span-B and the UUID.
		{"Jaeger, words for ids", jaeger(`{"traceID":"trace-1","spanID":"span-A","operationName":"p","references":[],"startTime":10,"duration":5,"processID":"p1"},{"traceID":"trace-1","spanID":"span-B","operationName":"c","references":[{"refType":"CHILD_OF","traceID":"trace-1","spanID":"span-A"}],"startTime":11,"duration":2,"processID":"p2"}`),
			"17fe6f303311c0b164b937e419518c1f/ff4c8c7b001ab555 - 0-5000 a:p; 17fe6f303311c0b164b937e419518c1f/dcc41e7736447934<ff4c8c7b001ab555 - 1000-3000 b:c; label-id"},
		{"Zipkin, a UUID for a span", `[{"traceId":"1","id":"550e8400-e29b-41d4-a716-446655440000","timestamp":1,"duration":2},{"traceId":"1","id":"2","parentId":"550e8400-e29b-41d4-a716-446655440000","timestamp":1,"duration":1}]`,
			"1/2<a3a9e1ed9732cab2 I 0-1000 :; 1/a3a9e1ed9732cab2 I 0-2000 :; label-id"},
		{"words for no id join no spans", `[{"traceId":"null","id":"1","timestamp":1,"duration":1},{"traceId":"undefined","id":"2","timestamp":1,"duration":1},{"traceId":"0-0","id":"3","timestamp":1,"duration":1}]`, "/1 I 0-1000 :; /2 I 0-1000 :; /3 I 0-1000 :; bad-id; empty-ids"},
		{"Jaeger, a bad parent costs the span", jaeger(embedded + `,{"traceID":"1","spanID":"2","operationName":"c","references":[{"refType":"CHILD_OF","traceID":"1","spanID":"zz!"}],"startTime":11,"duration":2,"processID":"p1"}`), "1/1 - 0-5000 a:p; unreadable"},
		{"Jaeger, a clock that counts from 0", jaeger(`{"traceID":"1","spanID":"1","operationName":"p","startTime":0,"duration":5,"processID":"p1"},{"traceID":"1","spanID":"2","operationName":"c","startTime":1,"duration":2,"processID":"p1"}`),
			"1/1 - 0-5000 a:p; 1/2 - 1000-3000 a:c"},
		{"Jaeger, no start among real times", jaeger(`{"traceID":"1","spanID":"1","operationName":"p","duration":5,"processID":"p1"},{"traceID":"1","spanID":"2","operationName":"c","startTime":1795994844000000,"duration":2,"processID":"p1"}`),
			"1/1 - 0-0 ?start ?end a:p; 1/2 - 0-2000 a:c; no-end; no-start"},
		// jaegertracing/jaeger-ui: src/model/trace-contract/missing-root-start.legacy.json.
		{"Jaeger, no start among times that count from 0", jaeger(`{"traceID":"1","spanID":"1","operationName":"p","duration":5,"processID":"p1"},{"traceID":"1","spanID":"2","operationName":"c","startTime":0,"duration":2,"processID":"p1"}`),
			"1/1 - 0-0 ?start ?end a:p; 1/2 - 0-2000 a:c; no-end; no-start"},
		// The fields of jaeger.thrift; -2 is ff…fe in 64 bits.
		{"Jaeger, Thrift's spelling", `{"process":{"serviceName":"w","tags":[]},"spans":[{"traceIdLow":1,"traceIdHigh":0,"spanId":-2,"parentSpanId":0,"operationName":"p","references":[],"flags":1,"startTime":9,"duration":5,"tags":[{"key":"span.kind","vType":0,"vStr":"server"},{"key":"error","vType":2,"vBool":1}]},` +
			`{"traceIdLow":1,"traceIdHigh":0,"spanId":3,"parentSpanId":-2,"operationName":"c","startTime":10,"duration":2,"tags":[{"key":"error","vType":2,"vBool":0}]},` +
			`{"traceIdLow":1,"traceIdHigh":0,"spanId":4,"parentSpanId":0,"operationName":"f","references":[{"refType":1,"traceIdLow":1,"traceIdHigh":0,"spanId":-2}],"startTime":10,"duration":2}]}`,
			"1/fffffffffffffffe S! 0-5000 w:p; 1/3<fffffffffffffffe - 1000-3000 w:c; 1/4<fffffffffffffffe - 1000-3000 follows w:f"},
		{"Jaeger, the trace's id beside its spans alone", `{"traceID":"1","spans":[{"spanID":"1","operationName":"p","startTime":9,"duration":5,"processID":"p1"},{"spanID":"2","operationName":"c","references":[{"refType":"CHILD_OF","traceID":"1","spanID":"1"}],"startTime":10,"duration":2,"processID":"p1"}],"processes":{"p1":{"serviceName":"a"}}}`, "1/1 - 0-5000 a:p; 1/2<1 - 1000-3000 a:c"},
		{"Jaeger, a process that is null beside a processID", jaeger(`{"traceID":"1","spanID":"1","operationName":"p","startTime":9,"duration":5,"processID":"p1","process":null}`), "1/1 - 0-5000 a:p"},
		{"Jaeger, a row of a table", `{"traceID":"1","spanID":"2","serviceName":"w","operationName":"n","startTimeMillis":10,"startTime":10000,"duration":5,"statusCode":"200","parentSpanID":"1"}`, "1/2<1 - 0-5000 w:n; orphan; root-missing"},
		{"Jaeger, spans without the processes they name", `{"spans":[{"traceID":"1","spanID":"2","operationName":"n","startTime":9,"duration":5,"processID":"p1"}]}`, "1/2 - 0-5000 :n"},
		{"Jaeger, processes first", `{"processes":{"p1":{"serviceName":"a"}},"spans":[` + embedded + `]}`, "1/1 - 0-5000 a:p"},
		{"Jaeger, cut behind the processes", `{"processes":{"p1":{"serviceName":"a"}},"spans":[` + embedded + `,{"traceID":`, "1/1 - 0-5000 a:p; truncated"},
		{"Jaeger, a batch of an agent", `{"process":{"serviceName":"w"},"spans":[{"traceId":"1","spanId":"1","operationName":"n","startTime":"2026-11-29T23:27:24Z","duration":"1.5ms"}]}`, "1/1 - 0-1500000 w:n"},
		{"Jaeger, an error tag and kinds", jaeger(`{"traceID":"1","spanID":"1","operationName":"p","startTime":9,"duration":5,"processID":"p1","tags":[{"key":"error","type":"string","value":"true"},{"key":"span.kind","type":"string","value":"consumer"}]},` +
			`{"traceID":"1","spanID":"2","operationName":"c","startTime":10,"duration":2,"processID":"p1","tags":[{"key":"error","type":"bool","value":false}]}`), "1/1 Q! 0-5000 a:p; 1/2 - 1000-3000 a:c"},
		{"Jaeger protobuf, what is zero left out", `{"traceId":"AAAAAAAAAAAAAAAAAAAAAQ==","spanId":"AAAAAAAAAAE=","operationName":"n","startTime":"2026-11-29T23:27:24.5Z","duration":"0s","tags":[{"key":"error","vType":"BOOL"},{"key":"k"}],"process":{"serviceName":"w"}}`, "1/1 - 0-0 w:n"},

		{"Jaeger protobuf, no duration", `{"traceId":"AAAAAAAAAAAAAAAAAAAAAQ==","spanId":"AAAAAAAAAAE=","operationName":"n","startTime":"2026-11-29T23:27:24.5Z","process":{"serviceName":"w"}}`, "1/1 - 0-0 w:n"},
		{"Jaeger protobuf, a null duration, before the start", `{"traceId":"AAAAAAAAAAAAAAAAAAAAAQ==","spanId":"AAAAAAAAAAE=","operationName":"n","duration":null,"startTime":"2026-11-29T23:27:24.5Z","process":{"serviceName":"w"}}`, "1/1 - 0-0 w:n"},
		{"Jaeger protobuf, neither time", `{"traceId":"AAAAAAAAAAAAAAAAAAAAAQ==","spanId":"AAAAAAAAAAE=","operationName":"n","process":{"serviceName":"w"}}`, "1/1 - 0-0 ?start ?end w:n; no-end; no-start"},
		{"Jaeger, no duration", jaeger(`{"traceID":"1","spanID":"1","operationName":"p","startTime":1795994844000000,"processID":"p1"}`), "1/1 - 0-0 ?end a:p; no-end"},

		// jaegertracing/jaeger: cmd/collector/app/zipkin/fixtures/zipkin_proto_01.json. In zipkin.proto 1 is CLIENT; base64 of 10.43.17.43.
		{"Zipkin, protobuf's names", `{"spans":[{"trace_id":"AAAAAAAAAAAAAAAAAAAAAQ==","id":"AAAAAAAAAAI=","parent_id":"AAAAAAAAAAE=","name":"n","kind":1,"timestamp":10,"duration":9,"local_endpoint":{"service_name":"a","ipv4":"CisRKg=="},"remote_endpoint":{"service_name":"b","ipv4":"CisRKw=="},"tags":{"k":"v"}}]}`, "1/2<1 C 0-9000 a:n; orphan; root-missing"},
		// jaegertracing/jaeger: cmd/collector/app/handler/testdata/zipkin_thrift_v1_merged_spans.json. -2 is ff…fe in 64 bits.
		{"Zipkin 1, Thrift's names", `[{"trace_id":1,"trace_id_high":2,"name":"p","id":-2,"annotations":[{"timestamp":10,"value":"sr","host":{"ipv4":0,"port":0,"service_name":"a"}},{"timestamp":19,"value":"ss","host":{"ipv4":0,"port":0,"service_name":"a"}}],"binary_annotations":null,"debug":false,"timestamp":10,"duration":9},{"trace_id":1,"trace_id_high":2,"name":"c","id":3,"parent_id":-2,"annotations":[{"timestamp":12,"value":"cs","host":{"ipv4":0,"port":0,"service_name":"a"}},{"timestamp":14,"value":"cr","host":{"ipv4":0,"port":0,"service_name":"a"}}],"binary_annotations":[{"key":"error","value":"x","annotation_type":6,"host":{"service_name":"a"}}]}]`,
			"20000000000000001/fffffffffffffffe S 0-9000 a:p; 20000000000000001/3<fffffffffffffffe C! 2000-4000 a:c"},
		{"Zipkin, one id for both sides", `[{"traceId":"1","id":"2","parentId":"1","kind":"CLIENT","name":"n","timestamp":10,"duration":9,"localEndpoint":{"serviceName":"a"}},{"traceId":"1","id":"2","parentId":"1","kind":"SERVER","shared":true,"name":"n","timestamp":12,"duration":3,"localEndpoint":{"serviceName":"b"}}]`,
			"1/2<1 C 0-9000 a:n; 1/2<1 S 2000-5000 b:n; orphan; root-missing"},
		{"Zipkin, 0 is unset", `[{"traceId":"1","id":"1","kind":"PRODUCER","timestamp":10,"duration":0},{"traceId":"1","id":"2","timestamp":0,"duration":7}]`, "1/1 P 0-0 ?end :; 1/2 I 0-0 ?start ?end :; no-end; no-start"},
		{"Zipkin, an error without text, and one that is none", `[{"traceId":"1","id":"1","timestamp":1,"duration":1,"tags":{"error":""}},{"traceId":"1","id":"2","timestamp":1,"duration":1,"tags":{"error":"false"}}]`, "1/1 I! 0-1000 :; 1/2 I 0-1000 :"},
		{"Zipkin 1, both sides in one span", `[[{"traceId":"1","id":"2","parentId":"1","name":"n","timestamp":10,"duration":9,"annotations":[{"timestamp":10,"value":"cs","endpoint":{"serviceName":"a"}},{"timestamp":12,"value":"sr","endpoint":{"serviceName":"b"}},{"timestamp":15,"value":"ss","endpoint":{"serviceName":"b"}},{"timestamp":19,"value":"cr","endpoint":{"serviceName":"a"}}],` +
			`"binaryAnnotations":[{"key":"error","value":"x","endpoint":{"serviceName":"b"}}]}]]`, "1/2<1 C 0-9000 a:n; 1/2<1 S! 2000-5000 b:n; orphan; root-missing"},
		{"Splunk, an event with OTLP in it, one that is a log, and one of text", `{"time":1,"host":"h","event":{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"w"}}]},"scopeSpans":[{"spans":[{"traceId":"1","spanId":"1","name":"n","kind":2,"startTimeUnixNano":"10","endTimeUnixNano":"20"}]}]}]}}` +
			`{"host":"h","event":{"body":"x","trace_id":"1"}}{"host":"h","event":"x"}`, "1/1 S 0-10 w:n; unreadable"},
		{"Splunk, a result of a log beside one of a span", `{"preview":false,"offset":0,"result":{"_raw":"{\"trace_id\":\"1\",\"span_id\":\"2\",\"parent_span_id\":\"\",\"name\":\"n\",\"kind\":\"Client\",\"start_time\":10,\"end_time\":12}","service.name":["w"]}}{"result":{"_raw":"GET / 200"}}{"preview":false,"lastrow":true}`,
			"1/2 C 0-2 w:n; unreadable"},
		{"GreptimeDB, a row too short, one that is no list, and a column that has no name", `{"output":[{"records":{"schema":{"column_schemas":[{"name":"timestamp"},{"name":"timestamp_end"},{"name":"duration_nano"},{"name":"trace_id"},{"name":"span_id"},{"name":"parent_span_id"},{"name":"service_name"},{"name":"span_kind"},{"data_type":"x"}]},` +
			`"rows":[[1,2],7,[10,20,10,"1","1",null,"w","SPAN_KIND_CLIENT",0],["1970-01-01 00:00:00.000000012",null,5,"1","2","1","w",null,0]]}}],"execution_time_ms":1}`,
			"1/1 C 0-10 w:; 1/2<1 - 2-7 w:; unreadable"},
		{"OpenObserve, as version 0.91.2 answered", `{"hits":[{"_timestamp":1784285128301149,"db_system":"postgresql","duration":11171,"end_time":1784285128312321637,"events":"[]","flags":1,"infer_service_name":"shop","links":"[]","operation_name":"SELECT shop","reference_parent_span_id":"acc0df41e8f36deb","reference_parent_trace_id":"0dbbcef1ad16147607f477bb85bae395","reference_ref_type":"ChildOf",` +
			`"service_host_name":"h","service_name":"w","service_service_version":"1","span_id":"a7ef33015cdf5f81","span_kind":"3","span_status":"ERROR","start_time":1784285128301149696,"status_code":2,"status_message":"","trace_id":"0dbbcef1ad16147607f477bb85bae395"}]}`,
			"dbbcef1ad16147607f477bb85bae395/a7ef33015cdf5f81<acc0df41e8f36deb C! 0-11171941 w:SELECT shop; orphan; root-missing"},
		{"Google, ids that are not 64 bits, and a trace that breaks off", `{"projectId":"p","traceId":"1","spans":[{"spanId":"18446744073709551615","parentSpanId":"0","kind":"RPC_SERVER","name":"n","startTime":"1970-01-01T00:00:00.000000010Z","endTime":"1970-01-01T00:00:00.00000002Z","labels":{"g.co/gae/app/module":"w","/http/status_code":"504"}},{"spanId":"18446744073709551616","name":"n"},{"spanId":"2","name":`,
			"1/ffffffffffffffff S 0-10 w:n; truncated; unreadable"},
		{"Axiom, columns that are not as many as names, and some that are not equally long", `{"tables":[{"fields":[{"name":"_time"},{"name":"trace_id"}],"columns":[["2026-11-29T23:27:24Z"]]},{"fields":[],"columns":[]}]}` + "\n" + `{"tables":[{"fields":[{"name":"_time"},{"name":"trace_id"}],"columns":[["2026-11-29T23:27:24Z"],["1","2"]]}]}` + "\n" + `{"_time":"1970-01-01T00:00:01Z","duration":"1.5ms","kind":"client","name":"n","parent_span_id":null,"service.name":"w","span_id":"1","trace_id":"1","error":true,"attributes":{"custom":{"a.b":1},"http":{"route":"/"}}}`,
			"1/1 C! 0-1500000 w:n; unreadable"},
		{"Logfire, a log, a span that had not ended, and a span", `{"columns":[],"rows":[{"start_timestamp":"1970-01-01T00:00:01Z","end_timestamp":"1970-01-01T00:00:01Z","duration":null,"parent_span_id":null,"span_id":"1","span_name":"l","trace_id":"1"},{"start_timestamp":"1970-01-01T00:00:01Z","end_timestamp":"1970-01-01T00:00:01Z","duration":0,"kind":"pending_span","parent_span_id":null,"span_id":"2","span_name":"p","trace_id":"1"},` +
			`{"start_timestamp":"1970-01-01T00:00:01Z","end_timestamp":"1970-01-01T00:00:01.5Z","duration":0.5,"kind":"span","parent_span_id":null,"span_id":"3","span_name":"n","trace_id":"1","service_name":"w","attributes":"{\"a\":1}","otel_status_code":"ERROR"}]}`, "1/3 -! 0-500000000 w:n; other-signal"},
		{"Application Insights, an operation that is the parent, work of its own, and a line of a log", `[{"itemType":"request","timestamp":"1970-01-01T00:00:01Z","id":"1","name":"n","operation_Id":"00000000000000000000000000000002","operation_ParentId":"00000000000000000000000000000002","duration":1.5,"success":"False","cloud_RoleName":"w","customDimensions":""},` +
			`{"itemType":"dependency","timestamp":"1970-01-01T00:00:01Z","id":"3","name":"m","operation_Id":"00000000000000000000000000000002","operation_ParentId":"1","duration":0.25,"success":"True","type":"InProc | x","cloud_RoleName":"w","customDimensions":{}},{"itemType":"trace","timestamp":"1970-01-01T00:00:01Z","id":"","operation_Id":"2","operation_ParentId":"1","duration":null}]`,
			"2/1 S! 0-1500000 w:n; 2/3<1 I 0-250000 w:m; other-signal"},
		{"SigNoz, spans in the column model", `{"timestamp":"1970-01-01 00:00:00","traceID":"1","model":` + strconv.Quote(`{"traceId":"1","spanId":"2","name":"n","durationNano":5,"startTimeUnixNano":10,"serviceName":"w","kind":2,"references":[{"traceId":"1","spanId":"1","refType":"CHILD_OF"}],"statusCode":2,"tagMap":{"a":"b"},"hasError":true}`) + `}` + "\n" + `{"traceId":"1","spanId":"1","name":"p","durationNano":9,"startTimeUnixNano":9,"serviceName":"w","kind":3,"references":[{"traceId":"1","spanId":"2","refType":"FOLLOWS_FROM"}]}`, "1/1 C 0-9 w:p; 1/2<1 S! 1-6 w:n"},
		// 10, 20, … in hexadecimal are 0a, 14, …
		{"ids as JavaScript's bytes", in(`{"traceId":{"type":"Buffer","data":[10,20,30,40,50,60,70,80,90,100,110,120,130,140,150,160]},"spanId":{"0":1,"1":2,"2":3,"3":4,"4":5,"5":6,"6":7,"7":8},` + n0 + `},` +
			`{"traceId":{"type":"Buffer","data":[10,20,30,40,50,60,70,80,90,100,110,120,130,140,150,160]},"spanId":{"data":[0,0,0,0,0,0,0,9],"type":"Buffer"},"parentSpanId":{"type":"Buffer","data":[1,2,3,4,5,6,7,8]},` + n0 + `}`),
			"a141e28323c46505a646e78828c96a0/9<102030405060708 - 0-10 w:n; a141e28323c46505a646e78828c96a0/102030405060708 - 0-10 w:n"},
		{"ids as JavaScript's bytes, damaged", in(`{"traceId":{"type":"Buffer","data":[1,256]},"spanId":"1",` + n0 + `},{"traceId":{"1":1},"spanId":"1",` + n0 + `},{"traceId":"1","spanId":"1",` + n0 + `}`), "1/1 - 0-10 w:n; unreadable"},
		// 2^64 + 1, and one beyond 2^53.
		{"ids as integers", in(`{"traceId":18446744073709551617,"spanId":9007199254740993,` + n0 + `},{"traceId":1.5,"spanId":"1",` + n0 + `},{"traceId":` + strings.Repeat("7", 1<<20) + `,"spanId":"1",` + n0 + `}`), "10000000000000001/20000000000001 - 0-10 w:n; unreadable"},

		// Spans of writers that are not known.
		{"a span with its start and end", `{"traceId":"1","spanId":"1","parentSpanId":null,"name":"p","kind":"SERVER","startTime":"2026-11-29T23:27:24Z","endTime":"2026-11-29T23:27:24.000000009Z","status":"error","serviceName":"w"}` +
			`{"trace_id":"1","span_id":"2","parent_id":"1","span_name":"c","span_kind":"SpanKind.CLIENT","start_time":1795994844,"duration_ms":2.5,"status_code":"OK","service":"w","duration":7}`,
			"1/1 S! 0-9 w:p; 1/2<1 C+ 0-2500000 w:c"},
		{"a span with its start and end, open", `{"traceId":"1","spanId":"1","name":"p","startTime":"2026-11-29T23:27:24Z","endTime":null,"status":{"code":2,"message":"m"},"attributes":"{\"k\":1}","resource":{"service.name":"w"},"children":[]}`, "1/1 -! 0-0 ?end w:p; no-end"},
		{"a start that counts from nobody knows where", `{"traceId":"1","spanId":"1","name":"p","startTime":12.5,"endTime":320,"status":"ok"}{"traceId":"1","spanId":"2","name":"p","startTime":1795994844000,"endTime":1795994844002}`, "1/2 - 0-2000000 :p; unreadable"},
		{"spans inside a span", `{"traceId":"1","spanId":"1","name":"p","startTime":1795994844000,"endTime":1795994844002,"children":[{"spanId":"2"}]}{"traceId":"1","spanId":"2","name":"c","startTime":1795994844000,"endTime":1795994844002,"children":["3"]}`, "1/2 - 0-2000000 :c; unreadable"},
		{"a trace id and a resource beside the spans", `{"resource":{"service.name":"w"},"traceId":"1","spans":[{"spanId":"1","name":"p","startTime":1795994844000,"endTime":1795994844002},{"spanId":"2","parentSpanId":"1","service":"v","name":"c","startTime":1795994844000,"endTime":1795994844001}]}{"spans":[{"spanId":"3","name":"x","startTime":1795994844000,"endTime":1795994844002}]}`,
			"1/1 - 0-2000000 w:p; 1/2<1 - 0-1000000 v:c; /3 - 0-2000000 :x; empty-ids"},
		{"Langfuse", `{"trace":{"id":"1","name":"t"},"observations":[{"id":"1","traceId":"1","type":"SPAN","name":"p","startTime":"2026-11-29T23:27:24.000Z","endTime":"2026-11-29T23:27:24.009Z","parentObservationId":null,"level":"ERROR"},{"id":"2","traceId":"1","type":"EVENT","name":"c","startTime":"2026-11-29T23:27:24.001Z","endTime":null,"parentObservationId":"1","level":"DEFAULT"}]}`,
			"1/1 -! 0-9000000 :p; 1/2<1 - 1000000-1000000 ?end :c; no-end"},
		// garysassano/serverless-otlp-forwarder: packages/rust/otlp-stdout-span-exporter/clickhouse_output.json.
		{"ClickHouse, nested columns as objects of columns", `{"Timestamp":"2026-11-29 23:27:24.000000000","TraceId":"1","SpanId":"2","ParentSpanId":"","SpanName":"n","SpanKind":"Server","ServiceName":"w","SpanAttributes":{},"Duration":5,"Events":{"Timestamp":["2026-11-29 23:27:24.000000001"],"Name":["e"],"Attributes":[{"k":"v"}]},"Links":{"TraceId":["3"],"SpanId":["4"],"TraceState":[""],"Attributes":[{}]}}`, "1/2 S 0-5 w:n"},
		{"ClickHouse, some columns", `{"Timestamp":"2026-11-29 23:27:24.000000000","TraceId":"1","SpanId":"2","ParentSpanId":"1","SpanName":"n","SpanKind":"Client","ServiceName":"w","Duration":"5","StatusCode":"Error"}`, "1/2<1 C! 0-5 w:n; orphan; root-missing"},
		{"a span among other records, whose kind is said elsewhere", `{"kind":"span","traceId":"1","spanId":"2","name":"n","spanKind":"CLIENT","startTimeUnixNano":"10","endTimeUnixNano":"20","attributes":{},"status":{"code":1},"resource":{"attributes":{"service.name":"w"}}}` + "\n" + `{"spanKind":"SERVER","kind":"span","traceId":"1","spanId":"3","name":"n","startTimeUnixNano":"10","endTimeUnixNano":"20","resource":{"attributes":{"service.name":"w"}}}`, "1/2 C+ 0-10 w:n; 1/3 S 0-10 w:n"},
		{"OpenInference, the kind of the span", `{"name":"n","context":{"trace_id":"1","span_id":"2"},"span_kind":"SPAN_KIND_INTERNAL","parent_id":null,"start_time":"2026-11-29T23:27:24Z","end_time":"2026-11-29T23:27:24.000000005Z","status_code":"OK","attributes":{}}`, "1/2 I+ 0-5 :n"},
		{"a row of OTLP's fields with a column for the status", `{"trace_id":"1","span_id":"1","start_time_unix_nano":10,"end_time_unix_nano":20,"kind":2,"service_name":"w","status_code":2}`, "1/1 S! 0-10 w:"},
		{"a row of OTLP's fields with HTTP's status beside its own", `{"traceId":"1","spanId":"1","startTimeUnixNano":10,"durationNano":10,"serviceName":"w","status":{"code":2},"statusCode":200}`, "1/1 -! 0-10 w:"},
		{"a message that Redpanda's console shows", `[{"partitionID":0,"offset":1,"value":{"payload":` + in(`{"traceId":"1","spanId":"1",`+`"startTimeUnixNano":10,"endTimeUnixNano":20}`) + `,"encoding":"json"}}]`, "1/1 - 0-10 w:"},
		{"a message that Kafka UI shows", `[{"partition":0,"offset":1,"content":` + strconv.Quote(in(`{"traceId":"1","spanId":"1","startTimeUnixNano":10,"endTimeUnixNano":20}`)) + `}]`, "1/1 - 0-10 w:"},
		{"a span of Zipkin with nothing but a name and a start", `{"traceId":"1","id":"1","name":"get","timestamp":1795994844000000}`, "1/1 I 0-0 ?end :get; no-end"},
		{"a line of a log with ids is no span of Zipkin", `{"level":"info","id":"1","traceId":"1","timestamp":1795994844000,"message":"hi"}{"traceId":"1","id":"2","duration":3,"timestamp":1}`, "1/2 I 0-3000 :; unreadable"},
		{"a line of a log with a duration is none", `{"id":"1","traceId":"1","duration":12,"timestamp":1795994844000,"message":"done"}{"traceId":"1","id":"2","duration":3,"timestamp":1}`, "1/2 I 0-3000 :; unreadable"},
		{"Jaeger, a document of Logz.io", `{"traceID":"1","spanID":"2","operationName":"n","startTime":10,"duration":5,"JaegerTags":[{"key":"otel.status_code","value":"ERROR"}],"JaegerTag":{"span@kind":"server"},"process":{"serviceName":"w","tags":[]},"type":"jaegerSpan"}`, "1/2 S! 0-5000 w:n"},
		{"Zipkin 1, a server without times of its own", `[{"traceId":"1","id":"2","name":"n","annotations":[{"timestamp":15,"value":"ss","endpoint":{"serviceName":"b"}},{"timestamp":12,"value":"sr","endpoint":{"serviceName":"b"}}],"binaryAnnotations":[]}]`, "1/2 S 0-3000 b:n"},
		{"Zipkin 1, a client that got no answer", `[{"traceId":"1","id":"2","name":"n","annotations":[{"timestamp":12,"value":"cs","endpoint":{"serviceName":"b"}}]}]`, "1/2 C 0-0 ?end b:n; no-end"},
		{"Zipkin 1, a message", `[{"traceId":"1","id":"2","name":"n","annotations":[{"timestamp":12,"value":"ms","endpoint":{"serviceName":"b"}}]},{"traceId":"1","id":"3","name":"m","annotations":[{"timestamp":14,"value":"mr","endpoint":{"serviceName":"c"}}]}]`, "1/2 P 0-0 ?end b:n; 1/3 Q 2000-2000 ?end c:m; no-end"},
		// As Finagle and Linkerd 1 write them (zipkin2.v1.V1SpanConverter: events, where no ms or mr is).
		{"Zipkin 1, when a request was on the wire is no message", `[{"traceId":"1","id":"2","name":"n","annotations":[{"timestamp":10,"value":"cs","endpoint":{"serviceName":"a"}},{"timestamp":11,"value":"ws","endpoint":{"serviceName":"a"}},{"timestamp":18,"value":"wr","endpoint":{"serviceName":"a"}},{"timestamp":19,"value":"cr","endpoint":{"serviceName":"a"}}]}]`, "1/2 C 0-9000 a:n"},
		{"Zipkin 1, a message over an interval", `[{"traceId":"1","id":"2","name":"n","annotations":[{"timestamp":12,"value":"ms","endpoint":{"serviceName":"b"}},{"timestamp":13,"value":"ws","endpoint":{"serviceName":"b"}}]},{"traceId":"1","id":"3","name":"m","annotations":[{"timestamp":14,"value":"wr","endpoint":{"serviceName":"c"}},{"timestamp":17,"value":"mr","endpoint":{"serviceName":"c"}}]}]`, "1/2 P 0-1000 b:n; 1/3 Q 2000-5000 c:m"},
		// The example of zipkin.io/pages/data_model.html; jaegertracing/jaeger: cmd/collector/app/handler/testdata/zipkin_v1_merged_spans.json.
		{"Zipkin, core annotations without an endpoint", `[{"traceId":"1","id":"2","name":"n","timestamp":10,"duration":9,"localEndpoint":{"serviceName":"a"},"annotations":[{"timestamp":10,"value":"sr"},{"timestamp":19,"value":"ss"}]},{"traceId":"1","id":"3","parentId":"2","name":"m","timestamp":12,"duration":4,"localEndpoint":{"serviceName":"a"},"remoteEndpoint":{"serviceName":"db"},"annotations":[{"timestamp":12,"value":"cs"},{"timestamp":16,"value":"cr"}]}]`, "1/2 S 0-9000 a:n; 1/3<2 C 2000-6000 a:m"},
		{"Zipkin, both sides without an endpoint", `[{"traceId":"1","id":"2","name":"n","timestamp":10,"duration":9,"localEndpoint":{"serviceName":"a"},"annotations":[{"timestamp":10,"value":"cs"},{"timestamp":12,"value":"sr"},{"timestamp":15,"value":"ss"},{"timestamp":19,"value":"cr"}]}]`, "1/2 C 0-9000 a:n; 1/2 S 2000-5000 a:n"},
		{"Zipkin, a kind beside core annotations", `[{"traceId":"1","id":"2","kind":"CONSUMER","name":"n","timestamp":10,"duration":9,"localEndpoint":{"serviceName":"a"},"annotations":[{"timestamp":10,"value":"sr"},{"timestamp":12,"value":"error","endpoint":{"serviceName":"a"}}]}]`, "1/2 Q 0-9000 a:n"},
		{"zipkin#1790: a kind, and times in core annotations alone", `[{"traceId":"1","id":"2","kind":"SERVER","name":"n","localEndpoint":{"serviceName":"a"},"annotations":[{"timestamp":10,"value":"sr"},{"timestamp":19,"value":"ss"}]}]`, "1/2 S 0-9000 a:n"},
		{"Zipkin 1, a local span", `[{"traceId":"1","id":"2","name":"n","timestamp":1,"duration":2,"binaryAnnotations":[{"key":"lc","value":"job","endpoint":{"serviceName":"b"}}]}]`, "1/2 I 0-2000 b:n"},

		{"Go, a span that is open", `{"Name":"n","SpanContext":{"TraceID":"00000000000000000000000000000001","SpanID":"0000000000000001"},"Parent":{"SpanID":"0000000000000000"},"SpanKind":3,"StartTime":"2026-11-29T23:27:24.5+01:00","EndTime":"0001-01-01T00:00:00Z","Attributes":null,"Resource":null,"Status":{"Code":"Error"}}`, "1/1 C! 0-0 ?end :n; no-end"},
		{"Go, before 1.0", `[{"SpanContext":{"TraceID":"00000000000000000000000000000001","SpanID":"0000000000000002","TraceFlags":1},"ParentSpanID":"0000000000000001","SpanKind":3,"Name":"c","StartTime":"2021-03-01T00:00:00Z","EndTime":"2021-03-01T00:00:00.000000005Z","Attributes":null,"MessageEvents":null,"Links":null,"StatusCode":"Error","StatusMessage":"m","HasRemoteParent":false},` +
			`{"SpanContext":{"TraceID":"00000000000000000000000000000001","SpanID":"0000000000000001","TraceFlags":1},"ParentSpanID":"0000000000000000","SpanKind":2,"Name":"p","StartTime":"2021-03-01T00:00:00Z","EndTime":"2021-03-01T00:00:00.000000009Z","StatusCode":"Ok","StatusMessage":"","HasRemoteParent":false}]`, "1/1 S+ 0-9 :p; 1/2<1 C! 0-5 :c"},
		{"Go, codes of gRPC", `{"SpanContext":{"TraceID":"00000000000000000000000000000001","SpanID":"0000000000000001"},"ParentSpanID":"0000000000000000","SpanKind":2,"Name":"p","StartTime":"2020-03-01T00:00:00Z","EndTime":"2020-03-01T00:00:00.000000009Z","StatusCode":0,"StatusMessage":""}` +
			`{"SpanContext":{"TraceID":"00000000000000000000000000000001","SpanID":"0000000000000002"},"ParentSpanID":"0000000000000001","SpanKind":3,"Name":"c","StartTime":"2020-03-01T00:00:00Z","EndTime":"2020-03-01T00:00:00.000000005Z","StatusCode":2,"StatusMessage":"unknown"}` +
			`{"SpanContext":{"TraceID":"00000000000000000000000000000001","SpanID":"0000000000000003"},"ParentSpanID":"0000000000000002","SpanKind":1,"Name":"d","StartTime":"2020-03-01T00:00:00Z","EndTime":"2020-03-01T00:00:00.000000004Z","Status":14}` +
			`{"SpanContext":{"TraceID":"00000000000000000000000000000001","SpanID":"0000000000000004"},"ParentSpanID":"0000000000000002","SpanKind":1,"Name":"e","StartTime":"2020-03-01T00:00:00Z","EndTime":"2020-03-01T00:00:00.000000003Z","Status":0}`, "1/1 S 0-9 :p; 1/2<1 C! 0-5 :c; 1/3<2 I! 0-4 :d; 1/4<2 I 0-3 :e"},
		{"Python, a span that is open, old resource", `{"name":"n","context":{"trace_id":"0x00000000000000000000000000000001","span_id":"0x0000000000000001","trace_state":"{}"},"kind":"SpanKind.PRODUCER","parent_id":null,"start_time":"2026-11-29T23:27:24.000001Z","end_time":null,"status":{"status_code":"UNSET"},"attributes":null,"resource":{"service.name":"w"}}`, "1/1 P 0-0 ?end w:n; no-end"},
		{"ClickHouse, seconds since 1970", `{"Timestamp":"1795994844.000000010","TraceId":"1","SpanId":"1","ParentSpanId":"","SpanName":"n","SpanKind":"SPAN_KIND_CLIENT","ServiceName":"w","SpanAttributes":{},"Duration":5}`, "1/1 C 0-5 w:n"},
		{"ClickHouse, with progress", `{"progress":{"read_rows":"1"}}` + "\n" + `{"row":{"Timestamp":"1795994844.000000010","TraceId":"1","SpanId":"1","ParentSpanId":"","SpanName":"n","SpanKind":"Client","ServiceName":"w","SpanAttributes":{},"Duration":5}}` + "\n" + `{"progress":{"read_rows":"1"}}`, "1/1 C 0-5 w:n"},
		// open-telemetry/opentelemetry-collector-contrib: exporter/tinybirdexporter/internal/traces.go.
		{"Tinybird", `{"resource_attributes":{"service.name":"w"},"service_name":"w","scope_name":"s","trace_id":"00000000000000000000000000000001","span_id":"0000000000000001","parent_span_id":"","span_name":"n","span_kind":"Server","span_attributes":{"http.route":"/"},"start_time":"2026-11-29T23:27:24Z","end_time":"2026-11-29T23:27:24.000000007Z","duration":7,"status_code":"Error","status_message":"m","events_timestamp":["2026-11-29T23:27:24.000000005Z"],"events_name":["exception"],"events_attributes":[{"exception.type":"T"}],"links_trace_id":[],"links_span_id":[]}` + "\n" +
			`{"resource_attributes":{},"service_name":"w","trace_id":"00000000000000000000000000000001","span_id":"0000000000000002","parent_span_id":"0000000000000001","span_name":"m","span_kind":"Client","span_attributes":{},"start_time":"2026-11-29T23:27:24.000000001Z","end_time":"2026-11-29T23:27:24.000000001Z","status_code":"Unset","status_message":""}`, "1/1 S! 0-7 w:n; 1/2<1 C 1-1 w:m"},
		{"VictoriaTraces, the duration only", `{"trace_id":"1","span_id":"1","parent_span_id":"-","name":"n","kind":"3","start_time_unix_nano":"10","duration":"5","resource_attr:service.name":"w"}`, "1/1 C 0-5 w:n"},
		{"VictoriaTraces, no field of the resource", `{"trace_id":"1","span_id":"1","parent_span_id":"-","name":"n","kind":"3","status_code":"2","start_time_unix_nano":"10","end_time_unix_nano":"12","span_attr:http.route":"/"}`, "1/1 C! 0-2 :n"},
		{"VictoriaTraces, a status and no attribute", `{"trace_id":"1","span_id":"1","parent_span_id":"-","name":"n","status_code":"2","start_time_unix_nano":"10","end_time_unix_nano":"12"}`, "1/1 -! 0-2 :n"},
		{"VictoriaTraces, an event and no attribute", `{"event:event_name:0":"e","trace_id":"1","span_id":"1","parent_span_id":"-","name":"n","start_time_unix_nano":"10","end_time_unix_nano":"12"}`, "1/1 - 0-2 :n"},
		{"VictoriaTraces, the stream and no attribute", `{"_stream_id":"0","trace_id":"1","span_id":"1","parent_span_id":"-","name":"n","start_time_unix_nano":"10","duration":"2"}`, "1/1 - 0-2 :n"},
		{"VictoriaTraces, its index", `{"_stream":"{trace_id_idx_stream=\"1\"}","trace_id_idx":"1"}` + "\n" + `{"trace_id":"1","span_id":"1","name":"n","start_time_unix_nano":"10","end_time_unix_nano":"12","resource_attr:service.name":"w"}`, "1/1 - 0-2 w:n"},
		{"Quickwit, ids in base64", `{"trace_id":"AAAAAAAAAAAAAAAAAAAAAQ==","span_id":"AAAAAAAAAAE=","span_name":"n","span_kind":1,"span_start_timestamp_nanos":10,"span_end_timestamp_nanos":12,"service_name":"w"}`, "1/1 I 0-2 w:n"},
		{"a search in several of Elasticsearch", `{"responses":[{"hits":{"hits":[{"_source":{"traceID":"1","spanID":"1","operationName":"n","startTime":10,"duration":1,"process":{"serviceName":"w"}}}]}}]}`, "1/1 - 0-1000 w:n"},
		{"spans of Jaeger's API, version 3", `{"spans":` + three[0] + `}`, brief(readText(t, three[0]))},
		{"a request as Go marshals the struct", `{"resource_spans":[{"resource":{"attributes":[{"key":"service.name","value":{"Value":{"StringValue":"w"}}}]},"scope_spans":[{"spans":[{"trace_id":"AAAAAAAAAAAAAAAAAAAAAQ==","span_id":"AAAAAAAAAAE=","name":"n","kind":2,"start_time_unix_nano":10,"end_time_unix_nano":12,"status":{"code":2}}]}]}]}`, "1/1 S! 0-2 w:n"},
		{"a status that is its code", in(`{"traceId":"1","spanId":"1","startTimeUnixNano":1,"endTimeUnixNano":3,"status":"ERROR"},{"traceId":"1","spanId":"2","startTimeUnixNano":1,"endTimeUnixNano":3,"status":1}`), "1/1 -! 0-2 w:; 1/2 -+ 0-2 w:"},
		{"a request that was written down", `{"method":"POST","path":"/v1/traces","body":` + three[0] + `}`, brief(readText(t, three[0]))},
		{"a request that was written down as text", `{"method":"POST","path":"/v1/traces","body":` + strconv.Quote(three[0]) + `}`, brief(readText(t, three[0]))},
		{"a list of answers of Jaeger", `{"traces":[{"traceID":"1","spans":[` + embedded + `],"processes":{"p1":{"serviceName":"a"}}}]}`, "1/1 - 0-5000 a:p"},
		{"lists of Zipkin's spans in an envelope", `{"data":[[{"traceId":"1","id":"1","timestamp":1,"duration":1}],[],[{"traceId":"2","id":"1","timestamp":1,"duration":1}]]}`, "1/1 I 0-1000 :; 2/1 I 0-1000 :"},
		// TencentBlueKing/bk-log: apps/log_trace/views (documents of Jaeger in an answer of the log platform).
		{"documents of Jaeger in an answer's list", `{"code":0,"data":{"total":1,"list":[{"traceID":"1","spanID":"1","operationName":"p","startTime":10,"startTimeMillis":0,"duration":5,"tag":{"span@kind":"server"},"process":{"serviceName":"a"}}],"fields":{}},"result":true}`, "1/1 S 0-5000 a:p"},
		{"an entry of Cloud Logging", `[{"insertId":"x","jsonPayload":` + three[0] + `}]`, brief(readText(t, three[0]))},
		{"a row of a table, the resource an object", `{"trace_id":"1","span_id":"1","parent_span_id":null,"name":"n","kind":"SPAN_KIND_SERVER","start_time_unix_nano":1795994844000000000,"end_time_unix_nano":1795994844000000005,"status":{"code":"STATUS_CODE_ERROR"},"resource":{"attributes":{"service.name":"w"}},"instrumentation_scope":{"name":"s"}}`, "1/1 S! 0-5 w:n"},
		{"a row of a table, the service a column", `{"trace_id":"1","span_id":"1","name":"n","kind":2,"start_time_unix_nano":"1795994844000000000","end_time_unix_nano":"1795994844000000005","service_name":"w"}`, "1/1 S 0-5 w:n"},
		// plengauer/Thoth: demos/injection_deep_node/README.md.
		{"OpenTelemetry's shell", `{"trace_id":"1","span_id":"1","parent_span_id":null,"name":"n","kind":"SERVER","status":"ERROR","time_start":1795994844000000000,"time_end":1795994844000000005,"attributes":{"shell.command":"n"},"resource_attributes":{"service.name":"w"},"links":[],"events":[]}` + "\n" +
			`{"trace_id":"1","span_id":"2","parent_span_id":"1","name":"m","kind":"CLIENT","status":"UNSET","time_start":1795994844000000001,"time_end":1795994844000000004,"attributes":{},"resource_attributes":{"service.name":"v"},"links":[],"events":[]}`, "1/1 S! 0-5 w:n; 1/2<1 C 1-4 v:m"},
		{"Vector, of a resource without attributes", `{"dropped_attributes_count":0,"end_time_unix_nano":null,"ingest_timestamp":"2026-11-29T23:27:25Z","kind":2,"name":"n","parent_span_id":"","span_id":"0000000000000001","start_time_unix_nano":"2026-11-29T23:27:24Z","status":null,"trace_id":"00000000000000000000000000000001"}`, "1/1 S 0-0 ?end :n; no-end"},
		{"what Faro sends", `{"meta":{},"logs":[],"traces":` + three[0] + `}`, brief(readText(t, three[0]))},
		{"a list of spans that are documents", `{"spans":[{"traceId":"1","spanId":"1","name":"n","startTime":"2026-11-29T23:27:24Z","durationInNanos":5,"serviceName":"w"}]}`, "1/1 - 0-5 w:n"},
		{"what the client of CloudWatch Logs writes", `{"events":[{"logStreamName":"default","timestamp":1,"message":"{\"resource\":{\"attributes\":{\"service.name\":\"w\"}},\"traceId\":\"1\",\"spanId\":\"1\",\"name\":\"n\",\"kind\":\"SERVER\",\"startTimeUnixNano\":10,\"endTimeUnixNano\":12,\"status\":{\"code\":\"ERROR\"}}"}],"searchedLogStreams":[]}`, "1/1 S! 0-2 w:n"},
		{"Phoenix, whose status is in the span", `[{"name":"n","context":{"trace_id":"1","span_id":"1"},"span_kind":"LLM","parent_id":null,"start_time":"2026-11-29T23:27:24+00:00","end_time":"2026-11-29T23:27:25+00:00","status_code":"ERROR","status_message":"m","attributes":{},"events":[]}]`, "1/1 -! 0-1000000000 :n"},
		// With private fields, as Qwen Code, Gemini CLI and VS Code's Copilot write it; of a span that is
		// open the end is [0,0]. Other times are copies of it, as in tests of Arize-ai/openinference.
		{"JavaScript's SDK, version 1", `{"_spanContext":{"traceId":"1","spanId":"2"},"parentSpanId":"1","kind":2,"name":"n","startTime":[1795994844,5],"endTime":[1795994844,9],"resource":{"_attributes":{"service.name":"w"},"_syncAttributes":{"service.name":"x"}},"instrumentationLibrary":{"name":"i"},"links":[],"events":[],"status":{"code":2,"message":"m"}}`, "1/2<1 C! 0-4 w:n; orphan; root-missing"},
		{"JavaScript's SDK, a span that is open", `{"_spanContext":{"traceId":"1","spanId":"2"},"kind":4,"name":"n","startTime":[1795994844,5],"endTime":[0,0],"duration":[-1,-1],"resource":{"attributes":{"service.name":"w"}},"status":{"code":0}}`, "1/2 Q 0-0 ?end w:n; no-end"},
		{"JavaScript's SDK, copied by hand", `[{"spanContext":{"traceId":"1","spanId":"2"},"kind":"SERVER","name":"n","startTime":"2026-11-29T23:27:24Z","duration":[1, 5],"events":null}]`, "1/2 S 0-1000000005 :n"},
		{"JavaScript's SDK, pretty, among its other signals", "{\n  \"hrTime\": [\n    1,\n    2\n  ],\n  \"hrTimeObserved\": [\n    1,\n    2\n  ],\n  \"spanContext\": {\n    \"traceId\": \"1\"\n  }\n}\n{\n  \"_spanContext\": {\n    \"traceId\": \"1\",\n    \"spanId\": \"2\"\n  },\n  \"name\": \"n\",\n  \"startTime\": [\n    1795994844,\n    5\n  ],\n  \"endTime\": [\n    1795994845,\n    0\n  ]\n}\n{\n  \"resource\": {},\n  \"scopeMetrics\": []\n}\n", "1/2 - 0-999999995 :n; other-signal"},
		{"JavaScript's console exporter, version 1, as JSON", `{"traceId":"1","parentId":"1","traceState":"","name":"n","id":"2","kind":1,"timestamp":1795994844000000.5,"duration":1.25,"attributes":{},"status":{"code":1},"events":[]}`, "1/2<1 S+ 0-1250 :n; orphan; root-missing"},
		// As tests of MLflow have its spans.
		{"MLflow, before version 3", `{"info":{"request_id":"tr-1"},"data":{"spans":[{"name":"n","context":{"trace_id":"0x01","span_id":"0x02"},"parent_id":null,"start_time":1795994844000000005,"end_time":1795994844000000009,"status_code":"OK","attributes":{}}]}}`, "1/2 -+ 0-4 :n"},
		{"a console, milliseconds", `{"name":"n","context":{"trace_id":"1","span_id":"2"},"parent_id":null,"start_time":1795994844000,"end_time":1795994844001.5}`, "1/2 - 0-1500000 :n"},
		{"a console, microseconds", `{"name":"n","context":{"trace_id":"1","span_id":"2"},"parent_id":null,"start_time":1795994844000000,"end_time":1795994844000002}`, "1/2 - 0-2000 :n"},
		{"rust#2065: ids of links as bytes", in(`{"traceId":"1","spanId":"2","name":"n","kind":3,"startTimeUnixNano":"1","endTimeUnixNano":"4","links":[{"traceId":[157,48,54,48,139,160,71,67,152,135,40,155,119,66,113,189],"spanId":[233,128,0,0,0,0,0,1]}]}`), "1/2 C 0-3 w:n"},
		{"ids as bytes everywhere", `{"resource_spans":[{"resource":{"attributes":[{"key":"service.name","value":{"value":{"StringValue":"w"}}}]},"scope_spans":[{"spans":[{"trace_id":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,2],"span_id":[0,0,0,0,0,0,0,3],"parent_span_id":[],"name":"n","kind":2,"start_time_unix_nano":1,"end_time_unix_nano":4},{"trace_id":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,1,2],"span_id":[ 0, 0, 0, 0, 0, 0, 0, 4 ],"parent_span_id":[0,0,0,0,0,0,0,3],"name":"m","start_time_unix_nano":1,"end_time_unix_nano":4}]}]}]}`, "102/3 S 0-3 w:n; 102/4<3 - 0-3 w:m"},
		{"a span behind a logger's text, after a line that is none", "java.io.IOException: closed\nINFO: " + `{"traceId":"1","spanId":"2","startTimeUnixNano":1,"endTimeUnixNano":2}`, "1/2 - 0-1 :; unreadable"},
		{"spans whose resource was cut off in front", `},{"traceId":"1","spanId":"2","startTimeUnixNano":1,"endTimeUnixNano":2}]}]},` + strings.TrimPrefix(in(`{"traceId":"1","spanId":"3","startTimeUnixNano":1,"endTimeUnixNano":2}`), `{"resourceSpans":[`), "1/3 - 0-1 w:; unreadable"},
		{"ids of no bytes", in(`{"traceId":[1,256],"spanId":"2"},{"traceId":[-1],"spanId":"2"},{"traceId":[1,"x"],"spanId":"2"},{"traceId":"1","spanId":"3","startTimeUnixNano":1,"endTimeUnixNano":2}`), "1/3 - 0-1 w:; unreadable"},
		{"a request as protobuf's own names have it", `{"resource_spans":[{"resource":{"attributes":[{"key":"service.name","value":{"value":{"string_value":"w"}}}]},"scope_spans":[{"spans":[{"trace_id":"1","span_id":"2","name":"n","start_time_unix_nano":1,"end_time_unix_nano":4}]}]}]}`, "1/2 - 0-3 w:n"},
		{"Jaeger's names, with durationMicros and parentId", `[{"traceId":"1","spanId":"3","parentId":"2","serviceName":"w","operationName":"n","startTime":"2026-11-29T23:27:24.000001Z","durationMicros":2000,"tags":{"span.kind":"client"},"processTags":{"host":"a"}}]`, "1/3<2 C 0-2000000 w:n; orphan; root-missing"},
		{"Jaeger's names, with an end in place of a duration", `{"traceId":"1","spanId":"2","operationName":"n","serviceName":"w","startTime":"2026-11-29T23:27:24Z","endTime":"2026-11-29T23:27:24.000005Z"}`, "1/2 - 0-5000 w:n"},
		{"protobuf of Jaeger as JSON, which leaves out a duration of zero", `{"traceId":"AAAAAAAAAAAAAAAAAAAAAQ==","spanId":"AAAAAAAAAAI=","operationName":"n","startTime":"2026-11-29T23:27:24Z","process":{"serviceName":"w"}}`, "1/2 - 0-0 w:n"},
		{"spans without a scope", `{"resourceSpans":[{"spans":[{"traceId":"1","spanId":"2","name":"n","startTimeUnixNano":"1","endTimeUnixNano":"4"}],"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"w"}}]}}]}`, "1/2 - 0-3 w:n"},
		// Of captures whose ids were replaced, as in openobserve/openobserve: tests/dbm-capture/fixtures, and made by
		// hand. The numbers are those of sha256sum.
		{"ids that are words", in(`{"traceId":"t1","spanId":"root","name":"n","startTimeUnixNano":1,"endTimeUnixNano":9},{"traceId":"t1","spanId":"span-1","parentSpanId":"root","name":"m","startTimeUnixNano":2,"endTimeUnixNano":3}`), "628b49d96dcde97a430dd4f597705899/4813494d137e1631 - 0-8 w:n; 628b49d96dcde97a430dd4f597705899/9ada893a7bf38e94<4813494d137e1631 - 1-2 w:m; label-id"},
		{"words that are no ids", in(`{"traceId":"undefined","spanId":"null","name":"n","startTimeUnixNano":1,"endTimeUnixNano":9},{"traceId":"undefined","spanId":"1","name":"m","startTimeUnixNano":2,"endTimeUnixNano":3}`), "/ - 0-8 w:n; /1 - 0-1 w:m; bad-id; empty-ids"},
		// As documents show a span, and programs pick them out.
		{"spans out of OTLP", `[{"traceId":"1","spanId":"2","name":"n","kind":"SPAN_KIND_SERVER","startTimeUnixNano":"1","endTimeUnixNano":"4","status":{"code":"STATUS_CODE_OK"},"attributes":{"http.route":"/"}},{"traceId":"1","spanId":"3","parentSpanId":"2","name":"m","startTimeUnixNano":2,"endTimeUnixNano":3,"attributes":[]}]`, "1/2 S+ 0-3 :n; 1/3<2 - 1-2 :m"},
		{"spans out of OTLP, the service among their attributes", `{"traceId":"1","spanId":"2","name":"n","startTimeUnixNano":"1","endTimeUnixNano":"4","attributes":[{"key":"a","value":{"stringValue":"b"}},{"key":"service.name","value":{"stringValue":"w"}}]}` + "\n" + `{"attributes":{"a":[1],"service.name":"v"},"traceId":"1","spanId":"3","parentSpanId":"2","name":"m","startTimeUnixNano":"2","endTimeUnixNano":"3"}`, "1/2 - 0-3 w:n; 1/3<2 - 1-2 v:m"},
		{"spans out of OTLP, with their service", `{"traceId":"1","spans":[{"serviceName":"w","traceId":"1","spanId":"2","name":"n","kind":2,"startTimeUnixNano":"1","endTimeUnixNano":"4"}]}`, "1/2 S 0-3 w:n"},
		{"a bad span costs itself, in any form", `[{"traceId":"1","id":"1","timestamp":"soon"},{"traceId":"1","id":"2","timestamp":1,"duration":1}]`, "1/2 I 0-1000 :; unreadable"},
		{"nor in one of snake case", "{\"resource_spans\":[{\"scope_spans\":[{\"spans\":[,\n {\"trace_id\":\"1\",\"span_id\":\"1\",\"start_time_unix_nano\":1}]}]}]}\n" + in(`{"traceId":"1","spanId":"2"}`), "1/2 - 0-0 ?start ?end w:; no-end; no-start; unreadable"},
		{"otel-cli, in an array", "[\n  {\n   \"trace_id\":\"1\",\"span_id\":\"1\",\"start_time_unix_nano\":1,\"end_time_unix_nano\":3}]", "1/1 - 0-2 :"},
		{"a line cut between values, and more", `{"traceId":"1","id":"1","timestamp":1,"duration":1}` + "\n" + `{"traceId":"1","id":"2","tags":{` + "\n" + `{"traceId":"1","id":"3","timestamp":1,"duration":1}` + "\n" + `{"traceId":"1","id":"4","timestamp":1,"duration":1}`, "1/1 I 0-1000 :; 1/3 I 0-1000 :; 1/4 I 0-1000 :; unreadable"},
		{"what is in a broken document of OTLP has no resource", "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[,\n {\"traceId\":\"1\",\"spanId\":\"1\",\"startTimeUnixNano\":1}]}]}]}\n" + in(`{"traceId":"1","spanId":"2"}`), "1/2 - 0-0 ?start ?end w:; no-end; no-start; unreadable"},
	}
	for _, test := range tests {
		if got := brief(readText(t, test.text)); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, got, test.want)
		}
	}
}

// The text of a status, and events, as Go's exporter wrote them before 1.0.
func TestOldStdouttrace(t *testing.T) {
	d := readText(t, `{"SpanContext":{"TraceID":"00000000000000000000000000000001","SpanID":"0000000000000001"},"ParentSpanID":"0000000000000000","SpanKind":1,"Name":"n","StartTime":"2021-03-01T00:00:00Z","EndTime":"2021-03-01T00:00:01Z",`+
		`"MessageEvents":[{"Name":"exception","Attributes":[{"Key":"exception.type","Value":{"Type":"STRING","Value":"Timeout"}}],"Time":"2021-03-01T00:00:00.5Z"}],"StatusCode":"Error","StatusMessage":"too late"}`)
	s := d.Traces[0].Spans[0]
	if got, want := fmt.Sprint(s.StatusText, ": ", s.Events), "too late: [{exception 500ms [{exception.type Timeout}]}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Links, and the name of a host, as Jaeger has them.
func TestJaegerLinksAndHost(t *testing.T) {
	d := readText(t, `{"data":[{"traceID":"1","spans":[{"traceID":"1","spanID":"2","operationName":"c","references":[{"refType":"CHILD_OF","traceID":"1","spanID":"6"},{"refType":"FOLLOWS_FROM","traceID":"1","spanID":"7"},`+
		`{"refType":"CHILD_OF","traceID":"9","spanID":"8"},{"refType":"CHILD_OF","traceID":"1","spanID":"6"}],"startTime":11,"duration":2,"processID":"p1","tags":[{"key":"b","type":"binary","value":"AAAwOQ=="},{"key":"n","type":"int64","value":"9223372036854775222"}]}],`+
		`"processes":{"p1":{"serviceName":"a","tags":[{"key":"hostname","type":"string","value":"h"}]}}}]}`)
	s := d.Traces[0].Spans[0]
	if want := []Link{{TraceID{15: 1}, SpanID{7: 7}}, {TraceID{15: 9}, SpanID{7: 8}}}; !slices.Equal(s.Links, want) {
		t.Errorf("links %v, want %v", s.Links, want)
	}
	if got := fmt.Sprint(s.Attrs, s.Resource.Attrs); got != "[{b AAAwOQ==} {n 9223372036854775222}] [{host.name h} {service.name a}]" {
		t.Errorf("attributes %s", got)
	}
}

// The fields of a log as an object, as tags may be.
func TestJaegerLogObject(t *testing.T) {
	d := readText(t, `{"traceID":"1","spanID":"2","operationName":"n","startTime":10,"duration":5,"tags":{"http.route":"/"},"logs":[{"timestamp":12,"fields":{"event":"exception","exception.type":"Timeout"}}],"process":{"serviceName":"a"}}`)
	s := d.Traces[0].Spans[0]
	if got := fmt.Sprint(s.Attrs, s.Events); got != "[{http.route /}] [{exception 2µs [{exception.type Timeout}]}]" {
		t.Errorf("attributes and events %s", got)
	}
}

// What is of no form is refused by name, with what would do.
func TestRefusals(t *testing.T) {
	for text, want := range map[string]string{
		`{"data":["frontend","driver"],"total":2}`:                        "an answer of Jaeger's or Aspire's API without traces: fetch them by id",
		`{"data":null,"errors":[{"code":404,"msg":"trace not found"}]}`:   "an answer of Jaeger's or Aspire's API without traces: fetch them by id",
		`{"traces":[{"traceID":"1","rootServiceName":"a"}],"metrics":{}}`: "a search result of Tempo's API",
		// Application Insights' agent for Java, at level debug.
		`{"level":"DEBUG","message":"exporting span","spanData":{"spanContext":{"traceId":"1"},"startEpochNanos":1}}`: "a line of Java's SDK with a span: export OTLP instead",
		// Formats of ClickHouse: JSONCompact, JSONColumnsWithMetadata, JSONStrings, JSONStringsEachRow,
		// JSONColumns, JSONObjectEachRow, JSONCompactEachRow with names and without.
		`{"meta":[{"name":"TraceId","type":"String"}],"data":[["1"]],"rows":1}`:                                 "use FORMAT JSONEachRow",
		`{"meta":[{"name":"TraceId","type":"String"}],"data":{"TraceId":["1"],"SpanAttributes":[{}]},"rows":1}`: "use FORMAT JSONEachRow",
		`{"meta":[],"data":[{"TraceId":"1","SpanAttributes":"{'a':'b'}"}],"rows":1}`:                            "maps as text: use FORMAT JSONEachRow",
		`{"Timestamp":"2026-11-29 23:27:24","TraceId":"1","SpanAttributes":"{'a':'b'}"}`:                        "maps as text: use FORMAT JSONEachRow",
		`{"Timestamp":"2026-11-29 23:27:24","TraceId":"1","SpanAttributes":{"a":"b"}}`:                          "without ParentSpanId, which would make a root of each span: select that column too",
		`{"TraceId":["1","2"],"SpanAttributes":[{"a":"b"},{}]}`:                                                 "columns of ClickHouse, or a row with its maps as arrays: use FORMAT JSONEachRow",
		`{"row_1":{"TraceId":"1","SpanAttributes":{}},"row_2":{}}`:                                              "rows of ClickHouse in one object: use FORMAT JSONEachRow",
		"[\"TraceId\", \"SpanAttributes\"]\n[\"String\", \"Map\"]\n[\"1\", {\"a\":\"b\"}]\n":                    "a JSON list of values (from ClickHouse: use FORMAT JSONEachRow), begins",
		"[\"2026-11-29 23:27:24\", \"1\", {\"a\":\"b\"}, [{\"a\":\"b\"}]]\n":                                    "a JSON list of values (from ClickHouse: use FORMAT JSONEachRow), begins",

		"STEF\x01\x02":             "a STEF file: convert it to OTLP",
		"ARROW1\x00\x00":           "OTAP or other Arrow data",
		"\xff\xff\xff\xff\x70\x00": "OTAP or other Arrow data",
		"\x08\x01\x12\x10\x0a\x01\x30\x10\x05\x1a\x09\xff\xff\xff\xff\x00": "OTAP or other Arrow data",
		"          \"name\": \"n\"\n        },\n        {\n          \"traceId\": \"1\",\n          \"spanId\": \"1\",\n          \"startTimeUnixNano\": \"1\"\n        }\n      ]\n":                                                   "a span without its resource: the beginning of the file is missing, or broken",
		"ready\n{\n  resource: {},\n  traceId: '50c4802f4c9801f8309ac859db62814e',\n}\n":                                                                                                                                                "output of JavaScript's console exporter",
		`{"level":30,"msg":"listening"}` + "\n{\n  resource: {},\n  traceId: '50c4802f4c9801f8309ac859db62814e',\n}\n" + `{"level":30,"msg":"bye"}`:                                                                                     "output of JavaScript's console exporter",
		"web-1  | {\nweb-1  |   resource: {},\nweb-1  |   traceId: '50c4802f4c9801f8309ac859db62814e',\nweb-1  | }\n":                                                                                                                   "output of JavaScript's console exporter",
		strings.Repeat("web-1     | listening\n", 4000) + "python-1  | {\npython-1  |     \"name\": \"n\",\npython-1  |     \"context\": {}\npython-1  | }\n":                                                                           "docker compose: write the log without them (docker compose logs --no-log-prefix)",
		"2026-11-29T23:27:24.795Z\tinfo\tTraces\t{\"spans\": 1}\n2026-11-29T23:27:24.795Z\tinfo\tResourceSpans #0\nResource SchemaURL: \nScopeSpans #0\n":                                                                               "output of the collector's debug exporter: use its file exporter",
		`{"level":"info","ts":1.7,"msg":"ResourceSpans #0\nResource SchemaURL: \nScopeSpans #0\n","kind":"exporter"}`:                                                                                                                   "output of the collector's debug exporter: use its file exporter",
		"Activity.TraceId:            404ddff248b8f9a9b21e347d68d2640e\nActivity.SpanId:  035858bc3c168885":                                                                                                                             "output of .NET's console exporter",
		"Resource SchemaURL: \nScopeSpans #0\nResourceSpans #0\n":                                                                                                                                                                       "output of the collector's debug exporter",
		"2024-03-12T20:00:41.123Z\tinfo\tResourceTraces #0 service.name=w\nScopeTraces #0 x\nn 82773a2999acb6574d8b6dc6c49e9ec5 16dd7c8a66a28e19\n\t{\"kind\": \"exporter\"}\n":                                                         "output of the collector's debug exporter",
		"[main] INFO io.opentelemetry.exporter.logging.LoggingSpanExporter - 'GET /' : 4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7 SERVER [tracer: x:1.0] AttributesMap{data={thread.id=31}, capacity=128, totalAddedValues=1}\n": "output of Java's logging exporter: use OTLP, or logging-otlp",
		"Spans\nResource\n\t ->  service.name=String(Owned(\"w\"))\nSpan #0\n\tInstrumentation Scope\n\t\tName         : \"x\"\n":                                                                                                       "output of Rust's stdout exporter",
		"Resource\n\t service.name=String(Owned(\"w\"))\nSpan #0\n\t Instrumentation Scope\n\t\t Name: \"x\"\n":                                                                                                                         "output of Rust's stdout exporter",
		"__________________\nSpan n:\nTraceId: 4bf92f3577b34da6a3ce929d0e0e4736\nSpanId: 00f067aa0ba902b7\nSpan kind: client\n":                                                                                                         "output of Swift's stdout exporter",
		"|-------------------- RESOURCE SPAN --------------------|\n  resource:\n     - attributes:\n":                                                                                                                                  "output of Fluent Bit's stdout: use its opentelemetry output",
		"[{'traceID': 'a', 'spans': []}]\n": "objects as Python prints them, which are no JSON: write them with json.dumps",
		"*SPANS FOR DEBUG*\n{span,20166012034345870243542337265349452373,9123456789123456789,[],undefined,\n      <<\"hello\">>,internal,1,2,\n": "output of Erlang's stdout exporter",
		"resourceSpans:\n  - resource: {}\n    scopeSpans:\n      - scope: {}\n":                                                                 "OTLP as YAML, as the collector's tests have it: make JSON of it (yq -o=json)",
		"---\nresourceSpans:\n  - resource: {}\n":                                                                                                "OTLP as YAML",
		"span_id,parent_id,service,start,end\n1,0,web,1,2\n":                                                                                     "a table (CSV)",
		"TraceID;SpanID;Name\n1;2;3\n":                                                                                                           "a table (CSV)",
		"  <html><body>login</body></html>":                                                                                                      "an HTML page",
		`{"traceId":"1","id":"2","name":"n","type":"generation","attributes":{}}`:                                                                "no span of a known form (id, traceId and attributes)",
		strings.Repeat(`{"data":[`, 9) + strings.Repeat(`]}`, 9):                                                                                 "too many envelopes in each other",
		"\xef\xbb\xbfversion https://git-lfs.github.com/spec/v1\n":                                                                               "a git-lfs pointer",
		"\xef\xbb\xbfActivity.TraceId:            404ddff248b8f9a9b21e347d68d2640e\n":                                                            "output of .NET's console exporter",
		strings.Repeat("\x00", 100_000) + "version https://git-lfs.github.com/spec/v1\n":                                                         "a git-lfs pointer",
	} {
		o := keepAll
		o.Stdin = strings.NewReader(text)
		if _, err := Read(t.Context(), []string{"-"}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: error %v, want %s", text, err, want)
		}
	}
	// What can be read in between is.
	if d := readText(t, `{"level":30,"msg":"listening"}`+"\n{\n  traceId: '50c4802f4c9801f8309ac859db62814e',\n}\n"+three[0]); d.Spans != 1 {
		t.Errorf("%d spans among the output of a console, want 1", d.Spans)
	}
	// In a folder they are notes.
	dir := t.TempDir()
	for i, content := range []string{three[0], "STEF\x01", "a,b,trace_id\n"} {
		writeTo(t, dir, fmt.Sprint(i), content)
	}
	if d := mustRead(t, keepAll, dir); d.Spans != 1 || note(d, Unreadable).Count != 2 {
		t.Errorf("%d spans, notes %+v, want one and two unreadable files", d.Spans, d.Notes)
	}
}
