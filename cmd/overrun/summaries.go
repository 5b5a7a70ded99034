package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"overrun/analyze"
	"overrun/ingest"
)

// An inputs is what a command was given: dumps, which are read, and summaries of
// earlier runs. Close it.
type inputs struct {
	store *ingest.Store // nil: summaries alone
	saved []analyze.Saved
}

// analyse analyses all inputs together.
func (in *inputs) analyse(ctx context.Context, o analyze.Options) (*analyze.Analysis, error) {
	return analyze.RunSaved(ctx, in.store, in.saved, o)
}

func (in *inputs) Close() error {
	if in.store == nil {
		return nil
	}
	return in.store.Close()
}

// open tells summaries from dumps by their first bytes, and reads the dumps.
func (a *app) open(ctx context.Context, f *sourceFlags, policy *analyze.Policy, paths []string) (*inputs, error) {
	if err := f.folder(); err != nil {
		return nil, err
	}
	files, err := ingest.Files(paths)
	if err != nil {
		return nil, err
	}
	in := &inputs{}
	other := map[string]bool{} // summaries, and what this run is writing in a folder that it reads
	for _, path := range files {
		if saved, ok := a.summaryAt(path); ok {
			in.saved = append(in.saved, saved)
			other[path] = true
		} else if a.writing(path) {
			other[path] = true
		}
	}
	f.memory = limitMemory(f.memory)
	if len(in.saved) == 0 || len(other) < len(files) {
		f.aside = func(path string) bool { return other[path] }
		if in.store, err = a.read(ctx, f, policy, paths); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// writing reports whether this run is writing the file.
func (a *app) writing(path string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.temporary, func(name string) bool { return filepath.Base(name) == filepath.Base(path) && sameFile(name, path) })
}

// summaryAt returns the file at a path if it is a summary. What cannot be read is left to
// whoever reads dumps, which says why.
func (a *app) summaryAt(path string) (saved analyze.Saved, ok bool) {
	head := make([]byte, len(analyze.SummaryMagic))
	saved = analyze.Saved{Path: path, Open: func() (io.ReadCloser, error) { return os.Open(path) }}
	if path == "-" {
		buffered := bufio.NewReader(a.stdin)
		a.stdin = buffered
		head, _ = buffered.Peek(len(head)) // an error comes again
		saved.Open = func() (io.ReadCloser, error) { return io.NopCloser(buffered), nil }
		return saved, string(head) == analyze.SummaryMagic
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return saved, false
	}
	file, err := os.Open(path)
	if err != nil {
		return saved, false
	}
	defer file.Close()
	if _, err := io.ReadFull(file, head); err != nil {
		return saved, false
	}
	return saved, string(head) == analyze.SummaryMagic
}

// noSummaries refuses summaries where spans are needed.
func (in *inputs) noSummaries() error {
	if len(in.saved) == 0 {
		return nil
	}
	return fmt.Errorf("%s: a summary of overrun analyze --save, which holds no spans: give the dump", in.saved[0].Path)
}
