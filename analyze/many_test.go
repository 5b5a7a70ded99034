package analyze

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"overrun/ingest"
)

// Tens of thousands of spans of one kind beside each other, or of events in one span, take about
// as long for each as a few do: where each were held against each other, this would run for minutes.

const many = 40_000

// besideEachOther is a trace of a request of web that lasts a second and has n spans under it.
func besideEachOther(n int, span func(i int) ingest.Span) *ingest.Dump {
	service := &ingest.Resource{Service: "web"}
	spans := []ingest.Span{{ID: ingest.SpanID{0xff}, Name: "GET /", Kind: ingest.Server, End: time.Second, Resource: service}}
	for i := range n {
		s := span(i)
		s.ID, s.ParentID, s.Resource = ingest.SpanID{1, byte(i >> 16), byte(i >> 8), byte(i)}, spans[0].ID, service
		spans = append(spans, s)
	}
	return &ingest.Dump{Traces: []*ingest.Trace{ingest.NewTrace(ingest.TraceID{1}, 0, spans)}, Spans: int64(len(spans))}
}

// callsAndAttempts counts calls and attempts.
func callsAndAttempts(d *ingest.Dump) string {
	calls, attempts := 0, 0
	for _, dep := range Run(d, Options{}).Report.Dependencies {
		calls, attempts = calls+dep.Calls, attempts+dep.Attempts
	}
	return fmt.Sprint(calls, " calls, ", attempts, " attempts")
}

func TestManySiblings(t *testing.T) {
	const us = time.Microsecond
	call := func(start, end time.Duration, attrs ...ingest.Attr) ingest.Span {
		attrs = append([]ingest.Attr{{Key: "http.request.method", Value: "GET"}}, attrs...)
		return ingest.Span{Name: "GET", Kind: ingest.Client, Start: start, End: end, Attrs: append(attrs, ingest.Attr{Key: "server.address", Value: "b"})}
	}
	t.Run("each was sent again once", func(t *testing.T) {
		d := besideEachOther(many, func(i int) ingest.Span {
			at := time.Duration(i) * us
			if i < many/2 {
				s := call(at, at+300*us)
				s.Status = ingest.Error
				return s
			}
			return call(at, at+300*us, ingest.Attr{Key: "http.request.resend_count", Value: "1"})
		})
		want(t, "tally", callsAndAttempts(d), fmt.Sprint(many/2, " calls, ", many, " attempts"))
	})
	t.Run("refused at once, side by side", func(t *testing.T) {
		d := besideEachOther(many, func(i int) ingest.Span {
			s := call(0, 500*us, ingest.Attr{Key: "error.type", Value: "ECONNREFUSED"})
			s.Status = ingest.Error
			return s
		})
		want(t, "tally", callsAndAttempts(d), fmt.Sprint(many, " calls, ", many, " attempts"))
	})
	t.Run("waits for a pool, all over at once", func(t *testing.T) {
		d := besideEachOther(many, func(i int) ingest.Span {
			attrs := []ingest.Attr{{Key: "db.system.name", Value: "postgresql"}}
			if i%2 == 0 {
				return ingest.Span{Name: "pg-pool.connect", Kind: ingest.Client, End: time.Millisecond, Attrs: attrs}
			}
			return ingest.Span{Name: "pg.query:SELECT", Kind: ingest.Client, Start: time.Millisecond, End: 5 * time.Millisecond, Attrs: attrs}
		})
		want(t, "tally", callsAndAttempts(d), fmt.Sprint(many/2, " calls, ", many/2, " attempts"))
	})
}

func TestManyEvents(t *testing.T) {
	for name, events := range map[string][2]string{
		"each begun phase ends": {"http.dns.start", "http.dns.done"},
		"none does":             {"http.dns.start", "http.dns.start"},
		"all connect":           {"http.getconn.start", "http.getconn.done"},
	} {
		t.Run(name, func(t *testing.T) {
			d := besideEachOther(1, func(int) ingest.Span {
				s := ingest.Span{Name: "GET", Kind: ingest.Client, End: time.Second, Attrs: []ingest.Attr{{Key: "http.request.method", Value: "GET"}, {Key: "server.address", Value: "b"}}}
				for i := range many {
					s.Events = append(s.Events, ingest.Event{Name: events[i%2], At: time.Duration(i) * time.Microsecond})
				}
				return s
			})
			want(t, "tally", callsAndAttempts(d), "1 calls, 1 attempts")
		})
	}
}

// A call of a donor waits for what the calls before it waited for, where none of those
// is here: each of them is asked once, though there are 10^11 ways back to the first.
func TestDonorsOfManyLayers(t *testing.T) {
	const layers, wide = 12, 10
	donor := &record{gap: 3}
	for n := range int32(layers * wide) {
		layer := n / wide
		donor.predAt = append(donor.predAt, int32(len(donor.preds)))
		for k := range wide * min(layer, 1) {
			donor.preds = append(donor.preds, (layer-1)*wide+k)
		}
		donor.pieces = append(donor.pieces, piece{node: n, gap: 5, start: time.Duration(100 * layer), length: 90})
	}
	donor.predAt = append(donor.predAt, int32(len(donor.preds)), int32(len(donor.preds)))
	here := &record{predAt: []int32{0, 0, 1}, preds: []int32{0}, pieces: []piece{{node: 0, start: 5, length: 20}}, gap: 7}
	last := int32(layers*wide - 1)
	e := here.extend(donor, func(n int32) bool { return n == last }, false)
	// Of the first layer one call is here, and ends at 25; the new one begins 5 later.
	if got := e.pieces[1]; len(e.pieces) != 2 || got.node != last || got.start != 30 || !slices.Equal(e.of(1), []int32{0}) {
		t.Errorf("%+v after %v, want node %d from 30 on, after the first", got, e.of(1), last)
	}
}

// Chains are found until there are as many as are listed, of the 40^8 here.
func TestAmplifiedOfManyLayers(t *testing.T) {
	var s Suggestion
	for layer := range maxLevels {
		for from := range 40 {
			for to := range 40 {
				d := &SuggestedDependency{Attempt: 2}
				d.Caller, d.Callee = fmt.Sprint(layer, " ", from), fmt.Sprint(layer+1, " ", to)
				s.Dependencies = append(s.Dependencies, d)
			}
		}
	}
	list := s.Amplified()
	if len(list) != maxChains {
		t.Fatalf("%d chains, want %d", len(list), maxChains)
	}
	for _, c := range list {
		if len(c.Path) != maxLevels || c.Attempts != 1<<maxLevels {
			t.Errorf("%d levels, %d attempts, want %d and 2^%d", len(c.Path), c.Attempts, maxLevels, maxLevels)
		}
	}
}
