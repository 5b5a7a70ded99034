package ingest

import (
	"context"
	"sync"
	"sync/atomic"
)

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
