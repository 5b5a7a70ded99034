package ingest

import (
	"bytes"
	"math"
	"time"
)

// Helpers of the forms of JSON other than OTLP: values that are JSON's own,
// spans that stand alone, times in other units.

// native appends the text of the JSON value that comes next.
func (t *jsonText) native(s style, depth int) {
	switch t.peek() {
	case '"':
		t.value = appendText(t.value, t.quoted(), s)
	case 'n':
		if t.null() {
			t.value = appendUnset(t.value, s)
		}
	case '[', '{':
		if depth >= maxValueDepth {
			t.value = appendUnset(t.value, s)
			t.skip()
			return
		}
		if t.buf[t.pos] == '[' {
			t.nativeArray(s, depth+1)
		} else {
			t.nativeMap(depth + 1)
		}
	default:
		t.literal(t.word(), s)
	}
}

// nativeOfOne makes t.value the text of the value that comes next, which may be alone in
// a list.
func (t *jsonText) nativeOfOne() {
	t.value = t.value[:0]
	start := t.pos
	if t.peek() == '[' {
		t.pos++
		if t.peek() != ']' {
			if t.native(plain, 0); t.why != "" || t.peek() == ']' {
				t.pos++
				return
			}
		}
		t.value, t.pos = t.value[:0], start
	}
	t.native(plain, 0)
}

// literal appends a number or a truth value.
func (t *jsonText) literal(text []byte, s style) {
	switch {
	case string(text) == "true" || string(text) == "false":
		t.value = append(t.value, text...)
	case bytes.ContainsAny(text, ".eE"):
		t.double(text, s)
	default:
		t.integer(text, s)
	}
}

func (t *jsonText) nativeArray(s style, depth int) {
	t.value = appendOpen(t.value, s)
	t.pos++
	for first := true; t.more(']', first); first = false {
		if !first {
			t.value = append(t.value, ',')
		}
		t.native(s.inside(), depth)
	}
	t.value = appendClose(t.value, s)
}

func (t *jsonText) nativeMap(depth int) {
	t.value = append(t.value, '{')
	t.pos++
	for first := true; t.more('}', first); first = false {
		if !first {
			t.value = append(t.value, ',')
		}
		t.value = append(appendQuoted(t.value, valid(t.key())), ':')
		if t.why == "" {
			t.native(asJSON, depth)
		}
	}
	t.value = append(t.value, '}')
}

// nativeAttribute reads or skips the JSON value of an attribute.
func (t *jsonText) nativeAttribute(key []byte, resource bool) {
	name, kept := t.want(key, resource)
	if !kept {
		t.skip()
		return
	}
	t.nativeValue(name, resource)
}

// nativeValue reads the JSON value of an attribute that is kept.
func (t *jsonText) nativeValue(name string, resource bool) {
	t.value = t.value[:0]
	t.native(plain, 0)
	if t.why == "" {
		t.put(name, resource)
	}
}

// nativeAttributes reads an object whose members are attributes.
func (t *jsonText) nativeAttributes(resource bool) {
	t.object(func(key []byte) { t.nativeAttribute(key, resource) })
}

// object calls member for each key of an object, which must consume the value.
// A null is an empty object.
func (t *jsonText) object(member func(key []byte)) {
	if !t.open('{') {
		return
	}
	for first := true; t.more('}', first); first = false {
		if key := t.key(); t.why == "" {
			member(key)
		}
	}
}

// only reads one member of an object, if it is there, and skips the others.
func (t *jsonText) only(name string, read func()) {
	t.object(func(key []byte) {
		if string(key) == name {
			read()
		} else {
			t.skip()
		}
	})
}

// list calls element for each element of an array, which must consume it. A
// null is an empty array.
func (t *jsonText) list(element func()) {
	if !t.open('[') {
		return
	}
	for first := true; t.more(']', first); first = false {
		element()
	}
}

// listOrOne is list, where a single element may stand for a list of one.
func (t *jsonText) listOrOne(element func()) {
	if c := t.peek(); c == '[' || c == 'n' {
		t.list(element)
	} else {
		element()
	}
}

// skipTo remembers where the next value is and skips it.
func (t *jsonText) skipTo() (at int) {
	t.peek()
	at = t.pos
	t.skip()
	return at
}

