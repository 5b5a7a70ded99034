package ingest

import (
	"encoding/binary"
	"math"
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

// nextLong is next, quicker for a field with a tag of one byte and a length of
// two, which spans have.
func nextLong(buf []byte, at int) (f field, end int, why string) {
	if b := buf[at:]; len(b) >= 3 && b[0]&0x87 == byte(wireLength) && b[0] >= 8 && b[1] >= 0x80 && b[2] < 0x80 {
		if n := int(b[1]&0x7f) | int(b[2])<<7; n <= len(b)-3 {
			return field{number: int32(b[0] >> 3), wire: wireLength, from: at + 3, to: at + 3 + n}, at + 3 + n, ""
		}
	}
	return next(buf, at)
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
