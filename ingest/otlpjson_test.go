package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scanJSON decodes text as the content of a file of its own.
func scanJSON(o Options, text string) *sink {
	s := newSink(o, newResources(), NewSpooler(0, ""), 1)
	t := jsonText{sink: s}
	t.decode([]byte(text), 0, endOfInput)
	return s
}

// oneSpan decodes the fields of one span.
func oneSpan(t *testing.T, fields string) (record, bool) {
	t.Helper()
	s := scanJSON(keepAll, `{"resourceSpans":[{"scopeSpans":[{"spans":[{`+fields+`}]}]}]}`)
	if len(s.records) != 1 {
		return record{}, false
	}
	return recordOf(s, 0), true
}

func TestJSONSpan(t *testing.T) {
	want := record{
		trace: TraceID{15: 0xab},
		span: Span{
			ID: SpanID{7: 1}, ParentID: SpanID{7: 2}, Parent: -1, Kind: Server, Status: Error,
			Start: 1000, End: 2000, Name: "GET /é\n", StatusText: "no", Scope: "sc", TraceState: "a=b",
			Attrs: []Attr{{"k", "v"}}, Resource: &Resource{Service: "svc", Attrs: []Attr{{"host.name", "h"}, {"service.name", "svc"}}},
			Events: []Event{{Name: "ev\n", At: 1500, Attrs: []Attr{{"a", "1"}, {"b", "x"}}}, {At: noTime}},
			Links:  []Link{{TraceID{15: 0xab}, SpanID{7: 3}}, {}},
		},
	}
	resource := `"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"svc"}},{"key":"host.name","value":{"stringValue":"h"}}]}`
	span := `{"traceId":"000000000000000000000000000000ab","spanId":"0000000000000001","parentSpanId":"0000000000000002","traceState":"a=b",` +
		`"name":"GET /\u00e9\n","kind":2,"startTimeUnixNano":"1000","endTimeUnixNano":"2000","attributes":[{"key":"k","value":{"stringValue":"v"}}],` +
		`"status":{"code":2,"message":"no"},"events":[{"timeUnixNano":"1500","name":"ev\n","attributes":[{"key":"b","value":{"stringValue":"x"}},{"key":"a","value":{"intValue":"1"}}]},{}],` +
		`"links":[{"traceId":"000000000000000000000000000000ab","spanId":"0000000000000003","traceState":"}]","attributes":[{"key":"c","value":{}}]},{}],"flags":257,"new":{"a":[1,{"b":null}]}}`
	snake := strings.NewReplacer("traceId", "trace_id", "spanId", "span_id", "parentSpanId", "parent_span_id", "traceState", "trace_state",
		"startTimeUnixNano", "start_time_unix_nano", "endTimeUnixNano", "end_time_unix_nano", "stringValue", "string_value", "timeUnixNano", "time_unix_nano",
		"resourceSpans", "resource_spans", "scopeSpans", "scope_spans")
	late := `{"endTimeUnixNano":2000,"status":{"message":"no","code":"STATUS_CODE_ERROR"},"attributes":[{"value":{"stringValue":"v"},"key":"k"}],` +
		`"links":[{"new":[{}],"spanId":"3","traceId":"AB"},{"spanId":null}],"events":[{"attributes":{"a":1,"b":"x"},"new":[{}],"name":"ev\u000a","timeUnixNano":1.5e3},{"name":null,"timeUnixNano":"soon"}],` +
		`"kind":"SPAN_KIND_SERVER","name":"GET /é\n","startTimeUnixNano":1e3,"traceState":"a=b","parentSpanId":"0000000000000002","spanId":"0000000000000001","traceId":"AB"}`
	tests := map[string]string{
		"usual":         `{"resourceSpans":[{` + resource + `,"scopeSpans":[{"scope":{"name":"sc","version":"1"},"spans":[` + span + `]}]}]}`,
		"snake case":    snake.Replace(`{"resourceSpans":[{` + resource + `,"scopeSpans":[{"scope":{"name":"sc"},"spans":[` + span + `]}]}]}`),
		"other order":   `{"resourceSpans":[{"scopeSpans":[{"spans":[` + late + `],"scope":{"name":"sc"}}],` + resource + `}]}`,
		"old":           `{"resourceSpans":[{` + resource + `,"instrumentationLibrarySpans":[{"instrumentationLibrary":{"name":"sc"},"spans":[` + span + `]}]}]}`,
		"old and new":   `{"resourceSpans":[{"instrumentationLibrarySpans":[{"spans":[` + span + `]}],` + resource + `,"scopeSpans":[{"scope":{"name":"sc"},"spans":[` + span + `]}]}]}`,
		"white space":   strings.NewReplacer(`{`, "{ \n", `:`, " :\t", `,`, ",\r\n ", `]`, " ]", `}`, "\n}").Replace(`{"resourceSpans":[{` + resource + `,"scopeSpans":[{"scope":{"name":"sc"},"spans":[` + strings.ReplaceAll(span, `"}]"`, `"x"`) + `]}]}]}`),
		"nulls":         `{"resourceSpans":[null,{"scopeSpans":[null,{"scope":{"name":"sc"},"schemaUrl":null,"spans":[null,` + span + `]}],` + resource + `,"instrumentationLibrarySpans":null}]}`,
		"duplicate key": `{"resourceSpans":[{` + resource + `,"scopeSpans":[{"scope":{"name":"sc"},"spans":[{"name":"old",` + span[1:] + `]}]}]}`,
	}
	for name, text := range tests {
		s := scanJSON(keepAll, text)
		if len(s.records) != 1 {
			t.Errorf("%s: %d spans, want 1; notes %v", name, len(s.records), s.notes.List())
			continue
		}
		got := recordOf(s, 0)
		got.span.Position = 0
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(record{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestJSONIDs(t *testing.T) {
	tests := []struct {
		text string
		want string // all 0: none; the last three are the beginning of what sha256sum says
	}{
		{"5b8efff798038103d269b633813fc60c", "5b8efff798038103d269b633813fc60c"},
		{"5B8EFFF798038103D269B633813FC60C", "5b8efff798038103d269b633813fc60c"},
		{"0x5b8efff798038103d269b633813fc60c", "5b8efff798038103d269b633813fc60c"},
		{"5b8efff7-9803-8103-d269-b633813fc60c", "5b8efff798038103d269b633813fc60c"},
		{"W47/95gDgQPSabYzgT/GDA==", "5b8efff798038103d269b633813fc60c"},
		{"NWI4ZWZmZjc5ODAzODEwM2QyNjliNjMzODEzZmM2MGM=", "5b8efff798038103d269b633813fc60c"}, // base64 of the digits
		{"53ce929d0e0e4736", "000000000000000053ce929d0e0e4736"},
		{"3ce929d0e0e4736", "000000000000000003ce929d0e0e4736"},
		{"", "00000000000000000000000000000000"},
		{"00000000000000000000000000000000", "00000000000000000000000000000000"},
		{strings.Repeat("0", 100), "00000000000000000000000000000000"},
		{"?", "00000000000000000000000000000000"},
		{"!!!INVALID_BASE64!!!", "00000000000000000000000000000000"},
		{"undefined", "00000000000000000000000000000000"},
		{"5b8efff798038103d269b633813fc60c0", "368925715d85310f2533ff35cdd308f9"},
		{"5b8efff798038103d269b633813fc60g", "3225b43fd3f2ceca699d45086475ca9b"},
		{"hello", "2cf24dba5fb0a30e26e83b2ac5b9e29e"},
	}
	for _, test := range tests {
		r, ok := oneSpan(t, fmt.Sprintf(`"traceId":%q`, test.text))
		if !ok || r.trace.String() != test.want {
			t.Errorf("trace id %q = %s, %v, want %q", test.text, r.trace, ok, test.want)
		}
	}
	for text, want := range map[string]string{
		"eee19b7ec3c1b174": "eee19b7ec3c1b174", "7uGbfsPBsXQ=": "eee19b7ec3c1b174", "0xeee19b7ec3c1b174": "eee19b7ec3c1b174",
		"ZWVlMTliN2VjM2MxYjE3NA==": "eee19b7ec3c1b174", "1": "0000000000000001", "0": "0000000000000000", "eee19b7ec3c1b17400": "7a0949b0215a8e75",
	} {
		r, ok := oneSpan(t, fmt.Sprintf(`"spanId":%q`, text))
		if !ok || r.span.ID.String() != want {
			t.Errorf("span id %q = %s, %v, want %q", text, r.span.ID, ok, want)
		}
	}
}

func TestJSONTimes(t *testing.T) {
	const n = 1795994844000000001
	tests := []struct {
		start, end string
		from, to   time.Duration
		defect     Defect
	}{
		{`"1795994844000000001"`, `1795994844000000001`, n, n, 0},
		{`1.795994844000000001e18`, `"1.795994844000000001E+18"`, n, n, 0},
		{`1795994844000000001.0`, `17959948440000000010e-1`, n, n, 0},
		{`1.5e18`, `"1.6e18"`, 15e17, 16e17, 0},
		{`"2026-11-29T23:27:24.000000001Z"`, `"2026-11-29T23:27:24.000000002Z"`, n, n + 1, 0},
		{`5`, `0`, 5, 5, NoEnd},
		{`5`, `null`, 5, 5, NoEnd},
		{`5`, `""`, 5, 5, NoEnd},
		{`5`, `"-1"`, 5, 5, NoEnd},
		{`5`, `"18446744073709551615"`, 5, 5, NoEnd},
		{`5`, `1e300`, 5, 5, NoEnd},
		{`0`, `5`, 5, 5, NoStart},
		{`"11651379494838206464"`, `5`, 5, 5, NoStart}, // Go's zero time
		{`0`, `0`, 0, 0, NoStart | NoEnd},
		{`5`, `4`, 5, 5, EndBeforeStart},
	}
	for _, test := range tests {
		r, ok := oneSpan(t, `"startTimeUnixNano":`+test.start+`,"endTimeUnixNano":`+test.end)
		if !ok || r.span.Start != test.from || r.span.End != test.to || r.span.Defect != test.defect {
			t.Errorf("[%s, %s) = [%d, %d) defect %03b, want [%d, %d) defect %03b", test.start, test.end,
				r.span.Start, r.span.End, r.span.Defect, test.from, test.to, test.defect)
		}
	}
	if _, ok := oneSpan(t, `"startTimeUnixNano":"yesterday"`); ok {
		t.Error("a time that is none was taken")
	}
}

func TestJSONEnums(t *testing.T) {
	for text, want := range map[string]Kind{
		`0`: Unspecified, `1`: Internal, `"2"`: Server, `3.0`: Client, `"SPAN_KIND_PRODUCER"`: Producer, `"consumer"`: Consumer, `"SERVER"`: Server,
		`99`: Unspecified, `-1`: Unspecified, `"SPAN_KIND_INVALID_TYPE"`: Unspecified, `null`: Unspecified,
	} {
		if r, ok := oneSpan(t, `"kind":`+text); !ok || r.span.Kind != want {
			t.Errorf("kind %s = %d, %v, want %d", text, r.span.Kind, ok, want)
		}
	}
	for text, want := range map[string]Status{
		`{}`: Unset, `null`: Unset, `{"code":1}`: OK, `{"code":"2"}`: Error, `{"code":"STATUS_CODE_OK"}`: OK, `{"code":"Error"}`: Error, `{"code":7}`: Unset, `{"code":null}`: Unset,
	} {
		if r, ok := oneSpan(t, `"status":`+text); !ok || r.span.Status != want {
			t.Errorf("status %s = %d, %v, want %d", text, r.span.Status, ok, want)
		}
	}
}

// Values as the comment of Attr has them.
func TestJSONValues(t *testing.T) {
	tests := map[string]string{
		`{"stringValue":"x, \"y\""}`:                         `x, "y"`,
		`{"stringValue":"\ud83d\ude00 \ud800 \ud800\u0041"}`: "😀 \uFFFD \uFFFDA",
		"{\"stringValue\":\"caf\xe9\"}":                      "caf\uFFFD",
		`{"intValue":"-5"}`:                                  `-5`,
		`{"intValue":7.0}`:                                   `7`,
		`{"intValue":"-9223372036854775808"}`:                `-9223372036854775808`,
		`{"intValue":null}`:                                  ``,
		`{"doubleValue":0.1}`:                                `0.1`,
		`{"doubleValue":1500000}`:                            `1500000`,
		`{"doubleValue":1e21}`:                               `1e+21`,
		`{"doubleValue":"NaN"}`:                              `NaN`,
		`{"doubleValue":"-Infinity"}`:                        `-Infinity`,
		`{"boolValue":true}`:                                 `true`,
		`{"boolValue":false}`:                                `false`,
		`{"bytesValue":"AQIDBA=="}`:                          `AQIDBA==`,
		`{"arrayValue":{}}`:                                  ``,
		`{"arrayValue":{"values":[{"stringValue":"a"},{},{"intValue":"3"},{"boolValue":true}]}}`:                     `a,,3,true`,
		`{"arrayValue":{"values":[{"arrayValue":{"values":[{"intValue":1},{"stringValue":"b"}]}}]}}`:                 `[1,"b"]`,
		`{"kvlistValue":{"values":[{"key":"a\n","value":{"stringValue":"\u0001"}},{"key":"b","value":{}}]}}`:         `{"a\n":"\u0001","b":null}`,
		`{"kvlistValue":{"values":[{"value":{"doubleValue":2.5},"key":"a"},{"key":"b","value":{"bytesValue":""}}]}}`: `{"a":2.5,"b":""}`,
		`{"kvlistValue":{"values":[]}}`:       `{}`,
		`{}`:                                  ``,
		`null`:                                ``,
		`{"stringValue":"x","intValue":"1"}`:  `1`,
		`"bare"`:                              `bare`,
		`7`:                                   `7`,
		`{"newValue":[{}],"stringValue":"x"}`: `x`,
	}
	for text, want := range tests {
		r, ok := oneSpan(t, `"attributes":[{"key":"k","value":`+text+`}]`)
		if diff := cmp.Diff([]Attr{{"k", want}}, r.span.Attrs); !ok || diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	deep := strings.Repeat(`{"arrayValue":{"values":[`, 5000) + strings.Repeat(`]}}`, 5000)
	if _, ok := oneSpan(t, `"attributes":[{"key":"k","value":`+deep+`}],"unknown":`+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000)); !ok {
		t.Error("a value 5000 deep cost the span")
	}
}

// A null is no member: it undoes none, wherever it stands.
func TestJSONNullMembers(t *testing.T) {
	members := map[string]string{
		`"stringValue":"shop"`:                          `shop`,
		`"intValue":"5"`:                                `5`,
		`"doubleValue":2.5`:                             `2.5`,
		`"boolValue":true`:                              `true`,
		`"bytesValue":"AQIDBA=="`:                       `AQIDBA==`,
		`"arrayValue":{"values":[{"stringValue":"a"}]}`: `a`,
		`"kvlistValue":{"values":[{"key":"a","value":{"intValue":1}}]}`: `{"a":1}`,
		`"newValue":7`: ``,
	}
	nulls := ""
	for _, name := range []string{"stringValue", "intValue", "doubleValue", "boolValue", "bytesValue", "arrayValue", "kvlistValue", "stringValueStrindex"} {
		nulls += `"` + name + `":null,"` + strings.Replace(name, "Value", "_value", 1) + `" : null,`
	}
	nulls += `"newValue":null`
	for member, want := range members {
		for _, value := range []string{"{" + member + "," + nulls + "}", "{" + nulls + "," + member + "}", "{" + nulls + "," + member + "," + nulls + "}"} {
			quoted := want
			switch {
			case want == "":
				quoted = "null"
			case member[1:6] == "array":
				quoted = `["a"]`
			case want == "shop" || member[1:6] == "bytes":
				quoted = `"` + want + `"`
			}
			for text, want := range map[string]string{
				value: want,
				`{"kvlistValue":{"values":[{"key":"k","value":` + value + `}]}}`:                           `{"k":` + quoted + `}`,
				`{"arrayValue":{"values":[{"arrayValue":{"values":[` + value + `]}}]},"kvlistValue":null}`: `[` + quoted + `]`,
			} {
				r, ok := oneSpan(t, `"attributes":[{"key":"k","value":`+text+`}]`)
				if diff := cmp.Diff([]Attr{{"k", want}}, r.span.Attrs); !ok || diff != "" {
					t.Errorf("%s (-want +got):\n%s", text, diff)
				}
			}
		}
	}
}

func TestKeep(t *testing.T) {
	attrs := `[{"key":"b.2","value":{"intValue":2}},{"key":"a","value":{"intValue":1}},{"key":"b.1","value":{"intValue":1}},` +
		`{"key":"a","value":{"intValue":3}},{"key":"c","value":{"intValue":1}},{"key":"service.name","value":{"stringValue":"s"}}]`
	text := `{"resourceSpans":[{"resource":{"attributes":` + attrs + `},"scopeSpans":[{"spans":[{"attributes":` + attrs + `}]}]}]}`
	tests := []struct {
		keep []string
		want string
	}{
		{nil, `[]`},
		{[]string{"a"}, `[{a 3}]`},
		{[]string{"b.*"}, `[{b.1 1} {b.2 2}]`},
		{[]string{"a", "b.*", "d"}, `[{a 3} {b.1 1} {b.2 2}]`},
		{[]string{"service.name"}, `[{service.name s}]`},
		{[]string{"*"}, `[{a 3} {b.1 1} {b.2 2} {c 1} {service.name s}]`},
	}
	for _, test := range tests {
		s := scanJSON(Options{Keep: test.keep}, text)
		span := recordOf(s, 0).span
		if got := fmt.Sprint(span.Attrs); got != test.want {
			t.Errorf("Keep %q: span %s, want %s", test.keep, got, test.want)
		}
		if got := fmt.Sprint(span.Resource.Attrs); got != test.want || span.Resource.Service != "s" {
			t.Errorf("Keep %q: resource %q %s, want s %s", test.keep, span.Resource.Service, got, test.want)
		}
	}
}

// Names of headers come in any case (RFC 9110, section 5.1), and keys as they stand.
func TestKeepCapitals(t *testing.T) {
	s := scanJSON(Options{Keep: []string{"header.x-budget-ms", "SampleRate"}}, `{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[
		{"key":"header.X-Budget-MS","value":{"intValue":1}},
		{"key":"header.X-Budget-MS.not","value":{"intValue":2}},
		{"key":"SampleRate","value":{"intValue":3}},
		{"key":"samplerate","value":{"intValue":4}}]}]}]}]}`)
	if got, want := fmt.Sprint(recordOf(s, 0).span.Attrs), `[{SampleRate 3} {header.X-Budget-MS 1}]`; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}
}

// Of events, those whose name is asked for; their attributes as Keep has it.
func TestKeepEvents(t *testing.T) {
	event := func(name string) string {
		return `{"timeUnixNano":"7","name":"` + name + `","attributes":[{"key":"a","value":{"intValue":1}},{"key":"b","value":{"intValue":2}}]}`
	}
	text := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[{"key":"a","value":{"intValue":9}}],"events":[` +
		event("exception") + `,null,` + event("retry.1") + `,` + event("") + `,` + event("retry.2") + `],"links":[{"spanId":"1"}]}]}]}]}`
	tests := []struct {
		o    Options
		want string // events, then links
	}{
		{Options{}, `[] []`},
		{Options{Keep: []string{"a"}, Links: true}, `[] [{00000000000000000000000000000000 0000000000000001}]`},
		{Options{Events: []string{"exception"}}, `[{exception 7ns []}] []`},
		{Options{Events: []string{"retry.*", "none"}, Keep: []string{"a"}}, `[{retry.1 7ns [{a 1}]} {retry.2 7ns [{a 1}]}] []`},
		{Options{Events: []string{"*"}, Keep: []string{"b"}}, `[{exception 7ns [{b 2}]} {retry.1 7ns [{b 2}]} { 7ns [{b 2}]} {retry.2 7ns [{b 2}]}] []`},
	}
	for _, test := range tests {
		s := scanJSON(test.o, text)
		if len(s.records) != 1 {
			t.Errorf("%+v: %d spans, want 1", test.o, len(s.records))
			continue
		}
		span := recordOf(s, 0).span
		if got := fmt.Sprint(span.Events, span.Links); got != test.want {
			t.Errorf("%+v: %s, want %s", test.o, got, test.want)
		}
		if want := fmt.Sprint([]Attr{{"a", "9"}}); len(span.Attrs) > 0 && fmt.Sprint(span.Attrs) != want {
			t.Errorf("%+v: attributes %v, want %s", test.o, span.Attrs, want)
		}
	}
}

// A line that begins with an object of OTLP begins a value, wherever the one before was
// cut, also within what is skipped, within an escape, and with the line feeds of indented text.
func TestRecordsBehindCuts(t *testing.T) {
	skipped := strings.Replace(three[0], `{"scopeSpans"`, `{"other":[{"a\\b":["c\"d",{}]}],"scopeSpans"`, 1)
	texts := everythingAsText(t)
	for _, whole := range append(texts[:], skipped) {
		for cut := 0; cut < len(whole); cut += 1 + len(whole)/500 {
			content := []byte(whole[:cut] + "\n" + three[1] + three[2])
			compareAlone(t, scanJSON(keepAll, string(content)), content)
			if t.Failed() {
				t.Fatalf("cut at %d: …%s", cut, whole[max(0, cut-80):cut])
			}
		}
	}
}

// The same for text as TestProtoBrokenAttribute for protobuf.
func TestJSONBrokenAttribute(t *testing.T) {
	span := func(attrs ...string) string {
		return `{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","startTimeUnixNano":"1000","endTimeUnixNano":"2000","attributes":[` +
			strings.Join(attrs, ",") + `]}`
	}
	try := func(whole, broken string) {
		for _, spans := range []string{span(broken), span(whole, broken), span(whole) + "," + span(broken), span(broken, whole)} {
			jsonAsPdata(t, []byte(`{"resourceSpans":[{"resource":{},"scopeSpans":[{"spans":[`+spans+`]}]}]}`))
		}
	}
	for _, whole := range []string{`{"key":"k","value":{"stringValue":"v\n"}}`, `{"value":{"intValue":"12"},"key":"k"}`} {
		for n := range whole {
			try(whole, whole[:n])
			for _, b := range []byte("\x00\"},\\") {
				changed := []byte(whole)
				changed[n] = b
				try(whole, string(changed))
			}
		}
	}
}
