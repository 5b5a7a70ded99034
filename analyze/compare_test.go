package analyze

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"overrun/ingest"
)

var splits = flag.Int("splits", 100, "how many splits TestSplits compares")

// A shop makes requests of three calls in parallel, of which prices is asked three
// times, its answers depending on each other. Some calls fail, some are tried again,
// some are cut at 250 ms.
type shop struct {
	r      *rand.Rand
	slower float64 // by how much the latency of stock is multiplied
	broken float64 // share of failing calls
	weight string  // tracestate; "": none
	calls  int     // of prices
	route  string
}

var shopResource = &ingest.Resource{Service: "shop"}

// dump makes n requests of one trace each, whose ids begin at first.
func (s shop) dump(first, n int) *ingest.Dump {
	dump := &ingest.Dump{}
	for i := range n {
		var id ingest.TraceID
		binary.BigEndian.PutUint64(id[8:], uint64(first+i+1))
		t := ingest.NewTrace(id, shapeBase+int64(first+i)*int64(time.Second), s.spans())
		dump.Traces = append(dump.Traces, t)
		dump.Spans += int64(len(t.Spans))
	}
	return dump
}

func (s shop) spans() []ingest.Span {
	route := s.route
	if route == "" {
		route = "/"
	}
	attrs := func(callee, status string) []ingest.Attr {
		return []ingest.Attr{{Key: "http.request.method", Value: "GET"}, {Key: "http.response.status_code", Value: status}, {Key: "peer.service", Value: callee}}
	}
	spans := []ingest.Span{{ID: ingest.SpanID{7: 1}, Kind: ingest.Server, Name: "GET " + route, Resource: shopResource, TraceState: s.weight,
		Attrs: []ingest.Attr{{Key: "http.request.method", Value: "GET"}, {Key: "http.route", Value: route}}}}
	end := time.Duration(0)
	call := func(callee string, start, took time.Duration, status string) time.Duration {
		span := ingest.Span{ID: ingest.SpanID{7: byte(len(spans) + 1)}, ParentID: ingest.SpanID{7: 1}, Kind: ingest.Client, Name: "GET", Resource: shopResource,
			TraceState: s.weight, Start: start, End: start + took, Attrs: attrs(callee, status)}
		if status[0] == '5' {
			span.Status = ingest.Error
		}
		spans = append(spans, span)
		end = max(end, span.End)
		return span.End
	}
	z := func() float64 { return s.r.NormFloat64() }
	scale := func(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }
	call("stock", 0, scale(logNormal(z()), s.slower), "200")
	common := z()
	for range s.calls {
		call("prices", 0, logNormal(0.9*common+0.4*z()), "200")
	}
	if s.r.Float64() < s.broken {
		at := call("users", 0, 20*time.Millisecond, "503")
		call("users", at+5*time.Millisecond, logNormal(z()), "200")
	} else if d := logNormal(z()); d > 250*time.Millisecond {
		call("users", 0, 250*time.Millisecond, "504")
		spans[len(spans)-1].Attrs = []ingest.Attr{{Key: "http.request.method", Value: "GET"}, {Key: "error.type", Value: "timeout"}, {Key: "peer.service", Value: "users"}}
	} else {
		call("users", 0, d, "200")
	}
	spans[0].End = end + 10*time.Millisecond
	return spans
}

func newShop(seed uint64) shop {
	return shop{r: rand.New(rand.NewPCG(seed, 5)), slower: 1, broken: 0.03, calls: 3}
}

