package analyze

import (
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"overrun/ingest"
)

// A hoard is the room that values of samples have together, so that any number of them
// takes no more memory than the run may use. What has no room lies in the file of a
// spooler, which knows if it could not be written or read back; what a sample says is the
// same. It is for all goroutines. nil: there is room for any number.
type hoard struct {
	spooler *ingest.Spooler
	limit   int64        // bytes; 0: none
	used    atomic.Int64 // bytes, without fewValues of each series

	mu sync.Mutex
	b  []byte // memory of write
}

// mostBytes is how much memory writing holds, and reading takes at a time.
const mostBytes = 64 << 10

// fewValues is how many values of a series are in memory in any case.
var fewValues = 128 // only tests set it

// full reports whether there is no room for n bytes more.
func (h *hoard) full(n int) bool {
	return h != nil && h.limit > 0 && h.used.Load()+int64(n) > h.limit
}

// A parcel is values of a series in the file, and behind them their weights.
type parcel struct {
	at    int64 // offset
	n     int
	same  weight // of all; with mixed: each has its own
	mixed bool
}

// lodge makes samples, which are empty, lie in the hoard.
func (h *hoard) lodge(samples ...*Sample) {
	for _, s := range samples {
		s.hoard = h
	}
}

// write puts values into the file.
func (h *hoard) write(values []time.Duration, weights []weight, same weight) (p parcel, ok bool) {
	p = parcel{n: len(values), same: same, mixed: weights != nil}
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.b[:0]
	for _, d := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(d))
	}
	for _, w := range weights {
		b = binary.LittleEndian.AppendUint64(b, uint64(w))
	}
	if h.b = b; cap(b) > mostBytes {
		h.b = nil
	}
	at, err := h.spooler.Spill(b)
	p.at = at
	return p, err == nil
}

// read gets values back, and their weights where there is room for them.
func (h *hoard) read(p parcel, values []time.Duration, weights []weight) {
	h.numbers(p.at, len(values), func(i int, x uint64) { values[i] = time.Duration(x) })
	switch {
	case weights == nil:
	case p.mixed:
		h.numbers(p.at+int64(8*p.n), len(weights), func(i int, x uint64) { weights[i] = weight(x) })
	default:
		for i := range weights {
			weights[i] = p.same
		}
	}
}

// numbers gives n numbers of 8 bytes from an offset of the file on.
func (h *hoard) numbers(at int64, n int, do func(i int, x uint64)) {
	b := make([]byte, min(8*n, mostBytes))
	for i := 0; i < n; {
		b = b[:min(8*(n-i), len(b))]
		if h.spooler.Unspill(b, at+int64(8*i)) != nil {
			return // the spooler knows why
		}
		for k := 0; k < len(b); k += 8 {
			do(i, binary.LittleEndian.Uint64(b[k:]))
			i++
		}
	}
}

// count tells the hoard how much memory a series takes now.
func (s *series) count(h *hoard) {
	if h == nil {
		return
	}
	now := 8 * (max(0, cap(s.values)-fewValues) + max(0, cap(s.weights)-fewValues))
	h.used.Add(int64(now - s.counted))
	s.counted = now
}

// grow makes room for a value where there is none. same is what all of them weigh that
// have no weight of their own.
func (s *series) grow(h *hoard, same weight) {
	if h == nil || len(s.values) < fewValues {
		return // append does
	}
	if h.full(2 * len(s.values)) {
		if p, ok := h.write(s.values, s.weights, same); ok {
			s.away = append(s.away, p)
			s.values = slices.Grow([]time.Duration(nil), fewValues)
			if s.weights != nil {
				s.weights = slices.Grow([]weight{}, fewValues)
			}
			s.count(h)
			return
		}
	}
	s.values = slices.Grow(s.values, 1)
	if s.weights != nil {
		s.weights = slices.Grow(s.weights, 1)
	}
	s.count(h)
}

// every gives all values of the series, of a sample that is not binned, and their weights.
// Where they lie stays as it is.
func (s *series) every(of *Sample, do func(d time.Duration, w weight)) {
	give := func(values []time.Duration, weights []weight) {
		for i, d := range values {
			w := of.light
			if weights != nil {
				w = weights[i]
			}
			do(d, w)
		}
	}
	var values []time.Duration
	var weights []weight
	for _, p := range s.away {
		values = again(&values, p.n)
		if s.weights != nil {
			weights = again(&weights, p.n)
		}
		of.hoard.read(p, values, weights)
		give(values, weights)
	}
	give(s.values, s.weights)
}

// fetch gets back all values of the series that are away. It reports whether they are in
// another order than before.
func (s *series) fetch(h *hoard) (unsorted bool) {
	if s.away == nil {
		return false
	}
	n := len(s.values)
	for _, p := range s.away {
		n += p.n
	}
	values, weights := make([]time.Duration, 0, n), []weight(nil)
	if s.weights != nil {
		weights = make([]weight, 0, n)
	}
	for _, p := range s.away {
		from, to := len(values), len(values)+p.n
		values = values[:to]
		if weights == nil {
			h.read(p, values[from:], nil)
			continue
		}
		weights = weights[:to]
		h.read(p, values[from:], weights[from:])
	}
	if s.kept = s.away[0]; s.kept.n < n {
		s.kept, unsorted = parcel{}, true
	}
	s.values, s.weights, s.away = append(values, s.values...), append(weights, s.weights...), nil
	s.count(h)
	return unsorted
}

// send gives up the memory of the series, whose values are sorted.
func (s *series) send(h *hoard, same weight) {
	if len(s.values) <= fewValues {
		return
	}
	if s.kept.n != len(s.values) {
		var ok bool
		if s.kept, ok = h.write(s.values, s.weights, same); !ok {
			s.kept = parcel{}
			return
		}
	}
	s.away, s.values = []parcel{s.kept}, nil
	if s.weights != nil {
		s.weights = []weight{}
	}
	s.count(h)
}

// drop gives up the values of the series.
func (s *series) drop(h *hoard) {
	s.values, s.weights, s.away, s.kept = nil, nil, nil, parcel{}
	s.count(h)
}

// drop gives up the values of the sample.
func (s *Sample) drop() { s.each(func(of *series) { of.drop(s.hoard) }) }

// fetch gets back all values of the sample.
func (s *Sample) fetch() {
	s.each(func(of *series) {
		if of.fetch(s.hoard) {
			s.sealed = false
		}
	})
}

// putAway gives up the memory of a sample, if others need it, until it is asked again.
func (s *Sample) putAway() {
	if s.sealed && !s.binned && s.hoard.full(0) {
		s.each(func(of *series) { of.send(s.hoard, s.light) })
	}
}

// putAway is that of all samples.
func putAway(samples ...*Sample) {
	for _, s := range samples {
		s.putAway()
	}
}
