package ingest

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A sign tells a form by its first bytes. Exactly one of unwrap, read and
// refuse is set. To read another form, add a file with its reader and a row
// here (or, for a form of JSON, in jsonForms).
type sign struct {
	name   string
	is     func(head []byte) bool
	unwrap func(*source) error // replaces the reader by one of what is inside
	read   func(*source)       // reads the content to its end
	refuse string              // why it is not read, and what would do
}

// headSize is how many bytes are looked at to tell the form.
const headSize = 64 << 10

// signs are tried in order. Protobuf and its length prefix come before text:
// a first message of 31 488 to 31 743 bytes begins 00 00 7b, which is also a
// brace after the NULs of log rotation, and a bare one may begin 0a 7b.
var signs = []sign{
	{name: "gzip", is: prefix("\x1f\x8b"), unwrap: (*source).gunzip},
	{name: "zstd", is: isZstd, unwrap: (*source).unzstd},
	{name: "zip", is: prefix("PK\x03\x04"), refuse: "a zip archive: unpack it first"},
	{name: "tar", is: isTar, refuse: "a tar archive: unpack it first"},
	{name: "OTLP protobuf", is: isBare, read: (*source).readBare},
	{name: "length-prefixed OTLP", is: isChain, read: (*source).readChain},
	{name: "UTF-16", is: isUTF16, refuse: "UTF-16 text: convert it to UTF-8"},
	{name: "Parquet", is: prefix("PAR1"), refuse: "a Parquet file: export it as JSON lines"},
	{name: "STEF", is: prefix("STEF"), refuse: "a STEF file: convert it to OTLP"},
	{name: "git-lfs", is: prefix("version https://git-lfs"), refuse: "a git-lfs pointer, not the file: run git lfs pull"},
	{name: "HTML", is: isHTML, refuse: "an HTML page, not a dump: was the download refused?"},
	{name: "JSON", is: isText, read: (*source).readText},
}

func prefix(magic string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// tell returns the first sign that fits, nil if none does.
func tell(head []byte) *sign {
	for i := range signs {
		if signs[i].is(head) {
			return &signs[i]
		}
	}
	return nil
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// isZstd takes a skippable frame (50–5f 2a 4d 18) as well: pzstd begins with
// one.
func isZstd(head []byte) bool {
	return bytes.HasPrefix(head, zstdMagic) ||
		len(head) >= 4 && head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18
}

func isTar(head []byte) bool { return len(head) >= 262 && string(head[257:262]) == "ustar" }

func isUTF16(head []byte) bool {
	return bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff})
}

func isHTML(head []byte) bool {
	head = bytes.ToLower(bytes.TrimLeft(bytes.TrimPrefix(head, bom), " \t\r\n"))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html")) || bytes.HasPrefix(head, []byte("<?xml"))
}

// isText takes any text, since JSON may begin further down, behind the rest of
// a line that rotation cut. The message for text without any JSON comes from
// the reader.
func isText(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, bom), "\x00 \t\r\n")
	if len(head) > 0 && (head[0] == '{' || head[0] == '[') {
		return true
	}
	for _, c := range head {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b {
			return false
		}
	}
	return len(head) > 0
}

// isBare reports whether the bytes begin a TracesData. Text may begin with 0a
// as well, so only known fields count on the two outer levels.
func isBare(head []byte) bool {
	return len(head) > 0 && head[0] == 0x0a && likeTraces(head, true)
}

// likeTraces reports whether b is a TracesData, or the beginning of one if more
// may follow.
func likeTraces(b []byte, more bool) bool {
	return likeMessage(b, more, func(number int32, b []byte, more bool) bool {
		return number == fieldResourceSpans && likeMessage(b, more, func(number int32, _ []byte, _ bool) bool {
			return number <= 3 || number == fieldOldScopes
		})
	})
}

// likeMessage reports whether b is a run of length-delimited fields that ok
// accepts. If more may follow, the last may be cut off.
func likeMessage(b []byte, more bool, ok func(number int32, b []byte, more bool) bool) bool {
	for at := 0; at < len(b); {
		f, end, why := next(b, at)
		switch {
		case why == endOfInput && more:
			// Cut within the tag, within the length, or within the body.
			return f.number == 0 || f.wire == wireLength && (f.to == 0 || ok(f.number, b[min(f.from, len(b)):], true))
		case why != "" || f.wire != wireLength || !ok(f.number, b[f.from:f.to], false):
			return false
		}
		at = end
	}
	return true
}

// isChain reports whether the bytes are big-endian lengths each followed by a
// message of that length, as far as they go.
func isChain(head []byte) bool {
	n := 0
	for at := 0; at < len(head); n++ {
		if len(head)-at < 5 {
			return n > 0 // cut within a length, or before the message
		}
		size := int64(binary.BigEndian.Uint32(head[at:]))
		if size == 0 || size > maxValue {
			return n > 0 && size != 0
		}
		body := head[at+4:]
		more := int64(len(body)) < size
		if !more {
			body = body[:size]
		}
		switch {
		case bytes.HasPrefix(body, zstdMagic) || n > 0 && len(body) < 4 && bytes.HasPrefix(zstdMagic, body):
		case n > 0 && len(body) == 1 && body[0] == '{':
		case len(body) > 1 && body[0] == '{' && (body[1] == '"' || body[1] == '\n'):
		case body[0] == 0x0a && likeTraces(body, more):
		default:
			return false
		}
		at += 4 + len(body)
	}
	return n > 0
}

// describe says what unknown bytes look like.
func describe(head []byte) string {
	return fmt.Sprintf("no known form, begins % x", head[:min(len(head), 8)])
}
