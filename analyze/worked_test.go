package analyze

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"overrun/ingest"
	"pgregory.net/rapid"
)

// Worked cases of the analysis: each says in the notation of the shapes what
// happened (1 unit = 1 ms), and what spec.md makes of it. Expected values
// are worked out by hand.

// worked reads shapes, one for each text, as traces with ids 1, 2, …
func worked(t *testing.T, texts ...string) *ingest.Dump {
	t.Helper()
	dump := &ingest.Dump{}
	for i, text := range texts {
		s, err := parseShape("worked", "# units = microseconds\n"+inMillis(text))
		if err != nil {
			t.Fatal(err)
		}
		spans := s.spans()
		for k := range spans { // as HTTP clients name their spans, so that attempts can be siblings of one call
			if method := spans[k].Attr("http.request.method"); method != "" {
				spans[k].Name = method
			}
			spans[k].Name, _, _ = strings.Cut(spans[k].Name, "#") // a second span of that name
		}
		trace := ingest.NewTrace(ingest.TraceID{15: byte(i + 1)}, shapeBase, spans)
		dump.Traces = append(dump.Traces, trace)
		dump.Spans += int64(len(trace.Spans))
	}
	return dump
}

// inMillis turns the times of a shape from milliseconds into microseconds.
func inMillis(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) >= 4 {
			for _, i := range []int{2, 3} {
				if whole, part, _ := strings.Cut(fields[i], "."); fields[i] != "?" {
					fields[i] = whole + (part + "000")[:3]
				}
			}
		}
		out.WriteString(strings.Join(fields, " ") + "\n")
	}
	return out.String()
}

