package ingest

import (
	"strings"
	"testing"
)

// What others write for spans or traces is refused by name, alone and behind what
// has no name. The keys are those of their documentation and their public test data.
func TestOthersByName(t *testing.T) {
	const id = `"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"`
	for text, want := range map[string]string{
		`[{"trace":{"id":"1"},"transaction":{"id":"2"},"processor":{"event":"transaction"}}]`:                                               "a document of Elastic APM: export OTLP",
		`{"hits":{"hits":[{"_source":{"trace":{"id":"1"},"agent":{"name":"go"},"span":{"id":"2"}}}]}}`:                                      "a document of Elastic APM: export OTLP",
		`{"metadata":{"service":{"name":"x"}}}` + "\n" + `{"transaction":{"id":"1","duration":32.5}}`:                                       "an event of Elastic's agents: export OTLP",
		`[{"schema":{"refId":"A","fields":[]},"data":{"values":[["1"]]}}]`:                                                                  "data frames of Grafana: fetch",
		`[{"fields":[{"name":"traceID","values":["1"]}],"length":1,"meta":{}}]`:                                                             "data frames of Grafana: fetch",
		`{"results":{"A":{"status":200,"frames":[]}}}`:                                                                                      "an answer of Grafana's query API: fetch",
		`{"status":"success","data":{"resultType":"streams","result":[{"stream":{"a":"b"},"values":[["1","x"]]}]}}`:                         "an answer of Loki, which holds lines of logs in lists: let logcli",
		`{"event_id":"1","dsn":"x"}` + "\n" + `{"type":"transaction"}` + "\n" + `{"contexts":{"trace":{` + id + `}},"spans":[]}`:            "an event of Sentry: export OTLP",
		`{"data":{"trace":{"spans":[{"traceId":"a.1","segmentId":"s","spanId":0,"parentSpanId":-1,"startTime":1}]}}}`:                       "a span of SkyWalking: export OTLP",
		`[{"traceId":"a","traceSegmentId":"b","service":"w","spans":[{"spanId":0,"operationName":"n","startTime":1}]}]`:                     "a segment of SkyWalking: export OTLP",
		`{"hits":{"hits":[{"_source":{` + id + `,"segment_id":"a.1","data_binary":"CgwK","time_bucket":20200224012553}}]}}`:                 "a segment of SkyWalking: export OTLP",
		`{"traceEvents":[{"name":"a","ph":"X","ts":1,"dur":2}]}`:                                                                            "events of Chrome or Perfetto",
		`[{"name":"a","ph":"B","ts":1},{"name":"a","ph":"E","ts":3}]`:                                                                       "events of Chrome or Perfetto",
		`{"Traces":[{"Id":"1-5759e988-bd862e3fe1be46a994272793","Segments":[{"Id":"1","Document":"{}"}]}]}`:                                 "an answer of X-Ray's API: export OTLP",
		`{"Id":"1-5759e988-bd862e3fe1be46a994272793","Duration":0.3,"Segments":[{"Id":"1","Document":"{}"}]}`:                               "a trace of X-Ray: export OTLP",
		`{"name":"n","id":"1","start_time":1.5,` + id + `,"end_time":1.7,"subsegments":[{"id":"2","name":"m"}]}`:                            "a segment of X-Ray: export OTLP",
		`{"name":"n","id":"1","start_time":1.5,` + id + `,"end_time":1.7,"origin":"AWS::EC2::Instance","http":{"response":{"status":200}}}`: "a segment of X-Ray: export OTLP",
		`{"TraceSummaries":[{"Id":"1-5759e988-bd862e3fe1be46a994272793"}]}`:                                                                 "a search result of X-Ray's API: export OTLP",
		`[[{"trace_id":1,"span_id":2,"parent_id":0,"resource":"r","start":3,"duration":4,"error":0,"meta":{}}]]`:                            "a span of Datadog's agents: export OTLP",
		`{"trace":{"root_id":"1","spans":{"1":{"trace_id":"1","span_id":"1","start":1.5,"service":"w","meta":{}}}},"orphaned":[]}`:          "a trace of Datadog's UI: export OTLP",
		`{"data":[{"id":"A","type":"spans","attributes":{` + id + `}}]}`:                                                                    "an answer of Datadog's or Lightstep's API: export OTLP",
		`[{"time":"2026-11-29T23:27:24Z","data":{"trace.trace_id":"1","duration_ms":1.5}}]`:                                                 "an event of Honeycomb: export OTLP",
		`[{"common":{"attributes":{}},"spans":[{"trace.id":"1","id":"2","attributes":{"duration.ms":1}}]}]`:                                 "a span of New Relic or of Elastic APM: export OTLP",
		`[{"type":"Span","guid":"1","traceId":"2","timestamp":1795994844000,"duration":2,"name":"n","category":"generic"},{},{}]`:           "a span of New Relic: export OTLP",
		// ClickHouse's documentation, system.opentelemetry_span_log.
		`{"trace_id":"cdab0847-0d62-61d5-4d38-dd65b19a1914","span_id":"701487461015578150","parent_span_id":"2991972114672045096","operation_name":"DB::Block::run()","kind":"INTERNAL","start_time_us":"1612374594529090","finish_time_us":"1612374594529108","attribute":{}}`: "a row of ClickHouse's system.opentelemetry_span_log: export OTLP",
		`[{"itemType":"request","operation_Id":"1","id":"2","operation_ParentId":"3","name":"n","duration":1.5}]`: "a row of Application Insights without itemType, timestamp",
		`{"name":"x","time":"t","data":{"baseType":"RequestData","baseData":{"id":"1"}}}`:                         "telemetry of Application Insights: export OTLP",
		`{"__CURSOR":"s=1","MESSAGE":null,"_PID":"1"}`:                                                            "a line that journalctl left out for its length: let it write all",
		`{"__CURSOR":"s=1","MESSAGE":[123,34],"_PID":"1"}`:                                                        "a line that journalctl wrote as bytes: let it write text",
		"\xff\xfe\x00\x00{\x00\x00\x00\"\x00\x00\x00":                                                             "UTF-32: make UTF-8 of it",
		`{"tables":[{"name":"PrimaryResult","columns":[],"rows":[]}]}`:                                            "an answer of Azure Monitor without rows",
		`{"status":"success","data":{"spans":[{"timestamp":1,"duration_nano":1,"span_id":"1",` + id + `}]}}`:      "a row of SigNoz or GreptimeDB: export OTLP",
		// Without the column of the parent; the API's milliseconds.
		`{"timestamp":"2026-11-29 23:27:24","duration_nano":1,"span_id":"1","resources_string":{},` + id + `}`:                      "a row of SigNoz or GreptimeDB: export OTLP",
		`{"timestamp":1795994844000,"duration_nano":1,"span_id":"1","parent_span_id":"","attributes":{},"resource":{},` + id + `}`:  "a row of SigNoz or GreptimeDB: export OTLP",
		`{"result":[{"queryName":"A","list":[{"timestamp":"t","data":{"spanID":"1","traceID":"2","durationNano":3,"name":"n"}}]}]}`: "an answer of SigNoz's query API: export OTLP",
		`{"status":"success","data":{"result":[{"queryName":"A","list":[]}]}}`:                                                      "an answer of SigNoz's query API: export OTLP",
		`{"status":"success","data":{"type":"raw","data":{"results":[{"queryName":"A","rows":[{"data":{"span_id":"1"}}]}]}}}`:       "an answer of SigNoz's query API: export OTLP",
		`[{"startTimestampMillis":1,"columns":["SpanId"],"events":[["1"]]}]`:                                                        "an answer of SigNoz's query API: export OTLP",
		`{"took":1,"hits":[{"_timestamp":1,` + id + `,"span_id":"1","start_time":1}]}`:                                              "a row of OpenObserve that is no span or not a whole one",
		`{"hits":[{"operation_name":"n","span_kind":"2","span_id":"1","start_time":1,"end_time":2,"_timestamp":1,` + id + `}]}`:     "a row of OpenObserve that is no span or not a whole one",
		`{"data":[{"timestamp":1,"timestamp_end":2,"duration_nano":1,"span_id":"1",` + id + `}],"execution_time_ms":1}`:             "a row of GreptimeDB without span_id or parent_span_id",
		`{"output":[{"affectedrows":1}],"execution_time_ms":1}`:                                                                     "JSON of no known form",
		`{"_time":"2026-11-29T23:27:24Z","duration":"1ms","span_id":"1",` + id + `}`:                                                "a row of Axiom or VictoriaTraces without span_id",
		`{"format":"legacy","matches":[{"_time":"t","data":{}}],"datasetNames":["traces"]}`:                                         "an answer of Axiom in its old format",
		`{"data":[{"start_timestamp":"2026-11-29T23:27:24Z","end_timestamp":"2026-11-29T23:27:24Z","span_name":"n",` + id + `}]}`:   "a row of Logfire without duration",
		`{"TimeGenerated":"2026-11-29T23:27:24Z","OperationId":"1","Name":"n"}`:                                                     "a row of Application Insights without Type",
		`{"summaries":[{"traceId":"1","spanCount":2}]}`:                                                                             "a search result of Jaeger's API, version 3 without traces: fetch them by id",
		`{"data":[{"parent":"a","child":"b","callCount":3}]}`:                                                                       "links between services",
		`{"error":{"httpCode":404,"message":"No traces found"}}`:                                                                    "an error that an API answered",
		`[{"id":"1","traceId":"2","type":"SPAN","startTime":"2026-11-29T23:27:24Z"}]`:                                               "no span of a known form (id, traceId and startTime): export OTLP",
		`{"traces":[{"service":"w","spans":[{"span_id":"s-1","service":"w","operation":"GET /","duration_ms":320}]}]}`:              "no span of a known form (span_id): export OTLP",
		`{"trace_id":"1","span_id":"2","timestamp":"2026-11-29T23:27:24Z","duration_ms":5.5}`:                                       "no span of a known form (trace_id): export OTLP",
		`{"x":1}` + "\n" + `{"start_time":"2026-11-29T23:27:24Z","response_code":200,` + id + `}`:                                   "no span of a known form (trace_id): export OTLP",
	} {
		o := keepAll
		o.Stdin = strings.NewReader(text)
		if _, err := Read(t.Context(), []string{"-"}, o); err == nil || !strings.HasPrefix(err.Error(), "-: "+want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}
