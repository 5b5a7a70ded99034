package ingest

import "slices"

// A value may be longer than what is held in memory: one object around all spans
// of a day. It is cut between the elements of its outer arrays, where that does
// not change what they mean, and each piece is given what it stood in:
//
//	{"resourceSpans":[{"resource":R,"scopeSpans":[{"scope":S,"spans":[a,b,c,d]}]}]}
//
// is read as
//
//	{"resourceSpans":[{"resource":R,"scopeSpans":[{"scope":S,"spans":[a,b]}]}]}
//	{"resourceSpans":[{"resource":R,"scopeSpans":[{"scope":S,"spans":[c,d]}]}]}
//
// Where the resource, or the scope, comes after the array that it is for, nobody
// can know it in time: such an array is not cut.

// A level says what an object or an array of a long value is.
type level uint8

const (
	opaque       level = iota // not looked into
	outermost                 // the object at the top, or one in an envelope
	envelope                  // an array of those
	resourceList              // array of ResourceSpans
	resourceItem
	scopeList // array of ScopeSpans
	scopeItem
	spanList
)

// maxOpen is how long what a piece stood in may be, in bytes.
const maxOpen = 1 << 20

// An opening is an object or an array that is open.
type opening struct {
	level level
	array bool
	key   []byte // object: of the member that is open, in its quotes
	kept  []byte // object: the member that the spans in it need: "resource":{…}
	last  int    // array: index of the last comma, 0: none
}

// element returns what a value is that is an element of the array, or the member
// of the object. A bare ResourceSpans has its members at the top.
func (o *opening) element(bracket byte) level {
	array := bracket == '['
	if o.array {
		switch {
		case array:
			return opaque
		case o.level == envelope:
			return outermost
		case o.level == resourceList:
			return resourceItem
		case o.level == scopeList:
			return scopeItem
		}
		return opaque
	}
	key := string(o.key[1 : len(o.key)-1])
	switch {
	case o.level == outermost && array && (key == "resourceSpans" || key == "resource_spans" || key == "batches"):
		return resourceList
	case o.level == outermost && (key == "data" || key == "result" || key == "trace" || key == "hits" || key == "responses"):
		if array {
			return envelope
		}
		return outermost
	case (o.level == outermost || o.level == resourceItem) && array && o.kept != nil && (key == "scopeSpans" || key == "scope_spans"):
		return scopeList
	case o.level == scopeItem && array && o.kept != nil && key == "spans":
		return spanList
	}
	return opaque
}

// keeps reports whether what lies in the object needs the member.
func (o *opening) keeps() bool {
	switch o.level {
	case outermost, resourceItem:
		return string(o.key) == `"resource"`
	case scopeItem:
		return string(o.key) == `"scope"`
	}
	return false
}

// A stretch looks for the place to cut a value that is not whole.
type stretch struct {
	jsonScanner
	open []opening
}

// find looks at a text that begins with a value, fillers before it. It returns
// the index of the comma to cut at, and what closes the piece before it and opens
// the one after it. If the value has an end, it returns the index of that, and
// neither. It returns 0 if there is no place.
func (s *stretch) find(buf []byte) (at int, closing, opening []byte) {
	s.buf, s.pos, s.why, s.open = buf, 0, "", s.open[:0]
	for s.pos < len(buf) && (isFiller(buf[s.pos]) || buf[s.pos] >= 0x80) { // of a byte order mark
		s.pos++
	}
	if s.pos == len(buf) || buf[s.pos] != '{' {
		return 0, nil, nil
	}
	s.push(outermost)
	for s.why == "" && len(s.open) > 0 {
		s.step()
	}
	if s.why == "" {
		return s.pos, nil, nil
	}
	if s.why != endOfInput {
		return 0, nil, nil
	}
	return s.place()
}

func (s *stretch) push(l level) {
	s.open = append(s.open, opening{level: l, array: s.buf[s.pos] == '['})
	s.pos++
}

// step goes on by one element, member or bracket.
func (s *stretch) step() {
	o := &s.open[len(s.open)-1]
	switch c := s.peek(); {
	case c == ',':
		if o.array {
			o.last = s.pos
		}
		s.pos++
	case c == ']' && o.array, c == '}' && !o.array:
		s.open = s.open[:len(s.open)-1]
		s.pos++
	case o.array:
		s.value(o)
	default:
		from := s.pos
		if key := s.key(); s.why != "" {
			return
		} else {
			o.key = slices.Concat([]byte{'"'}, key, []byte{'"'})
		}
		if keeps := o.keeps(); s.value(o) && keeps {
			o.kept = s.buf[from:s.pos]
		}
	}
}

// value consumes a value, or opens it and reports false.
func (s *stretch) value(o *opening) bool {
	if c := s.peek(); c == '{' || c == '[' {
		if l := o.element(c); l != opaque && len(s.open) < 4*maxEnvelopes {
			s.push(l)
			return false
		}
	}
	return s.skip()
}

// place chooses the last comma between elements.
func (s *stretch) place() (at int, closing, opening []byte) {
	best := -1
	for i, o := range s.open {
		if o.last > at {
			at, best = o.last, i
		}
	}
	if best < 0 {
		return 0, nil, nil
	}
	for _, o := range s.open[:best+1] {
		if o.array {
			opening = append(opening, '[')
			closing = append(closing, ']')
			continue
		}
		opening = append(opening, '{')
		if o.kept != nil {
			opening = append(append(opening, o.kept...), ',')
		}
		opening = append(append(opening, o.key...), ':')
		closing = append(closing, '}')
	}
	if len(opening) > maxOpen {
		return 0, nil, nil
	}
	slices.Reverse(closing)
	return at, closing, opening
}
