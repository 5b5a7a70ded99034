package ingest

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Of a text that is longer than 4 KiB the beginning is used, and what tells it from
// others; all decoders agree, and a note says so.
func TestLongTexts(t *testing.T) {
	const half = 2 << 10
	texts := []string{
		strings.Repeat("ab", half),                // as long as a text may be
		strings.Repeat("ab", half) + "x",          // one byte longer
		strings.Repeat("ab", half) + "y",          // differs beyond the end
		"a" + strings.Repeat("é", half) + "é",     // cut within a letter
		strings.Repeat("ab", half) + "\\\"" + "x", // with escapes in JSON
	}
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i, text := range texts {
		s := spans.AppendEmpty()
		s.SetTraceID([16]byte{1})
		s.SetSpanID([8]byte{byte(i + 1)})
		s.SetStartTimestamp(1792022400000000000 + 1)
		s.SetEndTimestamp(1792022400000000000 + 2)
		s.SetName(text)
		s.Attributes().PutStr("k", text)
	}
	inProto, inJSON := marshalled(t, td)
	for name, content := range map[string][]byte{"a.json": inJSON, "a.pb": inProto} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, decoder := range []Decoder{OwnDecoder, PdataDecoder} {
			d, err := Read(t.Context(), []string{path}, Options{Keep: []string{"k"}, Decoder: decoder})
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Notes) == 0 || d.Notes[len(d.Notes)-1].Code != TextCut || d.Notes[len(d.Notes)-1].Count != 4 {
				t.Errorf("%s, %s: notes %v, want text-cut of 4 spans", name, decoder, d.Notes)
			}
			for i := range d.Traces[0].Spans {
				s := &d.Traces[0].Spans[i]
				text := texts[s.ID[0]-1]
				want := text
				if len(text) > 4096 {
					sum := sha256.Sum256([]byte(text))
					want = strings.ToValidUTF8(text[:4096], "\uFFFD") + "… (" + strconv.Itoa(len(text)) + " bytes, sha256 " + hex.EncodeToString(sum[:])[:8]
				}
				for _, got := range []string{s.Name, s.Attr("k")} {
					if !strings.HasPrefix(got, want) || len(got) > 4200 {
						t.Errorf("%s, %s: text of %d bytes is %d bytes, ends in %q, want %q", name, decoder, len(text), len(got), got[max(0, len(got)-60):], want[max(0, len(want)-50):])
					}
				}
			}
		}
	}
}
