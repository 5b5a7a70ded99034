package ingest

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A jsonScanner walks JSON text without building values. Its methods consume
// one thing each and report whether it was there; the first failure is kept
// in why, and stays until somebody who can go on clears it.
//
// It is lenient: what is skipped is checked for strings and brackets only.
type jsonScanner struct {
	buf []byte
	pos int
	why string // "": no failure
	str []byte // room for strings with escapes

	byLine  bool // a line that begins with an object of OTLP is no part of what began before it
	bounded bool // such a line came: buf ends where it begins
}

// endOfInput is the failure that more bytes could have healed.
const endOfInput = "input ends"

// lineEnds is the failure of a line that was cut off.
const lineEnds = "line ends in a string"

func (j *jsonScanner) fail(why string) bool {
	if j.why == "" {
		j.why = why
	}
	return false
}

// peek skips white space and returns the next byte, 0 at the end.
func (j *jsonScanner) peek() byte {
	if j.pos < len(j.buf) {
		if c := j.buf[j.pos]; c > ' ' {
			return c
		}
	}
	return j.peekBehind()
}

func (j *jsonScanner) peekBehind() byte {
	for j.pos < len(j.buf) {
		switch c := j.buf[j.pos]; c {
		case ' ', '\t', '\r':
			j.pos++
		case '\n':
			j.lineFeed()
		default:
			return c
		}
	}
	return 0
}

// lineFeed consumes a line feed within a value. Where a writer died within a line, the next
// one wrote on.
func (j *jsonScanner) lineFeed() {
	j.pos++
	if j.byLine && j.pos < len(j.buf) && j.buf[j.pos] == '{' && isRecord(j.buf[j.pos:]) {
		j.buf, j.bounded = j.buf[:j.pos], true
	}
}

// unexpected fails at the current byte.
func (j *jsonScanner) unexpected(why string) bool {
	if j.pos >= len(j.buf) {
		return j.fail(endOfInput)
	}
	return j.fail(why)
}

// open consumes the bracket and returns true, or consumes a null and returns
// false without a failure.
func (j *jsonScanner) open(bracket byte) bool {
	c := j.peek()
	if c == bracket {
		j.pos++
		return true
	}
	if c == 'n' {
		j.null()
		return false
	}
	if bracket == '[' {
		return j.unexpected("want an array")
	}
	return j.unexpected("want an object")
}

// more reports whether another element follows, and consumes the comma before
// it or the closing bracket instead, and a comma before that, as people leave behind
// where they write by hand. It returns false on a failure too.
func (j *jsonScanner) more(bracket byte, first bool) bool {
	if j.why != "" {
		return false
	}
	c := j.peek()
	if c == bracket {
		j.pos++
		return false
	}
	if first {
		return c != 0 || j.unexpected("want a value")
	}
	if c != ',' {
		return j.unexpected("want a comma or a closing bracket")
	}
	j.pos++
	if j.pos < len(j.buf) && j.buf[j.pos] == '"' || j.peek() != bracket {
		return true
	}
	j.pos++
	return false
}

// null consumes a null and reports whether there was one.
func (j *jsonScanner) null() bool {
	if rest := j.buf[j.pos:]; len(rest) >= 4 && string(rest[:4]) == "null" {
		j.pos += 4
		return true
	}
	return j.unexpected("want null")
}

// key consumes a key and its colon. The bytes hold until the next call.
func (j *jsonScanner) key() []byte {
	if j.peek() != '"' {
		j.unexpected("want a key")
		return nil
	}
	key := j.quoted()
	if j.why != "" {
		return nil
	}
	if j.peek() != ':' {
		j.unexpected("want a colon")
		return nil
	}
	j.pos++
	return key
}

// text consumes a string, which may be alone in a list; null is the empty one. The
// bytes hold until the next call.
func (j *jsonScanner) text() []byte {
	switch j.peek() {
	case '"':
		return j.quoted()
	case 'n':
		j.null()
	case '[':
		return j.single("want a string")
	default:
		j.unexpected("want a string")
	}
	return nil
}

