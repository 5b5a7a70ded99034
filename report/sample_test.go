package report

import (
	"strings"
	"time"

	"overrun/analyze"
	"overrun/ingest"
)

const (
	ms   = time.Millisecond
	noon = 1_714_557_600_000_000_000 // 2024-05-01 10:00:00 UTC
)

func trace(b byte) ingest.TraceID { return ingest.TraceID{0xc0, 0xff, 0xee, 15: b} }
func span(b byte) ingest.SpanID   { return ingest.SpanID{0: 0xab, 7: b} }

// known is an estimate of an uncut sample; 0 is no end.
func known(point, low, high time.Duration) analyze.Estimate {
	e := analyze.Estimate{Point: &point}
	if low != 0 {
		e.Low = &low
	}
	if high != 0 {
		e.High = &high
	}
	return e
}

// bounded is an estimate that cuts leave open; never 0 is not known.
func bounded(answered, never time.Duration) analyze.Estimate {
	e := analyze.Estimate{Cut: true, IfAnswered: &answered, Low: &answered}
	if never != 0 {
		e.IfNever = &never
	}
	return e
}

// nasty is what a name can hold.
var nasty = "GET /a|b\n<script>alert(1)</script>\x1b[31m\r`x` [link](http://evil) @user #1 ![i](y) " +
	"\u202egnp.exe\u202c \u200bzero \u2066iso\u2069 日本語 \xff e" + strings.Repeat("\u0301", 6) + " :smile: $x$ \\| " + strings.Repeat("long", 1000)

