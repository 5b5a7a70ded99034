package ingest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// Whatever attributes follow each other, in whichever encoding, a span has those that were
// written and are asked for. Both forms come to one sink in turn, as a worker's do.
func TestShapes(t *testing.T) {
	long := func(n int) string { return strings.Repeat("k", n) }
	keys := []string{"http.route", "http.routes", "rpc.method", "header.a", "header.b", "not.asked", "k", "",
		long(longHead - 4), long(longHead - 3), long(longHead - 2), long(127), long(128)}
	options := Options{Keep: []string{"http.route", "rpc.method", "header.*", "k", long(longHead - 4), long(longHead - 3), long(longHead - 2), long(127), long(128)}}
	asked := func(key string) bool { return slices.Contains(options.Keep, key) || strings.HasPrefix(key, "header.") }
	texts := []string{"", "a", "b", "/cart", long(124), long(125), long(126), long(127), long(128), long(longText - 1), long(longText), long(1 << 14)}
	str := func(text string) string { return ld(2, ld(1, text)) }
	values := map[string]func(key string, n int) (kv, text string){
		"forward":       func(key string, n int) (string, string) { return ld(1, key) + str(texts[n]), texts[n] },
		"backward":      func(key string, n int) (string, string) { return str(texts[n]) + ld(1, key), texts[n] },
		"number":        func(key string, n int) (string, string) { return ld(1, key) + ld(2, vi(3, uint64(n))), fmt.Sprint(n) },
		"empty":         func(key string, n int) (string, string) { return ld(1, key) + ld(2), "" },
		"none":          func(key string, n int) (string, string) { return ld(1, key), "" },
		"unknown field": func(key string, n int) (string, string) { return ld(1, key) + str(texts[n]) + ld(9, key), texts[n] },
		"two values":    func(key string, n int) (string, string) { return ld(1, key) + str("x") + str(texts[n]), texts[n] },
		"key again":     func(key string, n int) (string, string) { return ld(1, "other") + str(texts[n]) + ld(1, key), texts[n] },
		"long length":   func(key string, n int) (string, string) { return ld(1, key) + "\x12\x82\x00\x0a\x00", "" },
	}
	ways := []string{"JSON"}
	for way := range values {
		ways = append(ways, way)
	}
	slices.Sort(ways)
	rapid.Check(t, func(t *rapid.T) {
		s := newSink(options, newResources(), NewSpooler(0, ""), 1)
		for range rapid.IntRange(1, 6).Draw(t, "spans") {
			asJSON := rapid.Bool().Draw(t, "JSON")
			var want []Attr
			proto, json := "", ""
			for range rapid.IntRange(0, 6).Draw(t, "attributes") {
				key := rapid.SampledFrom(keys).Draw(t, "key")
				n := rapid.IntRange(0, len(texts)-1).Draw(t, "value")
				kv, text := values["forward"](key, n)
				if way := rapid.SampledFrom(ways).Draw(t, "way"); !asJSON && way != "JSON" {
					kv, text = values[way](key, n)
				}
				proto += ld(9, kv)
				json += fmt.Sprintf(`,{"key":%q,"value":{"stringValue":%q}}`, key, text)
				if !asked(key) {
					continue
				}
				if len(text) > maxText {
					text = shortened([]byte(text))
				}
				if at := slices.IndexFunc(want, func(a Attr) bool { return a.Key == key }); at >= 0 {
					want[at].Value = text
				} else {
					want = append(want, Attr{key, text})
				}
			}
			if asJSON {
				text := fmt.Sprintf(`{"resourceSpans":[{"resource":{},"scopeSpans":[{"spans":[{"traceId":"%x","spanId":"%x","attributes":[%s]}]}]}]}`, traceBytes, spanBytes, strings.TrimPrefix(json, ","))
				(&jsonText{sink: s}).decode([]byte(text), 0, endOfInput)
			} else {
				(&protoBytes{sink: s}).decode([]byte(ld(1, ld(1), ld(2, ld(2, ld(1, traceBytes), ld(2, spanBytes), proto)))), 0, false)
			}
			if len(s.records) != 1 {
				t.Fatalf("%d spans, want 1; notes %v", len(s.records), s.notes.List())
			}
			slices.SortFunc(want, func(a, b Attr) int { return strings.Compare(a.Key, b.Key) })
			if diff := cmp.Diff(want, recordOf(s, 0).span.Attrs, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("attributes (-want +got):\n%s", diff)
			}
			s.clear()
		}
	})
}
