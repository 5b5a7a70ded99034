package ingest

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// jsonText decodes runs of JSON text: values one after the other, with or
// without line feeds, commas or array brackets between them.
type jsonText struct {
	*sink
	jsonScanner
	base int64 // offset of buf in the content of the file

	byPdata bool // whole objects of OTLP go to pdata

	lead     int   // index before which text is not of the file here, see unit
	headless bool  // as astray in unit
	saved    int   // index after the last span read: what lies before is not lost
	deferred []int // offsets of scopes under the old name, see resourceSpans

	// forms and keys are jsonForms and signKeys: the readers in the table, which
	// read what is inside, cannot name it.
	forms []jsonForm
	keys  map[string]string

	rescanned int      // bytes, see resume
	astray    bool     // a value broke, and the next may be a piece of it
	members   []member // of the objects being read, the outermost first
	envelopes int      // that are open
	embedded  bool     // the text is that of a member, see logObject
	around    around
	jaeger    jaegerState
	zipkin    zipkinState
	path      []byte // keys of the nested attribute being decoded
}

// An object is one at the top, or in an envelope, that is no OTLP.
type object struct {
	start, end int  // end is the index behind it, or where the text breaks off
	cut        bool // it does
	members    []member
	form       *jsonForm
}

// A member is a key of an object that says something about its form.
type member struct {
	key string
	at  int // index of the value
}

// member returns the index of the key's value, 0 if there is none.
func (o *object) member(key string) int {
	for _, m := range o.members {
		if m.key == key {
			return m.at
		}
	}
	return 0
}

// is reports whether the object has the form.
func (o *object) is(form *jsonForm, buf []byte) bool {
	first := true
	for key := range strings.FieldsSeq(form.keys) {
		at := o.member(key)
		if at == 0 || first && form.first != 0 && (at >= len(buf) || buf[at] != form.first) {
			return false
		}
		first = false
	}
	return true
}

// hasKeys reports whether the value at the index is an object with all of the keys.
func (t *jsonText) hasKeys(at int, keys ...string) bool {
	probe, found := t.jsonScanner, 0
	probe.pos, probe.str = at, nil
	if probe.peek() != '{' {
		return false
	}
	probe.pos++
	for first := true; found < len(keys) && probe.more('}', first); first = false {
		if slices.Contains(keys, string(probe.key())) {
			found++
		}
		if probe.why == "" {
			probe.skip()
		}
	}
	return found >= len(keys)
}

func (t *jsonText) offset() int64 { return t.offsetOf(t.pos) }

func (t *jsonText) offsetOf(index int) int64 { return t.base + int64(index) }

// decode reads a run of text. tail is as in unit. If a value has no end and
// nothing follows, that is noted and decode returns true.
//
// A line that begins with an object of OTLP begins a value, whatever went
// before: where a writer died within a line, the next one wrote on.
func (t *jsonText) decode(buf []byte, base int64, tail string) (inside bool) {
	t.pos, t.base, t.why, t.saved = 0, base, "", t.lead
	t.forms, t.keys, t.members, t.envelopes, t.rescanned = jsonForms, signKeys, t.members[:0], 0, 0
	t.astray = t.headless
	t.byLine = true
	for {
		t.buf, t.bounded = buf, false
		if inside = t.run(tail); !t.bounded {
			return inside
		}
		t.pos = len(t.buf)
	}
}

// run reads values from t.pos to the end of t.buf.
func (t *jsonText) run(tail string) (inside bool) {
	for t.pos < len(t.buf) {
		start := t.pos
		switch c := t.buf[t.pos]; {
		case c == 0:
			t.nuls()
		case isFiller(c):
			t.countLists(c)
			t.pos++
		case c == 0xEF && bytes.HasPrefix(t.buf[t.pos:], bom):
			t.pos += len(bom)
		case c == '{' && t.topAt(start):
		case c == 'n' && t.null():
		case c != '{' && t.logged():
		default:
			start = max(start, t.saved)
			if t.why == endOfInput && t.resume(start) {
				continue
			}
			if t.why != endOfInput || t.bounded || tail == "" {
				t.garbage(start)
				continue
			}
			if tail == tooLong {
				t.unreadable(t.offsetOf(start), int64(len(t.buf)-start), tail)
			} else {
				t.cutOff(t.offsetOf(start), int64(len(t.buf)-start), tail)
			}
			return true
		}
	}
	return false
}

