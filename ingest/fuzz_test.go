package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// readBytes reads content as stdin. Every error must be one line that begins
// with the path.
func readBytes(t *testing.T, content []byte) *Dump {
	t.Helper()
	o := keepAll
	o.Workers, o.Stdin = 1, bytes.NewReader(content)
	d, err := Read(context.Background(), []string{"-"}, o)
	if err != nil {
		if s := err.Error(); !strings.HasPrefix(s, "-: ") || strings.Contains(s, "\n") {
			t.Fatalf("error %q, want one line that begins with the path", s)
		}
		return &Dump{}
	}
	check(t, d)
	return d
}

// seeds adds small files of the corpus and of the repository.
func seeds(f *testing.F) {
	for _, dir := range []string{testdata, filepath.Join(shared, "corpus")} {
		files, _ := os.ReadDir(dir)
		for _, file := range files {
			if info, err := file.Info(); err == nil && info.Mode().IsRegular() && info.Size() < 4<<10 {
				if content, err := os.ReadFile(filepath.Join(dir, file.Name())); err == nil {
					f.Add(content)
				}
			}
		}
	}
	for _, l := range three {
		f.Add([]byte(l))
	}
}

// nullElement finds a null in an array. pdata takes it as an empty span, scope
// or resource; for us it is nothing.
var nullElement = regexp.MustCompile(`[\[,]\s*null`)

// emptyKey finds a member without a name, at which pdata stops reading the
// object without an error.
var emptyKey = regexp.MustCompile(`""\s*:`)

// nullMember finds a null member of a value, which pdata may take for one that is
// set.
var nullMember = regexp.MustCompile(`(?i)"[a-z]+_?value"\s*:\s*null`)

// goMember finds a member of a value as Go marshals the struct, which pdata does not
// know.
var goMember = regexp.MustCompile(`"([A-Z][a-z]+)?Value"\s*:`)

// hasBareSpans reports whether spans lie in a ResourceSpans without a scope between, which
// pdata does not know.
func hasBareSpans(text []byte) (found bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	var value func(member string)
	value = func(member string) {
		open, err := d.Token()
		if _, ok := open.(json.Delim); !ok || err != nil {
			return
		}
		for d.More() {
			inner := member // of an element, too
			if open == json.Delim('{') {
				name, err := d.Token()
				if err != nil {
					return
				}
				inner, _ = name.(string)
				found = found || inner == "spans" && strings.HasPrefix(member, "resource")
			}
			value(inner)
		}
		_, _ = d.Token() // the bracket that closes it
	}
	value("")
	return found
}

// What pdata takes of valid JSON we must read equally. It stops at the end of
// the first value, which is why there must be one only.
func FuzzJSON(f *testing.F) {
	seeds(f)
	if text, err := new(ptrace.JSONMarshaler).MarshalTraces(everything()); err == nil {
		f.Add(text)
	}
	f.Add([]byte(`{"resourceSpans":[{"spans":[{"scope":{"name":"s"}}]}]}`))
	f.Fuzz(jsonAsPdata)
}

// jsonAsPdata holds what is read of a text against what pdata reads.
func jsonAsPdata(t *testing.T, content []byte) {
	if head := bytes.TrimLeft(content, " \t\r\n"); len(head) == 0 || head[0] != '{' {
		return
	}
	s := scanJSON(keepAll, string(content))
	checkRecords(t, s)
	compareAlone(t, s, content)
	// pdata does not know the old name of scopes.
	if !isOnlyOTLP(content) || bytes.Contains(content, []byte("nstrumentation")) || !json.Valid(content) || nullElement.Match(content) || emptyKey.Match(content) || nullMember.Match(content) || goMember.Match(content) || nextRecord(content, 0) < len(content) {
		return
	}
	compareIndented(t, content)
	td, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(content)
	if err != nil || hasBareSpans(content) {
		return
	}
	compare(t, s, FromTraces(td, keepAll))
}

