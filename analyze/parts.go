package analyze

import "slices"

// Globs for instrumentation scopes that tell apart spans of one name (N10).
const (
	rubyScope    = "OpenTelemetry::Instrumentation::*"
	nodeNetScope = "*instrumentation-net*"
	awsScope     = "github.com/aws/aws-sdk-go-v2*|*smithy*"
	traefikScope = "*traefik*"
	lettuceScope = "*lettuce*"
	otelpgxScope = "*otelpgx*"
	ioredisScope = "*instrumentation-ioredis*"
	jdbcScope    = "*jdbc*"
)

// notACall are attributes that a span named CONNECT or connect has if it is a
// real request or query.
var notACall = []string{"http.request.method", "db.query.text"}

// partTable says what a span is to a call. Spans that no rule matches are what
// their kind says: SERVER and CONSUMER an entry, CLIENT and PRODUCER a call,
// others the service's own work.
//
// Phase spans are often of kind CLIENT (rows marked † in the reference); having a
// part here is what keeps them from being counted as calls.
var partTable = newTable(slices.Concat(
	phaseNameRules(), phaseHintRules(), attemptRules(), insteadPartRules()))

func phaseNameRules() []rule[partSays] {
	phase := func(id string, p part, source string, kinds kindSet, names ...string) []rule[partSays] {
		return forNames(rule[partSays]{id: id, priority: byPhaseName, source: source, when: sign{kinds: kinds}, says: partSays{part: p}}, names...)
	}
	// Drivers of databases connect before the span of a query begins, and beside it.
	first := func(place phasePlace, rules []rule[partSays]) []rule[partSays] {
		for i := range rules {
			rules[i].says.place = place
		}
		return rules
	}
	const (
		httptrace = "opentelemetry-go-contrib otelhttptrace/clienttrace.go"
		dotnet    = "semantic-conventions docs/dotnet/dotnet-network-traces.md"
		nodeNet   = "opentelemetry-js-contrib instrumentation-net"
		otelsql   = "XSAM/otelsql methods.go"
		oracle    = "opentelemetry-js-contrib instrumentation-oracledb"
	)
	return slices.Concat(
		[]rule[partSays]{
			{id: "C1", priority: byPhaseName, source: httptrace, says: partSays{part: poolPart}, // all of it was waiting
				when: sign{kinds: innerKinds, name: "http.getconn", has: []attrIs{{key: "http.conn.reused", is: "true"}}}},
		},
		phase("C1", connectPart, httptrace, innerKinds, "http.getconn"),
		phase("C2", dnsPart, httptrace, innerKinds, "http.dns"),
		phase("C3", tcpPart, httptrace, innerKinds, "http.connect"),
		phase("C4", tlsPart, httptrace, innerKinds, "http.tls"),
		phase("C5", sendPart, httptrace, innerKinds, "http.headers"),
		phase("C6", sendPart, httptrace, innerKinds, "http.send"),
		phase("C7", receivePart, httptrace, innerKinds, "http.receive"),
		phase("C9", poolPart, dotnet, ownKind, "HTTP wait_for_connection *"),
		phase("C10", connectPart, dotnet, ownKind, "HTTP connection_setup *"),
		phase("C11", dnsPart, dotnet, ownKind, "DNS lookup *", "DNS reverse lookup *"),
		phase("C12", tcpPart, dotnet, ownKind, "socket connect *"),
		phase("C13", tlsPart, dotnet, ownKind, "TLS client handshake *"),
		[]rule[partSays]{
			{id: "C14", priority: byPhaseName, source: "opentelemetry-java-instrumentation NettyConnectionRequest.java", says: partSays{part: dnsPart},
				when: sign{kinds: ownKind, name: "RESOLVE", has: []attrIs{{key: "server.address"}}}},
		},
		// C18 contains C21, and C19 contains C18: whoever adds them up takes the
		// overlap off the outer one.
		phase("C18", tcpPart, nodeNet, ownKind, "tcp.connect"),
		phase("C19", tlsPart, nodeNet, ownKind, "tls.connect"),
		phase("C20", tcpPart, nodeNet, ownKind, "ipc.connect"),
		phase("C21", dnsPart, "opentelemetry-js-contrib instrumentation-dns", innerKinds, "dns.lookup", "dns.*/lookup"),
		first(inStead, phase("C24", poolPart, "exaring/otelpgx tracer.go", innerKinds, "pool.acquire")),
		first(inStead, phase("C26", connectPart, otelsql, innerKinds, "sql.connector.connect")),
		first(ahead, phase("C27", connectPart, otelsql, innerKinds, "sql.conn.reset_session")), // where it fails, database/sql connects anew
		first(inStead, phase("C27", connectPart, otelsql, innerKinds, "sql.conn.ping", "sql.conn.begin_tx")),
		first(inStead, phase("C28", poolPart, "opentelemetry-js-contrib instrumentation-pg", innerKinds, "pg-pool.connect")),
		first(inStead, phase("C29", connectPart, "opentelemetry-js-contrib instrumentation-pg", innerKinds, "pg.connect")),
		first(inStead, phase("C30", poolPart, "opentelemetry-js-contrib instrumentation-generic-pool", innerKinds, "generic-pool.acquire")),
		first(inStead, phase("C31", connectPart, "opentelemetry-js-contrib instrumentation-redis", innerKinds, "redis-connect")),
		phase("C31", connectPart, "go-redis extra/redisotel", innerKinds, "redis.dial"),
		first(inStead, phase("C32", poolPart, oracle, innerKinds, "oracledb.Pool.getConnection")),
		first(inStead, phase("C32", connectPart, oracle, innerKinds, "oracledb.getConnection")),
		phase("C32", connectPart, oracle, innerKinds, "oracledb.ProtocolMessage",
			"oracledb.DataTypeMessage", "oracledb.AuthMessage", "oracledb.FastAuthMessage"),
		[]rule[partSays]{
			{id: "C33", priority: byPhaseName, source: "opentelemetry-java-instrumentation jdbc", says: partSays{part: poolPart, place: inStead},
				when: sign{kinds: ownKind, name: "*.getConnection", has: []attrIs{{key: "db.system.name"}}}},
			{id: "C33", priority: byPhaseName, source: "opentelemetry-java-instrumentation jdbc", says: partSays{part: poolPart, place: inStead},
				when: sign{kinds: ownKind, name: "*.getConnection", scope: jdbcScope}},
		},
		phase("C35", dnsPart, "Kong/kong instrumentation.lua", innerKinds, "kong.dns"),
		[]rule[partSays]{
			{id: "C39", priority: byPhaseName, source: "opentelemetry-ebpf-instrumentation pkg/export/otel/traces.go", says: partSays{part: queuePart},
				when: sign{kinds: ownKind, name: "in queue", under: []part{entryPart}}},
			{id: "C39", priority: byPhaseName, source: "opentelemetry-ebpf-instrumentation pkg/export/otel/traces.go", says: partSays{part: ownPart},
				when: sign{kinds: ownKind, name: "processing", under: []part{entryPart}}},
		},
		first(inStead, phase("C40", poolPart, "DataDog/dd-trace-js#8914, #8915", innerKinds, "pg.pool.acquire")),
		[]rule[partSays]{
			{id: "C43", priority: byPhaseName, source: "grpc-java OpenTelemetryTracingModule.java", says: partSays{part: connectPart},
				when: sign{kinds: ownKind, name: "Attempt Delay", has: []attrIs{{key: "grpc.delay_type"}}}},
		},
	)
}

