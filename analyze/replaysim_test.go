package analyze

import (
	"container/heap"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"overrun/ingest"
)

// A simulation of one request, event by event, against which the replay is held. It
// knows nothing of spans, records or paths: calls, what each waits for, how long
// it takes and what is promised for it.
type (
	simCall struct {
		waits    []int
		gap      time.Duration // after the last of waits
		latency  time.Duration
		bad      bool
		optional bool
		gone     bool // taken out
		ceiling  time.Duration
		minimum  time.Duration
		reserve  time.Duration
		attempts int
		base     time.Duration
		hedge    time.Duration
	}
	simRequest struct {
		calls  []simCall
		tail   time.Duration
		shared bool          // timeouts follow the deadline
		budget time.Duration // 0: none
		jitter func(call, attempt int) float64
		again  func(call, n int, at time.Duration) (latency time.Duration, bad bool) // a further copy
	}
	simFate struct {
		Start              time.Duration
		Made, Skipped, Cut bool
		Attempts           int
	}
	simOutcome struct {
		End   time.Duration
		Ended Ended
		Calls []simFate
	}
	simEvent struct {
		at         time.Duration
		what       string
		call, copy int
		bad        bool
	}
	simQueue []simEvent
)

func (q simQueue) Len() int           { return len(q) }
func (q simQueue) Less(i, j int) bool { return q[i].at < q[j].at }
func (q simQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *simQueue) Push(e any)        { *q = append(*q, e.(simEvent)) }
func (q *simQueue) Pop() any {
	e := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return e
}

func (r *simRequest) run() simOutcome {
	out := simOutcome{Calls: make([]simFate, len(r.calls))}
	var queue simQueue
	open := make([]int, len(r.calls))
	finished := make([]bool, len(r.calls))
	running := make([]int, len(r.calls)) // copies
	left, partial, last := len(r.calls), false, time.Duration(0)
	for i, c := range r.calls {
		open[i] = len(c.waits)
		if open[i] == 0 {
			heap.Push(&queue, simEvent{at: c.gap, what: "begin", call: i})
		}
	}
	// room is what a call may take that begins now; skip: it is not made.
	room := func(i int, now time.Duration) (limit time.Duration, bounded, skip bool) {
		c := &r.calls[i]
		limit, bounded = c.ceiling, c.ceiling > 0
		if r.shared && r.budget > 0 {
			if rest := r.budget - now - c.reserve; !bounded || rest < limit {
				limit, bounded = rest, true
			}
			skip = limit < c.minimum || limit <= 0
		}
		return limit, bounded, skip
	}
	send := func(i, copy int, now, latency time.Duration, bad bool) {
		out.Calls[i].Attempts++
		running[i]++
		if limit, bounded, _ := room(i, now); bounded && latency > limit {
			heap.Push(&queue, simEvent{now + limit, "cut", i, copy, true})
			return
		}
		heap.Push(&queue, simEvent{now + latency, "answer", i, copy, bad})
	}
	for queue.Len() > 0 {
		e := heap.Pop(&queue).(simEvent)
		i, now := e.call, e.at
		c, f := &r.calls[i], &out.Calls[i]
		if finished[i] {
			continue
		}
		done, failed := false, false
		switch e.what {
		case "begin":
			f.Start = now
			_, _, skip := room(i, now)
			switch {
			case c.gone:
				done = true
			case skip:
				f.Skipped, done, failed = true, true, true
			default:
				f.Made = true
				send(i, 0, now, c.latency, c.bad)
				if c.hedge > 0 {
					heap.Push(&queue, simEvent{at: now + c.hedge, what: "hedge", call: i})
				}
			}
		case "hedge":
			if _, _, skip := room(i, now); running[i] > 0 && !skip {
				latency, bad := r.again(i, 1, now)
				send(i, 1, now, latency, bad)
			}
		case "retry":
			latency, bad := r.again(i, f.Attempts, now)
			send(i, f.Attempts, now, latency, bad)
		case "answer", "cut":
			running[i]--
			if !e.bad {
				done = true
				break
			}
			if running[i] > 0 {
				break
			}
			if f.Attempts < c.attempts {
				wait := time.Duration(r.jitter(i, f.Attempts) * float64(c.base) * float64(int(1)<<(f.Attempts-1)))
				if _, _, skip := room(i, now+wait); !skip {
					heap.Push(&queue, simEvent{at: now + wait, what: "retry", call: i})
					break
				}
			}
			done, failed, f.Cut = true, true, e.what == "cut"
		}
		if !done {
			continue
		}
		finished[i] = true
		// A request that was recorded to live with the failure of a call lives with it again.
		if failed && !c.optional && !c.bad {
			for k := range out.Calls {
				if g := &out.Calls[k]; g.Made && !finished[k] {
					g.Cut = true
				}
			}
			out.End, out.Ended = now, Failed
			return out
		}
		partial = partial || failed && c.optional
		left--
		last = max(last, now)
		for k := range r.calls {
			if slices.Contains(r.calls[k].waits, i) {
				if open[k]--; open[k] == 0 {
					heap.Push(&queue, simEvent{at: now + r.calls[k].gap, what: "begin", call: k})
				}
			}
		}
	}
	if left > 0 {
		panic("calls that never ended")
	}
	out.End, out.Ended = last+r.tail, Complete
	if partial {
		out.Ended = PartlyOK
	}
	return out
}

