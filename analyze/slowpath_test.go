package analyze

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"overrun/ingest"
	"pgregory.net/rapid"
)

// A slowPath is the pseudo-code of the critical path, transcribed rule by rule:
// recursive, quadratic, no index. It shares nothing with the production code.
//
// Where the pseudo-code is silent it reads:
//
//   - near excludes losers, as pick does.
//   - "last child to end inside P" is, of the finished children with
//     P.start < end <= P.end, waited for or not, losers aside (one failure
//     cancels the rest, which end a moment later), the first in the order of K:
//     by end desc, start asc, healthy first, id asc. It failed if it failed
//     or timed out.
//   - An unfinished sibling w decides no race.
//   - An unfinished child blocks from its start to the end of a P that failed,
//     timed out or was cancelled, without a note. Else it does not block; what
//     it did is unknown, so it is not in flight either. It may be
//     detached-after, never detached-before.
//   - The end of an unfinished P is no reason not to wait: finished children
//     block, and are cut to [lo,hi]; unfinished ones do not. Its
//     duration, in eps and loser, is 0.
//   - A child whose end lies before its start has no length: detached or skipped.
//   - in flight: any child overlaps the segment, waited for or not.
//   - notes are about children of visited spans alone. A blocking child
//     that starts before P is early-clipped, also where [lo,hi] leaves
//     nothing of it; a loser is cancelled-loser, whether it blocks or not.
type slowPath struct {
	t     *ingest.Trace
	segs  []testSeg
	notes []ViewNote
}

// slowPathOf walks from one root.
func slowPathOf(t *ingest.Trace, root int32) *slowPath {
	s := &slowPath{t: t}
	s.visit(root, t.Spans[root].Start, t.Spans[root].End)
	slices.SortFunc(s.segs, func(a, b testSeg) int { return cmp.Compare(a.start, b.start) })
	for i := range s.segs {
		s.segs[i].start += time.Duration(t.Epoch - shapeBase)
		s.segs[i].end += time.Duration(t.Epoch - shapeBase)
	}
	return s
}

const (
	slowHealthy = iota
	slowFailed
	slowTimedOut
	slowCancelled
)

func (s *slowPath) outcome(i int32) int {
	span := &s.t.Spans[i]
	switch code := span.Attr("rpc.response.status_code"); {
	case span.Status != ingest.Error:
		return slowHealthy
	case code == "DEADLINE_EXCEEDED":
		return slowTimedOut
	case code == "CANCELLED":
		p := span.Parent
		if span.Kind == ingest.Server && p >= 0 && s.t.Spans[p].Kind == ingest.Client && s.outcome(p) == slowTimedOut {
			return slowTimedOut
		}
		return slowCancelled
	}
	return slowFailed
}

func (s *slowPath) duration(i int32) time.Duration { return s.t.Spans[i].Duration() }

func (s *slowPath) children(p int32) (list []int32) {
	for i := range s.t.Spans {
		if s.t.Spans[i].Parent == p {
			list = append(list, int32(i))
		}
	}
	return list
}

func (s *slowPath) grain(p int32) time.Duration {
	r := s.t.Spans[p].Resource
	if l := r.Attr("telemetry.sdk.language"); l == "nodejs" || l == "webjs" {
		return time.Millisecond
	}
	starts := 0
	for i := range s.t.Spans {
		if s.t.Spans[i].Resource == r && s.t.Spans[i].Defect&ingest.NoStart == 0 {
			starts++
			if (s.t.Epoch+int64(s.t.Spans[i].Start))%int64(time.Millisecond) != 0 {
				return 0
			}
		}
	}
	if starts >= 3 {
		return time.Millisecond
	}
	return 0
}

func (s *slowPath) eps(p int32) time.Duration {
	return max(min(s.duration(p)/100, time.Millisecond), s.grain(p))
}

// A slowChild is a child with the part of it that counts.
type slowChild struct {
	child      int32
	start, end time.Duration
}

// inOrder compares by end desc, start asc, healthy first, id asc.
func (s *slowPath) inOrder(a, b slowChild) int {
	sick := func(i int32) int { return min(s.outcome(i), 1) }
	return cmp.Or(-cmp.Compare(a.end, b.end), cmp.Compare(a.start, b.start), cmp.Compare(sick(a.child), sick(b.child)),
		bytes.Compare(s.t.Spans[a.child].ID[:], s.t.Spans[b.child].ID[:]))
}

