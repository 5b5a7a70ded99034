package ingest

import (
	"math"
)

// keyValue reads an attribute. The value may come before the key, so both are
// found before the value is looked into.
func (p *protoBytes) keyValue(buf []byte, resource bool) (why string) {
	var key, value []byte
	values := 0
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

// Tags of the fields of a KeyValue.
const (
	tagKey   = fieldKey<<3 | byte(wireLength)
	tagValue = fieldValue<<3 | byte(wireLength)
)

// usualAttributes reads the attributes of a span that the bytes begin with, as long as each
// is shorter than 16 KiB and has a key and a value, in either order. It returns how many
// bytes they take. What it does is what keyValue does: it is one loop because it is most of
// the work on a dump, and nearly all of that is to see that an attribute is not asked for.
func (p *protoBytes) usualAttributes(buf []byte) int {
	at := 0
	for before := &p.shapes.first; at+5 < len(buf) && buf[at] == tagAttrs; {
		from, size := at+2, int(buf[at+1])
		if size >= 0x80 {
			if buf[at+2] >= 0x80 {
				break
			}
			from, size = at+3, size&0x7f|int(buf[at+2])<<7
		}
		if size == 0 || size > len(buf)-from {
			break
		}
		b := buf[from : from+size]
		s := before.next
		low, high := 0, 0 // of the value, with its length in front
		switch {
		case s != nil && b[0] == tagValue && s.ends(b):
			low, high = 1, size-len(s.end)
		case s != nil && b[0] == tagKey && s.fits(b):
			low, high = len(s.head), size
		default:
			if s, low, high = p.shape(b); s == nil {
				return at
			}
			before.next = s
		}
		before = s
		long := int(b[low])
		if low++; long >= 0x80 && low < high && b[low] < 0x80 {
			long = long&0x7f | int(b[low])<<7
			low++
		}
		if long != high-low || s.kept && !p.usualAttribute(s, b[low:high]) {
			break
		}
		at = from + size
	}
	return at
}

// shape finds the shape of a KeyValue, or makes it, and gives the bounds of its value with
// the length in front. nil: it is not a usual one.
func (p *protoBytes) shape(b []byte) (s *shape, low, high int) {
	key := b
	switch first, end, _ := next(b, 0); {
	case end == 0 || end >= len(b) || first.wire != wireLength || first.from > 3:
		return nil, 0, 0
	case b[0] == tagKey && b[end] == tagValue && end+1 < len(b):
		key, low, high = b[first.from:end], end+1, len(b)
	case b[0] == tagValue && b[end] == tagKey && len(b)-end >= 2 && int(b[end+1]) == len(b)-end-2:
		key, low, high = b[end+2:], 1, end
	default:
		return nil, 0, 0
	}
	if len(key) > longHead-3 {
		return nil, 0, 0
	}
	head := make([]byte, 0, longHead)
	head = append(append(append(head, tagKey, byte(len(key))), key...), tagValue)
	s, known := p.shapes.find(hashBytes(key), head)
	if !known {
		s.set(head, key, p.sink)
	}
	return s, low, high
}

// ends reports whether a KeyValue ends with the key of the shape, and has more in front.
func (s *shape) ends(b []byte) bool {
	return len(s.end) < len(b)-1 && string(b[len(b)-len(s.end):]) == string(s.end)
}

// usualAttribute puts an attribute that is kept. It reports false, and did nothing, if its
// value cannot be read.
func (p *protoBytes) usualAttribute(s *shape, value []byte) bool {
	if s.last.is(value) {
		p.putSeen(s.name, s.last)
		return true
	}
	var v *seenValue
	if s.index >= 0 {
		text := stringValue(value)
		isText := text != nil
		if !isText {
			text = value
		}
		hash := hashBytes(text)
		v = p.seenProto.at(s.index, hash)
		if v.is(value) {
			p.putSeen(s.name, v)
			s.last = v
			return true
		}
		if isText {
			p.putText(s.name, v, value, text, hash)
			return true
		}
	}
	p.value = p.value[:0]
	if p.anyValue(value, 0, plain, 0) != "" {
		return false
	}
	p.put(s.name, false)
	if v != nil {
		v.set(value, p.held[len(p.held)-1].Value, 0)
	}
	return true
}

// stringValue returns the text of an AnyValue that is a string and neither empty nor
// long; nil: it is not.
func stringValue(b []byte) []byte {
	const tag = fieldString<<3 | byte(wireLength)
	switch n := len(b); {
	case n < 3 || n-3 >= longText || b[0] != tag:
	case b[1] < 0x80 && int(b[1]) == n-2:
		return b[2:]
	case b[1] >= 0x80 && int(b[1]&0x7f)|int(b[2])<<7 == n-3 && n > 3 && b[2] < 0x80:
		return b[3:]
	}
	return nil
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
