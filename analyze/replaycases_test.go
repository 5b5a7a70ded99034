package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"overrun/ingest"
)

// Worked cases of the replay, from seeds.md and spec.md; 1 unit = 1 ms.

// replayed replays a dump, which has one route.
func replayed(t *testing.T, dump *ingest.Dump, rules string, o ReplayOptions) (*ReplayReport, *ReplayRoute) {
	t.Helper()
	options := Options{}
	if rules != "" {
		options.Policy = policy(t, rules)
	}
	r, err := Run(dump, options).Replay(o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Routes) != 1 {
		t.Fatalf("%d routes, want 1", len(r.Routes))
	}
	return r, &r.Routes[0]
}

// chainShape is a request of seeds.md, section 1: A, then B, then C, then 20 ms of
// own work.
func chainShape(a, b, c float64) string {
	return fmt.Sprintf(`
R - 0 %v k=SERVER s=front
A R 0 %v k=CLIENT s=front a=http.request.method=GET a=peer.service=a a=http.response.status_code=200
B R %[2]v %[3]v k=CLIENT s=front a=http.request.method=GET a=peer.service=b a=http.response.status_code=200
C R %[3]v %v k=CLIENT s=front a=http.request.method=GET a=peer.service=c a=http.response.status_code=200
`, a+b+c+20, a, a+b, a+b+c)
}

// sharedDeadline is the table of seeds.md, section 1.
const sharedDeadline = `
deadlines: [{deadline: 200ms, reserve: 20ms}]
dependencies:
- {callee: a, minimum: 10ms, ceiling: 50ms}
- {callee: b, minimum: 30ms, ceiling: 110ms}
- {callee: c, minimum: 25ms, ceiling: 60ms, required: false}
`

// fixedSplit is the split of it that breaks.
const fixedSplit = `
timeouts: fixed
deadlines: [{deadline: 200ms}]
dependencies:
- {callee: a, ceiling: 40ms}
- {callee: b, ceiling: 100ms}
- {callee: c, ceiling: 40ms, required: false}
`

func TestReplayChain(t *testing.T) {
	for _, row := range []struct {
		name    string
		a, b, c float64
		policy  string
		end     time.Duration
		ended   Ended
		skipped int
	}{
		{"shared deadline", 10, 105, 25, sharedDeadline, ms(160), Complete, 0},
		{"shared deadline, late B", 48, 108, 30, sharedDeadline, ms(176), PartlyOK, 1},
		{"shared deadline, A beyond its ceiling", 55, 60, 25, sharedDeadline, ms(50), Failed, 0},
		{"fixed split", 10, 105, 25, fixedSplit, ms(110), Failed, 0}, // cut at 10 + 100, and no error tail was recorded
		{"fixed split, fast", 10, 95, 25, fixedSplit, ms(150), Complete, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, r := replayed(t, worked(t, chainShape(row.a, row.b, row.c)), row.policy, ReplayOptions{})
			m := r.Replayed
			latency, counts := m.Latency, []int{m.Complete, m.Partial, m.Failed}
			if row.ended == Failed {
				latency = m.LatencyFailed
			}
			want(t, "end", *latency.P50.Point, row.end)
			// Whatever is drawn of one request is that request.
			want(t, "interval", []time.Duration{*latency.P50.Low, *latency.P50.High}, []time.Duration{row.end, row.end})
			want(t, "complete, partial, failed", counts, map[Ended][]int{Complete: {1, 0, 0}, PartlyOK: {0, 1, 0}, Failed: {0, 0, 1}}[row.ended])
			want(t, "skipped", m.Skipped, row.skipped)
			want(t, "ranges", []int{m.Drawn, m.Bounded}, []int{0, 0})
		})
	}
}

// TestReplayCut: where nothing limits a call, one that gets no answer fails when it would have
// answered, and with it its request: no error tail was recorded.
func TestReplayCut(t *testing.T) {
	_, r := replayed(t, worked(t, chainShape(10, 60, 25)), "", ReplayOptions{Changes: []Change{{Kind: Failing, Name: "b", Share: whole}}})
	m := r.Replayed
	want(t, "complete, failed, cut", []int{m.Complete, m.Failed, m.Cut}, []int{0, 1, 1})
	want(t, "end", *m.LatencyFailed.P50.Point, ms(70))

	// Half of them: of each of the 40 that call b a draw decides, of those it spares too; of the 5 that
	// do not none does.
	shapes := append(slices.Repeat([]string{chainShape(10, 60, 25)}, 40), slices.Repeat([]string{`
R - 0 30 k=SERVER s=front
A R 0 10 k=CLIENT s=front a=http.request.method=GET a=peer.service=a a=http.response.status_code=200
`}, 5)...)
	_, r = replayed(t, worked(t, shapes...), "", ReplayOptions{Seed: 1, Changes: []Change{{Kind: Failing, Name: "b", Share: whole / 2}}})
	m = r.Replayed
	want(t, "all, drawn, ranges", []int{m.Complete + m.Failed, m.Drawn, m.Bounded}, []int{45, 40, 0})
	if m.Failed < 8 || m.Failed > 32 || m.Cut != m.Failed { // of Bin(40, 1/2) all but 1 in 8000
		t.Errorf("%d failed, %d cut, want about 20", m.Failed, m.Cut)
	}
}

// TestReplayDonor: 2 chains whose B is cut at 100 by a fixed timeout, and 30
// that are whole. With a longer timeout B takes what the curve says beyond 100 (105,
// in all of the answers there), C comes from a donor: 25, and 20 of own work.
func TestReplayDonor(t *testing.T) {
	const failing = `
R - 0 115 k=SERVER s=front st=ERROR
A R 0 10 k=CLIENT s=front a=http.request.method=GET a=peer.service=a a=http.response.status_code=200
B R 10 110 k=CLIENT s=front a=http.request.method=GET a=peer.service=b a=error.type=timeout st=ERROR
`
	var shapes []string
	for range 30 {
		shapes = append(shapes, chainShape(10, 60, 25))
	}
	shapes = append(shapes, chainShape(10, 105, 25), failing, failing)
	r, route := replayed(t, worked(t, shapes...), "", ReplayOptions{Seed: 3, Changes: []Change{{Kind: Timeout, Name: "b", Timeout: ms(2000)}}})
	want(t, "observed", []int{route.Observed.Complete, route.Observed.Failed, route.Observed.Cut}, []int{31, 2, 2})
	m := route.Replayed
	want(t, "replayed", []int{m.Complete, m.Failed, m.Cut, m.Drawn, m.Bounded}, []int{33, 0, 0, 2, 0})
	want(t, "saved", []int{route.Saved.Worst, route.Saved.Best}, []int{2, 2})
	want(t, "calls", []int{route.Observed.Calls, m.Calls}, []int{3*31 + 2*2, 3 * 33})
	// 10 + 105 + 25 + 20: what the whole one takes, and now the failed ones.
	want(t, "the slowest", *m.Latency.P999.Point, ms(160))
	want(t, "of all 33, the slowest three", *m.Latency.P95.Point, ms(160))
	if r.Timeout == nil {
		t.Fatal("no answer about the timeout")
	}
	want(t, "calls to b", r.Timeout.Calls, 33)
	// Bound now: (30 * 60 + 105 + 2 * 100) / 33; then (30 * 60 + 3 * 105) / 33.
	want(t, "bound", []time.Duration{r.Timeout.BoundNow, r.Timeout.BoundThen, r.Timeout.BoundAll}, []time.Duration{ms(2105) / 33, ms(2115) / 33, ms(2000)})
	// 33 calls in 33 requests; sampling is not known: per 100 requests a second.
	if got := r.Timeout.WorkersAll; !r.Timeout.Per100 || math.Abs(got-200) > 1e-9 {
		t.Errorf("workers if b answers no more: %v, want 200 for every 100 requests a second", got)
	}

	// All at once, C of the donor too: 105, and 20 of own work.
	_, route = replayed(t, worked(t, shapes...), "", ReplayOptions{Seed: 3, Order: Parallel, Changes: []Change{{Kind: Timeout, Name: "b", Timeout: ms(2000)}}})
	want(t, "all at once: complete", route.Replayed.Complete, 33)
	want(t, "all at once: of all 33, the slowest three", []time.Duration{*route.Replayed.Latency.P95.Point, *route.Replayed.Latency.P999.Point}, []time.Duration{ms(125), ms(125)})
}