func ms(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

// policy reads a policy.
func policy(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := ParsePolicy("policy", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// findings lists the findings of a report as code, place, count.
func findings(r *Report) (list []string) {
	for _, f := range r.Findings {
		line := fmt.Sprintf("%s %s %s", f.Code, f.Service, f.Route)
		if f.Callee != "" {
			line += " -> " + f.Callee
		}
		list = append(list, fmt.Sprintf("%s: %d+%d", line, f.Count, f.CausedBy))
	}
	return list
}

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const get = " k=CLIENT s=web a=http.request.method=GET "

func TestRetriesOfOneCall(t *testing.T) {
	// Spec §4: 5 ms before, three tries of 20, 20 and 15 ms with 10 and 20 ms
	// between, 10 ms after.
	a := Run(worked(t, `
R - 0 100 k=SERVER s=web
a R 5 25`+get+`a=peer.service=b a=http.response.status_code=503 st=ERROR
b R 35 55`+get+`a=peer.service=b a=http.response.status_code=503 st=ERROR a=http.request.resend_count=1
c R 75 90`+get+`a=peer.service=b a=http.response.status_code=200 a=http.resend_count=2
`), Options{})
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(15), Retry: ms(40), RetryWait: ms(30), Read: ms(15), Total: ms(100)})
	d := a.Report.Dependencies[0]
	want(t, "calls and attempts", []int{d.Calls, d.Attempts, d.OnPath, d.OK, d.Errors}, []int{1, 3, 1, 1, 2})
	want(t, "path", d.Path, ms(85))
	want(t, "n", d.Latency.N, 1)
	want(t, "p50", *d.Latency.P50.Point, ms(15))
}

func TestPathOfFragments(t *testing.T) {
	// The same two calls, side by side: b held the request for 45 ms, a for nothing. Where the
	// span around them is lost, each is a fragment that ends with it, and has held nobody that is known.
	const calls = `
a R 10 40` + get + `a=server.address=a a=http.response.status_code=200
b R 10 55` + get + `a=server.address=b a=http.response.status_code=200
`
	whole, lost := "R - 0 60 k=SERVER s=web"+calls, strings.ReplaceAll(calls, " R ", " gone ")
	share := 45. / 60
	for _, row := range []struct {
		name   string
		texts  []string
		n, on  []int // calls of a and b, and those on the path
		path   time.Duration
		shares []*float64
	}{
		{"whole", []string{whole}, []int{1, 1}, []int{0, 1}, ms(45), []*float64{new(float64), &share}},
		{"lost", []string{lost}, []int{1, 1}, []int{0, 0}, 0, []*float64{nil, nil}},
		{"both", []string{whole, lost}, []int{2, 2}, []int{0, 1}, ms(45), []*float64{new(float64), &share}},
	} {
		d := Run(worked(t, row.texts...), Options{}).Report.Dependencies
		want(t, row.name+": calls", []int{d[0].Calls, d[1].Calls}, row.n)
		want(t, row.name+": on the path", []int{d[0].OnPath, d[1].OnPath}, row.on)
		want(t, row.name+": path", []time.Duration{d[0].Path, d[1].Path}, []time.Duration{0, row.path})
		want(t, row.name+": shares", []*float64{d[0].PathShare, d[1].PathShare}, row.shares)
	}
}

func TestExtraLoadOfFragments(t *testing.T) {
	// Two attempts of one call. Where their parent is lost, whether they are of one call is not known.
	const tries = `
a R 5 25` + get + `a=server.address=b a=http.response.status_code=503 st=ERROR
b R 35 55` + get + `a=server.address=b a=http.response.status_code=200 a=http.request.resend_count=1
`
	whole, lost := "R - 0 60 k=SERVER s=web"+tries, strings.ReplaceAll(tries, " R ", " gone ")
	one := 1.
	for _, row := range []struct {
		name     string
		texts    []string
		attempts int
		extra    *float64
	}{
		{"whole", []string{whole}, 2, &one},
		{"lost", []string{lost}, 2, nil},
		{"both", []string{whole, lost}, 4, &one},
	} {
		d := Run(worked(t, row.texts...), Options{}).Report.Dependencies[0]
		want(t, row.name+": attempts", d.Attempts, row.attempts)
		want(t, row.name+": extra load", d.ExtraLoad, row.extra)
	}
	c, err := Compare(Run(worked(t, "R - 0 60 k=SERVER s=web", lost), Options{}), Run(worked(t, whole), Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range c.Dependencies[0].Differences {
		if d.Measure == ExtraLoad {
			want(t, "extra load before", d.Before.Point, (*float64)(nil))
			want(t, "extra load after", d.After.Point, &one)
		}
	}
}

func TestFindingsOfACall(t *testing.T) {
	// The second and the third try of b begin after the deadline of 100 ms; a is beside them.
	d := worked(t, `
R - 0 200 k=SERVER s=web
a R 0 20`+get+`a=peer.service=a a=http.response.status_code=200
b R 20 60`+get+`a=peer.service=b a=http.response.status_code=503 st=ERROR
c R 110 140`+get+`a=peer.service=b a=http.response.status_code=503 st=ERROR a=http.request.resend_count=1
d R 150 190`+get+`a=peer.service=b a=http.response.status_code=200 a=http.request.resend_count=2
`)
	got := map[string][]FindingCode{}
	for _, c := range Run(d, Options{Deadline: ms(100)}).Views(d.Traces[0])[0].Calls {
		got[c.Callee] = c.Findings
	}
	want(t, "findings", got, map[string][]FindingCode{"a": {}, "b": {RetryPastDeadline}})
}

func TestHedgeOfOneCall(t *testing.T) {
	// The first copy lost 1 ms after the second had answered: 5 ms own, 35 ms
	// reading from the first, 37 ms of the winning hedge, 3 ms own.
	a := Run(worked(t, `
R - 0 80 k=SERVER s=web
a R 5 78`+get+`a=peer.service=b a=error.type=*errors.errorString st=CANCELLED
b R 40 77`+get+`a=peer.service=b a=http.response.status_code=200 a=http.request.resend_count=1
`), Options{})
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(8), Read: ms(35), Hedge: ms(37), Total: ms(80)})
	want(t, "outcomes", a.Report.Dependencies[0].Outcomes, map[Outcome]int{OutcomeOK: 1, CancelledRace: 1})
	want(t, "tail", *a.Report.Routes[0].Tail.P50, ms(3))
}

func TestCallsThatTookNoTime(t *testing.T) {
	// A clock of whole milliseconds: the last answer came at 30, from a cache, and own work
	// is the 10 ms after it. Where the last call was refused at 105 for want of time, the
	// deadline of 100 ended the request, and nothing else.
	a := Run(worked(t, `
R - 0 40 k=SERVER s=web
a R 0 20`+get+`a=peer.service=b a=http.response.status_code=200
c R 30 30`+get+`a=peer.service=cache a=http.response.status_code=200
`, `
R - 0 40 k=SERVER s=lone
c R 30 30 k=CLIENT s=lone a=http.request.method=GET a=peer.service=cache a=http.response.status_code=200
`, `
R - 0 106 k=SERVER s=failing st=ERROR
a R 0 90 k=CLIENT s=failing a=http.request.method=GET a=peer.service=b a=http.response.status_code=200
c R 105 105 k=CLIENT s=failing a=http.request.method=GET a=peer.service=c st=DEADLINE
`), Options{Deadline: ms(100)})
	for _, r := range a.Report.Routes {
		if r.Service == "failing" {
			want(t, "timed out", r.TimedOut, 1)
		} else {
			want(t, "tail of "+r.Service, *r.Tail.P50, ms(10))
		}
	}
}

func TestUnknownTime(t *testing.T) {
	// Another service worked under the request, and no call says for whom.
	a := Run(worked(t, `
R - 0 100 k=SERVER s=web
p R 10 20 k=PRODUCER s=web
s R 30 90 k=SERVER s=db
`), Options{})
	for _, r := range a.Report.Routes {
		if r.Service == "web" {
			want(t, "time", r.Time, Time{Own: ms(30), Messaging: ms(10), Unknown: ms(60), Total: ms(100)})
		}
	}
}

func TestDeadlines(t *testing.T) {
	const budget = "a=http.request.header.x-budget-ms="
	const chain = `
R - 0 100 k=SERVER s=web h=A %s
c R 10 90 k=CLIENT s=web h=A %s
s c 15 80 k=SERVER s=db h=B %s
`
	for _, test := range []struct {
		name, root, client, server string
		policy                     string
		flag                       time.Duration
		web, db                    string // source and budget
	}{
		{name: "none", web: "", db: ""},
		{name: "flag", flag: ms(200), web: "flag 200ms", db: "inherited 185ms"},
		{name: "recorded beats flag", flag: ms(200), root: budget + "300", web: "recorded 300ms", db: "inherited 285ms"},
		{name: "recorded on the callee, earlier", flag: ms(200), server: budget + "50", web: "flag 200ms", db: "recorded 50ms"},
		{name: "recorded on the callee, later than the caller's", flag: ms(200), server: budget + "500", web: "flag 200ms", db: "inherited 185ms"},
		{name: "recorded on the client span, from its start", flag: ms(200), client: budget + "60", web: "flag 200ms", db: "recorded 55ms"},
		{name: "gRPC timeout", root: "a=rpc.request.metadata.grpc-timeout=150m", web: "recorded 150ms", db: "inherited 135ms"},
		{name: "gRPC timeout with a unit that is none", root: "a=rpc.request.metadata.grpc-timeout=10s"},
		{name: "Envoy", root: "a=http.request.header.x-envoy-expected-rq-timeout-ms=70", web: "recorded 70ms", db: "inherited 55ms"},
		{name: "already past", root: budget + "0", web: "recorded 0s", db: "inherited -15ms"},
		{name: "no number", root: budget + "soon"},
		{name: "policy beats flag", flag: ms(200), policy: "deadlines: [{service: web, deadline: 120ms}]", web: "policy 120ms", db: "inherited 105ms"},
		{name: "recorded beats policy", root: budget + "300", policy: "deadlines: [{service: web, deadline: 120ms}]", web: "recorded 300ms", db: "inherited 285ms"},
		{name: "policy of the callee, earlier", flag: ms(200), policy: "deadlines: [{service: db, deadline: 40ms}]", web: "flag 200ms", db: "policy 40ms"},
		{name: "policy of the callee, later", flag: ms(100), policy: "deadlines: [{service: db, deadline: 400ms}]", web: "flag 100ms", db: "inherited 85ms"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := Options{Deadline: test.flag}
			if test.policy != "" {
				o.Policy = policy(t, test.policy)
			}
			dump := worked(t, fmt.Sprintf(chain, test.root, test.client, test.server))
			tr := newTraced(dump.Traces[0], &o, newRecogniser(&builtIn), nil)
			got := map[string]string{}
			for _, r := range tr.requests {
				if r.deadline != nil {
					got[r.service] = fmt.Sprint(r.deadline.source, " ", r.deadline.budget)
				} else {
					got[r.service] = ""
				}
			}
			want(t, "deadlines", got, map[string]string{"web": test.web, "db": test.db})
			if unread := strings.Contains(test.name, "no number") || strings.Contains(test.name, "none") && test.root != ""; unread {
				report := Run(dump, o).Report
				if !slices.ContainsFunc(report.Input.Notes, func(n Note) bool { return n.Code == BadDeadline && n.Count == 1 }) {
					t.Errorf("notes %v, want one %s", report.Input.Notes, BadDeadline)
				}
			}
		})
	}
}

