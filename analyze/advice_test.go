package analyze

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"overrun/ingest"
)

// oneCall is requests of one service that make one call each, of the given latencies, to
// one of two instances of b, and end with it. Requests of every third trace are of
// the region north, others of south.
func oneCall(latencies []time.Duration) *ingest.Dump {
	dump := &ingest.Dump{}
	web := []*ingest.Resource{
		{Service: "web", Attrs: []ingest.Attr{{Key: "cloud.region", Value: "north"}}},
		{Service: "web", Attrs: []ingest.Attr{{Key: "cloud.region", Value: "south"}}},
	}
	b := []*ingest.Resource{
		{Service: "b", Attrs: []ingest.Attr{{Key: "service.instance.id", Value: "b-0"}}},
		{Service: "b", Attrs: []ingest.Attr{{Key: "service.instance.id", Value: "b-1"}}},
	}
	for i, d := range latencies {
		r := web[min(i%3, 1)]
		dump.Traces = append(dump.Traces, ingest.NewTrace(ingest.TraceID{1, 14: byte(i >> 8), 15: byte(i)}, int64(i)*1e9, []ingest.Span{
			{ID: ingest.SpanID{7: 1}, Kind: ingest.Server, Name: "GET /", Resource: r, End: d},
			{ID: ingest.SpanID{7: 2}, ParentID: ingest.SpanID{7: 1}, Kind: ingest.Client, Name: "GET", Resource: r, End: d,
				Attrs: []ingest.Attr{{Key: "http.request.method", Value: "GET"}}},
			{ID: ingest.SpanID{7: 3}, ParentID: ingest.SpanID{7: 2}, Kind: ingest.Server, Name: "GET", Resource: b[i%2], End: d},
		}))
	}
	return dump
}

// hundred is 1 ms, 2 ms, … 100 ms.
func hundred() (list []time.Duration) {
	for i := 1; i <= 100; i++ {
		list = append(list, time.Duration(i)*time.Millisecond)
	}
	return list
}

func depTo(t *testing.T, r *Report, callee string) *Dependency {
	t.Helper()
	for i := range r.Dependencies {
		if r.Dependencies[i].Callee == callee {
			return &r.Dependencies[i]
		}
	}
	t.Fatalf("no dependency %s", callee)
	return nil
}

func TestHedgePlan(t *testing.T) {
	// p95 is 95 ms; five calls are slower, all with 105 ms and more left after it, of
	// which the minimum is 50 ms.
	r := Run(oneCall(hundred()), Options{Deadline: ms(200)}).Report
	d := depTo(t, &r, "b")
	want(t, "hedge", d.Hedge, &HedgePlan{After: ms(95), ExtraLoad: pointerTo(0.05), Touched: 5, Fits: 5, Rescued: pointerTo(0.0), Requests: 100, Not: []string{}})
	want(t, "hedge after", d.HedgeAfter, pointerTo(ms(95)))

	// Late are the calls of 99 and 100 ms. A second copy after 95 ms has 3 ms: three in
	// a hundred answer within that. No call has its minimum left by then.
	r = Run(oneCall(hundred()), Options{Deadline: ms(98)}).Report
	d = depTo(t, &r, "b")
	if d.Hedge.Rescued == nil || math.Abs(*d.Hedge.Rescued-2*0.03/100) > 1e-12 {
		t.Errorf("rescued %s, want 0.0006", text(d.Hedge.Rescued))
	}
	want(t, "not", d.Hedge.Not, []string{"does-not-fit"})
	want(t, "no hedge", d.HedgeAfter, (*time.Duration)(nil))

	r = Run(oneCall(hundred()), Options{Deadline: ms(200), Policy: policy(t, "dependencies: [{callee: b, attempts: 2}]")}).Report
	want(t, "not with retries", depTo(t, &r, "b").Hedge.Not, []string{"retried"})
	r = Run(oneCall(hundred()), Options{Deadline: ms(200), Policy: policy(t, "hedge_load: 1%")}).Report
	want(t, "not with so much load", depTo(t, &r, "b").Hedge.Not, []string{"too-much-load"})
}