// block says whether P waits for C, and for which part of it.
func (s *slowPath) block(p, c int32, note func(code ingest.Code, c int32, amount time.Duration)) (slowChild, bool) {
	P, C := &s.t.Spans[p], &s.t.Spans[c]
	Pend := P.End
	unfinished := C.Defect&ingest.NoEnd != 0
	ended := s.outcome(p)
	at := slowChild{c, max(C.Start, P.Start), min(C.End, Pend)}
	yes := func() (slowChild, bool) {
		if C.Start < P.Start {
			note(EarlyClipped, c, P.Start-C.Start)
		}
		return at, at.start < at.end
	}
	switch {
	case P.Kind == ingest.Producer && C.Kind == ingest.Consumer:
		note(AsyncMessaging, c, 0)
		return at, false
	case C.FollowsFrom:
		note(FollowsFrom, c, 0)
		return at, false
	case P.Defect&ingest.NoEnd != 0:
		at.end = C.End
		if unfinished {
			return at, false
		}
		if C.Start < P.Start {
			note(EarlyClipped, c, P.Start-C.Start)
		}
		return at, at.start < at.end
	case C.Start >= Pend:
		note(DetachedAfter, c, 0)
		return at, false
	case C.End <= P.Start && !unfinished:
		note(DetachedBefore, c, 0)
		return at, false
	case unfinished && ended == slowHealthy:
		return at, false
	case unfinished:
		at.end = Pend
		return yes()
	case C.End > Pend+s.eps(p) && (ended == slowTimedOut || ended == slowCancelled):
		note(Abandoned, c, C.End-Pend)
		return yes()
	case C.End > Pend+s.eps(p) && ended == slowFailed:
		note(Abandoned, c, C.End-Pend)
		if s.failedFast(p) {
			return at, false
		}
		return yes()
	case C.End > Pend+s.eps(p):
		note(OverrunAsync, c, C.End-Pend)
		return at, false
	}
	if C.End > Pend {
		note(OverrunClipped, c, C.End-Pend)
	}
	return yes()
}

// failedFast: the last child to end inside P failed, at most max(5 ms, 5 % of
// duration(P)) before P.end.
func (s *slowPath) failedFast(p int32) bool {
	var inside []slowChild
	for _, c := range s.children(p) {
		C := &s.t.Spans[c]
		if C.Defect&ingest.NoEnd == 0 && C.End > s.t.Spans[p].Start && C.End <= s.t.Spans[p].End && !s.loser(p, c) {
			inside = append(inside, slowChild{c, C.Start, C.End})
		}
	}
	if len(inside) == 0 {
		return false
	}
	last := slices.MinFunc(inside, s.inOrder)
	o := s.outcome(last.child)
	return (o == slowFailed || o == slowTimedOut) && s.t.Spans[p].End-last.end <= max(5*time.Millisecond, s.duration(p)/20)
}

// loser says whether c lost a race under p.
func (s *slowPath) loser(p, c int32) bool {
	C := &s.t.Spans[c]
	if s.outcome(c) != slowCancelled {
		return false
	}
	window := min(max(s.duration(p)/50, time.Millisecond), 5*time.Millisecond)
	for _, w := range s.children(p) {
		W := &s.t.Spans[w]
		ow, op := s.outcome(w), s.outcome(p)
		if w != c && ow != slowCancelled && W.Defect&ingest.NoEnd == 0 &&
			W.End > C.Start && W.End <= C.End && C.End <= W.End+window &&
			(ow == slowHealthy && op != slowTimedOut && op != slowCancelled ||
				(ow == slowFailed || ow == slowTimedOut) && op == slowFailed) {
			return true
		}
	}
	return false
}

func (s *slowPath) emit(p int32, from, to time.Duration) {
	if from == to {
		return
	}
	inFlight := false
	for _, c := range s.children(p) {
		start, end := s.t.Spans[c].Start, s.t.Spans[c].End
		if at, yes := s.block(p, c, func(ingest.Code, int32, time.Duration) {}); yes {
			start, end = at.start, at.end
		}
		inFlight = inFlight || max(start, from) < min(end, to)
	}
	s.segs = append(s.segs, testSeg{s.t.Spans[p].ID, from, to, inFlight})
}

