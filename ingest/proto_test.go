package ingest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// len1 is a length-delimited field.
func ld(number int, parts ...string) string {
	body := ""
	for _, p := range parts {
		body += p
	}
	return uv(uint64(number)<<3|2) + uv(uint64(len(body))) + body
}

func uv(v uint64) string {
	s := ""
	for v >= 0x80 {
		s += string([]byte{byte(v) | 0x80})
		v >>= 7
	}
	return s + string([]byte{byte(v)})
}

func vi(number int, v uint64) string { return uv(uint64(number)<<3) + uv(v) }

func f64(number int, v uint64) string {
	s := uv(uint64(number)<<3 | 1)
	for range 8 {
		s += string([]byte{byte(v)})
		v >>= 8
	}
	return s
}

func scanProto(o Options, message string, cut bool) (*sink, string) {
	s := newSink(o, newResources(), NewSpooler(0, ""), 1)
	p := protoBytes{sink: s}
	why, _, _ := p.decode([]byte(message), 0, cut)
	return s, why
}

const (
	traceBytes = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10"
	spanBytes  = "\x01\x02\x03\x04\x05\x06\x07\x08"
)

func TestProtoSpan(t *testing.T) {
	str := func(key, value string) string { return ld(1, key) + ld(2, ld(1, value)) }
	resource := ld(1, ld(1, str("service.name", "svc")))
	name, scope := ld(5, "GET /\xff"), ld(1, ld(1, "sc"), ld(2, "v1"))
	fields := []string{
		ld(1, traceBytes), ld(2, spanBytes), ld(3, "a=b"), ld(4, spanBytes), name, vi(6, 2), f64(7, 1000), f64(8, 2000),
		ld(9, str("k", "v")), vi(10, 1), ld(11, f64(1, 1500), ld(2, "e\xff"), ld(3, str("k", "v")), vi(4, 7)), ld(13, ld(1, traceBytes), ld(2, spanBytes), ld(3, "x"), uv(6<<3|5)+"\x01\x01\x00\x00"), ld(15, ld(2, "no"), vi(3, 2)), uv(16<<3|5) + "\x01\x01\x00\x00", ld(99, "new"),
	}
	forward, backward := "", ""
	for _, f := range fields {
		forward, backward = forward+f, f+backward
	}
	swapped := ld(9, ld(2, ld(1, "v")), ld(1, "k"))
	event := ld(11, ld(3, ld(2, ld(1, "v")), ld(1, "k")), ld(2, "e\xff"), f64(1, 1500))
	link := ld(13, ld(2, spanBytes), ld(1, traceBytes))
	want := record{
		trace: TraceID([]byte(traceBytes)),
		span: Span{
			ID: SpanID([]byte(spanBytes)), ParentID: SpanID([]byte(spanBytes)), Parent: -1, Kind: Server, Status: Error,
			Start: 1000, End: 2000, Name: "GET /\uFFFD", StatusText: "no", Scope: "sc", TraceState: "a=b",
			Attrs: []Attr{{"k", "v"}}, Resource: &Resource{Service: "svc", Attrs: []Attr{{"service.name", "svc"}}},
			Events: []Event{{Name: "e\uFFFD", At: 1500, Attrs: []Attr{{"k", "v"}}}},
			Links:  []Link{{TraceID([]byte(traceBytes)), SpanID([]byte(spanBytes))}},
		},
	}
	tests := map[string]string{
		"usual":                   ld(1, resource, ld(2, scope, ld(2, forward))),
		"backward":                ld(1, ld(2, ld(2, backward), scope), resource),
		"value before key":        ld(1, resource, ld(2, scope, ld(2, forward[:0], ld(1, traceBytes), ld(2, spanBytes), ld(3, "a=b"), ld(4, spanBytes), name, vi(6, 2), f64(7, 1000), f64(8, 2000), swapped, event, link, ld(15, ld(2, "no"), vi(3, 2))))),
		"old scopes":              ld(1, resource, ld(1000, scope, ld(2, forward))),
		"old scopes, new as well": ld(1, ld(1000, scope, ld(2, forward)), resource, ld(2, scope, ld(2, forward))),
		"unknown group":           ld(1, resource, uv(77<<3|3)+vi(5, 1)+ld(6, "x")+uv(77<<3|4), ld(2, scope, ld(2, forward))),
	}
	for name, message := range tests {
		s, why := scanProto(keepAll, message, false)
		if why != "" || len(s.records) != 1 {
			t.Errorf("%s: %d spans, %q, notes %v", name, len(s.records), why, s.notes.List())
			continue
		}
		got := recordOf(s, 0)
		got.span.Position = 0
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(record{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A bad span costs itself; its neighbours stay.
func TestProtoDamage(t *testing.T) {
	good := ld(2, ld(1, traceBytes), ld(2, spanBytes))
	tests := map[string]string{
		"short parent id":         ld(4, "\x01"),
		"wrong wire type":         vi(1, 7),
		"name as number":          f64(5, 7),
		"number beyond 64 bits":   uv(6<<3) + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"length beyond the span":  "\x0a\x10abc",
		"illegal wire type":       "\x0f",
		"field 0":                 "\x00\x00",
		"broken attribute":        ld(9, "\x0a\x7f"),
		"end of no group":         "\x0c",
		"kept value, wrong wires": ld(9, ld(1, "k"), ld(2, vi(1, 1))),
		"broken event":            ld(11, "\x12\x7f"),
		"time of event as number": ld(11, vi(1, 7)),
		"attribute of an event":   ld(11, ld(3, "\x0a\x7f"), ld(2, "e")),
		"link id as number":       ld(13, vi(1, 7)),
	}
	for name, bad := range tests {
		s, why := scanProto(keepAll, ld(1, ld(1), ld(2, good, ld(2, bad), good)), false)
		notes := s.notes.List()
		if why != "" || len(s.records) != 2 || len(notes) != 1 || notes[0].Code != Unreadable || notes[0].Bytes != int64(len(bad)) {
			t.Errorf("%s: %d spans, %q, notes %+v, want 2 spans and %d unreadable bytes", name, len(s.records), why, notes, len(bad))
		}
	}
}

// A malformed trace or span id is none, and noted.
func TestProtoBadID(t *testing.T) {
	good := ld(2, ld(1, traceBytes), ld(2, spanBytes))
	for name, bad := range map[string]string{"short trace id": ld(1, "\x01"), "long span id": ld(2, spanBytes+"\x00")} {
		s, why := scanProto(keepAll, ld(1, ld(1), ld(2, good, ld(2, bad), good)), false)
		notes := s.notes.List()
		if why != "" || len(s.records) != 3 || s.records[1].trace != (TraceID{}) || s.records[1].span.ID != (SpanID{}) ||
			len(notes) != 1 || notes[0].Code != BadID || notes[0].Count != 1 {
			t.Errorf("%s: %d spans, %q, notes %+v, want 3 spans, the second without the id, and a note", name, len(s.records), why, notes)
		}
	}
}

// A message cut anywhere gives the spans before the cut if their resource is
// known by then, and never more.
func TestProtoCut(t *testing.T) {
	span := func(i byte) string {
		return ld(2, ld(1, traceBytes), ld(2, "\x01\x01\x01\x01\x01\x01\x01"+string([]byte{i})))
	}
	resource := ld(1, ld(1, ld(1, "service.name"), ld(2, ld(1, "svc"))))
	first := ld(1, resource, ld(2, span(1), span(2)), ld(2, span(3)))
	last := ld(1, ld(2, span(1), span(2)), resource)
	for n := range len(first) {
		s, _ := scanProto(keepAll, first[:n], true)
		want := 0
		for i := 1; i <= 3; i++ {
			if end := len(first) - []int{0, len(span(0))*2 + 2, len(span(0)) + 2, 0}[i]; n >= end {
				want = i
			}
		}
		if len(s.records) != want {
			t.Errorf("cut at %d of %d: %d spans, want %d", n, len(first), len(s.records), want)
		}
	}
	for n := range len(last) {
		if s, _ := scanProto(keepAll, last[:n], true); len(s.records) != 0 {
			t.Errorf("resource last, cut at %d of %d: %d spans, want none", n, len(last), len(s.records))
		}
	}
}

func TestProtoValues(t *testing.T) {
	array := func(values ...string) string {
		body := ""
		for _, v := range values {
			body += ld(1, v)
		}
		return ld(5, body)
	}
	tests := []struct{ value, want string }{
		{ld(1, "x"), "x"},
		{vi(2, 1), "true"},
		{vi(3, 1<<64-5), "-5"},
		{f64(4, 0x3fb999999999999a), "0.1"},
		{ld(7, "\x01\x02\x03\x04"), "AQIDBA=="},
		{array(ld(1, "a"), "", vi(3, 3)), "a,,3"},
		{array(array(vi(3, 1), ld(1, "b"))), `[1,"b"]`},
		{ld(6, ld(1, ld(2, vi(3, 1)), ld(1, "k")), ld(1, ld(1, "e"))), `{"k":1,"e":null}`},
		{ld(1, "x") + vi(3, 1), "1"},
		{"", ""},
		{vi(8, 1), ""},
	}
	for _, test := range tests {
		s, why := scanProto(keepAll, ld(1, ld(2, ld(2, ld(9, ld(1, "k"), ld(2, test.value))))), false)
		if why != "" || len(s.records) != 1 || fmt.Sprint(recordOf(s, 0).span.Attrs) != fmt.Sprint([]Attr{{"k", test.want}}) {
			t.Errorf("% x: %q %v, want %q", test.value, why, s.records, test.want)
		}
	}
}

// What nobody asked for is not looked into.
func TestProtoUnasked(t *testing.T) {
	s, why := scanProto(Options{}, ld(1, ld(2, ld(2, ld(11, "\xff"), ld(13, "\xff")))), false)
	if notes := s.notes.List(); why != "" || len(s.records) != 1 || len(notes) != 0 || s.records[0].span.Events != nil {
		t.Errorf("%d spans, %q, notes %v, want 1 span", len(s.records), why, notes)
	}
}

// An attribute that breaks off anywhere, or has any byte changed, is read as pdata reads it, or
// costs its span; also behind a whole one, which foretells it.
func TestProtoBrokenAttribute(t *testing.T) {
	key, value := ld(1, "k"), ld(2, ld(1, "value"))
	span := func(attrs ...string) string {
		fields := ld(1, traceBytes) + ld(2, spanBytes) + f64(7, 1000) + f64(8, 2000)
		for _, a := range attrs {
			fields += ld(9, a)
		}
		return ld(2, fields)
	}
	try := func(whole, broken string) {
		for _, spans := range []string{span(broken), span(whole, broken), span(whole) + span(broken), span(broken, whole)} {
			protoAsPdata(t, []byte(ld(1, ld(1, ld(1, ld(1, "service.name")+ld(2, ld(1, "a")))), ld(2, spans))))
		}
	}
	for _, whole := range []string{key + value, value + key} {
		for n := range whole {
			try(whole, whole[:n])
			for _, b := range []byte{0, 1, 2, 0x0a, 0x12, 0x1a, 0x7f, 0x80, 0xff} {
				changed := []byte(whole)
				changed[n] = b
				try(whole, string(changed))
			}
		}
	}
}
