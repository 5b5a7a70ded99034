package ingest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
)

const (
	// maxValue is the largest JSON value or message in bytes that is held in
	// memory whole; an eighth of Options.Memory if that is less. What is longer is
	// read up to here and then skipped.
	maxValue = 256 << 20
	// blockSize is about how many bytes a worker gets at a time.
	blockSize = 512 << 10
	// wideBlock is how many bytes are searched for the easy place to cut text
	// before its brackets are counted.
	wideBlock = 8 << 20

	tooLong = "longer than 256 MiB, or than an eighth of --memory"
)

// A source is the content of one file.
type source struct {
	*reading
	path    string
	r       *bufio.Reader
	closers []func()
	disk    io.ReaderAt // the file itself, while nothing is taken off; else nil
	size    int64       // of disk, in bytes
	meter   *meter
	offset  int64  // bytes of content that were read or skipped
	broken  string // why the content ended too early; "": it did not
	isWide  bool   // it may hold more than maxNarrow bytes, see widen
	first   *unit  // kept back until the file before is over
	least   int    // bytes that must stay together at the beginning of the text
}

// A unit is a piece of the content of one file that can be decoded by itself.
type unit struct {
	file   int
	path   string // of the file; behind a colon, that of the file in an archive
	decode func(*worker, unit)
	data   []byte
	base   int64 // offset of data in the content
	// lead is how many bytes in front are no content of this place, but what the
	// data stands in, see stretch. base is such that the others are where it says.
	lead int
	// astray is whether the data goes on with a value whose head is missing: objects that
	// do not begin their line may be pieces of it.
	astray bool
	// tail says why nothing follows the data: endOfInput, tooLong or what broke
	// the content; "" where something does.
	tail string
}

// fill appends content to buf until it has n bytes, or the content ends. It
// makes room only for bytes that are there.
func (f *source) fill(buf []byte, n int) []byte {
	if n > maxNarrow {
		f.widen()
	}
	for len(buf) < n && f.broken == "" {
		if len(buf) == cap(buf) {
			buf = f.free.grow(buf)
		}
		got, err := f.r.Read(buf[len(buf):min(n, cap(buf))])
		buf = buf[:len(buf)+got]
		f.offset += int64(got)
		f.ended(err)
	}
	return buf
}

// ended keeps the error of a read.
func (f *source) ended(err error) {
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		f.broken = endOfInput
	default:
		f.broken = shortError(err)
	}
}

// readText cuts a stream of JSON values. The easy places are before a line
// that begins with an object of OTLP: nothing else begins such a line, so what
// went wrong before it is over, and no bracket need be counted. Where there is
// none, the brackets are.
func (f *source) readText() {
	buf, base := f.begin(f.free.get(0))
	count := brackets{}
	long := stretch{}
	seen := 0                // index up to which there is no easy place
	lead, astray := 0, false // as in unit
	for f.broken == "" && f.ctx.Err() == nil {
		at := lastRecord(buf, seen)
		seen = max(0, len(buf)-recordHead)
		if at == 0 && len(buf) >= wideBlock && lead == 0 {
			at = count.safe(buf)
		}
		var closing, opening []byte
		if at == 0 && (len(buf) >= wideBlock || lead > 0 && len(buf) >= blockSize) {
			at, closing, opening = long.find(buf)
		}
		if at < f.least {
			at = 0
		}
		switch {
		case at > 0:
			left := buf[at:]
			if closing != nil {
				left = left[1:] // behind the comma
			}
			rest := f.free.get(len(opening) + len(left))
			rest = inPieces(append(rest, opening...), left)
			end := base + int64(len(buf))
			f.pass(unit{decode: (*worker).text, data: append(buf[:at], closing...), base: base, lead: lead, astray: astray})
			base = end - int64(len(rest))
			astray = at == count.last && count.astray
			buf, count, seen, lead = rest, brackets{astray: astray}, 0, len(opening)
		case len(buf) >= f.largest:
			f.pass(unit{decode: (*worker).text, data: buf, base: base, lead: lead, astray: astray, tail: tooLong})
			f.skipLines()
			base = f.offset
			buf, count, seen, lead, astray = f.free.get(0), brackets{}, 0, 0, false
		}
		more := blockSize
		if len(buf) >= wideBlock { // it was looked through from its beginning
			more = len(buf)
		}
		buf = f.fill(buf, min(f.largest, len(buf)+more))
	}
	f.end(unit{decode: (*worker).text, data: buf, base: base, lead: lead, astray: astray, tail: f.broken})
}

// skipLines skips to the next line that starts a value.
func (f *source) skipLines() {
	from := f.offset
	for f.broken == "" && f.ctx.Err() == nil {
		line, err := f.r.ReadSlice('\n')
		f.offset += int64(len(line))
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		f.ended(err)
		if head, _ := f.r.Peek(64); isValueLine(head) {
			break
		}
	}
	f.skipped(from, tooLong)
}

func isValueLine(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r")
	return len(head) > 0 && (head[0] == '{' || head[0] == '[')
}

// lastRecord returns the index of the last line after from that begins with an
// object of OTLP, 0 if there is none. It goes forwards, since looking for a
// byte is ten times faster in that direction.
func lastRecord(buf []byte, from int) (last int) {
	for {
		at := bytes.IndexByte(buf[from:], '\n')
		if at < 0 {
			return last
		}
		from += at + 1
		if from < len(buf) && buf[from] == '{' && isRecord(buf[from:]) {
			last = from
		}
	}
}

// recordHead is how many bytes tell whether a line begins an object of OTLP.
const recordHead = 64

