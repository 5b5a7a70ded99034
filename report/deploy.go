package report

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"overrun/analyze"
)

// A limits is what a form of configuration cannot express, as it is found out.
type limits struct {
	list []string
}

func (l *limits) say(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.list, text) {
		l.list = append(l.list, text)
	}
}

// shared says what no form expresses.
func (l *limits) shared(form string) {
	l.say("%s holds fixed timeouts, each for one call. The deadline that all calls of a request share is not in it: pass what is left on, and compute each timeout as min(left - reserve, ceiling).", form)
	l.say("The minimum (with less left, do not call), fallbacks of optional calls and the reserve are not in it either: they are for the caller's code.")
}

// A CallersError says that a configuration would be for several callers.
type CallersError struct{ Callers []string }

func (e *CallersError) Error() string {
	return fmt.Sprintf("calls of %s services: a configuration is for one caller: choose it with --service, of %s", count(len(e.Callers)), strings.Join(e.Callers, ", "))
}

// deployable picks what a form can hold: of one caller, spoken by one of the
// transports, with a timeout.
func deployable(s *analyze.Suggestion, l *limits, form string, transports ...analyze.Transport) ([]analyze.Deployable, error) {
	if callers := s.Callers(); len(callers) > 1 {
		return nil, &CallersError{callers}
	}
	var list []analyze.Deployable
	fixed := len(l.list)
	for _, d := range s.Deployables() {
		name := lineName(d.String())
		switch {
		case !slices.Contains(transports, d.Transport):
			set := "no timeout is known"
			if whole := d.Whole(); whole > 0 {
				set = "its client needs a timeout of " + whole.String()
			}
			l.say("%s: nothing that %s handles, as far as its spans tell: %s.", name, form, set)
		case d.Transport == analyze.GRPC && !namesMethod(d.Operation):
			l.say("%s: no timeout: its spans do not name both the service and the method, as %s has to.", name, form)
		case d.Why == analyze.NoFit:
			where := strings.Join(d.DoesNotFit, ", ")
			if d.Tightest != nil {
				where = d.Tightest.String()
			}
			l.say("%s: no timeout: the deadline of %s leaves less than its minimum.", name, lineName(where))
		case d.Why == analyze.NoTimeout:
			l.say("%s: no timeout: its ceiling is not known, and the policy gives none.", name)
		default:
			if c := d.SuggestedDependency.Ceiling.InForce(); *c > d.Ceiling {
				l.say("%s: the ceiling of %v is capped at %v, which the deadline of %s leaves.", name, *c, d.Ceiling, lineName(d.Tightest.String()))
			}
			if d.Left == nil {
				l.say("%s: no deadline is known on its routes, so that its ceiling is not capped by one.", name)
			}
			for _, key := range d.Refused {
				l.say("%s: %s of the policy is left out: the call is not known to be safe to repeat. If it is, write safe: true.", name, key)
			}
			if d.Attempts < d.Attempt {
				l.say("%s: %d of %d attempts: more do not fit into what the deadline leaves.", name, d.Attempts, d.Attempt)
			}
			list = append(list, d)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("nothing for %s to hold:\n%s", form, strings.Join(l.list[fixed:], "\n"))
	}
	return list, nil
}

// A backoff is the wait between attempts: the first, and the longest.
func backoff(d *analyze.Deployable) (first, longest time.Duration) {
	first = max(d.RetryBase, time.Millisecond)
	return first, first << min(max(d.Attempts-2, 0), 20)
}

// protoDuration writes a duration as protobuf's JSON does: 0.110s.
func protoDuration(d time.Duration) string {
	whole, rest := d/time.Second, d%time.Second
	if rest == 0 {
		return strconv.FormatInt(int64(whole), 10) + "s"
	}
	digits := fmt.Sprintf("%09d", rest)
	for strings.HasSuffix(digits, "000") {
		digits = digits[:len(digits)-3]
	}
	return fmt.Sprintf("%d.%ss", whole, digits)
}

// splitMethod splits a method of gRPC as operations name it, package.Service/Method.
func splitMethod(operation string) (service, method string) {
	service, method, _ = strings.Cut(strings.TrimPrefix(operation, "/"), "/")
	return service, method
}

func namesMethod(operation string) bool {
	service, method := splitMethod(operation)
	return service != "" && method != ""
}

// An httpMatch says which requests an operation is about.
type httpMatch struct {
	method string // "": any
	path   string // "": any; else whole, or with pattern set a template of it
	regex  string // RE2; "": path is whole
}

// splitOperation reads METHOD and path template as operations name them.
func splitOperation(operation string) httpMatch {
	var m httpMatch
	method, path, ok := strings.Cut(operation, " ")
	switch {
	case strings.HasPrefix(operation, "/"):
		m.path = operation
	case ok && strings.HasPrefix(path, "/"):
		m.method, m.path = method, path
	default:
		m.method = method
	}
	if pattern := pathPattern(m.path); pattern != regexp.QuoteMeta(m.path) {
		m.regex = pattern
	}
	return m
}

// placeholders are how templates of paths write what differs: {id}, <id>, :id, *.
var placeholders = regexp.MustCompile(`\{[^{}/]*\}|<[^<>/]*>|/:[^/]+|\*+`)

// pathPattern is the RE2 pattern of a path template: a placeholder stands for a
// part without a slash, * and {*rest} for any.
func pathPattern(path string) string {
	var b strings.Builder
	at := 0
	for _, found := range placeholders.FindAllStringIndex(path, -1) {
		b.WriteString(regexp.QuoteMeta(path[at:found[0]]))
		switch text := path[found[0]:found[1]]; {
		case strings.Contains(text, "*"), strings.HasPrefix(text, "<path:"):
			b.WriteString(".*")
		case text[0] == '/':
			b.WriteString("/[^/]+")
		default:
			b.WriteString("[^/]+")
		}
		at = found[1]
	}
	b.WriteString(regexp.QuoteMeta(path[at:]))
	return b.String()
}

// specific orders matches so that the first that fits is the one that is meant: whole
// paths, then templates with the longer first, then any path; a method before none.
func (m *httpMatch) specific() (rank, length int) {
	switch {
	case m.path == "":
		rank = 4
	case m.regex != "":
		rank = 2
	}
	if m.method == "" {
		rank++
	}
	return rank, -len(m.path)
}

// An upstream is a callee with what is deployed for its operations.
type upstream struct {
	callee string
	calls  []upstreamCall
}

type upstreamCall struct {
	httpMatch
	analyze.Deployable
}

// upstreams groups by callee, and orders the operations of each.
func upstreams(list []analyze.Deployable) (ups []*upstream) {
	for _, d := range list {
		if len(ups) == 0 || ups[len(ups)-1].callee != d.Callee {
			ups = append(ups, &upstream{callee: d.Callee})
		}
		m := splitOperation(d.Operation)
		if d.Transport == analyze.GRPC {
			service, method := splitMethod(d.Operation)
			m = httpMatch{path: "/" + service + "/" + method}
		}
		up := ups[len(ups)-1]
		up.calls = append(up.calls, upstreamCall{m, d})
	}
	for _, up := range ups {
		slices.SortStableFunc(up.calls, func(x, y upstreamCall) int {
			rx, lx := x.specific()
			ry, ly := y.specific()
			return (rx-ry)*1_000_000 + lx - ly
		})
	}
	return ups
}

// splitCodes splits the answers to retry on into HTTP statuses and names of gRPC codes, as they are
// written in lower case with dashes; each once.
func splitCodes(on []string) (statuses []int, names []string) {
	for _, code := range on {
		if n, err := strconv.Atoi(code); err != nil {
			if name := strings.ReplaceAll(strings.ToLower(code), "_", "-"); !slices.Contains(names, name) {
				names = append(names, name)
			}
		} else if !slices.Contains(statuses, n) {
			statuses = append(statuses, n)
		}
	}
	return statuses, names
}

// writeYAML writes documents of YAML with what they cannot express above them.
func writeYAML(w io.Writer, l *limits, documents []any) error {
	var b bytes.Buffer
	for _, text := range l.list {
		b.WriteString("# " + text + "\n")
	}
	for i, doc := range documents {
		if i > 0 {
			b.WriteString("---\n")
		}
		e := yaml.NewEncoder(&b)
		e.SetIndent(2)
		if err := e.Encode(doc); err != nil {
			return err
		}
		if err := e.Close(); err != nil {
			return err
		}
	}
	return put(w, b.Bytes())
}
