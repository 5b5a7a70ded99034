package ingest

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A record is a span on its way to its trace. Its times count from 1970.
type record struct {
	trace TraceID
	span  Span
}

// A sink takes what one worker finds: spans, and notes about what is none.
// All decoders end in it.
type sink struct {
	keep      *keeper
	resources *resources
	cache     *texts

	file  string // of the unit being decoded
	index int    // of that file

	records []record
	full    [][]record // earlier records, in slices that are not moved any more
	notes   Notes
	found   []found // by file

	attrs []Attr // room for the attributes of spans to come
	value []byte // text of the value being decoded
	span  []Attr // attributes of the span being decoded
	owner owner  // the resource being decoded
}

// found counts what was found in one file.
type found struct {
	spans int64
	other int64  // objects of other signals
	odd   string // what the first thing was that is no dump; "" if nothing
	oddAt int64

	refused string // why nothing was decoded; "" if something was
}

// An owner is a resource that is being put together.
type owner struct {
	service string
	attrs   []Attr
	key     []byte
}

// recordRun is about how many records lie in one slice.
const recordRun = 4096

func newSink(keep *keeper, shared *resources, files int) *sink {
	return &sink{keep: keep, resources: shared, cache: newTexts(), found: make([]found, files)}
}

// flush starts a new slice of records when the current one is long enough. It
// is called between messages only: decoders reach back into s.records.
func (s *sink) flush() {
	if len(s.records) >= recordRun {
		s.full = append(s.full, s.records)
		s.records = make([]record, 0, cap(s.records))
	}
}

// unreadable notes n bytes at the offset that are no span.
func (s *sink) unreadable(at, n int64, why string) {
	s.notes.Merge(Note{Code: Unreadable, Count: 1, Bytes: n, Text: why, Example: Place{File: s.file, Position: at}})
	s.odd(at, "at "+strconv.FormatInt(at, 10)+": "+why)
}

// badID notes an id that cannot be read: its span has none.
func (s *sink) badID(at int64, id string) {
	s.notes.Merge(Note{Code: BadID, Count: 1, Text: strconv.Quote(id), Example: Place{File: s.file, Position: at}})
}

// cutOff notes that the input ended n bytes after the offset, in the middle of
// something.
func (s *sink) cutOff(at, n int64, why string) {
	s.notes.Merge(Note{Code: Truncated, Count: 1, Bytes: n, Text: why, Example: Place{File: s.file, Position: at}})
}

// otherSignal notes an object of logs, metrics or profiles.
func (s *sink) otherSignal(at int64) {
	s.notes.Add(OtherSignal, Place{File: s.file, Position: at})
	s.found[s.index].other++
}

// odd remembers what a file holds instead of spans, for the error message. The
// first in the file counts, and of several about one place the first told.
func (s *sink) odd(at int64, what string) {
	f := &s.found[s.index]
	if f.odd == "" || at < f.oddAt {
		f.odd, f.oddAt = what, at
	}
}

// start appends a record for a span at the offset and returns it. The pointer
// holds until the next call.
func (s *sink) start(at int64) *record {
	s.records = append(s.records, record{span: Span{Parent: -1, File: s.file, Position: at}})
	s.span = s.span[:0]
	return &s.records[len(s.records)-1]
}

// finish completes the record that start returned: attributes, and times from
// the source, in Unix nanoseconds with 0 for unset.
func (s *sink) finish(r *record, start, end uint64) {
	r.span.Start, r.span.End, r.span.Defect = times(start, end)
	r.span.Attrs = s.settle(s.span)
}

// drop takes back the record that start returned.
func (s *sink) drop() { s.records = s.records[:len(s.records)-1] }

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

// settle sorts attributes by key, keeps the last of those with one key, and
// moves them to where they stay.
func (s *sink) settle(attrs []Attr) []Attr {
	attrs = sortAttrs(attrs)
	n := len(attrs)
	if n == 0 {
		return nil
	}
	if len(s.attrs) < n {
		s.attrs = make([]Attr, max(1024, n))
	}
	kept := s.attrs[:n:n]
	s.attrs = s.attrs[n:]
	copy(kept, attrs)
	return kept
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
	n := 0
	for i := range attrs {
		if i+1 < len(attrs) && attrs[i+1].Key == attrs[i].Key {
			continue
		}
		attrs[n] = attrs[i]
		n++
	}
	return attrs[:n]
}

// resources holds every resource of a dump once.
type resources struct {
	mu    sync.Mutex
	byKey map[string]*Resource
}

func newResources() *resources { return &resources{byKey: make(map[string]*Resource)} }

func (o *owner) reset() { o.service, o.attrs = "", o.attrs[:0] }

// resource returns the one Resource with the content of s.owner.
func (s *sink) resource() *Resource {
	o := &s.owner
	o.attrs = sortAttrs(o.attrs)
	o.key = binary.AppendUvarint(o.key[:0], uint64(len(o.service)))
	o.key = append(o.key, o.service...)
	for _, a := range o.attrs {
		o.key = binary.AppendUvarint(o.key, uint64(len(a.Key)))
		o.key = append(o.key, a.Key...)
		o.key = binary.AppendUvarint(o.key, uint64(len(a.Value)))
		o.key = append(o.key, a.Value...)
	}
	s.resources.mu.Lock()
	defer s.resources.mu.Unlock()
	r := s.resources.byKey[string(o.key)]
	if r == nil {
		r = &Resource{Service: o.service, Attrs: slices.Clip(slices.Clone(o.attrs))}
		s.resources.byKey[string(o.key)] = r
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
		s.span = append(s.span, Attr{name, text})
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