// countLists counts the brackets of lists around values. Those of a logger's prefix are none:
// [pod/x] {"resource":… Units are decoded anywhere, so that only their sum says whether a list
// has no end.
func (t *jsonText) countLists(c byte) {
	switch {
	case c != '[' && c != ']' || t.pos < t.lead || t.embedded:
	case c == ']':
		t.found[t.index].lists--
	default:
		rest := bytes.TrimLeft(t.buf[t.pos+1:], " \t\r\n")
		if len(rest) == 0 || rest[0] == '{' || rest[0] == '[' || rest[0] == ']' {
			t.found[t.index].lists++
		}
	}
}

// nuls skips and notes what log rotation left.
func (t *jsonText) nuls() {
	from := t.pos
	for t.pos < len(t.buf) && t.buf[t.pos] == 0 {
		t.pos++
	}
	t.notes.Merge(Note{Code: NULs, Count: 1, Bytes: int64(t.pos - from), Example: Place{File: t.file, Position: t.offsetOf(from)}})
}

// topAt reads the object at the index. One that begins its line is no piece of
// a broken one.
func (t *jsonText) topAt(start int) bool {
	t.astray = t.astray && (start == 0 || t.buf[start-1] != '\n')
	return t.top()
}

// maxRescans is how many times its length a text may be gone through again
// because of values without an end.
const maxRescans = 16

// resume goes on after a value that has no end, at the next line that begins
// with an object and a key: where one object stands on a line, a line was cut,
// and the brackets of the others were taken for its own.
func (t *jsonText) resume(start int) bool {
	at := bytes.Index(t.buf[start:], []byte("\n{\""))
	if at < 0 || t.rescanned > maxRescans*len(t.buf) {
		return false
	}
	t.rescanned += len(t.buf) - start - at
	t.pos, t.why = start+at+1, ""
	t.odd(t.offsetOf(start), "broken JSON (a value without an end), begins "+quoteHead(t.buf[start:]))
	t.unreadable(t.offsetOf(start), int64(at+1), "a value without an end")
	return true
}

var bom = []byte{0xEF, 0xBB, 0xBF}

// recordSeparator stands before each value in a sequence of RFC 7464 (jq --seq).
const recordSeparator = 0x1e

// isFiller reports whether the byte may stand between values. The brackets and
// commas are those of an array around all values.
func isFiller(c byte) bool { return isBlank(c) || c == ',' || c == '[' || c == ']' }

// maxPrefix is how many bytes of a line may stand before its JSON.
const maxPrefix = 1 << 10

// logged reads an object that a logger put into its line: INFO: {"resource":…
// What stands before is of no use and no loss.
func (t *jsonText) logged() bool {
	at := behindText(t.buf[t.pos:])
	if at == 0 {
		return false
	}
	// What closes an object that was never opened is no logger's.
	t.astray = bytes.IndexByte(t.buf[t.pos:t.pos+at], '}') >= 0
	t.pos, t.why = t.pos+at, ""
	return t.top()
}

// behindText returns the index of the object that begins in the first line of b
// behind other text, 0 if there is none. Text with a quote in it is JSON.
func behindText(b []byte) int {
	b = b[:min(len(b), maxPrefix)]
	at := bytes.IndexAny(b, "{\"\n")
	if at <= 0 || at+1 >= len(b) || b[at] != '{' || b[at+1] != '"' {
		return 0
	}
	return at
}

// garbage gives up what began at start and goes on at the next line that
// starts a value.
func (t *jsonText) garbage(start int) {
	why := t.why
	isText := why == "" || why == "want null"
	if isText {
		why = "no JSON value"
	}
	if at := t.offsetOf(start); t.isOddest(at, saysWhat) {
		what := "broken JSON (" + why + ")"
		switch {
		case isText && t.buf[start] == '"' && bytes.HasSuffix(bytes.TrimRight(t.buf[:start], " \t\r\n"), []byte("[")):
			what = "a JSON list of values (from ClickHouse" + useEachRow + ")"
		case isText:
			what = "plain text"
		}
		t.odd(at, what+", begins "+quoteHead(t.buf[start:]))
	}
	t.why, t.astray = "", true
	// The failure may have been seen on the line after the broken one.
	end := max(t.pos, start)
	for end > start && isFiller(t.buf[end-1]) {
		end--
	}
	t.pos = nextValueLine(t.buf, end)
	t.console(t.offsetOf(start), t.buf[start:t.pos])
	t.unreadable(t.offsetOf(start), int64(t.pos-start), why)
}

// quoteHead quotes the start of a text for a message.
func quoteHead(b []byte) string {
	if at := bytes.IndexByte(b, '\n'); at >= 0 {
		b = b[:at]
	}
	if len(b) > 40 {
		b = b[:40]
	}
	return strconv.Quote(string(valid(b)))
}

