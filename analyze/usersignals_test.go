package analyze

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"overrun/ingest"
)

// userSignalsText writes signals in words, where they are not the default ones.
func userSignalsText(b *strings.Builder, s *UserSignals) {
	if s == nil || gocmp.Equal(s, DefaultSignals()) {
		return
	}
	for _, list := range [][]string{lineEach(s.Deadlines), lineEach(s.Attempts), lineEach(s.Spans), lineEach(s.Dependencies), lineEach(s.Ignore), lineEach(s.Sampling)} {
		b.WriteString(strings.Join(list, ""))
	}
	cancel := "as built in"
	if s.ClientCancelIsTimeout != nil {
		cancel = fmt.Sprint(*s.ClientCancelIsTimeout)
	}
	fmt.Fprintf(b, "retryable %v, gap %v, infer retries %t, hedges %t, cancel is timeout %s, words %t\n",
		s.Retryable, s.LargestGap, s.InferRetries, s.InferHedges, cancel, s.Words)
}

func lineEach[T any](list []T) (lines []string) {
	for _, x := range list {
		lines = append(lines, fmt.Sprintf("%+v\n", x))
	}
	return lines
}

// signalsBreaches lists the invariants that the signals of a policy break. Each
// rule has to reach its table.
func signalsBreaches(p *Policy) (list []string) {
	claim := func(ok bool, what string, args ...any) {
		if !ok {
			list = append(list, fmt.Sprintf(what, args...))
		}
	}
	s := p.Signals
	if s == nil {
		claim(p.tables() == &builtIn, "tables of its own without signals")
		return list
	}
	t := p.tables()
	claim(len(s.deadlineRules()) == len(s.Deadlines), "%d deadlines give %d rules", len(s.Deadlines), len(s.deadlineRules()))
	claim(len(s.countRules()) == len(s.Attempts), "%d attempts give %d rules", len(s.Attempts), len(s.countRules()))
	claim(len(s.partRules()) == len(s.Spans)+len(s.Ignore), "%d spans give %d rules", len(s.Spans)+len(s.Ignore), len(s.partRules()))
	claim(len(t.parts.rules) == len(builtIn.parts.rules)+len(s.partRules()), "%d rules for parts", len(t.parts.rules))
	claim(s.LargestGap > 0 && s.LargestGap <= maxPolicyTime, "largest gap %v", s.LargestGap)
	claim(s.Retryable != nil && !slices.Contains(s.Retryable, ""), "retryable %q", s.Retryable)
	for _, d := range s.Dependencies {
		claim(d.Name != "" || d.Template != "", "line %d says nothing", d.Line)
		claim(d.Address != "" && d.Callee != "" && d.Operation != "", "line %d: empty glob", d.Line)
	}
	keep := Keep(p)
	for _, w := range s.Sampling {
		claim(slices.Contains(keep, spelled(nameOf(w.Key, ""))[0]), "line %d: %q is not kept", w.Line, w.Key)
	}
	for _, d := range s.Deadlines {
		claim(slices.Contains(keep, spelled(nameOf(d.Key, d.Header))[0]), "line %d: %q is not kept", d.Line, d.Key+d.Header)
	}
	return list
}

func TestKeepOfSignals(t *testing.T) {
	p := policy(t, `
signals:
  deadlines: [{header: X-My_Deadline, unit: time}, {key: my.budget, means: remaining, unit: ms}]
  attempts: [{key: my.try, counts: from-one}]
  sampling: [{key: my.ratio, means: ratio}]
`)
	keep, without := Keep(p), Keep(nil)
	for _, key := range []string{"http.request.header.x-my-deadline", "rpc.request.metadata.x_my_deadline", "my.budget", "my.try", "my.ratio"} {
		if !slices.Contains(keep, key) || slices.Contains(without, key) {
			t.Errorf("%s: kept with the policy: %v, without: %v", key, slices.Contains(keep, key), slices.Contains(without, key))
		}
	}
	for _, key := range without {
		if !slices.Contains(keep, key) {
			t.Errorf("Keep lacks %s, which it has without a policy", key)
		}
	}
	want(t, "events", Events(p), Events(nil))
}

// signalled analyses a trace with signals, and without where there are none.
func signalled(t *testing.T, signals, trace string) *Analysis {
	t.Helper()
	var o Options
	if signals != "" {
		o.Policy = policy(t, "signals:\n  "+signals+"\n")
	}
	return Run(worked(t, trace), o)
}