func TestAdviceCapsOptionalCalls(t *testing.T) {
	p := policy(t, "dependencies: [{callee: b, required: false}]")
	r := Run(oneCall(hundred()), Options{Deadline: ms(98), Policy: p}).Report
	// The p95, 95 ms, is rounded up to 100, and capped at the 98 ms that the deadline
	// leaves. It held both late requests beyond that.
	if len(r.Advice) == 0 {
		t.Fatal("no advice")
	}
	id, span := ingest.TraceID{1, 15: 99}, ingest.SpanID{7: 1}
	want(t, "advice", r.Advice[0], Advice{Do: CapOptional, Finding: "request-late", Service: "web", Callee: "b", Operation: "GET",
		Requests: 2, Since: 98e9, To: pointerTo(ms(98)), SavesLow: pointerTo(0), SavesHigh: pointerTo(2), Trace: id, Span: span})
	for _, a := range r.Advice {
		if a.Do == CapOptional && a.Requests != 2 {
			t.Errorf("advice %+v", a)
		}
	}
	if none := Run(oneCall(hundred()), Options{Deadline: ms(300), Policy: p}).Report.Advice; len(none) != 0 {
		t.Errorf("advice where nothing is late: %+v", none)
	}
}

func TestAdviceRaisesATimeoutThatCutsGoodAnswers(t *testing.T) {
	// Six calls are cut at 40 ms; their callee runs on, ends well, and its answer would
	// have been there at 61 ms of 200.
	var texts []string
	for i := range 6 {
		texts = append(texts, fmt.Sprintf(`
R - 0 %[1]d k=SERVER s=web h=A
a R 0 20`+get+`h=A a=http.response.status_code=200
x a 5 15 k=SERVER s=b h=B
c R %[2]d %[3]d`+get+`h=A st=DEADLINE
y c %[4]d %[5]d k=SERVER s=b h=B
`, 80+7*i, 20+7*i, 60+7*i, 25+7*i, 80+7*i))
	}
	r := Run(worked(t, texts...), Options{Deadline: ms(200)}).Report
	for _, a := range r.Advice {
		if a.Do == RaiseTimeout {
			want(t, "from", a.From, pointerTo(ms(40)))
			want(t, "requests", a.Requests, 6)
			want(t, "saves", []int{*a.SavesLow, *a.SavesHigh}, []int{0, 6})
			// p99.9 of 20 and of 65 ms (60 and 5 back), with the margin 78, is 80.
			want(t, "to", a.To, pointerTo(ms(80)))
			want(t, "cut, and of these ran on", []int{depTo(t, &r, "b").Cut, depTo(t, &r, "b").RanOn}, []int{6, 6})
			return
		}
	}
	t.Errorf("advice %+v, want %s", r.Advice, RaiseTimeout)
}

func TestAdviceAboutAttemptsCountsCalls(t *testing.T) {
	// Three requests make one call each, of two attempts that are cut at 40 ms although their callee
	// ends well in time: six attempts, three calls. A third attempt of the last one is answered: a
	// longer timeout would get no answer there that it has not.
	const first = `
c R 10 50` + get + `st=DEADLINE
y c 12 70 k=SERVER s=b
d R 60 100` + get + `a=http.request.resend_count=1 st=DEADLINE
z d 62 120 k=SERVER s=b
`
	const third = `
e R 110 130` + get + `a=http.request.resend_count=2 a=http.response.status_code=200
x e 112 128 k=SERVER s=b
`
	texts := []string{"R - 0 105 k=SERVER s=web st=ERROR" + first, "R - 0 105 k=SERVER s=web st=ERROR" + first, "R - 0 135 k=SERVER s=web" + first + third}
	r := Run(worked(t, texts...), Options{Deadline: ms(300)}).Report
	want(t, "calls and attempts", []int{depTo(t, &r, "b").Calls, depTo(t, &r, "b").Attempts}, []int{3, 7})
	f := r.Findings[slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == FalseTimeout })]
	want(t, "attempts, calls, and those without an answer", []int{f.Count, f.Calls, f.Unanswered}, []int{6, 3, 2})
	a := r.Advice[slices.IndexFunc(r.Advice, func(a Advice) bool { return a.Do == RaiseTimeout })]
	want(t, "calls", a.Requests, 3)
	want(t, "saves", []int{*a.SavesLow, *a.SavesHigh}, []int{0, 2})

	// Where each call got an answer in the end, a longer timeout gets none that nobody has.
	r = Run(worked(t, texts[2], texts[2]), Options{Deadline: ms(300)}).Report
	a = r.Advice[slices.IndexFunc(r.Advice, func(a Advice) bool { return a.Do == RaiseTimeout })]
	want(t, "calls that are all answered", a.Requests, 2)
	want(t, "saves of those", []*int{a.SavesLow, a.SavesHigh}, []*int{nil, nil})
}

