package analyze

import (
	"context"
	"runtime"
	"slices"
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

// Watch is what ingest.Options.Watch has to be for RunSaved.
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

// loneSpan is when the span of a trace without an id starts, and its id.
func loneSpan(t *ingest.Trace) (start int64, id ingest.SpanID) {
	if t.ID != (ingest.TraceID{}) || len(t.Spans) == 0 {
		return 0, id
	}
	return t.Epoch + int64(t.Spans[0].Start), t.Spans[0].ID
}

// A crop is what the input yields besides requests.
type crop struct {
	files int
	bytes int64 // as read, before unpacking
	spans int64 // before duplicates are dropped
	start int64 // the earliest start, and the latest end, of spans that have both; Unix nanoseconds
	end   int64
	timed bool         // there are such spans
	notes ingest.Notes // about the input

	// Of the stored traces, with their notes among notes.
	traces  int
	moved   int           // traces in which a clock was moved
	largest time.Duration // the farthest that one was
}

// A harvester analyses traces one by one. It is for one goroutine.
type harvester struct {
	*Analysis
	crop
	spoken languages
	rec    *recogniser
	writer *requestWriter
}

// harvest analyses every trace by itself, on several goroutines, and returns its
// requests as they are stored, by part.
func (a *Analysis) harvest(ctx context.Context, from *source) ([]*ingest.Spool, *crop, error) {
	stored := make([]*ingest.Spool, from.parts)
	for i := range stored {
		stored[i] = a.spooler.NewSpool()
	}
	hands := make([]*harvester, a.workers())
	for i := range hands {
		hands[i] = &harvester{Analysis: a, spoken: languages{}, rec: newRecogniser(a.tables), writer: newRequestWriter(a.symbols)}
	}
	err := from.each(ctx, len(hands), func(worker, part int) error {
		h := hands[worker]
		err := from.part(ctx, part, func(t *ingest.Trace) error { return h.take(t, stored[part], !from.told) })
		from.drop(part)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	all := &crop{files: len(from.files), spans: from.spans, notes: from.notes()}
	for _, f := range from.files {
		all.bytes += f.Bytes
	}
	for _, h := range hands {
		if h.timed {
			all.widen(h.start, h.end)
		}
		a.languages.merge(h.spoken)
	}
	return stored, all, nil
}

func (a *Analysis) workers() int {
	if a.opts.Workers > 0 {
		return a.opts.Workers
	}
	return runtime.GOMAXPROCS(0)
}

// take analyses a trace and stores its requests.
func (h *harvester) take(t *ingest.Trace, to *ingest.Spool, notes bool) error {
	tr := newTraced(t, &h.opts, h.rec, h.links)
	h.span(t)
	h.spoken.meet(tr)
	head := tr.heading(notes)
	head.start, head.span = loneSpan(t)
	if h.opts.Pick != (Pick{}) {
		tr.requests = slices.DeleteFunc(tr.requests, func(r *request) bool { return !h.opts.Pick.picks(r) })
	}
	return to.Put(h.writer.trace(head, tr.requests))
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

// heading is what the trace is stored with. notes: with those that it came with.
func (t *traced) heading(notes bool) *heading {
	h := &heading{id: t.ID, rooted: t.rooted}
	for _, i := range t.order {
		h.torn = h.torn || t.orphan[i] && t.seen[i].part != entryPart
	}
	for _, m := range t.moved {
		if !m.beyond {
			h.moved = max(h.moved, m.amount, -m.amount)
		}
	}
	var all ingest.Notes
	if notes {
		all.AddTrace(t.Trace)
	}
	for _, n := range t.notes {
		s := &t.Spans[n.node]
		all.Add(n.code, ingest.Place{File: s.File, Position: s.Position, Trace: t.ID, Span: s.ID})
	}
	h.notes = all.List()
	return h
}

// look counts what the headings of stored traces say.
func (c *crop) look(h *heading) {
	c.traces++
	if h.moved > 0 {
		c.moved++
		c.largest = max(c.largest, h.moved)
	}
	for _, n := range h.notes {
		c.notes.Merge(n)
	}
	if h.apart {
		c.notes.Add(CutApart, ingest.Place{Trace: h.id})
	}
	if h.unknown {
		c.notes.Add(WorkUnknown, ingest.Place{Trace: h.id})
	}
}
