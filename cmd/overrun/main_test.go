package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"overrun/analyze"
)

var update = flag.Bool("update", false, "rewrite what scripts and README.md expect")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"overrun": main, "measure": measure, "peer": peer})
}

// TestScripts runs testdata/*.txtar. Beside testscript's own commands they have
//
//	exits STATUS ARGS...    run overrun, which has to exit with STATUS
//	dump FILE OUT           write the requests of FILE (see dump) as OTLP JSON
//	repeat N FILE OUT       write FILE, N times
//	calls FILE              print the calls of a trace in JSON, one a line
//	findings FILE           print the findings of a report in JSON, one a line
//	same FILE FILE          fail unless reports are equal but for input and places
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			root, err := filepath.Abs(filepath.Join("..", ".."))
			if err != nil {
				return err
			}
			e.Setenv("ROOT", root)
			for _, v := range []string{"NO_COLOR=1", "LANG=C", "LC_ALL=C", "TZ=UTC", "TERM=xterm"} {
				key, value, _ := strings.Cut(v, "=")
				e.Setenv(key, value)
			}
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exitsCommand,
			"dump":     dumpCommand,
			"repeat":   repeatCommand,
			"calls":    callsCommand,
			"findings": findingsCommand,
			"same":     sameCommand,
		},
	})
}

func exitsCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: exits STATUS ARGS...")
	}
	status := 0
	if err := ts.Exec("overrun", args[1:]...); err != nil {
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		status = exit.ExitCode()
	}
	if strconv.Itoa(status) != args[0] {
		ts.Fatalf("exit status %d, want %s", status, args[0])
	}
}

func dumpCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: dump FILE OUT")
	}
	data, err := dump(ts.ReadFile(args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o666))
}

func repeatCommand(ts *testscript.TestScript, neg bool, args []string) {
	n := 0
	if !neg && len(args) == 3 {
		n, _ = strconv.Atoi(args[0]) // 0 is wrong too
	}
	if n < 1 {
		ts.Fatalf("usage: repeat N FILE OUT")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(strings.Repeat(ts.ReadFile(args[1]), n)), 0o666))
}

// dump turns requests in a small notation into OTLP JSON. Times are
// milliseconds from the start of the request; request n starts n seconds after
// the epoch of the dumps. A bare word that begins with ! is the status text of
// a span that failed.
//
//	first N                                          number of the next request
//	request SERVICE METHOD ROUTE START END [KEY=VALUE...]
//	call CALLEE START END [KEY=VALUE...]             of the request above it
func dump(text string) ([]byte, error) {
	const epoch = 1_792_022_400_000_000_000 // 2026-10-15T00:00:00Z
	type object = map[string]any
	var resources []any
	var spans *[]any
	n, calls := 1, 0
	for number, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		bad := func(err error) ([]byte, error) { return nil, fmt.Errorf("line %d: %q: %v", number+1, line, err) }
		var at int // of the start
		attrs := object{}
		var span object
		switch {
		case f[0] == "first" && len(f) == 2:
			var err error
			if n, err = strconv.Atoi(f[1]); err != nil {
				return bad(err)
			}
			continue
		case f[0] == "request" && len(f) >= 6:
			at, calls = 4, 0
			spans = new([]any)
			resources = append(resources, object{
				"resource":   object{"attributes": []any{attribute("service.name", f[1])}},
				"scopeSpans": []any{object{"spans": spans}},
			})
			span = object{"spanId": spanID(1), "name": f[2] + " " + f[3], "kind": 2}
			attrs["http.request.method"], attrs["http.route"] = f[2], f[3]
			n++
		case f[0] == "call" && len(f) >= 4 && spans != nil:
			at, calls = 2, calls+1
			span = object{"spanId": spanID(1 + calls), "parentSpanId": spanID(1), "name": "GET", "kind": 3}
			attrs["http.request.method"], attrs["peer.service"] = "GET", f[1]
		default:
			return bad(errors.New("neither first, request nor call"))
		}
		attrs["http.response.status_code"] = "200"
		span["status"] = object{}
		for _, a := range f[at+2:] {
			if status, ok := strings.CutPrefix(a, "!"); ok {
				span["status"] = object{"code": 2, "message": strings.ReplaceAll(status, "_", " ")}
				continue
			}
			key, value, _ := strings.Cut(a, "=")
			attrs[key] = value
		}
		for i, key := range []string{"startTimeUnixNano", "endTimeUnixNano"} {
			ms, err := strconv.ParseFloat(f[at+i], 64)
			if err != nil {
				return bad(err)
			}
			span[key] = strconv.FormatInt(epoch+int64(n-1)*int64(time.Second)+int64(ms*1e6), 10)
		}
		span["traceId"] = fmt.Sprintf("%032x", n-1)
		var list []any
		for _, key := range slices.Sorted(mapKeys(attrs)) {
			if value := attrs[key].(string); value != "" {
				list = append(list, attribute(key, value))
			}
		}
		span["attributes"] = list
		*spans = append(*spans, span)
	}
	return json.Marshal(object{"resourceSpans": resources})
}

