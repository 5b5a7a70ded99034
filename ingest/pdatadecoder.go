package ingest

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// A Decoder says what decodes OTLP.
type Decoder string

const (
	// OwnDecoder is ours. The empty Decoder is it too.
	OwnDecoder Decoder = "own"
	// PdataDecoder is the collector's pdata, by which ours can be judged. It is
	// slower and takes less: a ResourceSpans of protobuf, or an object of OTLP
	// JSON, with one thing in it that pdata refuses is lost whole, and noted.
	//
	// Whole messages only go to it. What breaks off, an object in which pdata
	// finds no span (it does not know scopes under their old name), and every form
	// that is not OTLP as its specification has it (resourceSpans at the top or in
	// an envelope, or protobuf), is read by ours.
	//
	// pdata does not tell where a span stood: Span.Position is where the
	// ResourceSpans of protobuf, or the object of JSON, begins that it lies in.
	PdataDecoder Decoder = "pdata"
)

// maxPdataDepth is how deep arrays and maps may nest in what is given to pdata,
// which recurses without a bound: ten million levels end the program.
const maxPdataDepth = 10_000

const pdataTooDeep = "pdata: nested too deep"

// pdataObject gives the object of OTLP that begins at the index to pdata. It
// reports false, and has done nothing, if the object is not whole or pdata finds
// no span in it.
func (t *jsonText) pdataObject(start int) bool {
	probe := jsonScanner{buf: t.buf, pos: start, byLine: t.byLine}
	if !probe.skip() {
		return false
	}
	object := t.buf[start:probe.pos]
	at := t.offsetOf(max(start, t.lead))
	why := pdataTooDeep
	if !isDeep(object) {
		td, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(object)
		if err == nil && td.SpanCount() == 0 {
			return false
		}
		if why = pdataError(err); err == nil {
			t.fromTraces(td, func() int64 { return at })
		}
	}
	if why != "" {
		t.unreadable(at, int64(probe.pos-max(start, t.lead)), why)
	}
	t.saved = max(t.saved, probe.pos)
	return true
}

// isSpansKey reports whether pdata knows the key of the object at the top.
func isSpansKey(key []byte) bool {
	return string(key) == "resourceSpans" || string(key) == "resource_spans"
}

// isDeep reports whether brackets nest deeper than pdata may go. The text is
// one whole value.
func isDeep(b []byte) bool {
	depth := 0
	for at := 0; at < len(b); at++ {
		switch b[at] {
		case '"':
			j := jsonScanner{buf: b, pos: at}
			j.skipQuoted()
			at = j.pos - 1
		case '{', '[':
			if depth++; depth > maxPdataDepth {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// pdataField gives the one field of a TracesData to pdata. It returns "" or
// what is wrong with it.
func (p *protoBytes) pdataField(field []byte, at int64) (why string) {
	if isDeepMessage(field, messageTraces, 0) {
		return pdataTooDeep
	}
	td, err := new(ptrace.ProtoUnmarshaler).UnmarshalTraces(field)
	if err == nil {
		p.fromTraces(td, func() int64 { return at })
	}
	return pdataError(err)
}

func pdataError(err error) string {
	if err == nil {
		return ""
	}
	what, _, _ := strings.Cut(err.Error(), ", error found in") // and a piece of the input
	what, _, _ = strings.Cut(what, "\n")
	return "pdata: " + what
}

// The messages of OTLP on the way to a value.
type messageKind uint8

const (
	messageNone messageKind = iota
	messageTraces
	messageResourceSpans
	messageResource
	messageScopeSpans
	messageScope
	messageSpan
	messageEvent
	messageLink
	messageKeyValue
	messageAnyValue
	messageArray
	messageMap
)

// messageFields says which message a field of a message holds.
var messageFields = map[messageKind]map[int32]messageKind{
	messageTraces:        {fieldResourceSpans: messageResourceSpans},
	messageResourceSpans: {fieldResource: messageResource, fieldScopes: messageScopeSpans, fieldOldScopes: messageScopeSpans},
	messageResource:      {fieldResourceAttrs: messageKeyValue},
	messageScopeSpans:    {fieldScope: messageScope, fieldSpans: messageSpan},
	messageScope:         {3: messageKeyValue},
	messageSpan:          {fieldAttrs: messageKeyValue, fieldEvents: messageEvent, fieldLinks: messageLink},
	messageEvent:         {fieldEventAttrs: messageKeyValue},
	messageLink:          {4: messageKeyValue},
	messageKeyValue:      {fieldValue: messageAnyValue},
	messageAnyValue:      {fieldArray: messageArray, fieldMap: messageMap},
	messageArray:         {fieldElements: messageAnyValue},
	messageMap:           {fieldElements: messageKeyValue},
}

// isDeepMessage reports whether messages nest deeper than pdata may go.
func isDeepMessage(b []byte, kind messageKind, depth int) bool {
	if depth > maxPdataDepth {
		return true
	}
	fields := messageFields[kind]
	for at := 0; at < len(b); {
		f, end, why := next(b, at)
		if why != "" {
			return false // pdata stops here too
		}
		if inside := fields[f.number]; inside != messageNone && f.wire == wireLength && isDeepMessage(b[f.from:f.to], inside, depth+1) {
			return true
		}
		at = end
	}
	return false
}
