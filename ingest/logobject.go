package ingest

import (
	"bytes"
	"strings"
)

// Shippers and structured loggers put the line that an exporter wrote into a
// member of an object of their own:
//
//	{"date":1796021570.1,"log":"{\"resourceSpans\":…}"}           Fluent Bit
//	{"level":"INFO","message":"{\"resource\":…,\"scopeSpans\":…}"}  a logger
//	{"MESSAGE":"{\"resourceSpans\":…}","_PID":"1"}                  journald
//	{"topic":"otlp_spans","payload":"{\"resourceSpans\":…}"}        kcat -J
//	{"topic":"otlp_spans","value":"{\"resourceSpans\":…}","offset":0} rpk
//	{"textPayload":"{\"resourceSpans\":…}","insertId":"x"}          Cloud Logging
//
// Positions are the offset of the text in the content plus the offset in what it
// stands for.

// logObject reads the text in the member that the form is told by. One that is
// no JSON is a line of a log, and noted as such.
func (t *jsonText) logObject(o *object) {
	key, _, _ := strings.Cut(o.form.keys, " ")
	t.pos = o.member(key)
	at := t.offset()
	text := bytes.Clone(bytes.TrimSpace(t.text()))
	if t.why != "" {
		return
	}
	if start := behindText(text); start > 0 {
		text = text[start:]
	}
	if t.embedded || len(text) < 2 || text[0] != '{' {
		t.console(at, text)
		t.odd(t.offsetOf(o.start), o.form.name)
		t.unreadable(t.offsetOf(o.start), int64(o.end-o.start), o.form.name)
		return
	}
	t.embedded = true
	t.embed(text, at, o.end, func() { t.run(endOfInput) })
	t.embedded = false
}

// embed is inText for values of their own, which stand for what ends at the index.
func (t *jsonText) embed(text []byte, at int64, end int, read func()) (why string) {
	lead, saved := t.lead, t.saved
	t.lead, t.saved = 0, 0
	why = t.inText(text, at, read)
	t.lead, t.saved = lead, max(saved, end)
	return why
}

// inText reads a text that a value stands for, whose beginning is at the offset. It
// returns what is wrong in it; what it stands in is as before.
func (t *jsonText) inText(text []byte, at int64, read func()) (why string) {
	scanner, base := t.jsonScanner, t.base
	t.jsonScanner, t.base = jsonScanner{buf: text}, at
	read()
	why = t.why
	t.jsonScanner, t.base = scanner, base
	return why
}
