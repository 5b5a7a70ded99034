package ingest

import "encoding/binary"

// This file reads spans as the JSON marshallers of the collector and of the
// SDKs write them: no white space, ids of full length in hexadecimal, times as
// 19 digits in quotes, keys of attributes before their values. It does what
// otlpjson.go and jsonvalue.go do, and leaves to them whatever is not so,
// member by member; the order of members does not matter. Half of the time of
// a span is saved by it.

// The first eight bytes of members, from behind the quote.
const (
	wordTraceID    = 't' | 'r'<<8 | 'a'<<16 | 'c'<<24 | 'e'<<32 | 'I'<<40 | 'd'<<48 | '"'<<56
	wordSpanID     = 's' | 'p'<<8 | 'a'<<16 | 'n'<<24 | 'I'<<32 | 'd'<<40 | '"'<<48 | ':'<<56
	wordParent     = 'p' | 'a'<<8 | 'r'<<16 | 'e'<<24 | 'n'<<32 | 't'<<40 | 'S'<<48 | 'p'<<56
	wordTraceState = 't' | 'r'<<8 | 'a'<<16 | 'c'<<24 | 'e'<<32 | 'S'<<40 | 't'<<48 | 'a'<<56
	wordStart      = 's' | 't'<<8 | 'a'<<16 | 'r'<<24 | 't'<<32 | 'T'<<40 | 'i'<<48 | 'm'<<56
	wordEnd        = 'e' | 'n'<<8 | 'd'<<16 | 'T'<<24 | 'i'<<32 | 'm'<<40 | 'e'<<48 | 'U'<<56
	wordAttributes = 'a' | 't'<<8 | 't'<<16 | 'r'<<24 | 'i'<<32 | 'b'<<40 | 'u'<<48 | 't'<<56
	wordStatus     = 's' | 't'<<8 | 'a'<<16 | 't'<<24 | 'u'<<32 | 's'<<40 | '"'<<48 | ':'<<56
	wordEvents     = 'e' | 'v'<<8 | 'e'<<16 | 'n'<<24 | 't'<<32 | 's'<<40 | '"'<<48 | ':'<<56
	wordLinks      = 'l' | 'i'<<8 | 'n'<<16 | 'k'<<24 | 's'<<32 | '"'<<40 | ':'<<48 | '['<<56
	wordName       = 'n' | 'a'<<8 | 'm'<<16 | 'e'<<24 | '"'<<32 | ':'<<40 | '"'<<48 // seven
	wordFlags      = 'f' | 'l'<<8 | 'a'<<16 | 'g'<<24 | 's'<<32 | '"'<<40 | ':'<<48 // seven
	wordKind       = 'k' | 'i'<<8 | 'n'<<16 | 'd'<<24 | '"'<<32 | ':'<<40           // six

	wordPair  = '{' | '"'<<8 | 'k'<<16 | 'e'<<24 | 'y'<<32 | '"'<<40 | ':'<<48 | '"'<<56
	wordValue = '"' | ','<<8 | '"'<<16 | 'v'<<24 | 'a'<<32 | 'l'<<40 | 'u'<<48 | 'e'<<56

	wordString = 's' | 't'<<8 | 'r'<<16 | 'i'<<24 | 'n'<<32 | 'g'<<40 | 'V'<<48 | 'a'<<56
	wordInt    = 'i' | 'n'<<8 | 't'<<16 | 'V'<<24 | 'a'<<32 | 'l'<<40 | 'u'<<48 | 'e'<<56
	wordBool   = 'b' | 'o'<<8 | 'o'<<16 | 'l'<<24 | 'V'<<32 | 'a'<<40 | 'l'<<48 | 'u'<<56
	wordDouble = 'd' | 'o'<<8 | 'u'<<16 | 'b'<<24 | 'l'<<32 | 'e'<<40 | 'V'<<48 | 'a'<<56
)

