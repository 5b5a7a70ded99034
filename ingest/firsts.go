package ingest

import (
	"bytes"
	"cmp"
	"container/heap"
	"strconv"
	"time"
)

// firsts finds which spans of a trace are the first by start and id, without
// holding more of them than there are to be found.
type firsts struct {
	most int
	seen int
	keys firstKeys // the first so far, the last of them on top
	left int       // how many with the key on top are still to be taken
}

// A firstKey is what the spans are ordered by.
type firstKey struct {
	start time.Duration
	id    SpanID
}

type firstKeys []firstKey

func (k firstKey) compare(l firstKey) int {
	return cmp.Or(cmp.Compare(k.start, l.start), bytes.Compare(k.id[:], l.id[:]))
}

func (h firstKeys) Len() int           { return len(h) }
func (h firstKeys) Less(i, j int) bool { return h[i].compare(h[j]) > 0 }
func (h firstKeys) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *firstKeys) Push(x any)        { *h = append(*h, x.(firstKey)) }
func (h *firstKeys) Pop() any {
	last := len(*h) - 1
	k := (*h)[last]
	*h = (*h)[:last]
	return k
}

func newFirsts(most int) *firsts { return &firsts{most: most} }

// add tells of a span.
func (f *firsts) add(p recordKey) {
	f.seen++
	key := firstKey{p.start, p.id}
	switch {
	case len(f.keys) < f.most:
		heap.Push(&f.keys, key)
	case key.compare(f.keys[0]) < 0:
		f.keys[0] = key
		heap.Fix(&f.keys, 0)
	default:
		return
	}
	f.left = 0
}

// take reports whether the span is among the first. Every span is asked for once,
// after all were told of.
func (f *firsts) take(p recordKey) bool {
	if f.seen <= f.most {
		return true
	}
	last := f.keys[0]
	if f.left == 0 {
		for _, k := range f.keys {
			if k == last {
				f.left++
			}
		}
		f.left++ // 1: none is left
	}
	switch c := (firstKey{p.start, p.id}).compare(last); {
	case c < 0:
		return true
	case c == 0 && f.left > 1:
		f.left--
		return true
	}
	return false
}

func itoa(n int) string { return strconv.Itoa(n) }
