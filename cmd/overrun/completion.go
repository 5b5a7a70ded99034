package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const completionHelp = `completion prints a script that teaches a shell to complete the commands and
flags of overrun. The shell has to read it when it starts: for bash, put it where
bash-completion looks, such as ~/.local/share/bash-completion/completions/overrun;
for zsh, into a folder of $fpath under the name _overrun; for fish, into
~/.config/fish/completions/overrun.fish; for PowerShell, add it to $PROFILE.

Example:

  overrun completion bash
` + exitHelp

func (a *app) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:       "completion " + strings.Join(shells, "|"),
		Short:     "print a completion script for a shell",
		Long:      completionHelp,
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return fmt.Errorf("name one shell: %s", strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: a.starting(func(cmd *cobra.Command, args []string) error {
			out, err := a.create(cmd.Context(), "")
			if err != nil {
				return err
			}
			switch root := cmd.Root(); args[0] {
			case "bash":
				err = root.GenBashCompletionV2(out, true)
			case "zsh":
				err = root.GenZshCompletion(out)
			case "fish":
				err = root.GenFishCompletion(out, true)
			case "powershell":
				err = root.GenPowerShellCompletionWithDesc(out)
			}
			if err != nil {
				return err
			}
			return out.commit()
		}),
	}
}