// countsOf are calls and attempts of all dependencies.
func countsOf(a *Analysis) (list []string) {
	for _, d := range a.Report.Dependencies {
		list = append(list, fmt.Sprintf("%s %s: %d/%d", d.Callee, d.Operation, d.Calls, d.Attempts))
	}
	return list
}

func TestUserDeadlines(t *testing.T) {
	// Unit 0 is 1 792 022 400 s after 1970, 2026-10-15T00:00:00Z.
	const trace = `
R - 0 100 k=SERVER s=web h=A %s
c R 10 90 k=CLIENT s=web h=A %s
s c 15 80 k=SERVER s=db h=B
`
	for _, test := range []struct {
		name, signal, root, client string
		web, db                    string // source, budget, rule
		bad                        int
	}{
		{name: "not told", root: "x.budget=300"},
		{name: "what is left", signal: "{key: x.budget, means: remaining, unit: ms}", root: "x.budget=300", web: "recorded 300ms signals:2", db: "inherited 285ms signals:2"},
		{name: "in seconds", signal: "{key: x.budget, means: remaining, unit: s}", root: "x.budget=0.3", web: "recorded 300ms signals:2", db: "inherited 285ms signals:2"},
		{name: "an instant", signal: "{header: X-Until, means: absolute, unit: ms}", root: "http.request.header.x_until=1792022400150", web: "recorded 150ms signals:2", db: "inherited 135ms signals:2"},
		{name: "a time", signal: "{key: x.until, unit: time}", root: "x.until=2026-10-15T00:00:00.250Z", web: "recorded 250ms signals:2", db: "inherited 235ms signals:2"},
		{name: "a time long before", signal: "{key: x.until, unit: time}", root: "x.until=2026-10-14T20:00:00.250Z", bad: 1},
		{name: "a duration", signal: "{key: x.for, unit: duration}", root: "x.for=PT0.2S", web: "recorded 200ms signals:2", db: "inherited 185ms signals:2"},
		{name: "gRPC's grammar", signal: "{key: x.for, unit: grpc-timeout}", root: "x.for=150m", web: "recorded 150ms signals:2", db: "inherited 135ms signals:2"},
		{name: "not on the server", signal: "{key: x.budget, means: remaining, unit: ms, on: client}", root: "x.budget=300"},
		{name: "from the start of the client's span", signal: "{key: x.budget, means: remaining, unit: ms, on: client}", client: "x.budget=60", db: "recorded 55ms signals:2"},
		{name: "a number that may be anything", signal: "{key: x.budget, unit: self-evident}", root: "x.budget=300", bad: 1},
		{name: "a number too small for an instant", signal: "{key: x.budget, means: absolute, unit: ms}", root: "x.budget=300", bad: 1},
		{name: "a number too large for what is left", signal: "{key: x.budget, means: remaining, unit: ms}", root: "x.budget=1792022400150", bad: 1},
		{name: "overrides a built-in key", signal: "{key: deadline_ms, means: remaining, unit: s}", root: "deadline_ms=1", web: "recorded 1s signals:2", db: "inherited 985ms signals:2"},
		{name: "and leaves nothing of it", signal: "{key: deadline_ms, means: remaining, unit: s, on: client}", root: "deadline_ms=1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			attr := func(text string) string {
				if text == "" {
					return ""
				}
				return "a=" + text
			}
			var o Options
			if test.signal != "" {
				o.Policy = policy(t, "signals: {deadlines: [\n"+test.signal+"]}")
			}
			dump := worked(t, fmt.Sprintf(trace, attr(test.root), attr(test.client)))
			got := map[string]string{}
			for _, r := range newTraced(dump.Traces[0], &o, newRecogniser(o.Policy.tables()), nil).requests {
				got[r.service] = ""
				if d := r.deadline; d != nil {
					got[r.service] = fmt.Sprint(d.source, " ", d.budget, " ", d.rule)
				}
			}
			want(t, "deadlines", got, map[string]string{"web": test.web, "db": test.db})
			var bad int64
			for _, n := range Run(dump, o).Report.Input.Notes {
				if n.Code == BadDeadline {
					bad += n.Count
				}
			}
			want(t, "refused", bad, int64(test.bad))
		})
	}
}

