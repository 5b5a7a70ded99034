package ingest

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	shared   = "../../shared"
	testdata = "../testdata/ingest"
)

var keepAll = Options{Keep: []string{"*"}, Events: []string{"*"}, Links: true}

// diff compares traces but for where their spans were found.
func diff(want, got []*Trace) string {
	want, got = placeless(want), placeless(got)
	if reflect.DeepEqual(want, got) { // cmp takes seconds where this takes none
		return ""
	}
	return fmt.Sprintf("(-want +got):\n%.3000s", cmp.Diff(want, got))
}

func placeless(traces []*Trace) []*Trace {
	out := make([]*Trace, len(traces))
	for i, t := range traces {
		c := *t
		c.Spans = slices.Clone(t.Spans)
		for k := range c.Spans {
			c.Spans[k].File, c.Spans[k].Position = "", 0
		}
		out[i] = &c
	}
	return out
}

// mustRead reads and checks every invariant.
func mustRead(t testing.TB, o Options, paths ...string) *Dump {
	t.Helper()
	d, err := Read(context.Background(), paths, o)
	if err != nil {
		t.Fatal(err)
	}
	check(t, d)
	return d
}

func check(t testing.TB, d *Dump) {
	t.Helper()
	if breaches := d.Check(); breaches != nil {
		t.Errorf("breaches:\n%s", strings.Join(breaches, "\n"))
	}
}

// A corpusFile is a row of the corpus' index, which other tools than this one
// have written.
type corpusFile struct {
	name, form    string
	spans, traces int
}