// TestReplayOfSkipped: the second chain of seeds.md, section 1, with B twice as fast. A takes 48
// and B 54, so that there is time for what was skipped at 156: a donor tells how long it takes.
// The donors take A 10, B 60, C 25, and so on: their own start does not count.
func TestReplayOfSkipped(t *testing.T) {
	const call = "%s R %v %v k=CLIENT s=front a=http.request.method=GET a=peer.service=%[1]s a=http.response.status_code=200\n"
	request := func(end float64, calls ...any) string {
		text := fmt.Sprintf("\nR - 0 %v k=SERVER s=front\n", end)
		for i := 0; i < len(calls); i += 3 {
			text += fmt.Sprintf(call, calls[i:i+3]...)
		}
		return text
	}
	const optionalD = "- {callee: d, minimum: 25ms, ceiling: 60ms, required: false}\n"
	late := request(176, "a", 0, 48, "b", 48, 156)
	for _, row := range []struct {
		name   string
		usual  string
		donors []string // of which one is taken
		late   string
		policy string
		order  Arrangement
		end    float64
	}{
		{name: "one call", usual: chainShape(10, 60, 25), late: late, policy: sharedDeadline,
			end: 48 + 54 + 25 + 20},
		// The donors do 3 of own work between B and C, which then comes after the calls.
		{name: "one call, all at once", usual: request(118, "a", 0, 10, "b", 10, 70, "c", 73, 98), late: late, policy: sharedDeadline, order: Parallel,
			end: 54 + 3 + 20},
		{name: "two calls, the second after the first", late: late, policy: sharedDeadline + optionalD,
			usual: request(145, "a", 0, 10, "b", 10, 70, "c", 70, 95, "d", 95, 125),
			end:   48 + 54 + 25 + 30 + 20},
		// What the donors did between, and the late request did not, gives way to what it waited
		// for: B. They are those that call X beside A; only they call E, too fast to be skipped.
		{name: "after a call that is not there", usual: chainShape(10, 60, 20), policy: sharedDeadline,
			donors: slices.Repeat([]string{request(117, "a", 0, 10, "x", 0, 5, "b", 10, 70, "e", 70, 72, "c", 72, 97)}, 3),
			late:   request(176, "a", 0, 48, "x", 0, 5, "b", 48, 156),
			end:    48 + 54 + 25 + 20},
		// Whose C failed is no donor.
		{name: "donors that were answered", policy: sharedDeadline, donors: []string{chainShape(10, 60, 25)}, late: late,
			usual: strings.Replace(chainShape(10, 60, 20), "=c a=http.response.status_code=200", "=c a=http.response.status_code=503 st=ERROR", 1),
			end:   48 + 54 + 25 + 20},
	} {
		shapes := append(slices.Repeat([]string{row.usual}, 30), row.donors...)
		for seed := range uint64(5) {
			_, route := replayed(t, worked(t, append(shapes, row.late)...), row.policy,
				ReplayOptions{Seed: seed, Order: row.order, Changes: []Change{{Kind: Faster, Name: "b", Factor: 2}}})
			want(t, row.name+": skipped before", route.Observed.Skipped > 0, true)
			m := &route.Replayed
			want(t, row.name+": partial, skipped, drawn, ranges", []int{m.Partial - route.Observed.Partial, m.Skipped, m.Drawn, m.Bounded}, []int{-1, 0, 1, 0})
			want(t, row.name+": the slowest", *m.Latency.P999.Point, ms(row.end))
		}
	}
}

// TestReplayDonorsThatFit: as in TestReplayDonor. Of those that are whole one has a C of 25, with which
// the two whose B is cut take 10 + 105 + 25 + 20; the others, whose C takes 15, are no donors.
func TestReplayDonorsThatFit(t *testing.T) {
	const (
		failing = `
R - 0 115 k=SERVER s=front st=ERROR
A R 0 10 k=CLIENT s=front a=http.request.method=GET a=peer.service=a a=http.response.status_code=200
B R 10 110 k=CLIENT s=front a=http.request.method=GET a=peer.service=b a=error.type=timeout st=ERROR
`
		another = "Y R 10 30 k=CLIENT s=front a=http.request.method=GET a=peer.service=y a=http.response.status_code=200\n"
		left    = "X R 170 190 k=CLIENT s=front a=http.request.method=GET a=peer.service=x a=http.response.status_code=503 st=ERROR\n"
	)
	for _, row := range []struct{ name, other, failing, whole string }{
		{"a call failed that is here", strings.Replace(chainShape(10, 60, 15), "=a a=http.response.status_code=200", "=a a=http.response.status_code=503 st=ERROR", 1),
			failing, chainShape(10, 105, 25)},
		{"a call that is not here began before B ended", chainShape(10, 60, 15) + another, failing, chainShape(10, 105, 25)},
		{"a call after the end may fail", chainShape(10, 60, 25) + left, failing + left, chainShape(10, 105, 25) + left},
	} {
		shapes := append(slices.Repeat([]string{row.other}, 30), row.whole, row.failing, row.failing)
		_, route := replayed(t, worked(t, shapes...), "", ReplayOptions{Changes: []Change{{Kind: Timeout, Name: "b", Timeout: ms(2000)}}})
		m := &route.Replayed
		want(t, row.name+": saved, drawn, ranges", []int{route.Saved.Worst, m.Drawn, m.Bounded}, []int{2, 2, 0})
		want(t, row.name+": the slowest three of 33", *m.Latency.P95.Point, ms(160))
	}
}

// TestReplayDrawsDonors: which donor is taken depends on the seed. C of the donors takes 25 or
// 45, as in TestReplayOfSkipped after 48 + 54, and before 20.
func TestReplayDrawsDonors(t *testing.T) {
	shapes := append(slices.Repeat([]string{chainShape(10, 60, 25), chainShape(10, 60, 45)}, 15), `
R - 0 176 k=SERVER s=front
A R 0 48 k=CLIENT s=front a=http.request.method=GET a=peer.service=a a=http.response.status_code=200
B R 48 156 k=CLIENT s=front a=http.request.method=GET a=peer.service=b a=http.response.status_code=200
`)
	ends := map[time.Duration]bool{}
	for seed := range uint64(20) {
		_, route := replayed(t, worked(t, shapes...), sharedDeadline,
			ReplayOptions{Seed: seed, Changes: []Change{{Kind: Faster, Name: "b", Factor: 2}}})
		ends[*route.Replayed.Latency.P999.Point] = true
	}
	want(t, "ends", ends, map[time.Duration]bool{ms(147): true, ms(167): true})
}

