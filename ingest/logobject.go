package ingest

import (
	"bytes"
	"encoding/base64"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
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
//	{"@timestamp":"2026-11-29 23:27:26","@message":"{\"traceId\":…}"} CloudWatch Logs Insights
//	[{"field":"@message","value":"{\"traceId\":…}"}]               its API
//	{"Data":"eyJyZXNvdXJjZVNwYW5zIjpbey…","PartitionKey":"1"}       Kinesis
//	{"__otel_otlp_stdout":"0.1.0","payload":"H4sI…","base64":true}  otlp-stdout-span-exporter
//
// The text may be base64 of JSON or of protobuf, packed with gzip or not.
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
	if t.inBase64(text, at) {
		t.saved = max(t.saved, o.end)
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
	t.inLog(text, at)
	t.saved = max(t.saved, o.end)
}

// insightsField reads a field of a row that the API of CloudWatch Logs Insights answers, if it
// is the message. The others say when and where it was logged.
func (t *jsonText) insightsField(o *object) {
	message := false
	t.readAt(o.member("field"), func() { message = string(t.word()) == "@message" })
	if message {
		t.logObject(o)
	}
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

// inBase64 reads OTLP that the text at the offset is base64 of, and reports whether it is.
func (t *jsonText) inBase64(text []byte, at int64) bool {
	const most = 16 << 20 // unpacked; such lines are those of a log

	if len(text) == 0 || text[0] != 'H' && text[0] != 'C' && text[0] != 'e' { // 1f, 0a and a brace
		return false
	}
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return false
	}
	if bytes.HasPrefix(raw, []byte("\x1f\x8b")) {
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			return false
		}
		if raw, err = io.ReadAll(io.LimitReader(z, most+1)); err != nil || len(raw) > most {
			t.unreadable(at, int64(len(text)), "base64 of gzip that is damaged or long")
			return true
		}
	}
	switch {
	case len(raw) == 0:
		return false
	case raw[0] == 0x0a && likeTraces(raw, false):
		p := protoBytes{sink: t.sink, byPdata: t.byPdata}
		if why, from, to := p.decode(raw, at, false); why != "" {
			t.unreadable(from, to-from, why)
		}
		return true
	case raw[0] == '{' && !t.embedded:
		t.inLog(raw, at)
		return true
	}
	return false
}

// inLog reads the JSON that a log has as the text at the offset.
func (t *jsonText) inLog(text []byte, at int64) {
	t.embedded = true
	t.embed(text, at, func() { t.run(endOfInput) })
	t.embedded = false
}

// embed is inText for values of their own.
func (t *jsonText) embed(text []byte, at int64, read func()) (why string) {
	lead, saved := t.lead, t.saved
	t.lead, t.saved = 0, 0
	why = t.inText(text, at, read)
	t.lead, t.saved = lead, saved
	return why
}
