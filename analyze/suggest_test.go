package analyze

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"overrun/ingest"
	"pgregory.net/rapid"
)

// A course is one dependency of the chain of seeds.md, section 1.
type course struct {
	name      string
	p50, p999 float64 // ms
	share     float64 // accepted false timeouts
}

var courses = []course{{"A", 10, 40, 0.001}, {"B", 30, 90, 0.001}, {"C", 25, 120, 0.05}}

// z999 is the 99.9 % quantile of the standard normal distribution (Abramowitz
// and Stegun 1964, table 26.5).
const z999 = 3.090232306

// latency is the p-quantile of the lognormal distribution with that median and
// that p99.9, in ms.
func (c course) latency(p float64) float64 {
	sigma := math.Log(c.p999/c.p50) / z999
	return c.p50 * math.Exp(sigma*math.Sqrt2*math.Erfinv(2*p-1))
}

// chainDump holds n requests that call A, B and C one after the other and work for
// 20 ms at the end. Each latency is a quantile at (i - 1/2)/n of its distribution, each of
// them once; which ones meet in a request follows from strides without a common divisor.
func chainDump(t *testing.T, n int, method string) *ingest.Dump {
	t.Helper()
	dump := &ingest.Dump{}
	for i := range n {
		var b strings.Builder
		b.WriteString("# units = microseconds\n")
		at := 0
		var calls strings.Builder
		for k, c := range courses {
			rank := i * []int{1, 7919, 104729}[k] % n
			took := int(math.Round(1000 * c.latency((float64(rank)+0.5)/float64(n))))
			fmt.Fprintf(&calls, "%s R %d %d k=CLIENT s=card a=http.request.method=%s a=url.template=/v a=peer.service=%[1]s\n", c.name, at, at+took, method)
			at += took
		}
		fmt.Fprintf(&b, "R - 0 %d k=SERVER s=card a=http.request.method=GET a=http.route=/card\n%s", at+20_000, calls.String())
		s, err := parseShape("chain", b.String())
		if err != nil {
			t.Fatal(err)
		}
		var id ingest.TraceID
		binary.BigEndian.PutUint64(id[8:], uint64(i+1))
		dump.Traces = append(dump.Traces, ingest.NewTrace(id, shapeBase, s.spans()))
		dump.Spans += 4
	}
	return dump
}

// suggested analyses a dump and gives the suggestion.
func suggested(t *testing.T, dump *ingest.Dump, policyText string) *Suggestion {
	t.Helper()
	p, err := ParsePolicy("p.yaml", []byte(policyText))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Run(dump, Options{Policy: p, Hints: true}).Suggest()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const chainPolicy = `
deadlines:
- {service: card, deadline: 200ms}
dependencies:
- {caller: card, callee: C, required: false}
`

func TestSuggestChain(t *testing.T) {
	const n = 4000
	s := suggested(t, chainDump(t, n, "GET"), chainPolicy)
	ceilings := map[string]time.Duration{"A": ms(50), "B": ms(110), "C": ms(60)} // seeds.md, section 1
	for i, d := range s.Dependencies {
		c := courses[i]
		want(t, "dependency", d.String(), "card → "+c.name+" GET /v")
		want(t, c.name+": required", d.Required, c.name != "C")
		want(t, c.name+": ceiling", *d.Ceiling.Measured, ceilings[c.name])
		if got := float64(*d.Minimum.Measured) / 1e6; math.Abs(got-c.p50) > c.p50/500 {
			t.Errorf("%s: minimum %v ms, want about %v", c.name, got, c.p50)
		}
		// Of the n quantiles at (i - 1/2)/n, those above the ceiling.
		above := 0
		for i := range n {
			if c.latency((float64(i)+0.5)/n) > float64(ceilings[c.name])/1e6 {
				above++
			}
		}
		want(t, c.name+": share cut", *d.ShareCut, float64(above)/n)
		if *d.ShareCut > c.share {
			t.Errorf("%s: the ceiling cuts %v, more than the accepted %v", c.name, *d.ShareCut, c.share)
		}
	}
	r := s.Routes[0]
	want(t, "deadline", []any{*r.Deadline, r.Basis}, []any{ms(200), BasisPolicy})
	want(t, "reserve", *r.Reserve.Measured, ms(20))
}

// planText is a plan in one line.
func planText(p *Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "total %v reserve %v worst %v:", p.Total, p.Reserve, p.WorstCase)
	for i := range p.Calls {
		c := &p.Calls[i]
		fmt.Fprintf(&b, " %s %v x%d", c.Dependency.Callee, c.Budget, c.MaxAttempts)
	}
	return b.String()
}

