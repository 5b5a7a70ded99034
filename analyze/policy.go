package analyze

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A Policy is the policy file: deadlines of routes, what is promised and
// accepted for each dependency, and how to read the traces of the site.
type Policy struct {
	Timeouts     Timeouts
	HedgeLoad    Quantile // accepted extra requests; default 5 %
	ConnectShare Quantile // default 30 %
	Margin       Quantile // over the quantile of a required dependency's ceiling; default 20 %
	Deadlines    []DeadlineRule
	Dependencies []DependencyRule
	Acceptance   []AcceptanceRule
	Signals      *UserSignals // nil: the built-in rules alone
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
	Lines    Lines
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
	Lines         Lines
}

// Lines says where a rule stands in its file: the line of each key that it
// gives, and under "" that of the rule itself. Nil: the rule is from no file.
type Lines map[string]int

// of is the line of a key, or that of the rule where it does not give the key.
func (l Lines) of(key string) int {
	if line := l[key]; line > 0 {
		return line
	}
	return l[""]
}

// Accepted shares of false timeouts, where nobody says otherwise.
const (
	FalseTimeoutsRequired Quantile = 1_000  // 0.1 %
	FalseTimeoutsOptional Quantile = 50_000 // 5 %
)

// MaxPolicySize is how many bytes a policy file may have.
const MaxPolicySize = 1 << 20

// Limits of a policy file. Beyond them the file is an error.
const (
	maxPolicyNodes = 1 << 20        // values, each as often as aliases repeat it; a file of MaxPolicySize without aliases has fewer
	maxPolicyTime  = 24 * time.Hour // a duration; so that sums of them cannot overflow
	maxAttempts    = 100
	maxErrors      = 20 // shown
)

// DefaultPolicy is what an empty file says.
func DefaultPolicy() *Policy {
	return &Policy{Timeouts: SharedDeadline, HedgeLoad: 50_000, ConnectShare: 300_000, Margin: 200_000}
}

// DeadlineFor gives the first rule that matches a request of the route; nil:
// none does, or there is no policy.
func (p *Policy) DeadlineFor(service, route string) *DeadlineRule {
	if p == nil {
		return nil
	}
	for i := range p.Deadlines {
		if r := &p.Deadlines[i]; glob(r.Service, service) && glob(r.Route, route) {
			return r
		}
	}
	return nil
}

// Rule gives the first rule that matches a call; nil: none does, or there is
// no policy.
func (p *Policy) Rule(caller, callee, operation string) *DependencyRule {
	if p == nil {
		return nil
	}
	for i := range p.Dependencies {
		r := &p.Dependencies[i]
		if glob(r.Caller, caller) && glob(r.Callee, callee) && glob(r.Operation, operation) {
			return r
		}
	}
	return nil
}

// glob reports whether text matches pattern, in which * stands for any text,
// none and / too, and all else for itself. Between two stars the leftmost place
// of a piece is always as good as a later one, so that nothing is tried twice.
func glob(pattern, text string) bool {
	piece, rest, star := strings.Cut(pattern, "*")
	text, ok := strings.CutPrefix(text, piece)
	for ok && star {
		if piece, rest, star = strings.Cut(rest, "*"); !star {
			return strings.HasSuffix(text, piece)
		}
		_, text, ok = strings.Cut(text, piece)
	}
	return ok && text == ""
}

// A PolicyError is one mistake in a policy file.
type PolicyError struct {
	File string
	Line int // from 1
	Text string
}

func (e *PolicyError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }

// ParsePolicy reads a policy file. name is for error messages. An error says
// name:line: what, and joins one PolicyError for each mistake, by line.
func ParsePolicy(name string, data []byte) (*Policy, error) {
	r := policyReader{name: name}
	p := DefaultPolicy()
	if root := r.document(data); root != nil {
		r.policy(root, p)
	}
	if len(r.mistakes) == 0 {
		return p, nil
	}
	return nil, joinMistakes(name, r.mistakes)
}

