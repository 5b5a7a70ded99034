package ingest

import "bytes"

// tempoTrace reads the answer of Tempo's API, version 2:
// {"trace":{…},"status":"PARTIAL","message":"…"}.
func (t *jsonText) tempoTrace(o *object) {
	t.inside(o)
	why := t.why
	t.why = ""
	partial, text := false, ""
	t.readAt(o.member("status"), func() {
		word := t.word()
		partial = bytes.EqualFold(word, []byte("PARTIAL")) || string(word) == "1"
	})
	t.readAt(o.member("message"), func() { text = string(valid(t.text())) })
	if partial {
		t.notes.Merge(Note{Code: Partial, Count: 1, Text: text, Example: Place{File: t.file, Position: t.offsetOf(o.start)}})
	}
	t.why = why
}
