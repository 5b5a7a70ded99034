package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/term"

	"overrun/report"
)

// An output is where a command writes its result: standard output, or a file
// that appears under its name only when commit has succeeded.
type output struct {
	*bufio.Writer
	a    *app
	ctx  context.Context
	to   io.Writer
	file *os.File // nil: standard output
	path string   // where the file goes in the end; "": it is written in place
}

// create opens the output before the work begins, so that a path that cannot be
// written is known at once.
func (a *app) create(ctx context.Context, path string) (*output, error) {
	o := &output{a: a, ctx: ctx}
	o.Writer = bufio.NewWriterSize(writerFunc(o.write), 1<<16)
	if path == "" || path == "-" {
		o.to = a.stdout
		return o, nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays a link
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, &fs.PathError{Op: "write", Path: path, Err: syscall.EISDIR}
	case err == nil && !info.Mode().IsRegular(): // a device or a pipe
		o.file, err = os.OpenFile(path, os.O_WRONLY, 0)
	default:
		temporary := fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32())
		o.file, err = os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		named(err, path)
		if err == nil {
			o.path = path
			a.mu.Lock()
			a.temporary = append(a.temporary, temporary)
			a.mu.Unlock()
			if info != nil {
				err = o.file.Chmod(info.Mode().Perm())
			}
		}
	}
	o.to = o.file
	if err != nil {
		o.discard()
		return nil, err
	}
	return o, nil
}

// besides opens a file that is written besides the output; nil: no path.
func (a *app) besides(ctx context.Context, path string) (*output, error) {
	if path == "" {
		return nil, nil
	}
	return a.create(ctx, path)
}

// commit commits outputs that are not nil, once all of them are written.
func commit(outputs ...*output) error {
	for _, o := range outputs {
		if o != nil {
			if err := o.Flush(); err != nil {
				return err
			}
		}
	}
	for _, o := range outputs {
		if o != nil {
			if err := o.commit(); err != nil {
				return err
			}
		}
	}
	return nil
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// write stops an interrupted run, and takes a reader that went away for one
// that has seen enough.
func (o *output) write(p []byte) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := o.to.Write(p)
	if o.file == nil && (errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)) {
		o.to, err = io.Discard, nil
		n = len(p)
	}
	if o.path != "" {
		named(err, o.path)
	}
	return n, err
}

// named makes an error be about the path that was asked for, and not about the temporary file.
func named(err error, path string) {
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		pathErr.Path = path
	}
}

// commit writes the rest, and gives the file its name.
func (o *output) commit() error {
	if err := o.Flush(); err != nil || o.file == nil {
		return err
	}
	if o.path != "" {
		if err := o.file.Sync(); err != nil {
			return err
		}
	}
	err := o.file.Close()
	if err == nil {
		err = o.ctx.Err()
	}
	if err != nil || o.path == "" {
		return err
	}
	o.a.mu.Lock()
	defer o.a.mu.Unlock()
	if err := os.Rename(o.file.Name(), o.path); err != nil {
		return err
	}
	o.a.temporary = slices.DeleteFunc(o.a.temporary, func(name string) bool { return name == o.file.Name() })
	return nil
}

// discard leaves everything as it was. After commit it does nothing.
func (o *output) discard() {
	if o == nil || o.file == nil {
		return
	}
	_ = o.file.Close() // closed already, or its content does not matter
	o.a.mu.Lock()
	defer o.a.mu.Unlock()
	if at := slices.Index(o.a.temporary, o.file.Name()); at >= 0 {
		_ = os.Remove(o.file.Name()) // nobody can do more about it
		o.a.temporary = slices.Delete(o.a.temporary, at, at+1)
	}
}

// tidy removes the temporary files.
func (a *app) tidy() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range a.temporary {
		_ = os.Remove(name) // nobody can do more about it
	}
	a.temporary = nil
}

// look says how a report looks where it goes.
func (o *output) look(f *sourceFlags) report.Options {
	look := report.Options{All: f.all, Top: f.top, Link: f.link}
	if o.file == nil && isTerminal(o.to) {
		look.Colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(o.to.(*os.File).Fd())); err == nil {
			look.Width = width
		}
	}
	return look
}
