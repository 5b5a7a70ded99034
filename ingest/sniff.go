package ingest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// A sign tells a form by its first bytes. Exactly one of unwrap, unpack, read
// and refuse is set. To read another form, add a file with its reader and a row
// here (or, for a form of JSON, in jsonForms).
type sign struct {
	name   string
	is     func(head []byte) bool
	unwrap func(*source) error // replaces the reader by one of what is inside
	// unpack reads all files of an archive, which lies in so many wrappings, and
	// returns why there is none to be read, or "".
	unpack func(f *source, wrappings int) (refused string)
	read   func(*source) // reads the content to its end
	refuse string        // why it is not read, and what would do
}

// headSize is how many bytes are looked at to tell the form.
const headSize = 64 << 10

// signs are tried in order. Protobuf and its length prefix come before text:
// a first message of 31 488 to 31 743 bytes begins 00 00 7b, which is also a
// brace after the NULs of log rotation, and a bare one may begin 0a 7b.
var signs = slices.Concat([]sign{
	{name: "gzip", is: prefix("\x1f\x8b"), unwrap: (*source).gunzip},
	{name: "zstd", is: isZstd, unwrap: (*source).unzstd},
	{name: "zip", is: isZip, unpack: (*source).unzip},
	{name: "tar", is: isTar, unpack: (*source).untar},
	{name: "bzip2", is: isBzip2, unwrap: (*source).bunzip2},
	{name: "zlib", is: isZlib, unwrap: (*source).inflate},
	{name: "snappy", is: isSnappy, unwrap: (*source).unsnappy},
	{name: "xz", is: prefix("\xfd7zXZ\x00"), refuse: "packed with xz: unpack it first (xz -d)"},
	{name: "lz4", is: prefix("\x04\x22\x4d\x18"), refuse: "packed with lz4: unpack it first (lz4 -d)"},
	{name: "7z", is: prefix("7z\xbc\xaf\x27\x1c"), refuse: "a 7z archive: unpack it first"},
	{name: "Tempo's answer", is: isTempo, unwrap: (*source).untempo},
	{name: "OTLP protobuf", is: isBare, read: (*source).readBare},
	{name: "OTLP protobuf in lines", is: isLined, refuse: "OTLP protobuf with a line feed behind each message, as kcat writes it: let it write none (kcat -D '')"},
	{name: "length-prefixed OTLP", is: isChain, read: (*source).readChain},
	{name: "gRPC", is: isFramed, refuse: "OTLP protobuf in the frames of gRPC: write the messages without the 5 bytes before each"},
	{name: "delimited OTLP", is: isDelimited, refuse: "OTLP protobuf with a varint before each message (writeDelimitedTo): write the length as 4 bytes, big end first, or one message a file"},
	{name: "Zipkin protobuf", is: isZipkinProto, refuse: "Zipkin's protobuf: fetch JSON from its API, or write zipkin_json to Kafka"},
	{name: "Jaeger protobuf", is: isJaegerSpan, read: (*source).readJaegerSpans},
	{name: "Jaeger batch", is: isJaegerBatch, read: (*source).readJaegerBatch},
	// What says by its first bytes that it is none of ours.
	{name: "UTF-32", is: isUTF32, refuse: "UTF-32: make UTF-8 of it (iconv -f UTF-32 -t UTF-8)"},
	{name: "UTF-16", is: isUTF16, unwrap: (*source).utf16Text},
	{name: "Parquet", is: prefix("PAR1"), refuse: "a Parquet file: export it as JSON lines"},
	{name: "Avro", is: prefix("Obj\x01"), refuse: "an Avro file: export its records as JSON lines"},
	{name: "ORC", is: prefix("ORC"), refuse: "an ORC file: export it as JSON lines"},
	{name: "SQLite", is: prefix("SQLite format 3\x00"), refuse: "a database of SQLite: export its spans as OTLP or JSON lines"},
	{name: "STEF", is: prefix("STEF"), refuse: "a STEF file: convert it to OTLP"},
	{name: "OTAP", is: isArrow, refuse: "OTAP or other Arrow data: let a collector receive it and write OTLP"},
	// Text, whatever lies before it.
	{name: "git-lfs", is: text(prefix("version https://git-lfs")), refuse: "a git-lfs pointer, not the file: run git lfs pull"},
	{name: "HTML", is: text(isHTML), refuse: "an HTML page, not a dump: was the download refused?"},
	{name: "docker", is: text(isDocker), unwrap: unlog(parseDocker)},
	{name: "CRI", is: text(isCRI), unwrap: unlog(parseCRI)},
	{name: "prefixed lines", is: text(isPrefixed), unwrap: unlog(parsePrefixed)},
}, consoles, []sign{
	{name: "YAML", is: text(isYAML), refuse: "OTLP as YAML, as the collector's tests have it: make JSON of it (yq -o=json)"},
	{name: "CSV", is: text(isCSV), refuse: "a table (CSV), whose columns have no fixed meaning: export OTLP, or JSON lines with the columns' usual names"},
	{name: "JSON", is: text(isText), read: (*source).readText},
})

