package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers are the packages from top to bottom: each may import those below it.
var layers = []string{"cmd/overrun", "report", "analyze", "ingest"}

// modules are the only modules that code may import, each by its packages.
var modules = map[string][]string{
	"github.com/KimMachineGun/automemlimit": {"cmd/overrun"},
	"github.com/cheggaaa/pb/v3":             {"cmd/overrun"},
	"github.com/spf13/cobra":                {"cmd/overrun"},
	"golang.org/x/sys":                      {"cmd/overrun"},
	"golang.org/x/term":                     {"cmd/overrun"},
	"github.com/olekukonko/tablewriter":     {"report"},
	"go.yaml.in/yaml/v3":                    {"analyze", "report"},
	"github.com/klauspost/compress":         {"ingest", "analyze"}, // analyze packs summaries
	"go.opentelemetry.io/collector/pdata":   {"ingest"},
}

// testModules are the modules that every test may import besides.
var testModules = []string{
	"github.com/google/go-cmp",
	"github.com/klauspost/compress",                // a peer of benchmarks
	"go.opentelemetry.io/collector/pdata/ptrace",   // the peer of benchmarks
	"go.opentelemetry.io/otel/semconv",             // the judge of our spellings
	"github.com/envoyproxy/go-control-plane/envoy", // the public schemas of what suggest writes
	"istio.io/api",
	"google.golang.org/grpc",
	"google.golang.org/protobuf",
	"github.com/rogpeppe/go-internal",
	"pgregory.net/rapid",
}

// standard are packages of the standard library that are for some layers only.
var standard = map[string][]string{
	"flag":          {},
	"log":           {},
	"log/slog":      {},
	"os":            {"cmd/overrun", "ingest"}, // ingest opens files
	"os/exec":       {},
	"os/signal":     {"cmd/overrun"},
	"syscall":       {"cmd/overrun"},
	"runtime/debug": {"cmd/overrun"},
	"net/http":      {},
	"unsafe":        {"ingest"},
}

// selectors are functions and variables that only the command may touch.
var selectors = map[string][]string{
	"os":   {"Args", "Environ", "Exit", "Getenv", "LookupEnv", "ExpandEnv", "Setenv", "Stdin", "Stdout", "Stderr"},
	"time": {"Now", "Since", "Until", "Sleep", "After", "Tick"},
}

// TestDependencies fails when a package imports what it must not, or touches
// what is the command's alone.
func TestDependencies(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && file != root && (name == "testdata" || strings.HasPrefix(name, ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		files++
		checkFile(t, file, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 20 {
		t.Errorf("only %d files were found: the walk is broken", files)
	}
}

func checkFile(t *testing.T, file, rel string) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Errorf("%s: %v", rel, err)
		return
	}
	pkg, test := path.Dir(rel), strings.HasSuffix(rel, "_test.go")
	if !slices.Contains(layers, pkg) {
		t.Errorf("%s: package %s is in no layer: see layers in this test", rel, pkg)
		return
	}
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if why := forbidden(pkg, name, test); why != "" {
			t.Errorf("%s:%d: import %q: %s", rel, fset.Position(spec.Pos()).Line, name, why)
		}
	}
	if test || pkg == layers[0] {
		return
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(selectors[x.Name], s.Sel.Name) {
				t.Errorf("%s:%d: %s.%s: only %s may use it", rel, fset.Position(s.Pos()).Line, x.Name, s.Sel.Name, layers[0])
			}
		}
		return true
	})
}

// forbidden says why a package must not import another; "": it may.
func forbidden(pkg, name string, test bool) string {
	if below, ok := strings.CutPrefix(name, "overrun/"); ok {
		if slices.Index(layers, below) > slices.Index(layers, pkg) || test && below == pkg {
			return ""
		}
		return "the arrow is " + strings.Join(layers, " -> ")
	}
	if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") {
		if only, ok := standard[name]; ok && !test && !slices.Contains(only, pkg) {
			return "only for " + strings.Join(only, ", ")
		}
		return ""
	}
	within := func(module string) bool { return name == module || strings.HasPrefix(name, module+"/") }
	if test && slices.ContainsFunc(testModules, within) {
		return ""
	}
	for module, only := range modules {
		if within(module) {
			if slices.Contains(only, pkg) {
				return ""
			}
			return "only for " + strings.Join(only, ", ")
		}
	}
	return "an unknown module"
}

// TestForbidden keeps the check itself honest.
func TestForbidden(t *testing.T) {
	for _, row := range []struct {
		pkg, name string
		test, bad bool
	}{
		{"cmd/overrun", "overrun/ingest", false, false},
		{"report", "overrun/analyze", false, false},
		{"analyze", "overrun/report", false, true},
		{"ingest", "overrun/analyze", true, true},
		{"analyze", "overrun/analyze", true, false},
		{"analyze", "go.opentelemetry.io/collector/pdata/ptrace", false, true},
		{"ingest", "go.opentelemetry.io/collector/pdata/ptrace", false, false},
		{"report", "github.com/spf13/cobra", false, true},
		{"analyze", "github.com/stretchr/testify/assert", true, true},
		{"analyze", "pgregory.net/rapid", true, false},
		{"analyze", "pgregory.net/rapid", false, true},
		{"analyze", "os", false, true},
		{"analyze", "os", true, false},
		{"report", "flag", false, true},
	} {
		if why := forbidden(row.pkg, row.name, row.test); (why != "") != row.bad {
			t.Errorf("forbidden(%q, %q, test %t) = %q, want forbidden %t", row.pkg, row.name, row.test, why, row.bad)
		}
	}
}