// isRecord reports whether the text begins with a brace and a key of OTLP.
func isRecord(b []byte) bool {
	if len(b) > 2 && b[1] == '"' && b[2] != 'r' { // most lines
		return false
	}
	b = bytes.TrimLeft(b[1:min(len(b), recordHead)], " \t\r\n")
	return bytes.HasPrefix(b, []byte(`"resource`)) && len(b) > 9 && (b[9] == '_' || b[9] >= 'A' && b[9] <= 'Z')
}

// brackets counts how deep in a value the text is, going on from where it
// stopped.
type brackets struct {
	pos, depth int
	quoted     bool
	garbage    bool // between values, until the end of the line
	astray     bool // an object was closed that was never opened, see unit
	last       int  // the last index so far at which text may be cut
	line       int  // index at which the last line between values begins; 0: the first
}

// safe returns the last index at which no value is open, 0 if there is none.
func (c *brackets) safe(buf []byte) int {
	for c.pos < len(buf) {
		b := buf[c.pos]
		if c.quoted {
			at := plainText(buf, c.pos)
			if at+2 > len(buf) {
				c.pos = at // an escape may be cut in two
				if at < len(buf) && buf[at] != '\\' {
					c.step(buf[at])
				} else {
					return c.last
				}
				continue
			}
			c.pos = at
			if b = buf[at]; b == '\\' {
				c.pos += 2
				continue
			}
		}
		c.step(b)
	}
	return c.last
}

// step consumes a byte.
func (c *brackets) step(b byte) {
	c.pos++
	switch {
	case b == '\n' && (c.depth == 0 || c.quoted):
		// Between values, or in a string, which means that the line was cut.
		c.depth, c.quoted, c.garbage, c.last, c.line = 0, false, false, c.pos, c.pos
	case c.garbage:
	case b == '"':
		c.quoted = !c.quoted
		c.garbage = c.depth == 0
		c.quoted = c.quoted && !c.garbage
	case c.quoted:
	case b == '{' || b == '[' && c.depth > 0:
		c.astray = c.astray && (c.line == 0 || c.line != c.pos-1) // as in jsonText.topAt
		c.depth++
	case b == '}' || b == ']':
		if c.depth > 0 {
			c.depth--
		} else if b == '}' {
			c.astray = true
		}
		if c.depth == 0 {
			c.last = c.pos
		}
	case c.depth == 0 && isFiller(b):
		c.last = c.pos
	case c.depth == 0:
		c.garbage = true
	}
}

// readChain reads messages with their length in front.
func (f *source) readChain() {
	base := f.offset
	buf := f.free.get(0)
	for f.broken == "" && f.ctx.Err() == nil {
		head := len(buf)
		buf = f.fill(buf, head+4)
		if len(buf) < head+4 {
			break
		}
		size := int64(binary.BigEndian.Uint32(buf[head:]))
		if size > int64(f.largest) {
			f.send(unit{decode: (*worker).chain, data: buf[:head], base: base})
			f.skip(size, tooLong)
			base, buf = f.offset, f.free.get(0)
			continue
		}
		buf = f.fill(buf, head+4+int(size))
		if len(buf) >= blockSize && f.broken == "" {
			f.send(unit{decode: (*worker).chain, data: buf, base: base})
			base, buf = f.offset, f.free.get(0)
		}
	}
	f.send(unit{decode: (*worker).chain, data: buf, base: base, tail: f.broken})
}

// skip skips n bytes, or all that are left, which are of no use because of why.
func (f *source) skip(n int64, why string) {
	from := f.offset
	for n > 0 && f.broken == "" && f.ctx.Err() == nil {
		got, err := f.r.Discard(int(min(n, blockSize)))
		n -= int64(got)
		f.offset += int64(got)
		f.ended(err)
	}
	f.skipped(from, why)
}

// skipped notes that the content from the offset to here was skipped.
func (f *source) skipped(from int64, why string) {
	if f.offset > from {
		f.notes.Merge(Note{Code: Unreadable, Count: 1, Bytes: f.offset - from, Text: why, Example: Place{File: f.path, Position: from}})
		f.found[f.index].add(found{odd: oddText(from, why), oddAt: from, says: saysWhat})
	}
}

// cutShort notes that n bytes at the offset, the last, are of no use because of
// why.
func (f *source) cutShort(at, n int64, why string) {
	f.notes.Merge(Note{Code: Truncated, Count: 1, Bytes: n, Text: why, Example: Place{File: f.path, Position: at}})
	f.found[f.index].add(found{odd: oddText(at, why), oddAt: at, says: saysWhat})
}

// readBare reads the fields of one long message.
func (f *source) readBare() {
	base := f.offset
	buf := f.free.get(0)
	for f.broken == "" && f.ctx.Err() == nil {
		head, err := f.r.Peek(2 * binary.MaxVarintLen64)
		if len(head) == 0 {
			f.ended(err)
			break
		}
		field, end, why := next(head, 0)
		if why != "" && (why != endOfInput || field.wire != wireLength || field.from == 0) {
			// Nothing says where the next field begins.
			buf = f.fill(buf, len(buf)+len(head))
			f.send(unit{decode: (*worker).bare, data: buf, base: base, tail: why})
			f.skip(math.MaxInt64, why)
			return
		}
		if end > f.largest {
			f.send(unit{decode: (*worker).bare, data: buf, base: base})
			f.skip(int64(end), tooLong)
			base, buf = f.offset, f.free.get(0)
			continue
		}
		buf = f.fill(buf, len(buf)+end)
		if len(buf) >= blockSize && f.broken == "" {
			f.send(unit{decode: (*worker).bare, data: buf, base: base})
			base, buf = f.offset, f.free.get(0)
		}
	}
	f.send(unit{decode: (*worker).bare, data: buf, base: base, tail: f.broken})
}
