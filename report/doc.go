// Package report writes results of package analyze for people and machines:
// a report, a comparison and a replay as text, Markdown, JSON and CSV, a trend as text,
// Markdown and JSON, the views of traces as text and JSON lines, the rules of the
// recogniser as text, the numbers of a report or a comparison as metrics for Prometheus, and
// rules of acceptance as JUnit XML. It computes nothing but means, shares and waits between
// attempts that a table shows.
//
// # Pipeline
//
//  1. What is written becomes a document: headings, lines and tables, built
//     of runs that know whether they are words of ours, a name from the input,
//     a file or a trace id (document.go; read.go, routes.go, dependencies.go,
//     findings.go, advice.go, tails.go, trace.go, signals.go, compare.go, replay.go,
//     trend.go). The document knows nothing of a form.
//  2. A form lays the document out: text.go with table.go, the one file that
//     knows tablewriter, or markdown.go.
//  3. Everything is buffered and written in one Write, whose error is returned.
//
// A policy (policy.go, evidence.go) and what is deployed from it (deploy.go, grpc.go,
// envoy.go, istio.go) skip it too: they are for machines, with comments for people. The
// plan (plan.go) has both forms.
//
// JSON (json.go), CSV (csv.go, comparecsv.go), metrics (metrics.go) and JUnit (junit.go)
// skip the document: they encode the types.
//
// # Terms
//
//   - hostile: every name, file and text of the input. It reaches an output only
//     through clean, which makes control, format and bidirectional characters
//     visible, and the quoting of the form.
//   - label: the name of a table's row. It stands before the numbers where it
//     fits, and else on a line of its own above them.
//   - detail: a line below a row.
//   - foot: a numbered footnote, printed once under its table. Numbers run
//     through the whole document, so that a ticket can quote one.
//   - rule: what made a span a call, an attempt or a phase of one, or gave it its
//     outcome; shown by its id, which Signals explains.
//   - setting: a duration that somebody chose (deadline, ceiling), printed
//     without trailing zeros; measured ones have three significant digits.
//
// Unknown is printed as –, never as 0.
package report
