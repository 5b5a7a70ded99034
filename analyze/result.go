package analyze

import (
	"time"

	"overrun/ingest"
)

// ReportSchema names the form of a Report in JSON. It changes when a key
// changes its meaning or goes away, not when one is added.
const ReportSchema = "overrun.report/v1"

// A Report is what `overrun analyze` found. Its JSON form is its definition:
// durations are integer nanoseconds (keys end in _ns), shares are fractions in
// [0, 1], and null means unknown or not computed, never 0.
type Report struct {
	Schema       string       `json:"schema"`
	SplitBy      string       `json:"split_by,omitempty"` // the attribute by whose values rows are told apart
	Input        Input        `json:"input"`
	Routes       []Route      `json:"routes"`       // by service, then route
	Dependencies []Dependency `json:"dependencies"` // by caller, callee, operation
	Findings     []Finding    `json:"findings"`     // by code, service, route, callee, operation
	Worst        []LateOne    `json:"worst_late"`   // the MaxWorst latest requests, by overrun, then trace id
	Advice       []Advice     `json:"advice"`       // by requests affected; at most maxAdvice
}

// Input says what was read, and how sure we are of it.
type Input struct {
	Files     int       `json:"files"`
	Bytes     int64     `json:"bytes"`     // as read, before unpacking
	Spans     int64     `json:"spans"`     // read, before duplicates are dropped
	Traces    int       `json:"traces"`    //
	Requests  int       `json:"requests"`  // sum over Routes
	Fragments int       `json:"fragments"` // spans without their parent that are no request
	Start     *int64    `json:"start_unix_ns"`
	End       *int64    `json:"end_unix_ns"`
	Weights   Weights   `json:"weights"`
	Skew      Skew      `json:"skew"`
	Notes     []Note    `json:"notes"`    // sorted by code
	Warnings  []Warning `json:"warnings"` // about the whole input
}

// Weights counts requests and fragments by whether their sampling weight is
// known. Counts, and sums of times, are of recorded spans; quantiles, means and shares are
// weighted where all of a row have weights, and unknown where only some have.
type Weights struct {
	Known   *int `json:"known"`
	Unknown *int `json:"unknown"`
}

// Skew says how many traces had a clock moved, and how far at the most.
type Skew struct {
	Traces  int           `json:"traces_moved"`
	Largest time.Duration `json:"largest_ns"`
}

// A Note counts repairs and doubts of one code, of the input and of the
// analysis.
type Note struct {
	Code    ingest.Code `json:"code"`
	Count   int64       `json:"count"`
	Text    string      `json:"text,omitempty"` // what happened at the example, where the code does not say it all
	Example Place       `json:"example"`
}

// A Place is evidence: where to look.
type Place struct {
	File     string          `json:"file"`
	Position int64           `json:"position"` // offset in bytes in the file's unpacked content
	Trace    *ingest.TraceID `json:"trace"`    // null: the note is about no trace
	Span     *ingest.SpanID  `json:"span"`
}

