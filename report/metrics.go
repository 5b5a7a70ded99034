package report

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"overrun/analyze"
)

// How many routes and dependencies a file of metrics names: those with the most
// requests and calls. What was left out is counted.
const (
	maxMetricRoutes       = 100
	maxMetricDependencies = 200
	maxLabel              = 200 // bytes of a label; a longer name ends in a hash of itself
)

// A metricFile is metrics in the text format of Prometheus
// (https://prometheus.io/docs/instrumenting/exposition_formats/). All are gauges: they
// are what one dump holds, and the next dump begins anew, so that no counter can grow
// over them. What is not known is left out.
type metricFile struct {
	families []*family
	byName   map[string]*family
}

// A family is a metric with all its samples.
type family struct {
	name, help string
	lines      []string
	seen       map[string]bool // labels
}

// add adds a sample. Labels are pairs of name and value.
func (m *metricFile) add(name, help string, value float64, labels ...string) {
	f := m.byName[name]
	if f == nil {
		if m.byName == nil {
			m.byName = map[string]*family{}
		}
		f = &family{name: name, help: help, seen: map[string]bool{}}
		m.families, m.byName[name] = append(m.families, f), f
	}
	var b strings.Builder
	for i := 0; i < len(labels); i += 2 {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(labels[i] + `="` + labelValue(labels[i+1]) + `"`)
	}
	set := b.String()
	if f.seen[set] { // two names that look alike: a collector would refuse the whole file
		return
	}
	f.seen[set] = true
	if set != "" {
		set = "{" + set + "}"
	}
	f.lines = append(f.lines, name+set+" "+strconv.FormatFloat(value, 'g', -1, 64))
}

// addIf adds a value that may be missing.
func (m *metricFile) addIf(name, help string, value *float64, labels ...string) {
	if value != nil {
		m.add(name, help, *value, labels...)
	}
}

// seconds adds a duration that may be missing.
func (m *metricFile) seconds(name, help string, d *time.Duration, labels ...string) {
	if d != nil {
		m.add(name, help, d.Seconds(), labels...)
	}
}

func (m *metricFile) write(w io.Writer) error {
	var b bytes.Buffer
	for _, f := range m.families {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %[1]s gauge\n", f.name, f.help)
		for _, l := range f.lines {
			b.WriteString(l + "\n")
		}
	}
	return put(w, b.Bytes())
}

var labelEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// labelValue writes a name as a label: valid UTF-8, escaped, not longer than maxLabel.
func labelValue(s string) string {
	if v := strings.ToValidUTF8(s, "\uFFFD"); len(v) <= maxLabel && v == s {
		return labelEscaper.Replace(s)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // never fails
	v := strings.ToValidUTF8(s[:min(len(s), maxLabel)], "\uFFFD")
	return labelEscaper.Replace(v) + fmt.Sprintf("…%016x", h.Sum64())
}

// withSplit adds the label of split rows.
func withSplit(labels []string, split *string) []string {
	if split != nil {
		labels = append(labels, "split", *split)
	}
	return labels
}

func routeLabels(service, route string, split *string) []string {
	return withSplit([]string{"service", service, "route", route}, split)
}

func callLabels(caller, callee, operation string, split *string) []string {
	return withSplit([]string{"caller", caller, "callee", callee, "operation", operation}, split)
}

// most gives those of n rows that have the most, in the order of the rows.
func most(n, limit int, size func(int) int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(i, j int) int { return cmp.Compare(size(j), size(i)) })
	rows = rows[:min(n, limit)]
	slices.Sort(rows)
	return rows
}

// input adds what was read.
func (m *metricFile) input(in *analyze.Input, labels ...string) {
	m.add("overrun_input_spans", "Spans read.", float64(in.Spans), labels...)
	m.add("overrun_input_traces", "Traces read.", float64(in.Traces), labels...)
	m.add("overrun_input_requests", "Requests read.", float64(in.Requests), labels...)
	if in.End != nil {
		m.add("overrun_input_end_timestamp_seconds", "End of the last span read, in Unix time.", float64(*in.End)/1e9, labels...)
	}
}

// leftOut adds how many rows have no metrics.
func (m *metricFile) leftOut(routes, dependencies int) {
	const name, help = "overrun_metrics_rows_left_out", "Routes and dependencies that the report has and these metrics have not."
	m.add(name, help, float64(max(0, routes-maxMetricRoutes)), "of", "routes")
	m.add(name, help, float64(max(0, dependencies-maxMetricDependencies)), "of", "dependencies")
}

// Metrics writes the numbers of a report as a textfile for Prometheus.
func Metrics(w io.Writer, r *analyze.Report) error {
	m := new(metricFile)
	m.input(&r.Input)
	for _, i := range most(len(r.Routes), maxMetricRoutes, func(i int) int { return r.Routes[i].Requests }) {
		m.route(&r.Routes[i])
	}
	for _, i := range most(len(r.Dependencies), maxMetricDependencies, func(i int) int { return r.Dependencies[i].Calls }) {
		m.dependency(&r.Dependencies[i])
	}
	counts := map[analyze.FindingCode]int{}
	for i := range r.Findings {
		counts[r.Findings[i].Code] += r.Findings[i].Count
	}
	for _, c := range analyze.FindingCodes {
		m.add("overrun_findings", "Findings, by code.", float64(counts[c.Code]), "code", string(c.Code))
	}
	m.leftOut(len(r.Routes), len(r.Dependencies))
	return m.write(w)
}

