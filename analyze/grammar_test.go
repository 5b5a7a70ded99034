package analyze

import (
	"math"
	"strings"
	"testing"

	"overrun/ingest"
)

// A reader never gives what its sanity rule forbids.
func FuzzGrammars(f *testing.F) {
	for _, text := range []string{"150m", "10s", "0n", "99999999H", "250", "-3", "1.5", "1795995871799", "1795995871", "PT2.5S", "P1DT2H", "PT", "1h3m", "5 s", "2d",
		"2026-11-30T03:04:05.123Z", "Mon, 30 Nov 2026 03:04:05 GMT", "2026-11-30 03:04:05:250 +0000", "1795995871000000000 1795995871300000000",
		"attempt=1; max=3; ttl=20261130T030405Z", "deadline_enabled:timestamp:1:deadline:1795995871799", `["250"]`, "9223372036854775807", "AAAAAAAAAAAAAAAAAAAAAA==", "1e9", "NaN", ""} {
		f.Add(text, int64(testEpoch))
	}
	forms := append([]form{anyMsForm, finagleForm, finagleTextForm, exceededForm, ttlForm}, userForms...)
	f.Fuzz(func(t *testing.T, text string, at int64) {
		for _, form := range forms {
			r, ok := form.read(text, instant(at))
			if ok && (r.left > mostLeft || r.left < -mostLeft || r.absolute && r.left < -mostPast || r.grain <= 0) {
				t.Errorf("%s(%q, %d) = %+v, which nobody sets", form.name, text, at, r)
			}
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, text := range []string{"/a/42", "550e8400-e29b-41d4-a716-446655440000", "{id}-1", "{", "a?b", "order1234-5678", "é1234", "1-2-3", "{id}{id}", "1--2", "?1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := template(text)
		if twice := template(once); twice != once {
			t.Errorf("template(%q) = %q, and of that %q", text, once, twice)
		}
		if len(once) > len(text)+len(placeholder)*(len(text)+1) {
			t.Errorf("template(%q) = %q", text, once)
		}
	})
}

func FuzzWeight(f *testing.F) {
	for _, text := range []string{"ot=th:c", "ot=th:0;rv:ffffffffffffff", "ot=p:3;r:5", "es=s:0.25", "a=b,ot=th:ffffffffffffff", "ot=th:c;", "ot=", "=", ",,"} {
		f.Add(text, "0.5")
	}
	f.Fuzz(func(t *testing.T, state, ratio string) {
		for _, key := range []string{"SampleRate", "_MS.sampleRate", "sampler.param"} {
			s := &ingest.Span{TraceState: state, Attrs: []ingest.Attr{{Key: key, Value: ratio}, {Key: "sampler.type", Value: "probabilistic"}}}
			w, known, id := weightOf(factsOf(s, noPart))
			if !(w >= 0) || math.IsInf(w, 0) || !known && w != 1 || id == "" {
				t.Errorf("weightOf(%q, %q) = %v, %v by %q", state, ratio, w, known, id)
			}
		}
	})
}

func FuzzCounts(f *testing.F) {
	f.Add("attempt=1; max=3", "ttl")
	f.Add("a=b=c;;", "a")
	f.Fuzz(func(t *testing.T, text, name string) {
		if value := fieldOf(text, name); value != "" && !strings.Contains(text, value) {
			t.Errorf("fieldOf(%q, %q) = %q", text, name, value)
		}
		tally, id := tallyOf(factsOf(client("x", "http.request.header.amz-sdk-request="+text+" "), noPart))
		if tally.index < 0 || tally.index > mostAttempts || id == "" && tally != (struct {
			index   int
			hidden  int
			backoff backoffPlace
		}{}) {
			t.Errorf("tallyOf(%q) = %+v by %q", text, tally, id)
		}
	})
}
