package analyze

import (
	"testing"

	"overrun/ingest"
)

func TestOutcomes(t *testing.T) {
	const (
		otelhttp = "scope:go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	)
	timedOutClient := verdict{timedOut, ReadTimeout}
	get := func(attrs ...string) *ingest.Span {
		return client("HTTP GET", append(attrs, "http.request.method=GET", otelhttp)...)
	}
	tests := []struct {
		id     string
		span   *ingest.Span
		client verdict
		want   outcomeSays
	}{
		{"T1", client("a.B/C", "rpc.response.status_code=DEADLINE_EXCEEDED", "!stream terminated by RST_STREAM with error code: CANCEL"), verdict{}, saysReadTimeout},
		{"T1", client("a.B/C", "rpc.grpc.status_code=4", "!"), verdict{}, saysReadTimeout},
		{"T1", client("a.B/C", "rpc.connect_rpc.error_code=deadline_exceeded", "!"), verdict{}, saysReadTimeout},
		{"T1", client("a.B/C", "rpc.status_code=DeadlineExceeded", "!connection refused"), verdict{}, saysReadTimeout},
		{"T1", entry("a.B/C", "rpc.response.status_code=DEADLINE_EXCEEDED", "!"), verdict{}, saysReadTimeout},
		{"T2", client("a.B/C", "rpc.response.status_code=CANCELED"), verdict{}, saysCancelled},
		{"T2", entry("a.B/C", "rpc.response.status_code=CANCELLED"), verdict{}, saysCancelled},
		{"T2", entry("a.B/C", "rpc.response.status_code=CANCELLED"), timedOutClient, saysReadTimeout}, // G9
		{"G12", client("a.B/C", "rpc.grpc.status_code=0"), verdict{}, saysOK},
		{"G12", client("a.B/C", "rpc.grpc.status_code=5", "!"), verdict{}, saysNoData},
		{"G12", client("a.B/C", "rpc.grpc.status_code=7", "!"), verdict{}, saysFailure},
		{"G12", entry("a.B/C", "rpc.grpc.status_code=13", "!"), verdict{}, saysFailure},
		{"", entry("a.B/C", "rpc.grpc.status_code=3"), verdict{}, saysOK},
		{"T9", client("a.B/C", "rpc.grpc.status_code=14", "!connection error: dial tcp 127.0.0.1:1: connect: connection refused"), verdict{}, saysRefused},
		{"T9", client("grpc.a.B/C", "rpc.grpc.status_code=14", "!", "grpc.error_message=14 UNAVAILABLE: No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1. Resolution note: "), verdict{}, saysRefused}, // grpc-js
		{"G8", client("grpc.a.B/C", "rpc.grpc.status_code=4", "!", "grpc.error_message=4 DEADLINE_EXCEEDED: Deadline exceeded after 0.106s,metadata filters: 0.001s,wait_for_ready,Waiting for LB pick"), verdict{}, saysConnectTimeout},
		{"T1", client("grpc.a.B/C", "rpc.grpc.status_code=4", "!", "grpc.error_message=4 DEADLINE_EXCEEDED: Deadline exceeded after 0.080s,LB pick: 0.001s,remote_addr=127.0.0.1:18090"), verdict{}, saysReadTimeout},
		{"G8", client("a.B/C", "rpc.response.status_code=DEADLINE_EXCEEDED", `!context deadline exceeded while waiting for connections to become ready: latest balancer error: connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused"`), verdict{}, saysConnectTimeout},
		{"spec", client("a.B/C", "rpc.grpc.status_code=0", "!broken"), verdict{}, saysFailure}, // N7
		{"T21b", inner("Attempt.a.B.C", "!stream terminated by RST_STREAM with error code: CANCEL"), verdict{}, saysMaybeTimeout},
		{"T21b", inner("Attempt.a.B.C", "!stream terminated by RST_STREAM with error code: CANCEL"), timedOutClient, saysReadTimeout},
		{"T3", get("error.type=context.deadlineExceededError", "!context deadline exceeded"), verdict{}, saysReadTimeout},
		{"T3", inner("work", `!Get "http://127.0.0.1/": context deadline exceeded`), verdict{}, saysReadTimeout},
		{"T4", get("error.type=*errors.errorString", "!net/http: request canceled"), verdict{}, saysReadTimeout},
		{"T5", get("error.type=*errors.errorString", "!context canceled"), verdict{}, saysCancelled},
		{"T5", entry("GET /", "!context canceled"), verdict{}, saysCancelled},
		{"T2", entry("GET /", "!context canceled"), timedOutClient, saysReadTimeout},
		{"T6", get("error.type=*errors.errorString", "!"), verdict{}, saysMaybeLeft}, // the type alone says nothing
		{"T6", get("error.type=*errors.errorString", "!my cause"), verdict{}, saysMaybeLeft},
		{"T6", get("error.type=*url.Error", `!Get "http://127.0.0.1/": dial tcp 127.0.0.1:1: connect: connection refused`), verdict{}, saysMaybeLeft}, // of the part that failed
		{"T9", get("error.type=*errors.errorString", "!EOF"), verdict{}, saysFailure},
		{"T9", get("error.type=*errors.errorString", "!http: server closed idle connection"), verdict{}, saysFailure},
		{"T9", get("error.type=*http.httpError", "!net/http: HTTP/1.x transport connection broken: malformed"), verdict{}, saysFailure},
		{"T5", entry("a.B/C", "rpc.response.status_code=UNKNOWN", "!context canceled"), verdict{}, saysCancelled}, // connect-go
		{"T3", entry("a.B/C", "rpc.response.status_code=UNKNOWN", "!context deadline exceeded"), verdict{}, saysReadTimeout},
		{"G12", client("a.B/C", "rpc.response.status_code=UNKNOWN", "!context canceled"), verdict{}, saysFailure},
		{"T6", client("GET", "http.request.method=GET", "scope:@opentelemetry/instrumentation-undici", "exception.type=Error", "!budget spent"), verdict{}, saysMaybeLeft},
		{"spec", client("GET", "http.request.method=GET", "scope:@opentelemetry/instrumentation-http", "exception.type=ECONNRESET", "!socket hang up"), verdict{}, saysFailure},
		{"T7", get("error.type=*http.timeoutError", "!net/http: timeout awaiting response headers"), verdict{}, saysReadTimeout},
		{"T7", inner("work", "!net/http: timeout awaiting response headers"), verdict{}, saysReadTimeout},
		{"T8", get("error.type=net/http.tlsHandshakeTimeoutError", "!net/http: TLS handshake timeout"), verdict{}, saysConnectTimeout},
		{"T9", get("error.type=*net.OpError", "!dial tcp 192.0.2.1:80: i/o timeout"), verdict{}, saysConnectTimeout},
		{"T9", get("error.type=*net.OpError", "!read tcp 192.0.2.1:80: i/o timeout"), verdict{}, saysReadTimeout},
		{"T9", get("error.type=*net.OpError", "!dial tcp 192.0.2.1:80: connect: connection refused"), verdict{}, saysRefused},
		{"T9", get("error.type=*net.OpError", "!dial tcp: lookup nowhere: no such host"), verdict{}, saysConnectError},
		{"T9", inner("work", "!dial tcp 192.0.2.1:80: connect: network is unreachable"), verdict{}, saysConnectError},
		{"T10", client("GET", "error.type=AxiosError", "!", "exception.type=ECONNABORTED"), verdict{}, saysReadTimeout},
		{"T10", client("GET", "error.type=Error", "!", "exception.type=ECONNREFUSED"), verdict{}, saysRefused},
		{"T10", client("GET", "error.type=AbortError", "!"), verdict{}, saysCancelled},
		{"T10", client("GET", "error.type=Error", "!", "exception.type=ETIMEDOUT", "exception.message=connect ETIMEDOUT 192.0.2.1:80"), verdict{}, saysConnectTimeout},
		{"T10", client("GET", "error.type=CanceledError", "!canceled", "exception.type=ERR_CANCELED"), verdict{}, saysCancelled}, // axios, AbortController.abort()
		{"T10", client("GET", "error.type=Error", "!self-signed certificate", "exception.type=DEPTH_ZERO_SELF_SIGNED_CERT"), verdict{}, saysConnectError},
		{"T9", get("error.type=*tls.CertificateVerificationError", "!tls: failed to verify certificate: x509: certificate signed by unknown authority"), verdict{}, saysConnectError},
		{"T13", client("GET", "error.type=TimeoutError", "!", "exception.type=ETIMEDOUT"), verdict{}, saysReadTimeout}, // got
		{"T11", client("GET", "error.type=UND_ERR_CONNECT_TIMEOUT", "!"), verdict{}, saysConnectTimeout},
		{"T11", client("GET", "error.type=UND_ERR_HEADERS_TIMEOUT", "!"), verdict{}, saysReadTimeout},
		{"T11", client("GET", "error.type=23", "!"), verdict{}, saysReadTimeout},
		{"T12", client("HTTP GET", "error.type=timeout", "!", "@timeout@90ms"), verdict{}, saysReadTimeout},
		{"T12", client("HTTP GET", "http.method=GET", "@abort@90ms"), verdict{}, saysCancelled},
		{"T13", client("GET", "error.type=ConnectTimeout", "!"), verdict{}, saysConnectTimeout},
		{"T13", client("GET", "error.type=ReadTimeout", "!"), verdict{}, saysReadTimeout},
		{"T13", client("GET", "error.type=PoolTimeout", "!"), verdict{}, saysPoolTimeout},
		{"T13", client("GET", "error.type=CancelledError", "!"), verdict{}, saysCancelled},
		{"T13", client("GET", "!", "exception.type=httpx.ReadTimeout"), verdict{}, saysReadTimeout},
		{"T14", client("GET", "error.type=java.net.SocketTimeoutException", "!"), verdict{}, saysReadTimeout},
		{"T14", client("GET", "error.type=io.netty.channel.ConnectTimeoutException", "!"), verdict{}, saysConnectTimeout},
		{"T14", client("GET", "error.type=java.net.http.HttpConnectTimeoutException", "!"), verdict{}, saysConnectTimeout},
		{"T14", client("GET", "error.type=org.apache.hc.client5.http.ConnectionRequestTimeoutException", "!"), verdict{}, saysPoolTimeout},
		{"T14", client("GET", "error.type=reactor.netty.internal.shaded.reactor.pool.PoolAcquireTimeoutException", "!"), verdict{}, saysPoolTimeout},
		{"T14", client("SELECT", "!", "exception.type=java.sql.SQLTransientConnectionException"), verdict{}, saysPoolTimeout},
		{"T14", client("GET", "error.type=java.util.concurrent.CancellationException", "!"), verdict{}, saysCancelled},
		{"T14", client("GET", "error.type=com.twitter.finagle.RequestTimedOutException", "!"), verdict{}, saysReadTimeout},
		{"T15", client("GET", "error.type=cancelled"), verdict{}, saysCancelled},
		{"T15", client("GET", "reactor.canceled=true"), verdict{}, saysCancelled},
		{"", client("GET", "reactor.canceled=false"), verdict{}, saysOK},
		{"T16", client("GET", "error.type=System.Threading.Tasks.TaskCanceledException", "!"), verdict{}, saysMaybeTimeout},
		{"T16", client("GET", "!Task Canceled"), verdict{}, saysMaybeTimeout},
		{"T16", client("GET", "error.type=System.TimeoutException", "!"), verdict{}, saysReadTimeout},
		{"T16", client("GET", "error.type=name_resolution_error", "!"), verdict{}, saysConnectError},
		{"T16", client("GET", "error.type=response_ended", "!"), verdict{}, saysFailure},
		{"T16", client("GET", "error.type=connection_error", "!Connection refused (localhost:5000)"), verdict{}, saysRefused},
		{"C11", inner("DNS lookup x", "error.type=host_not_found", "!"), verdict{}, saysConnectError},
		{"C12", inner("socket connect 192.0.2.1:1", "error.type=connection_refused", "!"), verdict{}, saysRefused},
		{"T17", client("Storage.Get", "error.type=CLIENT_TIMEOUT", "!"), verdict{}, saysReadTimeout},
		{"T18", get("http.response.status_code=504", "error.type=504", "!"), verdict{}, saysUpstream},
		{"T18", get("http.response.status_code=408", "!"), verdict{}, saysUpstream},
		{"T18", entry("GET /", "http.response.status_code=504", "!"), verdict{}, saysUpstream},
		{"T18", entry("GET /", "http.status_code=499"), verdict{}, saysCancelled},
		{"T2", entry("GET /", "http.status_code=499"), timedOutClient, saysReadTimeout},
		{"spec", get("http.response.status_code=499", "!"), verdict{}, saysFailure},
		{"spec", get("http.response.status_code=404", "!"), verdict{}, saysNoData},
		{"spec", get("http.response.status_code=503", "error.type=503", "!"), verdict{}, saysFailure},
		{"spec", entry("GET /", "http.response.status_code=500", "!"), verdict{}, saysFailure},
		{"", entry("GET /", "http.response.status_code=404"), verdict{}, saysOK},
		{"", get("http.response.status_code=200"), verdict{}, saysOK},
		{"T19", client("router x egress", "upstream_cluster=x", "response_flags=UT"), verdict{}, saysReadTimeout},
		{"T18", client("router x egress", "upstream_cluster=x", "response_flags=UT", "http.status_code=504", "!"), verdict{}, saysUpstream},
		{"T19", client("router x egress", "upstream_cluster=x", "response_flags=UT", "http.status_code=503", "!"), verdict{}, saysUpstream},
		{"T19", client("router x egress", "response_flags=UF,URX", "http.status_code=503", "!"), verdict{}, saysConnectError},
		{"T19", client("router x egress", "response_flags=URX", "http.status_code=503", "!"), verdict{}, saysFailure},
		{"T19", client("router x egress", "response_flags=UO", "http.status_code=503", "!"), verdict{}, saysSkipped},
		{"T19", client("router x egress", "response_flags=RL", "http.status_code=429", "!"), verdict{}, saysShed},
		{"T19", entry("ingress", "response_flags=DC", "http.status_code=0"), verdict{}, saysCancelled},
		{"", client("router x egress", "response_flags=-", "http.status_code=200"), verdict{}, saysOK},
		{"T20", client("router x egress", "upstream_cluster=x", "canceled=true"), verdict{}, saysCancelled},
		{"T20", client("router x egress", "upstream_cluster=x", "status=canceled"), verdict{}, saysCancelled},
		{"", inner("job", "canceled=true"), verdict{}, saysOK},
		{"T21", get(), verdict{}, saysCancelled},
		{"", client("my call", "http.request.method=GET", "scope:my.code"), verdict{}, saysOK}, // made by hand
		{"", client("SELECT", "db.system=postgresql", "scope:io.opentelemetry.jdbc"), verdict{}, saysOK},
		{"", client("a.B/C", "rpc.method=a.B/C", "scope:io.opentelemetry.grpc-1.6"), verdict{}, saysOK},
		{"T23", entry("GET /", "srv/request_deadline_rejected=true"), verdict{}, saysReadTimeout},
		{"T23", client("external", "http.response.header.x-yataxi-deadline-expired=1", "http.status_code=498"), verdict{}, saysUpstream},
		{"T23", entry("GET /", "!deadline exceeded: queued for too long"), verdict{}, saysReadTimeout},
		{"T24", client("get", "db.system=redis", "!redis: connection pool timeout"), verdict{}, saysPoolTimeout},
		{"T24", client("pg-pool.connect", "db.system.name=postgresql", "!timeout exceeded when trying to connect"), verdict{}, saysPoolTimeout},
		{"T24", client("pg.query:SELECT", "db.system.name=postgresql", "!Query read timeout"), verdict{}, saysReadTimeout},
		{"T24", client("select", "db.system.name=mysql", "!Query inactivity timeout"), verdict{}, saysReadTimeout},
		{"T24", client("blpop", "db.system.name=redis", "!Command timed out"), verdict{}, saysReadTimeout},
		{"T24", client("pg.query:SELECT", "db.system.name=postgresql", "!canceling statement due to statement timeout"), verdict{}, saysUpstream},
		{"T24", client("sql.conn.exec", "db.system.name=postgresql", "!", "exception.type=*pgconn.PgError", "exception.message=ERROR: canceling statement due to statement timeout (SQLSTATE 57014)"), verdict{}, saysUpstream},
		{"T24", client("SELECT", "db.system.name=postgresql", "!ERROR: canceling statement due to user request (SQLSTATE 57014)"), verdict{}, saysCancelled},
		{"T9", client("pg-pool.connect", "db.system.name=postgresql", "!connect ECONNREFUSED 127.0.0.1:1"), verdict{}, saysRefused},
		{"D8", client("call", "@finagle_timeout_ms@90ms"), verdict{}, saysReadTimeout},
		{"D9", client("external", "cancelled_by_deadline=1", "propagated_timeout_ms=20"), verdict{}, saysReadTimeout},
		{"D9", client("external", "cancelled_by_deadline=1", "propagated_timeout_ms=0"), verdict{}, saysSkipped},
		{"F3", client("GET", "!", "exception.type=io.github.resilience4j.circuitbreaker.CallNotPermittedException"), verdict{}, saysSkipped},
		{"F4", inner("guarded", "!circuit breaker is open"), verdict{}, saysSkipped},
		{"spec", get("http.response.status_code=429", "!Too Many Requests"), verdict{}, saysFailure},
		{"F4", inner("guarded", "!timeout exceeded"), verdict{}, saysReadTimeout},
		{"F5", client("call", "clnt/NackAdmissionFilter_rejected=true"), verdict{}, saysSkipped},
		{"G11", inner("Attempt.a.B.C", "!CANCELLED: Stream thrown away because RetriableStream committed"), verdict{}, saysCancelled},
		{"spec", client("x", "!"), verdict{}, saysFailure},
		{"spec", client("x", "!request timed out"), verdict{}, saysFailure}, // weak words are off
		{"", inner("work"), verdict{}, saysOK},
	}
	for _, test := range tests {
		got, id := outcomeOf(factsOf(test.span, noPart), test.client.state == timedOut)
		if got != test.want || id != test.id {
			t.Errorf("outcomeOf(%s %v %q) = %v by %q, want %v by %q", test.span.Name, test.span.Attrs, test.span.StatusText, got.words(), id, test.want.words(), test.id)
		}
	}

	unfinished := client("x")
	unfinished.Defect = ingest.NoEnd
	if got, _ := outcomeOf(factsOf(unfinished, noPart), false); got.verdict != (verdict{healthy, Unfinished}) {
		t.Errorf("outcomeOf(unfinished) = %v", got)
	}
	for text, want := range map[string]Outcome{"request timed out": ReadTimeout, "Timeout": ReadTimeout, "aborted": CancelledCaller, "lost hedge": CancelledCaller, "odd": Failure} {
		f := factsOf(client("x", "!"+text), noPart)
		f.words = true
		if got, id := outcomeOf(f, false); got.outcome != want || want != Failure && (id != "T22" || got.flags&fromText == 0) {
			t.Errorf("outcomeOf(%q) = %v by %q, want %s by T22", text, got.words(), id, want)
		}
	}
}
