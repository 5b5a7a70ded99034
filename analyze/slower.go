package analyze

import (
	"iter"
	"math"
	"time"
)

// slower says in which share of the pairs of a value before and one after the latter
// is the greater, ties being half. Where a cut leaves a pair open, it counts as half:
// a cut at c is greater than answers up to c, and nobody knows whether it is greater
// than what lasted longer.
//
//	theta = mean of V(y) = mean of 1 - V(x);  V(y) = share before that is less than y + half of what is neither less nor greater
//	var   = s^2(V(x)) / n + s^2(V(y)) / m
//	t     = (theta - 1/2) / sqrt(var), Student's with Welch's degrees of freedom
//
// n and m are effective numbers. Brunner and Munzel, Biometrical Journal 42 (2000) 17;
// cuts: Gehan, Biometrika 52 (1965) 203. It needs no assumption about the shape of the
// latencies. Unlike a mean it is not ruled by a few slow ones, and it notices less than
// half of them moving: quantiles are compared besides.
func slower(before, after *Sample, n, m float64) (share Range, p float64) {
	x, y := newRanks(before), newRanks(after)
	for x.more || y.more {
		at := time.Duration(math.MaxInt64)
		if x.more {
			at = min(at, x.next.at)
		}
		if y.more {
			at = min(at, y.next.at)
		}
		ex, cx := x.take(at)
		ey, cy := y.take(at)
		x.place(ex, cx, &y, ey)
		y.place(ey, cy, &x, ex)
		x.pass(ex, cx)
		y.pass(ey, cy)
	}
	x.stop()
	y.stop()
	theta, vy := y.moments()
	if math.Abs(theta-0.5) < 1e-12 { // what rounding leaves of no difference
		theta = 0.5
	}
	_, vx := x.moments()
	vx, vy = vx/(n-1), vy/(m-1)
	if vx+vy <= 0 && theta != 0.5 { // all that is before lies on one side of all after: as if there were no difference
		vx, vy = 1/(12*n), 1/(12*m)
	}
	p, half := welch(theta-0.5, vx, n, vy, m)
	low, high := max(theta-half, 0), min(theta+half, 1)
	return Range{&theta, &low, &high}, p
}

// A ranks walks a sample upwards, and collects the places of its values among those of
// another.
type ranks struct {
	total        float64
	events, cuts float64 // passed, as shares of total
	sum, squares float64 // of the places
	next         moment
	more         bool
	pull         func() (*moment, bool)
	stop         func()
}

func newRanks(s *Sample) (r ranks) {
	r.total = s.total(allClasses...).weight
	r.pull, r.stop = iter.Pull(func(yield func(*moment) bool) { s.walk(yield) })
	r.step()
	return r
}

func (r *ranks) step() {
	var m *moment
	if m, r.more = r.pull(); r.more {
		r.next = *m
	}
}

// take gives the shares of the answers and of the cuts at a time.
func (r *ranks) take(at time.Duration) (events, cuts float64) {
	if !r.more || r.next.at != at {
		return 0, 0
	}
	events, cuts = r.next.of[answered].weight/r.total, r.next.cut().weight/r.total
	r.step()
	return events, cuts
}

// place gives the values at a time their places among the other's, of which answers of
// the share here lie at the same time.
func (r *ranks) place(events, cuts float64, o *ranks, here float64) {
	v := o.events + here/2 + o.cuts/2
	c := 0.5 + (o.events+here)/2
	r.sum += events*v + cuts*c
	r.squares += events*v*v + cuts*c*c
}

func (r *ranks) pass(events, cuts float64) {
	r.events += events
	r.cuts += cuts
}

// moments are the mean and the variance of the places.
func (r *ranks) moments() (mean, variance float64) {
	return r.sum, max(r.squares-r.sum*r.sum, 0)
}
