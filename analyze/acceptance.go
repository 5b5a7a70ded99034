package analyze

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// An AcceptanceRule says, before anything is measured, when a change to a route is
// accepted. The first that matches a route wins. Service and Route are globs; nil: no
// limit.
type AcceptanceRule struct {
	Service            string         // default *
	Route              string         // default *
	InTimeLower        *Quantile      // by how much the share in time may be lower after than before
	Partial            *Quantile      // the greatest share of answers that are partial, after
	AttemptsPerRequest *float64       // the most, after: mean over requests
	P99                *time.Duration // the longest, after
	Lines              Lines
}

// maxAttemptsEach is the greatest limit of attempts a request.
const maxAttemptsEach = 1e6

// acceptanceRule reads one of acceptance.
func (r *policyReader) acceptanceRule(n *yaml.Node, seen map[string]int) AcceptanceRule {
	rule := AcceptanceRule{Service: "*", Route: "*"}
	share := func(to **Quantile) func(string, *yaml.Node) {
		return scalarTo(r, to, "1%", func(text string) (*Quantile, error) {
			q, err := ParseShare(text)
			return &q, err
		})
	}
	before := len(r.mistakes)
	lines := r.fields("acceptance", n,
		field{"service", r.glob(&rule.Service)},
		field{"route", r.glob(&rule.Route)},
		field{"in_time_lower", share(&rule.InTimeLower)},
		field{"partial", share(&rule.Partial)},
		field{"attempts_per_request", scalarTo(r, &rule.AttemptsPerRequest, "5.5", func(text string) (*float64, error) {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || !isNumber(text) || v > maxAttemptsEach {
				return nil, fmt.Errorf("%q is no number from 0 to a million, such as 5.5", text)
			}
			return &v, nil
		})},
		field{"p99", r.positive(&rule.P99, "where any is accepted, leave it out")})
	if len(r.mistakes) == before && rule.InTimeLower == nil && rule.Partial == nil && rule.AttemptsPerRequest == nil && rule.P99 == nil {
		r.mistake(n.Line, "acceptance: a rule that accepts everything: give it in_time_lower, partial, attempts_per_request or p99")
	}
	r.repeated("acceptance", n.Line, seen, rule.Service, rule.Route)
	lines[""] = n.Line
	rule.Lines = lines
	return rule
}

// A Ruling is what became of a rule.
type Ruling string

const (
	Kept      Ruling = "kept"      // the whole 95 % interval is within the limit
	Broken    Ruling = "broken"    // the whole 95 % interval is beyond it
	Undecided Ruling = "undecided" // the interval holds the limit, or there is none
)

// A Check is one limit, held against one route.
type Check struct {
	Service string
	Route   string
	Split   *string
	Measure Measure // InTime: of the difference; all others: after
	Unit    Unit
	Line    int     // in the policy file
	Limit   float64 // InTime: the least difference, not positive; all others: the greatest value
	Value   Range   // what the limit is held against
	N       int     // values after
	Ruling  Ruling
	// More is how many times as many requests would decide, if the value stayed; nil:
	// nobody can say, or it is decided.
	More *float64
}

// accept holds the rules of a policy against a comparison.
func (p *Policy) accept(c *Comparison) []Check {
	checks := []Check{}
	if p == nil {
		return checks
	}
	for i := range p.Acceptance {
		rule := &p.Acceptance[i]
		for k := range c.Routes {
			if row := &c.Routes[k]; p.acceptanceFor(row) == rule {
				checks = append(checks, rule.check(row)...)
			}
		}
	}
	return checks
}

func (p *Policy) acceptanceFor(row *RouteChange) *AcceptanceRule {
	for i := range p.Acceptance {
		if r := &p.Acceptance[i]; glob(r.Service, row.Service) && glob(r.Route, row.Route) {
			return r
		}
	}
	return nil
}

// check holds the limits of a rule against a route.
func (r *AcceptanceRule) check(row *RouteChange) (list []Check) {
	add := func(m Measure, key string, limit float64) {
		c := Check{Service: row.Service, Route: row.Route, Split: row.Split, Measure: m, Line: r.Lines.of(key), Limit: limit}
		for i := range row.Differences {
			if d := &row.Differences[i]; d.Measure == m {
				c.hold(d)
			}
		}
		list = append(list, c)
	}
	if r.InTimeLower != nil {
		add(InTime, "in_time_lower", -r.InTimeLower.fraction())
	}
	if r.Partial != nil {
		add(PartialAnswers, "partial", r.Partial.fraction())
	}
	if r.AttemptsPerRequest != nil {
		add(AttemptsEach, "attempts_per_request", *r.AttemptsPerRequest)
	}
	if r.P99 != nil {
		add(LatencyP99, "p99", float64(*r.P99))
	}
	return list
}

