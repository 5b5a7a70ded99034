package analyze

import (
	"slices"
	"time"

	"overrun/ingest"
)

// judgeCauses decides of calls that failed with words of their caller's own whether it left them
// (T6): Go's net/http gives the cause of a cancelled context for an error, and errgroup makes one
// of what the first part failed with; Node gives the reason of an abort. The caller left if the
// callee was still at work when the call ended, or if a call beside it ended as it did: the part
// that failed, or the copy that answered. Otherwise nothing is known but that it failed.
func (t *traced) judgeCauses() {
	left := map[int32]bool{}              // of those to be decided
	beside := map[int32][]time.Duration{} // when CLIENT spans ended that say why, by parent
	for i := range t.seen {
		if t.seen[i].flags&maybeLeft != 0 {
			left[int32(i)] = false
			beside[t.Spans[i].Parent] = nil
		}
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Parent < 0 || s.Defect != 0 {
			continue
		}
		if _, asked := left[s.Parent]; asked && t.seen[i].part == entryPart && s.End+t.word(int32(i)) >= t.Spans[s.Parent].End {
			left[s.Parent] = true
		}
		if list, asked := beside[s.Parent]; asked && s.Kind == ingest.Client && t.seen[i].flags&maybeLeft == 0 {
			beside[s.Parent] = append(list, s.End)
		}
	}
	for _, ends := range beside {
		slices.Sort(ends)
	}
	for i, gone := range left {
		s := &t.Spans[i]
		ends := beside[s.Parent]
		if k, _ := slices.BinarySearch(ends, s.End+raceTolerance+1); k > 0 && s.Parent >= 0 {
			gone = gone || ends[k-1] > s.Start && ends[k-1] >= s.End-raceTolerance
		}
		switch {
		case !gone || s.Defect != 0:
		case t.endsInTime(i):
			t.seen[i].ends(verdict{timedOut, ReadTimeout}, "T6")
		default:
			t.seen[i].ends(verdict{cancelled, CancelledCaller}, "T6")
		}
	}
}
