package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
	networking "istio.io/api/networking/v1"
	"pgregory.net/rapid"

	"overrun/analyze"
	"overrun/ingest"
)

// A testCall is a call to a dependency as its spans tell it, of requests that make one
// after the other.
type testCall struct {
	callee string
	attrs  []ingest.Attr
	took   time.Duration
	fails  int // of the first requests
}

func httpCall(callee, method, path string, took time.Duration, fails int) testCall {
	return testCall{callee, []ingest.Attr{{Key: "http.request.method", Value: method}, {Key: "url.template", Value: path}}, took, fails}
}

func grpcCall(callee, service, method string, took time.Duration, fails int) testCall {
	return testCall{callee, []ingest.Attr{{Key: "rpc.system", Value: "grpc"}, {Key: "rpc.service", Value: service}, {Key: "rpc.method", Value: method}}, took, fails}
}

// suggestionOf analyses n requests of card, whose SDK is of a language, that make the
// calls and then work for 20 ms.
func suggestionOf(t testing.TB, n int, language, policy string, calls ...testCall) *analyze.Suggestion {
	t.Helper()
	p, err := analyze.ParsePolicy("p.yaml", []byte(policy))
	if err != nil {
		t.Fatal(err)
	}
	return suggestionUnder(t, n, language, p, calls)
}

func suggestionUnder(t testing.TB, n int, language string, p *analyze.Policy, calls []testCall) *analyze.Suggestion {
	t.Helper()
	s, err := analyze.Run(callsDump(n, language, calls), analyze.Options{Policy: p, Hints: true}).Suggest()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func callsDump(n int, language string, calls []testCall) *ingest.Dump {
	dump := new(ingest.Dump)
	resource := &ingest.Resource{Service: "card", Attrs: []ingest.Attr{{Key: "telemetry.sdk.language", Value: language}}}
	for i := range n {
		at := time.Duration(0)
		spans := make([]ingest.Span, 1, 1+len(calls))
		for k, c := range calls {
			s := ingest.Span{ID: ingest.SpanID{7: byte(k + 2)}, ParentID: ingest.SpanID{7: 1}, Kind: ingest.Client, Name: "call", Resource: resource,
				Start: at, End: at + c.took, Attrs: append([]ingest.Attr{{Key: "peer.service", Value: c.callee}}, c.attrs...)}
			if i < c.fails {
				s.Status = ingest.Error
			}
			at += c.took
			spans = append(spans, s)
		}
		spans[0] = ingest.Span{ID: ingest.SpanID{7: 1}, Kind: ingest.Server, Name: "GET /card", Resource: resource, End: at + 20*time.Millisecond,
			Attrs: []ingest.Attr{{Key: "http.request.method", Value: "GET"}, {Key: "http.route", Value: "/card"}}}
		dump.Traces = append(dump.Traces, ingest.NewTrace(ingest.TraceID{0: 1, 14: byte(i >> 8), 15: byte(i)}, 1_792_022_400_000_000_000, spans))
	}
	return dump
}

// yamlDocuments reads documents of YAML as JSON.
func yamlDocuments(t testing.TB, text []byte) (list [][]byte) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var v any
		switch err := d.Decode(&v); {
		case err == io.EOF:
			return list
		case err != nil:
			t.Fatal(err)
		}
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, out)
	}
}

// envoyConfig reads what Envoy writes by Envoy's own schema, strictly.
func envoyConfig(t testing.TB, s *analyze.Suggestion) (*routev3.RouteConfiguration, string) {
	t.Helper()
	var b bytes.Buffer
	if err := Envoy(&b, s); err != nil {
		t.Fatal(err)
	}
	docs := yamlDocuments(t, b.Bytes())
	if len(docs) != 1 {
		t.Fatalf("%d documents, want 1", len(docs))
	}
	var c routev3.RouteConfiguration
	if err := protojson.Unmarshal(docs[0], &c); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	if err := c.ValidateAll(); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	return &c, b.String()
}

