package ingest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An input is one file to read.
type input struct {
	path  string // "-": stdin
	size  int64  // bytes on disk; 0: unknown
	named bool   // by the user, not found in a folder

	stream, stamp string // see rotation
}

// expand turns what the user named into the files to read, sorted by path, and
// those of one rotation by time. Folders are walked, patterns matched, and a
// file named twice is read once. A path that leads nowhere is an error whatever
// the others give.
func expand(paths []string) ([]input, error) {
	if len(paths) == 0 {
		return nil, errors.New("no input named")
	}
	named := make(map[string]input) // by absolute path, so that ./a and a are one
	add := func(path string, info fs.FileInfo, asked bool) {
		key := path
		if abs, err := filepath.Abs(path); err == nil {
			key = abs
		}
		have, ok := named[key]
		asked = asked || have.named
		if !ok || path < have.path {
			in := input{path: path}
			in.stream, in.stamp = rotation(path)
			if info.Mode().IsRegular() {
				in.size = info.Size()
			}
			have = in
		}
		have.named = asked
		named[key] = have
	}
	for _, path := range paths {
		if path == "-" {
			named["-"] = input{path: "-", named: true, stream: "-"}
			continue
		}
		matches := []string{path}
		if _, err := os.Lstat(path); err != nil && strings.ContainsAny(path, `*?[`) {
			if matches, err = filepath.Glob(path); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if len(matches) == 0 {
				return nil, fmt.Errorf("%s: no file matches", path)
			}
		}
		for _, match := range matches {
			if err := walk(filepath.Clean(match), add); err != nil {
				return nil, err
			}
		}
	}
	inputs := make([]input, 0, len(named))
	for _, in := range named {
		inputs = append(inputs, in)
	}
	slices.SortFunc(inputs, func(a, b input) int { return compareRotation(a, b) })
	return inputs, nil
}

// Files lists the files that Open reads for the paths, in its order.
func Files(paths []string) ([]string, error) {
	inputs, err := expand(paths)
	if err != nil {
		return nil, err
	}
	list := make([]string, len(inputs))
	for i, in := range inputs {
		list[i] = in.path
	}
	return list, nil
}

// walk calls add for the file, or for each file under the folder. Links are
// followed to files, not to folders.
func walk(path string, add func(string, fs.FileInfo, bool)) error {
	info, err := os.Stat(path)
	if err != nil {
		return plainError(path, err)
	}
	if !info.IsDir() {
		add(path, info, true)
		return nil
	}
	any := false
	err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return plainError(at, err)
		}
		if d.IsDir() {
			return nil
		}
		info, err := os.Stat(at)
		if err == nil && info.Mode().IsRegular() {
			any = true
			add(at, info, false)
		}
		return nil
	})
	if err == nil && !any {
		return fmt.Errorf("%s: no file in the folder", path)
	}
	return err
}

// plainError puts the path in front once and drops the name of the system
// call.
func plainError(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// open opens an input for reading.
func (in input) open(stdin io.Reader) (io.ReadCloser, error) {
	if in.path == "-" {
		if stdin == nil {
			return io.NopCloser(strings.NewReader("")), nil
		}
		return io.NopCloser(stdin), nil
	}
	f, err := os.Open(in.path)
	if err != nil {
		return nil, plainError(in.path, err)
	}
	return f, nil
}
