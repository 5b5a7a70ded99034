package ingest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A row is a span in short.
type row struct {
	id, parent byte
	kind       Kind
	service    string
	name       string
	start, end time.Duration
	defect     Defect
}

func (r row) span() Span {
	s := Span{Kind: r.kind, Name: r.name, Start: r.start, End: r.end, Defect: r.defect, Resource: &Resource{Service: r.service}}
	s.ID[7], s.ParentID[7] = r.id, r.parent
	return s
}

func build(rows []row) *Trace {
	var spans []Span
	for _, r := range rows {
		spans = append(spans, r.span())
	}
	return NewTrace(TraceID{1}, 0, spans)
}

// tree writes each span as name<parent's name, in order; notes as code@name.
func tree(t *Trace) string {
	var parts []string
	for i := range t.Spans {
		s := &t.Spans[i]
		part := s.Name
		if s.Parent >= 0 {
			part += "<" + t.Spans[s.Parent].Name
		}
		parts = append(parts, part)
	}
	for _, n := range t.Notes {
		parts = append(parts, string(n.Code)+"@"+t.Spans[n.Span].Name)
	}
	return strings.Join(parts, " ")
}

const ms = time.Millisecond

// Times in another unit than nanoseconds look like some of 1970.
func TestUnitInDoubt(t *testing.T) {
	at := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		start int64
		doubt bool
	}{
		"nanoseconds":        {at.UnixNano(), false},
		"microseconds":       {at.UnixMicro(), true},
		"milliseconds":       {at.UnixMilli(), true},
		"half a day of 1970": {12 * time.Hour.Nanoseconds(), false},
		"counted from 0":     {0, false},
	} {
		s := Span{Kind: Server, ID: SpanID{1}, Start: time.Duration(test.start), End: time.Duration(test.start + 200)}
		doubt := slices.ContainsFunc(NewTrace(TraceID{1}, 0, []Span{s}).Notes, func(n TraceNote) bool { return n.Code == UnitInDoubt && n.Span == 0 })
		if doubt != test.doubt {
			t.Errorf("%s: unit in doubt %v, want %v", name, doubt, test.doubt)
		}
	}
}