// readAt reads the value at the index and comes back.
func (t *jsonText) readAt(at int, read func()) {
	if at == 0 || t.why != "" {
		return // 0 is never the index of a member's value
	}
	back := t.pos
	t.pos = at
	read()
	t.pos = back
}

// serviceName makes the text the service of the resource being decoded.
func (t *jsonText) serviceName(text []byte) {
	if t.why == "" && len(text) > 0 {
		t.field(serviceKey, text, true)
	}
}

// field stores an attribute that the form has a field for.
func (t *jsonText) field(key string, text []byte, resource bool) {
	t.value = append(t.value[:0], text...)
	if name, kept := t.want([]byte(key), resource); kept {
		t.put(name, resource)
	}
}

// alone reads a span that is an object of its own, with its resource in it.
func (t *jsonText) alone(start int, fields func(*jsonText, *record)) (read bool) {
	t.pos = start
	t.owner.reset()
	r := t.begin(fields)
	if r == nil {
		return false
	}
	if r.trace == (TraceID{}) {
		r.trace = t.around.trace
	}
	r.span.Resource = t.resource()
	if own := r.span.Resource; t.around.resource != nil && own.Service == "" && len(own.Attrs) == 0 {
		r.span.Resource = t.around.resource
	}
	t.found[t.index].spans++
	return true
}

// begin reads a span at t.pos and returns its record, to which the resource is
// yet to be given, or nil if it cannot be read. That costs the span only. A
// null is no span.
func (t *jsonText) begin(fields func(*jsonText, *record)) *record {
	c := t.peek()
	if c == 'n' && t.null() {
		return nil
	}
	start := t.pos
	r := t.start(t.offsetOf(start))
	if c != '{' {
		t.unexpected("want an object")
	} else if fields(t, r); t.why == "" {
		t.saved = max(t.saved, t.pos)
		return r
	}
	t.drop()
	if t.why != endOfInput {
		t.badSpan(start)
	}
	return nil
}

// parent reads the id of a parent, which ends here. As good as none it would make a root.
func (t *jsonText) parent(dst, text []byte) {
	if t.why == "" && !t.idOrLabel(dst, text, t.offset()) {
		t.fail("malformed parent span id")
	}
}

// scaled reads a number, which may have a fraction, times ten to the power: 3
// for microseconds in nanoseconds. It reports false for what is no number or
// does not fit.
func scaled(text []byte, power byte) (v int64, ok bool) {
	var room [40]byte
	scale := uint64(1)
	if len(text) > len(room)-2 || bytes.ContainsAny(text, "eE") {
		for range power {
			scale *= 10
		}
	} else {
		text = append(append(room[:0], text...), 'e', '0'+power)
	}
	n, negative, ok := parseInteger(text)
	if !ok || n > math.MaxInt64/scale {
		return 0, false
	}
	return signed(n*scale, negative), true
}

func signed(n uint64, negative bool) int64 {
	if negative {
		return -int64(n)
	}
	return int64(n)
}

// A clock puts the times of a span together where a form gives a start and a
// duration. Values are in nanoseconds.
type clock struct {
	start    int64 // 0: none
	end      int64 // 0: none
	duration int64
	lasts    bool // whether there is a duration
}

// micros and nanos read a number in that unit; no text is no time.
func (t *jsonText) micros() (v int64, some bool) { return t.amount(3) }
func (t *jsonText) nanos() (v int64, some bool)  { return t.amount(0) }

func (t *jsonText) amount(power byte) (v int64, some bool) {
	text := t.word()
	if t.why != "" || len(text) == 0 {
		return 0, false
	}
	v, ok := scaled(text, power)
	if !ok {
		t.fail("malformed time")
	}
	return v, ok
}

// timespan reads a number times ten to the power, or one with a unit, as Go writes it.
func (t *jsonText) timespan(power byte) (v int64, some bool) {
	text := t.word()
	if len(text) == 0 {
		return 0, false
	}
	v, ok := scaled(text, power)
	if !ok {
		d, err := time.ParseDuration(string(text))
		v, ok = int64(d), err == nil
	}
	if !ok {
		t.fail("malformed duration")
	}
	return v, ok
}

