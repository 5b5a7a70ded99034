package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"overrun/analyze"
	"overrun/report"
)

const analyzeHelp = `analyze reads trace dumps and reports, for each route, how many requests ran
past their deadline and where their time went; for each dependency of each
caller, its latencies with 95 %% intervals, how often it held a request, and the
minimum and ceiling it suggests for its timeout; and findings with the traces
that show them.

PATH is a file, a folder, a pattern such as 'traces-*.json', or - for standard
input: OTLP as JSON or protobuf, packed with gzip or zstd or not. A folder is
read with all that lies in it.

A summary that --save wrote is an input like the dump it was made from: several of
them, or summaries and dumps, make the report of all their dumps. Deadlines are
those of this run. Signals of the policy, --max-skew and --split-by have to be the
same as when it was made.

Times have a unit: ns, us, ms, s. In JSON all durations are whole nanoseconds
(_ns) and shares are fractions of 1. What is not known is shown as such, and is
null in JSON.

Finding codes, for --fail-on:

%s
Examples:

  overrun analyze --deadline 200ms testdata/card-5.jsonl.gz
  overrun analyze --policy testdata/policy.yaml --format json testdata/card-5.jsonl.gz
%s`

// analyzeFlags are the flags of analyze.
type analyzeFlags struct {
	sourceFlags
	failOn []analyze.FindingCode
	save   string // file; "": no summary is written
}

func (a *app) analyzeCommand() *cobra.Command {
	var f analyzeFlags
	var codes strings.Builder
	for _, c := range analyze.FindingCodes {
		fmt.Fprintf(&codes, "  %-22s%s\n", c.Code, c.Text)
	}
	cmd := &cobra.Command{
		Use:   "analyze [flags] PATH...",
		Short: "report overruns, dependencies and findings of dumps",
		Long:  fmt.Sprintf(analyzeHelp, codes.String(), exitHelp),
		Args:  needPaths,
		RunE: a.starting(func(cmd *cobra.Command, paths []string) error {
			return runAnalyze(cmd.Context(), a, &f, paths)
		}),
	}
	f.bind(cmd, "text", "markdown", "json", "csv")
	f.bindSplit(cmd)
	f.bindMetrics(cmd)
	cmd.Flags().Var(&textValue{&f.save}, "save", "write a summary to `FILE` as well, which is an input like a dump: nights that add up.\nIt is replaced only when all went well")
	cmd.Flags().Var(&codesValue{&f.failOn}, "fail-on", "exit with status 3 if there are findings of `CODE`[,CODE], or of any code")
	complete(cmd, "fail-on", codeNames())
	return cmd
}

func runAnalyze(ctx context.Context, a *app, f *analyzeFlags, paths []string) error {
	if err := apart(paths, f.policy, f.output, f.metrics, f.save); err != nil {
		return err
	}
	metrics, err := a.besides(ctx, f.metrics)
	if err != nil {
		return err
	}
	defer metrics.discard()
	save, err := a.createSave(ctx, f)
	if err != nil {
		return err
	}
	defer save.discard()
	policy, out, in, err := a.load(ctx, &f.sourceFlags, paths)
	if err != nil {
		return err
	}
	defer out.discard()
	defer in.Close()
	analysis, err := in.analyse(ctx, f.analysis(policy))
	if err != nil {
		return err
	}
	defer analysis.Close()
	result := &analysis.Report
	if err := f.picked(result); err != nil {
		return err
	}

	look := out.look(&f.sourceFlags)
	switch f.format {
	case "text":
		err = report.Text(out, result, look)
	case "markdown":
		err = report.Markdown(out, result, look)
	case "json":
		err = report.JSON(out, result)
	case "csv":
		err = report.CSV(out, result)
	}
	if err == nil && metrics != nil {
		err = report.Metrics(metrics, result)
	}
	if err == nil && save != nil {
		err = analysis.Save(save)
	}
	if err == nil {
		err = commit(out, metrics, save)
	}
	if err != nil {
		return err
	}
	if slices.Contains(f.failOn, analyze.RequestLate) && !slices.ContainsFunc(result.Routes, func(r analyze.Route) bool { return r.WithDeadline > 0 }) {
		fmt.Fprintln(a.stderr, "overrun: --fail-on: no deadline is known, so that no request can be late: give --deadline or a policy")
	}
	return checkRules(result, f.failOn)
}

// createSave opens the summary that --save names; nil: none.
func (a *app) createSave(ctx context.Context, f *analyzeFlags) (*output, error) {
	switch {
	case f.save == "-":
		return nil, usagef("--save - is the report's place: name a file")
	case f.save != "" && f.pick != (analyze.Pick{}):
		return nil, usagef("--save keeps all requests: give --since, --until, --service and --route when the summary is read")
	}
	return a.besides(ctx, f.save)
}

// errBroken is the error of a rule of --fail-on.
var errBroken = errors.New("a rule is broken")

// A brokenRule says which findings broke --fail-on.
type brokenRule struct{ what []string }

func (b *brokenRule) Error() string { return "--fail-on: found " + strings.Join(b.what, ", ") }
func (b *brokenRule) Unwrap() error { return errBroken }

// checkRules fails if the report has findings of the codes.
func checkRules(r *analyze.Report, codes []analyze.FindingCode) error {
	count := make(map[analyze.FindingCode]int)
	for _, finding := range r.Findings {
		count[finding.Code] += finding.Count
	}
	var broken brokenRule
	for _, c := range analyze.FindingCodes {
		if n := count[c.Code]; n > 0 && slices.Contains(codes, c.Code) {
			broken.what = append(broken.what, fmt.Sprintf("%d %s", n, c.Code))
		}
	}
	if len(broken.what) == 0 {
		return nil
	}
	return &broken
}