const useOTLP = ": export OTLP instead, to a collector's file exporter"

func prefix(magic string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

// text returns a test for what begins behind what may stand before a text.
func text(is func([]byte) bool) func([]byte) bool {
	return func(head []byte) bool { return is(head[beforeText(head):]) }
}

// beforeText returns how many bytes at the beginning say nothing: byte order
// marks, white space, and the NULs of log rotation.
func beforeText(b []byte) int {
	for at := 0; ; {
		switch {
		case at < len(b) && isBlank(b[at]):
			at++
		case bytes.HasPrefix(b[at:], bom):
			at += len(bom)
		default:
			return at
		}
	}
}

// isBlank reports whether the byte is white space, a NUL that log rotation left, or
// what divides values.
func isBlank(c byte) bool {
	return c == 0 || c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == recordSeparator
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

func isUTF32(head []byte) bool {
	return bytes.HasPrefix(head, []byte{0xff, 0xfe, 0, 0}) || bytes.HasPrefix(head, []byte{0, 0, 0xfe, 0xff})
}

func isUTF16(head []byte) bool {
	order, _ := utf16Order(head)
	return order != nil
}

// utf16Order tells UTF-16 by its byte order mark of so many bytes, or where it has none by the
// bracket that JSON begins with and a second unit of ASCII; nil: it is none.
func utf16Order(head []byte) (order binary.ByteOrder, mark int) {
	const beforeValue = "{[\"}] \t\r\n" // what may follow a bracket, numbers aside
	open := func(a, b byte) bool { return (a == '{' || a == '[') && strings.IndexByte(beforeValue, b) >= 0 }
	switch {
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		return binary.LittleEndian, 2
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return binary.BigEndian, 2
	case len(head) < 4:
		return nil, 0
	case head[1] == 0 && head[3] == 0 && open(head[0], head[2]):
		return binary.LittleEndian, 0
	case head[0] == 0 && head[2] == 0 && open(head[1], head[3]):
		return binary.BigEndian, 0
	}
	return nil, 0
}

func isHTML(head []byte) bool {
	head = bytes.ToLower(head[:min(len(head), 16)])
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html")) || bytes.HasPrefix(head, []byte("<?xml"))
}

// isZip takes an empty archive as well, which begins with its end.
func isZip(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
}

// isArrow takes Arrow's files and streams, and messages of OTAP, which hold
// streams: a batch id, then a payload.
func isArrow(head []byte) bool {
	streamed := []byte("\xff\xff\xff\xff")
	if bytes.HasPrefix(head, []byte("ARROW1")) || bytes.HasPrefix(head, streamed) {
		return true
	}
	return len(head) > 2 && head[0] == 0x08 && bytes.Contains(head[:min(len(head), 1<<10)], streamed)
}

// isInspect takes what JavaScript's util.inspect writes for a span: an object
// whose keys have no quotes. Other lines of the program may stand before.
func isInspect(head []byte) bool {
	return hasLine("traceId: '")(head) && !hasLine(`{"`)(head)
}

// hasLine returns a test for a line that begins with the text, white space
// aside. A logger may have put fields before it, each with a tab behind it, and
// docker compose a name and a bar.
func hasLine(text string) func([]byte) bool {
	return func(head []byte) bool {
		for at := 0; ; {
			found := bytes.Index(head[at:], []byte(text))
			if found < 0 {
				return false
			}
			before := bytes.TrimRight(head[:at+found], " ")
			if len(before) == 0 || bytes.ContainsAny(before[len(before)-1:], "\n\t|") {
				return true
			}
			at += found + len(text)
		}
	}
}

// isYAML takes a document whose first key is OTLP's.
func isYAML(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("---\n"))
	return bytes.HasPrefix(head, []byte("resourceSpans:")) || bytes.HasPrefix(head, []byte("resource_spans:"))
}

// isCSV takes a first line of three or more names of columns, one of which is
// that of a trace or a span. A sentence may look like that: then the next line has fewer
// columns, and JSON begins further down.
func isCSV(head []byte) bool {
	line, rest, _ := bytes.Cut(head, []byte("\n"))
	lower := bytes.ToLower(line)
	if bytes.ContainsAny(line, "{}[]:") || !bytes.Contains(lower, []byte("trace")) && !bytes.Contains(lower, []byte("span")) {
		return false
	}
	for _, comma := range []string{",", ";", "\t"} {
		if n := bytes.Count(line, []byte(comma)); n >= 2 {
			row, _, _ := bytes.Cut(rest, []byte("\n"))
			return bytes.Count(row[:startOfObject(row)], []byte(comma)) >= n || nextValueLine(head, 0) == len(head)
		}
	}
	return false
}

// startOfObject returns the index at which an object or a list begins in the
// line, or its length.
func startOfObject(line []byte) int {
	if isValueLine(line) {
		return 0
	}
	if at := behindText(line); at > 0 {
		return at
	}
	return len(line)
}

// isText takes any text, since JSON may begin further down, behind the rest of
// a line that rotation cut. The message for text without any JSON comes from
// the reader.
func isText(head []byte) bool {
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
// may follow. Those of other signals look the same; profiles have a dictionary
// beside them.
func likeTraces(b []byte, more bool) bool {
	return likeMessage(b, more, func(number int32, b []byte, more bool) bool {
		return number == fieldDictionary || number == fieldResourceSpans && likeMessage(b, more, func(number int32, _ []byte, _ bool) bool {
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

// isLined reports whether the bytes begin a TracesData behind which a line feed
// and another stand. A line feed is also the first byte of a field.
func isLined(head []byte) bool {
	for at := 0; at < len(head) && head[at] == '\n'; {
		_, end, why := next(head, at)
		if why != "" || !likeTraces(head[at:end], false) {
			return false
		}
		if end+1 < len(head) && head[end] == '\n' {
			line := head[end+1:]
			if _, to, why := next(line, 0); why == "" {
				line = line[:to]
			}
			if isBare(line) {
				return true
			}
		}
		at = end
	}
	return false
}

// isFramed reports whether the bytes begin with a frame of gRPC that holds a whole
// TracesData, not packed: 0, the length, the message.
func isFramed(head []byte) bool {
	return len(head) > 5 && head[0] == 0 && beginsWhole(head[5:], uint64(binary.BigEndian.Uint32(head[1:])))
}

// isDelimited reports whether the bytes begin with the length of a TracesData as a
// varint, and all of it.
func isDelimited(head []byte) bool {
	size, n := binary.Uvarint(head)
	return n > 0 && beginsWhole(head[n:], size)
}

// beginsWhole reports whether b begins with a TracesData of that many bytes. Part of
// one is not enough: the end of a line of text may look like that.
func beginsWhole(b []byte, size uint64) bool {
	return size > 1 && size <= uint64(len(b)) && b[0] == 0x0a && likeTraces(b[:size], false)
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
		if more && len(bytes.TrimLeft(head[at:at+4], " \t\r\n")) == 0 {
			return false // the white space before a text, not 150 MB
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