func TestPlanChain(t *testing.T) {
	// The plan of seeds.md's chain: spec.md, section 8. Attempts with minimums 10
	// and 30 and the same wait before the first retry: 10+10+10 <= 50 < 3*10+10+20,
	// 30+30+30 <= 110 < 3*30+30+60.
	s := suggested(t, chainDump(t, 2000, "GET"), `
deadlines:
- {service: card, deadline: 200ms, reserve: 20ms}
dependencies:
- {callee: A, minimum: 10ms, ceiling: 50ms}
- {callee: B, minimum: 30ms, ceiling: 110ms}
- {callee: C, minimum: 25ms, ceiling: 60ms, required: false}
`)
	plans, err := s.Plans()
	if err != nil {
		t.Fatal(err)
	}
	want(t, "plans", len(plans), 1)
	want(t, "plan", planText(plans[0]), "total 200ms reserve 20ms worst 180ms: A 50ms x2 B 110ms x2 C 0s x0")
}

func TestPlanOfMeasuredChain(t *testing.T) {
	// With all but the deadline measured: the same.
	plans, err := suggested(t, chainDump(t, 4000, "GET"), chainPolicy).Plans()
	if err != nil {
		t.Fatal(err)
	}
	want(t, "plan", planText(plans[0]), "total 200ms reserve 20ms worst 180ms: A 50ms x2 B 110ms x2 C 0s x0")
}

func TestPlanRefusals(t *testing.T) {
	// Two calls, one after the other, and 20 ms of own work at the end.
	const chain = `
R - 0 100 k=SERVER s=card a=http.request.method=GET a=http.route=/card
p R 0 30 k=CLIENT s=card a=http.request.method=GET a=peer.service=prices
c R 30 80 k=CLIENT s=card a=http.request.method=GET a=peer.service=recs
`
	const untold = `
R - 0 80 k=SERVER s=card a=http.request.method=GET a=http.route=/card
p R 0 30 k=CLIENT s=card a=http.request.method=GET a=peer.service=prices
c R 30 80 k=CLIENT s=card a=http.request.method=GET a=peer.service=recs
`
	for _, row := range []struct{ name, trace, policy, want string }{
		{"sum above the total", chain, `
timeouts: fixed
deadlines: [{service: card, deadline: 200ms, reserve: 20ms}]
dependencies:
- {callee: prices, ceiling: 110ms}
- {callee: recs, ceiling: 100ms}
`, "card GET /card: calls 210ms + reserve 20ms = 230ms, 30ms more than the total 200ms (longest path: prices GET, recs GET)"},
		{"reserve of 0", chain, `
deadlines: [{service: card, deadline: 200ms, reserve: 0s}]
dependencies:
- {callee: prices, minimum: 30ms, ceiling: 110ms}
- {callee: recs, minimum: 50ms, ceiling: 100ms}
`, "card GET /card: no reserve: of the total 200ms, the calls may use 200ms, and nothing is left for work that is no call: write a reserve into the policy"},
		{"measured reserve of 0", untold, `
deadlines: [{service: card, deadline: 200ms}]
dependencies:
- {callee: prices, ceiling: 80ms}
- {callee: recs, ceiling: 90ms}
`, "card GET /card: no reserve: of the total 200ms, the calls may use 170ms, and nothing is left for work that is no call: write a reserve into the policy"},
		{"minimums above the total", chain, `
deadlines: [{service: card, deadline: 90ms, reserve: 20ms}]
dependencies:
- {callee: prices, minimum: 30ms, ceiling: 110ms}
- {callee: recs, minimum: 50ms, ceiling: 100ms}
`, "card GET /card: prices GET is required and needs 30ms, and is left 20ms: it may start at 0s, and 70ms is kept after it"},
		{"fits", chain, `
deadlines: [{service: card, deadline: 200ms, reserve: 20ms}]
`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := suggested(t, worked(t, row.trace), row.policy).Plans()
			got := ""
			if err != nil {
				got = err.Error()
			}
			want(t, "Plans", got, row.want)
		})
	}
	if _, err := suggested(t, worked(t, chain), "").Plans(); err != errNoDeadline {
		t.Errorf("Plans without a deadline = %v, want %v", err, errNoDeadline)
	}
}

