package ingest

// bareSpans reads a ResourceSpans that stands alone, as the logging exporter of
// Java writes it, one a line.
func (t *jsonText) bareSpans(o *object) {
	t.pos = o.start
	t.resourceSpans()
}

// otherSignals notes a ResourceLogs or ResourceMetrics that stands alone.
func (t *jsonText) otherSignals(o *object) { t.otherSignal(t.offsetOf(o.start)) }
