package analyze

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"overrun/ingest"
)

// exportViews reads the real load of testdata: Go instrumentation through a real
// collector, 16 scenarios named by their root span, six rounds of each. What
// happened in each is known from the program that ran it.
func exportViews(t *testing.T) (*Analysis, map[string][]View) {
	t.Helper()
	dump, err := ingest.Read(context.Background(), []string{"../testdata/exports-legacy.binpb.zstd"},
		ingest.Options{Keep: Keep(nil), Events: Events(nil), Links: true})
	if err != nil {
		t.Fatal(err)
	}
	a := Run(dump, Options{})
	views := map[string][]View{}
	for _, trace := range dump.Traces {
		for _, v := range a.Views(trace) {
			if v.Service == "svc-client" {
				views[v.Route] = append(views[v.Route], v)
			}
		}
	}
	for name, list := range views {
		if len(list) != 6 {
			t.Errorf("%d rounds of %q, want 6", len(list), name)
		}
	}
	return a, views
}

// outcomes lists the outcomes of the attempts of a call.
func (c *ViewCall) outcomes() (list []Outcome) {
	for _, try := range c.Tries {
		list = append(list, try.Outcome)
	}
	return list
}

func TestExportsRetries(t *testing.T) {
	_, views := exportViews(t)
	for _, name := range []string{"retry 503 retryablehttp", "grpc retry own tracing", "grpc retry otelgrpc"} {
		for _, v := range views[name] {
			if len(v.Calls) != 1 {
				t.Fatalf("%s: %d calls, want 1", name, len(v.Calls))
			}
			c := v.Calls[0]
			want(t, name, c.outcomes(), []Outcome{Failure, Failure, OutcomeOK})
			for i := 1; i < len(c.Tries); i++ {
				if wait := c.Tries[i].Start - *c.Tries[i-1].End; wait < ms(5) || wait > ms(100) {
					t.Errorf("%s: back-off %d of %v, want one as the program waits", name, i, wait)
				}
			}
		}
	}
}

func TestExportsTimeoutsOfAttempts(t *testing.T) {
	a, views := exportViews(t)
	withDeadline := 0
	for _, v := range views["retry per-attempt timeout"] {
		if len(v.Calls) != 1 || len(v.Calls[0].Tries) != 2 {
			t.Fatalf("calls %+v, want one with two attempts", v.Calls)
		}
		for _, try := range v.Calls[0].Tries {
			if took := *try.Took(); !try.Outcome.Cut() || took < ms(40) || took > ms(43) {
				t.Errorf("attempt of %v, %s, want one cut at 40 ms", took, try.Outcome)
			}
		}
		if v.Deadline != nil {
			withDeadline++
		}
	}
	count := map[FindingCode]int{}
	for _, f := range a.Report.Findings {
		if f.Callee == "svc-b" && f.Operation == "GET /slow" {
			count[f.Code] += f.Count
			if f.Code == FixedTimeout {
				if d := *f.Examples[0].Detail.Timeout; d < ms(40) || d > ms(42) {
					t.Errorf("fixed timeout of %v, want 40 ms", d)
				}
			}
		}
	}
	if withDeadline == 0 || count[FixedTimeout] != 12 || count[FalseTimeout] != withDeadline || count[LateAnyway] != withDeadline {
		t.Errorf("findings %v, want 12 %s, and %d each of %s and %s", count, FixedTimeout, withDeadline, FalseTimeout, LateAnyway)
	}
}

func TestExportsOutcomes(t *testing.T) {
	_, views := exportViews(t)
	for name, outcome := range map[string]Outcome{
		"connect refused": Refused, "grpc connect refused own tracing": Refused, "dns failure": ConnectError,
		"stalled peer": ReadTimeout, "grpc wait-for-ready deadline": ConnectTimeout,
		"grpc deadline otelgrpc": ReadTimeout, "grpc deadline own tracing": ReadTimeout,
	} {
		for _, v := range views[name] {
			if len(v.Calls) != 1 || v.Calls[0].Outcome != outcome {
				t.Errorf("%s: calls %+v, want one that ended %s", name, v.Calls, outcome)
			}
		}
		if len(views[name]) == 0 {
			t.Errorf("no round of %q", name)
		}
	}
}

