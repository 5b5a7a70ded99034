package ingest

import (
	"encoding/binary"
	"math"
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

type wire uint8

const (
	wireVarint   wire = 0
	wireFixed8   wire = 1
	wireLength   wire = 2
	wireGroup    wire = 3
	wireEndGroup wire = 4
	wireFixed4   wire = 5
)

// A field is one field of a message. from and to are the bounds of its bytes
// in the message (for a varint and a fixed number too); they may not be looked
// at where the wire type is not what the reader wants.
type field struct {
	number   int32
	wire     wire
	from, to int
	value    uint64 // of a varint or a fixed number
}

// next reads the field at buf[at:]. It returns the index after it, and "" or
// what is wrong. The bounds of a field that is cut off are left as they should
// be, beyond len(buf).
func next(buf []byte, at int) (f field, end int, why string) {
	tag, n := uvarint(buf[at:])
	if n <= 0 {
		return f, at, varintFailure(n)
	}
	at += n
	f.number, f.wire = int32(tag>>3), wire(tag&7)
	if f.number <= 0 {
		return f, at, "illegal field number"
	}
	f.from = at
	switch f.wire {
	case wireVarint:
		f.value, n = uvarint(buf[at:])
		if n <= 0 {
			return f, at, varintFailure(n)
		}
		f.to = at + n
	case wireFixed8:
		f.to = at + 8
		if f.to <= len(buf) {
			f.value = binary.LittleEndian.Uint64(buf[at:])
		}
	case wireFixed4:
		f.to = at + 4
		if f.to <= len(buf) {
			f.value = uint64(binary.LittleEndian.Uint32(buf[at:]))
		}
	case wireLength:
		size, n := uvarint(buf[at:])
		if n <= 0 {
			return f, at, varintFailure(n)
		}
		if size > math.MaxInt32 {
			return f, at, "length beyond 2 GiB"
		}
		f.from = at + n
		f.to = f.from + int(size)
	case wireGroup:
		f.to, why = endOfGroup(buf, at)
		if why != "" {
			return f, at, why
		}
	default:
		return f, at, "illegal wire type"
	}
	if f.to > len(buf) {
		return f, f.to, endOfInput
	}
	return f, f.to, ""
}

func varintFailure(n int) string {
	if n == 0 {
		return endOfInput
	}
	return "number beyond 64 bits"
}

// uvarint is binary.Uvarint for ten bytes of which the last may hold bits that
// do not fit: protobuf drops them.
func uvarint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	for i, c := range b {
		if i == 10 {
			return 0, -1
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
	}
	if len(b) >= 10 {
		return 0, -1
	}
	return 0, 0
}

// endOfGroup returns the index after the group whose fields begin at at.
// Groups are not in OTLP; they can only be in fields nobody knows.
func endOfGroup(buf []byte, at int) (int, string) {
	for depth := 1; depth > 0; {
		tag, n := uvarint(buf[at:])
		if n <= 0 {
			return at, varintFailure(n)
		}
		switch wire(tag & 7) {
		case wireGroup:
			depth++
			at += n
		case wireEndGroup:
			depth--
			at += n
		default:
			_, end, why := next(buf, at)
			if why != "" {
				return at, why
			}
			at = end
		}
	}
	return at, ""
}

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
			if !rawID(r.trace[:], buf[f.from:f.to]) {
				return "malformed trace id"
			}
		case fieldSpanID:
			if !rawID(r.span.ID[:], buf[f.from:f.to]) {
				return "malformed span id"
			}
		case fieldParentID:
			if !rawID(r.span.ParentID[:], buf[f.from:f.to]) {
				return "malformed parent span id"
			}
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

// rawID copies an id. An empty one is none.
func rawID(dst, src []byte) bool {
	clear(dst)
	return len(src) == 0 || copy(dst, src) == len(dst) && len(src) == len(dst)
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

// keyValue reads an attribute. The value may come before the key, so both are
// found before the value is looked into.
func (p *protoBytes) keyValue(buf []byte, resource bool) (why string) {
	var key, value []byte
	values := 0
	if key, value = usualPair(buf); key != nil {
		name, kept := p.want(key, resource)
		if !kept {
			return ""
		}
		p.value = p.value[:0]
		if why = p.anyValue(value, 0, plain, 0); why == "" {
			p.put(name, resource)
		}
		return why
	}
	for at := 0; at < len(buf); {
		f, end, why := next(buf, at)
		if why != "" {
			return why
		}
		if f.number == fieldKey || f.number == fieldValue {
			if f.wire != wireLength {
				return "wrong wire type"
			}
			if f.number == fieldKey {
				key = buf[f.from:f.to]
			} else {
				value = buf[f.from:f.to]
				values++
			}
		}
		at = end
	}
	name, kept := p.want(key, resource)
	if !kept {
		return ""
	}
	p.value = p.value[:0]
	if values == 1 {
		why = p.anyValue(value, 0, plain, 0)
	} else if values > 1 {
		why = p.allValues(buf, 0, plain, 0)
	}
	if why == "" {
		p.put(name, resource)
	}
	return why
}

// usualPair splits a KeyValue of the usual shape: a key and a value in either
// order, both shorter than 128 bytes. It returns nil for any other.
func usualPair(b []byte) (key, value []byte) {
	if len(b) < 4 || b[1] >= 0x80 {
		return nil, nil
	}
	n := 2 + int(b[1])
	if len(b) < n+2 || b[n+1] >= 0x80 || len(b) != n+2+int(b[n+1]) {
		return nil, nil
	}
	const keyTag, valueTag = fieldKey<<3 | byte(wireLength), fieldValue<<3 | byte(wireLength)
	switch {
	case b[0] == keyTag && b[n] == valueTag:
		return b[2:n], b[n+2:]
	case b[0] == valueTag && b[n] == keyTag:
		return b[n+2:], b[2:n]
	}
	return nil, nil
}

// allValues reads the values of a KeyValue that has several: protobuf merges
// them, so one that says nothing does not undo an earlier one.
func (p *protoBytes) allValues(buf []byte, from int, s style, depth int) (why string) {
	for at := 0; at < len(buf) && why == ""; {
		f, end, bad := next(buf, at)
		if bad != "" {
			return bad
		}
		if f.number == fieldValue {
			if f.wire != wireLength {
				return "wrong wire type"
			}
			why = p.anyValue(buf[f.from:f.to], from, s, depth)
		}
		at = end
	}
	return why
}

// anyValue writes the text of an AnyValue to p.value from the index on, or
// leaves that alone if the value says nothing. Of several members the last
// wins.
func (p *protoBytes) anyValue(buf []byte, from int, s style, depth int) (why string) {
	if depth >= maxValueDepth {
		return ""
	}
	for at := 0; at < len(buf); {
		f, end, why := next(buf, at)
		if why != "" {
			return why
		}
		if f.number >= fieldString && f.number <= fieldIndex {
			if f.wire != valueWires[f.number] {
				return "wrong wire type"
			}
			p.value = p.value[:from]
		}
		switch f.number {
		case fieldString:
			p.value = appendText(p.value, buf[f.from:f.to], s)
		case fieldBool:
			p.value = appendBool(p.value, f.value != 0)
		case fieldInt:
			p.value = appendInt(p.value, int64(f.value))
		case fieldDouble:
			p.value = appendDouble(p.value, math.Float64frombits(f.value), s)
		case fieldBytes:
			p.value = appendBytes(p.value, buf[f.from:f.to], s)
		case fieldArray:
			p.value = appendOpen(p.value, s)
			if why := p.elements(buf[f.from:f.to], s.inside(), depth+1, false); why != "" {
				return why
			}
			p.value = appendClose(p.value, s)
		case fieldMap:
			p.value = append(p.value, '{')
			if why := p.elements(buf[f.from:f.to], asJSON, depth+1, true); why != "" {
				return why
			}
			p.value = append(p.value, '}')
		}
		at = end
	}
	return ""
}

// valueWires is the wire type each member of AnyValue must have.
var valueWires = [9]wire{
	fieldString: wireLength, fieldBool: wireVarint, fieldInt: wireVarint, fieldDouble: wireFixed8,
	fieldArray: wireLength, fieldMap: wireLength, fieldBytes: wireLength, fieldIndex: wireVarint,
}

// elements appends the elements of an array, or the entries of a map.
func (p *protoBytes) elements(buf []byte, s style, depth int, entries bool) (why string) {
	n := 0
	for at := 0; at < len(buf); {
		f, end, why := next(buf, at)
		if why != "" {
			return why
		}
		if f.number == fieldElements {
			if f.wire != wireLength {
				return "wrong wire type"
			}
			if n++; n > 1 {
				p.value = append(p.value, ',')
			}
			one := buf[f.from:f.to]
			if entries {
				if why := p.entryKey(one); why != "" {
					return why
				}
			}
			from := len(p.value)
			if entries {
				why = p.allValues(one, from, s, depth)
			} else {
				why = p.anyValue(one, from, s, depth)
			}
			if why != "" {
				return why
			}
			if len(p.value) == from {
				p.value = appendUnset(p.value, s)
			}
		}
		at = end
	}
	return ""
}

// entryKey appends the key of a map entry, quoted.
func (p *protoBytes) entryKey(buf []byte) (why string) {
	from := len(p.value)
	p.value = append(p.value, `"":`...)
	for at := 0; at < len(buf); {
		f, end, why := next(buf, at)
		if why != "" {
			return why
		}
		if f.number == fieldKey {
			if f.wire != wireLength {
				return "wrong wire type"
			}
			p.value = append(appendQuoted(p.value[:from], valid(buf[f.from:f.to])), ':')
		}
		at = end
	}
	return ""
}
