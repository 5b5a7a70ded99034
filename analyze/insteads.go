package analyze

import "slices"

// breakerClasses are exceptions of a call that was not made. Not among them is
// opossum's ETIMEDOUT, which others use for calls that were.
var breakerClasses = []string{
	"io.github.resilience4j.circuitbreaker.CallNotPermittedException",
	"io.github.resilience4j.bulkhead.BulkheadFullException",
	"io.github.resilience4j.ratelimiter.RequestNotPermitted",
	"dev.failsafe.CircuitBreakerOpenException",
	"Polly.CircuitBreaker.BrokenCircuitException",
	"Polly.CircuitBreaker.IsolatedCircuitException",
	"Polly.RateLimiting.RateLimiterRejectedException",
	"EOPENBREAKER", "ESEMLOCKED",
}

// breakerTexts are what libraries without error classes say of such a call.
// Servers say some of these words too, so a span with an answer is exempt.
var breakerTexts = []struct {
	source string
	texts  []string
}{
	{"sony/gobreaker", []string{"circuit breaker is open", "too many requests"}},
	{"failsafe-go", []string{"circuit breaker open", "bulkhead full", "rate limit exceeded"}},
	{"nodeshift/opossum", []string{"breaker is open"}},
}

// insteadTable says which spans show that a call was not made, or that
// something else was done instead.
var insteadTable = newTable(insteadRules())

func insteadRules() []rule[insteadSays] {
	mark := func(id string, says insteadSays, source string, when sign) rule[insteadSays] {
		return rule[insteadSays]{id: id, priority: byFallback, source: source, when: when, says: says}
	}
	const (
		spring  = "spring-cloud-commons DefaultCircuitBreakerObservationConvention.java"
		hystrix = "opentelemetry-java-instrumentation hystrix"
		libs    = "resilience4j, failsafe, Polly, opossum"
		envoy   = "envoyproxy/envoy response flags docs"
		finagle = "twitter/finagle"
	)
	failed := sign{state: errorStatus}
	list := slices.Concat(
		[]rule[insteadSays]{
			mark("F1", fallbackUsed, spring, sign{kinds: innerKinds, name: "circuit-breaker fallback"}),
			mark("F2", fallbackUsed, hystrix, sign{kinds: innerKinds, name: "*.fallback", has: []attrIs{{key: "hystrix.command"}}}),
			mark("F2", callSkipped, hystrix, sign{has: []attrIs{{key: "hystrix.circuit_open", is: "true"}}}),
		},
		forValues(mark("F3", callSkipped, libs, failed), exceptionTypeKey, breakerClasses...),
		forValues(mark("F3", callSkipped, libs, sign{}), "error.type", breakerClasses...),
		forItems(mark("F5", callSkipped, envoy, sign{kinds: callerKinds}), "response_flags", "UO", "RL"),
		forValues(mark("F5", callSkipped, finagle, sign{}), "clnt/NackAdmissionFilter_rejected", "true", "1"),
		forValues(mark("F5", callSkipped, finagle, sign{}), "clnt/RequestSemaphoreFilter_rejected", "true", "1"),
		forValues(mark("D9", callSkipped, "userver deadline_propagation.cpp", sign{has: []attrIs{{key: "propagated_timeout_ms", is: "0"}}}), "cancelled_by_deadline", "true", "1"),
		forValues(mark("T23", callSkipped, "userver deadline_propagation.md", sign{}), "answer header x-yataxi-deadline-expired", "true", "1"),
		forValues(mark("T23", callSkipped, "twitter/finagle DeadlineFilter.scala", sign{}), "srv/request_deadline_rejected", "true", "1"),
		[]rule[insteadSays]{mark("T23", callSkipped, "cashapp/misk", sign{text: "deadline exceeded: queued for too long"})},
	)
	for _, b := range breakerTexts {
		r := mark("F4", callSkipped, b.source, sign{kinds: callerKinds, state: errorStatus, lacks: []string{httpStatusKey, rpcCodeKey}})
		list = append(list, forTexts(r, b.texts...)...)
	}
	return list
}

// insteadOf says whether a span shows that a call was not made, and by which
// rule; "": it does not.
func insteadOf(f *facts) (insteadSays, string) {
	if r := f.tables.insteads.first(f); r != nil {
		return r.says, r.id
	}
	return 0, ""
}
