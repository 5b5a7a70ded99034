package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// everything is a message with every kind of value and of defect.
func everything() ptrace.Traces {
	td := ptrace.NewTraces()
	for i := range 3 {
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", fmt.Sprintf("svc-%d", i%2))
		rs.Resource().Attributes().PutInt("process.pid", int64(i%2))
		for k := range 2 {
			ss := rs.ScopeSpans().AppendEmpty()
			ss.Scope().SetName(fmt.Sprintf("scope-%d", k))
			for n := range 7 {
				s := ss.Spans().AppendEmpty()
				s.SetTraceID(pcommon.TraceID{byte(n % 3), 15: byte(i)})
				s.SetSpanID(pcommon.SpanID{7: byte(n + 7*k)})
				s.SetParentSpanID(pcommon.SpanID{7: byte(n)})
				s.SetName("caf\xe9 \"\\\n\u2028 " + fmt.Sprint(n))
				s.SetKind(ptrace.SpanKind(n))
				s.SetStartTimestamp(pcommon.Timestamp(1000 * n))
				s.SetEndTimestamp(pcommon.Timestamp(2500 * (n % 4)))
				s.Status().SetCode(ptrace.StatusCode(n % 3))
				s.Status().SetMessage("bad\xff\xfe")
				s.TraceState().FromRaw("ot=th:8")
				a := s.Attributes()
				a.PutStr("str", "a\x00b")
				a.PutInt("int", -1<<63)
				a.PutDouble("double", 1e-7*float64(n))
				a.PutBool("bool", n%2 == 0)
				a.PutEmptyBytes("bytes").FromRaw([]byte{0, 1, 0xff})
				a.PutEmpty("empty")
				slice := a.PutEmptySlice("slice")
				slice.AppendEmpty().SetStr("x,y")
				slice.AppendEmpty()
				inner := slice.AppendEmpty().SetEmptyMap()
				inner.PutStr("k\"", "v\xff")
				inner.PutEmptySlice("s").AppendEmpty().SetDouble(0.5)
				inner.PutEmptyBytes("b").FromRaw([]byte{7})
				inner.PutEmpty("e")
				a.PutEmptyMap("map").PutInt("z", 1)
				for e, name := range []string{"z", "exception", "", "caf\xe9"} {
					event := s.Events().AppendEmpty()
					event.SetName(name)
					event.SetTimestamp(pcommon.Timestamp(uint64([]int{0, 700, 700, -1}[(e+n)%4])))
					event.Attributes().PutStr("str", fmt.Sprint(e))
					event.Attributes().PutInt("int", int64(n))
				}
				s.Links().AppendEmpty().SetTraceID(pcommon.TraceID{1})
				link := s.Links().AppendEmpty()
				link.SetTraceID(pcommon.TraceID{byte(n)})
				link.SetSpanID(pcommon.SpanID{byte(n)})
				link.Attributes().PutStr("str", "no part of it")
			}
		}
	}
	return td
}

// marshalled is a message in both forms of OTLP, as pdata writes them.
func marshalled(t *testing.T, td ptrace.Traces) (proto, text []byte) {
	t.Helper()
	proto, err := new(ptrace.ProtoMarshaler).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	text, err = new(ptrace.JSONMarshaler).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	return proto, text
}

// everythingAsText is everything as JSON, in one line and indented.
func everythingAsText(t *testing.T) [2]string {
	t.Helper()
	_, text := marshalled(t, everything())
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", " "); err != nil {
		t.Fatal(err)
	}
	return [2]string{string(text), indented.String()}
}

// Read and FromTraces must agree to the last field, for both forms.
func TestAgainstPdata(t *testing.T) {
	td := everything()
	want := FromTraces(td, keepAll)
	check(t, want)
	proto, text := marshalled(t, td)
	for name, content := range map[string][]byte{
		"proto": proto, "JSON": text, "prefixed proto": prefixed(proto), "gzip": gz(proto), "legacy": prefixed(zst(proto)), "legacy JSON": prefixed(zst(text)),
	} {
		got := mustRead(t, keepAll, write(t, "x", content))
		if d := diff(want.Traces, got.Traces); d != "" {
			t.Errorf("%s %s", name, d)
		}
		if got.Spans != want.Spans {
			t.Errorf("%s: %d spans, want %d", name, got.Spans, want.Spans)
		}
	}
	// Concatenated bodies are one message.
	got := mustRead(t, keepAll, write(t, "x", append(append([]byte(nil), proto...), proto...)))
	if got.Spans != 2*want.Spans {
		t.Errorf("two bodies: %d spans, want %d", got.Spans, 2*want.Spans)
	}
}

// The same over real files, as far as pdata takes them.
func TestCorpusAgainstPdata(t *testing.T) {
	files := corpus(t)
	compared := 0
	for _, f := range files {
		path := filepath.Join(shared, "corpus", f.name)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var td ptrace.Traces
		switch {
		case f.form == "otlp-proto-bare":
			td, err = new(ptrace.ProtoUnmarshaler).UnmarshalTraces(content)
		case strings.HasPrefix(f.form, "otlp-json"):
			td = ptrace.NewTraces()
			for line := range strings.Lines(string(content)) {
				var one ptrace.Traces
				if one, err = new(ptrace.JSONUnmarshaler).UnmarshalTraces([]byte(line)); err != nil {
					break
				}
				one.ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
			}
		default:
			continue
		}
		if err != nil || td.SpanCount() != f.spans {
			continue // pdata reads less: pretty print, base64, a bad span
		}
		compared++
		want := FromTraces(td, keepAll)
		got, err := Read(context.Background(), []string{path}, keepAll)
		if err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		if d := diff(want.Traces, got.Traces); d != "" {
			t.Errorf("%s %s", f.name, d)
		}
	}
	if compared < 15 {
		t.Errorf("%d files compared, want 15 or more", compared)
	}
}

func TestFromTraces(t *testing.T) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "svc")
	s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetTraceID(pcommon.TraceID{15: 1})
	s.SetSpanID(pcommon.SpanID{2})
	s.SetName("GET /")
	s.SetKind(ptrace.SpanKindServer)
	s.SetStartTimestamp(5000)
	s.SetEndTimestamp(8000)
	s.Attributes().PutInt("kept", 1)
	s.Attributes().PutInt("not", 1)
	for _, name := range []string{"late", "not", "early"} {
		e := s.Events().AppendEmpty()
		e.SetName(name)
		e.SetTimestamp(pcommon.Timestamp(map[string]int{"late": 9000, "early": 4000}[name]))
		e.Attributes().PutInt("kept", 2)
		e.Attributes().PutInt("not", 2)
	}
	s.Links().AppendEmpty().SetTraceID(pcommon.TraceID{3})
	want := &Dump{
		Spans: 1,
		Traces: []*Trace{{ID: TraceID{15: 1}, Epoch: 5000, Spans: []Span{{
			ID: SpanID{2}, Parent: -1, Kind: Server, End: 3000, Name: "GET /", Attrs: []Attr{{"kept", "1"}}, Resource: &Resource{Service: "svc"},
			Events: []Event{{Name: "early", At: -1000, Attrs: []Attr{{"kept", "2"}}}, {Name: "late", At: 4000, Attrs: []Attr{{"kept", "2"}}}},
			Links:  []Link{{TraceID: TraceID{3}}},
		}}}},
		Notes: []Note{},
	}
	if diff := cmp.Diff(want, FromTraces(td, Options{Keep: []string{"kept"}, Events: []string{"late", "ear*"}, Links: true})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
