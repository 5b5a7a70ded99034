package ingest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// What was put into a spool comes out of it, whatever went to the file.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s := NewSpooler(rapid.Int64Range(0, 1<<18).Draw(t, "limit"), dir)
		defer s.Close()
		spools := make([]*Spool, rapid.IntRange(1, 5).Draw(t, "spools"))
		want := make([][]byte, len(spools))
		for i := range spools {
			spools[i] = s.NewSpool()
		}
		for n := range rapid.IntRange(0, 200).Draw(t, "puts") {
			i := rapid.IntRange(0, len(spools)-1).Draw(t, "spool")
			b := bytes.Repeat([]byte{byte(n)}, rapid.IntRange(0, 1<<rapid.IntRange(0, 17).Draw(t, "magnitude")).Draw(t, "size"))
			if err := spools[i].Put(b); err != nil {
				t.Fatal(err)
			}
			want[i] = append(want[i], b...)
		}
		for i := range spools {
			for range 2 {
				var got []byte
				err := spools[i].Blocks(func(b []byte) error { got = append(got, b...); return nil })
				if err != nil || !bytes.Equal(got, want[i]) || spools[i].Bytes() != int64(len(got)) {
					t.Fatalf("spool %d: %d bytes, want %d; %v", i, len(got), len(want[i]), err)
				}
			}
			spools[i].Drop()
		}
		if s.used != 0 {
			t.Errorf("%d bytes are still counted", s.used)
		}
		if names, _ := os.ReadDir(dir); len(names) > 0 {
			t.Errorf("the file has a name: %s", names[0].Name())
		}
	})
}

// randomRecords are spans of a few traces with all that a record can hold, some
// of them without ids.
func randomRecords(random *rand.Rand, resources []*Resource) []record {
	words := []string{"", "a", "GET /cart", "payment", "a long text that fills a line or so of a terminal, as statements of databases do"}
	word := func() string {
		if random.IntN(10) == 0 {
			return fmt.Sprint("one of a kind ", random.Uint64())
		}
		return words[random.IntN(len(words))]
	}
	attrs := func() (list []Attr) {
		for i := range random.IntN(6) {
			list = append(list, Attr{fmt.Sprint("key.", i), word()})
		}
		return list
	}
	defects := []Defect{0, 0, 0, NoStart, NoEnd, EndBeforeStart, NoStart | NoEnd}
	ids := 1 + random.IntN(12)
	records := make([]record, 1+random.IntN(300))
	for i := range records {
		r := &records[i]
		if id := random.IntN(ids + 1); id > 0 {
			r.trace = TraceID{0: byte(id), 15: byte(id % 3)}
		}
		start := time.Duration(1 + random.Int64N(1<<61))
		r.span = Span{ID: SpanID{7: byte(i), 6: byte(i >> 8)}, Parent: -1, Kind: Kind(random.IntN(6)),
			Status: Status(random.IntN(3)), FollowsFrom: random.IntN(2) > 0,
			Start: start, End: start + time.Duration(random.Int64N(1<<40)),
			Name: word(), Scope: word(), File: []string{"a.json", "b.json"}[random.IntN(2)], Position: int64(i),
			Resource: resources[random.IntN(len(resources))], Attrs: attrs(), Defect: defects[random.IntN(len(defects))]}
		if random.IntN(2) > 0 {
			r.span.ParentID = SpanID{7: byte(random.IntN(len(records)))}
		}
		if random.IntN(5) == 0 {
			r.span.StatusText, r.span.TraceState = word(), word()
			for range random.IntN(4) {
				r.span.Events = append(r.span.Events, Event{Name: word(), At: start, Attrs: attrs()})
			}
			for range random.IntN(3) {
				r.span.Links = append(r.span.Links, Link{TraceID{5}, SpanID{byte(i)}})
			}
		}
	}
	return records
}

// bySlowMethod groups records with a map, and assembles their traces.
func bySlowMethod(records []record) []*Trace {
	spans := map[TraceID][]Span{}
	var traces []*Trace
	for _, r := range records {
		r.span.Events = slices.Clone(r.span.Events)
		if r.trace == (TraceID{}) {
			traces = append(traces, assemble(r.trace, 0, []Span{r.span}, new(assembly)))
		} else {
			spans[r.trace] = append(spans[r.trace], r.span)
		}
	}
	for id, list := range spans {
		traces = append(traces, assemble(id, 0, list, new(assembly)))
	}
	sortTraces(traces)
	return traces
}

// looseKey is an attribute whose values spans that are alike need not share.
const looseKey = "key.2"

// A likeness is what spans with one number have in common.
type likeness struct {
	name, scope string
	attrs       []Attr
}

