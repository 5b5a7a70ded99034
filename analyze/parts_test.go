package analyze

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"overrun/ingest"
)

func TestParts(t *testing.T) {
	ruby, otelpgx := "scope:OpenTelemetry::Instrumentation::Net::HTTP", "scope:github.com/exaring/otelpgx"
	tests := []struct {
		id    string
		span  *ingest.Span
		under part
		want  part
		place backoffPlace
	}{
		{"C1", client("http.getconn", "http.conn.reused=false"), callPart, connectPart, 0},
		{"C1", client("http.getconn", "http.conn.reused=true"), callPart, poolPart, 0},
		{"C1", client("http.getconn"), noPart, connectPart, 0},
		{"C2", client("http.dns"), connectPart, dnsPart, 0},
		{"C3", client("http.connect"), connectPart, tcpPart, 0},
		{"C4", client("http.tls"), connectPart, tlsPart, 0},
		{"C5", client("http.headers"), callPart, sendPart, 0},
		{"C6", client("http.send"), callPart, sendPart, 0},
		{"C7", client("http.receive"), callPart, receivePart, 0},
		{"C9", inner("HTTP wait_for_connection example.com:443"), callPart, poolPart, 0},
		{"C10", inner("HTTP connection_setup example.com:443"), noPart, connectPart, 0},
		{"C11", inner("DNS lookup example.com"), connectPart, dnsPart, 0},
		{"C11", inner("DNS reverse lookup 192.0.2.1"), connectPart, dnsPart, 0},
		{"C12", inner("socket connect 192.0.2.1:443"), connectPart, tcpPart, 0},
		{"C13", inner("TLS client handshake example.com"), connectPart, tlsPart, 0},
		{"C14", inner("RESOLVE", "net.peer.name=example.com"), callPart, dnsPart, 0},
		{"C15", inner("CONNECT", "network.peer.address=192.0.2.1"), ownPart, tcpPart, 0},
		{"C16", client("CONNECT", "server.address=example.com", "!connection refused"), ownPart, attemptPart, 0},
		{"C16b", client("CONNECT", "scope:io.opentelemetry.lettuce-5.1", "server.address=redis"), ownPart, connectPart, 0},
		{"C17", inner("SSL handshake"), ownPart, tlsPart, 0},
		{"C17", client("SSL handshake", "!"), ownPart, tlsPart, 0},
		{"C18", inner("tcp.connect", "net.peer.name=example.com"), callPart, tcpPart, 0},
		{"C19", inner("tls.connect", "tls.protocol=TLSv1.3"), callPart, tlsPart, 0},
		{"C20", inner("ipc.connect"), ownPart, tcpPart, 0},
		{"C20", inner("connect", "scope:@opentelemetry/instrumentation-net"), ownPart, tcpPart, 0},
		{"C21", client("dns.lookup"), ownPart, dnsPart, 0},
		{"C21", client("dns.promises/lookup"), ownPart, dnsPart, 0},
		{"C22", inner("connect", ruby, "net.peer.name=example.com", "net.peer.port=80"), ownPart, connectPart, 0},
		{"C23", client("CONNECT", "scope:OpenTelemetry::Instrumentation::HTTP"), ownPart, connectPart, 0},
		{"C23", client("HTTP CONNECT", ruby), ownPart, connectPart, 0},
		{"C24", client("pool.acquire", otelpgx, "db.system=postgresql"), ownPart, poolPart, 0},
		{"C25", client("connect", otelpgx), poolPart, connectPart, 0},
		{"C26", client("sql.connector.connect"), ownPart, connectPart, 0},
		{"C27", client("sql.conn.reset_session"), ownPart, connectPart, 0},
		{"C27", client("sql.conn.ping"), ownPart, connectPart, 0},
		{"C27", client("sql.conn.begin_tx"), ownPart, connectPart, 0},
		{"C28", client("pg-pool.connect", "db.system=postgresql"), ownPart, poolPart, 0},
		{"C29", client("pg.connect", "db.system=postgresql"), poolPart, connectPart, 0},
		{"C30", inner("generic-pool.acquire"), ownPart, poolPart, 0},
		{"C31", client("redis-connect"), ownPart, connectPart, 0},
		{"C31", client("redis.dial"), ownPart, connectPart, 0},
		{"C31", client("connect", "db.system=redis", "db.statement=connect"), ownPart, connectPart, 0},
		{"C32", client("oracledb.Pool.getConnection"), ownPart, poolPart, 0},
		{"C32", client("oracledb.getConnection"), ownPart, connectPart, 0},
		{"C32", client("oracledb.FastAuthMessage"), connectPart, connectPart, 0},
		{"C33", inner("HikariDataSource.getConnection", "db.system=postgresql"), ownPart, poolPart, 0},
		{"C33", inner("HikariDataSource.getConnection", "scope:io.opentelemetry.jdbc"), ownPart, poolPart, 0},
		{"C34", client("connect", "db.system=postgresql"), ownPart, connectPart, 0},
		{"C35", client("kong.dns", "dns.record.domain=example.com"), ownPart, dnsPart, 0},
		{"C39", inner("in queue"), entryPart, queuePart, 0},
		{"C39", inner("processing"), entryPart, ownPart, 0},
		{"C40", client("pg.pool.acquire"), ownPart, poolPart, 0},
		{"C43", inner("Attempt Delay", "grpc.delay_type=connecting"), attemptPart, connectPart, 0},
		{"R10", inner("RetryLoop"), callPart, scopePart, 0},
		{"R10", inner("Attempt", "operation.attempt=1"), scopePart, attemptPart, inTail},
		{"R11", client("Azure.Core.Http.Request"), ownPart, attemptPart, inGap},
		{"R14", client("Storage.GetObject", "gcp.client.service=storage"), ownPart, scopePart, 0},
		{"R14", client("google.pubsub.v1.Publisher/Publish", "gcp.client.service=pubsub", "gcp.grpc.resend_count=0", "server.address=pubsub.googleapis.com"), scopePart, attemptPart, inGap},
		{"R14", client("GET", "http.request.resend_count=1", "http.request.method=GET"), scopePart, attemptPart, inGap},
		{"R17", inner("RetryHandler_SendAsync"), ownPart, scopePart, 0},
		{"R17", inner("RetryHandler_SendAsync - attempt 1", "http.request.resend_count=0"), scopePart, attemptPart, inHead},
		{"R18", inner("RedirectHandler_SendAsync - redirect 1"), ownPart, ownPart, 0},
		{"R26", client("router orders egress", "upstream_cluster=orders"), entryPart, attemptPart, inGap},
		{"R26", client("router orders egress", "response_flags=-"), entryPart, attemptPart, inGap},
		{"R27", inner("Retry", "http.request.resend_count=1"), entryPart, attemptPart, inTail},
		{"R27", inner("Retry", "scope:github.com/traefik/traefik"), entryPart, attemptPart, inTail},
		{"R28", client("kong.balancer", "try_count=1"), ownPart, attemptPart, inGap},
		{"R31", client("retry", "clnt/retry_attempt=1"), ownPart, attemptPart, inGap},
		{"R31", client("requeue", "clnt/requeue_attempt=1"), ownPart, attemptPart, inGap},
		{"R33", client("find shop.carts", "db.system=mongodb", "db.operation.summary=find shop.carts"), ownPart, scopePart, 0},
		{"R33", client("find db.c", "db.system.name=mongodb", "db.operation.name=find"), ownPart, scopePart, 0},
		{"R33", client("find", "db.system=mongodb", "db.command.name=find"), scopePart, attemptPart, inGap},
		{"R34", client("get", "db.system=couchbase", "db.operation=get"), ownPart, scopePart, 0},
		{"R34", client("dispatch_to_server", "db.system=couchbase"), scopePart, attemptPart, inGap},
		{"R35", inner("attempt_2", "retry.attempt=2"), ownPart, attemptPart, inGap},
		{"R35", inner("attempt-2", "retry.attempt=2"), ownPart, attemptPart, inGap},
		{"R35", inner("attempt.2", "retry.attempt=2"), ownPart, attemptPart, inGap},
		{"R35", client("charge.attempt", "retry.attempt=2"), ownPart, attemptPart, inGap},
		{"G3", client("Sent.shop.Cart.Get"), ownPart, scopePart, 0},
		{"G4", inner("Attempt.shop.Cart.Get", "previous-rpc-attempts=0"), scopePart, attemptPart, inGap},
		{"G7", client("Grpc.Net.Client.GrpcOut", "grpc.method=/shop.Cart/Get"), ownPart, attemptPart, inGap},
		{"F1", inner("circuit-breaker fallback"), ownPart, fallbackPart, 0},
		{"F1", inner("circuit-breaker"), ownPart, breakerPart, 0},
		{"F1", inner("supplier", "spring.cloud.circuitbreaker.type=supplier"), ownPart, breakerPart, 0},
		{"F2", inner("Prices.Get.fallback", "hystrix.command=Get"), ownPart, fallbackPart, 0},
		{"F2", inner("Prices.Get.execute", "hystrix.command=Get"), ownPart, breakerPart, 0},
		{"F6", inner("prices", "scope:io.opentelemetry.resilience4j-2.0"), ownPart, breakerPart, 0},

		// Traps: what looks like a row and is none.
		{"", client("connect", "http.request.method=GET"), ownPart, callPart, 0},
		{"", client("connect"), ownPart, callPart, 0},
		{"", inner("connect"), ownPart, ownPart, 0},
		{"", inner("connect", "server.address=example.com"), ownPart, ownPart, 0},
		{"", client("connect", "db.system=postgresql", "db.statement=SELECT 1"), ownPart, callPart, 0},
		{"", client("CONNECT", "http.request.method=CONNECT"), ownPart, callPart, 0},
		{"", client("HTTP CONNECT", "http.method=CONNECT", "scope:otelhttp"), ownPart, callPart, 0},
		{"", client("CONNECT", "server.address=example.com"), ownPart, callPart, 0},
		{"", inner("UserRepository.getConnection"), ownPart, ownPart, 0},
		{"", inner("in queue"), ownPart, ownPart, 0},
		{"", inner("Attempt"), ownPart, ownPart, 0},
		{"", inner("Retry"), ownPart, ownPart, 0},
		{"", client("retry"), ownPart, callPart, 0},
		{"", client("router x egress"), ownPart, callPart, 0},
		{"", inner("attempt_login"), ownPart, ownPart, 0},
		{"", inner("supplier"), ownPart, ownPart, 0},
		{"", inner("cache.fallback"), ownPart, ownPart, 0},
		{"", client("HTTP GET", "http.request.method=GET", "http.request.resend_count=1"), ownPart, callPart, 0},
		{"", client("request_encoding", "db.system=couchbase"), callPart, callPart, 0},
		{"", entry("GET /http.getconn"), noPart, entryPart, 0},
		{"", entry("Recv.shop.Cart.Get"), noPart, entryPart, 0}, // G6
		{"", newSpan(ingest.Consumer, "orders process"), noPart, entryPart, 0},
		{"", newSpan(ingest.Producer, "orders send"), ownPart, callPart, 0},
		{"", inner("work"), ownPart, ownPart, 0},
	}
	for _, test := range tests {
		got, id := partOf(factsOf(test.span, test.under))
		if id != test.id || got.part != test.want || got.part == attemptPart && got.backoff != test.place {
			t.Errorf("partOf(%s %v) = %s (place %d) by %q, want %s (place %d) by %q", test.span.Name, test.span.Attrs,
				partNames[got.part], got.backoff, id, partNames[test.want], test.place, test.id)
		}
	}
}

