package ingest

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"time"
)

// NewTrace assembles a trace from its spans: sorts them, drops copies, links
// parents and notes repairs. Start and End count from epoch; the trace's own
// Epoch is the earliest start. Parent is ignored and computed from ParentID.
// Times of events count from epoch as well, and events are sorted. The spans
// are copied; a nil Resource is taken as an empty one.
func NewTrace(id TraceID, epoch int64, spans []Span) *Trace {
	own := slices.Clone(spans)
	for i := range own {
		own[i].Events = slices.Clone(own[i].Events)
	}
	return assemble(id, epoch, own, new(assembly))
}

// An assembly is the memory of one trace, which the next may have.
type assembly struct {
	trace Trace
	spans []Span
	keys  []orderKey
	roots []int32
	links linker
	notes []TraceNote
}

// An orderKey is what spans are sorted by.
type orderKey struct {
	start time.Duration
	id    uint64
	at    int32 // where the span is to be found
	timed bool  // whether start is known
}

// assemble builds a trace; the steps are those of doc.go. It copies the spans
// and writes to their events.
func assemble(id TraceID, epoch int64, spans []Span, room *assembly) *Trace {
	keys := room.open(len(spans))
	for i := range spans {
		keys[i] = spans[i].orderKey()
		keys[i].at = int32(i)
	}
	origin := room.sort()
	for i := range keys {
		room.spans[i] = spans[keys[i].at]
	}
	return room.build(id, epoch, origin)
}

// open makes room for a trace of n spans and returns that for their keys.
func (room *assembly) open(n int) []orderKey {
	room.keys = slices.Grow(room.keys[:0], n)[:n]
	room.spans = slices.Grow(room.spans[:0], n)[:n]
	return room.keys
}

// build makes the trace of room.spans, which are sorted by (Start, ID) and
// count from epoch. The earliest starts at origin.
func (room *assembly) build(id TraceID, epoch int64, origin time.Duration) *Trace {
	t := &room.trace
	*t = Trace{ID: id, Epoch: epoch + int64(origin), Spans: room.spans, Notes: room.notes[:0]}
	for i := range t.Spans {
		t.Spans[i].place(origin)
	}
	sortTies(t.Spans)
	t.dropCopies()
	room.links.link(t)
	t.cutCycles()
	t.noteSpans(room)
	slices.SortFunc(t.Notes, compareNotes)
	room.notes = t.Notes
	if len(t.Notes) == 0 {
		t.Notes = nil
	}
	return t
}

var noResource = new(Resource)

// place moves the span to where it stands in a trace that begins at origin,
// and repairs its times.
func (s *Span) place(origin time.Duration) {
	s.placeTimes(origin)
	if len(s.Events) == 0 {
		return
	}
	for i := range s.Events {
		if e := &s.Events[i]; e.At == noTime {
			e.At = s.Start
		} else {
			e.At -= origin
		}
	}
	slices.SortFunc(s.Events, compareEvents)
}

func (s *Span) placeTimes(origin time.Duration) {
	s.Parent = -1
	if s.Resource == nil {
		s.Resource = noResource
	}
	if s.Defect&(NoStart|NoEnd) == NoStart|NoEnd {
		s.Start, s.End = 0, 0
		return
	}
	s.Start -= origin
	s.End -= origin
	switch {
	case s.Defect&NoStart != 0:
		s.Start = s.End
	case s.Defect&NoEnd != 0:
		s.End = s.Start
	case s.End < s.Start:
		s.Defect |= EndBeforeStart
		s.End = s.Start
	case s.Defect&EndBeforeStart != 0:
		s.End = s.Start
	}
}

// orderKey is the key of a span that is not in its place yet.
func (s *Span) orderKey() orderKey {
	k := orderKey{start: s.Start, id: binary.BigEndian.Uint64(s.ID[:]), timed: s.Defect&(NoStart|NoEnd) != NoStart|NoEnd}
	if s.Defect&NoStart != 0 {
		k.start = s.End
	}
	return k
}

