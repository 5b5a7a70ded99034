package ingest

// phpSpan reads a span as PHP's ConsoleSpanExporter writes it: a pretty list of
// one span each, one list after the other. Fields are Python's, but for times,
// which are nanoseconds since 1970, and kinds, spelt KIND_SERVER.
//
// Reference: opentelemetry-php, SDK/Trace/SpanExporter/FriendlySpanConverter.php.
func (t *jsonText) phpSpan(o *object) {
	t.alone(o.start, func(t *jsonText, r *record) { t.consoleFields(r, &phpEvent) })
}

var phpEvent = eventForm{"name", "timestamp", "attributes",
	func(text []byte) (int64, bool) { return scaled(text, 0) },
	(*jsonText).consoleAttributes}
