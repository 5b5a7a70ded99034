package ingest_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"overrun/ingest"
)

func ExampleRead() {
	dump := `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},
	  "scopeSpans":[{"spans":[
	    {"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"GET /cart","kind":2,
	     "startTimeUnixNano":"1795994844000000000","endTimeUnixNano":"1795994844012000000"},
	    {"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b175","parentSpanId":"eee19b7ec3c1b174","name":"GET","kind":3,
	     "startTimeUnixNano":"1795994844002000000","endTimeUnixNano":"1795994844009000000",
	     "attributes":[{"key":"server.address","value":{"stringValue":"stock"}}]}]}]}]}`
	d, err := ingest.Read(context.Background(), []string{"-"}, ingest.Options{Keep: []string{"server.address"}, Stdin: strings.NewReader(dump)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range d.Traces {
		for i := range t.Spans {
			s := &t.Spans[i]
			fmt.Printf("%s %q [%v, %v) parent %d, to %q\n", s.Resource.Service, s.Name, s.Start, s.End, s.Parent, s.Attr("server.address"))
		}
	}
	// Output:
	// shop "GET /cart" [0s, 12ms) parent -1, to ""
	// shop "GET" [2ms, 9ms) parent 0, to "stock"
}

func ExampleNewTrace() {
	shop := &ingest.Resource{Service: "shop"}
	t := ingest.NewTrace(ingest.TraceID{1}, 0, []ingest.Span{
		{ID: ingest.SpanID{2}, ParentID: ingest.SpanID{1}, Kind: ingest.Client, Name: "GET", Start: 2 * time.Millisecond, End: 9 * time.Millisecond, Resource: shop},
		{ID: ingest.SpanID{1}, Kind: ingest.Server, Name: "GET /cart", Start: 1 * time.Millisecond, End: 12 * time.Millisecond, Resource: shop},
	})
	fmt.Println(t.Spans[0].Name, t.Spans[1].Start, t.Spans[1].Parent, t.Check())
	// Output: GET /cart 1ms 0 []
}
