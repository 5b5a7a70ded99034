package analyze

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"overrun/ingest"
)

// TestSignTest: the ranks of the interval of a median are the critical values of the
// sign test, two-sided 5 %, plus 1, as in every table of it (Dixon and Massey,
// Introduction to Statistical Analysis, table A-10).
func TestSignTest(t *testing.T) {
	for n, critical := range map[int]int{6: 0, 7: 0, 8: 0, 9: 1, 10: 1, 11: 1, 12: 2, 13: 2, 14: 2, 15: 3, 16: 3, 17: 4, 18: 4,
		19: 4, 20: 5, 21: 5, 22: 5, 23: 6, 24: 6, 25: 7, 30: 9, 35: 11, 40: 13, 45: 15, 50: 17} {
		if low, high := intervalRanks(n, P50); low != critical+1 || high != n-critical {
			t.Errorf("intervalRanks(%d, p50) = %d, %d, want %d, %d", n, low, high, critical+1, n-critical)
		}
	}
}

// binomialTerm is P(B = k) for B ~ Bin(n, p), 0 < p < 1.
func binomialTerm(n, k int, p float64) float64 {
	return math.Exp(logBinomial(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// TestClopperPearson: two-sided 95 % intervals as tables print them, the ends of 0 of n
// in closed form, and small n by summing the distribution.
func TestClopperPearson(t *testing.T) {
	for _, row := range []struct{ k, n, low, high float64 }{
		{1, 4, 0.0063, 0.8059},
		{1, 10, 0.0025, 0.4450}, {2, 10, 0.0252, 0.5561}, {5, 10, 0.1871, 0.8129},
		{1, 20, 0.0013, 0.2487}, {10, 20, 0.2720, 0.7280},
		{10, 100, 0.0490, 0.1762}, {50, 100, 0.3983, 0.6017},
	} {
		if low, high := binomialInterval(row.k, row.n); math.Abs(low-row.low) > 0.00006 || math.Abs(high-row.high) > 0.00006 {
			t.Errorf("%g of %g: %.4f to %.4f, want %.4f to %.4f", row.k, row.n, low, high, row.low, row.high)
		}
	}
	for n := 1.0; n <= 1e7; n *= 10 {
		if low, high := binomialInterval(0, n); low != 0 || math.Abs(high-(1-math.Pow(0.025, 1/n))) > 1e-12 {
			t.Errorf("0 of %g: %g to %g, want 0 to %g", n, low, high, 1-math.Pow(0.025, 1/n))
		}
	}
	for n := 1; n <= 30; n++ {
		for k := 0; k <= n; k++ {
			low, high := binomialInterval(float64(k), float64(n))
			atLeast, atMost := 0.0, 0.0 // P(B >= k) at low, P(B <= k) at high
			for b := 0; b <= n; b++ {
				if b >= k && low > 0 {
					atLeast += binomialTerm(n, b, low)
				}
				if b <= k && high < 1 {
					atMost += binomialTerm(n, b, high)
				}
			}
			if k > 0 && math.Abs(atLeast-0.025) > 1e-9 || k < n && math.Abs(atMost-0.025) > 1e-9 {
				t.Errorf("%d of %d: tails of %g and %g, want 0.025", k, n, atLeast, atMost)
			}
		}
	}
}

func TestBinomialTail(t *testing.T) {
	for _, n := range []int{1, 5, 40, 300} {
		for _, p := range []float64{0.001, 0.2, 0.5, 0.95} {
			for k := 0; k <= n+1; k += 1 + n/20 {
				want := 0.0
				for b := k; b <= n; b++ {
					want += binomialTerm(n, b, p)
				}
				if got := binomialTail(n, k, p); math.Abs(got-want) > 1e-10 {
					t.Errorf("P(B >= %d), B ~ Bin(%d, %g) = %g, want %g", k, n, p, got, want)
				}
			}
		}
	}
}

// classes of the cuts, and the latency of each attempt.
func classesOf(t *testing.T, o Options, shape string) map[string]string {
	t.Helper()
	dump := worked(t, shape)
	tr := newTraced(dump.Traces[0], &o, newRecogniser(&builtIn), nil)
	got := map[string]string{}
	names := map[class]string{answered: "answered", cutFixed: "fixed", cutRace: "race", cutBudget: "budget"}
	for _, r := range tr.requests {
		r.cutAtDeadline()
		for _, c := range r.calls {
			for _, a := range c.attempts {
				got[c.to.callee] += fmt.Sprintf("%s %v;", names[a.class], a.took)
			}
		}
	}
	return got
}

func TestClassesOfCuts(t *testing.T) {
	const timeout = `st=DEADLINE `
	for _, test := range []struct {
		name, shape string
		deadline    time.Duration
		want        map[string]string
	}{
		{"an answer", `
R - 0 100 k=SERVER s=web
b R 10 60` + get + `a=peer.service=b a=http.response.status_code=200
`, ms(200), map[string]string{"b": "answered 50ms;"}},
		{"a timeout of its own", `
R - 0 100 k=SERVER s=web
b R 10 60` + get + `a=peer.service=b ` + timeout + `
`, ms(200), map[string]string{"b": "fixed 50ms;"}},
		{"a timeout without any deadline", `
R - 0 100 k=SERVER s=web
b R 10 60` + get + `a=peer.service=b ` + timeout + `
`, 0, map[string]string{"b": "fixed 50ms;"}},
		{"cut at the deadline", `
R - 0 201 k=SERVER s=web st=DEADLINE
b R 10 200` + get + `a=peer.service=b ` + timeout + `
`, ms(200), map[string]string{"b": "budget 190ms;"}},
		{"cut a moment before the deadline, to fail in time", `
R - 0 199 k=SERVER s=web st=DEADLINE
b R 10 193` + get + `a=peer.service=b ` + timeout + `
`, ms(200), map[string]string{"b": "budget 183ms;"}},
		{"the loser of a race", `
R - 0 80 k=SERVER s=web
a R 5 78` + get + `a=peer.service=b a=error.type=*errors.errorString st=CANCELLED
b R 40 77` + get + `a=peer.service=b a=http.response.status_code=200 a=http.request.resend_count=1
`, 0, map[string]string{"b": "race 73ms;answered 37ms;"}},
		{"the caller of the request left", `
R - 0 100 k=SERVER s=edge h=A
w R 0 90 k=CLIENT s=edge h=A ` + timeout + `
s w 1 91 k=SERVER s=web h=A st=CANCELLED
b s 20 90` + get + `h=A a=peer.service=b ` + timeout + `
`, 0, map[string]string{"b": "budget 70ms;", "web": "fixed 90ms;"}},
		{"the callee ran on and finished: its end and the return leg", `
R - 0 100 k=SERVER s=web h=A
a R 0 20` + get + `h=A a=http.response.status_code=200
x a 5 15 k=SERVER s=b h=B
b R 20 60` + get + `h=A ` + timeout + `
y b 25 95 k=SERVER s=b h=B
`, 0, map[string]string{"b": "answered 20ms;answered 80ms;"}},
		{"the callee stopped with the cut", `
R - 0 100 k=SERVER s=web h=A
a R 0 20` + get + `h=A a=http.response.status_code=200
x a 5 15 k=SERVER s=b h=B
b R 20 60` + get + `h=A ` + timeout + `
y b 25 61 k=SERVER s=b h=B st=CANCELLED
`, 0, map[string]string{"b": "answered 20ms;fixed 40ms;"}},
	} {
		want(t, test.name, classesOf(t, Options{Deadline: test.deadline}, test.shape), test.want)
	}
}

func TestModesAndPiles(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	// Not one of many samples of one hump has two, or a pile, or a step.
	for range 400 {
		s := &Sample{}
		sigma := 0.1 + r.Float64()
		for range 100 + r.IntN(3000) {
			s.Add(time.Duration(math.Exp(17 + sigma*r.NormFloat64())))
		}
		if m, p, st := s.modes(), s.pile(), s.step(); m != nil || p != nil || st != nil {
			t.Fatalf("%d lognormal values, sigma %.2f: modes %v, pile %v, step %v", s.N(), sigma, m, p, st)
		}
	}
	two, piled := &Sample{}, &Sample{}
	for i := range 2000 {
		hit := logNormal(0.3*r.NormFloat64() - 4) // a cache answers: about 1.2 ms
		if i%5 == 0 {
			hit = logNormal(0.3 * r.NormFloat64())
		}
		two.Add(hit)
		if slow := logNormal(r.NormFloat64()); i%20 == 0 {
			piled.Add(5*time.Second + slow/30)
		} else {
			piled.Add(slow)
		}
	}
	m := two.modes()
	if len(m) != 2 || m[0] < ms(0.8) || m[0] > ms(1.8) || m[1] < ms(20) || m[1] > ms(45) {
		t.Errorf("modes of a cache's hits and misses: %v, want about 1.2 ms and 30 ms", m)
	}
	if p := two.pile(); p != nil {
		t.Errorf("two humps have a pile: %v", p)
	}
	if p := piled.pile(); p == nil || p.At < ms(4900) || p.At > ms(5100) || math.Abs(p.Share-0.05) > 0.001 {
		t.Errorf("pile %v, want 5 %% at 5 s", p)
	}
}

// What is seldom is no mode and no pile, however many of it were recorded: one in 200 of the
// answers take 300 ms, of which a sampler kept each one. The p50 is that of the others, and that
// a sampler kept more of the slow ones at the end is no drift.
func TestShapesAreWeighted(t *testing.T) {
	s, table := &Sample{}, &slowTable{median: new(ms(20))}
	r := rand.New(rand.NewPCG(8, 8))
	for i := range 60_000 {
		took, w := ms(10)+time.Duration(r.IntN(int(ms(20)))), 200*oneWeight
		if slow := 1 - float64(i)/60_000; r.Float64() > slow { // a slow one in the place of a fast one
			took, w = ms(300)+time.Duration(r.IntN(int(ms(1)))), oneWeight
		}
		s.add(answered, took, w)
		table.add(&request{start: int64(i/10) * int64(time.Minute), calls: []call{{}}}, 0, &attempt{took: took, weight: w})
	}
	if m, p, d := s.modes(), s.pile(), table.drift(); m != nil || p != nil || d != nil {
		t.Errorf("modes %v, pile %v, drift %v of weighted answers, want none", m, p, d)
	}
	s.Add(1) // that stands for nobody knows how many
	if m, p := s.modes(), s.pile(); m != nil || p != nil {
		t.Errorf("modes %v, pile %v of answers of which only some have weights", m, p)
	}
	for _, w := range []weight{unknownWeight, 7 * oneWeight} { // all alike, they count as 1
		piled := &Sample{}
		for i := range 1000 {
			took := logNormal(r.NormFloat64())
			if i%20 == 0 {
				took = 5 * time.Second
			}
			piled.add(answered, took, w)
		}
		if p := piled.pile(); p == nil || math.Abs(p.Share-0.05) > 1e-9 {
			t.Errorf("pile %v, want 5 %%", p)
		}
	}
}

// slowAt makes a table of answers at so many minutes, each of the given latency.
func slowAt(answers []time.Duration, place func(i int) (minute int, trace byte, instance string)) (*slowTable, map[string]*instanceTable) {
	s := &Sample{}
	for _, d := range answers {
		s.Add(d)
	}
	l := s.Latency()
	table, instances := &slowTable{}, map[string]*instanceTable{}
	table.expect(&l)
	for i, d := range answers {
		minute, trace, instance := place(i)
		r := &request{trace: ingest.TraceID{byte(i), byte(i >> 8), byte(i >> 16), 15: 0}, span: ingest.SpanID{byte(i), byte(i >> 8), byte(i >> 16)},
			start: int64(minute) * int64(time.Minute), calls: []call{{attempts: []attempt{{took: d, instance: instance, weight: unknownWeight}}}}}
		if trace > 0 {
			r.trace = ingest.TraceID{15: trace}
		}
		table.add(r, 0, &r.calls[0].attempts[0])
		if instances[instance] == nil {
			instances[instance] = &instanceTable{}
		}
		instances[instance].answers++
	}
	return table, instances
}

func TestClusteredTail(t *testing.T) {
	const n = 5000
	r := rand.New(rand.NewPCG(6, 6))
	answers := make([]time.Duration, n)
	for i := range answers {
		answers[i] = logNormal(r.NormFloat64())
	}
	even := func(i int) (int, byte, string) { return i % 100, 0, fmt.Sprint("pod-", i%4) }
	table, instances := slowAt(answers, even)
	if list := table.clusters(instances); list != nil {
		t.Errorf("clusters of even answers: %v", list)
	}
	// The slowest 60 of a hundred come from one place.
	slowest := slices.Clone(answers)
	slices.Sort(slowest)
	limit := slowest[n-60]
	for _, test := range []struct {
		of, name string
		place    func(i int) (int, byte, string)
	}{
		{"minute", "1970-01-01T00:07:00Z", func(i int) (int, byte, string) { return 7, 0, fmt.Sprint("pod-", i%4) }},
		{"trace", "00000000000000000000000000000009", func(i int) (int, byte, string) { return i % 100, 9, fmt.Sprint("pod-", i%4) }},
		{"instance", "pod-9", func(i int) (int, byte, string) { return i % 100, 0, "pod-9" }},
	} {
		table, instances := slowAt(answers, func(i int) (int, byte, string) {
			if answers[i] >= limit {
				return test.place(i)
			}
			return even(i)
		})
		list := table.clusters(instances)
		if len(list) == 0 || list[0].Of != test.of || list[0].Name != test.name || list[0].Quantile != "p99" || list[0].Share < 0.9 {
			t.Errorf("clusters %+v, want the p99's in %s %s", list, test.of, test.name)
		}
		for _, c := range list {
			if c.Of != test.of {
				t.Errorf("also clustered by %s", c.Of)
			}
		}
	}
	// All in one minute, and all on one instance: nothing stands out.
	table, instances = slowAt(answers, func(i int) (int, byte, string) { return 1, 0, "pod" })
	if list := table.clusters(instances); list != nil {
		t.Errorf("clusters of one minute and instance: %v", list)
	}
}

// TestCrowdOfMoreThanItHolds: with more keys than it tells apart, a crowd may end without any.
// It knows no key then, and the table around it says nothing; one more value is known again.
func TestCrowdOfMoreThanItHolds(t *testing.T) {
	var c crowd[int64]
	for i := range int64(mostKeys + 1) {
		c.add(i)
	}
	if key, n := c.most(cmp.Compare[int64]); n != 0 || c.all != mostKeys+1 {
		t.Errorf("of %d keys, each met once, %d was met %d times", c.all, key, n)
	}
	c.add(7)
	if key, n := c.most(cmp.Compare[int64]); key != 7 || n != 1 {
		t.Errorf("key %d, met %d times, want 7, met once", key, n)
	}

	// Every slow answer has a minute, a trace and an instance of its own; none of them is in
	// minute 0, nor on the instance without a name.
	table := &slowTable{low: [2]*time.Duration{new(ms(10)), new(ms(10))}}
	instances := map[string]*instanceTable{}
	for i := range mostKeys + 1 {
		name := fmt.Sprint("pod-", i)
		instances[name] = &instanceTable{answers: 1}
		r := &request{trace: ingest.TraceID{0: 1, 14: byte(i >> 8), 15: byte(i)}, span: ingest.SpanID{6: byte(i >> 8), 7: byte(i)}, start: int64(1+i) * int64(time.Minute),
			calls: []call{{attempts: []attempt{{took: ms(20), instance: name, weight: unknownWeight}}}}}
		table.add(r, 0, &r.calls[0].attempts[0])
	}
	if list := table.clusters(instances); list != nil {
		t.Errorf("clusters %+v of answers that have nothing in common", list)
	}
}

func TestDrift(t *testing.T) {
	const n = 6000
	r := rand.New(rand.NewPCG(9, 9))
	for range 50 {
		answers := make([]time.Duration, n)
		for i := range answers {
			answers[i] = logNormal(r.NormFloat64())
		}
		table, _ := slowAt(answers, func(i int) (int, byte, string) { return i / 10, 0, "" })
		if d := table.drift(); d != nil {
			t.Fatalf("drift of steady answers: %+v", d)
		}
	}
	answers := make([]time.Duration, n)
	for i := range answers { // twice as slow at the end
		answers[i] = logNormal(r.NormFloat64() + math.Ln2/0.8*float64(i)/n)
	}
	table, _ := slowAt(answers, func(i int) (int, byte, string) { return i / 10, 0, "" })
	if d := table.drift(); d == nil || d.Last < d.First+0.2 {
		t.Errorf("drift %+v, want answers to be slower in the last third", d)
	}
}

// chooseDump is requests of one route, of which only some are kept.
func chooseDump(keep func(took time.Duration, failed bool, i int) bool) *ingest.Dump {
	r := rand.New(rand.NewPCG(11, 11))
	dump := &ingest.Dump{}
	for i := range 20_000 {
		took, failed := logNormal(r.NormFloat64()), r.IntN(50) == 0
		if !keep(took, failed, i) {
			continue
		}
		s := ingest.Span{ID: ingest.SpanID{7: 1}, Kind: ingest.Server, Name: "GET /", Resource: &ingest.Resource{Service: "web"}, End: took}
		if failed {
			s.Status = ingest.Error
		}
		dump.Traces = append(dump.Traces, ingest.NewTrace(ingest.TraceID{byte(i), byte(i >> 8), byte(i >> 16)}, int64(i)*1e9, []ingest.Span{s}))
	}
	return dump
}

func TestTailSampled(t *testing.T) {
	for _, test := range []struct {
		name string
		keep func(took time.Duration, failed bool, i int) bool
		want bool
	}{
		{"all", func(time.Duration, bool, int) bool { return true }, false},
		{"one in ten", func(_ time.Duration, _ bool, i int) bool { return i%10 == 0 }, false},
		{"slow ones and one in twenty", func(took time.Duration, _ bool, i int) bool { return took > ms(80) || i%20 == 0 }, true},
		{"errors and one in a hundred", func(_ time.Duration, failed bool, i int) bool { return failed || i%100 == 0 }, true},
	} {
		in := Run(chooseDump(test.keep), Options{}).Report.Input
		if got := slices.Contains(in.Warnings, TailSampled); got != test.want {
			t.Errorf("%s: warnings %v, want tail-sampled: %v", test.name, in.Warnings, test.want)
		}
	}
}
