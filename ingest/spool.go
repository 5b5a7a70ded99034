package ingest

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// A Spooler holds blocks of bytes in memory up to a limit, and the rest in one
// file. The file has no name from the moment it is open, so that it is gone
// however the process ends. Where a file in use cannot lose its name it is
// removed by Close.
type Spooler struct {
	limit int64 // bytes in memory; 0: no limit
	dir   string

	mu      sync.Mutex
	used    int64 // bytes in memory
	spilled int64 // bytes in the file
	file    *os.File
	unnamed bool
	err     error // the first failure
}

// NewSpooler returns a Spooler that holds up to limit bytes in memory (0: any
// number) and writes what is more to a file in dir ("": where the system has
// its temporary files).
func NewSpooler(limit int64, dir string) *Spooler { return &Spooler{limit: limit, dir: dir} }

// Close gives up the file.
func (s *Spooler) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if !s.unnamed {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	s.file = nil
	return err
}

// Spilled is how many bytes were written to the file.
func (s *Spooler) Spilled() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spilled
}

// Err is the first failure to write, or to read back, or nil.
func (s *Spooler) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// take counts n bytes of memory and reports whether the limit holds.
func (s *Spooler) take(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used += int64(n)
	return s.limit == 0 || s.used <= s.limit
}

func (s *Spooler) give(n int) {
	s.mu.Lock()
	s.used -= int64(n)
	s.mu.Unlock()
}

// Spill puts bytes into the file, whatever the limit, and returns their offset. It fails if they
// cannot be written, and then for ever.
func (s *Spooler) Spill(b []byte) (at int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	if s.file == nil {
		if s.err = s.open(); s.err != nil {
			return 0, s.err
		}
	}
	at = s.spilled
	if _, err := s.file.WriteAt(b, at); err != nil {
		s.err = fmt.Errorf("cannot spill to %s, after %d bytes: %w", s.place(), at, errors.Unwrap(err))
		return 0, s.err
	}
	s.spilled += int64(len(b))
	return at, nil
}

// Unspill fills b with what was spilled to the offset.
func (s *Spooler) Unspill(b []byte, at int64) error {
	_, err := s.file.ReadAt(b, at)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("cannot read back what was spilled to %s: %w", s.place(), err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return err
}

func (s *Spooler) open() error {
	f, err := os.CreateTemp(s.dir, "overrun-*.spill")
	if err != nil {
		return fmt.Errorf("cannot spill: %w", err)
	}
	s.file, s.unnamed = f, os.Remove(f.Name()) == nil
	return nil
}

func (s *Spooler) place() string {
	if s.dir != "" {
		return s.dir
	}
	return os.TempDir()
}

// A Spool is a sequence of blocks of a Spooler. It is for one goroutine at a
// time; once Blocks was called and nothing put since, for several that call Blocks.
type Spool struct {
	of     *Spooler
	blocks []block
	open   []byte // the block being filled
	spare  []byte
	bytes  int64 // in all
}

// A block lies in memory, or in the file at [at, at+size).
type block struct {
	data []byte // nil: in the file
	at   int64
	size int
}

// Blocks grow to spoolBlock, so that many spools of little cost little.
const (
	firstBlock = 1 << 10
	spoolBlock = 64 << 10
)

// NewSpool returns an empty Spool.
func (s *Spooler) NewSpool() *Spool { return &Spool{of: s} }

// Bytes is how many bytes the spool holds.
func (s *Spool) Bytes() int64 { return s.bytes }

// Put appends b, which no boundary between blocks will part.
func (s *Spool) Put(b []byte) error {
	if len(s.open)+len(b) > cap(s.open) {
		if err := s.seal(); err != nil {
			return err
		}
		s.room(len(b))
	}
	s.open = append(s.open, b...)
	s.bytes += int64(len(b))
	return nil
}

// room opens a block for at least n bytes.
func (s *Spool) room(n int) {
	size := spoolBlock
	if have := len(s.blocks); have < 6 {
		size = firstBlock << have
	}
	switch {
	case n > size:
		s.open = make([]byte, 0, n)
	case s.spare != nil:
		s.open, s.spare = s.spare[:0], nil
	default:
		s.open = make([]byte, 0, size)
	}
}

// seal ends the block being filled. Past the limit, all that the spool has in
// memory goes to the file.
func (s *Spool) seal() error {
	if len(s.open) == 0 {
		return nil
	}
	s.blocks = append(s.blocks, block{data: s.open, size: len(s.open)})
	fits := s.of.take(cap(s.open))
	s.open = nil
	if fits {
		return nil
	}
	for i := range s.blocks {
		b := &s.blocks[i]
		if b.data == nil {
			continue
		}
		at, err := s.of.Spill(b.data)
		if err != nil {
			return err
		}
		s.of.give(cap(b.data))
		if cap(b.data) == spoolBlock {
			s.spare = b.data
		}
		*b = block{at: at, size: b.size}
	}
	return nil
}

// Blocks gives visit the blocks in order. A block stays as it is for as long as
// anything refers to it.
func (s *Spool) Blocks(visit func(b []byte) error) error {
	if err := s.seal(); err != nil {
		return err
	}
	for i := range s.blocks {
		b := s.blocks[i].data
		if b == nil {
			b = make([]byte, s.blocks[i].size)
			if err := s.of.Unspill(b, s.blocks[i].at); err != nil {
				return err
			}
		}
		if err := visit(b); err != nil {
			return err
		}
	}
	return nil
}

// Next gives the first block that is left, which the spool gives up; nil: none is left.
func (s *Spool) Next() ([]byte, error) {
	if err := s.seal(); err != nil || len(s.blocks) == 0 {
		return nil, err
	}
	first := s.blocks[0]
	s.blocks[0] = block{}
	s.blocks = s.blocks[1:]
	s.bytes -= int64(first.size)
	b := first.data
	if b == nil {
		b = make([]byte, first.size)
		return b, s.of.Unspill(b, first.at)
	}
	s.of.give(cap(b))
	return b, nil
}

// Drop gives up all blocks.
func (s *Spool) Drop() {
	for i := range s.blocks {
		s.of.give(cap(s.blocks[i].data))
	}
	s.blocks, s.open, s.spare, s.bytes = nil, nil, nil, 0
}
