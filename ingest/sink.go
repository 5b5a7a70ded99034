package ingest

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
	"unsafe"
)

// A sink takes what one worker finds: spans, and notes about what is none.
// All decoders end in it.
type sink struct {
	keep      *keeper
	events    *keeper // of event names; nil: none is kept
	links     bool    // whether links are kept
	resources *resources
	cache     *texts

	file  string // of the unit being decoded
	index int    // of that file

	records []record // since the last flush
	packer  *packer  // of all before
	packing bool     // records are packed as soon as they can be, see complete
	watch   string   // see Options.Watch; "": seen, or not asked for
	watched bool
	notes   Notes
	found   []found // by file

	held []heldAttr // attributes of the spans in records as they came, and behind them those of the event being decoded
	lent []byte     // values in held that are lentOut

	seenProto, seenJSON seen
	shapes              *shapes
	value               []byte // text of the value being decoded
	keys                keyLists
	moment              []Event // events of the span being decoded
	linked              []Link  // links of the span being decoded
	owner               owner   // the resource being decoded
}

// A heldAttr is an attribute of a span, or of an event.
type heldAttr struct {
	Attr
	ref uint32 // number of the value in the table of the packer; 0: not known; or lentOut
}

// lentOut is the ref of a value that lies in sink.lent, which others will lie in
// after the next flush. It is for values that may be one of a kind.
const lentOut = math.MaxUint32

// found counts what was found in one file.
type found struct {
	spans int64
	other int64  // objects of other signals
	odd   string // what the first thing was that is no dump, of those that say the most; "" if nothing
	oddAt int64
	says  says // how much odd says

	lists  int   // brackets of lists around values that were opened, less those closed
	ends   int64 // offset at which a text ends, of the last
	cutOff bool  // the input ended in the middle of something

	refused string // why nothing was decoded; "" if something was
}

// says is how much the words for something odd say. What says more counts more
// than what came before.
type says uint8

const (
	saysNothing says = iota // JSON of no known form
	saysWhat                // what is wrong, or what it is
	saysForm                // which text for people holds the spans
)

// An owner is a resource that is being put together.
type owner struct {
	service string
	attrs   []Attr
	key     []byte
}

func newSink(o Options, shared *resources, to *Spooler, files int) *sink {
	s := &sink{keep: newKeeper(o.Keep), links: o.Links, watch: o.Watch, resources: shared, packer: newPacker(to, shared, o.Loose), cache: newTexts(), shapes: new(shapes), found: make([]found, files)}
	if len(o.Events) > 0 {
		s.events = newKeeper(o.Events)
	}
	s.keys.keep = s.keep
	s.seenProto, s.seenJSON = make(seen, len(s.keep.names)), make(seen, len(s.keep.names))
	return s
}

// complete is called when nothing more is to be learnt about the records: behind
// each resource. They are packed while the processor still has them at hand.
func (s *sink) complete() {
	if s.packing {
		s.flush()
	}
}

// flush packs the records. It is called between resources only: decoders reach
// back into s.records.
func (s *sink) flush() {
	defer s.clear()
	for i := range s.records {
		r := &s.records[i]
		if s.watch != "" && strings.HasPrefix(r.span.Name, s.watch) {
			s.watch, s.watched = "", true
		}
		if r.trace.isPadded() {
			s.notes.Add(PaddedID, Place{File: r.span.File, Position: r.span.Position, Trace: r.trace, Span: r.span.ID})
		}
		if s.packer.add(r, s.held[r.from:r.to]) != nil {
			return // the spooler knows why
		}
	}
}

// clear gives up the records.
func (s *sink) clear() {
	s.cache.cut = 0 // of what turned out to be no span
	s.records, s.held, s.lent = s.records[:0], s.held[:0], s.lent[:0]
}

// unreadable notes n bytes at the offset that are no span.
func (s *sink) unreadable(at, n int64, why string) {
	s.notUsed(at, n, why)
	s.oddBy(at, why)
}

