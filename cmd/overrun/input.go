package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"overrun/analyze"
	"overrun/ingest"
	"overrun/report"
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
func (a *app) read(ctx context.Context, f *sourceFlags, policy *analyze.Policy, paths []string) (*ingest.Store, error) {
	o := ingest.Options{Keep: f.keep(policy), Events: analyze.Events(policy), Loose: analyze.Loose(), Links: true, Watch: analyze.Watch,
		Decoder: ingest.Decoder(f.decoder), Workers: f.workers, Memory: f.share(), Temp: f.temp, Stdin: a.stdin, Aside: f.aside}
	shown := !f.quiet && isTerminal(a.stderr)
	tell, finish := a.showProgress(f, shown)
	o.Progress = tell
	store, err := ingest.Open(ctx, paths, o)
	finish()
	if err != nil {
		return nil, err
	}
	if shown || f.progress {
		fmt.Fprintf(a.stderr, "overrun: read %s, %s\n", report.Plural(len(store.Files), "file"), report.Plural(store.Spans, "span"))
	}
	return store, nil
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// load reads the policy, opens the output, and opens the input, in this order: what
// is wrong with the first two shows before a long read. The output is the
// caller's to discard, and the input to close.
func (a *app) load(ctx context.Context, f *sourceFlags, paths []string) (*analyze.Policy, *output, *inputs, error) {
	policy, err := readPolicy(f.policy)
	if err != nil {
		return nil, nil, nil, err
	}
	out, err := a.create(ctx, f.output)
	if err != nil {
		return nil, nil, nil, err
	}
	in, err := a.open(ctx, f, policy, paths)
	if err != nil {
		out.discard()
		return nil, nil, nil, err
	}
	return policy, out, in, nil
}
