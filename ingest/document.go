package ingest

import "bytes"

// Stores and logs keep a span as a document of its own, with its resource in it
// and its attributes as an object. The writers read here name a field alike, or
// otherwise; none gives one name two meanings or units, so that one reader serves
// all:
//
//   - Data Prepper and the collector's OpenSearch exporter, in the indexes
//     otel-v1-apm-span and ss4o_traces: startTime and endTime as RFC 3339,
//     durationInNanos. Data Prepper may write attributes as fields of the
//     document, span.attributes.http@method, where @ stands for a dot;
//   - the collector's Elasticsearch exporter, mapping mode otel: @timestamp and
//     duration in nanoseconds. Events are documents of another index;
//   - CloudWatch's log group aws/spans: OTLP's names, attributes as an object;
//   - Vector's source opentelemetry: OTLP's names in snake case, times as RFC 3339
//     all the same, the resource's attributes under resources;
//   - tables whose columns are OTLP's fields, as Databricks has them: in snake case,
//     the resource as an object or its service as a column, the status in two columns;
//   - OpenTelemetry's shell (Thoth): time_start and time_end, the status as a word;
//   - the collector's Splunk exporter (splunk.go): start_time and end_time.
//
// References: Data Prepper, docs/schemas/trace-analytics; the collector's
// exporter/opensearchexporter (sso_model.go, otelv1_model.go) and
// exporter/elasticsearchexporter (otelserializer/traces.go); Vector,
// lib/opentelemetry-proto/src/spans.rs.

var (
	openSearchEvent = documentEvent("time", instant)
	ss4oEvent       = documentEvent("@timestamp", instant)
	cloudWatchEvent = documentEvent("timeUnixNano", nanosOrInstant)
	snakeEvent      = documentEvent("time_unix_nano", nanosOrInstant)
	splunkSpanEvent = documentEvent("timestamp", nanosOrInstant)
)

// documentEvent returns the form of events whose time has the name.
func documentEvent(time string, at func([]byte) (int64, bool)) eventForm {
	return eventForm{"name", time, "attributes", at, func(t *jsonText) { t.documentAttributes(false) }}
}

// nanosOrInstant reads nanoseconds since 1970, or RFC 3339.
func nanosOrInstant(text []byte) (ns int64, ok bool) {
	if ns, ok = scaled(text, 0); ok {
		return ns, ok
	}
	return instant(text)
}

func (t *jsonText) openSearchSpan(o *object)    { t.document(o, &openSearchEvent) }
func (t *jsonText) ss4oSpan(o *object)          { t.document(o, &ss4oEvent) }
func (t *jsonText) elasticsearchSpan(o *object) { t.document(o, nil) }
func (t *jsonText) cloudWatchSpan(o *object)    { t.document(o, &cloudWatchEvent) }
func (t *jsonText) snakeSpan(o *object)         { t.document(o, &snakeEvent) }

// document reads a span whose events have the form; nil: it has none.
func (t *jsonText) document(o *object, events *eventForm) {
	t.alone(o.start, func(t *jsonText, r *record) { t.documentFields(r, events) })
}

