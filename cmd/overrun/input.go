package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/term"

	"overrun/analyze"
	"overrun/ingest"
)

// readPolicy reads a policy file; nil: no path.
func readPolicy(path string) (*analyze.Policy, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return analyze.ParsePolicy(path, data)
}

// read reads dumps, and of them what the analysis with a policy needs. On a terminal it shows how far it is, and what it read.
func (a *app) read(ctx context.Context, f *sourceFlags, policy *analyze.Policy, paths []string) (*ingest.Dump, error) {
	o := ingest.Options{Keep: analyze.Keep(policy), Events: analyze.Events(policy), Links: true, Decoder: ingest.Decoder(f.decoder), Workers: f.workers, Stdin: a.stdin}
	shown := !f.quiet && isTerminal(a.stderr)
	tell, finish := a.showProgress(f, shown)
	o.Progress = tell
	dump, err := ingest.Read(ctx, paths, o)
	finish()
	if err != nil {
		return nil, err
	}
	if shown || f.progress {
		fmt.Fprintf(a.stderr, "overrun: read %s, %s, %s\n", counted(len(dump.Files), "file"), counted(int(dump.Spans), "span"), counted(len(dump.Traces), "trace"))
	}
	return dump, nil
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// counted writes a number with its noun: 1 span, 1 008 spans.
func counted(n int, noun string) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + " " + text[at:]
	}
	if n != 1 {
		noun += "s"
	}
	return text + " " + noun
}

// load reads the policy, opens the output, and reads the dumps, in this order: what
// is wrong with the first two shows before a long read. The output is the
// caller's to discard.
func (a *app) load(ctx context.Context, f *sourceFlags, paths []string) (*analyze.Policy, *output, *ingest.Dump, error) {
	policy, err := readPolicy(f.policy)
	if err != nil {
		return nil, nil, nil, err
	}
	out, err := a.create(ctx, f.output)
	if err != nil {
		return nil, nil, nil, err
	}
	dump, err := a.read(ctx, f, policy, paths)
	if err != nil {
		out.discard()
		return nil, nil, nil, err
	}
	return policy, out, dump, nil
}