func (m *metricFile) route(r *analyze.Route) {
	l := routeLabels(r.Service, r.Route, r.Split)
	m.add("overrun_requests", "Requests.", float64(r.Requests), l...)
	m.add("overrun_requests_failed", "Requests that failed.", float64(r.Failed), l...)
	m.add("overrun_requests_partial", "Requests that were answered in part.", float64(r.Partial), l...)
	if r.WithDeadline > 0 {
		m.add("overrun_requests_late", "Requests that were answered after their deadline.", float64(r.Late), l...)
		m.addIf("overrun_requests_late_ratio", "Late ones of the answered requests with a deadline.", r.LateShare, l...)
		m.addIf("overrun_requests_complete_in_time_ratio", "Complete ones in time of the requests with a deadline.", r.CompleteInTimeShare, l...)
	}
	m.latency("overrun_request_latency", "of requests that were answered", &r.Latency, l)
}

func (m *metricFile) dependency(d *analyze.Dependency) {
	l := callLabels(d.Caller, d.Callee, d.Operation, d.Split)
	m.add("overrun_dependency_calls", "Calls.", float64(d.Calls), l...)
	m.add("overrun_dependency_attempts", "Attempts.", float64(d.Attempts), l...)
	m.add("overrun_dependency_attempts_failed", "Attempts that ended in an error, were refused or could not connect.", float64(d.Errors), l...)
	m.add("overrun_dependency_attempts_cut", "Attempts that the caller gave up.", float64(d.Cut), l...)
	m.addIf("overrun_dependency_extra_load_ratio", "Attempts per call, less one.", d.ExtraLoad, l...)
	m.seconds("overrun_dependency_path_seconds", "Time that calls held the critical path of requests.", &d.Path, l...)
	m.latency("overrun_dependency_latency", "of attempts", &d.Latency, l)
	m.seconds("overrun_dependency_minimum_seconds", "Suggested minimum of the timeout.", d.Minimum, l...)
	m.seconds("overrun_dependency_ceiling_seconds", "Suggested ceiling of the timeout.", d.Ceiling, l...)
}

func (m *metricFile) latency(name, of string, l *analyze.Latency, labels []string) {
	for _, q := range []struct {
		name string
		e    *analyze.Estimate
	}{{"p50", &l.P50}, {"p95", &l.P95}, {"p99", &l.P99}, {"p999", &l.P999}} {
		m.seconds(name+"_"+q.name+"_seconds", "Latency "+of+", "+q.name+".", q.e.Point, labels...)
	}
}

// verdictValues are the values of overrun_compare_*_verdict.
var verdictValues = map[analyze.Verdict]float64{analyze.Worse: 1, analyze.NoEvidence: 0, analyze.Better: -1}

// CompareMetrics writes the differences of a comparison as a textfile for Prometheus.
func CompareMetrics(w io.Writer, c *analyze.Comparison) error {
	m := new(metricFile)
	m.input(&c.Before, "side", "before")
	m.input(&c.After, "side", "after")
	verdicts := map[analyze.Verdict]int{}
	count := func(list []analyze.Difference) {
		for i := range list {
			verdicts[list[i].Verdict]++
		}
	}
	for i := range c.Routes {
		count(c.Routes[i].Differences)
	}
	for i := range c.Dependencies {
		count(c.Dependencies[i].Differences)
	}
	for _, v := range []analyze.Verdict{analyze.Better, analyze.Worse, analyze.NoEvidence, analyze.TooFew, analyze.NotKnown, analyze.OneSided} {
		m.add("overrun_compare_verdicts", "Differences, by verdict.", float64(verdicts[v]), "verdict", string(v))
	}
	for _, i := range most(len(c.Routes), maxMetricRoutes, func(i int) int { return values(c.Routes[i].Differences) }) {
		r := &c.Routes[i]
		m.differences("overrun_compare_route", r.Differences, routeLabels(r.Service, r.Route, r.Split))
	}
	for _, i := range most(len(c.Dependencies), maxMetricDependencies, func(i int) int { return values(c.Dependencies[i].Differences) }) {
		d := &c.Dependencies[i]
		m.differences("overrun_compare_dependency", d.Differences, callLabels(d.Caller, d.Callee, d.Operation, d.Split))
	}
	rulings := map[analyze.Ruling]int{}
	for i := range c.Acceptance {
		rulings[c.Acceptance[i].Ruling]++
	}
	for _, r := range []analyze.Ruling{analyze.Kept, analyze.Broken, analyze.Undecided} {
		m.add("overrun_compare_acceptance_rules", "Rules of acceptance, one for each limit of each route, by what became of them.", float64(rulings[r]), "ruling", string(r))
	}
	m.leftOut(len(c.Routes), len(c.Dependencies))
	return m.write(w)
}

// values is how many values a row rests on.
func values(list []analyze.Difference) (n int) {
	for i := range list {
		n = max(n, list[i].Before.N+list[i].After.N)
	}
	return n
}

func (m *metricFile) differences(name string, list []analyze.Difference, labels []string) {
	for i := range list {
		d := &list[i]
		l := append(slices.Clone(labels), "measure", string(d.Measure))
		if v, ok := verdictValues[d.Verdict]; ok {
			m.add(name+"_verdict", "1: worse, -1: better, 0: no evidence of a difference.", v, l...)
		}
		if d.Difference.Point == nil {
			continue
		}
		switch d.Unit {
		case analyze.Shares:
			m.add(name+"_difference_ratio", "After less before, of shares.", *d.Difference.Point, l...)
		case analyze.Times:
			m.add(name+"_difference_seconds", "After less before, of times.", *d.Difference.Point/1e9, l...)
		default:
			m.add(name+"_difference", "After less before, of attempts.", *d.Difference.Point, l...)
		}
	}
}
