package analyze

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"
)

// A class says what a value of a Sample is.
type class uint8

const (
	answered  class = iota // the call took this long
	cutFixed               // it was cut by a timeout of its own
	cutRace                // it was cut as a sibling had answered, or failed
	cutBudget              // it was cut by the deadline of its request, or as its caller left

	classes = iota
)

// exactValues is how many values a Sample keeps as they are. Beyond it
// histograms hold all of them.
var exactValues = 1 << 20 // only tests set it

// A Sample collects durations, each with its weight: answers, and cuts, of which
// only a lower bound is known. Neither the order of adding nor that of merging
// shows: two samples of the same values are the same. The zero value is empty.
//
// Note: memory is bounded. Up to exactValues a value takes 8 bytes, 16 where
// weights differ, in memory or, with a hoard that is full, in its file; beyond, a
// histogram takes 8 kB (with weights 48 kB) for each power of two that a class reaches,
// and there are 54 at the most. Calls between 1 ms and 10 s take 112 kB a class.
type Sample struct {
	hoard        *hoard
	n            int // values
	known        int // of which the weight is known
	light, heavy weight
	low, high    time.Duration // the least and the greatest value
	binned       bool          // in histograms
	sealed       bool
	answers      series
	cutShort     *[classes - 1]series // of the classes of cuts; nil: there are none
	latency      *Latency             // of its n values
}

// A series is the values of one class.
type series struct {
	n       int
	values  []time.Duration
	weights []weight   // of values; nil while all values of the sample weigh the same
	away    []parcel   // the values that are not in memory, and come before those that are
	kept    parcel     // all values, if they are as many, in the file too
	counted int        // bytes that the hoard counts
	bins    *histogram // nil while values are kept
}

// series are those of all classes, to be read.
func (s *Sample) series() (all [classes]series) {
	all[answered] = s.answers
	if s.cutShort != nil {
		copy(all[1:], s.cutShort[:])
	}
	return all
}

// open is the series of a class, to be added to.
func (s *Sample) open(c class) *series {
	if c != answered && s.cutShort == nil {
		s.cutShort = new([classes - 1]series)
		if s.binned {
			for i := range s.cutShort {
				s.cutShort[i].bins = &histogram{weighed: s.weighted()}
			}
		}
	}
	if c == answered {
		return &s.answers
	}
	return &s.cutShort[c-1]
}

// each gives the series that the sample has.
func (s *Sample) each(do func(of *series)) {
	do(&s.answers)
	if s.cutShort != nil {
		for i := range s.cutShort {
			do(&s.cutShort[i])
		}
	}
}

// Add adds an answer of unknown weight. Negative durations count as 0.
func (s *Sample) Add(d time.Duration) { s.add(answered, d, unknownWeight) }

func (s *Sample) add(c class, d time.Duration, w weight) {
	d = max(d, 0)
	if w != unknownWeight {
		s.known++
	}
	w = w.orOne()
	if s.n == 0 || w != s.light || w != s.heavy {
		s.hold(w, w)
	}
	s.reach(d, d)
	s.n++
	s.sealed = false
	if !s.binned && s.n > exactValues {
		s.bin()
	}
	to := s.open(c)
	to.n++
	if s.binned {
		to.bins.add(bucket(d), 1, loadOf(1, w))
		return
	}
	s.put(to, d, w)
}

// put appends a value to a series that is not binned.
func (s *Sample) put(to *series, d time.Duration, w weight) {
	if len(to.values) == cap(to.values) {
		to.grow(s.hoard, s.light)
	}
	to.values = append(to.values, d)
	if s.weighted() {
		to.weights = append(to.weights, w)
	}
}

// hold makes room for values whose weights lie from light to heavy.
func (s *Sample) hold(light, heavy weight) {
	same, differ := s.light, s.weighted()
	if s.n == 0 {
		same, s.light, s.heavy = light, light, heavy
	}
	s.light, s.heavy = min(s.light, light), max(s.heavy, heavy)
	if differ || !s.weighted() {
		return
	}
	s.each(func(to *series) {
		if s.binned {
			to.bins.weigh(same)
		} else {
			to.weights = slices.Repeat([]weight{same}, len(to.values))
		}
	})
}

