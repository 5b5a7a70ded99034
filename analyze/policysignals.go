package analyze

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// signals reads the block. Keys may be read once: read holds the lines, by
// canonical name and side.
func (r *policyReader) signals(v *yaml.Node, s *UserSignals) {
	read, spans, peers := map[string]int{}, map[string]int{}, map[string]int{}
	var gap *time.Duration
	var cancels bool
	lines := r.fields("signals", v,
		field{"deadlines", func(key string, v *yaml.Node) {
			r.list(key, "- {key: x.budget, means: remaining, unit: ms}", v, func(n *yaml.Node) {
				s.Deadlines = append(s.Deadlines, r.deadlineSignal(n, read))
			})
		}},
		field{"attempts", func(key string, v *yaml.Node) {
			r.list(key, "- {key: x.try, counts: from-one}", v, func(n *yaml.Node) {
				s.Attempts = append(s.Attempts, r.attemptSignal(n, read))
			})
		}},
		field{"spans", func(key string, v *yaml.Node) {
			r.list(key, `- {name: "pool *", is: pool}`, v, func(n *yaml.Node) {
				s.Spans = append(s.Spans, r.spanSignal(n, spans))
			})
		}},
		field{"dependencies", func(key string, v *yaml.Node) {
			r.list(key, `- {address: "10.2.*", name: prices}`, v, func(n *yaml.Node) {
				s.Dependencies = append(s.Dependencies, r.peerSignal(n, peers))
			})
		}},
		field{"ignore", func(key string, v *yaml.Node) {
			r.list(key, `- {name: "GET /healthz"}`, v, func(n *yaml.Node) {
				s.Ignore = append(s.Ignore, r.ignoreSignal(n, spans))
			})
		}},
		field{"sampling", func(key string, v *yaml.Node) {
			r.list(key, "- {key: x.ratio, means: ratio}", v, func(n *yaml.Node) {
				s.Sampling = append(s.Sampling, r.samplingSignal(n, read))
			})
		}},
		field{"retryable", func(key string, v *yaml.Node) {
			if !isNull(v) {
				s.Retryable = r.retryable(key, v)
			}
		}},
		field{"largest_gap", r.positive(&gap, "to infer no retries, write infer_retries: false")},
		field{"infer_retries", r.bool(&s.InferRetries)},
		field{"infer_hedges", r.bool(&s.InferHedges)},
		field{"client_cancel_is_timeout", r.bool(&cancels)},
		field{"words", r.bool(&s.Words)})
	if gap != nil {
		s.LargestGap = *gap
	}
	if lines["client_cancel_is_timeout"] > 0 {
		s.ClientCancelIsTimeout = &cancels
	}
	for _, key := range []string{"retryable", "largest_gap"} {
		if lines[key] > 0 && !s.InferRetries {
			r.mistake(lines[key], "%s: infer_retries: false leaves it nothing to decide: remove one", key)
		}
	}
}

func (r *policyReader) deadlineSignal(n *yaml.Node, read map[string]int) DeadlineSignal {
	d := DeadlineSignal{Line: n.Line}
	before := len(r.mistakes)
	lines := r.fields("signals.deadlines", n,
		field{"key", r.key(&d.Key, "x.budget")},
		field{"header", r.key(&d.Header, "X-Budget")},
		field{"means", r.word(&d.Means, "remaining", "absolute")},
		field{"unit", r.word(&d.Unit, unitNames()...)},
		field{"on", r.word(&d.On, "server", "client", "both")})
	if len(r.mistakes) > before {
		return d
	}
	if key, text := d.contradiction(); key != "" {
		r.mistake(max(lines[key], n.Line), "%s: %s", key, text)
	}
	sides := []string{"server", "client"}
	if d.On == "server" || d.On == "client" {
		sides = []string{d.On}
	}
	r.readOnce("signals.deadlines", n, lines, d.Key, d.Header, read, sides)
	return d
}

// contradiction says what means and unit cannot mean together.
func (d *DeadlineSignal) contradiction() (key, text string) {
	switch {
	case d.Unit == "":
		return "unit", "missing: it is never guessed: write one, such as ms"
	case numberUnit(d.Unit) && d.Means == "":
		return "means", fmt.Sprintf("missing: a number of %s may be what is left or an instant: write remaining or absolute", d.Unit)
	case d.Unit == "self-evident" && d.Means != "":
		return "means", "a value that is self-evident says itself what it means: remove it, or write another unit"
	case d.Unit == "time" && d.Means == "remaining":
		return "unit", "a time is an instant, never what is left: write means: absolute, or another unit"
	case (d.Unit == grpcForm.name || d.Unit == durationForm.name) && d.Means == "absolute":
		return "unit", fmt.Sprintf("a %s is what is left, never an instant: write means: remaining, or another unit", d.Unit)
	}
	return "", ""
}

