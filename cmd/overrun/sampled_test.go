package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSampledCard samples the dump of the product card as OpenTelemetry's samplers do,
// and compares what is said of it with what is true of the full dump: intervals of
// quantiles and of the late share have to cover the full dump's.
func TestSampledCard(t *testing.T) {
	tool := needShared(t, "tools", "card_dump.py")
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	full, err := exec.Command(python, tool, "--calls", "5", "--requests", "6000", "--batch", "1").Output()
	if err != nil {
		t.Skipf("NOT TESTED: %s: %v", tool, err)
	}
	lines := strings.SplitAfter(string(full), "\n")

	type latency struct {
		N         int
		Effective *float64       `json:"effective_n"`
		P50       *time.Duration `json:"p50_ns"`
		P50Low    *time.Duration `json:"p50_low_ns"`
		P50High   *time.Duration `json:"p50_high_ns"`
		P99       *time.Duration `json:"p99_ns"`
		P99Low    *time.Duration `json:"p99_low_ns"`
		P99High   *time.Duration `json:"p99_high_ns"`
	}
	type numbers struct {
		Routes []struct {
			Requests, Late int
			LateShare      *float64 `json:"late_share"`
			LateShareLow   *float64 `json:"late_share_low"`
			LateShareHigh  *float64 `json:"late_share_high"`
			Latency        latency
		}
		Dependencies []struct {
			Calls   int
			Latency latency
		}
	}
	analyse := func(dump string) (n numbers) {
		path := filepath.Join(t.TempDir(), "dump.jsonl")
		if err := os.WriteFile(path, []byte(dump), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(overrun(t, 0, "analyze", "--deadline", "200ms", "--format", "json", path), &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	truth := analyse(string(full))

	// sample keeps the lines whose randomness, 56 bits, is at least the threshold, which
	// may depend on the line.
	sample := func(seed uint64, threshold func(line string) string) string {
		r := rand.New(rand.NewPCG(seed, seed))
		var kept strings.Builder
		for _, line := range lines {
			if line == "" {
				continue
			}
			rv := fmt.Sprintf("%014x", r.Uint64()>>8)
			th := threshold(line)
			if th == "" {
				kept.WriteString(line)
			} else if rv >= th { // hex digits of one length, or a prefix
				kept.WriteString(strings.ReplaceAll(line, `"kind":`, `"traceState":"ot=th:`+th+";rv:"+rv+`","kind":`))
			}
		}
		return kept.String()
	}
	slow := func(line string) bool { // its root took more than 150 ms
		var root struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []struct {
						Start int64 `json:"startTimeUnixNano,string"`
						End   int64 `json:"endTimeUnixNano,string"`
					}
				}
			}
		}
		if err := json.NewDecoder(bytes.NewReader([]byte(line))).Decode(&root); err != nil {
			t.Fatal(err)
		}
		s := root.ResourceSpans[0].ScopeSpans[0].Spans[0]
		return s.End-s.Start > 150e6
	}

	for name, threshold := range map[string]func(string) string{
		"th=8": func(string) string { return "8" },
		"th=c": func(string) string { return "c" },
		"slow requests all, others one in four": func(line string) string {
			if slow(line) {
				return "0"
			}
			return "c"
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := analyse(sample(1, threshold))
			route, all := got.Routes[0], truth.Routes[0]
			if route.Latency.Effective == nil || *route.Latency.Effective > float64(route.Requests) {
				t.Fatalf("effective n of %d requests: %v", route.Requests, route.Latency.Effective)
			}
			within := func(what string, low, high, want *time.Duration) {
				if low == nil || high == nil || *low > *want || *high < *want {
					t.Errorf("%s: %v to %v does not cover %v", what, low, high, *want)
				}
			}
			if *route.LateShareLow > *all.LateShare || *route.LateShareHigh < *all.LateShare {
				t.Errorf("late share %.4f, %.4f to %.4f does not cover %.4f", *route.LateShare, *route.LateShareLow, *route.LateShareHigh, *all.LateShare)
			}
			within("p50 of the route", route.Latency.P50Low, route.Latency.P50High, all.Latency.P50)
			within("p99 of the route", route.Latency.P99Low, route.Latency.P99High, all.Latency.P99)
			for i, d := range got.Dependencies {
				within(fmt.Sprintf("p50 of dependency %d", i), d.Latency.P50Low, d.Latency.P50High, truth.Dependencies[i].Latency.P50)
				within(fmt.Sprintf("p99 of dependency %d", i), d.Latency.P99Low, d.Latency.P99High, truth.Dependencies[i].Latency.P99)
			}
			if naive := float64(route.Late) / float64(route.Requests); strings.HasPrefix(name, "slow") && naive < 2**all.LateShare {
				t.Errorf("the share among recorded requests is %.4f: the case shows nothing", naive)
			}
		})
	}
	mixed := analyse(sample(1, func(line string) string {
		if slow(line) {
			return ""
		}
		return "c"
	}))
	if r := mixed.Routes[0]; r.LateShare != nil || r.Latency.P50 != nil || r.Latency.Effective != nil {
		t.Errorf("values of requests of which only some have weights: %+v", r)
	}
}
