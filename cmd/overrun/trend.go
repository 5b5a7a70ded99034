package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"overrun/analyze"
	"overrun/ingest"
	"overrun/report"
)

const trendHelp = `trend shows how dependencies did in one night after the other: p50 and p99.9, the
ceiling that each night suggests, the late share of the requests that call them,
and attempts per request, each with a line of one character a night.

PATH is a folder, a file or a pattern. Each file is a night, or another stretch of
time: a summary that overrun analyze --save wrote, or a dump. They are sorted by
when they began, and the last of them are shown. A file without spans is none: the report
names it. A summary that is damaged ends the run.

A drift is flagged where the 95 %% interval of the last night lies wholly above or
below those of more than half of the nights before, of which it takes two. What a
night says nothing about is shown as · in the line, and is null in JSON.

Examples:

  overrun analyze --deadline 200ms --save nights/2026-11-29.overrun dumps/2026-11-29
  overrun trend --deadline 200ms nights
%s`

// trendFlags are the flags of trend.
type trendFlags struct {
	sourceFlags
	nights int
}

func (a *app) trendCommand() *cobra.Command {
	f := trendFlags{nights: 14}
	cmd := &cobra.Command{
		Use:   "trend [flags] PATH...",
		Short: "show dependencies night after night, and what drifts",
		Long:  fmt.Sprintf(trendHelp, exitHelp),
		Args:  needPaths,
		RunE: a.starting(func(cmd *cobra.Command, paths []string) error {
			return runTrend(cmd.Context(), a, &f, paths)
		}),
	}
	f.bind(cmd, "text", "markdown", "json")
	f.bindSplit(cmd)
	cmd.Flags().Var(&countValue{to: &f.nights, min: 1}, "nights", "show the last `N` nights")
	return cmd
}

func runTrend(ctx context.Context, a *app, f *trendFlags, paths []string) error {
	if err := apart(paths, f.policy, f.output); err != nil {
		return err
	}
	policy, err := readPolicy(f.policy)
	if err != nil {
		return err
	}
	out, err := a.create(ctx, f.output)
	if err != nil {
		return err
	}
	defer out.discard()
	files, err := ingest.Files(paths)
	if err != nil {
		return err
	}
	var nights []*analyze.NightTable
	others := []analyze.NoNight{}
	for _, file := range files {
		if a.writing(file) {
			continue
		}
		night, err := a.night(ctx, f, policy, file)
		var none *ingest.NoSpansError
		if errors.As(err, &none) {
			others = append(others, analyze.NoNight{File: file, Why: strings.TrimPrefix(none.Error(), file+": ")})
			continue
		}
		if err != nil {
			return err
		}
		nights = append(nights, night)
	}
	switch {
	case len(nights) > 0:
	case len(others) > 0:
		return fmt.Errorf("no night is there; %s: %s", others[0].File, others[0].Why)
	default:
		return errors.New("no night is there")
	}
	trend := analyze.NewTrend(nights, f.nights)
	trend.NoNights = others
	look := out.look(&f.sourceFlags)
	switch f.format {
	case "text":
		err = report.TrendText(out, trend, look)
	case "markdown":
		err = report.TrendMarkdown(out, trend, look)
	case "json":
		err = report.TrendJSON(out, trend)
	}
	if err == nil {
		err = out.commit()
	}
	return err
}

// night analyses one file.
func (a *app) night(ctx context.Context, f *trendFlags, policy *analyze.Policy, file string) (*analyze.NightTable, error) {
	in, err := a.open(ctx, &f.sourceFlags, policy, []string{file})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	analysis, err := in.analyse(ctx, f.analysis(policy))
	if err != nil {
		return nil, err
	}
	defer analysis.Close()
	return analysis.NightTable(file)
}
