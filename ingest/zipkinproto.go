package ingest

// Zipkin's protobuf, as its reporters and the collector's Kafka exporter may write
// it (zipkin_proto), is told from Jaeger's, which looks alike up to the third field:
// an id of 16 bytes, two of 8. It is not read.
//
// Reference: Zipkin, zipkin.proto3, messages ListOfSpans and Span.
const zipkinTimestamp = 6 // of Span, fixed64; of Jaeger's a message

// isZipkinProto takes a Span or a ListOfSpans, which begins with one.
func isZipkinProto(head []byte) bool {
	f, _, _ := next(head, 0)
	if f.number == 1 && f.wire == wireLength && f.to-f.from > 16 {
		head = head[min(f.from, len(head)):min(f.to, len(head))]
	}
	for at := 0; at < len(head); {
		f, end, why := next(head, at)
		switch {
		case why != "" || at == 0 && (f.number != 1 || f.to-f.from != 8 && f.to-f.from != 16):
			return false
		case f.number == zipkinTimestamp:
			return f.wire == wireFixed8
		}
		at = end
	}
	return false
}
