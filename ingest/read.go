package ingest

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Read reads all spans of the files, folders and patterns, whole into memory; "-"
// is o.Stdin. See Open.
func Read(ctx context.Context, paths []string, o Options) (*Dump, error) {
	s, err := Open(ctx, paths, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Dump(ctx)
}

// Dump assembles all traces of the store, whole in memory.
func (s *Store) Dump(ctx context.Context) (d *Dump, err error) {
	d = &Dump{Files: s.Files, Spans: s.Spans}
	if d.Traces, err = s.All(ctx); err != nil {
		return nil, err
	}
	var notes Notes
	for _, n := range s.Notes {
		notes.Merge(n)
	}
	if n, ok := s.CutTraces(); ok {
		notes.Merge(n)
	}
	for _, t := range d.Traces {
		notes.AddTrace(t)
	}
	d.Notes = notes.List()
	return d, nil
}

// Open reads all spans of the files, folders and patterns; "-" is o.Stdin. The
// form of a file is told by its content. What the store holds does not depend
// on the order of the paths, nor on which file a span lies in, apart from
// Span.File and Span.Position.
//
// A bad span costs itself and leaves a note. An error is returned if a path leads
// nowhere, if no file gave any span, if what does not fit into memory cannot be
// spilled, or if ctx ended.
func Open(ctx context.Context, paths []string, o Options) (store *Store, err error) {
	inputs, err := expand(paths)
	if err != nil {
		return nil, err
	}
	if o.Aside != nil {
		inputs = slices.DeleteFunc(inputs, func(in input) bool { return o.Aside(in.path) })
	}
	j := newJob(ctx, inputs, o)
	defer func() {
		if err != nil {
			err = errors.Join(err, j.spooler.Close())
		}
	}()
	sinks := j.run()
	if err := cmp.Or(ctx.Err(), j.err, j.spooler.Err()); err != nil {
		return nil, err
	}
	for _, s := range sinks {
		for i := range s.found {
			j.found[i].add(s.found[i])
		}
		for _, n := range s.notes.List() {
			j.notes.Merge(n)
		}
	}
	if err := j.judge(); err != nil {
		return nil, err
	}
	store = newStore(sinks, j.shared, j.spooler, o)
	store.Files = make([]File, len(inputs))
	for i, in := range inputs {
		store.Files[i] = File{Path: in.path, Bytes: j.bytes[i], Spans: j.found[i].spans}
		store.Spans += j.found[i].spans
	}
	store.Notes = j.notes.List()
	return store, nil
}

func (f *found) add(g found) {
	f.spans += g.spans
	f.other += g.other
	f.lists += g.lists
	f.ends = max(f.ends, g.ends)
	f.cutOff = f.cutOff || g.cutOff
	if g.odd != "" && (f.odd == "" || g.saysMore(f)) {
		f.odd, f.oddAt, f.says = g.odd, g.oddAt, g.says
	}
}

// saysMore reports whether what is odd in g is to be told, and not that in f.
func (g *found) saysMore(f *found) bool {
	if g.says != f.says {
		return g.says > f.says
	}
	return g.oddAt < f.oddAt || g.oddAt == f.oddAt && g.odd < f.odd
}

// A job is one call of Read: some goroutines read and cut, workers decode.
type job struct {
	ctx      context.Context
	o        Options
	workers  int
	inputs   []input
	units    chan unit
	shared   *resources
	spooler  *Spooler
	notes    Notes // of the readings, later of all
	found    []found
	bytes    []int64      // read, by file
	done     atomic.Int64 // bytes read, in all
	total    int64
	largest  int          // value or message that is held in memory, bytes
	spans    atomic.Int64 // decoded, by workers
	err      error        // what ends the run
	inFlight budget
	free     buffers
	wideOne  sync.Mutex              // of the reading that is wide, see widen
	told     sync.Mutex              // held while o.Progress is called
	tell     func(head []byte) *sign // the function tell, which the readers in its table cannot name
}

// inFlightEach is how many bytes may be on the way to each worker, or at it; in all a 16th
// of Options.Memory if that is less. Lines of 8 MB are normal: while one is decoded, the
// next is read.
const inFlightEach = 12 << 20

func newJob(ctx context.Context, inputs []input, o Options) *job {
	j := &job{
		ctx: ctx, o: o, workers: o.Workers,
		inputs: inputs, shared: newResources(), tell: tell, spooler: NewSpooler(o.Memory/4, o.Temp),
		found: make([]found, len(inputs)), bytes: make([]int64, len(inputs)),
	}
	if j.workers <= 0 {
		j.workers = runtime.GOMAXPROCS(0)
	}
	j.units = make(chan unit, 2*j.workers)
	most := j.workers * inFlightEach
	if o.Memory > 0 {
		most = int(min(int64(most), o.Memory/16))
	}
	j.largest = maxValue
	if o.Memory > 0 {
		j.largest = int(min(maxValue, max(o.Memory/8, 1<<20)))
	}
	j.inFlight.init(most)
	j.free.most = 2 * most // all that were in flight, the one being filled, and what it left over
	for _, in := range inputs {
		if in.path != "-" {
			j.total += in.size
			continue
		}
		j.total = 0
		break
	}
	return j
}

// run reads everything and returns what each worker found.
func (j *job) run() []*sink {
	sinks := make([]*sink, j.workers)
	var running sync.WaitGroup
	for i := range sinks {
		w := &worker{job: j, sink: newSink(j.o, j.shared, j.spooler, len(j.inputs))}
		sinks[i] = w.sink
		running.Go(w.run)
	}
	j.readAll()
	close(j.units)
	running.Wait()
	j.progress()
	for _, s := range sinks {
		s.flush()
		s.records = nil
	}
	return sinks
}

// read reads the input. It returns what the input is if it is no dump, else "".
// A named file that cannot be opened ends the run.
func (r *reading) read() (refused string) {
	in := r.inputs[r.index]
	content, err := in.open(r.o.Stdin)
	if err != nil {
		if in.named {
			r.err = err
		}
		return strings.TrimPrefix(err.Error(), in.path+": ")
	}
	defer content.Close()
	counted := &countingReader{reading: r, r: content}
	f := &source{reading: r, path: in.path, r: bufio.NewReaderSize(counted, headSize), meter: new(meter)}
	if file, ok := content.(*os.File); ok && in.size > 0 {
		f.disk, f.size = file, in.size
	}
	defer f.close()
	return f.take(0)
}

const empty = "empty"

// A NoSpansError is the error of an input that can be read and holds no span. Its text says what was
// found instead.
type NoSpansError struct{ text string }

func (e *NoSpansError) Error() string { return e.text }

// judge notes lists that were cut off between their values. It turns files without spans into
// notes, or into the error if there is no span at all.
func (j *job) judge() error {
	spans, first := int64(0), ""
	for i, in := range j.inputs {
		f := &j.found[i]
		spans += f.spans
		if f.lists > 0 && !f.cutOff {
			j.notes.Merge(Note{Code: Truncated, Count: 1, Text: "a list without an end", Example: Place{File: in.path, Position: f.ends}})
		}
		if f.spans > 0 {
			continue
		}
		n := Note{Code: EmptyFile, Count: 1, Text: f.odd, Example: Place{File: in.path}}
		switch {
		case strings.HasSuffix(f.refused, empty):
			n.Text = f.refused
		case f.refused != "":
			n.Code, n.Text, n.Bytes = Unreadable, f.refused, j.bytes[i]
		case n.Text != "":
		case f.other > 0:
			n.Text = "logs, metrics or profiles, and no spans"
		default:
			n.Text = "no spans"
		}
		if first == "" {
			first = in.path + ": " + n.Text
		}
		j.notes.Merge(n)
	}
	switch {
	case spans > 0:
		return nil
	case len(j.inputs) == 0:
		return errors.New("no input named")
	case len(j.inputs) == 1:
		return &NoSpansError{first}
	}
	return &NoSpansError{fmt.Sprintf("no spans in %d files; the first: %s", len(j.inputs), first)}
}

// send hands a unit to the workers, once there is room.
func (f *source) send(u unit) {
	u.file, u.path = f.index, f.path
	f.inFlight.take(cap(u.data))
	f.narrow()
	select {
	case f.units <- u:
	case <-f.ctx.Done():
		f.inFlight.give(cap(u.data))
	}
	f.progress()
}

func (j *job) progress() {
	if j.o.Progress != nil {
		j.told.Lock()
		defer j.told.Unlock()
		j.o.Progress(Progress{Read: j.done.Load(), Total: j.total, Spans: j.spans.Load()})
	}
}

// countingReader counts the bytes of one input, and ends when ctx does.
type countingReader struct {
	*reading
	r io.Reader
}

func (c *countingReader) Read(b []byte) (int, error) {
	if err := cmp.Or(c.ctx.Err(), c.spooler.Err()); err != nil {
		return 0, err
	}
	n, err := c.r.Read(b)
	c.bytes[c.index] += int64(n)
	c.done.Add(int64(n))
	return n, err
}

// A budget bounds the bytes that are in flight. One unit is always let
// through, however large.
type budget struct {
	turn sync.Mutex // held by the one that waits for room: small units do not overtake a large one
	mu   sync.Mutex
	room *sync.Cond
	used int
	most int
}

func (b *budget) init(most int) { b.room, b.most = sync.NewCond(&b.mu), most }

func (b *budget) take(n int) {
	b.turn.Lock()
	defer b.turn.Unlock()
	b.mu.Lock()
	for b.used > 0 && b.used+n > b.most {
		b.room.Wait()
	}
	b.used += n
	b.mu.Unlock()
}

func (b *budget) give(n int) {
	b.mu.Lock()
	b.used -= n
	b.room.Signal()
	b.mu.Unlock()
}
