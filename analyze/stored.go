package analyze

import (
	"encoding/binary"
	"math"
	"strings"
	"sync"
	"time"

	"overrun/ingest"
)

// Requests are stored between the passes as bytes: about 35 a span, in memory or
// spilled, where the types of request.go and call.go take ten times as much. What
// is stored is what a trace yields by itself; what is decided from all traces is
// not, nor what only traced needs.
//
// A stored trace is its size in bytes (4 bytes, little-endian) and a heading, and then
// its requests. Summaries hold the same (save.go), so that what is changed here changes
// their version: outcomes, parts and classes are stored as numbers.

// symbols numbers texts. The first is "".
type symbols struct {
	mu      sync.Mutex
	index   map[string]uint32
	texts   []string
	peerAt  map[peer]uint32
	peers   []peer
	routeAt map[routeKey]uint32
	routes  []routeKey
}

// A peer is whom a call goes to, as its trace alone tells.
type peer struct {
	to       dependency
	alone    [2]string // callee and operation as the call alone names them, where its callee left a span; else ""
	nameable bool
	protocol protocol
}

func newSymbols() *symbols {
	return &symbols{index: map[string]uint32{"": 0}, texts: []string{""}, peerAt: map[peer]uint32{}, routeAt: map[routeKey]uint32{}}
}

// numberOf is the number of a key in a list, and the key as it is kept: own copies a
// new one, whose texts may lie in a block of spans.
func numberOf[K comparable](s *symbols, at map[K]uint32, list *[]K, key K, own func(K) K) (uint32, K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := at[key]
	if !ok {
		key = own(key)
		n = uint32(len(*list))
		at[key] = n
		*list = append(*list, key)
	}
	return n, (*list)[n]
}

func (s *symbols) peer(p peer) (uint32, peer) { return numberOf(s, s.peerAt, &s.peers, p, peer.clone) }

func (s *symbols) route(r routeKey) (uint32, routeKey) {
	return numberOf(s, s.routeAt, &s.routes, r, routeKey.clone)
}

func (s *symbols) number(text string) (uint32, string) {
	return numberOf(s, s.index, &s.texts, text, strings.Clone)
}

func (p peer) clone() peer {
	p.to = dependency{strings.Clone(p.to.caller), strings.Clone(p.to.callee), strings.Clone(p.to.operation), strings.Clone(p.to.split)}
	p.alone = [2]string{strings.Clone(p.alone[0]), strings.Clone(p.alone[1])}
	return p
}

func (r routeKey) clone() routeKey {
	return routeKey{strings.Clone(r.service), strings.Clone(r.route), strings.Clone(r.split)}
}

