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
			if info != nil && info.Mode().IsRegular() {
				in.size = info.Size()
			}
			have = in
		}
		have.named = asked
		named[key] = have
	}
	been := make(map[string]bool)
	for _, path := range slices.Sorted(slices.Values(paths)) { // a folder has the same name whatever the order
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
			if err := walk(filepath.Clean(match), been, add); err != nil {
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

// walk calls add for the file, or for each file under the folder. Links are followed, but
// no folder is walked twice: been has the real paths of those that were. What a link in a
// folder leads to may be gone: then add gets no info.
func walk(path string, been map[string]bool, add func(string, fs.FileInfo, bool)) error {
	info, err := os.Stat(path)
	if err != nil {
		return plainError(path, err)
	}
	if !info.IsDir() {
		add(path, info, true)
		return nil
	}
	nothing := true
	var visit func(folder string) error
	visit = func(folder string) error {
		real, err := filepath.EvalSymlinks(folder)
		if err == nil {
			real, err = filepath.Abs(real)
		}
		if err != nil {
			return plainError(folder, err)
		}
		if been[real] {
			nothing = false // there may be some, under another name
			return nil
		}
		been[real] = true
		entries, err := os.ReadDir(folder)
		if err != nil {
			return plainError(folder, err)
		}
		for _, e := range entries {
			at := filepath.Join(folder, e.Name())
			info, err := os.Stat(at)
			switch {
			case err == nil && info.IsDir():
				if err := visit(at); err != nil {
					return err
				}
			case err != nil || info.Mode().IsRegular():
				nothing = false
				add(at, info, false)
			}
		}
		return nil
	}
	if err := visit(path); err != nil {
		return err
	}
	if nothing {
		return fmt.Errorf("%s: no file in the folder", path)
	}
	return nil
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
