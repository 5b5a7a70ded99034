package ingest

import (
	"encoding/hex"
	"fmt"
	"time"
)

// A TraceID is the 16-byte trace id of OpenTelemetry. The zero value means
// that the source recorded none.
type TraceID [16]byte

func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// A SpanID is the 8-byte span id of OpenTelemetry. The zero value means that
// the source recorded none.
type SpanID [8]byte

func (id SpanID) String() string { return hex.EncodeToString(id[:]) }

// A Kind is OpenTelemetry's SpanKind, with its numbers.
type Kind uint8

const (
	Unspecified Kind = iota
	Internal
	Server
	Client
	Producer
	Consumer
)

// A Status is OpenTelemetry's StatusCode, with its numbers.
type Status uint8

const (
	Unset Status = iota
	OK
	Error
)

// A Defect says what is wrong with the times of a span. Defects are bits, since
// a span can lack both times. A span with any defect takes part in the
// structure of its trace and in no statistic.
type Defect uint8

const (
	NoStart        Defect = 1 << iota // no start time: Start is End
	NoEnd                             // unfinished: End is Start
	EndBeforeStart                    // End is set to Start
)

// A Trace is all spans of one trace id. It is built by this package and
// read-only afterwards.
//
// Spans are sorted by (Start, ID) and, where both are equal, by content, so
// that the order never depends on the order of the input.
type Trace struct {
	ID    TraceID
	Epoch int64 // Unix nanoseconds of the earliest start; times of spans count from here
	Spans []Span
	Notes []TraceNote // repairs and doubts about single spans, sorted by (Span, Code)
}

// A Span is one span of a Trace. Start and End are offsets from Trace.Epoch,
// half-open: [Start, End). End >= Start holds always.
type Span struct {
	ID       SpanID
	ParentID SpanID // as recorded; zero: none
	Parent   int32  // index into Trace.Spans; -1: none, or not in the trace, or cut (self-parent, cycle)
	Kind     Kind
	Status   Status
	Defect   Defect
	// FollowsFrom is set where the source says that the parent did not wait
	// (OpenTracing's FOLLOWS_FROM). OTLP cannot say it.
	FollowsFrom bool

	Start, End time.Duration

	Name       string
	StatusText string // the status message
	Scope      string // name of the instrumentation scope
	TraceState string // W3C tracestate, as recorded
	Resource   *Resource
	Attrs      []Attr  // only what Options.Keep asks for, sorted by key
	Events     []Event // only what Options.Events asks for, in the order of their times
	Links      []Link  // only with Options.Links

	// Alike is a number that, where it is not 0, spans of one store share only if
	// their names, scopes and attributes are equal, but for values of Options.Loose.
	// Traces that are whole in memory have none.
	Alike uint64

	File     string // the input the span came from
	Position int64  // offset in bytes of the span in the file's unpacked content
}

// Attr returns the text of the attribute, and "" where it was not recorded or
// not kept.
func (s *Span) Attr(key string) string { return attr(s.Attrs, key) }

// Duration is End - Start, 0 for a span with a Defect.
func (s *Span) Duration() time.Duration { return s.End - s.Start }

// An Event is a moment of a span. At is an offset from Trace.Epoch; it may lie
// outside the span.
type Event struct {
	Name  string
	At    time.Duration
	Attrs []Attr // only what Options.Keep asks for, sorted by key
}

// A Link points from a span to a span of this or another trace.
type Link struct {
	TraceID TraceID
	SpanID  SpanID
}

// A Resource is who produced a span. Equal content is one Resource: pointers
// may be compared.
type Resource struct {
	Service string // service.name; "" where not recorded
	Attrs   []Attr // only what Options.Keep asks for, sorted by key
}

// Attr returns the text of the attribute, and "" where it was not recorded or
// not kept.
func (r *Resource) Attr(key string) string { return attr(r.Attrs, key) }

// An Attr is an attribute with its value as text: integers in decimal,
// doubles in the shortest form that reads back, booleans as true and false,
// arrays as their elements joined by commas, bytes in base64, maps as JSON.
//
// Note: instrumentations and proxies disagree about types (Envoy writes every
// number as a string), so readers have to parse text anyhow; one form keeps
// them from forgetting.
type Attr struct {
	Key, Value string
}

// attr looks a key up. Kept attributes are few, so a scan is fastest.
func attr(attrs []Attr, key string) string {
	for i := range attrs {
		if attrs[i].Key == key {
			return attrs[i].Value
		}
	}
	return ""
}

// MarshalText gives the id in lower-case hexadecimal.
func (id TraceID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText reads 32 hexadecimal digits.
func (id *TraceID) UnmarshalText(text []byte) error { return unhex(id[:], text) }

// MarshalText gives the id in lower-case hexadecimal.
func (id SpanID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText reads 16 hexadecimal digits.
func (id *SpanID) UnmarshalText(text []byte) error { return unhex(id[:], text) }

func unhex(id, text []byte) error {
	if len(text) != 2*len(id) {
		return fmt.Errorf("id %q: want %d hexadecimal digits", text, 2*len(id))
	}
	if _, err := hex.Decode(id, text); err != nil {
		return fmt.Errorf("id %q: %w", text, err)
	}
	return nil
}
