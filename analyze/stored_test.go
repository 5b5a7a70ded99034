package analyze

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"overrun/ingest"
)

// forgotten are the fields that only traced needs, and those that are filled when
// all requests are known.
var forgotten = cmp.Options{
	cmpopts.IgnoreFields(request{}, "entry", "number", "table", "ended", "skipped", "nth", "awaited"),
	cmpopts.IgnoreFields(grounds{}, "written", "told"),
	cmpopts.IgnoreFields(call{}, "peer", "rules", "at", "met", "dep", "node", "reserve", "before", "findings"),
	cmpopts.IgnoreFields(attempt{}, "how", "at", "server"),
	cmpopts.IgnoreFields(deadline{}, "at", "rule", "own", "origin", "wrote"),
	cmpopts.IgnoreFields(phaseInterval{}, "rule"),
	cmpopts.IgnoreFields(phaseLength{}, "id"),
	cmpopts.EquateEmpty(),
}

// dumpsAtHand are dumps with retries, hedges, phases, deadlines and trouble: the samples of the
// repository, and the corpus where it is there.
func dumpsAtHand(t *testing.T) (paths []string) {
	t.Helper()
	for _, pattern := range []string{"../testdata/card-5.jsonl.gz", "../testdata/exports-legacy.binpb.zstd", "../../shared/corpus/*/*", "../../shared/exports/legacy/*.json"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			t.Logf("SKIPPED, absent: %s", pattern)
		}
		paths = append(paths, found...)
	}
	return paths
}

// A request that was stored comes back as it was, but for what is not stored.
func TestStoredRequests(t *testing.T) {
	requests := 0
	for _, path := range dumpsAtHand(t) {
		if info, err := os.Stat(path); err != nil || info.IsDir() || info.Size() > 8<<20 {
			continue
		}
		dump, err := ingest.Read(t.Context(), []string{path}, ingest.Options{Keep: Keep(nil), Events: Events(nil), Links: true})
		if err != nil {
			continue // a file that is refused, as TestCorpus of ingest tells
		}
		o := Options{Deadline: 1 << 27}
		symbols := newSymbols()
		w := newRequestWriter(symbols)
		var stored []byte
		var want []*request
		for _, trace := range dump.Traces {
			for _, r := range newTraced(trace, &o, newRecogniser(o.Policy.tables()), nil).requests {
				w.b = w.b[:0]
				w.request(r)
				stored = append(stored, w.b...)
				own := *r // the next trace has its memory
				own.calls = slices.Clone(r.calls)
				want = append(want, &own)
			}
		}
		d := newRequestReader(symbols)
		d.bare = true
		d.open(stored)
		for i := range want {
			if diff := cmp.Diff(want[i], d.next(want[i].trace), forgotten, cmp.AllowUnexported(request{}, call{}, attempt{}, deadline{}, grounds{}, phases{},
				phaseInterval{}, phaseLength{}, interval{}, work{}, peer{}, dependency{}, protocol{})); diff != "" {
				t.Fatalf("%s: request %d (-want +got):\n%s", path, i, diff)
			}
			requests++
		}
		if n := len(d.left()); n > 0 {
			t.Errorf("%s: %d bytes are left", path, n)
		}
	}
	if requests < 50 {
		t.Errorf("%d requests, want 50 at least", requests)
	}
}

// The report does not depend on how much fits into memory, nor on the number of
// workers.
func TestSpilledReport(t *testing.T) {
	paths := []string{"../testdata/card-5.jsonl.gz", "../testdata/exports-legacy.binpb.zstd"}
	report := func(memory int64, workers int) (string, int64) {
		dir := t.TempDir()
		store, err := ingest.Open(t.Context(), paths, ingest.Options{Keep: Keep(nil), Events: Events(nil), Links: true, Watch: Watch,
			Workers: workers, Memory: memory, Temp: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		a, err := RunSaved(t.Context(), store, nil, Options{Deadline: 1 << 27, Workers: workers, Memory: memory, Temp: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		text, err := json.Marshal(&a.Report)
		if err != nil {
			t.Fatal(err)
		}
		if names, _ := os.ReadDir(dir); len(names) > 0 {
			t.Errorf("memory %d: %s is left in the folder for what does not fit", memory, names[0].Name())
		}
		return string(text), store.Spilled() + a.spooler.Spilled()
	}
	want, spilled := report(0, 1)
	if spilled != 0 {
		t.Errorf("%d bytes were spilled without a limit", spilled)
	}
	for _, workers := range []int{1, 3} {
		got, spilled := report(64<<10, workers)
		if spilled == 0 {
			t.Error("nothing was spilled")
		}
		if got != want {
			t.Errorf("%d workers: another report where little fits into memory:\n%s", workers, cmp.Diff(want, got))
		}
	}
}
