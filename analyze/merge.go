package analyze

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"slices"

	"overrun/ingest"
)

// Merging puts the traces of several inputs into the order that one input with all of
// them would have. A trace that is in several of them is put together from its
// pieces:
//
//   - Pieces that are equal, but for the file they were read from, were saved twice.
//     One of them counts.
//   - Other pieces are joined: of each request there is one. The trace was cut apart. If
//     two inputs know a request differently, or a piece holds a span that was torn from
//     its request, no request of the trace is known to be whole (Analysis.ready).
//
// What comes out does not depend on the order of the inputs, nor on which were merged
// before.

// A traceKey is where a stored trace stands.
type traceKey struct {
	order ingest.Order
	id    ingest.TraceID
}

func keyOf(h *heading) traceKey { return traceKey{ingest.OrderOf(h.id, h.start, h.span), h.id} }

func (k traceKey) compare(l traceKey) int {
	return cmp.Or(cmp.Compare(k.order.Part, l.order.Part), cmp.Compare(k.order.Hash, l.order.Hash), bytes.Compare(k.id[:], l.id[:]))
}

// A cursor is how far an input is merged.
type cursor struct {
	input  int
	spools []*ingest.Spool // that are left; the first is at hand
	block  []byte          // what is left of its block
	reader *requestReader
	trace  []byte // with its size
	key    traceKey
}

// next moves to the next trace; ok is false at the end.
func (c *cursor) next() (ok bool, err error) {
	for len(c.block) == 0 {
		if len(c.spools) == 0 {
			return false, nil
		}
		if c.block, err = c.spools[0].Next(); err != nil {
			return false, err
		}
		if c.block == nil {
			c.spools[0].Drop()
			c.spools = c.spools[1:]
		}
	}
	n := sizeBytes + int(binary.LittleEndian.Uint32(c.block))
	c.trace, c.block = c.block[:n:n], c.block[n:]
	c.reader.open(c.trace[sizeBytes:])
	h, _ := c.reader.place()
	c.key = keyOf(&h)
	return true, nil
}

// A cursorHeap has the cursor with the first trace on top.
type cursorHeap []*cursor

func (h cursorHeap) Len() int { return len(h) }
func (h cursorHeap) Less(i, j int) bool {
	return cmp.Or(h[i].key.compare(h[j].key), cmp.Compare(h[i].input, h[j].input)) < 0
}
func (h cursorHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *cursorHeap) Push(x any)   { *h = append(*h, x.(*cursor)) }
func (h *cursorHeap) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}

// A shard is a stored trace of an input.
type shard struct {
	input int
	trace []byte
}

// merge merges inputs, which give up what they hold.
func (a *Analysis) merge(ctx context.Context, inputs [][]*ingest.Spool) error {
	var open cursorHeap
	for i, spools := range inputs {
		c := &cursor{input: i, spools: spools, reader: newRequestReader(a.symbols)}
		ok, err := c.next()
		if err != nil {
			return err
		}
		if ok {
			open = append(open, c)
		}
	}
	heap.Init(&open)
	out := a.spooler.NewSpool()
	a.stored = []*ingest.Spool{out}
	j := &joiner{Analysis: a, out: out}
	for len(open) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		key := open[0].key
		j.pieces = j.pieces[:0]
		for len(open) > 0 && open[0].key == key {
			c := open[0]
			j.pieces = append(j.pieces, shard{c.input, c.trace})
			ok, err := c.next()
			if err != nil {
				return err
			}
			if ok {
				heap.Fix(&open, 0)
			} else {
				heap.Pop(&open)
			}
		}
		if err := j.put(key); err != nil {
			return err
		}
	}
	return nil
}

// A joiner puts the pieces of one trace after the other together.
type joiner struct {
	*Analysis
	out    *ingest.Spool
	pieces []shard
}

func (j *joiner) put(key traceKey) error {
	if len(j.pieces) == 1 {
		return j.out.Put(j.pieces[0].trace)
	}
	if key.id == (ingest.TraceID{}) {
		return j.putLoose()
	}
	pieces := make([]*known, len(j.pieces))
	for i, p := range j.pieces {
		pieces[i] = j.know(p.trace)
	}
	slices.SortFunc(pieces, (*known).compare)
	distinct := pieces[:1]
	for _, p := range pieces[1:] {
		if p.equal(distinct[len(distinct)-1]) {
			j.crop.notes.Add(SavedTwice, ingest.Place{Trace: key.id})
			continue
		}
		distinct = append(distinct, p)
	}
	if len(distinct) == 1 {
		return j.out.Put(distinct[0].stored)
	}
	return j.join(distinct)
}

// putLoose puts traces without an id, which are one span each: those that several inputs
// hold alike, file and position included, once.
func (j *joiner) putLoose() error {
	several := slices.ContainsFunc(j.pieces, func(p shard) bool { return p.input != j.pieces[0].input })
	if !several {
		for _, p := range j.pieces {
			if err := j.out.Put(p.trace); err != nil {
				return err
			}
		}
		return nil
	}
	type lone struct {
		*known
		input int
	}
	list := make([]lone, len(j.pieces))
	for i, p := range j.pieces {
		list[i] = lone{j.know(p.trace), p.input}
	}
	slices.SortStableFunc(list, func(a, b lone) int { return cmp.Or(bytes.Compare(a.exact, b.exact), cmp.Compare(a.input, b.input)) })
	for i := 0; i < len(list); {
		most, next := 0, i
		for next < len(list) && bytes.Equal(list[next].exact, list[i].exact) {
			from := next
			for next < len(list) && list[next].input == list[from].input && bytes.Equal(list[next].exact, list[i].exact) {
				next++
			}
			most = max(most, next-from)
		}
		for k := i; k < next; k++ {
			if k >= i+most {
				j.crop.notes.Add(SavedTwice, ingest.Place{Span: list[k].head.span})
				continue
			}
			if err := j.out.Put(list[k].stored); err != nil {
				return err
			}
		}
		i = next
	}
	return nil
}