// TestReplayOrderUnderPolicy: a 0 … A, b 1 … B, then 20 ms of own work, under the shared deadline of
// 100 ms. Arranged anew a call reserves what then comes after it: one after the other, a
// leaves time for the minimum of b, 30. A call that nobody waited for stays where it was, and counts
// for nothing.
func TestReplayOrderUnderPolicy(t *testing.T) {
	const rules = `
deadlines: [{deadline: 100ms, reserve: 20ms}]
dependencies:
- {callee: a, minimum: 10ms, ceiling: 90ms}
- {callee: b, minimum: 30ms, ceiling: 90ms, required: %v}
- {callee: x, minimum: 40ms, ceiling: 90ms}
`
	const aside = "x R 0 150 k=CLIENT s=front a=http.request.method=GET a=peer.service=x a=http.response.status_code=200\n"
	for _, row := range []struct {
		name     string
		a, b     float64
		beside   string
		order    Arrangement
		optional bool
		end      float64
		ended    Ended
	}{
		{name: "in sequence, a needs more than 100 - 20 - 30", a: 60, b: 71, order: Sequential, end: 50, ended: Failed},
		{name: "in sequence, to the last", a: 50, b: 31, order: Sequential, end: 50 + 30 + 20, ended: Complete},
		{name: "in sequence, beside a call of no account", a: 50, b: 31, beside: aside, order: Sequential, end: 50 + 30 + 20, ended: Complete},
		{name: "in sequence, b needs more than 100 - 50 - 20", a: 50, b: 32, order: Sequential, end: 50 + 30, ended: Failed},
		{name: "in sequence, nothing is kept for an optional b", a: 60, b: 71, order: Sequential, optional: true, end: 60 + 20, ended: PartlyOK},
		{name: "side by side, a has 100 - 20", a: 60, b: 71, order: Parallel, end: 70 + 20, ended: Complete},
	} {
		shape := fmt.Sprintf(`
R - 0 %v k=SERVER s=front
a R 0 %v k=CLIENT s=front a=http.request.method=GET a=peer.service=a a=http.response.status_code=200
b R 1 %v k=CLIENT s=front a=http.request.method=GET a=peer.service=b a=http.response.status_code=200
`, max(row.a, row.b)+20, row.a, row.b) + row.beside
		_, route := replayed(t, worked(t, shape), fmt.Sprintf(rules, !row.optional), ReplayOptions{Order: row.order})
		m := &route.Replayed
		latency := &m.Latency
		if row.ended == Failed {
			latency = &m.LatencyFailed
		}
		want(t, row.name+": complete, partial, failed", []int{m.Complete, m.Partial, m.Failed},
			map[Ended][]int{Complete: {1, 0, 0}, PartlyOK: {0, 1, 0}, Failed: {0, 0, 1}}[row.ended])
		if latency.P50.Point != nil {
			want(t, row.name+": took", *latency.P50.Point, ms(row.end))
		}
	}
}

// TestFindCause: of a request that failed at 100 the required call whose failure ended it is the first
// to end among those after whose end none began. What was cut then or later is a consequence.
func TestFindCause(t *testing.T) {
	a := &Analysis{deps: []*depTable{{required: true}, {}}}
	call := func(start, end float64, o Outcome) piece {
		return piece{start: ms(start), length: ms(end - start), outcome: o}
	}
	optional := call(10, 50, Failure)
	optional.dep = 1
	for _, test := range []struct {
		name   string
		pieces []piece
		cause  int32
		after  []int // of pieces
	}{
		{"another began later", []piece{call(10, 50, Failure), call(50.1, 90, OutcomeOK)}, -1, nil},
		{"the later one", []piece{call(10, 50, Failure), call(60, 90, Failure)}, 1, nil},
		{"the first to end, first", []piece{call(10, 50, Failure), call(10, 60, Failure)}, 0, nil},
		{"the first to end, second", []piece{call(10, 60, Failure), call(20, 55, Failure)}, 1, nil},
		{"at once, the one that was not cancelled, first", []piece{call(10, 50, Failure), call(0, 50, CancelledCaller)}, 0, []int{1}},
		{"at once, the one that was not cancelled, second", []piece{call(0, 50, CancelledCaller), call(10, 50, Failure)}, 1, []int{0}},
		{"at once, both cancelled", []piece{call(0, 50, CancelledCaller), call(10, 50, CancelledCaller)}, 0, []int{1}},
		{"cancelled before", []piece{call(0, 49, CancelledCaller), call(10, 50, Failure)}, 0, nil},
		{"an optional call", []piece{optional}, -1, nil},
		{"answers, and the loser of a race", []piece{call(10, 50, OutcomeOK), call(10, 50, NoData), call(10, 50, CancelledRace)}, -1, nil},
		{"1 ms after the end", []piece{call(10, 101, ReadTimeout)}, 0, nil},
		{"more than 1 ms after the end", []piece{call(10, 101.1, ReadTimeout)}, -1, nil},
		{"consequences", []piece{call(10, 50, Failure), call(10, 50.2, CancelledCaller), call(10, 50.2, CancelledRace), call(10, 60, ReadTimeout),
			call(10, 50.2, Failure), call(10, 60, OutcomeOK)}, 0, []int{1, 2, 3}},
	} {
		g := record{failed: true, duration: ms(100), cause: -1, pieces: test.pieces, predAt: make([]int32, len(test.pieces)+2)}
		g.findCause(a)
		var after []int
		for i := range g.pieces {
			if g.pieces[i].after {
				after = append(after, i)
			}
		}
		want(t, test.name+": cause", g.cause, test.cause)
		want(t, test.name+": consequences", after, test.after)
	}
}

// TestReplayOrderOfCuts: a failed at 30 and cut b short, which had begun before it. In sequence b is
// cut after the same time (recorded cuts stay cut), a fails 29 later, and the request ends 2 after
// that. As recorded, but with a twice as slow, it fails at 1 + 58.
func TestReplayOrderOfCuts(t *testing.T) {
	for _, b := range []float64{30, 30.5} { // a clock may count whole milliseconds
		dump := worked(t, fmt.Sprintf(`
R - 0 32 k=SERVER s=front st=ERROR
b R 0 %v k=CLIENT s=front a=http.request.method=GET a=peer.service=b st=CANCELLED
a R 1 30 k=CLIENT s=front a=http.request.method=GET a=peer.service=a a=http.response.status_code=503 st=ERROR
`, b))
		_, route := replayed(t, dump, "", ReplayOptions{Order: Sequential})
		want(t, "failed", route.Replayed.Failed, 1)
		want(t, "took", *route.Replayed.LatencyFailed.P50.Point, ms(b+29+2))
		_, route = replayed(t, dump, "", ReplayOptions{Changes: []Change{{Kind: Slower, Name: "a", Factor: 2}}})
		want(t, "took with a slower", *route.Replayed.LatencyFailed.P50.Point, ms(59+2))
	}
}

// TestReplayRange: every cut is at one value, and no answer takes longer: how long
// the cut ones would have taken is not known.
func TestReplayRange(t *testing.T) {
	const failing = `
R - 0 115 k=SERVER s=front st=ERROR
A R 0 10 k=CLIENT s=front a=http.request.method=GET a=peer.service=a a=http.response.status_code=200
B R 10 110 k=CLIENT s=front a=http.request.method=GET a=peer.service=b a=error.type=timeout st=ERROR
`
	var shapes []string
	for range 30 {
		shapes = append(shapes, chainShape(10, 60, 25))
	}
	shapes = append(shapes, failing, failing, failing)
	_, route := replayed(t, worked(t, shapes...), "", ReplayOptions{Changes: []Change{{Kind: Timeout, Name: "b", Timeout: ms(2000)}}})
	want(t, "saved", []int{route.Saved.Worst, route.Saved.Best}, []int{0, 3})
	want(t, "ranges", route.Replayed.Bounded, 3)
	want(t, "failed at the worst and the best", []int{route.Replayed.Failed, route.ReplayedAtBest.Failed}, []int{3, 0})
	want(t, "failed, at the worst: 10, 2000 of waiting, 5 after it", *route.Replayed.LatencyFailed.P50.Point, ms(2015))
	want(t, "at the best: 10, 100, 25 of a donor, 20", *route.ReplayedAtBest.Latency.P999.Point, ms(155))

	// Without a request that got so far there is no donor either.
	_, route = replayed(t, worked(t, failing, failing), "", ReplayOptions{Changes: []Change{{Kind: Timeout, Name: "b", Timeout: ms(2000)}}})
	want(t, "ranges without a donor", route.Replayed.Bounded, 2)
	want(t, "saved without a donor", []int{route.Saved.Worst, route.Saved.Best}, []int{0, 2})
}