func TestPlanOfParallelCalls(t *testing.T) {
	// After 5 ms, a and b start together; 4 ms after both, c; then 10 ms. At worst: a
	// and b to 5 + 60, c from 69 to 69 + 40, 119 in all: 100 of calls and 5 + 4 + 10 of
	// own work. b is optional, and 5 + 60 + 4 + 40 + 10 = 119 leaves it its whole ceiling.
	s := suggested(t, worked(t, `
R - 0 69 k=SERVER s=card a=http.request.method=GET a=http.route=/card
a R 5 35 k=CLIENT s=card a=http.request.method=GET a=peer.service=a
b R 5 25 k=CLIENT s=card a=http.request.method=GET a=peer.service=b
c R 39 59 k=CLIENT s=card a=http.request.method=GET a=peer.service=c
`), `
deadlines: [{service: card, deadline: 200ms}]
dependencies:
- {callee: a, minimum: 30ms, ceiling: 60ms}
- {callee: b, minimum: 20ms, ceiling: 50ms, required: false}
- {callee: c, minimum: 20ms, ceiling: 40ms}
`)
	plans, err := s.Plans()
	if err != nil {
		t.Fatal(err)
	}
	p := plans[0]
	// a: 30 + wait 30 + 30 = 90 > 60. b: 20 + 20 + 20 = 60 > 50. c: 60 > 40.
	want(t, "plan", planText(p), "total 200ms reserve 19ms worst 119ms: a 60ms x1 b 50ms x1 c 40ms x1")
	want(t, "longest", p.Longest, []int{0, 2})
	want(t, "reserve of a", p.Calls[0].Reserve, ms(10+4+20))
	want(t, "start of c", p.Calls[2].Start, ms(69))
	// c begins at least 4 ms after a and, as recorded, 39 - 25 = 14 ms after b. With 60 for b it is 5 +
	// 60 + 14 + 40 + 10; with 30 or 80 for a 5 + 50 + 14 + 40 + 10 and 5 + 80 + 4 + 40 + 10.
	for _, row := range []struct {
		call          int
		budget, worst float64
	}{{1, 60, 129}, {2, 80, 159}, {0, 30, 119}, {0, 80, 139}} {
		want(t, fmt.Sprintf("worst case with %v ms for call %d", row.budget, row.call), p.WorstWith(row.call, ms(row.budget)), ms(row.worst))
	}
}

// a begins after 5 ms and takes 30. b begins with it in 10 requests of 40, and 4 ms after its end in 30, at 39:
// own work before b is then 39 - 30 = 9, and the median of 10 fives and 30 nines is 9, not 39. Side by side
// the worst is max(5 + 60, 9 + 40) + 10 = 75, with 5 + 10 of own work; in sequence 5 + 60 + 4 + 40 + 10 = 119.
func TestPlanOfMixedOrder(t *testing.T) {
	var traces []string
	for i := range 40 {
		b, end := 39, 69
		if i < 10 {
			b, end = 5, 45
		}
		traces = append(traces, fmt.Sprintf(`
R - 0 %d k=SERVER s=card a=http.request.method=GET a=http.route=/card
a R 5 35 k=CLIENT s=card a=http.request.method=GET a=peer.service=a
b R %d %d k=CLIENT s=card a=http.request.method=GET a=peer.service=b
`, end, b, b+20))
	}
	plans, err := suggested(t, worked(t, traces...), `
deadlines: [{service: card, deadline: 200ms, reserve: 10ms}]
dependencies:
- {callee: a, minimum: 30ms, ceiling: 60ms}
- {callee: b, minimum: 20ms, ceiling: 40ms}
`).Plans()
	if err != nil {
		t.Fatal(err)
	}
	want(t, "plan", planText(plans[0]), "total 200ms reserve 15ms worst 75ms: a 60ms x1 b 40ms x1")
	want(t, "start of b", plans[0].Calls[1].Start, ms(9))
	want(t, "in sequence", plans[0].InSequence, new(ms(119)))
}

