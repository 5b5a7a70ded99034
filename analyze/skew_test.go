package analyze

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"overrun/ingest"
)

// TestMaxSkewIsOfTheClock: services call each other in a chain, each with a clock that is so many
// ms behind that of its caller. A clock is moved by what it is behind that of the root, if that is
// within the limit, and else stays where it is.
func TestMaxSkewIsOfTheClock(t *testing.T) {
	for _, test := range []struct {
		behind []int // b behind a, c behind b, d behind c
		limit  int
		want   []int // by how much b, c and d are moved
	}{
		{[]int{400, 400, 400}, 1200, []int{400, 800, 1200}},
		{[]int{400, 400, 400}, 1199, []int{400, 800, 0}},
		{[]int{400, 400, 400}, 800, []int{400, 800, 0}},
		{[]int{400, 400, 400}, 799, []int{400, 0, 400}}, // d goes with c, as it stands
		{[]int{400, 400, 400}, 399, []int{0, 0, 0}},
	} {
		var shape strings.Builder
		shape.WriteString("\nS0 - 5000 6000 k=SERVER s=a h=A\n")
		at, low, high := 0, 5000, 6000
		for i, behind := range test.behind {
			from, to := string(rune('a'+i)), string(rune('b'+i))
			low, high = low+20, high-20
			fmt.Fprintf(&shape, "C%d S%d %d %d k=CLIENT s=%s h=%s\n", i+1, i, low-at, high-at, from, strings.ToUpper(from))
			at += behind
			fmt.Fprintf(&shape, "S%d C%[1]d %d %d k=SERVER s=%s h=%s\n", i+1, low-at, high-at, to, strings.ToUpper(to))
		}
		dump := worked(t, shape.String())
		o := Options{MaxSkew: time.Duration(test.limit) * time.Millisecond}
		tr := newTraced(dump.Traces[0], &o, newRecogniser(&builtIn), nil)
		was := map[ingest.SpanID]time.Duration{}
		for _, s := range dump.Traces[0].Spans {
			was[s.ID] = s.Start
		}
		got := make([]int, len(test.want))
		for _, s := range tr.Spans {
			if k := int(s.Resource.Service[0] - 'b'); s.Kind == ingest.Server && k >= 0 && k < len(got) {
				got[k] = int((s.Start - was[s.ID]) / time.Millisecond)
			}
		}
		want(t, fmt.Sprintf("%v behind, at most %d", test.behind, test.limit), got, test.want)
		beyond := 0
		for _, m := range tr.moved {
			if m.beyond {
				beyond++
			}
		}
		wrong, sum := 0, 0
		for k, behind := range test.behind {
			if sum += behind; sum != test.want[k] {
				wrong++
			}
		}
		if beyond == 0 && wrong > 0 || beyond > wrong {
			t.Errorf("%v behind, at most %d: %d clocks are beyond, want from 1 to %d", test.behind, test.limit, beyond, wrong)
		}
	}
}

// TestMaxSkewAhead: three calls show that a clock is 400 ms ahead.
func TestMaxSkewAhead(t *testing.T) {
	shape := "\nR - 0 1000 k=SERVER s=a h=A\n"
	for i := range 3 {
		shape += fmt.Sprintf("C%d R %d %d k=CLIENT s=a h=A\nS%[1]d C%[1]d %[4]d %[5]d k=SERVER s=b h=B\n", i, 300*i, 300*i+200, 300*i+410, 300*i+590)
	}
	for limit, want := range map[time.Duration]time.Duration{ms(400): ms(-400), ms(399): 0} {
		tr := newTraced(worked(t, shape).Traces[0], &Options{MaxSkew: limit}, newRecogniser(&builtIn), nil)
		if len(tr.moved) != 1 || tr.moved[0].amount != ms(-400) || tr.moved[0].beyond != (want == 0) {
			t.Errorf("at most %v: moved %+v, want one of -400 ms", limit, tr.moved)
		}
	}
}
