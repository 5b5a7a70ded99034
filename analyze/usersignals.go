package analyze

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"overrun/ingest"
)

// UserSignals are what a site knows of its own traces: signals in a policy
// file. Their rules come before all built-in ones; of several that match a span
// the first in the file counts. Which dependencies are optional is said by
// DependencyRule. DefaultSignals is what an empty block says.
type UserSignals struct {
	Deadlines    []DeadlineSignal
	Attempts     []AttemptSignal
	Spans        []SpanSignal
	Dependencies []PeerSignal
	Ignore       []IgnoreSignal
	Sampling     []SamplingSignal // the first whose key a span has counts, before all that is built in

	// Retryable are the failed answers after which clients try again: HTTP
	// statuses and gRPC codes, these in upper snake case. Those of the file
	// replace the built-in ones. Whoever got no answer, or left, tries again
	// all the same.
	Retryable    []string
	LargestGap   time.Duration // between two attempts that nothing marks; default 5s
	InferRetries bool          // calls that follow a failed one to the same peer are its retries (R3); default true
	InferHedges  bool          // a call cancelled as another to the same peer was answered is its copy (H5); default true

	// ClientCancelIsTimeout says what it means that a client which recorded no
	// deadline cancelled a call, as http.Client.Timeout does: true, its own timeout
	// fired; false, its caller left. nil: what the built-in rules say (T4 a timeout,
	// T5 and T16 a cancel). A cancel as a sibling was answered is never a timeout.
	ClientCancelIsTimeout *bool
	Words                 bool // words that hint at a timeout or cancel count (T22); default false
}

// A DeadlineSignal names an attribute, or a captured header, with a deadline.
// Of a key that is named here no built-in rule is left.
type DeadlineSignal struct {
	Line   int    // in the file, from 1
	Key    string // of an attribute; "": Header is given
	Header string // name of a captured header, in any case and under any prefix
	Means  string // remaining: what is left; absolute: an instant; "": the unit says it
	// Unit is ns, us, ms or s, of numbers; grpc-timeout (10S) and duration (1.5s,
	// PT1.5S), which are remaining; time (RFC 3339, HTTP date), which is absolute;
	// or self-evident: what the value says itself, numbers too small for an
	// instant being refused. Values that cannot be are refused and noted.
	Unit string
	On   string // server, client or both (""): the span that has it; what is left counts from its start
}

// An AttemptSignal names an attribute, or a captured header, that counts attempts.
type AttemptSignal struct {
	Line   int
	Key    string
	Header string
	// Counts is resends (before this attempt: 0 or absent on the first), from-one
	// (the first is 1), or what the span hides in itself: hidden-resends, or
	// hidden-attempts, the first included.
	Counts  string
	Backoff string // gap, tail or head, as of SpanSignal
}

// A SpanSignal says what spans of a name are to a call. Name and Scope are
// globs. Requests begin where they do: it says nothing of SERVER and
// CONSUMER spans.
type SpanSignal struct {
	Line    int
	Name    string // default *
	Scope   string // of the instrumentation; default *
	Is      string // one of spanParts
	Backoff string // of an attempt, or those of a retry-scope: gap (default) between attempts, tail after its last child, head before its first
}

// A PeerSignal names the callee of calls, or what they ask for. All globs
// have to match.
type PeerSignal struct {
	Line      int
	Address   string // recorded address, with its port or without, or IP address of the peer; default *
	Callee    string // as recognised; for Template, as Name made it; default *
	Operation string // as recognised; default *
	Name      string // the callee; "": unchanged
	Template  string // the operation; "": unchanged
}

// A SamplingSignal names an attribute that says for how many spans a span stands.
type SamplingSignal struct {
	Line  int
	Key   string
	Means string // ratio: it was sampled with this probability, more than 0, at most 1; weight: it stands for this many, at least 1
}

// An IgnoreSignal names spans that are no request, call or phase: work of
// whoever they are under. Below a request that is ignored only what other
// services recorded of it counts. Name and Scope are globs.
type IgnoreSignal struct {
	Line  int
	Name  string // default *
	Scope string // default *
}

// DefaultSignals is what an empty block says.
func DefaultSignals() *UserSignals {
	return &UserSignals{Retryable: builtInRetryable, LargestGap: defaultMaxGap, InferRetries: true, InferHedges: true}
}

