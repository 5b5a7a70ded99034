package ingest

import "strings"

// A jsonForm tells a form of JSON by the keys of a top-level object.
type jsonForm struct {
	keys  string // all of these, divided by spaces
	first byte   // what the value of the first begins with; 0: anything
	// read consumes the object; nil: the form is known and not read. Where the
	// text breaks off within the object, it is called to save what came before.
	read func(*jsonText, *object)
	name string // for messages; with what would do where the form is not read, or nothing is in it
}

const (
	fetchByID   = " without traces: fetch them by id"
	tempoSearch = "a search result of Tempo's API, which holds no whole traces: fetch them by id, with /api/v2/traces/<id>"
)

// jsonForms are tried in order on each object at the top, or in an envelope,
// that is no OTLP (otlpKey).
var jsonForms = []jsonForm{
	// Envelopes first, and what is known by one key.
	{"trace processor", '{', nil, "a document of Elastic APM" + useOTLP},
	{"trace agent", '{', nil, "a document of Elastic APM" + useOTLP},
	{"schema data", '{', nil, "data frames of Grafana: fetch the trace from its data source, or export it from the view of the trace"},
	{"fields length", '[', nil, "data frames of Grafana: fetch the trace from its data source, or export it from the view of the trace"},
	{"results", '{', nil, "an answer of Grafana's query API: fetch the trace from its data source"},
	{"contexts", '{', nil, "an event of Sentry" + useOTLP},
	{"observations", '[', (*jsonText).inside, "a trace of Langfuse without observations"},
	{"trace", '{', (*jsonText).tempoTrace, "an answer of Tempo's API"},
	{"traces", '{', (*jsonText).inside, "an object with traces"},
	{"traces", '[', (*jsonText).inside, tempoSearch},
	{"rootServiceName traceID", 0, nil, tempoSearch},
	{"startTimeUnixNano traceID", 0, nil, tempoSearch},
	{"data meta rows", 0, (*jsonText).inside, "an answer of ClickHouse without rows as objects" + useEachRow},
	{"row", '{', (*jsonText).inside, "a row of ClickHouse"},
	{"progress", '{', (*jsonText).nothing, "progress of ClickHouse"},
	{"row_1", '{', nil, "rows of ClickHouse in one object" + useEachRow},
	{"data", 0, (*jsonText).inside, "an answer of Jaeger's or Aspire's API" + fetchByID},
	{"result", 0, (*jsonText).inside, "an answer of Jaeger's API, version 3" + fetchByID},
	{"responses", '[', (*jsonText).inside, "an answer of Elasticsearch" + fetchByID},
	{"hits", 0, (*jsonText).inside, "an answer of Elasticsearch or Quickwit" + fetchByID},
	{"_source", '{', (*jsonText).inside, "a document of Elasticsearch" + fetchByID},
	{"fields _index", '{', (*jsonText).inside, "a document of Elasticsearch" + fetchByID},
	{"scopeSpans", '[', (*jsonText).bareSpans, "a bare ResourceSpans"},
	{"scope_spans", '[', (*jsonText).bareSpans, "a bare ResourceSpans"},
	{"instrumentationLibrarySpans", '[', (*jsonText).bareSpans, "a bare ResourceSpans"},
	{"scopeLogs", '[', (*jsonText).otherSignals, "a bare ResourceLogs"},
	{"scopeMetrics", '[', (*jsonText).otherSignals, "a bare ResourceMetrics"},
	// Traces and spans.
	{"spans traceSegmentId", '[', nil, "a segment of SkyWalking" + useOTLP},
	{"data_binary time_bucket", '"', nil, "a segment of SkyWalking" + useOTLP},
	{"spans projectId", '[', nil, "a trace of Google Cloud" + useOTLP},
	{"spans root_id", '{', nil, "a trace of Datadog's UI" + useOTLP},
	{"spans processes", '[', (*jsonText).jaegerTrace, "a trace of Jaeger's UI"},
	{"spans traceID", '[', (*jsonText).jaegerTrace, "a trace of Jaeger's UI"},
	{"spans process", '[', (*jsonText).jaegerTrace, "a batch of Jaeger"},
	{"operationName traceIdLow", 0, (*jsonText).jaegerAlone, "a Jaeger span in the spelling of Thrift"},
	{"operationName spanID process", 0, (*jsonText).jaegerDocument, "a Jaeger document of Elasticsearch"},
	{"operationName spanID process.serviceName", 0, (*jsonText).jaegerDocument, "a Jaeger document of Elasticsearch"},
	{"operationName spanID", 0, (*jsonText).jaegerAlone, "a Jaeger span"},
	{"operationName spanId", 0, (*jsonText).jaegerAlone, "a Jaeger span"},
	{"_spanContext startTime", '{', (*jsonText).jsSpan, "a span of JavaScript's SDK"},
	{"spanContext startTime", '{', (*jsonText).jsSpan, "a span of JavaScript's SDK"},
	{"hrTime hrTimeObserved", 0, (*jsonText).otherSignals, "a log record of JavaScript's SDK"},
	{"message id traceId", '"', (*jsonText).logObject, "a line of a log without spans"},
	{"msg id traceId", '"', (*jsonText).logObject, "a line of a log without spans"},
	{"id traceId timestamp attributes", '"', (*jsonText).jsSpan, "a span of JavaScript's console exporter"},
	{"endTime id traceId startTime", 0, (*jsonText).plainSpanByID, "a span with its start and end"},
	{"id traceId attributes", '"', nil, "no span of a known form (id, traceId and attributes)" + useOTLP},
	{"id traceId startTime", '"', nil, "no span of a known form (id, traceId and startTime)" + useOTLP},
	{"id traceId", '"', (*jsonText).zipkinSpan, "a Zipkin span"},
	{"SpanContext StartTime", '{', (*jsonText).stdouttraceSpan, "a span of Go's stdouttrace"},
	{"context start_time", '{', (*jsonText).pythonSpan, "a span of Python's console exporter"},
	{"context parent_span_id start", '{', (*jsonText).phpSpan, "a span of PHP's console exporter"},
	{"durationInNanos spanId startTime", 0, (*jsonText).openSearchSpan, "a span of OpenSearch"},
	{"instrumentationScope spanId startTime", '{', (*jsonText).ss4oSpan, "a span of OpenSearch"},
	{"resource @timestamp span_id trace_id duration", '{', (*jsonText).elasticsearchSpan, "a span of Elasticsearch"},
	{"EndTimestamp @timestamp SpanId TraceId", '"', (*jsonText).elasticsearchOldSpan, "a span of Elasticsearch"},
	{"resource startTimeUnixNano spanId", '{', (*jsonText).cloudWatchSpan, "a span of CloudWatch"},
	{"time_start span_id trace_id", 0, (*jsonText).snakeSpan, "a span of OpenTelemetry's shell"},
	{"ingest_timestamp span_id start_time_unix_nano", 0, (*jsonText).snakeSpan, "a span of Vector"},
	{"SpanAttributes TraceId", '"', nil, "a row of ClickHouse with its maps as text" + useEachRow},
	{"SpanAttributes TraceId", '[', nil, "columns of ClickHouse, or a row with its maps as arrays" + useEachRow},
	{"SpanAttributes TraceId ParentSpanId", 0, (*jsonText).clickhouseRow, "a row of ClickHouse's otel_traces"},
	{"SpanAttributes TraceId", 0, nil, "a row of ClickHouse's otel_traces without ParentSpanId, which would make a root of each span: select that column too"},
	{"TraceId Duration ParentSpanId SpanId SpanName Timestamp", 0, (*jsonText).clickhouseRow, "a row of ClickHouse's otel_traces"},
	{"span_attributes span_name start_time trace_id", '{', (*jsonText).clickhouseRow, "a row of Tinybird"},
	{"resources_string duration_nano parent_span_id timestamp trace_id", '{', (*jsonText).signozRow, "a row of SigNoz"},
	{"resource duration_nano parent_span_id timestamp trace_id ts_bucket_start", '{', (*jsonText).signozRow, "a row of SigNoz"},
	{"stringTagMap durationNano parentSpanID timestamp traceID", '{', (*jsonText).signozRow, "a row of SigNoz"},
	{"references durationNano serviceName spanId startTimeUnixNano", '[', (*jsonText).signozRow, "a span of SigNoz"},
	{"tagMap durationNano serviceName spanId startTimeUnixNano", '{', (*jsonText).signozRow, "a span of SigNoz"},
	{"span_start_timestamp_nanos", 0, (*jsonText).quickwitRow, "a Quickwit document"},
	{"resource_attr: span_id", 0, (*jsonText).victoriaRow, "a row of VictoriaTraces"},
	{"span_attr: span_id", 0, (*jsonText).victoriaRow, "a row of VictoriaTraces"},
	{"event: span_id", 0, (*jsonText).victoriaRow, "a row of VictoriaTraces"},
	{"_stream_id span_id", 0, (*jsonText).victoriaRow, "a row of VictoriaTraces"},
	{"spans", 0, (*jsonText).spanList, "a list of spans"},
	{"trace_id_idx", 0, (*jsonText).nothing, "an index of VictoriaTraces"},
	{"resource start_time_unix_nano span_id", '{', (*jsonText).snakeSpan, "a span with its resource"},
	{"service_name start_time_unix_nano span_id", 0, (*jsonText).snakeSpan, "a span with its service"},
	{"serviceName startTimeUnixNano spanId", 0, (*jsonText).cloudWatchSpan, "a span with its service"},
	{"start_time_unix_nano span_id status_code", '"', (*jsonText).victoriaRow, "a row of VictoriaTraces"},
	{"status_code start_time_unix_nano span_id", 0, (*jsonText).snakeSpan, "a span with its status"},
	{"statusCode startTimeUnixNano spanId", 0, (*jsonText).cloudWatchSpan, "a span with its status"},
	{"start_time_unix_nano span_id", 0, (*jsonText).bareSpan, "a bare OTLP span"},
	{"startTimeUnixNano spanId", 0, (*jsonText).bareSpan, "a bare OTLP span"},
	{"index", '{', (*jsonText).nothing, "an action of Elasticsearch's bulk API"},
	{"create", '{', (*jsonText).nothing, "an action of Elasticsearch's bulk API"},
	{"spanData", '{', nil, "a line of Java's SDK with a span" + useOTLP},
	// Lines of a log.
	{"log", '"', (*jsonText).logObject, "a line of a log without spans"},
	{"message", '"', (*jsonText).logObject, "a line of a log without spans"},
	{"msg", '"', (*jsonText).logObject, "a line of a log without spans"},
	{"MESSAGE", '"', (*jsonText).logObject, "a line of a log without spans"},
	{"MESSAGE", 'n', nil, "a line that journalctl left out for its length: let it write all (journalctl --all -o json)"},
	{"MESSAGE", '[', nil, "a line that journalctl wrote as bytes: let it write text (journalctl -o cat)"},
	{"line", '"', (*jsonText).logObject, "a line of a log without spans"},
	{"@message", '"', (*jsonText).logObject, "a row of CloudWatch Logs Insights without spans"},
	{"@message", '{', (*jsonText).inside, "a row of CloudWatch Logs Insights without spans"},
	{"value field", '"', (*jsonText).insightsField, "a field of CloudWatch Logs Insights without spans"},
	{"Records", '[', (*jsonText).inside, "records of Kinesis without spans"},
	{"Data PartitionKey", '"', (*jsonText).logObject, "a record of Kinesis without spans"},
	{"payload", '"', (*jsonText).logObject, "a message of a broker without spans"},
	{"value offset", '"', (*jsonText).logObject, "a message of a broker without spans"},
	{"value offset", '{', (*jsonText).inside, "a message of a broker without spans"},
	{"content offset", '"', (*jsonText).logObject, "a message of a broker without spans"},
	{"model traceID timestamp", '"', (*jsonText).logObject, "a row of SigNoz or Jaeger without spans"},
	{"textPayload", '"', (*jsonText).logObject, "an entry of Cloud Logging without spans"},
	{"jsonPayload", '{', (*jsonText).inside, "an entry of Cloud Logging without spans"},
	// What others write for spans or traces, by keys that only they have.
	{"traceEvents", '[', nil, "events of Chrome or Perfetto, which trace a program and no requests" + useOTLP},
	{"ph ts", '"', nil, "events of Chrome or Perfetto, which trace a program and no requests" + useOTLP},
	{"Traces", '[', nil, "an answer of X-Ray's API" + useOTLP},
	{"TraceSummaries", '[', nil, "a search result of X-Ray's API" + useOTLP},
	{"Segments Id", '[', nil, "a trace of X-Ray" + useOTLP},
	{"subsegments start_time", '[', nil, "a segment of X-Ray" + useOTLP},
	{"segmentId traceId", '"', nil, "a span of SkyWalking" + useOTLP},
	{"transaction", '{', nil, "an event of Elastic's agents" + useOTLP},
	{"meta resource trace_id", '{', nil, "a span of Datadog's agents" + useOTLP},
	{"trace.trace_id", 0, nil, "an event of Honeycomb" + useOTLP},
	{"trace.id", 0, nil, "a span of New Relic or of Elastic APM" + useOTLP},
	{"guid traceId", '"', nil, "a span of New Relic" + useOTLP},
	{"baseType", '"', nil, "telemetry of Application Insights" + useOTLP},
	{"operation_Id", 0, nil, "a row of Application Insights" + useOTLP},
	{"tables", '[', nil, "an answer of Azure Monitor" + useOTLP},
	{"operation_name finish_time_us start_time_us", 0, nil, "a row of ClickHouse's system.opentelemetry_span_log" + useOTLP},
	{"attributes type", '{', nil, "an answer of Datadog's or Lightstep's API" + useOTLP},
	{"displayName spanId", '{', nil, "a span of Google Cloud" + useOTLP},
	{"local_endpoint id trace_id", '{', (*jsonText).zipkinSpan, "a Zipkin span in the spelling of protobuf"},
	{"binary_annotations annotations id trace_id", 0, (*jsonText).zipkinSpan, "a Zipkin span in the spelling of Thrift"},
	{"duration_nano trace_id", 0, nil, "a row of SigNoz or GreptimeDB" + useOTLP},
	{"columns events", '[', nil, "an answer of SigNoz's query API" + useOTLP},
	{"_timestamp trace_id", 0, nil, "a row of OpenObserve" + useOTLP},
	{"stream values", '{', nil, "an answer of Loki, which holds lines of logs in lists: let logcli write them (logcli query -o raw)"},
	{"summaries", '[', nil, "a search result of Jaeger's API, version 3" + fetchByID},
	{"callCount parent", 0, nil, "links between services, which are no traces: fetch them by id"},
	// What looks like a span and is of no form above.
	{"endTime startTime spanId", 0, (*jsonText).plainSpan, "a span with its start and end"},
	{"end_time start_time span_id", 0, (*jsonText).plainSpan, "a span with its start and end"},
	{"durationMs startTime spanId", 0, (*jsonText).plainSpan, "a span with its start and duration"},
	{"duration_ms start_time span_id", 0, (*jsonText).plainSpan, "a span with its start and duration"},
	{"spanContext", '{', nil, "no span of a known form (spanContext)" + useOTLP},
	{"results", '[', (*jsonText).inside, "an answer without spans"},
	{"rows queryName", 0, nil, "an answer of SigNoz's query API" + useOTLP},
	{"durationNano traceID", 0, nil, "an answer of SigNoz's query API" + useOTLP},
	{"list", '[', (*jsonText).inside, "an answer of SigNoz's query API" + useOTLP},
	{"traceID", 0, nil, "no span of a known form (traceID)" + useOTLP},
	{"traceId", 0, nil, "no span of a known form (traceId)" + useOTLP},
	{"trace_id", 0, nil, "no span of a known form (trace_id)" + useOTLP},
	{"TraceId", 0, nil, "no span of a known form (TraceId)" + useOTLP},
	{"TraceID", 0, nil, "no span of a known form (TraceID)" + useOTLP},
	{"spanId", 0, nil, "no span of a known form (spanId)" + useOTLP},
	{"span_id", 0, nil, "no span of a known form (span_id)" + useOTLP},
	{"events", '[', (*jsonText).inside, "an answer of CloudWatch Logs without spans"},
	{"logEvents", '[', (*jsonText).inside, "events of a subscription to CloudWatch Logs without spans"},
	{"body", '{', (*jsonText).inside, "a body without spans"},
	{"body", '"', (*jsonText).logObject, "a body without spans"},
	{"payload", '{', (*jsonText).inside, "a message without spans"},
	{"error", 0, nil, "an error that an API answered"},
}

// maxEnvelopes is how many envelopes of an API may lie in each other. An answer
// to several searches of Elasticsearch has five.
const maxEnvelopes = 6

// signKeys are the keys that jsonForms are told by, and those that readers of
// envelopes ask for.
var signKeys = func() map[string]string {
	keys := map[string]string{"status": "status", "message": "message"}
	for _, form := range jsonForms {
		for key := range strings.FieldsSeq(form.keys) {
			keys[key] = key
		}
	}
	return keys
}()
