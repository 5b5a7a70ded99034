package analyze

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"overrun/ingest"
)

// Worked cases of what the instrumentation recorded: calls of several spans,
// phases, and the findings that rest on them. 1 unit = 1 ms.

const http503 = get + "a=server.address=b a=http.response.status_code=503 st=ERROR"
const http200 = get + "a=server.address=b a=http.response.status_code=200"

func TestUnmarkedSiblings(t *testing.T) {
	for _, test := range []struct {
		name, calls string
		want        string // calls, attempts
	}{
		{"one after a failure is a retry", "a R 5 25" + http503 + "\nb R 35 55" + http200, "1 2"},
		{"three", "a R 5 25" + http503 + "\nb R 35 55" + http503 + "\nc R 60 80" + http200, "1 3"},
		{"after an answer it is another call", "a R 5 25" + http200 + "\nb R 35 55" + http200, "2 2"},
		{"after an answer that is no reason to try again", "a R 5 25" + get + "a=server.address=b a=http.response.status_code=400 st=ERROR\nb R 35 55" + http200, "2 2"},
		{"after a redirect it is another call", "a R 5 25" + get + "a=server.address=b a=http.response.status_code=302\nb R 35 55" + http200, "2 2"},
		{"to another peer", "a R 5 25" + http503 + "\nb R 35 55" + get + "a=server.address=c a=http.response.status_code=200", "2 2"},
		{"after longer than a client waits", "a R 5 25" + http503 + "\nb R 6000 6055" + http200, "2 2"},
		{"side by side both fail", "a R 5 25" + http503 + "\nb R 6 26" + http503, "2 2"},
		{"two of them, each tried again", "a R 5 25" + http503 + "\nb R 6 30" + http503 + "\nc R 27 40" + http200 + "\nd R 32 50" + http200, "2 4"},
		{"cut by a timeout of its own", "a R 5 25" + get + "a=server.address=b a=error.type=context.deadlineExceededError st=ERROR\nb R 35 55" + http200, "1 2"},
		{"where resends are counted, an uncounted one is another call", "a R 5 25" + http503 + "\nb R 35 55" + http200 + " a=http.request.resend_count=1\nc R 60 80" + http200, "2 3"},
		{"copies side by side, one answered, one cancelled as it was", "a R 5 55" + get + "a=server.address=b a=error.type=*errors.errorString st=CANCELLED\nb R 35 55" + http200, "1 2"},
		{"copies that are all answered are fan-out", "a R 5 55" + http200 + "\nb R 35 55" + http200, "2 2"},

		{"each in a span of the caller's own", "attempt1 R 4 26 s=web\na attempt1 5 25" + http503 + "\nattempt2 R 34 56 s=web\nb attempt2 35 55" + http200, "1 2"},
		{"in several, under one for all", "retry R 2 98 s=web\nattempt1 retry 4 26 s=web\nx1 attempt1 5 25 s=web\na x1 6 24" + http503 +
			"\nattempt2 retry 34 56 s=web\nx2 attempt2 34 56 s=web\nb x2 35 55" + http200, "1 2"},
		{"and counted", "attempt1 R 4 26 s=web\na attempt1 5 25" + http503 + "\nattempt2 R 34 56 s=web\nb attempt2 35 55" + http200 + " a=http.request.resend_count=1", "1 2"},
		{"counted by the spans around", "attempt-1 R 4 26 s=web a=retry.attempt=1\na attempt-1 5 25" + http503 +
			"\nattempt-2 R 34 56 s=web a=retry.attempt=2\nb attempt-2 35 55" + http200, "1 2"},
		{"counted by the span around the second alone", "attempt1 R 4 26 s=web\na attempt1 5 25" + http503 +
			"\nattempt2 R 34 56 s=web a=http.request.resend_count=1\nb attempt2 35 55" + http200, "1 2"},
		{"in spans of other names", "load R 4 26 s=web\na load 5 25" + http503 + "\nstore R 34 56 s=web\nb store 35 55" + http200, "2 2"},
		{"in spans of one name, after an answer", "attempt1 R 4 26 s=web\na attempt1 5 25" + http200 + "\nattempt2 R 34 56 s=web\nb attempt2 35 55" + http200, "2 2"},
		{"where a span around holds two calls", "step1 R 4 26 s=web\na step1 5 15" + http503 + "\nc step1 16 25" + get + "a=server.address=c a=http.response.status_code=200" +
			"\nstep2 R 34 56 s=web\nb step2 35 55" + http200, "3 3"},
		{"another request in spans of one name", "step1 R 4 26 s=web\na step1 5 25" + http503 + " a=url.path=/1\nstep2 R 34 56 s=web\nb step2 35 55" + http200 + " a=url.path=/2", "2 2"},
		{"copies, each in a span of the caller's own", "attempt1 R 4 56 s=web\na attempt1 5 55" + get + "a=server.address=b a=error.type=*errors.errorString st=CANCELLED" +
			"\nattempt2 R 34 56 s=web\nb attempt2 35 55" + http200, "1 2"},

		{"copies at two addresses of a service", "a R 5 55" + get + "a=server.address=b1 a=error.type=*errors.errorString st=CANCELLED\nB1 a 6 54 k=SERVER s=b" +
			"\nb R 35 55" + get + "a=server.address=b2 a=http.response.status_code=200\nB2 b 36 54 k=SERVER s=b", "1 2"},
		{"copies at two addresses of two services", "a R 5 55" + get + "a=server.address=b1 a=error.type=*errors.errorString st=CANCELLED\nB1 a 6 54 k=SERVER s=b" +
			"\nb R 35 55" + get + "a=server.address=c1 a=http.response.status_code=200\nC1 b 36 54 k=SERVER s=c", "2 2"},
		{"copies at two addresses, of one of which nothing tells the service", "a R 5 55" + get + "a=server.address=b1 a=error.type=*errors.errorString st=CANCELLED" +
			"\nb R 35 55" + get + "a=server.address=b2 a=http.response.status_code=200\nB2 b 36 54 k=SERVER s=b", "2 2"},
		{"parts of a service at two addresses, all answered", "a R 5 55" + get + "a=server.address=b1 a=http.response.status_code=200\nB1 a 6 54 k=SERVER s=b" +
			"\nb R 35 55" + get + "a=server.address=b2 a=http.response.status_code=200\nB2 b 36 54 k=SERVER s=b", "2 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := Run(worked(t, "R - 0 7000 k=SERVER s=web\n"+test.calls), Options{}).Report
			calls, attempts := 0, 0
			for _, d := range r.Dependencies {
				calls, attempts = calls+d.Calls, attempts+d.Attempts
			}
			want(t, "calls and attempts", fmt.Sprint(calls, " ", attempts), test.want)
		})
	}
}