// compared compares two dumps under a deadline of 200 ms.
func compared(t *testing.T, before, after *ingest.Dump, policy string) *Comparison {
	t.Helper()
	o := Options{Deadline: 200 * time.Millisecond, Workers: 1}
	if policy != "" {
		var err error
		if o.Policy, err = ParsePolicy("p.yaml", []byte(policy)); err != nil {
			t.Fatal(err)
		}
	}
	b, a := Run(before, o), Run(after, o)
	defer b.Close()
	defer a.Close()
	c, err := Compare(b, a)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// flagged lists what is called better or worse: "stock slower worse".
func flagged(c *Comparison) (list []string) {
	add := func(name string, differences []Difference) {
		for _, d := range differences {
			if d.Verdict == Better || d.Verdict == Worse {
				list = append(list, name+" "+string(d.Measure)+" "+string(d.Verdict))
			}
		}
	}
	for _, r := range c.Routes {
		add(r.Route, r.Differences)
	}
	for _, d := range c.Dependencies {
		add(d.Callee, d.Differences)
	}
	return list
}

func differenceOf(t *testing.T, c *Comparison, callee string, m Measure) *Difference {
	t.Helper()
	list := c.Routes[0].Differences
	for i := range c.Dependencies {
		if c.Dependencies[i].Callee == callee {
			list = c.Dependencies[i].Differences
		}
	}
	for i := range list {
		if list[i].Measure == m {
			return &list[i]
		}
	}
	t.Fatalf("%q has no %s", callee, m)
	return nil
}

// TestCompareItself: a dump does not differ from itself.
func TestCompareItself(t *testing.T) {
	dump := newShop(1).dump(0, 500)
	c := compared(t, dump, dump, "")
	if list := flagged(c); list != nil {
		t.Errorf("differs from itself: %v", list)
	}
	for _, d := range c.Routes[0].Differences {
		if p := d.Difference.Point; p == nil || *p != 0 {
			t.Errorf("%s: difference %v, want 0", d.Measure, p)
		}
	}
}

// TestSplits: the traces of one dump, dealt out at random to two sides, equal or not in
// number. Anything called a difference is a mistake, and may happen in 5 % of splits.
// (go test -run Splits -splits 1000 has as many as the specification asks for.)
func TestSplits(t *testing.T) {
	t.Parallel()
	for name, share := range map[string]float64{"halves": 0.5, "a fifth": 0.2} {
		wrong := 0
		var what []string
		for seed := range *splits / 2 {
			s := newShop(uint64(seed))
			s.broken = 0.1
			all := s.dump(0, 400)
			var sides [2]ingest.Dump
			for _, trace := range all.Traces {
				side := &sides[0]
				if s.r.Float64() < share {
					side = &sides[1]
				}
				side.Traces = append(side.Traces, trace)
			}
			if list := flagged(compared(t, &sides[0], &sides[1], "")); list != nil {
				wrong++
				what = append(what, list...)
			}
		}
		n := float64(*splits / 2)
		limit := ErrorRate*n + 3*math.Sqrt(ErrorRate*(1-ErrorRate)*n)
		t.Logf("%s: %d of %.0f splits, limit %.1f: %v", name, wrong, n, limit, what)
		if float64(wrong) > limit {
			t.Errorf("%s: %d of %.0f splits are called different, more than %.1f: %v", name, wrong, n, limit, what)
		}
	}
}

// TestTenPercent: a dependency that takes 10 % longer is found at 2 000 requests: in
// most seeds, and always where all else is the same on both sides.
func TestTenPercent(t *testing.T) {
	t.Parallel()
	const seeds = 8
	found := 0
	for seed := range uint64(seeds) {
		before := newShop(seed).dump(0, 2000)
		after := newShop(1000 + seed)
		after.slower = 1.1
		list := flagged(compared(t, before, after.dump(5000, 2000), ""))
		if slices.Contains(list, "stock slower worse") {
			found++
		}
		for _, what := range list {
			if !strings.HasPrefix(what, "stock") && !strings.HasPrefix(what, "GET /") {
				t.Logf("seed %d: %s", seed, what)
			}
		}
	}
	t.Logf("found in %d of %d", found, seeds)
	if found < seeds*3/4 {
		t.Errorf("found in %d of %d seeds", found, seeds)
	}
	after := newShop(1)
	after.slower = 1.1
	c := compared(t, newShop(1).dump(0, 2000), after.dump(0, 2000), "")
	if list := flagged(c); !slices.Contains(list, "stock slower worse") || slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, "users") }) {
		t.Errorf("with the same seed: %v", list)
	}
}

// TestCompareTail: what got slower in a tail of 3 % shows in p99, where the latency as
// a whole shows nothing.
func TestCompareTail(t *testing.T) {
	before, after := newShop(3).dump(0, 3000), newShop(4).dump(5000, 3000)
	for i, trace := range after.Traces {
		if i%33 == 0 {
			for k := range trace.Spans {
				if trace.Spans[k].Attr("peer.service") == "stock" {
					trace.Spans[k].End += 2 * time.Second
				}
			}
			trace.Spans[0].End = 0
			for k := range trace.Spans {
				trace.Spans[0].End = max(trace.Spans[0].End, trace.Spans[k].End)
			}
		}
	}
	list := flagged(compared(t, before, after, ""))
	if !slices.Contains(list, "stock p99 worse") || slices.Contains(list, "stock slower worse") {
		t.Errorf("flagged %v", list)
	}
}

