package analyze

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"slices"
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
	EffectiveN *float64 // (sum of weights)^2 / sum of squared weights; N without weights; nil: some weights are known and others not
	P50        Estimate
	P95        Estimate
	P99        Estimate
	P999       Estimate
}

// An Estimate is a quantile with its evidence; nil is unknown.
type Estimate struct {
	// Point is the nearest rank, with cuts the product-limit estimate; nil where
	// cuts leave it open.
	Point *time.Duration
	// Low and High are the 95 % interval with equal tails: from binomial order
	// statistics, or from the product-limit curve with cuts or weights. nil: the
	// sample says nothing about that end.
	Low, High *time.Duration
	// IfAnswered and IfNever are bounds, only given with cuts: cut calls answer
	// at the cut, or never do (nil: then there is no such quantile).
	IfAnswered, IfNever *time.Duration
	// Above is what the quantile exceeds where that is all that is known: the
	// curve ends before it.
	Above *time.Duration
	// Naive is the nearest rank of the answers that are known, also of callees that ran on
	// past a cut, as if no other call had been made; only given with cuts. It is shown to be
	// wrong.
	Naive *time.Duration
	Cut   bool // cuts are in the sample
}

// MarshalJSON writes the flat keys of the report: p50_ns, p50_low_ns, …
func (l Latency) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `{"n":%d,"effective_n":%s`, l.N, text(l.EffectiveN))
	for _, q := range l.quantiles() {
		fmt.Fprintf(&b, `,"%s_ns":%s,"%[1]s_low_ns":%[3]s,"%[1]s_high_ns":%[4]s`, q.name, text(q.e.Point), text(q.e.Low), text(q.e.High))
		if q.e.Cut {
			fmt.Fprintf(&b, `,"%s_if_answered_ns":%s,"%[1]s_if_never_ns":%[3]s,"%[1]s_above_ns":%[4]s,"%[1]s_naive_ns":%[5]s`, q.name,
				text(q.e.IfAnswered), text(q.e.IfNever), text(q.e.Above), text(q.e.Naive))
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
	for _, q := range l.quantiles() {
		_, cut := keys[q.name+"_if_answered_ns"]
		*q.e = Estimate{Point: ns(q.name + "_ns"), Low: ns(q.name + "_low_ns"), High: ns(q.name + "_high_ns"),
			IfAnswered: ns(q.name + "_if_answered_ns"), IfNever: ns(q.name + "_if_never_ns"),
			Above: ns(q.name + "_above_ns"), Naive: ns(q.name + "_naive_ns"), Cut: cut}
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

// Warnings says which of the quantiles are doubtful, and why.
func (l *Latency) Warnings() (list []Warning) {
	if l.N == 0 {
		return nil
	}
	if l.EffectiveN == nil {
		return []Warning{MixedWeights}
	}
	for _, q := range l.quantiles() {
		if *l.EffectiveN < fewest(q.q) {
			list = append(list, q.few)
		}
	}
	hidden, ended, open := false, false, false
	for _, q := range l.quantiles() {
		hidden = hidden || q.e.Point == nil && q.e.IfNever != nil
		ended = ended || q.e.Point == nil && q.e.Above != nil
		open = open || q.e.Cut && q.e.Point != nil && q.e.High == nil && *l.EffectiveN >= fewest(q.q)
	}
	for _, w := range []struct {
		w    Warning
		when bool
	}{{CutsHidePoint, hidden}, {CurveEnds, ended}, {CutsHideEnd, open}} {
		if w.when {
			list = append(list, w.w)
		}
	}
	return list
}

// A namedQuantile is a quantile of a Latency, with its name in keys and the
// warning of too few values for it.
type namedQuantile struct {
	name string
	q    Quantile
	few  Warning
	e    *Estimate
}

func (l *Latency) quantiles() [4]namedQuantile {
	return [4]namedQuantile{{"p50", P50, FewP50, &l.P50}, {"p95", P95, FewP95, &l.P95}, {"p99", P99, FewP99, &l.P99}, {"p999", P999, FewP999, &l.P999}}
}

// fewest is how many values a quantile needs for an upper 95 % bound:
//
//	q^n <= 0.025
func fewest(q Quantile) float64 {
	if q >= whole {
		return math.Inf(1)
	}
	return math.Ceil(math.Log(oneTail) / math.Log(q.fraction()))
}

// oneTail is what lies outside a 95 % interval at either end.
const oneTail = 0.025

// intervalRanks gives the ranks of the order statistics that bound the
// q-quantile with 95 % confidence and equal tails, B ~ Bin(n, q):
//
//	low  = largest  l with P(B <= l-1) <= 0.025; 0: none
//	high = smallest u with P(B <= u-1) >= 0.975; n+1: none
//
// Conover, Practical Nonparametric Statistics, 3rd ed. 1999, section 3.2.
func intervalRanks(n int, q Quantile) (low, high int) {
	low, high = binomialRange(n, q.fraction())
	return low, high + 1
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
