package analyze

import (
	"maps"
	"slices"
	"time"
)

// findTimeouts looks at what cut an attempt, or was to.
func (a *Analysis) findTimeouts(r *request, c *call, i int, list []found) []found {
	try := &c.attempts[i]
	d := a.deps[c.dep]
	left := r.deadline.budget - try.start
	add := func(code FindingCode, amount time.Duration, detail *Detail) {
		f := found{code: code, to: *c.to, dep: c.dep, call: c, example: a.callExample(r, c, i, a.timeoutOf(r, c, try.start))}
		f.example.Amount, f.example.Detail = amount, detail
		list = append(list, f)
	}
	own := try.timeout
	if own == 0 && d.fixed != nil {
		own = d.fixed.value
	}
	if own > 0 && left > 0 && own-left > r.deadline.doubt+time.Millisecond {
		add(TimeoutOverBudget, own-left, &Detail{Timeout: kept(own)})
	}
	if try.outcome.Cut() && (try.ranOn() || try.answered()) {
		there := try.calleeEnd + try.leg
		detail := &Detail{Callee: &there, Success: "recorded"}
		if try.calleeGuess {
			detail.Success = "inferred"
		}
		if latest := r.deadline.budget - c.reserve; there <= latest {
			add(FalseTimeout, latest-there, detail)
		} else {
			add(LateAnyway, there-latest, detail)
		}
	}
	return list
}

// findConnecting looks at what connecting cost: at most a second, and a share of the
// timeout that was recorded and of the one that can be computed.
func (a *Analysis) findConnecting(r *request, list []found) []found {
	for k := range r.calls {
		c := &r.calls[k]
		if !c.awaited || c.unfinished {
			continue
		}
		for i := range c.attempts {
			try := &c.attempts[i]
			took, ok := try.phases.length(part.opening)
			if !ok {
				continue
			}
			limit := time.Second
			within := func(timeout time.Duration) {
				if timeout > 0 {
					limit = min(limit, time.Duration(float64(timeout)*a.policy().ConnectShare.fraction()))
				}
			}
			within(try.timeout)
			if r.deadline != nil {
				if computed, known := a.timeout(c.dep, r.deadline.budget-try.start, c.reserve); known {
					within(computed)
				}
			}
			if took <= limit {
				continue
			}
			f := found{code: ConnectSlow, to: *c.to, dep: c.dep, call: c, example: r.example(c, i)}
			if r.deadline != nil {
				f.example = a.callExample(r, c, i, a.timeoutOf(r, c, try.start))
			}
			f.example.Amount = took
			list = append(list, f)
		}
	}
	return list
}

// example is the evidence of a finding about attempt i of a call that needs no deadline.
func (r *request) example(c *call, i int) Example {
	try := &c.attempts[i]
	return Example{Trace: r.trace, Span: try.span, File: c.file, Position: c.position, Start: r.start + int64(try.start)}
}

// fraction is the quantile as a number in [0, 1].
func (q Quantile) fraction() float64 { return float64(q) / float64(whole) }

// policy is the policy in force: the defaults where none was given.
func (a *Analysis) policy() *Policy {
	if a.opts.Policy != nil {
		return a.opts.Policy
	}
	return defaultPolicy
}

var defaultPolicy = DefaultPolicy()

// findHedges looks at second copies: when they were sent, and whether the copy
// that lost ran on.
func (a *Analysis) findHedges(r *request, list []found) []found {
	for k := range r.calls {
		c := &r.calls[k]
		if !c.hedged() {
			continue
		}
		p95 := a.deps[c.dep].p95
		for i := range c.attempts {
			try := &c.attempts[i]
			add := func(code FindingCode, amount time.Duration, detail *Detail) {
				f := found{code: code, to: *c.to, example: r.example(c, i)}
				f.example.Amount, f.example.Detail = amount, detail
				list = append(list, f)
			}
			if try.hedge && p95 != nil {
				switch delay := try.start - c.attempts[0].start; {
				case delay < *p95/2:
					add(HedgeEarly, *p95/2-delay, &Detail{P95: p95})
				case delay > 2**p95:
					add(HedgeLate, delay-2**p95, &Detail{P95: p95})
				}
			}
			if c.winner < 0 || i == c.winner {
				continue
			}
			ran := try.end - c.attempts[c.winner].end
			if try.calleeEnd-try.end > try.word {
				ran = max(ran, try.calleeEnd-c.attempts[c.winner].end)
			}
			if ran > raceTolerance+try.word {
				add(HedgeNotCancelled, ran, nil)
			}
		}
	}
	return list
}

func (c *call) hedged() bool { return c.hedges() > 0 }

