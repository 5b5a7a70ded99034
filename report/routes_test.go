package report

import (
	"bytes"
	"strings"
	"testing"

	"overrun/analyze"
)

// textOf is a report as text.
func textOf(t *testing.T, r *analyze.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// How many were late was counted, whether their share is known or not: it is the same
// number as in JSON.
func TestLateWithoutShare(t *testing.T) {
	text := textOf(t, &analyze.Report{Routes: []analyze.Route{{Service: "web", Route: "/", Requests: 70, WithDeadline: 60, Complete: 70, Late: 17,
		Warnings: []analyze.Warning{analyze.MixedWeights}}}})
	for line := range strings.Lines(text) {
		if cells := strings.Fields(line); len(cells) > 5 && cells[0] == "web" && cells[1] == "/" {
			if got := strings.Join(cells[2:6], " "); got != "[1] 70 17 –" {
				t.Errorf("requests, late and share are %q, want 70, 17 and –", got)
			}
			return
		}
	}
	t.Errorf("no row of the route:\n%s", text)
}