// hold decides by the whole interval, so that chance alone neither keeps nor breaks a
// rule in more than 2.5 % of cases.
func (c *Check) hold(d *Difference) {
	c.Unit, c.N, c.Value, c.Ruling = d.Unit, d.After.N, d.After.Range, Undecided
	if c.Measure == InTime {
		c.Value = d.Difference
	}
	if c.Measure == AttemptsEach && d.After.Effective < leastValues {
		return // a mean of so few has no interval to be believed
	}
	least := 1e-9 * math.Abs(c.Limit) // what rounding may do
	within, beyond := c.Value.High, c.Value.Low
	over := func(v float64) bool { return v > c.Limit+least }
	if c.Measure == InTime {
		within, beyond = c.Value.Low, c.Value.High
		over = func(v float64) bool { return v < c.Limit-least }
	}
	switch {
	case within != nil && !over(*within):
		c.Ruling = Kept
	case beyond != nil && over(*beyond):
		c.Ruling = Broken
	case c.Value.Point != nil:
		end := within
		if over(*c.Value.Point) {
			end = beyond
		}
		if end != nil && math.Abs(*c.Value.Point-c.Limit) > least {
			more := (*end - *c.Value.Point) / (c.Limit - *c.Value.Point)
			more *= more
			c.More = &more
		}
	}
}

// MarshalJSON writes keys that name their unit.
func (c Check) MarshalJSON() ([]byte, error) {
	suffix, number := "", text[float64]
	if c.Unit == Times {
		suffix = "_ns"
		number = func(v *float64) string {
			if v == nil {
				return "null"
			}
			return strconv.FormatInt(int64(math.Round(*v)), 10)
		}
	}
	var b strings.Builder
	names, err := json.Marshal(struct {
		Service string  `json:"service"`
		Route   string  `json:"route"`
		Split   *string `json:"split,omitempty"`
	}{c.Service, c.Route, c.Split})
	if err != nil {
		return nil, err
	}
	b.Write(names[:len(names)-1])
	fmt.Fprintf(&b, `,"measure":%q,"unit":%q,"line":%d,"ruling":%q,"n":%d,"limit%s":%s,"value%[6]s":%[8]s,"value_low%[6]s":%[9]s,"value_high%[6]s":%[10]s,"more":%[11]s}`,
		c.Measure, c.Unit, c.Line, c.Ruling, c.N, suffix, number(&c.Limit), number(c.Value.Point), number(c.Value.Low), number(c.Value.High), text(c.More))
	return []byte(b.String()), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Check) UnmarshalJSON(data []byte) error {
	var keys struct {
		Service string   `json:"service"`
		Route   string   `json:"route"`
		Split   *string  `json:"split"`
		Measure Measure  `json:"measure"`
		Unit    Unit     `json:"unit"`
		Line    int      `json:"line"`
		Ruling  Ruling   `json:"ruling"`
		N       int      `json:"n"`
		More    *float64 `json:"more"`
	}
	if err := json.Unmarshal(data, &keys); err != nil {
		return err
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	*c = Check{Service: keys.Service, Route: keys.Route, Split: keys.Split, Measure: keys.Measure, Unit: keys.Unit, Line: keys.Line,
		Ruling: keys.Ruling, N: keys.N, More: keys.More}
	suffix := ""
	if c.Unit == Times {
		suffix = "_ns"
	}
	for _, v := range []struct {
		key string
		to  any
	}{{"limit", &c.Limit}, {"value", &c.Value.Point}, {"value_low", &c.Value.Low}, {"value_high", &c.Value.High}} {
		if err := json.Unmarshal(values[v.key+suffix], v.to); err != nil {
			return fmt.Errorf("%s: %w", v.key, err)
		}
	}
	return nil
}

// CheckAcceptance holds the rules of acceptance against the routes that were compared:
// one that names no route of either side is a mistake. name is the policy file's.
func (p *Policy) CheckAcceptance(name string, c *Comparison) error {
	if p == nil {
		return nil
	}
	var mistakes []*PolicyError
	for i := range p.Acceptance {
		rule := &p.Acceptance[i]
		matched := false
		var names []string
		for k := range c.Routes {
			row := &c.Routes[k]
			matched = matched || glob(rule.Service, row.Service) && glob(rule.Route, row.Route)
			names = append(names, routeKey{service: row.Service, route: row.Route}.String())
		}
		if !matched {
			what := routeKey{service: rule.Service, route: rule.Route}.String()
			mistakes = append(mistakes, &PolicyError{name, max(rule.Lines.of(""), 1), fmt.Sprintf("acceptance: no request is of %s%s", what, meant(what, names))})
		}
	}
	return joinMistakes(name, mistakes)
}