// single consumes a list of one string, number or literal, which is what Elasticsearch
// makes of each value where it is asked for fields.
func (j *jsonScanner) single(want string) (text []byte) {
	j.pos++
	if c := j.peek(); c == '[' || c == '{' {
		j.fail(want)
	} else if text = j.word(); j.why == "" && j.peek() != ']' {
		j.unexpected(want)
	}
	j.pos++
	return text
}

// word consumes a string, or a number or literal as it is written, which may be alone
// in a list; null is empty.
func (j *jsonScanner) word() []byte {
	switch c := j.peek(); c {
	case '"':
		return j.quoted()
	case 'n':
		j.null()
		return nil
	case '{':
		return j.long()
	case '[':
		return j.single("want a number or a string")
	case 0:
		j.unexpected("want a number or a string")
		return nil
	}
	from := j.pos
	for j.pos < len(j.buf) {
		switch j.buf[j.pos] {
		case ',', '}', ']', ' ', '\t', '\n', '\r', ':', '"', '{', '[':
			if j.pos == from {
				j.fail("want a value")
			}
			return j.buf[from:j.pos]
		}
		j.pos++
	}
	j.fail(endOfInput)
	return nil
}

// quoted consumes a string at its opening quote.
func (j *jsonScanner) quoted() []byte {
	from := j.pos + 1
	at := plainText(j.buf, from)
	if at < len(j.buf) && j.buf[at] == '"' {
		j.pos = at + 1
		return j.buf[from:at]
	}
	if at == len(j.buf) {
		j.pos = at
		j.fail(endOfInput)
		return nil
	}
	return j.escaped(from, at)
}

// escaped goes on from the first byte that is not plain text.
func (j *jsonScanner) escaped(from, at int) []byte {
	j.str = append(j.str[:0], j.buf[from:at]...)
	for at < len(j.buf) {
		switch c := j.buf[at]; {
		case c == '"':
			j.pos = at + 1
			return j.str
		case c == '\\':
			n := j.escape(j.buf[at:])
			if n == 0 {
				j.pos = at
				return nil
			}
			at += n
		case c == '\n':
			j.pos = at
			j.fail(lineEnds)
			return nil
		default:
			end := plainText(j.buf, at+1)
			j.str = append(j.str, j.buf[at:end]...)
			at = end
		}
	}
	j.pos = len(j.buf)
	j.fail(endOfInput)
	return nil
}

// escape appends what the escape at b[0] stands for and returns its length.
// Half a surrogate pair stands for U+FFFD.
func (j *jsonScanner) escape(b []byte) int {
	if len(b) < 2 {
		j.fail(endOfInput)
		return 0
	}
	switch c := b[1]; c {
	case '"', '\\', '/':
		j.str = append(j.str, c)
	case 'b':
		j.str = append(j.str, '\b')
	case 'f':
		j.str = append(j.str, '\f')
	case 'n':
		j.str = append(j.str, '\n')
	case 'r':
		j.str = append(j.str, '\r')
	case 't':
		j.str = append(j.str, '\t')
	case 'u':
		r, ok := hexRune(b)
		if !ok {
			switch b = b[:min(len(b), 6)]; {
			case bytes.IndexByte(b, '\n') > 0:
				j.fail(lineEnds)
			case len(b) < 6:
				j.fail(endOfInput)
			default:
				j.fail("want four hexadecimal digits")
			}
			return 0
		}
		if utf16.IsSurrogate(r) {
			if low, ok := hexRune(b[6:]); ok {
				if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
					j.str = utf8.AppendRune(j.str, pair)
					return 12
				}
			}
			r = utf8.RuneError
		}
		j.str = utf8.AppendRune(j.str, r)
		return 6
	case '\n':
		j.fail(lineEnds)
		return 0
	default:
		j.fail("unknown escape")
		return 0
	}
	return 2
}