func TestUserSignals(t *testing.T) {
	const b = "a=server.address=b "
	const failed, ok = get + b + "a=http.response.status_code=503 st=ERROR ", get + b + "a=http.response.status_code=200 "
	siblings := func(more string) string {
		return "R - 0 100 k=SERVER s=web\na R 5 25" + failed + "\nb R 35 55" + more
	}
	for _, test := range []struct {
		name, signals, trace string
		want                 []string // callee operation: calls/attempts
	}{
		// Answered calls are one only where they are counted.
		{"attempts: none", "", "R - 0 100 k=SERVER s=web\na R 5 25" + ok + "a=my.try=1\nb R 35 55" + ok + "a=my.try=2", []string{"b GET: 2/2"}},
		{"attempts: from one", "attempts: [{key: my.try, counts: from-one}]", "R - 0 100 k=SERVER s=web\na R 5 25" + ok + "a=my.try=1\nb R 35 55" + ok + "a=my.try=2", []string{"b GET: 1/2"}},
		{"attempts: resends", "attempts: [{key: my.try, counts: resends}]", "R - 0 100 k=SERVER s=web\na R 5 25" + ok + "\nb R 35 55" + ok + "a=my.try=1", []string{"b GET: 1/2"}},
		{"attempts: read as resends, 1 and 2 have no first", "attempts: [{key: my.try, counts: resends}]", "R - 0 100 k=SERVER s=web\na R 5 25" + ok + "a=my.try=2\nb R 35 55" + ok + "a=my.try=2", []string{"b GET: 2/2"}},

		{"spans: none", "", "R - 0 100 k=SERVER s=web\np R 5 15 k=CLIENT s=web\nc R 15 55" + ok, []string{"b GET: 1/1", "p p: 1/1"}},
		{"spans: pool", "spans: [{name: p, is: pool}]", "R - 0 100 k=SERVER s=web\np R 5 15 k=CLIENT s=web\nc R 15 55" + ok, []string{"b GET: 1/1"}},
		{"spans: fallback", "spans: [{name: p, is: fallback}]", "R - 0 100 k=SERVER s=web\np R 5 15 k=CLIENT s=web\nc R 15 55" + ok, []string{"b GET: 1/1"}},
		{"spans: own", "spans: [{name: p, is: own}]", "R - 0 100 k=SERVER s=web\np R 5 15 k=CLIENT s=web\nc R 15 55" + ok, []string{"b GET: 1/1"}},
		{"spans: the first in the file counts", "spans: [{name: 'p*', is: own}, {name: p, is: call}]", "R - 0 100 k=SERVER s=web\np R 5 15 k=CLIENT s=web\nc R 15 55" + ok, []string{"b GET: 1/1"}},
		{"spans: a call of kind INTERNAL", "spans: [{name: load, is: call}]", "R - 0 100 k=SERVER s=web\nload R 5 60 k=INTERNAL s=web\na load 5 25" + ok + "\nb load 30 55" + ok, []string{"b GET: 1/1"}},
		{"spans: without a scope two calls", "", "R - 0 100 k=SERVER s=web\nretry R 5 60 k=INTERNAL s=web\na retry 5 25" + ok + "\nb retry 30 55" + ok, []string{"b GET: 2/2"}},
		{"spans: retry-scope", "spans: [{name: 'retr*', is: retry-scope}]", "R - 0 100 k=SERVER s=web\nretry R 5 60 k=INTERNAL s=web\na retry 5 25" + ok + "\nb retry 30 55" + ok, []string{"b GET: 1/2"}},
		{"spans: attempts", "spans: [{name: load, is: call}, {name: try, is: attempt}]", `
R - 0 100 k=SERVER s=web
load R 5 60 k=INTERNAL s=web
try load 5 25 k=INTERNAL s=web
try#2 load 30 55 k=INTERNAL s=web
a try 6 24` + failed + "\nb try#2 31 54" + ok, []string{"b GET: 1/2"}},

		{"dependencies: by address", "dependencies: [{address: 'b', name: billing}]", siblings(ok), []string{"billing GET: 1/2"}},
		{"dependencies: by IP address", "dependencies: [{address: '10.2.*', name: billing}]", "R - 0 100 k=SERVER s=web\na R 5 25" + get + "a=network.peer.address=10.2.3.4", []string{"billing GET: 1/1"}},
		{"dependencies: with its port", "dependencies: [{address: 'b:8*', name: billing}]", "R - 0 100 k=SERVER s=web\na R 5 25" + ok + "a=server.port=8080", []string{"billing GET: 1/1"}},
		{"dependencies: by name, before what the callee says of itself", "dependencies: [{callee: 'db-*', name: db}]", "R - 0 100 k=SERVER s=web\na R 5 25" + ok + "\ns a 6 20 k=SERVER s=db-7", []string{"db GET: 1/1"}},
		{"dependencies: template", "dependencies: [{callee: b, operation: 'GET', template: 'GET /users/{id}'}]", siblings(ok), []string{"b GET /users/{id}: 1/2"}},
		{"dependencies: template of a callee by its new name", "dependencies: [{callee: b, name: c}, {callee: b, template: x}, {callee: c, template: y}]", siblings(ok), []string{"c y: 1/2"}},

		{"retryable: built in", "", siblings(ok), []string{"b GET: 1/2"}},
		{"retryable: not among them", "retryable: [429]", siblings(ok), []string{"b GET: 2/2"}},
		{"retryable: none", "retryable: []", siblings(ok), []string{"b GET: 2/2"}},
		{"retryable: one that is not built in", "retryable: [400]", "R - 0 100 k=SERVER s=web\na R 5 25" + get + b + "a=http.response.status_code=400 st=ERROR\nb R 35 55" + ok, []string{"b GET: 1/2"}},
		{"retryable: a code of gRPC", "retryable: [internal]", "R - 0 100 k=SERVER s=web\na#1 R 5 25 k=CLIENT s=web a=rpc.method=S/M a=rpc.status_code=INTERNAL st=ERROR\na#2 R 35 55 k=CLIENT s=web a=rpc.method=S/M a=rpc.status_code=OK", []string{"S S/M: 1/2"}},

		{"largest gap: 10 ms are", "largest_gap: 10ms", siblings(ok), []string{"b GET: 1/2"}},
		{"largest gap: too long", "largest_gap: 9ms", siblings(ok), []string{"b GET: 2/2"}},
		{"no retries inferred", "infer_retries: false", siblings(ok), []string{"b GET: 2/2"}},
		{"but those that are counted", "infer_retries: false", siblings(ok + "a=http.request.resend_count=1"), []string{"b GET: 1/2"}},
		{"hedges inferred", "", "R - 0 100 k=SERVER s=web\na R 5 55" + get + b + "st=CANCELLED\nb R 35 55" + ok, []string{"b GET: 1/2"}},
		{"no hedges inferred", "infer_hedges: false", "R - 0 100 k=SERVER s=web\na R 5 55" + get + b + "st=CANCELLED\nb R 35 55" + ok, []string{"b GET: 2/2"}},

		{"ignore: a call", "ignore: [{name: p}]", "R - 0 100 k=SERVER s=web\np R 5 15 k=CLIENT s=web\nc R 15 55" + ok, []string{"b GET: 1/1"}},
		{"ignore: before spans", "spans: [{name: p, is: call}]\n  ignore: [{name: 'p*'}]", "R - 0 100 k=SERVER s=web\np R 5 15 k=CLIENT s=web\nc R 15 55" + ok, []string{"b GET: 1/1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := countsOf(signalled(t, test.signals, test.trace))
			slices.Sort(got)
			want(t, "calls and attempts", got, test.want)
		})
	}
}

