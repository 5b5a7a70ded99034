package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// cardDump writes product cards as a dump, by the independent program.
func cardDump(t *testing.T, requests int, args ...string) string {
	t.Helper()
	tool := needShared(t, "tools", "card_dump.py")
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "card.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(python, append([]string{tool, "--requests", strconv.Itoa(requests)}, args...)...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Skipf("NOT TESTED: %s: %v", tool, err)
	}
	return out.Name()
}

// cardAnswer is what the independent program says of one policy.
type cardAnswer struct {
	P50       time.Duration `json:"p50_ns"`
	P95       time.Duration `json:"p95_ns"`
	P99       time.Duration `json:"p99_ns"`
	P999      time.Duration `json:"p99.9_ns"`
	Late      int           `json:"late"`
	LateShare float64       `json:"late_share"`
	Complete  int           `json:"complete"`
}

// replayedCard is what replay says of it.
type replayedCard struct {
	Latency struct {
		P50  time.Duration `json:"p50_ns"`
		P95  time.Duration `json:"p95_ns"`
		P99  time.Duration `json:"p99_ns"`
		P999 time.Duration `json:"p999_ns"`
	}
	Late, Complete, Bounded, Drawn int
	LateShare                      float64 `json:"late_share"`
}

type cardTheory struct {
	Late, Low, High float64
}

// replayCard replays a dump of cards.
func replayCard(t *testing.T, dump string, args ...string) (replayed replayedCard, theory cardTheory) {
	t.Helper()
	var got struct {
		Routes []struct {
			Replayed replayedCard
			Theory   struct {
				Late float64 `json:"late_share"`
				Low  float64 `json:"late_share_low"`
				High float64 `json:"late_share_high"`
			}
		}
	}
	out := overrun(t, 0, append([]string{"replay", "--deadline", "200ms", "--format", "json", dump}, args...)...)
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Routes) != 1 {
		t.Fatalf("%d routes, want 1", len(got.Routes))
	}
	r := got.Routes[0]
	return r.Replayed, cardTheory(r.Theory)
}

func (got *replayedCard) compare(t *testing.T, what string, want cardAnswer) {
	t.Helper()
	if l := got.Latency; l.P50 != want.P50 || l.P95 != want.P95 || l.P99 != want.P99 || l.P999 != want.P999 {
		t.Errorf("%s: latency %v, want %v", what, l, want)
	}
	if got.Late != want.Late || got.LateShare != want.LateShare {
		t.Errorf("%s: %d late, share %v, want %d, %v", what, got.Late, got.LateShare, want.Late, want.LateShare)
	}
	if want.Complete > 0 && got.Complete != want.Complete {
		t.Errorf("%s: %d complete, want %d", what, got.Complete, want.Complete)
	}
	if got.Drawn+got.Bounded > 0 {
		t.Errorf("%s: %d drawn and %d ranges: everything is in the record", what, got.Drawn, got.Bounded)
	}
}

// cappedPolicy is "4 required, 16 optional capped at 80 ms".
const cappedPolicy = `
timeouts: fixed
dependencies:
  - {callee: dep-01}
  - {callee: dep-02}
  - {callee: dep-03}
  - {callee: dep-04}
  - {callee: "dep-*", required: false, ceiling: 80ms}
`

// TestReplayCard compares replays of product cards with the answers of an
// independent program, to the nanosecond, and what independent branches would do
// with the formula for its lognormal. With OVERRUN_CARD_ALL=1 it takes all
// 100 000 requests and 100 calls, which needs minutes and 3 GB of disk.
func TestReplayCard(t *testing.T) {
	requests, answers, counts := 2000, "card-2000.json", []int{1, 5, 20}
	if os.Getenv("OVERRUN_CARD_ALL") != "" {
		requests, answers, counts = 100_000, "card.json", []int{1, 5, 20, 100}
	}
	data, err := os.ReadFile(needShared(t, "expected", answers))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	answer := func(calls int, policy string) (a cardAnswer) {
		var of map[string]json.RawMessage
		if err := json.Unmarshal(all[fmt.Sprintf("calls_%d", calls)], &of); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(of[policy], &a); err != nil {
			t.Fatalf("%s of %d calls: %v", policy, calls, err)
		}
		return a
	}
	policy := filepath.Join(t.TempDir(), "capped.yaml")
	if err := os.WriteFile(policy, []byte(cappedPolicy), 0o600); err != nil {
		t.Fatal(err)
	}

	formula := map[int]float64{5: .0515, 20: .1906, 100: .6527} // seeds.md, section 3
	for _, n := range counts {
		dump := cardDump(t, requests, "--calls", strconv.Itoa(n))
		got, theory := replayCard(t, dump)
		got.compare(t, fmt.Sprintf("%d calls, nothing changed", n), answer(n, "wait_all"))
		if n == 1 { // no parallel calls
			if theory != (cardTheory{}) {
				t.Errorf("one call: %v would be late if it were independent, want nothing said", theory)
			}
		} else if f := formula[n]; f < theory.Low-.00005 || f > theory.High+.00005 {
			t.Errorf("%d calls: %v would be late if they were independent, want %v within the interval", n, theory, f)
		}
		if n != 20 {
			continue
		}
		got, _ = replayCard(t, dump, "--policy", policy)
		got.compare(t, "4 required, 16 optional capped at 80 ms", answer(n, "four_required_rest_capped_80ms"))
		got, _ = replayCard(t, dump, "--order", "sequential")
		got.compare(t, "in sequence", answer(n, "sequential"))
	}
	got, theory := replayCard(t, cardDump(t, requests, "--calls", "20", "--shape", "common"))
	got.compare(t, "one common latency", answer(20, "common"))
	if theory.Low > .1906 || theory.High < .1906 {
		t.Errorf("one common latency: %v would be late if they were independent, want 0.1906 within the interval", theory)
	}
	got, _ = replayCard(t, cardDump(t, requests, "--calls", "20", "--shape", "sequential"), "--order", "parallel")
	got.compare(t, "a sequence made parallel", answer(20, "wait_all"))
}
