package report

import (
	"bytes"
	"strings"
	"testing"

	"overrun/analyze"
	"overrun/ingest"
)

// TestWordsWrapAndNamesStay: our own words in the last column are wrapped to the width, and
// however many there are in a detail, they do not cut names short that fit two lines.
func TestWordsWrapAndNamesStay(t *testing.T) {
	const caller, callee = "frontend-gateway-eu", "frontend-renderer-eu"
	saves := 12
	r := &analyze.Report{Schema: analyze.ReportSchema,
		Advice: []analyze.Advice{{Do: analyze.SpeedUp, Service: caller, Callee: callee, Operation: "GET", Requests: 63, SavesHigh: &saves, Trace: ingest.TraceID{15: 1}}},
		Input:  analyze.Input{Notes: []analyze.Note{{Code: "unit-in-doubt", Count: 1}}}}
	for _, width := range []int{72, 100} {
		var b bytes.Buffer
		if err := Text(&b, r, Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		advice, rest, _ := strings.Cut(b.String(), "\nREAD")
		if !strings.Contains(advice, caller) || !strings.Contains(advice, callee) {
			t.Errorf("%d columns: %s and %s are told apart by no name:\n%s", width, caller, callee, advice)
		}
		notes, _, _ := strings.Cut(rest, "\nROUTES")
		seen := false
		for line := range strings.Lines(notes) {
			seen = seen || strings.Contains(line, "unit-in-doubt")
			if n := columns(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("%d columns, want %d at most: %s", n, width, line)
			}
		}
		if !seen {
			t.Errorf("no note of units in doubt:\n%s", notes)
		}
	}
}
