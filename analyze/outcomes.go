package analyze

import (
	"slices"
	"strings"

	"overrun/ingest"
)

// The order in which signals decide how a span ended (6). What a status
// answered in general is decided after all signals that say more.
const (
	inCode      = iota + 1
	inOtherCode // a code of which only the class counts
	inErrorType
	inStatus
	inFlags
	inException
	inText
	inGeneral
)

// httpScopes are instrumentations that promise to record every answer: only of
// them a CLIENT span without one was cancelled (T21).
var httpScopes = strings.Join([]string{
	"*otelhttp*",
	"*go.opentelemetry.io/contrib/*",
	"*io.opentelemetry.*",
	"*@opentelemetry/instrumentation*",
	"*opentelemetry.instrumentation.*",
	"*System.Net.Http*",
	"*OpenTelemetry.Instrumentation.*",
}, "|")

// Instrumentations of HTTP clients that take an error of the caller's own for the call's.
const (
	otelhttpScope  = "*otelhttp*"
	nodeHTTPScopes = "*instrumentation-undici|*instrumentation-http"
)

// outcomeTable says how a span ended. Spans that no rule matches ended well.
var outcomeTable = newTable(codeRules(), errorTypeRules(), statusRules(), flagRules(), textRules(), defaultRules())

// What outcomes say.
var (
	saysOK             = outcomeSays{verdict: verdict{healthy, OutcomeOK}}
	saysNoData         = outcomeSays{verdict: verdict{healthy, NoData}}
	saysFailure        = outcomeSays{verdict: verdict{failed, Failure}}
	saysUpstream       = outcomeSays{verdict{failed, Failure}, upstreamTimeout}
	saysRefused        = outcomeSays{verdict: verdict{failed, Refused}}
	saysConnectError   = outcomeSays{verdict: verdict{failed, ConnectError}}
	saysConnectTimeout = outcomeSays{verdict: verdict{timedOut, ConnectTimeout}}
	saysPoolTimeout    = outcomeSays{verdict: verdict{timedOut, PoolTimeout}}
	saysReadTimeout    = outcomeSays{verdict: verdict{timedOut, ReadTimeout}}
	saysCancelled      = outcomeSays{verdict: verdict{cancelled, CancelledCaller}}
	saysMaybeTimeout   = outcomeSays{verdict{cancelled, CancelledCaller}, maybeTimeout}
	saysMaybeLeft      = outcomeSays{verdict{failed, Failure}, maybeLeft}
	saysSkipped        = outcomeSays{verdict{failed, Skipped}, overload}
	saysOfBefore       = outcomeSays{verdict{healthy, OutcomeOK}, ofBefore}
	saysShed           = outcomeSays{verdict{failed, Failure}, overload}
)

// outcomeOf decides how a span ended, and by which rule; "": nothing says that it
// did not end well. late: its parent timed out; of a server, its CLIENT parent.
func outcomeOf(f *facts, late bool) (outcomeSays, string) {
	s := f.span
	if s.Defect&ingest.NoEnd != 0 {
		// What an unfinished span lacks says nothing; what it has does.
		if s.Status != ingest.Error {
			return outcomeSays{verdict: verdict{healthy, Unfinished}}, ""
		}
		says, id := f.firstOutcome(late)
		says.outcome = Unfinished
		return says, id
	}
	return f.firstOutcome(late)
}

// firstOutcome is what the first rule that matches says.
func (f *facts) firstOutcome(late bool) (outcomeSays, string) {
	s := f.span
	var room [24]int32
	for _, n := range f.tables.outcomes.candidates(f, room[:]) {
		r := &f.tables.outcomes.rules[n]
		if r.says.flags&fromText != 0 && !f.words || !f.match(&r.when) {
			continue
		}
		says := r.says
		// Who was told to stop by a caller that timed out timed out itself (T2, G9).
		if says.state == cancelled && late && (entryKinds.has(s.Kind) || says.flags&maybeTimeout != 0) {
			says.verdict, says.flags = verdict{timedOut, ReadTimeout}, says.flags&^maybeTimeout
			if entryKinds.has(s.Kind) {
				return says, "T2"
			}
		}
		return says, r.id
	}
	return saysOK, ""
}

