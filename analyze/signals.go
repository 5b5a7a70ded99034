package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"overrun/ingest"
)

// A SignalRow is one rule of the recogniser in words.
type SignalRow struct {
	ID       string `json:"id"`     // of the reference of signals
	Block    string `json:"block"`  // what the rule is about
	When     string `json:"when"`   // what a span must have
	Says     string `json:"says"`   // what it means then
	Source   string `json:"source"` // what the rule rests on
	Priority int    `json:"priority"`
}

// Signals lists all built-in rules of the recogniser, table by table, in the
// order in which they are tried.
func Signals() []SignalRow {
	return slices.Concat(
		rows("parts of a call", partTable, partSays.words),
		rows("numbers of attempts", countTable, countSays.words),
		rows("phases", phaseTable, phaseSays.words),
		rows("outcomes", outcomeTable, outcomeSays.words),
		rows("deadlines", deadlineTable, deadlineSays.words),
		rows("hedges", hedgeTable, hedgeSays.words),
		rows("instead of a call", insteadTable, insteadSays.words),
		peerRows("callee", calleeRules),
		peerRows("operation", operationRules),
		weightRows(),
	)
}

func rows[T any](about string, t *table[T], words func(T) string) []SignalRow {
	list := make([]SignalRow, len(t.rules))
	for i := range t.rules {
		r := &t.rules[i]
		list[i] = SignalRow{ID: r.id, Block: about + ": " + block(r.priority), When: r.when.words(), Says: words(r.says), Source: r.source, Priority: r.priority}
	}
	return list
}

func peerRows(about string, rules []peerRule) []SignalRow {
	list := make([]SignalRow, len(rules))
	for i := range rules {
		list[i] = SignalRow{ID: rules[i].id, Block: about, When: rules[i].says, Says: about, Source: "reference 9, in this order"}
	}
	return list
}

func weightRows() []SignalRow {
	list := make([]SignalRow, len(weightRules))
	for i := range weightRules {
		list[i] = SignalRow{ID: weightRules[i].id, Block: "weight", When: weightRules[i].says, Says: "sampling weight", Source: weightRules[i].source}
	}
	return list
}

// words says a sign in words.
func (w *sign) words() string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if w.name != "" {
		say("name `%s`", w.name)
	}
	if w.kinds != 0 {
		list = append(list, w.kinds.words())
	}
	if w.scope != "" {
		say("scope `%s`", strings.ReplaceAll(w.scope, "|", "`, `"))
	}
	if len(w.under) > 0 {
		names := make([]string, len(w.under))
		for i, p := range w.under {
			names[i] = partNames[p]
		}
		say("under %s", strings.Join(names, " or "))
	}
	for i := range w.has {
		list = append(list, w.has[i].words())
	}
	if len(w.lacks) > 0 {
		say("without `%s`", strings.Join(w.lacks, "`, `"))
	}
	if w.event != "" {
		say("event `%s`", w.event)
	}
	if w.text != "" {
		say("text `%s`", w.text)
	}
	switch w.state {
	case unsetStatus:
		list = append(list, "status unset")
	case errorStatus:
		list = append(list, "status error")
	case notError:
		list = append(list, "status not error")
	}
	return strings.Join(list, ", ")
}

func (set kindSet) words() string {
	names := [...]string{"UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"}
	var list []string
	for k := ingest.Unspecified; k <= ingest.Consumer; k++ {
		if set.has(k) {
			list = append(list, names[k])
		}
	}
	return strings.Join(list, "/")
}

func (a *attrIs) words() string {
	switch {
	case a.min != 0 || a.max != 0:
		return fmt.Sprintf("`%s` from %s to %s", a.key, strconv.FormatFloat(a.min, 'g', -1, 64), strconv.FormatFloat(a.max, 'g', -1, 64))
	case a.item != "":
		return fmt.Sprintf("`%s` holds `%s`", a.key, a.item)
	case a.is != "" && a.is != "*":
		return fmt.Sprintf("`%s` = `%s`", a.key, a.is)
	}
	return "`" + a.key + "`"
}

var partNames = [...]string{noPart: "nothing", entryPart: "entry", callPart: "call", attemptPart: "attempt", scopePart: "retry scope",
	poolPart: "pool wait", dnsPart: "DNS", tcpPart: "TCP", tlsPart: "TLS", connectPart: "connect", sendPart: "send",
	waitPart: "wait for the first byte", receivePart: "receive", resolvePart: "name resolution", pickPart: "wait for a ready connection",
	backoffPart: "back-off", queuePart: "queue", fallbackPart: "fallback", breakerPart: "breaker", ownPart: "own work"}

