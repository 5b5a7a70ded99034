package analyze

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// spentSlowly is what a call spends an instant on, by the words of split: every attempt is asked.
func spentSlowly(c *call, at time.Duration) Category {
	first, last, over := c.attempts[0].start, c.attempts[0].start, c.attempts[0].end
	for _, a := range c.attempts {
		first, last, over = min(first, a.start), max(last, a.start), max(over, a.end)
	}
	runs := -1
	for k, a := range c.attempts {
		if a.start > at || a.end <= at {
			continue
		}
		beforeLast := k < len(c.attempts)-1 && k != c.winner
		if a.end <= last || beforeLast && a.end <= last+raceTolerance {
			return Retry
		}
		if runs < 0 || k == c.winner {
			runs = k
		}
	}
	if runs < 0 && at >= first && at < over {
		open := false
		for _, a := range c.attempts {
			if a.start <= at {
				open = a.unfinished
			}
		}
		if open {
			return Unknown
		}
		return RetryWait
	}
	if c.winner >= 0 && c.attempts[c.winner].hedge && at >= c.attempts[c.winner].start {
		return Hedge
	}
	if runs >= 0 {
		what := Read
		for _, p := range c.attempts[runs].phases.intervals {
			switch {
			case at < p.low || at >= p.high:
			case p.part == backoffPart:
				return RetryWait
			case p.part.connecting():
				what = Connect
			}
		}
		return what
	}
	return Read
}

// Every instant of a call is spent as split says, whatever its attempts.
func TestSplitSlowly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		half := raceTolerance / 2
		instant := rapid.Int64Range(0, 30)
		c := &call{winner: -1, start: 0, end: 40 * half}
		for range rapid.IntRange(1, 6).Draw(t, "attempts") {
			a, b := instant.Draw(t, "a"), instant.Draw(t, "b")
			try := attempt{start: half * time.Duration(min(a, b)), end: half * time.Duration(max(a, b)), hedge: rapid.Bool().Draw(t, "hedge")}
			if rapid.IntRange(0, 9).Draw(t, "open") == 0 {
				try.unfinished, try.end = true, try.start
			}
			for range rapid.IntRange(0, 3).Draw(t, "phases") {
				from, to := instant.Draw(t, "from"), instant.Draw(t, "to")
				kind := rapid.SampledFrom([]part{dnsPart, tcpPart, poolPart, sendPart, backoffPart}).Draw(t, "part")
				try.phases.intervals = append(try.phases.intervals, phaseInterval{kind, interval{half * time.Duration(min(from, to)), half * time.Duration(max(from, to))}, ""})
			}
			try.phases.intervals = settle(try.phases.intervals, try.start, try.end)
			c.attempts = append(c.attempts, try)
		}
		slices.SortStableFunc(c.attempts, func(a, b attempt) int { return cmp.Compare(a.start, b.start) })
		c.winner = rapid.IntRange(-1, len(c.attempts)-1).Draw(t, "winner")
		if len(c.attempts) == 1 && len(c.attempts[0].phases.intervals) == 0 {
			return // one attempt, of which nothing is known: all is reading
		}
		reach := time.Duration(0)
		c.split(0, c.end, func(what Category, from, to time.Duration) {
			if from != reach {
				t.Fatalf("a piece from %v, want %v", from, reach)
			}
			for reach = from; reach < to; reach += half / 2 {
				if slow := spentSlowly(c, reach); what != slow {
					t.Fatalf("at %v: %v, want %v", reach, what, slow)
				}
			}
		})
		if reach != c.end {
			t.Fatalf("pieces up to %v, want %v", reach, c.end)
		}
	})
}
