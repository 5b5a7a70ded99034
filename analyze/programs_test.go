package analyze

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"overrun/ingest"
)

// What programs did that ran with real instrumentations, and the spans that these wrote, in ms.
// What is wanted comes from the program.

// viewEnds writes how the attempts of each call of a dump's only trace ended, by call.
func viewEnds(t *testing.T, d *ingest.Dump) string {
	t.Helper()
	var out []string
	for _, v := range Run(d, Options{}).Views(d.Traces[0]) {
		for _, c := range v.Calls {
			var tries []string
			for _, try := range c.Tries {
				tries = append(tries, try.Outcome.String())
			}
			out = append(out, strings.Join(tries, " "))
		}
	}
	return strings.Join(out, ", ")
}

func TestCausesAsRecorded(t *testing.T) {
	const (
		web    = "R - 0 400 k=SERVER s=web\n"
		failed = get + "a=server.address=b a=url.path=%s st=ERROR a=error.type=*errors.errorString\n"
		served = " k=SERVER s=b\n"
	)
	call := func(name string, start, end float64, path string) string {
		return fmt.Sprintf("%s R %v %v"+failed, name, start, end, path)
	}
	for _, test := range []struct{ name, scope, text, spans, want string }{
		{"errgroup: one part is answered 503, which cancels the two that run beside it", "otelhttp", "status 503",
			web + "a R 0.1 21.6" + get + "a=server.address=b a=url.path=/a a=http.response.status_code=503 st=ERROR\n" +
				call("b", .4, 21.8, "/b") + call("c", .9, 21.7, "/c"),
			"error, cancelled-caller, cancelled-caller"},
		{"errgroup, beside longer calls that began before", "otelhttp", "status 503",
			web + "c R 0 300" + get + "a=server.address=c a=http.response.status_code=200\nd R 0 301" + get + "a=server.address=d a=http.response.status_code=200\n" +
				call("a", .1, 60.9, "/a") + "e R 5 60.8" + get + "a=server.address=e a=http.response.status_code=503 st=ERROR\n",
			"ok, ok, cancelled-caller, error"},
		{"errgroup: the span of the part that failed ends after that of the part it cancels", "otelhttp", "status 503",
			web + call("a", .1, 60.9, "/a") + "e R 5 61.5" + get + "a=server.address=e a=http.response.status_code=503 st=ERROR\n",
			"cancelled-caller, error"},
		{"another part failed 1.1 ms before, or after", "otelhttp", "no token",
			web + "e R 5 59.8" + get + "a=server.address=e a=http.response.status_code=503 st=ERROR\n" + call("a", 10, 60.9, "/a") +
				"f R 20 62.1" + get + "a=server.address=f a=http.response.status_code=503 st=ERROR\n",
			"error, error, error"},
		{"the part that failed was over before this one began", "otelhttp", "no token",
			web + "e R 5 60" + get + "a=server.address=e a=http.response.status_code=503 st=ERROR\n" + call("a", 60, 60.9, "/a"),
			"error, error"},
		{"calls that say how they ended are not asked", "otelhttp", "no token",
			web + call("a", .1, 60.9, "/a") + "b R 100 120" + get + "a=server.address=c a=http.response.status_code=200\nt b 101 119 k=SERVER s=c\n" +
				"e R 130 150" + get + "a=server.address=c a=http.response.status_code=503 st=ERROR\nu e 131 149 k=SERVER s=c\n",
			"error, ok, error"},
		{"own work beside it ended as it did", "otelhttp", "no token",
			web + call("a", .1, 60.9, "/a") + "o R 5 60.8 s=web\n", "error"},
		{"what its own service still did is no callee", "otelhttp", "broken answer",
			web + call("a", .1, 60.9, "/a") + "s a 0.2 60.8 s=web\n", "error"},
		{"context.WithCancelCause: the callee was at work until it was left", "otelhttp", "enough",
			web + call("a", .1, 60.9, "/a") + "s a 0.2 60.7" + served, "cancelled-caller"},
		{"context.WithTimeoutCause at the deadline that the request records", "otelhttp", "budget spent",
			"R - 0 400 k=SERVER s=web a=http.request.header.x-budget-ms=60\n" + call("a", .1, 60.4, "/a") + "s a 0.5 60.3" + served, "read-timeout"},
		{"a second copy answers, which cancels the first with a cause", "otelhttp", "other copy answered",
			web + call("a", .1, 82.2, "/a") + "b R 51 82.1" + get + "a=server.address=b a=url.path=/a a=http.response.status_code=200\n", "cancelled-race ok"},
		{"a transport of the program's own fails before anything is sent", "otelhttp", "no token",
			web + call("a", .1, 60.9, "/a") + "b R 100 120" + get + "a=server.address=b a=url.path=/b a=http.response.status_code=200\n", "error, ok"},
		{"three at once fail for want of one token", "otelhttp", "no token",
			web + call("a", .1, 60.9, "/a") + call("b", .2, 60.9, "/b") + call("c", .3, 61, "/c"), "error, error, error"},
		{"the callee failed long before its caller knew", "otelhttp", "broken answer",
			web + call("a", .1, 60.9, "/a") + "s a 0.2 20" + served, "error"},
		{"Node: AbortController.abort(new Error(…))", "@opentelemetry/instrumentation-undici", "budget spent",
			web + strings.Replace(call("a", 2, 82.9, "/a"), "error.type=*errors.errorString", "exception.type=Error", 1) + "s a 10 83" + served, "cancelled-caller"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := worked(t, test.spans)
			for i := range d.Traces[0].Spans {
				if s := &d.Traces[0].Spans[i]; s.Kind == ingest.Client {
					s.Scope = test.scope
					if s.Status == ingest.Error && s.Attr("http.response.status_code") == "" {
						s.StatusText = test.text
					}
				}
			}
			want(t, "endings", viewEnds(t, d), test.want)
		})
	}
}

