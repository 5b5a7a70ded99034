package ingest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Where a value is cut, and what the pieces stand in. What is to come out is
// written by hand.
func TestStretch(t *testing.T) {
	const r, sc = `"resource":{"a":[1,2]}`, `"scope":{"name":"s"}`
	for _, test := range []struct{ text, before, opening string }{
		// Between resources.
		{`{"resourceSpans":[{"a":1},{"b":[1,2`, `{"resourceSpans":[{"a":1}]}`, `{"resourceSpans":[`},
		{"\ufeff [ , {\n \"resource_spans\" :\n[ {} , {} , {", "\ufeff [ , {\n \"resource_spans\" :\n[ {} , {} ]}", `{"resource_spans":[`},
		{`{"x":[1,2],"batches":[{},{`, `{"x":[1,2],"batches":[{}]}`, `{"batches":[`},
		// Between scopes and spans, once resource and scope are known.
		{`{"resourceSpans":[{` + r + `,"scopeSpans":[{"x":1},{`, `{"resourceSpans":[{` + r + `,"scopeSpans":[{"x":1}]}]}`, `{"resourceSpans":[{` + r + `,"scopeSpans":[`},
		{`{"resourceSpans":[{` + r + `,"schemaUrl":"u","scopeSpans":[{` + sc + `,"spans":[{"s":"],}"},{"s":`,
			`{"resourceSpans":[{` + r + `,"schemaUrl":"u","scopeSpans":[{` + sc + `,"spans":[{"s":"],}"}]}]}]}`,
			`{"resourceSpans":[{` + r + `,"scopeSpans":[{` + sc + `,"spans":[`},
		{`{` + r + `,"scopeSpans":[{` + sc + `,"spans":[{},{},{"s":`, `{` + r + `,"scopeSpans":[{` + sc + `,"spans":[{},{}]}]}`, `{` + r + `,"scopeSpans":[{` + sc + `,"spans":[`},
		{`{"resourceSpans":[{},{"scopeSpans":[{"spans":[{},{`, `{"resourceSpans":[{}]}`, `{"resourceSpans":[`},
		{`{"resourceSpans":[{` + r + `,"scopeSpans":[{},{"spans":[{},{`, `{"resourceSpans":[{` + r + `,"scopeSpans":[{}]}]}`, `{"resourceSpans":[{` + r + `,"scopeSpans":[`},
		// Answers of APIs.
		{`{"data":[{"traceID":"1","spans":[1,2],"processes":{}},{"spans":[1,2`, `{"data":[{"traceID":"1","spans":[1,2],"processes":{}}]}`, `{"data":[`},
		{`{"data":{"resourceSpans":[{},{`, `{"data":{"resourceSpans":[{}]}}`, `{"data":{"resourceSpans":[`},
		{`{"took":1,"hits":{"hits":[{"_source":{}},{`, `{"took":1,"hits":{"hits":[{"_source":{}}]}}`, `{"hits":{"hits":[`},
		// No place, or no sense in it.
		{`{"resourceSpans":[{"scopeSpans":[{"spans":[{},{`, ``, ``},
		{`{"spans":[{},{},{`, ``, ``},
		{`{"resourceSpans":[{},{}]],{`, ``, ``},
		{"{\"resourceSpans\":[{},{\"a\n", ``, ``},
		{`{"resourceSpans":[{},{}]}{"a":1}`, `{"resourceSpans":[{},{}]}`, ``},
	} {
		var s stretch
		at, closing, opening := s.find([]byte(test.text))
		if got := test.text[:at] + string(closing); got != test.before || string(opening) != test.opening {
			t.Errorf("%s\nends as  %s\nwant     %s\ngoes on as  %s\nwant        %s", test.text, got, test.before, opening, test.opening)
		}
	}
}

