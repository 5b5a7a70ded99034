package analyze

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"overrun/ingest"
)

// A testSeg is a segment of a path, with times since shapeBase.
type testSeg struct {
	span       ingest.SpanID
	start, end time.Duration
	inFlight   bool
}

// A testView is what the production code says about a trace.
type testView struct {
	paths     map[ingest.SpanID][]testSeg // of top requests, by root
	fragments map[ingest.SpanID][]testSeg // of fragments, by root
	notes     []ViewNote                  // of all views, each once
}

// pathsOf asks the production code for the paths of a trace. A View counts from
// the start of its root after clocks were moved; a root that is the reference
// of its clocks does not move, so its recorded start is added back.
func pathsOf(t *ingest.Trace) testView {
	dump := &ingest.Dump{Traces: []*ingest.Trace{t}, Spans: int64(len(t.Spans))}
	v := testView{map[ingest.SpanID][]testSeg{}, map[ingest.SpanID][]testSeg{}, nil}
	starts := make(map[ingest.SpanID]time.Duration, len(t.Spans))
	for i := range t.Spans {
		starts[t.Spans[i].ID] = time.Duration(t.Epoch-shapeBase) + t.Spans[i].Start
	}
	seen := map[string]bool{}
	for _, view := range Run(dump, Options{}).Views(t) {
		start := starts[view.Root]
		path := []testSeg{}
		for _, s := range view.Path {
			// A view tells apart what a span's segment was spent on, and during which of it a
			// child ran.
			if n := len(path); n > 0 && path[n-1].span == s.Span && path[n-1].end == start+s.Start {
				path[n-1].end = start + s.End
				path[n-1].inFlight = path[n-1].inFlight || s.InFlight
				continue
			}
			path = append(path, testSeg{s.Span, start + s.Start, start + s.End, s.InFlight})
		}
		if view.Fragment {
			v.fragments[view.Root] = path
		} else {
			v.paths[view.Root] = path
		}
		for _, n := range view.Notes {
			if key := fmt.Sprint(n.Code, n.Span, text(n.Amount)); !seen[key] {
				seen[key] = true
				v.notes = append(v.notes, n)
			}
		}
	}
	return v
}

// mustTile says how a path fails to tile [start, end]; "" if it does.
func mustTile(path []testSeg, start, end time.Duration) string {
	at := start
	for i, s := range path {
		if s.start != at {
			return fmt.Sprintf("segment %d starts at %v, the one before ended at %v", i, s.start, at)
		}
		if s.end <= s.start {
			return fmt.Sprintf("segment %d is empty: [%v,%v]", i, s.start, s.end)
		}
		at = s.end
	}
	if at != end {
		return fmt.Sprintf("the path ends at %v, its root at %v", at, end)
	}
	return ""
}

// segments writes a path in the notation. Labels network and remote are taken
// from the trace.
func (s *shape) segments(t *ingest.Trace, path []testSeg) string {
	index := map[ingest.SpanID]int32{}
	served := map[int32]bool{} // has a SERVER child
	for i := range t.Spans {
		index[t.Spans[i].ID] = int32(i)
		if t.Spans[i].Kind == ingest.Server {
			served[t.Spans[i].Parent] = true
		}
	}
	var list []shapeSegment
	for _, p := range path {
		to := shapeSegment{Name: s.name(p.span), Start: s.units(p.start), End: s.units(p.end)}
		if p.inFlight {
			to.Labels = append(to.Labels, "in-flight")
		}
		if i, ok := index[p.span]; ok && t.Spans[i].Kind == ingest.Client {
			if served[i] {
				to.Labels = append(to.Labels, "network")
			} else {
				to.Labels = append(to.Labels, "remote")
			}
		}
		list = append(list, to)
	}
	return pathText(list)
}

// viewOrder lists paths in the order of Views: by start of the root, then id.
func viewOrder(t *ingest.Trace, paths map[ingest.SpanID][]testSeg) (list [][]testSeg, roots []*ingest.Span) {
	for i := range t.Spans {
		if _, ok := paths[t.Spans[i].ID]; ok {
			roots = append(roots, &t.Spans[i])
		}
	}
	slices.SortFunc(roots, func(a, b *ingest.Span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), bytes.Compare(a.ID[:], b.ID[:]))
	})
	for _, r := range roots {
		list = append(list, paths[r.ID])
	}
	return list, roots
}

// check compares paths and notes with those that the shape states, and returns
// all differences.
func (s *shape) check(t *ingest.Trace, v testView) (wrong []string) {
	var want, got []string
	for _, p := range s.Paths {
		want = append(want, pathText(p))
	}
	list, roots := viewOrder(t, v.paths)
	for i, p := range list {
		got = append(got, s.segments(t, p))
		start := time.Duration(t.Epoch-shapeBase) + roots[i].Start
		if text := mustTile(p, start, start+roots[i].Duration()); text != "" {
			wrong = append(wrong, fmt.Sprintf("path of %s does not tile it: %s", roots[i].Name, text))
		}
	}
	if !slices.Equal(got, want) {
		wrong = append(wrong, fmt.Sprintf("path:\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     ")))
	}

	notes := slices.DeleteFunc(slices.Clone(v.notes), func(n ViewNote) bool { return n.Code == ingest.RootMissing })
	for _, want := range s.Notes {
		i := slices.IndexFunc(notes, func(n ViewNote) bool {
			return n.Code == want.Code && s.name(n.Span) == want.Span &&
				(want.Amount == "" || n.Amount != nil && s.units(*n.Amount) == want.Amount)
		})
		if i < 0 {
			wrong = append(wrong, fmt.Sprintf("note missing: %s", want))
			continue
		}
		notes = slices.Delete(notes, i, i+1)
	}
	for _, n := range notes {
		amount := ""
		if n.Amount != nil {
			amount = s.units(*n.Amount)
		}
		wrong = append(wrong, fmt.Sprintf("note not earned: %s", shapeNote{n.Code, s.name(n.Span), amount}))
	}
	return wrong
}

func TestShapes(t *testing.T) {
	shapes := readShapes(t)
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		s := shapes[name]
		t.Run(name, func(t *testing.T) {
			trace := s.trace()
			for _, text := range s.check(trace, pathsOf(trace)) {
				t.Errorf("%s", text)
			}
			if t.Failed() {
				t.Logf("\n%s", s)
			}
		})
	}
}
