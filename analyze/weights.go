package analyze

import (
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

// A weightRule is one way to know for how many spans a sampled one stands.
type weightRule struct {
	id     string
	says   string   // in words
	source string   // that it rests on
	keys   []string // canonical, that from reads
	// from gives the weight. known is false where the span has the sign and it
	// cannot be read or believed; found is false where it has not.
	from func(f *facts) (weight float64, known, found bool)
}

// forcedRule is the rule of a span that somebody chose to sample.
const forcedRule = "W10"

// unsampledRule is the rule of a span of which nothing says how it was sampled.
const unsampledRule = "W11"

// weightRules are tried in this order (10), after keys of the user (W9).
var weightRules = []weightRule{
	{"W1", "tracestate ot=th: 2^56 / (2^56 - T)", "OpenTelemetry specification tracestate-probability-sampling.md", nil, thresholdWeight},
	{"W4", "tracestate ot=p: 2^p", "OTEP 0168, 0170", nil, powerWeight},
	{"W5", "tracestate es=s: 1/rate", "elastic/apm specs", nil, elasticWeight},
	{"W6", "SampleRate (Honeycomb): itself", "open-telemetry/opentelemetry-collector-contrib#1162", []string{"SampleRate"}, func(f *facts) (float64, bool, bool) {
		n, found := number(f, "SampleRate")
		return n, n >= 1, found
	}},
	{"W7", "sampler.param of a probabilistic sampler.type (Jaeger): 1/param", "opentelemetry-go-contrib samplers/jaegerremote", []string{"sampler.type", "sampler.param"}, func(f *facts) (float64, bool, bool) {
		p, found := number(f, "sampler.param")
		return 1 / p, p > 0 && p <= 1, found && f.get("sampler.type") == "probabilistic"
	}},
	{"W8", "_MS.sampleRate (Azure Monitor): 100/percent", "found in public code", []string{"_MS.sampleRate"}, func(f *facts) (float64, bool, bool) {
		p, found := number(f, "_MS.sampleRate")
		return 100 / p, p > 0 && p <= 100, found
	}},
	{forcedRule, "sampling.priority: forced, 1", "collector-contrib probabilisticsamplerprocessor", []string{"sampling.priority"}, func(f *facts) (float64, bool, bool) {
		return 1, true, f.get("sampling.priority") != ""
	}},
}

// weightOf says for how many spans a span stands, and by which rule. Unknown
// weights are 1; their rule says why: W11 nothing was recorded, W2 the threshold
// contradicts the trace id, W3 the tracestate is malformed, others a value
// that cannot be.
func weightOf(f *facts) (weight float64, known bool, id string) {
	id = unsampledRule
	own := f.tables.signals.Sampling
	for i := range own {
		weight, known, found := own[i].weight(f)
		if known {
			return weight, true, signalID(own[i].Line)
		}
		if found {
			id = signalID(own[i].Line)
			break
		}
	}
	for i := range weightRules {
		r := &weightRules[i]
		weight, known, found := r.from(f)
		switch {
		case found && known && !math.IsNaN(weight) && !math.IsInf(weight, 0):
			return weight, true, r.id
		case found && id == unsampledRule:
			id = r.id
			if r.id == "W1" && contradicted(f) {
				id = "W2"
			}
		}
	}
	if id == unsampledRule && f.span.TraceState != "" {
		if _, err := stateMember(f.span.TraceState, "ot"); err != nil {
			id = "W3"
		}
	}
	return 1, false, id
}

// A weighing is for how many spans one stands.
type weighing struct {
	weight   weight
	forced   bool // somebody chose to sample it
	recorded bool // something was recorded about it
	done     bool
}

// weigh is the weighing of a span, which its look remembers where there is no tracestate.
func (t *traced) weigh(i int32) weighing {
	l := t.looks[i]
	if l.weighing.done && t.Spans[i].TraceState == "" {
		return l.weighing
	}
	f := t.fact(i)
	spans, known, rule := weightOf(&f)
	w := weighing{weigh(spans, known), rule == forcedRule, rule != unsampledRule, true}
	if t.Spans[i].TraceState == "" {
		l.weighing = w
	}
	return w
}

// ratioWeight is the weight of a span whose sampling ratio is in the text (W9).
func ratioWeight(text string) (weight float64, known bool) {
	p, err := strconv.ParseFloat(text, 64)
	if err != nil || !(p > 0) || math.IsInf(1/p, 0) {
		return 1, false
	}
	return 1 / p, true
}

// number is an attribute as a finite number.
func number(f *facts, key string) (float64, bool) {
	text := f.get(key)
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, true
	}
	return n, true
}

// thresholds have 56 bits.
const thresholdBits = 56

// otState reads the sub-key of the tracestate member ot.
func otState(f *facts, key string) (value string, found bool) {
	if f.span.TraceState == "" {
		return "", false
	}
	member, err := stateMember(f.span.TraceState, "ot")
	if err != nil {
		return "", false
	}
	return stateField(member, key)
}

