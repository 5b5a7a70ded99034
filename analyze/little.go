package analyze

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// A TimeoutAnswer answers whoever says "raise the timeout", in numbers.
//
//	workers bound = arrivals a second * time bound each (Little, 1961)
type TimeoutAnswer struct {
	Name    string         `json:"name"`
	Timeout time.Duration  `json:"timeout_ns"`
	Now     *time.Duration `json:"now_ns"` // the timeout seen in use; null: none is known
	Calls   int            `json:"calls"`
	// Requests with such a call that were late or failed, over all routes.
	Saved     Span `json:"saved"`      // and are in time
	LateAgain Span `json:"late_again"` // and are late or failed all the same
	Lost      Span `json:"lost"`       // were in time, and are not
	// Recorded is calls a second in the busiest minute of the record, weighted where
	// all weights are known. Where they are not, nobody knows how many requests were
	// left out: Arrivals is then what 100 requests a second bring.
	Recorded float64 `json:"recorded_per_s"`
	Arrivals float64 `json:"arrivals_per_s"`
	Per100   bool    `json:"per_100_requests"`
	// How long a worker is bound by one call in the mean, and how many are bound at
	// Arrivals. All is where the dependency answers no more, of several the one that binds
	// them longest: every attempt and every wait at its longest.
	BoundNow    time.Duration `json:"bound_now_ns"`
	BoundThen   time.Duration `json:"bound_then_ns"` // at the worst
	BoundAll    time.Duration `json:"bound_all_ns"`
	WorkersNow  float64       `json:"workers_now"`
	WorkersThen float64       `json:"workers_then"`
	WorkersAll  float64       `json:"workers_all"`
	Attempts    int           `json:"attempts"` // of one call at most, by the policy, or as recorded; waits that were recorded are not counted
}

// A timeoutTally adds up the answer.
type timeoutTally struct {
	change   *Change
	minutes  map[int64]float64 // weighted calls, by when their requests started
	requests int               // with such a call
	unknown  bool              // some weight is not known
	attempts map[int32]int     // by dependency: of one call, the most that were recorded, hedges apart
	saved    [2]int
	again    [2]int
	lost     [2]int
}

// learn counts the calls of a request.
func (t *timeoutTally) learn(r *replayer, q *request) {
	if t.change == nil || q.table == nil {
		return
	}
	n := 0
	for k := range q.calls {
		c := &q.calls[k]
		if c.unfinished || !r.a.deps[c.dep].name.matches(t.change.Name) {
			continue
		}
		n++
		attempts := 0
		for i := range c.attempts {
			if !c.attempts[i].hedge {
				attempts++
			}
		}
		t.attempts[c.dep] = max(t.attempts[c.dep], attempts)
	}
	if n == 0 {
		return
	}
	t.requests++
	stands := 1.0
	if q.weight != unknownWeight {
		stands = float64(q.weight) / float64(oneWeight)
	} else {
		t.unknown = true
	}
	if minute := q.start / int64(time.Minute); t.minutes[minute] > 0 || len(t.minutes) < 1<<16 {
		t.minutes[minute] += stands * float64(n)
	}
}

// add counts a request that was replayed: low is its worst, high its best.
func (t *timeoutTally) add(r *replayer, g *record, low, high played) {
	if t.change == nil || !slices.ContainsFunc(g.pieces, func(p piece) bool { return r.a.deps[p.dep].name.matches(t.change.Name) }) {
		return
	}
	was := g.bad(g.duration, g.ended)
	for w, out := range [...]played{worst: low, best: high} {
		switch is := g.bad(out.end, out.ended); {
		case was && !is:
			t.saved[w]++
		case was && is:
			t.again[w]++
		case is:
			t.lost[w]++
		}
	}
}

// answer puts the tally together; nil: nobody asked.
func (t *timeoutTally) answer(r *replayer) *TimeoutAnswer {
	if t.change == nil {
		return nil
	}
	a := &TimeoutAnswer{Name: t.change.Name, Timeout: t.change.Timeout, Per100: t.unknown,
		Saved: bootstrapSpan(t.requests, t.saved), LateAgain: bootstrapSpan(t.requests, t.again), Lost: bootstrapSpan(t.requests, t.lost)}
	var before, after depTally
	for i, d := range r.a.deps {
		if !d.name.matches(t.change.Name) {
			continue
		}
		plan := &r.scenarios[0].plans[i]
		before = before.plus(r.seen[i])
		after = after.plus(r.would[worst][i])
		if plan.now > 0 && (a.Now == nil || plan.now > *a.Now) {
			a.Now = &plan.now
		}
		attempts, waits := max(1, t.attempts[int32(i)]), 0.0 // between attempts, at their longest
		if plan.attempts > 0 {
			attempts = plan.attempts
			waits = float64(plan.base) * (math.Exp2(float64(attempts-1)) - 1)
		}
		a.Attempts = max(a.Attempts, attempts)
		a.BoundAll = max(a.BoundAll, lasting(float64(attempts)*float64(t.change.Timeout)+waits))
	}
	a.Calls = before.calls
	for _, n := range t.minutes {
		a.Recorded = max(a.Recorded, n/60)
	}
	a.Arrivals = a.Recorded
	if t.unknown {
		a.Arrivals = 100 * float64(before.calls) / float64(t.requests)
	}
	a.BoundNow, a.BoundThen = before.mean(), after.mean()
	bound := func(d time.Duration) float64 { return a.Arrivals * d.Seconds() }
	a.WorkersNow, a.WorkersThen, a.WorkersAll = bound(a.BoundNow), bound(a.BoundThen), bound(a.BoundAll)
	return a
}

func (d depTally) mean() time.Duration {
	if d.calls == 0 {
		return 0
	}
	mean, _ := bits.Div64(d.took.high, d.took.low, uint64(d.calls)) // which no call exceeds
	return time.Duration(mean)
}
