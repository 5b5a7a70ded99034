package report

import (
	"strings"
	"testing"
	"time"

	"overrun/analyze"
)

// Cuts are the reason for an open end only of the interval that is shown, that of the p99.9,
// and only where there are values enough for one.
func TestCutsHideTheShownEnd(t *testing.T) {
	at := func(low, high *time.Duration) analyze.Estimate {
		return analyze.Estimate{Point: new(time.Second), Low: low, High: high, IfAnswered: new(time.Second), Cut: true}
	}
	some := new(time.Second)
	for _, test := range []struct {
		name     string
		p999     analyze.Estimate
		warnings []analyze.Warning
		want     bool
	}{
		{"its own end", at(some, nil), nil, true},
		{"that of another", at(some, some), nil, false},
		{"for want of values", at(some, nil), []analyze.Warning{analyze.FewP999}, false},
	} {
		text := textOf(t, &analyze.Report{Dependencies: []analyze.Dependency{{Caller: "web", Callee: "db", Calls: 9, Attempts: 9, Cut: 1,
			Latency: analyze.Latency{N: 9, P999: test.p999}, Warnings: append(test.warnings, analyze.CutsHideEnd)}}})
		if got := strings.Contains(text, "calls were cut, so that the interval has no upper end"); got != test.want {
			t.Errorf("%s: told that cuts hide it: %v, want %v\n%s", test.name, got, test.want, text)
		}
	}
}
