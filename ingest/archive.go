package ingest

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxEntries is how many files the archives in one input may hold, at all
	// depths together. An S3 exporter writes one object a minute and more: a
	// year is half of it.
	maxEntries = 1 << 20
	// maxDirectory is how many bytes the directory of a zip archive may have, all
	// of which is held in memory, several times over.
	maxDirectory = 64 << 20
	// maxEntryName is how many bytes of an entry's name are kept.
	maxEntryName = 512
)

// An archive reads the files in an archive one after the other. Each is told
// by its content, like a file of its own; the name of its spans' File is the
// archive's, a colon, and its own.
type archive struct {
	*source
	wrappings int
	first     string // what the first file that is no dump is
	read      bool   // some file went to a decoder
	buffer    *bufio.Reader
}

// add reads one file of the archive. It reports false if no more are to be.
func (a *archive) add(name string, size int64, r io.Reader) (more bool) {
	if a.meter.entries++; a.meter.entries > maxEntries {
		a.cutOff(fmt.Sprintf("more than %d files in archives: the rest was not read", maxEntries))
		return false
	}
	in := &source{reading: a.reading, path: a.path + ":" + entryName(name), meter: a.meter}
	a.buffer.Reset(unpacked{in, r})
	in.r = a.buffer
	refused := in.take(a.wrappings)
	in.close()
	if refused == "" {
		a.read = true
		return a.ctx.Err() == nil
	}
	if a.first == "" {
		a.first = in.path[len(a.path)+1:] + ": " + refused
	}
	n := Note{Code: Unreadable, Count: 1, Text: refused, Bytes: max(size, 0), Example: Place{File: in.path}}
	if strings.HasSuffix(refused, empty) {
		n.Code, n.Bytes = EmptyFile, 0
	}
	a.notes.Merge(n)
	return a.ctx.Err() == nil
}

// cutOff notes that not all of the archive was read.
func (a *archive) cutOff(why string) {
	a.notes.Merge(Note{Code: Truncated, Count: 1, Text: why, Example: Place{File: a.path}})
}

// verdict returns what the archive is if no file in it went to a decoder.
func (a *archive) verdict(broken error) string {
	switch {
	case a.read && broken != nil:
		a.cutOff(shortError(broken))
		return ""
	case a.read:
		return ""
	case a.first != "":
		return a.first
	case broken != nil:
		return shortError(broken)
	}
	return empty
}

func newArchive(f *source, wrappings int) *archive {
	return &archive{source: f, wrappings: wrappings, buffer: bufio.NewReaderSize(nil, headSize)}
}

// untar reads the files of a tar archive in their order.
func (f *source) untar(wrappings int) (refused string) {
	a := newArchive(f, wrappings)
	for r := tar.NewReader(f.r); ; {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return a.verdict(nil)
		case errors.Is(err, io.ErrUnexpectedEOF):
			return a.verdict(errors.New("the archive ends early"))
		case err != nil:
			return a.verdict(err)
		}
		// Directories, links and devices hold nothing.
		if h.Typeflag == tar.TypeReg && !a.add(h.Name, h.Size, r) {
			return a.verdict(nil)
		}
	}
}

// unzip reads the files of a zip archive in the order of its directory, which
// lies at its end: what cannot be read backwards is held in memory.
func (f *source) unzip(wrappings int) (refused string) {
	r, size := io.ReaderAt(&diskReader{source: f}), f.size
	if f.disk == nil {
		packed := f.fill(nil, f.largest)
		if len(packed) >= f.largest {
			return tooLong + ", and not a file of its own: unpack it first"
		}
		r, size = bytes.NewReader(packed), int64(len(packed))
	}
	limited := &limitedReader{r, maxDirectory}
	z, err := zip.NewReader(limited, size)
	if errors.Is(err, zip.ErrFormat) {
		return "no directory at its end: was the archive cut?"
	}
	if err != nil {
		return err.Error()
	}
	limited.left = math.MaxInt64
	z.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor(zstd.WithDecoderMaxMemory(maxWindow)))
	a := newArchive(f, wrappings)
	for _, entry := range z.File {
		if !entry.Mode().IsRegular() {
			continue
		}
		// The first error is met again by the reader of the entry, and told there.
		r, err := entry.Open()
		if entry.Flags&1 != 0 {
			err = errors.New("encrypted")
		}
		if err != nil {
			r = io.NopCloser(failed{err})
		}
		more := a.add(entry.Name, int64(entry.CompressedSize64), r)
		r.Close()
		if !more {
			break
		}
	}
	return a.verdict(nil)
}

var errDirectory = fmt.Errorf("the directory of the archive is longer than %d MiB: unpack it first", maxDirectory>>20)

// A limitedReader reads so many bytes in all.
type limitedReader struct {
	r    io.ReaderAt
	left int64
}

func (l *limitedReader) ReadAt(b []byte, at int64) (int, error) {
	if l.left < int64(len(b)) {
		return 0, errDirectory
	}
	l.left -= int64(len(b))
	return l.r.ReadAt(b, at)
}

type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }

// A diskReader reads a file at any offset and counts what was read, once round
// at most.
type diskReader struct{ *source }

func (d *diskReader) ReadAt(b []byte, at int64) (int, error) {
	if err := d.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := d.disk.ReadAt(b, at)
	fresh := min(int64(n), d.size-d.bytes[d.index])
	if fresh > 0 {
		d.bytes[d.index] += fresh
		d.done.Add(fresh)
	}
	return n, err
}

// entryName makes the name of an entry fit for messages.
func entryName(name string) string {
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if len(name) > maxEntryName {
		name = name[:maxEntryName]
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		name = strconv.Quote(name)
	}
	return name
}
