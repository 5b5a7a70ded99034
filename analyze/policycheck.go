package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Check holds the policy against the traces that a was made of, under this very
// policy. name is its file's, for messages. An error joins one PolicyError for
// each rule that
//
//   - names a route or a dependency that the traces do not have (not asked where
//     requests were picked: the others may have it);
//   - leaves a ceiling below the minimum, so that no call would ever be made,
//     where one of the two is given and the other measured;
//   - gives a deadline that the measured reserve alone uses up.
//
// What contradicts itself without any trace is an error of ParsePolicy already.
func (p *Policy) Check(name string, a *Analysis) error {
	if p == nil {
		return nil
	}
	c := policyCheck{policy: p, name: name, all: a.opts.Pick == Pick{}}
	c.routes(a.Report.Routes)
	c.dependencies(a.Report.Dependencies)
	return joinMistakes(name, c.mistakes)
}

// A policyCheck collects what is wrong with a policy in view of a report.
type policyCheck struct {
	policy   *Policy
	name     string
	all      bool // the report is of all that the traces hold
	mistakes []*PolicyError
}

func (c *policyCheck) mistake(line int, format string, args ...any) {
	c.mistakes = append(c.mistakes, &PolicyError{c.name, max(line, 1), fmt.Sprintf(format, args...)})
}

func (c *policyCheck) routes(routes []Route) {
	for i := range c.policy.Deadlines {
		rule := &c.policy.Deadlines[i]
		matched := false
		for k := range routes {
			r := &routes[k]
			matched = matched || glob(rule.Service, r.Service) && glob(rule.Route, r.Route)
			if c.policy.DeadlineFor(r.Service, r.Route) != rule || rule.Reserve != nil || r.Tail.P99 == nil {
				continue
			}
			if tail := *r.Tail.P99; tail >= rule.Deadline {
				c.mistake(rule.Lines.of("deadline"), "deadline: %v is used up by the measured reserve of %s, %v (p99 of own work after the last answer): write a longer deadline, or the reserve that is meant",
					rule.Deadline, routeKey{service: r.Service, route: r.Route}, tail)
			}
		}
		if !matched && c.all {
			var names []string
			for k := range routes {
				names = append(names, routeKey{service: routes[k].Service, route: routes[k].Route}.String())
			}
			what := routeKey{service: rule.Service, route: rule.Route}.String()
			c.mistake(rule.Lines.of(""), "deadlines: no request in the traces is of %s%s", what, meant(what, names))
		}
	}
}

func (c *policyCheck) dependencies(dependencies []Dependency) {
	for i := range c.policy.Dependencies {
		rule := &c.policy.Dependencies[i]
		matched := false
		for k := range dependencies {
			d := &dependencies[k]
			matched = matched || glob(rule.Caller, d.Caller) && glob(rule.Callee, d.Callee) && glob(rule.Operation, d.Operation)
			if c.policy.Rule(d.Caller, d.Callee, d.Operation) == rule && c.policy.Timeouts != FixedCeiling { // which knows no minimum
				c.ceiling(rule, d)
			}
		}
		if !matched && c.all {
			what := dependency{caller: rule.Caller, callee: rule.Callee, operation: rule.Operation}.String()
			var names []string
			for k := range dependencies {
				d := &dependencies[k]
				names = append(names, dependency{caller: d.Caller, callee: d.Callee, operation: d.Operation}.String())
			}
			c.mistake(rule.Lines.of(""), "dependencies: no call in the traces is of %s%s", what, meant(what, names))
		}
	}
}

// ceiling notes a ceiling in force that is below the minimum in force.
func (c *policyCheck) ceiling(rule *DependencyRule, d *Dependency) {
	what := dependency{caller: d.Caller, callee: d.Callee, operation: d.Operation}
	switch {
	case rule.Ceiling != nil && rule.Minimum == nil && d.Minimum != nil && *rule.Ceiling < *d.Minimum:
		c.mistake(rule.Lines.of("ceiling"), "ceiling: %v is below the measured minimum of %s, %v (p50 of %d attempts): no call would be made: write a higher ceiling, or a minimum",
			*rule.Ceiling, what, *d.Minimum, d.Latency.N)
	case rule.Ceiling == nil && rule.Minimum != nil && d.Ceiling != nil && *d.Ceiling < *rule.Minimum:
		c.mistake(rule.Lines.of("minimum"), "minimum: %v is above the measured ceiling of %s, %v: no call would be made: write a lower minimum, or a ceiling",
			*rule.Minimum, what, *d.Ceiling)
	}
}

// String writes a dependency as reports do.
func (d dependency) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s → %s %s", d.caller, d.callee, d.operation))
}

// String writes a route as reports do.
func (k routeKey) String() string { return k.service + " " + k.route }

// meant names what the traces have that is spelled most like a name they do not
// have; all of it where there is little.
func meant(name string, names []string) string {
	const few = 3
	switch {
	case len(names) == 0:
		return ": they hold none at all"
	case len(names) <= few:
		return ": they hold " + strings.Join(names, ", ") + ": correct the name, or remove the rule"
	}
	best := slices.MinFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(edits(name, x), edits(name, y)), cmp.Compare(x, y))
	})
	return fmt.Sprintf(": is %s meant? Correct the name, or remove the rule", best)
}

// edits is the Levenshtein distance of two texts, in bytes: how many have to be
// put in, taken out or replaced.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
