package report

import (
	"bytes"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"overrun/analyze"
)

// CSV writes the dependencies, all rows, in the order of the report. Heads name
// the unit; an empty field is unknown, or a name that was not recorded.
func CSV(w io.Writer, r *analyze.Report) error {
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	heads := csvRow(&analyze.Dependency{}, true)
	if err := c.Write(heads); err != nil {
		return err
	}
	for i := range r.Dependencies {
		if err := c.Write(csvRow(&r.Dependencies[i], false)); err != nil {
			return err
		}
	}
	c.Flush()
	if err := c.Error(); err != nil {
		return err
	}
	return put(w, b.Bytes())
}

// csvRow gives the fields of a row, or with heads the names of the fields, so
// that the two cannot part.
func csvRow(d *analyze.Dependency, heads bool) (row []string) {
	add := func(head, value string) {
		if heads {
			value = head
		}
		row = append(row, value)
	}
	ns := func(head string, v *time.Duration) { add(head+"_ns", ifKnown(v, nanos)) }
	count := func(head string, n int) { add(head, strconv.Itoa(n)) }

	add("caller", inert(d.Caller))
	add("callee", inert(d.Callee))
	add("operation", inert(d.Operation))
	add("required", ifKnown(d.Required, strconv.FormatBool))
	count("calls", d.Calls)
	count("attempts", d.Attempts)
	for _, o := range analyze.Outcomes {
		count("outcome_"+strings.ReplaceAll(o.String(), "-", "_"), d.Outcomes[o])
	}
	count("errors", d.Errors)
	count("cut", d.Cut)
	count("on_path", d.OnPath)
	ns("path", &d.Path)
	add("path_share", ifKnown(d.PathShare, fraction))
	count("latency_n", d.Latency.N)
	for _, q := range []struct {
		name string
		e    analyze.Estimate
	}{{"p50", d.Latency.P50}, {"p95", d.Latency.P95}, {"p99", d.Latency.P99}, {"p999", d.Latency.P999}} {
		ns(q.name, q.e.Point)
		ns(q.name+"_low", q.e.Low)
		ns(q.name+"_high", q.e.High)
		ns(q.name+"_if_answered", q.e.IfAnswered)
		ns(q.name+"_if_never", q.e.IfNever)
	}
	ns("minimum", d.Minimum)
	ns("ceiling", d.Ceiling)
	add("ceiling_share_cut", ifKnown(d.CeilingShareCut, fraction))
	ns("policy_minimum", d.PolicyMinimum)
	ns("policy_ceiling", d.PolicyCeiling)
	now := d.CurrentTimeout
	if now == nil {
		ns("current_timeout", nil)
		add("current_timeout_source", "")
		add("current_timeout_share_cut", "")
	} else {
		ns("current_timeout", &now.NS)
		add("current_timeout_source", inert(now.Source))
		add("current_timeout_share_cut", ifKnown(now.ShareCut, fraction))
	}
	ns("hedge_after", d.HedgeAfter)
	add("false_timeouts", ifKnown(d.FalseTimeouts, strconv.Itoa))
	add("late_anyway", ifKnown(d.LateAnyway, strconv.Itoa))
	var codes []string
	for _, w := range d.Warnings {
		codes = append(codes, string(w))
	}
	add("warnings", inert(strings.Join(codes, " ")))
	count("hidden_retries", d.Hidden)
	add("criticality", inert(d.Hint))
	for _, p := range []struct {
		name string
		l    *analyze.Latency
	}{{"connect", d.Connect}, {"pool", d.Pool}, {"read", d.Read}} {
		if p.l == nil {
			p.l = new(analyze.Latency)
		}
		count(p.name+"_n", p.l.N)
		ns(p.name+"_p50", p.l.P50.Point)
		ns(p.name+"_p95", p.l.P95.Point)
		ns(p.name+"_p99", p.l.P99.Point)
	}
	add("split", ifKnown(d.Split, inert))
	return row
}

// inert keeps a spreadsheet from taking a field for a formula: OWASP, CSV
// Injection, with the full-width forms.
func inert(s string) string {
	for _, start := range []string{"=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"} {
		if strings.HasPrefix(s, start) {
			return "'" + s
		}
	}
	return s
}

func ifKnown[T any](v *T, write func(T) string) string {
	if v == nil {
		return ""
	}
	return write(*v)
}

func nanos(d time.Duration) string { return strconv.FormatInt(int64(d), 10) }

func fraction(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