func TestUserPhases(t *testing.T) {
	// 10 ms of waiting for the pool and 5 ms of connecting inside a call of 50 ms:
	// 15 of connecting, 35 of reading.
	const trace = `
R - 0 100 k=SERVER s=web
c R 10 60 k=CLIENT s=web a=server.address=b
take c 10 20 k=CLIENT s=web
dial c 20 25 k=INTERNAL s=web
`
	without := signalled(t, "", trace)
	want(t, "time without", without.Report.Routes[0].Time, Time{Own: ms(50), Read: ms(50), Total: ms(100)})
	a := signalled(t, "spans: [{name: take, is: pool}, {name: dial, is: connect}]", trace)
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(50), Connect: ms(15), Read: ms(35), Total: ms(100)})
}

func TestUserBackoff(t *testing.T) {
	// Two tries back to back; the first is over at 30 by its last child, and its
	// span at 50. In the gap there is nothing to wait; at the tail 20 ms.
	const trace = `
R - 0 100 k=SERVER s=web
loop R 5 85 k=INTERNAL s=web
try loop 5 50 k=INTERNAL s=web
a try 10 30 k=CLIENT s=web a=server.address=b st=ERROR
try#2 loop 50 85 k=INTERNAL s=web
b try#2 60 85 k=CLIENT s=web a=server.address=b
`
	scope := "spans: [{name: loop, is: retry-scope%s}, {name: try, is: attempt%s}]"
	for _, test := range []struct {
		scope, attempt string
		want           Time
	}{
		{"", "", Time{Own: ms(20), Retry: ms(45), Read: ms(35), Total: ms(100)}},
		{"", ", backoff: tail", Time{Own: ms(20), Retry: ms(25), RetryWait: ms(20), Read: ms(35), Total: ms(100)}},
		{", backoff: tail", "", Time{Own: ms(20), Retry: ms(25), RetryWait: ms(20), Read: ms(35), Total: ms(100)}},
		// The call's first attempt begins at 10, its second at 60.
		{"", ", backoff: head", Time{Own: ms(20), Read: ms(30), Retry: ms(40), RetryWait: ms(10), Total: ms(100)}},
	} {
		a := signalled(t, fmt.Sprintf(scope, test.scope, test.attempt), trace)
		want(t, "time with"+test.scope+test.attempt, a.Report.Routes[0].Time, test.want)
	}
}

