package analyze

import (
	"strconv"
	"strings"
	"time"

	"overrun/ingest"
)

// The attributes that the analysis reads. The first name of a list is the
// current one of OpenTelemetry's semantic conventions, the others are older
// names of the same thing or what other instrumentations write
// (schemas/1.44.0; the tables of the recogniser give each its source).
var (
	keysRPCCode = []string{"rpc.status_code", "rpc.response.status_code", "rpc.grpc.status_code",
		"rpc.connect_rpc.error_code", "grpc.status_code"}
	keysHTTPStatus = []string{"http.response.status_code", "http.status_code"}
	keysHTTPMethod = []string{"http.request.method", "http.method"}
	keysResend     = []string{"http.request.resend_count", "http.resend_count", "http.retry_count"}
	keysPeer       = []string{"service.peer.name", "peer.service"}
	keysTopic      = []string{"messaging.destination.name", "messaging.destination"}
	keysMessaging  = []string{"messaging.system"}
	keysMessageOp  = []string{"messaging.operation.name", "messaging.operation"}
	keysDBSystem   = []string{"db.system.name", "db.system"}
	keysDBName     = []string{"db.namespace", "db.name"}
	keysDBSummary  = []string{"db.query.summary"}
	keysDBOp       = []string{"db.operation.name", "db.operation"}
	keysDBTable    = []string{"db.collection.name", "db.sql.table"}
	keysAddress    = []string{"server.address", "net.peer.name", "http.host", "peer.hostname"}
	keysPort       = []string{"server.port", "net.peer.port"}
	keysURL        = []string{"url.full", "http.url"}
	keysPeerIP     = []string{"network.peer.address", "net.sock.peer.addr", "net.peer.ip"}
	keysRoute      = []string{"http.route"}
	keysTemplate   = []string{"url.template"}
	keysRPCService = []string{"rpc.service"}
	keysRPCMethod  = []string{"rpc.method"}
	keysErrorType  = []string{"error.type"}
	keysClock      = []string{"host.id", "host.name", "k8s.node.name", "k8s.pod.uid", "container.id", "service.instance.id"}
	keysLanguage   = []string{"telemetry.sdk.language"}
)

// Keep lists the attributes that the analysis reads: what ingest.Options.Keep
// has to name.
func Keep() []string {
	var keep []string
	for _, keys := range [][]string{keysRPCCode, keysHTTPStatus, keysHTTPMethod, keysResend, keysPeer, keysTopic,
		keysMessaging, keysMessageOp, keysDBSystem, keysDBName, keysDBSummary, keysDBOp, keysDBTable, keysAddress,
		keysPort, keysURL, keysPeerIP, keysRoute, keysTemplate, keysRPCService, keysRPCMethod, keysErrorType,
		keysClock, keysLanguage} {
		keep = append(keep, keys...)
	}
	for _, d := range recordedDeadlines {
		keep = append(keep, d.keys...)
	}
	return keep
}

// first is the first of the keys that the span has.
func first(s *ingest.Span, keys []string) string {
	for _, key := range keys {
		if v := s.Attr(key); v != "" {
			return v
		}
	}
	return ""
}

// A state is how a span ended, as far as the critical path cares.
type state uint8

const (
	healthy   state = iota // ok, or nobody says otherwise
	failed                 // ended with an error of its own
	timedOut               // stopped waiting: a timeout or a deadline
	cancelled              // was told to stop
)

// broken reports whether the span failed by error or timeout.
func (s state) broken() bool { return s == failed || s == timedOut }

// A verdict is what a span says of its own end. outcome is that of the span
// as an attempt, with cancelled-caller for every cancel; whether it was a race is
// for the siblings to say.
type verdict struct {
	state   state
	outcome Outcome
}

// The numbers of gRPC status codes (grpc/status.proto).
var rpcCodes = [...]string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
	"ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
	"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}

