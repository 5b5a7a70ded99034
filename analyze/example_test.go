package analyze_test

import (
	"context"
	"fmt"
	"time"

	"overrun/analyze"
	"overrun/ingest"
)

func ExampleRun() {
	dump, err := ingest.Read(context.Background(), []string{"../testdata/card-5.jsonl.gz"}, ingest.Options{Keep: analyze.Keep(nil)})
	if err != nil {
		fmt.Println(err)
		return
	}
	a := analyze.Run(dump, analyze.Options{Deadline: 200 * time.Millisecond})
	for _, r := range a.Report.Routes {
		fmt.Printf("%s %s: %d of %d late, p50 %v\n", r.Service, r.Route, r.Late, r.Requests, *r.Latency.P50.Point)
	}
	fmt.Println(len(a.Views(dump.Traces[0])[0].Calls), "calls in the first trace")
	// Output:
	// card GET /card/{id}: 17 of 200 late, p50 85.885562ms
	// 5 calls in the first trace
}

func ExampleAnalysis_Replay() {
	dump, err := ingest.Read(context.Background(), []string{"../testdata/card-5.jsonl.gz"}, ingest.Options{Keep: analyze.Keep(nil)})
	if err != nil {
		fmt.Println(err)
		return
	}
	a := analyze.Run(dump, analyze.Options{Deadline: 200 * time.Millisecond})
	r, err := a.Replay(analyze.ReplayOptions{Order: analyze.Sequential})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range r.Routes {
		fmt.Printf("%s %s: %d late, in sequence %d\n", r.Service, r.Route, r.Observed.Late, r.Replayed.Late)
	}
	// Output:
	// card GET /card/{id}: 17 late, in sequence 98
}

func ExampleParsePolicy() {
	p, err := analyze.ParsePolicy("policy.yaml", []byte(`
deadlines:
  - {service: card, route: "GET /card/{id}", deadline: 200ms, reserve: 20ms}
dependencies:
  - {callee: recommendations, required: false, ceiling: 60ms}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.DeadlineFor("card", "GET /card/{id}").Deadline)
	fmt.Println(*p.Rule("card", "recommendations", "GET").Ceiling)

	_, err = analyze.ParsePolicy("policy.yaml", []byte("margin: 20\n"))
	fmt.Println(err)
	// Output:
	// 200ms
	// 60ms
	// policy.yaml:1: margin: "20" is more than 1: write a percentage, such as 5%, or a fraction, such as 0.05
}

func ExampleAnalysis_Suggest() {
	dump, err := ingest.Read(context.Background(), []string{"../testdata/card-5.jsonl.gz"}, ingest.Options{Keep: analyze.Keep(nil)})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := analyze.Run(dump, analyze.Options{Deadline: 200 * time.Millisecond, Hints: true}).Suggest()
	if err != nil {
		fmt.Println(err)
		return
	}
	d := s.Dependencies[0]
	fmt.Println(d, "minimum", *d.Minimum.Measured, "ceiling", *d.Ceiling.Measured)
	plans, err := s.Plans()
	fmt.Println(plans[0].Route, "worst case", plans[0].WorstCase, "of", plans[0].Total, err)
	// Output:
	// card → dep-01 GET minimum 28.598401ms ceiling 190ms
	// card GET /card/{id} worst case 200ms of 200ms <nil>
}