func TestPlanNeverExceedsTotal(t *testing.T) {
	// Property: under the shared deadline no plan is above its total unless it is
	// refused, and the longest path and the reserve sum to the worst case.
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		calls := rapid.IntRange(1, 6).Draw(rt, "calls")
		end := 0
		for i := range calls {
			from := rapid.IntRange(0, 120).Draw(rt, "from")
			to := from + rapid.IntRange(1, 60).Draw(rt, "took")
			end = max(end, to)
			fmt.Fprintf(&b, "c%d R %d %d k=CLIENT s=card a=http.request.method=GET a=peer.service=c%[1]d\n", i, from, to)
		}
		text := fmt.Sprintf("R - 0 %d k=SERVER s=card a=http.request.method=GET a=http.route=/card\n%s", end+rapid.IntRange(0, 30).Draw(rt, "tail"), b.String())
		rules := "dependencies:\n"
		for i := range calls {
			rules += fmt.Sprintf("- {callee: c%d, required: %t, ceiling: %dms, minimum: %dms}\n", i, rapid.Bool().Draw(rt, "required"),
				rapid.IntRange(30, 90).Draw(rt, "ceiling"), rapid.IntRange(1, 30).Draw(rt, "minimum"))
		}
		total := rapid.IntRange(20, 400).Draw(rt, "total")
		s := suggested(t, worked(t, text), fmt.Sprintf("deadlines: [{deadline: %dms}]\n%s", total, rules))
		plans, err := s.Plans()
		p := plans[0]
		sum := p.Reserve
		for _, c := range p.Longest {
			sum += p.Calls[c].Budget
		}
		if sum != p.WorstCase {
			rt.Errorf("longest path and reserve are %v, the worst case is %v", sum, p.WorstCase)
		}
		if err == nil && p.WorstCase > p.Total {
			rt.Errorf("worst case %v above the total %v, and not refused", p.WorstCase, p.Total)
		}
		for _, c := range p.Calls {
			m := *c.Dependency.Minimum.InForce()
			if err == nil && c.Budget < m && (c.Dependency.Required || c.Budget != 0) {
				rt.Errorf("%s gets %v, below its minimum %v, and the plan is not refused", c.Name, c.Budget, m)
			}
		}
	})
}

func TestMaxAttempts(t *testing.T) {
	for _, row := range []struct {
		budget, minimum, base float64 // ms
		want                  int
	}{
		// k x minimum + base x (2^(k-1) - 1) <= budget, worked out by hand.
		{100, 10, 20, 3},        // 30 + 20 + 40 = 90; 40 + 20 + 40 + 80 = 180
		{89, 10, 20, 2},         // 20 + 20 = 40
		{9, 10, 20, 0},          //
		{10, 10, 0, 1},          //
		{100, 10, 0, 10},        //
		{1e6, 1, 0, 100},        // the policy's limit
		{1e6, 0.001, 0.001, 30}, // 2^29 us = 536 870 ms and 30 us fit; 2^30 us do not
	} {
		if got := MaxAttempts(ms(row.budget), ms(row.minimum), ms(row.base)); got != row.want {
			t.Errorf("MaxAttempts(%v, %v, %v) = %d, want %d", row.budget, row.minimum, row.base, got, row.want)
		}
	}
}