func TestSplitBy(t *testing.T) {
	r := Run(oneCall(hundred()), Options{Deadline: ms(98), SplitBy: "cloud.region"}).Report
	got := map[string][2]int{}
	for _, row := range r.Routes {
		if row.Service == "web" {
			got["route "+*row.Split] = [2]int{row.Requests, row.Late}
		}
	}
	for _, d := range r.Dependencies {
		got["dependency "+*d.Split] = [2]int{d.Calls, d.Latency.N}
	}
	for _, f := range r.Findings {
		if f.Code == RequestLate && f.Service == "web" {
			got["late "+*f.Split] = [2]int{f.Count, 0}
		}
	}
	// Of 100 requests 34 are of the north, the 1st, 4th, … 100th: one of the two late ones.
	want(t, "rows", got, map[string][2]int{"route north": {34, 1}, "route south": {66, 1}, "dependency north": {34, 34},
		"dependency south": {66, 66}, "late north": {1, 0}, "late south": {1, 0}})
	want(t, "split by", r.SplitBy, "cloud.region")
	for _, row := range Run(oneCall(hundred()), Options{SplitBy: "no.such"}).Report.Routes {
		want(t, "not recorded", *row.Split, "")
	}
	for _, row := range Run(oneCall(hundred()), Options{}).Report.Routes {
		want(t, "not split", row.Split, (*string)(nil))
	}
}

func TestIndependenceOfBranches(t *testing.T) {
	// Two parallel calls, each slow in one of four requests. Slow by itself each: late
	// 1 - (3/4)^2. Slow together: 1/4. Slow in turn: 1/2.
	dump := func(slow func(i int) (a, b bool)) *ingest.Dump {
		var texts []string
		for i := range 608 {
			a, b := slow(i)
			end := map[bool]int{false: 50, true: 150}
			texts = append(texts, fmt.Sprintf(`
R - 0 %d k=SERVER s=web
a R 0 %d`+get+`a=peer.service=a a=http.response.status_code=200
b R 0 %d`+get+`a=peer.service=b a=http.response.status_code=200
`, max(end[a], end[b])+10, end[a], end[b]))
		}
		d := worked(t, texts...)
		for i, trace := range d.Traces { // worked numbers up to 255
			trace.ID = ingest.TraceID{14: byte(i >> 8), 15: byte(i + 1)}
		}
		return d
	}
	for _, test := range []struct {
		verdict  string
		observed float64
		slow     func(i int) (a, b bool)
	}{
		{"independent", 7.0 / 16, func(i int) (a, b bool) { return i%4 == 0, i/4%4 == 0 }},
		{"together", 1.0 / 4, func(i int) (a, b bool) { return i%4 == 0, i%4 == 0 }},
		{"apart", 1.0 / 2, func(i int) (a, b bool) { return i%4 == 0, i%4 == 1 }},
	} {
		in := Run(dump(test.slow), Options{Deadline: ms(100)}).Report.Routes[0].Independence
		if in == nil || in.Verdict != test.verdict || in.Requests != 608 || math.Abs(in.Predicted-7.0/16) > 1e-9 ||
			math.Abs(in.Observed-test.observed) > 1e-9 || len(in.Branches) != 2 || math.Abs(*in.Ratio-test.observed*16/7) > 1e-9 {
			t.Errorf("%+v, want %s: 7/16 predicted, %g observed", in, test.verdict, test.observed)
		}
	}
	// Four requests stand for 10^6 each and 604 for themselves: (4 x 10^6 + 604)^2 /
	// (4 x 10^12 + 604) = 4.0012 are too few, however many were recorded.
	heavy := dump(func(i int) (a, b bool) { return i%4 == 0, i%4 == 0 })
	for i, trace := range heavy.Traces {
		weight := "1"
		if i < 4 {
			weight = "1000000"
		}
		trace.Spans[0].Attrs = append(trace.Spans[0].Attrs, ingest.Attr{Key: "SampleRate", Value: weight})
	}
	if in := Run(heavy, Options{Deadline: ms(100)}).Report.Routes[0].Independence; in == nil || in.Verdict != "too-few" || math.Abs(in.Observed-1000151.0/4000604) > 1e-12 {
		t.Errorf("%+v, want too-few, 1 000 151 of 4 000 604 late", in)
	}
	few := Run(worked(t, `
R - 0 160 k=SERVER s=web
a R 0 50`+get+`a=peer.service=a a=http.response.status_code=200
b R 0 150`+get+`a=peer.service=b a=http.response.status_code=200
`), Options{Deadline: ms(100)}).Report.Routes[0].Independence
	if few == nil || few.Verdict != "too-few" {
		t.Errorf("one request: %+v, want too-few", few)
	}
}

