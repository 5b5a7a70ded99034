package ingest

import (
	"encoding/binary"
	"strings"
)

// serviceKey is the one resource attribute that is read whatever Options.Keep
// says.
const serviceKey = "service.name"

// A keeper answers whether an attribute, or an event, is kept. Nearly every
// attribute of a dump is asked about and most are not kept, so the answer no
// costs a hash and one look into a table that stays in the processor's first
// cache.
type keeper struct {
	names    []string
	table    []uint32      // index into names + 1; 0: none. A name lies in its slot or behind it.
	shift    uint8         // of the hash, for the size of table
	prefixes [256][]string // by first byte
	vague    [256]bool     // whether there are prefixes, by first byte
	all      bool          // "*" is asked for
}

func newKeeper(keep []string) *keeper {
	k := &keeper{shift: 64 - 10}
	for 1<<(64-k.shift) < 8*len(keep) {
		k.shift--
	}
	k.table = make([]uint32, 1<<(64-k.shift))
	for _, key := range keep {
		prefix, isPrefix := strings.CutSuffix(key, "*")
		switch {
		case isPrefix && prefix == "":
			k.all = true
			for i := range k.vague {
				k.vague[i] = true
			}
		case isPrefix:
			k.prefixes[prefix[0]] = append(k.prefixes[prefix[0]], prefix)
			k.vague[prefix[0]] = true
		case key != "":
			k.names = append(k.names, key)
			at := k.slot([]byte(key))
			for k.table[at] != 0 {
				at = (at + 1) & (len(k.table) - 1)
			}
			k.table[at] = uint32(len(k.names))
		}
	}
	return k
}

// slot hashes the length of a key and its end, where keys of one namespace
// differ. Of short keys the length has to do: this must be inlined.
func (k *keeper) slot(key []byte) int {
	n := len(key)
	h := uint64(n) << 56
	if n >= 8 {
		h ^= binary.LittleEndian.Uint64(key[n-8:])
	}
	return int(h * 0x9e3779b97f4a7c15 >> (k.shift & 63))
}

// find returns the index in k.names of a key with the slot, -1 if it is not
// there.
func (k *keeper) find(key []byte, slot int) int {
	for ; k.table[slot] != 0; slot = (slot + 1) & (len(k.table) - 1) {
		if i := int(k.table[slot] - 1); string(key) == k.names[i] {
			return i
		}
	}
	return -1
}

// own is a string that is equal to the key and may be kept: for a name that was asked for the one
// that match gives, which is quick to compare with.
func (k *keeper) own(key string) string {
	if i := k.find([]byte(key), k.slot([]byte(key))); i >= 0 {
		return k.names[i]
	}
	return strings.Clone(key)
}

// match returns the key as a string if it is kept. Only keys kept by prefix
// cost an allocation, and those go through the cache.
func (k *keeper) match(key []byte, cache *texts) (string, bool) {
	if i := k.find(key, k.slot(key)); i >= 0 {
		return k.names[i], true
	}
	return k.matchPrefix(key, cache)
}

// matchPrefix answers for the keys that are kept by prefix.
func (k *keeper) matchPrefix(key []byte, cache *texts) (string, bool) {
	if k.all {
		return cache.get(key), true
	}
	if len(key) == 0 || !k.vague[key[0]] {
		return "", false
	}
	for _, prefix := range k.prefixes[key[0]] {
		if len(key) >= len(prefix) && string(key[:len(prefix)]) == prefix {
			return cache.get(key), true
		}
	}
	return "", false
}
