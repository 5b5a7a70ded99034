package ingest

import (
	"encoding/binary"
)

// protoBytes decodes the protobuf form of OTLP: TracesData, which is also
// ExportTraceServiceRequest. Fields may come in any order.
type protoBytes struct {
	*sink
	base int64 // offset of the message in the content of the file

	deferred [][2]int // scopes under the old number, see resourceSpans
}

// Field numbers of opentelemetry/proto/trace/v1, common/v1 and resource/v1.
const (
	fieldResourceSpans = 1 // TracesData

	fieldResource  = 1 // ResourceSpans
	fieldScopes    = 2
	fieldOldScopes = 1000 // InstrumentationLibrarySpans, the same layout

	fieldResourceAttrs = 1 // Resource

	fieldScope = 1 // ScopeSpans
	fieldSpans = 2

	fieldScopeName = 1 // InstrumentationScope

	fieldTraceID    = 1 // Span
	fieldSpanID     = 2
	fieldTraceState = 3
	fieldParentID   = 4
	fieldName       = 5
	fieldKind       = 6
	fieldStart      = 7
	fieldEnd        = 8
	fieldAttrs      = 9
	fieldStatus     = 15

	fieldMessage = 2 // Status
	fieldCode    = 3

	fieldKey   = 1 // KeyValue
	fieldValue = 2

	fieldString = 1 // AnyValue
	fieldBool   = 2
	fieldInt    = 3
	fieldDouble = 4
	fieldArray  = 5
	fieldMap    = 6
	fieldBytes  = 7
	fieldIndex  = 8

	fieldElements = 1 // ArrayValue, KeyValueList
)

// decode reads a message, or what is whole of one that is cut. It returns "",
// or why the message could not be read to its end and the bounds of what was
// lost.
func (p *protoBytes) decode(buf []byte, base int64, cut bool) (why string, from, to int64) {
	p.base = base
	for at := 0; at < len(buf); {
		f, end, why := next(buf, at)
		if why == endOfInput && cut && f.wire == wireLength && f.number == fieldResourceSpans && f.from > 0 && f.from <= len(buf) {
			_, kept := p.resourceSpans(buf[f.from:], f.from, true)
			return endOfInput, base + int64(kept), base + int64(len(buf))
		}
		if why != "" {
			return why, base + int64(at), base + int64(len(buf))
		}
		if f.number == fieldResourceSpans {
			if f.wire != wireLength {
				return "wrong wire type", base + int64(at), base + int64(len(buf))
			}
			if why, kept := p.resourceSpans(buf[f.from:f.to], f.from, false); why != "" {
				// Its length is known, so the next one can be read.
				p.unreadable(base+int64(kept), int64(f.to-kept), why)
			}
		}
		at = end
	}
	return "", 0, 0
}

// resourceSpans reads one ResourceSpans, which lies at the index in the
// message. If it breaks off, or is cut (more of it was to come), the spans
// before that are kept if the resource is known by then, and the index after
// them is returned.
//
// Scopes under the old number are read only if there are none under the new
// one: collectors wrote both for a while, with equal content.
func (p *protoBytes) resourceSpans(buf []byte, index int, cut bool) (why string, kept int) {
	from := len(p.records)
	p.owner.reset()
	p.deferred = p.deferred[:0]
	owned, scopes := false, 0
	kept = index
	at := 0
	for at < len(buf) {
		f, end, bad := next(buf, at)
		if bad == endOfInput && cut && f.number == fieldScopes && f.wire == wireLength && f.from > 0 && f.from <= len(buf) {
			var n int
			if _, n = p.scopeSpans(buf[f.from:], index+f.from); n > 0 {
				kept = n
			}
		}
		if bad != "" {
			why = bad
			break
		}
		if isKnown := f.number == fieldResource || f.number == fieldScopes || f.number == fieldOldScopes; isKnown && f.wire != wireLength {
			why = "wrong wire type"
			break
		}
		switch f.number {
		case fieldResource:
			if why = p.resourceMessage(buf[f.from:f.to]); why == "" {
				owned = true
			}
		case fieldScopes:
			scopes++
			var n int
			if why, n = p.scopeSpans(buf[f.from:f.to], index+f.from); n > 0 {
				kept = n
			}
		case fieldOldScopes:
			p.deferred = append(p.deferred, [2]int{f.from, f.to})
		}
		if why != "" {
			break
		}
		at = end
	}
	if scopes == 0 {
		for _, d := range p.deferred {
			if bad, n := p.scopeSpans(buf[d[0]:d[1]], index+d[0]); bad != "" {
				why, kept = bad, max(n, kept)
			}
		}
	}
	if why == "" && cut {
		why = endOfInput
	}
	if why != "" && !owned {
		p.forget(from)
		return why, index
	}
	resource := p.resource()
	for i := from; i < len(p.records); i++ {
		p.records[i].span.Resource = resource
	}
	p.found[p.index].spans += int64(len(p.records) - from)
	return why, kept
}

func (p *protoBytes) resourceMessage(buf []byte) (why string) {
	for at := 0; at < len(buf); {
		f, end, why := next(buf, at)
		if why != "" {
			return why
		}
		if f.number == fieldResourceAttrs {
			if f.wire != wireLength {
				return "wrong wire type"
			}
			if why := p.keyValue(buf[f.from:f.to], true); why != "" {
				return why
			}
		}
		at = end
	}
	return ""
}

