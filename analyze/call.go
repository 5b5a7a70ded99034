package analyze

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"overrun/ingest"
)

// A dependency is whom a call goes to, as seen from one caller.
type dependency struct{ caller, callee, operation string }

func (d dependency) compare(e dependency) int {
	return cmp.Or(cmp.Compare(d.caller, e.caller), cmp.Compare(d.callee, e.callee), cmp.Compare(d.operation, e.operation))
}

// An attempt is one try of a call. Before groupCalls its times are those of
// the trace, afterwards offsets from the start of its request.
type attempt struct {
	span       ingest.SpanID
	start, end time.Duration
	outcome    Outcome
	hedge      bool // began while an earlier attempt of the same call ran
	unfinished bool
	index      int   // resends before it, as recorded; 0: first, or not recorded
	at         int32 // span index
	server     int32 // span index of the callee's entry; -1: no span
}

// A call is a logical outgoing call of a request.
type call struct {
	to         dependency
	span       ingest.SpanID // of the first attempt
	file       string
	position   int64
	start, end time.Duration // the first attempt's start to the winner's end, or the last one's
	outcome    Outcome       // of the winner, or the last attempt
	attempts   []attempt     // by start
	winner     int           // index into attempts; -1: none answered
	messaging  bool          // a PRODUCER
	awaited    bool          // its request is not known to have gone on without it
	unfinished bool
	path       time.Duration // on the path of its request

	at int32 // span index of the first attempt

	// Filled when all requests are known.
	dep      int32          // index into the table of dependencies
	node     int32          // index into the nodes of its route; -1: not tracked
	reserve  time.Duration  // own work and minimums ahead
	before   time.Duration  // longest chain of minimums that came before
	timeout  *time.Duration // computed; nil without a deadline
	findings []FindingCode
}

// raceTolerance is the time within which events of one process count as one (N8).
const raceTolerance = time.Millisecond

// try makes a span an attempt.
func (t *traced) try(i int32) {
	s := &t.Spans[i]
	index := 0
	if text := first(s, keysResend); text != "" {
		if n, err := strconv.Atoi(text); err == nil && n > 0 {
			index = n
		}
	}
	outcome := t.verdicts[i].outcome
	if outcome == CancelledCaller && t.forest.loser[i] {
		outcome = CancelledRace
	}
	t.attempt[i] = int32(len(t.attempts))
	t.attempts = append(t.attempts, attempt{span: s.ID, start: s.Start, end: s.End, outcome: outcome,
		unfinished: s.Defect != 0, index: index, at: i, server: -1})
}

// answer notes that the entry i is what a call led to.
func (t *traced) answer(i int32) {
	if a := t.attempt[t.Spans[i].Parent]; a >= 0 && t.attempts[a].server < 0 {
		t.attempts[a].server = i
	}
}

// groupCalls makes calls of attempts. Siblings to one peer are one call where
// the instrumentation counts resends: an attempt with count k follows the
// latest to have ended of those with k-1. All others are calls of their own.
func (t *traced) groupCalls() {
	type key struct {
		parent int32
		peer   string
	}
	open := map[key][]int{} // indexes into groups that may go on
	var groups [][]attempt
	byStart := slices.Clone(t.attempts)
	slices.SortFunc(byStart, func(a, b attempt) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.at, b.at)) })
	for _, a := range byStart {
		s := &t.Spans[a.at]
		k := key{s.Parent, ""}
		if s.Parent >= 0 && s.Kind == ingest.Client && first(s, keysHTTPMethod) != "" {
			k.peer = strings.Join([]string{s.Name, first(s, keysHTTPMethod), first(s, keysPeer), address(s)}, "\x00")
		}
		best := -1
		if a.index > 0 && k.peer != "" {
			for _, g := range open[k] {
				last := &groups[g][len(groups[g])-1]
				if last.index == a.index-1 && !redirected(&t.Spans[last.at]) &&
					(best < 0 || last.end > groups[best][len(groups[best])-1].end) {
					best = g
				}
			}
		}
		if best < 0 {
			best = len(groups)
			groups = append(groups, nil)
			if k.peer != "" {
				open[k] = append(open[k], best)
			}
		}
		groups[best] = append(groups[best], a)
	}
	for _, g := range groups {
		t.addCall(g)
	}
}

