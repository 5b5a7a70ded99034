package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

const versionHelp = `version prints the version of overrun, the revision it was built from where
that is known, and the version of Go that built it.

Example:

  overrun version
` + exitHelp

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Long:  versionHelp,
		Args:  noArgs,
		RunE: a.starting(func(cmd *cobra.Command, _ []string) error {
			out, err := a.create(cmd.Context(), "")
			if err != nil {
				return err
			}
			if _, err := io.WriteString(out, versionText()); err != nil {
				return err
			}
			return out.commit()
		}),
	}
}

// versionText is what version, and --version, print.
func versionText() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	version, revision, modified := info.Main.Version, "", false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if version == "" {
		version = "(devel)"
	}
	switch {
	case revision == "":
		revision = "unknown"
	case modified:
		revision += ", with changes"
	}
	return fmt.Sprintf("overrun %s\nrevision %s\n%s %s/%s\n", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument, and got %q", cmd.Name(), args[0])
	}
	return nil
}