func TestCutBesideAnotherPart(t *testing.T) {
	// A card of two parts. Reviews are optional: after 80 ms the card goes on without. By chance
	// prices are there 0.5 ms before.
	d := worked(t, "R - 0 90 k=SERVER s=card\np R 0 79.5"+get+"a=server.address=prices a=http.response.status_code=200\n"+
		"r R 0 80"+get+"a=server.address=reviews a=error.type=*errors.errorString st=CANCELLED")
	want(t, "endings", viewEnds(t, d), "ok, cancelled-caller")
}

func TestCopiesWithScopesOfTheirOwn(t *testing.T) {
	// grpc-go's own tracing: each copy of a hedge by hand is a call with one attempt, which counts
	// no attempt before it. So is each try of an interceptor around that tracing.
	const number = " a=previous-rpc-attempts=0"
	sent := func(n int, start, end float64, how string) string {
		return fmt.Sprintf("Sent.b.S.M#%d R %v %v k=CLIENT s=web %s\nAttempt.b.S.M#%d Sent.b.S.M#%d %v %v s=web %s%s\n", n, start, end, how, n, n, start+.1, end-.1, how, number)
	}
	const web = "R - 0 200 k=SERVER s=web\n"
	d := worked(t, web+sent(1, .1, 83.1, "st=CANCELLED")+sent(2, 50.8, 83, ""))
	want(t, "hedge", viewEnds(t, d), "cancelled-race ok")
	d = worked(t, web+sent(1, .1, 20, "st=ERROR a=rpc.grpc.status_code=14")+sent(2, 70, 90, ""))
	want(t, "retry", viewEnds(t, d), "error ok")
}

func TestSideBySideToAClosedPort(t *testing.T) {
	// Five calls begin together, and each is refused within half a millisecond.
	spans := "R - 0 50 k=SERVER s=web\n"
	for i := range 5 {
		at := float64(i) / 20
		spans += fmt.Sprintf("c%d R %v %v%sa=server.address=b a=url.path=/a a=error.type=*net.OpError a=exception.message=connection_refused st=ERROR\n", i, at, at+.5, get)
	}
	d := worked(t, spans)
	for i := range d.Traces[0].Spans[1:] {
		d.Traces[0].Spans[i+1].StatusText = "dial tcp 192.0.2.1:80: connect: connection refused"
	}
	want(t, "calls", viewEnds(t, d), "refused, refused, refused, refused, refused")
}

func TestObeyedOnOneHost(t *testing.T) {
	// Both services on one host. The call is left after 80 ms, and its callee, which hears of that
	// 0.4 ms later, returns: the usual handler in Go says 200. That it would have succeeded is not known.
	const spans = "R - 0 90 k=SERVER s=web h=A\nc R 0.2 80.2 k=CLIENT s=web h=A a=http.request.method=GET a=server.address=b st=DEADLINE\n" +
		"s c 0.4 %v k=SERVER s=b h=A%s"
	for _, test := range []struct {
		end  float64
		how  string
		want []string
		ran  int
	}{
		{80.6, "", nil, 0},
		{80.6, " st=CANCELLED", nil, 0},
		{79.9, "", nil, 0},
		{120, "", []string{"false-timeout web R -> b: 1+0"}, 1},
		{60, "", []string{"false-timeout web R -> b: 1+0"}, 0}, // its answer was on the way
	} {
		a := Run(worked(t, fmt.Sprintf(spans, test.end, test.how)), Options{Deadline: 200 * time.Millisecond})
		got := slices.DeleteFunc(findings(&a.Report), func(s string) bool { return !strings.HasPrefix(s, "false-timeout") })
		want(t, fmt.Sprint(test.end, test.how), fmt.Sprint(got, a.Report.Dependencies[0].RanOn), fmt.Sprint(test.want, test.ran))
	}
}

func TestTimeLeftOnTheWay(t *testing.T) {
	// grpc-go over two hops on one host: what is left is passed on as it is, and counts anew where
	// it arrives, 0.3 ms later.
	a := Run(worked(t, "R - 0 80 k=SERVER s=web h=A a=rpc.request.metadata.grpc-timeout=90000u\nc R 10 70 k=CLIENT s=web h=A\n"+
		"s c 10.3 60 k=SERVER s=db h=A a=rpc.request.metadata.grpc-timeout=80000u"), Options{})
	want(t, "findings", len(findings(&a.Report)), 0)
}

func TestWorkAfterABadAnswer(t *testing.T) {
	// A server answers 503, and goes on for 16 ms, with its log: nobody left it.
	a := Run(worked(t, "R - 0 60 k=SERVER s=web h=A\nc R 0 37"+get+"h=A a=server.address=b a=http.response.status_code=503 st=ERROR\n"+
		"s c 9 53 k=SERVER s=b h=A a=http.response.status_code=503 st=ERROR"), Options{})
	want(t, "findings", len(findings(&a.Report)), 0)
}
