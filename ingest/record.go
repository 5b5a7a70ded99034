package ingest

import (
	"encoding/binary"
	"time"
	"unsafe"
)

// A record is a span on its way to its trace. Its times count from 1970.
type record struct {
	trace TraceID
	span  Span
}

// A compact record is what waits until its trace is whole: a third of a record,
// since what spans have in common is kept once. It holds no pointer, so the
// garbage collector never looks into it, which was a quarter of the time of
// reading. Workers decode into a few records that stay in the cache, and pack
// them after each message.
type compact struct {
	trace                     TraceID
	id, parentID              SpanID
	start, end                time.Duration
	position                  int64
	name, attrs, origin, rare uint32 // indexes in the packer
	at                        int32  // index of the trace among those of the partition, see group
	kind                      Kind
	status                    Status
	defect                    Defect
	followsFrom               bool
}

// An origin is what the spans of one exporter have in common.
type origin struct {
	file     string
	scope    string
	resource *Resource
}

// A rare is what most spans do not have.
type rare struct {
	statusText, traceState string
	events                 []Event
	links                  []Link
}

// A packer packs records. It keeps those of a partition together, which lets
// partitions be grouped in parallel, each with an index that fits the cache.
type packer struct {
	parts [partitions + 1][]run

	names   []string
	attrs   [][]Attr
	origins []origin
	rares   []rare // the first is empty

	// Where a name and a list of attributes was put lately, by its address:
	// equal ones of one sink nearly always lie at one. The value is the index.
	nameAt, attrsAt [1 << 10]uint32
	originAt        map[origin]uint32
	lastOrigin      uint32
	lastRare        uint32 // the last without events and links
}

// A run is some records of one packer.
type run struct {
	*packer
	records []compact
}

const (
	// partitions is by how many parts traces are grouped. Spans without a
	// trace id lie in one more.
	partitions = 64
	// runLength is how many records lie in one run at most.
	runLength = 512
)

func newPacker() *packer {
	return &packer{names: []string{""}, attrs: [][]Attr{nil}, rares: make([]rare, 1), originAt: make(map[origin]uint32)}
}

// partition mixes all bytes: ids may be time-stamps in front and zeros behind.
func (id *TraceID) partition() int {
	a, b := id.halves()
	if a|b == 0 {
		return partitions
	}
	return int(mix(a, b) >> 58)
}

// halves returns the id as two numbers.
func (id *TraceID) halves() (uint64, uint64) {
	return binary.LittleEndian.Uint64(id[:8]), binary.LittleEndian.Uint64(id[8:])
}

func (p *packer) add(r *record) {
	runs := &p.parts[r.trace.partition()]
	last := len(*runs) - 1
	if last < 0 || len((*runs)[last].records) == cap((*runs)[last].records) {
		size := 16
		if last >= 0 {
			size = min(runLength, 2*cap((*runs)[last].records))
		}
		*runs = append(*runs, run{p, make([]compact, 0, size)})
		last++
	}
	s, to := &r.span, &(*runs)[last]
	to.records = append(to.records, compact{
		trace: r.trace, id: s.ID, parentID: s.ParentID, start: s.Start, end: s.End, position: s.Position,
		name: p.name(s.Name), attrs: p.list(s.Attrs), origin: p.originOf(s), rare: p.rareOf(s),
		kind: s.Kind, status: s.Status, defect: s.Defect, followsFrom: s.FollowsFrom,
	})
}

func (p *packer) name(name string) uint32 {
	if name == "" {
		return 0
	}
	address := unsafe.StringData(name)
	slot := &p.nameAt[mix(uint64(uintptr(unsafe.Pointer(address))), 0)%uint64(len(p.nameAt))]
	if have := p.names[*slot]; unsafe.StringData(have) != address || len(have) != len(name) {
		*slot = uint32(len(p.names))
		p.names = append(p.names, name)
	}
	return *slot
}

func (p *packer) list(attrs []Attr) uint32 {
	if len(attrs) == 0 {
		return 0
	}
	address := unsafe.SliceData(attrs)
	slot := &p.attrsAt[mix(uint64(uintptr(unsafe.Pointer(address))), 0)%uint64(len(p.attrsAt))]
	if have := p.attrs[*slot]; unsafe.SliceData(have) != address || len(have) != len(attrs) {
		*slot = uint32(len(p.attrs))
		p.attrs = append(p.attrs, attrs)
	}
	return *slot
}

func (p *packer) originOf(s *Span) uint32 {
	if len(p.origins) > 0 {
		if o := &p.origins[p.lastOrigin]; o.resource == s.Resource && o.scope == s.Scope && o.file == s.File {
			return p.lastOrigin
		}
	}
	key := origin{file: s.File, scope: s.Scope, resource: s.Resource}
	at, ok := p.originAt[key]
	if !ok {
		at = uint32(len(p.origins))
		p.origins = append(p.origins, key)
		p.originAt[key] = at
	}
	p.lastOrigin = at
	return at
}

func (p *packer) rareOf(s *Span) uint32 {
	if s.StatusText == "" && s.TraceState == "" && s.Events == nil && s.Links == nil {
		return 0
	}
	alone := s.Events != nil || s.Links != nil
	if last := &p.rares[p.lastRare]; !alone && last.statusText == s.StatusText && last.traceState == s.TraceState {
		return p.lastRare
	}
	at := uint32(len(p.rares))
	p.rares = append(p.rares, rare{statusText: s.StatusText, traceState: s.TraceState, events: s.Events, links: s.Links})
	if !alone {
		p.lastRare = at
	}
	return at
}

// unpack fills in the span, which is zero.
func (p *packer) unpack(r *compact, s *Span) {
	s.ID, s.ParentID = r.id, r.parentID
	s.Parent, s.Kind, s.Status, s.Defect, s.FollowsFrom = -1, r.kind, r.status, r.defect, r.followsFrom
	s.Start, s.End, s.Position = r.start, r.end, r.position
	s.Name, s.Attrs = p.names[r.name], p.attrs[r.attrs]
	o := &p.origins[r.origin]
	s.Scope, s.Resource, s.File = o.scope, o.resource, o.file
	if r.rare != 0 {
		s.StatusText, s.TraceState, s.Events, s.Links = p.rares[r.rare].statusText, p.rares[r.rare].traceState, p.rares[r.rare].events, p.rares[r.rare].links
	}
}
