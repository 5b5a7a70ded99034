package analyze

import "slices"

// deadlineTable says which attributes hold a deadline, how it is written, and on
// which spans it counts. Relative values count from the start of their span.
//
// Several may be on one span: the earliest counts. A key may be copied from
// baggage to every span below (N11): only the first of a trace and service
// counts, which the caller has to see to.
var deadlineTable = newTable(deadlineRules())

// A side says on which spans a key counts.
type side uint8

const (
	onServer side = 1 << iota
	onClient
	onInner // and of an INTERNAL span, where a request may begin too
	onBoth  = onServer | onClient
	onAny   = onBoth | onInner
)

func deadlineRules() []rule[deadlineSays] {
	keys := func(id string, priority int, where side, as form, source string, names ...string) []rule[deadlineSays] {
		var kinds kindSet
		for _, at := range [...]struct {
			side side
			kind kindSet
		}{{onServer, serverKind}, {onClient, clientKind}, {onInner, ownKind}} {
			if where&at.side != 0 {
				kinds |= at.kind
			}
		}
		list := make([]rule[deadlineSays], len(names))
		for i, key := range names {
			list[i] = rule[deadlineSays]{id: id, priority: priority, source: source,
				when: sign{kinds: kinds, has: []attrIs{{key: key}}},
				says: deadlineSays{key: key, form: as, server: where&onServer != 0, client: where&onClient != 0}}
		}
		return list
	}
	perTry := func(list []rule[deadlineSays]) []rule[deadlineSays] {
		for i := range list {
			list[i].says.perTry = true
		}
		return list
	}
	and := func(list []rule[deadlineSays], more attrIs) []rule[deadlineSays] {
		for i := range list {
			list[i].when.has = append(list[i].when.has, more)
		}
		return list
	}
	named := func(list []rule[deadlineSays], name string) []rule[deadlineSays] {
		for i := range list {
			list[i].when.name = name
		}
		return list
	}
	const (
		envoy    = "envoyproxy/envoy router_filter docs"
		finagle  = "twitter/finagle DeadlineFilter.scala, TimeoutFilter.scala"
		userver  = "userver deadline_propagation.cpp, request_state.cpp"
		temporal = "temporalio/temporal common/telemetry/grpc.go"
		linkerd  = "linkerd2-proxy route/extensions.rs"
		misk     = "cashapp/misk RequestDeadlineInterceptor.kt"
		found    = "found in public code"
	)
	return slices.Concat(
		keys("D1", byDeadline, onBoth, grpcForm, "envoyproxy/envoy common_values.h, http_tracer_impl.cc", "grpc.timeout"),
		keys("D2", byDeadline, onBoth, grpcForm, "gRPC over HTTP/2, Timeout", "header grpc-timeout"),
		keys("D3", byDeadline, onBoth, msForm, "connectrpc.com protocol.md", "header connect-timeout-ms"),
		keys("D4", byDeadline, onBoth, timeForm, temporal, "rpc.request.deadline", "persistence.deadline"),
		keys("D4", byDeadline, onBoth, durationForm, temporal, "rpc.request.timeout"),
		keys("D5", byDeadline, onServer, msForm, envoy, "header x-envoy-expected-rq-timeout-ms"), // of one try where Envoy retries, and then all that its server has
		keys("D6", byDeadline, onBoth, msForm, envoy, "header x-envoy-upstream-rq-timeout-ms"),
		perTry(keys("D6", byDeadline, onBoth, msForm, envoy, "header x-envoy-upstream-rq-per-try-timeout-ms")),
		keys("D7", byDeadline, onServer, finagleForm, "twitter/finagle HttpDeadlineContext.scala, Deadline.scala", "header finagle-ctx-com.twitter.finagle.deadline"),
		keys("D8", byDeadline, onClient, timeForm, finagle, "clnt/request_deadline"),
		keys("D8", byDeadline, onServer, timeForm, finagle, "srv/request_deadline"),
		keys("D8", byDeadline, onClient, msForm, finagle, "clnt/request_deadline_remaining_ms"),
		keys("D8", byDeadline, onServer, msForm, finagle, "srv/request_deadline_remaining_ms"),
		keys("D8", byDeadline, onClient, exceededForm, finagle, "clnt/request_deadline_exceeded_ms"),
		keys("D8", byDeadline, onServer, exceededForm, finagle, "srv/request_deadline_exceeded_ms"),
		keys("D8", byDeadline, onBoth, finagleTextForm, finagle, "finagle_deadline_ms"),
		keys("D9", byDeadline, onServer, msForm, userver, "deadline_received_ms"),
		named(keys("D9", byDeadline, onClient, msForm, userver, "timeout_ms"), "external"),
		keys("D9", byDeadline, onClient, msForm, userver, "propagated_timeout_ms"),
		keys("D10", byDeadline, onBoth, msForm, "userver deadline_propagation.md", "header x-yataxi-client-timeoutms"),
		keys("D11", byDeadline, onBoth, msForm, "yarpc/yarpc-go", "header context-ttl-ms"),
		perTry(keys("D12", byDeadline, onBoth, ttlForm, "aws-sdk-go-v2 aws/retry/middleware.go", "header amz-sdk-request")),
		keys("D13", byDeadline, onBoth, secondForm, found, "header x-server-timeout"),
		keys("D14", byDeadline, onBoth, msForm, found, "header x-ms-remaining-time-in-ms-on-client"),
		keys("D15", byDeadline, onBoth, evidentForm, misk, "header misk-request-deadline"),
		keys("D15", byDeadline, onBoth, grpcForm, misk, "header x-grpc-timeout-propagate"),
		keys("D15", byDeadline, onBoth, evidentForm, misk, "header x-request-deadline"),
		keys("D16", byDeadline, onBoth, durationForm, linkerd, "header l5d-timeout", "header l5d-request-timeout", "header l5d-response-timeout"),
		perTry(keys("D16", byDeadline, onBoth, durationForm, linkerd, "header l5d-retry-timeout")),
		and(keys("D17", byDeadline, onBoth, msForm, "apache/dubbo CommonConstants.java", "header timeout-countdown", "header timeout", "header -to"),
			attrIs{key: "rpc.system.name", is: "*dubbo"}),
		keys("D17", byDeadline, onBoth, msForm, "facebook/fbthrift", "header client-timeout"),
		keys("D18", byDeadline, onClient, timeForm, "DataDog/dd-trace-rb#2199", "grpc.client.deadline"),
		keys("D19", byDeadline, onBoth, msForm, "openai/openai-python#3351", "header request-timeout-ms"),
		keys("D19", byDeadline, onBoth, secondForm, "openai/openai-python#3351", "header x-stainless-read-timeout"),
		keys("D20", byDeadline, onBoth, secondForm, "belgif/rest-guide#226", "header belgov-request-timeout"),
		keys("D20", byDeadline, onBoth, timeForm, "belgif/rest-guide#226", "header belgov-request-deadline"),
		// Hand-written keys: the name says the unit, or the value says what it is.
		keys("D21", byText, onBoth, anyMsForm, found,
			"header x-request-deadline-ms", "header x-request-timeout-ms", "header x-timeout-ms", "header x-budget-ms",
			"header x-remaining-budget-ms", "header x-time-budget-ms", "header x-deadline-ms", "header x-client-timeout-ms",
			"header flux-timeout-ms", "header x-llm-proxy-timeout-ms"),
		keys("D21", byText, onAny, anyMsForm, found,
			"timeout_ms", "deadline_ms", "request.timeout_ms", "budget_ms", "correlation.budget_ms", "remaining_ms",
			"request.deadline.remaining_ms"),
		keys("D21", byText, onBoth, evidentForm, found,
			"header x-request-deadline-at", "header x-request-deadline-epoch-ms", "header x-deadline-ts", "header x-deadline",
			"header x-request-timeout", "header x-timeout", "header x-client-timeout", "header request-timeout"),
		keys("D21", byText, onAny, evidentForm, found,
			"timeout", "deadline", "rpc.timeout", "http.timeout", "db.statement_timeout",
			"deadline.unix_ms", "request.deadline.unix_ms"),
	)
}

// A recordedValue is a deadline as a span records it.
type recordedValue struct {
	deadlineReading
	perTry bool
	read   bool // false: there is a value, and it cannot be read or believed
	key    string
	id     string // of the rule
}

// deadlinesOf yields the deadlines that the entry of a request, or a CLIENT span,
// records, each key once.
func deadlinesOf(f *facts, yield func(recordedValue)) {
	at := instant(f.trace.Epoch + int64(f.span.Start))
	var room [24]int32
	var seen [8]string
	done := seen[:0]
	for _, n := range f.tables.deadlines.candidates(f, room[:]) {
		r := &f.tables.deadlines.rules[n]
		if !f.match(&r.when) || slices.Contains(done, r.says.key) {
			continue
		}
		key := r.says.key
		done = append(done, key)
		v := recordedValue{perTry: r.says.perTry, key: key, id: r.id}
		v.deadlineReading, v.read = r.says.form.read(f.get(key), at)
		yield(v)
	}
}
