package analyze

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"

	"overrun/ingest"
)

// A requestReader reads stored traces. What cannot be read, since it is none of ours,
// is zero and sets wrong; reading then comes to an end.
type requestReader struct {
	*symbols
	bare  bool // of a summary: requests stand without what is in front of them
	b     []byte
	at    int // of b: what was read
	wrong bool
	notes []ingest.Note // memory of those of a heading
	*requestRoom
}

// A requestRoom is where a request is read to.
type requestRoom struct {
	r         request
	written   deadline
	told      deadline
	calls     []call
	awaited   []*call
	attempts  []attempt
	intervals []phaseInterval
	loose     []phaseLength
	ranges    []phaseRange
}

// A phaseRange is which of the intervals and lengths read so far belong to an attempt.
type phaseRange struct {
	attempt          int
	intervals, loose [2]int
}

func newRequestReader(s *symbols) *requestReader {
	return &requestReader{symbols: s, requestRoom: new(requestRoom)}
}

// open begins to read b.
func (d *requestReader) open(b []byte) { d.b, d.at, d.wrong = b, 0, false }

// left is what was not read yet.
func (d *requestReader) left() []byte { return d.b[d.at:] }

// fail ends the reading.
func (d *requestReader) fail() { d.at, d.wrong = len(d.b), true }

func (d *requestReader) uvarint() uint64 {
	b := d.b[d.at:]
	if len(b) >= 8 {
		x := binary.LittleEndian.Uint64(b)
		if x&0x80 == 0 {
			d.at++
			return x & 0x7f
		}
		// The first byte without its highest bit is the last. Up to there, the other seven bits
		// of all bytes move together, without a branch for each.
		if last := ^x & 0x8080808080808080; last != 0 {
			d.at += bits.TrailingZeros64(last)/8 + 1
			x &= last ^ (last - 1)
			x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
			x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
			return x&0x0fffffff | x&0x0fffffff00000000>>4
		}
	}
	v, n := binary.Uvarint(b)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.at += n
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

// size is how many things follow, each of which takes so many bytes or more: no memory is
// taken for what cannot be there.
func (d *requestReader) size(least int) int { return d.count((len(d.b) - d.at) / least) }

// The least that is written of each.
const (
	leastNote    = 1 + 1 + 1 + 1 + len(ingest.SpanID{})                     // code, count, file, position, span
	leastWork    = 4 + len(ingest.SpanID{}) + 1 + 3 + 1 + 1                 // code and whose it is, span, file, times, flags, spans
	leastService = 3                                                        // name, time, spans
	leastRequest = len(ingest.SpanID{}) + 1 + 1 + 1 + 1 + 1 + 1 + 2 + 1 + 1 // span, flags, role, eps, file, position, route, times, grounds, parts; calls
	leastCall    = 1 + 1 + len(ingest.SpanID{}) + 1 + 2 + 1 + 1             // flags, peer, span, position, times, outcome; flags of its attempt
	leastAttempt = 1                                                        // flags
	leastPhase   = 2                                                        // part, length
)

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
	if d.at == len(d.b) || int(d.b[d.at]) >= n {
		d.fail()
		return 0
	}
	d.at++
	return d.b[d.at-1]
}

func (d *requestReader) trace() (id ingest.TraceID) {
	d.skip(copy(id[:], d.left()), len(id))
	return id
}

func (d *requestReader) span() (id ingest.SpanID) {
	d.skip(copy(id[:], d.left()), len(id))
	return id
}

