package analyze

import "slices"

// Keep lists the attributes that the analysis reads with a policy, nil for none:
// what ingest.Options.Keep has to name.
func Keep(p *Policy) []string {
	return slices.Concat(keepKeys(p.tables()), []string{"telemetry.sdk.language", "service.criticality"}, clockKeys, instanceKeys)
}

// Events lists the events that the analysis reads with a policy, nil for none:
// what ingest.Options.Events has to name.
func Events(p *Policy) []string { return keepEvents(p.tables()) }

// A state is how a span ended, as far as the critical path cares.
type state uint8

const (
	healthy   state = iota // ok, or nobody says otherwise
	failed                 // ended with an error of its own
	timedOut               // stopped waiting: a timeout or a deadline
	cancelled              // was told to stop
)

// broken reports whether the span failed by error or timeout.
func (s state) broken() bool { return s == failed || s == timedOut }

// A verdict is what a span says of its own end. outcome is that of the span
// as an attempt, with cancelled-caller for every cancel; whether it was a race is
// for the siblings to say.
type verdict struct {
	state   state
	outcome Outcome
}
