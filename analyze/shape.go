package analyze

import (
	"math"
	"time"
)

// A Pile is answers that all took the same time, far more of them than took a little
// less or more: something else than the callee's work ended there.
type Pile struct {
	At    time.Duration `json:"at_ns"`
	Share float64       `json:"share"` // of the answers, weighted
}

// Limits of shapes.
const (
	shapeAnswers = 100 // fewer have no shape; of sampled answers, their effective number
	modeShare    = 0.05
	pileShare    = 0.01
	pileFactor   = 8.0
)

// effectiveAnswers is how many independent answers a weight of 1 comes to, so that all of them come to
// their effective number; 0: nothing can be said of what they stand for.
func (s *Sample) effectiveAnswers() float64 {
	t := s.total(answered)
	if s.empty() || t.square == 0 {
		return 0
	}
	return t.weight / t.square
}

// modes finds two humps in the distribution of answers: in half octaves of the
// logarithm, two peaks with at least modeShare of the answers each, and a valley
// between them of at most half of the lower peak, beyond what chance makes of it.
// It gives the times in the middle of the peaks; nil: there is one hump.
func (s *Sample) modes() []time.Duration {
	const perOctave = 2
	var bins [64 * perOctave]float64
	total, each := 0.0, s.effectiveAnswers()
	s.walk(func(m *moment) bool {
		if m.of[answered].n > 0 {
			n := m.of[answered].weight * each
			bins[int(math.Log2(float64(max(m.at, 1)))*perOctave)] += n
			total += n
		}
		return true
	})
	if total = rounded(total); total < shapeAnswers {
		return nil
	}
	highest := func(from, to int) (at int, mass float64) {
		at = from
		for i := from; i < to; i++ {
			mass += bins[i]
			if bins[i] > bins[at] {
				at = i
			}
		}
		return at, mass
	}
	best, depth := []time.Duration(nil), 0.0
	for valley := 1; valley < len(bins)-1; valley++ {
		left, below := highest(0, valley)
		right, above := highest(valley+1, len(bins))
		if below < modeShare*total || above < modeShare*total {
			continue
		}
		peak, bottom := min(bins[left], bins[right]), bins[valley]
		if drop := peak - bottom; bottom <= peak/2 && drop > 5*math.Sqrt(peak+bottom) && drop > depth {
			middle := func(i int) time.Duration { return time.Duration(math.Exp2((float64(i) + 0.5) / perOctave)) }
			best, depth = []time.Duration{middle(left), middle(right)}, drop
		}
	}
	return best
}

// pile finds a pile of answers above the p75: a window of max(2 ms, 2 %) with at
// least pileShare of the answers, 10 or more, and pileFactor times what the windows
// around it hold on average.
func (s *Sample) pile() *Pile {
	const around = 3
	var windows []float64
	var starts []time.Duration
	next := time.Duration(0)
	total, each := 0.0, s.effectiveAnswers()
	s.walk(func(m *moment) bool {
		n := m.of[answered].weight * each
		if n == 0 {
			return true
		}
		for m.at >= next {
			if len(windows) > 0 && m.at-next > time.Hour { // beyond any timeout
				return false
			}
			windows, starts = append(windows, 0), append(starts, next)
			next += pileWidth(next)
		}
		windows[len(windows)-1] += n
		total += n
		return true
	})
	if total = rounded(total); total < shapeAnswers {
		return nil
	}
	var found *Pile
	passed := 0.0
	for i, n := range windows {
		before := passed
		passed += n
		if before < 0.75*total || n < max(pileShare*total, 10) || found != nil && n/total <= found.Share {
			continue
		}
		others := 0.0
		for k := i - around; k <= i+around; k++ {
			if k != i && k >= 0 && k < len(windows) {
				others += windows[k]
			}
		}
		if n >= pileFactor*max(others/(2*around), 1) {
			found = &Pile{starts[i] + pileWidth(starts[i])/2, n / total}
		}
	}
	return found
}
