package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"overrun/analyze"
)

// cut stands, on a line of its own, for lines of output that are not shown.
const cut = "…"

// TestReadme runs the commands of README.md and compares what it shows with
// their output; the policy file in it has to be the one in testdata.
func TestReadme(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	t.Setenv("NO_COLOR", "1")
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	policies := []string{"policy.yaml", "signals.yaml", "acceptance.yaml"} // the blocks in yaml, in order
	commands := 0
	var want []string
	lines := strings.Split(string(data), "\n")
	for i := 0; i < len(lines); i++ {
		want = append(want, lines[i])
		language, fence := strings.CutPrefix(lines[i], "```")
		if !fence {
			continue
		}
		n := slices.Index(lines[i+1:], "```")
		if n < 0 {
			t.Fatalf("line %d: a block without an end", i+1)
		}
		block := lines[i+1 : i+1+n]
		switch language {
		case "yaml":
			if len(policies) == 0 {
				t.Fatalf("line %d: a policy that is no file of testdata", i+1)
			}
			block = readmePolicy(t, policies[0])
			policies = policies[1:]
		case "sh": // takes too long to run here: what it names is there
			readmeNames(t, block)
		case "console":
			block = readmeBlock(t, block)
			commands++
		default:
			t.Errorf("line %d: a block of %q is not tested", i+1, language)
		}
		want = append(append(want, block...), "```")
		i += n + 1
	}
	if commands < 3 {
		t.Errorf("%d commands were found: the test is broken", commands)
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), string(data)); diff != "" {
		if *update {
			if err := os.WriteFile("README.md", []byte(strings.Join(want, "\n")), 0o666); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("README.md (-want +got; -update rewrites it):\n%s", diff)
	}
}

// readmePolicy gives the lines of a policy of testdata, which has to be a good one.
func readmePolicy(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := analyze.ParsePolicy(name, data); err != nil {
		t.Error(err)
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// readmeNames fails unless the benchmarks and fuzz tests that go test is told to run
// are there.
func readmeNames(t *testing.T, block []string) {
	t.Helper()
	tests := regexp.MustCompile(`go test \./(\S+) .*-(bench|fuzz) (\w+)`)
	found := 0
	for _, line := range block {
		m := tests.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		found++
		name := "func " + m[3] + "("
		if m[2] == "bench" {
			name = "func Benchmark" + m[3]
		}
		files, err := filepath.Glob(filepath.Join(m[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		there := slices.ContainsFunc(files, func(path string) bool {
			data, err := os.ReadFile(path)
			return err == nil && strings.Contains(string(data), name)
		})
		if !there {
			t.Errorf("%q: no %s in ./%s", line, name, m[1])
		}
	}
	if found == 0 {
		t.Errorf("%q names no benchmark and no fuzz test", block)
	}
}

// readmeBlock gives the block as it should be: a command, and what is shown of
// its output.
func readmeBlock(t *testing.T, block []string) []string {
	t.Helper()
	command := strings.TrimPrefix(block[0], "$ ")
	if command == "go test ./..." {
		return block // it runs this test
	}
	args, ok := strings.CutPrefix(command, "go run ./cmd/overrun ")
	if !ok {
		t.Errorf("%q is not tested", block[0])
		return block
	}
	out := strings.TrimSuffix(string(overrun(t, 0, strings.Fields(args)...)), "\n")
	return append(block[:1:1], shown(block[1:], strings.Split(out, "\n"))...)
}

// shown cuts output as the block does: each part of it begins where the output
// has a line that begins like the part's first, and is as long as the part.
// Without a cut all is shown.
func shown(block, out []string) (list []string) {
	if !slices.Contains(block, cut) {
		return out
	}
	for len(block) > 0 {
		if block[0] == cut {
			list, block = append(list, cut), block[1:]
			continue
		}
		n := slices.Index(block, cut)
		if n < 0 {
			n = len(block)
		}
		at := slices.IndexFunc(out, func(line string) bool { return strings.HasPrefix(line, block[0]) })
		if at < 0 {
			return append(list, fmt.Sprintf("(the output has no line that begins with %q)", block[0]))
		}
		end := min(at+n, len(out))
		list, out, block = append(list, out[at:end]...), out[end:], block[n:]
	}
	return list
}

// TestHelpExamples runs the examples of every help text, and the commands in the
// comment of main.go that are whole.
func TestHelpExamples(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join("..", ".."))
	examples := 0
	comment, _, _ := strings.Cut(string(source), "\npackage main")
	for line := range strings.Lines(comment) {
		if args, ok := strings.CutPrefix(strings.TrimSpace(line), "//\toverrun "); ok && !strings.ContainsAny(args, "[|") {
			examples++
			overrun(t, 0, strings.Fields(args)...)
		}
	}
	for _, command := range [][]string{{}, {"analyze"}, {"trace"}, {"compare"}, {"suggest"}, {"signals"}, {"version"}, {"completion"}} {
		help := string(overrun(t, 0, append(slices.Clone(command), "--help")...))
		if !strings.Contains(help, "Exit status: 0 done, 1 could not") {
			t.Errorf("the help of %v does not give the exit status", command)
		}
		_, help, _ = strings.Cut(help, "\nExample")
		help, _, _ = strings.Cut(help, "\nExit status")
		for line := range strings.Lines(help) {
			if args, ok := strings.CutPrefix(strings.TrimSpace(line), "overrun "); ok {
				examples++
				if out := overrun(t, 0, strings.Fields(args)...); len(out) == 0 {
					t.Errorf("%q prints nothing", strings.TrimSpace(line))
				}
			}
		}
	}
	if examples < 13 {
		t.Errorf("%d examples were found, want 13 or more", examples)
	}
}
