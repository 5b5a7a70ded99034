package analyze

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	checksum "hash"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"overrun/ingest"
)

// A Saved is a summary to be read.
type Saved struct {
	Path string // for errors
	Open func() (io.ReadCloser, error)
}

// Notes about what is in several inputs.
const (
	// CutApart counts traces that came in pieces, in several inputs. Where one of the pieces
	// was torn out of a request, all their requests are fragments.
	CutApart ingest.Code = "cut-apart"
	// SavedTwice counts traces that were in an input before: they count once.
	SavedTwice ingest.Code = "saved-twice"
	// WorkUnknown counts traces whose requests have other deadlines than when they were saved:
	// what ran on after those cannot be told without their spans.
	WorkUnknown ingest.Code = "work-unknown"
)

// RunSaved analyses summaries (nil: none), and the traces of a store (nil: none), together, as
// if all traces were in one store. The store gives up its spans on the way unless o.Reread is
// set. What decides what a trace yields has to be the same in the options as when the
// summaries were made: signals of the policy, MaxSkew, and SplitBy unless it is "". Deadlines
// are chosen anew. It fails if what was spilled cannot be read back, if requests cannot be
// spilled, or if ctx ended. Close the Analysis.
func RunSaved(ctx context.Context, store *ingest.Store, saved []Saved, o Options) (*Analysis, error) {
	if len(saved) == 0 {
		return run(ctx, stocked(store, !o.Reread), o)
	}
	a := newAnalysis(o)
	err := a.gather(ctx, store, saved)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a.finish(ctx)
}

// gather reads all inputs, and merges them.
func (a *Analysis) gather(ctx context.Context, store *ingest.Store, saved []Saved) error {
	inputs := make([][]*ingest.Spool, len(saved))
	loaders := make([]*loader, len(saved))
	err := ingest.Each(ctx, a.workers(), len(saved), func(_, i int) (err error) {
		loaders[i], err = a.load(ctx, &saved[i])
		return err
	})
	if err != nil {
		return err
	}
	a.crop = new(crop)
	for i, l := range loaders {
		inputs[i] = []*ingest.Spool{l.spool}
		a.crop.add(&l.crop)
		a.languages.merge(l.languages)
	}
	if store != nil {
		own := a.opts
		a.opts.Pick = Pick{} // pieces of a trace are put together first
		stored, crop, err := a.reap(ctx, stocked(store, !own.Reread))
		a.opts = own
		if err != nil {
			return err
		}
		inputs = append(inputs, stored)
		a.crop.add(crop)
	}
	if len(inputs) == 1 {
		a.stored = inputs[0]
		return nil
	}
	return a.merge(ctx, inputs)
}

// add adds what another input yields.
func (c *crop) add(d *crop) {
	c.files += d.files
	c.bytes += d.bytes
	c.spans += d.spans
	if d.timed {
		c.widen(d.start, d.end)
	}
	for _, n := range d.notes.List() {
		c.notes.Merge(n)
	}
}

// A loader reads one summary.
type loader struct {
	*Analysis
	file      fileReader
	from      *bufio.Reader
	sum       checksum.Hash
	b         []byte // of the record at hand
	symbols   *symbols
	texts     int // bytes that symbols take
	reader    *requestReader
	rooms     roomList
	writer    *requestWriter
	spool     *ingest.Spool
	last      traceKey
	crop      crop
	languages languages

	traces, requests uint64
}

var errCutOff = errors.New("cut off: the summary is not whole")

// load reads a summary, and checks that it is one and fits the options.
func (a *Analysis) load(ctx context.Context, saved *Saved) (*loader, error) {
	file, err := saved.Open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	l := a.newLoader()
	if err := l.load(ctx, file); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errCutOff
		}
		return nil, fmt.Errorf("%s: %w", saved.Path, err)
	}
	return l, nil
}

func (a *Analysis) newLoader() *loader {
	l := &loader{Analysis: a, sum: sha256.New(), symbols: newSymbols(), languages: languages{}, spool: a.spooler.NewSpool()}
	l.reader, l.writer = newRequestReader(l.symbols), newRequestWriter(a.symbols)
	l.reader.bare = true
	return l
}

