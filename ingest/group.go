package ingest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// group collects the spans of each trace and assembles the traces. The sinks
// give up their records: what a partition held is free as soon as its traces
// stand.
func group(ctx context.Context, sinks []*sink, workers int) ([]*Trace, error) {
	var parts [partitions + 1][]*Trace
	var next atomic.Int64
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			var g grouper
			for ctx.Err() == nil {
				part := int(next.Add(1)) - 1
				if part >= len(parts) {
					return
				}
				for _, s := range sinks {
					g.runs = append(g.runs, s.packer.parts[part]...)
					s.packer.parts[part] = nil
				}
				if part < partitions {
					parts[part] = g.group(ctx)
				} else {
					parts[part] = g.loose(ctx)
				}
				clear(g.runs)
				g.runs = g.runs[:0]
			}
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	traces := slices.Concat(parts[:]...)
	sortTraces(traces)
	return traces, nil
}

// A grouper groups the records of one partition after the other. It keeps what
// it has room for.
type grouper struct {
	runs   []run
	index  map[TraceID]int32
	counts []int32
	sorted []place // of the records, those of a trace side by side
	spans  []Span
}

// A place says where a record lies.
type place struct{ run, index int32 }

// group assembles the traces of a partition, in no order: it numbers them and
// counts their spans, then puts the spans of each trace side by side.
func (g *grouper) group(ctx context.Context) []*Trace {
	if g.index == nil {
		g.index = make(map[TraceID]int32)
	}
	clear(g.index)
	g.counts = g.counts[:0]
	total := 0
	for _, run := range g.runs {
		total += len(run.records)
		for i := range run.records {
			r := &run.records[i]
			at, ok := g.index[r.trace]
			if !ok {
				at = int32(len(g.counts))
				g.index[r.trace] = at
				g.counts = append(g.counts, 0)
			}
			r.at = at
			g.counts[at]++
		}
	}
	ends := g.counts // first the beginning of each trace in g.sorted, then its end
	sum := int32(0)
	for i, n := range g.counts {
		ends[i] = sum
		sum += n
	}
	g.sorted = slices.Grow(g.sorted[:0], total)[:total]
	for k, run := range g.runs {
		for i := range run.records {
			at := &ends[run.records[i].at]
			g.sorted[*at] = place{int32(k), int32(i)}
			*at++
		}
	}
	traces := make([]*Trace, 0, len(ends))
	from := int32(0)
	for _, to := range ends {
		if ctx.Err() != nil {
			break
		}
		traces = append(traces, g.trace(g.sorted[from:to]))
		from = to
	}
	return traces
}

// loose makes each span a trace of its own.
func (g *grouper) loose(ctx context.Context) (traces []*Trace) {
	for k, run := range g.runs {
		for i := range run.records {
			if ctx.Err() != nil {
				return nil
			}
			traces = append(traces, g.trace([]place{{int32(k), int32(i)}}))
		}
	}
	return traces
}

// trace assembles the trace of the records.
func (g *grouper) trace(places []place) *Trace {
	g.spans = slices.Grow(g.spans[:0], len(places))[:len(places)]
	for i, p := range places {
		run := &g.runs[p.run]
		run.unpack(&run.records[p.index], &g.spans[i])
	}
	first := places[0]
	t := assemble(g.runs[first.run].records[first.index].trace, 0, g.spans)
	clear(g.spans)
	return t
}
