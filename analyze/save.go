package analyze

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	checksum "hash"
	"io"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"overrun/ingest"
)

// A summary is a file that holds what the traces of a run yield by themselves, so that
// several of them, or summaries and dumps, give the report that all of their dumps
// would give together: values, never verdicts. It is:
//
//	SummaryMagic, the version (1 byte), and a zstd stream of records
//	record   kind (1 byte), length (uvarint), and so many bytes:
//	  head     JSON, see savedHead; the first record
//	  text     the bytes of the next text; text 0 is ""
//	  peer     the next peer:  6 numbers of texts, flags
//	  route    the next route: 3 numbers of texts
//	  trace    as in stored.go, without its size; in the order of ingest.Order
//	  end      how many traces and requests there were (uvarint each), and the SHA-256 of
//	           all records before; the last record
//
// A text, peer or route comes before the first trace that refers to it.
const SummaryMagic = "\x89OVERRUN"

// summaryVersion is that of what is written; all versions from 1 on are read. Since 2, grounds tell
// of a deadline that a callee was told and its call did not have.
const summaryVersion = 2

// A recordKind is what a record of a summary is.
type recordKind byte

const (
	headRecord  recordKind = 'H'
	textRecord  recordKind = 'S'
	peerRecord  recordKind = 'P'
	routeRecord recordKind = 'R'
	traceRecord recordKind = 'T'
	endRecord   recordKind = 'E'
)

// Limits of a summary: what is larger is neither written nor read.
const (
	mostRecord = 64 << 20  // bytes of one record
	mostTexts  = 256 << 20 // bytes of all texts, and of what refers to them
)

// A savedHead is what a summary says of all its traces.
type savedHead struct {
	Files     int             `json:"files"`
	Bytes     int64           `json:"bytes"`
	Spans     int64           `json:"spans"`
	Start     *int64          `json:"start_unix_ns"` // null: no span has both its times
	End       *int64          `json:"end_unix_ns"`
	Notes     []savedNote     `json:"notes"` // about the input, not about traces
	Languages languages       `json:"languages"`
	MaxSkew   time.Duration   `json:"max_skew_ns"`
	SplitBy   string          `json:"split_by"`
	Signals   []setting       `json:"signals"` // of the policy, those that differ from the default
	Deadline  time.Duration   `json:"deadline_ns"`
	Deadlines []savedDeadline `json:"deadlines"` // of the policy
}

type savedNote struct {
	Code     ingest.Code    `json:"code"`
	Count    int64          `json:"count"`
	Bytes    int64          `json:"bytes"`
	Text     string         `json:"text"`
	File     string         `json:"file"`
	Position int64          `json:"position"`
	Trace    ingest.TraceID `json:"trace"`
	Span     ingest.SpanID  `json:"span"`
}

type savedDeadline struct {
	Service  string        `json:"service"`
	Route    string        `json:"route"`
	Deadline time.Duration `json:"deadline_ns"`
}

// Save writes a summary of all that was analysed. It fails where requests were picked: a
// summary holds all of them, and whoever reads it picks.
func (a *Analysis) Save(w io.Writer) error {
	if a.opts.Pick != (Pick{}) {
		return errors.New("a summary holds all requests: pick them when it is read")
	}
	if _, err := w.Write(append([]byte(SummaryMagic), summaryVersion)); err != nil {
		return err
	}
	// One goroutine and a window of its own size, so that equal input gives equal bytes.
	packed, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(savedWindow), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	s := &saver{to: packed, sum: sha256.New(), symbols: newSymbols()}
	s.writer = newRequestWriter(s.symbols)
	s.writer.bare = true
	if err := s.save(a); err != nil {
		return errors.Join(err, packed.Close())
	}
	return packed.Close()
}

// savedWindow is how far back the packing looks, which is what reading it takes.
const savedWindow = 1 << 20

// A saver writes the records of a summary.
type saver struct {
	to      io.Writer
	sum     checksum.Hash
	symbols *symbols
	writer  *requestWriter
	scratch []byte

	texts, peers, routes int // written so far
	traces, requests     uint64
}

func (s *saver) save(a *Analysis) error {
	head, err := json.Marshal(a.savedHead())
	if err != nil {
		return err
	}
	if err := s.put(headRecord, head); err != nil {
		return err
	}
	s.texts = 1 // "" is known
	d := newRequestReader(a.symbols)
	var list roomList
	err = a.inOrder(func(b []byte) error {
		h, requests := list.read(d, b)
		b = s.writer.trace(h, requests)
		if len(b) > mostRecord {
			return fmt.Errorf("trace %v is too large for a summary: %d bytes", h.id, len(b))
		}
		if err := s.define(); err != nil {
			return err
		}
		s.traces++
		s.requests += uint64(len(requests))
		return s.put(traceRecord, b[sizeBytes:])
	})
	if err != nil {
		return err
	}
	end := binary.AppendUvarint(binary.AppendUvarint(nil, s.traces), s.requests)
	return s.put(endRecord, s.sum.Sum(end))
}

