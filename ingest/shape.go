package ingest

// A shape is an attribute of a span up to its value, and what is to be done with it.
// Attributes nearly always follow each other as they did before, so each shape
// remembers which came after it, and one comparison stands for finding the end
// of the key and whether it is kept. A head of one form is none of another.
type shape struct {
	head  []byte // as it stands in the input, see set; nil: none
	end   []byte // of protobuf: head without its last byte, the tag of the value, which may stand in front
	kept  bool
	index int        // of the key in keeper.names; -1: kept by prefix, or not at all
	name  string     // the key, if it is kept
	last  *seenValue // its last value that had been seen before; never nil
	next  *shape     // what came after it last; nil: not known

	// JSON:
	kind   byte // first letter of the type of the value
	quoted bool // whether the value is in quotes; the first is part of head

	room [longHead]byte // head lies in it
}

// longHead is how long the head of a shape may be, in bytes.
const longHead = 110

// noValue is no value.
var noValue seenValue

// set makes it the shape of attributes with the key that begin with the head:
//
//	JSON      {"key":"http.route","value":{"stringValue":"
//	protobuf  tag and length of the key, the key, tag of the value
func (s *shape) set(head, key []byte, by *sink) {
	*s = shape{index: by.keep.find(key), last: &noValue}
	s.head = s.room[:copy(s.room[:], head)]
	s.end = s.head[:len(head)-1]
	s.name, s.kept = by.keep.match(key, by.cache)
}

// fits reports whether the text begins with the head, and goes on.
func (s *shape) fits(b []byte) bool {
	return len(s.head) < len(b) && string(b[:len(s.head)]) == string(s.head)
}

// shapes is a cache. A shape lies in its slot or one of the three behind it.
// Where they are taken it replaces another, also as what follows others, which
// is noticed when it is compared.
type shapes struct {
	first shape // its next begins the attributes of a span
	slots [1 << 9]shape
}

// find is the shape with the head; or, if there is none, where it is to be.
func (c *shapes) find(hash uint64, head []byte) (s *shape, known bool) {
	for i := range uint64(4) {
		one := &c.slots[(hash+i)%uint64(len(c.slots))]
		if string(one.head) == string(head) {
			return one, true
		}
		if one.head == nil {
			return one, false
		}
	}
	return &c.slots[hash%uint64(len(c.slots))], false
}
