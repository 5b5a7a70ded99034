package analyze

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"overrun/ingest"
)

// A store that has lost the dots of attributes has them back for all that the analysis reads.
func TestColumnsOfStore(t *testing.T) {
	read := func(name string) []*ingest.Trace {
		o := ingest.Options{Keep: Keep(nil), Events: Events(nil), Links: true}
		d, err := ingest.Read(context.Background(), []string{"../testdata/ingest/forms/" + name}, o)
		if err != nil {
			t.Fatal(err)
		}
		return d.Traces
	}
	want, got := read("otlp.json"), read("openobserve.json")
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(ingest.Span{}, "File", "Position", "Scope")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
