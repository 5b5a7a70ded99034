package analyze

import (
	"encoding/binary"
	"slices"
	"time"

	"overrun/ingest"
)

// A requestWriter stores requests. It is for one goroutine.
type requestWriter struct {
	symbols *symbols
	seen    map[string]uint32 // of symbols, without its lock
	peers   map[peer]uint32
	routes  map[routeKey]uint32
	plain   bool // texts stand as they are, without symbols
	bare    bool // for a summary: requests stand without what is in front of them
	b       []byte
	front   [2 * binary.MaxVarintLen64]byte // of the request at hand
	last    struct {                        // the route looked up last
		key    routeKey
		number uint32
	}
}

// maxSeen is how many symbols a writer looks up by itself.
const maxSeen = 1 << 14

func newRequestWriter(s *symbols) *requestWriter {
	return &requestWriter{symbols: s, seen: map[string]uint32{}, peers: map[peer]uint32{}, routes: map[routeKey]uint32{}}
}

// lookUp is the number of a symbol: of those that were seen lately, else as number says.
func lookUp[K comparable](seen map[K]uint32, key K, number func(K) (uint32, K)) uint32 {
	n, ok := seen[key]
	if !ok {
		n, key = number(key)
		if len(seen) >= maxSeen {
			clear(seen)
		}
		seen[key] = n
	}
	return n
}

func (w *requestWriter) symbol(n uint32) { w.b = binary.AppendUvarint(w.b, uint64(n)) }

func (w *requestWriter) peer(p peer) {
	if w.plain {
		for _, text := range []string{p.to.caller, p.to.callee, p.to.operation, p.to.split, p.alone[0], p.alone[1]} {
			w.text(text)
		}
		w.flags(p.nameable, p.protocol.http, p.protocol.grpc, p.protocol.safe, p.protocol.read)
		return
	}
	w.symbol(lookUp(w.peers, p, w.symbols.peer))
}

// whom appends whom a call of the request goes to.
func (w *requestWriter) whom(r *request, c *call) {
	m := c.met
	shared := m != nil && !w.plain && r.split == "" // with other calls
	if !shared || m.in != w.symbols {
		to := *c.to
		to.split = r.split
		p := peer{to, c.who.alone, c.nameable, c.protocol}
		if !shared {
			w.peer(p)
			return
		}
		m.in, m.number = w.symbols, lookUp(w.peers, p, w.symbols.peer)
	}
	w.symbol(m.number)
}

func (w *requestWriter) route(r routeKey) {
	if w.plain {
		w.text(r.service)
		w.text(r.route)
		w.text(r.split)
		return
	}
	w.symbol(w.routeNumber(r))
}

func (w *requestWriter) routeNumber(r routeKey) uint32 {
	if w.last.key != r || r == (routeKey{}) {
		w.last.key, w.last.number = r, lookUp(w.routes, r, w.symbols.route)
	}
	return w.last.number
}

func (w *requestWriter) text(text string) {
	if w.plain {
		w.count(len(text))
		w.b = append(w.b, text...)
		return
	}
	if text == "" {
		w.b = append(w.b, 0)
		return
	}
	w.symbol(lookUp(w.seen, text, w.symbols.number))
}

func (w *requestWriter) number(v int64)        { w.b = binary.AppendVarint(w.b, v) }
func (w *requestWriter) count(v int)           { w.b = binary.AppendUvarint(w.b, uint64(v)) }
func (w *requestWriter) time(v time.Duration)  { w.number(int64(v)) }
func (w *requestWriter) span(id ingest.SpanID) { w.b = append(w.b, id[:]...) }
func (w *requestWriter) flags(list ...bool) {
	bits := uint64(0)
	for i, on := range list {
		if on {
			bits |= 1 << i
		}
	}
	w.b = binary.AppendUvarint(w.b, bits)
}

// trace returns the bytes of a trace, which hold until the next.
func (w *requestWriter) trace(h *heading, requests []*request) []byte {
	w.b = append(w.b[:0], 0, 0, 0, 0)
	w.heading(h, len(requests))
	for _, r := range requests {
		at := len(w.b)
		w.request(r)
		if !w.bare {
			front := binary.AppendUvarint(w.front[:0], uint64(len(w.b)-at))
			front = binary.AppendUvarint(front, uint64(w.routeNumber(r.key())))
			w.b = slices.Insert(w.b, at, front...)
		}
	}
	binary.LittleEndian.PutUint32(w.b, uint32(len(w.b)-sizeBytes))
	return w.b
}

func (w *requestWriter) heading(h *heading, requests int) {
	w.b = append(w.b, h.id[:]...)
	w.flags(h.rooted, h.torn, h.apart, h.unknown, h.moved != 0, len(h.notes) > 0)
	if h.id == (ingest.TraceID{}) {
		w.number(h.start)
		w.span(h.span)
	}
	if h.moved != 0 {
		w.time(h.moved)
	}
	if len(h.notes) > 0 {
		w.count(len(h.notes))
		for i := range h.notes {
			n := &h.notes[i]
			w.text(string(n.Code))
			w.count(int(n.Count))
			w.text(n.Example.File)
			w.number(n.Example.Position)
			w.span(n.Example.Span)
		}
	}
	w.count(requests)
}

