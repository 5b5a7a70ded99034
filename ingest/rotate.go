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
// file of the rotation shows whether the line goes on there.
type cutLine struct {
	f    *source
	name string // of the rotation
	unit unit
}

// end sends the last unit of a text. If the file was put aside in the middle of
// a line, that is kept back.
func (f *source) end(u unit) {
	name, stamp := rotation(f.path)
	at := bytes.LastIndexByte(u.data, '\n') + 1
	if u.tail != endOfInput || stamp == "" || !isCut(u.data[at:]) {
		f.send(u)
		return
	}
	line := u
	line.data, line.base = bytes.Clone(u.data[at:]), u.base+int64(at)
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

// begin reads the first bytes of a text. A line that began in the file before
// is joined, and belongs to that file; the offset of what is left is returned.
func (f *source) begin(buf []byte) ([]byte, int64) {
	base := f.offset
	buf = f.fill(buf, blockSize)
	c := f.cut
	if c == nil {
		return buf, base
	}
	f.cut = nil
	if name, _ := rotation(f.path); name == c.name {
		at := bytes.IndexByte(buf, '\n')
		for at < 0 && f.broken == "" && len(buf)+len(c.unit.data) < maxValue {
			from := len(buf)
			buf = f.fill(buf, 2*from)
			if at = bytes.IndexByte(buf[from:], '\n'); at >= 0 {
				at += from
			}
		}
		if at < 0 {
			at = len(buf)
		}
		if joined := append(c.unit.data, buf[:at]...); isWhole(joined) {
			c.unit.data, c.unit.tail = joined, ""
			base += int64(at)
			buf = append(buf[:0], buf[at:]...)
		}
	}
	c.f.send(c.unit)
	return buf, base
}

// endCut sends the start of a line that no file went on with.
func (j *job) endCut() {
	if c := j.cut; c != nil {
		j.cut = nil
		c.f.send(c.unit)
	}
}