func TestPhasesAreNoCalls(t *testing.T) {
	for _, name := range []string{"http.getconn", "http.dns", "http.connect", "http.tls", "http.headers", "http.send", "http.receive",
		"dns.lookup", "pool.acquire", "sql.connector.connect", "sql.conn.reset_session", "sql.conn.ping", "sql.conn.begin_tx",
		"pg-pool.connect", "pg.connect", "redis-connect", "redis.dial", "oracledb.Pool.getConnection", "oracledb.getConnection",
		"oracledb.ProtocolMessage", "oracledb.DataTypeMessage", "oracledb.AuthMessage", "oracledb.FastAuthMessage", "kong.dns"} {
		if got, id := partOf(factsOf(client(name), noPart)); !got.part.phase() {
			t.Errorf("partOf(%s) = %s by %q, want a phase", name, partNames[got.part], id)
		}
	}
}

func TestTallies(t *testing.T) {
	tests := []struct {
		id    string
		span  *ingest.Span
		index int
		hides int
		place backoffPlace
	}{
		{"R6", client("GET", "http.request.resend_count=2"), 2, 0, inGap},
		{"R6", client("GET", "http.retry_count=1"), 1, 0, inGap},
		{"R8", client("S3.ListBuckets", "retry_attempts=2"), 0, 2, isHidden},
		{"R10", inner("Attempt", "operation.attempt=1"), 0, 0, inTail},
		{"R10", inner("Attempt", "operation.attempt=3"), 2, 0, inTail},
		{"R11", client("Azure.Core.Http.Request", "http.request.resend_count=1"), 1, 0, inGap},
		{"R14", client("google.pubsub.v1.Publisher/Publish", "gcp.grpc.resend_count=0"), 0, 0, inGap},
		{"R14", client("google.pubsub.v1.Publisher/Publish", "gcp.grpc.resend_count=2"), 2, 0, inGap},
		{"R17", inner("RetryHandler_SendAsync - attempt 1", "http.request.resend_count=1"), 2, 0, inHead},
		{"R26", client("router x egress", "retry.count=1"), 1, 0, inGap},
		{"R26", client("router x egress", "http.request.resend_count=2"), 2, 0, inGap},
		{"R27", inner("Retry", "http.request.resend_count=1"), 1, 0, inTail},
		{"R28", client("kong.balancer", "try_count=2"), 1, 0, inGap},
		{"R31", client("retry", "clnt/retry_attempt=1"), 1, 0, inGap},
		{"R31", client("requeue", "clnt/requeue_attempt=1"), 1, 0, inGap},
		{"R32", client("external", "attempts=3", "max_attempts=3"), 0, 2, isHidden},
		{"R34", client("get", "couchbase.retries=1"), 0, 1, isHidden},
		{"R35", inner("attempt_2", "retry.attempt=2"), 1, 0, inGap},
		{"R35", inner("pay", "retry_count=2"), 0, 2, isHidden},
		{"R35", inner("pay", "@retry@10ms", "@retry@20ms"), 0, 2, inEvent},
		{"R7", client("S3.ListBuckets", "@HTTP request failure@10ms"), 0, 1, inEvent},
		{"R16", client("Spanner.Read", "@Attempt failed, scheduling next attempt@10ms", "@Starting RPC retry 1@20ms"), 0, 1, inEvent},
		{"G4", inner("Attempt.shop.Cart.Get", "previous-rpc-attempts=1"), 1, 0, inGap},
		{"G10", entry("shop.Cart/Get", "rpc.request.metadata.grpc-previous-rpc-attempts=1"), 1, 0, inGap},
		{"D12", entry("PUT /key", "http.request.header.amz-sdk-request=attempt=2; max=3"), 1, 0, inGap},
		{"D14", entry("POST /docs", "http.request.header.x-ms-client-retry-attempt-count=1"), 1, 0, inGap},
		{"", client("GET", "http.request.resend_count=many"), 0, 0, 0},
		{"", client("GET", "http.request.resend_count=-1"), 0, 0, 0},
		{"", inner("work", "attempts=3"), 0, 0, 0},
		{"", inner("work", "operation.attempt=2"), 0, 0, 0},
	}
	for _, test := range tests {
		got, id := tallyOf(factsOf(test.span, noPart))
		if id != test.id || got.index != test.index || got.hidden != test.hides || got.backoff != test.place {
			t.Errorf("tallyOf(%s %v) = %+v by %q, want index %d, hidden %d, place %d by %q", test.span.Name, test.span.Attrs, got, id, test.index, test.hides, test.place, test.id)
		}
	}
}