func TestClientCancelIsTimeout(t *testing.T) {
	const said = "a=error.type=*errors.errorString a=server.address=b st=ERROR"
	for _, test := range []struct {
		name, signals, text, more string
		want                      map[Outcome]int
	}{
		{"http.Client.Timeout", "", "net/http: request canceled", "", map[Outcome]int{ReadTimeout: 1}},
		{"is a cancel", "client_cancel_is_timeout: false", "net/http: request canceled", "", map[Outcome]int{CancelledCaller: 1}},
		{"is a cancel, with a deadline recorded", "client_cancel_is_timeout: false", "net/http: request canceled", "a=timeout_ms=50", map[Outcome]int{ReadTimeout: 1}},
		{"context", "", "context canceled", "", map[Outcome]int{CancelledCaller: 1}},
		{"context is a timeout", "client_cancel_is_timeout: true", "context canceled", "", map[Outcome]int{ReadTimeout: 1}},
		{"context, with a deadline recorded", "client_cancel_is_timeout: true", "context canceled", "a=timeout_ms=500", map[Outcome]int{CancelledCaller: 1}},
		{"context, and a sibling was answered", "client_cancel_is_timeout: true", "context canceled", "\nb R 20 55.5 k=CLIENT s=web a=server.address=b a=http.response.status_code=200 a=http.request.method=GET",
			map[Outcome]int{CancelledRace: 1, OutcomeOK: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			dump := worked(t, "R - 0 100 k=SERVER s=web\na R 5 55"+get+said+" "+test.more)
			trace := dump.Traces[0]
			for i := range trace.Spans {
				if trace.Spans[i].Status == ingest.Error {
					trace.Spans[i].StatusText = test.text
				}
			}
			var o Options
			if test.signals != "" {
				o.Policy = policy(t, "signals: {"+test.signals+"}")
			}
			got := map[Outcome]int{}
			for _, d := range Run(dump, o).Report.Dependencies {
				for outcome, n := range d.Outcomes {
					got[outcome] += n
				}
			}
			want(t, "outcomes", got, test.want)
		})
	}
}

func TestWords(t *testing.T) {
	dump := worked(t, "R - 0 100 k=SERVER s=web\na R 5 55 k=CLIENT s=web st=ERROR a=server.address=b")
	dump.Traces[0].Spans[1].StatusText = "it Timed Out"
	for signals, outcome := range map[string]Outcome{"{}": Failure, "{words: false}": Failure, "{words: true}": ReadTimeout} {
		r := Run(dump, Options{Policy: policy(t, "signals: "+signals)}).Report
		want(t, signals, r.Dependencies[0].Outcomes, map[Outcome]int{outcome: 1})
	}
}

