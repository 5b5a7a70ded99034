package analyze

import (
	"cmp"
	"math"
	"slices"
	"time"

	"overrun/ingest"
)

// A bunch counts values of traces, which are not independent of each other. It says
// for how many independent ones they stand, taking the worst: that all values of a
// trace are one.
//
//	effective = (sum of w)^2 / sum over traces of (sum of w in the trace)^2
//
// Kish, Survey Sampling, 1965, sections 5.4 and 8.2. Values of one trace are added
// together. The zero value is empty.
type bunch struct {
	n, known int    // values; those of which the weight is known
	total    sum    // of the weights, in 1024ths
	squares  wide   // of the traces before this one
	single   wide   // squares as if each value were a trace
	trace    int64  // number of the trace that is added to
	open     uint64 // its weight
}

// add returns the weight that the value counts with.
func (b *bunch) add(trace int64, w weight) uint64 {
	if w != unknownWeight {
		b.known++
	}
	one := uint64(w.orOne())
	if trace != b.trace {
		b.squares.add(1, b.open, b.open)
		b.trace, b.open = trace, 0
	}
	b.n++
	b.total.add(sum{0, one})
	b.single.add(1, one, one)
	b.open += min(one, math.MaxUint64-b.open)
	return one
}

// clusters is the sum of the squares of the traces.
func (b *bunch) clusters() float64 {
	all := b.squares
	all.add(1, b.open, b.open)
	return all.float()
}

// effective is the number of independent values; 0: there are none, or they stand for
// nobody knows how many.
func (b *bunch) effective() float64 {
	if b.mixed() || b.total == (sum{}) {
		return 0
	}
	w := b.total.float()
	return rounded(w / b.clusters() * w)
}

// spread is by what part the values of a trace are fewer than they look, in (0, 1].
func (b *bunch) spread() float64 {
	if b.total == (sum{}) {
		return 1
	}
	return min(1, b.single.float()/b.clusters())
}

// mixed reports whether some weights are known and others not.
func (b *bunch) mixed() bool { return b.known > 0 && b.known < b.n }

// rounded takes off what floating point has put on a whole number.
func rounded(x float64) float64 {
	if whole := math.Round(x); math.Abs(x-whole) <= 1e-9*whole {
		return whole
	}
	return x
}

// A portion is the share of hits in all.
type portion struct {
	all  bunch
	hits sum // of weights
}

func (p *portion) add(trace int64, w weight, hit bool) {
	if one := p.all.add(trace, w); hit {
		p.hits.add(sum{0, one})
	}
}

func (p *portion) share() float64 { return p.hits.float() / p.all.total.float() }

// An average is the mean of whole numbers, not negative. Its sums are exact, so that
// neither the order of adding nor that of merging shows.
type average struct {
	all          bunch
	sum, squares wide // of w x, and of w x^2
	most         uint64
}

func (a *average) add(trace int64, w weight, x int64) {
	one, v := a.all.add(trace, w), uint64(max(x, 0))
	a.sum.add(1, one, v)
	a.squares.add(one, v, v)
	a.most = max(a.most, v)
}

func (a *average) mean() float64 { return a.sum.float() / a.all.total.float() }

// variance is that of the mean. Of values that are all the same, it is 0.
func (a *average) variance() float64 {
	n, mean := a.all.effective(), a.mean()
	v := a.squares.float()/a.all.total.float() - mean*mean
	if v <= 1e-14*mean*mean { // what rounding leaves
		return 0
	}
	return v / (n - 1)
}

// A routeTally is what one side of a comparison says of a route.
type routeTally struct {
	key                                           routeKey
	inTime, completeInTime, partial, late, failed portion
	latency                                       Sample // of complete and partial requests
	answers                                       bunch  // of latency
	times                                         [len(categories) + 1]average
	attempts                                      average // of a request
	extra                                         average // attempts after the first, of a call
	blind                                         bool    // connecting is not told apart from reading
}

// A depLedger is what one side says of a dependency.
type depLedger struct {
	name        dependency
	latency     *Sample // of attempts
	attempts    bunch
	failed, cut portion
	extra       average
	perRequest  loads // attempts
	path        loads // time on the path
}

// A loads is what requests of a caller put on one dependency: nothing, most of them
// maybe.
type loads struct {
	of       average // requests that put something on it
	open     int64   // number of the request that is added to
	x        int64   // what it puts
	trace    int64
	weighing weight
}

// add adds to what a request puts.
func (l *loads) add(request, trace int64, w weight, x int64) {
	if request != l.open {
		l.close()
		l.open, l.trace, l.weighing = request, trace, w
	}
	l.x = int64(plus(time.Duration(l.x), time.Duration(x)))
}