func (l *loader) load(ctx context.Context, file io.Reader) error {
	var start [len(SummaryMagic) + 1]byte
	if n, err := io.ReadFull(file, start[:]); err != nil && !strings.HasPrefix(SummaryMagic, string(start[:n])) || err == nil && string(start[:len(SummaryMagic)]) != SummaryMagic {
		return errors.New("no summary of overrun analyze --save")
	} else if err != nil {
		return err
	}
	if version := start[len(SummaryMagic)]; version == 0 || version > summaryVersion {
		return fmt.Errorf("a summary of version %d, and this overrun reads versions up to %d: use a newer overrun", version, summaryVersion)
	}
	l.file.Reader = file
	unpacked, err := zstd.NewReader(&l.file, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return err
	}
	defer unpacked.Close()
	l.from = bufio.NewReaderSize(unpacked, 1<<16)
	for first := true; ; first = false {
		kind, err := l.next()
		if err != nil {
			return err
		}
		if first != (kind == headRecord) {
			return damaged("head")
		}
		if kind == endRecord {
			return l.end()
		}
		l.sum.Write(l.b) // never fails
		if err := cmp.Or(ctx.Err(), l.record(kind)); err != nil {
			return err
		}
	}
}

func damaged(what string) error { return fmt.Errorf("damaged: its %s cannot be read", what) }

// next reads a record into b, with its kind and length.
func (l *loader) next() (recordKind, error) {
	l.b = l.b[:0]
	kind, err := l.from.ReadByte()
	if err != nil {
		return 0, l.unpackError(err)
	}
	size, err := binary.ReadUvarint(l.from)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return 0, err
	case err != nil, size > mostRecord:
		return 0, damaged("records")
	}
	l.b = binary.AppendUvarint(append(l.b, kind), size)
	// What is not there takes no memory, whatever the size says.
	const piece = 1 << 16
	for left := int(size); left > 0; {
		n := min(left, piece)
		at := len(l.b)
		l.b = slices.Grow(l.b, n)[:at+n]
		if _, err := io.ReadFull(l.from, l.b[at:]); err != nil {
			return 0, l.unpackError(err)
		}
		left -= n
	}
	return recordKind(kind), nil
}

// unpackError says of an error of unpacking that the summary is damaged, unless it was cut
// off, or cannot be read.
func (l *loader) unpackError(err error) error {
	switch {
	case l.file.err != nil:
		return l.file.err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	}
	return fmt.Errorf("damaged: %w", err)
}

// A fileReader remembers why its file could not be read.
type fileReader struct {
	io.Reader
	err error
}

