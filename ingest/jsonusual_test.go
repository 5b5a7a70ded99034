package ingest

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// compareIndented checks that valid JSON gives the same without white space,
// which is read by jsonusual.go as far as it has the usual shape, as with white
// space at every place, which is not.
func compareIndented(t *testing.T, content []byte) {
	t.Helper()
	var packed, indented bytes.Buffer
	if json.Compact(&packed, content) != nil || json.Indent(&indented, content, " ", " ") != nil {
		return
	}
	want, got := scanJSON(keepAll, indented.String()), scanJSON(keepAll, packed.String())
	if a, b := want.notes.List(), got.notes.List(); len(a) != len(b) {
		t.Errorf("notes %v, indented %v", b, a)
	}
	if d := diff(grouped(t, want), grouped(t, got)); d != "" {
		t.Errorf("packed differs from indented %s", d)
	}
}

func TestUsualIsGeneral(t *testing.T) {
	text, err := new(ptrace.JSONMarshaler).MarshalTraces(everything())
	if err != nil {
		t.Fatal(err)
	}
	compareIndented(t, text)
	for _, td := range dump(500) {
		if text, err = new(ptrace.JSONMarshaler).MarshalTraces(td); err != nil {
			t.Fatal(err)
		}
		compareIndented(t, text)
	}
	// Members that are nearly usual.
	pad := `"pad":"` + strings.Repeat("x", 100) + `"`
	for _, members := range []string{
		`"traceId":"0000000000000000000000000000000g"`, `"traceId":"000000000000000000000000000000AB"`, `"traceId":"ab"`, `"traceId":null`,
		`"spanId":"000000000000000o"`, `"spanId":"é00000000000000"`, `"parentSpanId":""`, `"parentSpanId":"00000000000000aB"`, `"parentSpanId":null`,
		`"startTimeUnixNano":"9999999999999999999"`, `"startTimeUnixNano":"178000000000000000:"`, `"startTimeUnixNano":1780000000000000001`,
		`"endTimeUnixNano":"1780000000000000001"`, `"endTimeUnixNano":"178000000000000000"`, `"kind":5`, `"kind":6`, `"kind":12`, `"kind":2.0`,
		`"status":{}`, `"status":{"code":2}`, `"status":{"code":3}`, `"status":{"code":22}`, `"status":{"code":2,"message":"m"}`, `"flags":257`, `"flags":-1`, `"flags":"2"`,
		`"name":"a\"b"`, `"name":null`, `"names":"x"`, `"name":"x","name":"y"`, `"kinds":7`, `"traceStates":"x"`, `"traceState":"a=b"`, `"events":[]`, `"links":[]`, `"links":[{}]`,
		`"attributes":[]`, `"attributes":null`, `"attributes":{"a":1}`,
		`"attributes":[{"key":"a","value":{"stringValue":"x"}},{"key":"a","value":{"stringValue":"y"}}]`,
		`"attributes":[{"key":"a","value":{"boolValuX":true}},{"key":"b","value":{"intValue":"007"}},{"key":"c","value":{"intValue":5}},{"key":"d","value":{"intValue":"5"}}]`,
		`"attributes":[{"key":"a","value":{"doubleValue":1e3}},{"key":"b","value":{"doubleValue":"NaN"}},{"key":"c","value":{"boolValue":false}},{"key":"d","value":{"stringValue":"1e3"}}]`,
		`"attributes":[{"key":"a","value":{"stringValue":"x","intValue":"1"}},{"value":{"stringValue":"x"},"key":"b"},{"key":"","value":{"stringValue":"z"}},{"key":"n","value":{"intValue":null}}]`,
		`"attributes":[{"key":"\u0061","value":{"stringValue":"\u0062"}},{"key":"a","value":{"stringValue":5}},{"key":"` + strings.Repeat("k", 200) + `","value":{"stringValue":"v"}}]`,
		`"attributes":[{"key":"a","value":{"intValue":"9223372036854775807"}},{"key":"b","value":{"intValue":"99999999999999999999"}},{"key":"c","value":{"intValue":""}}]`,
	} {
		span := `{` + members + `,` + pad + `}`
		compareIndented(t, []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[`+span+`,`+span+`,{`+pad+`,`+members+`}]}]}]}`))
	}
}

func grouped(t *testing.T, s *sink) []*Trace {
	t.Helper()
	s.flush()
	traces, err := newStore([]*sink{s}, s.resources, s.packer.spools[0].of, Options{Workers: 1}).All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return traces
}

// Digits are read eight at a time; any byte at any place must be told.
func TestDigits(t *testing.T) {
	for place := range 16 {
		for c := range 256 {
			text := []byte("0123456789abcdef")
			text[place] = byte(c)
			var want, got SpanID
			_, err := hex.Decode(want[:], text)
			if ok := unhex8(&got, text); ok != (err == nil) || ok && got != want {
				t.Errorf("unhex8(%q) = %v, %v, want %v, %v", text, got, ok, want, err)
			}
		}
	}
	for place := range 19 {
		for c := range 256 {
			text := []byte("9876543210123456789")
			text[place] = byte(c)
			want, err := strconv.ParseUint(string(text), 10, 64)
			if got, ok := digits19(text); ok != (err == nil) || ok && got != want {
				t.Errorf("digits19(%q) = %d, %v, want %d, %v", text, got, ok, want, err)
			}
		}
	}
}

// However many keys there are, those are kept and no others.
func TestManyKeys(t *testing.T) {
	var keep []string
	for i := range 3000 {
		keep = append(keep, fmt.Sprintf("k%d.name", 2*i), fmt.Sprint(2*i))
	}
	k, cache := newKeeper(append(keep, "p.*")), newTexts()
	for i := range 6000 {
		for _, key := range []string{fmt.Sprintf("k%d.name", i), fmt.Sprint(i)} {
			if name, kept := k.match([]byte(key), cache); kept != (i%2 == 0) || kept && name != key {
				t.Errorf("match(%q) = %q, %v", key, name, kept)
			}
		}
	}
	for key, want := range map[string]bool{"p.": true, "p.x": true, "p": false, "": false} {
		if name, kept := k.match([]byte(key), cache); kept != want || kept && name != key {
			t.Errorf("match(%q) = %q, %v, want %v", key, name, kept, want)
		}
	}
}

// Texts come back as they went in, whatever falls together in the caches.
func TestCaches(t *testing.T) {
	cache := newTexts()
	s := make(seen, 3)
	var b [8]byte
	for i := range 50_000 {
		binary.LittleEndian.PutUint64(b[:], uint64(i)*0x9e3779b97f4a7c15)
		text := []byte(fmt.Sprintf("%0*d", i%300+1, i))
		if got := cache.get(text); got != string(text) {
			t.Fatalf("get(%q) = %q", text, got)
		}
		raw := b[:i%8+1]
		v := s.at(i%3, hashBytes(raw))
		v.set(raw, string(text), 0)
		if !v.is(raw) || v.text != string(text) || v.is(raw[:i%8]) || v.is(append(raw[:i%8:i%8], raw[i%8]+1)) {
			t.Fatalf("seen %x = %q, %v, want %q", raw, v.text, v.is(raw), text)
		}
	}
}
