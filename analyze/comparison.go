package analyze

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// CompareSchema names the form of a Comparison in JSON.
const CompareSchema = "overrun.compare/v1"

// ErrorRate is how much of what is called better or worse may be chance: of all
// differences that are called so, this share at the most is expected to be none. Where
// nothing differs, a comparison calls anything so in this share of cases at the most.
const ErrorRate = 0.05

// A Comparison puts two analyses side by side.
type Comparison struct {
	Schema    string  `json:"schema"`
	SplitBy   string  `json:"split_by,omitempty"`
	ErrorRate float64 `json:"error_rate"`
	Tested    int     `json:"tested"` // differences for which there is a p
	Before    Input   `json:"before"`
	After     Input   `json:"after"`
	// Routes and Dependencies are sorted as those of a Report.
	Routes       []RouteChange      `json:"routes"`
	Dependencies []DependencyChange `json:"dependencies"`
	Acceptance   []Check            `json:"acceptance"` // by rule, then route; empty: the policy has no rules
}

// Seen says on which sides a row is.
type Seen string

const (
	SeenBoth   Seen = "both"
	SeenBefore Seen = "before"
	SeenAfter  Seen = "after"
)

// A RouteChange is what became of a route.
type RouteChange struct {
	Service     string       `json:"service"`
	Route       string       `json:"route"`
	Split       *string      `json:"split,omitempty"`
	Seen        Seen         `json:"seen"`
	Differences []Difference `json:"differences"`
	Warnings    []Warning    `json:"warnings"`
}

// A DependencyChange is what became of a dependency.
type DependencyChange struct {
	Caller      string       `json:"caller"`
	Callee      string       `json:"callee"`
	Operation   string       `json:"operation"`
	Split       *string      `json:"split,omitempty"`
	Seen        Seen         `json:"seen"`
	Differences []Difference `json:"differences"`
	Warnings    []Warning    `json:"warnings"`
}

// A Measure is what is compared.
type Measure string

const (
	InTime         Measure = "in_time"          // complete and partial in time, of requests with a deadline, failed ones too
	CompleteInTime Measure = "complete_in_time" // complete in time, of the same
	PartialAnswers Measure = "partial"          // of answered requests
	LateAnswers    Measure = "late"             // of answered requests with a deadline
	FailedShare    Measure = "failed"           // of requests; of attempts: error, refused, connect-error
	CutShare       Measure = "cut"              // of attempts: the three timeouts and cancelled-caller
	SlowerPairs    Measure = "slower"           // pairs of a value before and one after of which the latter is greater
	LatencyP50     Measure = "p50"
	LatencyP95     Measure = "p95"
	LatencyP99     Measure = "p99"
	LatencyP999    Measure = "p999"
	TimeTotal      Measure = "time_total"           // mean of a request; time_own and the like: of a category
	PathTime       Measure = "path_time"            // that calls held the critical path, mean of all requests of the caller
	AttemptsEach   Measure = "attempts_per_request" // of all calls of a request; at one dependency: mean of all requests of the caller
	ExtraLoad      Measure = "extra_load"           // attempts a call - 1
)

// timeOf is the measure of the time of a category.
func timeOf(c Category) Measure {
	return Measure("time_" + strings.ReplaceAll(string(c), "-", "_"))
}

// A Unit is what the numbers of a difference are.
type Unit string

const (
	Shares Unit = "share" // fractions of 1
	Times  Unit = "ns"
	Counts Unit = "count"
)

// A Verdict says what a difference shows.
type Verdict string

const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	NoEvidence Verdict = "no-evidence" // what there is may be chance
	TooFew     Verdict = "too-few"     // there are so few values that hardly any difference would show, or that one or two decide
	NotKnown   Verdict = "not-known"   // what was recorded cannot tell: cuts hide it, or weights are missing
	OneSided   Verdict = "one-sided"   // there is nothing on the other side
)

// A Difference is one measure of one row, before and after.
type Difference struct {
	Measure       Measure
	Unit          Unit
	Before, After Side // of SlowerPairs: no points
	// Difference is after - before with its 95 % interval, not corrected for how many
	// differences there are. That of SlowerPairs is its share - 1/2.
	Difference Range
	P          *float64 // that chance alone makes such a difference, or a larger one; nil: not tested
	Adjusted   *float64 // P corrected for Comparison.Tested (Benjamini and Hochberg): at most ErrorRate, and it is called one
	Verdict    Verdict

	leading bool // see weigh
	up      bool // the greater is after
}

// A Side is one side of a difference.
type Side struct {
	N         int     // values
	Effective float64 // independent ones; 0: not known
	Range
}

// higherIsBetter is so of shares in time alone.
func (m Measure) higherIsBetter() bool { return m == InTime || m == CompleteInTime }

// MarshalJSON writes keys that name their unit: before_ns, where times are whole
// nanoseconds.
func (d Difference) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	suffix := ""
	if d.Unit == Times {
		suffix = "_ns"
	}
	number := func(v *float64) string {
		switch {
		case v == nil || math.IsNaN(*v) || math.IsInf(*v, 0):
			return "null"
		case d.Unit == Times:
			return fmt.Sprintf("%d", int64(math.Round(*v)))
		}
		return text(v)
	}
	fmt.Fprintf(&b, `{"measure":%q,"unit":%q`, d.Measure, d.Unit)
	for _, side := range []struct {
		name string
		of   *Side
	}{{"before", &d.Before}, {"after", &d.After}} {
		fmt.Fprintf(&b, `,"%s_n":%d,"%[1]s_effective_n":%[3]s,"%[1]s%[4]s":%[5]s,"%[1]s_low%[4]s":%[6]s,"%[1]s_high%[4]s":%[7]s`,
			side.name, side.of.N, text(&side.of.Effective), suffix, number(side.of.Point), number(side.of.Low), number(side.of.High))
	}
	fmt.Fprintf(&b, `,"difference%s":%s,"difference_low%[1]s":%[3]s,"difference_high%[1]s":%[4]s,"p":%[5]s,"p_adjusted":%[6]s,"verdict":%[7]q}`,
		suffix, number(d.Difference.Point), number(d.Difference.Low), number(d.Difference.High), text(d.P), text(d.Adjusted), d.Verdict)
	return []byte(b.String()), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Difference) UnmarshalJSON(data []byte) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return err
	}
	var bad error
	get := func(key string, to any) {
		if raw, ok := keys[key]; ok {
			bad = cmp.Or(bad, json.Unmarshal(raw, to))
		}
	}
	*d = Difference{}
	get("measure", &d.Measure)
	get("unit", &d.Unit)
	get("verdict", &d.Verdict)
	get("p", &d.P)
	get("p_adjusted", &d.Adjusted)
	suffix := ""
	if d.Unit == Times {
		suffix = "_ns"
	}
	interval := func(name string, r *Range) {
		get(name+suffix, &r.Point)
		get(name+"_low"+suffix, &r.Low)
		get(name+"_high"+suffix, &r.High)
	}
	for name, side := range map[string]*Side{"before": &d.Before, "after": &d.After} {
		get(name+"_n", &side.N)
		get(name+"_effective_n", &side.Effective)
		interval(name, &side.Range)
	}
	interval("difference", &d.Difference)
	return bad
}
