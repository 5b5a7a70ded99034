package ingest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxWindow is the largest zstd window in bytes that is accepted: what the
	// zstd command takes without --long. It is the memory one decoder needs.
	maxWindow = 128 << 20
	// maxWrappings is how often content may be wrapped in itself, archives and
	// log lines counted.
	maxWrappings = 8
	// maxRatio is how many bytes may come out of wrappings, all layers together,
	// for each byte read from disk, beyond the first freeBytes. Deflate reaches
	// 1032 at most; dumps of traces reach 100.
	maxRatio  = 1000
	freeBytes = 1 << 30
)

var errRatio = fmt.Errorf("unpacks to more than %d times its size", maxRatio)

// take finds the form of the content and reads it, after taking off what it is
// wrapped in. It returns what the content is if that is no dump, else "".
func (f *source) take(wrappings int) (refused string) {
	inside := ""
	for wrappings < maxWrappings {
		head, err := f.r.Peek(headSize)
		if len(head) == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				return inside + shortError(err)
			}
			return inside + empty
		}
		if n := beforeText(head); n == len(head) || n > headSize/2 { // nothing is seen of what follows, or too little
			f.skipToText()
			continue
		}
		s := f.tell(head)
		switch {
		case s == nil:
			return inside + describe(head)
		case s.refuse != "":
			return inside + s.refuse
		case s.read != nil:
			s.read(f)
			return ""
		}
		inside += "in " + s.name + ": "
		if s.unpack != nil {
			if refused = s.unpack(f, wrappings+1); refused != "" {
				return inside + refused
			}
			return ""
		}
		if err := s.unwrap(f); err != nil {
			return inside + shortError(err)
		}
		f.disk, f.offset = nil, 0
		wrappings++
	}
	return fmt.Sprintf("wrapped more than %d times", maxWrappings)
}

// skipToText skips what may stand before a text, however much it is, and notes
// the NULs.
func (f *source) skipToText() {
	from, nuls := int64(0), int64(0) // of the run of NULs that is being skipped
	noted := func() {
		if nuls > 0 {
			f.notes.Merge(Note{Code: NULs, Count: 1, Bytes: nuls, Example: Place{File: f.path, Position: from}})
			nuls = 0
		}
	}
	defer noted()
	for f.ctx.Err() == nil {
		head, _ := f.r.Peek(headSize)
		n := beforeText(head)
		for i, c := range head[:n] {
			if c != 0 {
				noted()
				continue
			}
			if nuls == 0 {
				from = f.offset + int64(i)
			}
			nuls++
		}
		f.r.Discard(n)
		f.offset += int64(n)
		if n < len(head) || n == 0 {
			return
		}
	}
}

func (f *source) close() {
	f.narrow()
	for _, c := range f.closers {
		c()
	}
}

// wrap makes r, which reads from f.r, what is read from now on.
func (f *source) wrap(r io.Reader) { f.r = bufio.NewReaderSize(unpacked{f, r}, headSize) }

// gunzip reads all members of a gzip file.
func (f *source) gunzip() error {
	z, err := gzip.NewReader(f.r)
	if err != nil {
		return err
	}
	f.wrap(z)
	return nil
}

// unzstd reads all frames of a zstd file, on the goroutine that reads: its own
// goroutines cost half as much again and gain nothing here.
func (f *source) unzstd() error {
	z, err := newZstd(f.r)
	if err != nil {
		return err
	}
	f.closers = append(f.closers, z.Close)
	f.wrap(z)
	return nil
}

func newZstd(r io.Reader) (*zstd.Decoder, error) {
	return zstd.NewReader(r,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(maxWindow),
		zstd.WithDecodeBuffersBelow(0)) // else a small bomb is unpacked whole
}

