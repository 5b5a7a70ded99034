// Package analyze turns traces into a report on deadlines.
//
// In comes an ingest.Store, which hands out traces of spans, or summaries of earlier runs,
// or both (RunSaved); or an ingest.Dump, which is whole in memory (Run). Traces are
// read-only. Out comes an Analysis: a Report over all of it, and of a trace that is at
// hand its Views. Nothing here reads flags or the clock, and nothing prints.
//
// The work is done in this order:
//
//  1. One trace by itself (newTraced). Clocks that are proved wrong are moved
//     (emitter.go, skew.go). Rules say of every span what part of a call it is, how it
//     ended, how many tries it counts and what deadline it records (recognise.go; the
//     tables are parts.go, counts.go, outcomes.go, deadlines.go, phases.go,
//     hedges.go, insteads.go, peers.go and weights.go, matched by rule.go). They are
//     asked once about spans that look alike (look.go), and once whom such spans
//     call (meeting.go). Calls that failed in words of their caller's own are judged by what
//     ran beside and below them (cause.go).
//     Spans become requests, calls and attempts with their phases (request.go,
//     call.go, phase.go). The critical path of each request is walked over its
//     calls, and every instant is given a category (path.go, blame.go). Deadlines
//     are set from the top down (deadline.go), and work is found that ran on
//     for nobody (work.go). What a trace yields depends on that trace, on
//     connection setups that it links to, and on the policy alone.
//  2. All together (learn): latencies of dependencies (deptable.go,
//     quantile.go), whom calls go to whose callee left no span (callee.go), and
//     which calls are usual on a route, in which order and with how much own
//     work between (usual.go). From these come minimums, reserves (chain.go) and ceilings
//     (ceiling.go), and fixed timeouts (pattern.go).
//  3. One request after the other again (decide): computed timeouts, skipped
//     calls, how the request ended, findings (finding.go, pattern.go). They are
//     counted and sorted by name into the Report (summary.go).
//
// From an Analysis, Suggest makes the policy that the traces suggest, beside the one in
// force (suggest.go; protocol.go says what may be repeated); Plans divides the deadline of each
// route over its call graph (callgraph.go, plan.go); Deployables says what fixed timeouts
// can hold of it (deploy.go). Policy.Check holds a policy against the traces (policycheck.go).
//
// A replay (replay.go) asks what would have happened otherwise. It goes over the
// stored requests twice more: it learns what draws rest on (draw.go), makes
// each request ready (record.go; what waits for what is learned in step 2,
// order.go), puts in what a request never did (donor.go), and makes the calls one
// after what they wait for (player.go). Slack, and what alone would have saved a
// late request, come from the same records (saved.go).
//
// Compare puts two analyses side by side: it visits the requests of each once more for the
// values that differences rest on (compare.go), gives each difference an interval and a
// verdict (difference.go, interval.go; comparison.go has the types), and holds them against
// what was accepted (acceptance.go). A NightTable is what one analysis says of a night;
// NewTrend puts nights in a row and looks for what drifts (trend.go).
//
// What step 1 yields is stored as bytes (stored.go) between the passes, names as numbers
// (symbols.go). Steps 2 and 3 go over them on several goroutines, each of which visits the
// requests of services of its own (visitor.go). Values of samples (sample.go) have as much
// memory as the run may use, and else lie in a file (hoard.go); so do gaps between calls
// (gap.go). A summary (save.go) holds what is stored in a file. Summaries are read (load.go), deadlines chosen anew
// from what was recorded, and several of them, or summaries and dumps, merged
// (merge.go) into the order that one dump of all would have; steps 2 and 3 do not know
// the difference.
//
// The terms are those of the report:
//
//   - A request starts at a SERVER or CONSUMER span, or at a span without a
//     parent id, and holds all that its own service does for it. A top request
//     was called by nobody in the trace.
//   - A fragment starts at a span whose parent is missing and that is no SERVER
//     or CONSUMER. Its attempts count for dependencies and for nothing else;
//     so do those under a span of another service than its parent's that is no
//     SERVER or CONSUMER either.
//   - A call is a logical outgoing call of a request; an attempt is one try of
//     it; a dependency is whom calls go to, as seen from one caller.
//   - A deadline is the instant after which an answer is worthless; the budget
//     is the deadline - the start; remaining is the deadline - now.
//   - The reserve of a call is the tail (own work after the last awaited answer)
//     and the minimum timeouts of required calls still ahead.
//   - The computed timeout of a call is min(deadline - start - reserve, ceiling).
//
// Unknown is nil, never 0.
package analyze