// One object around everything is the same as a line for each resource, apart
// from where it ends.
func TestOneObject(t *testing.T) {
	var inner, lines []string
	name := strings.Repeat("n", 1500)
	for i := range 7000 { // 12 MB, beyond wideBlock
		l := line(i/3+1, i+1, 0, fmt.Sprint("svc-", i%5), name, 2, 1000+i, 2000+i)
		lines = append(lines, l)
		inner = append(inner, strings.TrimSuffix(strings.TrimPrefix(l, `{"resourceSpans":[`), "]}"))
	}
	var spans []string
	for i := range 7000 {
		spans = append(spans, fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x","name":%q,"startTimeUnixNano":"%d","endTimeUnixNano":"%d"}`, i/3+1, i+1, name, 1000+i, 2000+i))
	}
	around := func(s string) string {
		return `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"svc"}}]},"scopeSpans":[{"scope":{"name":"scope"},"spans":[` + s + `]}]}]}`
	}
	var alone []string
	for _, s := range spans {
		alone = append(alone, around(s))
	}
	o := keepAll
	byResource := readText(t, strings.Join(lines, "\n"))
	bySpan := readText(t, strings.Join(alone, "\n"))
	for shape, row := range map[string]struct {
		text string
		want *Dump
	}{
		"resources":            {`{"resourceSpans":[` + strings.Join(inner, ",") + `]}`, byResource},
		"resources, on lines":  {"{\n\"resourceSpans\": [\n" + strings.Join(inner, ",\n") + "\n]\n}\n", byResource},
		"resources, in Aspire": {`{"data":{"resourceSpans":[` + strings.Join(inner, ",") + `]}}`, byResource},
		"spans":                {around(strings.Join(spans, ",")), bySpan},
		"spans, on lines":      {around(strings.Join(spans, "\n,\n")), bySpan},
		"an array of objects":  {`[` + strings.Join(lines, ",") + `]`, byResource},
	} {
		for _, workers := range []int{1, 4} {
			o.Workers = workers
			got := mustRead(t, o, write(t, "x", []byte(row.text)))
			if d := diff(row.want.Traces, got.Traces); d != "" {
				t.Errorf("%s, %d workers %s", shape, workers, d)
			}
			if len(got.Notes) > 0 {
				t.Errorf("%s: notes %+v, want none", shape, got.Notes)
			}
			for _, s := range got.Traces[len(got.Traces)/2].Spans {
				if at := row.text[s.Position:]; !strings.HasPrefix(at, fmt.Sprintf(`{"traceId":"%s","spanId":"%s"`, got.Traces[len(got.Traces)/2].ID, s.ID)) {
					t.Errorf("%s: position %d is %.60s", shape, s.Position, at)
				}
			}
		}
		// Cut off, all that came before is there and what is lost is counted.
		cut := row.text[:len(row.text)-2000]
		got := mustRead(t, o, write(t, "x", []byte(cut)))
		n := note(got, Truncated)
		if got.Spans < 6997 || n.Count != 1 || n.Example.Position+n.Bytes != int64(len(cut)) || n.Bytes > 4000 {
			t.Errorf("%s, cut: %d spans, note %+v; want 6998 or more, and the end of %d bytes", shape, got.Spans, n, len(cut))
		}
		o.Decoder = PdataDecoder
		got = mustRead(t, o, write(t, "x", []byte(row.text)))
		o.Decoder = OwnDecoder
		if d := diff(row.want.Traces, got.Traces); d != "" {
			t.Errorf("%s, pdata %s", shape, d)
		}
	}
	// A bad span costs itself, where it is.
	bad := append([]string{}, spans...)
	bad[5000] = `{"traceId":"1","spanId":"1","parentSpanId":"?"}`
	text := around(strings.Join(bad, ","))
	got := mustRead(t, o, write(t, "x", []byte(text)))
	want := Note{Code: Unreadable, Count: 1, Bytes: int64(len(bad[5000])), Text: "malformed parent span id", Example: Place{Position: int64(strings.Index(text, bad[5000]))}}
	n := note(got, Unreadable)
	n.Example.File = ""
	if diff := cmp.Diff(want, n); diff != "" || got.Spans != 6999 {
		t.Errorf("%d spans, note (-want +got):\n%s", got.Spans, diff)
	}
}

// Wherever a text breaks off, the piece before the cut and the one after it give
// the spans of the text in one piece, and what was open is closed.
func TestStretchAnywhere(t *testing.T) {
	var s stretch
	for _, text := range everythingAsText(t) {
		want := readText(t, text)
		cuts := map[int]bool{}
		for n := 1; n < len(text); n += 23 {
			at, closing, opening := s.find([]byte(text[:n]))
			if at == 0 || cuts[at] {
				continue
			}
			cuts[at] = true
			before, after := text[:at]+string(closing), string(opening)+text[at+1:]
			for _, piece := range []string{before, after} {
				if !json.Valid([]byte(piece)) {
					t.Fatalf("cut at %d gives broken JSON: %.200s", at, piece)
				}
			}
			got := readText(t, before+"\n"+after)
			if d := diff(want.Traces, got.Traces); d != "" {
				t.Fatalf("cut at %d %s", at, d)
			}
		}
		if len(cuts) < 30 { // 3 resources of 2 scopes of 7 spans
			t.Errorf("%d places, want 30 or more", len(cuts))
		}
	}
}

// Where the head of a value is missing, its spans are without their resource, however
// many units they are spread over.
func TestHeadless(t *testing.T) {
	var indented strings.Builder
	indented.WriteString("          \"name\": \"n\"\n        }")
	const n = 7000 // 11 MB, beyond wideBlock
	for i := range n {
		fmt.Fprintf(&indented, ",\n        {\n          \"traceId\": \"%032x\",\n          \"spanId\": \"%016x\",\n          \"name\": %q,\n          \"startTimeUnixNano\": \"1\",\n          \"endTimeUnixNano\": \"2\"\n        }", i+1, i+1, strings.Repeat("n", 1500))
	}
	indented.WriteString("\n      ]\n    }\n  ]\n},\n{\n")
	indented.WriteString(strings.TrimPrefix(line(9999, 1, 0, "svc", "n", 2, 1000, 2000), `{`))
	d := readText(t, indented.String())
	if d.Spans != 1 || d.Traces[0].Spans[0].Resource.Service != "svc" {
		t.Errorf("%d spans, want the one behind", d.Spans)
	}
	if got := note(d, Unreadable); got.Count < n || got.Bytes < n*1500 {
		t.Errorf("note %+v, want one for each of %d spans", got, n)
	}
}