// A known piece of a trace is compared with others by what it says, in bytes that do not
// depend on how symbols are numbered.
type known struct {
	stored   []byte
	head     heading
	requests []*request
	keys     []requestName
	texts    [][]byte // of requests, without deadlines, which are chosen, and without places in files
	exact    []byte   // of all, with places
}

// A requestName tells the requests of a trace apart: a client and its server may share
// an id, and ids may be missing.
type requestName struct {
	span    ingest.SpanID
	service string
	nth     int
}

func (j *joiner) know(stored []byte) *known {
	k := &known{stored: stored}
	d := newRequestReader(j.symbols)
	var rooms roomList // of its own: what is read stays
	h, list := rooms.read(d, stored)
	k.head, k.requests = *h, list
	w := &requestWriter{plain: true}
	seen := map[requestName]int{}
	for _, r := range list {
		name := requestName{span: r.span, service: r.service}
		seen[name]++
		name.nth = seen[name]
		k.keys = append(k.keys, name)
		w.b = nil
		w.request(r.bare())
		k.texts = append(k.texts, w.b)
	}
	w.b = nil
	w.heading(&k.head, len(list))
	for _, r := range list {
		w.request(r)
	}
	k.exact = w.b
	return k
}

// bare is a copy of a request without what was chosen for it, and without places.
func (r *request) bare() *request {
	b := *r
	b.deadline, b.timedOut, b.lost, b.work = nil, false, false, nil
	b.file, b.position = "", 0
	b.grounds.caller, b.grounds.call = -1, -1 // their numbers depend on what else there is
	b.calls = slices.Clone(r.calls)
	for k := range b.calls {
		b.calls[k].file, b.calls[k].position = "", 0
	}
	return &b
}

// equal reports whether two pieces say the same.
func (k *known) equal(l *known) bool {
	return slices.Equal(k.keys, l.keys) && slices.EqualFunc(k.texts, l.texts, bytes.Equal) && k.head.rooted == l.head.rooted &&
		k.head.torn == l.head.torn && k.head.apart == l.head.apart
}

// compare orders pieces by what they say, the fullest first, so that equal ones lie side by
// side.
func (k *known) compare(l *known) int {
	flag := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(len(l.requests), len(k.requests)), slices.CompareFunc(k.texts, l.texts, bytes.Compare),
		cmp.Compare(flag(k.head.rooted), flag(l.head.rooted)), cmp.Compare(flag(k.head.torn), flag(l.head.torn)),
		cmp.Compare(flag(k.head.apart), flag(l.head.apart)), bytes.Compare(k.exact, l.exact))
}

// join puts the pieces of a trace together.
func (j *joiner) join(pieces []*known) error {
	best := map[requestName]*version{}
	var order []*version
	h := heading{id: pieces[0].head.id, apart: true}
	var notes ingest.Notes
	for _, p := range pieces {
		h.rooted, h.torn, h.unknown = h.rooted || p.head.rooted, h.torn || p.head.torn, h.unknown || p.head.unknown
		h.moved = max(h.moved, p.head.moved)
		for _, n := range p.head.notes {
			notes.Merge(n)
		}
		for i, r := range p.requests {
			have := best[p.keys[i]]
			v := &version{request: r, text: p.texts[i], of: p}
			switch {
			case have == nil:
				best[p.keys[i]] = v
				order = append(order, v)
			case bytes.Equal(have.text, v.text):
			default:
				h.torn = true
				if cmp.Or(cmp.Compare(len(v.calls), len(have.calls)), bytes.Compare(v.text, have.text)) > 0 {
					*have = *v
				}
			}
		}
	}
	h.notes = notes.List()
	// Callers come first, as deadlines are handed down in this order.
	for _, v := range order {
		if g := &v.grounds; g.caller >= 0 {
			v.caller = best[v.of.keys[g.caller]]
		}
	}
	for _, v := range order {
		v.deepen(len(order))
	}
	slices.SortFunc(order, func(a, b *version) int {
		return cmp.Or(cmp.Compare(a.depth, b.depth), cmp.Compare(a.start, b.start), bytes.Compare(a.span[:], b.span[:]), bytes.Compare(a.text, b.text))
	})
	requests := make([]*request, len(order))
	for i, v := range order {
		v.place = int32(i)
		requests[i] = v.request
	}
	for i, v := range order {
		g := &v.grounds
		switch c := v.caller; {
		case c == nil:
		case c.place >= int32(i): // two versions of a trace in which each calls the other
			g.caller, g.call = -1, -1
		default:
			if g.caller = c.place; int(g.call) >= len(c.calls) {
				g.call = -1
			}
		}
	}
	chooseAgain(&h, requests, &j.opts)
	return j.out.Put(newRequestWriter(j.symbols).trace(&h, requests))
}

// A version is a request as one piece of its trace knows it.
type version struct {
	*request
	text   []byte
	of     *known
	caller *version
	depth  int // callers above it, and 1; 0: not known yet
	place  int32
}

// deepen finds the depth of a request, and of all above it. most ends circles.
func (v *version) deepen(most int) {
	var above []*version
	for c := v; c != nil && c.depth == 0 && len(above) <= most; c = c.caller {
		above = append(above, c)
	}
	for _, c := range slices.Backward(above) {
		c.depth = 1
		if c.caller != nil {
			c.depth += c.caller.depth
		}
	}
}
