package analyze

import (
	"strconv"
	"strings"
)

// countTable says which number on a span counts attempts, and from where.
var countTable = newTable(countRules())

func countRules() []rule[countSays] {
	counter := func(id, key string, kind countKind, place backoffPlace, source string) rule[countSays] {
		return rule[countSays]{id: id, priority: byCounter, source: source,
			when: sign{has: []attrIs{{key: key}}}, says: countSays{key: key, kind: kind, backoff: place}}
	}
	within := func(r rule[countSays], kinds kindSet, name string) rule[countSays] {
		r.when.kinds, r.when.name = kinds, name
		return r
	}
	events := func(id, name string, kind countKind, source string) rule[countSays] {
		return rule[countSays]{id: id, priority: byCounter, order: 1, source: source,
			when: sign{event: name}, says: countSays{event: name, kind: kind, backoff: inEvent}}
	}
	const (
		semconv = "semantic-conventions docs/http/http-spans.md"
		envoy   = "envoyproxy/envoy upstream_request.cc, common_values.h"
		finagle = "twitter/finagle RetryFilter.scala, RequeueFilter.scala"
		found   = "found in public code"
	)
	inferred := func(r rule[countSays]) rule[countSays] { // after all others
		r.order = 3
		return r
	}
	return []rule[countSays]{
		within(counter("R17", "http.request.resend_count", fromRetry, inHead, "kiota-dotnet RetryHandler.cs"), ownKind, "RetryHandler_SendAsync - attempt *"),
		within(counter("R27", "http.request.resend_count", resends, inTail, "traefik/traefik pkg/middlewares/retry/retry.go"), ownKind, "Retry"),
		within(counter("R26", "retry.count", resends, inGap, envoy), clientKind, "router * egress"),
		within(counter("R26", "http.request.resend_count", resends, inGap, envoy), clientKind, "router * egress"),
		within(counter("R11", "http.request.resend_count", resends, inGap, "azure-sdk-for-net RequestActivityPolicy.cs"), clientKind, "Azure.Core.Http.Request"),
		within(counter("R6", "http.request.resend_count", resends, inGap, semconv), clientKind, ""), // R1, R12, R13, R15 too
		inferred(within(counter("R35", "http.request.resend_count", resends, inGap, found), ownKind, "")),
		counter("R14", "gcp.grpc.resend_count", resends, inGap, "googleapis/gax-go invoke.go, telemetry.go"),
		within(counter("R10", "operation.attempt", fromOne, inTail, "aws-sdk-go-v2 aws/retry/middleware.go"), ownKind, "Attempt"),
		within(counter("R28", "try_count", fromOne, inGap, "Kong/kong instrumentation.lua"), clientKind, "kong.balancer"),
		counter("R31", "clnt/retry_attempt", resends, inGap, finagle),
		counter("R31", "clnt/requeue_attempt", resends, inGap, finagle),
		counter("G4", "previous-rpc-attempts", resends, inGap, "grpc/proposal A72"),
		within(counter("G10", "header grpc-previous-rpc-attempts", resends, inGap, "grpc/proposal A6"), kinds(), ""),
		counter("D14", "header x-ms-client-retry-attempt-count", resends, inGap, found),
		{id: "D12", priority: byCounter, order: 2, source: "aws-sdk-go-v2 aws/retry/middleware.go", when: sign{has: []attrIs{{key: "header amz-sdk-request", is: "*attempt=*"}}},
			says: countSays{key: "header amz-sdk-request", field: "attempt", kind: fromOne}},
		// These count what one span hides.
		within(counter("R8", "retry_attempts", allResend, isHidden, "opentelemetry-python-contrib botocore/__init__.py"), clientKind, ""),
		within(counter("R32", "attempts", allTries, isHidden, "userver request_state.cpp"), clientKind, "external"),
		counter("R34", "db.couchbase.retries", allResend, isHidden, "couchbase/gocbcore tracing.go"),
		inferred(counter("R35", "retry.attempt", fromOne, inGap, found)),
		inferred(counter("R35", "retry.count", allResend, isHidden, found)),
		// These are counted.
		events("R7", "HTTP request failure", allResend, "opentelemetry-java-instrumentation TracingExecutionInterceptor.java"),
		events("R16", "Starting RPC retry *", allResend, "googleapis/gax-java OpencensusTracer.java; java-spanner#3095"),
		events("R16", "Attempt failed, scheduling next attempt", allResend, "googleapis/gax-java OpencensusTracer.java; java-spanner#3095"),
		inferred(events("R35", "retry", allResend, found)),
	}
}

// A tally is a number of attempts that a span records.
type tally struct {
	index   int // resends before this attempt: 0 on the first
	hidden  int // resends within this one span, which cannot be told apart
	backoff backoffPlace
}

// tallyOf reads the number of attempts of a span, and by which rule; "" where
// none was recorded. A counter that cannot be read is passed over.
func tallyOf(f *facts) (t tally, id string) {
	var room [24]int32
	for _, n := range f.tables.counts.candidates(f, room[:]) {
		r := &f.tables.counts.rules[n]
		if !f.match(&r.when) {
			continue
		}
		count, ok := r.says.count(f)
		if !ok {
			continue
		}
		t.backoff = r.says.backoff
		switch r.says.kind {
		case resends:
			t.index = count
		case fromOne:
			t.index = max(count-1, 0)
		case fromRetry:
			t.index = count + 1
		case allResend:
			t.hidden = count
		case allTries:
			t.hidden = max(count-1, 0)
		}
		return t, r.id
	}
	return tally{}, ""
}

// mostAttempts is the largest count that is believed.
const mostAttempts = 10_000

// count reads the number.
func (c *countSays) count(f *facts) (n int, ok bool) {
	if c.event != "" {
		for i := range f.span.Events {
			if glob(c.event, f.span.Events[i].Name) {
				n++
			}
		}
		return n, n > 0
	}
	text := f.get(c.key)
	if c.field != "" {
		text = fieldOf(text, c.field)
	} else {
		text = headerText(text)
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n <= mostAttempts
}

// fieldOf is the value of one field of a text such as "attempt=1; max=3".
func fieldOf(text, name string) string {
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == ',' || r == ' ' }) {
		if key, value, ok := strings.Cut(field, "="); ok && strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}