// TestReplayLearnsOrder: two independent pairs of calls, a1 then a2, b1 then b2. b1
// ten times faster moves b2, and a2 not, although in many traces a2 also began
// after b1 had ended.
func TestReplayLearnsOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	some := func(from, to int) float64 { return float64(from*1000+rng.IntN((to-from)*1000)) / 1000 }
	var shapes []string
	var truth []float64
	end := func(a1, a2, b1, b2 float64) float64 { return max(a1+1+a2, b1+2+b2) + 5 }
	shape := func(a1, a2, b1, b2 float64) string {
		line := func(name string, from, to float64) string {
			return fmt.Sprintf("%s R %.3f %.3f k=CLIENT s=front a=http.request.method=GET a=peer.service=%[1]s a=http.response.status_code=200\n", name, from, to)
		}
		return fmt.Sprintf("\nR - 0 %.3f k=SERVER s=front\n", end(a1, a2, b1, b2)) +
			line("a1", 0, a1) + line("a2", a1+1, a1+1+a2) + line("b1", 0, b1) + line("b2", b1+2, b1+2+b2)
	}
	timing := 0
	for range 200 {
		a1, a2, b1, b2 := some(20, 80), some(5, 40), some(20, 80), some(5, 40)
		shapes = append(shapes, shape(a1, a2, b1, b2))
		truth = append(truth, end(a1, a2, b1/10, b2))
		if b1 <= a1+1 { // in this trace a2 seems to wait for b1, too
			timing++
		}
	}
	check := func(shapes []string, name string, exact bool) {
		dump := worked(t, shapes...)
		a := Run(dump, Options{})
		r, p := startReplay(t, a, ReplayOptions{Changes: []Change{{Kind: Faster, Name: "b1", Factor: 10}}})
		var g record
		wrong, k := 0, 0
		r.visit(func(q *request) {
			p.replayRoute = r.routes[q.table]
			a.record(q, &g)
			got := p.play(&g, &r.scenarios[0], worst).end
			if d := got - ms(truth[k]); d > time.Microsecond || d < -time.Microsecond {
				wrong++
			}
			k++
		})
		if exact && wrong > 0 {
			t.Errorf("%s: %d of %d replays are wrong", name, wrong, k)
		}
		if !exact && wrong == 0 {
			t.Errorf("%s: all %d replays are right: the case shows nothing", name, k)
		}
	}
	if timing < 20 {
		t.Fatalf("only in %d requests does a2 begin after b1: the case shows nothing", timing)
	}
	check(shapes, "learned from 200 requests", true)
	// One trace at a time shows an order that is none.
	wrong := false
	for i := range shapes[:40] {
		a := Run(worked(t, shapes[i]), Options{})
		r, err := a.Replay(ReplayOptions{Changes: []Change{{Kind: Faster, Name: "b1", Factor: 10}}})
		if err != nil {
			t.Fatal(err)
		}
		got := *r.Routes[0].Replayed.Latency.P50.Point
		wrong = wrong || got-ms(truth[i]) > time.Microsecond || got-ms(truth[i]) < -time.Microsecond
		if !slices.Contains(r.Routes[0].Warnings, OrderByTiming) {
			t.Errorf("request %d: no warning that its own times decide", i)
		}
	}
	if !wrong {
		t.Error("the order seen in one trace is right everywhere: the case shows nothing")
	}
}