// istioRefuses lists what Istio's webhook says against a route, beyond its schema:
// validateHTTPRetry, ValidateDuration and ValidateFQDN of istio/istio,
// pkg/config/validation.
func istioRefuses(r *networking.HTTPRoute) (list []string) {
	duration := func(what string, d *durationpb.Duration) {
		switch {
		case d == nil:
		case d.AsDuration() < time.Millisecond:
			list = append(list, what+": duration must be greater than 1ms")
		case d.AsDuration()%time.Millisecond != 0:
			list = append(list, what+": only durations to ms precision are supported")
		}
	}
	duration("timeout", r.Timeout)
	if retry := r.Retries; retry != nil {
		duration("perTryTimeout", retry.PerTryTimeout)
		duration("backoff", retry.Backoff)
		if retry.Attempts == 0 && (retry.PerTryTimeout != nil || retry.RetryOn != "" || retry.RetryRemoteLocalities != nil || retry.Backoff != nil) {
			list = append(list, "http retry policy configured when attempts are set to 0 (disabled)")
		}
	}
	return list
}

// istioNames are names of hosts: labels of DNS (RFC 1123).
var istioNames = regexp.MustCompile(`^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?)*$`)

// istioConfig reads what Istio writes by Istio's own schema, strictly, and by the rules of its
// webhook.
func istioConfig(t testing.TB, s *analyze.Suggestion) (list []*networking.VirtualService, text string) {
	t.Helper()
	var b bytes.Buffer
	if err := Istio(&b, s); err != nil {
		t.Fatal(err)
	}
	for _, doc := range yamlDocuments(t, b.Bytes()) {
		var object struct {
			APIVersion, Kind string
			Metadata         struct{ Name string }
			Spec             json.RawMessage
		}
		d := json.NewDecoder(bytes.NewReader(doc))
		d.DisallowUnknownFields()
		if err := d.Decode(&object); err != nil {
			t.Fatal(err)
		}
		if object.APIVersion != "networking.istio.io/v1" || object.Kind != "VirtualService" || object.Metadata.Name == "" {
			t.Errorf("object is %s %s %q", object.APIVersion, object.Kind, object.Metadata.Name)
		}
		v := new(networking.VirtualService)
		if err := protojson.Unmarshal(object.Spec, v); err != nil {
			t.Fatalf("%v\n%s", err, doc)
		}
		for _, h := range v.Hosts {
			if !istioNames.MatchString(h) {
				t.Errorf("Istio refuses it: domain name %q invalid", h)
			}
		}
		for _, r := range v.Http {
			if refused := istioRefuses(r); refused != nil {
				t.Errorf("Istio refuses it: %q\n%s", refused, doc)
			}
		}
		list = append(list, v)
	}
	return list, b.String()
}

// grpcConfig reads what GRPC writes: by gRPC's own parser, which refuses bad configs,
// and strictly by the fields of service_config.proto that it holds.
func grpcConfig(t testing.TB, s *analyze.Suggestion) (*serviceConfig, []string) {
	t.Helper()
	var b bytes.Buffer
	notes, err := GRPC(&b, s)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(b.String()))
	if err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	conn.Close()
	c := new(serviceConfig)
	d := json.NewDecoder(&b)
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		t.Fatal(err)
	}
	return c, notes
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in\n%s", p, text)
		}
	}
}

const deployPolicy = `
deadlines: [{service: card, deadline: 300ms}]
dependencies:
- {callee: users, minimum: 10ms, ceiling: 40ms, safe: true, attempts: 3, retry: {base: 8ms, on: [unavailable, 503]}}
- {callee: orders, minimum: 20ms, ceiling: 500ms, attempts: 4}
- {callee: prices, minimum: 10ms, ceiling: 60ms}
`

func deployCalls() []testCall {
	return []testCall{
		httpCall("users", "GET", "/users/{id}", 10*ms, 0),
		httpCall("users", "GET", "/users/me", 10*ms, 0),
		httpCall("orders", "POST", "/orders", 20*ms, 0),
		grpcCall("prices", "shop.Prices", "Get", 10*ms, 0),
		{"redis", []ingest.Attr{{Key: "db.system.name", Value: "redis"}, {Key: "db.operation.name", Value: "GET"}}, 1 * ms, 0},
	}
}