func TestDeadlineNotInherited(t *testing.T) {
	// Nothing is inherited over messaging, or by what nobody waits for.
	dump := worked(t, `
R - 0 100 k=SERVER s=web
p R 10 20 k=PRODUCER s=web
q p 20 60 k=CONSUMER s=mail
d q 25 50 k=CLIENT s=mail
e d 30 45 k=SERVER s=smtp
g R 50 150 k=INTERNAL s=web
c g 60 140 k=CLIENT s=web
s c 65 130 k=SERVER s=log
`)
	for _, r := range newTraced(dump.Traces[0], &Options{Deadline: ms(90)}, newRecogniser(&builtIn), nil).requests {
		if has := r.deadline != nil; has != (r.service == "web") {
			t.Errorf("%s has a deadline: %v", r.service, has)
		}
	}
}

// web has 100 ms and ends after 120; db is called with 10 of them left and answers in 25, at 115: late
// by 15 ms, though it took 25. The route says that the deadline was its caller's.
func TestLateByInheritance(t *testing.T) {
	const trace = `
R - 0 120 k=SERVER s=web
c R 90 116 k=CLIENT s=web
s c 90 115 k=SERVER s=db
`
	for _, r := range Run(worked(t, trace, trace), Options{Deadline: ms(100)}).Report.Routes {
		want(t, r.Service+": late, of those by an inherited deadline", []int{r.Late, r.LateInherited},
			map[string][]int{"web": {2, 0}, "db": {2, 2}}[r.Service])
	}
}

func TestDeadlineDoubt(t *testing.T) {
	// One answered call between A and B: client 80, server 60 ms, so a leg is
	// 10 ms. The header counts whole milliseconds.
	dump := worked(t, `
R - 0 100 k=SERVER s=web h=A a=http.request.header.x-budget-ms=200
c R 10 90 k=CLIENT s=web h=A
s c 20 80 k=SERVER s=db h=B
k s 30 40 k=CLIENT s=db h=B
l k 31 39 k=SERVER s=own h=B
`)
	doubt := map[string]time.Duration{}
	for _, r := range newTraced(dump.Traces[0], &Options{}, newRecogniser(&builtIn), nil).requests {
		doubt[r.service] = r.deadline.doubt
	}
	want(t, "doubt", doubt, map[string]time.Duration{"web": ms(1), "db": ms(12), "own": ms(12)})
}

func TestHowRequestsEnd(t *testing.T) {
	optional := "dependencies: [{callee: extra, required: false, ceiling: 50ms}]"
	for _, test := range []struct {
		name, trace, policy string
		deadline            float64
		want                string // complete partial failed late timed-out complete-in-time partial-in-time
	}{
		{"complete", "R - 0 100 k=SERVER s=web", "", 200, "1 0 0 0 0 1 0"},
		{"late", "R - 0 201 k=SERVER s=web", "", 200, "1 0 0 1 0 0 0"},
		{"at the deadline is in time", "R - 0 200 k=SERVER s=web", "", 200, "1 0 0 0 0 1 0"},
		{"failed", "R - 0 100 k=SERVER s=web st=ERROR", "", 200, "0 0 1 0 0 0 0"},
		{"failed late is not late", "R - 0 300 k=SERVER s=web st=ERROR", "", 200, "0 0 1 0 0 0 0"},
		{"timed out at the deadline", "R - 0 199.5 k=SERVER s=web st=DEADLINE", "", 200, "0 0 1 0 1 0 0"},
		{"a timeout before the deadline", "R - 0 150 k=SERVER s=web st=DEADLINE", "", 200, "0 0 1 0 0 0 0"},
		{"the client left", "R - 0 100 k=SERVER s=web a=http.response.status_code=499", "", 200, "0 0 1 0 1 0 0"},
		{"404 is an answer", "R - 0 100 k=SERVER s=web a=http.response.status_code=404", "", 200, "1 0 0 0 0 1 0"},
		{"optional failed", "R - 0 100 k=SERVER s=web\na R 10 50 k=CLIENT s=web a=peer.service=extra st=ERROR", optional, 200, "0 1 0 0 0 0 1"},
		{"optional without data", "R - 0 100 k=SERVER s=web\na R 10 50 k=CLIENT s=web a=peer.service=extra a=http.response.status_code=404 st=ERROR", optional, 200, "1 0 0 0 0 1 0"},
		{"optional cut", "R - 0 100 k=SERVER s=web\na R 10 60 k=CLIENT s=web a=peer.service=extra st=DEADLINE", optional, 200, "0 1 0 0 0 0 1"},
		{"optional went on alone", "R - 0 100 k=SERVER s=web\na R 10 160 k=CLIENT s=web a=peer.service=extra", optional, 200, "0 1 0 0 0 0 1"},
		{"optional slow but awaited", "R - 0 100 k=SERVER s=web\na R 10 90 k=CLIENT s=web a=peer.service=extra", optional, 200, "1 0 0 0 0 1 0"},
		{"required failed, answered all the same", "R - 0 100 k=SERVER s=web\na R 10 50 k=CLIENT s=web a=peer.service=b st=ERROR", optional, 200, "1 0 0 0 0 1 0"},
		{"partial and late", "R - 0 300 k=SERVER s=web\na R 10 50 k=CLIENT s=web a=peer.service=extra st=ERROR", optional, 200, "0 1 0 1 0 0 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := Options{Deadline: ms(test.deadline)}
			if test.policy != "" {
				o.Policy = policy(t, test.policy)
			}
			r := Run(worked(t, test.trace), o).Report.Routes[0]
			got := fmt.Sprint(r.Complete, r.Partial, r.Failed, r.Late, r.TimedOut, r.CompleteInTime, r.PartialInTime)
			want(t, "complete partial failed late timed-out in-time", got, test.want)
		})
	}
}

