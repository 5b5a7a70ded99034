package analyze

import (
	"fmt"
	"slices"

	"overrun/ingest"
)

// A Source says where a deadline came from.
type Source string

const (
	Recorded  Source = "recorded"  // on the entry span, or the client span that called it
	Inherited Source = "inherited" // from the request that called
	ByPolicy  Source = "policy"    // the policy file
	ByFlag    Source = "flag"      // --deadline
)

// An Outcome is how an attempt ended. Its text is what reports call it.
type Outcome int8

const (
	OutcomeOK       Outcome = iota + 1
	NoData                  // 404, NOT_FOUND
	Failure                 // an answer came, a bad one
	Refused                 // nobody listens
	ConnectError            // DNS, TLS, unreachable
	ConnectTimeout          // cut while connecting
	PoolTimeout             // cut while waiting for a connection of the pool
	ReadTimeout             // cut while waiting for the answer
	CancelledRace           // a sibling answered first, or failed first
	CancelledCaller         // the caller gave up
	Skipped                 // not made
	Unfinished              // no end, or no status that says
)

// Outcomes lists all outcomes in the order reports show them, which summaries store them by.
var Outcomes = [...]Outcome{OutcomeOK, NoData, Failure, Refused, ConnectError, ConnectTimeout,
	PoolTimeout, ReadTimeout, CancelledRace, CancelledCaller, Skipped, Unfinished}

var outcomeTexts = [1 + len(Outcomes)]string{"", "ok", "no-data", "error", "refused", "connect-error", "connect-timeout",
	"pool-timeout", "read-timeout", "cancelled-race", "cancelled-caller", "skipped", "unknown"}

// String is "" for the zero value, which is no outcome.
func (o Outcome) String() string { return outcomeTexts[o] }

// MarshalText writes what String says.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what MarshalText wrote. It fails if there is no such outcome.
func (o *Outcome) UnmarshalText(text []byte) error {
	i := slices.Index(outcomeTexts[:], string(text))
	if i < 0 {
		return fmt.Errorf("no outcome is called %q", text)
	}
	*o = Outcome(i)
	return nil
}

// number is the place of an outcome in Outcomes.
func (o Outcome) number() int { return int(o) - 1 }

// Cut reports whether the caller stopped waiting: the three timeouts and
// cancelled-caller.
func (o Outcome) Cut() bool {
	return o == ConnectTimeout || o == PoolTimeout || o == ReadTimeout || o == CancelledCaller
}

// Answered reports whether a good answer came: ok or no-data.
func (o Outcome) Answered() bool { return o == OutcomeOK || o == NoData }

// Bad reports whether the attempt failed without being cut: error, refused or
// connect-error.
func (o Outcome) Bad() bool { return o == Failure || o == Refused || o == ConnectError }

// Ended is how a request ended, whatever its time.
type Ended string

const (
	Complete Ended = "complete"
	PartlyOK Ended = "partial" // answered, but an optional call was late, failed or skipped
	Failed   Ended = "failed"
)

// A Category is what an instant of a request was spent on. Every instant
// belongs to exactly one.
type Category string

const (
	Own       Category = "own"
	Connect   Category = "connect"
	Read      Category = "read" // waiting for and reading the answer, and all that is not told apart from it
	Retry     Category = "retry"
	RetryWait Category = "retry-wait"
	Hedge     Category = "hedge"
	Messaging Category = "messaging"
	Unknown   Category = "unknown" // another service worked, and no call of ours says for whom
)

// A FindingCode names a kind of trouble. Codes are stable.
type FindingCode string

const (
	RequestLate       FindingCode = "request-late"
	CallBelowMinimum  FindingCode = "call-below-minimum"
	CallPastDeadline  FindingCode = "call-past-deadline"
	WorkPastDeadline  FindingCode = "work-past-deadline"
	AbandonedWork     FindingCode = "abandoned-work"
	OptionalOnPath    FindingCode = "optional-on-path"
	RetryBelowMinimum FindingCode = "retry-below-minimum"
	RetryPastDeadline FindingCode = "retry-past-deadline"
	TimeoutOverBudget FindingCode = "timeout-over-budget"
	FixedTimeout      FindingCode = "fixed-timeout"
	DeadlineWidened   FindingCode = "deadline-widened"
	DeadlineLost      FindingCode = "deadline-lost"
	RetryAmplified    FindingCode = "retry-amplified"
	HedgeEarly        FindingCode = "hedge-early"
	HedgeLate         FindingCode = "hedge-late"
	HedgeNotCancelled FindingCode = "hedge-not-cancelled"
	HedgeLoad         FindingCode = "hedge-load"
	FalseTimeout      FindingCode = "false-timeout"
	LateAnyway        FindingCode = "late-anyway"
	ConnectSlow       FindingCode = "connect-slow"
	OneInstance       FindingCode = "one-instance"
)

