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
	SpeedUpOwn    AdviceCode = "speed-up-own"   // own work of this route holds late requests
	CommonCause   AdviceCode = "common-cause"   // parallel calls are slow together
	RaiseTimeout  AdviceCode = "raise-timeout"  // From cuts what would have come in time
	DeriveTimeout AdviceCode = "derive-timeout" // a fixed timeout is longer than what is left
	SkipCalls     AdviceCode = "skip-calls"     // make no call whose computed timeout is below To
	FitDeadline   AdviceCode = "fit-deadline"   // the deadline leaves less than the minimum, To, as a rule
	PassDeadline  AdviceCode = "pass-deadline"  // callees do not know the deadline, or another
	StopWork      AdviceCode = "stop-work"      // pass on that the caller has left
	GiveUp        AdviceCode = "give-up"        // end at the deadline
	LimitRetries  AdviceCode = "limit-retries"
	LimitHedges   AdviceCode = "limit-hedges"
	KeepOpen      AdviceCode = "keep-open" // connecting takes long
	DrainInstance AdviceCode = "drain-instance"
)

// maxAdvice is how many lines of advice a report has.
const maxAdvice = 5

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

// LateHeld are late requests that one thing held for longer than any other, of those that
// had time left when they began.
type LateHeld struct {
	Held    int           `json:"held"`
	First   int64         `json:"first_unix_ns"`
	Worst   Place         `json:"worst"` // the latest
	Overrun time.Duration `json:"worst_overrun_ns"`
}

func (l *LateHeld) add(r *request, overrun time.Duration) {
	if l.Held == 0 || r.start < l.First {
		l.First = r.start
	}
	if l.Held == 0 || overrun > l.Overrun {
		trace, span := r.trace, r.span
		l.Overrun, l.Worst = overrun, Place{r.file, r.position, &trace, &span}
	}
	l.Held++
}

// LateCalls says what part calls to a dependency had in late requests.
type LateCalls struct {
	LateHeld // by path time
	// Of all late requests, so many would have been in time had each of its calls taken
	// its p50 at most: as the replay of each alone says (saved_by of request-late), and as
	// many as had that much path time. AtCeiling: had its calls not held them beyond its ceiling;
	// whether others would have held them then, only a replay can tell.
	AtP50Low  int `json:"saved_at_p50_low"`
	AtP50     int `json:"saved_at_p50_high"`
	AtCeiling int `json:"saved_at_ceiling_high"`
}

// learnLate adds a late request to what held it: its calls, or its own work.
func (a *Analysis) learnLate(r *request, overrun time.Duration, remedies []remedy) {
	// What calls to each dependency add up to, in the order of the first of them.
	type part struct {
		dep                int32
		held, atP50, above time.Duration // on the path; of that, beyond the p50 of each, and beyond the ceiling
	}
	var parts []part
	of := map[int32]int{}
	for k := range r.calls {
		c := &r.calls[k]
		if c.path == 0 {
			continue
		}
		at, known := of[c.dep]
		if !known {
			at = len(parts)
			of[c.dep], parts = at, append(parts, part{dep: c.dep})
		}
		d, p := a.deps[c.dep], &parts[at]
		p.held += c.path
		if d.minimum != nil {
			p.atP50 += max(c.path-*d.minimum, 0)
		}
		if d.ceiling != nil {
			p.above += max(c.path-*d.ceiling, 0)
		}
	}
	longest, path := int32(-1), time.Duration(0)
	for i := range parts {
		p := &parts[i]
		late := &a.deps[p.dep].late
		if p.atP50 >= overrun {
			late.AtP50++
		}
		if p.above >= overrun {
			late.AtCeiling++
		}
		if p.held > path {
			longest, path = p.dep, p.held
		}
	}
	for _, s := range remedies {
		if _, known := of[s.dep]; known {
			a.deps[s.dep].late.AtP50Low++
		}
	}
	switch {
	case r.deadline.budget <= 0: // it was late before it began
	case r.time.Own > path:
		r.table.lateOwn.add(r, overrun)
	case longest >= 0:
		a.deps[longest].late.add(r, overrun)
	}
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
		if a, ok := r.Routes[i].adviseOwn(); ok {
			list = append(list, a)
		}
	}
	asked := map[mistake]int{} // index in list
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Count == 0 {
			continue
		}
		a, ok := f.advise(dep[(&Dependency{Caller: f.Service, Callee: f.Callee, Operation: f.Operation, Split: f.Split}).name()])
		if !ok {
			continue
		}
		what, joins := a.asksFor()
		if at, known := asked[what]; joins && known {
			list[at].join(&a)
			continue
		}
		if joins {
			asked[what] = len(list)
		}
		list = append(list, a)
	}
	slices.SortStableFunc(list, func(x, y Advice) int {
		return cmp.Or(cmp.Compare(y.Requests, x.Requests), cmp.Compare(x.Do, y.Do), cmp.Compare(x.Service, y.Service),
			cmp.Compare(x.Route, y.Route), cmp.Compare(x.Callee, y.Callee), cmp.Compare(x.Operation, y.Operation), bySplit(x.Split, y.Split))
	})
	return list[:min(len(list), maxAdvice)]
}