// TestSplitOperation: which whole paths a template stands for.
func TestSplitOperation(t *testing.T) {
	for _, test := range []struct {
		operation, method string
		fits, not         string
	}{
		{"GET /users/{id}/orders", "GET", "/users/7/orders", "/users/7 /users/7/8/orders /users/7/orders/9"},
		{"/users/:id/a.b", "", "/users/7/a.b", "/users/7/a-b /users/a.b"},
		{"GET /f/<path:rest>", "GET", "/f/a/b", "/g/a"},
		{"GET /f/*", "GET", "/f/a/b", "/g/a"},
		{"GET", "GET", "", ""},
	} {
		m := splitOperation(test.operation)
		if m.method != test.method || (m.path == "") != (test.fits == "") {
			t.Errorf("%s: method %q, path %q", test.operation, m.method, m.path)
		}
		whole := regexp.MustCompile("^(?:" + m.regex + ")$")
		for _, path := range strings.Fields(test.fits) {
			if !whole.MatchString(path) {
				t.Errorf("%s: %s does not fit %q", test.operation, path, m.regex)
			}
		}
		for _, path := range strings.Fields(test.not) {
			if whole.MatchString(path) {
				t.Errorf("%s: %s fits %q", test.operation, path, m.regex)
			}
		}
	}
}