// TestTimedOutIsLate: what timed out is late only where it ended more than max(5 ms, 5 %)
// after its deadline.
func TestTimedOutIsLate(t *testing.T) {
	const timedOut, failed, answered = "st=DEADLINE", "st=ERROR", ""
	for _, test := range []struct {
		how           string
		deadline, end float64
		want          bool
	}{
		{timedOut, 200, 210, false}, {timedOut, 200, 211, true}, {timedOut, 40, 45, false}, {timedOut, 40, 46, true}, // max(5 ms, 5 %)
		{failed, 200, 200, false}, {failed, 200, 201, true}, {answered, 200, 200, false}, {answered, 200, 201, true},
	} {
		a := Run(worked(t, fmt.Sprintf("R - 0 %v k=SERVER s=web %s", test.end, test.how)), Options{Deadline: ms(test.deadline)})
		got := slices.ContainsFunc(a.Report.Findings, func(f Finding) bool { return f.Code == RequestLate })
		want(t, fmt.Sprintf("%v of %v ms is late (%s)", test.end, test.deadline, test.how), got, test.want)
	}
}

func TestWorkForNobody(t *testing.T) {
	// As in exports "chain deadline ignored downstream": the client left at 60,
	// three services worked on. 70 + 69.5 + 69 ms, once each, under the call that
	// was left first; a's own cut call to b is caused by that.
	a := Run(worked(t, `
R - 0 61 k=INTERNAL s=cli h=A st=DEADLINE
c R 0 60 k=CLIENT s=cli h=A st=DEADLINE a=peer.service=a
s c 1 130 k=SERVER s=a h=A
d s 2 129.8 k=CLIENT s=a h=A
e d 3 129.5 k=SERVER s=b h=A
w e 4 120 k=INTERNAL s=b h=A
f e 5 129.2 k=CLIENT s=b h=A
g f 6 129 k=SERVER s=c h=A
`), Options{})
	want(t, "findings", findings(&a.Report), []string{"abandoned-work cli R -> a: 1+0"})
	e := a.Report.Findings[0].Examples[0]
	want(t, "services", e.Services, []ServiceWork{{"a", ms(70), 2}, {"b", ms(69.5), 3}, {"c", ms(69), 1}})
	want(t, "work", []time.Duration{e.Work, e.Amount}, []time.Duration{ms(208.5), ms(208.5)})
}

// A caller that leaves after the one above it left is listed, and counts as caused by that:
// the client left at 60, and a, at 100, b.
func TestWorkForNobodyBelow(t *testing.T) {
	a := Run(worked(t, `
R - 0 61 k=INTERNAL s=cli h=A st=DEADLINE
c R 0 60 k=CLIENT s=cli h=A st=DEADLINE a=peer.service=a
s c 1 101 k=SERVER s=a h=A
d s 2 100 k=CLIENT s=a h=A st=DEADLINE
e d 3 130 k=SERVER s=b h=A
`), Options{})
	want(t, "findings", findings(&a.Report), []string{"abandoned-work a s -> b: 0+1", "abandoned-work cli R -> a: 1+0"})
	want(t, "services", a.Report.Findings[1].Examples[0].Services, []ServiceWork{{"a", ms(41), 2}, {"b", ms(70), 1}})
}

func TestWorkObeysCancel(t *testing.T) {
	a := Run(worked(t, `
R - 0 61 k=INTERNAL s=cli h=A st=DEADLINE
c R 0 60 k=CLIENT s=cli h=A st=DEADLINE
s c 1 60.2 k=SERVER s=a h=A a=rpc.grpc.status_code=1
`), Options{})
	want(t, "findings", findings(&a.Report), []string(nil))
}

func TestWorkPastDeadline(t *testing.T) {
	// Deadline 100: web works on for 50 ms, its callee (still awaited) for 40,
	// which makes both late. b started with 100 - 20 - 5 (tail) = 75 ms left, less
	// than its p50 of 125.
	a := Run(worked(t, `
R - 0 150 k=SERVER s=web h=A
c R 20 145 k=CLIENT s=web h=A a=peer.service=b
s c 21 140 k=SERVER s=b h=A
x R 110 120 k=CLIENT s=web h=A a=peer.service=late
`), Options{Deadline: ms(100)})
	want(t, "findings", findings(&a.Report), []string{
		"call-below-minimum web R -> b: 1+0",
		"call-past-deadline web R -> late: 1+0",
		"request-late b s: 1+0",
		"request-late web R: 1+0",
		"work-past-deadline b s: 0+1",
		"work-past-deadline web R: 1+0",
	})
	for _, f := range a.Report.Findings {
		if f.Code == WorkPastDeadline && f.Count == 1 {
			want(t, "services", f.Examples[0].Services, []ServiceWork{{"b", ms(40), 1}, {"web", ms(50), 3}})
		}
	}
}

