package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"overrun/analyze"
)

// written writes a suggestion over a file.
func written(t testing.TB, s *analyze.Suggestion, old []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Policy(&b, s, "p.yaml", old); err != nil {
		t.Fatalf("%v, over\n%s", err, old)
	}
	return b.Bytes()
}

// read reads a policy that was written.
func read(t testing.TB, data []byte) *analyze.Policy {
	t.Helper()
	p, err := analyze.ParsePolicy("p.yaml", data)
	if err != nil {
		t.Fatalf("%v, of\n%s", err, data)
	}
	return p
}

// ruleText writes what a rule says.
func ruleText(r *analyze.DependencyRule) string {
	c := *r
	c.Lines = nil
	return fmt.Sprintf("%s %s %s %t %t %s %s %d %d %v %q %v", c.Caller, c.Callee, c.Operation, c.Required, c.Safe,
		orUnknown(c.Minimum, time.Duration.String), orUnknown(c.Ceiling, time.Duration.String), c.FalseTimeouts, c.Attempts, c.RetryBase, c.RetryOn, c.HedgeAfter)
}

func TestPolicyReadsBack(t *testing.T) {
	// What suggest writes, the policy reader reads as the same values, whatever the names.
	name := rapid.OneOf(rapid.SampledFrom([]string{"users", "true", "null", "~", "12", "0x1f", "- a", "a: b", "#b", " lead", "trail ", "{id}", "[x]", "'", `"`, "&a", "!t", "%", "@", "|", ">",
		"a\nb", "tab\t", "\u202e", "\xff", "é", "GET /files/*", "1e3", "yes", "2026-10-15", "=", "<<", "no"}), rapid.StringN(1, 12, -1))
	rapid.Check(t, func(rt *rapid.T) {
		var calls []testCall
		for range rapid.IntRange(1, 4).Draw(rt, "calls") {
			took := time.Duration(rapid.Int64Range(1, int64(200*time.Millisecond)).Draw(rt, "took"))
			method := rapid.SampledFrom([]string{"GET", "POST"}).Draw(rt, "method")
			calls = append(calls, httpCall(name.Draw(rt, "callee"), method, "/"+name.Draw(rt, "path"), took, rapid.IntRange(0, 3).Draw(rt, "fails")))
		}
		s := suggestionOf(t, 4, "go", "", calls...)
		deadline := time.Duration(rapid.Int64Range(1, int64(time.Second)).Draw(rt, "deadline"))
		for _, r := range s.Routes {
			r.Deadline, r.Basis = &deadline, analyze.BasisRecorded
		}
		p := read(t, written(t, s, nil))
		routes, dependencies := s.NewRules()
		if len(p.Dependencies) != len(dependencies) || len(p.Deadlines) != len(routes) {
			rt.Fatalf("%d and %d rules, want %d and %d", len(p.Deadlines), len(p.Dependencies), len(routes), len(dependencies))
		}
		for i, d := range dependencies {
			rule := d.NewRule()
			rule.Caller, rule.Callee, rule.Operation = strings.ToValidUTF8(rule.Caller, "*"), strings.ToValidUTF8(rule.Callee, "*"), strings.ToValidUTF8(rule.Operation, "*")
			if got, want := ruleText(&p.Dependencies[i]), ruleText(&rule); got != want {
				rt.Errorf("rule %q, want %q", got, want)
			}
			if r := p.Rule(d.Caller, d.Callee, d.Operation); r == nil || !strings.Contains(rule.Caller+rule.Callee+rule.Operation, "*") && r != &p.Dependencies[i] {
				rt.Errorf("%s is not matched by its own rule", d)
			}
		}
		for i, r := range routes {
			if p.Deadlines[i].Deadline != *r.Deadline {
				rt.Errorf("deadline %v, want %v", p.Deadlines[i].Deadline, *r.Deadline)
			}
		}
		// Again, over its own file: it says the same, and then nothing changes any more.
		calledAgain := func(old []byte) []byte {
			s := suggestionUnder(t, 4, "go", read(t, old), calls)
			return written(t, s, old)
		}
		first := written(t, s, nil)
		second := calledAgain(first)
		if third := calledAgain(second); !bytes.Equal(second, third) {
			rt.Errorf("the third run changes the file (-second +third):\n%s", cmp.Diff(string(second), string(third)))
		}
		if diff := cmp.Diff(people(string(first)), people(string(second))); diff != "" {
			rt.Errorf("the second run changes more than its comments:\n%s", diff)
		}
	})
}