// sort sorts the keys by (start, id) and returns the earliest start. Only the
// small keys are moved about. What has no start begins with the trace.
func (room *assembly) sort() (origin time.Duration) {
	first, untimed := time.Duration(math.MaxInt64), false
	for i := range room.keys {
		if k := &room.keys[i]; k.timed {
			first = min(first, k.start)
			origin = first
		} else {
			untimed = true
		}
	}
	if untimed {
		for i := range room.keys {
			if k := &room.keys[i]; !k.timed {
				k.start = origin
			}
		}
	}
	slices.SortFunc(room.keys, func(a, b orderKey) int {
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return cmp.Compare(a.id, b.id)
	})
	return origin
}

// sortTies brings spans with equal (Start, ID) into the order of their
// content, and copies into the order of their places.
func sortTies(spans []Span) {
	for from := 0; from < len(spans); {
		to := from + 1
		for to < len(spans) && spans[to].isTie(&spans[from]) {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(spans[from:to], func(a, b Span) int {
				return cmp.Or(compareSpans(&a, &b), cmp.Compare(a.File, b.File), cmp.Compare(a.Position, b.Position))
			})
		}
		from = to
	}
}

func (s *Span) isTie(other *Span) bool { return s.Start == other.Start && s.ID == other.ID }

// compareSpans is a total order of all that a span holds but its parent index,
// file and position. Versions of one span stand together, the finished before
// the unfinished.
func compareSpans(a, b *Span) int {
	if c := cmp.Or(
		cmp.Compare(a.Start, b.Start),
		slices.Compare(a.ID[:], b.ID[:]),
		cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Resource.Service, b.Resource.Service),
		cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Defect&NoStart, b.Defect&NoStart),
		cmp.Compare(a.Defect&NoEnd, b.Defect&NoEnd),
		cmp.Compare(a.Defect, b.Defect),
		cmp.Compare(a.End, b.End),
		slices.Compare(a.ParentID[:], b.ParentID[:]),
	); c != 0 {
		return c
	}
	return cmp.Or(
		cmp.Compare(a.Status, b.Status),
		cmp.Compare(a.StatusText, b.StatusText),
		cmp.Compare(a.Scope, b.Scope),
		cmp.Compare(a.TraceState, b.TraceState),
		compareBools(a.FollowsFrom, b.FollowsFrom),
		compareAttrs(a.Resource.Attrs, b.Resource.Attrs),
		compareAttrs(a.Attrs, b.Attrs),
		slices.CompareFunc(a.Events, b.Events, compareEvents),
		slices.CompareFunc(a.Links, b.Links, compareLinks),
	)
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func compareAttrs(a, b []Attr) int {
	return slices.CompareFunc(a, b, func(a, b Attr) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
	})
}

// compareEvents is a total order: by time, then name, then content.
func compareEvents(a, b Event) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Name, b.Name), compareAttrs(a.Attrs, b.Attrs))
}

func compareLinks(a, b Link) int {
	return cmp.Or(slices.Compare(a.TraceID[:], b.TraceID[:]), slices.Compare(a.SpanID[:], b.SpanID[:]))
}

// dropCopies drops exact copies, and unfinished versions of a span of which
// there is a finished one. Both stand behind what they give way to. Spans
// without an id are never taken for copies of each other.
func (t *Trace) dropCopies() {
	n := 0
	finished := -1 // index of the first finished version of the span at n-1
	for i := range t.Spans {
		s := &t.Spans[i]
		if n > 0 && s.isTie(&t.Spans[n-1]) && s.ID != (SpanID{}) {
			if compareSpans(&t.Spans[n-1], s) == 0 {
				t.note(Duplicate, n-1, 0)
				continue
			}
			if finished >= 0 && !isVersion(&t.Spans[finished], s) {
				finished = -1
			}
			if finished >= 0 && s.Defect&NoEnd != 0 {
				t.note(Duplicate, finished, 0)
				continue
			}
		} else {
			finished = -1
		}
		if finished < 0 && s.ID != (SpanID{}) && s.Defect&NoEnd == 0 {
			finished = n
		}
		if n < i {
			t.Spans[n] = *s
		}
		n++
	}
	clear(t.Spans[n:])
	t.Spans = t.Spans[:n]
}

