package report_test

import (
	"fmt"
	"os"
	"time"

	"overrun/analyze"
	"overrun/ingest"
	"overrun/report"
)

func ExampleText() {
	r := &analyze.Report{Input: analyze.Input{Files: 1, Bytes: 1800, Spans: 3, Traces: 1, Requests: 1}}
	if err := report.Text(os.Stdout, r, report.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// WHAT TO DO
	// nothing is known to do: without a deadline nothing can be late; see below how to give one
	//
	// READ
	// 1 file, 1.80 kB: 3 spans, 1 trace, 1 request, 0 fragments
	// no times are known
	// no deadline is known: nothing can be late; give --deadline or a policy, or record deadlines on spans
	// clocks: none was moved
	// no notes: nothing was repaired or doubted
	//
	// ROUTES
	// no routes: no span is a request
	//
	// DEPENDENCIES
	// no dependencies: no span of a request is a call, of kind CLIENT or PRODUCER
	//
	// FINDINGS
	// no findings
	//
	// WORST LATE REQUESTS
	// no late requests
}

func ExampleTraceText() {
	deadline := 100 * time.Millisecond
	v := analyze.View{
		Trace: ingest.TraceID{15: 1}, Root: ingest.SpanID{7: 1}, Service: "card", Route: "GET /card/{id}",
		Duration: new(110 * time.Millisecond), Deadline: &deadline, Source: analyze.ByFlag, Ended: analyze.Complete, File: "dump.json",
		Path: []analyze.PathSegment{
			{Name: "GET", Service: "card", End: 100 * time.Millisecond, Category: analyze.Read, Callee: "prices", Operation: "GET"},
			{Name: "GET /card/{id}", Service: "card", Start: 100 * time.Millisecond, End: 110 * time.Millisecond, Category: analyze.Own},
		},
	}
	if err := report.TraceText(os.Stdout, []analyze.View{v}, report.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// TRACE  00000000000000000000000000000001
	// card GET /card/{id}, root span 0000000000000001
	// started 1970-01-01 00:00:00.000 UTC; dump.json at byte 0
	// took 110 ms, complete
	// deadline 100 ms, by flag: late by 10 ms
	//
	// CRITICAL PATH  by timing
	// start, ms  end, ms  │ deadline                       took  time  who
	// ─────────  ───────  ────────────────────────────  ───────  ────  ───────────────────
	//      0.00   100.00  █████████████████████████│     100 ms  read  card → prices GET
	//    100.00   110.00                           ███  10.0 ms  own   card GET /card/{id}
	//
	// CALLS
	// no calls
}

func ExampleCSV() {
	r := &analyze.Report{}
	if err := report.CSV(discardAllBut{40}, r); err != nil {
		fmt.Println(err)
	}
	// Output: caller,callee,operation,required,calls,a
}

// discardAllBut prints the first bytes of what is written.
type discardAllBut struct{ n int }

func (d discardAllBut) Write(p []byte) (int, error) {
	fmt.Println(string(p[:d.n]))
	return len(p), nil
}

func ExampleTraceJSON() {
	v := analyze.View{Service: "card", Route: "GET /card/{id}"}
	if err := report.TraceJSON(discardAllBut{57}, []analyze.View{v}); err != nil {
		fmt.Println(err)
	}
	// Output: {"trace":"00000000000000000000000000000000","root":"00000
}

func ExampleJSON() {
	r := &analyze.Report{Schema: analyze.ReportSchema}
	if err := report.JSON(discardAllBut{30}, r); err != nil {
		fmt.Println(err)
	}
	// Output: {"schema":"overrun.report/v1",
}

func ExampleMarkdown() {
	r := &analyze.Report{}
	if err := report.Markdown(discardAllBut{7}, r, report.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output: ## What
}
