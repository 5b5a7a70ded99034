package report

import (
	"bytes"
	"encoding/xml"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"overrun/analyze"
)

// comparison has every verdict and ruling, and what is hard in names.
func comparison() *analyze.Comparison {
	side := func(n int, v ...float64) analyze.Side {
		s := analyze.Side{N: n, Effective: float64(n)}
		if len(v) > 0 {
			s.Point = &v[0]
		}
		if len(v) > 2 {
			s.Low, s.High = &v[1], &v[2]
		}
		return s
	}
	of := func(v ...float64) analyze.Range { return side(0, v...).Range }
	start := int64(noon)
	end := start + int64(time.Hour)
	split := "eu|1"
	return &analyze.Comparison{
		Schema: analyze.CompareSchema, SplitBy: "cloud.region", ErrorRate: analyze.ErrorRate, Tested: 6,
		Before: analyze.Input{Files: 1, Spans: 8000, Traces: 2000, Requests: 2000, Start: &start, End: &end},
		After:  analyze.Input{Files: 2, Spans: 9000, Traces: 1, Requests: 1, Warnings: []analyze.Warning{analyze.TailSampled}},
		Routes: []analyze.RouteChange{
			{Service: "card", Route: "GET /card/{id}", Split: &split, Seen: analyze.SeenBoth, Warnings: []analyze.Warning{analyze.ConnectInRead}, Differences: []analyze.Difference{
				{Measure: analyze.InTime, Unit: analyze.Shares, Before: side(2000, 0.972, 0.96, 0.98), After: side(2000, 0.9, 0.88, 0.91), Difference: of(-0.072, -0.09, -0.05), P: new(1e-9), Adjusted: new(6e-9), Verdict: analyze.Worse},
				{Measure: analyze.SlowerPairs, Unit: analyze.Shares, Before: side(2000), After: side(2000), Difference: of(-0.031, -0.05, -0.01), P: new(0.001), Adjusted: new(0.003), Verdict: analyze.Better},
				{Measure: analyze.LatencyP99, Unit: analyze.Times, Before: side(2000, 258e6, 241e6, 300e6), After: side(2000, 270e6, 241e6, 308e6), Difference: of(11.9e6, -36.6e6, 54.2e6), P: new(0.4), Adjusted: new(0.6), Verdict: analyze.NoEvidence},
				{Measure: analyze.LatencyP999, Unit: analyze.Times, Before: side(2000, 480e6), After: side(2000, 0), Difference: of(-480e6), Verdict: analyze.TooFew},
				{Measure: "time_read", Unit: analyze.Times, Before: side(2000, 70e6, 69e6, 71e6), After: side(2000, 70e6, 69e6, 71e6), Difference: of(0, -700, 700), P: new(1.0), Adjusted: new(1.0), Verdict: analyze.NoEvidence},
				{Measure: analyze.AttemptsEach, Unit: analyze.Counts, Before: side(2000, 3, 3, 3), After: side(2000, 3.4567, 3.4, 3.5), Difference: of(0.4567, 0.4, 0.5), P: new(0.0), Adjusted: new(0.0), Verdict: analyze.Worse},
				{Measure: "of_a_later_version", Unit: analyze.Counts, Before: side(1), After: side(1), Verdict: "new-verdict"},
			}},
			{Service: "", Route: nasty, Split: new(""), Seen: analyze.SeenAfter, Differences: []analyze.Difference{{Measure: analyze.FailedShare, Unit: analyze.Shares, After: side(5, 0.00001, 0, 0.5), Verdict: analyze.OneSided}}},
		},
		Dependencies: []analyze.DependencyChange{
			{Caller: "card", Callee: "=cmd()", Operation: nasty, Split: &split, Seen: analyze.SeenBoth, Warnings: []analyze.Warning{analyze.HidesChange}, Differences: []analyze.Difference{
				{Measure: analyze.SlowerPairs, Unit: analyze.Shares, Before: side(10), After: side(10), Verdict: analyze.NotKnown},
				{Measure: analyze.ExtraLoad, Unit: analyze.Counts, Before: side(10, 0), After: side(10, 0.000123), Difference: of(0.000123, 0, 0.0002), Verdict: analyze.TooFew}}},
		},
		Acceptance: []analyze.Check{
			{Service: "card", Route: "GET /card/{id}", Split: &split, Measure: analyze.InTime, Unit: analyze.Shares, Line: 3, Limit: -0.01, Value: of(-0.072, -0.09, -0.05), N: 2000, Ruling: analyze.Broken},
			{Service: "card", Route: "GET /card/{id}", Split: &split, Measure: analyze.LatencyP99, Unit: analyze.Times, Line: 4, Limit: 400e6, Value: of(270e6, 241e6, 308e6), N: 2000, Ruling: analyze.Kept},
			{Service: "", Route: nasty, Split: new(""), Measure: analyze.AttemptsEach, Unit: analyze.Counts, Line: 9, Limit: 5.5, Value: of(5, 4, 6), N: 5, Ruling: analyze.Undecided, More: new(4.0)},
			{Service: "gone", Route: "GET /", Measure: analyze.PartialAnswers, Unit: analyze.Shares, Line: 9, Limit: 0.05, Ruling: analyze.Undecided},
		},
	}
}

