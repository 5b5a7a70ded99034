package analyze

import (
	"testing"

	"pgregory.net/rapid"
)

// Keys are numbered as a map would number them, however many there are.
func TestNumbering(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n numbering
		want := map[uint64]int32{}
		keys := rapid.SliceOfN(rapid.Uint64Range(0, 300), 0, 600).Draw(t, "keys")
		spread := rapid.Uint64().Draw(t, "spread") | 1 // keys of one slot, keys far apart
		for _, k := range keys {
			key := k * spread
			number, ok := want[key]
			if got := n.find(key); ok && got != number || !ok && got != -1 {
				t.Fatalf("find(%d) = %d, want %d, %v", key, got, number, ok)
			}
			if !ok {
				number = int32(len(want))
				want[key] = number
			}
			if got := n.add(key); got != number {
				t.Fatalf("add(%d) = %d, want %d", key, got, number)
			}
		}
	})
}
