package ingest

import (
	"io"
	"maps"
	"slices"
)

// Options say what to read. The zero value reads with one worker a processor
// and keeps no attribute.
type Options struct {
	// Keep lists the attribute keys, of spans and of resources, to keep. A
	// key that ends in * keeps every key with that prefix. What is asked for in lower
	// case is kept in capitals too, as it stands: names of headers have no case. Values
	// of service.name and the span's own fields are always kept.
	Keep []string
	// Events lists the names of events to keep, with * at the end as in Keep. Of
	// their attributes, Keep decides.
	Events []string
	// Loose lists keys of Keep whose values spans that are alike need not share: see
	// Span.Alike.
	Loose []string
	// Links keeps the links of spans.
	Links bool
	// Decoder decodes OTLP; "" is OwnDecoder.
	Decoder Decoder
	// Workers is the number of goroutines that decode; 0 means one a
	// processor. The result does not depend on it.
	Workers int
	// Memory is how many bytes the run may use, of which the store takes its part; 0:
	// any number. Spans that do not fit go to a file in Temp ("": where the system has
	// its temporary files).
	Memory int64
	Temp   string
	// Watch is the beginning of a name of spans: Store.Watched tells whether there is
	// one. "": not asked.
	Watch string
	// Aside, if set, says which files are left out, as they are no dumps: of those that
	// Files lists.
	Aside func(path string) bool
	// Stdin is read where a path is "-".
	Stdin io.Reader
	// Progress, if set, is told from time to time how far the reading is. It is
	// called by one goroutine at a time.
	Progress func(Progress)
}

// Progress is how far a Read is.
type Progress struct {
	Read  int64 // bytes read from disk
	Total int64 // bytes on disk; 0: unknown
	Spans int64 // decoded so far
}

// A Dump is everything that was read, whole in memory.
type Dump struct {
	Files  []File
	Spans  int64    // spans read, before duplicates are dropped
	Traces []*Trace // sorted by ID; spans without a trace id are traces of one span each
	Notes  []Note   // about the input, and those of all traces; sorted by code
}

// A File is one input.
type File struct {
	Path  string // "-" for stdin
	Bytes int64  // as read, before unpacking
	Spans int64
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}