// A mistake is what advice asks to put right.
type mistake struct {
	ofRetries bool
	route     routeKey
	to        dependency
	unsplit   bool
}

// asksFor says what an advice asks for if others can ask for the same: calls past the deadline,
// and those below the minimum, are findings of two codes and one mistake. Retries are another.
func (a *Advice) asksFor() (m mistake, joins bool) {
	m = mistake{a.OfRetries(), routeKey{service: a.Service, route: a.Route}, dependency{callee: a.Callee, operation: a.Operation}, a.Split == nil}
	if a.Split != nil {
		m.route.split = *a.Split
	}
	return m, a.Do == SkipCalls
}

// OfRetries reports whether it is about attempts after the first.
func (a *Advice) OfRetries() bool {
	return a.Finding == string(RetryBelowMinimum) || a.Finding == string(RetryPastDeadline)
}

// join adds what an advice rests on that asks for the same thing.
func (a *Advice) join(b *Advice) {
	calls := a.Requests + b.Requests
	if b.Requests > a.Requests {
		a.Finding, a.Trace, a.Span, a.File, a.Position = b.Finding, b.Trace, b.Span, b.File, b.Position
	}
	a.Requests, a.SavesLow, a.SavesHigh, a.Since = calls, &calls, &calls, min(a.Since, b.Since)
}

// adviseLate says what to do about a dependency that holds late requests.
func (d *Dependency) adviseLate() (a Advice, ok bool) {
	l := d.Late
	if l == nil || l.Held == 0 {
		return a, false
	}
	a = l.advise()
	a.Service, a.Callee, a.Operation, a.Split = d.Caller, d.Callee, d.Operation, d.Split
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
		low, high := l.AtP50Low, max(l.AtP50Low, l.AtP50)
		a.Do, a.From, a.To, a.SavesLow, a.SavesHigh = SpeedUp, d.Latency.P99.Point, d.Minimum, &low, &high
	}
	return a, true
}

// advise is advice about what held late requests.
func (l *LateHeld) advise() Advice {
	return Advice{Finding: string(RequestLate), Requests: l.Held, Since: l.First,
		Trace: *l.Worst.Trace, Span: *l.Worst.Span, File: l.Worst.File, Position: l.Worst.Position}
}

// adviseOwn says that the own work of a route holds late requests.
func (r *Route) adviseOwn() (a Advice, ok bool) {
	if r.LateOwn == nil {
		return a, false
	}
	a = r.LateOwn.advise()
	a.Do, a.Service, a.Route, a.Split = SpeedUpOwn, r.Service, r.Route, r.Split
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
	if f.Calls > 0 && !a.OfRetries() {
		a.Requests = f.Calls
	}
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
		a.Do, a.From = RaiseTimeout, current()
		if f.Unanswered > 0 { // else a later attempt was answered each time
			none := 0
			a.SavesLow, a.SavesHigh = &none, &f.Unanswered
		}
		if d != nil && d.Ceiling != nil && (a.From == nil || *d.Ceiling > *a.From) {
			a.To = d.Ceiling
		}
	case TimeoutOverBudget:
		a.Do, a.From = DeriveTimeout, current()
		if d != nil {
			a.To = d.Ceiling
		}
	case CallBelowMinimum, CallPastDeadline, RetryBelowMinimum, RetryPastDeadline:
		var misfits []string // by the minimum in force
		if d != nil {
			a.To, misfits = d.Minimum, d.DoesNotFit
			if d.PolicyMinimum != nil {
				a.To, misfits = d.PolicyMinimum, d.PolicyDoesNotFit
			}
		}
		if !a.OfRetries() && slices.Contains(misfits, f.Service+" "+f.Route) {
			a.Do = FitDeadline // or no call could ever be made
		} else {
			a.Do, a.SavesLow, a.SavesHigh = SkipCalls, &f.Count, &f.Count
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
	return int(rounded(*h.Rescued * float64(h.Requests)))
}
