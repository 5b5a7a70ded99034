package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"overrun/ingest"
)

// Lines come at fixed times of an injected clock; figures are worked out by
// hand.
func TestProgressLog(t *testing.T) {
	clock := time.Unix(1000, 0)
	var out strings.Builder
	l := &progressLog{pace: pace{now: func() time.Time { return clock }, start: clock}, to: &out, last: clock}
	for _, row := range []struct {
		after time.Duration // the start
		at    ingest.Progress
	}{
		{0, ingest.Progress{Read: 1, Total: 4e9, Spans: 0}},
		{9999 * time.Millisecond, ingest.Progress{Read: 9e8, Total: 4e9, Spans: 1}},
		{10 * time.Second, ingest.Progress{Read: 1e9, Total: 4e9, Spans: 1_234_560}},           // 3/4 left at 0.1 GB/s
		{11 * time.Second, ingest.Progress{Read: 1.1e9, Total: 4e9, Spans: 1_300_000}},         // too soon
		{20 * time.Second, ingest.Progress{Read: 3_960_396_040, Total: 4e9, Spans: 2_000_000}}, // 20 s * 1 %
		{40 * time.Second, ingest.Progress{Read: 4e9, Total: 4e9, Spans: 2_000_001}},
		{50 * time.Second, ingest.Progress{Read: 5e9, Total: 4e9, Spans: 1}}, // the file grew
		{100 * time.Second, ingest.Progress{Read: 999, Spans: 1}},            // from a pipe
		{110 * time.Second, ingest.Progress{Read: 0, Total: 45_600_000, Spans: 0}},
		{120 * time.Second, ingest.Progress{Read: 1, Total: 1e18, Spans: 0}}, // no sensible time
	} {
		clock = time.Unix(1000, 0).Add(row.after)
		l.tell(row.at)
	}
	want := `overrun: 1.00 GB of 4.00 GB (25 %), 1 234 560 spans, 123 456 spans/s, 30s left
overrun: 3.96 GB of 4.00 GB (99 %), 2 000 000 spans, 100 000 spans/s, 0s left
overrun: 4.00 GB of 4.00 GB (100 %), 2 000 001 spans, 50 000 spans/s, 0s left
overrun: 5.00 GB of 4.00 GB (125 %), 1 span, 0 spans/s
overrun: 999 B, 1 span, 0 spans/s
overrun: 0 B of 45.6 MB (0 %), 0 spans, 0 spans/s
overrun: 1 B of 1000.0 PB (0 %), 0 spans, 0 spans/s
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The bar shows bytes, spans/s and the time left.
func TestBar(t *testing.T) {
	clock := time.Unix(1000, 0)
	p := pace{now: func() time.Time { return clock.Add(10 * time.Second) }, start: clock}
	bar := newBar(io.Discard).SetWidth(120)
	p.show(bar, ingest.Progress{Read: 1e9, Total: 4e9, Spans: 1_234_560})
	for _, want := range []string{"1.00 GB / 4.00 GB", "25.00%", "1 234 560 spans, 123 456 spans/s, 30s left"} {
		if text := bar.String(); !strings.Contains(text, want) {
			t.Errorf("bar %q, want %q in it", text, want)
		}
	}
}
