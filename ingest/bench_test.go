package ingest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// benchKeep is like what an analysis asks for.
var benchKeep = []string{
	"http.request.method", "http.response.status_code", "http.route", "server.address", "error.type",
	"rpc.method", "rpc.service", "db.system.name", "db.namespace", "k8s.pod.uid", "service.instance.id",
	"telemetry.sdk.language", "http.request.header.*",
}

// dump builds about n spans with 12 attributes each, as messages of about 500
// spans.
func dump(n int) []ptrace.Traces {
	r := rand.New(rand.NewPCG(1, 2))
	now := time.Date(2026, 11, 29, 23, 0, 0, 0, time.UTC)
	var messages []ptrace.Traces
	var trace pcommon.TraceID
	var parent pcommon.SpanID
	for n > 0 {
		td := ptrace.NewTraces()
		messages = append(messages, td)
		for service := range 5 {
			rs := td.ResourceSpans().AppendEmpty()
			rs.Resource().Attributes().PutStr("service.name", fmt.Sprintf("service-%d", service))
			rs.Resource().Attributes().PutStr("service.instance.id", fmt.Sprintf("6f0c-%d", service))
			rs.Resource().Attributes().PutStr("telemetry.sdk.language", "go")
			ss := rs.ScopeSpans().AppendEmpty()
			ss.Scope().SetName("go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp")
			for i := range 100 {
				if i%10 == 0 {
					binary.BigEndian.PutUint64(trace[:], r.Uint64())
					binary.BigEndian.PutUint64(trace[8:], r.Uint64())
					parent = pcommon.SpanID{}
				}
				s := ss.Spans().AppendEmpty()
				var id pcommon.SpanID
				binary.BigEndian.PutUint64(id[:], r.Uint64())
				s.SetTraceID(trace)
				s.SetSpanID(id)
				s.SetParentSpanID(parent)
				parent = id
				s.SetName(fmt.Sprintf("GET /api/v1/products/{id}/%d", i%7))
				s.SetKind(ptrace.SpanKind(i%5 + 1))
				start := now.Add(time.Duration(r.IntN(1e9)))
				s.SetStartTimestamp(pcommon.NewTimestampFromTime(start))
				s.SetEndTimestamp(pcommon.NewTimestampFromTime(start.Add(time.Duration(r.IntN(1e8)))))
				a := s.Attributes()
				a.PutStr("http.request.method", "GET")
				a.PutInt("http.response.status_code", 200)
				a.PutStr("http.route", "/api/v1/products/{id}")
				a.PutStr("url.full", fmt.Sprintf("http://products.internal:8080/api/v1/products/%d", r.IntN(1e6)))
				a.PutStr("server.address", "products.internal")
				a.PutInt("server.port", 8080)
				a.PutStr("network.protocol.version", "1.1")
				a.PutStr("user_agent.original", "Go-http-client/1.1")
				a.PutStr("client.address", fmt.Sprintf("10.0.%d.%d", r.IntN(256), r.IntN(256)))
				a.PutInt("http.response.body.size", int64(r.IntN(1e5)))
				a.PutBool("app.cached", i%3 == 0)
				a.PutDouble("app.score", r.Float64())
				s.Status().SetCode(ptrace.StatusCode(i % 3))
			}
			n -= 100
		}
	}
	return messages
}

func report(b *testing.B, spans int) {
	b.ReportMetric(float64(spans)*float64(b.N)/b.Elapsed().Seconds(), "spans/s")
}

func BenchmarkDecodeJSON(b *testing.B) {
	var text []byte
	var lines [][]byte
	for _, td := range dump(20_000) {
		line, err := new(ptrace.JSONMarshaler).MarshalTraces(td)
		if err != nil {
			b.Fatal(err)
		}
		lines = append(lines, line)
		text = append(append(text, line...), '\n')
	}
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		s := newSink(Options{Keep: benchKeep}, newResources(), NewSpooler(0, ""), 1)
		spans := 0
		for b.Loop() {
			spans = 0
			t := jsonText{sink: s}
			for _, line := range lines {
				t.decode(line, 0, endOfInput)
				spans += len(s.records)
				s.clear()
			}
		}
		report(b, spans)
	})
	b.Run("pdata", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			for _, line := range lines {
				if _, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(line); err != nil {
					b.Fatal(err)
				}
			}
		}
		report(b, 20_000)
	})
}

func BenchmarkDecodeProto(b *testing.B) {
	var messages [][]byte
	size := 0
	for _, td := range dump(20_000) {
		m, err := new(ptrace.ProtoMarshaler).MarshalTraces(td)
		if err != nil {
			b.Fatal(err)
		}
		messages = append(messages, m)
		size += len(m)
	}
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		s := newSink(Options{Keep: benchKeep}, newResources(), NewSpooler(0, ""), 1)
		spans := 0
		for b.Loop() {
			spans = 0
			p := protoBytes{sink: s}
			for _, m := range messages {
				p.decode(m, 0, false)
				spans += len(s.records)
				s.clear()
			}
		}
		report(b, spans)
	})
	b.Run("pdata", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, m := range messages {
				if _, err := new(ptrace.ProtoUnmarshaler).UnmarshalTraces(m); err != nil {
					b.Fatal(err)
				}
			}
		}
		report(b, 20_000)
	})
}

// BenchmarkRead times reading a file to its traces: run it with -cpu 1,2.
func BenchmarkRead(b *testing.B) {
	forms := map[string]func(ptrace.Traces) ([]byte, error){
		"JSON":  new(ptrace.JSONMarshaler).MarshalTraces,
		"proto": new(ptrace.ProtoMarshaler).MarshalTraces,
	}
	messages := dump(100_000)
	for _, form := range sortedKeys(forms) {
		var content []byte
		for _, td := range messages {
			m, err := forms[form](td)
			if err != nil {
				b.Fatal(err)
			}
			content = append(content, m...)
			if form == "JSON" {
				content = append(content, '\n')
			}
		}
		path := write(b, form, content)
		b.Run(form, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				if d, err := Read(b.Context(), []string{path}, Options{Keep: benchKeep}); err != nil || d.Spans != 100_000 {
					b.Fatal(d.Spans, err)
				}
			}
			report(b, 100_000)
		})
	}
}