func phaseHintRules() []rule[partSays] {
	const netty = "opentelemetry-java-instrumentation NettyClientInstrumenterFactory.java"
	// What ioredis sends on a new connection before the commands of its caller, which wait meanwhile.
	handshake := func(name, key, value string) rule[partSays] {
		return rule[partSays]{id: "C31", priority: byPhaseHint, order: 2, source: "redis/ioredis lib/redis/event_handler.ts", says: partSays{part: connectPart},
			when: sign{kinds: clientKind, name: name, scope: ioredisScope, has: []attrIs{{key: key, is: value}}}}
	}
	return []rule[partSays]{
		handshake("auth", "db.system.name", "redis"),
		handshake("hello", "db.system.name", "redis"),
		handshake("client", "db.system.name", "redis"), // setinfo, setname
		handshake("info", "db.query.text", "info"),     // whether it is ready
		{id: "C23", priority: byPhaseHint, order: 1, source: "opentelemetry-ruby-contrib http, http_client, excon, net_http", says: partSays{part: connectPart},
			when: sign{kinds: innerKinds, name: "CONNECT", scope: rubyScope, lacks: notACall}},
		{id: "C23", priority: byPhaseHint, order: 1, source: "opentelemetry-ruby-contrib http, http_client, excon, net_http", says: partSays{part: connectPart},
			when: sign{kinds: innerKinds, name: "HTTP CONNECT", scope: rubyScope, lacks: notACall}},
		{id: "C16b", priority: byPhaseHint, order: 1, source: "opentelemetry-java-instrumentation LettuceSingletons.java", says: partSays{part: connectPart},
			when: sign{kinds: innerKinds, name: "CONNECT", scope: lettuceScope, lacks: notACall}},
		{id: "C15", priority: byPhaseHint, order: 2, source: netty, says: partSays{part: tcpPart},
			when: sign{kinds: ownKind, name: "CONNECT", has: []attrIs{{key: "server.address"}}, lacks: notACall}},
		{id: "C15", priority: byPhaseHint, order: 2, source: netty, says: partSays{part: tcpPart},
			when: sign{kinds: ownKind, name: "CONNECT", has: []attrIs{{key: "network.peer.address"}}, lacks: notACall}},
		{id: "C16", priority: byPhaseHint, order: 2, source: netty, says: partSays{part: attemptPart}, // it failed before there was a request
			when: sign{kinds: clientKind, name: "CONNECT", state: errorStatus, lacks: append([]string{"db.system.name"}, notACall...)}},
		{id: "C17", priority: byPhaseHint, order: 2, source: "opentelemetry-java-instrumentation NettySslRequest.java", says: partSays{part: tlsPart},
			when: sign{kinds: innerKinds, name: "SSL handshake", lacks: notACall}},
		{id: "C25", priority: byPhaseHint, order: 1, source: "exaring/otelpgx tracer.go", says: partSays{part: connectPart, place: inStead},
			when: sign{kinds: innerKinds, name: "connect", scope: otelpgxScope, lacks: notACall}},
		{id: "C31", priority: byPhaseHint, order: 2, source: "opentelemetry-js-contrib instrumentation-ioredis", says: partSays{part: connectPart},
			when: sign{kinds: clientKind, name: "connect", has: []attrIs{{key: "db.query.text", is: "connect"}}, lacks: []string{"http.request.method"}}},
		{id: "C34", priority: byPhaseHint, order: 2, source: "opentelemetry-python-contrib sqlalchemy/engine.py; opentelemetry-ruby-contrib pg", says: partSays{part: connectPart, place: inStead},
			when: sign{kinds: clientKind, name: "connect", has: []attrIs{{key: "db.system.name"}}, lacks: notACall}},
		{id: "C22", priority: byPhaseHint, order: 2, source: "opentelemetry-ruby-contrib net_http, excon", says: partSays{part: connectPart},
			when: sign{kinds: ownKind, name: "connect", scope: rubyScope, has: []attrIs{{key: "server.address"}}, lacks: notACall}},
		{id: "C20", priority: byPhaseHint, order: 2, source: "opentelemetry-js-contrib instrumentation-net", says: partSays{part: tcpPart},
			when: sign{kinds: ownKind, name: "connect", scope: nodeNetScope, lacks: notACall}},
	}
}