// Each try has a span of the caller's own around it, and one for all. By hand, of 300:
//
//	own         [0, 12) before the first try, [270, 300) after the last   42
//	retry       [12, 100) the first try                                   88
//	retry-wait  [100, 152)                                                52
//	read        [152, 270)                                               118
//
// Before, they were two calls, and the wait between them was own work.
func TestTriesInSpansOfTheirOwn(t *testing.T) {
	dump := worked(t, `
R - 0 300 k=SERVER s=web
retry R 10 290 s=web
attempt1 retry 10 110 s=web
a attempt1 12 100`+http503+`
sleep attempt1 101 109 s=web
attempt2 retry 150 280 s=web
b attempt2 152 270`+http200+`
parse attempt2 271 279 s=web
`)
	a := Run(dump, Options{Deadline: ms(250)})
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(42), Retry: ms(88), RetryWait: ms(52), Read: ms(118), Total: ms(300)})
	d := a.Report.Dependencies[0]
	want(t, "calls, attempts, on the path", []int{d.Calls, d.Attempts, d.OnPath}, []int{1, 2, 1})
	want(t, "path time", d.Path, ms(258))
	v := a.Views(dump.Traces[0])[0]
	want(t, "call", []time.Duration{v.Calls[0].Start, *v.Calls[0].End}, []time.Duration{ms(12), ms(270)})
	want(t, "rule", v.Calls[0].Tries[1].Rules.Join, "R3")
	spent := map[Category]time.Duration{}
	at := time.Duration(0)
	for _, s := range v.Path {
		want(t, "start of the next piece", s.Start, at)
		spent[s.Category] += s.End - s.Start
		at = s.End
	}
	want(t, "path by category", spent, map[Category]time.Duration{Own: ms(42), Retry: ms(88), RetryWait: ms(52), Read: ms(118)})
}

func TestConnecting(t *testing.T) {
	// otelhttptrace: 5 ms looking up, 10 ms connecting, 5 ms more of getting the
	// connection are the pool; the request was on its way at 31, answered at 85.
	a := Run(worked(t, `
R - 0 100 k=SERVER s=web
c R 10 90`+http200+`
http.getconn c 10 30 k=CLIENT s=web
http.dns http.getconn 10 15 k=CLIENT s=web
http.connect http.getconn 15 25 k=CLIENT s=web
http.send c 30 31 k=CLIENT s=web
http.receive c 85 90 k=CLIENT s=web
`), Options{})
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(20), Connect: ms(20), Read: ms(60), Total: ms(100)})
	d := a.Report.Dependencies[0]
	want(t, "calls", d.Calls, 1)
	want(t, "latency, connect, pool, read", []time.Duration{*d.Latency.P50.Point, *d.Connect.P50.Point, *d.Pool.P50.Point, *d.Read.P50.Point},
		[]time.Duration{ms(80), ms(15), ms(5), ms(60)})
	for _, w := range d.Warnings {
		if w == ConnectInRead {
			t.Error("connecting was recorded, and is said to be inside read")
		}
	}
}

func TestOldConnection(t *testing.T) {
	// A connection that was reused: all of getting it was waiting for the pool,
	// and no connection was opened.
	a := Run(worked(t, `
R - 0 100 k=SERVER s=web
c R 10 90`+http200+`
http.getconn c 10 30 k=CLIENT s=web a=http.conn.reused=true
`), Options{})
	d := a.Report.Dependencies[0]
	want(t, "pool, read", []time.Duration{*d.Pool.P50.Point, *d.Read.P50.Point}, []time.Duration{ms(20), ms(60)})
	if d.Connect != nil {
		t.Errorf("connect %+v of a connection that was reused", d.Connect)
	}
}

func TestDialThatWentOn(t *testing.T) {
	// Another connection came free at 30, after 10 ms of dialling, which went on.
	a := Run(worked(t, `
R - 0 100 k=SERVER s=web
c R 10 90`+http200+`
http.getconn c 10 30 k=CLIENT s=web a=http.conn.reused=false
http.connect http.getconn 20 60 k=CLIENT s=web
`), Options{})
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(20), Connect: ms(20), Read: ms(60), Total: ms(100)})
	d := a.Report.Dependencies[0]
	want(t, "connect, pool, read", []time.Duration{*d.Connect.P50.Point, *d.Pool.P50.Point, *d.Read.P50.Point}, []time.Duration{ms(10), ms(10), ms(60)})
}

func TestNameResolution(t *testing.T) {
	// The call waits for names from its start to the event, and its attempt begins then.
	dump := worked(t, `
R - 0 100 k=SERVER s=web
Sent.a.B.C R 10 90 k=CLIENT s=web
Attempt.a.B.C Sent.a.B.C 30 90 s=web a=previous-rpc-attempts=0
`)
	dump.Traces[0].Spans[1].Events = []ingest.Event{{Name: "Delayed name resolution complete", At: ms(30)}}
	a := Run(dump, Options{})
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(20), Connect: ms(20), Read: ms(60), Total: ms(100)})
}

func TestKiota(t *testing.T) {
	// The first try lies in the handler, each retry in a span of its own: it waits at the
	// head, counts from 0, and has the status of the answer before (R17).
	dump := worked(t, `
R - 0 100 k=SERVER s=web
c R 0 95 s=web
f c 0 20`+get+`a=server.address=b a=http.response.status_code=503 st=ERROR
r c 20 90 s=web a=http.request.resend_count=0 a=http.request.resend_delay=0.025 a=http.response.status_code=503
g r 45 90`+get+`a=server.address=b a=http.response.status_code=200
`)
	spans := dump.Traces[0].Spans
	spans[1].Name, spans[3].Name = "RetryHandler_SendAsync", "RetryHandler_SendAsync - attempt 0"
	a := Run(dump, Options{})
	d := a.Report.Dependencies[0]
	want(t, "callee, calls, attempts", fmt.Sprint(d.Callee, d.Calls, d.Attempts, d.Outcomes), fmt.Sprint("b", 1, 2, map[Outcome]int{Failure: 1, OutcomeOK: 1}))
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(5), Retry: ms(20), RetryWait: ms(25), Read: ms(50), Total: ms(100)})
}

func TestNameOfAttempts(t *testing.T) {
	// Nothing names the callee but the spans: that around the attempts counts.
	a := Run(worked(t, `
R - 0 100 k=SERVER s=web
S3.ListBuckets R 0 90 k=CLIENT s=web
RetryLoop S3.ListBuckets 0 90 s=web
Attempt RetryLoop 0 40 s=web a=operation.attempt=1 st=ERROR
Attempt#2 RetryLoop 40 90 s=web a=operation.attempt=2
`), Options{})
	d := a.Report.Dependencies[0]
	want(t, "callee, attempts", fmt.Sprint(d.Callee, d.Attempts), fmt.Sprint("S3.ListBuckets", 2))
}

