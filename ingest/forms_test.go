package ingest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// forms lists the files that hold the one small trace of shop, and what a form
// cannot say.
var forms = map[string]func(*Trace){
	"otlp.json":                   nil,
	"otlp-old.json":               nil,
	"tempo-v1.json":               nil,
	"tempo-v2.json":               nil,
	"aspire-api.json":             nil,
	"aspire-download.json":        nil,
	"jaeger-v3.json":              nil,
	"java-logging.jsonl":          nil,
	"java-logging.log":            nil,
	"jaeger-ui.json":              nil,
	"jaeger-ui-trace.json":        nil,
	"jaeger-proto.jsonl":          nil,
	"jaeger-spans.pb":             nil,
	"jaeger-translated.jsonl":     nil,
	"zipkin-translated.json":      asTranslated,
	"otlp.json.bz2":               nil,
	"otlp.json.zlib":              nil,
	"jaeger-es.jsonl":             nil,
	"jaeger-es-search.json":       nil,
	"jaeger-es-tags.jsonl":        nil,
	"jaeger-es-flat.jsonl":        nil,
	"jaeger-es-fields.jsonl":      nil,
	"stdouttrace.json":            nil,
	"clickhouse.jsonl":            nil,
	"clickhouse-format-json.json": nil,
	"clickhouse-nested.jsonl":     nil,
	"signoz.jsonl":                without("scope"),
	"signoz-v2.jsonl":             without("scope", "links"),
	"victoriatraces.jsonl":        nil,
	"quickwit.jsonl":              nil,
	"quickwit-search.json":        nil,
	"data-prepper.jsonl":          nil,
	"opensearch.jsonl":            nil,
	"opensearch-ss4o.jsonl":       nil,
	"elasticsearch.jsonl":         without("events"),
	"elasticsearch-none.jsonl":    nil,
	"elasticsearch-dedot.jsonl":   nil,
	"cloudwatch.jsonl":            nil,
	"vector.jsonl":                nil,
	"axiom.json":                  nil,
	"axiom.jsonl":                 nil,
	"insights.json":               asItems,
	"insights-workspace.json":     asItems,
	"logfire.json":                asRecords,
	"logfire-v1.json":             asRecords,
	"google-v1.json":              asLabels("kind", "status", "events", "links"),
	"google-v2.json":              asLabels(),
	"greptimedb-v0.json":          nil,
	"greptimedb-v1.json":          nil,
	"openobserve.json":            asColumns,
	"splunk-hec.jsonl":            without("scope"),
	"splunk-export.jsonl":         without("scope"),
	"python-console.json":         without("scope"),
	"plain.jsonl":                 without("scope"),
	"php-console.json":            without("scope"),
	"js-sdk.jsonl":                nil,
	"js-console.json":             nil,
	"otel-cli.jsonl":              without("scope", "resource"),
	"zipkin-v2.json":              without("host", "event attributes", "links"),
	"zipkin-v2-nested.json":       without("host", "event attributes", "links"),
	"zipkin-v1.json":              without("host", "event attributes", "links"),
}

// without returns a function that takes from a trace what a form cannot say.
func without(what ...string) func(*Trace) {
	return func(t *Trace) {
		for i := range t.Spans {
			s := &t.Spans[i]
			if slices.Contains(what, "scope") {
				s.Scope = ""
			}
			if slices.Contains(what, "resource") {
				s.Resource = &Resource{}
			}
			if slices.Contains(what, "host") {
				s.Resource = &Resource{Service: s.Resource.Service, Attrs: []Attr{{"service.name", s.Resource.Service}}}
			}
			if slices.Contains(what, "links") {
				s.Links = nil
			}
			if slices.Contains(what, "events") {
				s.Events = nil
			}
			for k := range s.Events {
				if slices.Contains(what, "event attributes") {
					s.Events[k].Attrs = nil
				}
			}
		}
	}
}

// asTranslated makes of a trace what the collector's translation to Zipkin does:
// names in lower case, attributes of the resource at its spans, an old key beside
// the new one.
func asTranslated(t *Trace) {
	for i := range t.Spans {
		s := &t.Spans[i]
		s.Name = strings.ToLower(s.Name)
		s.Attrs = append([]Attr{s.Resource.Attrs[0]}, s.Attrs...)
		s.Resource = &Resource{Service: s.Resource.Service, Attrs: s.Resource.Attrs[1:]}
	}
	root := &t.Spans[0]
	root.Attrs = slices.Insert(root.Attrs, 3, Attr{"http.status_code", "504"})
}

// asRecords takes from a trace what Logfire has no column for.
func asRecords(t *Trace) {
	without("links")(t)
	for i := range t.Spans {
		s := &t.Spans[i]
		s.Kind = Unspecified
		for k := range s.Events {
			s.Events[k].At = s.Start
		}
	}
}