// takeAlike takes the numbers of spans that are alike off a trace, and holds them against
// those that were seen before.
func takeAlike(t rapid.TB, loose []string, seen map[uint64]likeness, trace *Trace) (pairs int) {
	for i := range trace.Spans {
		s := &trace.Spans[i]
		n := s.Alike
		if s.Alike = 0; n == 0 {
			continue
		}
		l := likeness{s.Name, s.Scope, slices.Clone(s.Attrs)}
		for k := range l.attrs {
			if slices.Contains(loose, l.attrs[k].Key) {
				l.attrs[k].Value = "any"
			}
		}
		if first, ok := seen[n]; !ok {
			seen[n] = likeness{strings.Clone(l.name), strings.Clone(l.scope), ownList(l.attrs)}
		} else if !reflect.DeepEqual(first, l) {
			t.Fatalf("alike by %x: %v and %v", n, first, l)
		} else {
			pairs++
		}
	}
	return pairs
}

// ownList copies a list and its texts, which lie in blocks that others will lie in.
func ownList(list []Attr) []Attr {
	own := slices.Clone(list)
	for i := range own {
		own[i] = Attr{strings.Clone(own[i].Key), strings.Clone(own[i].Value)}
	}
	return own
}

// Spans that the store says are alike are, in real dumps.
func TestAlike(t *testing.T) {
	looseKeys := [][]string{nil, {"net.sock.peer.port", "network.peer.port", "http.route"}}
	for _, path := range []string{"../testdata/card-5.jsonl.gz", "../testdata/exports-legacy.binpb.zstd"} {
		for _, loose := range looseKeys {
			// How many are recognised depends on a hash, and on who decodes what where there are two.
			spans, pairs := alikeIn(t, path, loose, 1)
			if pairs < 100 {
				t.Errorf("%s: of %d spans %d were like one before, want 100 at least", path, spans, pairs)
			}
			alikeIn(t, path, loose, 2)
		}
	}
}

