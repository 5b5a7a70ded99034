package ingest

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A Store holds the spans that were read until their traces are asked for: in
// memory up to Options.Memory, and beyond in a file without a name. Close it.
type Store struct {
	Files []File
	Spans int64  // spans read, before duplicates are dropped
	Notes []Note // about the input; those about spans are in their traces. Sorted by code
	// Watched reports whether a span has a name that begins with Options.Watch.
	Watched bool

	spooler *Spooler
	packers []*packer
	known   *resources
	share   int64 // bytes of packed records that are grouped at once; 0: any number
	most    int   // spans of a trace that are used; 0: all
	workers int

	idle sync.Pool // of *grouper, whose memory Part uses again

	mu  sync.Mutex
	cut Notes // traces with more spans than most
}

// Of Options.Memory, the store holds a quarter, each worker groups a 32nd at a time,
// and a span of a trace under analysis is taken to need spanMemory bytes, so that
// one trace uses a quarter at most; no trace of leastSpans is cut.
const (
	spanMemory = 4 << 10
	leastSpans = 1 << 14
)

func newStore(sinks []*sink, known *resources, spooler *Spooler, o Options) *Store {
	s := &Store{spooler: spooler, known: known, workers: o.Workers}
	if s.workers <= 0 {
		s.workers = runtime.GOMAXPROCS(0)
	}
	if o.Memory > 0 {
		s.share = max(o.Memory/32, 1<<20)
		s.most = max(int(o.Memory/4/spanMemory), leastSpans)
	}
	for _, sink := range sinks {
		s.packers = append(s.packers, sink.packer)
		s.Watched = s.Watched || sink.watched
	}
	return s
}

// Close gives up all spans, and the file.
func (s *Store) Close() error {
	for i := range s.Parts() {
		s.Drop(i)
	}
	return s.spooler.Close()
}

// Spilled is how many bytes did not fit into memory.
func (s *Store) Spilled() int64 { return s.spooler.Spilled() }

// Most is how many spans of one trace are used; 0: all.
func (s *Store) Most() int { return s.most }

// Parts is how many parts the traces come in.
func (s *Store) Parts() int { return partitions + 1 }

// Drop gives up the spans of a part.
func (s *Store) Drop(part int) {
	for _, p := range s.packers {
		p.spools[part].Drop()
	}
}

// CutTraces is the note about traces that were cut so far; ok is false where
// there is none.
func (s *Store) CutTraces() (n Note, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.cut.List()
	if len(list) == 0 {
		return n, false
	}
	return list[0], true
}

// Part assembles the traces of a part and gives them to visit one by one, in an
// order that depends on their ids alone. A trace is valid during its visit: the next
// is assembled in its place. Parts may be asked for by several
// goroutines at once. It ends with the first error of visit, with that of reading
// back what was spilled, or with ctx.
func (s *Store) Part(ctx context.Context, part int, visit func(*Trace) error) error {
	g, ok := s.idle.Get().(*grouper)
	if ok {
		g.ctx, g.visit, g.lone = ctx, visit, part == partitions
	} else {
		g = s.grouper(ctx, part, visit)
		g.passing = true
	}
	err := g.gather(s.runs(part), 0)
	g.rest()
	s.idle.Put(g)
	return err
}

func (s *Store) grouper(ctx context.Context, part int, visit func(*Trace) error) *grouper {
	return &grouper{Store: s, ctx: ctx, visit: visit, unpacker: unpacker{known: s.known}, lone: part == partitions}
}

// runs are the records of a part.
func (s *Store) runs(part int) []run {
	runs := make([]run, len(s.packers))
	for i, p := range s.packers {
		runs[i] = run{p.spools[part], &p.tables}
	}
	return runs
}

// All assembles all traces, whole in memory, sorted by id; those without one come
// last, by start and content. The store gives up its spans.
func (s *Store) All(ctx context.Context) ([]*Trace, error) {
	parts := make([][]*Trace, s.Parts())
	err := s.Each(ctx, s.workers, func(_, part int) error {
		g := s.grouper(ctx, part, func(t *Trace) error {
			parts[part] = append(parts[part], t)
			return nil
		})
		err := g.gather(s.runs(part), 0)
		s.Drop(part)
		return err
	})
	if err != nil {
		return nil, err
	}
	traces := slices.Concat(parts...)
	sortTraces(traces)
	return traces, nil
}

// Choose assembles the traces that wanted says, in the order of All. The store keeps
// its spans. wanted is asked once for each trace.
func (s *Store) Choose(ctx context.Context, wanted func(TraceID) bool) ([]*Trace, error) {
	var traces []*Trace
	for part := range s.Parts() {
		g := s.grouper(ctx, part, func(t *Trace) error {
			traces = append(traces, t)
			return nil
		})
		g.wanted = wanted
		if err := g.gather(s.runs(part), 0); err != nil {
			return nil, err
		}
	}
	sortTraces(traces)
	return traces, nil
}