func (s *slowPath) visit(p int32, lo, hi time.Duration) {
	var K []slowChild
	for _, c := range s.children(p) {
		note := func(code ingest.Code, c int32, amount time.Duration) {
			n := ViewNote{Code: code, Span: s.t.Spans[c].ID}
			if amount != 0 {
				n.Amount = &amount
			}
			s.notes = append(s.notes, n)
		}
		at, yes := s.block(p, c, note)
		if s.loser(p, c) {
			note(CancelledLoser, c, 0)
		}
		if !yes {
			continue
		}
		at.start, at.end = max(at.start, lo), min(at.end, hi)
		if at.start < at.end {
			K = append(K, at)
		}
	}
	slices.SortFunc(K, s.inOrder)
	eps := s.eps(p)
	t := hi
	for {
		var near, pick *slowChild
		for i := range K {
			c := &K[i]
			switch {
			case c.end > t+eps || s.loser(p, c.child):
			case c.end > t && c.start < t && 2*(c.end-t) <= c.end-c.start:
				if near == nil || c.end-t < near.end-t {
					near = c
				}
			case c.end <= t && c.start < t && pick == nil:
				pick = c
			}
		}
		if near != nil && (pick == nil || pick.end < t-eps) {
			pick = near
		}
		if pick == nil {
			break
		}
		s.emit(p, min(pick.end, t), t)
		s.visit(pick.child, pick.start, min(pick.end, t))
		t = pick.start
	}
	s.emit(p, lo, t)
}

// slowlyViewed is what the slow path says about a trace; skew is not repaired.
// fragments adds roots: the production code also shows spans of another service
// that are no entry, although their parent is there.
func slowlyViewed(t *ingest.Trace, fragments map[ingest.SpanID][]testSeg) testView {
	v := testView{map[ingest.SpanID][]testSeg{}, map[ingest.SpanID][]testSeg{}, nil}
	for _, n := range t.Notes {
		v.notes = append(v.notes, ViewNote{Code: n.Code, Span: t.Spans[n.Span].ID})
	}
	for i := range t.Spans {
		r := &t.Spans[i]
		if _, ok := fragments[r.ID]; r.Parent >= 0 && !ok {
			continue
		}
		slow := slowPathOf(t, int32(i))
		v.notes = append(v.notes, slow.notes...)
		cut := r.Parent < 0 && slices.ContainsFunc(t.Notes, func(n ingest.TraceNote) bool {
			return int(n.Span) == i && (n.Code == ingest.CycleCut || n.Code == ingest.SelfParent)
		})
		if r.ParentID == (ingest.SpanID{}) || cut || r.Parent < 0 && (r.Kind == ingest.Server || r.Kind == ingest.Consumer) {
			v.paths[r.ID] = append([]testSeg{}, slow.segs...)
		} else {
			v.fragments[r.ID] = append([]testSeg{}, slow.segs...)
		}
	}
	return v
}

// TestSlowPathShapes checks the judge itself: shapes in which no clock has to be
// moved.
func TestSlowPathShapes(t *testing.T) {
	shapes := readShapes(t)
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		s := shapes[name]
		if slices.ContainsFunc(s.Notes, func(n shapeNote) bool { return n.Code == ClockSkew || n.Code == SkewTooLarge }) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			trace := s.trace()
			for _, text := range s.check(trace, slowlyViewed(trace, nil)) {
				t.Errorf("%s", text)
			}
			if t.Failed() {
				t.Logf("\n%s", s)
			}
		})
	}
}

// A wild says what randomShape may draw.
type wild struct {
	calm       bool // no overlaps, no overruns, nothing unfinished
	unfinished bool // unfinished spans may have children
}

