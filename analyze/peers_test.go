package analyze

import (
	"testing"

	"overrun/ingest"
)

func TestHedgesAndInsteads(t *testing.T) {
	for _, test := range []struct {
		id   string
		span *ingest.Span
		want hedgeSays
	}{
		{"H1", client("x", "@Client Backup Request Issued@10ms"), hedgeSent},
		{"H1", client("x", "@Client Backup Request Issued@10ms", "@Client Backup Request Won@20ms"), hedgeWon},
		{"H1", client("x", "@Client Backup Request Lost@20ms"), hedgeLost},
		{"H1", client("x", "clnt/backup_request_span_id=12"), hedgeSent},
		{"H1", entry("x", "srv/backup_request_processing=true"), isHedge},
		{"H2", inner("Attempt.a.B.C", "!CANCELLED: Stream thrown away because RetriableStream committed"), hedgeLost},
		{"H4", client("router x egress", "canceled=true"), mayHaveLost},
		{"", client("x", "hedge=true"), 0},    // H7
		{"", client("x", "!lost hedge"), 0},   // H7
		{"", client("x", "canceled=true"), 0}, // not Envoy's
	} {
		if got, id := hedgeOf(factsOf(test.span, noPart)); got != test.want || id != test.id {
			t.Errorf("hedgeOf(%s %v) = %s by %q, want %s by %q", test.span.Name, test.span.Attrs, got.words(), id, test.want.words(), test.id)
		}
	}
	for _, test := range []struct {
		id   string
		span *ingest.Span
		want insteadSays
	}{
		{"F1", inner("circuit-breaker fallback"), fallbackUsed},
		{"F2", inner("g.c.fallback", "hystrix.command=c"), fallbackUsed},
		{"F2", inner("g.c.execute", "hystrix.command=c", "hystrix.circuit_open=true"), callSkipped},
		{"F3", inner("x", "!", "exception.type=Polly.CircuitBreaker.BrokenCircuitException"), callSkipped},
		{"F3", inner("x", "!", "error.type=dev.failsafe.CircuitBreakerOpenException"), callSkipped},
		{"F3", inner("x", "!", "exception.type=EOPENBREAKER"), callSkipped},
		{"F4", inner("x", "!circuit breaker is open"), callSkipped},
		{"F4", inner("x", "!bulkhead full"), callSkipped},
		{"F4", inner("x", "!", "exception.message=Breaker is open"), callSkipped},
		{"F5", client("x", "response_flags=UO"), callSkipped},
		{"F5", client("x", "clnt/RequestSemaphoreFilter_rejected=true"), callSkipped},
		{"D9", client("external", "cancelled_by_deadline=1", "propagated_timeout_ms=0"), callSkipped},
		{"T23", entry("x", "srv/request_deadline_rejected=true"), callSkipped},
		{"T23", client("x", "http.response.header.x-yataxi-deadline-expired=1"), callSkipped},
		{"T23", entry("x", "!deadline exceeded: queued for too long"), callSkipped},
		{"", inner("x", "!", "exception.type=ETIMEDOUT"), 0},
		{"", client("x", "http.status_code=429", "!Too Many Requests"), 0},
		{"", inner("x", "fallback.used=true"), 0}, // F7
		{"", client("external", "cancelled_by_deadline=1", "propagated_timeout_ms=20"), 0},
	} {
		if got, id := insteadOf(factsOf(test.span, noPart)); got != test.want || id != test.id {
			t.Errorf("insteadOf(%s %v) = %s by %q, want %s by %q", test.span.Name, test.span.Attrs, got.words(), id, test.want.words(), test.id)
		}
	}
}

