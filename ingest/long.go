package ingest

import "strconv"

// long consumes a 64-bit number in two halves, as JavaScript's exporters wrote
// it: {"low":1,"high":2}, with "unsigned":true at times. It returns the number
// in decimal.
func (j *jsonScanner) long() []byte {
	j.pos++
	var low, high uint64
	halves, unsigned := 0, false
	for first := true; j.more('}', first); first = false {
		switch string(j.key()) {
		case "low":
			low = j.half()
			halves |= 1
		case "high":
			high = j.half()
			halves |= 2
		case "unsigned":
			unsigned = string(j.literal()) == "true"
		default:
			j.fail("want a number or a string")
		}
	}
	if j.why != "" || halves != 3 {
		j.fail("want a number or a string")
		return nil
	}
	v := high<<32 | low
	if unsigned {
		j.str = strconv.AppendUint(j.str[:0], v, 10)
	} else {
		j.str = strconv.AppendInt(j.str[:0], int64(v), 10)
	}
	return j.str
}

// half consumes 32 bits, which may be signed.
func (j *jsonScanner) half() uint64 {
	text := j.literal()
	v, negative, ok := parseInteger(text)
	if !ok && j.why == "" {
		j.fail("want a number")
	}
	if negative {
		v = -v
	}
	return v & 0xffff_ffff
}

// literal consumes a word that is no object, so that nothing recurses.
func (j *jsonScanner) literal() []byte {
	if j.peek() == '{' {
		j.fail("want a number or a string")
		return nil
	}
	return j.word()
}