func TestSkewMovesDeadline(t *testing.T) {
	// B's clock is 500 ms behind: repaired, db works from 1020 to 1180, beyond
	// the deadline at 1150, and has no time left that its p50 would need.
	a := Run(worked(t, `
R - 1000 1200 k=SERVER s=web h=A
c R 1010 1190 k=CLIENT s=web h=A
s c 520 680 k=SERVER s=db h=B
`), Options{Deadline: ms(150)})
	want(t, "moved", a.Report.Input.Skew, Skew{1, ms(500)})
	want(t, "findings", findings(&a.Report), []string{"call-below-minimum web R -> db: 1+0", "request-late db s: 1+0",
		"request-late web R: 1+0", "work-past-deadline db s: 0+1", "work-past-deadline web R: 1+0"})
}

func TestNothingIsKnownOfACalleeThatBeginsBeforeItsCall(t *testing.T) {
	// A cut call proves nothing about clocks, and those of B are not moved. Where its span begins when
	// it can, it ran on for 30 ms, its answer would have been there in time, and the request that
	// called it leaves it 90 ms. Where it begins before its call, whether by 5 or by 200 ms, B's
	// clock is off: how it ended, and what was left to it, is not known.
	for _, row := range []struct {
		early    float64
		ranOn    int
		deadline int
		false    int
	}{{0, 1, 1, 1}, {0.9, 1, 1, 1}, {5, 0, 0, 0}, {40, 0, 0, 0}, {200, 0, 0, 0}} {
		r := Run(worked(t, fmt.Sprintf(`
R - 1000 1060 k=SERVER s=web h=A st=ERROR
c R 1010 1050`+get+`h=A st=DEADLINE
s c %g %g k=SERVER s=b h=B
`, 1010-row.early, 1080-row.early)), Options{Deadline: ms(100)}).Report
		what := fmt.Sprintf("%g ms early: ", row.early)
		d := depTo(t, &r, "b")
		want(t, what+"ran on", d.RanOn, row.ranOn)
		want(t, what+"false timeouts", slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Code == FalseTimeout }), row.false > 0)
		b := r.Routes[slices.IndexFunc(r.Routes, func(r Route) bool { return r.Service == "b" })]
		want(t, what+"deadlines of b", b.WithDeadline, row.deadline)
	}
}

// TestSkewNeedsAgreement: a shift is made if more calls agree with it than with none.
func TestSkewNeedsAgreement(t *testing.T) {
	for _, test := range []struct {
		third string // of the callee: 400 is when it was called
		want  Skew
	}{
		// Shifts of -10 … 50, -20 … 40 and 5 … 65 are possible: all three agree on 5 … 40.
		{"395 435", Skew{1, ms(22.5)}},
		// The third, 100 … 160, agrees with nothing; the other two with -10 … 40, and so with 0.
		{"300 340", Skew{}},
	} {
		a := Run(worked(t, `
R - 0 600 k=SERVER s=web h=A
a R 0 100 k=CLIENT s=web h=A
x a 10 50 k=SERVER s=db h=B
b R 200 300 k=CLIENT s=web h=A
y b 220 260 k=SERVER s=db h=B
c R 400 500 k=CLIENT s=web h=A
z c `+test.third+` k=SERVER s=db h=B
`), Options{})
		want(t, "moved with "+test.third, a.Report.Input.Skew, test.want)
	}
}

func TestOptionalOnPath(t *testing.T) {
	p := policy(t, "dependencies: [{callee: extra, required: false, ceiling: 50ms, minimum: 5ms}]")
	a := Run(worked(t, `
R - 0 130 k=SERVER s=web
c R 10 120 k=CLIENT s=web a=peer.service=extra
`), Options{Policy: p, Deadline: ms(500)})
	want(t, "findings", findings(&a.Report), []string{"optional-on-path web R -> extra: 1+0"})
	want(t, "amount", a.Report.Findings[0].Examples[0].Amount, ms(60))
}

func TestReserve(t *testing.T) {
	// A, 4 ms own work, B, 6 ms own work, then C and D side by side, 10 ms tail.
	// B's reserve: 10 + 6 + max(30, 20); A's: that + 4 + 30 (the p50 of B).
	got := map[string]time.Duration{}
	dump := worked(t, `
R - 0 130 k=SERVER s=web
a R 0 50 k=CLIENT s=web a=peer.service=a
b R 54 84 k=CLIENT s=web a=peer.service=b
c R 90 120 k=CLIENT s=web a=peer.service=c
d R 90 110 k=CLIENT s=web a=peer.service=d
`)
	for _, c := range Run(dump, Options{Deadline: ms(400)}).Views(dump.Traces[0])[0].Calls {
		got[c.Callee] = *c.Reserve
	}
	want(t, "reserves", got, map[string]time.Duration{"a": ms(80), "b": ms(46), "c": ms(10), "d": ms(10)})
}

