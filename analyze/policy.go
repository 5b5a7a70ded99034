package analyze

import "time"

// A Policy is the policy file: deadlines of routes, and what is promised and
// accepted for each dependency.
type Policy struct {
	Timeouts     Timeouts
	HedgeLoad    Quantile // accepted extra requests; default 5 %
	ConnectShare Quantile // default 30 %
	Margin       Quantile // over the quantile of a required dependency's ceiling; default 20 %
	Deadlines    []DeadlineRule
	Dependencies []DependencyRule
}

// Timeouts says how a call's timeout is computed.
type Timeouts string

const (
	SharedDeadline Timeouts = "deadline" // min(left - reserve, ceiling)
	FixedCeiling   Timeouts = "fixed"    // the ceiling alone
)

// A DeadlineRule gives the requests of a route their deadline. The first that
// matches wins. Service and Route are globs in which * matches anything, / too.
type DeadlineRule struct {
	Service  string // default *
	Route    string // default *
	Deadline time.Duration
	Reserve  *time.Duration // the tail; nil: the measured p99
}

// A DependencyRule says what is known of a dependency. The first that matches
// wins. Caller, Callee and Operation are globs.
type DependencyRule struct {
	Caller        string // default *
	Callee        string // default *
	Operation     string // default *
	Required      bool   // default true
	Safe          bool   // may be repeated
	Minimum       *time.Duration
	Ceiling       *time.Duration
	FalseTimeouts Quantile // accepted share of calls cut that would have succeeded; default 0.1 %, optional ones 5 %
	Attempts      int      // default 1
	RetryBase     time.Duration
	RetryOn       []string
	HedgeAfter    time.Duration // 0: no hedges
}

// ParsePolicy reads a policy file. name is for error messages. An error says
// name:line: what.
func ParsePolicy(name string, data []byte) (*Policy, error) {
	panic("soon")
}