// hexRune reads \uXXXX.
func hexRune(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	r, bad := rune(0), byte(0)
	for _, c := range b[2:6] {
		v := hexValue[c]
		bad |= v
		r = r<<4 | rune(v&15)
	}
	return r, bad&0xf0 == 0
}

// plainText returns the index of the first byte from i on that ends or
// interrupts a string: a quote, a backslash or a control character. It looks
// at eight bytes at a time: a byte is found where its difference from the one
// looked for borrows from the high bit.
func plainText(b []byte, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		hit := ((quote - ones) &^ quote) | ((slash - ones) &^ slash) | ((w - ones*' ') &^ w)
		if hit &= highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return len(b)
}

// skip consumes one value of any kind, whatever its depth.
func (j *jsonScanner) skip() bool {
	switch j.peek() {
	case '{', '[':
		return j.skipNested()
	case '"':
		return j.skipQuoted()
	case 0:
		return j.unexpected("want a value")
	}
	j.word()
	return j.why == ""
}

func (j *jsonScanner) skipNested() bool {
	depth := 0
	for j.pos < len(j.buf) {
		switch j.buf[j.pos] {
		case '"':
			if !j.skipQuoted() {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				j.pos++
				return true
			}
		case '\n':
			j.lineFeed()
			continue
		}
		j.pos++
	}
	return j.fail(endOfInput)
}

func (j *jsonScanner) skipQuoted() bool {
	at := j.pos + 1
	for {
		at = plainText(j.buf, at)
		if at >= len(j.buf) {
			j.pos = len(j.buf)
			return j.fail(endOfInput)
		}
		switch j.buf[at] {
		case '"':
			j.pos = at + 1
			return true
		case '\\':
			if at += 2; at <= len(j.buf) && j.buf[at-1] == '\n' {
				j.pos = at - 1
				return j.fail(lineEnds)
			}
		case '\n':
			j.pos = at
			return j.fail(lineEnds)
		default:
			at++
		}
	}
}

// parseInteger reads a whole number in any spelling: 15, 1.5e1, 15.0, -15.
// A fraction is cut off. It reports false for what is no number and for what
// does not fit 64 bits.
func parseInteger(text []byte) (v uint64, negative, ok bool) {
	for len(text) > 0 && text[0] == ' ' {
		text = text[1:]
	}
	for len(text) > 0 && text[len(text)-1] == ' ' {
		text = text[:len(text)-1]
	}
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	i := 0
	for ; i < len(text) && text[i]-'0' < 10; i++ {
		d := uint64(text[i] - '0')
		if v > (math.MaxUint64-d)/10 {
			return 0, negative, false
		}
		v = v*10 + d
	}
	if i == len(text) {
		return v, negative, i > 0
	}
	return parseScientific(text, negative)
}

// parseScientific goes on where there is a point or an exponent. The digits
// are shifted in decimal, so 1.795994844000000001e18 loses nothing.
func parseScientific(text []byte, negative bool) (v uint64, _, ok bool) {
	shift, digits, point := 0, 0, false
	i := 0
	for ; i < len(text); i++ {
		c := text[i]
		if c == '.' && !point {
			point = true
			continue
		}
		if c-'0' > 9 {
			break
		}
		digits++
		d := uint64(c - '0')
		if v > (math.MaxUint64-d)/10 {
			if !point {
				shift++ // only an exponent below zero can bring it back into range
			}
			continue
		}
		v = v*10 + d
		if point {
			shift--
		}
	}
	if digits == 0 {
		return 0, negative, false
	}
	if i < len(text) {
		if text[i] != 'e' && text[i] != 'E' {
			return 0, negative, false
		}
		exp, err := strconv.Atoi(string(text[i+1:]))
		if err != nil || exp > 400 || exp < -400 {
			return 0, negative, false
		}
		shift += exp
	}
	for ; shift > 0 && v != 0; shift-- {
		if v > math.MaxUint64/10 {
			return 0, negative, false
		}
		v *= 10
	}
	for ; shift < 0 && v != 0; shift++ {
		v /= 10
	}
	return v, negative, true
}
