package ingest

import (
	"encoding/base64"
	"math"
	"strconv"
)

// A style says how a value is written. The outermost value of an attribute is
// plain text; so are the elements of an outermost array, which are joined by
// commas; whatever lies deeper is JSON.
type style uint8

const (
	plain style = iota
	element
	asJSON
)

// inside returns the style of the elements of an array.
func (s style) inside() style {
	if s == plain {
		return element
	}
	return asJSON
}

// maxValueDepth is how deep arrays and maps of a kept attribute may nest.
// Deeper values are written as if they were unset.
const maxValueDepth = 64

// The functions below append one value to dst; all decoders share them, so
// that the same value is the same text whatever form it came in.

func appendText(dst, text []byte, s style) []byte {
	if s == asJSON {
		return appendQuoted(dst, valid(text))
	}
	return append(dst, text...)
}

func appendInt(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }

func appendBool(dst []byte, v bool) []byte { return strconv.AppendBool(dst, v) }

func appendBytes(dst, b []byte, s style) []byte {
	if s == asJSON {
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, b)
		return append(dst, '"')
	}
	return base64.StdEncoding.AppendEncode(dst, b)
}

// appendDouble writes the shortest digits that read back, with an exponent
// only below 1e-6 and from 1e21 on, as ECMAScript does: 1500000, not 1.5e+06.
func appendDouble(dst []byte, v float64, s style) []byte {
	word := ""
	switch {
	case math.IsNaN(v):
		word = "NaN"
	case math.IsInf(v, 1):
		word = "Infinity"
	case math.IsInf(v, -1):
		word = "-Infinity"
	}
	if word != "" {
		return appendText(dst, []byte(word), s)
	}
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, 64)
}

// appendUnset writes the value that is not there.
func appendUnset(dst []byte, s style) []byte {
	if s == asJSON {
		return append(dst, "null"...)
	}
	return dst
}

// appendOpen and appendClose write the brackets of an array.
func appendOpen(dst []byte, s style) []byte {
	if s == plain {
		return dst
	}
	return append(dst, '[')
}

func appendClose(dst []byte, s style) []byte {
	if s == plain {
		return dst
	}
	return append(dst, ']')
}

// appendQuoted writes a JSON string. It escapes what JSON demands and nothing
// else.
func appendQuoted(dst, text []byte) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
