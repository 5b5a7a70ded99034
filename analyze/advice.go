package analyze

import (
	"cmp"
	"slices"
	"time"

	"overrun/ingest"
)

// An AdviceCode names what somebody can do. Codes are stable.
type AdviceCode string

const (
	CapOptional   AdviceCode = "cap-optional"   // wait no longer than To for an optional call
	SendHedge     AdviceCode = "send-hedge"     // send a second copy after To
	SpeedUp       AdviceCode = "speed-up"       // this dependency holds late requests
	CommonCause   AdviceCode = "common-cause"   // parallel calls are slow together
	RaiseTimeout  AdviceCode = "raise-timeout"  // From cuts what would have come in time
	DeriveTimeout AdviceCode = "derive-timeout" // a fixed timeout is longer than what is left
	SkipCalls     AdviceCode = "skip-calls"     // make no call with less than To left
	PassDeadline  AdviceCode = "pass-deadline"  // callees do not know the deadline, or another
	StopWork      AdviceCode = "stop-work"      // pass on that the caller has left
	GiveUp        AdviceCode = "give-up"        // end at the deadline
	LimitRetries  AdviceCode = "limit-retries"
	LimitHedges   AdviceCode = "limit-hedges"
	KeepOpen      AdviceCode = "keep-open" // connecting takes long
	DrainInstance AdviceCode = "drain-instance"
)

// MaxAdvice is how many lines of advice a report has.
const MaxAdvice = 5

// An Advice is one thing to do, with what it rests on.
type Advice struct {
	Do        AdviceCode `json:"do"`
	Finding   string     `json:"finding"` // code that it rests on; "": none
	Service   string     `json:"service"` // whose request or call it is
	Route     string     `json:"route"`   // "": all of the service
	Callee    string     `json:"callee"`  // whom it waits for; "": nobody
	Operation string     `json:"operation"`
	Instance  string     `json:"instance,omitempty"`
	Split     *string    `json:"split,omitempty"`
	Requests  int        `json:"requests"` // affected: late ones, or calls for findings about calls
	Since     int64      `json:"since_unix_ns"`
	// From is the setting in use, To what to use; null: not known, or no time.
	From *time.Duration `json:"from_ns"`
	To   *time.Duration `json:"to_ns"`
	// Saves is the range of requests that would be in time, or calls that would be
	// answered, or not be made; null: nothing is known.
	SavesLow  *int           `json:"saves_low"`
	SavesHigh *int           `json:"saves_high"`
	Trace     ingest.TraceID `json:"trace"` // the worst
	Span      ingest.SpanID  `json:"span"`
	File      string         `json:"file"`
	Position  int64          `json:"position"`
}

// LateCalls says what part calls to a dependency had in late requests.
type LateCalls struct {
	Held int `json:"held"` // late requests in which it had the longest path time
	// Of all late requests, at most so many would have been in time had each of its
	// calls taken its p50, or had its calls not held them beyond its ceiling. Whether
	// others would have held them then, only a replay can tell.
	AtP50     int           `json:"saved_at_p50_high"`
	AtCeiling int           `json:"saved_at_ceiling_high"`
	First     int64         `json:"first_unix_ns"` // of Held
	Worst     Place         `json:"worst"`         // of Held: the latest
	Overrun   time.Duration `json:"worst_overrun_ns"`
}

// learnLate adds a late request to what its calls had to do with it.
func (a *Analysis) learnLate(r *request, overrun time.Duration) {
	longest, path := int32(-1), time.Duration(0)
	for k := range r.calls {
		c := &r.calls[k]
		if c.path == 0 || slices.ContainsFunc(r.calls[:k], func(b call) bool { return b.dep == c.dep && b.path > 0 }) {
			continue
		}
		d := a.deps[c.dep]
		held, atP50, beyond := time.Duration(0), time.Duration(0), time.Duration(0)
		for j := k; j < len(r.calls); j++ {
			b := &r.calls[j]
			if b.dep != c.dep || b.path == 0 {
				continue
			}
			held += b.path
			if d.minimum != nil {
				atP50 += max(b.path-*d.minimum, 0)
			}
			if d.ceiling != nil {
				beyond += max(b.path-*d.ceiling, 0)
			}
		}
		if atP50 >= overrun {
			d.late.AtP50++
		}
		if beyond >= overrun {
			d.late.AtCeiling++
		}
		if held > path {
			longest, path = c.dep, held
		}
	}
	if longest < 0 {
		return
	}
	l := &a.deps[longest].late
	if l.Held == 0 || r.start < l.First {
		l.First = r.start
	}
	if l.Held == 0 || overrun > l.Overrun {
		trace, span := r.trace, r.span
		l.Overrun, l.Worst = overrun, Place{r.file, r.position, &trace, &span}
	}
	l.Held++
}

