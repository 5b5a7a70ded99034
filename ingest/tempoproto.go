package ingest

import (
	"bufio"
	"errors"
	"io"
)

// Field numbers of TraceByIDResponse in Tempo's tempo.proto, the answer of version
// 2 of its API where protobuf is asked for. Its trace is a TracesData.
const (
	fieldTempoTrace   = 1
	fieldTempoStatus  = 3
	fieldTempoMessage = 4

	tempoPartial = 1 // of the status
)

// isTempo takes a TracesData in a field 1. Read as one itself, its first
// ResourceSpans would be a Resource, whose field 2 is a number and not scopes.
func isTempo(head []byte) bool {
	trace, cut, ok := firstField(head, false)
	if !ok || !likeTraces(trace, cut) {
		return false
	}
	rs, cut, ok := firstField(trace, cut)
	scopes := false
	return ok && likeMessage(rs, cut, func(number int32, _ []byte, _ bool) bool {
		scopes = scopes || number == fieldScopes || number == fieldOldScopes
		return number <= 3 || number == fieldOldScopes
	}) && scopes
}

// firstField returns the field 1 that a message begins with, or as much as there
// is of it.
func firstField(b []byte, cut bool) (body []byte, isCut, ok bool) {
	f, _, why := next(b, 0)
	if f.number != 1 || f.wire != wireLength || f.to == 0 || why != "" && why != endOfInput {
		return nil, false, false
	}
	return b[min(f.from, len(b)):min(f.to, len(b))], cut || f.to > len(b), true
}

var errAnswer = errors.New("the answer ends early")

func (f *source) untempo() error {
	f.wrap(&tempoReader{f: f, r: f.r})
	return nil
}

// A tempoReader reads the trace in an answer, and notes if that is not whole.
type tempoReader struct {
	f       *source
	r       *bufio.Reader
	left    int // bytes of the trace
	partial bool
	text    string
	err     error // what ended the answer
}

func (t *tempoReader) Read(b []byte) (int, error) {
	for t.left == 0 && t.err == nil {
		t.err = t.field()
	}
	if t.err != nil {
		if t.partial {
			t.f.notes.Merge(Note{Code: Partial, Count: 1, Text: t.text, Example: Place{File: t.f.path}})
			t.partial = false
		}
		return 0, t.err
	}
	n, err := t.r.Read(b[:min(len(b), t.left)])
	if t.left -= n; errors.Is(err, io.EOF) {
		err = errAnswer
	}
	return n, err
}

// field reads a field of the answer, of the trace only what stands before it.
func (t *tempoReader) field() error {
	head, err := t.r.Peek(maxText)
	if len(head) == 0 {
		return err
	}
	f, end, why := next(head, 0)
	switch {
	case why != "" && (why != endOfInput || f.wire != wireLength || f.to == 0):
		if why == endOfInput {
			return errAnswer
		}
		return errors.New(why)
	case f.number == fieldTempoTrace && f.wire == wireLength:
		t.left, end = f.to-f.from, f.from
	case f.number == fieldTempoStatus && f.wire == wireVarint:
		t.partial = f.value == tempoPartial
	case f.number == fieldTempoMessage && f.wire == wireLength:
		t.text = string(valid(head[min(f.from, len(head)):min(f.to, len(head))]))
	}
	_, err = t.r.Discard(end)
	return err
}