// TestCompareShares: shares, attempts and load, by arithmetic on the dumps.
func TestCompareShares(t *testing.T) {
	b, a := newShop(5), newShop(6)
	a.broken = 0.5
	before, after := b.dump(0, 1000), a.dump(5000, 1000)
	c := compared(t, before, after, "")
	count := func(d *ingest.Dump) (retried, attempts float64) {
		for _, trace := range d.Traces {
			n := 0.0
			for i := range trace.Spans {
				if trace.Spans[i].Attr("peer.service") == "users" {
					n++
				}
			}
			attempts += n
			if n > 1 {
				retried++
			}
		}
		return retried, attempts
	}
	r0, n0 := count(before)
	r1, n1 := count(after)
	for _, row := range []struct {
		callee        string
		m             Measure
		before, after float64
		verdict       Verdict
	}{
		{"users", FailedShare, r0 / n0, r1 / n1, Worse},
		{"users", AttemptsEach, n0 / 1000, n1 / 1000, Worse},
		{"users", ExtraLoad, n0/1000 - 1, n1/1000 - 1, Worse},
		{"", AttemptsEach, 4 + n0/1000, 4 + n1/1000, Worse},
		{"", ExtraLoad, r0 / 5000, r1 / 5000, Worse},
		{"stock", ExtraLoad, 0, 0, NoEvidence},
		{"prices", AttemptsEach, 3, 3, NoEvidence},
	} {
		d := differenceOf(t, c, row.callee, row.m)
		near(t, row.callee+" "+string(row.m)+" before", *d.Before.Point, row.before, 1e-9)
		near(t, row.callee+" "+string(row.m)+" after", *d.After.Point, row.after, 1e-9)
		near(t, row.callee+" "+string(row.m)+" difference", *d.Difference.Point, row.after-row.before, 1e-9)
		if d.Verdict != row.verdict {
			t.Errorf("%s %s: %s, want %s", row.callee, row.m, d.Verdict, row.verdict)
		}
	}
	tested := 0
	note := func(list []Difference) {
		for _, d := range list {
			if d.P != nil {
				tested++
			}
		}
	}
	for _, r := range c.Routes {
		note(r.Differences)
	}
	for _, d := range c.Dependencies {
		note(d.Differences)
	}
	if c.Tested != tested {
		t.Errorf("%d tested, want %d", c.Tested, tested)
	}
	// prices is asked three times by a trace: as if it were once.
	if d := differenceOf(t, c, "prices", LatencyP50); d.After.N != 3000 || d.After.Effective != 1000 {
		t.Errorf("prices: n %d, effective %v", d.After.N, d.After.Effective)
	}
}

// TestCompareDirection: of shares in time more is better, of late ones less. stock is slower by four.
func TestCompareDirection(t *testing.T) {
	fast, slow := newShop(17), newShop(18)
	slow.slower = 4
	few, many := fast.dump(0, 300), slow.dump(5000, 300)
	for name, c := range map[Verdict]*Comparison{Worse: compared(t, few, many, ""), Better: compared(t, many, few, "")} {
		for _, m := range []Measure{InTime, CompleteInTime, LateAnswers, LatencyP50, SlowerPairs} {
			if d := differenceOf(t, c, "", m); d.Verdict != name {
				t.Errorf("%s: %s, want %s", m, d.Verdict, name)
			}
		}
	}
}

// TestCompareTime: categories are means of requests and sum to the total; the numbers
// are those of the reports.
func TestCompareTime(t *testing.T) {
	before, after := newShop(7).dump(0, 300), newShop(8).dump(5000, 200)
	c := compared(t, before, after, "")
	o := Options{Deadline: 200 * time.Millisecond}
	a := Run(after, o)
	defer a.Close()
	route := a.Report.Routes[0]
	sum := 0.0
	for _, category := range categories {
		want := float64(*route.Time.of(category)) / float64(route.Requests)
		for _, d := range c.Routes[0].Differences {
			if d.Measure == timeOf(category) {
				near(t, string(category), *d.After.Point, want, 1e-3)
				sum += *d.After.Point
			}
		}
	}
	near(t, "sum", sum, *differenceOf(t, c, "", TimeTotal).After.Point, 1e-2)
	for m, want := range map[Measure]float64{
		LateAnswers:    *route.LateShare,
		CompleteInTime: float64(route.CompleteInTime) / float64(route.WithDeadline),
		FailedShare:    float64(route.Failed) / float64(route.Requests),
		LatencyP95:     float64(*route.Latency.P95.Point),
	} {
		near(t, string(m), *differenceOf(t, c, "", m).After.Point, want, 1e-9)
	}
}