// sample has every section, and what is hard in each.
func sample() *analyze.Report {
	start, end := int64(noon), int64(noon+59*int64(time.Minute)+999*int64(ms))
	yes, no := true, false
	late, all := 0.186, 1.0
	id, sp := trace(7), span(7)
	r := &analyze.Report{
		Schema: analyze.ReportSchema,
		Input: analyze.Input{Files: 3, Bytes: 12_400_000, Spans: 200_000, Traces: 2_000, Requests: 2_452, Fragments: 12, Start: &start, End: &end,
			Weights: analyze.Weights{Known: new(1_200), Unknown: new(1_264)},
			Skew:    analyze.Skew{Traces: 12, Largest: 35_200 * time.Microsecond},
			Notes: []analyze.Note{
				{Code: ingest.Orphan, Count: 1_204, Example: analyze.Place{File: "dumps/2024-05-01/part-0001.json.gz", Position: 48213, Trace: &id, Span: &sp}},
				{Code: "some-new-code", Count: 1, Example: analyze.Place{File: "a.json"}},
				{Code: ingest.Unreadable, Count: 2, Text: "invalid character '\\x1b' in \x1b[2J literal", Example: analyze.Place{File: "bad\n.json", Position: 17}},
			}},
		Routes: []analyze.Route{
			{Service: "card", Route: "GET /card/{id}", Requests: 2_000, WithDeadline: 2_000, DeadlineSources: map[analyze.Source]int{analyze.ByFlag: 2_000},
				Complete: 1_640, Partial: 350, Failed: 10, Late: 370, LateShare: &late,
				Latency: analyze.Latency{N: 1_990, EffectiveN: new(float64(1_990)), P50: known(139*ms, 137*ms, 141*ms), P95: known(290_500*time.Microsecond, 280*ms, 300*ms),
					P99: known(427_600*time.Microsecond, 410*ms, 450*ms), P999: known(999_600*time.Microsecond, 600*ms, 0)},
				Time:     analyze.Time{Own: 40 * time.Second, Read: 238 * time.Second, Retry: 2 * time.Second, Total: 280 * time.Second},
				Warnings: []analyze.Warning{analyze.ConnectInRead, analyze.FewP999}},
			{Service: "checkout", Route: "POST /api/v1/orders/{order}/items", Requests: 440, WithDeadline: 400, DeadlineSources: map[analyze.Source]int{analyze.Recorded: 390, analyze.Inherited: 9, "inferred": 1},
				Complete: 440, Late: 1, LateInherited: 1, LateShare: new(float64(1) / 400),
				Latency:  analyze.Latency{N: 440, EffectiveN: new(float64(440)), P50: known(410*time.Microsecond, 0, 0), P95: known(1230*ms, 0, 0), P99: bounded(2*time.Second, 3*time.Second), P999: bounded(3*time.Second, 0)},
				Time:     analyze.Time{Own: 9 * time.Second, Connect: 1 * time.Second, Read: 30 * time.Second, Messaging: 5 * ms, Total: 40*time.Second + 5*ms},
				Warnings: []analyze.Warning{analyze.FewP999, analyze.CutsHidePoint, analyze.TailUnknown}},
			{Service: "idle", Route: "GET /", Requests: 1, Complete: 1, Latency: analyze.Latency{N: 1, EffectiveN: new(float64(1)), P50: known(0, 0, 0), P95: known(0, 0, 0), P99: known(0, 0, 0), P999: known(0, 0, 0)},
				Warnings: []analyze.Warning{analyze.FewP50, analyze.FewP95, analyze.FewP99, analyze.FewP999}},
			{Service: "", Route: nasty, Requests: 11, WithDeadline: 11, DeadlineSources: map[analyze.Source]int{analyze.ByPolicy: 11}, Failed: 1, Complete: 10, Late: 10, LateShare: &all,
				Latency: analyze.Latency{N: 10, EffectiveN: new(float64(10)), P50: known(time.Hour, 0, 0), P95: known(2*time.Hour, 0, 0), P99: known(400*24*time.Hour, 0, 0)},
				Time:    analyze.Time{Own: 11 * time.Hour, Unknown: 1, Total: 11*time.Hour + 1}, Warnings: []analyze.Warning{"a-new-warning"}},
		},
		Dependencies: []analyze.Dependency{
			{Caller: "card", Callee: "dep-13", Operation: "GET", Required: &yes, Calls: 2_000, Attempts: 2_040, Outcomes: map[analyze.Outcome]int{analyze.OutcomeOK: 1_990, analyze.Failure: 40, analyze.ReadTimeout: 10},
				OK: 1_990, Errors: 40, Cut: 10, OnPath: 1_800, Path: 178 * time.Second,
				Latency: analyze.Latency{N: 2_000, EffectiveN: new(float64(2_000)), P50: known(29_800*time.Microsecond, 29*ms, 30*ms), P95: known(112*ms, 0, 0), P99: known(193*ms, 180*ms, 210*ms), P999: bounded(250*ms, 0)},
				Hidden:  3, Hint: "default",
				Connect:       &analyze.Latency{N: 3, EffectiveN: new(float64(3)), P50: known(450*ms, 0, 0), P99: known(900*ms, 0, 0)},
				Pool:          &analyze.Latency{N: 2_040, EffectiveN: new(float64(2_040)), P50: known(12*time.Microsecond, 11*time.Microsecond, 13*time.Microsecond), P99: known(40*time.Microsecond, 30*time.Microsecond, 50*time.Microsecond)},
				Read:          &analyze.Latency{N: 2_030, EffectiveN: new(float64(2_030)), P50: known(29*ms, 28*ms, 30*ms), P99: bounded(190*ms, 0)},
				FalseTimeouts: new(4), LateAnyway: new(2),
				Minimum: new(29_800 * time.Microsecond), PolicyMinimum: new(25 * ms), PolicyCeiling: new(250 * ms),
				CurrentTimeout: &analyze.CurrentTimeout{NS: 250 * ms, Source: "pile", ShareCut: new(0.005)},
				Warnings:       []analyze.Warning{analyze.FewP999, analyze.CutsHidePoint, analyze.NoCeiling, analyze.HiddenRetries}},
			{Caller: "card", Callee: "dep-02", Operation: "GET", Required: &no, Calls: 2_000, Attempts: 2_000, Outcomes: map[analyze.Outcome]int{analyze.OutcomeOK: 2_000}, OK: 2_000, OnPath: 200, Path: 60 * time.Second,
				Latency: analyze.Latency{N: 2_000, EffectiveN: new(float64(2_000)), P50: known(30*ms, 29*ms, 31*ms), P95: known(111*ms, 0, 0), P99: known(188*ms, 180*ms, 210*ms), P999: known(351*ms, 300*ms, 0)},
				Minimum: new(30 * ms), Ceiling: new(60 * ms), CeilingShareCut: new(0.2123), PolicyCeiling: new(60 * ms), FalseTimeouts: new(0), LateAnyway: new(0),
				Pool: &analyze.Latency{N: 1, EffectiveN: new(float64(1)), P50: known(0, 0, 0), P99: known(0, 0, 0)}, Warnings: []analyze.Warning{analyze.FewP999, analyze.CappedByBudget}},
			{Caller: "checkout", Callee: "", Operation: nasty, Calls: 3, Attempts: 3, Outcomes: map[analyze.Outcome]int{analyze.Refused: 3}, Errors: 3},
			{Caller: "checkout", Callee: "payments", Operation: "charge", Calls: 440, Attempts: 440, Outcomes: map[analyze.Outcome]int{analyze.OutcomeOK: 400, analyze.CancelledCaller: 40}, OK: 400, Cut: 40, RanOn: 12, OnPath: 440, Path: 31 * time.Second, Hint: "fallback",
				Latency: analyze.Latency{N: 440, EffectiveN: new(float64(440)), P50: known(50*ms, 48*ms, 52*ms), P95: bounded(1*time.Second, 0), P99: bounded(900*ms, 1200*ms), P999: bounded(1200*ms, 0)},
				Minimum: new(50 * ms), Ceiling: new(20 * ms), CeilingShareCut: new(0.98), DoesNotFit: []string{"checkout POST /", nasty},
				Warnings: []analyze.Warning{analyze.FewP999, analyze.CutsHidePoint, analyze.DoesNotFit, analyze.AssumesRequired, analyze.HistogramValues, analyze.TimeoutUnclear}},
		},
		Findings: []analyze.Finding{
			{Code: analyze.RequestLate, Service: "card", Route: "GET /card/{id}", Count: 370, First: noon + 1e9, Last: noon + 3000e9,
				Examples: []analyze.Example{{Trace: trace(1), Span: span(1), File: "dumps/card.json", Position: 77, Start: noon, Amount: 212 * ms, Lateness: lateness13()}}},
			{Code: analyze.CallBelowMinimum, Service: "card", Route: "GET /card/{id}", Callee: "dep-02", Operation: "GET", Count: 41, CausedBy: 1_003, First: noon, Last: noon,
				Examples: []analyze.Example{{Trace: trace(2), Span: span(2), File: "dumps/card.json", Position: 99, Amount: 28 * ms,
					CallEvidence: &analyze.CallEvidence{At: 156 * ms, Remaining: 44 * ms, Reserve: new(20 * ms), Timeout: new(24 * ms), Minimum: new(30 * ms), AssumesRequired: true}}}},
			{Code: analyze.CallPastDeadline, Service: "checkout", Route: "POST /", Callee: "payments", Operation: "charge", Count: 2, First: noon, Last: noon + 86400e9,
				Examples: []analyze.Example{{Trace: trace(3), File: "x.json", Amount: 12 * ms, CallEvidence: &analyze.CallEvidence{At: 212 * ms, Remaining: -12 * ms}}}},
			{Code: analyze.AbandonedWork, Service: "payments", Route: nasty, Count: 7, First: noon, Last: noon,
				Examples: []analyze.Example{{Trace: trace(4), File: strings.Repeat("very/long/", 20) + "dump.json", Position: 5, Amount: 1200 * ms,
					WorkEvidence: &analyze.WorkEvidence{Work: 1350 * ms, Spans: 14, Services: []analyze.ServiceWork{{Service: "a", Work: 1100 * ms, Spans: 11}, {Service: "b", Work: 100 * ms, Spans: 1}, {Service: "c", Work: 100 * ms, Spans: 1}, {Service: "d\x1b", Work: 50 * ms, Spans: 1}}}}}},
			{Code: "a-new-code", Service: "s", Route: "r", Count: 7},
		},
		Worst: []analyze.LateOne{
			{Trace: trace(1), Span: span(1), File: "dumps/card.json", Position: 77, Service: "card", Route: "GET /card/{id}", Start: noon + 61_123*int64(ms), Overrun: 212 * ms, Source: analyze.ByFlag, Lateness: *lateness13()},
			{Trace: trace(9), File: "dumps/card.json", Position: 5, Service: "card", Route: "GET /card/{id}", Start: noon, Overrun: 40 * time.Microsecond, Source: analyze.ByPolicy,
				Lateness: analyze.Lateness{Duration: 200*ms + 40*time.Microsecond, Budget: 200 * ms, Own: 200*ms + 40*time.Microsecond, SavedBy: []string{}}},
			{Trace: trace(8), File: "x", Service: "", Route: nasty, Start: noon, Overrun: 1, Source: analyze.Recorded,
				Lateness: analyze.Lateness{Duration: 100 * ms, Budget: 100*ms - 1, Own: 10 * ms, SavedBy: []string{"dep-1 GET", "own work"},
					Path: []analyze.PathShare{{Callee: "dep-1", Operation: "GET", Path: 50 * ms}, {Callee: nasty, Path: 20 * ms}, {Callee: "c", Path: 10 * ms}, {Callee: "d", Path: 5 * ms}}}},
		},
	}
	r.Findings = append(r.Findings, details()...)
	for i := range r.Routes { // all requests count once
		t := r.Routes[i].Time
		for _, d := range []*time.Duration{&t.Own, &t.Connect, &t.Read, &t.Retry, &t.RetryWait, &t.Hedge, &t.Messaging, &t.Unknown, &t.Total} {
			*d /= time.Duration(r.Routes[i].Requests)
		}
		r.Routes[i].MeanTime = &t
		if r.Routes[i].WithDeadline > 0 {
			r.Routes[i].CompleteInTimeShare = new(float64(r.Routes[i].CompleteInTime) / float64(r.Routes[i].WithDeadline))
		}
	}
	held := map[string]time.Duration{"card": (178 + 60 + 40) * time.Second, "checkout": (31 + 9) * time.Second} // and own work
	for i := range r.Dependencies {
		d := &r.Dependencies[i]
		d.PathShare = new(d.Path.Seconds() / held[d.Caller].Seconds())
		d.ExtraLoad = new(float64(d.Attempts+d.Hidden)/float64(d.Calls) - 1)
	}
	return r
}

