package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"overrun/ingest"
	"overrun/report"
)

const traceHelp = `trace prints single traces: for each top request its critical path, and its
calls with what was left of the deadline when each started, the timeout it could
have had, and how it ended. What is not known is shown as such, and is null in
JSON. Minimums and ceilings that the policy does not give are measured over all
that was read, so give the whole dump and choose with --id.

Connecting, retries and hedges are told apart where spans, events or linked traces
tell. Explicit marks count first; attempts that only their times join are marked
as inferred. --explain adds the ids of the rules behind every call and attempt,
which overrun signals explains.

Without --id all traces are printed, one after the other: a big dump makes a
very long text.

PATH is a file, a folder, a pattern, or - for standard input, as for analyze.
Times count from the start of the top request. With --format json each top
request is a line of JSON, with durations in whole nanoseconds (_ns).

Examples:

  overrun trace --deadline 200ms --id 00000000000000000000000000000001 testdata/card-5.jsonl.gz
  overrun trace --explain --id 00000000000000000000000000000001 testdata/card-5.jsonl.gz
  overrun trace --policy testdata/policy.yaml --format json testdata/card-5.jsonl.gz
` + exitHelp

// minPrefix is the fewest digits that --id takes.
const minPrefix = 4

// A traceName names a trace.
type traceName struct {
	given  string
	digits string // its id, or how that begins: hexadecimal, lower case
}

// traceFlags are the flags of trace.
type traceFlags struct {
	sourceFlags
	ids     []traceName // none: all traces
	explain bool
}

func (a *app) traceCommand() *cobra.Command {
	var f traceFlags
	cmd := &cobra.Command{
		Use:   "trace [flags] PATH...",
		Short: "print critical path, calls and timeouts of single traces",
		Long:  traceHelp,
		Args:  needPaths,
		RunE: a.starting(func(cmd *cobra.Command, paths []string) error {
			return runTrace(cmd.Context(), a, &f, paths)
		}),
	}
	f.bind(cmd, "text", "json")
	cmd.Flags().Var(&idsValue{&f.ids}, "id", fmt.Sprintf("trace with this id, or the one whose id begins with `HEX` (%d digits or more);\nalso as the dump spells it; may be given again", minPrefix))
	cmd.Flags().BoolVar(&f.explain, "explain", false, "name the rules behind each call and attempt; text only, JSON has them always")
	return cmd
}

func runTrace(ctx context.Context, a *app, f *traceFlags, paths []string) error {
	if err := apart(paths, f.policy, f.output); err != nil {
		return err
	}
	policy, out, in, err := a.load(ctx, &f.sourceFlags, paths)
	if err != nil {
		return err
	}
	defer out.discard()
	defer in.Close()
	if err := in.noSummaries(); err != nil {
		return err
	}
	traces, err := chooseTraces(ctx, in.store, f.ids)
	if err != nil {
		return err
	}
	analysis, err := in.analyse(ctx, f.analysis(policy))
	if err != nil {
		return err
	}
	defer analysis.Close()
	if err := f.picked(&analysis.Report); err != nil {
		return err
	}
	look := out.look(&f.sourceFlags)
	look.Explain = f.explain
	printed := false
	for _, t := range traces {
		views := analysis.Views(t)
		switch {
		case len(views) == 0 && len(f.ids) > 0: // it was asked for by name
			err = fmt.Errorf("trace %s: %w", t.ID, errNotPicked)
		case f.format == "json":
			err = report.TraceJSON(out, views)
		case len(views) > 0:
			if printed {
				fmt.Fprintln(out) // its error is that of the next write
			}
			printed = true
			err = report.TraceText(out, views, look)
		}
		if err != nil {
			return err
		}
	}
	if f.explain && f.format == "text" {
		fmt.Fprintln(out, "\n"+report.RulesNote) // its error is that of commit
	}
	return out.commit()
}

// chooseTraces gives the traces that names name, by id; all without names.
func chooseTraces(ctx context.Context, store *ingest.Store, names []traceName) ([]*ingest.Trace, error) {
	hits := make([]int, len(names))
	chosen, err := store.Choose(ctx, func(trace ingest.TraceID) bool {
		id, wanted := trace.String(), len(names) == 0
		for i, n := range names {
			if strings.HasPrefix(id, n.digits) {
				hits[i]++
				wanted = true
			}
		}
		return wanted
	})
	if err != nil {
		return nil, err
	}
	for i, n := range names {
		whole := len(n.digits) == len(ingest.TraceID{}.String())
		switch {
		case hits[i] == 0:
			return nil, fmt.Errorf("no trace %s in the input", n.given)
		case hits[i] > 1 && !whole: // spans without a trace id share the zero id
			return nil, fmt.Errorf("%d traces begin with %s: give more digits", hits[i], n.given)
		}
	}
	return chosen, nil
}

// An idsValue is a list of trace ids, as a dump spells them, or of beginnings of them in
// hexadecimal.
type idsValue struct{ to *[]traceName }

func (v *idsValue) Type() string   { return "hex" }
func (v *idsValue) String() string { return "" }

func (v *idsValue) Set(text string) error {
	digits := strings.ToLower(text)
	most := len(ingest.TraceID{}.String())
	if isHex := strings.Trim(digits, "0123456789abcdef") == ""; !isHex || len(digits) > most {
		id, ok := ingest.ParseTraceID(text)
		if digits = ""; ok {
			digits = id.String()
		}
	}
	if len(digits) < minPrefix {
		return fmt.Errorf("write %d to %d hexadecimal digits, or an id as the dump spells it", minPrefix, most)
	}
	*v.to = append(*v.to, traceName{text, digits})
	return nil
}