// TestReserveAgainstSlow: reserves and caps of one request, whose calls are each to
// another dependency, by their definitions: spec.md, sections 5 and 7.
func TestReserveAgainstSlow(t *testing.T) {
	type timed struct {
		start, end, weight time.Duration
	}
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(low, high int, what string) time.Duration {
			return ms(float64(rapid.IntRange(low, high).Draw(rt, what)))
		}
		calls := make([]timed, rapid.IntRange(1, 8).Draw(rt, "calls"))
		var text, rules strings.Builder
		last := time.Duration(0)
		for i := range calls {
			c := &calls[i]
			c.start = draw(0, 12, "start") // few instants, so that calls abut
			c.end = c.start + draw(1, 6, "took")
			last = max(last, c.end)
			fmt.Fprintf(&text, "c%d R %v %v k=CLIENT s=web a=peer.service=c%[1]d\n", i, c.start.Milliseconds(), c.end.Milliseconds())
			required := rapid.Bool().Draw(rt, "required")
			if required {
				c.weight = c.end - c.start // its p50
			}
			fmt.Fprintf(&rules, "- {callee: c%d, required: %t}\n", i, required)
		}
		tail := draw(0, 3, "tail")
		deadline := draw(1, 30, "deadline")

		var ahead, before func(c timed) time.Duration
		ahead = func(c timed) (longest time.Duration) {
			for _, d := range calls {
				between := func(e timed) bool { return e.start >= c.end && e.end <= d.start }
				if d.start >= c.end && !slices.ContainsFunc(calls, between) {
					longest = max(longest, d.start-c.end+d.weight+ahead(d))
				}
			}
			return longest
		}
		before = func(c timed) (longest time.Duration) {
			for _, e := range calls {
				if e.end <= c.start {
					longest = max(longest, before(e)+e.weight)
				}
			}
			return longest
		}

		dump := worked(t, fmt.Sprintf("R - 0 %v k=SERVER s=web\n%s", (last+tail).Milliseconds(), &text))
		a := Run(dump, Options{Deadline: deadline, Policy: policy(t, "dependencies:\n"+rules.String())})
		views := a.Views(dump.Traces[0])[0].Calls
		if len(views) != len(calls) || len(a.Report.Dependencies) != len(calls) {
			rt.Fatalf("%d calls and %d dependencies, want %d", len(views), len(a.Report.Dependencies), len(calls))
		}
		of := func(callee string) timed {
			i, _ := strconv.Atoi(callee[1:])
			return calls[i]
		}
		for _, v := range views {
			if want := tail + ahead(of(v.Callee)); *v.Reserve != want {
				rt.Errorf("reserve of %s = %v, want %v", v.Callee, *v.Reserve, want)
			}
		}
		for _, d := range a.Report.Dependencies {
			c := of(d.Callee)
			took := c.end - c.start
			left := deadline - tail - ahead(c) - before(c)
			want := took + took/5 // the margin; an optional one has none
			if c.weight == 0 {
				want = took
			}
			want = min(roundUp(want), left)
			switch misfit := left < took; {
			case misfit != slices.Contains(d.Warnings, DoesNotFit) || misfit != (len(d.DoesNotFit) > 0) || misfit != (d.Ceiling == nil):
				rt.Errorf("%s has a ceiling of %v and does not fit %q, of a minimum of %v and %v left", d.Callee, d.Ceiling, d.DoesNotFit, took, left)
			case !misfit && *d.Ceiling != want:
				rt.Errorf("ceiling of %s = %v, want %v: %v are left", d.Callee, *d.Ceiling, want, left)
			}
		}
	})
}

func TestReserveOfAbsent(t *testing.T) {
	// Three requests call A, B, C. A fourth failed at A: what A had ahead was
	// B and C all the same.
	const whole = `
R - 0 100 k=SERVER s=web
a R 0 20 k=CLIENT s=web a=peer.service=a
b R 20 50 k=CLIENT s=web a=peer.service=b
c R 50 90 k=CLIENT s=web a=peer.service=c
`
	dump := worked(t, whole, whole, whole, `
R - 0 45 k=SERVER s=web st=ERROR
a R 0 40 k=CLIENT s=web a=peer.service=a st=ERROR
`)
	v := Run(dump, Options{Deadline: ms(200)}).Views(dump.Traces[3])[0]
	want(t, "reserve", *v.Calls[0].Reserve, ms(10+30+40))
	want(t, "calls", len(v.Calls), 1) // absent, not skipped: there was time
}