// A requestWriter stores requests. It is for one goroutine.
type requestWriter struct {
	symbols *symbols
	seen    map[string]uint32 // of symbols, without its lock
	peers   map[peer]uint32
	routes  map[routeKey]uint32
	plain   bool // texts stand as they are, without symbols
	b       []byte
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
		to := c.to
		to.split = r.split
		p := peer{to, [2]string{c.alone.callee, c.alone.operation}, c.nameable, c.protocol}
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
	w.symbol(lookUp(w.routes, r, w.symbols.route))
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

// A heading is what a stored trace begins with.
type heading struct {
	id    ingest.TraceID
	start int64         // of a trace without an id, which is one span: where that starts; Unix nanoseconds
	span  ingest.SpanID // and its id

	rooted   bool          // a span has no parent id
	torn     bool          // a span whose parent is missing is no entry: its request is not whole
	apart    bool          // it came in pieces, in several inputs
	unknown  bool          // its requests have other deadlines than when its spans were there: nobody knows what ran on after them
	moved    time.Duration // the farthest that a clock was moved
	notes    []ingest.Note // about its spans, by code; of the example only span, file and position count
	requests int
}

// trace returns the bytes of a trace, which hold until the next.
func (w *requestWriter) trace(h *heading, requests []*request) []byte {
	w.b = append(w.b[:0], 0, 0, 0, 0)
	w.heading(h, len(requests))
	for _, r := range requests {
		w.request(r)
	}
	binary.LittleEndian.PutUint32(w.b, uint32(len(w.b)-sizeBytes))
	return w.b
}

// sizeBytes is how many bytes the size of a stored trace takes.
const sizeBytes = 4

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
	w.flags(g.ending&1 != 0, g.ending&2 != 0, g.written != nil, g.caller >= 0, g.call >= 0, g.doubt != 0, g.reach != r.duration)
	if g.written != nil {
		w.time(g.written.budget)
		w.time(g.written.doubt)
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

// parts are the categories of time.
func (t *Time) parts() [8]*time.Duration {
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
		called := a.calleeEnd != 0 || a.leg != 0 || a.doubt != 0 || a.calleeOK || a.calleeGuess
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
			w.time(a.doubt)
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

// A requestReader reads stored traces. What cannot be read, since it is none of ours,
// is zero and sets wrong; reading then comes to an end.
type requestReader struct {
	*symbols
	b     []byte
	wrong bool
	*requestRoom
}

// A requestRoom is where a request is read to.
type requestRoom struct {
	r         request
	deadline  deadline
	written   deadline
	calls     []call
	attempts  []attempt
	intervals []phaseInterval
	loose     []phaseLength
	ranges    []attemptRange
}

// An attemptRange is which of the intervals and lengths read so far belong
// to an attempt.
type attemptRange struct{ intervals, loose [2]int }

func newRequestReader(s *symbols) *requestReader {
	return &requestReader{symbols: s, requestRoom: new(requestRoom)}
}

// fail ends the reading.
func (d *requestReader) fail() { d.b, d.wrong = nil, true }

func (d *requestReader) uvarint() uint64 {
	if len(d.b) > 0 && d.b[0] < 0x80 {
		v := d.b[0]
		d.b = d.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *requestReader) number() int64 {
	u := d.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (d *requestReader) time() time.Duration { return time.Duration(d.number()) }

// count is a whole number that is at most most.
func (d *requestReader) count(most int) int {
	v := d.uvarint()
	if v > uint64(most) {
		d.fail()
		return 0
	}
	return int(v)
}

// size is how many things follow, each of which takes a byte or more.
func (d *requestReader) size() int { return d.count(len(d.b)) }

// index is a number below n.
func (d *requestReader) index(n int) uint32 {
	v := d.uvarint()
	if v >= uint64(n) {
		d.fail()
		return 0
	}
	return uint32(v)
}

func (d *requestReader) text() string { return d.texts[d.index(len(d.texts))] }

// byte is one that is below n.
func (d *requestReader) byte(n int) byte {
	if len(d.b) == 0 || int(d.b[0]) >= n {
		d.fail()
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

// bytes fills to.
func (d *requestReader) bytes(to []byte) {
	if len(d.b) < len(to) {
		d.fail()
		return
	}
	copy(to, d.b)
	d.b = d.b[len(to):]
}

func (d *requestReader) span() (id ingest.SpanID) {
	d.bytes(id[:])
	return id
}

// mostCount is the greatest number of spans, attempts or the like that is believed.
const mostCount = 1 << 40

// A flagSet is what flags wrote; next takes the first off.
type flagSet uint64

func (f *flagSet) next() bool {
	on := *f&1 != 0
	*f >>= 1
	return on
}

// place reads the beginning of the heading at the beginning of d.b: where the trace
// stands.
func (d *requestReader) place() (h heading, rest flagSet) {
	d.bytes(h.id[:])
	f := flagSet(d.uvarint())
	h.rooted, h.torn, h.apart, h.unknown = f.next(), f.next(), f.next(), f.next()
	if h.id == (ingest.TraceID{}) {
		h.start, h.span = d.number(), d.span()
	}
	return h, f
}

// heading reads the heading at the beginning of d.b.
func (d *requestReader) heading() heading {
	h, f := d.place()
	moved, noted := f.next(), f.next()
	if moved {
		h.moved = d.time()
	}
	if noted {
		h.notes = make([]ingest.Note, d.size())
		for i := range h.notes {
			h.notes[i] = ingest.Note{Code: ingest.Code(d.text()), Count: int64(d.count(mostCount))}
			at := &h.notes[i].Example
			at.File, at.Position, at.Trace, at.Span = d.text(), d.number(), h.id, d.span()
		}
	}
	h.requests = d.size()
	return h
}

// next reads the request at the beginning of d.b, of a trace, into the room of the one
// before.
func (d *requestReader) next(trace ingest.TraceID) *request {
	d.r = request{trace: trace}
	r := &d.r
	r.span = d.span()
	f := flagSet(d.uvarint())
	bound := f.next()
	r.failed, r.timedOut, r.tailed, r.blind, r.writes = f.next(), f.next(), f.next(), f.next(), f.next()
	weighed := f.next()
	worked := f.next()
	r.broken, r.lost, r.fallback, r.root, r.consumer, r.lastCut = f.next(), f.next(), f.next(), f.next(), f.next(), f.next()
	r.forced = f.next()
	r.role = role(d.byte(roles))
	r.eps = d.time()
	r.file = d.text()
	r.position = int64(d.uvarint())
	if r.number = d.index(len(d.routes)); d.wrong {
		return r
	}
	key := &d.routes[r.number]
	r.service, r.route, r.split = key.service, key.route, key.split
	r.start, r.duration = d.number(), d.time()
	r.weight = unknownWeight
	if weighed {
		r.weight = weight(d.count(largestWeight * int(oneWeight)))
	}
	if bound {
		d.deadline = deadline{budget: d.time(), doubt: d.time(), source: Source(d.text())}
		r.deadline = &d.deadline
	}
	d.grounds(r)
	some := d.byte(1 << 8)
	for i, p := range r.time.parts() {
		if some&(1<<i) != 0 {
			*p = d.time()
		}
	}
	if !r.broken {
		r.time.Total = r.duration
	}
	if r.tailed {
		r.tail = d.time()
	}
	if worked {
		r.work = make([]work, d.size())
		for i := range r.work {
			d.work(&r.work[i])
		}
	}
	d.readCalls(r)
	return r
}

// grounds reads the grounds of a request.
func (d *requestReader) grounds(r *request) {
	g := &r.grounds
	*g = grounds{caller: -1, call: -1, reach: r.duration}
	f := flagSet(d.uvarint())
	if f.next() {
		g.ending |= 1
	}
	if f.next() {
		g.ending |= 2
	}
	written, called, placed, doubted, reached := f.next(), f.next(), f.next(), f.next(), f.next()
	if written {
		d.written = deadline{budget: d.time(), doubt: d.time(), source: Recorded, origin: -1}
		g.written = &d.written
	}
	if called {
		g.caller = int32(d.index(math.MaxInt32))
	}
	if placed {
		g.call = int32(d.index(math.MaxInt32))
	}
	if doubted {
		g.doubt = d.time()
	}
	if reached {
		g.reach += d.time()
	}
}

func (d *requestReader) work(v *work) {
	v.code = FindingCode(d.text())
	v.to = dependency{caller: d.text(), callee: d.text(), operation: d.text()}
	v.span, v.file = d.span(), d.text()
	v.position, v.start, v.total = d.number(), d.number(), d.time()
	f := flagSet(d.uvarint())
	v.caused = f.next()
	served, detailed := f.next(), f.next()
	v.spans = d.count(mostCount)
	if served {
		v.services = make([]ServiceWork, d.size())
		for i := range v.services {
			v.services[i] = ServiceWork{d.text(), d.time(), d.count(mostCount)}
		}
	}
	if detailed {
		v.detail = &Detail{Attempts: d.count(mostCount), Calls: d.count(mostCount), Bottom: d.count(mostCount)}
	}
}

// readCalls reads the calls of a request. Their attempts lie in one slice, which may
// move while it grows, so that calls get theirs at the end.
func (d *requestReader) readCalls(r *request) {
	n := d.size()
	d.calls, d.attempts, d.intervals, d.loose, d.ranges = d.calls[:0], d.attempts[:0], d.intervals[:0], d.loose[:0], d.ranges[:0]
	for range n {
		from := len(d.attempts)
		d.calls = append(d.calls, call{})
		d.call(r, &d.calls[len(d.calls)-1])
		d.calls[len(d.calls)-1].node = int32(from)
	}
	for i := range d.attempts {
		p, at := &d.attempts[i].phases, &d.ranges[i]
		if at.intervals[1] > at.intervals[0] {
			p.intervals = d.intervals[at.intervals[0]:at.intervals[1]:at.intervals[1]]
		}
		if at.loose[1] > at.loose[0] {
			p.loose = d.loose[at.loose[0]:at.loose[1]:at.loose[1]]
		}
	}
	for k := range d.calls {
		to := len(d.attempts)
		if k+1 < len(d.calls) {
			to = int(d.calls[k+1].node)
		}
		from := int(d.calls[k].node)
		d.calls[k].attempts, d.calls[k].node = d.attempts[from:to:to], -1
	}
	r.calls = d.calls
}

func (d *requestReader) call(r *request, c *call) {
	f := flagSet(d.uvarint())
	single := f.next()
	c.awaited = f.next()
	onPath, first, sameFile := f.next(), f.next(), f.next()
	c.messaging = f.next()
	hinted := f.next()
	c.unfinished = f.next()
	if c.peer = d.index(len(d.peers)); d.wrong {
		return
	}
	who := &d.peers[c.peer]
	c.to, c.nameable, c.protocol = who.to, who.nameable, who.protocol
	c.alone.callee, c.alone.operation = who.alone[0], who.alone[1]
	c.span = d.span()
	c.position = r.position + d.number()
	c.start = d.time()
	c.end = c.start + d.time()
	c.outcome = Outcomes[d.byte(len(Outcomes))]
	if onPath {
		c.path = d.time()
	}
	if !first {
		c.winner = int(d.number())
	}
	c.file = r.file
	if !sameFile {
		c.file = d.text()
	}
	if hinted {
		c.hint = d.text()
	}
	tries := 1
	if !single {
		if tries = d.size(); tries == 0 {
			d.fail()
		}
	}
	if c.winner < -1 || c.winner >= tries {
		d.fail()
	}
	for range tries {
		d.attempts = append(d.attempts, attempt{server: -1})
		a := &d.attempts[len(d.attempts)-1]
		f := flagSet(d.uvarint())
		called, placed, phased, timed := f.next(), f.next(), f.next(), f.next()
		a.hedge, a.unfinished = f.next(), f.next()
		again := f.next()
		a.calleeOK, a.calleeGuess = f.next(), f.next()
		for bit := class(1); bit < classes; bit <<= 1 {
			if f.next() {
				a.class |= bit
			}
		}
		resampled := f.next()
		failed := f.next()
		a.span, a.start, a.end, a.outcome = c.span, c.start, c.end, c.outcome
		if !single {
			a.span = d.span()
			a.start = c.start + d.time()
			a.end = a.start + d.time()
			a.outcome = Outcomes[d.byte(len(Outcomes))]
		}
		if failed {
			a.code = d.text()
		}
		if called {
			a.calleeEnd = a.end - d.time()
			a.leg, a.doubt = d.time(), d.time()
		}
		if placed {
			a.instance = d.text()
		}
		if timed {
			a.timeout = d.time()
		}
		if again {
			a.index, a.hidden = d.count(mostCount), d.count(mostCount)
		}
		a.weight = r.weight
		if resampled {
			if a.weight = weight(d.uvarint()); a.weight > largestWeight*oneWeight && a.weight != unknownWeight {
				d.fail()
			}
		}
		a.setTook()
		at := attemptRange{intervals: [2]int{len(d.intervals), len(d.intervals)}, loose: [2]int{len(d.loose), len(d.loose)}}
		if phased {
			for range d.size() {
				v := phaseInterval{part: part(d.byte(parts))}
				v.low = a.start + d.time()
				v.high = v.low + d.time()
				d.intervals = append(d.intervals, v)
			}
			for range d.size() {
				d.loose = append(d.loose, phaseLength{part: part(d.byte(parts)), length: d.time()})
			}
			at.intervals[1], at.loose[1] = len(d.intervals), len(d.loose)
		}
		d.ranges = append(d.ranges, at)
	}
}