var placeNames = [...]string{inGap: "between attempts", inTail: "at the attempt's end", inHead: "at the next attempt's start",
	inEvent: "told by events", isHidden: "hidden"}

func (p partSays) words() string {
	if p.part == attemptPart {
		return partNames[p.part] + ", back-off " + placeNames[p.backoff]
	}
	return partNames[p.part] + [...]string{inCall: "", ahead: ", which ends as its call begins",
		inStead: ", which ends as its call begins; where it failed it is the call"}[p.place]
}

func (c countSays) words() string {
	what := "`" + cmp.Or(c.key, c.event) + "`"
	if c.field != "" {
		what += " " + c.field
	}
	if c.event != "" {
		what = "number of events " + what
	}
	kind := [...]string{resends: "resends before this attempt", fromOne: "number of the attempt, from 1", fromRetry: "number of the retry, from 0",
		allResend: "resends within the span", allTries: "attempts within the span"}[c.kind]
	return fmt.Sprintf("%s: %s, back-off %s", what, kind, placeNames[c.backoff])
}

func (p phaseSays) words() string {
	name := partNames[p.part]
	quoted := func(list []string) string { return "`" + strings.Join(list, "` or `") + "`" }
	unit := map[time.Duration]string{time.Millisecond: "ms", time.Second: "s"}[p.unit]
	switch {
	case p.length != "" && p.from != nil:
		return fmt.Sprintf("%s: from %s for its `%s` %s", name, quoted(p.from), p.length, unit)
	case p.length != "" && p.loose:
		return fmt.Sprintf("%s: `%s` %s, place unknown", name, p.length, unit)
	case p.length != "":
		return fmt.Sprintf("%s: from the start of the span for `%s` %s", name, p.length, unit)
	}
	from := "the start of the span"
	if p.from != nil {
		from = quoted(p.from)
	}
	switch {
	case p.last:
		from = "the last " + from
	case p.each:
		from = "each " + from
	}
	to := quoted(p.to)
	if p.where.key != "" {
		to += map[bool]string{false: " with", true: " without"}[p.not] + fmt.Sprintf(" `%s` = `%s`", p.where.key, p.where.is)
	}
	return fmt.Sprintf("%s: from %s to %s", name, from, to)
}

func (o outcomeSays) words() string {
	state := [...]string{healthy: "healthy", failed: "failed", timedOut: "timed out", cancelled: "cancelled"}[o.state]
	text := fmt.Sprintf("%s (%s)", o.outcome, state)
	for _, f := range slices.Concat(shownFlags, []flagWord{{fromText, "only if weak words count"},
		{maybeTimeout, "timed out if its caller did or a known timeout fits"},
		{maybeLeft, "cancelled if its callee was still at work, or a call beside it ended as it did"},
		{ofBefore, "but of the attempt before: a call inside may know its own"}}) {
		if o.flags&f.flag != 0 {
			text += ", " + f.word
		}
	}
	return text
}