func TestNoPhases(t *testing.T) {
	a := Run(worked(t, "R - 0 100 k=SERVER s=web\nc R 10 90"+http200), Options{})
	d := a.Report.Dependencies[0]
	if d.Connect != nil || d.Pool != nil || d.Read != nil {
		t.Error("phases that nobody recorded")
	}
	want(t, "warnings", d.Warnings[len(d.Warnings)-3:], []Warning{ConnectInRead, FewCeiling, AssumesRequired})
}

func TestPhaseWithoutParent(t *testing.T) {
	// A failed lookup leaves http.dns without its parent: evidence for the one
	// client span around it, and no fragment.
	a := Run(worked(t, `
R - 0 100 k=SERVER s=web
c R 10 90`+get+`a=server.address=b st=ERROR a=error.type=*net.OpError
http.dns gone 12 80 k=CLIENT s=web
`), Options{})
	want(t, "fragments", a.Report.Input.Fragments, 0)
	want(t, "connect", a.Report.Routes[0].Time.Connect, ms(68))
}

func TestPhaseBeside(t *testing.T) {
	// pgx asks the pool beside its query: the query's attempt began with it.
	a := Run(worked(t, `
R - 0 100 k=SERVER s=web
pool.acquire R 10 30 k=CLIENT s=web
c R 30 60 k=CLIENT s=web a=db.system.name=postgresql
`), Options{})
	want(t, "dependencies", len(a.Report.Dependencies), 1)
	d := a.Report.Dependencies[0]
	want(t, "latency, pool, read", []time.Duration{*d.Latency.P50.Point, *d.Pool.P50.Point, *d.Read.P50.Point}, []time.Duration{ms(50), ms(20), ms(30)})
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(50), Connect: ms(20), Read: ms(30), Total: ms(100)})
}

func TestTriedAgainOrNot(t *testing.T) {
	// An AWS SDK over an HTTP client: where the call was tried again, it is the same call as where
	// it was not.
	const sdk = " k=CLIENT s=web a=rpc.system=aws-api a=rpc.service=DynamoDB a=rpc.method=GetItem a=db.system.name=dynamodb a=db.namespace=carts"
	d := worked(t, "R - 0 300 k=SERVER s=web\nDynamoDB.GetItem#1 R 10 60"+sdk+"\na DynamoDB.GetItem#1 20 55"+http200+
		"\nDynamoDB.GetItem#2 R 100 250"+sdk+"\nb DynamoDB.GetItem#2 110 140"+http503+"\nc DynamoDB.GetItem#2 190 240"+http200)
	want(t, "calls", viewCalls(t, d), "dynamodb carts, DynamoDB/GetItem 10ms-60ms ok\ndynamodb carts, DynamoDB/GetItem 100ms-250ms error ok")
}

func TestServedTwice(t *testing.T) {
	// A client that tries again inside its one span: the callee's spans show it. What such a call
	// took is not the latency of an attempt, and half of what it took longer than its callee is
	// no network leg.
	const rpc = " a=rpc.system=grpc a=rpc.service=p.S a=rpc.method=Get a=rpc.grpc.status_code="
	a := Run(worked(t, "R - 0 320 k=SERVER s=web h=h1\ncall R 1 312 k=CLIENT s=web h=h1"+rpc+"0\nM#1 call 7 28 k=SERVER s=p h=h2"+rpc+"14 st=ERROR"+
		"\nM#2 call 98 137 k=SERVER s=p h=h2"+rpc+"14 st=ERROR\nM#3 call 278 298 k=SERVER s=p h=h2"+rpc+"0"), Options{})
	d := a.Report.Dependencies[0]
	want(t, "attempts, hidden, latencies", []int{d.Attempts, d.Hidden, d.Latency.N}, []int{1, 2, 0})
	for name, spans := range map[string]string{
		"side by side":       "M#1 call 7 28 k=SERVER s=p" + rpc + "14 st=ERROR\nM#2 call 20 137 k=SERVER s=p" + rpc + "0",
		"after an answer":    "M#1 call 7 28 k=SERVER s=p" + rpc + "0\nM#2 call 98 137 k=SERVER s=p" + rpc + "0",
		"of another service": "M#1 call 7 28 k=SERVER s=p" + rpc + "14 st=ERROR\nM#2 call 98 137 k=SERVER s=q" + rpc + "0",
	} {
		a := Run(worked(t, "R - 0 320 k=SERVER s=web\ncall R 1 312 k=CLIENT s=web"+rpc+"0\n"+spans), Options{})
		want(t, name+": hidden", a.Report.Dependencies[0].Hidden, 0)
	}
}

// routeOf finds the route of a service.
func serviceRoute(t *testing.T, r *Report, service string) *Route {
	t.Helper()
	for i := range r.Routes {
		if r.Routes[i].Service == service {
			return &r.Routes[i]
		}
	}
	t.Fatalf("no route of %s", service)
	return nil
}

func TestRetryScope(t *testing.T) {
	// gRPC's own tracing (G3, G4): one call with two attempts inside. 2 ms before
	// the first and 1 ms after the last are the call's own, 10 ms lie between.
	a := Run(worked(t, `
R - 0 60 k=SERVER s=web
Sent.p.S.M R 5 50 k=CLIENT s=web
Attempt.p.S.M Sent.p.S.M 7 10 s=web a=previous-rpc-attempts=0 st=ERROR
x Attempt.p.S.M 8 9 k=SERVER s=b st=ERROR
Attempt.p.S.M#2 Sent.p.S.M 20 49 s=web a=previous-rpc-attempts=1
y Attempt.p.S.M#2 21 48 k=SERVER s=b
`), Options{})
	d := a.Report.Dependencies[0]
	want(t, "callee", []string{d.Callee, d.Operation}, []string{"b", "p.S/M"})
	want(t, "calls and attempts", []int{d.Calls, d.Attempts}, []int{1, 2})
	want(t, "time", serviceRoute(t, &a.Report, "web").Time, Time{Own: ms(15), Read: ms(32), Retry: ms(3), RetryWait: ms(10), Total: ms(60)})
}