// A Route is the class of a request: what one service answers.
type Route struct {
	Service         string         `json:"service"`
	Route           string         `json:"route"`
	Split           *string        `json:"split,omitempty"` // value of Report.SplitBy, "" where it was not recorded; none: not split
	Requests        int            `json:"requests"`
	WithDeadline    int            `json:"with_deadline"`
	DeadlineSources map[Source]int `json:"deadline_sources"`
	// Complete, Partial and Failed are disjoint and sum to Requests.
	Complete int `json:"complete"`
	Partial  int `json:"partial"`
	Failed   int `json:"failed"`
	// Late counts complete and partial requests that ended after their deadline.
	Late int `json:"late"`
	// LateInherited are those of Late that inherited their deadline: little or nothing of it may
	// have been left when they began.
	LateInherited int      `json:"late_inherited,omitempty"`
	LateShare     *float64 `json:"late_share"` // Late / (complete + partial with a deadline), weighted; null: none had one
	// The 95 % interval of LateShare, as if requests were independent.
	LateShareLow  *float64 `json:"late_share_low"`
	LateShareHigh *float64 `json:"late_share_high"`
	TimedOut      int      `json:"timed_out"` // of Failed
	// CompleteInTime and PartialInTime count requests with a deadline.
	CompleteInTime int `json:"complete_in_time"`
	PartialInTime  int `json:"partial_in_time"`
	// CompleteInTimeShare is CompleteInTime / WithDeadline, weighted; null: none had one, or some
	// weights are known and others not.
	CompleteInTimeShare *float64      `json:"complete_in_time_share"`
	Latency             Latency       `json:"latency"` // over complete and partial
	LatencyFailed       Latency       `json:"latency_failed"`
	Tail                Tail          `json:"tail"`         // the route's reserve
	Independence        *Independence `json:"independence"` // null: no parallel calls, or no deadline
	Time                Time          `json:"time"`         // sum over all recorded requests, failed ones too
	MeanTime            *Time         `json:"mean_time"`    // of a request, weighted; null: some weights are known and others not
	LateOwn             *LateHeld     `json:"late_own"`     // null: own work held no late request for longer than a dependency did
	FirstLate           *int64        `json:"first_late_unix_ns"`
	LastLate            *int64        `json:"last_late_unix_ns"`
	LateByTen           []LateTen     `json:"late_by_ten_minutes"` // only spans of ten minutes with late requests, in order
	Warnings            []Warning     `json:"warnings"`
}

// A LateTen counts late requests by their start, in ten minutes.
type LateTen struct {
	Start int64 `json:"start_unix_ns"`
	Late  int   `json:"late"`
}

// Tail is the own work after the last awaited answer, over complete and partial
// requests that made a call they waited for; null: there were none.
type Tail struct {
	P50 *time.Duration `json:"p50_ns"`
	P99 *time.Duration `json:"p99_ns"`
}

// Time is where the time of requests went. The categories are disjoint and
// sum to Total, to the nanosecond.
type Time struct {
	Own       time.Duration `json:"own_ns"`
	Connect   time.Duration `json:"connect_ns"` // pool wait, DNS, TCP and TLS; 0: not told apart from Read
	Read      time.Duration `json:"read_ns"`
	Retry     time.Duration `json:"retry_ns"`
	RetryWait time.Duration `json:"retry_wait_ns"`
	Hedge     time.Duration `json:"hedge_ns"`
	Messaging time.Duration `json:"messaging_ns"`
	Unknown   time.Duration `json:"unknown_ns"`
	Total     time.Duration `json:"total_ns"`
}