// Who holds late requests: own work where it took longer than any dependency, and
// nobody where the request began after its deadline.
func TestAdviceSaysWhatHolds(t *testing.T) {
	// 100 ms of deadline. The first is late by its own 90 ms, the second by the 80 ms of b.
	// The request below the third inherits -20 ms: it was late before it began.
	const shape = `
R - 0 %[1]d k=SERVER s=web h=A
a R %[2]d %[3]d` + get + `h=A a=http.response.status_code=200
x a %[4]d %[5]d k=SERVER s=b h=A
`
	dump := worked(t,
		fmt.Sprintf(shape, 120, 50, 80, 51, 79),
		fmt.Sprintf(shape, 120, 20, 100, 21, 99),
		fmt.Sprintf(shape, 150, 120, 145, 121, 144))
	r := Run(dump, Options{Deadline: ms(100)}).Report
	route := r.Routes[slices.IndexFunc(r.Routes, func(r Route) bool { return r.Service == "web" })]
	if own := route.LateOwn; own == nil || own.Held != 2 || own.Overrun != ms(50) {
		t.Errorf("held by own work: %+v, want 2 requests, of which one was 50 ms late", own)
	}
	if late := depTo(t, &r, "b").Late; late == nil || late.Held != 1 || late.Overrun != ms(20) {
		t.Errorf("held by b: %+v, want 1 request, 20 ms late", late)
	}
	for _, row := range r.Routes {
		if row.Service == "b" && row.LateOwn != nil {
			t.Errorf("a request that began after its deadline was held: %+v", row.LateOwn)
		}
	}
	for _, a := range r.Advice {
		if a.Do == SpeedUpOwn {
			want(t, "own work", []any{a.Service, a.Callee, a.Requests}, []any{"web", "", 2})
			return
		}
	}
	t.Errorf("advice %+v, want %s", r.Advice, SpeedUpOwn)
}

// A minimum that the deadline does not leave is no reason to make no call at all; where it
// does fit, calls past the deadline and calls below the minimum are one mistake.
func TestAdviceOnCallsBelowTheMinimum(t *testing.T) {
	advice := func(deadline float64) (a Advice) {
		t.Helper()
		r := Run(oneCall(hundred()), Options{Deadline: ms(deadline)}).Report
		for _, a := range r.Advice {
			if a.Do == SkipCalls || a.Do == FitDeadline {
				return a
			}
		}
		t.Fatalf("advice %+v", r.Advice)
		return a
	}
	// The p50 of 1 to 100 ms is 50.
	a := advice(40)
	want(t, "below the minimum", []any{a.Do, *a.To, a.SavesHigh == nil}, []any{FitDeadline, ms(50), true})

	late := func(start int) string {
		return fmt.Sprintf("\nR - 0 %d k=SERVER s=web h=A\na R %d %d%sh=A a=http.response.status_code=200\nx a %[2]d %[3]d k=SERVER s=b h=B\n", start+20, start, start+20, get)
	}
	var texts []string
	for range 20 {
		texts = append(texts, late(1))
	}
	texts = append(texts, late(90), late(95), late(150)) // 10 and 5 ms left of 100, and none
	r := Run(worked(t, texts...), Options{Deadline: ms(100)}).Report
	i := slices.IndexFunc(r.Advice, func(a Advice) bool { return a.Do == SkipCalls })
	if i < 0 {
		t.Fatalf("advice %+v", r.Advice)
	}
	a = r.Advice[i]
	want(t, "one mistake", []any{a.Finding, a.Requests, *a.SavesLow, *a.SavesHigh, *a.To}, []any{string(CallBelowMinimum), 3, 3, 3, ms(20)})

	// It is the minimum in force that has to fit. Of 100 ms 20 are own work, so that 80 are left
	// of most: less than 85 of a policy, though the calls take 20. Of 40 ms, with a reserve of
	// 25, 15 are left: less than the p50 of 20, and more than 5 of a policy; but not of the one
	// call that began after 12.
	for _, test := range []struct {
		name, policy string
		want         AdviceCode
		to           float64
		calls        int
	}{
		{"the policy's does not fit", "deadlines: [{service: web, deadline: 100ms, reserve: 20ms}]\ndependencies: [{minimum: 85ms}]", FitDeadline, 85, 21},
		{"the policy's does", "deadlines: [{service: web, deadline: 40ms, reserve: 25ms}]\ndependencies: [{minimum: 5ms}]", SkipCalls, 5, 1},
	} {
		r := Run(worked(t, append(slices.Clone(texts[:20]), late(12))...), Options{Policy: policy(t, test.policy)}).Report
		i := slices.IndexFunc(r.Advice, func(a Advice) bool { return a.Do == SkipCalls || a.Do == FitDeadline })
		if i < 0 || r.Advice[i].Do != test.want || *r.Advice[i].To != ms(test.to) || r.Advice[i].Requests != test.calls {
			t.Errorf("%s: advice %+v, want %s %v ms of %d calls", test.name, r.Advice, test.want, test.to, test.calls)
		}
	}
}