// unframe unpacks the zstd frame of one message into w.frame, as far as it can
// be, and returns "" or why that is not all.
func (w *worker) unframe(packed []byte) (why string) {
	w.frame = w.frame[:0]
	if cap(w.frame) > 2*wideBlock {
		w.frame = nil
	}
	var err error
	if w.zstd == nil {
		w.zstd, err = newZstd(bytes.NewReader(packed))
	} else {
		err = w.zstd.Reset(bytes.NewReader(packed))
	}
	if err != nil {
		return "zstd: " + shortError(err)
	}
	for len(w.frame) < w.largest {
		if len(w.frame) == cap(w.frame) {
			w.frame = append(w.frame, 0)[:len(w.frame)]
		}
		n, err := w.zstd.Read(w.frame[len(w.frame):cap(w.frame)])
		w.frame = w.frame[:len(w.frame)+n]
		if errors.Is(err, io.EOF) {
			return ""
		}
		if err != nil {
			return "zstd: " + shortError(err)
		}
	}
	return tooLong
}

// shortError words an error of a decompressor. It is never endOfInput: that is
// the proper end.
func shortError(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "packed data ends early"
	}
	return err.Error()
}

// A meter counts what came out of the wrappings of one file.
type meter struct {
	bytes   int64
	entries int // of archives, at any depth
}

// unpacked counts what it reads and ends with an error when that is out of all
// proportion to the file: a bomb.
type unpacked struct {
	f *source
	r io.Reader
}

func (u unpacked) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	u.f.meter.bytes += int64(n)
	if (u.f.meter.bytes-freeBytes)/maxRatio > u.f.bytes[u.f.index] {
		return n, errRatio
	}
	return n, err
}

// utf16Text turns UTF-16 into UTF-8. PowerShell writes it where output is redirected.
func (f *source) utf16Text() error {
	head, _ := f.r.Peek(4) // it was seen
	order, mark := utf16Order(head)
	f.r.Discard(mark)
	f.wrap(&utf16Reader{f: f, r: f.r, order: order})
	return nil
}

type utf16Reader struct {
	f     *source
	r     *bufio.Reader
	order binary.ByteOrder
	out   []byte // decoded and not read yet
	room  []byte
	given int64 // bytes decoded before room
	err   error // behind room
}

// errHalfUnit is why UTF-16 ends too early.
var errHalfUnit = errors.New("UTF-16 ends in the middle of two bytes")

func (u *utf16Reader) Read(b []byte) (int, error) {
	if len(u.out) == 0 {
		if err := u.decode(); err != nil {
			return 0, err
		}
	}
	n := copy(b, u.out)
	u.out = u.out[n:]
	return n, nil
}

// decode decodes what the reader has at hand. Half a surrogate pair becomes
// U+FFFD; half a unit at the end is noted, and is nothing.
func (u *utf16Reader) decode() error {
	u.given += int64(len(u.room))
	u.room = u.room[:0]
	for len(u.room) < headSize && u.err == nil {
		unit, err := u.next(0)
		if errors.Is(err, errHalfUnit) {
			u.f.cutShort(u.given+int64(len(u.room)), 1, err.Error())
			err = io.EOF
		}
		if u.err = err; err != nil {
			break
		}
		r := rune(unit)
		if utf16.IsSurrogate(r) {
			low, err := u.next(2)
			pair := utf16.DecodeRune(r, rune(low))
			if err == nil && pair != utf8.RuneError {
				u.r.Discard(2)
			}
			r = pair
		}
		u.r.Discard(2)
		u.room = utf8.AppendRune(u.room, r)
	}
	if u.out = u.room; len(u.out) == 0 {
		return u.err
	}
	return nil
}

// next returns the unit that lies skip bytes ahead.
func (u *utf16Reader) next(skip int) (uint16, error) {
	b, err := u.r.Peek(skip + 2)
	if len(b) == skip+2 {
		return u.order.Uint16(b[skip:]), nil
	}
	if len(b) > skip && errors.Is(err, io.EOF) {
		err = errHalfUnit
	}
	return 0, err
}