func attemptRules() []rule[partSays] {
	attempt := func(place backoffPlace) partSays { return partSays{part: attemptPart, backoff: place} }
	scope := partSays{part: scopePart}
	const (
		smithy  = "aws-sdk-go-v2 aws/retry/middleware.go"
		gax     = "googleapis/gax-go invoke.go, telemetry.go"
		kiota   = "kiota-dotnet RetryHandler.cs"
		envoy   = "envoyproxy/envoy upstream_request.cc, common_values.h"
		finagle = "twitter/finagle RetryFilter.scala, RequeueFilter.scala"
		mongo   = "mongodb/specifications open-telemetry.md"
		gocb    = "couchbase/gocbcore tracing.go, tracerwrapper.go"
		a72     = "grpc/proposal A72; grpc-go client_tracing.go"
		found   = "found in public code"
	)
	return slices.Concat([]rule[partSays]{
		{id: "R10", priority: byCounter, source: smithy, when: sign{kinds: ownKind, name: "RetryLoop"}, says: scope},
		{id: "R10", priority: byCounter, source: smithy, when: sign{kinds: ownKind, name: "Attempt", under: []part{scopePart}}, says: attempt(inTail)},
		{id: "R10", priority: byCounter, source: smithy, when: sign{kinds: ownKind, name: "Attempt", has: []attrIs{{key: "operation.attempt"}}}, says: attempt(inTail)},
		{id: "R10", priority: byCounter, source: smithy, when: sign{kinds: ownKind, name: "Attempt", scope: awsScope}, says: attempt(inTail)},
		{id: "R11", priority: byCounter, source: "azure-sdk-for-net RequestActivityPolicy.cs", when: sign{kinds: innerKinds, name: "Azure.Core.Http.Request"}, says: attempt(inGap)},
		{id: "R14", priority: byCounter, source: gax, says: scope, when: sign{kinds: clientKind, has: []attrIs{{key: "gcp.client.service"}}, // logical
			lacks: []string{"gcp.grpc.resend_count", "http.request.resend_count", "http.request.method", "server.address", "rpc.status_code"}}},
		{id: "R14", priority: byCounter, source: gax, when: sign{kinds: clientKind, has: []attrIs{{key: "gcp.grpc.resend_count"}}}, says: attempt(inGap)},
		{id: "R14", priority: byCounter, source: gax, when: sign{kinds: clientKind, has: []attrIs{{key: "http.request.resend_count"}}, under: []part{scopePart}}, says: attempt(inGap)},
		{id: "R17", priority: byCounter, source: kiota, when: sign{kinds: ownKind, name: "RetryHandler_SendAsync"}, says: scope},
		{id: "R17", priority: byCounter, source: kiota, when: sign{kinds: ownKind, name: "RetryHandler_SendAsync - attempt *"}, says: attempt(inHead)},
		{id: "R18", priority: byCounter, source: "kiota-dotnet RedirectHandler.cs", // a redirect is no retry
			when: sign{kinds: ownKind, name: "RedirectHandler_SendAsync - redirect *"}, says: partSays{part: ownPart}},
		{id: "R26", priority: byCounter, source: envoy, says: attempt(inGap),
			when: sign{kinds: clientKind, name: "router * egress", has: []attrIs{{key: "upstream_cluster.name"}}}},
		{id: "R26", priority: byCounter, source: envoy, says: attempt(inGap),
			when: sign{kinds: clientKind, name: "router * egress", has: []attrIs{{key: "response_flags"}}}},
		{id: "R27", priority: byCounter, source: "traefik/traefik pkg/middlewares/retry/retry.go", says: attempt(inTail),
			when: sign{kinds: ownKind, name: "Retry", has: []attrIs{{key: "http.request.resend_count"}}}},
		{id: "R27", priority: byCounter, source: "traefik/traefik pkg/middlewares/retry/retry.go", says: attempt(inTail),
			when: sign{kinds: ownKind, name: "Retry", scope: traefikScope}},
		{id: "R28", priority: byCounter, source: "Kong/kong instrumentation.lua", when: sign{kinds: clientKind, name: "kong.balancer"}, says: attempt(inGap)},
		{id: "R31", priority: byCounter, source: finagle, when: sign{kinds: innerKinds, name: "retry", has: []attrIs{{key: "clnt/retry_attempt"}}}, says: attempt(inGap)},
		{id: "R31", priority: byCounter, source: finagle, when: sign{kinds: innerKinds, name: "requeue", has: []attrIs{{key: "clnt/requeue_attempt"}}}, says: attempt(inGap)},
		{id: "R33", priority: byCounter, source: mongo, says: scope,
			when: sign{kinds: clientKind, has: []attrIs{{key: "db.operation.summary"}, {key: "db.system.name", is: "mongodb"}}, lacks: []string{"db.command.name"}}},
		{id: "R33", priority: byCounter, source: mongo, says: scope,
			when: sign{kinds: clientKind, has: []attrIs{{key: "db.operation.name"}, {key: "db.system.name", is: "mongodb"}}, lacks: []string{"db.command.name"}}},
		{id: "R33", priority: byCounter, source: mongo, says: attempt(inGap), // without a scope it is a call like any other
			when: sign{kinds: clientKind, has: []attrIs{{key: "db.command.name"}, {key: "db.system.name", is: "mongodb"}}, under: []part{scopePart}}},
		{id: "R34", priority: byCounter, source: gocb, says: attempt(inGap), when: sign{kinds: innerKinds, name: "dispatch_to_server"}},
		{id: "R34", priority: byCounter, order: 1, source: gocb, says: scope,
			when: sign{kinds: innerKinds, has: []attrIs{{key: "db.system.name", is: "couchbase"}, {key: "db.operation.name"}}}},
		{id: "R34", priority: byCounter, order: 1, source: gocb, says: scope,
			when: sign{kinds: innerKinds, has: []attrIs{{key: "db.couchbase.retries"}}}},
		{id: "R35", priority: byCounter, source: found, when: sign{kinds: innerKinds, name: "attempt_*", has: []attrIs{{key: "retry.attempt"}}}, says: attempt(inGap)},
		{id: "R35", priority: byCounter, source: found, when: sign{kinds: innerKinds, name: "attempt-*", has: []attrIs{{key: "retry.attempt"}}}, says: attempt(inGap)},
		{id: "R35", priority: byCounter, source: found, when: sign{kinds: innerKinds, name: "attempt.*", has: []attrIs{{key: "retry.attempt"}}}, says: attempt(inGap)},
		{id: "R35", priority: byCounter, source: found, when: sign{kinds: innerKinds, name: "*.attempt", has: []attrIs{{key: "retry.attempt"}}}, says: attempt(inGap)},
		// A span of the caller's own around one try, which counts its resends.
		{id: "R35", priority: byCounter, order: 2, source: found, when: sign{kinds: ownKind, has: []attrIs{{key: "http.request.resend_count"}}}, says: attempt(inGap)},
		{id: "G3", priority: byCounter, source: a72, when: sign{kinds: clientKind, name: "Sent.*"}, says: scope},
		{id: "G4", priority: byCounter, source: a72, when: sign{kinds: innerKinds, name: "Attempt.*"}, says: attempt(inGap)},
		{id: "G7", priority: byCounter, source: "grpc-dotnet GrpcCall.cs, RetryCall.cs, HedgingCall.cs", when: sign{kinds: clientKind, name: "Grpc.Net.Client.GrpcOut"}, says: attempt(inGap)},
	})
}

