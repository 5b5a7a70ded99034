package analyze

import (
	"math"
	"time"
)

// An arrival counts top requests, to see whether somebody chose them by how they
// ended: tail sampling keeps errors and slow traces, and no weight repairs that.
type arrival struct {
	took           Sample
	failed, forced int // forced: sampling.priority
	weighed        int
}

func (a *arrival) learn(r *request) {
	if r.role != top || r.broken {
		return
	}
	a.took.Add(r.duration)
	if r.failed {
		a.failed++
	}
	if r.forced {
		a.forced++
	} else if r.weight != unknownWeight {
		a.weighed++
	}
}

// merge adds what another arrival counted.
func (a *arrival) merge(b *arrival) {
	a.took.merge(&b.took)
	b.took.drop()
	a.failed += b.failed
	a.forced += b.forced
	a.weighed += b.weighed
}

// Limits of what looks tail-sampled.
const (
	sampledRequests = 100
	stepFactor      = 4.0 // density just above a threshold, against just below
	stepAnswers     = 30
	stepHump        = 10.0 // answers in a window further below
)

// looksChosen reports whether the requests look tail-sampled: none says for how many
// it stands, and more than half of them failed, beyond chance; or durations begin to be
// frequent at one threshold, as no distribution of latencies does. sampling.priority
// is a sign by itself.
func (a *arrival) looksChosen() bool {
	if a.forced > 0 {
		return true
	}
	n := a.took.N()
	if a.weighed > 0 || n < sampledRequests {
		return false
	}
	return binomialTail(n, a.failed, 0.5) < 0.001 || a.took.step() != nil
}

// step finds a time from which on values are frequent, after being rare: in windows
// of 5 %, at least stepAnswers in the two above it, stepFactor times as many as in the
// two below, and about as many in the second as in the first (else it is a pile). Below
// them values were more frequent before: what rises to its only hump has no step.
func (s *Sample) step() *time.Duration {
	const width = 0.05
	var windows [1000]float64
	total, first := 0.0, len(windows)
	s.walk(func(m *moment) bool {
		i := min(int(math.Log(float64(max(m.at, 1)))/width), len(windows)-1)
		n := float64(m.of[answered].n)
		windows[i] += n
		total += n
		first = min(first, i)
		return true
	})
	passed, highest := 0.0, 0.0 // of windows up to i-3
	for i := first; i+1 < len(windows); i++ {
		if i >= first+3 {
			highest = max(highest, windows[i-3])
		}
		if i >= first+4 && passed >= 0.05*total {
			above, below := windows[i]+windows[i+1], windows[i-1]+windows[i-2]
			// Beyond chance: the difference of two counts is off by the root of their sum.
			if mean := below / 2; highest < stepHump || highest-mean < 1.5*math.Sqrt(highest+mean) {
				passed += windows[i]
				continue
			}
			even := windows[i] < 2*windows[i+1] && windows[i+1] < 2*windows[i]
			if above >= stepAnswers && above >= stepFactor*max(below, 1) && even {
				at := time.Duration(math.Exp(float64(i) * width))
				return &at
			}
		}
		passed += windows[i]
	}
	return nil
}
