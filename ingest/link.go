package ingest

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// A linker finds the parents of the spans of a trace, which are in their final
// order. The next trace may have its memory.
type linker struct {
	*Trace
	byID   []idAt                // open addressing: an id lies in its slot or behind it
	seed   uint64                // of the slots: nobody can choose ids that fall together
	next   []int32               // by span: the next with its id, -1: none
	shared map[SpanID]*claimants // ids that several spans have, once asked for
}

// An idAt is an id as a number, which compares in one step, and the index of the
// first span that has it. The id 0 is none.
type idAt struct {
	id uint64
	at int32
}

// claimants are the spans that share an id, seen as parents.
type claimants struct {
	caller    int32            // first CLIENT or PRODUCER, -1: none
	client    int32            // first CLIENT, -1: none
	any       int32            // SERVER before others, then the first
	byService map[string]int32 // the same among those of a service
}

// link sets Parent of all spans of the trace.
//
// Where several spans have the parent's id, a SERVER or CONSUMER belongs to
// the CLIENT or PRODUCER among them, anything else to a span of its own
// service, to the SERVER if there is one. In Zipkin both sides of a call share
// an id: a SERVER is then the child of the CLIENT with its own id.
func (l *linker) link(t *Trace) {
	l.Trace, l.shared = t, nil
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
	size := 1 << bits.Len(uint(2*len(l.Spans)))
	l.byID = slices.Grow(l.byID[:0], size)[:size]
	clear(l.byID)
	l.next = slices.Grow(l.next[:0], len(l.Spans))[:len(l.Spans)]
	l.seed = rand.Uint64()
	for i := len(l.Spans) - 1; i >= 0; i-- {
		id := l.Spans[i].ID
		if id == (SpanID{}) {
			continue
		}
		slot := l.slot(id)
		l.next[i] = slot.at
		if slot.id == 0 {
			l.next[i] = -1
		}
		*slot = idAt{binary.BigEndian.Uint64(id[:]), int32(i)}
	}
}

// slot returns where an id that is not 0 is, or would be.
func (l *linker) slot(id SpanID) *idAt {
	want := binary.BigEndian.Uint64(id[:])
	for at := mix(want, l.seed); ; at++ {
		if slot := &l.byID[at%uint64(len(l.byID))]; slot.id == want || slot.id == 0 {
			return slot
		}
	}
}

func (l *linker) parent(child *Span) int32 {
	slot := l.slot(child.ParentID)
	switch {
	case slot.id == 0:
		return -1
	case l.next[slot.at] < 0:
		return slot.at
	}
	return l.claimants(child.ParentID).choose(child)
}

// claimants returns nil if fewer than two spans have the id.
func (l *linker) claimants(id SpanID) *claimants {
	slot := l.slot(id)
	if slot.id == 0 || l.next[slot.at] < 0 {
		return nil
	}
	if c, ok := l.shared[id]; ok {
		return c
	}
	c := &claimants{caller: -1, client: -1, any: -1, byService: make(map[string]int32)}
	for at := slot.at; at >= 0; at = l.next[at] {
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
// walked over twice at most. Where every parent stands before its children there
// is none.
func (t *Trace) cutCycles() {
	late := false
	for i := range t.Spans {
		late = late || t.Spans[i].Parent >= int32(i)
	}
	if !late {
		return
	}
	walk := make([]int32, len(t.Spans)) // number of the walk that met the span, from 1
	for i := range t.Spans {
		number := int32(i + 1)
		at := int32(i)
		for at >= 0 && walk[at] == 0 {
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
	}
}
