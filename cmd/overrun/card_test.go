package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shared is a folder beside the module, with dumps, and answers from others'
// programs. It is not part of the module.
var shared = filepath.Join("..", "..", "..", "shared")

// needShared skips a test, in so many words, where the folder lacks a path.
func needShared(t *testing.T, path ...string) string {
	t.Helper()
	full := filepath.Join(append([]string{shared}, path...)...)
	if _, err := os.Stat(full); err != nil {
		t.Skipf("NOT TESTED: %s is needed beside the module: %v", filepath.Join(append([]string{"../shared"}, path...)...), err)
	}
	return full
}

// overrun runs the program within the test, which has to exit with status.
func overrun(t *testing.T, status int, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if got := run(args, strings.NewReader(""), &stdout, &stderr); got != status {
		t.Fatalf("overrun %s: exit status %d, want %d\n%s", strings.Join(args, " "), got, status, stderr.Bytes())
	}
	return stdout.Bytes()
}

// TestCard compares the report on 2000 product cards with the answers of an
// independent program, to the nanosecond.
func TestCard(t *testing.T) {
	tool := needShared(t, "tools", "card_dump.py")
	answers := needShared(t, "expected", "card-2000.json")
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	type quantiles struct { // keys of the answers
		P50  time.Duration `json:"p50_ns"`
		P95  time.Duration `json:"p95_ns"`
		P99  time.Duration `json:"p99_ns"`
		P999 time.Duration `json:"p99.9_ns"`
	}
	var want struct {
		Requests int
		Calls    struct {
			WaitAll struct {
				quantiles
				Late      int     `json:"late"`
				LateShare float64 `json:"late_share"`
			} `json:"wait_all"`
			Dependencies map[string]quantiles
			LastToAnswer map[string]int `json:"last_to_answer"`
		} `json:"calls_20"`
	}
	data, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}

	dump := filepath.Join(t.TempDir(), "card-20.jsonl")
	out, err := os.Create(dump)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, tool, "--calls", "20", "--requests", "2000")
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Skipf("NOT TESTED: %s: %v", tool, err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}

	type latency struct {
		P50  time.Duration `json:"p50_ns"`
		P95  time.Duration `json:"p95_ns"`
		P99  time.Duration `json:"p99_ns"`
		P999 time.Duration `json:"p999_ns"`
	}
	var got struct {
		Routes []struct {
			Requests, Late int
			LateShare      float64 `json:"late_share"`
			Latency        latency
		}
		Dependencies []struct {
			Callee  string
			Calls   int
			OnPath  int `json:"on_path"`
			Latency latency
		}
	}
	report := overrun(t, 0, "analyze", "--deadline", "200ms", "--format", "json", dump)
	if err := json.Unmarshal(report, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Routes) != 1 || len(got.Dependencies) != 20 {
		t.Fatalf("%d routes and %d dependencies, want 1 and 20", len(got.Routes), len(got.Dependencies))
	}
	route, all := got.Routes[0], want.Calls.WaitAll
	if quantiles(route.Latency) != all.quantiles {
		t.Errorf("latency of the route = %v, want %v", route.Latency, all.quantiles)
	}
	if route.Requests != want.Requests || route.Late != all.Late || route.LateShare != all.LateShare {
		t.Errorf("%d of %d late, share %v, want %d of %d, share %v", route.Late, route.Requests, route.LateShare, all.Late, want.Requests, all.LateShare)
	}
	for _, d := range got.Dependencies {
		if q := want.Calls.Dependencies[d.Callee]; quantiles(d.Latency) != q {
			t.Errorf("latency of %s = %v, want %v", d.Callee, d.Latency, q)
		}
		if n := want.Calls.LastToAnswer[d.Callee]; d.OnPath != n || d.Calls != want.Requests {
			t.Errorf("%s: on the path of %d of %d calls, want %d of %d", d.Callee, d.OnPath, d.Calls, n, want.Requests)
		}
	}
}

// TestExports reads one load in three forms, which have to give the same report
// but for what says where it was read from.
func TestExports(t *testing.T) {
	folder := needShared(t, "exports", "legacy")
	var reports []string
	forms := []string{"traces.json", "traces.binpb", "bysvc"}
	for _, form := range forms {
		out := overrun(t, 0, "analyze", "--deadline", "60ms", "--format", "json", filepath.Join(folder, form))
		report, err := withoutPlaces(out)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		reports = append(reports, report)
		if !bytes.Contains(out, []byte(`"spans":1008,`)) {
			t.Errorf("%s: the report does not count 1008 spans", form)
		}
	}
	for i, report := range reports[1:] {
		if report != reports[0] {
			t.Errorf("the reports of %s and %s differ", forms[0], forms[i+1])
		}
	}
}