// simGraph is a route: what its calls wait for.
func simGraph(rng *rand.Rand) [][]int {
	graph := make([][]int, 2+rng.IntN(7))
	for i := range graph {
		for k := range i {
			if rng.IntN(4) == 0 {
				graph[i] = append(graph[i], k)
			}
		}
	}
	return graph
}

// record makes the trace of a request as nobody interferes with it.
func (r *simRequest) trace(id int) *ingest.Trace {
	service := &ingest.Resource{Service: "front"}
	out := r.run()
	span := func(i int, kind ingest.Kind, name, peer, status string, start, end time.Duration) ingest.Span {
		s := ingest.Span{Kind: kind, Name: name, Start: start, End: end, Resource: service,
			Attrs: []ingest.Attr{{Key: "http.request.method", Value: "GET"}, {Key: "http.response.status_code", Value: status}}}
		binary.BigEndian.PutUint64(s.ID[:], uint64(i+1))
		if peer != "" {
			s.Attrs = append(s.Attrs, ingest.Attr{Key: "peer.service", Value: peer})
			binary.BigEndian.PutUint64(s.ParentID[:], 1)
		} else {
			s.Attrs = append(s.Attrs, ingest.Attr{Key: "http.route", Value: "/r"})
		}
		return s
	}
	spans := []ingest.Span{span(0, ingest.Server, "GET /r", "", "200", 0, out.End)}
	for i, c := range r.calls {
		status := "200"
		if c.bad {
			status = "503"
		}
		spans = append(spans, span(i+1, ingest.Client, "GET", fmt.Sprintf("dep-%d", i), status, out.Calls[i].Start, out.Calls[i].Start+c.latency))
	}
	var trace ingest.TraceID
	binary.BigEndian.PutUint64(trace[8:], uint64(id+1))
	return ingest.NewTrace(trace, shapeBase+int64(id)*int64(time.Second), spans)
}

// simWorld is a route with requests, and a policy in words and in numbers.
type simWorld struct {
	graph    [][]int
	requests []simRequest
	policy   string
	rules    []simCall // by call: what is promised
	shared   bool
	budget   time.Duration
}

func newSimWorld(rng *rand.Rand) *simWorld {
	w := &simWorld{graph: simGraph(rng)}
	some := func(most time.Duration) time.Duration { return 1 + time.Duration(rng.Int64N(int64(most))) }
	for range 400 {
		r := simRequest{tail: some(10 * time.Millisecond)}
		for i := range w.graph {
			c := simCall{waits: w.graph[i], gap: some(3 * time.Millisecond), latency: some(30 * time.Millisecond), bad: rng.IntN(15) == 0}
			r.calls = append(r.calls, c)
		}
		// One slow call in most requests shows which calls do not wait for it.
		if rng.IntN(4) > 0 {
			r.calls[rng.IntN(len(r.calls))].latency += 400 * time.Millisecond
		}
		w.requests = append(w.requests, r)
	}
	w.shared = rng.IntN(2) == 0
	mode := "fixed"
	if w.shared {
		mode = "deadline"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "timeouts: %s\n", mode)
	if rng.IntN(4) > 0 {
		w.budget = 30*time.Millisecond + some(200*time.Millisecond)
		fmt.Fprintf(&text, "deadlines: [{deadline: %v, reserve: %v}]\n", w.budget, some(10*time.Millisecond))
	}
	fmt.Fprintf(&text, "dependencies:\n")
	for i := range w.graph {
		c := simCall{optional: rng.IntN(2) == 0, minimum: some(8 * time.Millisecond)}
		fmt.Fprintf(&text, "- {callee: dep-%d, required: %v, minimum: %v", i, !c.optional, c.minimum)
		if w.shared || rng.IntN(2) == 0 {
			c.ceiling = 8*time.Millisecond + some(60*time.Millisecond)
			fmt.Fprintf(&text, ", ceiling: %v", c.ceiling)
		}
		switch rng.IntN(3) {
		case 0:
			c.attempts, c.base = 2+rng.IntN(2), some(20*time.Millisecond)
			fmt.Fprintf(&text, ", attempts: %d, retry: {base: %v}", c.attempts, c.base)
		case 1:
			c.hedge = some(8 * time.Millisecond)
			fmt.Fprintf(&text, ", hedge_after: %v", c.hedge)
		}
		text.WriteString("}\n")
		w.rules = append(w.rules, c)
	}
	w.policy = text.String()
	return w
}