func TestAssemble(t *testing.T) {
	tests := []struct {
		name string
		rows []row
		want string
	}{
		{"a chain, children first", []row{
			{3, 2, Server, "b", "C", 2 * ms, 3 * ms, 0}, {2, 1, Client, "a", "B", 1 * ms, 4 * ms, 0}, {1, 0, Server, "a", "A", 0, 5 * ms, 0},
		}, "A B<A C<B"},
		{"equal starts stand by id", []row{
			{2, 1, Client, "a", "B", 0, 4 * ms, 0}, {1, 0, Server, "a", "A", 0, 5 * ms, 0},
		}, "A B<A"},
		{"an exact copy", []row{
			{1, 0, Server, "a", "A", 0, 5 * ms, 0}, {1, 0, Server, "a", "A", 0, 5 * ms, 0}, {1, 0, Server, "a", "A", 0, 5 * ms, 0},
		}, "A duplicate@A duplicate@A"},
		{"an unfinished version gives way", []row{
			{1, 0, Server, "a", "A", 0, 0, NoEnd}, {1, 0, Server, "a", "A", 0, 5 * ms, 0}, {1, 0, Server, "a", "A", 0, 0, NoEnd},
		}, "A duplicate@A duplicate@A"},
		{"an unfinished span of another service stays", []row{
			{1, 0, Server, "a", "A", 0, 0, NoEnd}, {1, 0, Server, "b", "B", 0, 5 * ms, 0},
		}, "A B no-end@A"},
		{"one id, two outcomes", []row{
			{1, 0, Server, "a", "A", 0, 5 * ms, 0}, {1, 0, Server, "a", "A", 0, 6 * ms, 0},
		}, "A A"},
		{"Zipkin: server and client share an id", []row{
			{1, 0, Server, "a", "A", 0, 9 * ms, 0}, {2, 1, Client, "a", "C", 1 * ms, 8 * ms, 0},
			{2, 1, Server, "b", "S", 2 * ms, 7 * ms, 0}, {3, 2, Client, "b", "D", 3 * ms, 6 * ms, 0},
		}, "A C<A S<C D<S"},
		{"a server's parent is the client of two with the id", []row{
			{1, 0, Internal, "b", "I", 0, 9 * ms, 0}, {1, 0, Client, "a", "C", 1 * ms, 8 * ms, 0}, {2, 1, Server, "b", "S", 2 * ms, 7 * ms, 0},
		}, "I C S<C"},
		{"anything else keeps to its service, there to the server", []row{
			{1, 0, Internal, "b", "I", 0, 9 * ms, 0}, {1, 0, Server, "b", "S", 1 * ms, 8 * ms, 0}, {1, 0, Server, "a", "T", 0, 8 * ms, 0},
			{2, 1, Internal, "b", "X", 2 * ms, 7 * ms, 0}, {3, 1, Internal, "c", "Y", 3 * ms, 7 * ms, 0},
		}, "I T S X<S Y<T"},
		{"a consumer belongs to the producer", []row{
			{1, 0, Internal, "b", "I", 0, 9 * ms, 0}, {1, 0, Producer, "a", "P", 1 * ms, 8 * ms, 0}, {2, 1, Consumer, "b", "C", 2 * ms, 7 * ms, 0},
		}, "I P C<P"},
		{"its own parent", []row{
			{1, 1, Server, "a", "A", 0, 9 * ms, 0}, {2, 1, Client, "a", "B", 1 * ms, 8 * ms, 0},
		}, "A B<A root-missing@A self-parent@A"},
		{"a cycle is cut at its earliest span", []row{
			{1, 2, Server, "a", "A", 1 * ms, 9 * ms, 0}, {2, 3, Client, "a", "B", 2 * ms, 8 * ms, 0}, {3, 1, Server, "b", "C", 3 * ms, 7 * ms, 0},
			{4, 3, Client, "b", "D", 0, 6 * ms, 0}, {5, 0, Internal, "b", "E", 9 * ms, 9 * ms, 0},
		}, "D<C A B<C C<A E cycle-cut@A"},
		{"an orphan", []row{
			{1, 0, Server, "a", "A", 0, 9 * ms, 0}, {2, 7, Client, "a", "B", 1 * ms, 8 * ms, 0},
		}, "A B orphan@B"},
		{"no root", []row{{2, 7, Client, "a", "B", 1 * ms, 8 * ms, 0}}, "B orphan@B root-missing@B"},
		{"spans without id are nobody's parent and no copies", []row{
			{0, 0, Server, "a", "A", 0, 9 * ms, 0}, {0, 0, Server, "a", "A", 0, 9 * ms, 0}, {1, 0, Client, "a", "B", 1 * ms, 8 * ms, 0},
		}, "A A B empty-ids@A empty-ids@A"},
		{"late", []row{
			{1, 0, Server, "a", "A", 0, 9 * ms, 0}, {2, 1, Internal, "a", "B", 1 * ms, 9*ms + time.Minute, 0}, {3, 2, Internal, "a", "C", 2 * ms, 10*ms + time.Minute, 0},
		}, "A B<A C<B late-span@C"},
		{"times", []row{
			{1, 0, Server, "a", "A", 5 * ms, 9 * ms, 0}, {2, 1, Internal, "a", "B", 9 * ms, 7 * ms, 0}, {3, 1, Internal, "a", "C", 6 * ms, 0, NoEnd},
			{4, 1, Internal, "a", "D", 0, 8 * ms, NoStart}, {5, 1, Internal, "a", "E", 0, 0, NoStart | NoEnd},
		}, "A E<A C<A D<A B<A no-end@E no-start@E no-end@C no-start@D end-before-start@B"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			trace := build(test.rows)
			if got := tree(trace); got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
			if breaches := trace.Check(); breaches != nil {
				t.Errorf("breaches:\n%s", strings.Join(breaches, "\n"))
			}
			slices.Reverse(test.rows)
			if diff := cmp.Diff(trace, build(test.rows)); diff != "" {
				t.Errorf("in reverse (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewTraceTimes(t *testing.T) {
	trace := build([]row{
		{1, 0, Server, "a", "A", 5 * ms, 9 * ms, 0}, {2, 1, Internal, "a", "B", 9 * ms, 7 * ms, 0}, {3, 1, Internal, "a", "C", 6 * ms, 0, NoEnd},
		{4, 1, Internal, "a", "D", 0, 8 * ms, NoStart}, {5, 1, Internal, "a", "E", 0, 0, NoStart | NoEnd},
	})
	if want := int64(5 * ms); trace.Epoch != want {
		t.Errorf("epoch %d, want %d", trace.Epoch, want)
	}
	want := map[string]Span{
		"A": {Start: 0, End: 4 * ms},
		"E": {Start: 0, End: 0, Defect: NoStart | NoEnd},
		"C": {Start: 1 * ms, End: 1 * ms, Defect: NoEnd},
		"D": {Start: 3 * ms, End: 3 * ms, Defect: NoStart},
		"B": {Start: 4 * ms, End: 4 * ms, Defect: EndBeforeStart},
	}
	for i := range trace.Spans {
		s := trace.Spans[i]
		w := want[s.Name]
		if s.Start != w.Start || s.End != w.End || s.Defect != w.Defect {
			t.Errorf("%s: [%d, %d) defect %03b, want [%d, %d) defect %03b", s.Name, s.Start, s.End, s.Defect, w.Start, w.End, w.Defect)
		}
	}
}

// Events move with their span's trace, are sorted, and stand at the start of
// their span where they have no time.
func TestNewTraceEvents(t *testing.T) {
	events := []Event{{Name: "c", At: 7 * ms}, {Name: "b", At: noTime}, {Name: "a", At: 7 * ms}, {Name: "a", At: 1 * ms, Attrs: []Attr{{"k", "v"}}}}
	spans := []Span{row{1, 0, Server, "a", "A", 5 * ms, 9 * ms, 0}.span(), row{2, 1, Internal, "a", "B", 6 * ms, 7 * ms, 0}.span(), row{3, 1, Internal, "a", "C", 0, 0, NoStart | NoEnd}.span()}
	for i := range spans {
		spans[i].Events = events
	}
	trace := NewTrace(TraceID{1}, 0, spans)
	if breaches := trace.Check(); breaches != nil {
		t.Errorf("breaches:\n%s", strings.Join(breaches, "\n"))
	}
	for i, want := range []string{"[{a -4ms [{k v}]} {b 0s []} {a 2ms []} {c 2ms []}]", "[{a -4ms [{k v}]} {b 0s []} {a 2ms []} {c 2ms []}]", "[{a -4ms [{k v}]} {b 1ms []} {a 2ms []} {c 2ms []}]"} {
		if got := fmt.Sprint(trace.Spans[i].Events); got != want {
			t.Errorf("%s: %s, want %s", trace.Spans[i].Name, got, want)
		}
	}
	if events[0].At != 7*ms || events[1].At != noTime {
		t.Errorf("the caller's events were written to: %v", events)
	}
}

// Spans that differ in an event or a link only are no copies of each other.
func TestEventsAndLinksAreContent(t *testing.T) {
	base := row{1, 0, Server, "a", "A", 5 * ms, 9 * ms, 0}.span()
	variants := []func(*Span){
		func(s *Span) {},
		func(s *Span) { s.Events = []Event{{Name: "e"}} },
		func(s *Span) { s.Events = []Event{{Name: "e", At: 1}} },
		func(s *Span) { s.Events = []Event{{Name: "e", Attrs: []Attr{{"k", "v"}}}} },
		func(s *Span) { s.Events = []Event{{Name: "e"}, {Name: "f"}} },
		func(s *Span) { s.Links = []Link{{SpanID: SpanID{1}}} },
		func(s *Span) { s.Links = []Link{{TraceID: TraceID{1}}} },
	}
	var spans []Span
	for _, change := range variants {
		for range 2 {
			s := base
			change(&s)
			spans = append(spans, s)
		}
	}
	want := NewTrace(TraceID{1}, 0, spans)
	if n := len(want.Spans); n != len(variants) {
		t.Errorf("%d spans, want %d", n, len(variants))
	}
	slices.Reverse(spans)
	if diff := cmp.Diff(want, NewTrace(TraceID{1}, 0, spans)); diff != "" {
		t.Errorf("in reverse (-want +got):\n%s", diff)
	}
}

// The amount of a late-span note is how late it was.
func TestLateAmount(t *testing.T) {
	trace := build([]row{{1, 0, Server, "a", "A", 0, 9 * ms, 0}, {2, 1, Internal, "a", "B", 1 * ms, 11*ms + time.Minute, 0}})
	want := []TraceNote{{Code: LateSpan, Span: 1, Amount: time.Minute + 2*ms}}
	if diff := cmp.Diff(want, trace.Notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Large traces must stay linear-log: each of these takes minutes if they are
// not, and would overflow a stack if walked by recursion.
func TestLargeTraces(t *testing.T) {
	const n = 100_000
	id := func(i int) (id SpanID) {
		for k := range 4 {
			id[7-k] = byte((i + 1) >> (8 * k))
		}
		return
	}
	shapes := map[string]func(i int) Span{
		"deep":         func(i int) Span { return Span{ID: id(i), ParentID: id(i - 1), Start: time.Duration(i), End: 2 * n} },
		"deep, upward": func(i int) Span { return Span{ID: id(i), ParentID: id(i + 1), Start: time.Duration(i), End: 2 * n} },
		"wide":         func(i int) Span { return Span{ID: id(i), ParentID: id(0), Start: time.Duration(i), End: 2 * n} },
		"one cycle": func(i int) Span {
			return Span{ID: id(i), ParentID: id((i + 1) % n), Start: time.Duration(i), End: 2 * n}
		},
		"one id": func(i int) Span {
			return Span{ID: id(n), ParentID: id(n * (i % 2)), Name: fmt.Sprint(i), Kind: Kind(i % 6), End: 2 * n}
		},
		"one id, many services": func(i int) Span {
			return Span{ID: id(i % 2), ParentID: id(1 - i%2), Kind: Kind(i % 6), End: time.Duration(i), Resource: &Resource{Service: fmt.Sprint(i)}}
		},
		"no ids":     func(i int) Span { return Span{End: 5} },
		"all copies": func(i int) Span { return Span{ID: id(0), End: 5, Position: int64(i)} },
		"unfinished": func(i int) Span { return Span{ID: id(0), Defect: NoEnd, StatusText: fmt.Sprint(i)} },
	}
	for name, shape := range shapes {
		spans := make([]Span, n)
		for i := range spans {
			spans[i] = shape(i)
		}
		from := time.Now()
		trace := NewTrace(TraceID{1}, 0, spans)
		if breaches := trace.Check(); breaches != nil {
			t.Errorf("%s: %d breaches, the first: %s", name, len(breaches), breaches[0])
		}
		t.Logf("%s: %v", name, time.Since(from))
	}
}

// Whatever the spans, the trace is valid and does not depend on their order.
func TestNewTraceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Span {
			s := row{
				byte(rapid.IntRange(0, 5).Draw(t, "id")), byte(rapid.IntRange(0, 5).Draw(t, "parent")),
				Kind(rapid.IntRange(0, 5).Draw(t, "kind")), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "service"),
				rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name"), time.Duration(rapid.IntRange(-2, 2).Draw(t, "start")),
				time.Duration(rapid.IntRange(-2, 3).Draw(t, "end")), Defect(rapid.IntRange(0, 7).Draw(t, "defect")),
			}.span()
			for range rapid.IntRange(0, 2).Draw(t, "events") {
				s.Events = append(s.Events, Event{Name: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "event"), At: time.Duration(rapid.IntRange(-2, 2).Draw(t, "at"))})
			}
			if rapid.Bool().Draw(t, "linked") {
				s.Links = []Link{{SpanID: SpanID{1}}}
			}
			return s
		}), 1, 12).Draw(t, "spans")
		epoch := rapid.Int64Range(0, 1<<40).Draw(t, "epoch")
		want := NewTrace(TraceID{1}, epoch, spans)
		if breaches := want.Check(); breaches != nil {
			t.Fatalf("breaches:\n%s", strings.Join(breaches, "\n"))
		}
		got := NewTrace(TraceID{1}, epoch, rapid.Permutation(spans).Draw(t, "shuffled"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("shuffled (-want +got):\n%s", diff)
		}
		// Moving everything by the same time moves the epoch only.
		timed := slices.ContainsFunc(spans, func(s Span) bool { return s.Defect&(NoStart|NoEnd) != NoStart|NoEnd })
		moved := slices.Clone(spans)
		for i := range moved {
			moved[i].Start += 7
			moved[i].End += 7
			if !timed {
				continue // the epoch does not move, and the events stay where they are
			}
			moved[i].Events = slices.Clone(moved[i].Events)
			for k := range moved[i].Events {
				moved[i].Events[k].At += 7
			}
		}
		got = NewTrace(TraceID{1}, epoch, moved)
		got.Epoch = want.Epoch
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("moved (-want +got):\n%s", diff)
		}
	})
}

