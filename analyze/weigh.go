package analyze

import "math"

// A weight says for how many spans a recorded one stands, in 1024ths: exact
// for powers of two and whole numbers, and within 0.05 % of any weight from 1 on. Whole
// numbers add up the same in every order.
type weight uint64

const (
	oneWeight     weight = 1 << 10
	unknownWeight weight = math.MaxUint64 // counts as one
	largestWeight        = 1 << 40        // spans; a recorded weight beyond it is not believed
)

// weigh turns a recorded weight into one to count with.
func weigh(w float64, known bool) weight {
	if !known || !(w >= 0 && w <= largestWeight) {
		return unknownWeight
	}
	return weight(math.Round(w * float64(oneWeight)))
}

// A headcount counts what stands for others: spans, requests.
type headcount struct {
	n, known     int
	load         load
	light, heavy weight
}

func (h *headcount) add(w weight) {
	if w == unknownWeight {
		w = oneWeight
	} else {
		h.known++
	}
	if h.n == 0 {
		h.light, h.heavy = w, w
	}
	h.n++
	h.light, h.heavy = min(h.light, w), max(h.heavy, w)
	one := loadOf(1, w)
	h.load.weight.add(one.weight)
	h.load.square.add(one.square)
}

// shareIn is the share of what is counted in all, of which it is a part; unknown where
// all is nothing, or stands for nobody knows how much.
func (h *headcount) shareIn(all *headcount) Share {
	switch {
	case all.known > 0 && all.known < all.n:
		return Share{}
	case all.light == all.heavy && all.heavy > 0:
		return shareOf(mass{weight: float64(h.n)}, mass{weight: float64(all.n), square: float64(all.n)})
	}
	return shareOf(h.mass(), all.mass())
}

// mass is what is counted, weighted.
func (h *headcount) mass() mass {
	const unit = float64(oneWeight)
	return mass{h.n, h.load.weight.float() / unit, h.load.square.float() / (unit * unit)}
}