// hedges is how many second copies were sent.
func (c *call) hedges() (n int) {
	for i := range c.attempts {
		if c.attempts[i].hedge {
			n++
		}
	}
	return n
}

// A pile is the cuts of a dependency that may be a fixed timeout: those within one
// window.
type pile struct {
	low, high time.Duration // the window, both ends in it
	value     time.Duration // the median of the cuts in it
	cuts      int
	requests  int       // that they are of
	last      [24]byte  // trace and span of the last of those
	starts    stretched // of the cut attempts, in their requests
	toward    stretched // from their deadlines to their ends
}

// stretched is the least and the greatest of some durations.
type stretched struct {
	low, high time.Duration
	some      bool
}

func (s *stretched) add(d time.Duration) {
	if !s.some {
		*s = stretched{d, d, true}
	}
	s.low, s.high = min(s.low, d), max(s.high, d)
}

// openPile looks for the shortest window of max(2 ms, 2 %) that holds most of the
// cuts of a dependency, and at least 60 % of them; nil: there is none.
func (d *depTable) openPile() *pile {
	type step struct {
		at    time.Duration
		below int // cuts before
	}
	var steps []step
	all := 0
	d.cuts.walk(func(m *moment) bool {
		steps = append(steps, step{m.at, all})
		all += m.of[answered].n
		return true
	})
	steps = append(steps, step{below: all})
	var p pile
	for i, j := 0, 0; i+1 < len(steps); i++ {
		for j+1 < len(steps) && steps[j].at-steps[i].at <= pileWidth(steps[i].at) {
			j++
		}
		n, low, high := steps[j].below-steps[i].below, steps[i].at, steps[j-1].at
		if n > p.cuts || n == p.cuts && high-low < p.high-p.low {
			p.low, p.high, p.cuts = low, high, n
			median := steps[i].below + P50.Rank(n)
			k := i
			for steps[k+1].below < median {
				k++
			}
			p.value = steps[k].at
		}
	}
	if p.cuts < 5 || 10*p.cuts < 6*all {
		return nil
	}
	p.cuts = 0 // they are counted as they come by
	return &p
}

// holds reports whether a cut after so long is in the window.
func (p *pile) holds(took time.Duration, binned bool) bool {
	if binned {
		took = middle(bucket(took))
	}
	return took >= p.low && took <= p.high
}

// add adds a cut attempt to the pile it is in.
func (p *pile) add(r *request, t *attempt) {
	p.cuts++
	var id [24]byte
	copy(id[:], r.trace[:])
	copy(id[16:], r.span[:])
	if p.requests == 0 || id != p.last { // attempts of one request come one after the other
		p.requests++
		p.last = id
	}
	p.starts.add(t.start)
	if r.deadline != nil {
		p.toward.add(t.end - r.deadline.budget)
	}
}

// closePile decides whether the pile is a fixed timeout: at least 5 attempts of 3
// requests, at most 1 % of the answers longer, and what is constant is the duration,
// not the instant: else it may be the deadline as well (unclear).
func (d *depTable) closePile() (fixed, unclear bool) {
	p := d.pile
	if p == nil || p.cuts < 5 || p.requests < 3 {
		return false, false
	}
	longer := d.latency.answersAbove(p.high) - d.ranOn.answersAbove(p.high)
	if 100*longer > d.latency.answers.n-d.ranOn.N() {
		return false, false
	}
	spread := func(s stretched) bool { return s.some && s.high-s.low > 3*pileWidth(p.value) }
	fixed = spread(p.starts) || spread(p.toward)
	return fixed, !fixed
}

// setPatterns finds what only all calls of a dependency show together.
func (a *Analysis) setPatterns() {
	for _, d := range a.deps {
		fixed, unclear := d.closePile()
		if d.unclear = unclear; fixed {
			d.fixed = d.pile
		}
		putAway(d.samples()...)
	}
}

// findFixed lists the attempts of a request that a fixed timeout cut.
func (a *Analysis) findFixed(r *request) (list []found) {
	for k := range r.calls {
		c := &r.calls[k]
		d := a.deps[c.dep]
		if d.fixed == nil {
			continue
		}
		for i := range c.attempts {
			if t := &c.attempts[i]; t.cut() && d.fixed.holds(t.end-t.start, d.cuts.binned) {
				value := d.fixed.value
				list = append(list, found{code: FixedTimeout, to: d.name, example: exampleOfTry(r, c, i).with(Detail{Timeout: &value})})
			}
		}
	}
	return list
}

// cut reports whether the caller is known to have cut the attempt.
func (t *attempt) cut() bool { return !t.unfinished && t.outcome.Cut() }