// TestReplaySimulated holds the replay of random call graphs under random policies
// to the simulation, in both worlds. What is drawn (waits, and which attempt a
// second copy is like) is given to both.
func TestReplaySimulated(t *testing.T) {
	failed, skipped, cut, repeated := 0, 0, 0, 0
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 7))
		w := newSimWorld(rng)
		dump := &ingest.Dump{}
		for id := range w.requests {
			dump.Traces = append(dump.Traces, w.requests[id].trace(id))
		}
		a := Run(dump, Options{Policy: policy(t, w.policy)})
		changes := []Change{{Kind: Slower, Name: "dep-0", Factor: 3}}
		if seed%3 == 0 {
			changes = append(changes, Change{Kind: Without, Name: "dep-1"})
		}
		if seed%5 == 0 {
			changes = nil
		}
		r, p := startReplay(t, a, ReplayOptions{Seed: seed, Changes: changes})
		var g record
		id := -1
		r.visit(func(q *request) {
			id++
			if q.ended == Failed {
				t.Fatalf("seed %d: request %d is recorded as failed", seed, id)
			}
			p.replayRoute = r.routes[q.table]
			a.record(q, &g)
			place := make([]int, len(w.graph)) // of each call among the pieces
			for i := range g.pieces {
				var n int
				fmt.Sscanf(a.deps[g.pieces[i].dep].name.callee, "dep-%d", &n)
				place[n] = i
			}
			sim := simRequest{tail: w.requests[id].tail, shared: w.shared, budget: w.budget}
			for i, c := range w.requests[id].calls {
				rule := w.rules[i]
				rule.waits, rule.gap, rule.latency, rule.bad = c.waits, c.gap, c.latency, c.bad
				rule.reserve = g.pieces[place[i]].reserve
				if changes != nil && i == 0 {
					rule.latency *= 3
				}
				rule.gone = len(changes) == 2 && i == 1
				sim.calls = append(sim.calls, rule)
			}
			sim.jitter = func(call, attempt int) float64 {
				return chance(seed, g.key, g.pieces[place[call]].span, drawWait, attempt)
			}
			for _, world := range []world{worst, best} {
				sim.again = func(call, n int, at time.Duration) (time.Duration, bool) {
					c := &g.pieces[place[call]]
					like, ok := r.pools[c.dep].like(g.key, g.start+int64(at), chance(seed, g.key, c.span, drawCopy, n))
					if world == worst || !ok {
						return sim.calls[call].latency, sim.calls[call].bad
					}
					if changes != nil && call == 0 {
						like.length *= 3
					}
					return like.length, like.outcome.fails()
				}
				truth := sim.run()
				got := p.play(&g, &r.scenarios[0], world)
				out := simOutcome{End: got.end, Ended: got.ended, Calls: make([]simFate, len(w.graph))}
				for i := range out.Calls {
					f := p.fates[place[i]]
					out.Calls[i] = simFate{f.start, f.made, f.left, f.made && f.outcome.Cut(), f.attempts}
					if !f.made && !f.left && !f.gone { // never begun
						out.Calls[i] = simFate{}
					}
					// Attempts of a call that the end of its request cut short are not told apart.
					if got.ended == Failed && out.Calls[i].Cut {
						out.Calls[i].Attempts = truth.Calls[i].Attempts
					}
					skipped += btoi(f.left)
					cut += btoi(out.Calls[i].Cut)
					repeated += max(0, f.attempts-1)
				}
				failed += btoi(got.ended == Failed)
				want(t, fmt.Sprintf("seed %d, request %d, world %d, graph %v, policy\n%s", seed, id, world, w.graph, w.policy), out, truth)
			}
			if t.Failed() {
				t.FailNow()
			}
		})
	}
	if failed < 500 || skipped < 500 || cut < 500 || repeated < 500 {
		t.Errorf("%d failed, %d skipped, %d cut, %d repeated: the policies do too little", failed, skipped, cut, repeated)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// startReplay makes all ready to replay single requests.
func startReplay(t *testing.T, a *Analysis, o ReplayOptions) (*replayer, *player) {
	t.Helper()
	r, err := a.newReplayer(&o)
	if err != nil {
		t.Fatal(err)
	}
	return r, &player{replayer: r}
}

// TestReplayArranged holds the replay of re-arranged calls to the simulation: own
// work between calls comes after them, and no call waits for what it waited for.
func TestReplayArranged(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 11))
		w := newSimWorld(rng)
		dump := &ingest.Dump{}
		for id := range w.requests {
			dump.Traces = append(dump.Traces, w.requests[id].trace(id))
		}
		for _, order := range []Arrangement{Sequential, Parallel} {
			a := Run(dump, Options{})
			r, p := startReplay(t, a, ReplayOptions{Order: order})
			var g record
			id := -1
			r.visit(func(q *request) {
				id++
				p.replayRoute = r.routes[q.table]
				a.record(q, &g)
				got := p.play(g.arrange(order, p), &r.scenarios[0], worst)

				// By the recorded times: when each call began, and how long none ran.
				recorded := w.requests[id].run()
				calls := slices.Clone(w.requests[id].calls)
				places := make([]int, len(calls))
				for i := range places {
					places[i] = i
				}
				slices.SortFunc(places, func(x, y int) int { return int(recorded.Calls[x].Start - recorded.Calls[y].Start) })
				first := recorded.Calls[places[0]].Start
				idle, busy := time.Duration(0), first
				for _, i := range places {
					idle += max(0, recorded.Calls[i].Start-busy)
					busy = max(busy, recorded.Calls[i].Start+calls[i].latency)
				}
				sim := simRequest{tail: idle + recorded.End - busy}
				for k, i := range places {
					c := simCall{gap: first, latency: calls[i].latency, bad: calls[i].bad}
					if order == Sequential && k > 0 {
						c.gap, c.waits = 0, []int{k - 1}
					}
					sim.calls = append(sim.calls, c)
				}
				if truth := sim.run(); got.end != truth.End || got.ended != truth.Ended {
					t.Fatalf("seed %d, request %d, %s: took %v, %v, want %v, %v", seed, id, order, got.end, got.ended, truth.End, truth.Ended)
				}
			})
		}
	}
}