// reach makes the range hold values from low to high.
func (s *Sample) reach(low, high time.Duration) {
	if s.n == 0 {
		s.low, s.high = low, high
	}
	s.low, s.high = min(s.low, low), max(s.high, high)
}

// bin moves all values into histograms.
func (s *Sample) bin() {
	s.binned = true
	s.each(func(from *series) {
		from.bins = &histogram{weighed: s.weighted()}
		from.every(s, func(d time.Duration, w weight) { from.bins.add(bucket(d), 1, loadOf(1, w)) })
		from.drop(s.hoard)
	})
}

// merge adds all that another sample holds, which stays as it is.
func (s *Sample) merge(o *Sample) {
	if o.n == 0 {
		return
	}
	s.hold(o.light, o.heavy)
	s.reach(o.low, o.high)
	s.n += o.n
	s.known += o.known
	s.sealed = false
	if !s.binned && (o.binned || s.n > exactValues) {
		s.bin()
	}
	for c, from := range o.series() {
		if from.n == 0 {
			continue
		}
		to := s.open(class(c))
		to.n += from.n
		if o.binned {
			for k, p := range from.bins.pages {
				if p == nil {
					continue
				}
				for at, n := range p.count {
					if n == 0 {
						continue
					}
					l := loadOf(n, o.light)
					if p.loads != nil {
						l = p.loads[at]
					}
					to.bins.add(k<<mantissa+at, n, l)
				}
			}
			continue
		}
		from.every(o, func(d time.Duration, w weight) {
			if s.binned {
				to.bins.add(bucket(d), 1, loadOf(1, w))
				return
			}
			s.put(to, d, w)
		})
	}
}

// seal sorts. Adding afterwards is allowed, and unseals.
func (s *Sample) seal() {
	if s.binned {
		return
	}
	if s.fetch(); s.sealed {
		return
	}
	s.sealed = true
	s.each(func(of *series) {
		if of.weights == nil {
			slices.Sort(of.values)
			return
		}
		type pair struct {
			d time.Duration
			w weight
		}
		pairs := make([]pair, len(of.values))
		for i, d := range of.values {
			pairs[i] = pair{d, of.weights[i]}
		}
		slices.SortFunc(pairs, func(a, b pair) int { return cmp.Or(cmp.Compare(a.d, b.d), cmp.Compare(a.w, b.w)) })
		for i, p := range pairs {
			of.values[i], of.weights[i] = p.d, p.w
		}
	})
}

// N is the number of values, answers and cuts.
func (s *Sample) N() int { return s.n }

// Range is the least and the greatest value; 0 where there is none.
func (s *Sample) Range() (low, high time.Duration) { return s.low, s.high }

// Exact reports whether quantiles are exact; else they are within 0.05 %.
func (s *Sample) Exact() bool { return !s.binned }

// cuts is the number of cuts.
func (s *Sample) cuts() int { return s.n - s.answers.n }

// mixed reports whether some weights are known and others not: then no value that
// stands for all spans can be given.
func (s *Sample) mixed() bool { return s.known > 0 && s.known < s.n }

// empty reports whether the sample says nothing: it has no values, or they stand
// for no spans, or for nobody knows how many.
func (s *Sample) empty() bool { return s.n == 0 || s.heavy == 0 || s.mixed() }

// weighted reports whether values have different weights. Where all weigh the
// same, they count as 1.
func (s *Sample) weighted() bool { return s.light < s.heavy }

// A mass is what some values come to.
type mass struct {
	n      int
	weight float64 // n where all weigh the same
	square float64 // of the weights
}

// effective is (sum of weights)^2 / sum of squared weights (Kish, Survey Sampling, 1965,
// section 8.2); 0 where nothing weighs anything.
func (t mass) effective() float64 {
	if t.square == 0 {
		return 0
	}
	return t.weight * t.weight / t.square
}

func (t mass) plus(u mass) mass {
	return mass{t.n + u.n, t.weight + u.weight, t.square + u.square}
}

// A moment is all values at one time.
type moment struct {
	at time.Duration
	of [classes]mass
}