// rpcCode is the RPC status in upper snake case, "" where none was recorded. A
// code OK on a span whose status is an error says nothing: Python's
// instrumentation writes it at the start.
func rpcCode(s *ingest.Span) string {
	code := first(s, keysRPCCode)
	if code == "" {
		return ""
	}
	if n, err := strconv.Atoi(code); err == nil && n >= 0 && n < len(rpcCodes) {
		code = rpcCodes[n]
	}
	code = strings.ToUpper(code)
	switch {
	case code == "CANCELED":
		return "CANCELLED"
	case code == "OK" && s.Status == ingest.Error:
		return ""
	}
	return code
}

// httpStatus is the HTTP response status, 0 where none was recorded.
func httpStatus(s *ingest.Span) int {
	text := first(s, keysHTTPStatus)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 100 || n > 999 {
		return 0
	}
	return n
}

// judge decides how a span ended, in this order: RPC code, error.type, HTTP
// status, status text. client is the verdict of its CLIENT parent; the zero
// verdict where it has none. Rule names are those of the recogniser's tables.
func judge(s *ingest.Span, client verdict) verdict {
	if s.Defect&ingest.NoEnd != 0 {
		return verdict{healthyUnless(s), Unfinished}
	}
	server := s.Kind == ingest.Server || s.Kind == ingest.Consumer
	if server {
		return judgeServer(s, client)
	}
	switch code := rpcCode(s); code {
	case "":
	case "OK":
		return verdict{healthy, OutcomeOK}
	case "NOT_FOUND":
		return verdict{healthy, NoData}
	case "DEADLINE_EXCEEDED": // T1
		return verdict{timedOut, ReadTimeout}
	case "CANCELLED": // T2
		return verdict{cancelled, CancelledCaller}
	default:
		if strings.Contains(s.StatusText, "connection refused") {
			return verdict{failed, Refused}
		}
		return verdict{failed, Failure}
	}
	if v, ok := judgeGo(s); ok {
		return v
	}
	status := httpStatus(s)
	switch {
	case status == 404:
		return verdict{healthy, NoData}
	case status >= 400:
		return verdict{failed, Failure}
	case s.Status == ingest.Error:
		return verdict{failed, Failure}
	case status == 0 && s.Kind == ingest.Client && s.Status == ingest.Unset && first(s, keysHTTPMethod) != "" &&
		first(s, keysErrorType) == "" && instrumented(s.Scope): // T21
		return verdict{cancelled, CancelledCaller}
	}
	return verdict{healthy, OutcomeOK}
}

// judgeServer is judge for a SERVER or CONSUMER: how the callee saw it.
func judgeServer(s *ingest.Span, client verdict) verdict {
	gone := func() verdict {
		if client.state == timedOut { // T2, G9
			return verdict{timedOut, ReadTimeout}
		}
		return verdict{cancelled, CancelledCaller}
	}
	switch rpcCode(s) {
	case "CANCELLED":
		return gone()
	case "DEADLINE_EXCEEDED":
		return verdict{timedOut, ReadTimeout}
	case "UNKNOWN", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS": // G12
		return verdict{failed, Failure}
	}
	if v, ok := judgeGo(s); ok {
		if v.state == cancelled {
			return gone()
		}
		return v
	}
	status := httpStatus(s)
	switch {
	case status == 499:
		return gone()
	case status >= 500, s.Status == ingest.Error:
		return verdict{failed, Failure}
	}
	return verdict{healthy, OutcomeOK}
}

// judgeGo knows what Go's standard library says: error types as otelhttp
// records them, and texts that are constants of the library (T3-T5, T7-T9).
func judgeGo(s *ingest.Span) (verdict, bool) {
	kind, text := first(s, keysErrorType), s.StatusText
	if kind == "" && s.Status != ingest.Error {
		return verdict{}, false
	}
	has := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case kind == "context.deadlineExceededError", has("context deadline exceeded"): // T3
		return verdict{timedOut, ReadTimeout}, true
	case kind == "*errors.errorString" && has("net/http: request canceled"): // T4
		return verdict{timedOut, ReadTimeout}, true
	case has("context canceled"): // T5
		return verdict{cancelled, CancelledCaller}, true
	case kind == "*http.timeoutError", has("net/http: timeout awaiting response headers"): // T7
		return verdict{timedOut, ReadTimeout}, true
	case kind == "net/http.tlsHandshakeTimeoutError", has("net/http: TLS handshake timeout"): // T8
		return verdict{timedOut, ConnectTimeout}, true
	case has("connection refused"): // T9
		return verdict{failed, Refused}, true
	case has("dial tcp") && has("i/o timeout"):
		return verdict{timedOut, ConnectTimeout}, true
	case has("read tcp") && has("i/o timeout"):
		return verdict{timedOut, ReadTimeout}, true
	case has("dial tcp"), has("no such host"):
		return verdict{failed, ConnectError}, true
	}
	return verdict{}, false
}

