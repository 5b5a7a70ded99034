package analyze

import (
	"math/bits"
	"time"
)

// A histogram counts durations in log-linear buckets: 2^mantissa of them to
// each power of two, so that a bucket's middle is within 2^-(mantissa+1),
// 0.05 %, of every value in it. Values below 2^(mantissa+1) ns are exact. All it
// holds are whole numbers, so that neither the order of adding nor that of merging
// shows. The zero value is empty.
type histogram struct {
	pages   [64 - mantissa]*page // by power of two; nil: empty
	weighed bool                 // its pages have loads
}

const mantissa = 10

// A page is the buckets of one power of two: 8 kB, with weights that differ 48 kB.
type page struct {
	count [1 << mantissa]int64
	loads *[1 << mantissa]load // nil while all values of the histogram weigh the same
}

// A load sums up weights, and squares of weights.
type load struct{ weight, square sum }

// A sum is a whole number of 128 bits, of 1024ths or of 1024 x 1024ths.
type sum struct{ high, low uint64 }

func (s *sum) add(t sum) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, t.low, 0)
	s.high, _ = bits.Add64(s.high, t.high, carry)
}

// times is a x b.
func times(a, b uint64) sum {
	high, low := bits.Mul64(a, b)
	return sum{high, low}
}

func (s sum) float() float64 { return float64(s.high)*(1<<64) + float64(s.low) }

// A wide is a whole number of 256 bits: a sum of products of three numbers of 64 bits,
// of which it holds 2^64. Its words are from the lowest up.
type wide [4]uint64

// add adds a x b x c.
func (s *wide) add(a, b, c uint64) {
	bc := times(b, c)
	low, high := times(a, bc.low), times(a, bc.high)
	middle, carry := bits.Add64(low.high, high.low, 0)
	var over uint64
	s[0], over = bits.Add64(s[0], low.low, 0)
	s[1], over = bits.Add64(s[1], middle, over)
	s[2], over = bits.Add64(s[2], high.high+carry, over)
	s[3] += over
}

func (s *wide) float() float64 {
	f := 0.0
	for i := len(s) - 1; i >= 0; i-- {
		f = f*(1<<64) + float64(s[i])
	}
	return f
}

// loadOf is what n values of one weight weigh together. Squares of weights are
// at most 2^100, so that 2^28 of them fit.
func loadOf(n int64, w weight) load {
	square := times(uint64(w), uint64(w))
	all := times(square.low, uint64(n))
	all.high += square.high * uint64(n)
	return load{times(uint64(w), uint64(n)), all}
}

// bucket is the index of a value's bucket, ascending with the value.
func bucket(d time.Duration) int {
	shift := max(bits.Len64(uint64(d))-mantissa-1, 0)
	return shift<<mantissa + int(uint64(d)>>shift)
}

// middle is the value that stands for a bucket.
func middle(bucket int) time.Duration {
	shift := max(bucket>>mantissa-1, 0)
	low := uint64(bucket-shift<<mantissa) << shift
	return time.Duration(low + (1<<shift)/2)
}

// add adds n values that lie in one bucket, of one weight.
func (h *histogram) add(bucket int, n int64, l load) {
	p := &h.pages[bucket>>mantissa]
	if *p == nil {
		*p = new(page)
		if h.weighed {
			(*p).loads = new([1 << mantissa]load)
		}
	}
	at := bucket & (1<<mantissa - 1)
	(*p).count[at] += n
	if h.weighed {
		(*p).loads[at].weight.add(l.weight)
		(*p).loads[at].square.add(l.square)
	}
}

// weigh makes a histogram hold loads. So far, all its values weighed the same.
func (h *histogram) weigh(same weight) {
	if h.weighed {
		return
	}
	h.weighed = true
	for _, p := range h.pages {
		if p == nil {
			continue
		}
		p.loads = new([1 << mantissa]load)
		for at, n := range p.count {
			if n > 0 {
				p.loads[at] = loadOf(n, same)
			}
		}
	}
}