// TestReplayDeterministic: neither workers nor the order of traces shows, also where
// much is drawn; another seed does.
func TestReplayDeterministic(t *testing.T) {
	traces := benchTraces(200)
	rules := policy(t, "dependencies: [{callee: svc-1, required: false, attempts: 2, retry: {base: 1ms}}, {callee: svc-2, hedge_after: 2ms}, {callee: 'svc-*', ceiling: 3ms, minimum: 1ms}]")
	once := func(seed uint64, workers int, shuffle bool) string {
		list := slices.Clone(traces)
		if shuffle {
			rand.New(rand.NewPCG(3, 3)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		a := Run(&ingest.Dump{Traces: list}, Options{Policy: rules, Deadline: 15 * time.Millisecond, Workers: workers})
		r, err := a.Replay(ReplayOptions{Seed: seed, Changes: []Change{{Kind: Failing, Name: "svc-3", Share: 200_000}}, Sweep: &Sweep{Name: "svc-4", From: ms(1), To: ms(3), Step: ms(1)}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	first := once(1, 1, false)
	if !strings.Contains(first, `"drawn":`) || strings.Count(first, `"drawn":0,`) == strings.Count(first, `"drawn":`) {
		t.Error("nothing is drawn: the test shows nothing")
	}
	want(t, "eight workers", once(1, 8, false), first)
	want(t, "another order", once(1, 2, true), first)
	if once(2, 1, false) == strings.Replace(first, `"seed":1`, `"seed":2`, 1) {
		t.Error("the seed does not show")
	}
}
