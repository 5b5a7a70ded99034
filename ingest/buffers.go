package ingest

import (
	"slices"
	"sync"
)

// buffers are buffers for content that can be used again. A sync.Pool would give them up
// at each collection, and making one of 16 MB grow again costs as much as decoding a third
// of it.
type buffers struct {
	mu    sync.Mutex
	list  [][]byte
	bytes int
	most  int // bytes that are kept
	usual int // capacity of the largest so far in bytes, at most maxNarrow: others get as long
}

// get returns an empty buffer with room for n bytes, used before if possible: the largest,
// which need not grow.
func (f *buffers) get(n int) []byte {
	b, n := f.take(n)
	if cap(b) < n { // and is given up
		b = make([]byte, 0, n)
	}
	return b[:0]
}

// take takes the largest buffer out, nil if there is none, and says how long it is to be
// where n bytes are needed.
func (f *buffers) take(n int) (b []byte, least int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	largest := -1
	for i := range f.list {
		if largest < 0 || cap(f.list[i]) > cap(f.list[largest]) {
			largest = i
		}
	}
	if largest >= 0 {
		b = f.list[largest]
		f.list = slices.Delete(f.list, largest, largest+1)
		f.bytes -= cap(b)
	}
	return b, max(n, f.usual)
}

// put takes a buffer, if there is room.
func (f *buffers) put(b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bytes+cap(b) <= f.most {
		f.list = append(f.list, b)
		f.bytes += cap(b)
	}
}

// grow returns the content of a full buffer in one that has room for a block or more. What
// is wide already doubles: so much is rare, and each copy is garbage as large.
func (f *buffers) grow(full []byte) []byte {
	n := len(full) + max(len(full)/4, blockSize)
	if len(full) >= wideBlock {
		n = 2 * len(full)
	}
	f.mu.Lock()
	f.usual = max(f.usual, min(n, maxNarrow))
	f.mu.Unlock()
	return inPieces(make([]byte, 0, n), full)
}

// inPieces appends content to a buffer that has room for it, a piece at a time. What copies
// memory cannot be interrupted: a collection that begins meanwhile burns a processor, and
// slows the copying by its signals, until the copy is made. 8 MB into fresh memory took 100 ms.
func inPieces(buf, content []byte) []byte {
	const piece = 64 << 10
	for len(content) > piece {
		buf = append(buf, content[:piece]...)
		content = content[piece:]
	}
	return append(buf, content...)
}
