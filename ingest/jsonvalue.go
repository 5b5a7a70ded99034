package ingest

import (
	"encoding/base64"
	"math"
	"strconv"
)

// attributes reads an array of KeyValue, or the plain object that some
// writers put in its place.
func (t *jsonText) attributes(resource bool) {
	if t.peek() == '{' {
		t.pos++
		for first := true; t.more('}', first); first = false {
			name, kept := t.want(t.key(), resource)
			if t.why == "" {
				t.attribute(name, kept, resource)
			}
		}
		return
	}
	if !t.open('[') {
		return
	}
	for first := true; t.more(']', first); first = false {
		if !resource && t.usualAttributes() {
			continue
		}
		if t.open('{') {
			t.keyValue(resource)
		}
	}
}

// attribute reads or skips the value of an attribute.
func (t *jsonText) attribute(name string, kept, resource bool) {
	if !kept {
		t.skip()
		return
	}
	t.value = t.value[:0]
	t.anyValue(0, plain, 0)
	if t.why == "" {
		t.put(name, resource)
	}
}

// keyValue reads a KeyValue after its bracket. The key nearly always comes
// first; where it does not, the object is read twice.
func (t *jsonText) keyValue(resource bool) {
	start := t.pos
	name, kept := "", false
	named, again := false, false
	t.value = t.value[:0]
	for first := true; t.more('}', first); first = false {
		switch string(t.key()) {
		case "key":
			name, kept = t.want(t.text(), resource)
			again = again || named
			named = true
		case "value":
			if kept {
				t.anyValue(0, plain, 0)
			} else {
				again = again || !named
				t.skip()
			}
		default:
			if t.why == "" {
				t.skip()
			}
		}
	}
	if t.why != "" {
		return
	}
	if !named {
		name, kept = t.want(nil, resource)
	}
	if !kept {
		return
	}
	if again || !named {
		t.value = t.value[:0]
		t.rereadValue(start, plain, 0)
	}
	t.put(name, resource)
}

// rereadValue appends the value of the KeyValue at start, now that its key is
// known.
func (t *jsonText) rereadValue(start int, s style, depth int) {
	t.pos = start
	from := len(t.value)
	for first := true; t.more('}', first); first = false {
		if string(t.key()) == "value" {
			t.anyValue(from, s, depth)
		} else {
			t.skip()
		}
	}
	if len(t.value) == from {
		t.value = appendUnset(t.value, s)
	}
}

// anyValue writes the text of an AnyValue to t.value from the index on, or
// leaves that alone if the value says nothing. Of several members the last
// wins, as in protobuf, and a null is none: stores whose rows have a column a
// member write all of them. A bare scalar is taken as it stands.
func (t *jsonText) anyValue(from int, s style, depth int) {
	switch t.peek() {
	case '{':
	case '[':
		t.skip()
		return
	default:
		if text := t.word(); len(text) > 0 {
			t.value = appendText(t.value[:from], text, s)
		}
		return
	}
	if depth >= maxValueDepth {
		t.skip()
		return
	}
	t.pos++
	for first := true; t.more('}', first); first = false {
		kind := string(t.key()) // does not escape: no allocation
		if t.why == "" && t.peek() == 'n' {
			t.null()
			continue
		}
		switch kind {
		case "stringValue", "string_value", "intValue", "int_value", "doubleValue", "double_value",
			"boolValue", "bool_value", "bytesValue", "bytes_value", "arrayValue", "array_value",
			"kvlistValue", "kvlist_value", "stringValueStrindex", "string_value_strindex":
			t.value = t.value[:from]
		}
		switch kind {
		case "stringValue", "string_value":
			t.value = appendText(t.value, t.text(), s)
		case "intValue", "int_value":
			t.integer(t.word(), s)
		case "doubleValue", "double_value":
			t.double(t.word(), s)
		case "boolValue", "bool_value":
			t.boolean(t.word(), s)
		case "bytesValue", "bytes_value":
			t.bytes(s)
		case "arrayValue", "array_value":
			t.array(s, depth+1)
		case "kvlistValue", "kvlist_value":
			t.kvlist(depth + 1)
		default:
			// Among these stringValueStrindex, an index into the dictionary of
			// the profiles signal: no text.
			if t.why == "" && !t.goValue(kind, from, s, depth) {
				t.skip()
			}
		}
	}
}

// nested appends a value inside an array or a map.
func (t *jsonText) nested(s style, depth int) {
	from := len(t.value)
	t.anyValue(from, s, depth)
	if len(t.value) == from {
		t.value = appendUnset(t.value, s)
	}
}

func (t *jsonText) integer(text []byte, s style) {
	v, negative, ok := parseInteger(text)
	switch {
	case len(text) == 0:
		t.value = appendUnset(t.value, s)
	case ok && !negative && v <= math.MaxInt64:
		t.value = appendInt(t.value, int64(v))
	case ok && negative && v <= 1<<63:
		t.value = appendInt(t.value, -int64(v))
	default:
		t.value = appendText(t.value, text, s)
	}
}

func (t *jsonText) double(text []byte, s style) {
	if len(text) == 0 {
		t.value = appendUnset(t.value, s)
		return
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		t.value = appendText(t.value, text, s)
		return
	}
	t.value = appendDouble(t.value, v, s)
}

func (t *jsonText) boolean(text []byte, s style) {
	switch string(text) {
	case "":
		t.value = appendUnset(t.value, s)
	case "true", "false":
		t.value = append(t.value, text...)
	default:
		t.value = appendText(t.value, text, s)
	}
}

func (t *jsonText) bytes(s style) {
	text := t.text()
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		t.value = appendText(t.value, text, s)
		return
	}
	t.value = appendBytes(t.value, raw, s)
}

func (t *jsonText) array(s style, depth int) {
	t.value = appendOpen(t.value, s)
	n := 0
	t.values(func() {
		if n > 0 {
			t.value = append(t.value, ',')
		}
		n++
		t.nested(s.inside(), depth)
	})
	t.value = appendClose(t.value, s)
}

func (t *jsonText) kvlist(depth int) {
	t.value = append(t.value, '{')
	n := 0
	t.values(func() {
		if n > 0 {
			t.value = append(t.value, ',')
		}
		n++
		t.entry(depth)
	})
	t.value = append(t.value, '}')
}

// values calls read at each element of the "values" of an ArrayValue or
// KeyValueList.
func (t *jsonText) values(read func()) {
	if !t.open('{') {
		return
	}
	for first := true; t.more('}', first); first = false {
		if string(t.key()) != "values" {
			if t.why == "" {
				t.skip()
			}
			continue
		}
		if t.open('[') {
			for first := true; t.more(']', first); first = false {
				read()
			}
		}
	}
}

// entry appends one entry of a map: its key, quoted, and its value. It reads
// the entry twice, since the key may come last.
func (t *jsonText) entry(depth int) {
	if !t.open('{') {
		t.value = append(t.value, `"":null`...)
		return
	}
	start, from := t.pos, len(t.value)
	t.value = append(t.value, `"":`...)
	for first := true; t.more('}', first); first = false {
		if string(t.key()) == "key" {
			t.value = append(appendQuoted(t.value[:from], valid(t.text())), ':')
		} else if t.why == "" {
			t.skip()
		}
	}
	if t.why == "" {
		t.rereadValue(start, asJSON, depth)
	}
}