func (l *loads) close() {
	if l.open != 0 {
		l.of.add(l.trace, l.weighing, l.x)
		l.open, l.x = 0, 0
	}
}

// among is the mean over all requests of the caller.
func (l *loads) among(all *bunch) average {
	l.close()
	of := l.of
	of.all = *all
	return of
}

// A ledger is one side of a comparison.
type ledger struct {
	routes  map[routeKey]*routeTally
	deps    map[dependency]*depLedger
	callers map[callerKey]*bunch // requests of services
}

type callerKey struct{ service, split string }

// categories are those of Time, in the order of reports.
var categories = [...]Category{Own, Connect, Read, Retry, RetryWait, Hedge, Messaging, Unknown}

// all are the times of categories, and the total.
func (t *Time) all() (list [len(categories) + 1]*time.Duration) {
	parts := t.parts()
	copy(list[:], parts[:])
	list[len(categories)] = &t.Total
	return list
}

// ledger counts the requests of an analysis for a comparison.
func (a *Analysis) ledger() (*ledger, error) {
	t := &ledger{routes: map[routeKey]*routeTally{}, deps: map[dependency]*depLedger{}, callers: map[callerKey]*bunch{}}
	var last ingest.TraceID
	trace, number := int64(0), int64(0)
	var ch chain
	a.each(func(r *request) {
		if number++; r.trace != last || r.trace == (ingest.TraceID{}) || trace == 0 {
			trace++
			last = r.trace
		}
		a.chainOf(r, &ch)
		a.decide(r, &ch)
		t.add(a, r, trace, number)
	})
	return t, a.failure()
}

func (t *ledger) add(a *Analysis, r *request, trace, number int64) {
	if r.table != nil {
		t.addRequest(a, r, trace)
	}
	for k := range r.calls {
		c := &r.calls[k]
		d := t.deps[*c.to]
		if d == nil {
			d = &depLedger{name: *c.to, latency: &a.deps[c.dep].latency}
			t.deps[*c.to] = d
		}
		for i := range c.attempts {
			try := &c.attempts[i]
			d.attempts.add(trace, try.weight)
			d.failed.add(trace, try.weight, !try.unfinished && try.outcome.Bad())
			d.cut.add(trace, try.weight, !try.unfinished && try.outcome.Cut())
		}
		tries := int64(c.tries())
		if !r.orphaned(c) {
			d.extra.add(trace, r.weight, tries-1)
		}
		if r.table != nil {
			d.perRequest.add(number, trace, r.weight, tries)
			d.path.add(number, trace, r.weight, int64(c.path))
		}
	}
}

// tries is how many attempts a call made, those that spans hide too.
func (c *call) tries() int {
	n := len(c.attempts)
	for i := range c.attempts {
		n += c.attempts[i].hidden
	}
	return n
}

func (t *ledger) addRequest(a *Analysis, r *request, trace int64) {
	of := a.symbols.routes[r.number] // whose it is, of those in the row for all the rest too
	who := callerKey{of.service, of.split}
	if t.callers[who] == nil {
		t.callers[who] = new(bunch)
	}
	t.callers[who].add(trace, r.weight)
	key := routeKey{r.service, r.route, r.split}
	s := t.routes[key]
	if s == nil {
		s = &routeTally{key: key}
		a.hoard.lodge(&s.latency)
		t.routes[key] = s
	}
	s.blind = s.blind || r.blind
	_, late := r.late()
	answer := r.ended != Failed
	s.failed.add(trace, r.weight, !answer)
	if r.deadline != nil {
		s.inTime.add(trace, r.weight, answer && !late)
		s.completeInTime.add(trace, r.weight, r.ended == Complete && !late)
	}
	if answer {
		s.partial.add(trace, r.weight, r.ended == PartlyOK)
		s.answers.add(trace, r.weight)
		s.latency.add(answered, r.duration, r.weight)
		if r.deadline != nil {
			s.late.add(trace, r.weight, late)
		}
	}
	for i, x := range r.time.all() {
		s.times[i].add(trace, r.weight, int64(*x))
	}
	tries := 0
	for k := range r.calls {
		n := r.calls[k].tries()
		tries += n
		s.extra.add(trace, r.weight, int64(n-1))
	}
	s.attempts.add(trace, r.weight, int64(tries))
}

// sortBy sorts numbers by what they stand for, and equal ones by themselves.
func sortBy(list []int, by func(int) float64) {
	slices.SortFunc(list, func(i, j int) int { return cmp.Or(cmp.Compare(by(i), by(j)), cmp.Compare(i, j)) })
}
