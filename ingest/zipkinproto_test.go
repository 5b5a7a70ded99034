package ingest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A span as zipkin.proto3 has it is not taken for one of Jaeger, which is told by
// the same first fields, nor the other way round.
func TestZipkinProto(t *testing.T) {
	const id = "\x0a\x10\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36"
	const parent, own = "\x12\x08\x00\xf0\x67\xaa\x0b\xa9\x02\xb7", "\x1a\x08\x53\x99\x5c\x3f\x42\xcd\x8a\xd8"
	const rest = "\x20\x02\x2a\x03get\x31\x88\x13\x00\x00\x00\x00\x00\x00\x38\x05" // kind, name, timestamp, duration
	for name, span := range map[string]string{"a span": id + parent + own + rest, "a root": id + own + rest} {
		for form, content := range map[string]string{"alone": span, "in a list": "\x0a" + string(rune(len(span))) + span} {
			o := keepAll
			o.Stdin = strings.NewReader(content)
			if _, err := Read(t.Context(), []string{"-"}, o); err == nil || !strings.HasPrefix(err.Error(), "-: Zipkin's protobuf: fetch JSON") {
				t.Errorf("%s %s: error %v, want Zipkin's protobuf", name, form, err)
			}
		}
	}
	spans, err := os.ReadFile(filepath.Join(testdata, "forms", "jaeger-spans.pb"))
	if err != nil || isZipkinProto(spans) {
		t.Errorf("Jaeger's spans are taken for Zipkin's (%v)", err)
	}
}