// skip goes on by n bytes, which have to be there.
func (d *requestReader) skip(there, n int) {
	if there < n {
		d.fail()
		return
	}
	d.at += n
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

// place reads the beginning of a heading: where the trace stands.
func (d *requestReader) place() (h heading, rest flagSet) {
	h.id = d.trace()
	f := flagSet(d.uvarint())
	h.rooted, h.torn, h.apart, h.unknown = f.next(), f.next(), f.next(), f.next()
	if h.id == (ingest.TraceID{}) {
		h.start, h.span = d.number(), d.span()
	}
	return h, f
}

// heading reads a heading, whose notes hold until the next.
func (d *requestReader) heading() heading {
	h, f := d.place()
	moved, noted := f.next(), f.next()
	if moved {
		h.moved = d.time()
	}
	if noted {
		h.notes = again(&d.notes, d.size(leastNote))
		for i := range h.notes {
			h.notes[i] = ingest.Note{Code: ingest.Code(d.text()), Count: int64(d.count(mostCount))}
			at := &h.notes[i].Example
			at.File, at.Position, at.Trace, at.Span = d.text(), d.number(), h.id, d.span()
		}
	}
	h.requests = d.size(leastRequest)
	return h
}

// ahead is where the request begins and ends that is read next, and the number of its route.
func (d *requestReader) ahead() (from, end int, route uint32) {
	from = d.at
	size := d.size(1)
	route = d.index(len(d.routes))
	if end = d.at + size; d.wrong || end > len(d.b) {
		d.fail()
		return d.at, d.at, 0
	}
	return from, end, route
}

// next reads a request of a trace into the room of the one before.
func (d *requestReader) next(trace ingest.TraceID) *request {
	if !d.bare {
		d.ahead()
	}
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
		r.chosen = deadline{budget: d.time(), doubt: d.time(), source: Source(d.text())}
		r.deadline = &r.chosen
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
		r.work = make([]work, d.size(leastWork))
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
	written, called, placed, doubted, reached, told := f.next(), f.next(), f.next(), f.next(), f.next(), f.next()
	if written {
		g.written = d.recorded(&d.written)
	}
	if told {
		g.told = d.recorded(&d.told)
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

// recorded reads a recorded deadline into its room.
func (d *requestReader) recorded(room *deadline) *deadline {
	*room = deadline{budget: d.time(), doubt: d.time(), source: Recorded, origin: -1}
	return room
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
		v.services = make([]ServiceWork, d.size(leastService))
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
	n := d.size(leastCall)
	d.calls, d.attempts, d.intervals, d.loose, d.ranges = d.calls[:0], d.attempts[:0], d.intervals[:0], d.loose[:0], d.ranges[:0]
	for i := 0; i < n && !d.wrong; i++ {
		c := grow(&d.calls)
		c.node = int32(len(d.attempts))
		d.call(r, c)
	}
	for _, at := range d.ranges {
		p := &d.attempts[at.attempt].phases
		p.intervals = d.intervals[at.intervals[0]:at.intervals[1]:at.intervals[1]]
		p.loose = d.loose[at.loose[0]:at.loose[1]:at.loose[1]]
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
	r.await(d.awaited[:0])
	d.awaited = r.awaited
}

// grow appends a zero value.
func grow[T any](list *[]T) *T {
	if n := len(*list); n < cap(*list) {
		*list = (*list)[:n+1]
		clear((*list)[n:])
	} else {
		var zero T
		*list = append(*list, zero)
	}
	return &(*list)[len(*list)-1]
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
	c.to, c.who, c.nameable, c.protocol = &who.to, who, who.nameable, who.protocol
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
		if tries = d.size(leastAttempt + len(ingest.SpanID{}) + 2 + 1); tries == 0 {
			d.fail()
		}
	}
	if c.winner < -1 || c.winner >= tries {
		d.fail()
	}
	for i := 0; i < tries && !d.wrong; i++ {
		a := grow(&d.attempts)
		a.server = -1
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
			a.leg, a.word = d.time(), d.time()
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
		if phased {
			at := phaseRange{attempt: len(d.attempts) - 1}
			at.intervals[0], at.loose[0] = len(d.intervals), len(d.loose)
			for n := d.size(leastPhase + 1); n > 0 && !d.wrong; n-- {
				v := phaseInterval{part: part(d.byte(parts))}
				v.low = a.start + d.time()
				v.high = v.low + d.time()
				d.intervals = append(d.intervals, v)
			}
			for n := d.size(leastPhase); n > 0 && !d.wrong; n-- {
				d.loose = append(d.loose, phaseLength{part: part(d.byte(parts)), length: d.time()})
			}
			at.intervals[1], at.loose[1] = len(d.intervals), len(d.loose)
			d.ranges = append(d.ranges, at)
		}
	}
}