// The validator must see what is broken.
func TestCheckFindsBreaches(t *testing.T) {
	good := func() *Trace {
		return build([]row{{1, 0, Server, "a", "A", 0, 9 * ms, 0}, {2, 1, Client, "a", "B", 1 * ms, 8 * ms, 0}})
	}
	tests := map[string]func(*Trace){
		"order":           func(t *Trace) { t.Spans[0], t.Spans[1] = t.Spans[1], t.Spans[0] },
		"epoch":           func(t *Trace) { t.Spans[0].Start++ },
		"end":             func(t *Trace) { t.Spans[1].End = 0 },
		"defect":          func(t *Trace) { t.Spans[1].Defect = NoEnd },
		"parent":          func(t *Trace) { t.Spans[1].Parent = 5 },
		"parent id":       func(t *Trace) { t.Spans[1].ParentID[0] = 9 },
		"cycle":           func(t *Trace) { t.Spans[0].Parent, t.Spans[0].ParentID = 1, t.Spans[1].ID },
		"no note":         func(t *Trace) { t.Spans[1].Parent = -1 },
		"attributes":      func(t *Trace) { t.Spans[1].Attrs = []Attr{{"b", ""}, {"a", ""}} },
		"events":          func(t *Trace) { t.Spans[1].Events = []Event{{Name: "b"}, {Name: "a"}} },
		"event":           func(t *Trace) { t.Spans[1].Events = []Event{{Attrs: []Attr{{"b", ""}, {"a", ""}}}} },
		"resource":        func(t *Trace) { t.Spans[1].Resource = nil },
		"kind":            func(t *Trace) { t.Spans[1].Kind = 9 },
		"order of notes":  func(t *Trace) { t.Notes = []TraceNote{{Code: LateSpan, Span: 1}, {Code: LateSpan}} },
		"note of no span": func(t *Trace) { t.Notes = []TraceNote{{Code: LateSpan, Span: 7}} },
		"copy":            func(t *Trace) { t.Spans = append(t.Spans, t.Spans[1]) },
		"no spans":        func(t *Trace) { t.Spans = nil },
	}
	if breaches := good().Check(); breaches != nil {
		t.Fatalf("breaches of a good trace: %v", breaches)
	}
	for name, spoil := range tests {
		trace := good()
		spoil(trace)
		if trace.Check() == nil {
			t.Errorf("%s: no breach found", name)
		}
	}
}
