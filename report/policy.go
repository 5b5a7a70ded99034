package report

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"overrun/analyze"
)

// ownMark begins the comments that a policy file gets from the data. Everything else
// in the file is somebody's.
const ownMark = "#:"

// Policy writes a suggestion as a policy file. old is the file that the suggestion
// was made under, nil for none: what stands in it is kept to the byte, but for
// comments of an earlier run. name is old's, for errors.
//
// What the data say is written as comments above each rule; routes and
// dependencies without a rule get one.
//
// Note: the text is edited, and the tree of yaml.v3 only says where. Writing
// the tree keeps values, comments and order, but loses blank lines, indents
// and the columns of comments, and every run would change every line.
func Policy(w io.Writer, s *analyze.Suggestion, name string, old []byte) error {
	e := policyEditor{name: name, end: "\n"}
	if old == nil {
		old = []byte(newPolicy(s.Policy))
	}
	if err := e.open(old); err != nil {
		return err
	}
	out, err := e.edit(s)
	if err != nil {
		return err
	}
	return put(w, out)
}

// newPolicy is a policy file without rules.
func newPolicy(p *analyze.Policy) string {
	return fmt.Sprintf("timeouts: %s\nhedge_load: %s\nconnect_share: %s\nmargin: %s\ndeadlines:\ndependencies:\n", p.Timeouts,
		shareValue(p.HedgeLoad), shareValue(p.ConnectShare), shareValue(p.Margin))
}

// A policyEditor adds lines to a policy file.
type policyEditor struct {
	name   string
	end    string   // of lines
	lines  []string // without their ends, and without those of an earlier run
	policy *analyze.Policy
	root   *yaml.Node       // nil: the file is empty
	above  map[int][]string // lines to put above a line, by its number from 1
	below  map[int][]string // lines to put below a line
	after  []string         // at the end
}

// open takes the comments of an earlier run out.
func (e *policyEditor) open(old []byte) error {
	before, err := analyze.ParsePolicy(e.name, old)
	if err != nil {
		return err
	}
	if bytes.Contains(old, []byte("\r\n")) {
		e.end = "\r\n"
	}
	for line := range strings.Lines(string(old)) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(line, "\ufeff"), " \t"), ownMark) {
			e.lines = append(e.lines, line)
		}
	}
	text := []byte(strings.Join(e.lines, "\n"))
	if e.policy, err = analyze.ParsePolicy(e.name, text); err != nil || !sameRules(before, e.policy) {
		return fmt.Errorf("%s: a value runs over a line that begins with %s: write it on one line", e.name, ownMark)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return err
	}
	if len(doc.Content) > 0 && doc.Content[0].Kind == yaml.MappingNode {
		e.root = doc.Content[0]
	}
	e.above, e.below = map[int][]string{}, map[int][]string{}
	return nil
}

// sameRules reports whether two policies say the same, wherever it stands.
func sameRules(a, b *analyze.Policy) bool { return reflect.DeepEqual(withoutLines(a), withoutLines(b)) }

func withoutLines(p *analyze.Policy) analyze.Policy {
	c := *p
	c.Deadlines, c.Dependencies, c.Acceptance, c.Signals = slices.Clone(p.Deadlines), slices.Clone(p.Dependencies), slices.Clone(p.Acceptance), nil // signals hold lines
	for i := range c.Deadlines {
		c.Deadlines[i].Lines = nil
	}
	for i := range c.Dependencies {
		c.Dependencies[i].Lines = nil
	}
	for i := range c.Acceptance {
		c.Acceptance[i].Lines = nil
	}
	return c
}