// scopeSpans reads one ScopeSpans and returns the index after the last span
// read, 0 if there was none.
func (p *protoBytes) scopeSpans(buf []byte, index int) (why string, kept int) {
	from := len(p.records)
	scope := ""
	for at := 0; at < len(buf); {
		f, end, bad := next(buf, at)
		if bad != "" {
			why = bad
			break
		}
		switch f.number {
		case fieldScope:
			if f.wire != wireLength {
				why = "wrong wire type"
			} else {
				scope, why = p.scopeMessage(buf[f.from:f.to], scope)
			}
		case fieldSpans:
			if f.wire != wireLength {
				why = "wrong wire type"
				break
			}
			at := p.base + int64(index+f.from)
			if bad := p.spanMessage(buf[f.from:f.to], at); bad != "" {
				p.drop()
				p.unreadable(at, int64(f.to-f.from), bad)
			}
			kept = index + end
		}
		if why != "" {
			break
		}
		at = end
	}
	for i := from; i < len(p.records); i++ {
		p.records[i].span.Scope = scope
	}
	return why, kept
}

func (p *protoBytes) scopeMessage(buf []byte, name string) (string, string) {
	for at := 0; at < len(buf); {
		f, end, why := next(buf, at)
		if why != "" {
			return name, why
		}
		if f.number == fieldScopeName {
			if f.wire != wireLength {
				return name, "wrong wire type"
			}
			name = p.cache.get(buf[f.from:f.to])
		}
		at = end
	}
	return name, ""
}

// spanWires is the wire type each field of Span must have, by field number.
// Fields that are not read are checked no further.
var spanWires = [16]wire{
	fieldTraceID: wireLength, fieldSpanID: wireLength, fieldTraceState: wireLength, fieldParentID: wireLength,
	fieldName: wireLength, fieldKind: wireVarint, fieldStart: wireFixed8, fieldEnd: wireFixed8,
	fieldAttrs: wireLength, 10: wireVarint, 11: wireLength, 12: wireVarint, 13: wireLength, 14: wireVarint, fieldStatus: wireLength,
}

// spanMessage appends a record for the span, which the caller drops if
// something is wrong. Fields with a tag of one byte and a length below 128,
// which is nearly all of them, do without next.
func (p *protoBytes) spanMessage(buf []byte, position int64) (why string) {
	r := p.start(position)
	var start, end uint64
	for at := 0; at < len(buf); {
		var f field
		after := 0
		if tag := buf[at]; tag&0x87 == byte(wireLength) && at+1 < len(buf) && buf[at+1] < 0x80 && at+2+int(buf[at+1]) <= len(buf) {
			f = field{number: int32(tag >> 3), wire: wireLength, from: at + 2, to: at + 2 + int(buf[at+1])}
			after = f.to
		} else if tag&0x87 == byte(wireFixed8) && at+9 <= len(buf) {
			f = field{number: int32(tag >> 3), wire: wireFixed8, value: binary.LittleEndian.Uint64(buf[at+1:])}
			after = at + 9
		} else if f, after, why = next(buf, at); why != "" {
			return why
		}
		if uint32(f.number) < uint32(len(spanWires)) && f.wire != spanWires[f.number] {
			return "wrong wire type"
		}
		switch f.number {
		case fieldAttrs:
			if why := p.keyValue(buf[f.from:f.to], false); why != "" {
				return why
			}
		case fieldTraceID:
			p.id(r.trace[:], buf[f.from:f.to], position)
		case fieldSpanID:
			p.id(r.span.ID[:], buf[f.from:f.to], position)
		case fieldParentID:
			if n := f.to - f.from; n != 0 && n != len(SpanID{}) {
				return "malformed parent span id" // as good as none it would make a root
			}
			r.span.ParentID = SpanID{}
			copy(r.span.ParentID[:], buf[f.from:f.to])
		case fieldTraceState:
			r.span.TraceState = p.cache.get(buf[f.from:f.to])
		case fieldName:
			r.span.Name = p.cache.get(buf[f.from:f.to])
		case fieldKind:
			r.span.Kind = kindNumber(int32(f.value))
		case fieldStart:
			start = f.value
		case fieldEnd:
			end = f.value
		case fieldStatus:
			if why := p.status(buf[f.from:f.to], &r.span); why != "" {
				return why
			}
		}
		at = after
	}
	p.finish(r, start, end)
	return ""
}

// id copies an id. An empty one is none, and so is a malformed one, which is
// noted.
func (p *protoBytes) id(dst, src []byte, position int64) {
	clear(dst)
	if len(src) != 0 && len(src) != len(dst) {
		p.badID(position, string(src))
		return
	}
	copy(dst, src)
}

func kindNumber(v int32) Kind {
	if v < 0 || v > int32(Consumer) {
		return Unspecified
	}
	return Kind(v)
}

func statusNumber(v int32) Status {
	if v < 0 || v > int32(Error) {
		return Unset
	}
	return Status(v)
}

func (p *protoBytes) status(buf []byte, span *Span) (why string) {
	for at := 0; at < len(buf); {
		f, end, why := next(buf, at)
		if why != "" {
			return why
		}
		switch f.number {
		case fieldMessage:
			if f.wire != wireLength {
				return "wrong wire type"
			}
			span.StatusText = p.cache.get(buf[f.from:f.to])
		case fieldCode:
			if f.wire != wireVarint {
				return "wrong wire type"
			}
			span.Status = statusNumber(int32(f.value))
		}
		at = end
	}
	return ""
}
