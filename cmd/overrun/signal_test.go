package main

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// program starts overrun, which TestMain put into PATH.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: signals and pipes of Unix")
	}
	return exec.Command("overrun", args...)
}

// An interrupted run ends with 130, though it waits for input that never comes,
// and leaves the folder of the output as it was: by the keyboard, a scheduler, or a terminal
// that is gone.
func TestInterrupt(t *testing.T) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) { testInterrupt(t, s) })
	}
}

func testInterrupt(t *testing.T, ending os.Signal) {
	if signal.Ignored(ending) {
		t.Skip("NOT TESTED: the signal is ignored here, as under nohup")
	}
	dir := t.TempDir()
	out := filepath.Join(dir, "out.txt")
	if err := os.WriteFile(out, []byte("old\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "analyze", "-o", out, "-")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The temporary file shows that the run is past its beginning.
	for start := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if names := list(t, dir); len(names) == 2 {
			break
		}
		if time.Since(start) > 20*time.Second {
			t.Fatal("the run does not begin")
		}
	}
	if _, err := io.WriteString(stdin, `{"resourceSpans":[`); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(ending); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its status is checked
	if got := cmd.ProcessState.ExitCode(); got != exitInterrupted {
		t.Errorf("exit status %d, want %d", got, exitInterrupted)
	}
	if got, want := stderr.String(), "overrun: interrupted\n"; got != want {
		t.Errorf("standard error %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"out.txt"}, list(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if data, err := os.ReadFile(out); err != nil || string(data) != "old\n" {
		t.Errorf("the old file is now %q, %v", data, err)
	}
}

func list(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A reader that goes away has seen enough: no message, status 0, and rules are
// still checked.
func TestBrokenPipe(t *testing.T) {
	sample := filepath.Join("..", "..", "testdata", "card-5.jsonl.gz")
	for _, row := range []struct {
		args   []string
		status int
	}{
		{[]string{"trace", "--format", "json", sample}, exitDone},
		{[]string{"analyze", "--deadline", "10ms", "--fail-on", "request-late", sample}, exitBroken},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr strings.Builder
		cmd := program(t, row.args...)
		cmd.Stdout, cmd.Stderr = w, &stderr
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Run() // its status is checked
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != row.status {
			t.Errorf("overrun %v: exit status %d, want %d", row.args, got, row.status)
		}
		if text := stderr.String(); strings.Contains(text, "pipe") {
			t.Errorf("overrun %v: %s", row.args, text)
		}
	}
}
