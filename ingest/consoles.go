package ingest

import "bytes"

// consoles are texts in which spans stand for people to read. Where JSON stands
// in between, as the lines of a structured logger do, such a text is told by what
// is lost between the values.
var consoles = []sign{
	{name: "console of JavaScript", is: text(isInspect), refuse: "output of JavaScript's console exporter, which is cut by depth" + useOTLP},
	{name: "console of C++", is: text(hasLine("trace_id      : ")), refuse: "output of C++'s ostream exporter" + useOTLP},
	{name: "console of .NET", is: text(hasLine("Activity.TraceId: ")), refuse: "output of .NET's console exporter" + useOTLP},
	{name: "console of Ruby", is: text(hasLine("#<struct OpenTelemetry::SDK::Trace::SpanData")), refuse: "output of Ruby's console exporter" + useOTLP},
	{name: "debug exporter", is: text(hasLine("ResourceSpans #")), refuse: "output of the collector's debug exporter: use its file exporter"},
	{name: "docker compose", is: text(isComposed), refuse: "JSON of several lines behind the prefixes of docker compose: write the log without them (docker compose logs --no-log-prefix)"},
}

// isComposed takes values whose lines have the name of a container in front:
//
//	python-1  | {
//	python-1  |     "name": "GET /",
//
// What stands on one line is read as it is.
func isComposed(head []byte) bool {
	if !bytes.Contains(head, []byte("| {")) || hasLine(`{"`)(head) {
		return false
	}
	for line := range bytes.Lines(head) {
		name, text, _ := bytes.Cut(line, []byte("| "))
		if string(bytes.TrimSpace(text)) == "{" && len(bytes.Fields(name)) == 1 {
			return true
		}
	}
	return false
}

// console remembers what lost text at the offset is, for the error message.
func (t *jsonText) console(at int64, text []byte) {
	if f := &t.found[t.index]; f.spans > 0 || f.named && at >= f.oddAt {
		return
	}
	for i := range consoles {
		if consoles[i].is(text) {
			t.named(at, consoles[i].refuse)
			return
		}
	}
}