// A Dependency is whom a service calls: callee and operation, as seen from one
// caller.
type Dependency struct {
	Caller    string  `json:"caller"`
	Callee    string  `json:"callee"`
	Operation string  `json:"operation"`
	Split     *string `json:"split,omitempty"`
	Required  *bool   `json:"required"`              // as the policy says; null: no policy
	Hint      string  `json:"criticality,omitempty"` // a hint at Required: service.criticality of the callee, or "fallback": something else was done instead of a failed call
	Calls     int     `json:"calls"`
	Attempts  int     `json:"attempts"`
	Hidden    int     `json:"hidden_retries"` // attempts that spans hide inside
	// Outcomes counts attempts, and under skipped the calls that were inferred
	// to have been skipped.
	Outcomes map[Outcome]int `json:"outcomes"`
	OK       int             `json:"ok"`     // Outcomes[ok]
	Errors   int             `json:"errors"` // error, refused, connect-error
	Cut      int             `json:"cut"`    // the three timeouts and cancelled-caller
	RanOn    int             `json:"ran_on"` // of Cut: the callee ran on and finished; Latency has its end and the way back
	OnPath   int             `json:"on_path"`
	Path     time.Duration   `json:"path_ns"`
	// PathShare is the share of the caller's time that these calls held the path, weighted: path
	// time / (path time of all calls of the caller + own time of its requests). ErrorShare is
	// Errors / Attempts, and ExtraLoad attempts a call, hidden ones too, less 1; both weighted.
	// null: nothing to divide by, or some weights are known and others not; of PathShare, also if a
	// row holds all the rest.
	PathShare     *float64 `json:"path_share"`
	ErrorShare    *float64 `json:"error_share"`
	ExtraLoad     *float64 `json:"extra_load"`
	Latency       Latency  `json:"latency"`        // of whole attempts: ok and no-data, cut ones as bounds
	LatencyFailed *Latency `json:"latency_failed"` // of attempts that ended in error, refused or connect-error; null: none did
	Connect       *Latency `json:"connect"`        // of attempts that opened a connection; null: none was recorded
	Pool          *Latency `json:"pool"`
	Read          *Latency `json:"read"`

	Minimum       *time.Duration `json:"minimum_ns"` // suggested: p50
	Ceiling       *time.Duration `json:"ceiling_ns"` // suggested, capped; null: the quantile is unknown
	PolicyMinimum *time.Duration `json:"policy_minimum_ns"`
	PolicyCeiling *time.Duration `json:"policy_ceiling_ns"`
	DoesNotFit    []string       `json:"does_not_fit"` // routes whose deadline leaves less than Minimum
	// PolicyDoesNotFit are routes whose deadline leaves less than PolicyMinimum in half of their requests.
	PolicyDoesNotFit []string `json:"policy_does_not_fit,omitempty"`
	CeilingShareCut  *float64 `json:"ceiling_share_cut"` // share of calls that take longer than Ceiling: its false timeouts
	// The 95 % interval of CeilingShareCut.
	CeilingShareCutLow  *float64        `json:"ceiling_share_cut_low"`
	CeilingShareCutHigh *float64        `json:"ceiling_share_cut_high"`
	CurrentTimeout      *CurrentTimeout `json:"current_timeout"`
	ConnectCeiling      *time.Duration  `json:"connect_ceiling_ns"` // as Ceiling, of connecting alone, not capped
	ReadCeiling         *time.Duration  `json:"read_ceiling_ns"`    // as Ceiling, of reading alone, not capped
	HedgeAfter          *time.Duration  `json:"hedge_after_ns"`     // p95, where Hedge says nothing against it
	Hedge               *HedgePlan      `json:"hedge"`              // null: p95 is not known, or messages
	Late                *LateCalls      `json:"late"`               // null: no request with a deadline that called it was late
	ClusteredTail       []Cluster       `json:"clustered_tail"`
	Drift               *Drift          `json:"drift"`    // null: none, or nothing to tell it by
	Modes               []time.Duration `json:"modes_ns"` // of two humps of the latencies; null: one hump
	Pile                *Pile           `json:"pile"`     // of answers; null: none
	FalseTimeouts       *int            `json:"false_timeouts"`
	LateAnyway          *int            `json:"late_anyway"`
	Warnings            []Warning       `json:"warnings"`
}

// A CurrentTimeout is the timeout that the caller was seen to use.
type CurrentTimeout struct {
	NS       time.Duration `json:"ns"`
	Source   string        `json:"source"`
	ShareCut *float64      `json:"share_cut"` // of calls that take longer: its false timeouts
	// The 95 % interval of ShareCut.
	ShareCutLow  *float64 `json:"share_cut_low"`
	ShareCutHigh *float64 `json:"share_cut_high"`
}

// A Warning is a doubt about a row that does not stop the work: a stable
// code. Text says it in words.
type Warning string

// A Finding is one kind of trouble at one place, with its worst examples.
type Finding struct {
	Code      FindingCode `json:"code"`
	Service   string      `json:"service"` // who made the call, or whose request it is
	Route     string      `json:"route"`
	Callee    string      `json:"callee"`    // "": the finding is about a request
	Operation string      `json:"operation"` // ""
	Split     *string     `json:"split,omitempty"`
	Count     int         `json:"count"`     // originators only
	CausedBy  int         `json:"caused_by"` // the same trouble that began elsewhere and is counted there
	// Calls is the calls whose attempts Count counts, and Unanswered those of them that no attempt
	// was answered of; 0: the finding is not about attempts.
	Calls      int       `json:"calls,omitempty"`
	Unanswered int       `json:"unanswered,omitempty"`
	First      int64     `json:"first_unix_ns"`
	Last       int64     `json:"last_unix_ns"`
	Examples   []Example `json:"examples"` // worst first: by Amount, then trace id; at most MaxExamples
}

// MaxExamples is how many examples a finding keeps.
const MaxExamples = 5