func TestExportsHedge(t *testing.T) {
	_, views := exportViews(t)
	hedged := 0
	for _, v := range views["hedge"] {
		if len(v.Calls) != 1 || v.Calls[0].Outcome != OutcomeOK {
			t.Fatalf("calls %+v, want one that was answered", v.Calls)
		}
		c := v.Calls[0]
		won := 0
		for i, try := range c.Tries {
			if try.Outcome == OutcomeOK {
				won++
			} else if try.Outcome != CancelledRace {
				t.Errorf("attempt %d of %d ended %s, want the winner or a loser", i, len(c.Tries), try.Outcome)
			}
			if try.Hedge != (i > 0) {
				t.Errorf("attempt %d of %d is a hedge: %v", i, len(c.Tries), try.Hedge)
			}
		}
		want(t, "winners", won, 1)
		if len(c.Tries) > 1 {
			hedged++
		}
	}
	if hedged == 0 {
		t.Error("no round sent a second copy")
	}
}

func TestExportsLostAttempts(t *testing.T) {
	// failsafe-go's failed attempts leave no client span: their callees are
	// orphans, two in each round.
	a, _ := exportViews(t)
	i := slices.IndexFunc(a.Report.Input.Notes, func(n Note) bool { return n.Code == LostAttempt })
	if i < 0 || a.Report.Input.Notes[i].Count != 12 {
		t.Errorf("notes %+v, want 12 %s", a.Report.Input.Notes, LostAttempt)
	}
}

func TestExportsChains(t *testing.T) {
	a, _ := exportViews(t)
	for _, f := range a.Report.Findings {
		work := f.Code == AbandonedWork || f.Code == WorkPastDeadline
		if work && strings.HasPrefix(f.Route, "chain deadline honoured") || f.Code == DeadlineLost {
			t.Errorf("%s on %s %s, want none", f.Code, f.Service, f.Route)
		}
		if f.Code == AbandonedWork && f.Route == "chain deadline ignored downstream" {
			services := []string{}
			for _, s := range f.Examples[0].Services {
				services = append(services, s.Service)
			}
			want(t, "services", services, []string{"svc-a", "svc-b", "svc-c"})
			want(t, "originators", []any{f.Callee, f.Count}, []any{"svc-a", 6})
		}
	}
	want(t, "clocks moved", a.Report.Input.Skew.Traces, 0)
	// x-request-deadline is absolute milliseconds: what svc-a has left is below
	// the 300 ms of the longest chain.
	for _, r := range a.Report.Routes {
		if r.Service == "svc-a" && r.DeadlineSources[Recorded] == 0 {
			t.Errorf("%s %s: deadlines %v, want recorded ones", r.Service, r.Route, r.DeadlineSources)
		}
	}
}

func TestExportsPhases(t *testing.T) {
	_, views := exportViews(t)
	for _, v := range views["chain ok"] {
		c := v.Calls[0]
		phases := c.Tries[0].Phases
		for _, name := range []string{"pool", "send", "waiting", "receiving"} {
			if _, ok := phases[name]; !ok {
				t.Errorf("phases %v, want %s among them", phases, name)
			}
		}
		var sum time.Duration
		for _, d := range phases {
			sum += d
		}
		if took := *c.Took(); sum > took {
			t.Errorf("phases %v take %v of %v", phases, sum, took)
		}
	}
}

func TestNoClockMovedInDemo(t *testing.T) {
	// The OpenTelemetry demo runs on one machine; only its Node service starts
	// spans at whole milliseconds.
	for _, name := range []string{"stef__astronomy-otel-demo-slice.binpb.zst", "oteltui__mixed-signals-otel-demo.jsonl", "otlp2parquet__traces-b64-otel-demo.jsonl"} {
		path := filepath.Join("..", "..", "shared", "corpus", name)
		if _, err := os.Stat(path); err != nil {
			t.Skipf("SKIPPED: %v: the real files are not here", err)
		}
		dump, err := ingest.Read(context.Background(), []string{path}, ingest.Options{Keep: Keep(nil), Events: Events(nil)})
		if err != nil {
			t.Fatal(err)
		}
		want(t, name, Run(dump, Options{}).Report.Input.Skew, Skew{})
	}
}