func TestEnvoy(t *testing.T) {
	c, text := envoyConfig(t, suggestionOf(t, 5, "go", deployPolicy, deployCalls()...))
	var got []string
	for _, h := range c.VirtualHosts {
		for _, r := range h.Routes {
			m, a := r.Match, r.GetRoute()
			got = append(got, fmt.Sprintf("%s %s%s%s %v: %v try %v retries %v on %q %v %v..%v", h.Name, m.GetPath(), m.GetSafeRegex().GetRegex(), m.GetPrefix(), m.GetGrpc() != nil,
				a.GetTimeout().AsDuration(), a.RetryPolicy.PerTryTimeout.AsDuration(), a.RetryPolicy.NumRetries.GetValue(), a.RetryPolicy.RetryOn,
				a.RetryPolicy.RetriableStatusCodes, a.RetryPolicy.GetRetryBackOff().GetBaseInterval().AsDuration(), a.RetryPolicy.GetRetryBackOff().GetMaxInterval().AsDuration()))
		}
	}
	// users: 3 x 40 + 8 + 16 = 144 ms. orders: what 300 - 20 of own work leaves, less the minimums
	// of both calls before it, 20, and of the two after it, 11: 249 ms.
	want := []string{
		`orders /orders false: 249ms try 249ms retries 0 on "" [] 0s..0s`,
		`orders / false: 0s try 0s retries 0 on "" [] 0s..0s`,
		`prices /shop.Prices/Get true: 60ms try 60ms retries 0 on "" [] 0s..0s`,
		`prices / false: 0s try 0s retries 0 on "" [] 0s..0s`,
		`users /users/me false: 144ms try 40ms retries 2 on "connect-failure,refused-stream,unavailable,retriable-status-codes" [503] 8ms..16ms`,
		`users /users/[^/]+ false: 144ms try 40ms retries 2 on "connect-failure,refused-stream,unavailable,retriable-status-codes" [503] 8ms..16ms`,
		`users / false: 0s try 0s retries 0 on "" [] 0s..0s`,
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
	has(t, text, "# card → orders POST /orders: attempts of the policy is left out: the call is not known to be safe to repeat.",
		"# card → orders POST /orders: the ceiling of 500ms is capped at 249ms, which the deadline of card GET /card leaves.",
		"deadline that all calls of a request share is not in it", "redis GET: nothing that Envoy handles")
}

// TestProxiesHedge: a hedge is left out, and said to be: the call has the ceiling of its one attempt.
func TestProxiesHedge(t *testing.T) {
	s := func() *analyze.Suggestion {
		return suggestionOf(t, 5, "go", `
deadlines: [{service: card, deadline: 300ms}]
dependencies: [{callee: users, minimum: 10ms, ceiling: 60ms, safe: true, hedge_after: 15ms}]
`, httpCall("users", "GET", "/users", 10*ms, 0))
	}
	c, text := envoyConfig(t, s())
	a := c.VirtualHosts[0].Routes[0].GetRoute()
	got := []time.Duration{a.GetTimeout().AsDuration(), a.RetryPolicy.PerTryTimeout.AsDuration()}
	if want := []time.Duration{60 * ms, 60 * ms}; !slices.Equal(got, want) || a.RetryPolicy.NumRetries.GetValue() != 0 || a.HedgePolicy != nil {
		t.Errorf("timeout and that of a try %v, want %v, and neither retries nor hedges", got, want)
	}
	if c.Name != "card" {
		t.Errorf("name %q, want that of the one caller", c.Name)
	}
	has(t, text, "# card → users GET /users: no hedge: a second copy after a delay cannot be expressed in Envoy", "# Clusters and domains are named like the callees")

	list, text := istioConfig(t, s())
	if r := list[0].Http[0]; r.Timeout.AsDuration() != 60*ms || r.Retries.Attempts != 0 {
		t.Errorf("Istio: timeout %v, %d retries, want 60ms and none", r.Timeout.AsDuration(), r.Retries.Attempts)
	}
	has(t, text, "# card → users GET /users: no hedge: Istio has none.")
}

func TestIstio(t *testing.T) {
	list, text := istioConfig(t, suggestionOf(t, 5, "go", deployPolicy, deployCalls()...))
	var got []string
	for _, v := range list {
		for _, r := range v.Http {
			match := "all"
			if len(r.Match) > 0 {
				match = r.Match[0].Method.GetExact() + " " + r.Match[0].Uri.GetExact() + r.Match[0].Uri.GetRegex()
			}
			got = append(got, fmt.Sprintf("%s %s: %v try %v attempts %d on %q after %v", v.Hosts[0], match, r.Timeout.AsDuration(), r.Retries.PerTryTimeout.AsDuration(),
				r.Retries.Attempts, r.Retries.RetryOn, r.Retries.Backoff.AsDuration()))
		}
	}
	want := []string{
		`orders POST /orders: 249ms try 0s attempts 0 on "" after 0s`,
		`orders all: 0s try 0s attempts 0 on "" after 0s`,
		`prices  /shop.Prices/Get: 60ms try 0s attempts 0 on "" after 0s`,
		`prices all: 0s try 0s attempts 0 on "" after 0s`,
		`users GET /users/me: 144ms try 40ms attempts 2 on "connect-failure,refused-stream,unavailable,503" after 8ms`,
		`users GET /users/[^/]+: 144ms try 40ms attempts 2 on "connect-failure,refused-stream,unavailable,503" after 8ms`,
		`users all: 0s try 0s attempts 0 on "" after 0s`,
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("got\n%s\nwant\n%s", a, b)
	}
	if n, m := strings.Count(text, "retries:"), strings.Count(text, "- destination:"); n != m {
		t.Errorf("%d routes and %d retries: where they are absent, Istio makes two", m, n)
	}
}

func TestGRPC(t *testing.T) {
	c, notes := grpcConfig(t, suggestionOf(t, 5, "go", `
deadlines: [{service: card, deadline: 300ms}]
dependencies:
- {callee: prices, operation: "*/Get", minimum: 10ms, ceiling: 60ms, safe: true, attempts: 7, retry: {base: 1ms, on: [unavailable, resource_exhausted, 503, 500]}}
- {callee: prices, operation: "*/Set", ceiling: 60ms, attempts: 2}
- {callee: stock, ceiling: 60ms, safe: true, hedge_after: 15ms}
`, grpcCall("prices", "shop.Prices", "Get", 10*ms, 0), grpcCall("prices", "shop.Prices", "Set", 10*ms, 0),
		grpcCall("stock", "shop.Stock", "Get", 10*ms, 0), httpCall("users", "GET", "/users", 10*ms, 0)))
	// Get: 7 x 10 + 63 = 133 <= 300 - 20 - 30. At most 7 x 60 + 63 = 483, capped at 250.
	get := methodConfig{[]methodName{{"shop.Prices", "Get"}}, "0.250s", &retryPolicy{5, "0.001s", "0.008s", 2, []string{"UNAVAILABLE", "RESOURCE_EXHAUSTED"}}, nil}
	set := methodConfig{[]methodName{{"shop.Prices", "Set"}}, "0.060s", nil, nil}
	stock := methodConfig{[]methodName{{"shop.Stock", "Get"}}, "0.060s", nil, nil}
	got, _ := json.Marshal(c)
	want, _ := json.Marshal(&serviceConfig{[]methodConfig{get, set, stock}, retryThrottling{10, 0.1}})
	if string(got) != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	has(t, strings.Join(notes, "\n"), "deadline that all calls of a request share is not in it", "timeout bounds the whole call",
		"shop.Stock/Get: no hedges: gRPC for go does not send them", "shop.Prices/Set: attempts of the policy is left out",
		"5 of 7 attempts: gRPC makes no more", "no retry on HTTP status 500", "users GET /users: nothing that gRPC handles")
}

// TestIstioTakesWholeMilliseconds caps a ceiling at what a deadline leaves, to the nanosecond:
// 300 ms - 20 ms of own work - 10 ms and 1 ns = 269.999999 ms. What is left must not be passed.
func TestIstioTakesWholeMilliseconds(t *testing.T) {
	list, _ := istioConfig(t, suggestionOf(t, 5, "go", `
deadlines: [{service: card, deadline: 300ms}]
dependencies: [{callee: orders, ceiling: 500ms, safe: true, attempts: 2, retry: {base: 1500us}}]
`, httpCall("users", "GET", "/users", 10*ms+1, 0), httpCall("orders", "GET", "/orders", 20*ms, 0)))
	r := list[0].Http[0]
	if whole, try, wait := r.Timeout.AsDuration(), r.Retries.PerTryTimeout.AsDuration(), r.Retries.Backoff.AsDuration(); whole != 269*ms || try != 269*ms || wait != ms {
		t.Errorf("timeout %v, of a try %v, back-off %v, want 269ms, 269ms, 1ms", whole, try, wait)
	}
}

// TestKubernetesName: a label of DNS (RFC 1123), at most 63 long, and each once.
func TestKubernetesName(t *testing.T) {
	used := map[string]int{}
	for _, test := range []struct{ text, want string }{
		{"Shop_2.Prices", "shop-2-prices"}, {"shop/2:prices", "shop-2-prices-2"}, {"-a-", "a"}, {"É", "overrun"}, {"", "overrun-2"}, {"09az", "09az"},
	} {
		if got := kubernetesName(test.text, used); got != test.want {
			t.Errorf("%q: %s, want %s", test.text, got, test.want)
		}
	}
	long := strings.Repeat("a", 100)
	for range 1000 {
		if got := kubernetesName(long, used); len(got) > 63 || !istioNames.MatchString(got) {
			t.Fatalf("%q of %d bytes", got, len(got))
		}
	}
}

func TestIstioPorts(t *testing.T) {
	list, _ := istioConfig(t, suggestionOf(t, 5, "go", "dependencies: [{callee: 'shop', ceiling: 40ms}, {callee: 'shop:*', ceiling: 60ms}]",
		httpCall("shop", "GET", "/a", 10*ms, 0), httpCall("shop:8080", "GET", "/a", 10*ms, 0)))
	var got []string
	for _, v := range list {
		for _, r := range v.Http {
			match := "all"
			if len(r.Match) > 0 {
				match = fmt.Sprint(r.Match[0].Uri.GetExact(), " of port ", r.Match[0].Port)
			}
			got = append(got, fmt.Sprint(v.Hosts, " ", match, " to ", r.Route[0].Destination.Host, ": ", r.Timeout.AsDuration()))
		}
	}
	want := []string{"[shop] /a of port 8080 to shop: 60ms", "[shop] /a of port 0 to shop: 40ms", "[shop] all to shop: 0s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestGRPCRetriesOn: statuses of proxies are UNAVAILABLE (gRPC, doc/http-grpc-status-mapping.md), once;
// other statuses, and names that gRPC does not have, are left out and said to be.
func TestGRPCRetriesOn(t *testing.T) {
	for _, test := range []struct {
		on, want string
		notes    []string
	}{
		{"429", "UNAVAILABLE", nil}, {"502", "UNAVAILABLE", nil}, {"503", "UNAVAILABLE", nil}, {"504", "UNAVAILABLE", nil},
		{"502, 503, unavailable", "UNAVAILABLE", nil},
		{"aborted, ABORTED, resource_exhausted", "ABORTED RESOURCE_EXHAUSTED", nil},
		{"500, 503", "UNAVAILABLE", []string{"no retry on HTTP status 500, which"}},
		{"timeout, internal", "INTERNAL", []string{"no retry on timeout, which"}},
	} {
		c, notes := grpcConfig(t, suggestionOf(t, 5, "go", "dependencies: [{callee: a, minimum: 1ms, ceiling: 60ms, safe: true, attempts: 2, retry: {base: 1ms, on: ["+test.on+"]}}]",
			grpcCall("a", "shop.A", "Get", 10*ms, 0)))
		got := ""
		if r := c.MethodConfig[0].RetryPolicy; r != nil {
			got = strings.Join(r.RetryableStatusCodes, " ")
		}
		if got != test.want {
			t.Errorf("on %s: %s, want %s", test.on, got, test.want)
		}
		said := strings.Join(notes, "\n")
		if n := strings.Count(said, "no retry on"); n != len(test.notes) {
			t.Errorf("on %s: %d notes on what is left out, want %d:\n%s", test.on, n, len(test.notes), said)
		}
		has(t, said, test.notes...)
	}
}

// TestGRPCOneAttemptHasTheCeiling asks for retries that gRPC cannot make: of a code it does
// not have, of a method that several callees have, and of more than five attempts.
// Nothing bounds a single attempt but the timeout, which then is the ceiling.
func TestGRPCOneAttemptHasTheCeiling(t *testing.T) {
	c, notes := grpcConfig(t, suggestionOf(t, 5, "go", `
dependencies:
- {callee: prices, ceiling: 60ms, minimum: 1ms, safe: true, attempts: 3, retry: {base: 1ms, on: [500]}}
- {callee: stock, ceiling: 60ms, minimum: 1ms, safe: true, attempts: 7, retry: {base: 1ms, on: [unavailable]}}
- {callee: "shard-1", ceiling: 100ms, safe: true, attempts: 3}
- {callee: "shard-2", ceiling: 50ms}
- {callee: "shard-3", ceiling: 80ms}
`, grpcCall("prices", "shop.Prices", "Get", 10*ms, 0), grpcCall("stock", "shop.Stock", "Get", 10*ms, 0),
		grpcCall("shard-1", "shop.Shard", "Get", 10*ms, 0), grpcCall("shard-2", "shop.Shard", "Get", 10*ms, 0), grpcCall("shard-3", "shop.Shard", "Get", 10*ms, 0),
		grpcCall("other", "", "Get", 10*ms, 0)))
	// stock: 5 x 60 + 1 + 2 + 4 + 8 = 315 ms. The shards have one entry, with the least of 100, 50 and 80.
	want := []methodConfig{
		{[]methodName{{"shop.Prices", "Get"}}, "0.060s", nil, nil},
		{[]methodName{{"shop.Shard", "Get"}}, "0.050s", nil, nil},
		{[]methodName{{"shop.Stock", "Get"}}, "0.315s", &retryPolicy{5, "0.001s", "0.008s", 2, []string{"UNAVAILABLE"}}, nil},
	}
	if diff := cmp.Diff(want, c.MethodConfig); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	has(t, strings.Join(notes, "\n"), "no retry on HTTP status 500", "other Get: no timeout: its spans do not name both the service and the method")
}

func TestGRPCHedges(t *testing.T) {
	const policy = "dependencies: [{callee: stock, ceiling: 60ms, safe: true, hedge_after: 15ms}]"
	call := grpcCall("stock", "shop.Stock", "Get", 10*ms, 0)
	for language, want := range map[string]bool{"java": true, "dotnet": true, "go": false, "cpp": false, "python": false, "ruby": false, "php": false, "": false} {
		c, _ := grpcConfig(t, suggestionOf(t, 5, language, policy, call))
		m := c.MethodConfig[0]
		switch {
		case m.RetryPolicy != nil:
			t.Errorf("%s: hedges became retries", language)
		case (m.HedgingPolicy != nil) != want:
			t.Errorf("%s: hedging policy %v, want one: %t", language, m.HedgingPolicy, want)
		case want && (m.HedgingPolicy.HedgingDelay != "0.015s" || m.HedgingPolicy.MaxAttempts != 2 || m.Timeout != "0.075s"):
			t.Errorf("%s: %+v with timeout %s, want a second copy after 15 ms, and 15 + 60 ms in all", language, m.HedgingPolicy, m.Timeout)
		case !want && m.Timeout != "0.060s":
			t.Errorf("%s: timeout %s without a hedge, want the ceiling", language, m.Timeout)
		}
	}
}

// TestWritesAreNeverRepeated asks for retries and hedges of writes in every way that a
// policy can, and looks for them in every form.
func TestWritesAreNeverRepeated(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		method := rapid.SampledFrom([]string{"POST", "PUT", "PATCH", "DELETE"}).Draw(rt, "method")
		fails := rapid.IntRange(0, 9).Draw(rt, "fails")
		again := rapid.SampledFrom([]string{"", ", attempts: 3", ", attempts: 2, retry: {base: 1ms, on: [unavailable, 503]}", ", hedge_after: 5ms", ", safe: false"}).Draw(rt, "again")
		language := rapid.SampledFrom([]string{"java", "go", ""}).Draw(rt, "language")
		rules := rapid.SampledFrom([]string{"", "dependencies: [{callee: '*', ceiling: 100ms" + again + "}]"}).Draw(rt, "rules")
		calls := []testCall{httpCall("orders", method, "/orders", 10*ms, fails), grpcCall("stock", "shop.Stock", "Take", 10*ms, fails),
			{"db", []ingest.Attr{{Key: "db.system.name", Value: "postgresql"}, {Key: "db.query.summary", Value: "INSERT orders"}}, 1 * ms, fails}}
		s := suggestionOf(t, 10, language, "deadlines: [{service: card, deadline: 200ms}]\n"+rules, calls...)

		var b bytes.Buffer
		if err := Policy(&b, s, "", nil); err != nil {
			rt.Fatal(err)
		}
		p, err := analyze.ParsePolicy("written", b.Bytes())
		if err != nil {
			rt.Fatal(err)
		}
		for _, d := range s.Dependencies {
			if d.Rule != nil {
				continue
			}
			if r := p.Rule(d.Caller, d.Callee, d.Operation); r.Attempts != 1 || r.HedgeAfter != 0 || r.Safe {
				rt.Errorf("policy: %s: attempts %d, hedge %v, safe %t", d, r.Attempts, r.HedgeAfter, r.Safe)
			}
		}
		plans, _ := s.Plans() // some break a rule
		for _, c := range plans[0].Calls {
			if c.MaxAttempts > 1 || c.Dependency.Attempt > 1 || c.Dependency.Hedge() > 0 {
				rt.Errorf("plan: %s: %d attempts", c.Name, c.MaxAttempts)
			}
		}
		envoy, _ := envoyConfig(t, s)
		for _, h := range envoy.VirtualHosts {
			for _, r := range h.Routes {
				if a := r.GetRoute(); a.RetryPolicy == nil || a.RetryPolicy.NumRetries.GetValue() != 0 || a.RetryPolicy.RetryOn != "" || a.HedgePolicy != nil {
					rt.Errorf("envoy: %v", r)
				}
			}
		}
		istio, _ := istioConfig(t, s)
		for _, v := range istio {
			for _, r := range v.Http {
				if r.Retries == nil || r.Retries.Attempts != 0 {
					rt.Errorf("istio: %v", r)
				}
			}
		}
		c, _ := grpcConfig(t, s)
		for _, m := range c.MethodConfig {
			if m.RetryPolicy != nil || m.HedgingPolicy != nil {
				rt.Errorf("grpc: %+v", m)
			}
		}
	})
}