func TestPhases(t *testing.T) {
	sec := func(ms int) string {
		return strconv.FormatInt(testEpoch/1e9, 10) + fmt.Sprintf(".%03d", ms)
	}
	tests := []struct {
		id   string
		span *ingest.Span
		want string // part from-to in ms
	}{
		{"C8", client("HTTP GET", "@http.getconn.start@1ms", "@http.dns.start@2ms", "@http.dns.done@4ms",
			"@http.connect.192.0.2.1:80.start@4ms", "@http.connect.192.0.2.2:80.start@5ms", "@http.connect.192.0.2.1:80.done@9ms",
			"@http.connect.192.0.2.2:80.done@7ms", "@http.getconn.done@9ms"),
			"DNS 2-4; TCP 4-9; TCP 5-7; connect 1-9"},
		{"C8", client("HTTP GET", "@http.getconn.start@1ms", "@http.getconn.done@9ms", "of event http.conn.reused=True"), "pool wait 1-9"},
		{"C8", client("HTTP GET", "@http.getconn.start@1ms", "@http.getconn.done@9ms", "of event http.conn.reused=False"), "connect 1-9"},
		{"C8", client("HTTP GET", "@http.tls.start@1ms", "@http.tls.done@3ms", "@http.send.start@4ms", "@http.send.done@5ms", "@http.receive.start@8ms", "@http.receive.done@9ms"),
			"TLS 1-3; receive 8-9; send 4-5"},
		{"C36", client("HTTP GET", "@fetchStart@0ms", "@domainLookupStart@2ms", "@domainLookupEnd@5ms", "@connectStart@5ms", "@secureConnectionStart@8ms",
			"@connectEnd@12ms", "@requestStart@12ms", "@responseStart@40ms", "@responseEnd@50ms"),
			"DNS 2-5; TCP 5-8; TLS 8-12; pool wait 0-2; receive 40-50; wait for the first byte 12-40"},
		{"C36", client("HTTP GET", "@connectStart@5ms", "@connectEnd@12ms"), "TCP 5-12"},
		{"C37", client("GET /x", "http.request.domain_lookup_start="+sec(2), "http.request.domain_lookup_end="+sec(5), "http.request.connect_start="+sec(5),
			"http.request.connection_end="+sec(9), "http.request.secure_connection_start=0", "http.request.request_start="+sec(10), "http.request.response_start="+sec(30),
			"http.request.response_end="+sec(35), "http.request.fetch_start="+sec(1)),
			"DNS 2-5; TCP 5-9; pool wait 1-2; receive 30-35; wait for the first byte 10-30"},
		{"C41", client("router x egress", "@first_upstream_tx_byte_sent@5ms", "@last_upstream_tx_byte_sent@6ms", "@first_upstream_rx_byte_received@20ms", "@last_upstream_rx_byte_received@25ms"),
			"connect 0-5; receive 20-25; send 5-6; wait for the first byte 6-20"},
		{"C42", client("Sent.a.B.C", "@Delayed name resolution complete@7ms"), "name resolution 0-7"},
		{"C42", inner("Attempt.a.B.C", "@Delayed LB pick complete.@7ms"), "wait for a ready connection 0-7"},
		{"G5", inner("Attempt.a.B.C", "@Outbound message@1ms", "@Outbound message@3ms", "@Inbound message@30ms", "@Inbound message@40ms"), "wait for the first byte 3-30"},
		{"R16", client("Spanner.Read", "@Attempt failed, scheduling next attempt@10ms", "@Starting RPC retry 1@20ms", "@Attempt failed, scheduling next attempt@30ms", "@Starting RPC retry 2@50ms"),
			"back-off 10-20; back-off 30-50"},
		{"R17", inner("RetryHandler_SendAsync - attempt 1", "http.request.resend_delay=0.025"), "back-off 0-25"},
		{"R35", inner("pay", "@retry@10ms", "of event wait_ms=15"), "back-off 10-25"},
		{"", entry("Recv.a.B.C", "@Inbound message@1ms", "@Outbound message@2ms", "@Inbound message@9ms"), ""}, // a server's wait is its client's
		{"", client("HTTP GET", "@http.dns.start@2ms"), ""},
		{"", client("HTTP GET", "@responseEnd@2ms", "@responseStart@9ms"), ""},
	}
	for _, test := range tests {
		var list []string
		ids := map[string]bool{}
		for _, p := range phasesOf(factsOf(test.span, callPart)) {
			list = append(list, fmt.Sprintf("%s %d-%d", partNames[p.part], p.start.Milliseconds(), p.end.Milliseconds()))
			ids[p.id] = true
		}
		slices.Sort(list)
		if got := strings.Join(list, "; "); got != test.want || test.id != "" && (len(ids) != 1 || !ids[test.id]) {
			t.Errorf("phasesOf(%s) = %s by %v, want %s by %s", test.span.Name, got, ids, test.want, test.id)
		}
	}
	for _, test := range []struct {
		id, attr string
		want     phaseLength
	}{
		{"C38", "network.setup.dns.duration_ms=3", phaseLength{dnsPart, 3 * time.Millisecond, "C38"}},
		{"C38", "network.setup.tcp_connect.duration_ms=3.5", phaseLength{tcpPart, 3500 * time.Microsecond, "C38"}},
		{"C38", "network.setup.tls_handshake.duration_ms=3", phaseLength{tlsPart, 3 * time.Millisecond, "C38"}},
		{"C38", "network.setup.tls_handshake.duration=3", phaseLength{tlsPart, 3 * time.Millisecond, "C38"}},
		{"C40", "db.pool.wait_time_ms=12", phaseLength{poolPart, 12 * time.Millisecond, "C40"}},
	} {
		got := lengthsOf(factsOf(client("x", test.attr), noPart))
		if len(got) != 1 || got[0] != test.want {
			t.Errorf("lengthsOf(%s) = %v, want %v", test.attr, got, test.want)
		}
	}
}
