package analyze

import (
	"fmt"
	"testing"

	"overrun/ingest"
)

func TestReadsOnly(t *testing.T) {
	for operation, want := range map[string]bool{
		"SELECT users": true, "select users, orders": true, "GET": true, "HGETALL": true, "find users": true, "GetItem sessions": true,
		"SELECT orders INSERT audit": false, "SELECT a INTO b": false, "INSERT users": false, "aggregate users": false, "query": false,
		"": false, "CALL close_month": false, "DEL": false, "SET": false, "WITH x": false, "GETDEL": false, "GETSET": false, "FIND_AND_MODIFY": false,
	} {
		if got := readsOnly(operation); got != want {
			t.Errorf("readsOnly(%q) = %t, want %t", operation, got, want)
		}
	}
}

// What a call speaks and whether it may be repeated, as real spans tell it.
func TestRepeatable(t *testing.T) {
	for _, row := range []struct {
		attrs, policy string
		transport     Transport
		safe          bool
		by            Basis
	}{
		{"a=http.request.method=GET a=url.template=/u", "", HTTP, true, BasisMethod},
		{"a=http.request.method=HEAD", "", HTTP, true, BasisMethod},
		{"a=http.request.method=POST a=url.template=/u", "", HTTP, false, BasisNone},
		{"a=http.request.method=PUT", "", HTTP, false, BasisNone},
		{"a=http.request.method=POST", "dependencies: [{safe: true}]", HTTP, true, BasisPolicy},
		{"a=http.request.method=GET", "dependencies: [{safe: false}]", HTTP, false, BasisPolicy},
		{"a=http.request.method=GET", "dependencies: [{ceiling: 1s}]", HTTP, true, BasisMethod},
		{"a=rpc.system=grpc a=rpc.service=shop.Prices a=rpc.method=Get", "", GRPC, false, BasisNone},
		{"a=db.system.name=postgresql a=db.query.summary=SELECT", "", OtherTransport, true, BasisRead},
		{"a=db.system.name=postgresql a=db.operation.name=DELETE", "", OtherTransport, false, BasisNone},
		{"", "", OtherTransport, false, BasisNone}, // named GET by its span alone
	} {
		dump := worked(t, "R - 0 50 k=SERVER s=web\nGET R 5 45 k=CLIENT s=web a=peer.service=b "+row.attrs+"\n")
		a := Run(dump, Options{Policy: policy(t, row.policy)})
		safe, by := a.deps[0].repeatable()
		if got := a.deps[0].protocols.transport(); got != row.transport || safe != row.safe || by != row.by {
			t.Errorf("%q under %q: %q, safe %t by %q, want %q, %t by %q", row.attrs, row.policy, got, safe, by, row.transport, row.safe, row.by)
		}
	}
}

func TestRepeatableOfAllCalls(t *testing.T) {
	// Both calls stand in the row "GET": one by its method, the other by nothing but
	// its name.
	a := Run(worked(t, `
R - 0 50 k=SERVER s=web
GET#1 R 5 20 k=CLIENT s=web a=peer.service=b a=http.request.method=GET
GET#2 R 25 45 k=CLIENT s=web a=peer.service=b
`), Options{})
	want(t, "rows", len(a.deps), 1)
	if safe, by := a.deps[0].repeatable(); safe || by != BasisNone {
		t.Errorf("safe %t by %q, want not", safe, by)
	}
	want(t, "transport", a.deps[0].protocols.transport(), OtherTransport)
}

func TestLanguages(t *testing.T) {
	trace := func(service, language string) *traced {
		r := &ingest.Resource{Service: service, Attrs: []ingest.Attr{{Key: "telemetry.sdk.language", Value: language}}}
		spans := []ingest.Span{{ID: ingest.SpanID{1}, Resource: r}, {ID: ingest.SpanID{2}, Resource: r}}
		return newTraced(ingest.NewTrace(ingest.TraceID{1}, 0, spans), &Options{}, newRecogniser(&builtIn), nil)
	}
	a, b := languages{}, languages{}
	a.meet(trace("card", "java"))
	a.meet(trace("web", "go"))
	b.meet(trace("card", "go"))
	b.meet(trace("card", ""))
	a.merge(b)
	want(t, "languages", a, languages{"card": {"", "go", "java"}, "web": {"go"}})
}

// Of too many services no language is told, whichever came first.
func TestManyServices(t *testing.T) {
	both := languages{}
	for worker := range 2 {
		l := languages{}
		for i := range maxServices {
			l.add(fmt.Sprint("svc-", i+worker), "go")
		}
		both.merge(l)
	}
	if len(both) != maxServices+1 {
		t.Errorf("%d services are held, want %d", len(both), maxServices+1)
	}
	both.forget()
	want(t, "languages", both, languages{})
	one := languages{"a": {"go"}}
	one.forget()
	want(t, "languages", one, languages{"a": {"go"}})
}