// asItems makes of a trace what exporters to Application Insights do.
func asItems(t *Trace) {
	without("scope", "events", "links")(t)
	for i := range t.Spans {
		s := &t.Spans[i]
		s.StatusText = ""
		if s.Status == OK {
			s.Status = Unset
		}
		s.Resource = &Resource{Service: s.Resource.Service, Attrs: []Attr{{"service.instance.id", s.Resource.Attrs[0].Value}, {"service.name", s.Resource.Service}}}
	}
	for i, n := range []string{"5", "1", "1", "1"} {
		t.Spans[i].Attrs = append([]Attr{{"SampleRate", n}}, t.Spans[i].Attrs...)
	}
	root, call := &t.Spans[0], &t.Spans[1]
	root.Attrs = append(root.Attrs, Attr{"url.full", "http://web/cart"})
	call.Attrs = append(call.Attrs, Attr{"url.full", "http://stock/stock"})
}

// asLabels returns a function that makes of a trace what exporters to Cloud Trace do, whose
// attributes are all of the span and in which what is well is not told from what is unset,
// and takes from it what else a version of the API cannot say.
func asLabels(lost ...string) func(*Trace) {
	return func(t *Trace) {
		without(lost...)(t)
		for i := range t.Spans {
			s := &t.Spans[i]
			s.Attrs = append([]Attr{{"g.co/agent", "opentelemetry-go 1.40.0; google-cloud-trace-exporter 1.31.0"}, s.Resource.Attrs[0]}, s.Attrs...)
			s.Resource = &Resource{Service: s.Resource.Service, Attrs: s.Resource.Attrs[1:]}
			if s.Kind == Internal && slices.Contains(lost, "kind") {
				s.Kind = Unspecified
			}
			if slices.Contains(lost, "status") {
				s.Status, s.StatusText = Unset, ""
			}
			if s.Status == OK {
				s.Status = Unset
			}
		}
	}
}

// asColumns makes of a trace what OpenObserve does: no scope, and names of attributes that
// have no dots, where nobody asks for those that they had. Events keep theirs.
func asColumns(t *Trace) {
	without("scope")(t)
	flat := func(attrs []Attr) []Attr {
		attrs = slices.Clone(attrs)
		for i := range attrs {
			if attrs[i].Key != "service.name" {
				attrs[i].Key = strings.ReplaceAll(attrs[i].Key, ".", "_")
			}
		}
		return attrs
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		r := *s.Resource
		r.Attrs = flat(r.Attrs)
		s.Attrs, s.Resource = flat(s.Attrs), &r
	}
}

// shop is the trace that the files of testdata/ingest/forms hold: a request
// that ran into its deadline.
func shop() *Trace {
	web := &Resource{Service: "web", Attrs: []Attr{{"host.name", "node-1"}, {"service.name", "web"}}}
	stock := &Resource{Service: "stock", Attrs: []Attr{{"host.name", "node-2"}, {"service.name", "stock"}}}
	const us = time.Microsecond
	return &Trace{
		ID:    TraceID{8: 0x5a, 0xf7, 0x18, 0x3f, 0xb1, 0xd4, 0xcf, 0x5f},
		Epoch: 1795994844000000000,
		Spans: []Span{
			{
				ID: SpanID{0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 2, 0xb7}, Parent: -1,
				Name: "GET /cart", Kind: Server, Status: Error, StatusText: "deadline exceeded",
				Start: 0, End: 2000 * us, Scope: "shop", Resource: web,
				Attrs:  []Attr{{"http.request.method", "GET"}, {"http.response.status_code", "504"}, {"sampled", "true"}},
				Events: []Event{{Name: "exception", At: 1500 * us, Attrs: []Attr{{"exception.type", "Timeout"}}}},
				Links:  []Link{{TraceID{15: 0xaa}, SpanID{7: 0xbb}}},
			},
			{
				ID: SpanID{6: 0x0a, 0xbc}, ParentID: SpanID{0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 2, 0xb7}, Parent: 0,
				Name: "GET", Kind: Client,
				Start: 100 * us, End: 1300 * us, Scope: "shop", Resource: web,
				Attrs: []Attr{{"peer.service", "stock"}},
			},
			{
				ID: SpanID{0x53, 0x99, 0x5c, 0x3f, 0x42, 0xcd, 0x8a, 0xd8}, ParentID: SpanID{6: 0x0a, 0xbc}, Parent: 1,
				Name: "GET /stock", Kind: Server, Status: OK,
				Start: 200 * us, End: 1100 * us, Scope: "shop", Resource: stock,
				Attrs: []Attr{{"ratio", "0.5"}},
			},
			{
				ID: SpanID{0x53, 0x99, 0x5c, 0x3f, 0x42, 0xcd, 0x8a, 0xd9}, ParentID: SpanID{0x53, 0x99, 0x5c, 0x3f, 0x42, 0xcd, 0x8a, 0xd8}, Parent: 2,
				Name: "parse", Kind: Internal,
				Start: 300 * us, End: 900 * us, Scope: "shop", Resource: stock,
			},
		},
	}
}