func (r *policyReader) attemptSignal(n *yaml.Node, read map[string]int) AttemptSignal {
	a := AttemptSignal{Line: n.Line}
	before := len(r.mistakes)
	var counts []string
	for _, c := range countKinds {
		counts = append(counts, c.name)
	}
	lines := r.fields("signals.attempts", n,
		field{"key", r.key(&a.Key, "x.try")},
		field{"header", r.key(&a.Header, "X-Try")},
		field{"counts", r.word(&a.Counts, counts...)},
		field{"backoff", r.word(&a.Backoff, "gap", "tail", "head")})
	if len(r.mistakes) > before {
		return a
	}
	if a.Counts == "" {
		r.mistake(n.Line, "counts: missing: write %s", strings.Join(counts, ", "))
	}
	if a.Backoff != "" && strings.HasPrefix(a.Counts, "hidden") {
		r.mistake(lines["backoff"], "backoff: counts: %s says that one span hides it: remove it", a.Counts)
	}
	r.readOnce("signals.attempts", n, lines, a.Key, a.Header, read, []string{"server", "client"})
	return a
}

func (r *policyReader) samplingSignal(n *yaml.Node, read map[string]int) SamplingSignal {
	s := SamplingSignal{Line: n.Line}
	before := len(r.mistakes)
	lines := r.fields("signals.sampling", n,
		field{"key", r.key(&s.Key, "x.ratio")},
		field{"means", r.word(&s.Means, "ratio", "weight")})
	if len(r.mistakes) > before {
		return s
	}
	if s.Means == "" {
		r.mistake(n.Line, "means: missing: write ratio or weight")
	}
	r.readOnce("signals.sampling", n, lines, s.Key, "", read, []string{"server", "client"})
	return s
}

// readOnce notes a rule that names no key, or one that another rule reads.
func (r *policyReader) readOnce(what string, n *yaml.Node, lines map[string]int, key, header string, read map[string]int, sides []string) {
	switch {
	case key == "" && header == "":
		r.mistake(n.Line, "key: missing: every rule of %s needs one, such as x.budget", what)
		return
	case key != "" && header != "":
		r.mistake(lines["header"], "header: the key %q is given: remove one", key)
		return
	}
	name := nameOf(key, header)
	for _, side := range sides {
		if first := read[side+"\x00"+name]; first > 0 {
			r.mistake(n.Line, "%s: %q has its meaning from line %d: remove one", what, key+header, first)
			break
		}
	}
	for _, side := range sides {
		if id := side + "\x00" + name; read[id] == 0 {
			read[id] = n.Line
		}
	}
}

func (r *policyReader) spanSignal(n *yaml.Node, seen map[string]int) SpanSignal {
	s := SpanSignal{Line: n.Line, Name: "*", Scope: "*"}
	before := len(r.mistakes)
	var parts []string
	for _, p := range spanParts {
		parts = append(parts, p.name)
	}
	lines := r.fields("signals.spans", n,
		field{"name", r.glob(&s.Name)},
		field{"scope", r.glob(&s.Scope)},
		field{"is", r.word(&s.Is, parts...)},
		field{"backoff", r.word(&s.Backoff, "gap", "tail", "head")})
	if len(r.mistakes) > before {
		return s
	}
	if s.Is == "" {
		r.mistake(n.Line, "is: missing: write one of %s; what is to be left out goes to ignore", strings.Join(parts, ", "))
	}
	if s.Backoff != "" && s.Is != "attempt" && s.Is != "retry-scope" {
		r.mistake(lines["backoff"], "backoff: only is: attempt and is: retry-scope have one: remove it")
	}
	r.sameSpans("signals.spans", n.Line, seen, s.Name, s.Scope)
	return s
}

func (r *policyReader) ignoreSignal(n *yaml.Node, seen map[string]int) IgnoreSignal {
	s := IgnoreSignal{Line: n.Line, Name: "*", Scope: "*"}
	before := len(r.mistakes)
	r.fields("signals.ignore", n, field{"name", r.glob(&s.Name)}, field{"scope", r.glob(&s.Scope)})
	if len(r.mistakes) == before {
		r.sameSpans("signals.ignore", n.Line, seen, s.Name, s.Scope)
	}
	return s
}

