package ingest

import (
	"strings"
	"testing"
)

// The trace in an answer of Tempo in protobuf is that of the same bytes without
// the answer around them.
func TestTempoProtobuf(t *testing.T) {
	resource := ld(1, ld(1, ld(1, "service.name"), ld(2, ld(1, "svc"))))
	span := func(id string) string {
		return ld(2, ld(1, ld(1, "lib")), ld(2, ld(1, traceBytes), ld(2, id), ld(5, "n"), f64(7, 1000), f64(8, 2000)))
	}
	first, second := ld(1, resource, span(spanBytes)), ld(1, span("12345678"), resource)
	many := strings.Repeat(ld(1, resource, span("22222222"), ld(3, strings.Repeat("s", 1000))), 200) // more than is looked at
	for name, test := range map[string]struct {
		answer, bare string
		notes        string
	}{
		"a trace":                {ld(1, first), first, ""},
		"two resources":          {ld(1, first, second), first + second, ""},
		"scopes first":           {ld(1, second, first), first + second, ""},
		"two answers":            {ld(1, first) + ld(1, second), first + second, ""},
		"metrics":                {ld(1, first) + ld(2, vi(1, 7)), first, ""},
		"whole":                  {ld(1, first) + vi(3, 0), first, ""},
		"partial":                {ld(1, first) + vi(3, 1) + ld(4, "too big"), first, "too big"},
		"long":                   {ld(1, many, first), many + first, ""},
		"of old versions":        {ld(1, ld(1, resource, strings.Replace(span(spanBytes), "\x12", "\xc2\x3e", 1))), first, ""},
		"partial, text first":    {ld(4, "too big")[:0] + ld(1, first) + ld(4, "too big") + vi(3, 1), first, "too big"},
		"an answer of version 1": {first, first, ""},
	} {
		want := readText(t, test.bare)
		got := readText(t, test.answer)
		if d := diff(want.Traces, got.Traces); d != "" || want.Spans == 0 {
			t.Errorf("%s: %d spans %s", name, want.Spans, d)
		}
		if n := note(got, Partial); n.Text != test.notes || (n.Count > 0) != (test.notes != "") {
			t.Errorf("%s: note %+v, want %q", name, n, test.notes)
		}
	}
	// Cut anywhere, it is read as far as it goes.
	answer := ld(1, first, second) + vi(3, 1) + ld(4, "too big")
	for n := range len(answer) {
		anyBytes(t, []byte(answer[:n]))
	}
	d := readText(t, answer[:len(ld(1, first, second))-len(second)])
	if n := note(d, Truncated); d.Spans != 1 || n.Count != 1 {
		t.Errorf("cut: %d spans, note %+v, want 1 and truncated", d.Spans, n)
	}
}
