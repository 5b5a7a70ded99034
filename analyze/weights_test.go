package analyze

import (
	"strings"
	"testing"

	"overrun/ingest"
)

func TestWeights(t *testing.T) {
	random := ingest.TraceID{15: 1}
	for i := 9; i < 16; i++ {
		random[i] = 0xff
	}
	low := ingest.TraceID{15: 1}
	tests := []struct {
		span  *ingest.Span
		trace ingest.TraceID
		want  float64
		known bool
		id    string
	}{
		{client("x", "state:ot=th:0"), low, 1, true, "W1"},
		{client("x", "state:ot=th:c"), random, 4, true, "W1"},
		{client("x", "state:a=b,ot=rv:ffffffffffffff;th:c"), low, 4, true, "W1"},
		{client("x", "state:ot=th:ffffffffffffff"), random, 1 << 56, true, "W1"},
		{client("x", "state:ot=th:c"), ingest.TraceID{}, 4, true, "W1"},
		{client("x", "state:ot=th:c"), low, 1, false, "W2"},
		{client("x", "state:ot=th:c;rv:00000000000000"), random, 1, false, "W2"},
		{client("x", "state:ot=th:"), random, 1, false, "W1"},
		{client("x", "state:ot=th:xyz"), random, 1, false, "W1"},
		{client("x", "state:ot=th:0123456789abcde"), random, 1, false, "W1"},
		{client("x", "state:ot=th:c;"), random, 1, false, "W3"},
		{client("x", "state:ot=th:c"+strings.Repeat(",a=b", 300)), random, 1, false, "W3"},
		{client("x", "state:"+strings.Repeat("a=b,", 31)+"ot=th:c"), random, 1, false, "W3"},
		{client("x", "state:"+strings.Repeat("a=b,", 30)+"ot=th:c"), random, 4, true, "W1"},
		{client("x", "state:ot=p:3;r:5"), random, 8, true, "W4"},
		{client("x", "state:ot=p:63;r:5"), random, 0, true, "W4"},
		{client("x", "state:ot=p:6;r:5"), random, 1, false, "W4"},
		{client("x", "state:ot=p:64"), random, 1, false, "W4"},
		{client("x", "state:ot=p:0a;r:3e"), random, 1024, true, "W4"},
		{client("x", "state:es=s:0.25"), random, 4, true, "W5"},
		{client("x", "state:es=s:0"), random, 0, true, "W5"},
		{client("x", "SampleRate=20"), random, 20, true, "W6"},
		{client("x", "sampler.type=probabilistic", "sampler.param=0.1"), random, 10, true, "W7"},
		{client("x", "jaeger.sampler.type=probabilistic", "jaeger.sampler.param=0.5"), random, 2, true, "W7"},
		{client("x", "sampler.type=const", "sampler.param=1"), random, 1, false, "W11"},
		{client("x", "_MS.sampleRate=25"), random, 4, true, "W8"},
		{client("x", "sampling.priority=1"), random, 1, true, "W10"},
		{client("x", "state:ot=th:8", "SampleRate=20"), random, 2, true, "W1"},
		{client("x", "state:ot=th:c;", "SampleRate=20"), random, 20, true, "W6"},
		{client("x"), random, 1, false, "W11"},
		{client("x", "state:ot=rv:ffffffffffffff"), random, 1, false, "W11"},
	}
	for _, test := range tests {
		f := factsOf(test.span, noPart)
		f.trace = &ingest.Trace{ID: test.trace, Epoch: testEpoch}
		if got, known, id := weightOf(f); got != test.want || known != test.known || id != test.id {
			t.Errorf("weightOf(%q %v) = %v, %v by %s, want %v, %v by %s", test.span.TraceState, test.span.Attrs, got, known, id, test.want, test.known, test.id)
		}
	}
	for text, want := range map[string]float64{"0.25": 4, "1": 1} { // W9
		if got, known := ratioWeight(text); got != want || !known {
			t.Errorf("ratioWeight(%q) = %v, %v, want %v", text, got, known, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "x", "NaN", "1e-320"} {
		if got, known := ratioWeight(text); known || got != 1 {
			t.Errorf("ratioWeight(%q) = %v, %v, want 1, unknown", text, got, known)
		}
	}
}

// The times of a Time are those of categories, in their order, and the total.
func TestTimeAll(t *testing.T) {
	var of Time
	list := of.all()
	for i, c := range categories {
		if list[i] != of.of(c) {
			t.Errorf("time %d is not that of %s", i, c)
		}
	}
	if list[len(categories)] != &of.Total {
		t.Error("the last is not the total")
	}
}