func TestBackoffInTail(t *testing.T) {
	// AWS SDK for Go (R10): attempts are back to back, and the wait is the tail of
	// the attempt's span: 10 ms of trying, 30 of waiting, 40 of the second try.
	a := Run(worked(t, `
R - 0 100 k=SERVER s=web
S3.Get R 10 90 k=CLIENT s=web a=rpc.system=aws-api a=rpc.service=S3 a=rpc.method=Get
RetryLoop S3.Get 10 90 s=web
Attempt RetryLoop 10 50 s=web a=operation.attempt=1 st=ERROR
DoHTTPRequest Attempt 10 20 s=web
Attempt#2 RetryLoop 50 90 s=web a=operation.attempt=2
DoHTTPRequest#2 Attempt#2 50 90 s=web
`), Options{})
	d := a.Report.Dependencies[0]
	want(t, "calls and attempts", []int{d.Calls, d.Attempts}, []int{1, 2})
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(20), Retry: ms(10), RetryWait: ms(30), Read: ms(40), Total: ms(100)})
}

func TestAttemptsOfAWS(t *testing.T) {
	// What aws-sdk-go-v2 1.48 writes when it is answered 503, loses a connection, and is answered: no
	// span of it has the status Error, and only DoHTTPRequest says how it ended.
	a := Run(worked(t, `
R - 0 130 k=SERVER s=web
S3.Get R 10 120 k=CLIENT s=web st=OK a=rpc.system=aws-api a=rpc.service=S3 a=rpc.method=Get
RetryLoop S3.Get 10 120 s=web
Attempt RetryLoop 10 40 s=web a=operation.attempt=1
DoHTTPRequest Attempt 10 29 s=web a=http.method=GET a=http.status_code=503
OperationDeserializer Attempt 29 30 s=web
Attempt#2 RetryLoop 40 80 s=web a=operation.attempt=2
DoHTTPRequest#2 Attempt#2 40 60 s=web a=http.method=GET a=http.status_code=0
Attempt#3 RetryLoop 80 120 s=web a=operation.attempt=3
DoHTTPRequest#3 Attempt#3 80 120 s=web a=http.method=GET a=http.status_code=200
`), Options{})
	d := a.Report.Dependencies[0]
	want(t, "attempts, ok, errors", []int{d.Attempts, d.OK, d.Errors}, []int{3, 1, 2})
	want(t, "minimum", *d.Minimum, ms(40)) // of the only answer
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(20), Retry: ms(20 + 20), RetryWait: ms(10 + 20), Read: ms(40), Total: ms(130)})
}

func TestNumberedAttempts(t *testing.T) {
	// Spans around one try that number themselves in their names are attempts of one call.
	a := Run(worked(t, `
R - 0 300 k=SERVER s=web
attempt_1 R 10 60 s=web a=retry.attempt=1
x attempt_1 10 60 k=CLIENT s=web a=http.request.method=GET a=peer.service=b a=http.response.status_code=503
attempt_2 R 100 160 s=web a=retry.attempt=2
y attempt_2 100 160 k=CLIENT s=web a=http.request.method=GET a=peer.service=b a=http.response.status_code=503
attempt_3 R 200 280 s=web a=retry.attempt=3
z attempt_3 200 280 k=CLIENT s=web a=http.request.method=GET a=peer.service=b a=http.response.status_code=200
`), Options{})
	d := a.Report.Dependencies[0]
	want(t, "calls, attempts, ok, errors", []int{d.Calls, d.Attempts, d.OK, d.Errors}, []int{1, 3, 1, 2})
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(30), Retry: ms(50 + 60), RetryWait: ms(40 + 40), Read: ms(80), Total: ms(300)})
}

func TestRetryThatIsHedged(t *testing.T) {
	// The first attempt fails, and of the second a copy is sent that wins; or it wins itself.
	const shape = `
R - 0 200 k=SERVER s=web
a R 10 50 k=CLIENT s=web a=http.request.method=GET a=peer.service=b a=http.response.status_code=503
b R 60 %s
c R 90 %s
`
	const won = "120 k=CLIENT s=web a=http.request.method=GET a=peer.service=b a=http.response.status_code=200"
	const lost = "120.2 k=CLIENT s=web a=http.request.method=GET a=peer.service=b st=CANCELLED"
	for name, row := range map[string]struct {
		shape string
		time  Time
	}{
		"copy wins":  {fmt.Sprintf(shape, lost, won), Time{Own: ms(90), Retry: ms(40), RetryWait: ms(10), Read: ms(30), Hedge: ms(30), Total: ms(200)}},
		"copy loses": {fmt.Sprintf(shape, won, lost), Time{Own: ms(90), Retry: ms(40), RetryWait: ms(10), Read: ms(60), Total: ms(200)}},
	} {
		a := Run(worked(t, row.shape), Options{})
		d := a.Report.Dependencies[0]
		want(t, name+": calls, attempts, ok", []int{d.Calls, d.Attempts, d.OK}, []int{1, 3, 1})
		want(t, name+": time", a.Report.Routes[0].Time, row.time)
	}
}

func TestAttemptWithoutEnd(t *testing.T) {
	// Between its start and the next attempt it ran, or the caller waited: nobody knows.
	a := Run(worked(t, `
R - 0 300 k=SERVER s=web
a R 10 60 k=CLIENT s=web a=http.request.method=GET a=peer.service=b a=http.response.status_code=503
b R 80 ? k=CLIENT s=web a=http.request.method=GET a=peer.service=b a=http.request.resend_count=1
c R 150 250 k=CLIENT s=web a=http.request.method=GET a=peer.service=b a=http.request.resend_count=2 a=http.response.status_code=200
`), Options{})
	want(t, "attempts", a.Report.Dependencies[0].Attempts, 3)
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(60), Retry: ms(50), RetryWait: ms(20), Unknown: ms(70), Read: ms(100), Total: ms(300)})
}

func TestConnectingInsidePoolBesideCall(t *testing.T) {
	// As instrumentation-pg writes it: the query begins when the pool has given a connection (C28),
	// which it first had to open (C29). 10 + 2 ms are the pool's, 38 the connection's.
	dump := worked(t, `
R - 0 200 k=SERVER s=web
pg-pool.connect R 10 60 k=CLIENT s=web a=db.system=postgresql
pg.connect pg-pool.connect 20 58 k=CLIENT s=web a=db.system=postgresql
q R 60 120 k=CLIENT s=web a=db.system=postgresql a=db.name=x
`)
	a := Run(dump, Options{})
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(90), Connect: ms(50), Read: ms(60), Total: ms(200)})
	view := a.Views(dump.Traces[0])[0]
	want(t, "phases", view.Calls[0].Tries[0].Phases, map[string]time.Duration{"pool": ms(12), "connect": ms(38)})
	took := map[Category]time.Duration{}
	for _, s := range view.Path {
		took[s.Category] += s.End - s.Start
	}
	want(t, "path", took, map[Category]time.Duration{Own: ms(90), Connect: ms(50), Read: ms(60)})
}

