package analyze

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"overrun/ingest"
	"pgregory.net/rapid"
)

// checkUnchanged replays all requests with nothing changed: every start, every end,
// every duration and every verdict has to be the recorded one.
func checkUnchanged(t rapid.TB, what string, dump *ingest.Dump, o Options) (requests int) {
	t.Helper()
	a := Run(dump, o)
	r, err := a.newReplayer(&ReplayOptions{Seed: 1})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	p := &player{replayer: r}
	var g record
	r.visit(func(q *request) {
		if q.table == nil {
			return
		}
		requests++
		p.replayRoute = r.routes[q.table]
		a.record(q, &g)
		for _, w := range []world{worst, best} {
			got := p.play(&g, &r.scenarios[0], w)
			if got.end != q.duration || got.ended != q.ended || got.timedOut != q.timedOut || got.drawn || got.ranged {
				t.Errorf("%s: %s %s, trace %v: took %v and ended %v, replayed %+v", what, q.service, q.route, q.trace, q.duration, q.ended, got)
			}
			for i, f := range p.fates {
				c := &q.calls[g.pieces[i].call]
				if f.start != c.start || f.end != c.end || f.outcome != c.outcome || f.attempts != len(c.attempts) || !f.made {
					t.Errorf("%s: trace %v, call to %v: [%v, %v] %v, replayed %+v", what, q.trace, c.to, c.start, c.end, c.outcome, f)
				}
			}
		}
	})
	// The report says so, too.
	result, err := a.Replay(ReplayOptions{Seed: 1})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for _, route := range result.Routes {
		if route.ReplayedAtBest != nil {
			t.Errorf("%s: %s %s: a range, though nothing changed", what, route.Service, route.Route)
		}
		if diff := gocmp.Diff(route.Observed, route.Replayed); diff != "" {
			t.Errorf("%s: %s %s (-observed +replayed):\n%s", what, route.Service, route.Route, diff)
		}
		if (route.Saved != Span{} || route.Lost != Span{}) {
			t.Errorf("%s: %s %s: %v saved, %v lost", what, route.Service, route.Route, route.Saved, route.Lost)
		}
	}
	return requests
}

func TestReplayUnchangedCorpus(t *testing.T) {
	files, requests := 0, 0
	for _, root := range []string{"../testdata", "../../shared/corpus", "../../shared/exports"} {
		if _, err := os.Stat(root); err != nil {
			t.Logf("NOT TESTED: %s: %v", root, err)
			continue
		}
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			dump, err := ingest.Read(context.Background(), []string{path}, ingest.Options{Keep: Keep(nil), Events: Events(nil), Links: true})
			if err != nil {
				return nil // of files that hold no spans ingest says so, and tests it
			}
			files++
			requests += checkUnchanged(t, path, dump, Options{})
			checkUnchanged(t, path+", 50 ms", dump, Options{Deadline: 50 * time.Millisecond})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if files < 2 || requests < 200 {
		t.Errorf("%d files with %d requests: the test is broken", files, requests)
	}
	t.Logf("%d files, %d requests", files, requests)
	if _, err := os.Stat("../../shared/corpus"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("NOT TESTED: ../shared/corpus: real files are needed beside the module")
	}
}

func TestReplayUnchangedRandom(t *testing.T) {
	checkUnchanged(t, "three levels", &ingest.Dump{Traces: benchTraces(300)}, Options{Deadline: 15 * time.Millisecond})
	rapid.Check(t, func(t *rapid.T) {
		dump := &ingest.Dump{}
		n := rapid.IntRange(1, 30).Draw(t, "traces")
		for i := range n {
			s := randomShape(t, wild{})
			dump.Traces = append(dump.Traces, ingest.NewTrace(ingest.TraceID{15: byte(i + 1)}, shapeBase, s.spans()))
		}
		checkUnchanged(t, "random", dump, Options{Deadline: time.Duration(rapid.IntRange(1, 100).Draw(t, "deadline")) * 100 * time.Microsecond})
	})
}
