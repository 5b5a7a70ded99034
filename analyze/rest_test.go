package analyze

import (
	"fmt"
	"testing"
	"time"

	"overrun/ingest"
)

// A dump with a service of its own in every trace has a row for all that are too
// many, and nothing is lost.
func TestManyRows(t *testing.T) {
	const traces = maxRows + 500
	dump := &ingest.Dump{Spans: 2 * traces}
	for i := range traces {
		service := &ingest.Resource{Service: fmt.Sprint("service-", i)}
		dump.Traces = append(dump.Traces, ingest.NewTrace(ingest.TraceID{byte(i), byte(i >> 8), byte(i >> 16), 1}, 1, []ingest.Span{
			{ID: ingest.SpanID{1}, Kind: ingest.Server, Name: "GET /", End: 3 * time.Millisecond, Resource: service},
			{ID: ingest.SpanID{2}, ParentID: ingest.SpanID{1}, Kind: ingest.Client, Name: "GET", Start: time.Millisecond, End: 2 * time.Millisecond,
				Resource: service, Attrs: []ingest.Attr{{Key: "server.address", Value: fmt.Sprint("callee-", i)}}},
		}))
	}
	r := Run(dump, Options{}).Report
	if len(r.Routes) != maxRows+1 || len(r.Dependencies) != maxRows+1 {
		t.Fatalf("%d routes and %d dependencies, want %d", len(r.Routes), len(r.Dependencies), maxRows+1)
	}
	requests, calls := 0, 0
	for _, route := range r.Routes {
		requests += route.Requests
		if route.Service == restOf && (route.Requests != 500 || len(route.Warnings) == 0 || route.Warnings[len(route.Warnings)-1] != ManyRows) {
			t.Errorf("the rest is %d requests, with warnings %v", route.Requests, route.Warnings)
		}
	}
	for _, d := range r.Dependencies {
		calls += d.Calls
	}
	if requests != traces || calls != traces {
		t.Errorf("%d requests and %d calls, want %d", requests, calls, traces)
	}
}

// What a caller does is counted over all its requests, those in the row for all the rest too:
// each makes one call. What share of its time that call held is not known: whose own work the
// row holds is not.
func TestCallersOfTheRest(t *testing.T) {
	const traces = maxRows + 500
	dump := &ingest.Dump{Spans: 2 * traces}
	service := &ingest.Resource{Service: "web"}
	for i := range traces {
		dump.Traces = append(dump.Traces, ingest.NewTrace(ingest.TraceID{byte(i), byte(i >> 8), byte(i >> 16), 1}, 1, []ingest.Span{
			{ID: ingest.SpanID{1}, Kind: ingest.Server, Name: fmt.Sprint("GET /", i), End: 3 * time.Millisecond, Resource: service},
			{ID: ingest.SpanID{2}, ParentID: ingest.SpanID{1}, Kind: ingest.Client, Name: "GET", Start: time.Millisecond, End: 2 * time.Millisecond,
				Resource: service, Attrs: []ingest.Attr{{Key: "server.address", Value: "db"}}},
		}))
	}
	a := Run(dump, Options{})
	want(t, "path share", a.Report.Dependencies[0].PathShare, (*float64)(nil))
	l, err := a.ledger()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range l.deps {
		each := d.perRequest.among(l.callers[callerKey{service: "web"}])
		want(t, "attempts of a request", each.mean(), 1)
		want(t, "requests", each.all.n, traces)
	}
}
