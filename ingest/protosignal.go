package ingest

// Dumps of logs, metrics and profiles have the same three outer levels as those of
// traces: nothing but the innermost message, which lies where a span would, tells
// them apart. It is asked only where a message is no span, or one that nobody
// would write: a real one has times.

const anotherSignal = "no span: logs, metrics or profiles"

// otherMessages are the wire types of the messages that lie there, by field number.
//
// Reference: opentelemetry-proto, logs/v1 (LogRecord), metrics/v1 (Metric),
// profiles/v1development (Profile).
var otherMessages = [...]map[int32]wire{
	{1: wireFixed8, 2: wireVarint, 3: wireLength, 5: wireLength, 6: wireLength, 7: wireVarint, 8: wireFixed4, 9: wireLength, 10: wireLength, 11: wireFixed8, 12: wireLength},
	{1: wireLength, 2: wireLength, 3: wireLength, 5: wireLength, 7: wireLength, 9: wireLength, 10: wireLength, 11: wireLength, 12: wireLength},
	{1: wireLength, 2: wireLength, 3: wireFixed8, 4: wireVarint, 5: wireLength, 6: wireVarint, 7: wireLength, 8: wireVarint, 9: wireLength, 10: wireLength, 11: wireLength},
}

// isOtherSignal reports whether the message is a LogRecord, a Metric or a
// Profile: it has the fields of one, and something in it that a span cannot have.
func isOtherSignal(message []byte) bool {
	for _, wires := range otherMessages {
		foreign := false
		why := fields(message, func(f field, body []byte) string {
			if w, known := wires[f.number]; !known || w != f.wire {
				return "another message"
			}
			foreign = foreign || isForeign(f, body)
			return ""
		})
		if why == "" && foreign {
			return true
		}
	}
	return false
}

// holdsOther reports whether a ResourceSpans is one of another signal, at least in
// part: pdata would make spans of it.
func holdsOther(resource []byte) (other bool) {
	_ = fields(resource, func(f field, scope []byte) string {
		if (f.number != fieldScopes && f.number != fieldOldScopes) || other {
			return ""
		}
		return fields(scope, func(f field, message []byte) string {
			other = other || f.number == fieldSpans && f.wire == wireLength && isOtherSignal(message)
			return ""
		})
	})
	return other
}

// isForeign reports whether a field of another message cannot be one of a span,
// though its number is that of one.
func isForeign(f field, body []byte) bool {
	if f.wire != spanWires[f.number] {
		return true
	}
	switch f.number {
	case fieldName: // text; there the points of a Gauge, or the text in the body of a LogRecord
		return len(body) > 0 && likeMessage(body, false, func(number int32, _ []byte, _ bool) bool { return number == 1 })
	case fieldAttrs: // a KeyValue; there a Histogram, with the temporality where that has its value
		return hasField(body, fieldValue, wireVarint)
	case fieldEvents: // an Event; there a Summary, with points where that has its time
		return hasField(body, fieldEventTime, wireLength)
	}
	return false
}

// hasField reports whether the message has the field.
func hasField(message []byte, number int32, w wire) (has bool) {
	why := fields(message, func(f field, _ []byte) string {
		has = has || f.number == number && f.wire == w
		return ""
	})
	return has && why == ""
}

// noteOther notes that the ResourceSpans being read is one of another signal,
// once.
func (p *protoBytes) noteOther(at int64) {
	if !p.other {
		p.other = true
		p.otherSignal(at)
	}
}