// joinMistakes makes one error of mistakes, by line; nil: there are none.
func joinMistakes(name string, mistakes []*PolicyError) error {
	slices.SortStableFunc(mistakes, func(a, b *PolicyError) int { return cmp.Compare(a.Line, b.Line) })
	var list []error
	for i, m := range mistakes {
		if i == maxErrors {
			list = append(list, fmt.Errorf("%s: %d more mistakes", name, len(mistakes)-i))
			break
		}
		list = append(list, m)
	}
	return errors.Join(list...)
}

// ParseDuration reads a duration as policies and flags write it: Go's syntax,
// with a unit, not negative, at most 24h.
func ParseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch digits := strings.TrimLeft(text, "+-"); {
	case strings.HasPrefix(text, "-") && (err == nil || isNumber(digits)):
		return 0, fmt.Errorf("%q is negative: write it without the minus", text)
	case isNumber(digits):
		return 0, fmt.Errorf("%q has no unit: write %sms or %[2]ss", text, digits)
	case err != nil || text == "":
		return 0, fmt.Errorf("%q is no duration: write a number and ns, us, ms, s, m or h, such as 200ms", text)
	case d > maxPolicyTime:
		return 0, fmt.Errorf("%q is more than 24h", text)
	}
	return d, nil
}

// isNumber reports whether text is a plain decimal number.
func isNumber(text string) bool {
	if text == "" || strings.Trim(text, "0123456789.") != "" {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// ParseShare reads a share of 1: "5%" or 0.05.
func ParseShare(text string) (Quantile, error) {
	number, percent := strings.CutSuffix(text, "%")
	number = strings.TrimRight(number, " ")
	digits := 6 // after the point, down to a millionth
	if percent {
		digits = 4
	}
	before, after, _ := strings.Cut(number, ".")
	after = strings.TrimRight(after, "0")
	switch {
	case strings.HasPrefix(number, "-") && isNumber(number[1:]):
		return 0, fmt.Errorf("%q is negative: write a share from 0%% to 100%%", text)
	case !isNumber(number):
		return 0, fmt.Errorf("%q is no share: write 5%% or 0.05", text)
	case len(after) > digits:
		return 0, fmt.Errorf("%q is finer than a millionth: write at most 4 digits after the point of a percentage, or 6 of a fraction", text)
	}
	n, err := strconv.ParseInt(before+after+strings.Repeat("0", digits-len(after)), 10, 64)
	switch {
	case err == nil && n <= int64(whole):
		return Quantile(n), nil
	case percent:
		return 0, fmt.Errorf("%q is more than 100%%", text)
	}
	return 0, fmt.Errorf("%q is more than 1: write a percentage, such as 5%%, or a fraction, such as 0.05", text)
}

// A policyReader walks the nodes of a policy file and collects mistakes. Its
// depth is that of the policy, not that of the file.
type policyReader struct {
	name     string
	mistakes []*PolicyError
	nodes    int // visited
}

func (r *policyReader) mistake(line int, format string, args ...any) {
	r.mistakes = append(r.mistakes, &PolicyError{r.name, max(line, 1), fmt.Sprintf(format, args...)})
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// document parses YAML; nil: the file is empty, or a mistake was noted.
func (r *policyReader) document(data []byte) *yaml.Node {
	if len(data) > MaxPolicySize {
		r.mistake(1, "the file is larger than 1 MiB, which no policy needs")
		return nil
	}
	var doc, next yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	err := d.Decode(&doc)
	if err == nil {
		if err = d.Decode(&next); err == nil {
			r.mistake(next.Line, "a second document: a policy is one")
			return nil
		}
	}
	if !errors.Is(err, io.EOF) {
		text := strings.TrimPrefix(err.Error(), "yaml: ")
		line := 1
		if m := yamlLine.FindStringSubmatch(text); m != nil {
			text = text[len(m[0]):]
			line, _ = strconv.Atoi(m[1])
		}
		r.mistake(line, "not YAML: %s", text)
		return nil
	}
	if len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

// A field reads the value of one key.
type field struct {
	key  string
	read func(key string, v *yaml.Node)
}

// fields reads a mapping, and gives the line of each key in it.
func (r *policyReader) fields(what string, n *yaml.Node, fields ...field) map[string]int {
	lines := make(map[string]int)
	n = r.visit(n)
	if isNull(n) {
		return lines
	}
	var keys []string
	for _, f := range fields {
		keys = append(keys, f.key)
	}
	if n.Kind != yaml.MappingNode {
		r.mistake(n.Line, "%s: needs keys: %s", what, strings.Join(keys, ", "))
		return lines
	}
	for i := 0; i+1 < len(n.Content) && r.nodes <= maxPolicyNodes; i += 2 {
		key, line := r.visit(n.Content[i]), n.Content[i].Line
		if key.Kind != yaml.ScalarNode {
			r.mistake(line, "%s: a key must be plain text", what)
			continue
		}
		at := slices.Index(keys, key.Value)
		switch first, again := lines[key.Value]; {
		case at < 0:
			r.mistake(line, "%s: unknown key %q: the keys here are %s", what, key.Value, strings.Join(keys, ", "))
		case again:
			r.mistake(line, "%s: given twice, first on line %d: remove one", key.Value, first)
		default:
			lines[key.Value] = line
			fields[at].read(key.Value, r.visit(n.Content[i+1]))
		}
	}
	return lines
}

// visit follows an alias and counts. A file whose aliases multiply without end
// is a mistake, noted once.
func (r *policyReader) visit(n *yaml.Node) *yaml.Node {
	if r.nodes++; r.nodes == maxPolicyNodes+1 {
		r.mistake(n.Line, "aliases repeat too much: write the values out")
	}
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// list reads each element of a sequence.
func (r *policyReader) list(key, example string, v *yaml.Node, read func(*yaml.Node)) {
	switch {
	case isNull(v):
	case v.Kind != yaml.SequenceNode:
		r.mistake(v.Line, "%s: needs a list, such as %s", key, example)
	default:
		for _, n := range v.Content {
			if r.nodes > maxPolicyNodes {
				return
			}
			read(r.visit(n))
		}
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// scalar gives the text of a value.
func (r *policyReader) scalar(key, example string, v *yaml.Node) (string, bool) {
	if v.Kind == yaml.ScalarNode && !isNull(v) {
		return v.Value, true
	}
	r.mistake(v.Line, "%s: needs a value, such as %s", key, example)
	return "", false
}

// scalarTo reads a value with parse into to.
func scalarTo[T any](r *policyReader, to *T, example string, parse func(string) (T, error)) func(string, *yaml.Node) {
	return func(key string, v *yaml.Node) {
		text, ok := r.scalar(key, example, v)
		if !ok {
			return
		}
		value, err := parse(text)
		if err != nil {
			r.mistake(v.Line, "%s: %v", key, err)
			return
		}
		*to = value
	}
}

func (r *policyReader) share(to *Quantile) func(string, *yaml.Node) {
	return scalarTo(r, to, "5%", ParseShare)
}

func (r *policyReader) duration(to *time.Duration) func(string, *yaml.Node) {
	return scalarTo(r, to, "20ms", ParseDuration)
}

func (r *policyReader) optionalDuration(to **time.Duration) func(string, *yaml.Node) {
	return scalarTo(r, to, "20ms", func(text string) (*time.Duration, error) {
		d, err := ParseDuration(text)
		return &d, err
	})
}

// positive reads a duration that must not be 0. instead says what would do.
func (r *policyReader) positive(to **time.Duration, instead string) func(string, *yaml.Node) {
	return scalarTo(r, to, "200ms", func(text string) (*time.Duration, error) {
		d, err := ParseDuration(text)
		if err == nil && d == 0 {
			err = fmt.Errorf("must be more than 0s: %s", instead)
		}
		return &d, err
	})
}

func (r *policyReader) glob(to *string) func(string, *yaml.Node) {
	return scalarTo(r, to, `"*"`, func(text string) (string, error) {
		if text == "" {
			return "", errors.New(`"" matches no name: write "*" for all`)
		}
		return text, nil
	})
}

func (r *policyReader) bool(to *bool) func(string, *yaml.Node) {
	return scalarTo(r, to, "true", func(text string) (bool, error) {
		if text != "true" && text != "false" {
			return false, fmt.Errorf("%q is neither true nor false", text)
		}
		return text == "true", nil
	})
}

func (r *policyReader) policy(n *yaml.Node, p *Policy) {
	deadlines, dependencies, acceptance := make(map[string]int), make(map[string]int), make(map[string]int)
	r.fields("policy", n,
		field{"timeouts", scalarTo(r, &p.Timeouts, "deadline", func(text string) (Timeouts, error) {
			if t := Timeouts(text); t == SharedDeadline || t == FixedCeiling {
				return t, nil
			}
			return "", fmt.Errorf("%q is neither deadline nor fixed", text)
		})},
		field{"hedge_load", r.share(&p.HedgeLoad)},
		field{"connect_share", r.share(&p.ConnectShare)},
		field{"margin", r.share(&p.Margin)},
		field{"deadlines", func(key string, v *yaml.Node) {
			r.list(key, "- deadline: 200ms", v, func(n *yaml.Node) {
				p.Deadlines = append(p.Deadlines, r.deadlineRule(n, deadlines))
			})
		}},
		field{"dependencies", func(key string, v *yaml.Node) {
			r.list(key, "- callee: prices", v, func(n *yaml.Node) {
				p.Dependencies = append(p.Dependencies, r.dependencyRule(n, dependencies))
			})
		}},
		field{"acceptance", func(key string, v *yaml.Node) {
			if v.Kind == yaml.MappingNode && len(v.Content) == 0 {
				return
			}
			r.list(key, "- in_time_lower: 1%", v, func(n *yaml.Node) {
				p.Acceptance = append(p.Acceptance, r.acceptanceRule(n, acceptance))
			})
		}},
		field{"signals", func(_ string, v *yaml.Node) {
			if !isNull(v) {
				p.Signals = DefaultSignals()
				r.signals(v, p.Signals)
			}
		}})
}

// deadlineRule reads one of deadlines. seen holds the lines of rules before it,
// by their globs.
func (r *policyReader) deadlineRule(n *yaml.Node, seen map[string]int) DeadlineRule {
	rule := DeadlineRule{Service: "*", Route: "*"}
	before := len(r.mistakes)
	var deadline *time.Duration
	lines := r.fields("deadlines", n,
		field{"service", r.glob(&rule.Service)},
		field{"route", r.glob(&rule.Route)},
		field{"deadline", r.positive(&deadline, "where no deadline holds, write no rule")},
		field{"reserve", r.optionalDuration(&rule.Reserve)})
	if lines["deadline"] == 0 && len(r.mistakes) == before {
		r.mistake(n.Line, "deadline: missing: every rule of deadlines needs one, such as 200ms")
	}
	if deadline != nil {
		rule.Deadline = *deadline
		if rule.Reserve != nil && *rule.Reserve >= rule.Deadline {
			r.mistake(lines["reserve"], "reserve: %v leaves nothing of the deadline %v for calls: write less", *rule.Reserve, rule.Deadline)
		}
	}
	r.repeated("deadlines", n.Line, seen, rule.Service, rule.Route)
	lines[""] = n.Line
	rule.Lines = lines
	return rule
}

// dependencyRule reads one of dependencies.
func (r *policyReader) dependencyRule(n *yaml.Node, seen map[string]int) DependencyRule {
	rule := DependencyRule{Caller: "*", Callee: "*", Operation: "*", Required: true, Attempts: 1}
	var falseTimeouts *Quantile
	lines := r.fields("dependencies", n,
		field{"caller", r.glob(&rule.Caller)},
		field{"callee", r.glob(&rule.Callee)},
		field{"operation", r.glob(&rule.Operation)},
		field{"required", r.bool(&rule.Required)},
		field{"safe", r.bool(&rule.Safe)},
		field{"minimum", r.optionalDuration(&rule.Minimum)},
		field{"ceiling", r.positive(&rule.Ceiling, "to measure it, leave it out")},
		field{"false_timeouts", scalarTo(r, &falseTimeouts, "0.1%", func(text string) (*Quantile, error) {
			q, err := ParseShare(text)
			if err == nil && (q == 0 || q == whole) {
				err = fmt.Errorf("%q has no ceiling that keeps to it: write more than 0%% and less than 100%%, such as 0.1%%", text)
			}
			return &q, err
		})},
		field{"attempts", scalarTo(r, &rule.Attempts, "1", func(text string) (int, error) {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > maxAttempts {
				return 1, fmt.Errorf("%q is no number from 1 to %d; the first attempt counts", text, maxAttempts)
			}
			return n, nil
		})},
		field{"retry", func(key string, v *yaml.Node) {
			r.fields(key, v,
				field{"base", r.duration(&rule.RetryBase)},
				field{"on", func(key string, v *yaml.Node) { rule.RetryOn = r.codes(key, v) }})
		}},
		field{"hedge_after", r.duration(&rule.HedgeAfter)})

	if isNull(n) || n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		r.mistake(n.Line, "dependencies: an empty rule: say what is known of a dependency, or remove it")
	}
	rule.FalseTimeouts = FalseTimeoutsRequired
	if !rule.Required {
		rule.FalseTimeouts = FalseTimeoutsOptional
	}
	if falseTimeouts != nil {
		rule.FalseTimeouts = *falseTimeouts
	}
	r.contradictions(&rule, lines)
	r.repeated("dependencies", n.Line, seen, rule.Caller, rule.Callee, rule.Operation)
	lines[""] = n.Line
	rule.Lines = lines
	return rule
}

// codes reads the answers on which to retry.
func (r *policyReader) codes(key string, v *yaml.Node) (list []string) {
	r.list(key, "[unavailable, 503]", v, func(n *yaml.Node) {
		switch code, ok := r.scalar(key, "unavailable or 503", n); {
		case ok && code == "":
			r.mistake(n.Line, `%s: "" is no code: write one, such as unavailable or 503`, key)
		case ok:
			list = append(list, code)
		}
	})
	return list
}

// contradictions notes what the keys of one rule cannot mean together.
func (r *policyReader) contradictions(rule *DependencyRule, lines map[string]int) {
	hedges, repeats := rule.HedgeAfter > 0, rule.Attempts > 1
	if rule.Minimum != nil && rule.Ceiling != nil && *rule.Minimum > *rule.Ceiling {
		r.mistake(lines["minimum"], "minimum: %v is more than the ceiling %v: no call would ever be made", *rule.Minimum, *rule.Ceiling)
	}
	if hedges && repeats {
		r.mistake(lines["hedge_after"], "hedge_after: hedges and attempts: %d exclude each other: write hedge_after: 0s or attempts: 1", rule.Attempts)
	}
	if hedges && rule.Ceiling != nil && rule.HedgeAfter >= *rule.Ceiling {
		r.mistake(lines["hedge_after"], "hedge_after: %v is not below the ceiling %v: no hedge would ever be sent", rule.HedgeAfter, *rule.Ceiling)
	}
	if lines["safe"] > 0 && !rule.Safe && hedges {
		r.mistake(lines["hedge_after"], "hedge_after: a hedge repeats the call, and safe: false forbids that: write hedge_after: 0s")
	}
	if lines["safe"] > 0 && !rule.Safe && repeats {
		r.mistake(lines["attempts"], "attempts: %d repeats the call, and safe: false forbids that: write attempts: 1", rule.Attempts)
	}
}

// repeated notes a rule that has the globs of one before it.
func (r *policyReader) repeated(key string, line int, seen map[string]int, globs ...string) {
	id := strings.Join(globs, "\x00")
	if first, ok := seen[id]; ok {
		r.mistake(line, "%s: the rule of line %d has the same globs and wins: remove one", key, first)
		return
	}
	seen[id] = line
}