func spanID(n int) string { return fmt.Sprintf("%016x", n) }

func attribute(key, value string) any {
	v := map[string]any{"stringValue": value}
	if _, err := strconv.Atoi(value); err == nil {
		v = map[string]any{"intValue": value}
	}
	return map[string]any{"key": key, "value": v}
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// ms writes nanoseconds as milliseconds; null as –.
func ms(d *time.Duration) string {
	if d == nil {
		return "–"
	}
	return strconv.FormatFloat(float64(*d)/1e6, 'f', -1, 64)
}

func callsCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: calls FILE")
	}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var v struct {
			Service  string         `json:"service"`
			Route    string         `json:"route"`
			Duration time.Duration  `json:"duration_ns"`
			Deadline *time.Duration `json:"deadline_ns"`
			Calls    []struct {
				Span      *string        `json:"span"`
				Callee    string         `json:"callee"`
				Start     time.Duration  `json:"start_ns"`
				End       time.Duration  `json:"end_ns"`
				Outcome   string         `json:"outcome"`
				Remaining *time.Duration `json:"remaining_ns"`
				Reserve   *time.Duration `json:"reserve_ns"`
				Timeout   *time.Duration `json:"timeout_ns"`
			} `json:"calls"`
		}
		ts.Check(json.Unmarshal([]byte(line), &v))
		fmt.Fprintf(ts.Stdout(), "%s %s: %s ms, deadline %s\n", v.Service, v.Route, ms(&v.Duration), ms(v.Deadline))
		for _, c := range v.Calls {
			inferred := ""
			if c.Span == nil {
				inferred = ", inferred"
			}
			fmt.Fprintf(ts.Stdout(), "%s [%s, %s] %s%s: left %s, reserve %s, timeout %s\n", c.Callee, ms(&c.Start), ms(&c.End), c.Outcome, inferred, ms(c.Remaining), ms(c.Reserve), ms(c.Timeout))
		}
	}
}

func findingsCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: findings FILE")
	}
	var r struct {
		Findings []struct {
			Code, Service, Route, Callee string
			Count                        int
			Examples                     []struct {
				Trace string `json:"trace"`
			}
		} `json:"findings"`
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &r))
	if len(r.Findings) == 0 {
		fmt.Fprintln(ts.Stdout(), "none")
	}
	for _, f := range r.Findings {
		first := ""
		if len(f.Examples) > 0 {
			first = strings.TrimLeft(f.Examples[0].Trace, "0")
		}
		fmt.Fprintf(ts.Stdout(), "%s %s %s %s: %d, first in trace %s\n", f.Code, f.Service, f.Route, f.Callee, f.Count, first)
	}
}

func sameCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same FILE FILE")
	}
	a, err := withoutPlaces([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	b, err := withoutPlaces([]byte(ts.ReadFile(args[1])))
	ts.Check(err)
	if a != b {
		ts.Fatalf("%s and %s are different reports", args[0], args[1])
	}
}

// withoutPlaces drops the input block, and every file and position, from a
// report in JSON.
func withoutPlaces(report []byte) (string, error) {
	var v map[string]any
	if err := json.Unmarshal(report, &v); err != nil {
		return "", err
	}
	if v["schema"] != analyze.ReportSchema {
		return "", fmt.Errorf("schema %v, want %s", v["schema"], analyze.ReportSchema)
	}
	delete(v, "input")
	var clean func(v any)
	clean = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "file")
			delete(v, "position")
			for _, e := range v {
				clean(e)
			}
		case []any:
			for _, e := range v {
				clean(e)
			}
		}
	}
	clean(v)
	out, err := json.MarshalIndent(v, "", " ")
	return string(out), err
}
