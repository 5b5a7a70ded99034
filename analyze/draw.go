package analyze

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"sort"
	"time"

	"overrun/ingest"
)

// What the record does not say is drawn. A draw depends on the seed, the request,
// the call and what it is for, and on nothing else: not on how many were drawn
// before it, and so not on the order of requests, on workers, or on the values of
// a sweep, which are compared draw by draw.

// A purpose tells the draws of one call apart.
type purpose uint64

const (
	drawLatency purpose = iota // of a call that was cut
	drawCopy                   // which attempt a second one is like
	drawBeyond                 // latency of that one, where it was cut
	drawWait                   // before a retry
	drawFailing                // whether --cut hits the call
	drawDonor
	drawPlace // in a reservoir
)

// chance is uniform in [0, 1).
func chance(seed uint64, key replayKey, span ingest.SpanID, what purpose, n int) float64 {
	return float64(hash(seed, key, span, what, n)>>11) / (1 << 53)
}

func hash(seed uint64, key replayKey, span ingest.SpanID, what purpose, n int) uint64 {
	h := mix(seed)
	for _, word := range [...]uint64{binary.BigEndian.Uint64(key.trace[:8]), binary.BigEndian.Uint64(key.trace[8:]),
		binary.BigEndian.Uint64(key.span[:]), binary.BigEndian.Uint64(span[:]), uint64(what)<<32 | uint64(n)} {
		h = mix(h ^ word)
	}
	return h
}

// mix is the finaliser of SplitMix64: Steele, Lea, Flood, Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014, figure 16.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// A survival is the share of a dependency's attempts that take longer than a time, at
// each time at which some were answered. It is the product-limit curve of
// survival.go. Cuts by the budget of slow requests hide more slow answers than it
// knows of: it reads low there.
type survival struct {
	at   []time.Duration // of answers, ascending
	left []float64       // share that takes longer than at
}

func (s *Sample) survival() *survival {
	t := &survival{}
	if s.empty() {
		return t
	}
	c := newCurve(s.total(allClasses...))
	s.walk(func(m *moment) bool {
		if ok := m.of[answered]; ok.n > 0 {
			c.answer(ok.weight)
			t.at, t.left = append(t.at, m.at), append(t.left, math.Exp(c.logS))
		}
		c.leave(m.of[answered].plus(m.cut()))
		return true
	})
	return t
}

// beyond gives the latency at u, uniform in [0, 1), of an attempt that took longer
// than d. ok is false where the curve does not reach so far: then last is the
// longest answer it knows, or d.
func (c *survival) beyond(d time.Duration, u float64) (latency time.Duration, ok bool) {
	from := sort.Search(len(c.at), func(i int) bool { return c.at[i] > d })
	share := 1.0
	if from > 0 {
		share = c.left[from-1]
	}
	i := from + sort.Search(len(c.at)-from, func(i int) bool { return c.left[from+i] <= u*share })
	if i == len(c.at) {
		if from < len(c.at) {
			d = c.at[len(c.at)-1]
		}
		return d, false
	}
	return c.at[i], true
}

// A reservoir holds the keep attempts of least hash, out of however many: a
// random choice that does not depend on their order.
type reservoir[T any] struct {
	list []choice[T] // by hash
}

type choice[T any] struct {
	hash  uint64
	value T
}

// takes reports whether an element with the hash would be kept.
func (r *reservoir[T]) takes(hash uint64, keep int) bool {
	return len(r.list) < keep || hash < r.list[len(r.list)-1].hash
}

func (r *reservoir[T]) add(hash uint64, keep int, value T) {
	if !r.takes(hash, keep) {
		return
	}
	i, _ := slices.BinarySearchFunc(r.list, hash, func(k choice[T], h uint64) int { return cmp.Compare(k.hash, h) })
	r.list = slices.Insert(r.list, i, choice[T]{hash, value})
	r.list = r.list[:min(len(r.list), keep)]
}

// A seenAttempt is one that another can be like.
type seenAttempt struct {
	key replayKey
	tried
}

// attemptPools hold attempts of one dependency by when they began.
type attemptPools struct {
	minute, hour map[int64]*reservoir[seenAttempt]
	all          reservoir[seenAttempt]
}

const (
	poolKeep  = 64      // attempts of a minute, an hour, and all
	poolLeast = 5       // fewer say too little about a minute
	poolTimes = 1 << 12 // minutes, and hours, that are told apart
)

func (p *attemptPools) add(seed uint64, r *request, a *attempt) {
	key := replayKey{r.trace, r.span}
	h := hash(seed, key, a.span, drawPlace, 0)
	at := r.start + int64(a.start)
	one := seenAttempt{key, tried{length: a.end - a.start, outcome: a.outcome, code: a.code}}
	p.all.add(h, poolKeep, one)
	for _, by := range []struct {
		to   *map[int64]*reservoir[seenAttempt]
		size time.Duration
	}{{&p.minute, time.Minute}, {&p.hour, time.Hour}} {
		if *by.to == nil {
			*by.to = map[int64]*reservoir[seenAttempt]{}
		}
		when := at / int64(by.size)
		if (*by.to)[when] == nil {
			if len(*by.to) == poolTimes {
				continue
			}
			(*by.to)[when] = new(reservoir[seenAttempt])
		}
		(*by.to)[when].add(h, poolKeep, one)
	}
}

// like gives an attempt of another request in the same minute, else hour, else
// at all; ok is false where there is none.
func (p *attemptPools) like(key replayKey, at int64, u float64) (t tried, ok bool) {
	if p == nil {
		return t, false
	}
	pool := p.minute[at/int64(time.Minute)]
	if pool == nil || len(pool.list) < poolLeast {
		pool = p.hour[at/int64(time.Hour)]
	}
	if pool == nil || len(pool.list) < poolLeast {
		pool = &p.all
	}
	n := len(pool.list)
	for k, i := 0, int(u*float64(n)); k < n; k++ {
		if one := pool.list[(i+k)%n].value; one.key != key {
			return one.tried, true
		}
	}
	return t, false
}