func TestWidened(t *testing.T) {
	// web has 100 ms and calls at 10: db may take 90, and is promised 500.
	a := Run(worked(t, `
R - 0 80 k=SERVER s=web h=A
c R 10 70 k=CLIENT s=web h=A
s c 12 60 k=SERVER s=db h=A a=http.request.header.x-budget-ms=500
`), Options{Deadline: ms(100)})
	want(t, "findings", findings(&a.Report), []string{"deadline-widened web R -> db: 1+0"})
	want(t, "amount", a.Report.Findings[0].Examples[0].Amount, ms(12+500-100))
}

func TestWidenedOnTheWay(t *testing.T) {
	// web has 250 ms, and gives its call 200 at 10: until 210. db is told 400 at 12, by somebody in
	// between: until 412, which is 202 more. Without a deadline of web it is no less.
	const shape = `
R - 0 300 k=SERVER s=web h=A
c R 10 290 k=CLIENT s=web h=A a=http.request.header.x-budget-ms=200
s c 12 280 k=SERVER s=db h=A a=http.request.header.x-budget-ms=400
`
	for _, o := range []Options{{Deadline: ms(250)}, {}} {
		a := Run(worked(t, shape), o)
		found := 0
		for _, f := range a.Report.Findings {
			if f.Code == DeadlineWidened {
				found++
				want(t, "widened", []any{f.Service, f.Callee, f.Count, f.Examples[0].Amount}, []any{"web", "db", 1, ms(202)})
			}
		}
		want(t, "findings", found, 1)
	}
}

func TestTimeoutOverBudget(t *testing.T) {
	// 90 of 100 ms are left when a call with a timeout of 2 s starts.
	a := Run(worked(t, `
R - 0 30 k=SERVER s=web h=A
c R 10 20 k=CLIENT s=web h=A a=rpc.request.metadata.grpc-timeout=2S a=peer.service=b
`), Options{Deadline: ms(100)})
	want(t, "findings", findings(&a.Report), []string{"timeout-over-budget web R -> b: 1+0"})
	want(t, "amount", a.Report.Findings[0].Examples[0].Amount, ms(1910))
	// By the grain of the clock, 1 ms, it may exceed what is left.
	for timeout, found := range map[int]int{80: 0, 90: 0, 91: 0, 92: 1} {
		a := Run(worked(t, fmt.Sprintf("R - 0 30 k=SERVER s=web h=A\nc R 10 20 k=CLIENT s=web h=A a=rpc.request.metadata.grpc-timeout=%dm a=peer.service=b", timeout)), Options{Deadline: ms(100)})
		want(t, fmt.Sprintf("findings, %d of 90 ms", timeout), len(a.Report.Findings), found)
	}
}

// TestFalseTimeout: cut at 70, the callee went on until 80, and an answer takes 2 ms, as that of z shows:
// (10 - 6) / 2. It would have been there at 82. With 20 ms reserved that is early enough until 102.
func TestFalseTimeout(t *testing.T) {
	const shape = `
R - 0 75 k=SERVER s=web h=A
z R 0 10 k=CLIENT s=web h=A a=http.request.method=GET a=http.response.status_code=200
y z 2 8 k=SERVER s=b h=B
a R 20 70 k=CLIENT s=web h=A a=http.request.method=GET st=DEADLINE
s a 22 80 k=SERVER s=b h=B
`
	for _, test := range []struct {
		deadline, amount float64
		code             FindingCode
	}{{200, 98, FalseTimeout}, {102, 0, FalseTimeout}, {101, 1, LateAnyway}} {
		p := policy(t, fmt.Sprintf("deadlines: [{service: web, deadline: %vms, reserve: 20ms}]", test.deadline))
		a := Run(worked(t, shape), Options{Policy: p})
		i := slices.IndexFunc(a.Report.Findings, func(f Finding) bool { return f.Code == FalseTimeout || f.Code == LateAnyway })
		if i < 0 {
			t.Errorf("deadline %v: %v, want %s", test.deadline, findings(&a.Report), test.code)
			continue
		}
		f := &a.Report.Findings[i]
		want(t, "finding", f.Code, test.code)
		want(t, "amount, callee there at", []time.Duration{f.Examples[0].Amount, *f.Examples[0].Detail.Callee}, []time.Duration{ms(test.amount), ms(82)})
	}
}

// TestOpenPile: the shortest window of max(2 ms, 2 %) that holds most of the cuts, with 5 of them
// and 60 % of all at least.
func TestOpenPile(t *testing.T) {
	for _, test := range []struct {
		name             string
		cuts             []float64 // ms
		low, high, value float64   // 0: no pile
	}{
		{"2 ms, both ends in it", []float64{100, 100.5, 101, 101.5, 102}, 100, 102, 101},
		{"2.1 ms", []float64{100, 100.5, 101, 102, 102.1}, 0, 0, 0},
		{"2 % of 1 s", []float64{1000, 1005, 1009, 1015, 1020}, 1000, 1020, 1009},
		{"more than 2 % of 1 s", []float64{1000, 1005, 1009, 1015, 1020.1}, 0, 0, 0},
		{"6 of 10", []float64{100, 100, 100, 100, 100, 100, 300, 400, 500, 600}, 100, 100, 100},
		{"6 of 11", []float64{50, 100, 100, 100, 100, 100, 100, 300, 400, 500, 600}, 0, 0, 0},
		{"5, and nearer ones below", []float64{50, 51, 52, 100, 101, 101, 101, 102}, 100, 102, 101},
		{"4", []float64{100, 100, 100, 100}, 0, 0, 0},
		{"the second of two is shorter", []float64{100, 101, 101.2, 101.4, 101.6, 102.5}, 101, 102.5, 101.4},
		{"the first of two is shorter", []float64{100, 101, 101.2, 101.4, 101.5, 102.6}, 100, 101.5, 101.2},
		{"the later holds more", []float64{100, 101, 101.2, 101.4, 101.6, 102.5, 102.9}, 101, 102.9, 101.4},
		{"the middle one of 5", []float64{100, 100, 101, 101, 101}, 100, 101, 101},
		{"the lower of the middle ones of 6", []float64{100, 100, 100, 101, 101, 101}, 100, 101, 100},
	} {
		var d depTable
		for _, c := range test.cuts {
			d.cuts.Add(ms(c))
		}
		p := d.openPile()
		if (p != nil) != (test.low > 0) {
			t.Errorf("%s: pile %+v, want one: %t", test.name, p, test.low > 0)
		} else if p != nil {
			want(t, test.name, []time.Duration{p.low, p.high, p.value}, []time.Duration{ms(test.low), ms(test.high), ms(test.value)})
		}
	}
}