// TestJUnit reads back what is written: counts, and what became of each rule.
func TestJUnit(t *testing.T) {
	for _, strict := range []bool{false, true} {
		var b bytes.Buffer
		if err := JUnit(&b, comparison(), "policy\x1b.yaml", strict); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Tests, Failures, Skipped int `xml:",attr"`
			Suite                    []struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
				Skipped  int `xml:"skipped,attr"`
				Case     []struct {
					Class   string    `xml:"classname,attr"`
					Line    int       `xml:"line,attr"`
					Failure *struct{} `xml:"failure"`
					Skipped *struct{} `xml:"skipped"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		d := xml.NewDecoder(&b)
		d.Strict = true
		if err := d.Decode(&got); err != nil {
			t.Fatal(err)
		}
		failures, skipped := 1, 2
		if strict {
			failures, skipped = 3, 0
		}
		s := got.Suite[0]
		if s.Tests != 4 || s.Failures != failures || s.Skipped != skipped || len(s.Case) != 4 {
			t.Errorf("strict %t: %+v", strict, s)
		}
		for i, wanted := range []bool{true, false, strict, strict} {
			if c := s.Case[i]; (c.Failure != nil) != wanted || (c.Skipped != nil) != (i >= 2 && !strict) || c.Line == 0 {
				t.Errorf("strict %t, case %d: %+v", strict, i, c)
			}
		}
	}
}

// TestPromtool: Prometheus' own tool reads the metrics and finds nothing to say, whatever
// the names.
func TestPromtool(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skipf("NOT TESTED: metrics against Prometheus' own tool: %v", err)
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"report":     func(b *bytes.Buffer) error { return Metrics(b, sample()) },
		"empty":      func(b *bytes.Buffer) error { return Metrics(b, &analyze.Report{}) },
		"comparison": func(b *bytes.Buffer) error { return CompareMetrics(b, comparison()) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(tool, "check", "metrics")
		cmd.Stdin = &b
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: promtool check metrics: %v\n%s", name, err, out)
		}
	}
	cmd := exec.Command(tool, "check", "metrics")
	cmd.Stdin = strings.NewReader("# TYPE a_total gauge\na_total 1\n")
	if err := cmd.Run(); err == nil {
		t.Error("promtool accepts a gauge that ends in _total: the test shows nothing")
	}
}

// TestMetricsBounded: rows beyond the limit are counted, the largest are kept, and names
// are bounded and distinct.
func TestMetricsBounded(t *testing.T) {
	r := &analyze.Report{}
	long := strings.Repeat("x", 1000)
	for i := range 2 * maxMetricRoutes {
		r.Routes = append(r.Routes, analyze.Route{Service: "s", Route: long + string(rune('A'+i)), Requests: i})
	}
	for i := range maxMetricDependencies + 7 {
		r.Dependencies = append(r.Dependencies, analyze.Dependency{Caller: "s", Callee: long + string(rune('A'+i)), Calls: i})
	}
	var b bytes.Buffer
	if err := Metrics(&b, r); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	if n := strings.Count(out, "\noverrun_requests{"); n != maxMetricRoutes {
		t.Errorf("%d routes, want %d", n, maxMetricRoutes)
	}
	if n := strings.Count(out, "\noverrun_dependency_calls{"); n != maxMetricDependencies {
		t.Errorf("%d dependencies, want %d", n, maxMetricDependencies)
	}
	for _, want := range []string{`{of="routes"} 100` + "\n", `{of="dependencies"} 7` + "\n", "} 199\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q", want)
		}
	}
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		name, _, _ := strings.Cut(line, "} ")
		if !strings.HasPrefix(line, "#") && (seen[name] || len(line) > 400) {
			t.Fatalf("twice, or too long: %s", line)
		}
		seen[name] = true
	}
}

// TestLabelValue: names that differ in bytes that are no UTF-8 stay apart, however short.
func TestLabelValue(t *testing.T) {
	a, b := labelValue("a\xff"), labelValue("a\xfe")
	if a == b || !strings.HasPrefix(a, "a\uFFFD…") || !strings.HasPrefix(b, "a\uFFFD…") {
		t.Errorf("%q and %q", a, b)
	}
}

// TestMost: the greatest are kept; of rows that are as great as the last of them, the first.
func TestMost(t *testing.T) {
	for _, row := range []struct {
		sizes []int
		limit int
		want  []int
	}{
		{[]int{4, 1, 9, 4, 2}, 3, []int{0, 2, 3}}, // 9, 4 and 4, in the order of the rows
		{[]int{3, 5, 3, 3}, 2, []int{0, 1}},
		{[]int{1, 2}, 2, []int{0, 1}},
		{[]int{2, 1}, 3, []int{0, 1}},
		{nil, 1, []int{}},
	} {
		got := most(len(row.sizes), row.limit, func(i int) int { return row.sizes[i] })
		if !slices.Equal(got, row.want) {
			t.Errorf("most(%v, %d) = %v, want %v", row.sizes, row.limit, got, row.want)
		}
	}
}

// TestRowValues: of the measures of a row the one that rests on the most values, on both sides together.
func TestRowValues(t *testing.T) {
	of := func(before, after int) (d analyze.Difference) {
		d.Before.N, d.After.N = before, after
		return d
	}
	if n := values([]analyze.Difference{of(3, 4), of(5, 5), of(9, 0)}); n != 10 {
		t.Errorf("%d values, want 10", n)
	}
}

func TestDifferenceText(t *testing.T) {
	for _, row := range []struct {
		unit analyze.Unit
		v    float64
		want string
	}{
		{analyze.Shares, 0, "0 pp"}, {analyze.Shares, -0.0123, "-1.23 pp"}, {analyze.Shares, 1, "+100.00 pp"}, {analyze.Shares, -0.00001, "-0.001 pp"},
		{analyze.Times, 0, "0 ms"}, {analyze.Times, -1.5e6, "-1.50 ms"}, {analyze.Times, 12e9, "+12.0 s"},
		{analyze.Counts, 0, "0"}, {analyze.Counts, 0.000123, "+0.00012"}, {analyze.Counts, 0.4, "+0.400"}, {analyze.Counts, -3.456, "-3.46"}, {analyze.Counts, 45.67, "+45.7"}, {analyze.Counts, 12345, "+12 345"},
	} {
		if got := difference(row.unit, &row.v); got != row.want {
			t.Errorf("difference(%s, %v) = %q, want %q", row.unit, row.v, got, row.want)
		}
	}
}