func (d deadlineSays) words() string {
	where := [...]string{"", "SERVER", "CLIENT", "SERVER and CLIENT"}[b2i(d.server)+2*b2i(d.client)]
	text := "deadline on " + where + ": " + d.form.says
	if d.perTry {
		text += ", of one attempt"
	}
	return text
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (h hedgeSays) words() string {
	return [...]string{isHedge: "second copy", hedgeSent: "a second copy was sent", hedgeWon: "the second copy won",
		hedgeLost: "lost", mayHaveLost: "lost if a sibling ran beside it"}[h]
}

func (i insteadSays) words() string {
	return [...]string{fallbackUsed: "fallback used", callSkipped: "call skipped"}[i]
}

// keepKeys lists the attributes, of spans, events and resources, that rules
// read: what ingest.Options.Keep has to name.
func keepKeys(t *tables) []string {
	var names []string
	for _, w := range allSigns(t) {
		for i := range w.has {
			names = append(names, w.has[i].key)
		}
		names = append(names, w.lacks...)
	}
	names = append(names, readKeys(t)...)
	for _, r := range slices.Concat(calleeRules, operationRules) {
		names = append(names, r.keys...)
	}
	names = append(names, rpcCodeKey, httpStatusKey, exceptionTypeKey, exceptionMessageKey)
	var keys []string
	for _, name := range names {
		if name != "" {
			keys = append(keys, spelled(name)...)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// readKeys lists the attributes whose values rules read, beyond what their signs and
// those of peers ask.
func readKeys(t *tables) (names []string) {
	for _, r := range t.counts.rules {
		names = append(names, r.says.key)
	}
	for _, r := range t.phases.rules {
		names = append(names, r.says.length, r.says.where.key)
		if r.says.clock {
			names = append(names, slices.Concat(r.says.from, r.says.to)...)
		}
	}
	for _, r := range t.deadlines.rules {
		names = append(names, r.says.key)
	}
	for _, r := range weightRules {
		names = append(names, r.keys...)
	}
	for _, w := range t.signals.Sampling {
		names = append(names, nameOf(w.Key, ""))
	}
	return names
}

// keepEvents lists the names of events that rules look for, with * at the end
// where only the beginning is fixed: what ingest.Options.Events has to name.
func keepEvents(t *tables) []string {
	names := []string{"exception"}
	for _, w := range allSigns(t) {
		names = append(names, w.event)
	}
	for _, r := range t.counts.rules {
		names = append(names, r.says.event)
	}
	for _, r := range t.phases.rules {
		if !r.says.clock {
			names = append(names, slices.Concat(r.says.from, r.says.to)...)
		}
	}
	for i, name := range names {
		if before, _, wild := strings.Cut(name, "*"); wild {
			names[i] = before + "*"
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// allSigns lists the signs of all tables.
func allSigns(t *tables) []sign {
	return slices.Concat(signsOf(t.parts), signsOf(t.counts), signsOf(t.phases), signsOf(t.outcomes),
		signsOf(t.deadlines), signsOf(t.hedges), signsOf(t.insteads))
}

func signsOf[T any](t *table[T]) []sign {
	list := make([]sign, len(t.rules))
	for i := range t.rules {
		list[i] = t.rules[i].when
	}
	return list
}

// withoutRule lists the ids of the reference that have no rule, and why.
var withoutRule = []struct{ id, why string }{
	{"N1", "all values are text here, and conditions read numbers and booleans from it"},
	{"N2", "names of headers: canonical"},
	{"N3", "first value of a header: the grammars"},
	{"N4", "older names: spellings"},
	{"N5", "RPC status: the made attribute rpc code"},
	{"N6", "RPC method: the callee and the operation"},
	{"N7", "OK on a span with an error: the made attribute rpc code"},
	{"N8", "time tolerance: the grouping of attempts"},
	{"N9", "orphaned phases: the division into requests"},
	{"N10", "scopes are conditions beside others, alone only in F6, which says nothing of calls"},
	{"N11", "copies from baggage: only the first deadline of a trace and service counts, which its reader sees to"},
	{"C44", "nothing is recorded, and nothing is said"},
	{"R1", "siblings are calls by default; R6 reads their number"},
	{"R2", "one span for the logical call: the default"},
	{"R3", "unmarked siblings: inference"},
	{"R4", "unmarked siblings: inference"},
	{"R5", "one span hides all: nothing tells"},
	{"R9", "unmarked siblings: inference"},
	{"R12", "calls by default; R6 reads the number where there is one"},
	{"R13", "calls by default; R6 reads the number where there is one"},
	{"R15", "attempts by R14, whose counter they share; the first has none and is a call by default"},
	{"R19", "unmarked siblings: inference"},
	{"R20", "unmarked siblings: inference; uri names the operation"},
	{"R21", "no spans of their own"},
	{"R22", "unmarked siblings: inference"},
	{"R23", "one span hides all: nothing tells"},
	{"R24", "unmarked siblings: inference"},
	{"R25", "unmarked siblings: inference"},
	{"R29", "unmarked siblings: inference; the path names the operation by its template"},
	{"R30", "SERVER spans only: an entry by default"},
	{"G1", "a call by default; siblings by inference"},
	{"G2", "a call by default"},
	{"G6", "an entry by default"},
	{"G9", "T2, with the verdict of the CLIENT parent"},
	{"H3", "siblings that overlap: inference"},
	{"H5", "siblings that overlap: inference"},
	{"H6", "siblings that all succeed are no hedge: inference"},
	{"H7", "hand-written marks: a rule of the user"},
	{"F7", "hand-written marks: a rule of the user"},
	{"F8", "a short failed span: inference"},
	{"F9", "a missing span: inference"},
	{"W2", "a test on W1, named where the weight is unknown by it"},
	{"W3", "limits of the tracestate, named where the weight is unknown by them"},
	{"W9", "a key of the user: ratioWeight"},
	{"W11", "nothing recorded"},
}