// notUsed is unreadable where the error message has words of its own.
func (s *sink) notUsed(at, n int64, why string) {
	s.notes.Merge(Note{Code: Unreadable, Count: 1, Bytes: n, Text: why, Example: Place{File: s.file, Position: at}})
}

// oddBy remembers why there are no spans at the offset.
func (s *sink) oddBy(at int64, why string) {
	if s.isOddest(at, saysWhat) {
		s.odd(at, oddText(at, why))
	}
}

func oddText(at int64, why string) string { return "at " + strconv.FormatInt(at, 10) + ": " + why }

// badID notes an id that cannot be read: its span has none.
func (s *sink) badID(at int64, id string) { s.idNote(BadID, at, id) }

func (s *sink) idNote(code Code, at int64, id string) {
	s.notes.Merge(Note{Code: code, Count: 1, Text: strconv.Quote(id), Example: Place{File: s.file, Position: at}})
}

// idOrLabel reads an id or a label, which stands at the offset, and notes a label.
func (s *sink) idOrLabel(dst, text []byte, at int64) bool {
	if parseID(dst, text) {
		return true
	}
	if !parseLabel(dst, text) {
		return false
	}
	s.idNote(LabelID, at, string(text))
	return true
}

// cutOff notes that the input ended n bytes after the offset, in the middle of
// something.
func (s *sink) cutOff(at, n int64, why string) {
	s.notes.Merge(Note{Code: Truncated, Count: 1, Bytes: n, Text: why, Example: Place{File: s.file, Position: at}})
	s.found[s.index].cutOff = true
	s.oddBy(at, why)
}

// otherSignal notes an object of logs, metrics or profiles.
func (s *sink) otherSignal(at int64) {
	s.notes.Add(OtherSignal, Place{File: s.file, Position: at})
	s.found[s.index].other++
}

// odd remembers what a file holds instead of spans, for the error message. The
// first in the file counts, and of several about one place the first told.
func (s *sink) odd(at int64, what string) { s.oddly(at, what, saysWhat) }

func (s *sink) oddly(at int64, what string, much says) {
	if s.isOddest(at, much) {
		f := &s.found[s.index]
		f.odd, f.oddAt, f.says = what, at, much
	}
}

// isOddest reports whether what is odd at the offset would be remembered.
func (s *sink) isOddest(at int64, much says) bool {
	f := &s.found[s.index]
	return f.odd == "" || much > f.says || much == f.says && at < f.oddAt
}

// start appends a record for a span at the offset and returns it. The pointer
// holds until the next call.
func (s *sink) start(at int64) *record {
	n := len(s.records)
	if n == cap(s.records) {
		s.records = slices.Grow(s.records, 1)
	}
	s.records = s.records[:n+1]
	r := &s.records[n]
	*r = record{} // in place: a literal would be built elsewhere and copied
	r.span.Parent, r.span.File, r.span.Position = -1, s.file, at
	r.from = len(s.held)
	s.moment, s.linked = s.moment[:0], s.linked[:0]
	return r
}

// finish completes the record that start returned: attributes, events, links,
// and times from the source, in Unix nanoseconds with 0 for unset.
func (s *sink) finish(r *record, start, end uint64) {
	if s.cache.cut > 0 {
		s.notes.Add(TextCut, Place{File: r.span.File, Position: r.span.Position, Trace: r.trace, Span: r.span.ID})
		s.cache.cut = 0
	}
	r.span.Start, r.span.End, r.span.Defect = times(start, end)
	r.to, r.keys = s.settle(r.from)
	if len(s.moment) > 0 {
		r.span.Events = slices.Clone(s.moment)
	}
	if len(s.linked) > 0 {
		r.span.Links = slices.Clone(s.linked)
	}
}

// wantEvent answers whether an event of the name is to be read.
func (s *sink) wantEvent(name []byte) (string, bool) {
	if s.events == nil {
		return "", false
	}
	return s.events.match(name, s.cache)
}

// noTime is the time of an event for which none was recorded, until the span
// is placed.
const noTime = time.Duration(math.MinInt64)

