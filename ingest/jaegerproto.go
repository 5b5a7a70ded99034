package ingest

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Jaeger's protobuf, as Kafka holds it (jaeger_proto): a span a message, the
// process in it. In a file they lie back to back, or with lengths in front, or in
// a Batch, as agents send them, whose process is that of all its spans.
//
// Reference: jaeger-idl, model.proto (package jaeger.api_v2).

// Field numbers of Jaeger's model.
const (
	jaegerTraceID    = 1 // Span
	jaegerSpanID     = 2
	jaegerName       = 3
	jaegerReferences = 4
	jaegerStart      = 6
	jaegerDuration   = 7
	jaegerTags       = 8
	jaegerLogs       = 9
	jaegerProcess    = 10

	jaegerBatchSpans   = 1 // Batch
	jaegerBatchProcess = 2
)

// isJaegerSpan takes a Span: an id of 16 bytes, one of 8, and a name.
func isJaegerSpan(head []byte) bool {
	return len(head) > 29 && head[0] == jaegerTraceID<<3|byte(wireLength) && head[1] == 16 &&
		head[18] == jaegerSpanID<<3|byte(wireLength) && head[19] == 8 && head[28] == jaegerName<<3|byte(wireLength)
}

// isJaegerBatch takes a Batch, which begins with a Span.
func isJaegerBatch(head []byte) bool {
	f, _, _ := next(head, 0)
	return f.number == jaegerBatchSpans && f.wire == wireLength && f.from > 0 && f.from < len(head) && isJaegerSpan(head[f.from:])
}

// readJaegerSpans reads spans that lie back to back: each begins where the
// number of the first field comes again.
func (f *source) readJaegerSpans() {
	base := f.offset
	buf := f.free.get(0)
	for f.broken == "" && f.ctx.Err() == nil {
		head, err := f.r.Peek(2 * binary.MaxVarintLen64)
		if len(head) == 0 {
			f.ended(err)
			break
		}
		field, end, why := next(head, 0)
		if field.number == jaegerTraceID && len(buf) >= blockSize {
			f.send(unit{decode: (*worker).jaegerSpans, data: buf, base: base})
			base, buf = f.offset, f.free.get(0)
		}
		if why != "" && (why != endOfInput || field.wire != wireLength || field.from == 0) || len(buf)+end > f.largest {
			if why == "" || why == endOfInput {
				why = tooLong
			}
			f.send(unit{decode: (*worker).jaegerSpans, data: buf, base: base, tail: why})
			f.skip(math.MaxInt64, why)
			return
		}
		buf = f.fill(buf, len(buf)+end)
	}
	f.send(unit{decode: (*worker).jaegerSpans, data: buf, base: base, tail: f.broken})
}

// readJaegerBatch reads one Batch, which is held whole: its process comes last.
func (f *source) readJaegerBatch() {
	buf := f.fill(f.free.get(0), f.largest)
	u := unit{decode: (*worker).jaegerBatch, data: buf, tail: f.broken}
	if f.broken == "" {
		u.tail = tooLong
	}
	f.send(u)
	f.skip(math.MaxInt64, tooLong)
}

// jaegerSpans decodes spans back to back. The last may be cut off.
func (w *worker) jaegerSpans(u unit) {
	for at := 0; at < len(u.data); {
		end := at
		for end < len(u.data) {
			f, to, why := next(u.data, end)
			if why != "" {
				w.cutOff(u.base+int64(at), int64(len(u.data)-at), why)
				return
			}
			if f.number == jaegerTraceID && end > at {
				break
			}
			end = to
		}
		w.jaegerSpan(u.data[at:end], u.base+int64(at), nil)
		at = end
	}
	if u.tail != "" && u.tail != endOfInput {
		w.cutOff(u.base+int64(len(u.data)), 0, u.tail)
	}
}

// jaegerBatch decodes a Batch. Without the process nobody knows whose the spans
// are that do not say so themselves.
func (w *worker) jaegerBatch(u unit) {
	var common *Resource
	why := fields(u.data, func(f field, body []byte) string {
		if f.number != jaegerBatchProcess || f.wire != wireLength {
			return ""
		}
		var why string
		common, why = w.json.jaegerProtoProcess(body)
		return why
	})
	_ = fields(u.data, func(f field, body []byte) string { // what broke was kept above
		if f.number == jaegerBatchSpans && f.wire == wireLength {
			w.jaegerSpan(body, u.base+int64(f.from), common)
		}
		return ""
	})
	switch {
	case why != "":
		w.cutOff(u.base, int64(len(u.data)), why)
	case u.tail != endOfInput:
		w.cutOff(u.base+int64(len(u.data)), 0, u.tail)
	}
}

// jaegerSpan decodes one span, at the offset. A bad one costs itself.
func (w *worker) jaegerSpan(buf []byte, at int64, common *Resource) {
	t := w.json
	r := t.start(at)
	resource, why := t.jaegerProtoSpan(buf, r, common)
	if why == "" && resource == nil {
		why = "a span without its process"
	}
	if why != "" {
		t.drop()
		t.unreadable(at, int64(len(buf)), why)
		return
	}
	r.span.Resource = resource
	t.found[t.index].spans++
	w.flush()
}

// fields calls use for each field of a message, with the bytes of those that
// have a length. It returns the first thing that is wrong.
func fields(buf []byte, use func(f field, body []byte) string) (why string) {
	for at := 0; at < len(buf); {
		f, end, why := next(buf, at)
		if why != "" {
			return why
		}
		var body []byte
		if f.wire == wireLength {
			body = buf[f.from:f.to]
		}
		if why := use(f, body); why != "" {
			return why
		}
		at = end
	}
	return ""
}

