package report

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many runes without width may follow each other; more would
// let a name of any length pass for a narrow one, and cover the lines around it.
const maxMarks = 3

const ellipsis = "…"

// clean makes a string safe to print and at most max columns wide. What does not
// print, or moves what is around it, becomes a visible escape: control and format
// characters (so all bidirectional controls and zero-width ones), spaces other
// than the plain one, broken UTF-8. A longer string is cut with an ellipsis: at
// its end, or with keepEnd at its beginning.
func clean(s string, max int, keepEnd bool) string {
	enough := max
	if keepEnd {
		enough = math.MaxInt
	}
	pieces, widths, total := visible(s, enough)
	if total <= max {
		return strings.Join(pieces, "")
	}
	left := max - 1 // the ellipsis
	if keepEnd {
		i := len(pieces)
		for i > 0 && (widths[i-1] <= left) {
			i--
			left -= widths[i]
		}
		// A mark must not hang on the ellipsis.
		for i < len(pieces) && widths[i] == 0 {
			i++
		}
		return ellipsis + strings.Join(pieces[i:], "")
	}
	i := 0
	for i < len(pieces) && widths[i] <= left {
		left -= widths[i]
		i++
	}
	return strings.Join(pieces[:i], "") + ellipsis
}

// cleanName is clean for a name: an empty one is unknown, and spaces at its ends
// are escaped, since a table would hide them.
func cleanName(s string, max int, keepEnd bool) string {
	if s == "" {
		return unknown
	}
	body := strings.TrimLeft(s, " ")
	before := strings.Repeat(`\x20`, min(len(s)-len(body), max))
	trimmed := strings.TrimRight(body, " ")
	after := strings.Repeat(`\x20`, min(len(body)-len(trimmed), max))
	return clean(before+trimmed+after, max, keepEnd)
}

// visible gives the runes of a string as they may be printed, with the width of
// each, and their sum. It stops when the sum is more than enough.
func visible(s string, enough int) (pieces []string, widths []int, total int) {
	marks := maxMarks // a leading mark would change what stands before the name
	for len(s) > 0 && total <= enough {
		r, n := utf8.DecodeRuneInString(s)
		piece := s[:n]
		w := 0
		switch {
		case ' ' <= r && r < 0x7f:
			w, marks = 1, 0
		case r == utf8.RuneError && n == 1:
			piece = fmt.Sprintf(`\x%02x`, s[0])
		case !prints(r):
			piece = escape(r)
		default:
			if w = columns(piece); w > 0 {
				marks = 0
			} else if marks++; marks > maxMarks {
				piece = escape(r)
			}
		}
		if piece != s[:n] {
			w, marks = len(piece), maxMarks // nor may one hang on an escape
		}
		pieces, widths, total = append(pieces, piece), append(widths, w), total+w
		s = s[n:]
	}
	return pieces, widths, total
}

// prints reports whether a rune shows, as itself and in its place.
func prints(r rune) bool {
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// linkTo is the URL of a trace, in characters that neither a terminal nor
// Markdown takes for more than a URL; "" without a template.
func linkTo(template, trace string) string {
	if !strings.Contains(template, "{trace}") {
		return ""
	}
	url := strings.ReplaceAll(template, "{trace}", trace)
	var b strings.Builder
	for _, c := range []byte(url) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("()<>|\\\"`{}^[]*_~", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
