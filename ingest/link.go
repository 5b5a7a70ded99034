package ingest

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// A linker finds the parents of the spans of a trace, which are in their final
// order.
type linker struct {
	*Trace
	byID   []idAt                // of spans with an id, sorted
	shared map[SpanID]*claimants // ids that several spans have, once asked for
}

// An idAt is an id as a number, which compares in one step, and the index of a
// span that has it.
type idAt struct {
	id uint64
	at int32
}

func compareIDs(a, b idAt) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.at, b.at)) }

// claimants are the spans that share an id, seen as parents.
type claimants struct {
	caller    int32            // first CLIENT or PRODUCER, -1: none
	client    int32            // first CLIENT, -1: none
	any       int32            // SERVER before others, then the first
	byService map[string]int32 // the same among those of a service
}

// link sets Parent of all spans.
//
// Where several spans have the parent's id, a SERVER or CONSUMER belongs to
// the CLIENT or PRODUCER among them, anything else to a span of its own
// service, to the SERVER if there is one. In Zipkin both sides of a call share
// an id: a SERVER is then the child of the CLIENT with its own id.
func (l *linker) link() {
	l.index()
	for i := range l.Spans {
		s := &l.Spans[i]
		if s.Kind == Server && s.ID != (SpanID{}) {
			if c := l.claimants(s.ID); c != nil && c.client >= 0 {
				s.Parent = c.client
				continue
			}
		}
		switch {
		case s.ParentID == (SpanID{}):
		case s.ParentID == s.ID:
			l.note(SelfParent, i, 0)
		default:
			s.Parent = l.parent(s)
			if s.Parent < 0 {
				l.note(Orphan, i, 0)
			}
		}
	}
}

func (l *linker) index() {
	l.byID = slices.Grow(l.byID, len(l.Spans))
	for i := range l.Spans {
		if id := binary.BigEndian.Uint64(l.Spans[i].ID[:]); id != 0 {
			l.byID = append(l.byID, idAt{id, int32(i)})
		}
	}
	slices.SortFunc(l.byID, compareIDs)
}

// find returns the spans with the id, in order.
func (l *linker) find(id SpanID) []idAt {
	want := binary.BigEndian.Uint64(id[:])
	from, _ := slices.BinarySearchFunc(l.byID, idAt{want, 0}, compareIDs)
	to := from
	for to < len(l.byID) && l.byID[to].id == want {
		to++
	}
	return l.byID[from:to]
}

func (l *linker) parent(child *Span) int32 {
	if c, ok := l.shared[child.ParentID]; ok {
		return c.choose(child)
	}
	found := l.find(child.ParentID)
	switch len(found) {
	case 0:
		return -1
	case 1:
		return found[0].at
	}
	return l.claimants(child.ParentID).choose(child)
}

// claimants returns nil if fewer than two spans have the id.
func (l *linker) claimants(id SpanID) *claimants {
	if c, ok := l.shared[id]; ok {
		return c
	}
	found := l.find(id)
	if len(found) < 2 {
		return nil
	}
	c := &claimants{caller: -1, client: -1, any: -1, byService: make(map[string]int32)}
	for _, f := range found {
		at := f.at
		s := &l.Spans[at]
		if c.caller < 0 && (s.Kind == Client || s.Kind == Producer) {
			c.caller = at
		}
		if c.client < 0 && s.Kind == Client {
			c.client = at
		}
		if c.any < 0 || s.Kind == Server && l.Spans[c.any].Kind != Server {
			c.any = at
		}
		have, ok := c.byService[s.Resource.Service]
		if !ok || s.Kind == Server && l.Spans[have].Kind != Server {
			c.byService[s.Resource.Service] = at
		}
	}
	if l.shared == nil {
		l.shared = make(map[SpanID]*claimants)
	}
	l.shared[id] = c
	return c
}

func (c *claimants) choose(child *Span) int32 {
	if (child.Kind == Server || child.Kind == Consumer) && c.caller >= 0 {
		return c.caller
	}
	if at, ok := c.byService[child.Resource.Service]; ok {
		return at
	}
	return c.any
}

// cutCycles cuts the link of the earliest span of each cycle. Every span is
// walked over twice at most.
func (t *Trace) cutCycles() {
	const (
		done = -1
		new  = 0
	)
	walk := make([]int32, len(t.Spans)) // number of the walk that met the span
	for i := range t.Spans {
		number := int32(i + 1)
		at := int32(i)
		for at >= 0 && walk[at] == new {
			walk[at] = number
			at = t.Spans[at].Parent
		}
		if at >= 0 && walk[at] == number {
			first := at
			for on := t.Spans[at].Parent; on != at; on = t.Spans[on].Parent {
				first = min(first, on)
			}
			t.Spans[first].Parent = -1
			t.note(CycleCut, int(first), 0)
		}
		for at := int32(i); at >= 0 && walk[at] == number; at = t.Spans[at].Parent {
			walk[at] = done
		}
	}
}