func TestSuggestDeadlines(t *testing.T) {
	const call = "c R 0 30 k=CLIENT s=card a=http.request.method=GET a=peer.service=b\n"
	server := func(end int, attrs string) string {
		return fmt.Sprintf("R - 0 %d k=SERVER s=card a=http.request.method=GET a=http.route=/card %s\n", end, attrs)
	}
	repeat := func(n int, text func(i int) string) (list []string) {
		for i := range n {
			list = append(list, text(i))
		}
		return list
	}
	left := func(i int) string { // its caller left after 150 ms, more or less
		return server(150+i%2, "st=CANCELLED") + fmt.Sprintf("c R 0 %d k=CLIENT s=card a=http.request.method=GET a=peer.service=b\n", 140)
	}
	quick := func(int) string { return server(50, "") + call }
	budget := func(ms int) func(int) string {
		return func(i int) string {
			return server(50, fmt.Sprintf("a=http.request.header.x-budget-ms=%d", ms+i)) + call
		}
	}
	for _, row := range []struct {
		name, policy string
		traces       []string
		want         string // deadline, basis
	}{
		{"none", "", repeat(3, quick), "<nil> "},
		{"policy", "deadlines: [{deadline: 200ms}]", repeat(3, budget(300)), "200ms policy"},
		{"recorded", "", repeat(3, budget(300)), "301ms recorded"},
		// 20 of 21 callers left at 150 or 151 ms, and none of 100 answers took longer.
		{"inferred", "", append(repeat(20, left), append(repeat(100, quick), server(90, "st=CANCELLED")+call)...), "150ms inferred"},
		{"too few left", "", append(repeat(19, left), repeat(100, quick)...), "<nil> "},
		// 2 of 100 answers took longer.
		{"answers took longer", "", append(repeat(20, left), append(repeat(98, quick), repeat(2, func(int) string { return server(170, "") + call })...)...), "<nil> "},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := suggested(t, worked(t, row.traces...), row.policy).Routes[0]
			got := "<nil>"
			if r.Deadline != nil {
				got = r.Deadline.String()
			}
			want(t, "deadline", got+" "+string(r.Basis), row.want)
		})
	}
	// What is left of another deadline is none of the route: no rule would be right for all.
	for spread, rules := range map[int]int{3: 1, 12: 0} { // 300 to 302 ms: within 2 %; 300 to 311 ms: not
		s := suggested(t, worked(t, repeat(spread, budget(300))...), "")
		routes, _ := s.NewRules()
		want(t, fmt.Sprintf("rules for %d budgets", spread), []any{len(routes), s.Routes[0].Varies()}, []any{rules, rules == 0})
	}

	// A nested request inherits: it gets no deadline of its own.
	s := suggested(t, worked(t, `
R - 0 100 k=SERVER s=web a=http.request.method=GET a=http.route=/ a=http.request.header.x-budget-ms=200
c R 10 90 k=CLIENT s=web
S c 15 85 k=SERVER s=card a=http.request.method=GET a=http.route=/card
`), "")
	want(t, "nested", []any{s.Routes[0].Service, s.Routes[0].Deadline == nil, s.Routes[0].Basis, *s.Routes[0].Inherited.Measured},
		[]any{"card", true, BasisInherited, ms(185)})
}

func TestSuggestHints(t *testing.T) {
	const trace = `
R - 0 100 k=SERVER s=web a=http.request.method=GET a=http.route=/
c R 10 60 k=CLIENT s=web a=http.request.method=GET
S c 15 55 k=SERVER s=recs a=http.request.method=GET a=http.route=/recs ra=service.criticality=%s
`
	for _, row := range []struct {
		criticality, policy string
		required            bool
		basis               Basis
		share               Quantile
	}{
		{"low", "", false, BasisHint, FalseTimeoutsOptional},
		{"high", "", true, BasisHint, FalseTimeoutsRequired},
		{"medium", "", true, BasisNone, FalseTimeoutsRequired},
		{"low", "dependencies: [{callee: recs, required: true}]", true, BasisPolicy, FalseTimeoutsRequired},
		{"low", "dependencies: [{callee: recs, attempts: 1}]", true, BasisNone, FalseTimeoutsRequired},
		{"high", "dependencies: [{callee: recs, required: false}]", false, BasisPolicy, FalseTimeoutsOptional},
	} {
		dump := worked(t, strings.ReplaceAll(fmt.Sprintf(trace, row.criticality), "ra=service.criticality="+row.criticality, ""))
		for i := range dump.Traces[0].Spans {
			if s := &dump.Traces[0].Spans[i]; s.Resource.Service == "recs" {
				s.Resource.Attrs = append(s.Resource.Attrs, ingest.Attr{Key: "service.criticality", Value: row.criticality})
			}
		}
		d := suggested(t, dump, row.policy).Dependencies[0]
		want(t, row.criticality+" under "+row.policy, []any{d.Required, d.RequiredBasis, d.FalseTimeouts}, []any{row.required, row.basis, row.share})
	}
}