// amplified is how many tries again a call may be followed by in the mean, hedges apart: 1.1
// attempts a call.
const amplified = 0.1

// findPatterns lists the findings about a dependency as a whole.
func (a *Analysis) findPatterns(dep int32) (list []found) {
	d := a.deps[dep]
	// Of sampled calls each counts as often as it stands for; counts are of recorded ones.
	calls, varied := d.extra.of.n, d.extra.of.light != d.extra.of.heavy
	if again := d.extra.of.mean(&d.again); again != nil && *again > amplified && d.retried != nil {
		detail := Detail{Attempts: calls + d.attempts - d.hedges - d.calls, Calls: calls}
		if varied {
			each := 1 + *again
			detail.Each = &each
		}
		list = append(list, found{code: RetryAmplified, to: d.name, example: d.retried.with(detail)})
	}
	if share := d.extra.of.mean(&d.copies); share != nil && *share > a.policy().HedgeLoad.fraction() && d.hedgedAt != nil {
		list = append(list, found{code: HedgeLoad, to: d.name, example: d.hedgedAt.with(Detail{Calls: calls, Share: share})})
	}
	if f, ok := d.oneInstance(); ok {
		list = append(list, f)
	}
	return list
}

// exampleOf is a call that stands for its dependency in a finding.
func exampleOf(r *request, c *call) Example {
	return Example{Trace: r.trace, Span: c.span, File: c.file, Position: c.position,
		Start: r.start + int64(c.start), Amount: c.end - c.start}
}

// exampleOfTry is an attempt that does.
func exampleOfTry(r *request, c *call, i int) Example {
	t := &c.attempts[i]
	return Example{Trace: r.trace, Span: t.span, File: c.file, Position: c.position,
		Start: r.start + int64(t.start), Amount: t.end - t.start}
}

// with is the example with a detail.
func (e Example) with(detail Detail) Example {
	e.Detail = &detail
	return e
}

// An instanceTable is what is known of one instance of a callee.
type instanceTable struct {
	answers int
	slow    int     // of answers: at the p95 of all or above, where many may be equal
	worst   Example // the slowest answer
	slowest time.Duration
}

// oneInstance looks for an instance that holds an outsized share of the slow
// answers: more of those from p95 on than its share of all answers would bring,
// binomial p < 0.001, two instances at least.
func (d *depTable) oneInstance() (f found, ok bool) {
	if len(d.instances) < 2 || d.p95 == nil {
		return f, false
	}
	total, slow := 0, 0
	for _, i := range d.instances {
		total += i.answers
		slow += i.slow
	}
	for _, name := range slices.Sorted(maps.Keys(d.instances)) {
		i := d.instances[name]
		k := i.slow
		share := float64(i.answers) / float64(total)
		if binomialTail(slow, k, share) >= 0.001 {
			continue
		}
		part := float64(k) / float64(slow)
		return found{code: OneInstance, to: d.name, example: i.worst.with(Detail{Instance: name, Share: &share, Slow: &part})}, true
	}
	return f, false
}

// findAmplified finds retries of what is retried below: a call of several
// attempts under a request that was itself one of several attempts. The
// attempts at the bottom are all that the trace holds of that dependency.
func (t *traced) findAmplified() {
	tried := func(r *request) bool {
		for k := range r.calls {
			if r.calls[k].again() {
				return true
			}
		}
		return false
	}
	if !slices.ContainsFunc(t.requests, tried) {
		return
	}
	above := make([]bool, len(t.requests)) // a call on the way to the request had several attempts
	bottom := map[dependency]int{}
	for _, r := range t.requests {
		for k := range r.calls {
			bottom[*r.calls[k].to] += len(r.calls[k].attempts)
		}
	}
	for i, r := range t.requests {
		if p := t.Spans[r.entry].Parent; p >= 0 && t.request[p] >= 0 && t.request[p] != int32(i) {
			caller := t.request[p]
			above[i] = above[caller]
			if u := t.unit[p]; u >= 0 && t.requests[caller].calls[t.units[u].calls].again() {
				above[i] = true
			}
		}
		for k := range r.calls {
			if c := &r.calls[k]; above[i] && c.again() {
				r.work = append(r.work, work{code: RetryAmplified, to: *c.to, span: c.span, file: c.file, position: c.position,
					start: r.start + int64(c.start), total: c.end - c.start, detail: &Detail{Attempts: len(c.attempts), Calls: 1, Bottom: bottom[*c.to]}})
			}
		}
	}
}

// again reports whether the call was tried again, other than as a hedge.
func (c *call) again() bool {
	return slices.ContainsFunc(c.attempts[1:], func(a attempt) bool { return !a.hedge })
}
