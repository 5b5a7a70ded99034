package ingest

import (
	"bytes"
	"time"
)

// Who shows logs puts something before each line, also before those in
// the middle of an indented value:
//
//	python-1  | {                                    docker compose logs
//	python-1  |     "name": "GET /",
//	2026-11-29T23:27:26.000000000Z {                 kubectl logs --timestamps, docker logs -t
//	[pod/web-5f/web] {                               kubectl logs --prefix
//	Nov 29 23:27:26 node-1 web[812]: {               journalctl, syslog
//
// Several may stand one behind the other. A value into which another container wrote is
// broken.
var prefixes = []func(line []byte) (text []byte, ok bool){behindName, behindPod, behindTime}

// isPrefixed takes an indented value with something before each of its lines. What stands
// on one line is read as it is.
func isPrefixed(head []byte) bool {
	opened := false
	for line := range bytes.Lines(head) {
		l, ok := parsePrefixed(bytes.TrimRight(line, "\r\n"))
		if opened && ok && len(l.text) > 0 && (l.text[0] == ' ' || l.text[0] == '\t') {
			return true
		}
		opened = ok && (string(l.text) == "{" || string(l.text) == "[")
	}
	return false
}

func parsePrefixed(line []byte) (l logLine, ok bool) {
	l.text = line
	for _, behind := range prefixes {
		if text, some := behind(l.text); some {
			l.text, ok = text, true
		}
	}
	return l, ok
}

// behindName returns the text of "name  | text".
func behindName(line []byte) ([]byte, bool) {
	at := bytes.Index(line[:min(len(line), maxPrefix)], []byte("| "))
	if at < 0 {
		return nil, false
	}
	name := bytes.TrimRight(line[:at], " ")
	return line[at+len("| "):], len(name) > 0 && !bytes.ContainsAny(name, " \t\"{}[]")
}

// behindPod returns the text of "[pod/name/container] text".
func behindPod(line []byte) ([]byte, bool) {
	if !bytes.HasPrefix(line, []byte("[pod/")) {
		return nil, false
	}
	name, text, ok := bytes.Cut(line, []byte("] "))
	return text, ok && !bytes.ContainsAny(name, " \t\"{}")
}

// behindTime returns the text of "time text", the time as RFC 3339 or as in syslog, and host
// and program behind it as there.
func behindTime(line []byte) ([]byte, bool) {
	stamp, text, ok := bytes.Cut(line, []byte(" "))
	layout := time.RFC3339Nano
	if n := len(time.Stamp); len(stamp) == len("Nov") && len(line) > n && line[n] == ' ' {
		stamp, text, layout = line[:n], line[n+1:], time.Stamp
	}
	if !ok || len(stamp) > 40 {
		return nil, false
	}
	if _, err := time.Parse(layout, string(stamp)); err != nil {
		return nil, false
	}
	at := bytes.Index(text[:min(len(text), maxPrefix)], []byte("]: "))
	if at > 0 && len(bytes.Fields(text[:at])) == 2 && !bytes.ContainsAny(text[:at], "\"{}") {
		text = text[at+len("]: "):]
	}
	return text, true
}
