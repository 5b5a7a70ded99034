package report

import (
	"maps"
	"slices"
	"testing"
	"time"

	"overrun/analyze"
)

// TestJoined checks that joining rows moves no time, and needs one attempt.
func TestJoined(t *testing.T) {
	for _, v := range slices.Concat(views(), tries(), many()) {
		before, after := make(map[analyze.Category]time.Duration), make(map[analyze.Category]time.Duration)
		for _, s := range v.Path {
			before[s.Category] += s.End - s.Start
		}
		list := joined(&v)
		for i, s := range list {
			after[s.Category] += s.End - s.Start
			if i > 0 && s.Start != list[i-1].End {
				t.Errorf("joined(%v) has a gap before row %d", v.Trace, i)
			}
		}
		if !maps.Equal(before, after) {
			t.Errorf("joined(%v) spends %v, want %v", v.Trace, after, before)
		}
	}
	// Attempts that follow each other at once, and a call that follows another, stay apart.
	v := tries()[0]
	if list := joined(&v); len(list) != 9 {
		t.Errorf("joined: %d rows, want 9: %+v", len(list), list)
	}
}

// TestRules checks that what is inferred is in no table of the recogniser.
func TestRules(t *testing.T) {
	for _, r := range analyze.Signals() {
		if isInferred(r.ID) {
			t.Errorf("%s is a rule of the recogniser and inferred", r.ID)
		}
	}
}
