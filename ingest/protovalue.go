package ingest

import (
	"math"
)

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