func (e *policyEditor) edit(s *analyze.Suggestion) ([]byte, error) {
	e.comment(1, headerLines(s))
	for i := range s.Policy.Deadlines {
		rule := &s.Policy.Deadlines[i]
		for _, r := range s.Routes {
			if r.Rule == rule && i < len(e.policy.Deadlines) {
				e.comment(e.policy.Deadlines[i].Lines[""], routeLines(r))
			}
		}
	}
	for i := range s.Policy.Dependencies {
		rule := &s.Policy.Dependencies[i]
		for _, d := range s.Dependencies {
			if d.Rule == rule && i < len(e.policy.Dependencies) {
				e.comment(e.policy.Dependencies[i].Lines[""], dependencyLines(d))
			}
		}
	}
	routes, dependencies := s.NewRules()
	var deadlineRules, dependencyRules [][]string
	for _, r := range routes {
		deadlineRules = append(deadlineRules, slices.Concat(own(routeLines(r)), deadlineRule(r)))
	}
	for _, d := range dependencies {
		dependencyRules = append(dependencyRules, slices.Concat(own(dependencyLines(d)), dependencyRule(d)))
	}
	if err := e.add("deadlines", ruleless(s.Routes), deadlineRules); err != nil {
		return nil, err
	}
	if err := e.add("dependencies", nil, dependencyRules); err != nil {
		return nil, err
	}
	out := e.text()
	if len(out) > analyze.MaxPolicySize {
		return nil, fmt.Errorf("the policy would have %s, in %s, and a policy file has at most 1 MiB: choose services with --service", Size(int64(len(out))),
			Plural(len(routes)+len(dependencies), "new rule"))
	}
	after, err := analyze.ParsePolicy(e.name, out)
	if err != nil {
		return nil, fmt.Errorf("cannot add to it: %w", err)
	}
	n, m := len(e.policy.Deadlines), len(e.policy.Dependencies)
	if len(after.Deadlines) != n+len(routes) || len(after.Dependencies) != m+len(dependencies) {
		return nil, fmt.Errorf("%s: cannot add rules to the lists in it: write each list as lines that begin with a dash", e.name)
	}
	after.Deadlines, after.Dependencies = after.Deadlines[:n:n], after.Dependencies[:m:m]
	if n == 0 {
		after.Deadlines = e.policy.Deadlines
	}
	if m == 0 {
		after.Dependencies = e.policy.Dependencies
	}
	if !sameRules(e.policy, after) {
		return nil, fmt.Errorf("%s: cannot add rules without changing those that are there", e.name)
	}
	return out, nil
}

// own marks lines as ours.
func own(lines []string) []string {
	list := make([]string, len(lines))
	for i, l := range lines {
		list[i] = ownMark + " " + l
	}
	return list
}

// comment puts our lines above a line, in its column.
func (e *policyEditor) comment(line int, lines []string) {
	indent := ""
	if line >= 1 && line <= len(e.lines) {
		text := e.lines[line-1]
		indent = text[:len(text)-len(strings.TrimLeft(text, " "))]
	}
	for _, l := range own(lines) {
		e.above[max(line, 1)] = append(e.above[max(line, 1)], indent+l)
	}
}

// add adds rules to a list of the file, and our lines above it.
func (e *policyEditor) add(key string, about []string, rules [][]string) error {
	at, list, next := e.find(key)
	e.above[at] = append(e.above[at], own(about)...)
	if len(rules) == 0 {
		return nil
	}
	indent := "  "
	if list != nil && len(list.Content) > 0 {
		indent = strings.Repeat(" ", list.Column-1)
	}
	var lines []string
	for _, rule := range rules {
		for _, l := range rule {
			lines = append(lines, indent+l)
		}
	}
	empty := list == nil || list.Kind == yaml.ScalarNode && list.Value == ""
	switch {
	case at == 0:
		if e.root != nil && e.root.Style&yaml.FlowStyle != 0 {
			return e.refuse(e.root.Line, key, len(rules))
		}
		e.after = append(append(e.after, key+":"), lines...)
	case empty, list.Kind == yaml.SequenceNode && list.Style&yaml.FlowStyle == 0:
		last := next - 1
		for last > at && blank(e.lines[last-1]) {
			last--
		}
		e.below[last] = append(e.below[last], lines...)
	default:
		return e.refuse(list.Line, key, len(rules))
	}
	return nil
}