// Each request counts as one in a replay: where that is not what they stand for, it says so.
func TestReplayNotWeighted(t *testing.T) {
	shape := func(weight string) string {
		return strings.ReplaceAll("R - 0 100 k=SERVER s=front WEIGHT\nA R 0 80 k=CLIENT s=front a=peer.service=a\n", "WEIGHT", weight)
	}
	for _, row := range []struct {
		weights []string
		want    bool
	}{
		{[]string{"", ""}, false},
		{[]string{"a=SampleRate=10", "a=SampleRate=10"}, false}, // shares are those of all
		{[]string{"a=SampleRate=10", "a=SampleRate=20"}, true},
		{[]string{"a=SampleRate=10", ""}, true},
		{[]string{"a=SampleRate=1", ""}, true},
	} {
		var shapes []string
		for _, w := range row.weights {
			shapes = append(shapes, shape(w))
		}
		r, err := Run(worked(t, shapes...), Options{}).Replay(ReplayOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(r.Routes[0].Warnings, NotWeighted); got != row.want {
			t.Errorf("weights %q: warned %t, want %t", row.weights, got, row.want)
		}
	}
}

// TestTheoryIsIndependence: analyze and replay say the same of independent branches. Of 200
// requests with two parallel calls 20 time out, because b is cut at the deadline: late or
// timed out would be 1 - 200/200 x 180/200 = 10 %, and 10 % are. The interval is that of
// 180 of 200 (85.0 to 93.8 %: tables of Clopper and Pearson) and 200 of 200 (98.2 % =
// 0.025^(1/200) and more) together: log low = log 0.9 - sqrt(log²(0.9/0.850) +
// log²(1/0.982)), high = 0.938.
func TestTheoryIsIndependence(t *testing.T) {
	shape := func(end int, status, b string) string {
		return fmt.Sprintf(`
R - 0 %d k=SERVER s=web a=http.response.status_code=%s
a R 0 50`+get+`a=peer.service=a a=http.response.status_code=200
b R 0 %d`+get+`a=peer.service=b %s
`, end, status, end-10, b)
	}
	var texts []string
	for i := range 200 {
		if i%10 == 3 {
			texts = append(texts, shape(210, "504", "st=ERROR a=error.type=timeout"))
		} else {
			texts = append(texts, shape(100, "200", "a=http.response.status_code=200"))
		}
	}
	a := Run(worked(t, texts...), Options{Deadline: ms(200)})
	in := a.Report.Routes[0].Independence
	r, err := a.Replay(ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := r.Routes[0].Theory
	if in == nil || got == nil || got.Late != in.Predicted || got.Observed != in.Observed || got.Requests != in.Requests || got.Branches != len(in.Branches) {
		t.Fatalf("replay says %+v, analyze %+v, want the same", got, in)
	}
	if math.Abs(got.Late-.1) > 1e-9 || math.Abs(got.Observed-.1) > 1e-9 || got.Requests != 200 {
		t.Errorf("%+v, want 10 %% of 200 in theory and observed", got)
	}
	low := .9 * math.Exp(-math.Hypot(math.Log(.9/.850), math.Log(1/.982)))
	if math.Abs(got.Low-(1-.938)) > .001 || math.Abs(got.High-(1-low)) > .001 {
		t.Errorf("%.4f to %.4f, want %.4f to %.4f", got.Low, got.High, 1-.938, 1-low)
	}
}

// TestReplayNeverRepeatsWrites: a POST without safe: true has its one attempt,
// whatever the policy says; a GET next to it is repeated.
func TestReplayNeverRepeatsWrites(t *testing.T) {
	shape := func(method string) string {
		return fmt.Sprintf(`
R - 0 100 k=SERVER s=front
A R 0 80 k=CLIENT s=front a=http.request.method=%s a=peer.service=a a=http.response.status_code=503 st=ERROR
`, method)
	}
	for _, row := range []struct {
		method, rule  string
		attempts, ask int
	}{
		{"POST", "attempts: 3", 1, 3},
		{"POST", "hedge_after: 10ms", 1, 2},
		{"POST", "attempts: 3, safe: true", 3, 3},
		{"POST", "hedge_after: 10ms, safe: true", 2, 2},
		{"GET", "attempts: 3", 3, 3},
		{"GET", "hedge_after: 10ms", 2, 2},
		{"PUT", "attempts: 3", 1, 3},
		{"DELETE", "attempts: 3", 1, 3},
	} {
		r, route := replayed(t, worked(t, shape(row.method)), "timeouts: fixed\ndependencies: [{callee: a, required: false, "+row.rule+"}]", ReplayOptions{})
		name := row.method + ", " + row.rule
		want(t, name+": attempts", route.Replayed.Attempts, row.attempts)
		want(t, name+": attempts at the bottom", r.Dependencies[0].Bottom, row.attempts)
		want(t, name+": warns", slices.Contains(r.Dependencies[0].Warnings, NotRepeatable), row.attempts < row.ask)
	}
}

// TestReplayBottom: three levels with two attempts each make up to eight calls at
// the bottom.
func TestReplayBottom(t *testing.T) {
	const shape = `
R - 0 100 k=SERVER s=front
a R 5 95 k=CLIENT s=front a=http.request.method=GET a=peer.service=mid a=http.response.status_code=200
M a 10 90 k=SERVER s=mid
b M 15 85 k=CLIENT s=mid a=http.request.method=GET a=peer.service=low a=http.response.status_code=200
L b 20 80 k=SERVER s=low
c L 25 75 k=CLIENT s=low a=http.request.method=GET a=peer.service=store a=http.response.status_code=200
`
	a := Run(worked(t, shape), Options{Policy: policy(t, "timeouts: fixed\ndependencies: [{attempts: 2}]")})
	r, err := a.Replay(ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, d := range r.Dependencies {
		got[d.Callee] = d.Bottom
		want(t, d.Callee+" warns", slices.Contains(d.Warnings, RetriesMultiply), d.Callee != "mid")
	}
	want(t, "attempts at the bottom", got, map[string]int{"mid": 2, "low": 4, "store": 8})
}

func TestSlackAndSavedBy(t *testing.T) {
	// a then b, c beside them; 10 ms of own work at the end. The request waits
	// for b and c: c could take 15 longer, a and b nothing.
	shape := func(a, b, c float64) string {
		return fmt.Sprintf(`
R - 0 %v k=SERVER s=front
a R 0 %v k=CLIENT s=front a=http.request.method=GET a=peer.service=a a=http.response.status_code=200
b R %v %v k=CLIENT s=front a=http.request.method=GET a=peer.service=b a=http.response.status_code=200
c R 0 %v k=CLIENT s=front a=http.request.method=GET a=peer.service=c a=http.response.status_code=200
`, max(a+5+b, c)+10, a, a+5, a+5+b, c)
	}
	var shapes []string
	for i := range 40 { // so that an order can be learned: c ends anywhere, also after b
		shapes = append(shapes, shape(20, 30, float64(10+2*i)))
	}
	slow := shape(20, 95, 105) // takes 130: late at 125 by 5. b at its p50 of 30 would end it at 115, as c holds it
	shapes = append(shapes, slow)
	dump := worked(t, shapes...)
	a := Run(dump, Options{Deadline: ms(125)})
	views := a.Views(dump.Traces[40])
	slack := map[string]time.Duration{}
	for _, c := range views[0].Calls {
		slack[c.Callee] = *c.Slack
	}
	want(t, "slack", slack, map[string]time.Duration{"a": 0, "b": 0, "c": ms(15)})
	i := slices.IndexFunc(a.Report.Findings, func(f Finding) bool { return f.Code == RequestLate })
	if i < 0 {
		t.Fatal("no request is late")
	}
	want(t, "saved by", a.Report.Findings[i].Examples[0].SavedBy, []string{"b GET"})

	// At 114 nothing alone would do: b leaves 115, a ends no sooner than it is used to.
	a = Run(dump, Options{Deadline: ms(114)})
	i = slices.IndexFunc(a.Report.Findings, func(f Finding) bool { return f.Code == RequestLate })
	want(t, "saved by", a.Report.Findings[i].Examples[0].SavedBy, []string{})

	// A call that nobody waited for has no slack to speak of.
	dump = worked(t, `
R - 0 50 k=SERVER s=front
a R 0 80 k=CLIENT s=front a=http.request.method=GET a=peer.service=a a=http.response.status_code=200
`)
	if v := Run(dump, Options{}).Views(dump.Traces[0]); v[0].Calls[0].Slack != nil {
		t.Errorf("slack of a call that outlives its request = %v, want none", *v[0].Calls[0].Slack)
	}
}

// TestSavedByItself: two calls to a, one after the other, of 20 ms each, and 10 ms of own
// work: 50 ms, which is the deadline. At that a request is in time.
func TestSavedByItself(t *testing.T) {
	shape := func(took, own float64) string {
		return fmt.Sprintf(`
R - 0 %v k=SERVER s=front
a R 0 %v k=CLIENT s=front a=http.request.method=GET a=peer.service=a a=http.response.status_code=200
b R %[2]v %v k=CLIENT s=front a=http.request.method=GET a=peer.service=a a=http.response.status_code=200
`, 2*took+own, took, 2*took)
	}
	usual := shape(20, 10)
	a := Run(worked(t, usual, usual, usual, shape(60, 10), shape(20, 70)), Options{Deadline: ms(50)})
	i := slices.IndexFunc(a.Report.Findings, func(f Finding) bool { return f.Code == RequestLate })
	var saved [][]string
	for _, e := range a.Report.Findings[i].Examples { // late by 80, and by 60
		saved = append(saved, e.SavedBy)
	}
	want(t, "saved by", saved, [][]string{{"a GET"}, {"own work"}})
	// Both calls together: 2 x 60 and 2 x 20 ms.
	for i, row := range []struct{ path, own float64 }{{120, 10}, {40, 70}} {
		e := a.Report.Findings[slices.IndexFunc(a.Report.Findings, func(f Finding) bool { return f.Code == RequestLate })].Examples[i]
		want(t, "path", e.Path, []PathShare{{Callee: "a", Operation: "GET", Path: ms(row.path)}})
		want(t, "own", e.Own, ms(row.own))
	}
}

// TestSlackIsExact: a call that is longer by its slack leaves the end of its request
// where it was, and one that is longer by 1 ns more moves it by that.
func TestSlackIsExact(t *testing.T) {
	for name, maker := range map[string]func() *ingest.Dump{
		"three levels": func() *ingest.Dump { return &ingest.Dump{Traces: benchTraces(100)} },
		"very many calls": func() *ingest.Dump {
			rng := rand.New(rand.NewPCG(5, 5))
			var r simRequest
			for i := range 600 {
				c := simCall{gap: time.Duration(rng.IntN(1e6)), latency: time.Duration(rng.IntN(1e7))}
				if i > 0 {
					c.waits = []int{rng.IntN(i)}
				}
				r.calls = append(r.calls, c)
			}
			r.tail = ms(3)
			return &ingest.Dump{Traces: []*ingest.Trace{r.trace(0)}}
		},
	} {
		a := Run(maker(), Options{})
		var g record
		checked := 0
		a.each(func(q *request) {
			if q.table == nil {
				return
			}
			a.record(q, &g)
			ends := make([]time.Duration, len(g.pieces))
			for i, room := range g.slack() {
				longer := func(by time.Duration) time.Duration {
					return g.endWith(ends, func(p *piece) time.Duration {
						if p == &g.pieces[i] {
							return p.length + by
						}
						return p.length
					})
				}
				if room < 0 {
					room = time.Hour
					if longer(room) != q.duration {
						t.Fatalf("%s: piece %d holds nobody up, but moves the end", name, i)
					}
					continue
				}
				checked++
				if longer(room) != q.duration || longer(room+1) != q.duration+1 {
					t.Fatalf("%s: slack %v of piece %d: the end moves by %v, and with 1 ns more by %v", name, room, i, longer(room)-q.duration, longer(room+1)-q.duration)
				}
			}
		})
		if checked < 100 {
			t.Errorf("%s: %d calls: the test is broken", name, checked)
		}
	}
}

// TestSurvival compares the curve with the textbook's table: remission of 21 patients
// with 6-MP, Freireich et al. 1963, as in Klein, Moeschberger, Survival Analysis,
// 2nd ed. 2003, table 4.1B.
func TestSurvival(t *testing.T) {
	var s Sample
	for _, d := range []time.Duration{6, 6, 6, 7, 10, 13, 16, 22, 23} {
		s.Add(d)
	}
	for _, d := range []time.Duration{6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35} {
		s.AddCut(d)
	}
	c := s.survival()
	want(t, "times", c.at, []time.Duration{6, 7, 10, 13, 16, 22, 23})
	for i, left := range []float64{0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448} {
		if math.Abs(c.left[i]-left) > 0.0005 {
			t.Errorf("share beyond %v = %.3f, want %.3f", c.at[i], c.left[i], left)
		}
	}
	// Beyond 13 there is .690: a draw at u lands where the curve falls to u * .690.
	for _, row := range []struct {
		d    time.Duration
		u    float64
		want time.Duration
		ok   bool
	}{{13, 0.95, 16, true}, {13, 0.85, 22, true}, {13, 0.70, 23, true}, {13, 0.60, 23, false}, {23, 0.99, 23, false}, {40, 0.5, 40, false}, {0, 0.99, 6, true}} {
		if got, ok := c.beyond(row.d, row.u); got != row.want || ok != row.ok {
			t.Errorf("beyond(%v, %v) = %v, %v, want %v, %v", row.d, row.u, got, ok, row.want, row.ok)
		}
	}
}

// TestBootstrap compares the exact bootstrap with one that draws.
func TestBootstrap(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	const rounds = 20_000
	for _, row := range []struct{ n, k int }{{40, 3}, {200, 31}, {200, 199}, {1000, 20}} {
		counts, ranks := make([]int, rounds), make([]int, rounds)
		for i := range rounds {
			times := make([]int, row.n) // how often each of the sorted values was drawn
			for range row.n {
				times[rng.IntN(row.n)]++
			}
			for _, n := range times[:row.k] {
				counts[i] += n
			}
			for sum, j := 0, 0; sum < row.k; j++ {
				sum += times[j]
				ranks[i] = j + 1
			}
		}
		slices.Sort(counts)
		slices.Sort(ranks)
		// Between the drawn quantiles half a percent below and above.
		near := func(what string, got int, drawn []int, at float64) {
			if low, high := drawn[int((at-.005)*rounds)], drawn[int((at+.005)*rounds)]; got < low || got > high {
				t.Errorf("%s of %d of %d = %d, drawing gives %d to %d", what, row.k, row.n, got, low, high)
			}
		}
		low, high := bootstrapCount(row.n, row.k)
		near("low end", low, counts, .025)
		near("high end", high, counts, .975)
		low, high = bootstrapRanks(row.n, row.k)
		near("low rank", low, ranks, .025)
		near("high rank", high, ranks, .975)
	}
}

// TestBootstrapOfNone: a share of none or all has the closed form of Clopper and Pearson,
// where the bootstrap gives a point: 0 of 8 is 0 … 36.9 %, as analyze says of the same.
func TestBootstrapOfNone(t *testing.T) {
	r, err := Run(worked(t, strings.Split(strings.Repeat("R - 0 100 k=SERVER s=web\n;", 8), ";")[:8]...), Options{Deadline: ms(200)}).Replay(ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	end := 1 - math.Pow(0.025, 1.0/8) // 0.3694
	m := r.Routes[0].Replayed
	if *m.LateLow != 0 || math.Abs(*m.LateHigh-end) > 1e-9 || math.Abs(*m.CompleteLow-(1-end)) > 1e-9 || *m.CompleteHigh != 1 {
		t.Errorf("none of 8 late: %g … %g, want 0 … %g; all complete: %g … %g, want %g … 1", *m.LateLow, *m.LateHigh, end, *m.CompleteLow, *m.CompleteHigh, 1-end)
	}
}

func TestReplayRefuses(t *testing.T) {
	dump := worked(t, chainShape(10, 60, 25))
	for _, row := range []struct {
		name string
		o    ReplayOptions
		want string
	}{
		{"unknown name", ReplayOptions{Changes: []Change{{Kind: Slower, Name: "d", Factor: 2}}}, `--slower d: no call goes to "d": callees are ["a" "b" "c"]`},
		{"unknown name of a sweep", ReplayOptions{Sweep: &Sweep{Name: "d", From: 1, To: 2, Step: 1}}, `--sweep ceiling:d: no call goes to "d"`},
	} {
		r, err := Run(dump, Options{}).Replay(row.o)
		if err == nil || r != nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: Replay = %v, %v, want no replay, and %q", row.name, r, err, row.want)
		}
	}
}

func TestRetriesOn(t *testing.T) {
	for _, row := range []struct {
		on   string // in the policy
		code string // of the answer
		want int    // attempts
	}{
		{"", "503", 2}, {"", "400", 2}, {"[503]", "503", 2}, {"[503]", "400", 1}, {"[unavailable]", "503", 2},
		{"[unavailable]", "500", 1}, {"[timeout]", "503", 1}, {"[error]", "500", 2},
	} {
		shape := fmt.Sprintf(`
R - 0 100 k=SERVER s=front
A R 0 10 k=CLIENT s=front a=http.request.method=GET a=peer.service=a a=http.response.status_code=%s st=ERROR
`, row.code)
		rules := "timeouts: fixed\ndependencies: [{callee: a, required: false, attempts: 2"
		if row.on != "" {
			rules += ", retry: {base: 1ms, on: " + row.on + "}"
		}
		_, route := replayed(t, worked(t, shape), rules+"}]", ReplayOptions{})
		want(t, row.on+" after "+row.code, route.Replayed.Attempts, row.want)
	}
}

// TestReplayBackOff: three attempts of 10 ms that fail, with waits of 0 to 8 and of 0 to 16 ms between
// them. Of 200 requests the last to end has waited more than 16 (one in four does), and 24 at most.
func TestReplayBackOff(t *testing.T) {
	const shape = `
R - 0 10 k=SERVER s=front
A R 0 10 k=CLIENT s=front a=http.request.method=GET a=peer.service=a a=http.response.status_code=503 st=ERROR
`
	_, route := replayed(t, worked(t, slices.Repeat([]string{shape}, 200)...), "timeouts: fixed\ndependencies: [{callee: a, required: false, attempts: 3, retry: {base: 8ms}}]", ReplayOptions{})
	want(t, "attempts", route.Replayed.Attempts, 600)
	if p := *route.Replayed.Latency.P999.Point; p <= ms(30+16) || p > ms(30+24) {
		t.Errorf("the slowest took %v, want more than 46 and at most 54 ms", p)
	}
}

// TestTimeoutAnswerWeighted: weights that are known say how many calls there were,
// and recorded attempts how long a worker is bound at the worst.
func TestTimeoutAnswerWeighted(t *testing.T) {
	const shape = `
R - 0 100 k=SERVER s=front
a R 5 25 k=CLIENT s=front a=http.request.method=GET a=peer.service=b a=http.response.status_code=503 st=ERROR
b R 35 55 k=CLIENT s=front a=http.request.method=GET a=peer.service=b a=http.response.status_code=200 a=http.request.resend_count=1
`
	dump := worked(t, shape, shape, shape)
	for _, trace := range dump.Traces {
		trace.ID[9] = 0xff // its random part is above the threshold
		for i := range trace.Spans {
			trace.Spans[i].TraceState = "ot=th:8" // half of all: weight 2
		}
	}
	r, err := Run(dump, Options{}).Replay(ReplayOptions{Changes: []Change{{Kind: Timeout, Name: "b", Timeout: ms(500)}}})
	if err != nil {
		t.Fatal(err)
	}
	a := r.Timeout
	// 3 calls of weight 2 in the one minute: 0.1 a second. 50 ms each, and with two
	// attempts of 500 ms a second: 0.005 and 0.1 workers.
	if a.Per100 || math.Abs(a.Arrivals-.1) > 1e-12 || math.Abs(a.WorkersNow-.005) > 1e-12 || math.Abs(a.WorkersAll-.1) > 1e-12 || a.Attempts != 2 {
		t.Errorf("%+v, want 0.1 calls a second, 0.005 and 0.1 workers", *a)
	}
}

// TestReplayRecordedRetries: attempts that were recorded are made again until one answers
// under the new ceiling, after the waits that were recorded. The first two were cut, and
// their callee ran on: with the 2 ms that the third shows for the way back, they would
// have taken 58 + 2 - 10 = 50 ms, and 115 + 2 - 55 = 62 ms.
func TestReplayRecordedRetries(t *testing.T) {
	const shape = `
R - 0 130 k=SERVER s=web h=A
a R 10 50 k=CLIENT s=web h=A a=http.request.method=GET st=DEADLINE
x a 12 58 k=SERVER s=b h=B
b R 55 95 k=CLIENT s=web h=A a=http.request.method=GET a=http.request.resend_count=1 st=DEADLINE
y b 57 115 k=SERVER s=b h=B
c R 100 110 k=CLIENT s=web h=A a=http.request.method=GET a=http.request.resend_count=2 a=http.response.status_code=200
z c 102 108 k=SERVER s=b h=B
`
	for _, test := range []struct {
		ceiling, end float64 // ms
		attempts     int
		ended        string
	}{
		{200, 10 + 50 + 20, 1, "complete"},
		{50, 10 + 50 + 20, 1, "complete"},
		{49, 10 + 49 + 5 + 49 + 5 + 10 + 20, 3, "complete"},
		{40, 130, 3, "complete"}, // as recorded
		{20, 10 + 20 + 5 + 20 + 5 + 10 + 20, 3, "complete"},
		{5, 10 + 5 + 5 + 5 + 5 + 5, 3, "failed"},
	} {
		name := fmt.Sprintf("%v ms", test.ceiling)
		a := Run(worked(t, shape), Options{})
		r, err := a.Replay(ReplayOptions{Changes: []Change{{Kind: Timeout, Name: "b", Timeout: ms(test.ceiling)}}})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Routes, func(r ReplayRoute) bool { return r.Service == "web" })
		m := &r.Routes[i].Replayed
		latency, ended := &m.Latency, "complete"
		if m.Failed == 1 {
			latency, ended = &m.LatencyFailed, "failed"
		}
		want(t, name+": ended", ended, test.ended)
		want(t, name+": attempts", m.Attempts, test.attempts)
		want(t, name+": took", *latency.P50.Point, ms(test.end))
		want(t, name+": drawn", m.Drawn, 0)
	}

	// A policy does the same: its ceiling bounds each attempt.
	p := policy(t, "timeouts: fixed\ndependencies: [{callee: b, ceiling: 200ms}]")
	r, err := Run(worked(t, shape), Options{Policy: p}).Replay(ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Routes, func(r ReplayRoute) bool { return r.Service == "web" })
	want(t, "by policy", *r.Routes[i].Replayed.Latency.P50.Point, ms(80))
}

// TestReplaySlowerRetries: where a dependency is slower, its answers take longer. A wait
// before a retry does not, and neither does an attempt that its caller cut.
func TestReplaySlowerRetries(t *testing.T) {
	const refused = `
R - 0 150 k=SERVER s=web
a R 10 60 k=CLIENT s=web a=http.request.method=GET a=peer.service=b a=http.response.status_code=503
b R 80 140 k=CLIENT s=web a=http.request.method=GET a=peer.service=b a=http.request.resend_count=1 a=http.response.status_code=200
`
	cut := func(attr string) string {
		return `
R - 0 200 k=SERVER s=web
a R 10 110 k=CLIENT s=web a=http.request.method=GET a=peer.service=b st=DEADLINE` + attr + `
b R 130 190 k=CLIENT s=web a=http.request.method=GET a=peer.service=b a=http.request.resend_count=1 a=http.response.status_code=200` + attr + `
`
	}
	const limit = " a=http.request.header.x-request-timeout-ms=100"
	for _, test := range []struct {
		name, shape string
		kind        ChangeKind
		factor      float64
		end         float64 // ms
		failed      int
	}{
		{"errors, slower", refused, Slower, 2, 10 + 2*50 + 20 + 2*60 + 10, 0},
		{"errors, faster", refused, Faster, 2, 10 + 25 + 20 + 30 + 10, 0},
		{"cut, slower", cut(""), Slower, 2, 10 + 100 + 20 + 2*60 + 10, 0},
		{"cut by a known timeout, slower", cut(limit), Slower, 2, 10 + 100 + 20 + 100, 1},
		{"cut by a known timeout, a little slower", cut(limit), Slower, 1.5, 10 + 100 + 20 + 90 + 10, 0},
	} {
		_, route := replayed(t, worked(t, test.shape), "", ReplayOptions{Changes: []Change{{Kind: test.kind, Name: "b", Factor: test.factor}}})
		m := &route.Replayed
		latency := &m.Latency
		if m.Failed == 1 {
			latency = &m.LatencyFailed
		}
		want(t, test.name+": failed", m.Failed, test.failed)
		want(t, test.name+": attempts", m.Attempts, 2)
		want(t, test.name+": took", *latency.P50.Point, ms(test.end))
	}
}

// TestReplayVeryLong: what would take longer than a time can tell takes the longest, and is
// never early.
func TestReplayVeryLong(t *testing.T) {
	const century = 100 * 365 * 24 * float64(time.Hour/time.Millisecond)
	shape := fmt.Sprintf(`
R - 0 %.0f k=SERVER s=web
a R 0 %.0f k=CLIENT s=web a=http.request.method=GET a=peer.service=b a=http.response.status_code=200
b R %.0[2]f %.0[1]f k=CLIENT s=web a=http.request.method=GET a=peer.service=b a=http.response.status_code=200
c R %.0[2]f %.0[1]f k=CLIENT s=web a=http.request.method=GET a=peer.service=c
`, 2*century, century)
	hundred := func(kind ChangeKind) Change { return Change{Kind: kind, Name: "b", Factor: 100} }
	for _, test := range []struct {
		name  string
		o     ReplayOptions
		took  time.Duration
		bound time.Duration // of a call to b
	}{
		{"as recorded", ReplayOptions{}, ms(2 * century), ms(century)},
		{"slower", ReplayOptions{Changes: []Change{hundred(Slower)}}, longest, longest / 2}, // no time is left for the second
		{"faster", ReplayOptions{Changes: []Change{hundred(Faster)}}, ms(century/100 + century), ms(century / 100)},
		{"slower and faster", ReplayOptions{Changes: []Change{hundred(Slower), hundred(Faster)}}, ms(2 * century), ms(century)},
		{"one after the other, three centuries", ReplayOptions{Order: Sequential}, longest, ms(century)},
	} {
		_, route := replayed(t, worked(t, shape), "", test.o)
		want(t, test.name, *route.Replayed.Latency.P50.Point, test.took)
		var tally depTally
		for range 9 {
			tally = tally.plus(depTally{calls: 2, took: sum{0, 2 * uint64(test.bound)}})
		}
		want(t, test.name+": mean of 18 calls", tally.mean(), test.bound)
	}
}

// TestSumsOfVeryLong: sums of times that are too long are the longest, and never negative. Three
// requests take two centuries each, nearly all of which a call holds; means are of all.
func TestSumsOfVeryLong(t *testing.T) {
	const century = 100 * 365 * 24 * float64(time.Hour/time.Millisecond)
	shape := fmt.Sprintf(`
R - 0 %.0f k=SERVER s=web
a R 0 %.0f k=CLIENT s=web a=http.request.method=GET a=peer.service=b a=http.response.status_code=200
`, 2*century, 2*century-1000)
	r := Run(worked(t, shape, shape, shape), Options{}).Report
	route, d := &r.Routes[0], depTo(t, &r, "b")
	want(t, "sums", []time.Duration{route.Time.Own, route.Time.Read, route.Time.Total, d.Path}, []time.Duration{ms(3000), longest, longest, longest})
	if mean := route.MeanTime; mean == nil || math.Abs(float64(mean.Total)/float64(ms(2*century))-1) > 1e-12 {
		t.Errorf("mean %v, want two centuries", mean)
	}
}

// TestReplayFactors: changes are bounded together, as they are one by one.
func TestReplayFactors(t *testing.T) {
	a := Run(worked(t, chainShape(10, 20, 30)), Options{})
	times := func(kind ChangeKind, name string, factor float64) Change {
		return Change{Kind: kind, Name: name, Factor: factor}
	}
	for _, test := range []struct {
		changes []Change
		ok      bool
	}{
		{[]Change{times(Slower, "b", 1000)}, true},
		{[]Change{times(Faster, "b", 1000)}, true},
		{[]Change{times(Faster, "b", 10), times(Faster, "*", 10), times(Faster, "b", 10)}, true},
		{[]Change{times(Slower, "b", 1000), times(Slower, "a", 1000)}, true},
		{[]Change{times(Slower, "b", 1000), times(Slower, "*", 1000), times(Faster, "b", 1000)}, true},
		{[]Change{times(Slower, "b", 1000), times(Slower, "*", 1.01)}, false},
		{[]Change{times(Faster, "b", 1000), times(Slower, "*", 0.99)}, false},
		{[]Change{times(Faster, "b", 1e-300)}, false},
		{[]Change{times(Slower, "b", 0)}, false},
		{[]Change{times(Slower, "b", math.NaN())}, false},
	} {
		if _, err := a.Replay(ReplayOptions{Changes: test.changes}); (err == nil) != test.ok {
			t.Errorf("%v: %v", test.changes, err)
		}
	}
}

// TestTimeoutOfSeveralDependencies: a worker is bound longest by the dependency that has the
// most attempts and the longest waits together, wherever it stands among the others.
func TestTimeoutOfSeveralDependencies(t *testing.T) {
	for _, order := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}} {
		name := map[string]string{"a": order[0], "b": order[1], "c": order[2]}
		rules := fmt.Sprintf("dependencies: [{callee: %s, safe: true, attempts: 4, retry: {base: 1s}}, {callee: %s, safe: true, attempts: 2}]", name["a"], name["b"])
		r, _ := replayed(t, worked(t, chainShape(10, 20, 30)), rules, ReplayOptions{Changes: []Change{{Kind: Timeout, Name: "*", Timeout: ms(100)}}})
		// Four attempts of 100 ms, and waits of 1, 2 and 4 s; two attempts; one.
		want(t, "bound", r.Timeout.BoundAll, ms(4*100+7000))
		want(t, "attempts", r.Timeout.Attempts, 4)
		r, _ = replayed(t, worked(t, chainShape(10, 20, 30)), rules, ReplayOptions{Changes: []Change{{Kind: Timeout, Name: name["b"], Timeout: ms(100)}}})
		want(t, "bound by the one", r.Timeout.BoundAll, ms(2*100))
		want(t, "attempts at the one", r.Timeout.Attempts, 2)
	}
	// The longest waits there can be: 100 attempts, after a day each twice as long.
	rules := "dependencies: [{callee: b, safe: true, attempts: 100, retry: {base: 24h}}]"
	r, _ := replayed(t, worked(t, chainShape(10, 20, 30)), rules, ReplayOptions{Changes: []Change{{Kind: Timeout, Name: "b", Timeout: ms(100)}}})
	want(t, "bound by the longest", r.Timeout.BoundAll, longest)
}