func insteadPartRules() []rule[partSays] {
	const (
		spring  = "spring-cloud-commons DefaultCircuitBreakerObservationConvention.java"
		hystrix = "opentelemetry-java-instrumentation hystrix"
	)
	guard, fallback := partSays{part: breakerPart}, partSays{part: fallbackPart}
	return []rule[partSays]{
		{id: "F1", priority: byFallback, source: spring, when: sign{kinds: innerKinds, name: "circuit-breaker fallback"}, says: fallback},
		{id: "F1", priority: byFallback, source: spring, when: sign{kinds: innerKinds, name: "circuit-breaker"}, says: guard},
		{id: "F1", priority: byFallback, source: spring, says: guard,
			when: sign{kinds: innerKinds, name: "supplier", has: []attrIs{{key: "spring.cloud.circuitbreaker.type"}}}},
		{id: "F2", priority: byFallback, source: hystrix, when: sign{kinds: innerKinds, name: "*.fallback", has: []attrIs{{key: "hystrix.command"}}}, says: fallback},
		{id: "F2", priority: byFallback, source: hystrix, when: sign{kinds: innerKinds, name: "*.execute", has: []attrIs{{key: "hystrix.command"}}}, says: guard},
		{id: "F6", priority: byFallback, source: "opentelemetry-java-instrumentation#19526 (proposed)", when: sign{kinds: ownKind, scope: "*resilience4j*"}, says: guard},
	}
}

// partOf says what a span is to a call, and by which rule; "": by its kind.
func partOf(f *facts) (partSays, string) {
	if r := f.tables.parts.first(f); r != nil {
		return r.says, r.id
	}
	switch k := f.span.Kind; {
	case entryKinds.has(k):
		return partSays{part: entryPart}, ""
	case callKinds.has(k):
		return partSays{part: callPart}, ""
	}
	return partSays{part: ownPart}, ""
}