// putEvent adds an event to the span being decoded. at is in Unix nanoseconds,
// with 0 for unset. The event's attributes are those put since len(s.held) was
// from.
func (s *sink) putEvent(name string, at uint64, from int) {
	held := s.held[from:]
	e := Event{Name: name, At: noTime, Attrs: slices.Grow([]Attr(nil), len(held))}
	for _, a := range held {
		if a.ref == lentOut {
			a.Value = s.cache.get([]byte(a.Value))
		}
		e.Attrs = append(e.Attrs, a.Attr)
	}
	e.Attrs = sortAttrs(e.Attrs)
	if at > 0 && at <= math.MaxInt64 {
		e.At = time.Duration(at)
	}
	s.held = s.held[:from]
	s.moment = append(s.moment, e)
}

// putLink adds a link to the span being decoded.
func (s *sink) putLink(l Link) { s.linked = append(s.linked, l) }

// drop takes back the record that start returned.
func (s *sink) drop() {
	last := len(s.records) - 1
	s.held, s.records, s.cache.cut = s.held[:s.records[last].from], s.records[:last], 0
}

// times turns the recorded times into those of a Span, counted from 1970.
// Values that do not fit 63 bits (the year 2262) cannot be meant: they are
// unset.
//
//	start ---- end      [start, end)
//	0 -------- end      [end, end)      NoStart
//	start ---- 0        [start, start)  NoEnd
//	0 -------- 0        [epoch, epoch)  both; the epoch is known later
//	end ---- start      [start, start)  EndBeforeStart
func times(start, end uint64) (from, to time.Duration, d Defect) {
	if start > math.MaxInt64 {
		start = 0
	}
	if end > math.MaxInt64 {
		end = 0
	}
	switch {
	case start == 0 && end == 0:
		return 0, 0, NoStart | NoEnd
	case start == 0:
		return time.Duration(end), time.Duration(end), NoStart
	case end == 0:
		return time.Duration(start), time.Duration(start), NoEnd
	case end < start:
		return time.Duration(start), time.Duration(start), EndBeforeStart
	}
	return time.Duration(start), time.Duration(end), 0
}

// settle ends the attributes of a span, which were put since len(s.held) was from. It
// returns where they end, and their keys; nil: the keys are not held, and then the
// attributes are sorted, without those that a later one with the same key replaces.
func (s *sink) settle(from int) (to int, keys *keyList) {
	held := s.held[from:]
	if keys = s.keys.find(held); keys != nil && len(keys.order) == len(held) {
		return len(s.held), keys
	}
	slices.SortStableFunc(held, func(a, b heldAttr) int { return cmp.Compare(a.Key, b.Key) })
	held = lastOfEach(held, func(a *heldAttr) string { return a.Key })
	s.held = s.held[:from+len(held)]
	return len(s.held), nil
}

// sortAttrs sorts in place and returns the attributes without those that a
// later one with the same key replaces.
func sortAttrs(attrs []Attr) []Attr {
	if len(attrs) > 16 {
		slices.SortStableFunc(attrs, func(a, b Attr) int { return cmp.Compare(a.Key, b.Key) })
	} else {
		for i := 1; i < len(attrs); i++ {
			for k := i; k > 0 && attrs[k].Key < attrs[k-1].Key; k-- {
				attrs[k], attrs[k-1] = attrs[k-1], attrs[k]
			}
		}
	}
	return lastOfEach(attrs, func(a *Attr) string { return a.Key })
}

// lastOfEach keeps, in place, the last of those beside each other that have one key.
func lastOfEach[T any](list []T, key func(*T) string) []T {
	n := 0
	for i := range list {
		if i+1 < len(list) && key(&list[i+1]) == key(&list[i]) {
			continue
		}
		list[n] = list[i]
		n++
	}
	return list[:n]
}

// resources holds every resource of a dump once, up to maxResources.
type resources struct {
	mu    sync.Mutex
	byKey map[string]*Resource
	held  map[*Resource]struct{}

	packers uint64 // that there are, maxAlike of them at most
}

// packer numbers a packer.
func (s *resources) packer() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.packers
	s.packers = min(n+1, maxAlike)
	return n
}

