package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"overrun/ingest"
	"pgregory.net/rapid"
)

// A stratum is a request that stands for some like it: a sampler that keeps all that is slow keeps few of what is fast.
type stratum struct {
	request string // in the notation of the shapes, with %s where the entry has its attributes
	weight  int
}

// sampledDump is what was recorded, each request once and with its weight; or what there was,
// each as often as it stands for.
func sampledDump(t *testing.T, list []stratum, recorded bool) *ingest.Dump {
	t.Helper()
	var texts []string
	for _, s := range list {
		if recorded {
			texts = append(texts, strings.ReplaceAll(s.request, "%s", fmt.Sprintf("a=SampleRate=%d", s.weight)))
			continue
		}
		for range s.weight {
			texts = append(texts, strings.ReplaceAll(s.request, "%s", ""))
		}
	}
	d := worked(t, texts...)
	for i, trace := range d.Traces { // worked numbers up to 255
		trace.ID = ingest.TraceID{13: 1, 14: byte(i >> 8), 15: byte(i)}
	}
	return d
}

// strata are requests of one route: with one call, two in parallel, a retry, and a failure.
var strata = []string{`
R - 0 30 k=SERVER s=web %s
a R 0 20` + get + `a=peer.service=a a=http.response.status_code=200
`, `
R - 0 310 k=SERVER s=web %s
a R 0 300` + get + `a=peer.service=a a=http.response.status_code=200
b R 0 120` + get + `a=peer.service=b a=http.response.status_code=200
`, `
R - 0 90 k=SERVER s=web %s
a R 0 20` + get + `a=peer.service=a a=http.response.status_code=503 st=ERROR
c R 40 70` + get + `a=peer.service=a a=http.response.status_code=200 a=http.request.resend_count=1
`, `
R - 0 60 k=SERVER s=web %s st=ERROR
b R 5 50` + get + `a=peer.service=b a=http.response.status_code=500 st=ERROR
`}

// TestWeigh: weights are held in 1024ths; one that cannot be is not known, and counts as one.
func TestWeigh(t *testing.T) {
	for _, test := range []struct {
		recorded float64
		want     weight
	}{
		{0, 0}, {1, 1024}, {1.5, 1536}, {1 << 40, 1 << 50},
		{math.Nextafter(1<<40, math.Inf(1)), unknownWeight}, {math.Inf(1), unknownWeight}, {-1, unknownWeight}, {math.NaN(), unknownWeight},
	} {
		if got := weigh(test.recorded, true); got != test.want {
			t.Errorf("weigh(%v) = %d, want %d", test.recorded, got, test.want)
		}
	}
	if got := weigh(2, false); got != unknownWeight || got.orOne() != 1024 {
		t.Errorf("weigh of nothing recorded = %d, counts as %d", got, got.orOne())
	}
}

// Means and shares of sampled requests are those of all that they stand for: repeated as
// often as that, and counted.
func TestMeansRepeat(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var list []stratum
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(strata)-1), 1, 8).Draw(rt, "requests") {
			list = append(list, stratum{strata[i], rapid.IntRange(1, 9).Draw(rt, "weight")})
		}
		o := Options{Deadline: ms(100)}
		sampled, all := Run(sampledDump(t, list, true), o), Run(sampledDump(t, list, false), o)
		same := func(what string, got, want *float64) {
			if (got == nil) != (want == nil) || got != nil && math.Abs(*got-*want) > 1e-12 {
				rt.Errorf("%s: %s sampled, %s repeated", what, text(got), text(want))
			}
		}
		r, s := sampled.Report.Routes[0], all.Report.Routes[0]
		want(t, "mean time", *r.MeanTime, *s.MeanTime)
		same("complete in time", r.CompleteInTimeShare, s.CompleteInTimeShare)
		same("late", r.LateShare, s.LateShare)
		plain := float64(s.CompleteInTime) / float64(s.WithDeadline)
		same("complete in time, by counts", s.CompleteInTimeShare, &plain)
		for i, p := range plansOf(t, sampled) {
			q := plansOf(t, all)[i]
			same("late, in a plan", p.Route.LateShare, q.Route.LateShare)
			calls, own := p.PathShares()
			callsOfAll, ownOfAll := q.PathShares()
			same("own work of a plan", own, ownOfAll)
			for k := range calls { // which calls are planned rests on how many requests were recorded
				if l := slices.IndexFunc(q.Calls, func(c PlannedCall) bool { return c.Name == p.Calls[k].Name }); l >= 0 {
					same("a call of a plan", &calls[k], &callsOfAll[l])
				}
			}
		}
		for i := range all.Report.Dependencies {
			d, e := sampled.Report.Dependencies[i], all.Report.Dependencies[i]
			same("path share", d.PathShare, e.PathShare)
			same("error share", d.ErrorShare, e.ErrorShare)
			same("extra load", d.ExtraLoad, e.ExtraLoad)
			errors, extra := float64(e.Errors)/float64(e.Attempts), float64(e.Attempts)/float64(e.Calls)-1
			same("attempts of a request, in a trend", attemptsOf(t, sampled, d.name()), attemptsOf(t, all, d.name()))
			same("error share, by counts", e.ErrorShare, &errors)
			same("extra load, by counts", e.ExtraLoad, &extra)
		}
	})
}