// people is what is not ours in a file.
func people(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimLeft(line, " \ufeff"), ownMark) {
			b.WriteString(line)
		}
	}
	return b.String()
}

const editedPolicy = `# our policy

timeouts: deadline     # the formula

deadlines:

  # agreed with the app team on Friday
  - {service: card, route: "GET /card", deadline: 300ms, reserve: 25ms}   # was 200ms
dependencies:
    # users is fast
    - callee: users    # any operation
      ceiling: 45ms

      attempts: 2      # safe: they are GETs
      safe:   true
    # and that is all

hedge_load: 4%
margin: 10%
# the end
`

func TestPolicyKeepsWhatPeopleWrote(t *testing.T) {
	for name, row := range map[string]struct {
		old string
		new int // rules that are added
	}{
		"edited":                     {editedPolicy, 3},
		"windows":                    {strings.ReplaceAll(editedPolicy, "\n", "\r\n"), 3},
		"bom":                        {"\ufeff" + editedPolicy, 3},
		"unindented":                 {"dependencies:\n- callee: users\n  ceiling: 45ms\n", 3},
		"null lists":                 {"deadlines:\ndependencies:\n\nmargin: 30%\n", 5},
		"no lists":                   {"margin: 30%\n", 5},
		"empty":                      {"", 5},
		"comment only":               {"# nothing yet\n", 5},
		"all in brackets, all there": {`{margin: 30%, dependencies: [{callee: "*"}], deadlines: [{deadline: 300ms}]}` + "\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			before := read(t, []byte(row.old))
			s := suggestionUnder(t, 5, "go", before, deployCalls())
			out := written(t, s, []byte(row.old))
			after := read(t, out)
			if got, want := len(after.Dependencies), len(before.Dependencies)+row.new; got != want {
				t.Errorf("%d rules, want %d", got, want)
			}
			// What was there is there, line by line and in order; what is new are whole lines.
			rest := strings.Split(strings.ReplaceAll(people(string(out)), "\r\n", "\n"), "\n")
			for line := range strings.SplitSeq(strings.Trim(strings.ReplaceAll(row.old, "\r\n", "\n"), "\n\ufeff"), "\n") {
				at := 0
				for at < len(rest) && rest[at] != line {
					at++
				}
				if at == len(rest) {
					t.Fatalf("%q is lost, or out of order, in\n%s", line, out)
				}
				rest = rest[at+1:]
			}
			for i := range before.Dependencies {
				if got, want := ruleText(&after.Dependencies[i]), ruleText(&before.Dependencies[i]); got != want {
					t.Errorf("rule %d: %s, want %s", i, got, want)
				}
			}
			if after.Margin != before.Margin || after.HedgeLoad != before.HedgeLoad {
				t.Error("values at the top changed")
			}
			again := suggestionUnder(t, 5, "go", after, deployCalls())
			if second := written(t, again, out); people(string(second)) != people(string(out)) {
				t.Errorf("a second run changes more than its comments:\n%s", cmp.Diff(string(out), string(second)))
			}
			if strings.HasPrefix(row.old, "\ufeff") != strings.HasPrefix(string(out), "\ufeff") {
				t.Error("the byte order mark is not where it was")
			}
			if strings.Contains(row.old, "\r\n") && strings.Count(string(out), "\n") != strings.Count(string(out), "\r\n") {
				t.Error("lines end in two ways")
			}
		})
	}
}

func TestPolicySaysWhatTheDataSay(t *testing.T) {
	out := string(written(t, suggestionUnder(t, 5, "go", read(t, []byte(editedPolicy)), deployCalls()), []byte(editedPolicy)))
	has(t, out,
		"  #: card GET /card: 5 requests, 0 of 5 answered late (0 %), p50 71.0 ms, p99 71.0 ms\n  #:   reserve: this file says 25ms; measured p99 20.0 ms (20.0 ms … –), n 5\n  - {service: card",
		"    #: card → users GET /users/me: 5 calls, 5 attempts, 0 failed\n    #:   required: to be decided, and until then it is: write required: false if the caller has a fallback\n    #:   minimum: p50 10.0 ms",
		"ceiling: this file says 45ms, which cuts 0 %; 11ms from p99.9 10.0 ms (10.0 ms … –), n 5 and 10% margin, rounded up; cuts 0 %; too few values: it may be far too low",
		"#: card → orders POST /orders: 5 calls, 5 attempts, 0 failed",
		"required: to be decided, and until then it is: write required: false if the caller has a fallback",
		"attempts: this file says 2; 1: none failed",
		"attempts: 1: not known to be safe to repeat")
}

