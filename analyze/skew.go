package analyze

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"overrun/ingest"
)

// provedSkew is how much earlier than its call a callee must start to prove
// that one of the clocks is off, how much later it must end to hint at it, and the
// least that a clock is moved. Node's clock alone is coarser than a network leg:
// without it, the OpenTelemetry demo seems skewed by whole milliseconds.
const provedSkew = time.Millisecond

// startsEarly reports whether a callee starts so much earlier than its call.
func startsEarly(callee, call *ingest.Span) bool { return callee.Start < call.Start-provedSkew }

// An interval holds the shifts of a child's clock that make one call possible:
// [P.start - C.start, P.end - C.end].
type interval struct{ low, high time.Duration }

// A clockPair is a caller's and a callee's clock.
type clockPair struct{ parent, child int32 }

// evidence collects the edges of one clock pair.
type evidence struct {
	callees  []int32    // spans whose parent reads the other clock
	feasible []interval // of calls that were answered
	early    int        // edges whose callee starts more than provedSkew before its call
	outlives int        // edges whose callee ends more than provedSkew after its call
}

// shift is how far the child's clock has to be moved: the middle of the
// smallest interval common to the most edges (Marzullo, Maintaining the time in
// a distributed system, Stanford 1984), if skew is proved and more edges agree with it
// than with no shift at all. ok is false where there is nothing to move.
//
// A callee that ends after its call proves nothing alone, since it may simply
// run on; only if at least three edges and 90 % of the pair show it.
func (e *evidence) shift() (d time.Duration, ok bool) {
	if e.early == 0 && (e.outlives < 3 || e.outlives*10 < len(e.feasible)*9) {
		return 0, false
	}
	type edge struct {
		at    time.Duration
		begin bool
	}
	var edges []edge
	unmoved := 0
	for _, i := range e.feasible {
		edges = append(edges, edge{i.low, true}, edge{i.high, false})
		if i.low <= 0 && i.high >= 0 {
			unmoved++
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		begins := func(e edge) int {
			if e.begin {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(begins(a), begins(b)))
	})
	var best interval
	most, depth := 0, 0
	for i, at := range edges {
		if !at.begin {
			depth--
			continue
		}
		depth++
		// The interval common to depth edges ends at the next edge, which is an end
		// wherever depth is at its greatest.
		if next := (interval{at.at, edges[i+1].at}); depth > most || depth == most && next.high-next.low < best.high-best.low {
			most, best = depth, next
		}
	}
	d = best.low + (best.high-best.low)/2
	return d, most > unmoved && (d >= provedSkew || d <= -provedSkew)
}

// stays reports whether a clock that nothing proves to be off stays where it is, though its
// callers' clock is moved by an offset: if more of its spans begin inside their calls so
// than if it went with that clock.
//
//	call, as recorded, and moved   [=====]          [=====]
//	callee stays                                       [=]
//	callee goes with it               [=]    ->         [=]
func (e *evidence) stays(t *ingest.Trace, offset time.Duration) bool {
	if e == nil {
		return false
	}
	staying, going := 0, 0
	for _, i := range e.callees {
		c := &t.Spans[i]
		p := &t.Spans[c.Parent]
		inside := func(start time.Duration) bool { return start >= p.Start-provedSkew && start < p.End }
		if inside(c.Start - offset) {
			staying++
		}
		if inside(c.Start) {
			going++
		}
	}
	return staying > going || staying == 0 && going == 0
}

// A moved says which clock of a trace was moved, how far, and the span that
// shows it: the first, from the top, on that clock.
type moved struct {
	span   int32 // in the repaired trace
	amount time.Duration
	beyond bool // skew is proved, but beyond the maximum: not moved
}

// repairSkew moves clocks that are proved to be off, and returns a shifted copy
// of the trace; t itself where nothing is moved. answered says of a CLIENT span
// whether its call got a good answer. at is the clock of each span, down the spans from the
// top down.
func repairSkew(t *ingest.Trace, at, down []int32, limit time.Duration, answered func(span int32) bool) (*ingest.Trace, []moved) {
	if !mayBeSkewed(t, at) {
		return t, nil
	}
	pairs := evidences(t, at, answered)
	shifts := map[clockPair]time.Duration{}
	for pair, e := range pairs {
		if d, ok := e.shift(); ok {
			shifts[pair] = d
		}
	}
	if len(shifts) == 0 {
		return t, nil
	}
	offsets, found := placeClocks(t, at, down, limit, pairs, shifts)
	if !slices.ContainsFunc(found, func(m moved) bool { return !m.beyond }) {
		return t, found
	}
	out, now := shifted(t, at, offsets)
	for i := range found {
		found[i].span = now[found[i].span]
	}
	return out, found
}

// evidences collects what the calls of a trace say of each pair of clocks.
func evidences(t *ingest.Trace, at []int32, answered func(span int32) bool) map[clockPair]*evidence {
	pairs := map[clockPair]*evidence{}
	for i := range t.Spans {
		c := &t.Spans[i]
		if c.Parent < 0 || c.Kind != ingest.Server || t.Spans[c.Parent].Kind != ingest.Client {
			continue
		}
		pair := clockPair{at[c.Parent], at[i]}
		if pair.parent == pair.child || pair.parent == 0 || pair.child == 0 {
			continue
		}
		p := &t.Spans[c.Parent]
		if p.Defect != 0 || c.Defect != 0 {
			continue
		}
		e := pairs[pair]
		if e == nil {
			e = new(evidence)
			pairs[pair] = e
		}
		e.callees = append(e.callees, int32(i))
		if c.Duration() > p.Duration() || !answered(c.Parent) {
			continue
		}
		e.feasible = append(e.feasible, interval{p.Start - c.Start, p.End - c.End})
		if startsEarly(c, p) {
			e.early++
		}
		if c.End > p.End+provedSkew {
			e.outlives++
		}
	}
	return pairs
}

// placeClocks gives each clock one offset, from the top down: a clock that was placed stays
// where it is, so that a call back to a clock above moves nothing. A clock that
// nothing proves to be off goes with the one that calls it, or stays; one that would have to be moved
// beyond the limit stays.
func placeClocks(t *ingest.Trace, at, down []int32, limit time.Duration, pairs map[clockPair]*evidence, shifts map[clockPair]time.Duration) (offsets []time.Duration, found []moved) {
	offsets = make([]time.Duration, len(t.Spans)+1) // by clock
	placed := make([]bool, len(offsets))
	for _, i := range down {
		if placed[at[i]] || at[i] == 0 {
			continue
		}
		placed[at[i]] = true
		c := &t.Spans[i]
		if c.Parent < 0 || at[c.Parent] == 0 {
			continue
		}
		offset := offsets[at[c.Parent]]
		pair := clockPair{at[c.Parent], at[i]}
		d, proved := shifts[pair]
		switch {
		case !proved && offset != 0 && pairs[pair].stays(t, offset):
			offset = 0
		case d > limit-offset || d < -limit-offset: // it is the clock that is moved no further, with those above it
			found = append(found, moved{i, plus(offset, d), true})
			continue
		}
		if offset += d; offset < provedSkew && offset > -provedSkew {
			continue
		}
		offsets[at[i]] = offset
		found = append(found, moved{i, offset, false})
	}
	return offsets, found
}

// shifted is a copy of the trace with its clocks moved, and the new index of each span.
func shifted(t *ingest.Trace, at []int32, offsets []time.Duration) (out *ingest.Trace, now []int32) {
	spans := slices.Clone(t.Spans)
	order := make([]int32, len(spans)) // old index of each new one
	for i := range spans {
		order[i] = int32(i)
		offset := offsets[at[i]]
		if offset == 0 {
			continue
		}
		s := &spans[i]
		s.Start += offset
		s.End += offset
		s.Events = slices.Clone(s.Events)
		for k := range s.Events {
			s.Events[k].At += offset
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		x, y := &spans[a], &spans[b]
		return cmp.Or(cmp.Compare(x.Start, y.Start), bytes.Compare(x.ID[:], y.ID[:]), cmp.Compare(a, b))
	})
	now = make([]int32, len(order))
	for i, old := range order {
		now[old] = int32(i)
	}
	out = new(ingest.Trace)
	*out = *t
	out.Spans = make([]ingest.Span, len(spans))
	for i, old := range order {
		s := &out.Spans[i]
		if *s = spans[old]; s.Parent >= 0 {
			s.Parent = now[s.Parent]
		}
	}
	out.Notes = slices.Clone(t.Notes)
	for i := range out.Notes {
		out.Notes[i].Span = now[out.Notes[i].Span]
	}
	return out, now
}

// mayBeSkewed reports whether some callee on another clock starts before its
// call, or ends after it: where none does, nothing can prove skew.
func mayBeSkewed(t *ingest.Trace, at []int32) bool {
	for i := range t.Spans {
		c := &t.Spans[i]
		if c.Parent < 0 || c.Kind != ingest.Server || at[i] == at[c.Parent] {
			continue
		}
		if p := &t.Spans[c.Parent]; startsEarly(c, p) || c.End > p.End+provedSkew {
			return true
		}
	}
	return false
}

// topDown lists the spans with every parent before its children, roots by
// start, and the children of one level in the order of their parents.
func (r *room) topDown(t *ingest.Trace) []int32 {
	from, kids := again(&r.from, len(t.Spans)+2), again(&r.kids, len(t.Spans))
	order := again(&r.order, len(t.Spans))[:0]
	for i := range t.Spans {
		if p := t.Spans[i].Parent; p >= 0 {
			from[p+2]++
		} else {
			order = append(order, int32(i))
		}
	}
	for i := 2; i < len(from); i++ {
		from[i] += from[i-1]
	}
	for i := range t.Spans {
		if p := t.Spans[i].Parent; p >= 0 {
			kids[from[p+1]] = int32(i)
			from[p+1]++
		}
	}
	for i := 0; i < len(order); i++ {
		order = append(order, kids[from[order[i]]:from[order[i]+1]]...)
	}
	return order
}