// nextValueLine returns the index of the first line after i whose first byte
// other than white space is an opening bracket, or in which an object begins
// behind other text, or len(b).
func nextValueLine(b []byte, i int) int {
	for {
		at := bytes.IndexByte(b[i:], '\n')
		if at < 0 {
			return len(b)
		}
		i += at + 1
		for k := i; k < len(b); k++ {
			switch b[k] {
			case ' ', '\t', '\r':
				continue
			case '{', '[':
				return i
			}
			break
		}
		if behindText(b[i:]) > 0 {
			return i
		}
	}
}

// top reads an object at the top or in an envelope. OTLP is read on the way.
// The form of anything else is told once all its keys are known, and it is read
// in a second round.
func (t *jsonText) top() bool {
	o := object{start: t.pos}
	from := len(t.members)
	defer func() { t.members = t.members[:from] }()
	some, otlp, judged := false, false, false
	t.pos++
	for first := true; t.more('}', first); first = false {
		key := t.key()
		if t.why != "" {
			break
		}
		some = true
		if read := otlpKey(key); read != nil && (string(key) != "batches" || t.peek() == '[') {
			otlp = true
			if t.byPdata && isSpansKey(key) {
				if judged = judged || t.pdataObject(o.start); judged {
					t.skip()
					continue
				}
			}
			read(t)
			continue
		}
		if at := bytes.IndexByte(key, ':'); at > 0 {
			key = key[:at+1] // what stands behind it is the name of an attribute, or a number
		}
		name, isSign := t.keys[string(key)]
		at := t.skipTo()
		if isSign && at < len(t.buf) {
			t.addMember(from, member{name, at})
		}
	}
	if otlp || !some {
		return t.why == ""
	}
	o.end, o.cut, o.members = t.pos, t.why != "", t.members[from:]
	return t.foreign(&o)
}

// addMember notes a member of the object whose members begin at the index. Of
// several with one key the last counts.
func (t *jsonText) addMember(from int, m member) {
	for i := from; i < len(t.members); i++ {
		if t.members[i].key == m.key {
			t.members[i] = m
			return
		}
	}
	t.members = append(t.members, m)
}

// otlpKey returns the reader of the array that a key of OTLP holds.
func otlpKey(key []byte) func(*jsonText) bool {
	switch string(key) {
	case "resourceSpans", "resource_spans", "batches": // batches: Tempo's API, version 1
		return (*jsonText).traces
	case "resourceLogs", "resource_logs", "resourceMetrics", "resource_metrics", "resourceProfiles", "resource_profiles":
		return (*jsonText).other
	}
	return nil
}

// foreign reads an object that is no OTLP.
func (t *jsonText) foreign(o *object) bool {
	for i := range t.forms {
		if o.is(&t.forms[i], t.buf) {
			o.form = &t.forms[i]
			break
		}
	}
	cut := t.why
	switch {
	case o.form != nil && o.form.read != nil:
		t.why = ""
		o.form.read(t, o)
	case cut == "":
		name, much := "JSON of no known form"+useOTLP, saysNothing
		if o.form != nil {
			name, much = o.form.name, saysWhat
		}
		t.oddly(t.offsetOf(o.start), name, much)
		t.notUsed(t.offsetOf(o.start), int64(o.end-o.start), name)
	}
	why := t.why
	t.pos, t.why = o.end, cut
	if cut == "" && why != "" {
		t.unreadable(t.offsetOf(o.start), int64(o.end-o.start), why)
	}
	return cut == ""
}

// inside reads the objects in the value of the form's key.
func (t *jsonText) inside(o *object) {
	if t.envelopes == maxEnvelopes {
		t.fail("too many envelopes in each other")
		return
	}
	t.envelopes++
	defer func() { t.envelopes-- }()
	key, _, _ := strings.Cut(o.form.keys, " ")
	t.pos = o.member(key)
	if !t.objectsIn(maxEnvelopes) && t.why == "" {
		t.odd(t.offsetOf(o.start), o.form.name)
	}
}

// objectsIn reads the value if it is an object, or the objects of a list, and of lists
// in it as deep, and reports whether there were any.
func (t *jsonText) objectsIn(deep int) (some bool) {
	switch c := t.peek(); {
	case c == '{':
		t.top()
		return true
	case c == '[' && deep > 0:
		t.list(func() { some = t.objectsIn(deep-1) || some })
		return some
	}
	t.skip()
	return false
}

// other skips a signal that is no trace. An empty list of it is nothing.
func (t *jsonText) other() bool {
	at := t.offset()
	if t.peek() == '[' {
		probe := t.jsonScanner
		probe.pos++
		if probe.peek() != ']' {
			t.otherSignal(at)
		}
	}
	return t.skip()
}
