package ingest

import (
	"encoding/binary"
	"slices"
	"time"
	"unsafe"
)

// An unpacker reads packed records back. Its texts lie in the blocks of the
// records, and its lists where it has put them.
type unpacker struct {
	known *resources
	own   map[string]*Resource // those that are not known, by their key
	owner owner
	attrs []Attr // room for lists
	used  int    // of attrs

	*tables
	b      []byte
	unlike bool // what was read last is not all in the tables
}

// header reads the key of the record that b begins with, and the record's size
// with the size in front.
func header(b []byte) (p recordKey, size int) {
	n, width := binary.Uvarint(b)
	at := b[width:]
	copy(p.trace[:], at)
	p.start = time.Duration(binary.LittleEndian.Uint64(at[16:]))
	copy(p.id[:], at[24:])
	return p, width + int(n)
}

// packedKey is the orderKey of the record that b begins with.
func packedKey(b []byte) orderKey {
	_, width := binary.Uvarint(b)
	b = b[width+16:]
	s := Span{Start: time.Duration(binary.LittleEndian.Uint64(b)), ID: SpanID(b[8:])}
	flags := b[17]
	if s.Defect = Defect(flags / firstDefect); s.Defect&NoStart != 0 {
		b = b[18:]
		if flags&hasParent != 0 {
			b = b[len(SpanID{}):]
		}
		length, _ := binary.Varint(b)
		s.End = s.Start + time.Duration(length)
	}
	return s.orderKey()
}

// span reads the record that b begins with into s.
func (u *unpacker) span(b []byte, by *tables, s *Span) {
	*s = Span{}
	_, width := binary.Uvarint(b)
	u.b, u.tables = b[width+16:], by
	s.Start = time.Duration(u.fixed())
	copy(s.ID[:], u.b)
	s.Kind = Kind(u.b[8])
	flags := u.b[9]
	u.b = u.b[10:]
	s.Parent, s.Status, s.Defect, s.FollowsFrom = -1, Status(flags&3), Defect(flags/firstDefect), flags&followsFromFlag != 0
	if flags&hasParent != 0 {
		copy(s.ParentID[:], u.b)
		u.b = u.b[8:]
	}
	s.End = s.Start + time.Duration(u.varint())
	s.Position = int64(u.uvarint())
	u.unlike = by.number == maxAlike
	scope := u.origin(s)
	name := u.ref()
	s.Name = u.text()
	list := u.ref()
	s.Attrs = u.list()
	if !u.unlike {
		s.Alike = 1<<63 | by.number<<48 | scope<<32 | name<<16 | list
	}
	if flags&hasRare == 0 {
		return
	}
	s.StatusText, s.TraceState = u.text(), u.text()
	if n := u.uvarint(); n > 0 {
		s.Events = make([]Event, n)
		for i := range s.Events {
			e := &s.Events[i]
			e.Name = u.text()
			e.At = time.Duration(u.fixed())
			e.Attrs = u.list()
		}
	}
	if n := u.uvarint(); n > 0 {
		s.Links = make([]Link, n)
		for i := range s.Links {
			copy(s.Links[i].TraceID[:], u.b)
			copy(s.Links[i].SpanID[:], u.b[16:])
			u.b = u.b[24:]
		}
	}
}

func (u *unpacker) fixed() uint64 {
	v := binary.LittleEndian.Uint64(u.b)
	u.b = u.b[8:]
	return v
}

func (u *unpacker) uvarint() uint64 {
	if v := u.b[0]; v < 0x80 {
		u.b = u.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(u.b)
	u.b = u.b[n:]
	return v
}

func (u *unpacker) varint() int64 {
	v, n := binary.Varint(u.b)
	u.b = u.b[n:]
	return v
}

// ref is the number in its table of what comes next.
func (u *unpacker) ref() uint64 {
	v, _ := binary.Uvarint(u.b)
	return v / 2
}

func (u *unpacker) text() string {
	v := u.uvarint()
	if v&1 == 0 {
		return u.texts[v/2]
	}
	u.unlike = true
	n := int(v / 2)
	text := unsafe.String(&u.b[0], n) // nobody writes to a block that was read
	u.b = u.b[n:]
	return text
}

func (u *unpacker) list() []Attr {
	v := u.uvarint()
	switch {
	case v == 0:
		return nil
	case v&1 == 0:
		base := u.lists[v/2]
		differ := u.uvarint()
		if differ == 0 {
			return base
		}
		list := u.room(len(base))
		copy(list, base)
		for range differ {
			i := u.b[0]
			u.b = u.b[1:]
			unlike := u.unlike || u.loose[v/2]>>i&1 == 0
			list[i].Value = u.text()
			u.unlike = unlike
		}
		return list
	}
	u.unlike = true
	list := u.room(int(v / 2))
	for i := range list {
		list[i].Key = u.text()
		list[i].Value = u.text()
	}
	return list
}

// room is a list of n attributes to be filled in.
func (u *unpacker) room(n int) []Attr {
	if len(u.attrs)-u.used < n {
		u.attrs, u.used = make([]Attr, max(512, n)), 0
	}
	list := u.attrs[u.used : u.used+n : u.used+n]
	u.used += n
	return list
}

// origin reads the origin of a span, and gives the number of its scope.
func (u *unpacker) origin(s *Span) (scope uint64) {
	if v := u.uvarint(); v&1 == 0 {
		o := &u.origins[v/2]
		s.File, s.Scope, s.Resource = o.file, o.scope, o.resource
		return o.alike
	}
	u.unlike = true
	s.File, s.Scope = u.text(), u.text()
	if u.uvarint() == 0 {
		return 0
	}
	o := &u.owner
	o.service = u.text()
	o.attrs = append(o.attrs[:0], u.list()...)
	key := o.identity()
	if s.Resource = u.known.find(key); s.Resource != nil {
		return 0
	}
	if s.Resource = u.own[string(key)]; s.Resource == nil {
		if u.own == nil {
			u.own = make(map[string]*Resource)
		}
		s.Resource = &Resource{Service: o.service, Attrs: slices.Clip(slices.Clone(o.attrs))}
		u.own[string(key)] = s.Resource
	}
	return 0
}
