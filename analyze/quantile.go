package analyze

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// A Quantile is a share of 1 in parts per million, so that ranks are exact
// integers: 999 000 is p99.9.
type Quantile int64

const (
	P50  Quantile = 500_000
	P95  Quantile = 950_000
	P99  Quantile = 990_000
	P999 Quantile = 999_000

	whole Quantile = 1_000_000
)

// Rank is the nearest rank ceil(q*n), in [1, n]. 0 where n is 0.
func (q Quantile) Rank(n int) int {
	if n <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(q), uint64(n))
	lo, carry := bits.Add64(lo, uint64(whole)-1, 0)
	rank, _ := bits.Div64(hi+carry, lo, uint64(whole))
	return min(max(int(rank), 1), n)
}

// A Latency is a distribution in four quantiles. With cut calls in it, N counts
// answers and cuts.
type Latency struct {
	N          int      // values
	EffectiveN *float64 // (sum of weights)^2 / sum of squared weights; N without weights
	P50        Estimate
	P95        Estimate
	P99        Estimate
	P999       Estimate
}

// An Estimate is a quantile with its evidence; nil is unknown.
type Estimate struct {
	Point *time.Duration // nearest rank; nil where cuts leave it open
	// Low and High are the 95 % interval from binomial order statistics, with
	// equal tails; nil: the sample is too small for that end.
	Low, High *time.Duration
	// IfAnswered and IfNever are bounds, only given with cuts: cut calls answer
	// at the cut, or never do (nil: then there is no such quantile).
	IfAnswered, IfNever *time.Duration
	Cut                 bool // cuts are in the sample
}