// redirected reports whether the attempt was answered by a redirect or a
// challenge to authenticate: what follows is counted as a resend, and is none.
func redirected(s *ingest.Span) bool {
	status := httpStatus(s)
	return status/100 == 3 || status == 401 || status == 407
}

// addCall makes one call of its attempts.
func (t *traced) addCall(attempts []attempt) {
	a := attempts[0]
	r := t.requests[t.request[a.at]]
	s := &t.Spans[a.at]
	c := call{span: a.span, file: s.File, position: s.Position, attempts: attempts, winner: -1, at: a.at,
		messaging: s.Kind == ingest.Producer, awaited: !t.async[a.at]}
	base := t.Spans[r.entry].Start
	running := attempts[0].end
	for i := range attempts {
		a := &attempts[i]
		a.hedge = i > 0 && a.start+raceTolerance < running
		running = max(running, a.end)
		c.unfinished = c.unfinished || a.unfinished
		if w := c.winner; a.outcome.Answered() && (w < 0 || a.end < attempts[w].end) {
			c.winner = i
		}
		a.start -= base
		a.end -= base
	}
	end := c.winner
	if end < 0 {
		end = len(attempts) - 1
	}
	c.start, c.end, c.outcome = attempts[0].start, attempts[end].end, attempts[end].outcome
	c.end = max(c.end, c.start)
	// The attempt that got farthest tells best who was called.
	known := end
	if attempts[known].server < 0 {
		if i := slices.IndexFunc(attempts, func(a attempt) bool { return a.server >= 0 }); i >= 0 {
			known = i
		}
	}
	c.to = t.identify(attempts[known])
	r.calls = append(r.calls, c) // groups come by the start of their first attempt
}

// identify says whom an attempt went to: the first that is known of the callee's
// own service name, a peer name, the topic, the database, the RPC service, the
// address, the name of the span. A message goes to its topic, whoever consumes it.
func (t *traced) identify(a attempt) dependency {
	s := &t.Spans[a.at]
	d := dependency{caller: s.Resource.Service}
	var server *ingest.Span
	if a.server >= 0 && s.Kind == ingest.Client {
		server = &t.Spans[a.server]
	}
	system := first(s, keysDBSystem)
	rpc := rpcMethod(s)
	switch {
	case server != nil && server.Resource.Service != "":
		d.callee = server.Resource.Service
	case first(s, keysPeer) != "":
		d.callee = first(s, keysPeer)
	case first(s, keysTopic) != "":
		d.callee = join(first(s, keysMessaging), first(s, keysTopic))
	case system != "":
		d.callee = join(system, first(s, keysDBName), address(s))
	case strings.Contains(rpc, "/"):
		d.callee = rpc[:strings.LastIndexByte(rpc, '/')]
	case address(s) != "":
		d.callee = address(s)
	case first(s, keysPeerIP) != "":
		d.callee = "ip"
	default:
		d.callee = s.Name
	}
	method := first(s, keysHTTPMethod)
	switch {
	case rpc != "":
		d.operation = rpc
	case first(s, keysTemplate) != "":
		d.operation = join(method, first(s, keysTemplate))
	case server != nil && first(server, keysRoute) != "":
		d.operation = join(method, first(server, keysRoute))
	case first(s, keysDBSummary) != "":
		d.operation = first(s, keysDBSummary)
	case first(s, keysDBOp) != "":
		d.operation = join(first(s, keysDBOp), first(s, keysDBTable))
	case first(s, keysMessageOp) != "":
		d.operation = first(s, keysMessageOp)
	case method != "":
		d.operation = method
	default:
		d.operation = s.Name
	}
	return d
}

// join joins the words that are known.
func join(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// address is host and port of the peer; "" where neither was recorded.
func address(s *ingest.Span) string {
	host := first(s, keysAddress)
	if host == "" {
		full := first(s, keysURL)
		if full == "" {
			return ""
		}
		u, err := url.Parse(full)
		if err != nil {
			return ""
		}
		return u.Host
	}
	if port := first(s, keysPort); port != "" && !strings.Contains(host, ":") {
		return host + ":" + port
	}
	return host
}
