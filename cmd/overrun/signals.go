package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"overrun/analyze"
	"overrun/report"
)

const signalsHelp = `signals prints the rules by which spans are recognised as calls, attempts, phases,
hedges, deadlines and outcomes: what a span must have, what that says, and what
the rule rests on. Rules are tried from top to bottom within a table, and the
first that matches counts. Where none matches, the kind of the span decides, and
it ended well.

With ID it prints those rules alone: they are the ids that trace --explain names.
One id can stand for several rules.

Example:

  overrun signals R3 H5
` + exitHelp

func (a *app) signalsCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "signals [flags] [ID...]",
		Short: "print the rules that recognise calls, attempts and deadlines",
		Long:  signalsHelp,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return ruleIDs(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: a.starting(func(cmd *cobra.Command, ids []string) error {
			return runSignals(cmd.Context(), a, output, ids)
		}),
	}
	cmd.Flags().VarP(&textValue{&output}, "output", "o", "write to `FILE`, which is replaced only when all went well")
	return cmd
}

func runSignals(ctx context.Context, a *app, output string, ids []string) error {
	rules, err := chooseRules(ids)
	if err != nil {
		return err
	}
	out, err := a.create(ctx, output)
	if err != nil {
		return err
	}
	defer out.discard()
	if err := report.Signals(out, rules, out.look(&sourceFlags{})); err != nil {
		return err
	}
	return out.commit()
}

// chooseRules gives the rules that ids name, in their order in the tables; all
// without ids.
func chooseRules(ids []string) ([]analyze.SignalRow, error) {
	rules := report.Rules()
	if len(ids) == 0 {
		return rules, nil
	}
	for _, id := range ids {
		known := func(r analyze.SignalRow) bool { return strings.EqualFold(r.ID, id) }
		if !slices.ContainsFunc(rules, known) {
			return nil, usagef("no rule %q: overrun signals lists all", id)
		}
	}
	return slices.DeleteFunc(rules, func(r analyze.SignalRow) bool {
		return !slices.ContainsFunc(ids, func(id string) bool { return strings.EqualFold(r.ID, id) })
	}), nil
}

// ruleIDs lists the ids of rules, each once.
func ruleIDs() []string {
	var ids []string
	for _, r := range report.Rules() {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
