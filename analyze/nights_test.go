package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"overrun/ingest"
)

// A night is a dump that a test makes: its spans as lines of OTLP, each with its trace.
type night struct{ lines []nightLine }

type nightLine struct {
	trace, span, service string
	text                 string
}

type nightSpan struct {
	service, name string
	parent        string
	kind          int
	start, end    int64 // ns
	status        int   // of HTTP; 0: none
	cancelled     bool
	deadline      int64 // ms that are left; 0: none is recorded
	resend        int
}

func (n *night) add(trace, span string, s nightSpan) {
	attrs := []string{}
	text := func(key, value string) {
		attrs = append(attrs, fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, key, value))
	}
	number := func(key string, value int64) {
		attrs = append(attrs, fmt.Sprintf(`{"key":%q,"value":{"intValue":"%d"}}`, key, value))
	}
	status := 0
	if s.kind == 2 || s.kind == 3 {
		text("http.request.method", "GET")
	}
	if s.kind == 2 {
		text("http.route", s.name)
	}
	if s.status > 0 {
		number("http.response.status_code", int64(s.status))
	}
	if s.status >= 500 {
		status = 2
	}
	if s.kind == 3 {
		text("server.address", s.name+".internal")
	}
	if s.cancelled {
		status = 2
		text("error.type", "timeout")
	}
	if s.deadline > 0 {
		text("http.request.header.x-request-timeout-ms", fmt.Sprint(s.deadline))
	}
	if s.resend > 0 {
		number("http.request.resend_count", int64(s.resend))
	}
	parent := ""
	if s.parent != "" {
		parent = fmt.Sprintf(`"parentSpanId":%q,`, s.parent)
	}
	line := fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":%q}},{"key":"host.name","value":{"stringValue":"host-%s"}},{"key":"telemetry.sdk.language","value":{"stringValue":"go"}}]},"scopeSpans":[{"spans":[{"traceId":%q,"spanId":%q,%s"name":%q,"kind":%d,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[%s],"status":{"code":%d}}]}]}]}`,
		s.service, s.service, trace, span, parent, "GET "+s.name, s.kind, s.start, s.end, strings.Join(attrs, ","), status)
	n.lines = append(n.lines, nightLine{trace, span, s.service, line})
}

// newNight makes a dump of traces of three services: shop calls prices and then stock, each
// in turn a database. Some calls are retried, some cut; some clocks are wrong; some
// deadlines recorded; some spans lack their parent, or an end.
func newNight(traces int) *night {
	rng := rand.New(rand.NewPCG(7, 11))
	n := &night{}
	const begin = int64(1_780_000_000_000_000_000)
	for i := range traces {
		trace := fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64())
		id := func() string { return fmt.Sprintf("%016x", rng.Uint64()|1) }
		at := begin + int64(i)*int64(300*time.Millisecond)
		took := func(median float64) int64 {
			return int64(median * float64(time.Millisecond) * math.Exp(0.6*rng.NormFloat64()))
		}
		root := id()
		now := at + took(2)
		failed := false
		deadline := int64(0)
		if rng.IntN(3) == 0 {
			deadline = 80 + int64(rng.IntN(60))
		}
		for _, callee := range []string{"prices", "stock", "ads"} {
			for try := 0; try < 3; try++ {
				client, server := id(), id()
				inner := took(12)
				skew := int64(0)
				if rng.IntN(15) == 0 {
					skew = -int64(30 * time.Millisecond)
				}
				end := now + inner + took(1)
				status, cut := 200, false
				switch rng.IntN(20) {
				case 0:
					status = 503
				case 1:
					end, cut, status = now+min(inner, int64(25*time.Millisecond)), true, 0
				}
				n.add(trace, client, nightSpan{service: "shop", name: callee, parent: root, kind: 3, start: now, end: end, status: status, cancelled: cut, resend: try})
				if rng.IntN(12) > 0 {
					left := int64(0)
					if deadline > 0 && rng.IntN(4) > 0 {
						left = deadline - (now-at)/1e6
					}
					from := now + int64(time.Millisecond)/3
					parent := client
					if rng.IntN(60) == 0 {
						parent = id() // lost
					}
					n.add(trace, server, nightSpan{service: callee, name: "/" + callee, parent: parent, kind: 2, start: from + skew, end: from + inner + skew, status: max(status, 200), deadline: max(left, 0)})
					db := id()
					n.add(trace, db, nightSpan{service: callee, name: "db", parent: server, kind: 3, start: from + inner/4 + skew, end: from + inner/2 + skew, status: 200})
				}
				now = end + took(0.5)
				if status == 200 {
					break
				}
				failed = failed || try == 2
			}
		}
		status := 200
		if failed {
			status = 500
		}
		n.add(trace, root, nightSpan{service: "shop", name: fmt.Sprintf("/page/%d", i%3), kind: 2, start: at, end: now + took(3), status: status, deadline: deadline})
	}
	return n
}