// Each calls do for every part, on several goroutines that are numbered from 0,
// and returns the first error.
func (s *Store) Each(ctx context.Context, workers int, do func(worker, part int) error) error {
	return Each(ctx, workers, s.Parts(), do)
}

// Each calls do for the parts from 0 on, on several goroutines that are numbered
// from 0, and returns the first error.
func Each(ctx context.Context, workers, parts int, do func(worker, part int) error) error {
	var next atomic.Int64
	var running sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		running.Go(func() {
			for errs[w] == nil && ctx.Err() == nil {
				part := int(next.Add(1)) - 1
				if part >= parts {
					return
				}
				errs[w] = do(w, part)
			}
		})
	}
	running.Wait()
	return cmp.Or(ctx.Err(), cmp.Or(errs...))
}

// A run is the packed records of one packer.
type run struct {
	*Spool
	*tables
}

// A grouper groups the records of a part.
type grouper struct {
	*Store
	ctx   context.Context
	visit func(*Trace) error
	unpacker
	lone    bool // each record is a trace of its own
	passing bool // traces are valid during their visit only
	room    assembly
	wanted  func(TraceID) bool // nil: every trace is

	blocks []loaded
	index  map[TraceID]int32
	counts []int32
	heads  []head // by trace
	places []place
	sorted []place // those of a trace side by side
}

// A loaded block of packed records.
type loaded struct {
	data []byte
	*tables
}

// A place says where a record lies, and in which trace.
type place struct{ block, offset, trace int32 }

// A head is what traces are ordered by.
type head struct {
	hash  uint64
	id    TraceID
	trace int32
}

// splitBits is by how many bits of the hash a part is split that is too large to be
// grouped at once, and maxSplits how often.
const (
	splitBits = 4
	maxSplits = 6
)

// gather groups the records of the runs, of which the hash agrees in its first
// bits. What is too large is split by the next.
func (g *grouper) gather(runs []run, splits int) error {
	total := int64(0)
	for _, r := range runs {
		total += r.Bytes()
	}
	if g.share == 0 || total <= g.share {
		return g.group(runs, nil)
	}
	if splits == maxSplits {
		return g.groupLarge(runs)
	}
	var parts [1 << splitBits][]run
	shift := 64 - 6 - splitBits*(splits+1)
	if g.lone {
		shift = 64 - splitBits*(splits+1)
	}
	for i := range parts {
		parts[i] = make([]run, len(runs))
		for k, r := range runs {
			parts[i][k] = run{g.spooler.NewSpool(), r.tables}
		}
	}
	defer func() {
		for _, part := range parts {
			for _, r := range part {
				r.Drop()
			}
		}
	}()
	for k, r := range runs {
		err := g.records(r, func(p recordKey, record []byte, _ int) error {
			return parts[p.hash()>>shift&(1<<splitBits-1)][k].Put(record)
		})
		if err != nil {
			return err
		}
	}
	for _, part := range parts {
		largest := int64(0)
		for _, r := range part {
			largest += r.Bytes()
		}
		next := splits + 1
		if largest > total-total/16 { // nearly all is one trace
			next = maxSplits
		}
		if err := g.gather(part, next); err != nil {
			return err
		}
		for _, r := range part {
			r.Drop()
		}
	}
	return nil
}

// records gives visit each record of a run, with its offset in its block.
func (g *grouper) records(r run, visit func(p recordKey, record []byte, offset int) error) error {
	return r.Blocks(func(b []byte) error {
		if err := g.ctx.Err(); err != nil {
			return err
		}
		for at := 0; at < len(b); {
			p, size := header(b[at:])
			if err := visit(p, b[at:at+size], at); err != nil {
				return err
			}
			at += size
		}
		return nil
	})
}

