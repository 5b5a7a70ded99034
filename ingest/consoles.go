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
	{name: "debug exporter", is: text(isDebug), refuse: "output of the collector's debug exporter: use its file exporter"},
	{name: "console of Java", is: text(isJavaLogging), refuse: "output of Java's logging exporter: use OTLP, or logging-otlp"},
	{name: "console of Rust", is: text(isRustConsole), refuse: "output of Rust's stdout exporter" + useOTLP},
	{name: "console of Swift", is: text(hasLine("Span kind: ")), refuse: "output of Swift's stdout exporter" + useOTLP},
	{name: "Fluent Bit", is: text(hasLine("|-------------------- RESOURCE SPAN")), refuse: "output of Fluent Bit's stdout: use its opentelemetry output"},
	{name: "console of Erlang", is: text(hasLine("*SPANS FOR DEBUG*")), refuse: "output of Erlang's stdout exporter" + useOTLP},
	{name: "Python's print", is: text(isPython), refuse: "objects as Python prints them, which are no JSON: write them with json.dumps"},
	{name: "docker compose", is: text(isComposed), refuse: "JSON of several lines behind the prefixes of docker compose: write the log without them (docker compose logs --no-log-prefix)"},
}

// isDebug takes the words of the detailed verbosity, and those of the normal one.
func isDebug(head []byte) bool {
	return hasLine("ResourceSpans #")(head) || hasLine("ResourceTraces #")(head) || hasLine("ScopeTraces #")(head)
}

// isJavaLogging takes lines of a logger that end in
//
//	'GET /' : 4bf9… 00f0… SERVER [tracer: x:1.0] AttributesMap{data={…}, …}
func isJavaLogging(head []byte) bool {
	_, behind, ok := bytes.Cut(head, []byte("' : "))
	return ok && bytes.Contains(behind, []byte(" [tracer: "))
}

func isRustConsole(head []byte) bool {
	return hasLine("Span #")(head) && hasLine("Instrumentation Scope")(head)
}

// isPython takes a dictionary, or a list of them, whose first key is in single quotes.
func isPython(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimPrefix(head, []byte("[")), []byte("{'"))
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
	if t.found[t.index].spans > 0 || !t.isOddest(at, saysForm) {
		return
	}
	for i := range consoles {
		if consoles[i].is(text) {
			t.oddly(at, consoles[i].refuse, saysForm)
			return
		}
	}
}