func corpus(t testing.TB) []corpusFile {
	t.Helper()
	f, err := os.Open(filepath.Join(shared, "corpus/INDEX.tsv"))
	if err != nil {
		t.Skipf("the corpus is not here: %v", err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var files []corpusFile
	for _, row := range rows[1:] {
		spans, _ := strconv.Atoi(row[6])
		traces, _ := strconv.Atoi(row[7])
		files = append(files, corpusFile{row[0], row[5], spans, traces})
	}
	return files
}

// corpusDiffers lists where the index is not what Read gives, and why.
var corpusDiffers = map[string]corpusFile{
	// All ids are empty: the index counts one trace, but such spans are never
	// joined.
	"spec__file-exporter-traces.jsonl": {spans: 8, traces: 8},
	// 78 of the spans hold both sides of a call (cs and sr): two spans each.
	"trainticket__zipkin_case1.json": {spans: 157, traces: 1},
	// The index was made by a tool that does not know these forms.
	"otelpython__console-django.json":      {spans: 1, traces: 1},
	"nasty__s3-layout.tar.gz":              {spans: 34, traces: 4},
	"nasty__k8s-cri-stdout.log":            {spans: 84, traces: 7},
	"nasty__nul-prefix-rotated.jsonl":      {spans: 34, traces: 4},
	"openinference__vercel-all-spans.json": {spans: 10, traces: 10},
	// It counts ids as they are spelt; five of the ten are spellings of two, and
	// two are empty and not joined.
	"nasty__ids.jsonl": {spans: 20, traces: 7},
	// One more span than in the index is whole in the line that is cut.
	"nasty__truncated-last-line.jsonl":   {spans: 35, traces: 4},
	"nasty__rotated-mid-line-head.jsonl": {spans: 35, traces: 4},
}

// corpusRefused lists how files without spans are refused, as far as formats.md
// asks for a name.
var corpusRefused = map[string]string{
	"fluentbit__traces-testcases.json":  "JSON of no known form",
	"gen-js__console.txt":               "output of JavaScript's console exporter",
	"kiali__tempo-search.json":          "a search result of Tempo's API",
	"nasty__empty.jsonl":                "empty",
	"nasty__git-lfs-pointer.jsonl":      "a git-lfs pointer",
	"nezha__hipstershop_0436.csv":       "a table (CSV)",
	"otelcpp__ostream-http.txt":         "output of C++'s ostream exporter",
	"otlp2parquet__traces.parquet":      "a Parquet file",
	"robot__signoz_response_spans.json": "an answer of SigNoz's query API",
	"signoz__alert_traces.jsonl":        "no span of a known form (trace_id)",
}

func TestCorpus(t *testing.T) {
	for _, f := range corpus(t) {
		t.Run(f.name, func(t *testing.T) {
			if w, ok := corpusDiffers[f.name]; ok {
				f.spans, f.traces = w.spans, w.traces
			}
			path := filepath.Join(shared, "corpus", f.name)
			d, err := Read(context.Background(), []string{path}, keepAll)
			if f.spans == 0 {
				if want := path + ": " + corpusRefused[f.name]; err == nil || !strings.HasPrefix(err.Error(), want) || corpusRefused[f.name] == "" {
					t.Errorf("error %v, want %s", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			check(t, d)
			if int(d.Spans) != f.spans || len(d.Traces) != f.traces {
				t.Errorf("%d spans in %d traces, want %d in %d", d.Spans, len(d.Traces), f.spans, f.traces)
			}
		})
	}
}

// The real SDK's stdouttrace and the real collector's file exporter saw one
// load.
func TestStdouttraceIsFileExporter(t *testing.T) {
	corpus(t)
	want := mustRead(t, keepAll, filepath.Join(shared, "corpus/gen-go__fileexporter.jsonl"))
	got := mustRead(t, keepAll, filepath.Join(shared, "corpus/gen-go__stdouttrace.jsonl"))
	if d := sameTrace(want.Traces, got.Traces); d != "" {
		t.Errorf("(-want +got):\n%.3000s", d)
	}
}

// One load, written by a collector in many forms at once.
func TestExportsAreEqual(t *testing.T) {
	dir := filepath.Join(shared, "exports/legacy")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the exports are not here: %v", err)
	}
	want := mustRead(t, keepAll, filepath.Join(dir, "traces.json"))
	if want.Spans != 1008 {
		t.Errorf("%d spans, want 1008 (exports/README.md)", want.Spans)
	}
	for _, name := range []string{"traces.binpb", "traces.json.zstd", "traces.binpb.zstd", "rot", "rotpz", "bysvc"} {
		got := mustRead(t, keepAll, filepath.Join(dir, name))
		if d := diff(want.Traces, got.Traces); d != "" {
			t.Errorf("%s differs from traces.json %s", name, d)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "bysvc/*"))
	slices.Reverse(files)
	got := mustRead(t, keepAll, files...)
	if d := diff(want.Traces, got.Traces); d != "" {
		t.Errorf("bysvc in reverse differs from traces.json (-want +got):\n%s", d)
	}
}

// A collector that was killed: what it wrote before is there. The JSON ends in
// a cut line; the protobuf ends after a whole frame, with nothing to show that
// two records are missing (exports/README.md).
func TestExportsAfterCrash(t *testing.T) {
	dir := filepath.Join(shared, "exports/crash-native")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the exports are not here: %v", err)
	}
	whole := mustRead(t, keepAll, filepath.Join(dir, "traces.json"))
	for name, truncated := range map[string]int64{"traces.json.zstd": 1, "traces.binpb.zstd": 0} {
		cut := mustRead(t, keepAll, filepath.Join(dir, name))
		if cut.Spans == 0 || cut.Spans >= whole.Spans {
			t.Errorf("%s: %d spans, want fewer than %d", name, cut.Spans, whole.Spans)
		}
		if note(cut, Truncated).Count != truncated {
			t.Errorf("%s: notes %v, want truncated %d times", name, cut.Notes, truncated)
		}
	}
}

// note returns the note with the code, or none.
func note(d *Dump, code Code) Note {
	for _, n := range d.Notes {
		if n.Code == code {
			return n
		}
	}
	return Note{}
}

// The files beside the repository are many, those in it few; counts are from
// the index row, which LICENSES.md repeats.
func TestOwnFiles(t *testing.T) {
	tests := map[string]corpusFile{
		"gen-go__fileexporter-json-zstd-legacy.bin":   {spans: 205, traces: 12},
		"gen-go__fileexporter-proto-native.binpb.zst": {spans: 205, traces: 12},
		"gen-go__otlphttp-request-00.pb":              {spans: 2, traces: 1},
		"jaegerui__otlp-multi-in-combined.json":       {spans: 4, traces: 1},
		"nasty__array-of-requests.json":               {spans: 34, traces: 4},
		"nasty__multimember.jsonl.gz":                 {spans: 34, traces: 4},
		"otelproto__trace.json":                       {spans: 1, traces: 1},
	}
	for name, want := range tests {
		d := mustRead(t, keepAll, filepath.Join(testdata, name))
		if int(d.Spans) != want.spans || len(d.Traces) != want.traces {
			t.Errorf("Read(%s) = %d spans in %d traces, want %d in %d", name, d.Spans, len(d.Traces), want.spans, want.traces)
		}
	}
	legacy := mustRead(t, keepAll, filepath.Join(testdata, "gen-go__fileexporter-json-zstd-legacy.bin"))
	native := mustRead(t, keepAll, filepath.Join(testdata, "gen-go__fileexporter-proto-native.binpb.zst"))
	if d := diff(legacy.Traces, native.Traces); d != "" {
		t.Errorf("JSON and protobuf of one load differ:\n%s", d)
	}
	plain := mustRead(t, keepAll, filepath.Join(testdata, "nasty__array-of-requests.json"))
	packed := mustRead(t, keepAll, filepath.Join(testdata, "nasty__multimember.jsonl.gz"))
	if d := diff(plain.Traces, packed.Traces); d != "" {
		t.Errorf("an array and members of gzip of one load differ:\n%s", d)
	}
}