// TestReplayHedges: copies run side by side, the second 70 ms after the first. When it was sent is
// its caller's, and does not change; what the copy that lost would have taken is not recorded,
// but more than it was given.
func TestReplayHedges(t *testing.T) {
	shape := func(first, second float64, won, lost string) string {
		return fmt.Sprintf(`
R - 0 200 k=SERVER s=web
a R 10 %v k=CLIENT s=web a=http.request.method=GET a=peer.service=b %s
b R 80 %v k=CLIENT s=web a=http.request.method=GET a=peer.service=b %s
`, first, won, second, lost)
	}
	const ok, lost = "a=http.response.status_code=200", "st=CANCELLED"
	second, first := shape(150.4, 150, lost, ok), shape(150, 150.4, ok, lost)
	for _, test := range []struct {
		name, shape string
		change      Change
		low, high   time.Duration // when the call ends, at best and at worst
		tail        float64       // ms: own work of the request after it
		attempts    int
	}{
		// The second answers at 80 + 140; the first would have taken more than 2 x 140.4.
		{"second wins, slower", second, Change{Kind: Slower, Factor: 2}, ms(220), ms(220), 50, 2},
		// 80 + 35; the first took more than 70.2, so that it answers after 80.2 or never.
		{"second wins, faster", second, Change{Kind: Faster, Factor: 2}, ms(80) + 200*time.Microsecond, ms(115), 50, 2},
		// The first answers at 10 + 280. Of the second it is known that it took more than 70.4, and
		// of all that do, that they take 140: 80 + 280.
		{"first wins, slower", first, Change{Kind: Slower, Factor: 2}, ms(290), ms(290), 50, 2},
		// The first answers at 10 + 35, before a second is sent.
		{"first wins, faster", first, Change{Kind: Faster, Factor: 4}, ms(45), ms(45), 50, 1},
		// Each copy may take 100: the first is cut at 110, the second, which would take 140, at 180.
		{"first wins, timeout", first, Change{Kind: Timeout, Timeout: ms(100)}, ms(180), ms(180), 0, 2},
		{"second wins, timeout", second, Change{Kind: Timeout, Timeout: ms(100)}, ms(150), ms(150), 50, 2},
	} {
		test.change.Name = "b"
		_, route := replayed(t, worked(t, test.shape), "", ReplayOptions{Changes: []Change{test.change}})
		at := func(m *Measures) time.Duration {
			if m.Failed == 1 {
				return *m.LatencyFailed.P50.Point
			}
			return *m.Latency.P50.Point
		}
		best := &route.Replayed
		if route.ReplayedAtBest != nil {
			best = route.ReplayedAtBest
		}
		want(t, test.name+": at worst, at best", []time.Duration{at(&route.Replayed), at(best)}, []time.Duration{test.high + ms(test.tail), test.low + ms(test.tail)})
		want(t, test.name+": attempts", route.Replayed.Attempts, test.attempts)
	}
}
