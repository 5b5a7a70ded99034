package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"time"
)

// Containers write a dump to their standard output, and the runtime puts each
// line into one of its own. It splits lines of more than 16 KiB; the parts are
// joined here.

// maxLogLine is the longest line of a log in bytes that is held, and the longest
// that is joined from parts. A longer one is passed on in pieces.
const maxLogLine = 16 << 20

// A logLine is a line of a log with its wrapping taken off.
type logLine struct {
	text   []byte
	errors bool // from standard error, whose lines come in between
	part   bool // the next of the same stream goes on with it
}

// isCRI takes the log of a Kubernetes container:
//
//	2026-11-29T23:27:26.000000000Z stdout F {"resourceSpans":…
func isCRI(head []byte) bool { return hasLogLine(head, "", parseCRI) }

// hasLogLine reports whether a line of the head is one of the log and begins
// so. The first may be cut, or broken, or what a tool says of the file.
func hasLogLine(head []byte, begin string, parse func([]byte) (logLine, bool)) bool {
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		if bytes.HasPrefix(line, []byte(begin)) {
			if _, ok := parse(line); ok {
				return true
			}
		}
		head = rest
	}
	return false
}

// parseCRI reads "time stream tags text", where the first of the tags, which
// colons divide, is P for a part and F for the last or only one.
func parseCRI(line []byte) (logLine, bool) {
	stamp, rest, _ := bytes.Cut(line, []byte(" "))
	stream, rest, _ := bytes.Cut(rest, []byte(" "))
	tags, text, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(stamp) > 40 || len(tags) == 0 || len(tags) > 1 && tags[1] != ':' {
		return logLine{}, false
	}
	if _, err := time.Parse(time.RFC3339Nano, string(stamp)); err != nil {
		return logLine{}, false
	}
	l := logLine{text: bytes.TrimSuffix(text, []byte("\r")), errors: string(stream) == "stderr", part: tags[0] == 'P'}
	return l, (l.errors || string(stream) == "stdout") && (l.part || tags[0] == 'F')
}

// isDocker takes the file of Docker's json-file driver:
//
//	{"log":"{\"resourceSpans\":…\n","stream":"stdout","time":"…"}
//
// A line that is longer than the head is no part of one: a shipper wrote it, and
// it is read as any other object (logObject).
func isDocker(head []byte) bool { return hasLogLine(head, `{"log":"`, parseDocker) }

// parseDocker reads a line of json-file. A part is a text without a line feed.
func parseDocker(line []byte) (l logLine, ok bool) {
	j, foreign := jsonScanner{buf: line}, false
	if !j.open('{') {
		return l, false
	}
	for first := true; j.more('}', first); first = false {
		switch string(j.key()) {
		case "log":
			l.text = bytes.Clone(j.text())
			ok = true
		case "stream":
			l.errors = string(j.text()) == "stderr"
		case "time", "attrs":
			j.skip()
		default:
			foreign = true // a shipper wrote the line anew, and not in parts
			if j.why == "" {
				j.skip()
			}
		}
	}
	text, whole := bytes.CutSuffix(l.text, []byte("\n"))
	l.text, l.part = text, !whole && !foreign
	return l, ok && j.why == ""
}

// unlog takes off what parse takes off a line of the log.
func unlog(parse func([]byte) (logLine, bool)) func(*source) error {
	return func(f *source) error {
		f.skipToText()
		f.wrap(&logReader{r: f.r, parse: parse})
		return nil
	}
}

// A logReader reads the text inside the lines of a log. A line that is none of
// the log's is read as it stands.
type logReader struct {
	r     *bufio.Reader
	parse func([]byte) (logLine, bool)
	line  []byte
	open  [2][]byte // parts of a line of standard output and of standard error
	out   []byte    // whole lines, not read yet
	room  []byte
	err   error
}

func (l *logReader) Read(b []byte) (int, error) {
	for len(l.out) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		l.next()
	}
	n := copy(b, l.out)
	l.out = l.out[n:]
	return n, nil
}

// next reads one line of the log. At the end, parts of a line come as they
// are.
func (l *logReader) next() {
	l.room = l.room[:0]
	if whole := l.readLine(); whole || len(l.line) > 0 {
		line, ok := l.parse(bytes.TrimSuffix(l.line, []byte("\n")))
		if !ok {
			line = logLine{text: bytes.TrimSuffix(l.line, []byte("\n")), part: !whole}
		}
		open := &l.open[0]
		if line.errors {
			open = &l.open[1]
		}
		text := line.text
		if line.part || len(*open) > 0 {
			*open = append(*open, text...)
			text = *open
		}
		if !line.part || len(*open) >= maxLogLine {
			l.room = append(append(l.room, text...), '\n')
			*open = (*open)[:0]
			if cap(*open) > wideBlock {
				*open = nil
			}
		}
	}
	if l.err != nil {
		for i, open := range l.open {
			l.room = append(l.room, open...)
			l.open[i] = nil
		}
	}
	l.out = l.room
}

// readLine reads a line, or as much of it as is held, into l.line.
func (l *logReader) readLine() (whole bool) {
	l.line = l.line[:0]
	for len(l.line) < maxLogLine {
		part, err := l.r.ReadSlice('\n')
		l.line = append(l.line, part...)
		if err == nil {
			return true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			l.err = err
			return false
		}
	}
	return true
}
