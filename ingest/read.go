package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// Read reads all spans of the files, folders and patterns; "-" is o.Stdin. The
// form of a file is told by its content. What the result holds does not depend
// on the order of the paths, nor on which file a span lies in, apart from
// Span.File and Span.Position.
//
// A bad span costs itself and leaves a note in the result. An error is
// returned if a path leads nowhere, if no file gave any span, or if ctx ended.
func Read(ctx context.Context, paths []string, o Options) (*Dump, error) {
	inputs, err := expand(paths)
	if err != nil {
		return nil, err
	}
	j := newJob(ctx, inputs, o)
	sinks := j.run()
	if err := cmp.Or(ctx.Err(), j.err); err != nil {
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
	d := &Dump{Files: make([]File, len(inputs))}
	for i, in := range inputs {
		d.Files[i] = File{Path: in.path, Bytes: j.bytes[i], Spans: j.found[i].spans}
		d.Spans += j.found[i].spans
	}
	if d.Traces, err = group(ctx, sinks, j.workers); err != nil {
		return nil, err
	}
	addTraceNotes(&j.notes, d.Traces)
	d.Notes = j.notes.List()
	return d, nil
}

func (f *found) add(g found) {
	f.spans += g.spans
	f.other += g.other
	if g.odd != "" && (f.odd == "" || g.oddAt < f.oddAt) {
		f.odd, f.oddAt = g.odd, g.oddAt
	}
}

// A job is one call of Read: one goroutine reads and cuts, workers decode.
type job struct {
	ctx      context.Context
	o        Options
	workers  int
	keep     *keeper
	inputs   []input
	units    chan unit
	shared   *resources
	notes    Notes // of the reading goroutine, later of all
	found    []found
	bytes    []int64 // read, by file
	read     int64   // in all
	total    int64
	err      error // what ends the run
	inFlight budget
	free     sync.Pool // of *[]byte
}

// maxInFlight is how many bytes may wait for a worker or be at one.
const maxInFlight = 64 << 20

func newJob(ctx context.Context, inputs []input, o Options) *job {
	j := &job{
		ctx: ctx, o: o, workers: o.Workers,
		keep:   newKeeper(o.Keep),
		inputs: inputs, shared: newResources(),
		found: make([]found, len(inputs)), bytes: make([]int64, len(inputs)),
	}
	if j.workers <= 0 {
		j.workers = runtime.GOMAXPROCS(0)
	}
	j.units = make(chan unit, 2*j.workers)
	j.inFlight.init()
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
		w := &worker{job: j, sink: newSink(j.keep, j.shared, len(j.inputs))}
		sinks[i] = w.sink
		running.Go(w.run)
	}
	for i := range j.inputs {
		if j.ctx.Err() != nil || j.err != nil {
			break
		}
		j.found[i].refused = j.readFile(i)
	}
	close(j.units)
	running.Wait()
	j.progress()
	for _, s := range sinks {
		s.full = append(s.full, s.records)
	}
	return sinks
}

// readFile reads one input. It returns what the input is if it is no dump, else
// "". A named file that cannot be opened ends the run.
func (j *job) readFile(index int) (refused string) {
	in := j.inputs[index]
	r, err := in.open(j.o.Stdin)
	if err != nil {
		if in.named {
			j.err = err
		}
		return strings.TrimPrefix(err.Error(), in.path+": ")
	}
	defer r.Close()
	counted := &countingReader{job: j, r: r, index: index}
	f := &source{job: j, index: index, path: in.path, r: bufio.NewReaderSize(counted, headSize)}
	defer func() {
		for _, c := range f.closers {
			c()
		}
	}()
	inside := ""
	for range maxWrappings {
		head, err := f.r.Peek(headSize)
		if len(head) == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				return inside + shortError(err)
			}
			return inside + empty
		}
		s := tell(head)
		switch {
		case s == nil:
			return inside + describe(head)
		case s.refuse != "":
			return inside + s.refuse
		case s.read != nil:
			s.read(f)
			return ""
		}
		if err := s.unwrap(f); err != nil {
			return inside + s.name + ": " + shortError(err)
		}
		inside += "in " + s.name + ": "
	}
	return fmt.Sprintf("wrapped more than %d times", maxWrappings)
}

const empty = "empty"

// judge turns files without spans into notes, or into the error if there is no
// span at all.
func (j *job) judge() error {
	spans, first := int64(0), ""
	for i, in := range j.inputs {
		f := &j.found[i]
		spans += f.spans
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
	case len(j.inputs) == 1:
		return errors.New(first)
	}
	return fmt.Errorf("no spans in %d files; the first: %s", len(j.inputs), first)
}

// send hands a unit to the workers, once there is room.
func (f *source) send(u unit) {
	u.file = f.index
	f.inFlight.take(cap(u.data))
	select {
	case f.units <- u:
	case <-f.ctx.Done():
		f.inFlight.give(cap(u.data))
	}
	f.progress()
}

// buffer returns an empty buffer, used before if possible.
func (j *job) buffer() []byte {
	if b, ok := j.free.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return nil
}

func (j *job) progress() {
	if j.o.Progress != nil {
		j.o.Progress(j.read, j.total)
	}
}

// countingReader counts the bytes of one input, and ends when ctx does.
type countingReader struct {
	*job
	r     io.Reader
	index int
}

func (c *countingReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(b)
	c.bytes[c.index] += int64(n)
	c.job.read += int64(n)
	return n, err
}

// A budget bounds the bytes that are in flight. One unit is always let
// through, however large.
type budget struct {
	mu   sync.Mutex
	room *sync.Cond
	used int
}

