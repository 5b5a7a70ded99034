package analyze

import (
	"context"
	"runtime"
	"time"

	"overrun/ingest"
)

// A source gives the traces that are analysed, part by part.
type source struct {
	files []ingest.File
	spans int64
	parts int
	each  func(ctx context.Context, workers int, do func(worker, part int) error) error
	part  func(ctx context.Context, part int, visit func(*ingest.Trace) error) error
	drop  func(part int)
	setup bool                // there may be connection setups as traces of their own
	notes func() ingest.Notes // about the input
	told  bool                // notes count those of traces as well
}

// setupName is how the spans of connection setups begin that .NET writes as traces of
// their own.
const setupName = "HTTP connection_setup "

// Watch is what ingest.Options.Watch has to be for RunStore.
const Watch = setupName

// stocked gives the traces of a store.
func stocked(s *ingest.Store, drop bool) *source {
	from := &source{files: s.Files, spans: s.Spans, parts: s.Parts(), each: s.Each, part: s.Part, drop: func(int) {}, setup: s.Watched}
	if drop {
		from.drop = s.Drop
	}
	from.notes = func() (notes ingest.Notes) {
		for _, n := range s.Notes {
			notes.Merge(n)
		}
		if n, ok := s.CutTraces(); ok {
			notes.Merge(n)
		}
		return notes
	}
	return from
}

// dumped gives the traces of a dump, in its order.
func dumped(d *ingest.Dump) *source {
	const size = 64 // traces of a part
	from := &source{files: d.Files, spans: d.Spans, parts: (len(d.Traces) + size - 1) / size, drop: func(int) {}, setup: true, told: true}
	from.part = func(_ context.Context, part int, visit func(*ingest.Trace) error) error {
		for _, t := range d.Traces[part*size : min((part+1)*size, len(d.Traces))] {
			if err := visit(t); err != nil {
				return err
			}
		}
		return nil
	}
	from.each = func(ctx context.Context, workers int, do func(worker, part int) error) error {
		return ingest.Each(ctx, workers, from.parts, do)
	}
	from.notes = func() (notes ingest.Notes) {
		for _, n := range d.Notes {
			notes.Merge(n)
		}
		return notes
	}
	return from
}

// A crop is what all traces yield together, besides requests.
type crop struct {
	from    *source
	traces  int
	moved   int           // traces in which a clock was moved
	largest time.Duration // the farthest that one was
	start   int64         // the earliest start, and the latest end, of spans that have both; Unix nanoseconds
	end     int64
	timed   bool // there are such spans
	notes   ingest.Notes
	met     callees
	spoken  languages
}

// A harvester analyses traces one by one. It is for one goroutine.
type harvester struct {
	*Analysis
	crop
	rec    *recogniser
	writer *requestWriter
}

// harvest analyses every trace by itself, on several goroutines, and stores its
// requests.
func (a *Analysis) harvest(ctx context.Context, from *source) (*crop, error) {
	workers := a.opts.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	a.stored = make([]*ingest.Spool, from.parts)
	for i := range a.stored {
		a.stored[i] = a.spooler.NewSpool()
	}
	hands := make([]*harvester, workers)
	for i := range hands {
		hands[i] = &harvester{Analysis: a, crop: crop{met: newCallees(), spoken: languages{}}, rec: newRecogniser(a.tables), writer: newRequestWriter(a.symbols)}
	}
	err := from.each(ctx, workers, func(worker, part int) error {
		h := hands[worker]
		err := from.part(ctx, part, func(t *ingest.Trace) error { return h.take(t, a.stored[part], !from.told) })
		from.drop(part)
		return err
	})
	if err != nil {
		return nil, err
	}
	all := &crop{from: from, notes: from.notes()}
	for _, h := range hands {
		all.merge(&h.crop)
		a.callees.merge(h.met)
		a.languages.merge(h.spoken)
	}
	return all, nil
}

// take analyses a trace and stores its requests.
func (h *harvester) take(t *ingest.Trace, to *ingest.Spool, notes bool) error {
	tr := newTraced(t, &h.opts, h.rec, h.links)
	h.traces++
	if notes {
		h.notes.AddTrace(t)
	}
	h.span(t)
	h.spoken.meet(t)
	h.look(tr)
	for _, r := range tr.requests {
		if !h.opts.Pick.picks(r) {
			continue
		}
		h.met.meet(r)
		if err := to.Put(h.writer.request(r)); err != nil {
			return err
		}
	}
	return nil
}

// span widens the time that the spans take up.
func (c *crop) span(t *ingest.Trace) {
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Defect&(ingest.NoStart|ingest.NoEnd) == 0 {
			c.widen(t.Epoch+int64(s.Start), t.Epoch+int64(s.End))
		}
	}
}

func (c *crop) widen(start, end int64) {
	if !c.timed {
		c.start, c.end, c.timed = start, end, true
	}
	c.start, c.end = min(c.start, start), max(c.end, end)
}

// look counts moved clocks and the notes of the analysis.
func (c *crop) look(t *traced) {
	farthest := time.Duration(0)
	for _, m := range t.moved {
		if !m.beyond {
			farthest = max(farthest, m.amount, -m.amount)
		}
	}
	if farthest > 0 {
		c.moved++
		c.largest = max(c.largest, farthest)
	}
	for _, n := range t.notes {
		s := &t.Spans[n.node]
		c.notes.Add(n.code, ingest.Place{File: s.File, Position: s.Position, Trace: t.ID, Span: s.ID})
	}
}

func (c *crop) merge(d *crop) {
	c.traces += d.traces
	c.moved += d.moved
	c.largest = max(c.largest, d.largest)
	if d.timed {
		c.widen(d.start, d.end)
	}
	for _, n := range d.notes.List() {
		c.notes.Merge(n)
	}
}