// usualRoom is how many bytes must be there for a member of fixed length to be
// looked at without checking bounds one by one.
const usualRoom = 64

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// usualFields reads members of a span as long as they have the usual shape,
// beginning at a key. It reports whether it read one; t.pos is then the index
// after it, else it stands where it stood.
func (t *jsonText) usualFields(r *record, start, end *uint64) (some bool) {
	b, at := t.buf, t.pos
	for ; len(b)-at >= usualRoom && b[at] == '"'; at++ {
		m := b[at : at+usualRoom]
		n := 0 // length of the member; 0: not usual
		ok := true
		switch w := word(m[1:]); w {
		case wordTraceID:
			if string(m[9:11]) == `:"` && m[43] == '"' && unhex16(&r.trace, m[11:43]) {
				n = 44
			}
		case wordSpanID:
			if m[9] == '"' && m[26] == '"' && unhex8(&r.span.ID, m[10:26]) {
				n = 27
			}
		case wordParent:
			switch {
			case string(m[9:16]) != `anId":"`:
			case m[16] == '"':
				r.span.ParentID = SpanID{}
				n = 17
			case m[32] == '"' && unhex8(&r.span.ParentID, m[16:32]):
				n = 33
			}
		case wordTraceState:
			if string(m[9:14]) == `te":"` {
				if to := plainText(b, at+14); to < len(b) && b[to] == '"' {
					r.span.TraceState = t.cache.get(b[at+14 : to])
					n = to + 1 - at
				}
			}
		case wordStart:
			if string(m[9:21]) == `eUnixNano":"` && m[40] == '"' {
				if *start, ok = digits19(m[21:40]); ok {
					n = 41
				}
			}
		case wordEnd:
			if string(m[9:19]) == `nixNano":"` && m[38] == '"' {
				if *end, ok = digits19(m[19:38]); ok {
					n = 39
				}
			}
		case wordAttributes:
			if string(m[9:14]) == `es":[` {
				t.pos = at + 13
				if t.attributes(false); t.why != "" {
					return true
				}
				n = t.pos - at
			}
		case wordStatus:
			switch {
			case string(m[9:11]) == "{}":
				n = 11
			case string(m[9:17]) == `{"code":` && m[17]-'0' <= byte(Error) && m[18] == '}':
				r.span.Status = Status(m[17] - '0')
				n = 19
			}
		case wordEvents:
			if string(m[9:11]) == "[]" {
				n = 11
			}
		case wordLinks:
			if m[9] == ']' {
				n = 10
			}
		default:
			switch {
			case w<<8 == wordName<<8:
				if to := plainText(b, at+8); to < len(b) && b[to] == '"' {
					r.span.Name = t.cache.get(b[at+8 : to])
					n = to + 1 - at
				}
			case w<<16 == wordKind<<16:
				if m[7]-'0' <= byte(Consumer) && (m[8] == ',' || m[8] == '}') {
					r.span.Kind = Kind(m[7] - '0')
					n = 8
				}
			case w<<8 == wordFlags<<8:
				for n = 8; n < usualRoom && m[n]-'0' <= 9; n++ {
				}
				if n == 8 || n == usualRoom || m[n] != ',' && m[n] != '}' {
					n = 0
				}
			}
		}
		if n == 0 {
			break
		}
		at += n
		t.pos, some = at, true
		if at >= len(b) || b[at] != ',' {
			break
		}
	}
	return some
}

// usualAttributes reads attributes of a span as long as they have the usual
// shape, beginning at the bracket of one. It reports whether it read one; t.pos
// is then the index after it, else it stands where it stood.
func (t *jsonText) usualAttributes() (some bool) {
	b, at := t.buf, t.pos
	for before := &t.shapes.first; ; at++ {
		s := before.next
		if s == nil || !s.fits(b[at:]) || !s.quoted && b[at+len(s.head)] == '"' {
			if s = t.shape(b[at:]); s == nil {
				break
			}
			before.next = s
		}
		before = s
		from := at + len(s.head)
		to := from
		if s.quoted {
			to = plainText(b, from)
			if len(b)-to < 4 || b[to] != '"' {
				break
			}
			at = to + 1
		} else {
			for to < len(b) && b[to] > ' ' && b[to] != '}' && b[to] != ',' && b[to] != '"' {
				to++
			}
			if len(b)-to < 3 || from == to || b[from] == 'n' || b[from] == '{' || b[from] == '[' {
				break
			}
			at = to
		}
		if b[at] != '}' || b[at+1] != '}' {
			break
		}
		at += 2
		if s.kept {
			t.usualAttribute(s, b[from:to])
		}
		t.pos, some = at, true
		if b[at] != ',' {
			break
		}
	}
	return some
}