// details has a finding of each code whose examples have numbers of their own.
func details() (list []analyze.Finding) {
	call := func(left time.Duration) *analyze.CallEvidence {
		return &analyze.CallEvidence{At: 5 * ms, Remaining: left, Reserve: new(20 * ms), Timeout: new(left - 20*ms)}
	}
	for i, f := range []struct {
		code   analyze.FindingCode
		route  string // "": about the dependency as a whole
		amount time.Duration
		call   *analyze.CallEvidence
		detail *analyze.Detail
	}{
		{analyze.TimeoutOverBudget, "GET /card/{id}", 1660 * ms, call(340 * ms), &analyze.Detail{Timeout: new(2 * time.Second)}},
		{analyze.FixedTimeout, "", 41 * ms, nil, &analyze.Detail{Timeout: new(40_700 * time.Microsecond)}},
		{analyze.DeadlineWidened, "GET /card/{id}", 100 * ms, nil, nil},
		{analyze.DeadlineLost, "GET /card/{id}", 0, nil, nil},
		{analyze.RetryAmplified, "", 67 * ms, nil, &analyze.Detail{Attempts: 24, Calls: 12, Bottom: 9}},
		{analyze.HedgeEarly, "GET /card/{id}", 12 * ms, nil, &analyze.Detail{P95: new(60 * ms)}},
		{analyze.HedgeLate, "GET /card/{id}", 12 * ms, nil, &analyze.Detail{P95: new(60 * ms)}},
		{analyze.HedgeNotCancelled, "GET /card/{id}", 33 * ms, nil, nil},
		{analyze.HedgeLoad, "", 33 * ms, nil, &analyze.Detail{Calls: 100, Share: new(0.25)}},
		{analyze.FalseTimeout, "GET /card/{id}", 28_700 * time.Microsecond, call(94_300 * time.Microsecond), &analyze.Detail{Callee: new(71_100 * time.Microsecond), Success: "recorded"}},
		{analyze.LateAnyway, "GET /card/{id}", 8 * ms, call(35 * ms), &analyze.Detail{Callee: new(148 * ms), Success: "inferred"}},
		{analyze.ConnectSlow, "GET /card/{id}", 450 * ms, call(500 * ms), nil},
		{analyze.OneInstance, "", 950 * ms, nil, &analyze.Detail{Instance: "pod-7", Share: new(0.042), Slow: new(0.38)}},
	} {
		one := analyze.Finding{Code: f.code, Service: "card", Route: f.route, Callee: "dep-13", Operation: "GET", Count: 12 - i/2, First: noon, Last: noon,
			Examples: []analyze.Example{{Trace: trace(5), Span: span(5), File: "x.json", Amount: f.amount, CallEvidence: f.call, Detail: f.detail}}}
		if f.code == analyze.DeadlineLost || f.code == analyze.DeadlineWidened {
			one.Callee, one.Operation = "", ""
		}
		list = append(list, one)
	}
	return list
}