// spanParts are the words for what a span is.
var spanParts = []struct {
	name string
	part part
}{
	{"call", callPart}, {"attempt", attemptPart}, {"retry-scope", scopePart},
	{"pool", poolPart}, {"dns", dnsPart}, {"tcp", tcpPart}, {"tls", tlsPart}, {"connect", connectPart},
	{"send", sendPart}, {"waiting", waitPart}, {"receiving", receivePart},
	{"fallback", fallbackPart}, {"own", ownPart},
}

// countKinds are the words for what a number of attempts counts.
var countKinds = []struct {
	name string
	kind countKind
}{{"resends", resends}, {"from-one", fromOne}, {"hidden-resends", allResend}, {"hidden-attempts", allTries}}

// backoffPlaces are the words for where back-off sits.
var backoffPlaces = map[string]backoffPlace{"": inGap, "gap": inGap, "tail": inTail, "head": inHead}

// tables are the built-in ones with the rules of the policy.
func (p *Policy) tables() *tables {
	if p == nil || p.Signals == nil {
		return &builtIn
	}
	s, own := p.Signals, builtIn
	own.signals = s
	if len(s.Spans)+len(s.Ignore) > 0 {
		own.parts = newTable(builtIn.parts.rules, s.partRules())
		own.insteads = newTable(builtIn.insteads.rules, s.insteadRules())
	}
	if len(s.Attempts) > 0 {
		own.counts = newTable(builtIn.counts.rules, s.countRules())
	}
	if len(s.Deadlines) > 0 {
		others := slices.DeleteFunc(slices.Clone(builtIn.deadlines.rules), func(r rule[deadlineSays]) bool {
			return slices.ContainsFunc(s.Deadlines, func(d DeadlineSignal) bool { return nameOf(d.Key, d.Header) == r.says.key })
		})
		own.deadlines = newTable(others, s.deadlineRules())
	}
	return &own
}

// signalID is the id of the rule on a line.
func signalID(line int) string { return "signals:" + strconv.Itoa(line) }

// nameOf is the canonical name of an attribute, or of a header.
func nameOf(key, header string) string {
	if header != "" {
		key = headerPrefixes[0] + header
	}
	return canonical(key).name
}

// userRule is a rule of the user, the order-th of its table.
func userRule[T any](line, order int, when sign, says T) rule[T] {
	return rule[T]{id: signalID(line), priority: byUser, order: order, source: "policy file", when: when, says: says}
}

// spanSign is the sign of a name and a scope, where * asks for nothing.
func spanSign(kinds kindSet, name, scope string) sign {
	asked := func(glob string) string {
		if glob == "*" {
			return ""
		}
		return glob
	}
	return sign{kinds: kinds, name: asked(name), scope: asked(scope)}
}

func (s *UserSignals) partRules() (list []rule[partSays]) {
	for _, i := range s.Ignore {
		list = append(list, userRule(i.Line, len(list), spanSign(0, i.Name, i.Scope), partSays{part: noPart}))
	}
	for _, w := range s.Spans {
		for _, p := range spanParts {
			if p.name == w.Is {
				list = append(list, userRule(w.Line, len(list), spanSign(callerKinds, w.Name, w.Scope), partSays{p.part, backoffPlaces[w.Backoff], inCall}))
			}
		}
	}
	return list
}

func (s *UserSignals) insteadRules() (list []rule[insteadSays]) {
	for _, w := range s.Spans {
		if w.Is == "fallback" {
			list = append(list, userRule(w.Line, len(list), spanSign(callerKinds, w.Name, w.Scope), fallbackUsed))
		}
	}
	return list
}

func (s *UserSignals) countRules() (list []rule[countSays]) {
	for _, a := range s.Attempts {
		for _, c := range countKinds {
			if c.name != a.Counts {
				continue
			}
			says := countSays{key: nameOf(a.Key, a.Header), kind: c.kind, backoff: backoffPlaces[a.Backoff]}
			if c.kind == allResend || c.kind == allTries {
				says.backoff = isHidden
			}
			list = append(list, userRule(a.Line, len(list), sign{has: []attrIs{{key: says.key}}}, says))
		}
	}
	return list
}

func (s *UserSignals) deadlineRules() (list []rule[deadlineSays]) {
	for _, d := range s.Deadlines {
		form, ok := d.form()
		if !ok {
			continue
		}
		says := deadlineSays{key: nameOf(d.Key, d.Header), form: form, server: d.On != "client", client: d.On != "server"}
		when := sign{has: []attrIs{{key: says.key}}}
		switch d.On {
		case "server":
			when.kinds = notClient
		case "client":
			when.kinds = clientKind
		}
		list = append(list, userRule(d.Line, len(list), when, says))
	}
	return list
}