// alikeIn counts the spans of a file, and those that are alike with one before.
func alikeIn(t *testing.T, path string, loose []string, workers int) (spans int64, pairs int) {
	store, err := Open(t.Context(), []string{path}, Options{Keep: []string{"*"}, Loose: loose, Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]likeness{}
	for part := range store.Parts() {
		err := store.Part(t.Context(), part, func(passing *Trace) error {
			pairs += takeAlike(t, loose, seen, passing)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return store.Spans, pairs
}

// stored puts records into a store that holds little in memory.
func stored(known *resources, records []record, sinks int, dir string, limit, share int64) *Store {
	spooler := NewSpooler(limit, dir)
	var list []*sink
	for range sinks {
		list = append(list, newSink(Options{Loose: []string{looseKey}}, known, spooler, 1))
	}
	for i := range records {
		s := list[i%sinks]
		r := records[i]
		r.from = len(s.held)
		for _, a := range r.span.Attrs {
			s.held = append(s.held, heldAttr{Attr: a})
		}
		r.to, r.keys = s.settle(r.from)
		s.records = append(s.records, r)
		if i%7 == 0 {
			s.flush()
		}
	}
	for _, s := range list {
		s.flush()
	}
	store := newStore(list, known, spooler, Options{})
	store.share = share
	return store
}

// A store gives back every span in its trace, however little of it fits into memory.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	pairs := 0 // of spans that are alike
	defer func() {
		if pairs < 100 {
			t.Errorf("%d spans were like one before", pairs)
		}
	}()
	rapid.Check(t, func(t *rapid.T) {
		known := newResources()
		s := newSink(Options{}, known, NewSpooler(0, ""), 1)
		var resources []*Resource
		for i := range 4 {
			s.owner.service = fmt.Sprint("service ", i)
			s.owner.attrs = append(s.owner.attrs[:0], Attr{"host.name", fmt.Sprint("h", i)})
			resources = append(resources, s.resource())
		}
		if rapid.Bool().Draw(t, "many resources") { // what is beyond maxResources travels with its spans
			last := resources[3]
			delete(known.held, last)
			for key, r := range known.byKey {
				if r == last {
					delete(known.byKey, key)
				}
			}
		}
		records := randomRecords(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)), resources)
		want := bySlowMethod(records)
		limit, share := rapid.SampledFrom([]int64{0, 1, 1 << 12}).Draw(t, "limit"), rapid.SampledFrom([]int64{0, 300, 1 << 12}).Draw(t, "share")
		store := stored(known, records, rapid.IntRange(1, 3).Draw(t, "sinks"), dir, limit, share)
		defer store.Close()
		store.most = len(records)
		chosen, err := store.Choose(context.Background(), func(TraceID) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		alike := map[uint64]likeness{}
		for part := range store.Parts() {
			err := store.Part(context.Background(), part, func(passing *Trace) error {
				pairs += takeAlike(t, []string{looseKey}, alike, passing)
				if i := slices.IndexFunc(want, func(t *Trace) bool { return t.ID == passing.ID }); passing.ID != (TraceID{}) && !reflect.DeepEqual(want[i], passing) {
					t.Fatalf("in passing (-want +got):\n%.3000s", gocmp.Diff(want[i], passing))
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		got, err := store.All(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, traces := range [][]*Trace{got, chosen} {
			if !reflect.DeepEqual(want, traces) { // cmp takes seconds where this takes none
				t.Fatalf("(-want +got):\n%.3000s", gocmp.Diff(want, traces))
			}
		}
		if store.spooler.used != 0 {
			t.Errorf("%d bytes are still counted", store.spooler.used)
		}
	})
}

// Parts come in an order that does not depend on what was split.
func TestStoreOrder(t *testing.T) {
	known := newResources()
	var records []record
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		r := record{span: Span{Parent: -1, Start: time.Duration(1 + random.IntN(50)), End: 100, Name: fmt.Sprint(random.IntN(5))}}
		if random.IntN(3) > 0 {
			r.trace = TraceID{byte(random.IntN(256)), 9, 9}
			r.span.ID = SpanID{byte(random.IntN(256))}
		}
		records = append(records, r)
	}
	var want []string
	for _, share := range []int64{0, 4 << 10, 200} {
		store := stored(known, records, 2, t.TempDir(), 1, share)
		store.most = len(records)
		var got []string
		for part := range store.Parts() {
			err := store.Part(t.Context(), part, func(t *Trace) error {
				got = append(got, fmt.Sprint(t.ID, t.Epoch, t.Spans[0].Name, len(t.Spans)))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("share %d: another order", share)
		}
		store.Close()
		random.Shuffle(len(records), func(i, k int) { records[i], records[k] = records[k], records[i] })
	}
}

// Of a trace with too many spans the first by start and id are used, and a note
// says so, whether or not it fits into memory.
func TestLargeTrace(t *testing.T) {
	const spans, most = 5000, 70
	known := newResources()
	records := make([]record, spans)
	for i := range records {
		records[i] = record{trace: TraceID{1}, span: Span{ID: SpanID{byte(i), byte(i >> 8)}, Parent: -1, Start: time.Duration(1 + i/3), End: spans, File: "a.json", Position: int64(i)}}
	}
	records = append(records, record{trace: TraceID{2}, span: Span{ID: SpanID{1}, Parent: -1, Start: 1, End: 2, File: "a.json"}})
	want := bySlowMethod(records)
	want[0].Spans, want[0].Notes = want[0].Spans[:most], want[0].Notes[:0]
	first := slices.Clone(records[:spans])
	slices.SortFunc(first, func(a, b record) int {
		return cmp.Or(cmp.Compare(a.span.Start, b.span.Start), bytes.Compare(a.span.ID[:], b.span.ID[:]))
	})
	for _, share := range []int64{0, 1 << 10} {
		rand.Shuffle(len(records), func(i, k int) { records[i], records[k] = records[k], records[i] })
		store := stored(known, records, 2, t.TempDir(), 1<<12, share)
		store.most = most
		d, err := store.Dump(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Traces) != 2 || len(d.Traces[0].Spans) != most || len(d.Traces[1].Spans) != 1 {
			t.Fatalf("share %d: %d traces, %d spans in the first", share, len(d.Traces), len(d.Traces[0].Spans))
		}
		for i, s := range d.Traces[0].Spans {
			if s.ID != first[i].span.ID {
				t.Errorf("share %d: span %d is %s, want %s", share, i, s.ID, first[i].span.ID)
			}
		}
		n := note(d, TraceCut)
		if want := "of its 5000 spans the first 70 by start were used"; n.Count != 1 || n.Text != want || n.Example.Trace != (TraceID{1}) {
			t.Errorf("share %d: note %+v, want %q", share, n, want)
		}
		store.Close()
	}
}

// A disk that is full ends the run, and the error says what to do.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("cannot make a small disk: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	var dump bytes.Buffer
	for i := range 20000 {
		fmt.Fprintf(&dump, `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%032x","spanId":"%016x","name":"n","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}`+"\n", i/9+1, i+1)
	}
	_, err := Open(t.Context(), []string{"-"}, Options{Stdin: &dump, Memory: 1 << 20, Temp: dir})
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("error %v, want that there is no space", err)
	}
	t.Log(err)
}

// What does not fit into memory has nowhere to go.
func TestNoTemp(t *testing.T) {
	s := NewSpooler(1, "/nowhere")
	spool := s.NewSpool()
	var err error
	for range 3 {
		err = errors.Join(err, spool.Put(make([]byte, spoolBlock)))
	}
	if err == nil || s.Err() == nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
