package ingest

import (
	"strings"
	"testing"
)

// Messages of other signals, by the .proto files of OTLP, fields in their order.
var (
	numberPoint    = f64(2, 1) + f64(3, 2) + f64(6, 4) + ld(7, ld(1, "a"), ld(2, ld(1, "b")))
	histogramPoint = f64(2, 1) + f64(3, 2) + f64(4, 10) + f64(5, 0x3ff8000000000000) + ld(6, strings.Repeat("\x01\x00\x00\x00\x00\x00\x00\x00", 2)) + ld(7, strings.Repeat("\x00", 8))
	summaryPoint   = f64(2, 1) + f64(3, 2) + f64(4, 10) + ld(6, f64(1, 0x3fe0000000000000), f64(2, 0x3ff8000000000000))
	otherSamples   = map[string]string{
		"gauge with a name of 16 bytes":       ld(1, "process.cpu.time") + ld(3, "s") + ld(5, ld(1, numberPoint)),
		"gauge with a description of 8 bytes": ld(1, "process.cpu.time") + ld(2, "CPU time") + ld(3, "s") + ld(5, ld(1, numberPoint), ld(1, numberPoint)),
		"gauge with a short name":             ld(1, "up") + ld(5, ld(1, numberPoint)),
		"sum":                                 ld(1, "process.cpu.time") + ld(3, "s") + ld(7, ld(1, numberPoint), vi(2, 1), vi(3, 1)),
		"histogram":                           ld(1, "http.server.request.duration") + ld(2, "Duration") + ld(3, "s") + ld(9, ld(1, histogramPoint), vi(2, 2)),
		"histogram with a name of 16 bytes":   ld(1, "rpc.server.durat") + ld(9, ld(1, histogramPoint), vi(2, 2)),
		"exponential histogram":               ld(1, "rpc.server.durat") + ld(10, ld(1, f64(2, 1), f64(3, 2), f64(4, 10)), vi(2, 2)),
		"summary":                             ld(1, "rpc.server.durat") + ld(11, ld(1, summaryPoint)),
		"log":                                 f64(1, 1) + vi(2, 9) + ld(3, "INFO") + ld(5, ld(1, "hi")) + ld(9, traceBytes) + ld(10, spanBytes) + f64(11, 2),
		"log, observed only":                  ld(5, ld(1, "hi")) + f64(11, 2),
		"log without times":                   ld(3, "INFO") + ld(5, ld(1, "hi")),
		"log with attributes, without times":  ld(5, ld(1, "hi")) + ld(6, ld(1, "a"), ld(2, ld(1, "b"))),
		"log with flags":                      ld(5, ld(1, "hi")) + uv(8<<3|5) + "\x01\x00\x00\x00",
		"profile":                             ld(1, vi(1, 1), vi(2, 2)) + ld(2, vi(1, 1), ld(2, "\x01")) + f64(3, 1) + vi(4, 10) + ld(5, vi(1, 1)) + vi(6, 10) + ld(7, traceBytes),
		"gauge with a point and nothing else in it": ld(1, "0123456789abcdef") + ld(5, ld(1, f64(3, 2))),
	}
)

// Other signals are told by what lies where a span would: they leave no span
// behind, are counted once a resource, and cost no span beside them.
func TestProtoOtherSignals(t *testing.T) {
	resource := ld(1, ld(1, ld(1, "service.name"), ld(2, ld(1, "svc"))))
	span := ld(2, ld(1, traceBytes), ld(2, spanBytes), ld(5, "GET"), f64(7, 1000), f64(8, 2000))
	pdata := keepAll
	pdata.Decoder = PdataDecoder
	for _, o := range []Options{{}, keepAll, pdata} {
		for name, other := range otherSamples {
			scope := ld(2, ld(1, ld(1, "lib")), ld(2, other), ld(2, other))
			message := ld(1, resource, scope, scope)
			mixed := ld(1, resource, ld(2, ld(2, other), span, ld(2, other)), scope, ld(2, span)) + message
			for at, content := range map[string]string{"bare": message, "with a dictionary": message + ld(2, ld(5, "")), "in a chain": string(prefixed([]byte(message), []byte(message)))} {
				o.Stdin = strings.NewReader(content)
				if d, err := Read(t.Context(), []string{"-"}, o); err == nil || err.Error() != "-: logs, metrics or profiles, and no spans" {
					t.Errorf("%s, %s: %+v, error %v, want that there are no spans", name, at, d, err)
				}
			}
			o.Stdin = strings.NewReader(mixed)
			d := mustRead(t, o, "-")
			if len(d.Notes) != 2 || d.Spans != 2 || note(d, Duplicate).Count != 1 || note(d, OtherSignal).Count != 2 {
				t.Errorf("%s among spans: %d spans, notes %+v, want 2 (one of them twice), and 2 of another signal", name, d.Spans, d.Notes)
			}
		}
	}
}

// What is a span, if a poor one, is none of them.
func TestProtoPoorSpans(t *testing.T) {
	for name, span := range map[string]string{
		"nothing":                        "",
		"ids only":                       ld(1, traceBytes) + ld(2, spanBytes),
		"a name only":                    ld(5, "GET /"),
		"an empty name":                  ld(1, traceBytes) + ld(5, ""),
		"malformed ids, no times":        ld(1, "\x01") + ld(2, "\x02") + ld(5, "GET /"),
		"malformed id and an attribute":  ld(1, "abc") + ld(5, "n") + ld(9, ld(1, "k"), ld(2, ld(1, "v"))),
		"an attribute without a value":   ld(1, "abc") + ld(9, ld(1, "k")),
		"malformed id and an event":      ld(1, "abc") + ld(5, "n") + ld(11, f64(1, 5), ld(2, "e")),
		"a name that begins a message":   ld(1, "abc") + ld(5, "\n\x10GET"),
		"a kind, and malformed trace id": ld(1, "abc") + ld(2, spanBytes) + ld(5, "n") + vi(6, 2),
		"malformed trace id, and times":  ld(1, "abc") + ld(2, spanBytes) + ld(5, "n") + f64(7, 1) + f64(8, 2),
	} {
		s, why := scanProto(keepAll, ld(1, ld(1), ld(2, ld(2, span))), false)
		if why != "" || len(s.records) != 1 || s.found[0].other != 0 {
			t.Errorf("%s: %d spans, %q, notes %+v, want a span", name, len(s.records), why, s.notes.List())
		}
	}
}

// However many malformed ids a message has, it is asked once what it is.
func TestProtoManyBadIDs(t *testing.T) {
	const n = 300_000
	s, why := scanProto(keepAll, ld(1, ld(1), ld(2, ld(2, strings.Repeat(ld(1, "x"), n)))), false)
	if notes := s.notes.List(); why != "" || len(s.records) != 1 || len(notes) != 1 || notes[0].Code != BadID || notes[0].Count != n {
		t.Errorf("%d spans, %q, notes %+v, want one span and %d bad ids", len(s.records), why, notes, n)
	}
}