// What pdata takes we must read equally, but for groups, which it does not
// skip rightly and which OTLP does not have, and for other signals, of which it
// makes spans.
func FuzzProto(f *testing.F) {
	seeds(f)
	if message, err := new(ptrace.ProtoMarshaler).MarshalTraces(everything()); err == nil {
		f.Add(message)
	}
	f.Fuzz(protoAsPdata)
}

// protoAsPdata holds what is read of a message against what pdata reads.
func protoAsPdata(t *testing.T, content []byte) {
	for _, cut := range []bool{true, false} {
		s, why := scanProto(keepAll, string(content), cut)
		checkRecords(t, s)
		if cut {
			continue
		}
		td, err := new(ptrace.ProtoUnmarshaler).UnmarshalTraces(content)
		if err != nil || hasGroup(content, 0) || s.found[0].other > 0 {
			continue
		}
		if why != "" {
			t.Errorf("pdata takes it, we do not: %s", why)
		}
		compare(t, s, FromTraces(td, keepAll))
	}
}

// hasGroup reports whether a field, at any depth at which it might be one, is a
// group.
func hasGroup(b []byte, depth int) bool {
	for at := 0; at < len(b); {
		f, end, why := next(b, at)
		if f.wire == wireGroup || f.wire == wireEndGroup {
			return true
		}
		if why != "" {
			return false
		}
		if f.wire == wireLength && depth < 100 && hasGroup(b[f.from:f.to], depth+1) {
			return true
		}
		at = end
	}
	return false
}

func checkRecords(t *testing.T, s *sink) {
	t.Helper()
	for i := range s.records {
		if s.records[i].span.Resource == nil {
			t.Errorf("span %d has no resource", i)
		}
	}
}

// compareAlone holds what was read of a text against what its records say, each of which is
// found first and read by itself.
func compareAlone(t *testing.T, s *sink, content []byte) {
	t.Helper()
	if nextRecord(content, 0) == len(content) {
		return
	}
	alone := newSink(keepAll, newResources(), NewSpooler(0, ""), 1)
	one := jsonText{sink: alone}
	for from := 0; from < len(content); {
		to, tail := nextRecord(content, from), ""
		if to == len(content) {
			tail = endOfInput
		}
		one.decode(content[from:to], int64(from), tail)
		from = to
	}
	if d := cmp.Diff(alone.found, s.found, cmp.AllowUnexported(found{})); d != "" {
		t.Errorf("found other than record by record (-want +got):\n%s", d)
	}
	if d := cmp.Diff(alone.notes.List(), s.notes.List()); d != "" {
		t.Errorf("notes are other than record by record (-want +got):\n%s", d)
	}
	if d := diff(grouped(t, alone), grouped(t, s)); d != "" {
		t.Errorf("differs from record by record %s", d)
	}
}

// nextRecord returns the index of the first line after i that begins with an
// object of OTLP, len(b) if there is none.
func nextRecord(b []byte, i int) int {
	for {
		at := bytes.Index(b[i:], []byte("\n{"))
		if at < 0 {
			return len(b)
		}
		i += at + 1
		if isRecord(b[i:]) {
			return i
		}
	}
}

func compare(t *testing.T, s *sink, want *Dump) {
	t.Helper()
	if d := diff(want.Traces, grouped(t, s)); d != "" {
		t.Errorf("differs from pdata %s", d)
	}
}

// Any bytes: an error or valid traces, and the same again with more workers.
func FuzzRead(f *testing.F) {
	seeds(f)
	f.Add(gz([]byte(three[0])))
	f.Add(zst([]byte(three[0])))
	f.Add(prefixed(zst([]byte(three[0])), zst([]byte(three[1]))))
	f.Add([]byte("[" + strings.Join(three, ",\n") + "]"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if len(content) > 1<<20 {
			return
		}
		readBytes(t, content)
	})
}