// FindingCodes lists all codes, with what each means, in the order of the help.
var FindingCodes = []struct {
	Code FindingCode
	Text string
}{
	{RequestLate, "the request ended after its deadline, answered or failed (late, of a route: answered)"},
	{CallPastDeadline, "the call started after the deadline"},
	{CallBelowMinimum, "the call was made although the time left was below the dependency's minimum"},
	{RetryPastDeadline, "an attempt after the first started after the deadline"},
	{RetryBelowMinimum, "an attempt after the first started with less time left than the minimum"},
	{WorkPastDeadline, "work ran on after the deadline"},
	{AbandonedWork, "work ran on after its caller had left"},
	{OptionalOnPath, "an optional call held the answer beyond its ceiling, or made it late"},
	{TimeoutOverBudget, "a call had a timeout of its own that exceeded what was left"},
	{FixedTimeout, "calls are cut by one fixed timeout, whatever is left"},
	{DeadlineWidened, "a callee was promised more time than was left"},
	{DeadlineLost, "a callee did not record the deadline that its caller had, and usually does"},
	{RetryAmplified, "more than 1.1 attempts a call, or retries of what is retried below"},
	{HedgeEarly, "a second copy was sent before half of the dependency's p95"},
	{HedgeLate, "a second copy was sent after twice the dependency's p95"},
	{HedgeNotCancelled, "the copy that lost ran on"},
	{HedgeLoad, "more second copies than the policy accepts"},
	{FalseTimeout, "a call was cut whose answer would have come in time"},
	{LateAnyway, "a call was cut whose answer would have come too late all the same"},
	{ConnectSlow, "connecting took more than its share of the timeout, or more than 1 s"},
	{OneInstance, "one instance of the callee holds an outsized share of the slow answers"},
}

// Warnings about rows.
const (
	ConnectInRead    Warning = "connect-inside-read" // connecting is not told apart: it is inside read
	FewP50           Warning = "few-p50"             // too few values for an upper end of the interval
	FewP95           Warning = "few-p95"
	FewP99           Warning = "few-p99"
	FewP999          Warning = "few-p999"
	CutsHidePoint    Warning = "cuts-hide-point"  // calls were cut below the quantile: bounds, no point
	CurveEnds        Warning = "curve-ends"       // so many calls were cut that the quantile has only a lower bound
	CutsHideEnd      Warning = "cuts-hide-end"    // cuts leave no upper end of the interval
	MixedWeights     Warning = "mixed-weights"    // sampling weights known of some and not of others: no value
	FewCeiling       Warning = "few-ceiling"      // the quantile under the ceiling has no upper bound
	NoCeiling        Warning = "no-ceiling"       // the quantile for the ceiling is not known
	CappedByBudget   Warning = "capped-by-budget" // the ceiling was capped at what deadlines leave
	DoesNotFit       Warning = "does-not-fit"     // what a deadline leaves is below the minimum
	AssumesRequired  Warning = "assumes-required" // no policy says which calls are optional
	HistogramValues  Warning = "histogram"        // beyond 2^20 values: quantiles within 0.1 %
	ManyCallsNoUsual Warning = "usual-calls-untracked"
	MinimumUnknown   Warning = "minimum-unknown"
	ManyRows         Warning = "many-rows"           // the row holds what is left of very many rows
	ManyOperations   Warning = "many-operations"     // the row holds what is left of very many operations
	TimeoutUnclear   Warning = "timeout-or-deadline" // a pile of cuts that may be a fixed timeout or the deadline
	ClusteredTail    Warning = "clustered-tail"      // most of the slowest answers come from one minute, trace or instance
	DriftSlower      Warning = "drift-slower"        // answers got slower from the first third of the time to the last
	DriftFaster      Warning = "drift-faster"
	TwoModes         Warning = "two-modes"       // two humps in the latencies
	PileOfAnswers    Warning = "pile-of-answers" // many answers took one and the same long time
	TailSampled      Warning = "tail-sampled"    // of the input: traces look chosen by how they ended
	HidesChange      Warning = "hides-change"    // of a comparison: a difference cannot be told, whatever the number of values
	HiddenRetries    Warning = "hidden-retries"  // spans that hide their retries
	TailUnknown      Warning = "tail-unknown"    // no request shows its own work after an answer, or weights of some are not known: 0 is used in reserves
)