func TestPolicyCannotAdd(t *testing.T) {
	for name, row := range map[string]struct{ old, want string }{
		"brackets":        {"margin: 20%\ndependencies: [{callee: users}]\n", "p.yaml:2: dependencies: written in brackets, so that 3 rules cannot be added: write the list as lines that begin with a dash"},
		"file in braces":  {"{margin: 20%}\n", "p.yaml:1: dependencies: written in brackets, so that 5 rules cannot be added: write the list as lines that begin with a dash"},
		"text over lines": {"dependencies:\n- callee: \"a\n    #: b\"\n", "p.yaml: a value runs over a line that begins with #:: write it on one line"},
	} {
		t.Run(name, func(t *testing.T) {
			s := suggestionUnder(t, 5, "go", read(t, []byte(row.old)), deployCalls())
			for _, r := range s.Routes {
				r.Deadline = nil
			}
			var b bytes.Buffer
			err := Policy(&b, s, "p.yaml", []byte(row.old))
			if err == nil || err.Error() != row.want || b.Len() > 0 {
				t.Errorf("Policy = %v, %d bytes, want %s", err, b.Len(), row.want)
			}
		})
	}
}

// TestPolicyOverEveryForm writes over every good policy of the reader's own tests.
func TestPolicyOverEveryForm(t *testing.T) {
	archive, err := txtar.ParseFile("../analyze/testdata/policy-good.txtar")
	if err != nil {
		t.Fatal(err)
	}
	written, refused := 0, 0
	for _, f := range archive.Files {
		if !strings.HasSuffix(f.Name, ".yaml") {
			continue
		}
		before := read(t, f.Data)
		s := suggestionUnder(t, 3, "go", before, deployCalls())
		var b bytes.Buffer
		if err := Policy(&b, s, "p.yaml", f.Data); err != nil {
			if !strings.Contains(err.Error(), "written in brackets") {
				t.Errorf("%s: %v", f.Name, err)
			}
			refused++
			continue
		}
		written++
		after := read(t, b.Bytes())
		for i := range before.Dependencies {
			if got, want := ruleText(&after.Dependencies[i]), ruleText(&before.Dependencies[i]); got != want {
				t.Errorf("%s: rule %d: %s, want %s", f.Name, i, got, want)
			}
		}
		kept := people(b.String())
		for line := range strings.Lines(string(f.Data)) {
			if !strings.Contains(kept, strings.TrimSuffix(line, "\n")) {
				t.Errorf("%s: %q is lost", f.Name, line)
			}
		}
	}
	if written < 5 || refused == 0 {
		t.Errorf("%d were written and %d refused: the archive is not what it was", written, refused)
	}
}

func FuzzPolicy(f *testing.F) {
	archive, err := txtar.ParseFile("../analyze/testdata/policy-good.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range archive.Files {
		f.Add(file.Data)
	}
	f.Add([]byte(editedPolicy))
	f.Fuzz(func(t *testing.T, old []byte) {
		before, err := analyze.ParsePolicy("p.yaml", old)
		if err != nil || before.Signals != nil && len(before.Signals.Ignore) > 0 { // what is ignored has no calls
			return
		}
		s := suggestionUnder(t, 2, "go", before, deployCalls())
		var b bytes.Buffer
		if Policy(&b, s, "p.yaml", old) != nil {
			if b.Len() > 0 {
				t.Error("an error, and something was written")
			}
			return
		}
		after := read(t, b.Bytes())
		if len(after.Dependencies) < len(before.Dependencies) || len(after.Deadlines) < len(before.Deadlines) {
			t.Fatalf("rules are lost:\n%s", b.String())
		}
		for i := range before.Dependencies {
			if got, want := ruleText(&after.Dependencies[i]), ruleText(&before.Dependencies[i]); got != want {
				t.Errorf("rule %d: %s, want %s", i, got, want)
			}
		}
	})
}