// parts cuts the night into files by what of says.
func (n *night) parts(t testing.TB, count int, of func(l *nightLine) string) (paths []string) {
	t.Helper()
	texts := make([]strings.Builder, count)
	for i := range n.lines {
		h := fnv.New32a()
		io.WriteString(h, of(&n.lines[i]))
		b := &texts[int(h.Sum32())%count]
		b.WriteString(n.lines[i].text + "\n")
	}
	dir := t.TempDir()
	for i := range texts {
		path := filepath.Join(dir, fmt.Sprintf("part-%d.jsonl", i))
		if err := os.WriteFile(path, []byte(texts[i].String()), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func byTrace(l *nightLine) string { return l.trace }

func (n *night) whole(t testing.TB) string { return n.parts(t, 1, byTrace)[0] }

// nightOptions are those of most tests.
func nightOptions() Options { return Options{Deadline: 90 * time.Millisecond} }

// analysisOf analyses dumps and summaries together.
func analysisOf(t testing.TB, dumps []string, saved [][]byte, o Options) (*Analysis, error) {
	t.Helper()
	var store *ingest.Store
	if len(dumps) > 0 {
		var err error
		store, err = ingest.Open(t.Context(), dumps, ingest.Options{Keep: Keep(o.Policy), Events: Events(o.Policy), Links: true, Watch: Watch, Memory: o.Memory, Temp: o.Temp})
		if err != nil {
			return nil, err
		}
		defer store.Close()
	}
	var list []Saved
	for i, b := range saved {
		list = append(list, Saved{fmt.Sprintf("night-%d", i), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }})
	}
	a, err := RunSaved(t.Context(), store, list, o)
	if err == nil {
		t.Cleanup(func() { a.Close() })
	}
	return a, err
}

func mustAnalyse(t testing.TB, dumps []string, saved [][]byte, o Options) *Analysis {
	t.Helper()
	a, err := analysisOf(t, dumps, saved, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func save(t testing.TB, a *Analysis) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := a.Save(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var inFile = regexp.MustCompile(`"file":"[^"]*","position":-?\d+`)

// reportText is the report as JSON, without what depends on how the spans were divided into
// files: their number and size, where spans lie, and which note is the first.
func reportText(t *testing.T, a *Analysis) string {
	t.Helper()
	r := a.Report
	r.Input.Files, r.Input.Bytes = 0, 0
	r.Input.Notes = slices.Clone(r.Input.Notes)
	for i := range r.Input.Notes {
		r.Input.Notes[i].Example = Place{}
	}
	text, err := json.Marshal(&r)
	if err != nil {
		t.Fatal(err)
	}
	return inFile.ReplaceAllString(string(text), `"file":"","position":0`)
}

func sameReport(t *testing.T, what string, got, want *Analysis) {
	t.Helper()
	if g, w := reportText(t, got), reportText(t, want); g != w {
		t.Errorf("%s: another report (-want +got):\n%.4000s", what, cmp.Diff(strings.SplitAfter(w, "},"), strings.SplitAfter(g, "},")))
	}
}

// Seven summaries of seven parts make the report of the whole, in any order and grouping,
// with dumps among them, with little memory, and on either side of the exactness bound.
func TestNightsAddUp(t *testing.T) {
	n := newNight(400)
	for _, exact := range []int{exactValues, 100} {
		was := exactValues
		exactValues = exact
		defer func() { exactValues = was }()
		o := nightOptions()
		whole := mustAnalyse(t, []string{n.whole(t)}, nil, o)
		binned := slices.ContainsFunc(whole.Report.Dependencies, func(d Dependency) bool { return slices.Contains(d.Warnings, HistogramValues) })
		if binned != (exact == 100) {
			t.Fatalf("exact up to %d: histograms %v", exact, binned)
		}
		if r := &whole.Report; r.Input.Skew.Traces == 0 || len(r.Input.Notes) < 3 || len(r.Findings) < 5 {
			t.Errorf("the night is too quiet: %d moved, %d notes, %d kinds of findings", r.Input.Skew.Traces, len(r.Input.Notes), len(r.Findings))
		}
		parts := n.parts(t, 7, byTrace)
		var saved [][]byte
		for _, p := range parts {
			saved = append(saved, save(t, mustAnalyse(t, []string{p}, nil, o)))
		}
		at := func(list ...int) (some [][]byte) {
			for _, i := range list {
				some = append(some, saved[i])
			}
			return some
		}
		merged := func(list ...[]byte) []byte { return save(t, mustAnalyse(t, nil, list, o)) }

		all := mustAnalyse(t, nil, saved, o)
		sameReport(t, "seven", all, whole)
		sameReport(t, "seven in another order", mustAnalyse(t, nil, at(4, 6, 0, 3, 1, 5, 2), o), whole)
		sameReport(t, "three and four", mustAnalyse(t, nil, [][]byte{merged(at(5, 1, 3)...), merged(at(0, 2, 4, 6)...)}, o), whole)
		sameReport(t, "one after the other", mustAnalyse(t, nil, [][]byte{merged(merged(merged(at(0, 1)...), saved[2]), saved[3]), merged(saved[4], merged(at(6, 5)...))}, o), whole)
		sameReport(t, "summaries and dumps", mustAnalyse(t, []string{parts[2], parts[5]}, at(0, 1, 3, 4, 6), o), whole)
		little := o
		little.Memory, little.Temp, little.Workers = 64<<10, t.TempDir(), 3
		a := mustAnalyse(t, []string{parts[6]}, at(0, 1, 2, 3, 4, 5), little)
		sameReport(t, "in little memory", a, whole)
		if a.spooler.Spilled() == 0 {
			t.Error("nothing was spilled")
		}
		if !bytes.Equal(merged(at(0, 1, 2, 3, 4, 5, 6)...), merged(at(6, 5, 4, 3, 2, 1, 0)...)) {
			t.Error("summaries of the same depend on the order in which they were merged")
		}
		for _, picked := range []Pick{{Service: "prices"}, {Route: "GET /page/1"}, {Since: 1_780_000_000_000_000_000 + int64(time.Minute)}} {
			o := nightOptions()
			o.Pick = picked
			sameReport(t, fmt.Sprint("picked ", picked), mustAnalyse(t, nil, saved, o), mustAnalyse(t, []string{n.whole(t)}, nil, o))
		}
	}
}

// A dump that was whole in memory is saved as one that was not.
func TestSaveRun(t *testing.T) {
	path := newNight(60).whole(t)
	dump, err := ingest.Read(t.Context(), []string{path}, ingest.Options{Keep: Keep(nil), Events: Events(nil), Links: true})
	if err != nil {
		t.Fatal(err)
	}
	saved := save(t, Run(dump, nightOptions()))
	sameReport(t, "of Run", mustAnalyse(t, nil, [][]byte{saved}, nightOptions()), mustAnalyse(t, []string{path}, nil, nightOptions()))
}

// A note's count in a report; 0: it is not there.
func noteCount(a *Analysis, code ingest.Code) int64 {
	for _, n := range a.Report.Input.Notes {
		if n.Code == code {
			return n.Count
		}
	}
	return 0
}

// Parts that cut traces apart: within requests none of them counts; between services
// all do, for each service has its spans.
func TestCutApart(t *testing.T) {
	n := newNight(200)
	o := nightOptions()
	spans := map[string]map[int]bool{}
	parts := n.parts(t, 3, func(l *nightLine) string { return l.span })
	for i := range n.lines {
		l := &n.lines[i]
		h := fnv.New32a()
		io.WriteString(h, l.span)
		if spans[l.trace] == nil {
			spans[l.trace] = map[int]bool{}
		}
		spans[l.trace][int(h.Sum32())%3] = true
	}
	cut := 0
	for _, in := range spans {
		if len(in) > 1 {
			cut++
		}
	}
	var saved [][]byte
	for _, p := range parts {
		saved = append(saved, save(t, mustAnalyse(t, []string{p}, nil, o)))
	}
	a := mustAnalyse(t, nil, saved, o)
	if got := noteCount(a, CutApart); got != int64(cut) || cut < 150 {
		t.Errorf("%d traces cut apart, want %d", got, cut)
	}
	in := &a.Report.Input
	if in.Traces != len(spans) || in.Spans != int64(len(n.lines)) {
		t.Errorf("%d traces of %d spans, want %d and %d", in.Traces, in.Spans, len(spans), len(n.lines))
	}
	if in.Fragments < cut || in.Requests > len(spans)-cut+cut/10 {
		t.Errorf("%d requests and %d fragments of %d traces, of which %d were cut apart", in.Requests, in.Fragments, in.Traces, cut)
	}
	merged := save(t, mustAnalyse(t, nil, saved[1:], o))
	sameReport(t, "two before", mustAnalyse(t, nil, [][]byte{merged, saved[0]}, o), a)
	sameReport(t, "a dump among them", mustAnalyse(t, parts[:1], saved[1:], o), a)

	// By service: lost servers aside, the requests of the whole.
	whole := mustAnalyse(t, []string{n.whole(t)}, nil, o)
	saved = nil
	for _, p := range n.parts(t, 5, func(l *nightLine) string { return l.service }) {
		a, err := analysisOf(t, []string{p}, nil, o)
		if err != nil {
			continue // no service fell into it
		}
		saved = append(saved, save(t, a))
	}
	if len(saved) < 2 {
		t.Fatalf("%d parts", len(saved))
	}
	a = mustAnalyse(t, nil, saved, o)
	if a.Report.Input.Requests != whole.Report.Input.Requests || a.Report.Input.Fragments != whole.Report.Input.Fragments {
		t.Errorf("cut by service: %d requests and %d fragments, want %d and %d", a.Report.Input.Requests, a.Report.Input.Fragments,
			whole.Report.Input.Requests, whole.Report.Input.Fragments)
	}
	if got := noteCount(a, CutApart); got == 0 {
		t.Error("nobody says that traces were cut apart")
	}
	// A server whose caller is in another part is no root of its trace: --deadline is none of its own.
	for _, r := range a.Report.Routes {
		if r.Service != "shop" && r.DeadlineSources[ByFlag] > 0 {
			t.Errorf("%s %s: %d requests have --deadline", r.Service, r.Route, r.DeadlineSources[ByFlag])
		}
	}
}

// What is there twice counts once.
func TestSavedTwice(t *testing.T) {
	n := newNight(60)
	o := nightOptions()
	path := n.whole(t)
	whole := mustAnalyse(t, []string{path}, nil, o)
	saved := save(t, whole)
	for name, a := range map[string]*Analysis{
		"summary twice":    mustAnalyse(t, nil, [][]byte{saved, saved}, o),
		"summary and dump": mustAnalyse(t, []string{path}, [][]byte{saved}, o),
	} {
		if got := noteCount(a, SavedTwice); got != int64(whole.Report.Input.Traces) {
			t.Errorf("%s: %d traces saved twice, want %d", name, got, whole.Report.Input.Traces)
		}
		a.Report.Input.Spans /= 2
		a.Report.Input.Notes = slices.DeleteFunc(a.Report.Input.Notes, func(n Note) bool { return n.Code == SavedTwice })
		sameReport(t, name, a, whole)
	}
}

// A summary that is read with another policy or --deadline than it was saved with gives the
// report of its dump, but for what ran on after deadlines: that is either what it is in
// the dump, or said to be unknown.
func TestDeadlinesAnew(t *testing.T) {
	policy := func(text string) *Policy {
		p, err := ParsePolicy("policy.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	kinds := map[string]Options{
		"none":   {},
		"flag":   {Deadline: 90 * time.Millisecond},
		"short":  {Deadline: 20 * time.Millisecond},
		"long":   {Deadline: time.Hour},
		"policy": {Policy: policy("deadlines: [{service: shop, deadline: 70ms}, {service: prices, deadline: 9ms}]\ndependencies: [{callee: ads, required: false}]"), Deadline: time.Second},
		"all":    {Policy: policy("deadlines: [{service: '*', deadline: 50ms, reserve: 5ms}]")},
	}
	dumps := append(dumpsAtHand(t), newNight(80).whole(t))
	compared, unknown := 0, 0
	for _, path := range dumps {
		if info, err := os.Stat(path); err != nil || info.IsDir() || info.Size() > 8<<20 {
			continue
		}
		direct := map[string]*Analysis{}
		for name, o := range kinds {
			a, err := analysisOf(t, []string{path}, nil, o)
			if err != nil {
				break // a file that is refused, as TestCorpus of ingest tells
			}
			direct[name] = a
		}
		if len(direct) < len(kinds) {
			continue
		}
		for from := range kinds {
			saved := save(t, direct[from])
			for to, o := range kinds {
				a := mustAnalyse(t, nil, [][]byte{saved}, o)
				what := fmt.Sprintf("%s: saved with %s, read with %s", path, from, to)
				if noteCount(a, WorkUnknown) == 0 {
					sameReport(t, what, a, direct[to])
					compared++
					continue
				}
				if from == to {
					t.Errorf("%s: unknown", what)
				}
				unknown++
				if g, w := withoutWork(t, a), withoutWork(t, direct[to]); g != w {
					t.Errorf("%s (-want +got):\n%.3000s", what, cmp.Diff(strings.SplitAfter(w, "},"), strings.SplitAfter(g, "},")))
				}
				// What is kept is what the dump shows, or less.
				for _, f := range a.Report.Findings {
					if f.Code == WorkPastDeadline && f.Count > countOf(direct[to], f) {
						t.Errorf("%s: %d of %s, and %d in the dump", what, f.Count, f.Code, countOf(direct[to], f))
					}
				}
			}
		}
	}
	t.Logf("%d reports the same, %d but for work", compared, unknown)
	if compared < 36 || unknown == 0 {
		t.Errorf("%d reports compared, %d with work unknown", compared, unknown)
	}
}

func countOf(a *Analysis, f Finding) int {
	for _, g := range a.Report.Findings {
		if g.Code == f.Code && g.Service == f.Service && g.Route == f.Route {
			return g.Count
		}
	}
	return 0
}

// withoutWork is the report without what ran on after deadlines, and advice, which may rest on it.
func withoutWork(t *testing.T, a *Analysis) string {
	b := *a
	b.Report.Advice = nil
	b.Report.Findings = slices.DeleteFunc(slices.Clone(a.Report.Findings), func(f Finding) bool { return f.Code == WorkPastDeadline })
	b.Report.Input.Notes = slices.DeleteFunc(slices.Clone(a.Report.Input.Notes), func(n Note) bool { return n.Code == WorkUnknown })
	return reportText(t, &b)
}