func TestUserSampling(t *testing.T) {
	for _, test := range []struct {
		signals, attr string
		weight        float64
		known         bool
		id            string
	}{
		{"{key: my.ratio, means: ratio}", "my.ratio=0.25", 4, true, "signals:2"},
		{"{key: my.ratio, means: ratio}", "my.ratio=25", 1, false, "signals:2"}, // a percentage is not guessed
		{"{key: my.ratio, means: ratio}", "my.ratio=0", 1, false, "signals:2"},
		{"{key: my.ratio, means: ratio}", "other=1", 1, false, "W11"},
		{"{key: my.ratio, means: weight}", "my.ratio=25", 25, true, "signals:2"},
		{"{key: my.ratio, means: weight}", "my.ratio=0.25", 1, false, "signals:2"},
		{"{key: my.ratio, means: weight}", "SampleRate=20", 20, true, "W6"},
		{"{key: SampleRate, means: ratio}", "SampleRate=0.5", 2, true, "signals:2"}, // before W6
	} {
		p := policy(t, "signals: {sampling: [\n"+test.signals+"]}")
		f := factsOf(entry("x", test.attr), noPart)
		f.tables = p.tables()
		if got, known, id := weightOf(f); got != test.weight || known != test.known || id != test.id {
			t.Errorf("%s: weightOf(%s) = %v, %v by %s, want %v, %v by %s", test.signals, test.attr, got, known, id, test.weight, test.known, test.id)
		}
	}
	// And in a report.
	dump := worked(t, "R - 0 100 k=SERVER s=web a=my.ratio=0.5")
	for signals, known := range map[string]int{"{}": 0, "{sampling: [{key: my.ratio, means: ratio}]}": 1} {
		w := Run(dump, Options{Policy: policy(t, "signals: "+signals)}).Report.Input.Weights
		want(t, "weights known with "+signals, *w.Known, known)
	}
}

func TestIgnore(t *testing.T) {
	// A health check that asks the database is no request; what the database
	// recorded of it is one. The page under an ignored proxy is a request of its own.
	const health = `
health - 0 100 k=SERVER s=web a=timeout_ms=soon
c health 10 90 k=CLIENT s=web a=server.address=b
s c 20 80 k=SERVER s=db
`
	for _, test := range []struct {
		name, signals string
		want          []string // service: requests
		calls         []string
		views         int
	}{
		{"without", "", []string{"db: 1", "web: 1"}, []string{"db c: 1/1"}, 1},
		{"the request", "ignore: [{name: health}]", []string{"db: 1"}, nil, 1},
		{"the call", "ignore: [{name: c}]", []string{"db: 1", "web: 1"}, nil, 1},
		{"what was called", "ignore: [{name: s}]", []string{"web: 1"}, []string{"b c: 1/1"}, 1},
		{"all", "ignore: [{name: health}, {name: s}]", nil, nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := signalled(t, test.signals, health)
			var got []string
			for _, r := range a.Report.Routes {
				got = append(got, fmt.Sprintf("%s: %d", r.Service, r.Requests))
			}
			slices.Sort(got)
			want(t, "requests", got, test.want)
			want(t, "calls", countsOf(a), test.calls)
			views := a.Views(worked(t, health).Traces[0])
			want(t, "views", len(views), test.views)
			for _, v := range views {
				var sum float64
				for _, p := range v.Path {
					sum += float64(p.End - p.Start)
				}
				want(t, "path of "+v.Route, sum, float64(*v.Duration))
			}
		})
	}
	// The time of an ignored call is its caller's own.
	a := signalled(t, "ignore: [{name: c}]", "R - 0 100 k=SERVER s=web\nc R 10 90 k=CLIENT s=web")
	want(t, "time", a.Report.Routes[0].Time, Time{Own: ms(100), Total: ms(100)})
}

// --explain says by which line of the policy a call was read.
func TestUserRuleIDs(t *testing.T) {
	trace := worked(t, "R - 0 100 k=SERVER s=web\ntry R 5 25 k=INTERNAL s=web\na try 6 24 k=CLIENT s=web a=server.address=b").Traces[0]
	p := policy(t, `
signals:
  spans:
    - {name: try, is: attempt}
  dependencies:
    - {callee: b, name: billing}
    - {callee: billing, template: charge}
`)
	a := Run(&ingest.Dump{Traces: []*ingest.Trace{trace}, Spans: 3}, Options{Policy: p})
	c := a.Views(trace)[0].Calls[0]
	want(t, "call", []string{c.Callee, c.Operation}, []string{"billing", "charge"})
	want(t, "rules of the call", c.Rules, CallRules{"signals:6", "signals:7"})
	want(t, "rule of the attempt", c.Tries[0].Rules.Part, "signals:4")
}
