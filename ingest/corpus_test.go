package ingest

import (
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const shared = "../../shared"

// A corpusFile is a row of the corpus' index, which was written by other
// tools than this one.
type corpusFile struct {
	name, format  string
	spans, traces int
}

func corpus(t testing.TB) []corpusFile {
	t.Helper()
	f, err := os.Open(filepath.Join(shared, "corpus/INDEX.tsv"))
	if err != nil {
		t.Skipf("the corpus is not here: %v", err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var files []corpusFile
	for _, row := range rows[1:] {
		spans, _ := strconv.Atoi(row[6])
		traces, _ := strconv.Atoi(row[7])
		files = append(files, corpusFile{row[0], row[5], spans, traces})
	}
	return files
}

func TestProbe(t *testing.T) {
	for _, f := range corpus(t) {
		d, err := Read(context.Background(), []string{filepath.Join(shared, "corpus", f.name)}, Options{Keep: []string{"*"}})
		if err != nil {
			t.Logf("%-55s %-25s want %d/%d: %v", f.name, f.format, f.spans, f.traces, err)
			continue
		}
		mark := ""
		if int(d.Spans) != f.spans || len(d.Traces) != f.traces {
			mark = " <<<<"
		}
		t.Logf("%-55s %-25s want %d/%d got %d/%d%s", f.name, f.format, f.spans, f.traces, d.Spans, len(d.Traces), mark)
		for _, n := range d.Notes {
			t.Logf("      %s %d %d %s %d", n.Code, n.Count, n.Bytes, n.Text, n.Example.Position)
		}
		if c := d.Check(); c != nil {
			t.Error(strings.Join(c, "\n"))
		}
	}
}