func TestSuggestAgain(t *testing.T) {
	// 3 of 100 attempts fail; answers take 10 ms, and 4 of them 100.
	var traces []string
	for i := range 100 {
		took, status := 10, ""
		if i < 4 {
			took = 100
		} else if i < 7 {
			status = "a=http.response.status_code=503 st=ERROR"
		}
		traces = append(traces, fmt.Sprintf("R - 0 %d k=SERVER s=web\nc R 0 %d k=CLIENT s=web a=http.request.method=METHOD a=peer.service=b %s\n", took+5, took, status))
	}
	for _, row := range []struct {
		name, method, policy string
		hedge                time.Duration // that the report suggests
		want                 string        // why, attempts and hedge in force, refused
	}{
		{"read that fails", "GET", "", 0, "retry 2 0s []"},
		{"read that fails more often than it is slow", "GET", "", ms(50), "retry 2 0s []"},
		{"read that is slow more often than it fails", "GET", "", ms(50), "hedge 1 50ms []"},
		{"read that is slow more often, and the policy wants none", "GET", "dependencies: [{attempts: 1}]", ms(50), "hedge 1 0s []"},
		{"write that fails", "POST", "", ms(50), "unsafe 1 0s []"},
		{"write with a policy of retries", "POST", "dependencies: [{attempts: 3}]", 0, "unsafe 1 0s [attempts]"},
		{"write with a policy of hedges", "POST", "dependencies: [{hedge_after: 5ms}]", 0, "unsafe 1 0s [hedge_after]"},
		{"write that is safe", "POST", "dependencies: [{safe: true, attempts: 3}]", 0, "retry 3 0s []"},
		{"read that is not", "GET", "dependencies: [{safe: false}]", ms(50), "unsafe 1 0s []"},
		{"read with no room", "GET", "dependencies: [{ceiling: 25ms}]", 0, "no-room 1 0s []"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := policy(t, row.policy)
			var texts []string
			for _, text := range traces {
				texts = append(texts, strings.ReplaceAll(text, "METHOD", row.method))
			}
			a := Run(worked(t, texts...), Options{Policy: p})
			r := &a.Report.Dependencies[0]
			if r.HedgeAfter = nil; row.hedge > 0 {
				r.HedgeAfter = &row.hedge
			}
			if strings.Contains(row.name, "slow more often") {
				share := 0.04 // what a ceiling of 99 ms would cut
				r.CeilingShareCut = &share
			}
			s, err := a.Suggest()
			if err != nil {
				t.Fatal(err)
			}
			d := s.Dependencies[0]
			want(t, "again", fmt.Sprintf("%s %d %v %v", d.Again, d.Attempt, d.Hedge(), d.Refused), row.want)
		})
	}
}

func TestAmplified(t *testing.T) {
	// Three levels with two attempts each: up to eight calls at the bottom.
	s := suggested(t, worked(t, `
R - 0 100 k=SERVER s=a
x R 5 95 k=CLIENT s=a
X x 6 94 k=SERVER s=b
y X 10 90 k=CLIENT s=b
Y y 11 89 k=SERVER s=c
z Y 15 85 k=CLIENT s=c
Z z 16 84 k=SERVER s=d
`), "dependencies: [{attempts: 2, safe: true, ceiling: 300ms}]")
	list := s.Amplified()
	want(t, "chains", len(list), 1)
	var names []string
	for _, d := range list[0].Path {
		names = append(names, d.Callee)
	}
	want(t, "chain", strings.Join(names, " ")+fmt.Sprint(" ", list[0].Attempts), "b c d 8")
	one := suggested(t, worked(t, checked), "dependencies: [{attempts: 2, safe: true, ceiling: 300ms}]")
	want(t, "one level", len(one.Amplified()), 0)
}

