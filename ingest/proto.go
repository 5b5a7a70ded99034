package ingest

import (
	"encoding/binary"
)

// protoBytes decodes the protobuf form of OTLP: TracesData, which is also
// ExportTraceServiceRequest. Fields may come in any order.
type protoBytes struct {
	*sink
	base int64 // offset of the message in the content of the file

	byPdata bool // whole ResourceSpans go to pdata

	deferred [][2]int // scopes under the old number, see resourceSpans
	other    bool     // the ResourceSpans being read has been told to hold another signal
}

// Field numbers of opentelemetry/proto/trace/v1, common/v1 and resource/v1.
const (
	fieldResourceSpans = 1 // TracesData
	fieldDictionary    = 2 // ProfilesData

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
	fieldEvents     = 11
	fieldLinks      = 13
	fieldStatus     = 15

	fieldEventTime  = 1 // Event
	fieldEventName  = 2
	fieldEventAttrs = 3

	fieldLinkTraceID = 1 // Link
	fieldLinkSpanID  = 2

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
			if p.byPdata && !holdsOther(buf[f.from:f.to]) {
				if why := p.pdataField(buf[at:end], base+int64(at)); why != "" {
					p.unreadable(base+int64(at), int64(end-at), why)
				}
			} else if why, kept := p.resourceSpans(buf[f.from:f.to], f.from, false); why != "" {
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
	p.deferred, p.other = p.deferred[:0], false
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
	p.complete()
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
		f, end, bad := nextLong(buf, at)
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
				if bad == anotherSignal || isOtherSignal(buf[f.from:f.to]) {
					p.noteOther(at)
				} else {
					p.unreadable(at, int64(f.to-f.from), bad)
				}
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
	fieldAttrs: wireLength, 10: wireVarint, fieldEvents: wireLength, 12: wireVarint, fieldLinks: wireLength, 14: wireVarint, fieldStatus: wireLength,
}

// spanMessage appends a record for the span, which the caller drops if
// something is wrong.
func (p *protoBytes) spanMessage(buf []byte, position int64) (why string) {
	r := p.start(position)
	var start, end uint64
	asked := false // whether it is another signal, for a malformed id: once, however many
	for at := 0; at < len(buf); {
		if at = p.usualFields(buf, at, r, &start, &end); at == len(buf) {
			break
		}
		f, after, why := next(buf, at)
		if why != "" {
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
		case fieldTraceID, fieldSpanID:
			dst := r.trace[:]
			if f.number == fieldSpanID {
				dst = r.span.ID[:]
			}
			if n := f.to - f.from; n != 0 && n != len(dst) && !asked {
				if isOtherSignal(buf) {
					return anotherSignal
				}
				asked = true
			}
			p.id(dst, buf[f.from:f.to], position)
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
		case fieldEvents:
			if p.events != nil {
				if why := p.event(buf[f.from:f.to]); why != "" {
					return why
				}
			}
		case fieldLinks:
			if p.links {
				if why := p.link(buf[f.from:f.to], position); why != "" {
					return why
				}
			}
		}
		at = after
	}
	if start == 0 && end == 0 && isOtherSignal(buf) {
		return anotherSignal
	}
	p.finish(r, start, end)
	return ""
}

// Tags of one byte.
const (
	tagTraceID = fieldTraceID<<3 | byte(wireLength)
	tagSpanID  = fieldSpanID<<3 | byte(wireLength)
	tagParent  = fieldParentID<<3 | byte(wireLength)
	tagName    = fieldName<<3 | byte(wireLength)
	tagKind    = fieldKind<<3 | byte(wireVarint)
	tagStart   = fieldStart<<3 | byte(wireFixed8)
	tagEnd     = fieldEnd<<3 | byte(wireFixed8)
	tagAttrs   = fieldAttrs<<3 | byte(wireLength)
	tagEvents  = fieldEvents<<3 | byte(wireLength)
	tagStatus  = fieldStatus<<3 | byte(wireLength)
	tagCode    = fieldCode<<3 | byte(wireVarint)

	tagFlags = 16<<3&0x7f | 0x80 | byte(wireFixed4) // and a byte 1
)

// usualFields reads fields from buf[at:] on as long as they have the usual shape, and
// returns the index after the last. It does what spanMessage does with any field, without
// finding bounds first: a quarter of the time of a span. The order of fields does not
// matter.
func (p *protoBytes) usualFields(buf []byte, at int, r *record, start, end *uint64) int {
	for at < len(buf)-1 {
		size := 0 // of the field; 0: it has not the usual shape
		switch b := buf[at:]; b[0] {
		case tagAttrs:
			size = p.usualAttributes(b)
		case tagTraceID:
			if len(b) >= 18 && b[1] == 16 {
				r.trace, size = TraceID(b[2:18]), 18
			}
		case tagSpanID:
			if len(b) >= 10 && b[1] == 8 {
				r.span.ID, size = SpanID(b[2:10]), 10
			}
		case tagParent:
			if len(b) >= 10 && b[1] == 8 {
				r.span.ParentID, size = SpanID(b[2:10]), 10
			}
		case tagName:
			if n := int(b[1]); n < 0x80 && n <= len(b)-2 {
				r.span.Name, size = p.cache.get(b[2:2+n]), 2+n
			}
		case tagKind:
			if b[1] <= byte(Consumer) {
				r.span.Kind, size = Kind(b[1]), 2
			}
		case tagStart:
			if len(b) >= 9 {
				*start, size = binary.LittleEndian.Uint64(b[1:]), 9
			}
		case tagEnd:
			if len(b) >= 9 {
				*end, size = binary.LittleEndian.Uint64(b[1:]), 9
			}
		case tagEvents:
			if n := int(b[1]); p.events == nil && n < 0x80 && n <= len(b)-2 {
				size = 2 + n
			}
		case tagStatus:
			if b[1] == 0 {
				size = 2
			} else if len(b) >= 4 && b[1] == 2 && b[2] == tagCode && b[3] <= byte(Error) {
				r.span.Status, size = Status(b[3]), 4
			}
		case tagFlags:
			if len(b) >= 6 && b[1] == 1 {
				size = 6
			}
		}
		if size == 0 {
			break
		}
		at += size
	}
	return at
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

// event reads an event. Only one that is kept is looked at again, for its
// attributes, which may stand before its name.
func (p *protoBytes) event(buf []byte) (why string) {
	name, kept := p.wantEvent(nil)
	time := uint64(0)
	for at := 0; at < len(buf); {
		f, end, why := next(buf, at)
		if why != "" {
			return why
		}
		switch {
		case f.number > 0 && int(f.number) < len(eventWires) && f.wire != eventWires[f.number]:
			return "wrong wire type"
		case f.number == fieldEventTime:
			time = f.value
		case f.number == fieldEventName:
			name, kept = p.wantEvent(buf[f.from:f.to])
		}
		at = end
	}
	if !kept {
		return ""
	}
	from := len(p.held)
	for at := 0; at < len(buf); {
		f, end, _ := next(buf, at)
		if f.number == fieldEventAttrs {
			if why := p.keyValue(buf[f.from:f.to], false); why != "" {
				return why
			}
		}
		at = end
	}
	p.putEvent(name, time, from)
	return ""
}

// eventWires is the wire type each field of Event must have.
var eventWires = [4]wire{fieldEventTime: wireFixed8, fieldEventName: wireLength, fieldEventAttrs: wireLength}

func (p *protoBytes) link(buf []byte, position int64) (why string) {
	var l Link
	for at := 0; at < len(buf); {
		f, end, why := next(buf, at)
		if why != "" {
			return why
		}
		if f.number == fieldLinkTraceID || f.number == fieldLinkSpanID {
			if f.wire != wireLength {
				return "wrong wire type"
			}
			if f.number == fieldLinkTraceID {
				p.id(l.TraceID[:], buf[f.from:f.to], position)
			} else {
				p.id(l.SpanID[:], buf[f.from:f.to], position)
			}
		}
		at = end
	}
	p.putLink(l)
	return ""
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
