package analyze

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"
)

// policyCases gives the policy files of an archive, and what each has to yield.
func policyCases(t testing.TB, archive string) map[string][2]string {
	t.Helper()
	a, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	cases := make(map[string][2]string)
	for i := 0; i+1 < len(a.Files); i += 2 {
		file, want := a.Files[i], a.Files[i+1]
		if strings.TrimSuffix(file.Name, ".yaml") != strings.TrimSuffix(want.Name, ".want") {
			t.Fatalf("%s: %s is not followed by its .want", archive, file.Name)
		}
		cases[file.Name] = [2]string{string(file.Data), string(want.Data)}
	}
	return cases
}

func TestParsePolicy(t *testing.T) {
	for name, c := range policyCases(t, "testdata/policy-good.txtar") {
		t.Run(name, func(t *testing.T) {
			p, err := ParsePolicy(name, []byte(c[0]))
			if err != nil {
				t.Fatalf("ParsePolicy: %v", err)
			}
			if diff := cmp.Diff(c[1], policyText(p)); diff != "" {
				t.Errorf("ParsePolicy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParsePolicyMistakes(t *testing.T) {
	for name, c := range policyCases(t, "testdata/policy-bad.txtar") {
		t.Run(name, func(t *testing.T) {
			p, err := ParsePolicy(name, []byte(c[0]))
			if err == nil || p != nil {
				t.Fatalf("ParsePolicy = %v, %v, want an error alone", p, err)
			}
			if diff := cmp.Diff(c[1], err.Error()+"\n"); diff != "" {
				t.Errorf("ParsePolicy (-want +got):\n%s", diff)
			}
		})
	}
}

// policyText writes a policy in words.
func policyText(p *Policy) string {
	var b strings.Builder
	share := func(q Quantile) string { return strconv.FormatFloat(float64(q)/1e4, 'f', -1, 64) + " %" }
	measured := func(d *time.Duration) string {
		if d == nil {
			return "measured"
		}
		return d.String()
	}
	fmt.Fprintf(&b, "%s, hedge load %s, connect share %s, margin %s\n", p.Timeouts, share(p.HedgeLoad), share(p.ConnectShare), share(p.Margin))
	for _, r := range p.Deadlines {
		fmt.Fprintf(&b, "%s %q: %v, reserve %s\n", r.Service, r.Route, r.Deadline, measured(r.Reserve))
	}
	for _, r := range p.Dependencies {
		words := map[bool]string{true: "required", false: "optional"}[r.Required]
		if r.Safe {
			words += ", safe"
		}
		fmt.Fprintf(&b, "%s -> %s %q: %s, minimum %s, ceiling %s, false timeouts %s, attempts %d, base %v, on %v, hedge after %v\n",
			r.Caller, r.Callee, r.Operation, words, measured(r.Minimum), measured(r.Ceiling), share(r.FalseTimeouts),
			r.Attempts, r.RetryBase, r.RetryOn, r.HedgeAfter)
	}
	for _, r := range p.Acceptance {
		fmt.Fprintf(&b, "accepts %s %q:", r.Service, r.Route)
		if r.InTimeLower != nil {
			fmt.Fprintf(&b, " in time lower by %s", share(*r.InTimeLower))
		}
		if r.Partial != nil {
			fmt.Fprintf(&b, " partial %s", share(*r.Partial))
		}
		if r.AttemptsPerRequest != nil {
			fmt.Fprintf(&b, " attempts %v", *r.AttemptsPerRequest)
		}
		if r.P99 != nil {
			fmt.Fprintf(&b, " p99 %v", *r.P99)
		}
		b.WriteByte('\n')
	}
	userSignalsText(&b, p.Signals)
	return b.String()
}

func TestParsePolicyLimits(t *testing.T) {
	// Each rule repeats a list of retry codes by alias: half a gigabyte, if one let it.
	var rules strings.Builder
	for n := range 20_000 {
		fmt.Fprintf(&rules, "- {callee: c%d, retry: {on: *a}}\n", n)
	}
	bomb := "dependencies:\n- {retry: {on: &a [" + strings.Repeat("a,", 100_000) + "]}}\n" + rules.String()
	many := "dependencies:\n" + strings.Repeat("- {callle: b, ceiling: 1}\n", 15)
	rows := []struct {
		name, data, want string
		lines            int
	}{
		{"size", "#" + strings.Repeat(" ", 1<<20), "p.yaml:1: the file is larger than 1 MiB, which no policy needs", 1},
		{"aliases", bomb, "aliases repeat too much: write the values out", 1},
		{"self", "dependencies: &a [*a]", "p.yaml:1: ", 1},
		{"many", many, "p.yaml: 24 more mistakes", maxErrors + 1},
		{"deep", "dependencies: " + strings.Repeat("[", 200_000), "p.yaml:1: not YAML: exceeded max depth", 1},
		{"binary", "\x00\x01\xff", "p.yaml:1: not YAML: ", 1},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := ParsePolicy("p.yaml", []byte(row.data))
			if err == nil {
				t.Fatal("ParsePolicy = nil, want an error")
			}
			if !strings.Contains(err.Error(), row.want) {
				t.Errorf("ParsePolicy = %v, want %q in it", err, row.want)
			}
			if n := strings.Count(err.Error(), "\n") + 1; n > row.lines {
				t.Errorf("ParsePolicy gives %d lines, want at most %d", n, row.lines)
			}
		})
	}
}

func TestPolicyFirstMatch(t *testing.T) {
	p, err := ParsePolicy("p.yaml", []byte(`
deadlines:
  - {service: card, route: "GET /card/*", deadline: 100ms}
  - {service: card, deadline: 200ms}
dependencies:
  - {caller: card, callee: "rec*", required: false}
  - {caller: card, operation: "GET /{id}?", attempts: 2}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		service, route string
		want           time.Duration // 0: none
	}{
		{"card", "GET /card/a/b", 100 * time.Millisecond},
		{"card", "POST /card/a", 200 * time.Millisecond},
		{"cards", "GET /card/a", 0},
	} {
		got := time.Duration(0)
		if r := p.DeadlineFor(row.service, row.route); r != nil {
			got = r.Deadline
		}
		if got != row.want {
			t.Errorf("DeadlineFor(%q, %q) = %v, want %v", row.service, row.route, got, row.want)
		}
	}
	for _, row := range []struct {
		caller, callee, operation string
		want                      int // -1: none
	}{
		{"card", "recommendations", "GET /{id}?", 0},
		{"card", "prices", "GET /{id}?", 1},
		{"card", "prices", "GET /7", -1},
		{"web", "recommendations", "GET /", -1},
	} {
		got := slices.IndexFunc(p.Dependencies, func(r DependencyRule) bool {
			hit := p.Rule(row.caller, row.callee, row.operation)
			return hit != nil && hit.Callee == r.Callee
		})
		if got != row.want {
			t.Errorf("Rule(%q, %q, %q) = rule %d, want %d", row.caller, row.callee, row.operation, got, row.want)
		}
	}
	var none *Policy
	if none.DeadlineFor("a", "b") != nil || none.Rule("a", "b", "c") != nil {
		t.Error("rules of no policy, want none")
	}
}

func TestGlob(t *testing.T) {
	for _, row := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true},
		{"*", "GET /a/b", true},
		{"GET /card/{id}", "GET /card/{id}", true},
		{"GET /card/{id}", "GET /card/7", false},
		{"GET /*/reviews", "GET /a/b/reviews", true},
		{"GET /*/reviews", "GET /reviews", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"a?", "ab", false},
		{"[ab]", "a", false},
		{"[ab]", "[ab]", true},
		{`a\*`, `a\b`, true},
		{"**", "x", true},
		{"a**b*", "ab", true},
		{"*ab*b", "aabab", true},
		{"card", "card/x", false},
		{"é*", "éa", true},
	} {
		if got := glob(row.pattern, row.text); got != row.want {
			t.Errorf("glob(%q, %q) = %t, want %t", row.pattern, row.text, got, row.want)
		}
	}
}

// slowGlob is glob by definition: it tries every length for every star.
func slowGlob(pattern, text string) bool {
	switch {
	case pattern == "":
		return text == ""
	case pattern[0] != '*':
		return text != "" && text[0] == pattern[0] && slowGlob(pattern[1:], text[1:])
	}
	for n := 0; n <= len(text); n++ {
		if slowGlob(pattern[1:], text[n:]) {
			return true
		}
	}
	return false
}

func TestGlobAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("ab*/")), 0, 10, -1).Draw(t, "pattern")
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab/")), 0, 12, -1).Draw(t, "text")
		if rapid.Bool().Draw(t, "matching") { // fill the stars, for texts that match
			var b strings.Builder
			for _, c := range pattern {
				if c == '*' {
					b.WriteString(rapid.StringOfN(rapid.RuneFrom([]rune("ab/*")), 0, 3, -1).Draw(t, "fill"))
				} else {
					b.WriteRune(c)
				}
			}
			text = b.String()
		}
		if got, want := glob(pattern, text), slowGlob(pattern, text); got != want {
			t.Errorf("glob(%q, %q) = %t, want %t", pattern, text, got, want)
		}
	})
}

// A pattern of many stars against a text that almost matches: a matcher that
// goes back takes longer than the universe has.
func TestGlobIsQuick(t *testing.T) {
	pattern, text := strings.Repeat("*a", 1000)+"b", strings.Repeat("a", 1<<20)
	if glob(pattern, text) {
		t.Error("glob = true, want false")
	}
}

// policyBreaches lists the invariants that a policy breaks.
func policyBreaches(p *Policy) (list []string) {
	claim := func(ok bool, what string, args ...any) {
		if !ok {
			list = append(list, fmt.Sprintf(what, args...))
		}
	}
	within := func(d time.Duration) bool { return d >= 0 && d <= maxPolicyTime }
	claim(p.Timeouts == SharedDeadline || p.Timeouts == FixedCeiling, "timeouts %q", p.Timeouts)
	for _, q := range []Quantile{p.HedgeLoad, p.ConnectShare, p.Margin} {
		claim(q >= 0 && q <= whole, "share %d", q)
	}
	for i, r := range p.Deadlines {
		claim(r.Service != "" && r.Route != "", "deadline %d: empty glob", i)
		claim(r.Deadline > 0 && within(r.Deadline), "deadline %d: %v", i, r.Deadline)
		claim(r.Reserve == nil || *r.Reserve >= 0 && *r.Reserve < r.Deadline, "deadline %d: reserve", i)
	}
	for i, r := range p.Dependencies {
		claim(r.Caller != "" && r.Callee != "" && r.Operation != "", "dependency %d: empty glob", i)
		claim(r.Minimum == nil || within(*r.Minimum), "dependency %d: minimum", i)
		claim(r.Ceiling == nil || *r.Ceiling > 0 && within(*r.Ceiling), "dependency %d: ceiling", i)
		claim(r.Minimum == nil || r.Ceiling == nil || *r.Minimum <= *r.Ceiling, "dependency %d: minimum above ceiling", i)
		claim(r.FalseTimeouts > 0 && r.FalseTimeouts < whole, "dependency %d: false timeouts %d", i, r.FalseTimeouts)
		claim(r.Attempts >= 1 && r.Attempts <= maxAttempts, "dependency %d: attempts %d", i, r.Attempts)
		claim(within(r.RetryBase) && within(r.HedgeAfter), "dependency %d: times", i)
		claim(r.HedgeAfter == 0 || r.Attempts == 1, "dependency %d: hedges and attempts", i)
		claim(!slices.Contains(r.RetryOn, ""), "dependency %d: empty code", i)
	}
	return append(list, signalsBreaches(p)...)
}

func FuzzParsePolicy(f *testing.F) {
	for _, archive := range []string{"testdata/policy-good.txtar", "testdata/policy-bad.txtar"} {
		for _, c := range policyCases(f, archive) {
			f.Add([]byte(c[0]))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePolicy("p.yaml", data)
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "p.yaml:") {
					t.Errorf("ParsePolicy: %q does not name the file", line)
				}
			}
			return
		}
		for _, breach := range policyBreaches(p) {
			t.Error(breach)
		}
	})
}
