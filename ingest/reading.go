package ingest

import (
	"sync"
	"sync/atomic"
)

// A reading is the reading of one input, by one goroutine. Several inputs are
// read at once: taking gzip off is slower than decoding what is in it.
type reading struct {
	*job
	index int
	notes Notes
	err   error    // what ends the run
	cut   *cutLine // kept back from the last text; nil: nothing

	before *reading      // a file of the same rotation, put aside before this one; nil: none, or what it ended in is dealt with
	after  bool          // whether there is a reading whose before is this
	over   chan struct{} // closed when cut is what the input ends in

	wide int // sources that are wide, see widen
}

// readAll reads the inputs, as many at once as there are workers. They begin in
// their order, so that what one waits for has begun.
func (j *job) readAll() {
	readings := make([]reading, len(j.inputs))
	for i := range readings {
		r := &readings[i]
		*r = reading{job: j, index: i, over: make(chan struct{})}
		if i > 0 && j.inputs[i-1].stamp != "" && j.inputs[i-1].stream == j.inputs[i].stream {
			r.before = &readings[i-1]
			r.before.after = true
		}
	}
	var next atomic.Int64
	var failed atomic.Bool
	var running sync.WaitGroup
	for range min(j.workers, len(readings)) {
		running.Go(func() {
			for j.ctx.Err() == nil && j.spooler.Err() == nil && !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= len(readings) {
					return
				}
				r := &readings[i]
				j.found[i].refused = r.read()
				r.finish()
				if r.err != nil {
					failed.Store(true)
				}
			}
		})
	}
	running.Wait()
	for i := range readings {
		r := &readings[i]
		if j.err == nil {
			j.err = r.err // of the first: all before it were begun
		}
		for _, n := range r.notes.List() {
			j.notes.Merge(n)
		}
	}
}

// finish deals with the starts of lines that no file went on with.
func (r *reading) finish() {
	defer close(r.over)
	if c := r.cutBefore(); c != nil {
		c.f.send(c.unit)
	}
	if c := r.cut; c != nil && !r.after {
		r.cut = nil
		c.f.send(c.unit)
	}
}

// cutBefore waits until the file before is over and returns the start of a line
// in which it ends, nil if there is none. It is asked for once.
func (r *reading) cutBefore() *cutLine {
	if r.before == nil {
		return nil
	}
	select {
	case <-r.before.over:
	case <-r.ctx.Done():
		return nil
	}
	c := r.before.cut
	r.before = nil
	return c
}

// maxNarrow is how many bytes of content each reading may hold. Lines of 8 MB
// are normal, and two make a block.
const maxNarrow = 16 << 20

// widen waits until this reading may hold more than maxNarrow bytes of content,
// which one reading may at a time. That one waits for no other: what it might wait
// for is over.
func (f *source) widen() {
	if f.isWide {
		return
	}
	f.isWide = true
	if f.reading.wide++; f.reading.wide > 1 {
		return
	}
	if f.before != nil {
		select {
		case <-f.before.over:
		case <-f.ctx.Done():
		}
	}
	f.wideOne.Lock()
}

// narrow says that the source holds little again.
func (f *source) narrow() {
	if !f.isWide {
		return
	}
	f.isWide = false
	if f.reading.wide--; f.reading.wide == 0 {
		f.wideOne.Unlock()
	}
}
