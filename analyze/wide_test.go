package analyze

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"overrun/ingest"
)

// TestWideTraces: what is found about one request of very many calls, and what
// lies beside them, costs as many times more as there are more of them. Each form was
// once quadratic: 100 000 spans took minutes.
func TestWideTraces(t *testing.T) {
	if testing.Short() {
		t.Skip("measures time")
	}
	const us = time.Microsecond
	web, other := &ingest.Resource{Service: "web"}, &ingest.Resource{Service: "b"}
	attrs := func(status string) []ingest.Attr {
		return []ingest.Attr{{Key: "http.request.method", Value: "GET"}, {Key: "http.response.status_code", Value: status}, {Key: "server.address", Value: "b"}}
	}
	id := func(i int) (id ingest.SpanID) {
		binary.BigEndian.PutUint64(id[:], uint64(i))
		return id
	}
	call := func(i int, start, end time.Duration, status string) ingest.Span {
		return ingest.Span{ID: id(i), ParentID: id(1), Kind: ingest.Client, Name: "GET", Start: start, End: end, Resource: web, Attrs: attrs(status)}
	}
	for name, form := range map[string]func(n int) []ingest.Span{
		"calls that all start too late": func(n int) (spans []ingest.Span) {
			for i := range n {
				at := time.Duration(i) * us
				spans = append(spans, call(i+2, at, at+500*us, "200"))
			}
			return spans
		},
		"each call to a callee of its own": func(n int) (spans []ingest.Span) {
			for i := range n {
				at := time.Duration(i) * 40 * us
				spans = append(spans, call(i+2, at, at+30*us, "200"))
				spans[i].Attrs[2].Value = fmt.Sprint("b", i)
			}
			return spans
		},
		"every other call is a retry": func(n int) (spans []ingest.Span) {
			for i := range n {
				at := time.Duration(i) * 20 * us
				spans = append(spans, call(i+2, at, at+10*us, []string{"503", "200"}[i%2]))
			}
			return spans
		},
		"a phase beside every call": func(n int) (spans []ingest.Span) {
			for i := range n {
				at := time.Duration(i/2) * 40 * us
				if i%2 == 0 {
					spans = append(spans, call(i+2, at+10*us, at+20*us, "200"))
				} else {
					dns := call(i+2, at, at+10*us, "200")
					dns.Name = "dns.lookup"
					spans = append(spans, dns)
				}
			}
			return spans
		},
		"a callee without its caller beside every call": func(n int) (spans []ingest.Span) {
			for i := range n {
				at := time.Duration(i/2) * 40 * us
				if i%2 == 0 {
					spans = append(spans, call(i+2, at+10*us, at+20*us, "200"))
				} else {
					spans = append(spans, ingest.Span{ID: id(i + 2), ParentID: id(1<<40 + i), Kind: ingest.Server, Name: "GET /x",
						Start: at, End: at + 5*us, Resource: other, Attrs: attrs("200")})
				}
			}
			return spans
		},
	} {
		t.Run(name, func(t *testing.T) {
			const n, more, rounds, factor = 1000, 8, 30, 24
			dump := func(n int) *ingest.Dump {
				spans := form(n)
				root := call(1, 0, time.Duration(n)*50*us, "200")
				root.ParentID, root.Kind = ingest.SpanID{}, ingest.Server
				return &ingest.Dump{Traces: []*ingest.Trace{ingest.NewTrace(ingest.TraceID{15: 1}, shapeBase, append(spans, root))}}
			}
			small, large := dump(n), dump(more*n)
			a, b := time.Duration(1<<63-1), time.Duration(1<<63-1)
			measure := func(d *ingest.Dump, least *time.Duration) {
				runtime.GC()
				start := cpuTime(t)
				Run(d, Options{Deadline: 100 * us}).Views(d.Traces[0])
				*least = min(*least, cpuTime(t)-start)
			}
			// Linear work takes 8 times as long, quadratic 64 times in every round.
			for round := 0; round < 3 || round < rounds && b >= factor*a; round++ {
				measure(small, &a)
				measure(large, &b)
			}
			t.Logf("%d spans %v, %d spans %v: %.1f times", n, a, more*n, b, float64(b)/float64(a))
			if b >= factor*a {
				t.Errorf("%d spans took %v, %d spans %v: want less than %d times as long", n, a, more*n, b, factor)
			}
		})
	}
}
