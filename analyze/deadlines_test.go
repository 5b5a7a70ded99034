package analyze

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"overrun/ingest"
)

func TestRecordedDeadlines(t *testing.T) {
	iso := func(d time.Duration) string { return time.Unix(0, testEpoch+int64(d)).UTC().Format(time.RFC3339Nano) }
	unix := func(d time.Duration, unit time.Duration) string {
		return strconv.FormatInt((testEpoch+int64(d))/int64(unit), 10)
	}
	const ms, sec = time.Millisecond, time.Second
	tests := []struct {
		id    string
		kind  ingest.Kind
		attr  string
		want  time.Duration
		abs   bool
		grain time.Duration
	}{
		{"D1", ingest.Client, "grpc.timeout=150m", 150 * ms, false, ms},
		{"D2", ingest.Server, "rpc.request.metadata.grpc-timeout=4999999u", 4999999 * time.Microsecond, false, time.Microsecond},
		{"D2", ingest.Server, "http.request.header.grpc_timeout=99999999n", 99999999, false, 1},
		{"D2", ingest.Server, "rpc.grpc.request.metadata.grpc-timeout=0n", 0, false, 1},
		{"D3", ingest.Server, "rpc.connect_rpc.request.metadata.connect_timeout_ms=250", 250 * ms, false, ms},
		{"D4", ingest.Server, "rpc.request.deadline=" + iso(2*sec+5), 2*sec + 5, true, ms},
		{"D4", ingest.Server, "rpc.request.timeout=1.5s", 1500 * ms, false, ms},
		{"D5", ingest.Server, "http.request.header.x-envoy-expected-rq-timeout-ms=15000", 15 * sec, false, ms},
		{"D6", ingest.Client, "http.request.header.x-envoy-upstream-rq-timeout-ms=250", 250 * ms, false, ms},
		{"D6", ingest.Client, "http.request.header.x-envoy-upstream-rq-per-try-timeout-ms=250", 250 * ms, false, ms},
		{"D7", ingest.Server, "http.request.header.finagle-ctx-com.twitter.finagle.deadline=" + unix(0, 1) + " " + unix(300*ms, 1), 300 * ms, true, 1},
		{"D8", ingest.Server, "srv/request_deadline=" + time.Unix(0, testEpoch+int64(250*ms)).UTC().Format("2006-01-02 15:04:05") + ":250 +0000", 250 * ms, true, ms},
		{"D8", ingest.Server, "srv/request_deadline=" + time.Unix(0, testEpoch+int64(250*ms)).UTC().Format("2006-01-02 15:04:05") + ":250 Z", 250 * ms, true, ms},
		{"D8", ingest.Client, "clnt/request_deadline_remaining_ms=40", 40 * ms, false, ms},
		{"D8", ingest.Server, "srv/request_deadline_exceeded_ms=40", -40 * ms, false, ms},
		{"D8", ingest.Server, "finagle_deadline_ms=deadline_enabled:timestamp:" + unix(0, ms) + ":deadline:" + unix(200*ms, ms), 200 * ms, true, ms},
		{"D9", ingest.Server, "deadline_received_ms=99", 99 * ms, false, ms},
		{"D9", ingest.Client, "timeout_ms=99", 99 * ms, false, ms},
		{"D9", ingest.Client, "propagated_timeout_ms=0", 0, false, ms},
		{"D10", ingest.Server, "http.request.header.x-yataxi-client-timeoutms=99", 99 * ms, false, ms},
		{"D11", ingest.Server, "http.request.header.context-ttl-ms=99", 99 * ms, false, ms},
		{"D12", ingest.Server, "http.request.header.amz-sdk-request=attempt=1; max=3; ttl=" + time.Unix(0, testEpoch+int64(5*sec)).UTC().Format("20060102T150405Z"), 5 * sec, true, sec},
		{"D13", ingest.Server, "http.request.header.x-server-timeout=1.5", 1500 * ms, false, ms},
		{"D14", ingest.Server, "http.request.header.x-ms-remaining-time-in-ms-on-client=64.5", 64500 * time.Microsecond, false, ms},
		{"D15", ingest.Server, "http.request.header.misk-request-deadline=" + iso(sec), sec, true, sec},
		{"D15", ingest.Server, "http.request.header.misk-request-deadline=PT1.5S", 1500 * ms, false, ms},
		{"D15", ingest.Server, "rpc.request.metadata.x-grpc-timeout-propagate=1S", sec, false, sec},
		{"D15", ingest.Client, "http.request.header.x-request-deadline=1795995871799", 799 * ms, true, ms},
		{"D15", ingest.Server, "http.request.header.x-request-deadline=PT2.5S", 2500 * ms, false, ms},
		{"D15", ingest.Server, "http.request.header.x-request-deadline=" + unix(3*sec, sec), 3 * sec, true, sec},
		{"D16", ingest.Server, "http.request.header.l5d-timeout=250ms", 250 * ms, false, ms},
		{"D16", ingest.Server, "http.request.header.l5d-retry-timeout=10s", 10 * sec, false, ms},
		{"D17", ingest.Server, "rpc.request.metadata.client_timeout=99", 99 * ms, false, ms},
		{"D18", ingest.Client, "grpc.client.deadline=" + time.Unix(0, testEpoch+int64(sec)).UTC().Format("2006-01-02 15:04:05") + " +0000", sec, true, sec},
		{"D19", ingest.Client, "http.request.header.request-timeout-ms=99", 99 * ms, false, ms},
		{"D19", ingest.Client, "http.request.header.x-stainless-read-timeout=600", 600 * sec, false, ms},
		{"D20", ingest.Server, "http.request.header.belgov-request-timeout=3", 3 * sec, false, ms},
		{"D20", ingest.Server, "http.request.header.belgov-request-deadline=" + time.Unix(0, testEpoch+int64(4*sec)).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"), 4 * sec, true, sec},
		{"D21", ingest.Server, "http.request.header.x-budget-ms=40", 40 * ms, false, ms},
		{"D21", ingest.Server, "http.request.header.x-deadline-ms=" + unix(40*ms, ms), 40 * ms, true, ms},
		{"D21", ingest.Server, "http.request.header.x-request-deadline-at=" + iso(40*ms), 40 * ms, true, ms},
		{"D21", ingest.Server, "http.request.header.x-timeout=500ms", 500 * ms, false, ms},
		{"D21", ingest.Server, "request.deadline.unix_ms=1795995871799", 799 * ms, true, ms},
		{"D21", ingest.Internal, "deadline.unix_ms=1795995871799", 799 * ms, true, ms},
		{"D21", ingest.Server, "request.deadline.remaining_ms=-3", -3 * ms, false, ms},
		{"D21", ingest.Server, "remaining_ms=59", 59 * ms, false, ms},
		{"D21", ingest.Server, "deadline=" + unix(40*ms, time.Microsecond), 40 * ms, true, time.Microsecond},
		{"D21", ingest.Server, "deadline=" + unix(40*ms, 1), 40 * ms, true, 1},
	}
	for _, test := range tests {
		s := newSpan(test.kind, "external", test.attr)
		var got []recordedValue
		deadlinesOf(factsOf(s, noPart), func(v recordedValue) { got = append(got, v) })
		if len(got) != 1 || got[0].id != test.id || !got[0].read || got[0].left != int64(test.want) || got[0].absolute != test.abs || got[0].grain != int64(test.grain) {
			t.Errorf("deadlinesOf(%s) = %+v, want %v by %s (absolute %v, grain %v)", test.attr, got, test.want, test.id, test.abs, test.grain)
		}
	}

	// Values that are there and are not believed.
	for _, attr := range []string{
		"grpc.timeout=10s", "grpc.timeout=150", "grpc.timeout=m", "grpc.timeout=123456789m", "grpc.timeout=1 S", "grpc.timeout=99999999H",
		"http.request.header.x-request-deadline=5", "http.request.header.x-request-deadline=30000", "http.request.header.x-timeout=30",
		"http.request.header.x-request-deadline=1495995871799", "timeout=250", "deadline=100", "timeout_ms=1e3", "timeout_ms=90000000000",
		"http.request.header.x-envoy-expected-rq-timeout-ms=1795995871799", "rpc.request.timeout=5", "deadline.unix_ms=59",
		"http.request.header.x-request-deadline=" + iso(48*time.Hour), "http.request.header.x-request-deadline=" + iso(-2*time.Hour),
		"http.request.header.x-request-deadline=P1Y",
	} {
		var got []recordedValue
		deadlinesOf(factsOf(entry("x", attr), noPart), func(v recordedValue) { got = append(got, v) })
		if len(got) != 1 || got[0].read {
			t.Errorf("deadlinesOf(%s) = %+v, want one value that cannot be read", attr, got)
		}
	}

	// Keys where they mean something else, or nothing.
	for _, s := range []*ingest.Span{
		client("x", "http.request.header.x-envoy-expected-rq-timeout-ms=15000"), // D5 is for who is called
		client("x", "http.request.header.timeout=100"),                          // D17 is Dubbo's
		inner("work", "http.request.header.x-budget-ms=40"),
		newSpan(ingest.Consumer, "x", "timeout_ms=40"),
	} {
		deadlinesOf(factsOf(s, noPart), func(v recordedValue) { t.Errorf("deadlinesOf(%v) = %+v, want none", s.Attrs, v) })
	}
	dubbo := entry("x", "rpc.system=apache_dubbo", "rpc.request.metadata.timeout-countdown=80")
	deadlinesOf(factsOf(dubbo, noPart), func(v recordedValue) {
		if v.id != "D17" || v.left != int64(80*ms) {
			t.Errorf("deadlinesOf(Dubbo) = %+v", v)
		}
	})
	perTry := map[string]bool{}
	for _, r := range deadlineTable.rules {
		if r.says.perTry {
			perTry[r.says.key] = true
		}
	}
	if want := []string{"header amz-sdk-request", "header l5d-retry-timeout", "header x-envoy-upstream-rq-per-try-timeout-ms"}; !slices.Equal(sortedKeys(perTry), want) {
		t.Errorf("keys of one attempt = %v, want %v", sortedKeys(perTry), want)
	}
}

func sortedKeys(m map[string]bool) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}