// TestFixedTimeout: a pile is a fixed timeout if it is of 5 attempts in 3 requests, at most 1 % of
// the answers are longer, and starts or distances from the deadline spread over more than
// 3 windows, here of 2 ms.
func TestFixedTimeout(t *testing.T) {
	cut := func(budget int, times ...float64) string { // start, length, start, length, …
		s := "R - 0 900 k=SERVER s=web"
		if budget > 0 {
			s += fmt.Sprintf(" a=http.request.header.x-budget-ms=%d", budget)
		}
		for i := 0; i < len(times); i += 2 {
			s += fmt.Sprintf("\na%d R %v %v%sa=peer.service=b st=DEADLINE", i, times[i], times[i]+times[i+1], get)
		}
		return s
	}
	each := func(length float64, starts ...float64) (list []string) {
		for _, s := range starts {
			list = append(list, cut(0, s, length))
		}
		return list
	}
	answers := func(n int, took float64) []string {
		return slices.Repeat([]string{fmt.Sprintf("R - 0 400 k=SERVER s=web\na R 0 %v%sa=peer.service=b a=http.response.status_code=200", took, get)}, n)
	}
	spread := each(100, 0, 2, 4, 5, 6.1)
	for _, test := range []struct {
		name    string
		shapes  []string
		fixed   int // findings
		value   float64
		unclear bool
	}{
		{"starts over 6.1 ms", spread, 5, 100, false},
		{"starts over 6 ms", each(100, 0, 2, 4, 5, 6), 0, 0, true},
		{"4 attempts", each(100, 0, 4, 8, 12), 0, 0, false},
		{"2 requests", []string{cut(0, 0, 100, 110, 100, 220, 100), cut(0, 5, 100, 115, 100, 225, 100)}, 0, 0, false},
		{"3 requests", []string{cut(0, 0, 100, 110, 100), cut(0, 5, 100, 115, 100), cut(0, 7, 100)}, 5, 100, false},
		{"and one that took longer", append(each(140, 3), spread...), 5, 100, false},
		{"1 % of the answers are longer", slices.Concat(spread, answers(99, 20), answers(1, 150)), 5, 100, false},
		{"1 of 99 answers is longer", slices.Concat(spread, answers(98, 20), answers(1, 150)), 0, 0, false},
		{"answers as long", slices.Concat(spread, answers(9, 100)), 5, 100, false},
		{"distances from the deadline over 6 ms", []string{cut(200, 10, 100), cut(201, 10, 100), cut(202, 10, 100), cut(205, 10, 100), cut(206, 10, 100)}, 0, 0, true},
		{"distances from the deadline over 7 ms", []string{cut(200, 10, 100), cut(201, 10, 100), cut(202, 10, 100), cut(205, 10, 100), cut(207, 10, 100)}, 5, 100, false},
	} {
		a := Run(worked(t, test.shapes...), Options{})
		fixed, value := 0, time.Duration(0)
		for _, f := range a.Report.Findings {
			if f.Code == FixedTimeout {
				fixed, value = fixed+f.Count, *f.Examples[0].Detail.Timeout
			}
		}
		want(t, test.name+": fixed", fixed, test.fixed)
		want(t, test.name+": value", value, ms(test.value))
		want(t, test.name+": cannot tell", slices.Contains(a.Report.Dependencies[0].Warnings, TimeoutUnclear), test.unclear)
	}
}

func TestDeadlineLost(t *testing.T) {
	// Two of three entries of db record a deadline; the third had a caller with
	// one, and does not. log never does: it merely does not record its headers.
	const chain = `
R - 0 100 k=SERVER s=web a=http.request.header.x-budget-ms=200
c R 10 50 k=CLIENT s=web
GET c 11 40 k=SERVER s=db %s
d R 60 90 k=CLIENT s=web
log d 61 80 k=SERVER s=log
`
	header := "a=http.request.header.x-budget-ms=150"
	a := Run(worked(t, fmt.Sprintf(chain, header), fmt.Sprintf(chain, header), fmt.Sprintf(chain, "")), Options{})
	want(t, "findings", findings(&a.Report), []string{"deadline-lost db GET: 1+0"})
}

func TestHedgeTiming(t *testing.T) {
	// Eighty calls of 100 ms; a second copy after 10 ms is too early, one after
	// 250 too late.
	var texts []string
	for range 80 {
		texts = append(texts, "R - 0 110 k=SERVER s=web\na R 0 100"+http200)
	}
	const lost = get + "a=server.address=b a=error.type=*errors.errorString st=CANCELLED"
	texts = append(texts,
		"R - 0 70 k=SERVER s=web\na R 0 60"+lost+"\nb R 10 60"+http200,
		"R - 0 310 k=SERVER s=web\na R 0 300"+lost+"\nb R 250 300"+http200)
	r := Run(worked(t, texts...), Options{}).Report
	count := map[FindingCode]int{}
	for _, f := range r.Findings {
		count[f.Code] += f.Count
	}
	want(t, "findings", count, map[FindingCode]int{HedgeEarly: 1, HedgeLate: 1})
	for _, f := range r.Findings { // p95/2 is 50, and 2 x p95 is 200
		want(t, string(f.Code), f.Examples[0].Amount, map[FindingCode]time.Duration{HedgeEarly: ms(50 - 10), HedgeLate: ms(250 - 200)}[f.Code])
	}
}

func TestOneInstance(t *testing.T) {
	// Two pods answer 100 calls each, and the 20 slow ones all come from one of them: of
	// the 11 from p95 on, 11 from half the answers have p = 1/2048. The 20 are as sure
	// where they took equally long, and there are none above p95.
	for name, slow := range map[string]func(i int) int{"different": func(i int) int { return 150 + i }, "equal": func(int) int { return 150 }} {
		var texts []string
		for i := range 200 {
			took, pod := 20+i%3, "one"
			if i%2 == 0 {
				if pod = "two"; i%10 == 0 {
					took = slow(i)
				}
			}
			texts = append(texts, fmt.Sprintf("R - 0 400 k=SERVER s=web\na R 0 %d%s\ns a 1 %d k=SERVER s=b h=%s", took, http200, took-1, pod))
		}
		r := Run(worked(t, texts...), Options{}).Report
		i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Code == OneInstance })
		if i < 0 {
			t.Errorf("%s: findings %v, want %s", name, findings(&r), OneInstance)
			continue
		}
		want(t, "instance", r.Findings[i].Examples[0].Instance, "two")
	}
}