// cut is the cuts of all classes.
func (m *moment) cut() mass { return m.of[cutFixed].plus(m.of[cutRace]).plus(m.of[cutBudget]) }

// walk visits the moments of a sample in ascending order, until visit returns false. A
// moment is valid during its visit.
func (s *Sample) walk(visit func(m *moment) bool) {
	s.seal()
	switch {
	case s.binned:
		s.walkBins(visit)
		return
	case s.cutShort == nil && s.answers.weights == nil:
		s.walkAnswers(visit)
		return
	}
	all := s.series()
	var next [classes]int
	var m moment
	for {
		m = moment{at: math.MaxInt64}
		more := false
		for c := range all {
			if v := all[c].values; next[c] < len(v) {
				m.at, more = min(m.at, v[next[c]]), true
			}
		}
		if !more {
			return
		}
		for c := range all {
			of, from := &all[c], next[c]
			for next[c] < len(of.values) && of.values[next[c]] == m.at {
				if of.weights != nil {
					w := float64(of.weights[next[c]]) / float64(oneWeight)
					m.of[c].weight += w
					m.of[c].square += w * w
				}
				next[c]++
			}
			m.of[c].n = next[c] - from
			if of.weights == nil {
				m.of[c].weight, m.of[c].square = float64(m.of[c].n), float64(m.of[c].n)
			}
		}
		if !visit(&m) {
			return
		}
	}
}

// walkAnswers walks answers that all weigh the same.
func (s *Sample) walkAnswers(visit func(m *moment) bool) {
	values := s.answers.values
	var m moment
	for from := 0; from < len(values); {
		to := from + 1
		for to < len(values) && values[to] == values[from] {
			to++
		}
		m.at = values[from]
		m.of[answered] = mass{to - from, float64(to - from), float64(to - from)}
		if !visit(&m) {
			return
		}
		from = to
	}
}

func (s *Sample) walkBins(visit func(m *moment) bool) {
	var m moment
	all := s.series()
	for k := range s.answers.bins.pages {
		var pages [classes]*page
		any := false
		for c := range all {
			if bins := all[c].bins; bins != nil {
				pages[c] = bins.pages[k]
			}
			any = any || pages[c] != nil
		}
		if !any {
			continue
		}
		for at := range 1 << mantissa {
			m = moment{at: middle(k<<mantissa + at)}
			n := 0
			for c, p := range pages {
				if p == nil || p.count[at] == 0 {
					continue
				}
				t := &m.of[c]
				t.n = int(p.count[at])
				n += t.n
				t.weight, t.square = float64(t.n), float64(t.n)
				if p.loads != nil {
					t.weight = p.loads[at].weight.float() / float64(oneWeight)
					t.square = p.loads[at].square.float() / (float64(oneWeight) * float64(oneWeight))
				}
			}
			if n > 0 && !visit(&m) {
				return
			}
		}
	}
}

// total adds up a class, or several.
func (s *Sample) total(of ...class) (t mass) {
	if !s.weighted() {
		all := s.series()
		for _, c := range of {
			t.n += all[c].n
		}
		t.weight, t.square = float64(t.n), float64(t.n)
		return t
	}
	s.walk(func(m *moment) bool {
		for _, c := range of {
			t = t.plus(m.of[c])
		}
		return true
	})
	return t
}

// allClasses is answers and cuts.
var allClasses = []class{answered, cutFixed, cutRace, cutBudget}

// effectiveN is the effective number of values; nil where no weighted value can be given.
func (s *Sample) effectiveN() *float64 {
	if s.mixed() {
		return nil
	}
	n := s.total(allClasses...).effective()
	if s.n > 0 && s.heavy == 0 {
		n = 0
	}
	return &n
}

// answersAbove counts the answers that took longer than d, which is not negative.
func (s *Sample) answersAbove(d time.Duration) int {
	s.seal()
	of := &s.answers
	if !s.binned {
		return of.n - sort.Search(of.n, func(i int) bool { return of.values[i] > d })
	}
	above := 0
	last := bucket(d)
	for k, p := range of.bins.pages {
		if p == nil {
			continue
		}
		for at, n := range p.count {
			if k<<mantissa+at > last {
				above += int(n)
			}
		}
	}
	return above
}