func lateness13() *analyze.Lateness {
	return &analyze.Lateness{Duration: 412 * ms, Budget: 200 * ms, Own: 10 * ms,
		Path: []analyze.PathShare{{Callee: "dep-13", Operation: "GET", Path: 402 * ms}}}
}

// views are a chain with everything that can happen to a call, a request
// without deadline or calls, and a fragment.
func views() []analyze.View {
	no := false
	sp := func(b byte) *ingest.SpanID { s := span(b); return &s }
	return []analyze.View{
		{Trace: trace(1), Root: span(1), Service: "card", Route: "GET /card/{id}", Start: noon + 123*int64(ms), Duration: new(412 * ms), Deadline: new(200 * ms), Source: analyze.ByFlag,
			Ended: analyze.PartlyOK, File: "dumps/card.json", Position: 77,
			Path: []analyze.PathSegment{
				{Span: span(1), Name: "GET /card/{id}", Service: "card", Start: 0, End: 10 * ms, Category: analyze.Own},
				{Span: span(2), Name: "GET", Service: "card", Start: 10 * ms, End: 60 * ms, Category: analyze.Retry, Callee: "prices", Operation: "GET /prices"},
				{Span: span(1), Name: "GET /card/{id}", Service: "card", Start: 60 * ms, End: 70 * ms, Category: analyze.RetryWait, Callee: "prices", Operation: "GET /prices", InFlight: true},
				{Span: span(3), Name: "GET", Service: "card", Start: 70 * ms, End: 170 * ms, Category: analyze.Read, Callee: "prices", Operation: "GET /prices"},
				{Span: span(5), Name: nasty, Service: "prices", Start: 170 * ms, End: 170*ms + 40*time.Microsecond, Category: analyze.Own},
				{Span: span(4), Name: "SELECT", Service: "recommendations", Start: 170*ms + 40*time.Microsecond, End: 402 * ms, Category: analyze.Read, Callee: "postgres", Operation: "SELECT items"},
				{Span: span(1), Name: "GET /card/{id}", Service: "card", Start: 402 * ms, End: 412 * ms, Category: analyze.Own},
			},
			Calls: []analyze.ViewCall{
				{Span: sp(2), Service: "card", Callee: "prices", Operation: "GET /prices", Start: 10 * ms, End: new(170 * ms), Outcome: analyze.OutcomeOK, Attempts: 2, Path: 160 * ms,
					Remaining: new(190 * ms), Timeout: new(110 * ms), Minimum: new(30 * ms), Reserve: new(20 * ms),
					Tries: []analyze.Try{{Span: span(2), Start: 10 * ms, End: new(60 * ms), Outcome: analyze.Failure}, {Span: span(3), Start: 70 * ms, End: new(170 * ms), Outcome: analyze.OutcomeOK, Hedge: true,
						Phases: map[string]time.Duration{"tls": 2 * ms, "dns": 1 * ms}}}},
				{Span: sp(6), Service: "card", Callee: "reviews", Operation: "GET /reviews", Start: 10 * ms, End: new(110 * ms), Outcome: analyze.ReadTimeout, Attempts: 1, Required: &no,
					Remaining: new(190 * ms), Timeout: new(100 * ms), Minimum: new(25 * ms), Pool: new(3 * ms)},
				{Span: sp(4), Service: "recommendations", Callee: "postgres", Operation: "SELECT items", Start: 170*ms + 40*time.Microsecond, End: new(402 * ms), Outcome: analyze.CancelledCaller, Attempts: 1, Path: 232 * ms,
					Remaining: new(30 * ms), Timeout: new(-8 * ms), Minimum: new(25 * ms), Findings: []analyze.FindingCode{analyze.CallBelowMinimum, analyze.WorkPastDeadline}},
				{Service: "card", Callee: nasty, Operation: "", Start: 402 * ms, End: new(402 * ms), Outcome: analyze.Skipped, Inferred: true, Timeout: new(-222 * ms), Minimum: new(25 * ms)},
				{Span: sp(8), Service: "card", Callee: "audit", Operation: "send", Start: 405 * ms, Outcome: analyze.Unfinished, Attempts: 1},
			},
			Notes: []analyze.ViewNote{{Code: analyze.ClockSkew, Span: span(5), Amount: new(-35_200 * time.Microsecond)}, {Code: "new\ncode", Span: span(6)}}},
		{Trace: trace(2), Root: span(1), Service: "worker", Route: "", Start: noon, Duration: new(1500 * time.Microsecond), Ended: analyze.Failed, TimedOut: true, File: "-", Position: 0,
			Path: []analyze.PathSegment{{Span: span(1), Name: "run", Service: "worker", End: 1500 * time.Microsecond, Category: analyze.Own}}},
		{Trace: trace(3), Root: span(9), Fragment: true, Service: "lost", Route: "child", Start: noon, File: "a.json", Position: 12},
		{Trace: trace(4), Root: span(1), Service: "card", Route: "GET /", Start: noon, Duration: new(150 * ms), Deadline: new(200 * ms), Source: analyze.Recorded, Ended: analyze.Complete, File: "a.json",
			Path: []analyze.PathSegment{{Span: span(1), Name: "GET /", Service: "card", End: 150 * ms, Category: analyze.Own}}},
	}
}