// thresholdWeight reads ot=th. The threshold has to agree with the randomness of the trace.
func thresholdWeight(f *facts) (weight float64, known, found bool) {
	text, found := otState(f, "th")
	if !found {
		return 0, false, false
	}
	t, ok := threshold(text)
	if !ok || contradicted(f) {
		return 0, false, true
	}
	return math.Ldexp(1, thresholdBits) / float64(uint64(1)<<thresholdBits-t), true, true
}

// threshold reads a threshold: hex digits, of which zeros at the end are left out.
func threshold(text string) (uint64, bool) {
	const digits = thresholdBits / 4
	if text == "" || len(text) > digits || strings.ToLower(text) != text {
		return 0, false
	}
	t, err := strconv.ParseUint(text+strings.Repeat("0", digits-len(text)), 16, 64)
	return t, err == nil
}

// contradicted reports whether the randomness of the trace is below the
// threshold: a sampler would have dropped it (W2). It is rv, else the low 56
// bits of the trace id.
func contradicted(f *facts) bool {
	text, _ := otState(f, "th")
	t, ok := threshold(text)
	if !ok {
		return false
	}
	id := f.trace.ID
	var r uint64
	if rv, found := otState(f, "rv"); found && len(rv) == thresholdBits/4 {
		n, err := strconv.ParseUint(rv, 16, 64)
		if err != nil {
			return false
		}
		r = n
	} else {
		if id == [16]byte{} {
			return false
		}
		for _, b := range id[9:] {
			r = r<<8 | uint64(b)
		}
	}
	return r < t
}

// powerWeight reads the older ot=p, with r.
func powerWeight(f *facts) (weight float64, known, found bool) {
	text, found := otState(f, "p")
	if !found {
		return 0, false, false
	}
	p, ok := smallNumber(text)
	if !ok || p > 63 {
		return 0, false, true
	}
	if text, found := otState(f, "r"); found {
		if r, ok := smallNumber(text); !ok || p > r && p != 63 {
			return 0, false, true
		}
	}
	if p == 63 {
		return 0, true, true
	}
	return math.Ldexp(1, p), true, true
}

// smallNumber reads a decimal number; where it has letters, a hexadecimal one.
func smallNumber(text string) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 8)
	if err == nil {
		return int(n), true
	}
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 1 {
		return 0, false
	}
	return int(b[0]), true
}

// elasticWeight reads es=s. A rate of 0 means that the span was not sampled.
func elasticWeight(f *facts) (weight float64, known, found bool) {
	if f.span.TraceState == "" {
		return 0, false, false
	}
	member, err := stateMember(f.span.TraceState, "es")
	if err != nil {
		return 0, false, false
	}
	text, found := stateField(member, "s")
	if !found {
		return 0, false, false
	}
	rate, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || !(rate >= 0) || rate > 1:
		return 0, false, true
	case rate == 0:
		return 0, true, true
	}
	return 1 / rate, true, true
}

// A stateError says that a tracestate breaks a rule of its grammar.
type stateError string

func (e stateError) Error() string { return string(e) }

// Limits of a tracestate and of its member ot (W3).
const (
	longestState  = 1024
	longestMember = 256
	mostMembers   = 31
)

// stateMember is the value of one member of a W3C tracestate; "" where it has
// none. A member whose fields are malformed is an error, and so is a
// tracestate that is too long.
func stateMember(state, name string) (string, error) {
	if len(state) > longestState {
		return "", stateError("tracestate too long")
	}
	members := 0
	for member := range strings.SplitSeq(state, ",") {
		member = strings.Trim(member, " \t")
		if member == "" {
			continue
		}
		if members++; members > mostMembers {
			return "", stateError("tracestate with too many members")
		}
		key, value, ok := strings.Cut(member, "=")
		if !ok {
			return "", stateError("tracestate member without =")
		}
		if key != name {
			continue
		}
		if len(value) > longestMember {
			return "", stateError("tracestate member too long")
		}
		for field := range strings.SplitSeq(value, ";") {
			if !fieldOK(field) {
				return "", stateError("tracestate member with a bad field")
			}
		}
		return value, nil
	}
	return "", nil
}

// fieldOK checks key:value, with key [a-z][a-z0-9]* and value [A-Za-z0-9._-]*.
func fieldOK(field string) bool {
	key, value, ok := strings.Cut(field, ":")
	if !ok || key == "" || key[0] < 'a' || key[0] > 'z' {
		return false
	}
	for i := range len(key) {
		if c := key[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9') {
			return false
		}
	}
	for i := range len(value) {
		if c := value[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// stateField is the value of a field of a tracestate member.
func stateField(member, key string) (string, bool) {
	for field := range strings.SplitSeq(member, ";") {
		if name, value, ok := strings.Cut(field, ":"); ok && name == key {
			return value, true
		}
	}
	return "", false
}
