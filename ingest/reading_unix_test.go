//go:build unix

package ingest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Two files are read at once: nothing comes out of the first pipe before the
// second is opened.
func TestTwoAtOnce(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, name := range []string{a, b} {
		if err := syscall.Mkfifo(name, 0o666); err != nil {
			t.Skipf("NOT TESTED: no pipes with names here: %v", err)
		}
	}
	wrote := make(chan error, 1)
	go func() {
		second, err := os.OpenFile(b, os.O_WRONLY, 0) // waits for the reader
		if err == nil {
			err = os.WriteFile(a, []byte(three[0]), 0o666)
		}
		if err == nil {
			_, err = second.WriteString(three[1])
		}
		if err == nil {
			err = second.Close()
		}
		wrote <- err
	}()
	read := make(chan *Dump, 1)
	go func() {
		d, err := Read(t.Context(), []string{a, b}, Options{Workers: 2})
		if err != nil {
			t.Error(err)
		}
		read <- d
	}()
	select {
	case d := <-read:
		if err := <-wrote; err != nil {
			t.Fatal(err)
		}
		if d != nil && d.Spans != 2 {
			t.Errorf("%d spans, want 2", d.Spans)
		}
	case <-time.After(time.Minute):
		t.Fatal("the second file is not opened before the first is read")
	}
}
