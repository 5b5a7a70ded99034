package analyze

import (
	"time"

	"overrun/ingest"
)

// Options steer an analysis. The zero value knows no policy and no deadline,
// moves no clock by more than DefaultMaxSkew, and uses one worker a processor.
type Options struct {
	Policy   *Policy       // nil: none
	Deadline time.Duration // for top requests, from their start; 0: none
	MaxSkew  time.Duration // the most a clock is moved; 0: DefaultMaxSkew; negative: none is moved
	Workers  int           // goroutines; 0: one a processor. The result does not depend on it
}

// DefaultMaxSkew is the most that a clock is moved where nobody says otherwise.
const DefaultMaxSkew = time.Minute

// Run analyses a dump.
func Run(dump *ingest.Dump, o Options) *Analysis {
	panic("soon")
}

// An Analysis holds the report and, for each trace, what the report rests on.
type Analysis struct {
	Report Report
}

// Views gives what `overrun trace` prints for one trace of the dump: one View
// for each top request and each fragment, by start. Computed timeouts rest on
// the whole dump.
func (a *Analysis) Views(t *ingest.Trace) []View {
	panic("soon")
}

// Keep lists the attributes that the analysis reads: what ingest.Options.Keep
// has to name.
func Keep() []string {
	panic("soon")
}
