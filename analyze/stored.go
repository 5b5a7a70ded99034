package analyze

import (
	"time"

	"overrun/ingest"
)

// Requests are stored between the passes as bytes: about 35 a span, in memory or
// spilled, where the types of request.go and call.go take ten times as much. What
// is stored is what a trace yields by itself; what is decided from all traces is
// not, nor what only traced needs.
//
// A stored trace is its size in bytes (4 bytes, little-endian) and a heading, and then
// its requests, each with its size (uvarint) in front, by which a visitor passes over
// those of others. Summaries hold the same (save.go), without sizes of requests, so that what is
// changed here changes their version: outcomes, parts and classes are stored as numbers.

// sizeBytes is how many bytes the size of a stored trace takes.
const sizeBytes = 4

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