func TestCeilingSuggestions(t *testing.T) {
	// seeds.md §1: p99.9 of 40 and 90 ms with 20 % give 50 and 110; an optional
	// dependency whose p95 is 57.6 gets 60.
	for _, test := range []struct{ quantile, margin, want float64 }{
		{40, 20, 50}, {90, 20, 110}, {57.6, 0, 60}, {401, 0, 450}, {48, 0, 50}, {108, 0, 110}, {80, 0, 80}, {0.000003, 0, 0.000003},
	} {
		got := roundUp(ms(test.quantile * (100 + test.margin) / 100))
		if got != ms(test.want) {
			t.Errorf("ceiling of %v ms with %v %% = %v, want %v ms", test.quantile, test.margin, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) { // against the definition, by trial
		d := time.Duration(rapid.Int64Range(8, 1<<40).Draw(t, "d"))
		step := time.Duration(1)
		for k := time.Duration(1); k <= d; k *= 10 {
			for _, m := range []time.Duration{1, 2, 5} {
				if m*k*8 <= d {
					step = m * k
				}
			}
		}
		up := d
		for up%step != 0 {
			up += step - up%step
		}
		if got := roundUp(d); got != up {
			t.Fatalf("roundUp(%d) = %d, want %d", d, got, up)
		}
	})
}

func TestCapByBudget(t *testing.T) {
	// A deadline of 200 leaves B 200 - 10 (tail) - 20 (A's minimum) = 170 ms;
	// its p99.9 is 300.
	const trace = `
R - 0 330 k=SERVER s=web
a R 0 20 k=CLIENT s=web a=peer.service=a
b R 20 320 k=CLIENT s=web a=peer.service=b
`
	a := Run(worked(t, trace, trace, trace), Options{Deadline: ms(200)})
	for _, d := range a.Report.Dependencies {
		switch d.Callee {
		case "b":
			want(t, "minimum", *d.Minimum, ms(300))
			want(t, "misfit", d.DoesNotFit, []string{"web R"})
			if d.Ceiling != nil {
				t.Errorf("ceiling %v below the minimum", *d.Ceiling)
			}
		case "a": // 200 - 10 - 300 < 0: does not fit before B either
			want(t, "misfit", d.DoesNotFit, []string{"web R"})
		}
	}
}

// One route that does not fit takes no ceiling from the others. B always takes 60 ms, and 60 + 20 % = 72 is
// rounded up to 75. R leaves it 200 - 10 (tail) = 190, or 75 - 10 = 65, and S 50 - 10 = 40: S does not fit.
func TestCapOfAnotherRoute(t *testing.T) {
	const r = "R - 0 70 k=SERVER s=web\nb R 0 60 k=CLIENT s=web a=peer.service=b\n"
	const s = "S - 0 70 k=SERVER s=web\nb S 0 60 k=CLIENT s=web a=peer.service=b\n"
	for _, test := range []struct {
		rules   string
		ceiling *time.Duration
		capped  bool
	}{
		{"{service: web, route: R, deadline: 200ms}, {service: web, route: S, deadline: 50ms}", new(ms(75)), false},
		{"{service: web, route: R, deadline: 75ms}, {service: web, route: S, deadline: 50ms}", new(ms(65)), true},
		{"{service: web, route: S, deadline: 50ms}", nil, false},
	} {
		d := Run(worked(t, r, r, r, s, s, s), Options{Policy: policy(t, "deadlines: ["+test.rules+"]")}).Report.Dependencies[0]
		want(t, test.rules+": misfit", d.DoesNotFit, []string{"web S"})
		want(t, test.rules+": ceiling", d.Ceiling, test.ceiling)
		want(t, test.rules+": capped", slices.Contains(d.Warnings, CappedByBudget), test.capped)
	}
}

// wholeReport is everything of a report that does not name a place in a file.
func wholeReport(a *Analysis) *Report {
	r := a.Report
	r.Input.Notes = slices.Clone(r.Input.Notes)
	for i := range r.Input.Notes {
		r.Input.Notes[i].Example = Place{}
	}
	return &r
}

// TestReportProperties holds for any traces: categories tile every request;
// shuffled spans and any number of workers give the same report; a shift by whole
// milliseconds shifts it.
func TestReportProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var spans [][]ingest.Span
		for range rapid.IntRange(1, 4).Draw(t, "traces") {
			spans = append(spans, randomShape(t, wild{}).spans())
		}
		o := Options{Deadline: time.Duration(rapid.Int64Range(0, 3e6).Draw(t, "deadline"))}
		dump := func(epoch int64, order func([]ingest.Span) []ingest.Span) *ingest.Dump {
			d := &ingest.Dump{}
			for i := range spans {
				d.Traces = append(d.Traces, ingest.NewTrace(ingest.TraceID{15: byte(i + 1)}, epoch, order(slices.Clone(spans[i]))))
			}
			return d
		}
		same := func(s []ingest.Span) []ingest.Span { return s }
		d := dump(shapeBase, same)
		a := Run(d, o)
		for _, trace := range d.Traces {
			for _, r := range newTraced(trace, &o, newRecogniser(&builtIn), nil).requests {
				u := r.time
				if sum := u.Own + u.Connect + u.Read + u.Retry + u.RetryWait + u.Hedge + u.Messaging + u.Unknown; !r.broken && (sum != r.duration || u.Total != r.duration) {
					t.Fatalf("request %s of %v: categories sum to %v, total %v", r.span, r.duration, sum, u.Total)
				}
			}
		}
		for _, r := range a.Report.Routes {
			if r.Complete+r.Partial+r.Failed != r.Requests || r.Late > r.Complete+r.Partial || r.TimedOut > r.Failed {
				t.Fatalf("route %+v does not add up", r)
			}
		}
		eight := o
		eight.Workers = 8
		if diff := gocmp.Diff(a.Report, Run(d, eight).Report); diff != "" {
			t.Fatalf("eight workers:\n%s", diff)
		}
		shuffled := dump(shapeBase, func(s []ingest.Span) []ingest.Span { return rapid.Permutation(s).Draw(t, "order") })
		if diff := gocmp.Diff(wholeReport(a), wholeReport(Run(shuffled, o))); diff != "" {
			t.Fatalf("shuffled:\n%s", diff)
		}
		const later = int64(12345 * time.Millisecond)
		if got, want := Run(dump(shapeBase+later, same), o).Report, a.Report; len(got.Routes) == len(want.Routes) {
			for i := range got.Routes {
				g, w := got.Routes[i], want.Routes[i]
				g.FirstLate, g.LastLate, g.LateByTen, w.FirstLate, w.LastLate, w.LateByTen = nil, nil, nil, nil, nil, nil
				if g.LateOwn != nil {
					own := *g.LateOwn
					own.First -= later
					g.LateOwn = &own
				}
				if diff := gocmp.Diff(w, g); diff != "" {
					t.Fatalf("shifted:\n%s", diff)
				}
			}
			if diff := gocmp.Diff(findings(&want), findings(&got)); diff != "" {
				t.Fatalf("shifted findings:\n%s", diff)
			}
		} else {
			t.Fatalf("shifted: %d routes, want %d", len(got.Routes), len(want.Routes))
		}
	})
}

func TestFewForCeiling(t *testing.T) {
	// Spec §7: below 3 688 values p99.9 has no upper bound, and a ceiling that
	// rests on it says so.
	const trace = "R - 0 40 k=SERVER s=web\na R 0 20 k=CLIENT s=web a=peer.service=a"
	d := Run(worked(t, trace, trace, trace), Options{}).Report.Dependencies[0]
	want(t, "ceiling", *d.Ceiling, ms(24))
	if !slices.Contains(d.Warnings, FewCeiling) {
		t.Errorf("warnings %v, want %s among them", d.Warnings, FewCeiling)
	}
}