// Warnings of replays.
const (
	OrderByTiming   Warning = "order-by-timing"    // under 20 requests show in which order some calls come
	LoadNotModelled Warning = "load-not-modelled"  // more than 1 % extra calls
	NotRepeatable   Warning = "not-safe-to-repeat" // the policy asks for repeats of what is not known to be safe
	RetriesMultiply Warning = "retries-multiply"   // retries on several levels
	NotWeighted     Warning = "not-weighted"       // requests stand for different numbers of requests
	NoErrorTail     Warning = "no-error-tail"      // requests fail in the replay, and none did in the record
)

// WarningText says a warning in words, for a footnote.
var WarningText = map[Warning]string{
	ConnectInRead:    "connecting is not told apart from waiting for the answer: it is inside read",
	FewP50:           "too few values for a p50 with an upper 95 % bound (6 are needed)",
	FewP95:           "too few values for a p95 with an upper 95 % bound (72 are needed)",
	FewP99:           "too few values for a p99 with an upper 95 % bound (368 are needed)",
	FewP999:          "too few values for a p99.9 with an upper 95 % bound (3 688 are needed)",
	CutsHidePoint:    "calls were cut before this quantile: it lies between the two bounds (cuts answer at the cut; cuts never answer)",
	CurveEnds:        "the quantile is not known: so many calls were cut that there is only this lower bound",
	CutsHideEnd:      "calls were cut, so that the interval has no upper end",
	MixedWeights:     "some spans say for how many they stand and others do not: no quantile, mean or share can be given",
	FewCeiling:       "the ceiling rests on a quantile for which there are too few values: it may be far too low",
	NoCeiling:        "no ceiling: the quantile it rests on is not known",
	CappedByBudget:   "the ceiling is capped at what the deadline leaves after the reserve and the calls before",
	DoesNotFit:       "what the deadline leaves for this call is below its minimum",
	AssumesRequired:  "no policy says which calls are optional: all count as required",
	HistogramValues:  "more than 2^20 values: quantiles are exact to 0.1 %",
	ManyCallsNoUsual: "requests with very many calls: calls that are usual but absent are not looked for",
	MinimumUnknown:   "its minimum is not known: it counts 0 in the reserves of calls before it",
	ManyRows:         "more than 20 000 names: the row holds all that are not told apart",
	ManyOperations:   "this callee has more than 200 operations: the row holds all others together",
	TimeoutUnclear:   "calls are cut after one and the same time: a fixed timeout or the deadline, the trace cannot tell",
	ClusteredTail:    "over half of the slowest answers come from one minute, trace or instance: intervals of the tail are too narrow",
	DriftSlower:      "it got slower from the first third of the time to the last: one quantile of all stands for neither",
	DriftFaster:      "it got faster from the first third of the time to the last: one quantile of all stands for neither",
	TwoModes:         "latencies have two humps: two kinds of calls are in one row",
	PileOfAnswers:    "many slow answers took one and the same time: something other than the callee's work ended there",
	TailSampled:      "the traces look chosen by how they ended (tail sampling): shares and quantiles are of the chosen ones, and no weight repairs that",
	HidesChange:      "not known: calls were cut by the deadline, or before the quantile, or sampling weights are known of some only: more of the same would not tell",
	HiddenRetries:    "some spans hide retries inside: they are left out of the latencies of attempts",
	TailUnknown:      "the own work after the last answer is not known: the reserve counts it as 0",
	OrderByTiming:    "under 20 requests show in which order some calls come: the times of each request decide",
	LoadNotModelled:  "latencies as recorded: what more than 1 % extra load does to them is not modelled",
	NotRepeatable:    "not known to be safe to repeat: neither retried nor hedged, whatever the policy says",
	NotWeighted:      "sampled: recorded requests stand for different numbers of requests, and each counts as one in a replay, as observed too; what independent calls would do is weighted",
	RetriesMultiply:  "retries on several levels multiply: the attempts that one top request can make at the bottom",
	NoErrorTail:      "no failed request was recorded: a request that fails ends at once, without work of its own after it",
}