// MarshalJSON writes the flat keys of the report: p50_ns, p50_low_ns, …
func (l Latency) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `{"n":%d,"effective_n":%s`, l.N, text(l.EffectiveN))
	for _, q := range []struct {
		name string
		e    *Estimate
	}{{"p50", &l.P50}, {"p95", &l.P95}, {"p99", &l.P99}, {"p999", &l.P999}} {
		fmt.Fprintf(&b, `,"%s_ns":%s,"%[1]s_low_ns":%[3]s,"%[1]s_high_ns":%[4]s`, q.name, text(q.e.Point), text(q.e.Low), text(q.e.High))
		if q.e.Cut {
			fmt.Fprintf(&b, `,"%s_if_answered_ns":%s,"%[1]s_if_never_ns":%[3]s`, q.name, text(q.e.IfAnswered), text(q.e.IfNever))
		}
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (l *Latency) UnmarshalJSON(data []byte) error {
	var keys map[string]*json.Number
	if err := json.Unmarshal(data, &keys); err != nil {
		return err
	}
	var bad error
	ns := func(key string) *time.Duration {
		if keys[key] == nil {
			return nil
		}
		n, err := keys[key].Int64()
		if err != nil {
			bad = fmt.Errorf("%s: %w", key, err)
		}
		d := time.Duration(n)
		return &d
	}
	*l = Latency{}
	if n := ns("n"); n != nil {
		l.N = int(*n)
	}
	if n := keys["effective_n"]; n != nil {
		f, err := n.Float64()
		if err != nil {
			return err
		}
		l.EffectiveN = &f
	}
	for name, e := range map[string]*Estimate{"p50": &l.P50, "p95": &l.P95, "p99": &l.P99, "p999": &l.P999} {
		_, cut := keys[name+"_if_answered_ns"]
		*e = Estimate{ns(name + "_ns"), ns(name + "_low_ns"), ns(name + "_high_ns"),
			ns(name + "_if_answered_ns"), ns(name + "_if_never_ns"), cut}
	}
	return bad
}

// text writes a number that may be unknown.
func text[T time.Duration | float64](v *T) string {
	if v == nil {
		return "null"
	}
	switch v := any(*v).(type) {
	case time.Duration:
		return strconv.FormatInt(int64(v), 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	panic("unreachable")
}

// exactValues is how many values a Sample keeps as they are. Beyond it a
// log-linear histogram holds all of them.
const exactValues = 1 << 20

// A Sample collects durations: answers, and cuts, of which only a lower bound
// is known. The order of adding never shows. The zero value is empty.
type Sample struct {
	answers, cuts []time.Duration
	merged        []time.Duration // answers and cuts, once sealed; shares answers without cuts
	n, c          int             // numbers of answers and cuts
	low, high     time.Duration   // the least and the greatest of all
	hist          *[2]histogram   // answers; answers and cuts: beyond exactValues
	sealed        bool
}

// Add adds an answer. Negative durations count as 0.
func (s *Sample) Add(d time.Duration) { s.n++; s.add(&s.answers, max(d, 0), true) }

// AddCut adds a call that was cut after d.
func (s *Sample) AddCut(d time.Duration) { s.c++; s.add(&s.cuts, max(d, 0), false) }

func (s *Sample) add(to *[]time.Duration, d time.Duration, answer bool) {
	s.sealed = false
	if s.n+s.c == 1 {
		s.low, s.high = d, d
	}
	s.low, s.high = min(s.low, d), max(s.high, d)
	if s.hist == nil && s.n+s.c <= exactValues {
		*to = append(*to, d)
		return
	}
	if s.hist == nil {
		s.hist = new([2]histogram)
		for _, v := range s.answers {
			s.hist[0].add(v)
			s.hist[1].add(v)
		}
		for _, v := range s.cuts {
			s.hist[1].add(v)
		}
		s.answers, s.cuts, s.merged = nil, nil, nil
	}
	if answer {
		s.hist[0].add(d)
	}
	s.hist[1].add(d)
}

// seal sorts. Adding afterwards is allowed, and unseals.
func (s *Sample) seal() {
	if s.sealed || s.hist != nil {
		return
	}
	s.sealed = true
	slices.Sort(s.answers)
	s.merged = s.answers
	if s.c > 0 {
		s.merged = slices.Concat(s.answers, s.cuts)
		slices.Sort(s.merged)
	}
}

// N is the number of values, answers and cuts.
func (s *Sample) N() int { return s.n + s.c }

// Range is the least and the greatest value; 0 where there is none.
func (s *Sample) Range() (low, high time.Duration) { return s.low, s.high }

// Exact reports whether quantiles are exact; else they are within 0.05 %.
func (s *Sample) Exact() bool { return s.hist == nil }

// answered is the k-th smallest value (from 1) if cuts answer at the cut; nil
// outside [1, n+c].
func (s *Sample) answered(k int) *time.Duration { return s.kth(1, s.merged, s.n+s.c, k) }

// never is the k-th smallest value if cuts never answer; nil beyond the
// answers.
func (s *Sample) never(k int) *time.Duration { return s.kth(0, s.answers, s.n, k) }

func (s *Sample) kth(which int, sorted []time.Duration, n, k int) *time.Duration {
	if k < 1 || k > n {
		return nil
	}
	if s.hist != nil {
		d := s.hist[which].kth(k)
		return &d
	}
	d := sorted[k-1]
	return &d
}

// Estimate gives the quantile with its interval and bounds. An empty sample
// gives unknown throughout.
func (s *Sample) Estimate(q Quantile) Estimate {
	s.seal()
	n := s.N()
	if n == 0 {
		return Estimate{}
	}
	k := q.Rank(n)
	low, high := intervalRanks(n, q)
	e := Estimate{Low: s.answered(low), High: s.never(high), Cut: s.c > 0}
	answered, never := s.answered(k), s.never(k)
	// The true quantile lies between the bounds: where they meet it is known.
	if never != nil && *never == *answered {
		e.Point = answered
	}
	if e.Cut {
		e.IfAnswered, e.IfNever = answered, never
	}
	return e
}

// Point is the quantile alone; nil where it is unknown.
func (s *Sample) Point(q Quantile) *time.Duration { return s.Estimate(q).Point }

// ShareAbove is the share of calls that take longer than d. nil where a cut
// below d leaves it open, or the sample is empty.
func (s *Sample) ShareAbove(d time.Duration) *float64 {
	s.seal()
	if s.N() == 0 {
		return nil
	}
	if d < 0 {
		all := 1.0
		return &all
	}
	if s.hist != nil && s.c > 0 {
		return nil
	}
	above := s.answersAbove(d)
	for _, c := range s.cuts {
		if c < d {
			return nil
		}
		above++
	}
	share := float64(above) / float64(s.N())
	return &share
}

// answersAbove counts the answers that took longer than d, which is not negative.
func (s *Sample) answersAbove(d time.Duration) int {
	s.seal()
	if s.hist != nil {
		return s.n - s.hist[0].upTo(d)
	}
	return s.n - sort.Search(s.n, func(i int) bool { return s.answers[i] > d })
}

// Latency gives the four quantiles.
func (s *Sample) Latency() Latency {
	n := float64(s.N())
	return Latency{s.N(), &n, s.Estimate(P50), s.Estimate(P95), s.Estimate(P99), s.Estimate(P999)}
}

// Warnings says which of the quantiles are doubtful, and why.
func (l *Latency) Warnings() (list []Warning) {
	if l.N == 0 {
		return nil
	}
	cut := false
	for _, q := range []struct {
		e   *Estimate
		q   Quantile
		few Warning
	}{{&l.P50, P50, FewP50}, {&l.P95, P95, FewP95}, {&l.P99, P99, FewP99}, {&l.P999, P999, FewP999}} {
		if _, high := intervalRanks(l.N, q.q); high > l.N {
			list = append(list, q.few)
		}
		cut = cut || q.e.Point == nil
	}
	if cut {
		list = append(list, CutsHidePoint)
	}
	return list
}

// intervalRanks gives the ranks of the order statistics that bound the
// q-quantile with 95 % confidence and equal tails, B ~ Bin(n, q):
//
//	low  = largest  l with P(B <= l-1) <= 0.025; 0: none
//	high = smallest u with P(B <= u-1) >= 0.975; n+1: none
//
// Conover, Practical Nonparametric Statistics, 3rd ed. 1999, section 3.2.
func intervalRanks(n int, q Quantile) (low, high int) {
	const tail = 0.025
	// B concentrates within 12 standard deviations of its mean; beyond, terms
	// are below 1e-30 and no sum that is compared with 0.025 can see them.
	p := float64(q) / float64(whole)
	mean, sd := float64(n)*p, math.Sqrt(float64(n)*p*(1-p))
	from := max(0, int(mean-12*sd)-20)
	to := min(n, int(mean+12*sd)+20)
	term := binomialTerm(n, from, p)
	sum, high := 0.0, n+1
	low = from // P(B <= from-1) is 0 for all that can be seen
	for b := from; b <= to; b++ {
		sum += term
		if sum <= tail {
			low = b + 1
		}
		if sum >= 1-tail {
			high = b + 1
			break
		}
		term *= float64(n-b) / float64(b+1) * p / (1 - p)
	}
	return low, min(high, n+1)
}

// binomialTerm is P(B = k) for B ~ Bin(n, p), 0 < p < 1.
func binomialTerm(n, k int, p float64) float64 {
	return math.Exp(logBinomial(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// logBinomial is the logarithm of n over k.
func logBinomial(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// A histogram counts durations in log-linear buckets: 2^mantissa of them to
// each power of two, so that a bucket's middle is within 2^-(mantissa+1),
// 0.05 %, of every value in it. Values below 2^(mantissa+1) ns are exact.
type histogram struct {
	count [(64 - mantissa) << mantissa]int64
}

const mantissa = 10

// bucket is the index of a value's bucket, ascending with the value.
func bucket(d time.Duration) int {
	shift := max(bits.Len64(uint64(d))-mantissa-1, 0)
	return shift<<mantissa + int(uint64(d)>>shift)
}

// middle is the value that stands for a bucket.
func middle(bucket int) time.Duration {
	shift := max(bucket>>mantissa-1, 0)
	low := uint64(bucket-shift<<mantissa) << shift
	return time.Duration(low + (1<<shift)/2)
}

func (h *histogram) add(d time.Duration) { h.count[bucket(d)]++ }

// kth is the value of rank k, from 1.
func (h *histogram) kth(k int) time.Duration {
	left := int64(k)
	for b := range h.count {
		if left -= h.count[b]; left <= 0 {
			return middle(b)
		}
	}
	panic(fmt.Sprintf("rank %d beyond the histogram", k))
}

// upTo counts values in buckets up to that of d.
func (h *histogram) upTo(d time.Duration) int {
	sum := int64(0)
	for _, n := range h.count[:bucket(d)+1] {
		sum += n
	}
	return int(sum)
}

// nearest is the nearest-rank quantile of a slice, which it sorts; the zero
// value for an empty one.
func nearest[T cmp.Ordered](values []T, q Quantile) (v T) {
	if len(values) == 0 {
		return v
	}
	slices.Sort(values)
	return values[q.Rank(len(values))-1]
}