func TestPick(t *testing.T) {
	// Two requests of web, which calls db. Picking db leaves what db inherits.
	const chain = `
R - 0 100 k=SERVER s=web h=A
c R 10 90 k=CLIENT s=web h=A a=peer.service=db
s c 15 80 k=SERVER s=db h=A
x s 20 30 k=CLIENT s=db h=A a=peer.service=disk
`
	dump := worked(t, chain, strings.ReplaceAll(chain, "R - 0", "R - 5"))
	start := dump.Traces[1].Epoch
	for _, test := range []struct {
		pick Pick
		want string // requests by service, and dependencies
	}{
		{Pick{}, "map[db:2 web:2] [disk db]"},
		{Pick{Service: "d*"}, "map[db:2] [disk]"},
		{Pick{Route: "R"}, "map[web:2] [db]"},
		{Pick{Since: start, Service: "web"}, "map[web:1] [db]"},
		{Pick{Until: start, Service: "web"}, "map[web:1] [db]"},
		{Pick{Service: "nobody"}, "map[] []"},
	} {
		r := Run(dump, Options{Deadline: ms(200), Pick: test.pick}).Report
		requests, callees := map[string]int{}, []string{}
		for _, route := range r.Routes {
			requests[route.Service] += route.Requests
			if route.WithDeadline != route.Requests {
				t.Errorf("%+v: %d of %d requests of %s have a deadline", test.pick, route.WithDeadline, route.Requests, route.Service)
			}
		}
		for _, d := range r.Dependencies {
			callees = append(callees, d.Callee)
		}
		want(t, fmt.Sprintf("%+v", test.pick), fmt.Sprint(requests, " ", callees), test.want)
	}
	a := Run(dump, Options{Pick: Pick{Since: start, Service: "web"}})
	want(t, "views", []int{len(a.Views(dump.Traces[0])), len(a.Views(dump.Traces[1]))}, []int{0, 1})
}

// A trace whose spans name no kind shows no calls: that is said, and not when one does.
func TestNoKinds(t *testing.T) {
	const shape = "\nR - 0 100 s=web%s\na R 10 90 s=b\n"
	for _, test := range []struct {
		kind string
		want int64
	}{{"", 1}, {" k=INTERNAL", 0}, {" k=SERVER", 0}} {
		dump := worked(t, fmt.Sprintf(shape, test.kind))
		for i := range dump.Traces[0].Spans {
			if s := &dump.Traces[0].Spans[i]; i > 0 || test.kind == "" {
				s.Kind = ingest.Unspecified
			}
		}
		if got := noteCount(Run(dump, Options{}), NoKinds); got != test.want {
			t.Errorf("kind %q: %d notes, want %d", test.kind, got, test.want)
		}
	}
}

// Attempts of one process that a coarse clock makes overlap by less than 1 ms follow each
// other (N8): the time of the earlier one is spent on a retry, not on reading.
func TestRetriesThatGrainMakesOverlap(t *testing.T) {
	const shape = `
R - 0 160 k=SERVER s=web h=A
a R 0 62 k=CLIENT s=web h=A a=http.request.method=GET st=DEADLINE
b R 62 124.036 k=CLIENT s=web h=A a=http.request.method=GET a=http.request.resend_count=1 st=DEADLINE
c R %v 139 k=CLIENT s=web h=A a=http.request.method=GET a=http.request.resend_count=2 a=http.response.status_code=200
`
	for _, test := range []struct {
		last              float64 // start of the last attempt
		retry, read, wait float64
	}{
		{124, 124.036, 139 - 124.036, 0},
		{124.036, 124.036, 139 - 124.036, 0},
		{126, 124.036, 139 - 126, 126 - 124.036},
	} {
		r := Run(worked(t, fmt.Sprintf(shape, test.last)), Options{}).Report
		got := r.Routes[0].Time
		want(t, fmt.Sprintf("last at %v", test.last), []time.Duration{got.Retry, got.Read, got.RetryWait, got.Hedge, got.Own},
			[]time.Duration{ms(test.retry), ms(test.read), ms(test.wait), 0, ms(21)})
	}
}

func TestSkewOfOneClockAmongOthers(t *testing.T) {
	// B is 5 s behind A, by its start 4 990 ms before its call. Where C is right, its work lies
	// inside B's call once that is moved; where it is as far behind as B, it goes with it. In
	// neither case does C alone prove anything: it begins after its call, as recorded.
	const behind = `
R - 10000 10200 k=SERVER s=web h=A
c R 10010 10190 k=CLIENT s=web h=A
s c 5020 5180 k=SERVER s=api h=B
d s 5040 5160 k=CLIENT s=api h=B
`
	for name, row := range map[string]string{
		"right":  "q d 10050 10150 k=SERVER s=db h=C",
		"behind": "q d 5050 5150 k=SERVER s=db h=C",
	} {
		dump := worked(t, behind+row+"\n")
		a := Run(dump, Options{})
		want(t, name+": moved", a.Report.Input.Skew, Skew{1, ms(5000)})
		var got []string
		for _, s := range a.Views(dump.Traces[0])[0].Path {
			got = append(got, fmt.Sprint(s.Service, " ", s.Start, "..", s.End))
		}
		want(t, name+": path", got, []string{"web 0s..10ms", "web 10ms..20ms", "api 20ms..40ms", "api 40ms..50ms", "db 50ms..150ms",
			"api 150ms..160ms", "api 160ms..180ms", "web 180ms..190ms", "web 190ms..200ms"})
	}
}

func TestInFlightIsNotBeforeItsStart(t *testing.T) {
	// A second copy wins, and the first is cancelled with it. Until 10 no call ran; the first
	// ran from 10 on, and until 150.4 beside the end of the request.
	dump := worked(t, `
R - 0 200 k=SERVER s=web
a R 10 150.4 k=CLIENT s=web st=CANCELLED a=peer.service=db
b R 80 150 k=CLIENT s=web a=peer.service=db
`)
	for i := range dump.Traces[0].Spans {
		if s := &dump.Traces[0].Spans[i]; s.Kind == ingest.Client {
			s.Name = "get" // copies of one call
		}
	}
	var got []string
	for _, s := range Run(dump, Options{}).Views(dump.Traces[0])[0].Path {
		got = append(got, fmt.Sprint(s.Start, "..", s.End, " ", s.Category, " ", s.InFlight))
	}
	want(t, "path", got, []string{"0s..10ms own false", "10ms..80ms read true", "80ms..150ms hedge false", "150ms..200ms own true"})
}
