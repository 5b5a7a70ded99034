package analyze

import (
	"encoding/binary"
	"time"

	"overrun/ingest"
)

// A gapLog is the own work between calls that follow each other immediately, as it comes
// by: by pair of a route, which are many and show little each, so that samples of all
// would take more memory than all else. Each pair is asked for its median, once, when
// all have come. What could not be spilled, or read back, the spooler knows. It is for one
// goroutine.
type gapLog struct {
	spool   *ingest.Spool   // number of the pair, nanoseconds and 1 + weight (0: unknown), as uvarints
	count   []int           // entries, by number of the pair
	after   []int           // by number of the pair: the call, counted over all, after which it was added to last
	calls   int             // so far
	between []time.Duration // by number of the pair: the median; 0 where it is not known
	entry   [3 * binary.MaxVarintLen64]byte
}

// manyGaps is how many gaps are in memory at a time.
var manyGaps = 1 << 19 // only tests set it

// newPair numbers a pair.
func (l *gapLog) newPair() int32 {
	l.count, l.after = append(l.count, 0), append(l.after, 0)
	return int32(len(l.count) - 1)
}

// add adds a gap of a pair, not negative. Of several after one call the first counts.
func (l *gapLog) add(pair int32, gap time.Duration, w weight) {
	if l.after[pair] == l.calls {
		return
	}
	l.after[pair] = l.calls
	l.count[pair]++
	b := binary.AppendUvarint(l.entry[:0], uint64(pair))
	b = binary.AppendUvarint(b, uint64(gap))
	if w == unknownWeight {
		b = append(b, 0)
	} else {
		b = binary.AppendUvarint(b, uint64(w)+1)
	}
	_ = l.spool.Put(b)
}

// A gap is one entry.
type gap struct {
	length time.Duration
	weight weight
}

// settle finds the medians of all pairs, and empties the log. It is read once for as many
// pairs as have manyGaps together.
func (l *gapLog) settle() {
	list := make([]time.Duration, len(l.count))
	for from := 0; from < len(list); {
		to, all := from, 0
		for to < len(list) && (to == from || all+l.count[to] <= manyGaps) {
			all += l.count[to]
			to++
		}
		if to == from+1 {
			var one Sample // which bounds its memory itself
			l.each(from, to, func(_ int, g gap) { one.add(answered, g.length, g.weight) })
			list[from] = one.median()
		} else {
			l.mediansOf(list[from:to], from, all)
		}
		from = to
	}
	l.spool.Drop()
	l.between, l.count, l.after = list, nil, nil
}

// mediansOf sets the medians of pairs from a number on, which have so many gaps in all.
func (l *gapLog) mediansOf(list []time.Duration, from, all int) {
	gaps, next := make([]gap, all), make([]int, len(list)) // by pair: where its next goes to
	at := 0
	for i := range list {
		next[i] = at
		at += l.count[from+i]
	}
	l.each(from, from+len(list), func(pair int, g gap) {
		gaps[next[pair-from]] = g
		next[pair-from]++
	})
	at = 0
	var one Sample
	for i, end := range next {
		one = Sample{answers: series{values: one.answers.values[:0]}}
		for _, g := range gaps[at:end] {
			one.add(answered, g.length, g.weight)
		}
		list[i], at = one.median(), end
	}
}

// each gives the gaps of the pairs in [from, to).
func (l *gapLog) each(from, to int, do func(pair int, g gap)) {
	_ = l.spool.Blocks(func(b []byte) error {
		for len(b) > 0 {
			var v [3]uint64
			for i := range v {
				n := 0
				v[i], n = binary.Uvarint(b)
				b = b[n:]
			}
			if pair := int(v[0]); pair >= from && pair < to {
				g := gap{time.Duration(v[1]), unknownWeight}
				if v[2] > 0 {
					g.weight = weight(v[2] - 1)
				}
				do(pair, g)
			}
		}
		return nil
	})
}

// median is the p50; 0 where it is not known.
func (s *Sample) median() time.Duration {
	if p := s.Point(P50); p != nil {
		return *p
	}
	return 0
}
