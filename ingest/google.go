package ingest

import (
	"bytes"
	"encoding/binary"
)

// Google's Cloud Trace gives back traces in version 1 of its API, where an id of a span is a
// decimal number and the trace has the id that its spans share:
//
//	{"projectId":"p","traceId":"382d…","spans":[{"spanId":"2205310701640571284","kind":"RPC_SERVER","name":"n",
//	 "startTime":"2026-11-29T23:27:24.5Z","endTime":"…","parentSpanId":"1","labels":{"/http/method":"GET"}}]}
//
// In version 2 spans are written, each with its whole name; ids are hexadecimal:
//
//	{"name":"projects/p/traces/382d…/spans/00f0…","spanId":"00f0…","displayName":{"value":"n"},"spanKind":"SERVER",
//	 "attributes":{"attributeMap":{"/http/method":{"stringValue":{"value":"GET"}}}},…}
//
// Neither has a resource: OpenTelemetry's exporters put its attributes, and the name of the
// scope, among those of the span. The service is taken for what it is; what else was of the
// resource is not known. The names that they give to attributes are turned back.
//
// References: cloud.google.com/trace/docs/reference, v1 projects.traces and v2
// projects.traces.spans; GoogleCloudPlatform/opentelemetry-operations-go,
// exporter/trace/trace_proto.go.

// googleTrace reads a trace of version 1.
func (t *jsonText) googleTrace(o *object) {
	var id TraceID
	at := o.member("traceId")
	if at == 0 {
		return // the text breaks off before, and nobody knows whose spans they are
	}
	t.readAt(at, func() { t.id(id[:]) })
	t.readAt(o.member("spans"), func() {
		t.list(func() {
			t.peek()
			t.alone(t.pos, func(t *jsonText, r *record) {
				r.trace = id
				t.googleSpanFields(r)
			})
		})
	})
}

func (t *jsonText) googleSpanFields(r *record) {
	c := clock{}
	t.object(func(key []byte) {
		switch string(key) {
		case "spanId":
			t.decimalID(&r.span.ID)
		case "parentSpanId":
			t.decimalID(&r.span.ParentID)
		case "name":
			r.span.Name = t.cache.get(t.text())
		case "kind":
			r.span.Kind = kindOf(bytes.TrimPrefix(t.word(), []byte("RPC_")))
		case "startTime":
			c.start = t.instant()
		case "endTime":
			c.end = t.instant()
		case "labels":
			t.object(func(key []byte) { t.googleAttribute(r, key, func() { t.native(plain, 0) }) })
		default:
			t.skip()
		}
	})
	start, end := c.times()
	t.finish(r, start, end)
}

// decimalID reads an id that is a decimal number; 0 is none.
func (t *jsonText) decimalID(id *SpanID) {
	text := t.word()
	v, negative, ok := parseInteger(text)
	if len(text) > 0 && (!ok || negative) {
		t.fail("malformed span id")
	}
	binary.BigEndian.PutUint64(id[:], v)
}

// googleSpan reads a span of version 2.
func (t *jsonText) googleSpan(o *object) { t.alone(o.start, (*jsonText).googleFields) }

func (t *jsonText) googleFields(r *record) {
	c := clock{}
	t.object(func(key []byte) {
		switch string(key) {
		case "name":
			_, rest, _ := bytes.Cut(t.text(), []byte("/traces/"))
			id, _, _ := bytes.Cut(rest, []byte("/"))
			t.anyID(r.trace[:], t.pos, id)
		case "spanId":
			t.id(r.span.ID[:])
		case "parentSpanId":
			t.parent(r.span.ParentID[:], t.text())
		case "displayName":
			t.only("value", func() { r.span.Name = t.cache.get(t.text()) })
		case "spanKind":
			r.span.Kind = kindOf(t.word())
		case "startTime":
			c.start = t.instant()
		case "endTime":
			c.end = t.instant()
		case "attributes":
			t.googleAttributes(r)
		case "status": // a code of gRPC, 0 where nothing went wrong
			t.object(func(key []byte) {
				switch string(key) {
				case "code":
					if v, _, ok := parseInteger(t.word()); ok && v > 0 {
						r.span.Status = Error
					}
				case "message":
					r.span.StatusText = t.cache.get(t.text())
				default:
					t.skip()
				}
			})
		case "timeEvents":
			t.only("timeEvent", func() { t.list(t.googleEvent) })
		case "links":
			t.only("link", func() { t.list(t.linkOf) })
		default:
			t.skip()
		}
	})
	start, end := c.times()
	t.finish(r, start, end)
}

func (t *jsonText) googleEvent() {
	name, kept := t.wantEvent(nil)
	ns, attributes, some := int64(0), 0, false
	t.object(func(key []byte) {
		switch string(key) {
		case "time":
			ns, _ = instant(t.word())
		case "annotation":
			some = true
			t.object(func(key []byte) {
				switch string(key) {
				case "description":
					t.only("value", func() { name, kept = t.wantEvent(t.text()) })
				case "attributes":
					attributes = t.skipTo()
				default:
					t.skip()
				}
			})
		default: // among these messageEvent, which has no name
			t.skip()
		}
	})
	if !some || !kept || t.why != "" {
		return
	}
	from := len(t.held)
	t.readAt(attributes, func() { t.googleAttributes(nil) })
	t.putEvent(name, uint64(max(ns, 0)), from)
}

// googleAttributes reads the attributes of a span, or with r nil of an event, of version 2.
func (t *jsonText) googleAttributes(r *record) {
	t.only("attributeMap", func() {
		t.object(func(key []byte) {
			t.googleAttribute(r, key, func() {
				t.object(func(kind []byte) {
					if string(kind) == "stringValue" {
						t.only("value", func() { t.value = appendText(t.value, t.text(), plain) })
					} else {
						t.native(plain, 0)
					}
				})
			})
		})
	})
}

// googleAttribute reads an attribute whose text read makes t.value.
func (t *jsonText) googleAttribute(r *record, key []byte, read func()) {
	scope := r != nil && string(key) == "otel.scope.name"
	if name, ok := googleLabels[string(key)]; ok {
		key = []byte(name)
	}
	resource := r != nil && string(key) == serviceKey
	name, kept := t.want(key, resource)
	if !kept && !scope {
		t.skip()
		return
	}
	t.value = t.value[:0]
	read()
	switch {
	case t.why != "":
	case scope:
		r.span.Scope = t.cache.get(t.value)
	default:
		t.put(name, resource)
	}
}

// googleLabels are the names that Cloud Trace has for attributes.
var googleLabels = map[string]string{
	"/http/host":          "http.host",
	"/http/method":        "http.method",
	"/http/path":          "http.path",
	"/http/status_code":   "http.status_code",
	"/http/user_agent":    "http.user_agent",
	"g.co/gae/app/module": serviceKey,
}