// sameSpans notes a rule for all spans, and one with the globs of another.
func (r *policyReader) sameSpans(what string, line int, seen map[string]int, name, scope string) {
	if name == "*" && scope == "*" {
		r.mistake(line, "name: %s: a rule for every span leaves nothing to analyse: write a name or a scope", what)
		return
	}
	id := name + "\x00" + scope
	if first := seen[id]; first > 0 {
		r.mistake(line, "%s: the rule of line %d has the same globs: remove one", what, first)
		return
	}
	seen[id] = line
}

func (r *policyReader) peerSignal(n *yaml.Node, seen map[string]int) PeerSignal {
	p := PeerSignal{Line: n.Line, Address: "*", Callee: "*", Operation: "*"}
	before := len(r.mistakes)
	r.fields("signals.dependencies", n,
		field{"address", r.glob(&p.Address)},
		field{"callee", r.glob(&p.Callee)},
		field{"operation", r.glob(&p.Operation)},
		field{"name", r.text(&p.Name, "prices")},
		field{"template", r.text(&p.Template, `"GET /users/{id}"`)})
	if len(r.mistakes) > before {
		return p
	}
	switch all := p.Address == "*" && p.Callee == "*" && p.Operation == "*"; {
	case p.Name == "" && p.Template == "":
		r.mistake(n.Line, "name: missing: every rule of signals.dependencies needs a name or a template")
	case all:
		r.mistake(n.Line, "address: missing: a rule for every call makes one dependency of all: write an address, a callee or an operation")
	}
	for _, says := range []struct{ key, text string }{{"name", p.Name}, {"template", p.Template}} {
		id := strings.Join([]string{says.key, p.Address, p.Callee, p.Operation}, "\x00")
		switch first := seen[id]; {
		case says.text == "":
		case first > 0:
			r.mistake(n.Line, "%s: the rule of line %d has the same globs and wins: remove one", says.key, first)
		default:
			seen[id] = n.Line
		}
	}
	return p
}

// retryable reads the codes after which clients try again.
func (r *policyReader) retryable(key string, v *yaml.Node) []string {
	list := []string{}
	r.list(key, "[unavailable, 503]", v, func(n *yaml.Node) {
		var code string
		scalarTo(r, &code, "unavailable or 503", retryCode)(key, n)
		switch {
		case code == "":
		case slices.Contains(list, code):
			r.mistake(n.Line, "%s: %q is given twice: remove one", key, n.Value)
		default:
			list = append(list, code)
		}
	})
	return list
}

// retryCode reads the code of a failed answer.
func retryCode(text string) (string, error) {
	n, err := strconv.Atoi(text)
	code := rpcName(text)
	switch {
	case err == nil && n == 404, err != nil && code == "NOT_FOUND":
		return "", fmt.Errorf("%q is an answer without data, and no failure: leave it out", text)
	case err == nil && n >= 400 && n <= 599:
		return strconv.Itoa(n), nil
	case err != nil && code != "OK" && slices.Contains(rpcNames[:], code):
		return code, nil
	}
	return "", fmt.Errorf("%q is no code of a failed answer: write an HTTP status from 400 to 599, or a gRPC code, such as unavailable", text)
}

// key reads the name of one attribute or header.
func (r *policyReader) key(to *string, example string) func(string, *yaml.Node) {
	return scalarTo(r, to, example, func(text string) (string, error) {
		if text == "" || strings.ContainsAny(text, "* \t\n") {
			return "", fmt.Errorf("%q is no name of one attribute: write it whole, such as %s", text, example)
		}
		return text, nil
	})
}

// text reads a value that must not be empty.
func (r *policyReader) text(to *string, example string) func(string, *yaml.Node) {
	return scalarTo(r, to, example, func(text string) (string, error) {
		if strings.TrimSpace(text) == "" {
			return "", fmt.Errorf("%q names nothing: write one, such as %s", text, example)
		}
		return text, nil
	})
}

// word reads one of some words.
func (r *policyReader) word(to *string, words ...string) func(string, *yaml.Node) {
	return scalarTo(r, to, words[0], func(text string) (string, error) {
		if !slices.Contains(words, text) {
			return "", fmt.Errorf("%q is none of %s", text, strings.Join(words, ", "))
		}
		return text, nil
	})
}