func (e *policyEditor) refuse(line int, key string, missing int) error {
	return &analyze.PolicyError{File: e.name, Line: line, Text: fmt.Sprintf("%s: written in brackets, so that %s cannot be added: write the list as lines that begin with a dash",
		key, Plural(missing, "rule"))}
}

// blank reports whether a line holds nothing but a comment, or the end of a
// document.
func blank(line string) bool {
	text := strings.TrimSpace(line)
	return text == "" || text[0] == '#' || text == "..."
}

// find gives the line of a key, its value, and the line of the key after it, or
// past the end; 0: the file does not have the key.
func (e *policyEditor) find(key string) (at int, value *yaml.Node, next int) {
	if e.root == nil {
		return 0, nil, 0
	}
	next = len(e.lines) + 1
	c := e.root.Content
	for i := 0; i+1 < len(c); i += 2 {
		if c[i].Value == key {
			at, value = c[i].Line, c[i+1]
			if i+2 < len(c) {
				next = c[i+2].Line
			}
		}
	}
	return at, value, next
}

// text puts all together.
func (e *policyEditor) text() []byte {
	var b bytes.Buffer
	put := func(lines ...string) {
		for _, l := range lines {
			b.WriteString(l)
			b.WriteString(e.end)
		}
	}
	lines := e.lines
	if len(lines) == 0 {
		put(e.above[1]...)
	}
	for i, l := range lines {
		if rest, ok := strings.CutPrefix(l, "\ufeff"); ok && i == 0 {
			b.WriteString("\ufeff")
			l = rest
		}
		put(e.above[i+1]...)
		put(l)
		put(e.below[i+1]...)
	}
	put(e.after...)
	return b.Bytes()
}

// shareValue writes a share as policies do: 0.1%.
func shareValue(q analyze.Quantile) string {
	return strconv.FormatFloat(float64(q)/1e4, 'f', -1, 64) + "%"
}

// scalar writes a text as a value of YAML on one line.
func scalar(text string) string {
	n := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !prints(r) }) {
		n.Value, n.Style = strings.ToValidUTF8(text, "*"), yaml.DoubleQuotedStyle
	}
	out, err := yaml.Marshal(&n)
	if err != nil {
		panic(fmt.Sprintf("a text that YAML cannot hold: %q: %v", text, err))
	}
	return strings.TrimSuffix(string(out), "\n")
}

// deadlineRule is a new rule of deadlines.
func deadlineRule(r *analyze.SuggestedRoute) []string {
	lines := []string{"- service: " + scalar(analyze.Star(r.Service)), "  route: " + scalar(analyze.Star(r.Route)), "  deadline: " + r.Deadline.String()}
	if t := r.Reserve.Measured; t != nil && *t < *r.Deadline {
		lines = append(lines, "  reserve: "+t.String())
	}
	return lines
}

// dependencyRule is a new rule of dependencies. Where nobody has decided whether it
// is required, the rule does not say so either.
func dependencyRule(d *analyze.SuggestedDependency) []string {
	r := d.NewRule()
	lines := []string{"- caller: " + scalar(r.Caller), "  callee: " + scalar(r.Callee), "  operation: " + scalar(r.Operation)}
	add := func(when bool, key, value string) {
		if when {
			lines = append(lines, "  "+key+": "+value)
		}
	}
	add(d.RequiredBasis != analyze.BasisNone, "required", strconv.FormatBool(r.Required))
	add(r.Safe, "safe", "true")
	add(r.Minimum != nil, "minimum", orUnknown(r.Minimum, time.Duration.String))
	add(r.Ceiling != nil, "ceiling", orUnknown(r.Ceiling, time.Duration.String))
	add(true, "false_timeouts", shareValue(r.FalseTimeouts))
	add(true, "attempts", strconv.Itoa(r.Attempts))
	add(r.Attempts > 1, "retry", fmt.Sprintf("{base: %v, on: [%s]}", r.RetryBase, strings.Join(r.RetryOn, ", ")))
	add(r.HedgeAfter > 0, "hedge_after", r.HedgeAfter.String())
	return lines
}