// advise says what to do, the most requests first.
func advise(r *Report) []Advice {
	list := []Advice{}
	dep := map[dependency]*Dependency{}
	for i := range r.Dependencies {
		d := &r.Dependencies[i]
		dep[d.name()] = d
		if a, ok := d.adviseLate(); ok {
			list = append(list, a)
		}
	}
	for i := range r.Routes {
		if a, ok := r.Routes[i].adviseCause(r.Worst); ok {
			list = append(list, a)
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Count == 0 {
			continue
		}
		if a, ok := f.advise(dep[(&Dependency{Caller: f.Service, Callee: f.Callee, Operation: f.Operation, Split: f.Split}).name()]); ok {
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(x, y Advice) int {
		return cmp.Or(cmp.Compare(y.Requests, x.Requests), cmp.Compare(x.Do, y.Do), cmp.Compare(x.Service, y.Service),
			cmp.Compare(x.Route, y.Route), cmp.Compare(x.Callee, y.Callee), cmp.Compare(x.Operation, y.Operation), bySplit(x.Split, y.Split))
	})
	// Findings of several routes, or several codes, can ask for the same thing.
	list = slices.CompactFunc(list, func(x, y Advice) bool {
		return x.Do == y.Do && x.Service == y.Service && x.Route == y.Route && x.Callee == y.Callee && x.Operation == y.Operation && bySplit(x.Split, y.Split) == 0
	})
	return list[:min(len(list), MaxAdvice)]
}

// adviseLate says what to do about a dependency that holds late requests.
func (d *Dependency) adviseLate() (a Advice, ok bool) {
	l := d.Late
	if l == nil || l.Held == 0 {
		return a, false
	}
	a = Advice{Finding: string(RequestLate), Service: d.Caller, Callee: d.Callee, Operation: d.Operation, Split: d.Split, Requests: l.Held, Since: l.First,
		Trace: *l.Worst.Trace, Span: *l.Worst.Span, File: l.Worst.File, Position: l.Worst.Position}
	none := 0
	a.SavesLow = &none
	switch {
	case d.Required != nil && !*d.Required && d.Ceiling != nil && l.AtCeiling > 0:
		a.Do, a.To, a.SavesHigh = CapOptional, d.Ceiling, &l.AtCeiling
		if d.CurrentTimeout != nil {
			a.From = &d.CurrentTimeout.NS
		}
	case d.HedgeAfter != nil && d.Hedge.rescues() > 0:
		most := d.Hedge.rescues()
		a.Do, a.To, a.SavesHigh = SendHedge, d.HedgeAfter, &most
	default:
		a.Do, a.From, a.To, a.SavesHigh = SpeedUp, d.Latency.P99.Point, d.Minimum, &l.AtP50
	}
	return a, true
}

// Limits of the advice to look for a common cause.
const (
	causeLate  = 5
	causeRatio = 0.5
)

// adviseCause says that parallel calls of a route are slow together.
func (r *Route) adviseCause(worst []LateOne) (a Advice, ok bool) {
	in := r.Independence
	if in == nil || in.Verdict != "together" || *in.Ratio > causeRatio || r.Late < causeLate || r.FirstLate == nil {
		return a, false
	}
	a = Advice{Do: CommonCause, Finding: string(RequestLate), Service: r.Service, Route: r.Route, Split: r.Split, Requests: r.Late, Since: *r.FirstLate}
	for i := range worst {
		if w := &worst[i]; w.Service == r.Service && w.Route == r.Route && bySplit(w.Split, r.Split) == 0 {
			a.Trace, a.Span, a.File, a.Position = w.Trace, w.Span, w.File, w.Position
			return a, true
		}
	}
	return a, false
}

// advise says what to do about a finding; d is the dependency that it is about, nil if
// it is about none.
func (f *Finding) advise(d *Dependency) (a Advice, ok bool) {
	a = Advice{Finding: string(f.Code), Service: f.Service, Route: f.Route, Callee: f.Callee, Operation: f.Operation, Split: f.Split, Requests: f.Count, Since: f.First}
	if len(f.Examples) > 0 {
		e := &f.Examples[0]
		a.Trace, a.Span, a.File, a.Position = e.Trace, e.Span, e.File, e.Position
	}
	current := func() *time.Duration {
		if d != nil && d.CurrentTimeout != nil {
			return &d.CurrentTimeout.NS
		}
		if len(f.Examples) > 0 && f.Examples[0].Detail != nil {
			return f.Examples[0].Detail.Timeout
		}
		return nil
	}
	switch f.Code {
	case FalseTimeout:
		a.Do, a.From, a.SavesHigh = RaiseTimeout, current(), &f.Count
		none := 0
		a.SavesLow = &none
		if d != nil && d.Ceiling != nil && (a.From == nil || *d.Ceiling > *a.From) {
			a.To = d.Ceiling
		}
	case TimeoutOverBudget:
		a.Do, a.From = DeriveTimeout, current()
		if d != nil {
			a.To = d.Ceiling
		}
	case CallBelowMinimum, CallPastDeadline, RetryBelowMinimum, RetryPastDeadline:
		a.Do, a.SavesLow, a.SavesHigh = SkipCalls, &f.Count, &f.Count
		if d != nil {
			a.To = cmp.Or(d.PolicyMinimum, d.Minimum)
		}
	case DeadlineLost, DeadlineWidened:
		a.Do = PassDeadline
	case AbandonedWork:
		a.Do = StopWork
	case WorkPastDeadline:
		a.Do = GiveUp
	case RetryAmplified:
		a.Do = LimitRetries
	case HedgeLoad:
		a.Do = LimitHedges
	case ConnectSlow:
		a.Do = KeepOpen
	case OneInstance:
		a.Do = DrainInstance
		if len(f.Examples) > 0 && f.Examples[0].Detail != nil {
			a.Instance = f.Examples[0].Detail.Instance
		}
	default:
		return a, false
	}
	return a, true
}

// rescues is how many recorded requests second copies would rescue at most.
func (h *HedgePlan) rescues() int {
	if h.Rescued == nil {
		return 0
	}
	return int(*h.Rescued * float64(h.Requests))
}