// inOrder is traces in the order of ingest.Order, which those of Run are not in: they are
// all in memory.
func (a *Analysis) inOrder(visit func(b []byte) error) error {
	if !a.run {
		return a.traces(visit)
	}
	type place struct {
		key   traceKey
		trace []byte
	}
	var places []place
	d := newRequestReader(a.symbols)
	err := a.traces(func(b []byte) error {
		d.open(b[sizeBytes:])
		h, _ := d.place()
		places = append(places, place{keyOf(&h), b})
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(places, func(a, b place) int { return a.key.compare(b.key) })
	for _, p := range places {
		if err := visit(p.trace); err != nil {
			return err
		}
	}
	return nil
}

// traces gives visit the stored traces, each with its size.
func (a *Analysis) traces(visit func(b []byte) error) error {
	for _, s := range a.stored {
		err := s.Blocks(func(b []byte) error {
			for len(b) > 0 {
				n := sizeBytes + int(binary.LittleEndian.Uint32(b))
				if err := visit(b[:n]); err != nil {
					return err
				}
				b = b[n:]
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// define writes what was numbered since it was called last.
func (s *saver) define() error {
	w := &requestWriter{symbols: s.symbols, seen: map[string]uint32{}}
	var records [][]byte
	var kinds []recordKind
	for ; s.peers < len(s.symbols.peers); s.peers++ {
		p := &s.symbols.peers[s.peers]
		w.b = nil
		for _, text := range []string{p.to.caller, p.to.callee, p.to.operation, p.to.split, p.alone[0], p.alone[1]} {
			w.text(text)
		}
		w.flags(p.nameable, p.protocol.http, p.protocol.grpc, p.protocol.safe, p.protocol.read)
		records, kinds = append(records, w.b), append(kinds, peerRecord)
	}
	for ; s.routes < len(s.symbols.routes); s.routes++ {
		r := &s.symbols.routes[s.routes]
		w.b = nil
		for _, text := range []string{r.service, r.route, r.split} {
			w.text(text)
		}
		records, kinds = append(records, w.b), append(kinds, routeRecord)
	}
	for ; s.texts < len(s.symbols.texts); s.texts++ {
		if err := s.put(textRecord, []byte(s.symbols.texts[s.texts])); err != nil {
			return err
		}
	}
	for i, b := range records {
		if err := s.put(kinds[i], b); err != nil {
			return err
		}
	}
	return nil
}

func (s *saver) put(kind recordKind, b []byte) error {
	s.scratch = binary.AppendUvarint(append(s.scratch[:0], byte(kind)), uint64(len(b)))
	s.scratch = append(s.scratch, b...)
	s.sum.Write(s.scratch) // never fails
	_, err := s.to.Write(s.scratch)
	return err
}

func (a *Analysis) savedHead() *savedHead {
	c := a.crop
	h := &savedHead{Files: c.files, Bytes: c.bytes, Spans: c.spans, Notes: []savedNote{}, Languages: a.languages, MaxSkew: a.opts.maxSkew(),
		SplitBy: a.opts.SplitBy, Signals: a.opts.Policy.signalSettings(), Deadline: a.opts.Deadline, Deadlines: []savedDeadline{}}
	if c.timed {
		h.Start, h.End = &c.start, &c.end
	}
	for _, n := range c.notes.List() {
		h.Notes = append(h.Notes, savedNote{n.Code, n.Count, n.Bytes, n.Text, n.Example.File, n.Example.Position, n.Example.Trace, n.Example.Span})
	}
	if a.opts.Policy != nil {
		for _, d := range a.opts.Policy.Deadlines {
			h.Deadlines = append(h.Deadlines, savedDeadline{d.Service, d.Route, d.Deadline})
		}
	}
	return h
}

// A setting is a key of the signals of a policy whose value is not the default.
type setting struct {
	Key  string `json:"key"`
	Text string `json:"text"` // of the value, as JSON
}

// signalSettings lists the signals that differ from DefaultSignals.
func (p *Policy) signalSettings() []setting {
	list := []setting{}
	if p == nil || p.Signals == nil {
		return list
	}
	defaults := DefaultSignals().values()
	for i, v := range p.Signals.values() {
		text, other := plainJSON(v.value), plainJSON(defaults[i].value)
		if text != other {
			list = append(list, setting{v.key, text})
		}
	}
	return list
}

type signalValue struct {
	key   string // in the policy file
	value any
}

// values are the signals as they count: without the lines that they stand in.
func (s *UserSignals) values() []signalValue {
	return []signalValue{
		{"deadlines", unlined(s.Deadlines, func(d *DeadlineSignal) { d.Line = 0 })},
		{"attempts", unlined(s.Attempts, func(a *AttemptSignal) { a.Line = 0 })},
		{"spans", unlined(s.Spans, func(p *SpanSignal) { p.Line = 0 })},
		{"dependencies", unlined(s.Dependencies, func(p *PeerSignal) { p.Line = 0 })},
		{"ignore", unlined(s.Ignore, func(i *IgnoreSignal) { i.Line = 0 })},
		{"sampling", unlined(s.Sampling, func(w *SamplingSignal) { w.Line = 0 })},
		{"retryable", append([]string{}, s.Retryable...)},
		{"largest_gap", s.LargestGap.String()},
		{"infer_retries", s.InferRetries},
		{"infer_hedges", s.InferHedges},
		{"client_cancel_is_timeout", s.ClientCancelIsTimeout},
		{"words", s.Words},
	}
}

func unlined[T any](list []T, clear func(*T)) []T {
	own := append([]T{}, list...)
	for i := range own {
		clear(&own[i])
	}
	return own
}

func plainJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts, numbers and booleans
	}
	return string(text)
}

// maxSkew is the most that a clock is moved; 0: none is.
func (o *Options) maxSkew() time.Duration {
	if o.MaxSkew == 0 {
		return DefaultMaxSkew
	}
	return max(o.MaxSkew, 0)
}
