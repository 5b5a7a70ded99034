package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxWindow is the largest zstd window in bytes that is accepted: what the
	// zstd command takes without --long. It is the memory one decoder needs.
	maxWindow = 128 << 20
	// maxWrappings is how often content may be wrapped in itself.
	maxWrappings = 8
)

// gunzip reads all members of a gzip file.
func (f *source) gunzip() error {
	z, err := gzip.NewReader(f.r)
	if err != nil {
		return err
	}
	f.r = bufio.NewReaderSize(z, headSize)
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
	f.r = bufio.NewReaderSize(z, headSize)
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
	for len(w.frame) < maxValue {
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
		return "compressed data ends early"
	}
	return err.Error()
}
