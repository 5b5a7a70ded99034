package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"overrun/analyze"
	"overrun/report"
)

const compareHelp = `compare puts two dumps side by side: for each route, how requests ended, how long
they took and where their time went; for each dependency of each caller, how its
attempts ended and how long they took. Each difference has a 95 %% interval and a
verdict: better, worse, no evidence (it may be chance), too few (values for a
verdict), not known (cuts or missing weights hide it).

BEFORE and AFTER are a file, a folder or a quoted pattern each, or one of them - for
standard input; see analyze --help for what is read. Both are analysed under the same
policy and deadline. Compare like with like: the same kinds of requests under the same
load; --split-by tells them apart.

Verdicts are corrected for their number (Benjamini and Hochberg, 5 %%): of the
differences called better or worse, at most 5 %% are expected to be chance, and where
nothing differs, anything is called so in at most 5 %% of comparisons. Requests of one
trace are not independent: all that a trace says of a row counts as one value.

acceptance in the policy file says beforehand what is accepted. The first rule that
matches a route counts; each limit is optional:

  acceptance:
    - service: card
      route: "GET /card/*"
      in_time_lower: 1%%         # the share in time may be lower by one point
      partial: 5%%               # of answers, after
      attempts_per_request: 6   # mean, after
      p99: 200ms                # after

A rule is kept if the whole 95 %% interval is within its limit, broken if the whole
interval is beyond it, and else undecided: standard error says so, and with --strict it
counts as broken. A broken rule exits with status 3, after all is written.

Examples:

  overrun compare --deadline 200ms testdata/card-5.jsonl.gz testdata/card-5-after.jsonl.gz
  overrun compare --policy testdata/acceptance.yaml --format markdown testdata/card-5.jsonl.gz testdata/card-5-after.jsonl.gz
%s`

// compareFlags are the flags of compare.
type compareFlags struct {
	sourceFlags
	junit  string // "": none
	strict bool
}

func (a *app) compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare [flags] BEFORE AFTER",
		Short: "put two dumps side by side, and decide by what was accepted before",
		Long:  fmt.Sprintf(compareHelp, exitHelp),
		Args:  needTwo,
		RunE: a.starting(func(cmd *cobra.Command, paths []string) error {
			return runCompare(cmd.Context(), a, &f, paths)
		}),
	}
	f.bind(cmd, "text", "markdown", "json", "csv")
	f.bindSplit(cmd)
	f.bindMetrics(cmd)
	cmd.Flags().Var(&fileValue{&f.junit}, "junit", "write the rules of acceptance to `FILE` besides, as JUnit XML: broken ones failed,\nundecided ones skipped")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "a rule that cannot be decided counts as broken")
	return cmd
}

// needTwo refuses a command line without two paths.
func needTwo(_ *cobra.Command, args []string) error {
	switch {
	case len(args) != 2:
		return fmt.Errorf("give two paths, BEFORE and AFTER, each a file, a folder or a quoted pattern: here are %d", len(args))
	case args[0] == "-" && args[1] == "-":
		return errors.New("standard input can be one of the two, not both")
	}
	return nil
}

func runCompare(ctx context.Context, a *app, f *compareFlags, paths []string) error {
	if err := apart(paths, f.policy, f.output, f.metrics, f.junit); err != nil {
		return err
	}
	policy, err := readPolicy(f.policy)
	if err != nil {
		return err
	}
	if policy == nil || len(policy.Acceptance) == 0 {
		switch {
		case f.junit != "":
			return usagef("--junit writes the rules of acceptance: give them in a file of --policy")
		case f.strict:
			return usagef("--strict is for the rules of acceptance: give them in a file of --policy")
		}
	}
	out, err := a.create(ctx, f.output)
	if err != nil {
		return err
	}
	defer out.discard()
	metrics, err := a.besides(ctx, f.metrics)
	if err != nil {
		return err
	}
	defer metrics.discard()
	junit, err := a.besides(ctx, f.junit)
	if err != nil {
		return err
	}
	defer junit.discard()
	f.sides = len(paths)
	var sides []*analyze.Analysis
	for _, path := range paths {
		side, err := a.analyse(ctx, &f.sourceFlags, policy, path)
		if err != nil {
			return err
		}
		defer side.Close()
		sides = append(sides, side)
	}
	c, err := analyze.Compare(sides[0], sides[1])
	if err != nil {
		return err
	}
	if f.pick == (analyze.Pick{}) {
		if err := policy.CheckAcceptance(f.policy, c); err != nil {
			return err
		}
	}
	if err := f.write(out, metrics, junit, c); err != nil {
		return err
	}
	return f.decide(a.stderr, c)
}

// analyse reads one side, and analyses it.
func (a *app) analyse(ctx context.Context, f *sourceFlags, policy *analyze.Policy, path string) (*analyze.Analysis, error) {
	in, err := a.open(ctx, f, policy, []string{path})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	side, err := in.analyse(ctx, f.analysis(policy))
	if err != nil {
		return nil, err
	}
	if err := f.picked(&side.Report); err != nil {
		_ = side.Close() // the other error says more
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return side, nil
}

// write writes all outputs, of which metrics and junit may be nil, and gives them their names.
func (f *compareFlags) write(out, metrics, junit *output, c *analyze.Comparison) (err error) {
	look := out.look(&f.sourceFlags)
	switch f.format {
	case "text":
		err = report.CompareText(out, c, look)
	case "markdown":
		err = report.CompareMarkdown(out, c, look)
	case "json":
		err = report.CompareJSON(out, c)
	case "csv":
		err = report.CompareCSV(out, c)
	}
	if err == nil && metrics != nil {
		err = report.CompareMetrics(metrics, c)
	}
	if err == nil && junit != nil {
		err = report.JUnit(junit, c, f.policy, f.strict)
	}
	if err != nil {
		return err
	}
	return commit(out, metrics, junit)
}

// A brokenAcceptance says which rules are broken, or count as such.
type brokenAcceptance struct{ what []string }

func (b *brokenAcceptance) Error() string { return strings.Join(b.what, "\n") }
func (b *brokenAcceptance) Unwrap() error { return errBroken }

// decide fails if a rule of acceptance is broken. What is undecided is said in any case.
func (f *compareFlags) decide(stderr io.Writer, c *analyze.Comparison) error {
	var broken brokenAcceptance
	for i := range c.Acceptance {
		check := &c.Acceptance[i]
		text := fmt.Sprintf("%s:%d: %s: %s", f.policy, check.Line, check.Ruling, report.CheckText(check))
		switch {
		case check.Ruling == analyze.Broken, check.Ruling == analyze.Undecided && f.strict:
			broken.what = append(broken.what, text)
		case check.Ruling == analyze.Undecided:
			fmt.Fprintf(stderr, "overrun: %s\n", printable(text))
		}
	}
	if broken.what == nil {
		return nil
	}
	return &broken
}