// request appends a request.
func (w *requestWriter) request(r *request) {
	w.span(r.span)
	w.flags(r.deadline != nil, r.failed, r.timedOut, r.tailed, r.blind, r.writes, r.weight != unknownWeight, len(r.work) > 0,
		r.broken, r.lost, r.fallback, r.root, r.consumer, r.lastCut, r.forced)
	w.b = append(w.b, byte(r.role))
	w.time(r.eps)
	w.text(r.file)
	w.count(int(r.position))
	w.route(r.key())
	w.number(r.start)
	w.time(r.duration)
	if r.weight != unknownWeight {
		w.count(int(r.weight))
	}
	if d := r.deadline; d != nil {
		w.time(d.budget)
		w.time(d.doubt)
		w.text(string(d.source))
	}
	w.grounds(r)
	parts := r.time.parts()
	some := byte(0)
	for i, p := range parts {
		if *p != 0 {
			some |= 1 << i
		}
	}
	w.b = append(w.b, some)
	for _, p := range parts {
		if *p != 0 {
			w.time(*p)
		}
	}
	if r.tailed {
		w.time(r.tail)
	}
	if len(r.work) > 0 {
		w.count(len(r.work))
		for i := range r.work {
			w.work(&r.work[i])
		}
	}
	w.count(len(r.calls))
	for k := range r.calls {
		w.call(r, &r.calls[k])
	}
}

// grounds appends the grounds of a request.
func (w *requestWriter) grounds(r *request) {
	g := &r.grounds
	w.flags(g.ending&1 != 0, g.ending&2 != 0, g.written != nil, g.caller >= 0, g.call >= 0, g.doubt != 0, g.reach != r.duration, g.told != nil)
	for _, d := range []*deadline{g.written, g.told} {
		if d != nil {
			w.time(d.budget)
			w.time(d.doubt)
		}
	}
	if g.caller >= 0 {
		w.count(int(g.caller))
	}
	if g.call >= 0 {
		w.count(int(g.call))
	}
	if g.doubt != 0 {
		w.time(g.doubt)
	}
	if g.reach != r.duration {
		w.time(g.reach - r.duration)
	}
}

// parts are the times of categories.
func (t *Time) parts() [len(categories)]*time.Duration {
	return [...]*time.Duration{&t.Own, &t.Connect, &t.Read, &t.Retry, &t.RetryWait, &t.Hedge, &t.Messaging, &t.Unknown}
}

func (w *requestWriter) work(v *work) {
	w.text(string(v.code))
	w.text(v.to.caller)
	w.text(v.to.callee)
	w.text(v.to.operation)
	w.span(v.span)
	w.text(v.file)
	w.number(v.position)
	w.number(v.start)
	w.time(v.total)
	w.flags(v.caused, v.services != nil, v.detail != nil)
	w.count(v.spans)
	if v.services != nil {
		w.count(len(v.services))
		for _, s := range v.services {
			w.text(s.Service)
			w.time(s.Work)
			w.count(s.Spans)
		}
	}
	if v.detail != nil { // of retry-amplified: the only one that a trace yields by itself
		w.count(v.detail.Attempts)
		w.count(v.detail.Calls)
		w.count(v.detail.Bottom)
	}
}

// single reports whether a call is its only attempt.
func (c *call) single() bool {
	return len(c.attempts) == 1 && c.attempts[0].span == c.span && c.attempts[0].start == c.start && c.attempts[0].end == c.end &&
		c.attempts[0].outcome == c.outcome
}

func (w *requestWriter) call(r *request, c *call) {
	single := c.single()
	w.flags(single, c.awaited, c.path != 0, c.winner == 0, c.file == r.file, c.messaging, c.hint != "", c.unfinished)
	if !w.plain && c.to.caller != r.service {
		w.symbols.mixed.Store(true)
	}
	w.whom(r, c)
	w.span(c.span)
	w.number(c.position - r.position)
	w.time(c.start)
	w.time(c.end - c.start)
	w.b = append(w.b, byte(c.outcome.number()))
	if c.path != 0 {
		w.time(c.path)
	}
	if c.winner != 0 {
		w.number(int64(c.winner))
	}
	if c.file != r.file {
		w.text(c.file)
	}
	if c.hint != "" {
		w.text(c.hint)
	}
	if !single {
		w.count(len(c.attempts))
	}
	for i := range c.attempts {
		a := &c.attempts[i]
		p := &a.phases
		called := a.calleeEnd != 0 || a.leg != 0 || a.word != 0 || a.calleeOK || a.calleeGuess
		w.flags(called, a.instance != "", len(p.intervals) > 0 || len(p.loose) > 0, a.timeout != 0, a.hedge, a.unfinished,
			a.index != 0 || a.hidden != 0, a.calleeOK, a.calleeGuess, a.class&1 != 0, a.class&2 != 0, a.weight != r.weight, a.code != "")
		if !single {
			w.span(a.span)
			w.time(a.start - c.start)
			w.time(a.end - a.start)
			w.b = append(w.b, byte(a.outcome.number()))
		}
		if a.code != "" {
			w.text(a.code)
		}
		if called {
			w.time(a.end - a.calleeEnd)
			w.time(a.leg)
			w.time(a.word)
		}
		if a.instance != "" {
			w.text(a.instance)
		}
		if a.timeout != 0 {
			w.time(a.timeout)
		}
		if a.index != 0 || a.hidden != 0 {
			w.count(a.index)
			w.count(a.hidden)
		}
		if a.weight != r.weight {
			w.b = binary.AppendUvarint(w.b, uint64(a.weight))
		}
		if len(p.intervals) > 0 || len(p.loose) > 0 {
			w.count(len(p.intervals))
			for _, v := range p.intervals {
				w.b = append(w.b, byte(v.part))
				w.time(v.low - a.start)
				w.time(v.high - v.low)
			}
			w.count(len(p.loose))
			for _, v := range p.loose {
				w.b = append(w.b, byte(v.part))
				w.time(v.length)
			}
		}
	}
}
