package analyze

import "time"

// A Deployable is what a proxy or a client library can hold of a dependency's
// policy: fixed timeouts. None of it is a deadline that calls share.
type Deployable struct {
	*SuggestedDependency
	Ceiling  time.Duration   // of one attempt, capped; 0: nothing can be written, see Why
	Attempts int             // 1: no retries. Always 1 where the call is not known to be safe to repeat
	Hedge    time.Duration   // delay of the second copy; 0: none
	Left     *time.Duration  // what the tightest deadline leaves; nil: no route that usually makes the call has one
	Tightest *SuggestedRoute // whose deadline that is
	Why      Unwritable
}

// Unwritable says why no timeout can be written.
type Unwritable string

const (
	Written   Unwritable = ""
	NoTimeout Unwritable = "no-ceiling"   // neither measured nor given
	NoFit     Unwritable = "does-not-fit" // the tightest deadline leaves less than the minimum
)

// Deployables gives what can be deployed of each dependency, in the order of
// Dependencies.
//
//	ceiling = min(ceiling in force, left)
//
// left is the least, over routes and calls, of deadline - reserve - minimums before.
func (s *Suggestion) Deployables() []Deployable {
	list := make([]Deployable, len(s.Dependencies))
	at := map[*SuggestedDependency]*Deployable{}
	for i, d := range s.Dependencies {
		list[i].SuggestedDependency = d
		at[d] = &list[i]
	}
	for _, r := range s.Routes {
		total := r.typical()
		if total == nil {
			continue
		}
		for _, c := range s.plan(r, *total).Calls {
			if d := at[c.Dependency]; d.Left == nil || c.Left < *d.Left {
				left := c.Left
				d.Left, d.Tightest = &left, r
			}
		}
	}
	for i := range list {
		list[i].fill()
	}
	return list
}

func (d *Deployable) fill() {
	ceiling, minimum := d.SuggestedDependency.Ceiling.InForce(), d.Minimum.InForce()
	switch {
	case d.Left != nil && (*d.Left <= 0 || minimum != nil && *d.Left < *minimum), len(d.DoesNotFit) > 0 && d.SuggestedDependency.Ceiling.Given == nil:
		d.Why, d.Attempts = NoFit, 1
		return
	case ceiling == nil:
		d.Why, d.Attempts = NoTimeout, 1
		return
	}
	d.Ceiling, d.Attempts, d.Hedge = d.capped(*ceiling), d.Attempt, d.SuggestedDependency.Hedge()
	if d.Left != nil && d.Attempts > 1 {
		d.Attempts = max(1, min(d.Attempts, d.fitting(*d.Left)))
	}
	if d.Hedge >= d.Ceiling {
		d.Hedge = 0
	}
}

func (d *Deployable) capped(t time.Duration) time.Duration {
	if d.Left != nil {
		return min(t, *d.Left)
	}
	return t
}

// Whole is the timeout of the whole call, attempts and waits in it. A form that holds fewer
// attempts or no hedge says so in Attempts and Hedge first: with one attempt it is the
// ceiling.
//
//	whole = min(attempts x ceiling + waits, left); with a hedge, min(delay + ceiling, left)
func (d *Deployable) Whole() time.Duration {
	if d.Hedge > 0 {
		return d.capped(d.Hedge + d.Ceiling)
	}
	return d.capped(time.Duration(d.Attempts)*d.Ceiling + longestWaits(d.Attempts, d.RetryBase, maxPolicyTime)) // at most maxAttempts x 24 h
}