// groupLarge groups records that do not fit into memory: of a trace of very many
// spans the first by start and id. It reads the records twice.
func (g *grouper) groupLarge(runs []run) error {
	firsts := make(map[TraceID]*firsts)
	for _, r := range runs {
		err := g.records(r, func(p recordKey, _ []byte, _ int) error {
			f := firsts[p.trace]
			if f == nil {
				f = newFirsts(g.most)
				firsts[p.trace] = f
			}
			f.add(p)
			return nil
		})
		if err != nil {
			return err
		}
	}
	kept := make([]run, len(runs))
	memory := NewSpooler(0, "")
	for k, r := range runs {
		kept[k] = run{memory.NewSpool(), r.tables}
		err := g.records(r, func(p recordKey, record []byte, _ int) error {
			if firsts[p.trace].take(p) {
				return kept[k].Put(record)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return g.group(kept, firsts)
}

// group assembles the traces of the runs: it numbers them and counts their spans,
// puts the records of each side by side, and visits them in order.
func (g *grouper) group(runs []run, firsts map[TraceID]*firsts) error {
	if g.index == nil {
		g.index = make(map[TraceID]int32)
	}
	clear(g.index)
	clear(g.blocks)
	clear(g.own)
	g.blocks, g.counts, g.heads, g.places = g.blocks[:0], g.counts[:0], g.heads[:0], g.places[:0]
	for _, r := range runs {
		err := r.Blocks(func(b []byte) error {
			g.blocks = append(g.blocks, loaded{b, r.tables})
			g.number(b)
			return g.ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	// The first place of each trace, which becomes the end of its places.
	ends, sum := g.counts, int32(0)
	for i, n := range g.counts {
		ends[i] = sum
		sum += n
	}
	g.sorted = slices.Grow(g.sorted[:0], len(g.places))[:len(g.places)]
	for _, p := range g.places {
		g.sorted[ends[p.trace]] = p
		ends[p.trace]++
	}
	slices.SortFunc(g.heads, func(a, b head) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), slices.Compare(a.id[:], b.id[:]), cmp.Compare(a.trace, b.trace))
	})
	for i := 0; i < len(g.heads); {
		if err := g.ctx.Err(); err != nil {
			return err
		}
		h := g.heads[i]
		next := i + 1
		if g.wanted != nil && !g.wanted(h.id) {
			i = next
			continue
		}
		for g.lone && next < len(g.heads) && g.heads[next].hash == h.hash {
			next++
		}
		if next-i > 1 { // what their order is, their content says
			if f := firsts[h.id]; f != nil {
				g.noteCut(h.id, g.sorted[:next-i], f.seen)
			}
			var ties []*Trace
			for _, h := range g.heads[i:next] {
				passing := g.passing
				g.passing = false // they are held until they are sorted
				ties = append(ties, g.trace(h.id, g.placesOf(h.trace)))
				g.passing = passing
			}
			sortTraces(ties)
			for _, t := range ties {
				if err := g.visit(t); err != nil {
					return err
				}
			}
			i = next
			continue
		}
		places := g.placesOf(h.trace)
		if f := firsts[h.id]; f != nil {
			g.noteCut(h.id, places, f.seen)
		} else {
			places = g.first(h.id, places)
		}
		if err := g.visit(g.trace(h.id, places)); err != nil {
			return err
		}
		i = next
	}
	return nil
}

// number notes the places of the records of the last block.
func (g *grouper) number(b []byte) {
	last := TraceID{}
	trace := int32(-1)
	for at := 0; at < len(b); {
		p, size := header(b[at:])
		if g.lone || trace < 0 || p.trace != last {
			known := false
			if trace, known = g.index[p.trace]; g.lone || !known {
				trace = int32(len(g.counts))
				g.index[p.trace] = trace
				g.counts = append(g.counts, 0)
				g.heads = append(g.heads, head{p.hash(), p.trace, trace})
			}
			last = p.trace
		}
		g.counts[trace]++
		g.places = append(g.places, place{int32(len(g.blocks) - 1), int32(at), trace})
		at += size
	}
}

func (g *grouper) placesOf(trace int32) []place {
	from := int32(0)
	if trace > 0 {
		from = g.counts[trace-1]
	}
	return g.sorted[from:g.counts[trace]]
}

// rest gives up all that refers to what was grouped, and keeps the memory.
func (g *grouper) rest() {
	g.ctx, g.visit, g.b, g.tables = nil, nil, nil, nil
	clear(g.blocks[:cap(g.blocks)])
	clear(g.room.spans[:cap(g.room.spans)])
	clear(g.attrs)
	clear(g.own)
}

func (g *grouper) at(p place) []byte { return g.blocks[p.block].data[p.offset:] }

// first cuts a trace to the most spans that are used: the first by start and id.
func (g *grouper) first(id TraceID, places []place) []place {
	if g.most == 0 || len(places) <= g.most {
		return places
	}
	f := newFirsts(g.most)
	for _, p := range places {
		at, _ := header(g.at(p))
		f.add(at)
	}
	places = slices.DeleteFunc(places, func(p place) bool {
		at, _ := header(g.at(p))
		return !f.take(at)
	})
	g.noteCut(id, places, f.seen)
	return places
}

func (g *grouper) noteCut(id TraceID, places []place, of int) {
	if len(places) >= of {
		return
	}
	var s Span
	g.span(g.at(places[0]), g.blocks[places[0].block].tables, &s)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut.Merge(Note{Code: TraceCut, Count: 1, Text: "of its " + itoa(of) + " spans the first " + itoa(len(places)) + " by start were used",
		Example: Place{File: strings.Clone(s.File), Position: s.Position, Trace: id}})
}

// trace assembles the trace of the records: they are sorted by what they begin with,
// and unpacked where they stay.
func (g *grouper) trace(id TraceID, places []place) *Trace {
	room := &g.room
	if g.passing {
		g.used = 0
	} else {
		room = new(assembly)
	}
	keys := room.open(len(places))
	for i, p := range places {
		keys[i] = packedKey(g.at(p))
		keys[i].at = int32(i)
	}
	origin := room.sort()
	for i := range keys {
		p := places[keys[i].at]
		g.span(g.at(p), g.blocks[p.block].tables, &room.spans[i])
		if !g.passing {
			room.spans[i].Alike = 0
		}
	}
	return room.build(id, 0, origin)
}
