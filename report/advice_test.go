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
		if got := Plural(a.Requests, affected(a)); got != test.count {
			t.Errorf("%s affects %q, want %q", test.rests, got, test.count)
		}
	}
}

// One of them is told as one.
func TestSavesOfOne(t *testing.T) {
	one, three := 1, 3
	for _, row := range []struct {
		do   analyze.AdviceCode
		low  *int
		high *int
		want string
	}{
		{analyze.SkipCalls, &one, &one, "1 call would not be made"},
		{analyze.SkipCalls, &three, &three, "3 calls would not be made"},
		{analyze.RaiseTimeout, nil, &one, "0 to 1 calls would be answered"},
		{analyze.SpeedUp, &one, &three, "1 to 3 requests would be in time"},
	} {
		got := ""
		for _, r := range saves(&analyze.Advice{Do: row.do, SavesLow: row.low, SavesHigh: row.high}) {
			got += r.text
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", row.do, got, row.want)
		}
	}
}