// randomShape draws a trace of 1 to 40 spans. It favours the edges of the rules:
// equal times, ends near those of siblings and parents, whole milliseconds.
func randomShape(t *rapid.T, w wild) *shape {
	s := &shape{Title: "random units = microseconds"}
	pick := func(label string, list ...int64) int64 { return rapid.SampledFrom(list).Draw(t, label) }
	upTo := func(label string, n int64) int64 { return rapid.Int64Range(0, max(n, 0)).Draw(t, label) }
	grid := pick("grid", 1, 100, 100, 1000)
	step := max(grid, 97)
	services := rapid.IntRange(1, 3).Draw(t, "services")
	nodes := rapid.IntRange(0, 7).Draw(t, "nodejs") // bits: which services run on Node
	within := func(label string, from, to int64) int64 {
		return from + upTo(label, (to-from)/grid)*grid
	}
	kinds := []ingest.Kind{ingest.Internal, ingest.Internal, ingest.Client, ingest.Client, ingest.Server, ingest.Producer, ingest.Consumer}
	troubled := rapid.Bool().Draw(t, "troubled") // most spans are calls, and most of them end badly
	if troubled {
		kinds = []ingest.Kind{ingest.Client, ingest.Client, ingest.Client, ingest.Server, ingest.Internal}
	}
	last := map[string]*shapeSpan{} // of the children of a parent
	n := rapid.IntRange(1, 40).Draw(t, "spans")
	s.Spans = make([]shapeSpan, 0, n)
	for i := range n {
		service := rapid.IntRange(0, services-1).Draw(t, "service")
		span := shapeSpan{Name: fmt.Sprintf("s%d", i), Parent: "-", Service: string(rune('a' + service)),
			Kind: rapid.SampledFrom(kinds).Draw(t, "kind"), Follows: pick("follows", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1) == 1}
		if nodes>>service&1 == 1 && nodes != 7 {
			span.Language = "nodejs"
		}
		// Cancellations and timeouts are known by the RPC code of clients and servers.
		list := []string{"", "", "", "OK", "ERROR"}
		if span.Kind == ingest.Client || span.Kind == ingest.Server {
			list = append(list, "CANCELLED", "CANCELLED", "DEADLINE")
		}
		if troubled {
			list = append(list[2:], "ERROR", "ERROR")
		}
		span.Status = rapid.SampledFrom(list).Draw(t, "status")

		var parent *shapeSpan
		if i > 0 {
			switch pick("parent", 0, 0, 0, 1, 1, 2, 2, 2, 3) {
			case 0:
				parent = &s.Spans[0]
			case 1:
				parent = &s.Spans[i-1]
			case 2:
				parent = &s.Spans[upTo("line", int64(i)-1)]
			case 3:
				if !w.calm && pick("orphan", 0, 1) == 1 {
					span.Parent = "gone"
				}
			}
		}
		if parent != nil && parent.NoEnd && !w.unfinished {
			parent = nil
		}
		if parent == nil {
			span.Start = upTo("start", 50) * grid
			span.End = span.Start + upTo("length", pick("size", 10, 100, 400, 400, 12000))*grid
			s.Spans = append(s.Spans, span)
			continue
		}
		span.Parent = parent.Name
		ps, pe := parent.Start, max(parent.Start, parent.End)
		if parent.NoEnd {
			pe = ps + 100*grid
		}
		before := last[parent.Name]
		if w.calm {
			if before != nil {
				ps = before.End
			}
			span.Start = within("start", ps, pe)
			span.End = within("end", span.Start, pe)
			s.Spans = append(s.Spans, span)
			last[parent.Name] = &s.Spans[i]
			continue
		}
		a, b := within("a", ps, pe), within("b", ps, pe)
		span.Start, span.End = min(a, b), max(a, b)
		little := upTo("little", 12) * step
		mode := pick("mode", 0, 1, 2, 3, 4, 4, 11, 5, 6, 7, 8, 9, 10, 10)
		if before == nil && (mode >= 1 && mode <= 4 || mode == 11) {
			mode = 0
		}
		switch mode {
		case 0: // inside
		case 1: // abutting
			span.Start = before.End
			span.End = max(span.End, span.Start)
		case 2: // a little overlap
			span.Start = before.End - little
			span.End = max(span.End, span.Start)
		case 3: // the same
			span.Start, span.End = before.Start, before.End
		case 4: // ends about when its sibling does
			span.End = before.End + little - 3*step
			span.Start = min(span.Start, span.End)
		case 11: // ends exactly when its sibling does
			span.End = before.End
			span.Start = min(span.Start, span.End)
		case 5: // overrun
			span.End = pe + little*pick("much", 1, 1, 10)
		case 6: // early
			span.Start = ps - little*pick("much", 1, 1, 10)
		case 7: // detached
			if pick("side", 0, 1) == 0 {
				span.Start, span.End = pe+little, pe+little+(span.End-span.Start)
			} else {
				span.Start, span.End = ps-little-(span.End-span.Start), ps-little
			}
		case 8: // zero length
			span.End = span.Start
		case 9: // covers its parent
			span.Start, span.End = ps, pe
		case 10: // ends shortly before its parent
			span.End = pe - little*pick("much", 1, 5)
			span.Start = min(span.Start, span.End)
		}
		switch pick("defect", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2) {
		case 1:
			span.NoEnd, span.End = true, 0
		case 2:
			span.End = span.Start - step
		}
		s.Spans = append(s.Spans, span)
		last[parent.Name] = &s.Spans[i]
		if span.NoEnd || span.End < span.Start {
			last[parent.Name] = before
		}
	}
	return s
}