// isVersion reports whether both are recordings of one span. A span without a
// start cannot be told to be one.
func isVersion(a, b *Span) bool {
	return a.Start == b.Start && a.ID == b.ID && a.Kind == b.Kind && a.Name == b.Name &&
		a.Resource.Service == b.Resource.Service && (a.Defect|b.Defect)&NoStart == 0
}

func (t *Trace) note(code Code, span int, amount time.Duration) {
	t.Notes = append(t.Notes, TraceNote{Code: code, Span: int32(span), Amount: amount})
}

func compareNotes(a, b TraceNote) int {
	return cmp.Or(cmp.Compare(a.Span, b.Span), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Amount, b.Amount))
}

// noteSpans adds the notes that can be told once the links stand.
func (t *Trace) noteSpans(room *assembly) {
	roots := t.roots(room)
	rootless := true
	for i := range t.Spans {
		s := &t.Spans[i]
		if t.ID == (TraceID{}) || s.ID == (SpanID{}) {
			t.note(EmptyIDs, i, 0)
		}
		if s.ParentID == (SpanID{}) {
			rootless = false
		}
		if s.Defect&NoStart != 0 {
			t.note(NoteNoStart, i, 0)
		}
		if s.Defect&NoEnd != 0 {
			t.note(NoteNoEnd, i, 0)
		}
		if s.Defect&EndBeforeStart != 0 {
			t.note(NoteEndBefore, i, 0)
		}
		if s.Defect&NoStart == 0 && unitInDoubt(t.Epoch+int64(s.Start)) {
			t.note(UnitInDoubt, i, 0)
		}
		// The end of an unfinished span is not known.
		root := &t.Spans[roots[i]]
		if late := s.End - root.End; late > lateBy && (s.Defect|root.Defect)&(NoEnd|EndBeforeStart) == 0 {
			t.note(LateSpan, i, late)
		}
	}
	if rootless && len(t.Spans) > 0 {
		t.note(RootMissing, 0, 0)
	}
}

// unitInDoubt reports whether a time that was read as Unix nanoseconds would be one from 2001
// to 2096 if it were in milliseconds or microseconds. It is not read as such: a machine
// without a clock of its own starts in 1970.
func unitInDoubt(at int64) bool {
	const from, to = 1_000_000_000, 4_000_000_000 // Unix seconds
	return at > from*1e3 && at < to*1e3 || at > from*1e6 && at < to*1e6
}

// roots returns for each span the index of its ancestor without Parent. Links
// must be free of cycles.
func (t *Trace) roots(room *assembly) []int32 {
	roots := slices.Grow(room.roots[:0], len(t.Spans))[:len(t.Spans)]
	room.roots = roots
	for i := range roots {
		roots[i] = -1
	}
	for i := range t.Spans {
		at := int32(i)
		for roots[at] < 0 && t.Spans[at].Parent >= 0 {
			at = t.Spans[at].Parent
		}
		root := at
		if roots[at] >= 0 {
			root = roots[at]
		}
		for at := int32(i); at >= 0 && roots[at] < 0; at = t.Spans[at].Parent {
			roots[at] = root
		}
	}
	return roots
}

// sortTraces sorts by id; traces without one come last, by start and content.
func sortTraces(traces []*Trace) {
	slices.SortFunc(traces, func(a, b *Trace) int {
		none := TraceID{}
		if c := compareBools(a.ID == none, b.ID == none); c != 0 {
			return c
		}
		if c := slices.Compare(a.ID[:], b.ID[:]); c != 0 || a.ID != none {
			return c
		}
		x, y := &a.Spans[0], &b.Spans[0]
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), compareSpans(x, y), cmp.Compare(x.File, y.File), cmp.Compare(x.Position, y.Position))
	})
}

// AddTrace counts the notes of a trace by code.
func (n *Notes) AddTrace(t *Trace) {
	for _, m := range t.Notes {
		s := &t.Spans[m.Span]
		n.Add(m.Code, Place{File: s.File, Position: s.Position, Trace: t.ID, Span: s.ID})
	}
}