// shape finds the shape of the attribute at the beginning of the text, or makes
// it. It returns nil if it is not a usual one.
func (t *jsonText) shape(b []byte) *shape {
	if len(b) < usualRoom || word(b) != wordPair {
		return nil
	}
	to := plainText(b, 8)
	if len(b)-to < usualRoom || word(b[to:]) != wordValue || string(b[to+8:to+12]) != `":{"` {
		return nil
	}
	key, at := b[8:to], to+12
	kind, n := b[at], 0
	switch word(b[at:]) {
	case wordString:
		n = after(b, at+8, `lue":`)
	case wordInt:
		n = after(b, at+8, `":`)
	case wordBool:
		n = after(b, at+8, `e":`)
	case wordDouble:
		n = after(b, at+8, `lue":`)
	}
	if n == 0 {
		return nil
	}
	quoted := b[n] == '"'
	switch {
	case quoted:
		n++
	case kind == 's':
		return nil
	}
	if n > longHead {
		return nil
	}
	s, known := t.shapes.find(hashBytes(key)+uint64(kind), b[:n])
	if !known {
		s.set(b[:n], key, t.sink)
		s.kind, s.quoted = kind, quoted
	}
	return s
}

// after returns the index after the text if it stands at the index, else 0.
func after(b []byte, at int, text string) int {
	if string(b[at:at+len(text)]) != text {
		return 0
	}
	return at + len(text)
}

// usualAttribute puts an attribute that is kept.
func (t *jsonText) usualAttribute(s *shape, value []byte) {
	// The text of most values is what stands there.
	if s.index >= 0 && (s.kind == 's' || s.kind == 'i' && isDecimal(value)) {
		if s.last.is(value) {
			t.putSeen(s.name, s.last)
			return
		}
		hash := hashBytes(value)
		v := t.seenJSON.at(s.index, hash)
		if v.is(value) {
			t.putSeen(s.name, v)
			s.last = v
			return
		} else if len(value) > 0 && len(value) < longText {
			t.putText(s.name, v, value, value, hash)
			return
		}
	}
	t.value = t.value[:0]
	switch s.kind {
	case 's':
		t.value = append(t.value, value...)
	case 'i':
		t.integer(value, plain)
	case 'b':
		t.boolean(value, plain)
	case 'd':
		t.double(value, plain)
	}
	t.put(s.name, false)
}

// isDecimal reports whether the text is a whole number as it is written in
// decimal, within 63 bits.
func isDecimal(text []byte) bool {
	if len(text) == 0 || len(text) > 18 || text[0] == '0' && len(text) > 1 {
		return false
	}
	for _, c := range text {
		if c-'0' > 9 {
			return false
		}
	}
	return true
}

// unhex16 reads 32 hexadecimal digits. It reports false, and may have written,
// if there is anything else.
func unhex16(id *TraceID, text []byte) bool {
	return unhex8((*SpanID)(id[:8]), text[:16]) && unhex8((*SpanID)(id[8:]), text[16:32])
}

// unhex8 reads 16 hexadecimal digits, eight at a time.
func unhex8(id *SpanID, text []byte) bool {
	a, okA := nibbles(word(text))
	b, okB := nibbles(word(text[8:]))
	binary.LittleEndian.PutUint32(id[:4], a)
	binary.LittleEndian.PutUint32(id[4:], b)
	return okA && okB
}

// nibbles reads eight hexadecimal digits at once. A letter has bit 6 set, and
// its low four bits count from 1; what the value would be written as again must
// be what stands there.
func nibbles(w uint64) (v uint32, ok bool) {
	const ones = 0x0101010101010101
	letters := w >> 6 & ones
	n := w&(0x0f*ones) + 9*letters
	again := n + '0'*ones + 39*((n+6*ones)>>4&ones)
	ok = again == w|letters<<5 && n&(0xf0*ones) == 0
	n = (n<<4 | n>>8) & 0x00ff00ff00ff00ff
	n = (n | n>>8) & 0x0000ffff0000ffff
	return uint32(n | n>>16), ok
}

// digits19 reads 19 decimal digits, which may be beyond 63 bits but not 64.
func digits19(text []byte) (v uint64, ok bool) {
	a, okA := digits8(word(text))
	b, okB := digits8(word(text[8:]))
	x, y, z := text[16]-'0', text[17]-'0', text[18]-'0'
	v = a*1e11 + b*1e3 + uint64(x)*100 + uint64(y)*10 + uint64(z)
	return v, okA && okB && x <= 9 && y <= 9 && z <= 9
}

// digits8 reads eight decimal digits at once: pairs of digits, then of pairs,
// then of those.
func digits8(w uint64) (v uint64, ok bool) {
	const ones = 0x0101010101010101
	ok = (w&(0xf0*ones))|(w+6*ones)&(0xf0*ones)>>4 == 0x33*ones
	w -= '0' * ones
	w = w*10 + w>>8
	w = (w&0x000000ff000000ff*(100+1000000<<32) + w>>16&0x000000ff000000ff*(1+10000<<32)) >> 32
	return w, ok
}
