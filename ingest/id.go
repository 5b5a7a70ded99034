package ingest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// hexValue maps an ASCII hexadecimal digit to its value, all else to 0xff.
var hexValue = func() (table [256]byte) {
	for i := range table {
		table[i] = 0xff
	}
	for i := range byte(10) {
		table['0'+i] = i
	}
	for i := range byte(6) {
		table['a'+i], table['A'+i] = 10+i, 10+i
	}
	return
}()

// isPadded reports whether the id has 64 bits and zeros on the right of them,
// where others pad on the left.
func (id *TraceID) isPadded() bool {
	none := [8]byte{}
	return [8]byte(id[8:]) == none && [8]byte(id[:8]) != none
}

// ParseTraceID reads a trace id in any spelling that dumps have, labels too (see the note
// LabelID). It reports false for what is none.
func ParseTraceID(text string) (id TraceID, ok bool) {
	ok = text != "" && (parseID(id[:], []byte(text)) || parseLabel(id[:], []byte(text)))
	return id, ok
}

// parseID reads an id of len(dst) bytes from text and reports whether it is
// one. An empty text is the zero id.
//
// Besides hexadecimal of the full length it takes what exporters and stores
// are known to write: fewer digits (64-bit trace ids, leading zeros dropped:
// padded on the left), 0x in front, the dashes of a UUID, and base64 of the
// bytes or of the hexadecimal text.
func parseID(dst, text []byte) bool {
	if len(text) == 2*len(dst) {
		bad := byte(0)
		for i := range dst {
			hi, lo := hexValue[text[2*i]], hexValue[text[2*i+1]]
			bad |= hi | lo
			dst[i] = hi<<4 | lo&15
		}
		if bad&0xf0 == 0 {
			return true
		}
	}
	clear(dst)
	return len(text) == 0 || parseOddID(dst, text)
}

func parseOddID(dst, text []byte) bool {
	if len(text) > 64 {
		return false
	}
	var scratch [64]byte
	digits := scratch[:0]
	whole := text // base64 may begin with 0x or 0X
	if len(text) > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') {
		text = text[2:]
	}
	isUUID := len(text) == 36 && len(dst) == 16 && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-'
	for i, c := range text {
		if isUUID && (i == 8 || i == 13 || i == 18 || i == 23) {
			continue
		}
		if hexValue[c] == 0xff {
			return parseBase64ID(dst, whole)
		}
		digits = append(digits, c)
	}
	if len(digits) > 2*len(dst) {
		return parseBase64ID(dst, whole) // 24 hexadecimal digits can be base64 of hexadecimal text
	}
	if len(digits)%2 != 0 {
		digits = append(digits, 0)
		copy(digits[1:], digits)
		digits[0] = '0'
	}
	n := len(digits) / 2
	_, err := hex.Decode(dst[len(dst)-n:], digits)
	return err == nil
}

// parseBase64ID takes base64 where its length allows one reading only: as many
// bytes as the id has, or as many hexadecimal digits.
func parseBase64ID(dst, text []byte) bool {
	for len(text) > 0 && text[len(text)-1] == '=' {
		text = text[:len(text)-1]
	}
	var scratch [64]byte
	n, err := base64.RawStdEncoding.Decode(scratch[:], text)
	if err != nil {
		n, err = base64.RawURLEncoding.Decode(scratch[:], text)
	}
	if err != nil {
		return false
	}
	switch n {
	case len(dst):
		copy(dst, scratch[:n])
		return true
	case 2 * len(dst):
		if _, err := hex.Decode(dst, scratch[:n]); err == nil {
			return true
		}
		clear(dst)
	}
	return false
}

// parseLabel makes an id of a text that parseID does not take, and reports whether it
// is a label: a word such as trace-1 or span-A, as people and tools with ids of their own
// write them, or an id that is longer than dst. The id is the beginning of its
// SHA-256, so that equal labels are one id. A word for nothing is none, as are zeros and
// what is damaged.
func parseLabel(dst, text []byte) bool {
	const most = 256
	if len(text) < 2 || len(text) > most || noLabel[string(bytes.ToLower(text))] || len(bytes.Trim(text, "0-")) == 0 {
		return false
	}
	for _, c := range text {
		isWord := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !isWord && bytes.IndexByte([]byte("-_.:/^~@+="), c) < 0 {
			return false
		}
	}
	sum := sha256.Sum256(text)
	copy(dst, sum[:])
	return true
}

// noLabel are words for an id that is not there.
var noLabel = map[string]bool{"null": true, "nil": true, "none": true, "undefined": true, "unknown": true, "invalid": true, "empty": true, "n/a": true, "nan": true}
