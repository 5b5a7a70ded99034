package report

import (
	"testing"
	"time"

	"overrun/analyze"
)

// Two lines of advice about one dependency that rest on different findings say
// different things, and count what their finding is about.
func TestAdviceIsToldApart(t *testing.T) {
	left := 221 * time.Millisecond
	for _, test := range []struct {
		do           analyze.AdviceCode
		rests        analyze.FindingCode
		words, count string
	}{
		{analyze.SkipCalls, analyze.CallBelowMinimum, "make no call with a computed timeout below 221 ms", "3 calls"},
		{analyze.SkipCalls, analyze.RetryBelowMinimum, "make no retry with a computed timeout below 221 ms", "3 retries"},
		{analyze.FitDeadline, analyze.CallBelowMinimum, "give it more time, or make it faster: its minimum is 221 ms", "3 calls"},
		{analyze.PassDeadline, analyze.DeadlineLost, "pass the deadline on", "3 cases"},
		{analyze.PassDeadline, analyze.DeadlineWidened, "pass on no more time than is left", "3 cases"},
	} {
		a := &analyze.Advice{Do: test.do, Finding: string(test.rests), Requests: 3, To: &left}
		if got := (&textForm{}).line(adviceWords(a), 0); got != test.words {
			t.Errorf("%s: %q, want %q", test.rests, got, test.words)
		}
		if got := plural(a.Requests, affected(a)); got != test.count {
			t.Errorf("%s affects %q, want %q", test.rests, got, test.count)
		}
	}
}