func (f *fileReader) Read(b []byte) (int, error) {
	n, err := f.Reader.Read(b)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// content is what the record at hand holds.
func (l *loader) content() []byte {
	_, n := binary.Uvarint(l.b[1:])
	return l.b[1+n:]
}

func (l *loader) record(kind recordKind) error {
	b := l.content()
	switch kind {
	case headRecord:
		return l.head(b)
	case textRecord, peerRecord, routeRecord:
		if l.texts += len(b) + 64; l.texts > mostTexts {
			return damaged("list of names")
		}
		return l.symbol(kind, b)
	case traceRecord:
		return l.trace()
	}
	return damaged("records")
}

// symbol takes the next text, peer or route.
func (l *loader) symbol(kind recordKind, b []byte) error {
	s := l.symbols
	if kind == textRecord {
		s.texts = append(s.texts, string(b))
		return nil
	}
	d := l.reader
	d.open(b)
	if kind == peerRecord {
		p := peer{to: dependency{d.text(), d.text(), d.text(), d.text()}, alone: [2]string{d.text(), d.text()}}
		f := flagSet(d.uvarint())
		p.nameable = f.next()
		p.protocol = protocol{http: f.next(), grpc: f.next(), safe: f.next(), read: f.next()}
		if l.opts.SplitBy == "" {
			p.to.split = ""
		}
		s.peers = append(s.peers, p)
	} else {
		r := routeKey{d.text(), d.text(), d.text()}
		if l.opts.SplitBy == "" {
			r.split = ""
		}
		s.routes = append(s.routes, r)
	}
	if d.wrong || len(d.left()) > 0 {
		return damaged("list of names")
	}
	return nil
}

// trace takes a trace, with its deadlines chosen anew.
func (l *loader) trace() error {
	// The size in front of it takes the place of kind and length.
	content := l.content()
	b := append(make([]byte, 0, sizeBytes+len(content)), 0, 0, 0, 0)
	b = append(b, content...)
	h, list := l.rooms.read(l.reader, b)
	if l.reader.wrong || !plausible(list) {
		return damaged("traces")
	}
	key := keyOf(h)
	if c := key.compare(l.last); l.traces > 0 && (c < 0 || c == 0 && h.id != (ingest.TraceID{})) {
		return damaged("order")
	}
	l.last = key
	l.traces++
	l.requests += uint64(len(list))
	chooseAgain(h, list, &l.opts)
	return l.spool.Put(l.writer.trace(h, list))
}

// plausible reports whether requests hold what a run can have stored.
func plausible(list []*request) bool {
	for _, r := range list {
		for _, w := range r.work {
			switch w.code {
			case WorkPastDeadline, AbandonedWork, DeadlineWidened:
			case RetryAmplified:
				if w.detail == nil {
					return false
				}
			default:
				return false
			}
		}
	}
	return true
}

// end checks that all is there, and nothing else.
func (l *loader) end() error {
	b := l.content()
	d := requestReader{b: b}
	traces, requests := d.uvarint(), d.uvarint()
	if d.wrong || traces != l.traces || requests != l.requests || !bytes.Equal(d.left(), l.sum.Sum(nil)) {
		return errors.New("damaged: its checksum does not fit its content")
	}
	if _, err := l.from.ReadByte(); err != io.EOF {
		return errors.New("damaged: something follows its end")
	}
	return nil
}

// head takes what the summary says of itself, and checks that it was made as this run
// would make it.
func (l *loader) head(b []byte) error {
	var h savedHead
	if err := json.Unmarshal(b, &h); err != nil || h.Files < 0 || h.Bytes < 0 || h.Spans < 0 {
		return damaged("head")
	}
	o := &l.opts
	if list := differing(h.Signals, o.Policy.signalSettings()); len(list) > 0 {
		return fmt.Errorf("made with other signals: than this run has (%s): give the --policy it was made with, or save it anew", strings.Join(list, ", "))
	}
	if h.MaxSkew != o.maxSkew() {
		return fmt.Errorf("made with --max-skew %v, and this run has %v: give the same", h.MaxSkew, o.maxSkew())
	}
	if o.SplitBy != "" && h.SplitBy != o.SplitBy {
		made := "without --split-by"
		if h.SplitBy != "" {
			made = "with --split-by " + h.SplitBy
		}
		return fmt.Errorf("made %s, so that it cannot tell rows apart by %s: save it anew", made, o.SplitBy)
	}
	l.crop = crop{files: h.Files, bytes: h.Bytes, spans: h.Spans}
	if h.Start != nil && h.End != nil {
		l.crop.widen(*h.Start, *h.End)
	}
	for _, n := range h.Notes {
		l.crop.notes.Merge(ingest.Note{Code: n.Code, Count: n.Count, Bytes: n.Bytes, Text: n.Text,
			Example: ingest.Place{File: n.File, Position: n.Position, Trace: n.Trace, Span: n.Span}})
	}
	for service, list := range h.Languages {
		for _, language := range list {
			l.languages.add(service, language)
		}
	}
	return nil
}

// differing lists the keys whose values differ.
func differing(a, b []setting) (keys []string) {
	text := map[string]string{}
	for _, s := range a {
		text[s.Key] = s.Text
	}
	for _, s := range b {
		if text[s.Key] == s.Text {
			delete(text, s.Key)
		} else {
			text[s.Key] = ""
		}
	}
	for key := range text {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// chooseAgain chooses the deadlines of the requests of a trace anew. What ran on after the
// deadlines is kept where they are what they were. Else nobody can say, unless
// nothing ran for that long.
func chooseAgain(h *heading, list []*request, o *Options) {
	if len(list) == 0 {
		return
	}
	before := make([]deadline, len(list))
	for i, r := range list {
		before[i] = deadline{budget: math.MinInt64}
		if r.deadline != nil {
			before[i] = deadline{budget: r.deadline.budget, doubt: r.deadline.doubt}
			if r.deadline.source == Inherited {
				before[i].source = Inherited
			}
		}
	}
	var ran [][]work // all but deadlines that were widened, which come first
	for _, r := range list {
		ran = append(ran, slices.DeleteFunc(r.work, func(w work) bool { return w.code == DeadlineWidened }))
		r.work = nil
	}
	chooseDeadlines(list, h.rooted, list[0].start, o)
	same, over := true, true
	for i, r := range list {
		d := deadline{budget: math.MinInt64}
		if r.deadline != nil {
			d = deadline{budget: r.deadline.budget, doubt: r.deadline.doubt}
			if r.deadline.source == Inherited {
				d.source = Inherited
			}
			over = over && r.grounds.reach-r.deadline.budget <= r.deadline.doubt
		}
		same = same && d == before[i]
	}
	if over {
		h.unknown = false
	} else if !same {
		h.unknown = true
	}
	for i, r := range list {
		if over || !same {
			ran[i] = slices.DeleteFunc(ran[i], func(w work) bool { return w.code == WorkPastDeadline })
		}
		r.work = append(r.work, ran[i]...)
	}
}