func (t *jsonText) documentFields(r *record, events *eventForm) {
	c, stamp := clock{}, int64(0)
	t.object(func(key []byte) {
		switch string(key) {
		case "traceId", "trace_id":
			t.id(r.trace[:])
		case "spanId", "span_id":
			t.id(r.span.ID[:])
		case "parentSpanId", "parent_span_id":
			t.parent(r.span.ParentID[:], t.idText())
		case "traceState", "trace_state":
			r.span.TraceState = t.cache.get(t.text())
		case "name":
			r.span.Name = t.cache.get(t.text())
		case "kind", "span_kind", "spanKind": // kind may say that this is a span
			if k := kindOf(t.word()); k != Unspecified {
				r.span.Kind = k
			}
		case "startTime":
			c.start = t.instant()
		case "endTime":
			c.end = t.instant()
		case "startTimeUnixNano", "start_time_unix_nano", "time_start", "start_time":
			c.start = t.nanosOrInstant()
		case "endTimeUnixNano", "end_time_unix_nano", "time_end", "end_time":
			c.end = t.nanosOrInstant()
		case "@timestamp": // beside startTime the same, or Go's zero time
			stamp = t.milliNanos()
		case "duration", "durationNano", "duration_nano", "durationInNanos":
			c.duration, c.lasts = t.nanos()
		case "status":
			t.status(&r.span)
		case "status.code", "status_code", "statusCode":
			if s := statusOf(t.word()); s > r.span.Status { // it may be HTTP's, beside the other
				r.span.Status = s
			}
		case "status.message", "status_message", "statusMessage":
			r.span.StatusText = t.cache.get(t.text())
		case "serviceName", "service_name":
			t.serviceName(t.text())
		case "resource", "resources":
			t.documentResource()
		case "attributes", "span_attributes", "spanAttributes":
			t.documentAttributes(false)
		case "resource_attributes", "resourceAttributes":
			t.documentAttributes(true)
		case "scope", "instrumentationScope", "instrumentation_scope":
			t.only("name", func() { r.span.Scope = t.cache.get(t.text()) })
		case "instrumentationScope.name", "scope.name", "scope_name", "scopeName":
			r.span.Scope = t.cache.get(t.text())
		case "events":
			if events == nil {
				t.skip()
			} else {
				t.eventsOf(events)
			}
		case "links":
			t.list(t.linkOf)
		default: // among these traceGroup, data_stream and the counts of what was dropped
			t.flatAttribute(key)
		}
	})
	if c.start == 0 {
		c.start = stamp
	}
	start, end := c.times()
	t.finish(r, start, end)
}

// flatAttribute reads an attribute that is a field of the document, or skips another field.
func (t *jsonText) flatAttribute(key []byte) {
	if name, ok := bytes.CutPrefix(key, []byte("resource.attributes.")); ok {
		t.documentAttribute(name, true)
	} else if name, ok := bytes.CutPrefix(bytes.TrimPrefix(key, []byte("span.")), []byte("attributes.")); ok {
		t.documentAttribute(name, false)
	} else {
		t.skip()
	}
}

func (t *jsonText) nanosOrInstant() int64 {
	ns, ok := nanosOrInstant(t.word())
	if !ok {
		t.fail("malformed time")
	}
	return ns
}

// documentResource reads {"attributes":{…},"schemaUrl":""}, or in ss4o_traces the
// attributes alone.
func (t *jsonText) documentResource() {
	t.object(func(key []byte) {
		switch string(key) {
		case "attributes":
			t.documentAttributes(true)
		case "schemaUrl", "schema_url", "droppedAttributesCount", "dropped_attributes_count":
			t.skip()
		default:
			t.documentAttribute(key, true)
		}
	})
}

// documentAttributes reads an object whose members are attributes, or OTLP's list.
// The OpenSearch exporter puts the name of the index among them.
func (t *jsonText) documentAttributes(resource bool) {
	if t.peek() == '[' {
		t.attributes(resource)
		return
	}
	t.object(func(key []byte) {
		if string(key) == "data_stream" {
			t.skip()
		} else {
			t.documentAttribute(key, resource)
		}
	})
}

// documentAttribute reads an attribute, or an object that stands for several whose
// names begin with the key.
func (t *jsonText) documentAttribute(key []byte, resource bool) {
	t.path = appendDotted(t.path[:0], key)
	if t.peek() == '{' {
		t.path = append(t.path, '.')
		t.flatten(resource, 1)
		return
	}
	t.nativeAttribute(t.path, resource)
}

// milliNanos reads a point in time as the Elasticsearch exporter writes it: the
// milliseconds since 1970, a dot, and the nanoseconds in the millisecond, as a
// number whose leading zeros are left out. Stores may give RFC 3339 instead.
func (t *jsonText) milliNanos() int64 {
	text := t.word()
	whole, rest, _ := bytes.Cut(text, []byte("."))
	ms, ok := scaled(whole, 6)
	if !ok {
		ns, ok := instant(text)
		if !ok {
			t.fail("malformed time")
		}
		return ns
	}
	ns, ok := scaled(rest, 0)
	if len(rest) > 0 && (!ok || ns >= 1e6) {
		t.fail("malformed time")
	}
	return ms + ns
}