// Notes that the analysis adds to those of ingest.
const (
	OverrunAsync   ingest.Code = "overrun-async"   // a child ended after its parent, which did not wait
	OverrunClipped ingest.Code = "overrun-clipped" // a child ended a trifle after its parent: cut to it
	EarlyClipped   ingest.Code = "early-clipped"   // a child started before its parent: cut to it
	DetachedBefore ingest.Code = "detached-before" // a child ended before its parent began
	DetachedAfter  ingest.Code = "detached-after"  // a child began after its parent had ended
	AsyncMessaging ingest.Code = "async-messaging" // a consumer of the parent's message
	FollowsFrom    ingest.Code = "follows-from"    // the source says that the parent did not wait
	CancelledLoser ingest.Code = "cancelled-loser" // lost a race; not on the path
	Abandoned      ingest.Code = "abandoned"       // ran on after its caller had left
	ClockSkew      ingest.Code = "skew"            // the span's clock was moved
	NoKinds        ingest.Code = "no-kinds"        // no span of the trace says its kind
	SkewTooLarge   ingest.Code = "skew-beyond-max" // skew was proved, but is beyond --max-skew: not moved
	LostAttempt    ingest.Code = "lost-attempt"    // a callee whose attempt left no span
)

// NoteText says the codes of notes in words, those of ingest too.
var NoteText = map[ingest.Code]string{
	ingest.Duplicate:     "an exact copy of a span was dropped, or an unfinished version gave way",
	ingest.NoteEndBefore: "a span ended before it began: kept for structure, in no statistic",
	ingest.NoteNoStart:   "a span without a start: kept for structure, in no statistic",
	ingest.NoteNoEnd:     "an unfinished span: in no statistic, never an overrun",
	ingest.Orphan:        "the parent of a span is not in the input; no other was guessed",
	ingest.CycleCut:      "spans were each other's parents: one link was cut",
	ingest.SelfParent:    "a span named itself as its parent",
	ingest.EmptyIDs:      "spans without a trace or span id: never joined with others",
	ingest.BadID:         "a trace or span id that cannot be read: the span has none",
	ingest.LabelID:       "an id is a word, or too long: a hash stands for it; trace --id takes the word too",
	ingest.PaddedID:      "a trace id ends in 16 zeros: 64 bits padded on the right, it seems; the same padded on the left is another trace",
	ingest.NULs:          "NUL bytes between values, as log rotation leaves them, were stripped",
	ingest.LateSpan:      "a span ended more than a minute after its root",
	ingest.RootMissing:   "no span of a trace is without a parent",
	ingest.UnitInDoubt:   "a span starts in 1970, but would between 2001 and 2096 if its times were in milliseconds or microseconds and not in nanoseconds: then all its durations are too short",
	ingest.TraceCut:      "a trace has more spans than fit into --memory: only its first were used",
	ingest.TextCut:       "a name or value of a span is longer than 4 KiB: its beginning was used, with a mark that tells it from others",
	ingest.Partial:       "the source said that it is not whole",
	ingest.Truncated:     "the input was cut off: all that came before is used",
	ingest.Unreadable:    "bytes that are no span were skipped",
	ingest.OtherSignal:   "logs, metrics or profiles were skipped",
	ingest.EmptyFile:     "a file holds no span",
	OverrunAsync:         "a child ended after its parent, which did not wait",
	OverrunClipped:       "a child ended a trifle after its parent: cut to it",
	EarlyClipped:         "a child began before its parent: cut to it",
	DetachedBefore:       "a child ended before its parent began: not waited for",
	DetachedAfter:        "a child began after its parent had ended: not waited for",
	AsyncMessaging:       "a consumer of the parent's message: not waited for",
	FollowsFrom:          "the source says that the parent did not wait",
	CancelledLoser:       "lost a race: not on the path",
	Abandoned:            "ran on after its caller had left",
	ClockSkew:            "the clock of a span was moved",
	LostAttempt:          "a callee worked for a call whose attempt left no span",
	SkewTooLarge:         "a clock is wrong by more than --max-skew: not moved",
	CutApart:             "a trace came in pieces, from several inputs: where requests were torn apart, all of the trace are fragments",
	SavedTwice:           "a trace is in several inputs: it counts once",
	WorkUnknown:          "the deadlines of a saved trace are not those that it was saved with: what ran on after them is not known",
	NoKinds:              "no span of a trace says its kind: calls cannot be told from own work",
	BadDeadline:          "a recorded deadline that cannot be read was ignored",
}
