package analyze

import "math/bits"

// A numbering numbers keys from 0, in the order in which they come. Key and number lie side
// by side, so that to find one takes half the time that it takes in a map. The zero
// value is empty.
type numbering struct {
	slots []numberSlot // 2^k of them, a quarter of them free at the least
	used  int32
}

type numberSlot struct {
	key   uint64
	after int32 // the number + 1; 0: the slot is free
}

// slot is where a key lies, or would. There are slots.
func (n *numbering) slot(key uint64) *numberSlot {
	// Fibonacci hashing: Knuth, The Art of Computer Programming 3, 2nd ed. 1998, section 6.4.
	mask := uint64(len(n.slots) - 1)
	at := key * 0x9e3779b97f4a7c15 >> (bits.LeadingZeros64(mask) & 63)
	for {
		s := &n.slots[at&mask]
		if s.after == 0 || s.key == key {
			return s
		}
		at++
	}
}

// find is the number of a key; -1: it has none.
func (n *numbering) find(key uint64) int32 {
	if n.slots == nil {
		return -1
	}
	return n.slot(key).after - 1
}

// add is the number of a key, which gets the next one if it has none.
func (n *numbering) add(key uint64) int32 {
	if 4*int(n.used) >= 3*len(n.slots) {
		n.grow()
	}
	s := n.slot(key)
	if s.after == 0 {
		n.used++
		*s = numberSlot{key, n.used}
	}
	return s.after - 1
}

func (n *numbering) grow() {
	old := n.slots
	n.slots = make([]numberSlot, max(8, 2*len(old)))
	for _, s := range old {
		if s.after > 0 {
			*n.slot(s.key) = s
		}
	}
}

// pairKey is two numbers as one key.
func pairKey(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }
