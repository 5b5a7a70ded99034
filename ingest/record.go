package ingest

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// A record is a span on its way to its trace. Its times count from 1970.
type record struct {
	trace TraceID
	span  Span

	// The attributes lie in sink.held until they are packed.
	from, to int
	keys     *keyList // see attrList
}

// An attrList is the attributes of a span, or of an event.
type attrList struct {
	attrs []heldAttr // as they came
	keys  *keyList   // theirs, each of which is there once; nil: attrs are sorted
}

// sorted is the i-th attribute by key.
func (l *attrList) sorted(i int) *heldAttr {
	if l.keys != nil {
		i = int(l.keys.order[i])
	}
	return &l.attrs[i]
}

// A packer writes the records of one worker to the spools of their partitions.
// What records have in common is in the tables of the packer and stands in the
// record as a number: about 50 bytes a span are left, and some 250 where attributes are many
// and never alike. They lie in blocks without a pointer, which the garbage collector never
// looks into.
//
// A packed record is:
//
//	size     uvarint  of what follows
//	trace    16 bytes
//	start    8 bytes  little-endian, Unix nanoseconds
//	id       8 bytes
//	kind     1 byte
//	flags    1 byte   see hasParent; status in the lowest two bits
//	parent   8 bytes  with hasParent
//	length   varint   end - start
//	position uvarint
//	origin   uvarint  2 x number in the table, else 1 and file, scope, resource
//	name     text
//	attrs    list
//	         text, text, events, links: status text and trace state, with hasRare
//
// A text is 2 x its number in the table, else 2 x its length + 1 and its bytes. A
// list of attributes is 0 if empty; else 2 x the number of a like list in the table,
// then how many values differ, the place of each and its text; or 2 x its length + 1
// and a text for each key and value. What is seen for the second time gets into a
// table, as long as there is room: values that are all different never fill it.
type packer struct {
	spools [partitions + 1]*Spool
	tables
	known *resources

	// What was seen lately, by its address: equal texts and lists of one sink
	// nearly always lie at one.
	textAt     [1 << 12]seenText
	likeAt     [1 << 13]likeList
	textRefs   map[string]uint32
	origin     origin // the last
	originRef  uint64
	originAt   map[origin]uint64
	scopes     map[string]uint64 // numbers
	looseKeys  []string
	packed     []byte
	list       attrList // see listOf
	tableBytes int
}

// tables are what numbers in packed records stand for. The first text is empty,
// and so is the first list.
type tables struct {
	number  uint64 // of the packer, less than maxAlike; maxAlike: of one beyond
	texts   []string
	lists   [][]Attr
	loose   []uint64 // by list: which of its values need not be equal in spans that are alike, of the first 64
	origins []origin
}

type seenText struct {
	text string
	ref  uint32 // 0: not in the table
}

// A likeList is the list that stands for those of one operation of one resource:
// most differ from it in a value or two.
type likeList struct {
	name     string
	resource *Resource
	keys     *keyList // nil: not known
	key      string   // the first
	firm     uint64   // see packer.firm
	n        int
	ref      uint64   // of the list; 0: seen once
	refs     []uint32 // of its values, by key; 0 or lentOut: not known
}

// maxDiffers is in how many values a list may differ from the one it is like.
const maxDiffers = 3

// An origin is what the spans of one exporter have in common.
type origin struct {
	file     string
	scope    string
	resource *Resource
	alike    uint64 // number of the scope, from 0
}

const (
	hasParent = 1 << (iota + 2)
	hasRare
	followsFromFlag
	firstDefect // three bits
)

const (
	// partitions is by how many parts traces are grouped. Spans without a
	// trace id lie in one more.
	partitions = 64
	// maxTable is how many entries a table of a packer has, and maxTableBytes how many
	// bytes of text all have together.
	maxTable      = 1 << 16
	maxTableBytes = 8 << 20
	// maxAlike is how many packers there are whose spans may be alike.
	maxAlike = 1 << 15
)

func newPacker(to *Spooler, known *resources, loose []string) *packer {
	p := &packer{tables: tables{number: known.packer(), texts: []string{""}, lists: [][]Attr{nil}, loose: []uint64{0}}, known: known,
		originAt: make(map[origin]uint64), scopes: make(map[string]uint64), textRefs: make(map[string]uint32), looseKeys: loose}
	for i := range p.spools {
		p.spools[i] = to.NewSpool()
	}
	return p
}

// hash mixes all bytes: ids may be time-stamps in front and zeros behind. Traces
// are in the order of it. A span without a trace id is a trace of its own, for
// which its start and id have to do.
func (r *recordKey) hash() uint64 {
	a, b := binary.LittleEndian.Uint64(r.trace[:8]), binary.LittleEndian.Uint64(r.trace[8:])
	if a|b == 0 {
		a, b = uint64(r.start), binary.LittleEndian.Uint64(r.id[:])
	}
	return mix(a, b)
}

// An Order is where a trace stands among all that Store.Part gives: by Part, then Hash,
// then trace id.
//
// Note: summaries of overrun analyze --save are in this order. One that is changed
// changes their version.
type Order struct {
	Part int // in [0, Parts)
	Hash uint64
}

// Parts is how many parts traces come in.
const Parts = partitions + 1

// OrderOf is the place of a trace. Only without a trace id do the start (Unix
// nanoseconds) and the id of its span count.
func OrderOf(trace TraceID, start int64, span SpanID) Order {
	k := recordKey{trace, time.Duration(start), span}
	return Order{k.partition(), k.hash()}
}

// A recordKey is what a packed record begins with.
type recordKey struct {
	trace TraceID
	start time.Duration
	id    SpanID
}

func (r *recordKey) partition() int {
	if r.trace == (TraceID{}) {
		return partitions
	}
	return int(r.hash() >> 58)
}

// add packs a record with its attributes.
func (p *packer) add(r *record, attrs []heldAttr) error {
	s := &r.span
	flags := byte(s.Status) & 3
	flags |= byte(s.Defect) * firstDefect
	if s.ParentID != (SpanID{}) {
		flags |= hasParent
	}
	if s.FollowsFrom {
		flags |= followsFromFlag
	}
	rare := s.StatusText != "" || s.TraceState != "" || s.Events != nil || s.Links != nil
	if rare {
		flags |= hasRare
	}
	const sizeRoom = binary.MaxVarintLen32
	b := append(p.packed[:0], make([]byte, sizeRoom)...)
	b = append(b, r.trace[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(s.Start))
	b = append(b, s.ID[:]...)
	b = append(b, byte(s.Kind), flags)
	if flags&hasParent != 0 {
		b = append(b, s.ParentID[:]...)
	}
	b = binary.AppendVarint(b, int64(s.End-s.Start))
	b = binary.AppendUvarint(b, uint64(s.Position))
	b = p.appendOrigin(b, s)
	b = p.appendText(b, s.Name)
	b = p.appendList(b, &attrList{attrs, r.keys}, s)
	if rare {
		b = p.appendText(b, s.StatusText)
		b = p.appendText(b, s.TraceState)
		b = binary.AppendUvarint(b, uint64(len(s.Events)))
		for i := range s.Events {
			b = p.appendText(b, s.Events[i].Name)
			b = binary.LittleEndian.AppendUint64(b, uint64(s.Events[i].At))
			b = p.appendList(b, p.listOf(s.Events[i].Attrs), s)
		}
		b = binary.AppendUvarint(b, uint64(len(s.Links)))
		for i := range s.Links {
			b = append(append(b, s.Links[i].TraceID[:]...), s.Links[i].SpanID[:]...)
		}
	}
	p.packed = b
	if uint64(len(b)) > math.MaxInt32 { // not while a value is at most 256 MiB
		return nil
	}
	var size [sizeRoom]byte
	n := binary.PutUvarint(size[:], uint64(len(b)-sizeRoom))
	from := sizeRoom - n
	copy(b[from:], size[:n])
	at := recordKey{r.trace, s.Start, s.ID}
	return p.spools[at.partition()].Put(b[from:])
}

// admit reports whether a table of n entries has room for one more, with so many
// bytes of text.
func (p *packer) admit(n, bytes int) bool {
	if n >= maxTable || p.tableBytes+bytes > maxTableBytes {
		return false
	}
	p.tableBytes += bytes
	return true
}

func (p *packer) appendText(b []byte, text string) []byte {
	if text == "" {
		return append(b, 0)
	}
	if at, again := p.lookUp(text); again && p.admitText(at) {
		return binary.AppendUvarint(b, 2*uint64(at.ref))
	}
	return appendInline(b, text)
}

func appendInline(b []byte, text string) []byte {
	b = binary.AppendUvarint(b, 2*uint64(len(text))+1)
	return append(b, text...)
}

// appendValue is appendText where the number may be known.
func (p *packer) appendValue(b []byte, text string, ref uint32) []byte {
	switch ref {
	case 0:
		return p.appendText(b, text)
	case lentOut:
		return appendInline(b, text)
	}
	return binary.AppendUvarint(b, 2*uint64(ref))
}

// lookUp returns where a text is remembered, and whether it was before.
func (p *packer) lookUp(text string) (at *seenText, again bool) {
	address := unsafe.StringData(text)
	at = &p.textAt[mix(uint64(uintptr(unsafe.Pointer(address))), 0)%uint64(len(p.textAt))]
	if unsafe.StringData(at.text) == address && len(at.text) == len(text) {
		return at, true
	}
	*at = seenText{text, p.textRefs[text]} // the same may have lain elsewhere
	return at, at.ref != 0
}

// admitText puts a text into the table, if there is room.
func (p *packer) admitText(at *seenText) bool {
	if at.ref == 0 && p.admit(len(p.texts), len(at.text)) {
		at.ref = uint32(len(p.texts))
		own := strings.Clone(at.text)
		p.texts, p.textRefs[own] = append(p.texts, own), at.ref
	}
	return at.ref != 0
}

// number returns the number of a text that occurred before; 0: it is empty, or
// there is no room.
func (p *packer) number(text string) uint32 {
	if text == "" {
		return 0
	}
	at, _ := p.lookUp(text)
	p.admitText(at)
	return at.ref
}

// appendList writes a list of a span, or of an event of it.
func (p *packer) appendList(b []byte, list *attrList, of *Span) []byte {
	if len(list.attrs) == 0 {
		return append(b, 0)
	}
	like := p.like(list, of, p.firm(list))
	if like == nil {
		like = p.like(list, of, 0)
	}
	if like != nil {
		if like.ref == 0 {
			p.admitList(like, list)
		} else if to, ok := p.appendLike(b, list, like); ok {
			return to
		}
	}
	return p.appendAttrs(b, list)
}

func (p *packer) appendAttrs(b []byte, list *attrList) []byte {
	b = binary.AppendUvarint(b, 2*uint64(len(list.attrs))+1)
	for i := range list.attrs {
		a := list.sorted(i)
		b = p.appendText(b, a.Key)
		b = p.appendValue(b, a.Value, a.ref)
	}
	return b
}

// listOf is a list of sorted attributes, valid until the next.
func (p *packer) listOf(attrs []Attr) *attrList {
	p.list.attrs = p.list.attrs[:0]
	for _, a := range attrs {
		p.list.attrs = append(p.list.attrs, heldAttr{Attr: a})
	}
	return &p.list
}

// firm is a number for the values that a list shares with those of spans that are alike;
// 0: it is not known of one of them what it is.
func (p *packer) firm(list *attrList) uint64 {
	if list.keys == nil {
		return 0
	}
	if !list.keys.asked {
		list.keys.loose, list.keys.asked = p.looseOf(list.attrs), true
	}
	n := uint64(len(list.attrs))
	for i := range list.attrs {
		ref := list.attrs[i].ref
		if list.keys.loose>>i&1 != 0 {
			continue
		}
		if ref == 0 || ref == lentOut {
			return 0
		}
		n = mix(n, uint64(ref))
	}
	return n
}

// like finds what a list is like, and remembers one that is seen for the first
// time; nil: for that there was no room, or it was seen for the first time.
func (p *packer) like(list *attrList, of *Span, firm uint64) *likeList {
	key := likeList{name: of.Name, resource: of.Resource, keys: list.keys, key: list.attrs[0].Key, firm: firm, n: len(list.attrs)}
	at := mix(hashBytes(unsafe.Slice(unsafe.StringData(key.name), len(key.name)))^uint64(key.n)^firm,
		uint64(uintptr(unsafe.Pointer(key.resource)))^uint64(uintptr(unsafe.Pointer(unsafe.StringData(key.key)))))
	for range 8 {
		l := &p.likeAt[at%uint64(len(p.likeAt))]
		if l.n == key.n && l.resource == key.resource && l.keys == key.keys && l.firm == firm && l.key == key.key && l.name == key.name {
			return l
		}
		if l.ref == 0 { // seen once, if at all
			*l = key
			return nil
		}
		at++
	}
	return nil
}

// admitList puts a list into the table, if there is room.
func (p *packer) admitList(like *likeList, list *attrList) {
	if !p.admit(len(p.lists), listBytes(list.attrs)) {
		return
	}
	like.ref, like.refs = uint64(len(p.lists)), make([]uint32, len(list.attrs))
	own, loose := make([]Attr, len(list.attrs)), uint64(0)
	for i := range own {
		a := list.sorted(i)
		// Values may lie among others that nobody else needs. Keys are few.
		own[i], like.refs[i] = Attr{strings.Clone(a.Key), strings.Clone(a.Value)}, a.ref
		loose |= p.looseBit(a.Key, i)
	}
	p.lists, p.loose = append(p.lists, own), append(p.loose, loose)
}

// looseOf says which values of a list, as they came, need not be equal in spans that are
// alike.
func (p *packer) looseOf(list []heldAttr) (loose uint64) {
	for i := range list {
		loose |= p.looseBit(list[i].Key, i)
	}
	return loose
}

// looseBit is the bit of the i-th value of a list, if that is of the first 64 and need
// not be equal.
func (p *packer) looseBit(key string, i int) uint64 {
	if i < 64 && slices.Contains(p.looseKeys, key) {
		return 1 << i
	}
	return 0
}

// appendLike writes a list as what differs from one in the table. ok is false where
// that is too much.
func (p *packer) appendLike(b []byte, list *attrList, like *likeList) (to []byte, ok bool) {
	base := p.lists[like.ref]
	var differ [maxDiffers]int
	n := 0
	for i := range base {
		a := list.sorted(i)
		if a.ref == like.refs[i] && a.ref != 0 && a.ref != lentOut && like.keys != nil {
			continue
		}
		sameKey := like.keys != nil || a.Key == base[i].Key
		if sameKey && a.ref != lentOut && a.Value == base[i].Value {
			if a.ref != 0 {
				like.refs[i] = a.ref
			}
			continue
		}
		if n == maxDiffers || !sameKey || i > math.MaxUint8 {
			return b, false
		}
		differ[n] = i
		n++
	}
	b = binary.AppendUvarint(b, 2*like.ref)
	b = append(b, byte(n))
	for _, i := range differ[:n] {
		b = append(b, byte(i))
		a := list.sorted(i)
		b = p.appendValue(b, a.Value, a.ref)
	}
	return b, true
}

func listBytes(list []heldAttr) (n int) {
	for i := range list {
		n += len(list[i].Value) + int(unsafe.Sizeof(list[i].Attr))
	}
	return n
}

func (p *packer) appendOrigin(b []byte, s *Span) []byte {
	o := origin{file: s.File, scope: s.Scope, resource: s.Resource}
	if o == p.origin && len(p.origins) > 0 {
		return binary.AppendUvarint(b, p.originRef)
	}
	ref, ok := p.originAt[o]
	if !ok && (s.Resource == nil || p.known.hold(s.Resource)) && p.admit(len(p.origins), 0) {
		ref = 2 * uint64(len(p.origins))
		in := o
		if in.alike, ok = p.scopes[o.scope]; !ok {
			in.alike = uint64(len(p.scopes))
			p.scopes[o.scope] = in.alike
		}
		p.origins = append(p.origins, in)
		p.originAt[o] = ref
		ok = true
	}
	if ok {
		p.origin, p.originRef = o, ref
		return binary.AppendUvarint(b, ref)
	}
	b = append(b, 1)
	b = p.appendText(b, s.File)
	b = p.appendText(b, s.Scope)
	if s.Resource == nil {
		return append(b, 0)
	}
	b = append(b, 1)
	b = p.appendText(b, s.Resource.Service)
	return p.appendAttrs(b, p.listOf(s.Resource.Attrs))
}
