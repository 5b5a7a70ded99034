package ingest

import (
	"context"
	"testing"
	"path/filepath"
	"strings"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestProbe2(t *testing.T) {
	for _, dir := range []string{"legacy", "crash-native"} {
		var first []*Trace
	for _, p := range []string{"traces.json","traces.binpb","traces.json.zstd","traces.binpb.zstd","rot","rotpz","bysvc"} {
		d, err := Read(context.Background(), []string{filepath.Join(shared, "exports", dir, p)}, Options{Keep: []string{"*"}})
		if err != nil { t.Error(err); continue}
		t.Logf("%s %s: files %d spans %d traces %d", dir, p, len(d.Files), d.Spans, len(d.Traces))
		for _, n := range d.Notes {
			t.Logf("      %s %d %d %s %d", n.Code, n.Count, n.Bytes, n.Text, n.Example.Position)
		}
		if c := d.Check(); c != nil {
			t.Error(strings.Join(c, "\n"))
		}
		if first == nil { first = d.Traces } else if diff := cmp.Diff(first, d.Traces, cmpopts.IgnoreFields(Span{}, "File", "Position")); diff != "" {
			t.Log(diff[:min(len(diff),600)])
		}
	}
	}
}