// tries are calls with several attempts: retries with and without marks, races,
// one that never ended, and one that hides its retries. The client records phases.
func tries() []analyze.View {
	us := time.Microsecond
	sp := func(b byte) *ingest.SpanID { s := span(b); return &s }
	rules := analyze.CallRules{Callee: "P3", Operation: "P21"}
	seg := func(b byte, name string, start, end time.Duration, what analyze.Category) analyze.PathSegment {
		s := analyze.PathSegment{Span: span(b), Name: name, Service: "card", Start: start, End: end, Category: what, Callee: "prices", Operation: "GET /prices"}
		if what == analyze.Own {
			s.Callee, s.Operation = "", ""
		}
		return s
	}
	return []analyze.View{{Trace: trace(6), Root: span(1), Service: "card", Route: "GET /card/{id}", Start: noon, Duration: new(90 * ms), Ended: analyze.Complete, File: "dumps/card.json",
		Path: []analyze.PathSegment{
			seg(1, "GET /card/{id}", 0, 1*ms, analyze.Own),
			seg(11, "dns", 1*ms, 2*ms, analyze.Retry), // a phase before any of the attempt itself
			seg(2, "GET", 2*ms, 3*ms, analyze.Retry),
			seg(12, "connect", 3*ms, 4*ms, analyze.Retry),
			seg(2, "GET", 4*ms, 10*ms, analyze.Retry),
			seg(3, "GET", 10*ms, 12*ms, analyze.Retry), // the next attempt, at once
			seg(1, "GET /card/{id}", 12*ms, 27300*us, analyze.Own),
			seg(4, "GET", 27300*us, 28*ms, analyze.Read),
			seg(13, "pool", 28*ms, 29*ms, analyze.Connect),
			seg(4, "GET", 29*ms, 30*ms, analyze.Read),
			seg(14, "send", 30*ms, 31*ms, analyze.Read),
			seg(4, "GET", 31*ms, 40*ms, analyze.Read),
			seg(15, "send", 40*ms, 41*ms, analyze.Read), // of the call that follows
			seg(5, "GET", 41*ms, 60*ms, analyze.Read),
			seg(1, "GET /card/{id}", 60*ms, 90*ms, analyze.Own),
		},
		Calls: []analyze.ViewCall{
			{Span: sp(2), Service: "card", Callee: "prices", Operation: "GET /prices", Start: 1 * ms, End: new(40 * ms), Outcome: analyze.OutcomeOK, Attempts: 3, Path: 39 * ms, Pool: new(1 * ms), Rules: rules,
				Tries: []analyze.Try{
					{Span: span(2), Start: 1 * ms, End: new(10 * ms), Outcome: analyze.Failure, Phases: map[string]time.Duration{"dns": 1 * ms, "tcp": 1 * ms, "waiting": 5 * ms, "send": 1 * ms, "back-off": 1}, Rules: analyze.TryRules{Outcome: "T3"}},
					{Span: span(3), Start: 10 * ms, End: new(12 * ms), Outcome: analyze.Refused, Rules: analyze.TryRules{Part: "C16", Outcome: "T3", Join: "R6"}},
					{Span: span(4), Start: 27300 * us, End: new(40 * ms), Outcome: analyze.OutcomeOK, Phases: map[string]time.Duration{"pool": 1 * ms, "send": 1 * ms}, Rules: analyze.TryRules{Join: "R3"}}}},
			{Span: sp(5), Service: "card", Callee: "prices", Operation: "GET /prices", Start: 40 * ms, End: new(60 * ms), Outcome: analyze.OutcomeOK, Attempts: 1, Path: 20 * ms, Rules: rules,
				Tries: []analyze.Try{{Span: span(5), Start: 40 * ms, End: new(60 * ms), Outcome: analyze.OutcomeOK, Hidden: 2, Phases: map[string]time.Duration{"pool": 0}}}},
			{Span: sp(6), Service: "card", Callee: "reviews", Operation: "GET /reviews", Start: 40 * ms, End: new(55 * ms), Outcome: analyze.OutcomeOK, Attempts: 3, Rules: rules,
				Tries: []analyze.Try{
					{Span: span(6), Start: 40 * ms, End: new(55 * ms), Outcome: analyze.CancelledRace, Rules: analyze.TryRules{Outcome: "H4", Join: "H5"}},
					{Span: span(7), Start: 45 * ms, End: new(55 * ms), Outcome: analyze.OutcomeOK, Hedge: true, Rules: analyze.TryRules{Join: "H5"}},
					{Span: span(8), Start: 46 * ms, End: new(58 * ms), Outcome: analyze.OutcomeOK, Hedge: true, Hidden: 1, Rules: analyze.TryRules{Join: "R6"}}}},
			{Span: sp(9), Service: "card", Callee: "audit", Operation: "send", Start: 60 * ms, End: new(70 * ms), Outcome: analyze.Unfinished, Attempts: 2,
				Tries: []analyze.Try{{Span: span(9), Start: 60 * ms, Outcome: analyze.Unfinished}, {Span: span(10), Start: 70 * ms, Outcome: analyze.Unfinished}}},
			{Service: "card", Callee: "ads", Operation: "GET /ads", Start: 70 * ms, End: new(70 * ms), Outcome: analyze.Skipped, Inferred: true, Timeout: new(-2 * ms)},
		}}}
}