func (t *jsonText) jaegerProtoSpan(buf []byte, r *record, resource *Resource) (_ *Resource, why string) {
	t.jaeger.refs = t.jaeger.refs[:0]
	start, lasts := int64(0), int64(0)
	id := false
	why = fields(buf, func(f field, body []byte) (why string) {
		if f.number != 5 && f.wire != wireLength { // 5: flags
			return "wrong wire type"
		}
		switch f.number {
		case jaegerTraceID:
			t.protoID(r.trace[:], body, r.span.Position)
		case jaegerSpanID:
			id = true
			t.protoID(r.span.ID[:], body, r.span.Position)
		case jaegerName:
			r.span.Name = t.cache.get(body)
		case jaegerReferences:
			ref := jaegerRef{}
			why = fields(body, func(f field, body []byte) string {
				switch f.number {
				case 1:
					t.protoID(ref.trace[:], body, r.span.Position)
				case 2:
					t.protoID(ref.span[:], body, r.span.Position)
				case 3:
					ref.follows = f.value == 1
				}
				return ""
			})
			t.jaeger.refs = append(t.jaeger.refs, ref)
		case jaegerStart:
			start, why = protoTime(body)
		case jaegerDuration:
			lasts, why = protoTime(body)
		case jaegerTags:
			why = t.jaegerProtoTag(body, func() { t.putTag(&r.span, t.jaeger.key, false) })
		case jaegerLogs:
			why = t.jaegerProtoLog(body)
		case jaegerProcess:
			resource, why = t.jaegerProtoProcess(body)
		}
		return why
	})
	if why == "" && !id {
		why = "a span without span id"
	}
	if why != "" {
		return nil, why
	}
	t.jaegerParent(r)
	// Protobuf leaves out what is zero: a span that took no time has a duration
	// with nothing in it, or none.
	end := start + lasts
	if start <= 0 {
		start, end = 0, 0
	}
	t.finish(r, uint64(start), uint64(max(end, 0)))
	return resource, ""
}

// protoID copies an id. One of another length is none, and noted.
func (t *jsonText) protoID(dst, src []byte, position int64) {
	clear(dst)
	if len(src) != 0 && len(src) != len(dst) {
		t.badID(position, string(src))
		return
	}
	copy(dst, src)
}

// maxSeconds is how many seconds fit 63 bits of nanoseconds.
const maxSeconds = math.MaxInt64 / 1_000_000_000

// protoTime reads a Timestamp or a Duration, in nanoseconds.
func protoTime(buf []byte) (ns int64, why string) {
	why = fields(buf, func(f field, _ []byte) string {
		switch {
		case f.wire != wireVarint:
			return "wrong wire type"
		case f.number == 1 && int64(f.value) < maxSeconds && int64(f.value) > -maxSeconds:
			ns += int64(f.value) * 1e9
		case f.number == 2:
			ns += int64(int32(f.value))
		}
		return ""
	})
	return ns, why
}

func (t *jsonText) jaegerProtoProcess(buf []byte) (_ *Resource, why string) {
	t.owner.reset()
	why = fields(buf, func(f field, body []byte) string {
		switch {
		case f.number == 1 && len(body) > 0:
			t.field(serviceKey, body, true)
		case f.number == 2:
			return t.jaegerProtoTag(body, func() { t.putTag(nil, t.jaeger.key, true) })
		}
		return ""
	})
	if why != "" {
		return nil, why
	}
	return t.resource(), ""
}

// jaegerProtoTag reads a KeyValue and calls use with its key in t.jaeger.key and
// the text of its value in t.value.
func (t *jsonText) jaegerProtoTag(buf []byte, use func()) (why string) {
	j := &t.jaeger
	j.key = j.key[:0]
	kind, number, text := uint64(0), uint64(0), []byte(nil)
	why = fields(buf, func(f field, body []byte) string {
		switch f.number {
		case 1:
			j.key = append(j.key, body...)
		case 2:
			kind = f.value
		case 3, 7:
			text = body
		case 4, 5, 6:
			number = f.value
		}
		return ""
	})
	if why != "" {
		return why
	}
	t.value = t.value[:0]
	switch kind {
	case 1:
		t.value = appendBool(t.value, number != 0)
	case 2:
		t.value = appendInt(t.value, int64(number))
	case 3:
		t.value = appendDouble(t.value, math.Float64frombits(number), plain)
	case 4:
		t.value = appendBytes(t.value, text, plain)
	default:
		t.value = appendText(t.value, text, plain)
	}
	use()
	return ""
}

// jaegerProtoLog reads a Log, as jaegerLogs does.
func (t *jsonText) jaegerProtoLog(buf []byte) (why string) {
	if t.events == nil {
		return ""
	}
	at := int64(0)
	name, kept := t.wantEvent(nil)
	why = fields(buf, func(f field, body []byte) (why string) {
		switch f.number {
		case 1:
			at, why = protoTime(body)
		case 2:
			why = t.jaegerProtoTag(body, func() {
				if string(t.jaeger.key) == "event" {
					name, kept = t.wantEvent(bytes.Clone(t.value))
				}
			})
		}
		return why
	})
	if why != "" || !kept {
		return why
	}
	from := len(t.held)
	why = fields(buf, func(f field, body []byte) string {
		if f.number != 2 {
			return ""
		}
		return t.jaegerProtoTag(body, func() {
			if want, kept := t.want(t.jaeger.key, false); kept && string(t.jaeger.key) != "event" {
				t.put(want, false)
			}
		})
	})
	t.putEvent(name, uint64(max(at, 0)), from)
	return why
}
