package ingest

import "bytes"

// bareSpan reads a span that stands alone. The JSON server of otel-cli writes
// one a file, as Go marshals protobuf's struct: ids in base64, snake case, and a
// level more in values (goValue). What picks spans out of OTLP has lists of them in
// camel case. Nothing says whose span it is, unless it has the service among its own
// attributes. Within a document that broke it would be a piece of that, whose resource is
// lost.
func (t *jsonText) bareSpan(o *object) {
	if t.astray = t.astray || t.beheaded(o); t.astray { // what follows it in its line is such a piece too
		t.fail("a span without its resource")
		t.oddly(t.offsetOf(o.start), oddText(t.offsetOf(o.start), "a span without its resource: the beginning of the file is missing, or broken"), saysForm)
		return
	}
	t.alone(o.start, func(t *jsonText, r *record) {
		start := t.pos
		t.open('{')
		t.fields(r)
		if t.why == "" {
			end := t.pos
			t.pos = start
			t.only("attributes", t.serviceAmong)
			t.pos = end
		}
	})
}

// beheaded reports whether the object is the first of its file and in a list that has no beginning: the file was
// cut off before it, or before the comma that leads to it. Where each stands on a line of its own,
// commas behind them are a writer's.
func (t *jsonText) beheaded(o *object) bool {
	if t.base != 0 || t.lead > 0 || t.embedded {
		return false
	}
	before := bytes.Trim(bytes.TrimPrefix(t.buf[:o.start], bom), " \t\r\n")
	if len(before) > 0 {
		return before[0] == ',' && len(bytes.Trim(before, ", \t\r\n")) == 0
	}
	after := bytes.TrimLeft(t.buf[o.end:], " \t\r\n")
	if bytes.HasPrefix(after, []byte{']'}) {
		return true
	}
	next, follows := bytes.CutPrefix(after, []byte{','})
	if !follows {
		return false
	}
	blank := len(next) - len(bytes.TrimLeft(next, " \t\r\n"))
	return blank < len(next) && next[blank] == '{' && (blank == 0 || next[blank-1] != '\n')
}

// serviceAmong takes the service from the attributes of a span, an object or OTLP's list.
func (t *jsonText) serviceAmong() {
	if t.peek() == '{' {
		t.only(serviceKey, func() { t.serviceName(t.word()) })
		return
	}
	t.list(func() {
		is, at := false, 0
		t.object(func(key []byte) {
			switch string(key) {
			case "key":
				is = string(t.text()) == serviceKey
			case "value":
				at = t.skipTo()
			default:
				t.skip()
			}
		})
		if is {
			t.readAt(at, func() {
				t.value = t.value[:0]
				t.anyValue(0, plain, 0)
				t.serviceName(t.value)
			})
		}
	})
}

// goValue reads a member of an AnyValue as Go marshals the struct:
// {"Value":{"StringValue":"x"}}, or with the field's own name
// {"value":{"string_value":"x"}}, as others have it. It reports false for any other.
// Programs that write a request down so have it in whole documents, too.
func (t *jsonText) goValue(kind string, from int, s style, depth int) bool {
	switch kind {
	case "Value", "value":
		t.anyValue(from, s, depth+1)
		return true
	case "StringValue", "IntValue", "DoubleValue", "BoolValue", "BytesValue", "ArrayValue", "KvlistValue":
	default:
		return false
	}
	t.value = t.value[:from]
	switch kind {
	case "StringValue":
		t.value = appendText(t.value, t.text(), s)
	case "IntValue":
		t.integer(t.word(), s)
	case "DoubleValue":
		t.double(t.word(), s)
	case "BoolValue":
		t.boolean(t.word(), s)
	case "BytesValue":
		t.bytes(s)
	case "ArrayValue":
		t.array(s, depth+1)
	case "KvlistValue":
		t.kvlist(depth + 1)
	}
	return true
}
