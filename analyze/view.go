package analyze

import (
	"time"

	"overrun/ingest"
)

// A View is one top request, or one fragment, of a trace: what `overrun trace`
// prints. Times are offsets from its start, after clocks were moved.
// Its JSON form is one line.
type View struct {
	Trace    ingest.TraceID `json:"trace"`
	Root     ingest.SpanID  `json:"root"`
	Fragment bool           `json:"fragment,omitempty"`
	Service  string         `json:"service"`
	Route    string         `json:"route"`
	Start    int64          `json:"start_unix_ns"`
	Duration *time.Duration `json:"duration_ns"`     // null: it has no start or no end
	Deadline *time.Duration `json:"deadline_ns"`     // null: none
	Source   Source         `json:"deadline_source"` // "" without a deadline
	Ended    Ended          `json:"ended"`           // "" for a fragment
	TimedOut bool           `json:"timed_out"`
	Path     []PathSegment  `json:"path"`  // tiles [0, Duration]
	Calls    []ViewCall     `json:"calls"` // of every request in it, by start
	Notes    []ViewNote     `json:"notes"`
	File     string         `json:"file"`
	Position int64          `json:"position"`
}

// A PathSegment is a stretch of the critical path of spans.
type PathSegment struct {
	Span      ingest.SpanID `json:"span"`
	Name      string        `json:"name"` // of the span
	Service   string        `json:"service"`
	Start     time.Duration `json:"start_ns"`
	End       time.Duration `json:"end_ns"`
	Category  Category      `json:"category"` // as seen by the request that owns the span
	Callee    string        `json:"callee"`   // "" outside calls
	Operation string        `json:"operation"`
	InFlight  bool          `json:"in_flight"` // a child ran meanwhile that nobody waited for
}

// A ViewCall is a call of a request of the trace.
type ViewCall struct {
	Span      *ingest.SpanID `json:"span,omitempty"` // of the span around the attempts, else of the first; none: inferred
	Service   string         `json:"service"`
	Callee    string         `json:"callee"`
	Operation string         `json:"operation"`
	Required  *bool          `json:"required"` // null: no policy
	Start     time.Duration  `json:"start_ns"`
	End       *time.Duration `json:"end_ns"` // null: not known
	Outcome   Outcome        `json:"outcome"`
	Attempts  int            `json:"attempts"`
	Tries     []Try          `json:"tries"`
	Pool      *time.Duration `json:"pool_ns"`  // null: not recorded
	Slack     *time.Duration `json:"slack_ns"` // null: nothing waited for it
	Remaining *time.Duration `json:"remaining_ns"`
	Timeout   *time.Duration `json:"timeout_ns"` // computed; may be negative; null without a deadline
	Minimum   *time.Duration `json:"minimum_ns"` // the rule in force; null: not known
	Reserve   *time.Duration `json:"reserve_ns"` // null without a deadline
	Inferred  bool           `json:"inferred,omitempty"`
	Path      time.Duration  `json:"path_ns"` // on the path of the request that made it
	Findings  []FindingCode  `json:"findings"`
	Rules     CallRules      `json:"rules"`
}

// CallRules are the ids of the rules that named the callee and the operation.
type CallRules struct {
	Callee    string `json:"callee"`
	Operation string `json:"operation"`
}

// TryRules are the ids of the rules behind an attempt; "" is a rule that needs no
// sign. Join is by which it belongs to its call: "R3" and "H5" are inferred from
// siblings.
type TryRules struct {
	Part    string `json:"part"`
	Outcome string `json:"outcome"`
	Join    string `json:"join"`
}

// LastSeen is the end of the call, or its start where no end is known.
func (c *ViewCall) LastSeen() time.Duration { return lastSeen(c.Start, c.End) }

// LastSeen is the end of the attempt, or its start where no end is known.
func (t *Try) LastSeen() time.Duration { return lastSeen(t.Start, t.End) }

func lastSeen(start time.Duration, end *time.Duration) time.Duration {
	if end == nil {
		return start
	}
	return *end
}

// Took is how long the call took; nil: not known.
func (c *ViewCall) Took() *time.Duration { return since(c.Start, c.End) }

// Took is how long the attempt took; nil: not known.
func (t *Try) Took() *time.Duration { return since(t.Start, t.End) }

func since(start time.Duration, end *time.Duration) *time.Duration {
	if end == nil {
		return nil
	}
	return kept(*end - start)
}

// A Try is one attempt of a call.
type Try struct {
	Span    ingest.SpanID            `json:"span"`
	Start   time.Duration            `json:"start_ns"`
	End     *time.Duration           `json:"end_ns"` // null: not known
	Outcome Outcome                  `json:"outcome"`
	Flags   []string                 `json:"flags,omitempty"` // of the outcome: upstream-timeout, overload
	Hedge   bool                     `json:"hedge"`
	Hidden  int                      `json:"hidden_retries,omitempty"` // resends inside, which cannot be told apart
	Phases  map[string]time.Duration `json:"phases"`                   // null: not recorded
	Rules   TryRules                 `json:"rules"`
}

// A ViewNote is a note about a span of the view.
type ViewNote struct {
	Code   ingest.Code    `json:"code"`
	Span   ingest.SpanID  `json:"span"`
	Amount *time.Duration `json:"amount_ns"` // null: the code measures nothing
}