// maxResources is how many resources are held once for the whole dump. Those
// beyond are one within their trace.
const maxResources = 1 << 16

func newResources() *resources {
	return &resources{byKey: make(map[string]*Resource), held: make(map[*Resource]struct{})}
}

// find is the resource with the key; nil: it is not held.
func (s *resources) find(key []byte) *Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byKey[string(key)]
}

func (s *resources) hold(r *Resource) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.held[r]
	return ok
}

func (o *owner) reset() { o.service, o.attrs = "", o.attrs[:0] }

// identity is the content of the owner, whose attributes are sorted.
func (o *owner) identity() []byte {
	o.key = binary.AppendUvarint(o.key[:0], uint64(len(o.service)))
	o.key = append(o.key, o.service...)
	for _, a := range o.attrs {
		o.key = binary.AppendUvarint(o.key, uint64(len(a.Key)))
		o.key = append(o.key, a.Key...)
		o.key = binary.AppendUvarint(o.key, uint64(len(a.Value)))
		o.key = append(o.key, a.Value...)
	}
	return o.key
}

// resource returns the one Resource with the content of s.owner.
func (s *sink) resource() *Resource {
	o, held := &s.owner, s.resources
	o.attrs = sortAttrs(o.attrs)
	key := o.identity()
	held.mu.Lock()
	defer held.mu.Unlock()
	r := held.byKey[string(key)]
	if r == nil {
		r = &Resource{Service: o.service, Attrs: slices.Clip(slices.Clone(o.attrs))}
		if len(held.byKey) < maxResources {
			held.byKey[string(key)] = r
			held.held[r] = struct{}{}
		}
	}
	return r
}

// forget gives up the records from the index on.
func (s *sink) forget(from int) {
	clear(s.records[from:])
	s.records = s.records[:from]
}

// want answers whether the value of the key is to be read.
func (s *sink) want(key []byte, resource bool) (string, bool) {
	name, kept := s.keep.match(key, s.cache)
	if resource && !kept && string(key) == serviceKey {
		return serviceKey, true
	}
	return name, kept
}

// put stores s.value as the value of an attribute.
func (s *sink) put(name string, resource bool) {
	text := s.cache.get(s.value)
	if !resource {
		s.held = append(s.held, heldAttr{Attr: Attr{name, text}})
		return
	}
	if name == serviceKey {
		s.owner.service = text
		if _, kept := s.keep.match([]byte(serviceKey), s.cache); !kept {
			return
		}
	}
	s.owner.attrs = append(s.owner.attrs, Attr{name, text})
}

// putSeen stores an attribute of the span with a value that was seen lately.
func (s *sink) putSeen(name string, v *seenValue) {
	if v.ref == 0 {
		v.ref = s.packer.number(v.text)
	}
	n := len(s.held)
	if n == cap(s.held) {
		s.held = slices.Grow(s.held, 1)
	}
	s.held = s.held[:n+1]
	a := &s.held[n] // in place, as in start
	a.Key, a.Value, a.ref = name, v.text, v.ref
}

// putText stores an attribute of the span with a value that was not, and is what
// stands there: text, with its hash, encoded as raw.
func (s *sink) putText(name string, v *seenValue, raw, text []byte, hash uint64) {
	if s.cache.isFirst(hash) && utf8.Valid(text) {
		s.held = append(s.held, heldAttr{Attr{name, s.lend(text)}, lentOut})
		return
	}
	known := s.cache.get(text)
	ref := s.packer.number(known)
	v.set(raw, known, ref)
	s.held = append(s.held, heldAttr{Attr{name, known}, ref})
}

// lend copies a text that is not empty to where it stays until the next flush.
func (s *sink) lend(text []byte) string {
	from := len(s.lent)
	if from+len(text) > cap(s.lent) { // the attributes before keep what they have
		s.lent, from = make([]byte, 0, max(1<<12, len(text), min(2*cap(s.lent), 1<<20))), 0
	}
	s.lent = append(s.lent, text...)
	return unsafe.String(&s.lent[from], len(text))
}