func TestPeers(t *testing.T) {
	cart := entry("GET /cart/{id}", "http.route=/cart/{id}")
	cart.Resource = &ingest.Resource{Service: "cart"}
	producer := func(attrs ...string) *ingest.Span { return newSpan(ingest.Producer, "orders publish", attrs...) }
	tests := []struct {
		span      *ingest.Span
		server    *ingest.Span
		callee    string
		operation string
		ids       string
	}{
		{client("HTTP GET", "http.request.method=GET", "server.address=10.0.0.1"), cart, "cart", "GET /cart/{id}", "P2 P22"},
		{client("GET", "service.peer.name=cart", "service.peer.namespace=shop", "http.method=GET"), nil, "shop/cart", "GET", "P3 P26"},
		{client("GET", "peer.service=old", "service.peer.name=cart", "http.method=GET"), nil, "cart", "GET", "P3 P26"},
		{producer("messaging.system=kafka", "messaging.destination=orders", "messaging.operation=publish"), cart, "kafka orders", "publish", "P5 P25"},
		{producer("messaging.system=kafka"), cart, "cart", "orders publish", "P2 P27"},
		{client("SELECT", "db.system=postgresql", "db.name=shop", "server.address=pg", "server.port=5432", "db.operation=SELECT", "db.sql.table=carts"), nil, "postgresql shop pg:5432", "SELECT carts", "P6 P24"},
		{client("S3.ListBuckets", "rpc.system=aws-api", "rpc.service=S3", "cloud.region=eu-west-1", "rpc.method=ListBuckets"), nil, "S3 eu-west-1", "S3/ListBuckets", "P7 P20"},
		{client("publish <default>", "messaging.system=rabbitmq", "messaging.destination=", "messaging.rabbitmq.routing_key=orders"), nil, "rabbitmq orders", "publish <default>", "P5 P27"}, // amqplib
		{client("publish <default>", "messaging.system=rabbitmq", "messaging.rabbitmq.routing_key=amq.gen-JzTY20BRgKO"), nil, "publish <default>", "publish <default>", "P13 P27"},
		{client("S3.ListBuckets", "rpc.system.name=aws-api", "rpc.method=S3/ListBuckets", "aws.region=eu-west-1"), nil, "S3 eu-west-1", "S3/ListBuckets", "P7 P20"}, // otelaws 0.72
		{client("Blob.Get", "az.namespace=Microsoft.Storage", "server.address=blobs.example"), nil, "Microsoft.Storage blobs.example", "Blob.Get", "P8 P27"},
		{client("Storage.GetObject", "gcp.client.service=storage"), nil, "storage", "Storage.GetObject", "P8 P27"},
		{client("router x egress", "upstream_cluster=outbound|8080|v1|cart.shop.svc.cluster.local", "http.method=GET"), nil, "cart.shop.svc.cluster.local", "GET", "P9 P26"},
		{client("router x egress", "upstream_cluster=x", "upstream_cluster.name=orders"), nil, "orders", "router x egress", "P9 P27"},
		{client("router x egress", "upstream_cluster=PassthroughCluster"), nil, "unknown", "router x egress", "P9 P27"},
		{client("router x egress", "upstream_cluster=BlackHoleCluster"), nil, "unknown", "router x egress", "P9 P27"},
		{client("router x egress", "upstream_cluster=inbound|8080||"), nil, "shop", "router x egress", "P9 P27"},
		{client("a.B/C", "rpc.method=a.B/C", "rpc.service=a.B"), nil, "a.B", "a.B/C", "P10 P20"}, // N6
		{client("a.B/C", "rpc.method=C", "rpc.service=a.B"), nil, "a.B", "a.B/C", "P10 P20"},
		{client("Grpc.Net.Client.GrpcOut", "grpc.method=/a.B/C"), nil, "a.B", "a.B/C", "P10 P20"},
		{client("Sent.shop.v1.Cart.Get"), nil, "shop.v1.Cart", "shop.v1.Cart/Get", "P10 P20"},
		{inner("Attempt.shop.v1.Cart.Get"), nil, "shop.v1.Cart", "shop.v1.Cart/Get", "P10 P20"},
		{client("GET", "http.request.method=GET", "url.full=http://cart:8080/c/1?x=2", "url.template=/c/{id}"), nil, "cart:8080", "GET /c/{id}", "P11 P21"},
		{client("http get", "method=GET", "uri=/c/{id}", "client.name=cart"), nil, "cart", "GET /c/{id}", "P11 P23"},
		{client("GET", "http.method=GET", "net.peer.name=cart", "net.peer.port=80"), nil, "cart:80", "GET", "P11 P26"},
		{client("GET", "http.method=GET", "net.sock.peer.addr=10.0.0.1"), nil, "ip", "GET", "P12 P26"},
		{client("/orders/12345/items"), nil, "/orders/{id}/items", "/orders/{id}/items", "P13 P27"},
	}
	for _, test := range tests {
		f := factsOf(test.span, noPart)
		callee, by := calleeOf(f, test.server)
		operation, by2 := operationOf(f, test.server)
		if callee != test.callee || operation != test.operation || by+" "+by2 != test.ids {
			t.Errorf("%s %v: %q, %q by %s %s, want %q, %q by %s", test.span.Name, test.span.Attrs, callee, operation, by, by2, test.callee, test.operation, test.ids)
		}
	}
}

func TestTemplate(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"HTTP GET":                  "HTTP GET",
		"/api/v1/users":             "/api/v1/users",
		"/api/v1/users/42":          "/api/v1/users/{id}",
		"/api/v1/users/42/orders/7": "/api/v1/users/{id}/orders/{id}",
		"/u/550e8400-e29b-41d4-a716-446655440000/x": "/u/{id}/x",
		"/report/2026-05-01":                        "/report/{id}",
		"/report/2026-05-01T10:20:30":               "/report/{id}",
		"/blob/9f86d081884c7d65":                    "/blob/{id}",
		"/pay/cus_9s6XKzkNRiz8i3":                   "/pay/cus_{id}",
		"/t/eyJhbGciOiJIUzI1NiIsInR5cCI6":           "/t/{id}",
		"order-12345":                               "order-{id}",
		"order12345":                                "order{id}",
		"/a?x=1":                                    "/a",
		"10.1.2.3:8080":                             "{id}",
		"sha256 s3 http2 utf8 ec2 oauth2":           "sha256 s3 http2 utf8 ec2 oauth2",
		"/orders/{orderId}/42":                      "/orders/{orderId}/{id}",
		"/orders/{id}":                              "/orders/{id}",
		"SELECT shop.carts":                         "SELECT shop.carts",
		"deadbeefcafe":                              "deadbeefcafe",
		"café7":                                     "café7",
	} {
		if got := template(in); got != want {
			t.Errorf("template(%q) = %q, want %q", in, got, want)
		}
	}
}