// An Example is the evidence of a finding. Which of the embedded parts is set
// depends on the code.
type Example struct {
	Trace    ingest.TraceID `json:"trace"`
	Span     ingest.SpanID  `json:"span"`
	File     string         `json:"file"`
	Position int64          `json:"position"`
	Start    int64          `json:"start_unix_ns"` // of the request, or the call, that the example is
	Amount   time.Duration  `json:"amount_ns"`     // what it is ordered by: how late, how much below, how long for nobody
	Source   Source         `json:"deadline_source,omitempty"`
	*Lateness
	*CallEvidence
	*WorkEvidence
	*Detail
}

// A Detail is a further number of a finding; what it is depends on the code.
type Detail struct {
	Timeout  *time.Duration `json:"own_timeout_ns,omitempty"` // of the call itself: timeout-over-budget, fixed-timeout
	Callee   *time.Duration `json:"callee_end_ns,omitempty"`  // when the callee's answer was there, since the start of the request: false-timeout, late-anyway
	Success  string         `json:"success,omitempty"`        // recorded, or inferred: false-timeout, late-anyway
	Attempts int            `json:"attempts,omitempty"`       // retry-amplified
	Calls    int            `json:"calls,omitempty"`          // retry-amplified, hedge-load
	Each     *float64       `json:"attempts_each,omitempty"`  // retry-amplified: attempts a call, weighted; absent where all calls stand for as many
	Bottom   int            `json:"bottom_attempts,omitempty"`
	Instance string         `json:"instance,omitempty"` // one-instance
	Share    *float64       `json:"share,omitempty"`    // one-instance: of all calls; hedge-load: hedges a call, weighted
	Slow     *float64       `json:"slow_share,omitempty"`
	P95      *time.Duration `json:"p95_ns,omitempty"` // hedge-early, hedge-late
}

// Lateness is the evidence of request-late.
type Lateness struct {
	Duration time.Duration `json:"duration_ns"`
	Budget   time.Duration `json:"budget_ns"` // deadline - start
	Own      time.Duration `json:"own_ns"`
	Path     []PathShare   `json:"path"`     // by path time, longest first
	SavedBy  []string      `json:"saved_by"` // what alone would have saved it, the greatest gain first
}

// A PathShare is the time that one dependency held on the path of a request.
type PathShare struct {
	Callee    string        `json:"callee"`
	Operation string        `json:"operation"`
	Path      time.Duration `json:"path_ns"`
}

// CallEvidence is the evidence of findings about a call or an attempt.
// Start of the call, deadline and remaining are as seen by the request that made it.
type CallEvidence struct {
	At              time.Duration  `json:"at_ns"`        // start of the call since the start of its request
	Remaining       time.Duration  `json:"remaining_ns"` // deadline - start; negative: past it
	Reserve         *time.Duration `json:"reserve_ns"`
	Timeout         *time.Duration `json:"timeout_ns"` // computed; may be negative
	Minimum         *time.Duration `json:"minimum_ns"`
	Ceiling         *time.Duration `json:"ceiling_ns"`
	OnPath          *time.Duration `json:"path_ns,omitempty"`
	AssumesRequired bool           `json:"assumes_required"`
}

// WorkEvidence is the evidence of work that nobody waited for any more.
type WorkEvidence struct {
	Work     time.Duration `json:"work_ns"` // sum over Services
	Spans    int           `json:"spans"`
	Services []ServiceWork `json:"services"` // by service
}

// A ServiceWork is the union of the time that spans of one service ran on.
type ServiceWork struct {
	Service string        `json:"service"`
	Work    time.Duration `json:"work_ns"`
	Spans   int           `json:"spans"`
}

// A LateOne is a late request with the one line that says why.
type LateOne struct {
	Trace    ingest.TraceID `json:"trace"`
	Span     ingest.SpanID  `json:"span"`
	File     string         `json:"file"`
	Position int64          `json:"position"`
	Service  string         `json:"service"`
	Route    string         `json:"route"`
	Split    *string        `json:"split,omitempty"`
	Start    int64          `json:"start_unix_ns"`
	Overrun  time.Duration  `json:"overrun_ns"`
	Source   Source         `json:"deadline_source"`
	Lateness
}