// healthyUnless is the state of a span that has no end: its status may still
// say that it failed.
func healthyUnless(s *ingest.Span) state {
	if s.Status == ingest.Error {
		return failed
	}
	return healthy
}

// instrumented reports whether the scope is a known HTTP instrumentation:
// only those promise to record every answer.
func instrumented(scope string) bool {
	for _, part := range []string{"otelhttp", "go.opentelemetry.io/contrib/", "io.opentelemetry.", "@opentelemetry/instrumentation",
		"opentelemetry.instrumentation.", "System.Net.Http", "OpenTelemetry.Instrumentation."} {
		if strings.Contains(scope, part) {
			return true
		}
	}
	return false
}

// phaseNames are CLIENT spans that are a phase of a call, never a call (rows
// C1-C7, C21, C24, C26-C29, C31, C35 of the recogniser's tables).
var phaseNames = map[string]bool{
	"http.getconn": true, "http.dns": true, "http.connect": true, "http.tls": true, "http.headers": true,
	"http.send": true, "http.receive": true, "dns.lookup": true, "pool.acquire": true,
	"sql.connector.connect": true, "sql.conn.reset_session": true, "sql.conn.ping": true, "sql.conn.begin_tx": true,
	"pg-pool.connect": true, "pg.connect": true, "redis-connect": true, "redis.dial": true, "kong.dns": true,
}

// A recordedDeadline is a way to write the time left on a span. All of these
// are relative to the start of the span.
type recordedDeadline struct {
	keys  []string
	kinds [6]bool // by ingest.Kind: where it counts
	parse func(text string) (left, grain time.Duration, ok bool)
}

var recordedDeadlines = []recordedDeadline{
	{[]string{"rpc.request.metadata.grpc-timeout", "rpc.grpc.request.metadata.grpc-timeout", // D2
		"http.request.header.grpc-timeout", "rpc.request.headers.grpc-timeout"},
		[6]bool{ingest.Server: true, ingest.Client: true}, grpcTimeout},
	{[]string{"http.request.header.x-envoy-expected-rq-timeout-ms"}, // D5
		[6]bool{ingest.Server: true}, milliseconds},
	{[]string{"http.request.header.x-budget-ms"},
		[6]bool{ingest.Server: true, ingest.Client: true}, milliseconds},
}

// longestBudget is the longest time left that is believed; a larger number is
// something else (an absolute time, another unit).
const longestBudget = 24 * time.Hour

// milliseconds reads a decimal number of milliseconds. 0 and below mean that
// the deadline has passed.
func milliseconds(text string) (left, grain time.Duration, ok bool) {
	ms, err := strconv.ParseFloat(headerValue(text), 64)
	left = time.Duration(ms * float64(time.Millisecond))
	return left, time.Millisecond, err == nil && ms >= -longestBudget.Seconds()*1e3 && ms <= longestBudget.Seconds()*1e3
}

// grpcTimeout reads gRPC's timeout header: 1 to 8 digits and a unit
// (gRPC over HTTP/2, "Timeout").
func grpcTimeout(text string) (left, grain time.Duration, ok bool) {
	text = headerValue(text)
	if len(text) < 2 || len(text) > 9 {
		return 0, 0, false
	}
	unit, ok := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second,
		'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond}[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	if !ok || err != nil || time.Duration(n) > longestBudget/unit {
		return 0, 0, false
	}
	return time.Duration(n) * unit, unit, true
}

// headerValue is the first value of a captured header, which may be a list.
func headerValue(text string) string {
	text, _, _ = strings.Cut(text, ",")
	return strings.TrimSpace(text)
}
