package analyze

import (
	"math"
	"slices"
	"time"
)

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
	if w != unknownWeight {
		h.known++
	}
	w = w.orOne()
	if h.n == 0 {
		h.light, h.heavy = w, w
	}
	h.n++
	h.light, h.heavy = min(h.light, w), max(h.heavy, w)
	one := loadOf(1, w)
	h.load.weight.add(one.weight)
	h.load.square.add(one.square)
}

// orOne is the weight to count with.
func (w weight) orOne() weight {
	if w == unknownWeight {
		return oneWeight
	}
	return w
}

// mixed reports whether some weights are known and others not: then no value that stands for
// all can be given.
func (h *headcount) mixed() bool { return h.known > 0 && h.known < h.n }

// shareIn is the share of what is counted in all, of which it is a part; unknown where
// all is nothing, or stands for nobody knows how much.
func (h *headcount) shareIn(all *headcount) Share {
	switch {
	case all.mixed():
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

// effective is the effective number of what is counted.
func (h *headcount) effective() float64 { return h.mass().effective() }

// A weighed is the sum of a number over requests, or calls, each of which counts as often as
// it stands for.
type weighed struct {
	of  headcount
	sum wide // of w x, w in 1024ths
}

// add adds a number that is not negative.
func (s *weighed) add(w weight, x int64) {
	s.of.add(w)
	s.sum.add(1, uint64(w.orOne()), uint64(x))
}

// mean is unknown where nothing is counted, or stands for nobody knows how much.
func (s *weighed) mean() *float64 { return s.of.mean(&s.sum) }

// mean is that of what has the weighted sum given.
func (h *headcount) mean(sum *wide) *float64 {
	all := h.load.weight.float()
	if h.mixed() || all == 0 {
		return nil
	}
	m := sum.float() / all
	return &m
}

// A weighedTime is where the time of requests went, each of which counts as often as it
// stands for.
type weighedTime struct {
	of   headcount
	sums [len(categories) + 1]wide // by category, and the total
}

func (s *weighedTime) add(w weight, t *Time) {
	s.of.add(w)
	for i, x := range t.all() {
		s.sums[i].add(1, uint64(w.orOne()), uint64(*x))
	}
}

// own is the sum of own work.
func (s *weighedTime) own() *wide { return &s.sums[slices.Index(categories[:], Own)] }

// mean is the time of a mean request, each category rounded by itself; nil as that of a weighed.
func (s *weighedTime) mean() *Time {
	var t Time
	for i, to := range t.all() {
		m := s.of.mean(&s.sums[i])
		if m == nil {
			return nil
		}
		*to = time.Duration(math.Round(*m))
	}
	return &t
}
