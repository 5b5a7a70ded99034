package ingest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// texts is a cache of strings seen lately, so that a name that occurs a
// million times is one string. It has a fixed size: a dump whose values are
// all different costs no more than its strings.
type texts struct {
	slots [textSlots]string
	asked [textSlots]uint32 // half of a hash, see isFirst
	slab  []byte            // room for strings to come
	cut   int               // texts cut to maxText since that was noted last
}

const (
	textSlots = 1 << 12
	// longText is the length in bytes from which a text is taken to be one of
	// a kind and not looked up.
	longText = 256
	// maxText is how many bytes of a text are kept: names, codes and hosts are short, and
	// what decides about a message stands near its beginning.
	maxText = 4 << 10
	// slabSize is how many bytes of strings lie in one piece of memory. A
	// string that is kept keeps its neighbours.
	slabSize = 32 << 10
)

func newTexts() *texts { return new(texts) }

// get returns b as a string with invalid UTF-8 replaced by U+FFFD, one for a
// run of bad bytes. Of a text that is longer than maxText it returns the beginning, with
// what tells it from others that begin so.
func (t *texts) get(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > maxText {
		t.cut++
		return shortened(b)
	}
	if len(b) >= longText {
		return string(valid(b))
	}
	at := &t.slots[hashBytes(b)%textSlots]
	if *at != string(b) {
		*at = t.store(valid(b))
	}
	return *at
}

// shortened is the beginning of a long text, with its length and its hash.
func shortened(b []byte) string {
	return string(valid(b[:maxText])) + fmt.Sprintf("… (%d bytes, sha256 %.8x)", len(b), sha256.Sum256(b))
}

// isFirst reports whether it was not lately asked about a text with the hash: most
// texts that are not known yet never come again.
func (t *texts) isFirst(hash uint64) bool {
	at, half := &t.asked[hash%textSlots], uint32(hash>>32)
	was := *at
	*at = half
	return was != half
}

// store copies b to the slab: values that are all different would else cost an
// allocation a span.
func (t *texts) store(b []byte) string {
	if len(t.slab) < len(b) {
		if len(b) > slabSize/8 {
			return string(b)
		}
		t.slab = make([]byte, slabSize)
	}
	kept := t.slab[:len(b)]
	t.slab = t.slab[len(b):]
	copy(kept, b)
	return unsafe.String(&kept[0], len(kept)) // nobody writes to kept again
}

// hashBytes hashes the length, the first eight bytes and the last eight: enough
// to tell texts apart, and a third of the time of hash/maphash. It is for
// caches, where texts that fall together cost time and nothing else.
func hashBytes(b []byte) uint64 {
	n := len(b)
	var head, tail uint64
	switch {
	case n >= 8:
		head, tail = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		head, tail = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		head = uint64(b[0]) | uint64(b[n/2])<<8 | uint64(b[n-1])<<16
	}
	return mix(head^uint64(n)*0x9e3779b97f4a7c15, tail)
}

// mix folds the 128-bit product of two odd-ish numbers, as wyhash does.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0xa0761d6478bd642f, b^0xe7037ed1a0b428db)
	return hi ^ lo
}

func valid(b []byte) []byte {
	if utf8.Valid(b) {
		return b
	}
	return bytes.ToValidUTF8(b, []byte("\uFFFD"))
}

// seen remembers, by the index of a key in keeper.names, the encoded values it
// had lately and their texts. Most attributes that
// are kept say one of a few things; those need not be decoded and looked up. A
// form has one of its own, since equal bytes mean different values in different
// forms.
type seen []*[64]seenValue // nil: none

type seenValue struct {
	raw  [71]byte // what is longer is not remembered
	n    uint8    // length of raw; 0: none
	ref  uint32   // number of the text in the table of the packer; 0: not known
	text string
}

// at returns where a value with the hash is remembered.
func (s seen) at(key int, hash uint64) *seenValue {
	if s[key] == nil {
		s[key] = new([64]seenValue)
	}
	return &s[key][hash>>58]
}

func (v *seenValue) is(raw []byte) bool { return string(v.raw[:v.n]) == string(raw) && len(raw) > 0 }

func (v *seenValue) set(raw []byte, text string, ref uint32) {
	if len(raw) <= len(v.raw) {
		v.n, v.ref, v.text = uint8(copy(v.raw[:], raw)), ref, text
	}
}