// differ compares the paths of all roots; "" if they are the same. A root
// without a path may be left out.
func (s *shape) differ(t *ingest.Trace, got, want map[ingest.SpanID][]testSeg) string {
	for i := range t.Spans {
		id := t.Spans[i].ID
		if !slices.Equal(got[id], want[id]) {
			return fmt.Sprintf("path of %s:\n got %s\nwant %s\n%s", s.name(id), s.segments(t, got[id]), s.segments(t, want[id]), s)
		}
	}
	return ""
}

// lines writes notes for comparison. root-missing and lost-attempt are left out:
// they are no notes of the path.
func (s *shape) lines(notes []ViewNote) (list []string) {
	for _, n := range notes {
		if n.Code == ingest.RootMissing || n.Code == LostAttempt {
			continue
		}
		amount := ""
		if n.Amount != nil {
			amount = s.units(*n.Amount)
		}
		list = append(list, shapeNote{n.Code, s.name(n.Span), amount}.String())
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// smaller takes spans away from a shape, with all below them, as long as wrong
// still finds fault with it, and returns the last fault.
func (s *shape) smaller(wrong func(*shape) string) string {
	fault := wrong(s)
	for fault != "" {
		next := ""
		for i := range s.Spans {
			less := *s
			less.Spans = slices.Clone(s.Spans)
			gone := map[string]bool{s.Spans[i].Name: true}
			for range s.Spans { // until nothing is below
				less.Spans = slices.DeleteFunc(less.Spans, func(c shapeSpan) bool {
					gone[c.Name] = gone[c.Name] || gone[c.Parent]
					return gone[c.Name]
				})
			}
			if len(less.Spans) == 0 {
				continue
			}
			if next = wrong(&less); next != "" {
				s = &less
				break
			}
		}
		if next == "" {
			return fault
		}
		fault = next
	}
	return ""
}

func TestPathAgainstSlow(t *testing.T) {
	for name, w := range map[string]wild{"leaves unfinished": {}, "any unfinished": {unfinished: true}, "calm": {calm: true}} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				for range 10 {
					text := randomShape(t, w).smaller(func(s *shape) string {
						trace := s.trace()
						got := pathsOf(trace)
						want := slowlyViewed(trace, got.fragments)
						return s.differ(trace, got.paths, want.paths) + s.differ(trace, got.fragments, want.fragments)
					})
					if text != "" {
						t.Fatal(text)
					}
				}
			})
		})
	}
}

func TestNotesAgainstSlow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := randomShape(t, wild{unfinished: true}).smaller(func(s *shape) string {
			trace := s.trace()
			v := pathsOf(trace)
			got, want := s.lines(v.notes), s.lines(slowlyViewed(trace, v.fragments).notes)
			if slices.Equal(got, want) {
				return ""
			}
			return fmt.Sprintf("notes:\n got %q\nwant %q\n%s", got, want, s)
		})
		if text != "" {
			t.Fatal(text)
		}
	})
}

// bothPaths runs a test with the production code and with its judge.
func bothPaths(t *testing.T, test func(t *testing.T, of func(*ingest.Trace) testView)) {
	t.Run("production", func(t *testing.T) { test(t, pathsOf) })
	t.Run("slow", func(t *testing.T) {
		test(t, func(trace *ingest.Trace) testView { return slowlyViewed(trace, nil) })
	})
}