// One fast request that stands for 99, and a slow one. By hand: (99 x 30 + 310) / 100 ms,
// and a call that holds (99 x 20 + 300) of that.
func TestMeansOfStrata(t *testing.T) {
	list := []stratum{{strata[0], 99}, {strata[1], 1}}
	report := Run(sampledDump(t, list, true), Options{Deadline: ms(100)}).Report
	r := report.Routes[0]
	want(t, "mean", *r.MeanTime, Time{Own: ms(10), Read: ms(228) / 10, Total: ms(328) / 10})
	want(t, "sum of what was recorded", r.Time, Time{Own: ms(20), Read: ms(320), Total: ms(340)})
	want(t, "complete in time", text(r.CompleteInTimeShare), "0.99")
	want(t, "path share", fmt.Sprintf("%.6f", *report.Dependencies[0].PathShare), fmt.Sprintf("%.6f", 22.8/32.8))

	list = append(list, stratum{strings.ReplaceAll(strata[0], "%s", ""), 1}) // with a weight that nobody knows
	report = Run(sampledDump(t, list, true), Options{Deadline: ms(100)}).Report
	if r := report.Routes[0]; r.MeanTime != nil || r.CompleteInTimeShare != nil || report.Dependencies[0].PathShare != nil || report.Dependencies[0].ExtraLoad != nil {
		t.Errorf("means of requests of which only some have weights: %+v", r)
	}
}

// The interval of sampled attempts is that of their effective number: of weights 1 and 3,
// ten each, (10 + 30)^2 / (10 + 90) = 16. A quarter of the requests tried twice: 1.25, which
// is 4 repeats in 16, with the wider of 4 + z^2/2 +- z sqrt(4 + z^2/4) of 16 and of +- z sqrt(3/16 / 15).
func TestAttemptsIntervalWeighted(t *testing.T) {
	var c callers
	for range 10 {
		c.add(oneWeight, 2)
		c.add(3*oneWeight, 1)
	}
	v := c.mean()
	const z = 1.959963984540054
	low, high := 1+(4+z*z/2-z*math.Sqrt(4+z*z/4))/16, 1+(4+z*z/2+z*math.Sqrt(4+z*z/4))/16
	own := z * math.Sqrt(3.0/16/15)
	for _, x := range []struct{ got, want float64 }{{*v.Point, 1.25}, {*v.Low, min(low, 1.25-own)}, {*v.High, max(high, 1.25+own)}} {
		if math.Abs(x.got-x.want) > 1e-9 {
			t.Errorf("%v, want %v", x.got, x.want)
		}
	}
	c.add(unknownWeight, 1)
	if v := c.mean(); v.Point != nil || v.Low != nil {
		t.Errorf("of requests of which only some have weights: %v", *v.Point)
	}
}

// attemptsOf is how many attempts a request makes of those that call a dependency, as a
// trend has it.
func attemptsOf(t *testing.T, a *Analysis, name dependency) *float64 {
	t.Helper()
	n, err := a.NightTable("night")
	if err != nil {
		t.Fatal(err)
	}
	return n.rows[name].values[slices.Index(Figures, FigureAttempts)].Point
}

// plansOf are the plans of its routes, whether they break a rule or not.
func plansOf(t *testing.T, a *Analysis) []*Plan {
	t.Helper()
	s, err := a.Suggest()
	if err != nil {
		t.Fatal(err)
	}
	plans, _ := s.Plans()
	return plans
}

// TestWeightedThresholds: a sampler that keeps what is slow keeps few of the calls that were not tried
// again. Of the calls by hand, one in 40 of 10 fast ones and all of 2 slow ones recorded:
//
//	            recorded   stands for
//	tried again 2 of 3     2 of 42       1.67, and 1.05 attempts a call: below 1.1
//	hedged      2 of 3     2 of 42       0.67, and 0.048 copies a call: below 5 %
//
// Kept the other way around, 2 of 3 stand for 80 of 81, and both are beyond.
func TestWeightedThresholds(t *testing.T) {
	const one = `
R - 0 30 k=SERVER s=web %s
a R 0 20` + get + `a=peer.service=a a=http.response.status_code=200
b R 0 20` + get + `a=peer.service=b a=http.response.status_code=200
`
	const several = `
R - 0 90 k=SERVER s=web %s
a R 0 20` + get + `a=peer.service=a a=http.response.status_code=503 st=ERROR
c R 40 70` + get + `a=peer.service=a a=http.response.status_code=200 a=http.request.resend_count=1
b R 0 80` + get + `a=peer.service=b a=error.type=*errors.errorString st=CANCELLED
d R 40 80` + get + `a=peer.service=b a=http.response.status_code=200
`
	codes := func(list []stratum, recorded bool) (codes []FindingCode, each *float64) {
		for _, f := range Run(sampledDump(t, list, recorded), Options{}).Report.Findings {
			if f.Code == RetryAmplified || f.Code == HedgeLoad {
				codes = append(codes, f.Code)
			}
			if f.Code == RetryAmplified {
				each = f.Examples[0].Each
			}
		}
		slices.Sort(codes)
		return codes, each
	}
	for _, test := range []struct {
		name string
		list []stratum
		want []FindingCode
		each float64 // 0: none
	}{
		{"few tried again", []stratum{{one, 40}, {several, 1}, {several, 1}}, nil, 0},
		{"most tried again", []stratum{{one, 1}, {several, 40}, {several, 40}}, []FindingCode{HedgeLoad, RetryAmplified}, 161. / 81},
		{"all count alike", []stratum{{one, 2}, {several, 2}}, []FindingCode{HedgeLoad, RetryAmplified}, 0},
	} {
		got, each := codes(test.list, true)
		want(t, test.name, got, test.want)
		if all, _ := codes(test.list, false); !slices.Equal(got, all) {
			t.Errorf("%s: %v of what was recorded, %v of all that was there", test.name, got, all)
		}
		if (each == nil) != (test.each == 0) || each != nil && math.Abs(*each-test.each) > 1e-9 {
			t.Errorf("%s: %v attempts a call, want %v", test.name, each, test.each)
		}
	}
}
