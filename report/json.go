package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"overrun/analyze"
)

// JSON writes a report as one object on one line.
func JSON(w io.Writer, r *analyze.Report) error {
	return putJSON(w, r)
}

// TraceJSON writes one line for each view.
func TraceJSON(w io.Writer, views []analyze.View) error {
	var b bytes.Buffer
	for i := range views {
		if err := appendJSON(&b, &views[i]); err != nil {
			return err
		}
	}
	return put(w, b.Bytes())
}

// appendJSON encodes a value on a line. Characters that do not print are escaped:
// the value is the same, and a terminal that shows it is not at its mercy.
func appendJSON(b *bytes.Buffer, v any) error {
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	for rest := plain.Bytes(); len(rest) > 0; {
		if c := rest[0]; c < 0x7f { // the encoder has escaped control characters, but for its last newline
			b.WriteByte(c)
			rest = rest[1:]
			continue
		}
		r, n := utf8.DecodeRune(rest)
		switch {
		case prints(r):
			b.Write(rest[:n])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
		rest = rest[n:]
	}
	return nil
}

// putJSON writes a value as one object on one line.
func putJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	if err := appendJSON(&b, v); err != nil {
		return err
	}
	return put(w, b.Bytes())
}