func TestPathProperties(t *testing.T) {
	bothPaths(t, func(t *testing.T, of func(*ingest.Trace) testView) {
		rapid.Check(t, func(t *rapid.T) {
			s := randomShape(t, wild{unfinished: true})
			trace := s.trace()
			v := of(trace)
			offset := time.Duration(trace.Epoch - shapeBase)
			for _, paths := range []map[ingest.SpanID][]testSeg{v.paths, v.fragments} {
				list, roots := viewOrder(trace, paths)
				for i, path := range list {
					start := offset + roots[i].Start
					if text := mustTile(path, start, start+roots[i].Duration()); text != "" {
						t.Fatalf("path of %s does not tile it: %s\n%s", roots[i].Name, text, s)
					}
					share := map[ingest.SpanID]time.Duration{}
					for _, p := range path {
						share[p.span] += p.end - p.start
					}
					for j := range trace.Spans {
						c := &trace.Spans[j]
						// An unfinished span may block: how long it took is unknown.
						if c.Defect&ingest.NoEnd == 0 && share[c.ID] > c.Duration() {
							t.Fatalf("%s has %v on the path, and lasts %v\n%s", c.Name, share[c.ID], c.Duration(), s)
						}
					}
				}
			}

			spans := s.spans()
			seed := rapid.Uint64().Draw(t, "seed")
			rand.New(rand.NewPCG(seed, 0)).Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
			shuffled := traceOfSpans(spans)
			w := of(shuffled)
			if text := s.differ(trace, w.paths, v.paths) + s.differ(trace, w.fragments, v.fragments); text != "" {
				t.Fatalf("shuffled: %s", text)
			}
			if got, want := s.lines(w.notes), s.lines(v.notes); !slices.Equal(got, want) {
				t.Fatalf("shuffled: notes\n got %q\nwant %q\n%s", got, want, s)
			}

			shift := rapid.Int64Range(-5, 1_000_000).Draw(t, "shift") * 1000 // whole milliseconds
			later := *s
			later.Spans = slices.Clone(s.Spans)
			for i := range later.Spans {
				later.Spans[i].Start += shift
				later.Spans[i].End += shift
			}
			moved := later.trace()
			w = of(moved)
			for _, paths := range []map[ingest.SpanID][]testSeg{w.paths, w.fragments} {
				for _, path := range paths {
					for i := range path {
						path[i].start -= time.Duration(shift) * s.unit()
						path[i].end -= time.Duration(shift) * s.unit()
					}
				}
			}
			if text := s.differ(trace, w.paths, v.paths) + s.differ(trace, w.fragments, v.fragments); text != "" {
				t.Fatalf("shifted by %d: %s", shift, text)
			}
			if got, want := s.lines(w.notes), s.lines(v.notes); !slices.Equal(got, want) {
				t.Fatalf("shifted by %d: notes\n got %q\nwant %q\n%s", shift, got, want, s)
			}
		})
	})
}

// TestPathScales: without overlaps and overruns no tolerance plays a part, so
// a thousand times the times give a thousand times the path.
func TestPathScales(t *testing.T) {
	bothPaths(t, func(t *testing.T, of func(*ingest.Trace) testView) {
		rapid.Check(t, func(t *rapid.T) {
			s := randomShape(t, wild{calm: true})
			trace := s.trace()
			v := of(trace)
			big := *s
			big.Spans = slices.Clone(s.Spans)
			for i := range big.Spans {
				big.Spans[i].Start *= 1000
				big.Spans[i].End *= 1000
			}
			w := of(big.trace())
			for _, path := range v.paths {
				for i := range path {
					path[i].start *= 1000
					path[i].end *= 1000
				}
			}
			if text := big.differ(trace, w.paths, v.paths); text != "" {
				t.Fatal(text)
			}
		})
	})
}

