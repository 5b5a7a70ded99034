package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// inARow is requests of one service that call b, one call after the other, of the given
// latencies in whole milliseconds.
func inARow(t *testing.T, requests [][]int) *Report {
	t.Helper()
	var texts []string
	for _, latencies := range requests {
		var calls strings.Builder
		at := 0
		for i, took := range latencies {
			fmt.Fprintf(&calls, "c%d R %d %d%sa=peer.service=b a=http.response.status_code=200\n", i, at, at+took, get)
			at += took
		}
		texts = append(texts, fmt.Sprintf("\nR - 0 %d k=SERVER s=web\n%s", at, calls.String()))
	}
	r := Run(worked(t, texts...), Options{Deadline: ms(300)}).Report
	return &r
}

// TestSecondCopiesSaveARequestOnce: however many calls of a late request are slow, a copy of
// each saves that one request.
func TestSecondCopiesSaveARequestOnce(t *testing.T) {
	// Three calls a request. Of 100 requests, 95 take 10 ms a call, and one in 20 takes 101 ms
	// a call and is 3 ms late. The p95 is 10 ms. A part of the 3 ms is 1 ms a call, all
	// answers but five in a hundred are there by then, and 1 - (1 - 0.95)^3 of five requests are saved.
	var requests [][]int
	for i := range 100 {
		requests = append(requests, []int{10, 10, 10})
		if i%20 == 7 {
			requests[i] = []int{101, 101, 101}
		}
	}
	h := depTo(t, inARow(t, requests), "b").Hedge
	if want := 0.05 * (1 - math.Pow(0.05, 3)); h.Rescued == nil || math.Abs(*h.Rescued-want) > 1e-12 || h.Requests != 100 {
		t.Errorf("rescued %s of %d, want %g of 100", text(h.Rescued), h.Requests, want)
	}
}

// TestSecondCopiesBound: what second copies save is at most all late requests, and at least
// what they do in fact where they take any of the recorded latencies, each as likely. That is
// found by trying all of them.
func TestSecondCopiesBound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 20 {
		var requests [][]int
		var all []int
		for range 40 {
			one := make([]int, 1+r.IntN(2))
			for k := range one {
				if one[k] = 50 + r.IntN(60); r.IntN(25) == 0 {
					one[k] = 170 + r.IntN(200)
				}
			}
			all = append(all, one...)
			requests = append(requests, one)
		}
		slices.Sort(all)
		p95 := all[(95*len(all)+99)/100-1]
		late, saved := 0, 0.0
		for _, one := range requests {
			sum := 0
			for _, took := range one {
				sum += took
			}
			if sum <= 300 {
				continue
			}
			late++
			try := func(took, copied int) int { return min(took, p95+copied) }
			for _, x := range all {
				if len(one) == 1 {
					if try(one[0], x) <= 300 {
						saved += 1 / float64(len(all))
					}
					continue
				}
				for _, y := range all {
					if try(one[0], x)+try(one[1], y) <= 300 {
						saved += 1 / float64(len(all)*len(all))
					}
				}
			}
		}
		h := depTo(t, inARow(t, requests), "b").Hedge
		if got := *h.Rescued * 40; h.After != time.Duration(p95)*time.Millisecond || got < saved-1e-9 || got > float64(late)+1e-9 || (saved == 0) != (got == 0) {
			t.Errorf("round %d: %g requests rescued after %v: want %g or more of %d late ones, after %d ms", round, got, h.After, saved, late, p95)
		}
	}
}

// TestHeldBeside: against looking at every other call. A call holds another one if it ran beside
// it, past the time by which the last answer was due, unless it gets a second copy itself, as
// one of the same dependency.
func TestHeldBeside(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	a := &Analysis{deps: []*depTable{{p95: new(ms(20))}, {p95: new(ms(20))}, {}}}
	some := 0
	for range 2000 {
		q := &request{deadline: &deadline{budget: ms(100)}, tail: ms(10)}
		for range 1 + r.IntN(6) {
			start := time.Duration(r.IntN(90))
			c := call{dep: int32(r.IntN(3)), start: ms(float64(start)), end: ms(float64(start + time.Duration(1+r.IntN(60)))), awaited: r.IntN(5) > 0, attempts: make([]attempt, 1+r.IntN(5)/4)}
			q.calls = append(q.calls, c)
		}
		list := a.besides(q)
		for k := range q.calls {
			c := &q.calls[k]
			if c.dep == 2 { // no copy of it is sent
				continue
			}
			want := false
			for j := range q.calls {
				b := &q.calls[j]
				copied := b.dep == c.dep && len(b.attempts) == 1 && b.end-b.start > ms(20)
				want = want || j != k && !copied && b.awaited && b.end > ms(90) && b.start < c.end && c.start < b.end
			}
			if c.awaited && len(c.attempts) == 1 && c.end-c.start > ms(20) {
				if got := list.hold(c); got != want {
					t.Fatalf("call %d of %+v is held beside: %t, want %t", k, q.calls, got, want)
				} else if got {
					some++
				}
			}
		}
	}
	if some < 100 {
		t.Errorf("%d calls were held", some)
	}
}

// TestCumulation: the share answered by a time is that of a count or, with very many answers,
// a little more.
func TestCumulation(t *testing.T) {
	for _, n := range []int{1, 10, mostSteps, 3*mostSteps + 1} {
		var s Sample
		for i := range n {
			s.Add(time.Duration(10 * i))
		}
		f := s.cumulated()
		if len(f.at) > mostSteps {
			t.Errorf("%d answers take %d steps", n, len(f.at))
		}
		high := 0.0
		if n > mostSteps {
			high = 1.0 / mostSteps
		}
		for _, d := range []time.Duration{-1, 0, 9, 10, 55, time.Duration(5 * n), time.Duration(10*n - 11), time.Duration(10 * n)} {
			exact := float64(min(n, int((d+10)/10))) / float64(n) // answers at 0, 10, ..., d
			if got := f.within(d); got < exact-1e-9 || got > exact+high+1e-9 {
				t.Errorf("of %d answers %g within %d, want %g to %g", n, got, d, exact, exact+high)
			}
		}
	}
}