func (b *budget) init() { b.room = sync.NewCond(&b.mu) }

func (b *budget) take(n int) {
	b.mu.Lock()
	for b.used > 0 && b.used+n > maxInFlight {
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

// A worker decodes units.
type worker struct {
	*job
	*sink
	zstd  *zstd.Decoder
	frame []byte // unpacked message
	json  *jsonText
	proto *protoBytes
}

func (w *worker) run() {
	w.json = &jsonText{sink: w.sink}
	w.proto = &protoBytes{sink: w.sink}
	for u := range w.units {
		if w.ctx.Err() == nil {
			w.file, w.index = w.inputs[u.file].path, u.file
			u.decode(w, u)
			w.flush()
		}
		w.inFlight.give(cap(u.data))
		if cap(u.data) <= 2*wideBlock {
			w.free.Put(&u.data)
		}
	}
	if w.zstd != nil {
		w.zstd.Close()
	}
}

// text decodes a run of JSON values.
func (w *worker) text(u unit) {
	inside := w.json.decode(u.data, u.base, u.tail)
	if !inside && u.tail != "" && u.tail != endOfInput && u.tail != tooLong {
		w.cutOff(u.base+int64(len(u.data)), 0, u.tail)
	}
}

// chain decodes messages with their length in front. The last may be cut off.
func (w *worker) chain(u unit) {
	data := u.data
	for at := 0; at < len(data); {
		base := u.base + int64(at)
		if len(data)-at < 4 {
			w.cutOff(base, int64(len(data)-at), u.tail)
			return
		}
		size := int(binary.BigEndian.Uint32(data[at:]))
		at += 4
		if at+size > len(data) {
			w.message(data[at:], base+4, u.tail)
			return
		}
		w.message(data[at:at+size], base+4, "")
		w.flush()
		at += size
	}
	if u.tail != "" && u.tail != endOfInput {
		w.cutOff(u.base+int64(len(data)), 0, u.tail)
	}
}

// message decodes one message, which is protobuf or JSON, in a zstd frame or
// not. For one in a frame, positions are the offset of the frame in the
// content of the file plus the offset inside what was in the frame.
func (w *worker) message(b []byte, base int64, tail string) {
	if bytes.HasPrefix(b, zstdMagic) {
		why := w.unframe(b)
		if why != "" && tail == "" {
			tail = why
		}
		b = w.frame
	}
	if len(b) > 0 && (b[0] == '{' || b[0] == '[') {
		if tail == "" {
			// The message ends here even if the file does not.
			tail = endOfInput
		}
		if inside := w.json.decode(b, base, tail); !inside && tail != endOfInput {
			w.cutOff(base+int64(len(b)), 0, tail)
		}
		return
	}
	w.protobuf(b, base, tail)
}

// protobuf decodes one message and notes what is missing at its end.
func (w *worker) protobuf(b []byte, base int64, tail string) {
	why, from, to := w.proto.decode(b, base, tail != "")
	switch {
	case why == endOfInput && tail != "":
		w.cutOff(from, to-from, tail)
	case why != "":
		w.unreadable(from, to-from, why)
	case tail != "":
		w.cutOff(base+int64(len(b)), 0, tail)
	}
}

// bare decodes a run of fields of TracesData.
func (w *worker) bare(u unit) {
	tail := u.tail
	if tail == endOfInput {
		// Only if the last field has no end was the input cut off.
		if why, from, to := w.proto.decode(u.data, u.base, true); why == endOfInput {
			w.cutOff(from, to-from, tail)
		} else if why != "" {
			w.unreadable(from, to-from, why)
		}
		return
	}
	w.protobuf(u.data, u.base, tail)
}

// group collects the spans of each trace and assembles the traces.
func group(ctx context.Context, sinks []*sink, workers int) ([]*Trace, error) {
	var runs [][]record
	total := 0
	for _, s := range sinks {
		runs = append(runs, s.full...)
	}
	index := make(map[TraceID]int32)
	var ids []TraceID
	var counts []int
	var loose []*Span // without a trace id
	for _, run := range runs {
		total += len(run)
		for i := range run {
			id := run[i].trace
			if id == (TraceID{}) {
				loose = append(loose, &run[i].span)
				continue
			}
			at, ok := index[id]
			if !ok {
				at = int32(len(ids))
				index[id] = at
				ids = append(ids, id)
				counts = append(counts, 0)
			}
			counts[at]++
		}
	}
	room := make([]*Span, total-len(loose))
	byTrace := make([][]*Span, len(ids))
	for i, n := range counts {
		byTrace[i], room = room[:0:n], room[n:]
	}
	for _, run := range runs {
		for i := range run {
			if id := run[i].trace; id != (TraceID{}) {
				at := index[id]
				byTrace[at] = append(byTrace[at], &run[i].span)
			}
		}
	}
	return assembleAll(ctx, ids, byTrace, loose, workers)
}

// assembleAll assembles the traces in parallel and sorts them.
func assembleAll(ctx context.Context, ids []TraceID, byTrace [][]*Span, loose []*Span, workers int) ([]*Trace, error) {
	traces := make([]*Trace, len(ids)+len(loose))
	var at atomic.Int64
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for ctx.Err() == nil {
				i := int(at.Add(1)) - 1
				switch {
				case i < len(ids):
					traces[i] = assemble(ids[i], 0, byTrace[i])
				case i < len(traces):
					traces[i] = assemble(TraceID{}, 0, loose[i-len(ids):i-len(ids)+1])
				default:
					return
				}
			}
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sortTraces(traces)
	return traces, nil
}
