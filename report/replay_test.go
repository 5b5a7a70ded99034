package report

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"

	"overrun/analyze"
)

// replaySample is a replay with all there can be: ranges, a sweep, a timeout, and
// retries on several levels.
func replaySample() *analyze.ReplayReport {
	const ms = time.Millisecond
	f := func(v float64) *float64 { return &v }
	point := func(v time.Duration) analyze.Estimate {
		low, high := v-ms, v+ms
		return analyze.Estimate{Point: &v, Low: &low, High: &high}
	}
	latency := func(p50, p95, p99 time.Duration) analyze.Latency {
		n := 2000.0
		return analyze.Latency{N: 2000, EffectiveN: &n, P50: point(p50), P95: point(p95), P99: point(p99), P999: point(p99)}
	}
	observed := analyze.Measures{Requests: 2000, WithDeadline: 2000, Complete: 1900, Failed: 100, Late: 371, LateShare: f(.19526), LateLow: f(.17842), LateHigh: f(.21315),
		TimedOut: 90, CompleteInTime: 1529, Latency: latency(138*ms, 296*ms, 404*ms), Calls: 6000, Cut: 120, Attempts: 6000}
	worst := observed
	worst.Late, worst.LateShare, worst.LateLow, worst.LateHigh, worst.Partial, worst.Complete = 67, f(.0353), f(.0269), f(.0442), 600, 1300
	worst.Skipped, worst.Attempts, worst.Drawn, worst.Bounded, worst.Latency = 12, 6300, 40, 30, latency(90*ms, 183*ms, 275*ms)
	best := worst
	best.Failed, best.Complete, best.Late, best.LateShare = 70, 1330, 60, f(.0311)
	fixed := 500 * ms
	return &analyze.ReplayReport{Schema: analyze.ReplaySchema, Seed: 7,
		Routes: []analyze.ReplayRoute{{Service: "card", Route: "GET /card/{id}", Observed: observed, Replayed: worst, ReplayedAtBest: &best,
			Saved: analyze.Span{Worst: 304, Best: 341, Low: 273, High: 371}, Lost: analyze.Span{Worst: 2, Best: 2, Low: 0, High: 5},
			LateAgain: analyze.Span{Worst: 167, Best: 130, Low: 109, High: 191},
			Theory:    &analyze.Theory{Branches: 20, Requests: 1900, Late: .1906, Low: .1741, High: .2071, Observed: .0106},
			Warnings:  []analyze.Warning{analyze.OrderByTiming, analyze.NoErrorTail}}},
		Dependencies: []analyze.ReplayDependency{
			{Caller: "card", Callee: "prices", Operation: "GET", Required: true, Observed: analyze.CallCount{Calls: 2000, Attempts: 2000, Cut: 120},
				Replayed: analyze.CallCount{Calls: 2000, Attempts: 2300, Cut: 60}, ReplayedAtBest: analyze.CallCount{Calls: 2000, Attempts: 2200, Cut: 20},
				ExtraLoad: f(.15), Bottom: 8, Warnings: []analyze.Warning{analyze.RetriesMultiply}},
			{Caller: "card", Callee: "orders", Operation: "POST", Observed: analyze.CallCount{Calls: 2000, Attempts: 2000},
				Replayed: analyze.CallCount{Calls: 1988, Attempts: 1988, Skipped: 12}, ReplayedAtBest: analyze.CallCount{Calls: 1988, Attempts: 1988, Skipped: 12},
				ExtraLoad: f(-.006), Bottom: 1, Warnings: []analyze.Warning{analyze.NotRepeatable}}},
		Timeout: &analyze.TimeoutAnswer{Name: "prices", Timeout: 2 * time.Second, Now: &fixed, Calls: 2000, Saved: analyze.Span{Worst: 0, Best: 312, Low: 0, High: 345},
			LateAgain: analyze.Span{Worst: 471, Best: 159, Low: 135, High: 509}, Recorded: 12.5, Arrivals: 12.5, BoundNow: 60 * ms, BoundThen: 310 * ms,
			BoundAll: 4100 * ms, WorkersNow: .75, WorkersThen: 3.875, WorkersAll: 51.25, Attempts: 2},
		Sweep: []analyze.SweepPoint{{Ceiling: 40 * ms, Service: "card", Route: "GET /card/{id}", Replayed: worst, ReplayedAtBest: &best},
			{Ceiling: 60 * ms, Service: "card", Route: "GET /card/{id}", Replayed: observed}},
		Warnings: []analyze.Warning{analyze.LoadNotModelled}}
}

// TestReplayHostile: names of the input reach neither the terminal nor Markdown as
// they are.
func TestReplayHostile(t *testing.T) {
	r := replaySample()
	name := "a\x1b[31m|b`<b>\u202e\n\r=1"
	r.Routes[0].Service, r.Routes[0].Route, r.Timeout.Name = name, name, name
	for i := range r.Dependencies {
		d := &r.Dependencies[i]
		d.Caller, d.Callee, d.Operation = name, name, name
	}
	for i := range r.Sweep {
		r.Sweep[i].Service, r.Sweep[i].Route = name, name
	}
	var text, markdown, csv bytes.Buffer
	if err := ReplayText(&text, r, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := ReplayMarkdown(&markdown, r, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := ReplayJSON(&csv, r); err != nil {
		t.Fatal(err)
	}
	for form, out := range map[string]string{"text": text.String(), "markdown": markdown.String(), "JSON": csv.String()} {
		if i := strings.IndexFunc(out, func(c rune) bool { return c != '\n' && !unicode.IsPrint(c) }); i >= 0 {
			t.Errorf("%s: %q at %d", form, out[i:min(i+8, len(out))], i)
		}
	}
	if strings.Contains(markdown.String(), "\n=1") || strings.Contains(text.String(), "\n=1") {
		t.Error("a name begins a line of its own")
	}
}

// TestReplayCSVHeads: the columns of the heads are those of the rows.
func TestReplayCSVHeads(t *testing.T) {
	var b bytes.Buffer
	if err := ReplayCSV(&b, replaySample()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 1+3+3 {
		t.Fatalf("%d lines, want heads, observed, two replays, and three of the sweep", len(lines))
	}
	for _, l := range lines[1:] {
		if got, want := strings.Count(l, ","), strings.Count(lines[0], ","); got != want {
			t.Errorf("%d fields, want %d: %s", got+1, want+1, l)
		}
	}
}

// TestSweepRowHasOneBase: of 2 000 requests, all with a deadline, 1 529 are in time, 371
// late and 100 failed: 76.45 + 18.55 + 5 %.
func TestSweepRowHasOneBase(t *testing.T) {
	r := replaySample()
	r.Sweep = r.Sweep[1:]
	var b bytes.Buffer
	if err := ReplayText(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "60" && f[3] == "%" {
			if want := []string{"18.6", "5.00"}; f[8] != want[0] || f[10] != want[1] {
				t.Errorf("late and failed are %s and %s %%, want %v: %s", f[8], f[10], want, line)
			}
			return
		}
	}
	t.Errorf("no row of 60 ms:\n%s", b.String())
}
