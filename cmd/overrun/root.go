package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const rootHelp = `overrun reads dumps of OpenTelemetry traces and says which requests ran past
their deadline, what held them on their critical path, and what timeout each
call could have had.

A deadline is the time from the start of a request after which its answer is
worth nothing. It comes from the spans, from a policy file (--policy), or from
--deadline. A call's timeout is what is left of it when the call starts, less
what has to be kept for the work after the call, and never more than the
ceiling of the dependency.

Example:

  overrun analyze --deadline 200ms testdata/card-5.jsonl.gz
` + exitHelp

const exitHelp = `
Exit status: 0 done, 1 could not (no input, no span found, nothing written),
2 wrong usage, 3 a rule of --fail-on, or of acceptance in compare, was broken,
130 interrupted.`

const helpTemplate = `{{.Long | trimTrailingWhitespaces}}

Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND [flags]{{else}}{{.UseLine}}{{end}}
{{if .HasAvailableSubCommands}}
Commands:
{{range .Commands}}{{if .IsAvailableCommand}}  {{rpad .Name 12}}{{.Short}}
{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}
Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}
{{end}}`

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "overrun",
		Short:         "find deadline overruns in trace dumps",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no command given: use one of %s", commandNames(cmd))
			}
			return usagef("unknown command %q: use one of %s", args[0], commandNames(cmd))
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.Version = versionText()
	root.SetVersionTemplate("{{.Version}}")
	root.Flags().Bool("version", false, "print the version, as the command does")
	root.SetHelpTemplate(helpTemplate)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(a.analyzeCommand(), a.traceCommand(), a.compareCommand(), a.trendCommand(), a.suggestCommand(), a.replayCommand(), a.signalsCommand(), a.versionCommand(), a.completionCommand())
	for _, cmd := range append(root.Commands(), root) {
		cmd.DisableFlagsInUseLine = true
		cmd.Flags().BoolP("help", "h", false, "print this help")
	}
	return root
}

// commandNames lists the subcommands.
func commandNames(root *cobra.Command) string {
	var names []string
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			names = append(names, cmd.Name())
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "help [COMMAND]",
		Short:  "print the help of a command",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if len(args) == 0 {
				return root.Help()
			}
			for _, c := range root.Commands() {
				if c.Name() == args[0] && c.IsAvailableCommand() && len(args) == 1 {
					return c.Help()
				}
			}
			return usagef("unknown command %q: use one of %s", strings.Join(args, " "), commandNames(root))
		},
	}
}

// needPaths refuses a command line without a path.
func needPaths(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no path given: name files or folders, or - for standard input")
	}
	return nil
}