// outcome makes a rule of the block of outcomes.
func outcome(id string, order int, says outcomeSays, source string, when sign) rule[outcomeSays] {
	return rule[outcomeSays]{id: id, priority: byOutcome, order: order, source: source, when: when, says: says}
}

// neverConnected is what grpc-go says of a call that its deadline found without a connection.
const neverConnected = "latest balancer error: connection error"

func codeRules() []rule[outcomeSays] {
	const rpc = "semantic-conventions docs/rpc/grpc.md"
	code := func(id string, kinds kindSet, says outcomeSays, codes ...string) []rule[outcomeSays] {
		return forValues(outcome(id, inCode, says, rpc, sign{kinds: kinds}), rpcCodeKey, codes...)
	}
	refused := func(source, text string) rule[outcomeSays] {
		return outcome("T9", inOtherCode, saysRefused, source, sign{kinds: callerKinds, has: []attrIs{{key: rpcCodeKey, is: "*"}}, text: text})
	}
	// A call that waits until it is connected says so beside its deadline.
	unconnected := func(source, text string) rule[outcomeSays] {
		return outcome("G8", inCode, saysConnectTimeout, source, sign{has: []attrIs{{key: rpcCodeKey, is: "DEADLINE_EXCEEDED"}}, text: text})
	}
	// A handler that gives back the error of its context: connect-go calls that unknown.
	gave := func(id, text string, says outcomeSays) rule[outcomeSays] {
		return outcome(id, inCode, says, "connectrpc/connect-go error.go", sign{kinds: entryKinds, has: []attrIs{{key: rpcCodeKey, is: "UNKNOWN"}}, text: text})
	}
	bad := outcome("G12", inOtherCode, saysFailure, rpc, sign{kinds: callerKinds, has: []attrIs{{key: rpcCodeKey, is: "*"}}})
	return slices.Concat(
		[]rule[outcomeSays]{
			unconnected("grpc-go picker_wrapper.go", neverConnected),
			unconnected("grpc-js load-balancing-call.ts", "waiting for lb pick"),
			gave("T3", "context deadline exceeded", saysReadTimeout),
			gave("T5", "context canceled", saysCancelled),
		},
		code("T1", 0, saysReadTimeout, "DEADLINE_EXCEEDED"),
		code("T2", 0, saysCancelled, "CANCELLED"),
		code("G12", callerKinds, saysOK, "OK"),
		code("G12", callerKinds, saysNoData, "NOT_FOUND"),
		[]rule[outcomeSays]{
			refused("net.OpError in the status of grpc-go", "connection refused"),
			refused("Node net, in what grpc-js says", "econnrefused"),
		},
		code("G12", entryKinds, saysFailure, "UNKNOWN", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"),
		[]rule[outcomeSays]{bad},
		[]rule[outcomeSays]{outcome("T21b", inCode, saysMaybeTimeout, "seen in a probe of grpc-go", // by the parent's end or a known deadline
			sign{kinds: callerKinds, name: "Sent.*", state: errorStatus, lacks: []string{rpcCodeKey}, text: "rst_stream*cancel"})},
		[]rule[outcomeSays]{outcome("T21b", inCode, saysMaybeTimeout, "seen in a probe of grpc-go",
			sign{kinds: callerKinds, name: "Attempt.*", state: errorStatus, lacks: []string{rpcCodeKey}, text: "rst_stream*cancel"})},
	)
}

// errorClasses are names of error types and exception classes, those that others
// end with last. They are looked for in error.type, and in the exception event.
var errorClasses = []struct {
	id      string
	says    outcomeSays
	source  string
	classes []string
}{
	{"T3", saysReadTimeout, "opentelemetry-go-contrib otelhttp", []string{"context.deadlineExceededError"}},
	{"T7", saysReadTimeout, "Go net/http", []string{"*http.timeoutError"}},
	{"T8", saysConnectTimeout, "Go net/http", []string{"*http.tlsHandshakeTimeoutError"}},
	{"T10", saysReadTimeout, "opentelemetry-js-contrib instrumentation-http/utils.ts", []string{"ECONNABORTED", "ETIMEDOUT", "ESOCKETTIMEDOUT"}},
	{"T10", saysCancelled, "opentelemetry-js-contrib instrumentation-http/utils.ts", []string{"ABORT_ERR", "AbortError"}},
	{"T10", saysCancelled, "axios lib/cancel/CanceledError.js", []string{"ERR_CANCELED", "CanceledError"}},
	{"T10", saysRefused, "opentelemetry-js-contrib instrumentation-http/utils.ts", []string{"ECONNREFUSED"}},
	{"T10", saysConnectError, "opentelemetry-js-contrib instrumentation-http/utils.ts", []string{"ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"}},
	{"T10", saysConnectError, "Node tls, X.509 certificate error codes", []string{"DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN",
		"UNABLE_TO_*", "CERT_*", "ERR_TLS_CERT_ALTNAME_INVALID"}},
	{"T9", saysConnectError, "Go crypto/tls", []string{"*tls.CertificateVerificationError"}},
	{"T14", saysConnectError, "Java javax.net.ssl", []string{"javax.net.ssl.SSLHandshakeException"}},
	{"T11", saysConnectTimeout, "opentelemetry-js-contrib undici.ts", []string{"UND_ERR_CONNECT_TIMEOUT"}},
	{"T11", saysReadTimeout, "opentelemetry-js-contrib undici.ts", []string{"UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"}},
	{"T12", saysReadTimeout, "opentelemetry-js-contrib xhr.ts", []string{"timeout"}},
	{"T13", saysPoolTimeout, "opentelemetry-python-contrib", []string{"PoolTimeout", "*.PoolTimeout"}},
	{"T13", saysConnectTimeout, "opentelemetry-python-contrib", []string{"ConnectTimeout", "*.ConnectTimeout", "ConnectionTimeoutError", "*.ConnectionTimeoutError"}},
	{"T13", saysCancelled, "opentelemetry-python-contrib", []string{"CancelledError", "*.CancelledError"}},
	{"T14", saysPoolTimeout, "opentelemetry-java-instrumentation", []string{"*ConnectionRequestTimeoutException", "*PoolAcquireTimeoutException", "*SQLTransientConnectionException"}},
	{"T14", saysConnectTimeout, "opentelemetry-java-instrumentation", []string{"*ConnectTimeoutException"}},
	{"T14", saysReadTimeout, "twitter/finagle", []string{"com.twitter.finagle.*Timed*Exception"}},
	{"T14", saysCancelled, "opentelemetry-java-instrumentation", []string{"*.CancellationException"}},
	{"T14", saysRefused, "Java java.net", []string{"java.net.ConnectException"}},
	{"T14", saysConnectError, "Java java.net", []string{"java.net.UnknownHostException", "java.net.NoRouteToHostException"}},
	{"T15", saysCancelled, "opentelemetry-java-instrumentation reactor-netty", []string{"cancelled"}},
	{"T16", saysMaybeTimeout, "opentelemetry-dotnet-contrib HttpHandlerDiagnosticListener.cs; dotnet/corefx#20296", []string{"System.Threading.Tasks.TaskCanceledException"}},
	{"T16", saysCancelled, "opentelemetry-dotnet-contrib HttpHandlerDiagnosticListener.cs", []string{"System.OperationCanceledException"}},
	{"T16", saysReadTimeout, ".NET; App-vNext/Polly", []string{"System.TimeoutException", "Polly.Timeout.TimeoutRejectedException"}},
	{"T16", saysConnectError, "semantic-conventions docs/dotnet/dotnet-network-traces.md", []string{"name_resolution_error", "connection_error", "secure_connection_error"}},
	{"T16", saysFailure, "semantic-conventions docs/dotnet/dotnet-network-traces.md", []string{"response_ended"}},
	{"C11", saysConnectError, "semantic-conventions docs/dotnet/dotnet-network-traces.md", []string{"host_not_found", "try_again"}},
	{"C12", saysRefused, "semantic-conventions docs/dotnet/dotnet-network-traces.md", []string{"connection_refused"}},
	{"T17", saysReadTimeout, "googleapis/gax-go telemetry.go", []string{"CLIENT_TIMEOUT"}},
	{"F3", saysSkipped, "resilience4j, failsafe, Polly, opossum", breakerClasses},
	// What ends in Timeout, TimeoutError or TimeoutException and is none of the above.
	{"T13", saysReadTimeout, "opentelemetry-python-contrib", []string{"*Timeout", "*TimeoutError"}},
	{"T14", saysReadTimeout, "opentelemetry-java-instrumentation", []string{"*TimeoutException"}},
}

func errorTypeRules() (list []rule[outcomeSays]) {
	for _, c := range errorClasses {
		list = append(list, forValues(outcome(c.id, inErrorType, c.says, c.source, sign{}), "error.type", c.classes...)...)
		list = append(list, forValues(outcome(c.id, inException, c.says, c.source, sign{state: errorStatus}), exceptionTypeKey, c.classes...)...)
	}
	typed := func(id string, says outcomeSays, source, class, text string) rule[outcomeSays] {
		return outcome(id, inErrorType, says, source, sign{has: []attrIs{{key: "error.type", is: class}}, text: text})
	}
	const opError, errorString = "*net.OpError", "*errors.errorString"
	return append(list,
		typed("T4", saysReadTimeout, "Go net/http, http.Client.Timeout", errorString, "net/http: request canceled"), // the type alone says nothing
		typed("T5", saysCancelled, "Go context", errorString, "context canceled"),
		typed("T9", saysRefused, "Go net", opError, "connection refused"),
		typed("T9", saysConnectTimeout, "Go net", opError, "dial tcp*i/o timeout"),
		typed("T9", saysReadTimeout, "Go net", opError, "read tcp*i/o timeout"),
		typed("T9", saysConnectError, "Go net", opError, "no such host"),
		typed("T9", saysConnectError, "Go net", opError, "dial tcp"),
		typed("T16", saysRefused, "semantic-conventions docs/dotnet/dotnet-network-traces.md", "connection_error", "connection refused"),
		outcome("T6", inErrorType, saysMaybeLeft, "Go net/http", // of a Client, never of a transport: it is a cause, if not of a call within
			sign{kinds: clientKind, scope: otelhttpScope, has: []attrIs{{key: "error.type", is: "*url.Error"}, {key: "http.request.method"}}}),
		outcome("T11", inErrorType, saysReadTimeout, "opentelemetry-js-contrib undici.ts", // DOMException TimeoutError of AbortSignal.timeout
			sign{kinds: clientKind, has: []attrIs{{key: "error.type", is: "23"}}}),
		outcome("T10", inException, saysConnectTimeout, "Node net", // the system gave up, not the caller
			sign{state: errorStatus, has: []attrIs{{key: exceptionTypeKey, is: "ETIMEDOUT"}, {key: exceptionMessageKey, is: "connect ETIMEDOUT*"}}}),
		outcome("T12", inErrorType, saysCancelled, "opentelemetry-js-contrib xhr.ts",
			sign{kinds: clientKind, event: "abort", lacks: []string{"error.type", httpStatusKey}}),
	)
}

func statusRules() []rule[outcomeSays] {
	// Of a server, what it says itself counts before what it answered.
	const http = "RFC 9110; nginx"
	return slices.Concat(
		forValues(outcome("T18", inStatus, saysUpstream, http, sign{kinds: callerKinds}), httpStatusKey, "408", "504"),
		forValues(outcome("T18", inGeneral, saysUpstream, http, sign{kinds: entryKinds}), httpStatusKey, "504"),
		forValues(outcome("T18", inGeneral, saysCancelled, http, sign{kinds: entryKinds}), httpStatusKey, "499"),
		[]rule[outcomeSays]{
			outcome("T21", inStatus, saysCancelled, "semantic-conventions docs/http/http-spans.md; #3494, #3495", sign{kinds: clientKind, state: unsetStatus,
				has: []attrIs{{key: "http.request.method"}}, lacks: []string{httpStatusKey, "error.type", "response_flags"}, scope: httpScopes}),
			outcome("R17", inStatus, saysOfBefore, "kiota-dotnet RetryHandler.cs", // its status is that of the answer before
				sign{kinds: ownKind, name: "RetryHandler_SendAsync - attempt *", has: []attrIs{{key: httpStatusKey}}}),
			outcome("R10", inStatus, saysFailure, "aws/smithy-go transport/http/client.go", // no answer came, and nothing says why
				sign{kinds: ownKind, name: "DoHTTPRequest", has: []attrIs{{key: "http.response.status_code", is: "0"}}}),
			outcome("spec", inGeneral, saysNoData, "spec 1", sign{kinds: callerKinds, has: []attrIs{{key: httpStatusKey, is: "404"}}}),
		},
		forValues(outcome("spec", inGeneral, saysFailure, "RFC 9110", sign{kinds: callerKinds}), httpStatusKey, "4*", "5*", "6*", "7*", "8*", "9*"),
		forValues(outcome("spec", inGeneral, saysFailure, "RFC 9110", sign{kinds: entryKinds}), httpStatusKey, "5*", "6*", "7*", "8*", "9*"),
	)
}

func flagRules() []rule[outcomeSays] {
	const (
		flags = "response_flags" // a span that has it is Envoy's
		envoy = "envoyproxy/envoy response flags docs, tracer_impl.cc"
		java  = "opentelemetry-java-instrumentation"
	)
	flag := func(says outcomeSays, when sign, items ...string) []rule[outcomeSays] {
		return forItems(outcome("T19", inFlags, says, envoy, when), flags, items...)
	}
	yes := func(id string, says outcomeSays, source string, kinds kindSet, keys ...string) (list []rule[outcomeSays]) {
		for _, key := range keys {
			list = append(list, forValues(outcome(id, inFlags, says, source, sign{kinds: kinds}), key, "true", "1")...)
		}
		return list
	}
	gate := []attrIs{{key: "upstream_cluster.name"}}
	timeouts := []string{"UT", "DT", "UMSDR", "SI"}
	return slices.Concat(
		flag(saysUpstream, sign{has: []attrIs{{key: httpStatusKey}}}, timeouts...),
		flag(saysReadTimeout, sign{lacks: []string{httpStatusKey}}, timeouts...),
		flag(saysConnectError, sign{kinds: callerKinds}, "UF", "UH"),
		flag(saysSkipped, sign{kinds: callerKinds}, "UO"),
		flag(saysCancelled, sign{}, "DC", "DR"),
		flag(saysShed, sign{}, "RL"),
		flag(saysFailure, sign{}, "UC", "UR", "LR", "URX"),
		forValues(outcome("T20", inFlags, saysCancelled, "found in public code", sign{kinds: clientKind, has: gate}), "canceled", "true"),
		forValues(outcome("T20", inFlags, saysCancelled, "found in public code", sign{kinds: clientKind, has: gate}), "status", "canceled"),
		yes("T15", saysCancelled, java, 0, "reactor.canceled", "rxjava.canceled", "guava.canceled", "jaxrs.canceled", "grpc.canceled"),
		yes("D9", saysReadTimeout, "userver request_state.cpp", callerKinds, "cancelled_by_deadline"),
		forValues(outcome("D9", inFlags, saysSkipped, "userver request_state.cpp", sign{kinds: callerKinds, has: []attrIs{{key: "propagated_timeout_ms", is: "0"}}}), "cancelled_by_deadline", "true", "1"),
		yes("F5", saysSkipped, "twitter/finagle", callerKinds, "clnt/NackAdmissionFilter_rejected", "clnt/RequestSemaphoreFilter_rejected"),
		yes("T23", saysReadTimeout, "twitter/finagle DeadlineFilter.scala", entryKinds, "srv/request_deadline_rejected"),
		yes("T23", saysUpstream, "userver deadline_propagation.md", callerKinds, "answer header x-yataxi-deadline-expired"),
		[]rule[outcomeSays]{outcome("D8", inFlags, saysReadTimeout, "twitter/finagle TimeoutFilter.scala", sign{event: "finagle_timeout_ms"})},
	)
}

func textRules() []rule[outcomeSays] {
	text := func(id string, says outcomeSays, source string, kinds kindSet, texts ...string) []rule[outcomeSays] {
		return forTexts(outcome(id, inText, says, source, sign{kinds: kinds, state: errorStatus}), texts...)
	}
	const net, http = "Go net", "Go net/http"
	list := slices.Concat(
		text("G11", saysCancelled, "grpc-java RetriableStream.java", 0, "stream thrown away because retriablestream committed"),
		text("T23", saysUpstream, "cashapp/misk", callerKinds, "deadline exceeded: queued for too long"),
		text("T23", saysReadTimeout, "cashapp/misk", entryKinds, "deadline exceeded: queued for too long"),
		text("G8", saysConnectTimeout, "grpc-go picker_wrapper.go", 0, neverConnected),
		text("T3", saysReadTimeout, "Go context", 0, "context deadline exceeded"),
		text("T5", saysCancelled, "Go context", 0, "context canceled"),
		text("T7", saysReadTimeout, http, 0, "net/http: timeout awaiting response headers"),
		text("T8", saysConnectTimeout, http, 0, "net/http: tls handshake timeout"),
		text("T9", saysRefused, net, 0, "connection refused"),
		text("T9", saysConnectTimeout, net, 0, "dial tcp*i/o timeout"),
		text("T9", saysReadTimeout, net, 0, "read tcp*i/o timeout"),
		text("T9", saysConnectError, net, 0, "dial tcp", "no such host"),
		text("T9", saysRefused, "Node net", 0, "connect econnrefused"),
		text("T24", saysPoolTimeout, "redis/go-redis internal/pool/pool.go", callerKinds, "redis: connection pool timeout"),
		text("T24", saysPoolTimeout, "brianc/node-postgres pg-pool/index.js", callerKinds, "timeout exceeded when trying to connect"),
		text("T24", saysReadTimeout, "brianc/node-postgres pg/lib/client.js", callerKinds, "query read timeout"),
		text("T24", saysReadTimeout, "sidorares/node-mysql2 lib/commands/query.js", callerKinds, "query inactivity timeout"),
		text("T24", saysReadTimeout, "redis/ioredis lib/Command.ts", callerKinds, "command timed out"),
		text("T24", saysUpstream, "PostgreSQL src/backend/tcop/postgres.c", callerKinds, // its server gave up, and answered
			"canceling statement due to statement timeout", "canceling statement due to lock timeout"),
		text("T24", saysCancelled, "PostgreSQL src/backend/tcop/postgres.c", callerKinds, "canceling statement due to user request"),
		text("T16", saysMaybeTimeout, "opentelemetry-dotnet-contrib HttpHandlerDiagnosticListener.cs", 0, "task canceled"),
	)
	list = append(list, text("F4", saysReadTimeout, "failsafe-go", 0, "timeout exceeded")...)
	for _, b := range breakerTexts {
		r := outcome("F4", inText, saysSkipped, b.source, sign{kinds: callerKinds, state: errorStatus, lacks: []string{httpStatusKey, rpcCodeKey}})
		list = append(list, forTexts(r, b.texts...)...)
	}
	weak := func(says outcomeSays, texts ...string) []rule[outcomeSays] {
		says.flags |= fromText
		rules := forTexts(outcome("T22", 0, says, "words", sign{state: errorStatus}), texts...)
		for i := range rules {
			rules[i].priority = byText
		}
		return rules
	}
	return slices.Concat(list,
		weak(saysReadTimeout, "deadline exceeded", "timed out", "timeout", "i/o timeout"),
		weak(saysCancelled, "lost hedge", "canceled", "cancelled", "aborted"))
}

func defaultRules() []rule[outcomeSays] {
	const transport = "Go net/http transport.go, io"
	goHTTP := func(id string, order int, source, text string, says outcomeSays) rule[outcomeSays] {
		return rule[outcomeSays]{id: id, priority: byDefault, order: order, source: source, says: says,
			when: sign{kinds: clientKind, scope: otelhttpScope, has: []attrIs{{key: "http.request.method"}}, state: errorStatus, text: text}}
	}
	return []rule[outcomeSays]{
		// What the transport itself says. Other words are the caller's.
		goHTTP("T9", 0, transport, "eof", saysFailure),
		goHTTP("T9", 0, transport, "http: ", saysFailure),
		goHTTP("T9", 0, transport, "http2: ", saysFailure),
		goHTTP("T6", 1, "Go context.Cause, net/http", "", saysMaybeLeft),
		{id: "T6", priority: byDefault, order: 1, source: "Node AbortController.abort(reason), ClientRequest.destroy(error)", says: saysMaybeLeft, // an error of Node's has a code
			when: sign{kinds: clientKind, scope: nodeHTTPScopes, has: []attrIs{{key: exceptionTypeKey, is: "Error"}, {key: "http.request.method"}}, state: errorStatus}},
		{id: "spec", priority: byDefault, order: 2, source: "OpenTelemetry specification, span status", when: sign{state: errorStatus}, says: saysFailure},
	}
}
