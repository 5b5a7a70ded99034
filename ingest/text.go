package ingest

import (
	"bytes"
	"hash/maphash"
	"unicode/utf8"
)

// texts is a cache of strings seen lately, so that a name that occurs a
// million times is one string. It has a fixed size: a dump whose values are
// all different costs no more than its strings.
type texts struct {
	seed  maphash.Seed
	slots [textSlots]string
}

const (
	textSlots = 1 << 12
	// longText is the length in bytes from which a text is taken to be one of
	// a kind and not looked up.
	longText = 256
)

func newTexts() *texts { return &texts{seed: maphash.MakeSeed()} }

// get returns b as a string with invalid UTF-8 replaced by U+FFFD, one for a
// run of bad bytes.
func (t *texts) get(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) >= longText {
		return string(valid(b))
	}
	at := &t.slots[maphash.Bytes(t.seed, b)%textSlots]
	if *at != string(b) {
		*at = string(valid(b))
	}
	return *at
}

func valid(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\uFFFD"))
}