func TestConnectSlow(t *testing.T) {
	// More than 1 s, or more than 30 % of the timeout that the call records, whether or not
	// there is a deadline.
	for _, test := range []struct {
		connect, timeout string
		want             int
	}{
		{"1001", "", 1}, {"1000", "", 0}, {"31", "a=timeout_ms=100", 1}, {"30", "a=timeout_ms=100", 0},
	} {
		a := Run(worked(t, "R - 0 2000 k=SERVER s=web\nc R 0 1900"+http200+" "+test.timeout+"\nhttp.connect c 0 "+test.connect+" k=CLIENT s=web"), Options{})
		got := 0
		for _, f := range a.Report.Findings {
			if f.Code == ConnectSlow {
				got += f.Count
			}
		}
		want(t, test.connect+" "+test.timeout, got, test.want)
	}
}

func TestRetriesOfRetries(t *testing.T) {
	// Two attempts on each of two levels: four at the bottom (seeds.md §3), under
	// each of the two requests of b.
	var text = "R - 0 100 k=SERVER s=web\n"
	for i, at := range []int{0, 50} {
		status := "503 st=ERROR"
		if i == 1 {
			status = "200"
		}
		text += fmt.Sprintf("a%d R %d %d%sa=server.address=b a=http.response.status_code=%s\n", i, at, at+40, get, status)
		text += fmt.Sprintf("GET#%d a%d %d %d k=SERVER s=b\n", i, i, at+1, at+39)
		text += fmt.Sprintf("c%d GET#%d %d %d%s\n", i, i, at+2, at+10, strings.Replace(http503, "s=web", "s=b", 1))
		text += fmt.Sprintf("d%d GET#%d %d %d%s\n", i, i, at+20, at+30, strings.Replace(http200, "s=web", "s=b", 1))
	}
	r := Run(worked(t, text), Options{}).Report
	for _, f := range r.Findings {
		if f.Code == RetryAmplified && f.Route != "" {
			want(t, "place and count", []any{f.Service, f.Count, f.Examples[0].Bottom}, []any{"b", 2, 4})
			return
		}
	}
	t.Errorf("findings %v, want %s of b", findings(&r), RetryAmplified)
}

func TestFallbackHint(t *testing.T) {
	// Hystrix (F2): the call failed, something else was done, the request was
	// answered: the dependency looks optional.
	r := Run(worked(t, `
R - 0 100 k=SERVER s=web
a R 5 25`+http503+`
g.c.fallback R 26 30 s=web a=hystrix.command=c
`), Options{}).Report
	want(t, "hint", r.Dependencies[0].Hint, "fallback")
}

func TestOwnSpansAroundTries(t *testing.T) {
	// Node, hand-made: an INTERNAL span a try, counted from 0, with the call inside;
	// only the call says how it ended.
	r := Run(worked(t, `
R - 0 100 k=SERVER s=web
attempt R 5 30 s=web a=http.request.resend_count=0
GET attempt 6 29`+get+`a=server.address=b a=error.type=23 st=ERROR
attempt#2 R 45 70 s=web a=http.request.resend_count=1
GET#2 attempt#2 46 69`+http200+`
`), Options{}).Report
	d := r.Dependencies[0]
	want(t, "dependency", []any{d.Callee, d.Operation, d.Calls, d.Attempts, d.Cut}, []any{"b", "GET", 1, 2, 1})
	want(t, "time", r.Routes[0].Time, Time{Own: ms(35), Retry: ms(25), RetryWait: ms(15), Read: ms(25), Total: ms(100)})
}

func TestCalleeWithoutSpan(t *testing.T) {
	// b's pods answer at one address. A refused call to it left no span of b, and
	// is b's all the same; one to an address that two services answer at is not.
	const answered = "R - 0 100 k=SERVER s=web\na R 10 30 k=CLIENT s=web a=http.request.method=GET a=server.address=%s\nGET a 11 29 k=SERVER s=%s a=http.route=/x"
	const refused = "R - 0 100 k=SERVER s=web\na R 10 11 k=CLIENT s=web a=http.request.method=GET a=server.address=%s a=error.type=*net.OpError st=ERROR"
	r := Run(worked(t, fmt.Sprintf(answered, "b.internal", "b"), fmt.Sprintf(refused, "b.internal"),
		fmt.Sprintf(answered, "proxy", "c"), fmt.Sprintf(answered, "proxy", "d"), fmt.Sprintf(refused, "proxy")), Options{}).Report
	got := []string{}
	for _, d := range r.Dependencies {
		got = append(got, fmt.Sprint(d.Callee, " ", d.Operation, " ", d.Attempts))
	}
	want(t, "dependencies", got, []string{"b GET /x 2", "c GET /x 1", "d GET /x 1", "proxy GET 1"})
}

func TestManyOperations(t *testing.T) {
	// 210 operations of one callee: 200 rows, and one for the rest.
	var texts []string
	for i := range 210 {
		texts = append(texts, fmt.Sprintf("R - 0 100 k=SERVER s=web\na R 10 30%sa=server.address=b a=url.template=/x/%c%c", get, 'a'+i/26, 'a'+i%26))
	}
	r := Run(worked(t, texts...), Options{}).Report
	want(t, "rows", len(r.Dependencies), 201)
	other := 0
	for _, d := range r.Dependencies {
		if slices.Contains(d.Warnings, ManyOperations) {
			other += d.Calls
		}
	}
	want(t, "calls of the rest", other, 10)
}

func TestBackoffInEvents(t *testing.T) {
	// Spanner for Java (R16): one span, whose events tell that 20 of its 80 ms
	// were waiting for the next try. Its latency is that of no single attempt.
	dump := worked(t, "R - 0 100 k=SERVER s=web\na R 10 90 k=CLIENT s=web a=peer.service=spanner")
	dump.Traces[0].Spans[1].Events = []ingest.Event{
		{Name: "Attempt failed, scheduling next attempt", At: ms(30), Attrs: []ingest.Attr{{Key: "attempt", Value: "0"}}},
		{Name: "Starting RPC retry 1", At: ms(50)},
	}
	r := Run(dump, Options{}).Report
	want(t, "time", r.Routes[0].Time, Time{Own: ms(20), Read: ms(60), RetryWait: ms(20), Total: ms(100)})
	d := r.Dependencies[0]
	want(t, "hidden, n", []int{d.Hidden, d.Latency.N}, []int{1, 0})
	if !slices.Contains(d.Warnings, HiddenRetries) {
		t.Errorf("warnings %v, want %s", d.Warnings, HiddenRetries)
	}
}