// times are what finish takes. An end before 1970 is none.
func (c clock) times() (start, end uint64) {
	begin := max(c.start, 0)
	if c.end > 0 {
		return uint64(begin), uint64(c.end)
	}
	if !c.lasts || begin == 0 {
		return uint64(begin), 0
	}
	if c.duration > 0 && begin > math.MaxInt64-c.duration {
		return uint64(begin), 0
	}
	return uint64(begin), uint64(max(begin+c.duration, 1))
}

// instant reads a point in time: RFC 3339, with a space in place of the T, without the
// colon in the zone, and without a zone as well, which is then UTC, or a number (sinceEpoch). A time
// before 1970, like Go's zero time, is none.
func instant(text []byte) (ns int64, ok bool) {
	if len(text) == 0 {
		return 0, true
	}
	var room [40]byte
	if len(text) < len(room) && len(text) > 10 && text[10] == ' ' {
		text = append(room[:0], text...)
		text[10] = 'T'
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05.999999999-0700"} {
		if err != nil {
			at, err = time.Parse(layout, string(text))
		}
	}
	if err != nil {
		return sinceEpoch(text)
	}
	if at.Year() < 1970 || at.Year() >= 2262 {
		return 0, true
	}
	return at.UnixNano(), true
}

// sinceEpoch reads seconds, milliseconds, microseconds or nanoseconds since 1970. From
// 1973 to 5138 a number is of that magnitude in one of the units only.
func sinceEpoch(text []byte) (ns int64, ok bool) {
	n, ok := scaled(text, 0)
	switch {
	case !ok:
		return 0, false
	case n < 1e11:
		return scaled(text, 9)
	case n < 1e14:
		return scaled(text, 6)
	case n < 1e17:
		return scaled(text, 3)
	}
	return n, true
}

func (t *jsonText) instant() int64 {
	ns, ok := instant(t.word())
	if !ok {
		t.fail("malformed time")
	}
	return ns
}

// wordOrList consumes a list, as it is written, or a word.
func (t *jsonText) wordOrList() []byte {
	if t.peek() != '[' {
		return t.word()
	}
	from := t.pos
	t.skip()
	return t.buf[from:t.pos]
}

// An eventForm names the members of an event in a form, and reads its time and
// attributes. Without a read, all other members are attributes.
type eventForm struct {
	name, time, attributes string
	at                     func(text []byte) (ns int64, ok bool)
	read                   func(t *jsonText)
}

// eventsOf reads an array of events. A time that cannot be read is as good as
// none: it is not worth the span.
func (t *jsonText) eventsOf(form *eventForm) {
	if t.events == nil {
		t.skip()
		return
	}
	t.list(func() {
		name, kept := t.wantEvent(nil)
		at, attributes := int64(0), 0
		var others []leaf
		t.object(func(key []byte) {
			switch {
			case string(key) == form.name:
				name, kept = t.wantEvent(t.text())
			case string(key) == form.time:
				at, _ = form.at(t.wordOrList())
			case form.read == nil:
				others = append(others, leaf{string(key), t.skipTo()})
			case string(key) == form.attributes:
				attributes = t.skipTo()
			default:
				t.skip()
			}
		})
		if !kept || t.why != "" {
			return
		}
		from := len(t.held)
		t.readAt(attributes, func() { form.read(t) })
		for _, a := range others {
			t.readAt(a.at, func() { t.nativeAttribute([]byte(a.path), false) })
		}
		t.putEvent(name, uint64(max(at, 0)), from)
	})
}

// contextOf reads the ids of an object, whatever its form calls them.
func (t *jsonText) contextOf(trace, span []byte) {
	t.object(func(key []byte) {
		switch string(key) {
		case "TraceID", "TraceId", "traceID", "traceId", "trace_id", "link_trace_id":
			t.id(trace)
		case "SpanID", "SpanId", "spanID", "spanId", "span_id", "link_span_id":
			t.id(span)
		default:
			t.skip()
		}
	})
}

// linkOf reads a link.
func (t *jsonText) linkOf() {
	var l Link
	t.contextOf(l.TraceID[:], l.SpanID[:])
	if t.links && t.why == "" {
		t.putLink(l)
	}
}