// notClient are the kinds of a span at which a request may begin: all but one.
var notClient = entryKinds | kinds(ingest.Unspecified, ingest.Internal, ingest.Producer)

// form is the grammar that means and unit name.
func (d *DeadlineSignal) form() (form, bool) {
	name := d.Unit
	if numberUnit(name) && d.Means == "absolute" {
		name = "epoch-" + name
	}
	i := slices.IndexFunc(userForms, func(f form) bool { return f.name == name })
	if i < 0 {
		return form{}, false
	}
	return userForms[i], true
}

// numberUnit reports whether a unit is one of plain numbers.
func numberUnit(unit string) bool {
	return slices.ContainsFunc(userForms, func(f form) bool { return f.name == "epoch-"+unit })
}

// unitNames lists the words for units.
func unitNames() (list []string) {
	for _, f := range userForms {
		if !strings.HasPrefix(f.name, "epoch-") {
			list = append(list, f.name)
		}
	}
	return list
}

// weight reads for how many spans a span stands; found is false where it does not
// have the key, known where the value cannot be.
func (s *SamplingSignal) weight(f *facts) (weight float64, known, found bool) {
	text := f.get(nameOf(s.Key, ""))
	if text == "" {
		return 1, false, false
	}
	if s.Means == "ratio" {
		weight, known = ratioWeight(text)
		return weight, known && weight >= 1, true
	}
	weight, err := strconv.ParseFloat(text, 64)
	return weight, err == nil && weight >= 1 && !math.IsInf(weight, 0), true
}

// peerOf says whom a call goes to and what it asks for, and by which rules:
// those of the user first (9).
func peerOf(f *facts, server *ingest.Span) (to dependency, by callRules) {
	to.callee, by.callee = calleeOf(f, server)
	to.operation, by.operation = operationOf(f, server)
	list := f.tables.signals.Dependencies
	if i := slices.IndexFunc(list, func(p PeerSignal) bool { return p.Name != "" && p.match(f, to) }); i >= 0 {
		to.callee, by.callee = list[i].Name, signalID(list[i].Line)
	}
	if i := slices.IndexFunc(list, func(p PeerSignal) bool { return p.Template != "" && p.match(f, to) }); i >= 0 {
		to.operation, by.operation = list[i].Template, signalID(list[i].Line)
	}
	return to, by
}

func (p *PeerSignal) match(f *facts, to dependency) bool {
	if !glob(p.Callee, to.callee) || !glob(p.Operation, to.operation) {
		return false
	}
	return glob(p.Address, f.address()) || glob(p.Address, f.host()) || glob(p.Address, f.get("network.peer.address"))
}

// judgeCancel applies ClientCancelIsTimeout.
func (t *traced) judgeCancel(i int32, w *sighting) {
	isTimeout := t.rec.tables.signals.ClientCancelIsTimeout
	if isTimeout == nil || t.Spans[i].Kind != ingest.Client || t.sentTimeout[i] > 0 || t.written[i] != nil {
		return
	}
	switch by := w.rule.outcome; {
	case *isTimeout && w.outcome == CancelledCaller && (by == "T5" || by == "T16") && !t.answeredBeside(i):
		w.ends(verdict{timedOut, ReadTimeout}, "signals")
	case !*isTimeout && by == "T4":
		w.ends(verdict{cancelled, CancelledCaller}, "signals")
	}
}

// answeredBeside reports whether a CLIENT span under the same parent ended well
// as this one ended: its caller had the answer from there.
func (t *traced) answeredBeside(i int32) bool {
	if t.answers == nil {
		t.answers = map[int32][]time.Duration{}
		for k := range t.Spans {
			if s := &t.Spans[k]; s.Parent >= 0 && s.Kind == ingest.Client && s.Status != ingest.Error && s.Defect == 0 {
				t.answers[s.Parent] = append(t.answers[s.Parent], s.End)
			}
		}
		for _, ends := range t.answers {
			slices.Sort(ends)
		}
	}
	ends := t.answers[t.Spans[i].Parent]
	at := t.Spans[i].End
	k, _ := slices.BinarySearch(ends, at-raceTolerance)
	return k < len(ends) && ends[k] <= at+raceTolerance
}