// TestCompareWeights: requests that stand for four are not four.
func TestCompareWeights(t *testing.T) {
	b, a := newShop(9), newShop(10)
	b.weight, a.weight = "ot=th:c;rv:ffffffffffffff", "ot=th:c;rv:ffffffffffffff"
	a.broken = 0.2
	c := compared(t, b.dump(0, 400), a.dump(5000, 400), "")
	b, a = newShop(9), newShop(10)
	a.broken = 0.2
	plain := compared(t, b.dump(0, 400), a.dump(5000, 400), "")
	if diff := gocmp.Diff(plain.Dependencies, c.Dependencies, gocmp.AllowUnexported(Difference{})); diff != "" {
		t.Errorf("all of one weight (-without +with):\n%s", diff)
	}
	half := newShop(11).dump(5000, 200)
	s := newShop(12)
	s.weight = "ot=th:c;rv:ffffffffffffff"
	half.Traces = append(half.Traces, s.dump(8000, 200).Traces...)
	c = compared(t, newShop(13).dump(0, 400), half, "")
	want(t, "warnings where weights are of some, and of none", []bool{slices.Contains(c.Routes[0].Warnings, HidesChange),
		slices.Contains(plain.Routes[0].Warnings, HidesChange)}, []bool{true, false})
	for _, d := range c.Routes[0].Differences {
		if d.Verdict != NotKnown || d.P != nil || d.After.Point != nil {
			t.Errorf("weights of some: %s is %v, p %v, after %v", d.Measure, d.Verdict, d.P, d.After.Point)
		}
	}
}

// TestCompareRare: a handful of retries among many requests before, and none or one
// among few after, show nothing.
func TestCompareRare(t *testing.T) {
	for after := range int64(3) {
		var x, y average
		for i := range int64(100_000) {
			x.add(i+1, unknownWeight, (i%1000)/999)
		}
		for i := range int64(100) {
			y.add(i+1, unknownWeight, max(0, i-99+after))
		}
		if d := x.against(&y, ExtraLoad, Counts); d.Verdict != TooFew {
			t.Errorf("%d after: %s, p %v", after, d.Verdict, d.P)
		}
	}
	var x, y average
	for i := range int64(1000) {
		x.add(i+1, unknownWeight, 0)
		y.add(i+1, unknownWeight, i%5/4)
	}
	if d := x.against(&y, ExtraLoad, Counts); d.P == nil || *d.P > 1e-6 {
		t.Errorf("none before, one in five after: p %v", d.P)
	}
}

// TestCompareFew: few requests are too few, and say so.
func TestCompareFew(t *testing.T) {
	c := compared(t, newShop(14).dump(0, 10), newShop(15).dump(5000, 10), "")
	for _, d := range c.Routes[0].Differences {
		if d.Verdict != TooFew && d.P == nil {
			t.Errorf("%s of 10 requests: %s", d.Measure, d.Verdict)
		}
	}
	if d := differenceOf(t, compared(t, newShop(14).dump(0, 1000), newShop(15).dump(5000, 1000), ""), "stock", LatencyP999); d.Verdict != TooFew {
		t.Errorf("p99.9 of 1000: %s", d.Verdict)
	}
}

// TestCompareDisjoint: nothing in common is an error, a row of one side is shown.
func TestCompareDisjoint(t *testing.T) {
	b, a := newShop(16), newShop(17)
	a.route = "/b"
	before, after := b.dump(0, 50), a.dump(5000, 50)
	x, y := Run(before, Options{}), Run(after, Options{})
	defer x.Close()
	defer y.Close()
	_, err := Compare(x, y)
	const want = "nothing to compare: no route is in both: before are shop GET /, after are shop GET /b"
	if err == nil || err.Error() != want {
		t.Errorf("Compare = %v, want %s", err, want)
	}
	after.Traces = append(after.Traces, newShop(18).dump(9000, 50).Traces...)
	c := compared(t, before, after, "")
	if len(c.Routes) != 2 || c.Routes[0].Seen != SeenBoth || c.Routes[1].Seen != SeenAfter {
		t.Errorf("routes: %+v", c.Routes)
	}
	for _, d := range c.Routes[1].Differences {
		if d.Verdict != OneSided || d.P != nil {
			t.Errorf("%s of a new route: %s", d.Measure, d.Verdict)
		}
	}
}

// TestCompareOrder: the order of traces does not show.
func TestCompareOrder(t *testing.T) {
	before, after := newShop(19).dump(0, 200), newShop(20).dump(5000, 200)
	marshal := func() string {
		data, err := json.Marshal(compared(t, before, after, ""))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	want := marshal()
	slices.Reverse(before.Traces)
	slices.Reverse(after.Traces)
	if got := marshal(); got != want {
		t.Errorf("reversed (-want +got):\n%s", gocmp.Diff(want, got))
	}
}

// TestComparisonJSON: it survives encoding, but for what is rounded to nanoseconds.
func TestComparisonJSON(t *testing.T) {
	c := compared(t, newShop(21).dump(0, 100), newShop(22).dump(5000, 100), "acceptance:\n- {partial: 1%, p99: 300ms, in_time_lower: 2%, attempts_per_request: 5}")
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var back Comparison
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(&back)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(data), string(again)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