func TestCallGraph(t *testing.T) {
	// Of 40 requests all make a and then b; half of them c beside both; one d; and 25 make
	// e and f, in either order.
	var traces []string
	for i := range 40 {
		text := "R - 0 100 k=SERVER s=web\na R 0 10 k=CLIENT s=web a=peer.service=a\nb R 20 30 k=CLIENT s=web a=peer.service=b\n"
		if i%2 == 0 {
			text += "c R 5 25 k=CLIENT s=web a=peer.service=c\n"
		}
		if i == 0 {
			text += "d R 40 50 k=CLIENT s=web a=peer.service=d\n"
		}
		if i < 25 {
			first, second := "e", "f"
			if i%2 == 0 {
				first, second = second, first
			}
			text += fmt.Sprintf("%s R 60 70 k=CLIENT s=web a=peer.service=%[1]s\n%s R 80 90 k=CLIENT s=web a=peer.service=%[2]s\n", first, second)
		}
		traces = append(traces, text)
	}
	s := suggested(t, worked(t, traces...), "")
	g := s.Routes[0].graph
	name := func(n graphNode) string {
		for _, d := range s.Dependencies {
			if d.dep == n.dep {
				return d.Callee
			}
		}
		return "?"
	}
	var got []string
	for _, n := range g.nodes {
		text := name(n) + ":"
		for _, b := range n.before {
			text += " " + name(g.nodes[b])
		}
		got = append(got, text)
	}
	want(t, "graph", got, []string{"a:", "c:", "b: a", "f: a c b", "e: a c b"})
	want(t, "seldom", g.seldom, 1)
}

func TestPlanWithoutCeilings(t *testing.T) {
	// Both calls failed, so that nothing is known of them: the first may take all.
	_, err := suggested(t, worked(t, `
R - 0 100 k=SERVER s=web a=http.request.method=GET a=http.route=/
p R 0 30 k=CLIENT s=web a=http.request.method=GET a=peer.service=prices st=ERROR
c R 30 80 k=CLIENT s=web a=http.request.method=GET a=peer.service=recs st=ERROR
`), "deadlines: [{deadline: 200ms, reserve: 20ms}]").Plans()
	want(t, "error", fmt.Sprint(err), "web GET /: nothing is left for required calls whose minimum is not known (1), since calls without a ceiling may take all: write ceilings for prices GET, recs GET, or minimums")
}

func TestSuggestHedge(t *testing.T) {
	// 96 of 100 answers take 10 ms, 4 take 100: p95 is 10 ms, and a copy sent then would be
	// for 4 % of the calls. Two instances answer. The ceiling, 100 ms and 20 %, rounds to 120.
	trace := func(method string) (list []string) {
		for i := range 100 {
			took := 10
			if i%25 == 0 {
				took = 100
			}
			list = append(list, fmt.Sprintf(`
R - 0 %d k=SERVER s=web a=http.request.method=GET a=http.route=/
c R 0 %d k=CLIENT s=web a=http.request.method=%s
S c 1 %d k=SERVER s=b h=%s a=http.request.method=%[3]s a=http.route=/b
`, took+5, took, method, took-1, []string{"one", "two"}[i%2]))
		}
		return list
	}
	const deadline = "deadlines: [{service: web, deadline: 300ms}]"
	d := suggested(t, worked(t, trace("GET")...), deadline).Dependencies[0]
	want(t, "GET", []any{d.Again, d.Hedge(), d.Attempt, d.NewRule().HedgeAfter, *d.Ceiling.Measured}, []any{AgainHedge, ms(10), 1, ms(10), ms(120)})
	d = suggested(t, worked(t, trace("POST")...), deadline).Dependencies[0]
	want(t, "POST", []any{d.Again, d.Hedge(), d.Attempt, d.NewRule().HedgeAfter}, []any{AgainUnsafe, ms(0), 1, ms(0)})
}

// Requests of very many calls: what is looked at does not grow with the square of
// their number.
func TestCallGraphOfWideRequests(t *testing.T) {
	var b strings.Builder
	b.WriteString("# units = microseconds\nR - 0 20000 k=SERVER s=web\n")
	for i := range 10_000 {
		fmt.Fprintf(&b, "c%d R %d %d k=CLIENT s=web a=peer.service=b\n", i, i, i+1)
	}
	shape, err := parseShape("wide", b.String())
	if err != nil {
		t.Fatal(err)
	}
	dump := &ingest.Dump{}
	for i := range 5 {
		dump.Traces = append(dump.Traces, ingest.NewTrace(ingest.TraceID{15: byte(i + 1)}, shapeBase, shape.spans()))
	}
	s := suggested(t, dump, "")
	if n := len(s.Routes[0].graph.nodes); n != maxNodes {
		t.Errorf("%d nodes, want the %d that are tracked", n, maxNodes)
	}
}
