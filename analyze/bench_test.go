package analyze

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"overrun/ingest"
)

// benchTraces makes n traces of about 35 spans: three levels of services, each
// with calls in sequence and in parallel.
func benchTraces(n int) []*ingest.Trace {
	r := rand.New(rand.NewPCG(1, 2))
	resources := map[string]*ingest.Resource{}
	for i := range 8 {
		name := fmt.Sprintf("svc-%d", i)
		resources[name] = &ingest.Resource{Service: name, Attrs: []ingest.Attr{{Key: "host.name", Value: "host-" + name}}}
	}
	var traces []*ingest.Trace
	for t := range n {
		var spans []ingest.Span
		add := func(parent ingest.SpanID, kind ingest.Kind, service, name string, start, end time.Duration) ingest.SpanID {
			var id ingest.SpanID
			binary.BigEndian.PutUint64(id[:], uint64(len(spans)+1))
			spans = append(spans, ingest.Span{ID: id, ParentID: parent, Kind: kind, Name: name, Start: start, End: end, Resource: resources[service],
				Attrs: []ingest.Attr{{Key: "http.request.method", Value: "GET"}, {Key: "http.response.status_code", Value: "200"}}})
			return id
		}
		var serve func(parent ingest.SpanID, depth int, start time.Duration) time.Duration
		serve = func(parent ingest.SpanID, depth int, start time.Duration) time.Duration {
			service := fmt.Sprintf("svc-%d", r.IntN(8))
			at := len(spans)
			id := add(parent, ingest.Server, service, "GET /"+service, start, start)
			now := start + time.Duration(r.IntN(1e6))
			for range 3 {
				end := now + time.Duration(r.IntN(5e6))
				call := len(spans)
				client := add(id, ingest.Client, service, "GET", now, end)
				if depth > 0 {
					end = serve(client, depth-1, now+1e5) + 1e5
					spans[call].End = end
				}
				if r.IntN(2) == 0 {
					now = end
				}
				spans[at].End = max(spans[at].End, end+1e5)
			}
			return spans[at].End
		}
		serve(ingest.SpanID{}, 2, 0)
		var id ingest.TraceID
		binary.BigEndian.PutUint64(id[8:], uint64(t+1))
		traces = append(traces, ingest.NewTrace(id, 1792022400000000000, spans))
	}
	return traces
}

// reportSpans turns spans a run into spans a second.
func reportSpans(b *testing.B, traces []*ingest.Trace) {
	spans := 0
	for _, t := range traces {
		spans += len(t.Spans)
	}
	b.ReportMetric(float64(spans)*float64(b.N)/b.Elapsed().Seconds(), "spans/s")
}

// BenchmarkPath is the critical path and the attribution, without the rest, of traces that
// are at hand, as in a run each is when it has just been assembled.
func BenchmarkPath(b *testing.B) {
	traces := benchTraces(50)
	var parts []*traced
	for _, t := range traces {
		parts = append(parts, newTraced(t, &Options{}, newRecogniser(&builtIn), nil))
	}
	b.ReportAllocs()
	room := new(forestRoom)
	for b.Loop() {
		for _, t := range parts {
			f := newForest(t.nodes(), room)
			for _, r := range t.requests {
				if r.role == top {
					f.walk(r.entry, nil)
				}
				r.time = Time{}
			}
			t.attribute()
		}
	}
	reportSpans(b, traces)
}

// BenchmarkRun is the whole analysis of traces in memory.
func BenchmarkRun(b *testing.B) {
	traces := benchTraces(500)
	dump := &ingest.Dump{Traces: traces}
	b.ReportAllocs()
	for b.Loop() {
		Run(dump, Options{Deadline: 20 * time.Millisecond})
	}
	reportSpans(b, traces)
}

// BenchmarkSee is what telling parts, outcomes, attempts and deadlines
// costs; compare it with BenchmarkRun, and with the whole job in cmd.
func BenchmarkSee(b *testing.B) {
	traces := benchTraces(500)
	rec := newRecogniser(&builtIn)
	var parts []*traced
	for _, t := range traces {
		parts = append(parts, newTraced(t, &Options{}, rec, nil))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, t := range parts {
			t.told, t.toldLengths, t.notes = nil, nil, nil
			t.layOut()
			t.see()
		}
	}
	reportSpans(b, traces)
}

// BenchmarkReplay is one replay under a policy, without the analysis before it, and
// a sweep of 20 values; compare the first with BenchmarkRun, and the second with
// the first.
func BenchmarkReplay(b *testing.B) {
	traces := benchTraces(500)
	policy, err := ParsePolicy("bench", []byte("timeouts: deadline\ndependencies: [{callee: svc-1, required: false, ceiling: 3ms, minimum: 1ms}, {callee: svc-2, attempts: 2}]"))
	if err != nil {
		b.Fatal(err)
	}
	dump := &ingest.Dump{Traces: traces}
	a := Run(dump, Options{Deadline: 20 * time.Millisecond, Policy: policy})
	for _, c := range []struct {
		name string
		o    ReplayOptions
	}{
		{"one", ReplayOptions{}},
		{"sweep of 20", ReplayOptions{Sweep: &Sweep{Name: "svc-3", From: time.Millisecond, To: 20 * time.Millisecond, Step: time.Millisecond}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Replay(c.o); err != nil {
					b.Fatal(err)
				}
			}
			reportSpans(b, traces)
		})
	}
}