// TestPathLinear: four times the spans take about four times the time, whatever
// the form. Only times of the same run are compared, the least of several. All
// of Run and Views is in it.
func TestPathLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	// Collecting garbage beside the work needs another processor, which may be busy.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const ms = int64(time.Millisecond)
	root := func(end int64) []shapeSpan {
		return []shapeSpan{{Name: "R", Parent: "-", End: end, Kind: ingest.Server, Service: "a"}}
	}
	for name, form := range map[string]func(n int64) []shapeSpan{
		"wide, serial": func(n int64) []shapeSpan {
			spans := root(n*ms + ms)
			for i := range n {
				spans = append(spans, shapeSpan{Parent: "R", Start: i * ms, End: i*ms + ms, Kind: ingest.Client, Service: "a"})
			}
			return spans
		},
		"wide, parallel": func(n int64) []shapeSpan {
			spans := root(2*n*ms + ms)
			for i := range n {
				spans = append(spans, shapeSpan{Parent: "R", Start: i, End: (n + i) * ms, Kind: ingest.Client, Service: "a"})
			}
			return spans
		},
		"wide, all ends within 1 ms": func(n int64) []shapeSpan {
			spans := root(2000 * ms)
			for i := range n {
				spans = append(spans, shapeSpan{Parent: "R", Start: i * 1900 * ms / n, End: 1950*ms + i*ms/n, Kind: ingest.Client, Service: "a"})
			}
			return spans
		},
		"wide, serial with jitter": func(n int64) []shapeSpan {
			spans := root(n*ms + ms)
			for i := range n {
				spans = append(spans, shapeSpan{Parent: "R", Start: i * ms, End: i*ms + ms + ms*(i*7919%1000)/2100, Kind: ingest.Internal, Service: "a"})
			}
			return spans
		},
		"wide, cancelled": func(n int64) []shapeSpan {
			spans := root(2000 * ms)
			for i := range n {
				spans = append(spans, shapeSpan{Parent: "R", Start: i, End: 1950*ms + i*ms/n, Kind: ingest.Client, Service: "a", Status: []string{"CANCELLED", "CANCELLED", ""}[i%3]})
			}
			return spans
		},
		"wide, failed, overrun": func(n int64) []shapeSpan {
			spans := root(2000 * ms)
			spans[0].Status = "ERROR"
			for i := range n {
				spans = append(spans, shapeSpan{Parent: "R", Start: i, End: 1500*ms + i*1000*ms/n, Kind: ingest.Client, Service: "a"})
			}
			return spans
		},
		"deep": func(n int64) []shapeSpan {
			spans := root(4 * n * ms)
			for i := range n {
				spans = append(spans, shapeSpan{Start: (i + 1) * ms, End: (4*n - i - 1) * ms, Kind: ingest.Internal, Service: "a"})
			}
			return spans
		},
		"deep, one service calling itself": func(n int64) []shapeSpan {
			spans := root(4 * n * ms)
			for i := range n {
				kind := []ingest.Kind{ingest.Client, ingest.Server}[i%2]
				spans = append(spans, shapeSpan{Start: (i + 1) * ms, End: (4*n - i - 1) * ms, Kind: kind, Service: "a"})
			}
			return spans
		},
		"deep, two services": func(n int64) []shapeSpan {
			spans := root(4 * n * ms)
			for i := range n {
				kind := []ingest.Kind{ingest.Client, ingest.Server}[i%2]
				spans = append(spans, shapeSpan{Start: (i + 1) * ms, End: (4*n - i - 1) * ms, Kind: kind, Service: []string{"a", "b"}[(i+1)/2%2], Host: []string{"A", "B"}[(i+1)/2%2]})
			}
			return spans
		},
	} {
		t.Run(name, func(t *testing.T) {
			traceOf := func(n int64) *ingest.Trace {
				s := shape{Title: "units = nanoseconds", Spans: form(n)}
				for i := range s.Spans {
					s.Spans[i].Name = fmt.Sprintf("s%d", i)
					switch parent := &s.Spans[i].Parent; *parent {
					case "R":
						*parent = "s0"
					case "":
						*parent = fmt.Sprintf("s%d", i-1)
					}
				}
				spans := s.spans()
				for i := range spans {
					spans[i].Name = "work" // one route, one dependency
				}
				return traceOfSpans(spans)
			}
			// Rounds go on while the machine is too busy to tell; linear work
			// takes 8 times as long, quadratic 64 times in every round.
			const n, more, rounds, factor = 1250, 8, 30, 24
			small, large := traceOf(n), traceOf(more*n)
			a, b := time.Duration(1<<63-1), time.Duration(1<<63-1)
			measure := func(trace *ingest.Trace, least *time.Duration) {
				runtime.GC()
				start := cpuTime(t)
				pathsOf(trace)
				*least = min(*least, cpuTime(t)-start)
			}
			for round := 0; round < 3 || round < rounds && b >= factor*a; round++ {
				measure(small, &a)
				measure(large, &b)
			}
			t.Logf("%d spans %v, %d spans %v: %.1f times", n, a, more*n, b, float64(b)/float64(a))
			if b >= factor*a {
				t.Errorf("%d spans took %v, %d spans %v: want less than %d times as long", n, a, more*n, b, factor)
			}
		})
	}
}
