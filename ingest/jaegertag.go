package ingest

import (
	"encoding/base64"
	"encoding/hex"
)

// jaegerTags reads the tags of a span or, with span nil, of a process.
func (t *jsonText) jaegerTags(span *Span, resource bool) {
	t.eachTag(func() { t.putTag(span, t.jaeger.key, resource) })
}

// eachTag calls use for each tag of an array, with the key in t.jaeger.key and the text
// of the value in t.value. Some stores and writers make an object of it, stores with @
// for a dot.
func (t *jsonText) eachTag(use func()) {
	if t.peek() != '{' {
		t.list(func() { t.tag(use) })
		return
	}
	t.object(func(key []byte) {
		t.jaeger.key = appendDotted(t.jaeger.key[:0], key)
		t.value = t.value[:0]
		t.native(plain, 0)
		if t.why == "" {
			use()
		}
	})
}

// tag reads {"key":…,"type":…,"value":…}, or as protobuf has it
// {"key":…,"vType":…,"vStr":…}, and calls use as eachTag does. Thrift's are like protobuf's,
// with a truth value that may be a number.
func (t *jsonText) tag(use func()) {
	j, at, truth := &t.jaeger, 0, false
	j.key, j.kind = j.key[:0], j.kind[:0]
	t.object(func(key []byte) {
		switch string(key) {
		case "key":
			j.key = append(j.key, t.text()...)
		case "type", "vType", "v_type":
			j.kind = append(j.kind, t.word()...)
		case "value", "vStr", "vBool", "vInt64", "vFloat64", "vBinary", "v_str", "v_bool", "v_int64", "v_float64", "v_binary", "vLong", "vDouble":
			at = t.skipTo()
			truth = string(key) == "vBool"
		default:
			t.skip()
		}
	})
	t.value = t.value[:0]
	if at == 0 {
		// Protobuf leaves out what is zero.
		switch string(j.kind) {
		case "BOOL", "1":
			t.value = append(t.value, "false"...)
		case "INT64", "2", "FLOAT64", "3":
			t.value = append(t.value, '0')
		}
	}
	t.readAt(at, t.nativeOfOne)
	switch {
	case truth && string(t.value) == "0":
		t.value = append(t.value[:0], "false"...)
	case truth && string(t.value) == "1":
		t.value = append(t.value[:0], "true"...)
	}
	if string(j.kind) == "binary" && t.jaeger.documents {
		if raw, err := hex.AppendDecode(nil, t.value); err == nil {
			t.value = base64.StdEncoding.AppendEncode(t.value[:0], raw)
		}
	}
	if t.why == "" {
		use()
	}
}

// appendDotted appends the name of a tag that is a field of Elasticsearch or
// OpenSearch, where @ stands for a dot.
func appendDotted(dst, key []byte) []byte {
	from := len(dst)
	dst = append(dst, key...)
	for i, c := range dst[from:] {
		if c == '@' {
			dst[from+i] = '.'
		}
	}
	return dst
}

// putTag stores t.value as the value of the tag.
func (t *jsonText) putTag(span *Span, key []byte, resource bool) {
	if span != nil && t.spanField(span, key) {
		return
	}
	if resource && string(key) == "hostname" {
		key = []byte("host.name") // Jaeger's clients and agents; OpenTelemetry's name
	}
	if name, kept := t.want(key, resource); kept {
		t.put(name, resource)
	}
}

// spanField takes t.value where the tag is what OpenTelemetry makes of a field
// that Jaeger and Zipkin do not have, or OpenTracing's of the same meaning.
//
// Reference: OpenTelemetry specification, "OpenTelemetry to Jaeger" and
// "OpenTelemetry to Zipkin transformation".
func (t *jsonText) spanField(span *Span, key []byte) bool {
	switch string(key) {
	case "span.kind":
		span.Kind = kindOf(t.value)
	case "error":
		// In Zipkin the value is the message, and any but false means an error.
		switch text := string(t.value); text {
		case "false":
		case "", "true":
			span.Status = Error
		default:
			span.Status = Error
			if span.StatusText == "" {
				span.StatusText = t.cache.get(t.value)
			}
		}
	case "otel.status_code":
		if s := statusOf(t.value); s > span.Status {
			span.Status = s
		}
	case "otel.status_description":
		span.StatusText = t.cache.get(t.value)
	case "otel.scope.name", "otel.library.name":
		span.Scope = t.cache.get(t.value)
	case "w3c.tracestate":
		span.TraceState = t.cache.get(t.value)
	case "otel.scope.version", "otel.library.version", "internal.span.format":
	default:
		return false
	}
	return true
}
