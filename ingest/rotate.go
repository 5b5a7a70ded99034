package ingest

import (
	"bytes"
	"cmp"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// rotated matches the names that lumberjack and its fork timberjack give to
// full files: traces-2026-11-29T23-27-26.167.json, in newer versions with the
// reason, traces-2026-11-29T23-27-26.167-size.json, then .gz if asked to.
var rotated = regexp.MustCompile(`^(.*)-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3})(?:-[a-z]+)?(\.[^/]*)?$`)

// rotation returns the name that the file had while it was written, and the
// time at which it was put aside, "" if it was not. Files with one name are one
// stream in the order of their times, the one without last.
func rotation(file string) (name, stamp string) {
	dir, base := path.Split(filepath.ToSlash(file))
	base = strings.TrimSuffix(strings.TrimSuffix(base, ".gz"), ".zst")
	if m := rotated.FindStringSubmatch(base); m != nil {
		return dir + m[1] + m[3], m[2]
	}
	return dir + base, ""
}

// compareRotation orders files so that those of one stream follow each other.
func compareRotation(a, b input) int {
	return cmp.Or(
		strings.Compare(a.stream, b.stream),
		compareBools(a.stamp == "", b.stamp == ""),
		strings.Compare(a.stamp, b.stamp),
		strings.Compare(a.path, b.path),
	)
}

// A cutLine is the start of a line that its file ends in, kept until the next
// file of the rotation shows whether the line goes on there. It is nobody's but
// the holder's: the reading that it is from is over.
type cutLine struct {
	f    *source
	name string // of the rotation
	unit unit
}

// pass sends a unit of a text. The first one is kept back as long as the file
// before may end in a line that goes on here.
func (f *source) pass(u unit) {
	f.least = 0
	if f.before == nil {
		f.send(u)
		return
	}
	if f.first == nil {
		f.first = &u
	} else {
		f.send(u)
	}
	select {
	case <-f.before.over:
		f.passFirst()
	default:
	}
}

// passFirst sends the unit that was kept back, once the file before is over.
func (f *source) passFirst() {
	u := *f.first
	f.first = nil
	f.send(f.join(f.cutBefore(), u))
}

// end sends the last unit of a text. If the file was put aside in the middle of
// a line, that is kept back.
func (f *source) end(u unit) {
	if f.first != nil {
		f.passFirst()
	} else {
		u = f.join(f.cutBefore(), u)
	}
	name, stamp := rotation(f.path)
	at := bytes.LastIndexByte(u.data, '\n') + 1
	if at < u.lead {
		at = 0
	}
	if u.tail != endOfInput || stamp == "" || !isCut(u.data[at:]) {
		f.send(u)
		return
	}
	line := u
	line.data, line.base = bytes.Clone(u.data[at:]), u.base+int64(at)
	if at > 0 {
		line.lead = 0
	}
	f.cut = &cutLine{f, name, line}
	u.data, u.tail = u.data[:at], ""
	f.send(u)
}

// isCut reports whether the line begins an object and does not end it.
func isCut(line []byte) bool {
	j := jsonScanner{buf: line}
	return j.peek() == '{' && !j.skip() && j.why == endOfInput
}

// isWhole reports whether the line is one object.
func isWhole(line []byte) bool {
	j := jsonScanner{buf: line}
	return j.peek() == '{' && j.skip() && j.peek() == 0 && j.pos == len(line)
}

// begin reads the first bytes of a text: where a line may go on here that began
// in the file before, that line at least. How a text is cut does not depend on
// whether the file before is over.
func (f *source) begin(buf []byte) ([]byte, int64) {
	base := f.offset
	buf = f.fill(buf, blockSize)
	if f.cut == nil && f.before == nil {
		return buf, base
	}
	at := bytes.IndexByte(buf, '\n')
	for at < 0 && f.broken == "" && len(buf) < f.largest {
		from := len(buf)
		buf = f.fill(buf, min(f.largest, 2*from))
		if at = bytes.IndexByte(buf[from:], '\n'); at >= 0 {
			at += from
		}
	}
	f.least = max(at, 0)
	if f.cut != nil {
		u := f.join(f.cut, unit{data: buf, base: base})
		f.cut, f.least = nil, 0
		return u.data, u.base
	}
	return buf, base
}

// join joins the start of a line, nil for none, with the first line of the unit,
// if it goes on there. That line belongs to the file that it began in.
func (f *source) join(c *cutLine, u unit) unit {
	if c == nil {
		return u
	}
	if name, _ := rotation(f.path); name == c.name {
		at := bytes.IndexByte(u.data, '\n')
		if at < 0 {
			at = len(u.data)
		}
		if joined := append(c.unit.data, u.data[:at]...); isWhole(joined) {
			c.unit.data, c.unit.tail = joined, ""
			u.data, u.base = u.data[at:], u.base+int64(at)
		}
	}
	c.f.send(c.unit)
	return u
}
