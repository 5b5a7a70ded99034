package ingest

import "time"

// A Code names a repair or a doubt. Codes are stable: they appear in JSON.
type Code string

const (
	Duplicate     Code = "duplicate"        // an exact copy of a span was dropped, or an unfinished version gave way
	NoteEndBefore Code = "end-before-start" // kept for structure, out of statistics
	NoteNoStart   Code = "no-start"         // kept for structure, out of statistics
	NoteNoEnd     Code = "no-end"           // unfinished: in no statistic, never an overrun
	Orphan        Code = "orphan"           // the parent is not in the input; never re-parented by guess
	CycleCut      Code = "cycle-cut"        // the parent link of this span was cut
	SelfParent    Code = "self-parent"      // the span named itself as its parent
	EmptyIDs      Code = "empty-ids"        // no trace id or no span id: never joined with others
	BadID         Code = "bad-id"           // a trace or span id that cannot be read: the span has none
	LabelID       Code = "label-id"         // a trace or span id that is a word, or too long: its hash is the id
	PaddedID      Code = "padded-id"        // a trace id that ends in 16 zeros: 64 bits, padded on the right
	NULs          Code = "nul-bytes"        // NULs before or between values, left by log rotation: stripped; Count is of their runs
	LateSpan      Code = "late-span"        // ended more than lateBy after the end of its root
	RootMissing   Code = "root-missing"     // no span of the trace is without a parent id
	UnitInDoubt   Code = "unit-in-doubt"    // it starts in 1970, and would today if its times were in ms or µs
	Partial       Code = "partial"          // the source said that it is not whole
	Truncated     Code = "truncated"        // the input was cut off: all that came before is used
	TraceCut      Code = "trace-cut"        // it has more spans than Options.Memory allows: the first by start are used
	TextCut       Code = "text-cut"         // a name or value longer than 4 KiB: its beginning is used, and what tells it from others
	Unreadable    Code = "unreadable"       // bytes that are no span; Amount is their number
	OtherSignal   Code = "other-signal"     // logs, metrics or profiles: skipped
	EmptyFile     Code = "no-spans"         // a file that holds no span, among others that do
)

// lateBy is how long after the end of its root a span must end for a
// late-span note.
const lateBy = time.Minute

// A TraceNote is a note about one span of a trace.
type TraceNote struct {
	Code   Code
	Span   int32         // index into Trace.Spans
	Amount time.Duration // what the code measures; 0 where it measures nothing
}

// A Place is where a span, or a piece of input, was found.
type Place struct {
	File     string
	Position int64 // offset in bytes in the file's unpacked content
	Trace    TraceID
	Span     SpanID
}

// Before orders places: by file, then position, then trace and span.
func (p Place) Before(q Place) bool {
	switch {
	case p.File != q.File:
		return p.File < q.File
	case p.Position != q.Position:
		return p.Position < q.Position
	case p.Trace != q.Trace:
		return string(p.Trace[:]) < string(q.Trace[:])
	}
	return string(p.Span[:]) < string(q.Span[:])
}

// A Note counts the repairs and doubts of one code.
type Note struct {
	Code    Code
	Count   int64
	Bytes   int64  // input bytes concerned, for unreadable, truncated and nul-bytes; else 0
	Text    string // what happened at Example, in words; "" where the code says it all
	Example Place  // the first by Place.Before
}

// Notes counts notes by code.
// The zero value is an empty set.
type Notes struct {
	byCode map[Code]*Note
}

// Add counts one note.
func (n *Notes) Add(code Code, at Place) { n.add(Note{Code: code, Count: 1, Example: at}) }

// Merge adds the counts of m and keeps the first example.
func (n *Notes) Merge(m Note) { n.add(m) }

func (n *Notes) add(m Note) {
	if n.byCode == nil {
		n.byCode = make(map[Code]*Note)
	}
	have := n.byCode[m.Code]
	if have == nil {
		first := m // of its own, so that m need not be
		n.byCode[m.Code] = &first
		return
	}
	have.Count += m.Count
	have.Bytes += m.Bytes
	// Files of one name in an archive may have notes at one place.
	if m.Example.Before(have.Example) || m.Example == have.Example && m.Text < have.Text {
		have.Example, have.Text = m.Example, m.Text
	}
}

// List returns the notes sorted by code.
func (n *Notes) List() []Note {
	list := make([]Note, 0, len(n.byCode))
	for _, code := range sortedKeys(n.byCode) {
		list = append(list, *n.byCode[code])
	}
	return list
}