// sameTrace compares, a nil and an empty list being the same.
func sameTrace(want, got []*Trace) string {
	return cmp.Diff(placeless(want), placeless(got), cmpopts.EquateEmpty())
}

// One trace in every form is one trace.
func TestEveryForm(t *testing.T) {
	files, err := os.ReadDir(filepath.Join(testdata, "forms"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(forms) {
		t.Errorf("%d files, %d in the table", len(files), len(forms))
	}
	for name, lose := range forms {
		t.Run(name, func(t *testing.T) {
			want := shop()
			if lose != nil {
				lose(want)
			}
			d := mustRead(t, keepAll, filepath.Join(testdata, "forms", name))
			if diff := sameTrace([]*Trace{want}, d.Traces); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, n := range d.Notes {
				if n.Code != OtherSignal {
					t.Errorf("note %+v, want none", n)
				}
			}
		})
	}
}

// Options count in every form.
func TestFormsKeep(t *testing.T) {
	for name := range forms {
		path := filepath.Join(testdata, "forms", name)
		for _, s := range mustRead(t, Options{}, path).Traces[0].Spans {
			if len(s.Attrs)+len(s.Resource.Attrs)+len(s.Events)+len(s.Links) > 0 {
				t.Errorf("%s: kept %v %v %v %v, want nothing", name, s.Attrs, s.Resource.Attrs, s.Events, s.Links)
			}
		}
		d := mustRead(t, Options{Keep: []string{"peer.*", "exception.type"}, Events: []string{"none"}}, path)
		got := ""
		for _, s := range d.Traces[0].Spans {
			got += fmt.Sprint(s.Attrs, s.Resource.Attrs, s.Events)
		}
		if want := "[] [] [][{peer.service stock}] [] [][] [] [][] [] []"; got != want {
			t.Errorf("%s: kept %s, want %s", name, got, want)
		}
	}
}

// A store whose columns have lost the dots of the attributes gives those back that are
// asked for.
func TestColumnsHaveDots(t *testing.T) {
	want := shop()
	without("scope")(want)
	o := Options{Keep: []string{"http.request.method", "http.response.status_code", "http.response.status-code", "sampled", "ratio", "peer.*", "host.name", "exception.type"}, Events: []string{"*"}, Links: true}
	for i := range want.Spans { // of the service only the field
		r := *want.Spans[i].Resource
		r.Attrs = r.Attrs[:1]
		want.Spans[i].Resource = &r
	}
	d := mustRead(t, o, filepath.Join(testdata, "forms", "openobserve.json"))
	if diff := sameTrace([]*Trace{want}, d.Traces); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// All forms in one folder are one trace too, where they say the same.
func TestFormsTogether(t *testing.T) {
	var paths []string
	for name, lose := range forms {
		if lose == nil {
			paths = append(paths, filepath.Join(testdata, "forms", name))
		}
	}
	d := mustRead(t, keepAll, paths...)
	if n := note(d, Duplicate); len(d.Traces) != 1 || len(d.Traces[0].Spans) != 4 || n.Count != int64(4*(len(paths)-1)) {
		t.Errorf("%d traces, note %+v, want one of 4 spans and the rest duplicates", len(d.Traces), n)
	}
}

// Of a file that ends anywhere, what came before is read, and it is valid.
func TestFormsCut(t *testing.T) {
	for name := range forms {
		content, err := os.ReadFile(filepath.Join(testdata, "forms", name))
		if err != nil {
			t.Fatal(err)
		}
		spans := int64(0)
		for n := 0; n < len(content); n += 41 {
			d := readBytes(t, content[:n])
			if d.Spans < spans {
				t.Errorf("%s cut at %d: %d spans, but %d before", name, n, d.Spans, spans)
			}
			spans = d.Spans
		}
	}
}

// isOnlyOTLP reports whether the object is of the one form that pdata knows.
func isOnlyOTLP(content []byte) bool {
	var keys map[string]json.RawMessage
	if json.Unmarshal(content, &keys) != nil {
		return false
	}
	_, camel := keys["resourceSpans"]
	_, snake := keys["resource_spans"]
	_, tempo := keys["batches"]
	return (camel || snake) && !tempo
}

// readText reads text as the one input.
func readText(t *testing.T, text string) *Dump {
	t.Helper()
	o := keepAll
	o.Stdin = strings.NewReader(text)
	return mustRead(t, o, "-")
}