func TestLinkedConnection(t *testing.T) {
	// .NET (C10): connecting is a trace of its own, which the request links to:
	// 15 ms of it, 5 of them looking the name up, lie in the request's 80.
	dump := worked(t, "R - 0 100 k=SERVER s=web\na R 10 90"+http200, `
HTTP_connection_setup - 8 25 s=web
DNS_lookup HTTP_connection_setup 10 15 s=web
`)
	dump.Traces[1].Spans[0].Name = "HTTP connection_setup b:443"
	dump.Traces[1].Spans[1].Name = "DNS lookup b"
	dump.Traces[0].Spans[1].Links = []ingest.Link{{TraceID: dump.Traces[1].ID, SpanID: dump.Traces[1].Spans[0].ID}}
	r := Run(dump, Options{}).Report
	want(t, "requests", r.Input.Requests, 1) // the setup is none
	want(t, "time", r.Routes[0].Time, Time{Own: ms(20), Connect: ms(15), Read: ms(65), Total: ms(100)})
	want(t, "connect", *r.Dependencies[0].Connect.P50.Point, ms(15))
}

func TestRecordedTimeout(t *testing.T) {
	// Every call records a timeout of 50 ms; one of four takes longer than that.
	// To c goes what is left of a deadline, which is no timeout of the call.
	var texts []string
	for i, took := range []int{10, 20, 30, 60} {
		texts = append(texts, fmt.Sprintf(`
R - 0 100 k=SERVER s=web
a R 0 %d k=CLIENT s=web a=peer.service=b a=rpc.request.metadata.grpc-timeout=50m
c R 70 80 k=CLIENT s=web a=peer.service=c a=http.request.header.x-budget-ms=%d
`, took, 30-7*i))
	}
	for _, d := range Run(worked(t, texts...), Options{}).Report.Dependencies {
		switch d.Callee {
		case "b": // one of four takes longer; its interval is in every table of Clopper and Pearson
			want(t, "current timeout", d.CurrentTimeout.NS, ms(50))
			want(t, "source", d.CurrentTimeout.Source, "recorded")
			want(t, "share cut", fmt.Sprintf("%.4f %.4f %.4f", *d.CurrentTimeout.ShareCut, *d.CurrentTimeout.ShareCutLow, *d.CurrentTimeout.ShareCutHigh), "0.2500 0.0063 0.8059")
		case "c":
			want(t, "current timeout of c", d.CurrentTimeout, (*CurrentTimeout)(nil))
		}
	}
}

func TestKeepNamesWhatIsRead(t *testing.T) {
	// Resource attributes that the analysis looks up have to be kept by ingest: a
	// pod's name was read and never asked for.
	keep := Keep(nil)
	for _, key := range append(append([]string{"telemetry.sdk.language", "service.criticality"}, clockKeys...), instanceKeys...) {
		if !slices.Contains(keep, key) {
			t.Errorf("Keep lacks %s", key)
		}
	}
}

func TestHeadersWritten(t *testing.T) {
	// 40 ms are left when the headers are written, 30 ms after the call began (5.5): the
	// request has until 70.
	a := Run(worked(t, `
c - 0 100`+http200+` a=http.request.header.x-budget-ms=40
http.headers c 30 31 k=CLIENT s=web
s c 35 65 k=SERVER s=b
`), Options{})
	want(t, "late", []int{serviceRoute(t, &a.Report, "web").Late, serviceRoute(t, &a.Report, "b").Late}, []int{1, 0})
	want(t, "overrun", a.Report.Worst[0].Overrun, ms(30))
}

func TestUnfinishedView(t *testing.T) {
	// What has no end is not known to have taken 0 ms.
	dump := worked(t, `
R - 0 ? k=SERVER s=web
c R 10 ?`+get+`a=server.address=b
`)
	a := Run(dump, Options{Deadline: ms(50)})
	v := a.Views(dump.Traces[0])[0]
	if v.Duration != nil || v.Calls[0].End != nil || v.Calls[0].Tries[0].End != nil {
		t.Errorf("duration %v, end of the call %v and of its attempt %v, want none known", v.Duration, v.Calls[0].End, v.Calls[0].Tries[0].End)
	}
}

func TestCancelAtDeadline(t *testing.T) {
	// grpc-go may say RST_STREAM CANCEL of a call that its deadline ended (T21b): the parent
	// tells, or the end.
	const call = "\nSent.a.B.C R 0 %d k=CLIENT s=web st=ERROR"
	for _, test := range []struct {
		entry string
		end   int
		want  Outcome
	}{
		{"a=rpc.system=grpc a=rpc.grpc.status_code=4", 60, ReadTimeout},
		{"a=http.request.header.x-budget-ms=100", 100, ReadTimeout},
		{"a=http.request.header.x-budget-ms=100", 60, CancelledCaller},
		{"", 100, CancelledCaller},
	} {
		dump := worked(t, fmt.Sprintf("R - 0 120 k=SERVER s=web "+test.entry+call, test.end))
		dump.Traces[0].Spans[1].StatusText = "stream terminated by RST_STREAM with error code: CANCEL"
		d := Run(dump, Options{}).Report.Dependencies[0]
		want(t, fmt.Sprint(test.entry, " ", test.end), d.Outcomes, map[Outcome]int{test.want: 1})
	}
}

func TestShownFlags(t *testing.T) {
	// An answer that says that somebody below timed out is an error with a flag (1).
	dump := worked(t, "R - 0 100 k=SERVER s=web\nc R 10 90"+get+"a=server.address=b a=http.response.status_code=504 st=ERROR")
	a := Run(dump, Options{})
	try := a.Views(dump.Traces[0])[0].Calls[0].Tries[0]
	want(t, "outcome", fmt.Sprint(try.Outcome, try.Flags), fmt.Sprint(Failure, []string{"upstream-timeout"}))
}

// TestClockAhead: db's clock is 200 ms ahead, and two calls cannot prove it (spec 2: three edges). The first was answered at 405
// and its callee, which took 398 ms of the 400, ends at 604: what ends so says nothing of when the
// second, which was cut at 810, stopped. By the true clock it stopped 1 ms before. Before, it ran on for
// 199 ms, was late, and was a false timeout.
func TestClockAhead(t *testing.T) {
	const trace = `
R - 0 820 k=SERVER s=web h=A
c R 5 405 k=CLIENT s=web h=A a=http.request.method=GET a=server.address=b a=http.response.status_code=200
s c 206 604 k=SERVER s=db h=B
d R 410 810 k=CLIENT s=web h=A a=http.request.method=GET a=server.address=b a=error.type=context.deadlineExceededError st=ERROR
u d 611 1009 k=SERVER s=db h=B
`
	r := Run(worked(t, trace, trace, trace), Options{Deadline: ms(900)}).Report
	want(t, "findings", len(r.Findings), 0)
	want(t, "ran on", r.Dependencies[0].RanOn, 0)
	for _, x := range r.Routes {
		want(t, x.Service+": late", x.Late, 0)
	}
}
