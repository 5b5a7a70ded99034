package analyze

import (
	"encoding/json"
	"testing"
	"time"

	"overrun/ingest"
)

// What visitors add up together is what one adds up alone, and all routes
// of a service are of one of them.
func TestVisitors(t *testing.T) {
	traces := benchTraces(300)
	for _, trace := range traces { // late enough for all that is found in late requests
		for i := range trace.Spans {
			if s := &trace.Spans[i]; s.Kind == ingest.Client && i%7 == 0 {
				s.Attrs = []ingest.Attr{{Key: "error.type", Value: "timeout"}}
				s.Status = ingest.Error
			}
		}
	}
	var alone string
	for _, workers := range []int{1, 2, 3, 20} {
		a := Run(&ingest.Dump{Traces: traces}, Options{Deadline: 12 * time.Millisecond, Workers: workers})
		visitors := a.visitors(a.outline(func(*heading) {}))
		if want := min(workers, 8); len(visitors) != want {
			t.Errorf("%d workers: %d visitors, want %d", workers, len(visitors), want)
		}
		if workers > 1 {
			of := map[string]int{}
			for n, r := range a.symbols.routes {
				for i, v := range visitors {
					if v.mine[n] < 0 {
						continue
					}
					if have, ok := of[r.service]; ok && have != i {
						t.Errorf("%d workers: routes of %s are of visitors %d and %d", workers, r.service, have, i)
					}
					of[r.service] = i
				}
			}
			if len(of) != 8 {
				t.Errorf("%d workers: requests of %d services are visited, want 8", workers, len(of))
			}
		}
		text, err := json.Marshal(&a.Report)
		if err != nil {
			t.Fatal(err)
		}
		if alone == "" {
			alone = string(text)
			if a.Report.Input.Requests == 0 || len(a.Report.Worst) < 2 || len(a.Report.Findings) < 20 {
				t.Errorf("%d requests, %d late, %d findings: too few to compare", a.Report.Input.Requests, len(a.Report.Worst), len(a.Report.Findings))
			}
		} else if string(text) != alone {
			t.Errorf("the report of %d workers is not that of one", workers)
		}
	}
}

// A request that makes calls of another service adds to tables of both: then there is one
// visitor.
func TestMixedVisitors(t *testing.T) {
	traces := benchTraces(20)
	a := Run(&ingest.Dump{Traces: traces}, Options{Workers: 3})
	r := request{service: "svc-1", calls: []call{{to: &dependency{caller: "svc-1", callee: "db"}, who: new(peer)}}}
	for _, caller := range []string{"svc-1", "svc-2"} {
		r.calls[0].to.caller = caller
		newRequestWriter(a.symbols).trace(&heading{}, []*request{&r})
		want := 3
		if caller != r.service {
			want = 1
		}
		if n := len(a.visitors(a.outline(func(*heading) {}))); n != want {
			t.Errorf("with a call by %s: %d visitors, want %d", caller, n, want)
		}
	}
}
