// Overrun reads dumps of OpenTelemetry traces and says which requests ran past
// their deadline, what held them on their critical path, and what timeout each
// call could have had.
//
// Usage:
//
//	overrun analyze [flags] PATH...
//	overrun trace [flags] PATH...
//	overrun compare [flags] BEFORE AFTER
//	overrun trend [flags] PATH...
//	overrun suggest [flags] PATH...
//	overrun replay [flags] PATH...
//	overrun signals [flags] [ID...]
//	overrun version
//	overrun completion bash|zsh|fish|powershell
//
// The help of each command gives its purpose, units, an example and the exit
// status:
//
//	overrun analyze --help
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Exit status of every command.
const (
	exitDone        = 0
	exitCouldNot    = 1
	exitUsage       = 2
	exitBroken      = 3 // a rule of --fail-on, or of acceptance
	exitInterrupted = 130
)

// grace is how long an interrupted run may take to tidy up. A read that blocks
// cannot be cancelled, so nobody waits for it.
const grace = time.Second

// run is the whole program but for the exit.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// A broken pipe is then an error of Write, and no signal that kills.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), ending()...)
	defer stop()

	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	done := make(chan int, 1)
	go func() { done <- a.execute(ctx, args) }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
		stop() // a second signal kills at once
	}
	select {
	case <-done:
	case <-time.After(grace):
		a.tidy()
	}
	fmt.Fprintln(stderr, "overrun: interrupted")
	return exitInterrupted
}

// ending lists the signals that ask a run to end: of the keyboard, of schedulers and timeout(1),
// and of a terminal that is gone, unless nohup has it ignored.
func ending() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// An app is one run of the program.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	started bool // past the parsing of the command line

	mu        sync.Mutex
	temporary []string // files that are being written, guarded by mu
}

// execute runs the command that args name, and says what was wrong.
func (a *app) execute(ctx context.Context, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitDone
	case ctx.Err() != nil:
		return exitInterrupted
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(a.stderr, "overrun: %s\n", printable(strings.TrimRight(line, "\n")))
	}
	var usage usageError
	switch {
	case errors.Is(err, errBroken):
		return exitBroken
	case errors.As(err, &usage), !a.started:
		return exitUsage
	}
	return exitCouldNot
}

// printable replaces what could steer a terminal: names of files may hold it.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// A usageError is a mistake in the command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// starting wraps the work of a command: from here on an error is no mistake in
// the command line, unless it says so.
func (a *app) starting(work func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if at := slices.Index(args, ""); at >= 0 {
			return usagef("argument %d is empty: %s", at+1, noEmpty)
		}
		a.started = true
		return work(cmd, args)
	}
}
