package analyze

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"overrun/ingest"
)

// A kindSet is a set of span kinds; the empty set stands for all of them.
type kindSet uint8

func kinds(list ...ingest.Kind) (set kindSet) {
	for _, k := range list {
		set |= 1 << k
	}
	return set
}

func (set kindSet) has(k ingest.Kind) bool { return set == 0 || set&(1<<k) != 0 }

// Sets of kinds that rules name.
var (
	entryKinds  = kinds(ingest.Server, ingest.Consumer)
	callerKinds = kinds(ingest.Unspecified, ingest.Internal, ingest.Client, ingest.Producer) // all others
	innerKinds  = kinds(ingest.Unspecified, ingest.Internal, ingest.Client)                  // what a phase may be
	clientKind  = kinds(ingest.Client)
	ownKind     = kinds(ingest.Internal)
	serverKind  = kinds(ingest.Server)
	callKinds   = kinds(ingest.Client, ingest.Producer)
)

// A sign is what a rule looks for on a span. All parts that are given must hold.
// Names are globs in which * matches anything. Attribute keys are canonical
// (see canonical), so that a sign names one spelling and finds all.
type sign struct {
	kinds kindSet
	name  string   // of the span
	scope string   // of its instrumentation scope; globs separated by |
	under []part   // the parent has one of these parts
	has   []attrIs // attributes, the rarest first
	lacks []string // attribute keys
	event string   // the name of an event
	text  string   // part of the status text or the exception's message, in lower case; * matches anything
	state status   // of the span
}

// A status is a condition on the span's status; the zero value is none.
type status uint8

const (
	anyStatus status = iota
	unsetStatus
	errorStatus
	notError
)

// An attrIs is a condition on an attribute: it exists, and
type attrIs struct {
	key      string
	is       string  // its value is a glob match, without regard to case; "": any value
	item     string  // one of its comma-separated items is this, without regard to case
	min, max float64 // it is a number in [min, max], where one of them is not 0
	low      string  // is or item in lower case, set by newTable
}

// A rule is one row of a table: a sign, and what it says. Of several rules
// that match a span the one with the highest priority counts; among equals the lowest
// order, then the one with more conditions, then the first in the table.
type rule[T any] struct {
	id       string // of the reference of signals
	priority int
	order    int    // among rules of one priority: lower first
	source   string // repository and file, specification or issue that it rests on
	when     sign
	says     T
}

// Priorities of the blocks of rules.
const (
	byUser      = 100
	byCounter   = 90
	byHedgeMark = 80
	byPhaseName = 75
	byPhaseHint = 70 // names that others use too
	byEvent     = 65
	byRPC       = 60
	byDeadline  = 50
	byOutcome   = 45
	byFallback  = 40
	byInference = 30
	byText      = 10
	byDefault   = 0 // what remains when no rule says more
)

// block names the block of a priority.
func block(priority int) string {
	switch priority {
	case byUser:
		return "user"
	case byCounter:
		return "attempt counters and retry scopes"
	case byHedgeMark:
		return "hedge marks"
	case byPhaseName:
		return "phases, unique names"
	case byPhaseHint:
		return "phases, ambiguous names"
	case byEvent:
		return "phases, events and attributes"
	case byRPC:
		return "gRPC and proxies"
	case byDeadline:
		return "deadlines"
	case byOutcome:
		return "outcomes"
	case byFallback:
		return "fallbacks and breakers"
	case byInference:
		return "inference"
	case byText:
		return "weak words and hand-written keys"
	}
	return "defaults"
}

// forEach copies a rule for each text, which set puts into its sign.
func forEach[T any](r rule[T], texts []string, set func(w *sign, text string)) []rule[T] {
	list := make([]rule[T], len(texts))
	for i, text := range texts {
		list[i] = r
		set(&list[i].when, text)
	}
	return list
}

// forNames copies a rule for each name of a span.
func forNames[T any](r rule[T], names ...string) []rule[T] {
	return forEach(r, names, func(w *sign, name string) { w.name = name })
}

// forValues copies a rule for each value of an attribute, which becomes its
// first condition.
func forValues[T any](r rule[T], key string, values ...string) []rule[T] {
	return forEach(r, values, func(w *sign, value string) { w.has = append([]attrIs{{key: key, is: value}}, w.has...) })
}

// forItems is forValues for an attribute that holds a list.
func forItems[T any](r rule[T], key string, items ...string) []rule[T] {
	return forEach(r, items, func(w *sign, item string) { w.has = append([]attrIs{{key: key, item: item}}, w.has...) })
}

// forTexts copies a rule for each text.
func forTexts[T any](r rule[T], texts ...string) []rule[T] {
	return forEach(r, texts, func(w *sign, text string) { w.text = text })
}

// forEvents copies a rule for each name of an event.
func forEvents[T any](r rule[T], names ...string) []rule[T] {
	return forEach(r, names, func(w *sign, name string) { w.event = name })
}

// An index finds globs that may match a text, by their fixed beginning or end.
type index struct {
	exact, prefix, suffix map[string][]int32
	prefixes, suffixes    [256][]int // lengths that occur, by first and by last byte
	some                  [256]bool  // by slot: an exact text may be there
	rest                  []int32    // * at both ends
}

// slotOf is a small hash; 0 for no text.
func slotOf(s string) uint8 {
	if s == "" {
		return 0
	}
	return uint8(len(s)) ^ s[0]<<3 ^ s[len(s)-1]<<1 ^ s[len(s)/2]
}

func (x *index) add(pattern string, n int32) {
	put := func(m *map[string][]int32, key string) {
		if *m == nil {
			*m = map[string][]int32{}
		}
		(*m)[key] = append((*m)[key], n)
	}
	length := func(list *[]int, n int) {
		if at, found := slices.BinarySearch(*list, n); !found {
			*list = slices.Insert(*list, at, n)
		}
	}
	before, after, wild := strings.Cut(pattern, "*")
	last := after[strings.LastIndexByte(after, '*')+1:]
	switch {
	case !wild && pattern != "":
		put(&x.exact, pattern)
		x.some[slotOf(pattern)] = true
	case before != "":
		put(&x.prefix, before)
		length(&x.prefixes[before[0]], len(before))
	case last != "":
		put(&x.suffix, last)
		length(&x.suffixes[last[len(last)-1]], len(last))
	default:
		x.rest = append(x.rest, n)
	}
}

// find adds what may match s, whose slot is given.
func (x *index) find(list []int32, s string, slot uint8) []int32 {
	if len(x.rest) > 0 {
		list = append(list, x.rest...)
	}
	if s == "" {
		return list
	}
	if x.some[slot] {
		list = append(list, x.exact[s]...)
	}
	for _, n := range x.prefixes[s[0]] {
		if n > len(s) {
			break
		}
		list = append(list, x.prefix[s[:n]]...)
	}
	for _, n := range x.suffixes[s[len(s)-1]] {
		if n > len(s) {
			break
		}
		list = append(list, x.suffix[s[len(s)-n:]]...)
	}
	return list
}

// A keyIndex finds rules that ask for an attribute.
type keyIndex struct {
	any    []int32 // any value, or a range
	values index
	items  map[string][]int32
	reads  bool // some rules ask for the value
}

// find adds the rules that may hold for a value.
func (k *keyIndex) find(list []int32, value string) []int32 {
	list = append(list, k.any...)
	if !k.reads {
		return list
	}
	value = strings.ToLower(value)
	list = k.values.find(list, value, slotOf(value))
	if len(k.items) > 0 {
		for more := true; more; {
			var item string
			item, value, more = strings.Cut(value, ",")
			list = append(list, k.items[strings.TrimSpace(item)]...)
		}
	}
	return list
}

// A table is rules with an index, so that the cost of a span does not grow with
// the number of rules: every rule hangs on one anchor, the rarest thing it asks
// for, and only rules whose anchor the span has are looked at.
type table[T any] struct {
	rules  []rule[T] // by rank: the first that matches counts
	names  index
	keys   map[string]*keyIndex
	some   [256]bool // by slot: a key may be there
	events index
	texts  []int32 // looked at only where the span has words
	rest   []int32 // no anchor
	noName bool    // no rule hangs on a name
}

// newTable sorts and indexes rules.
func newTable[T any](rules ...[]rule[T]) *table[T] {
	t := &table[T]{rules: slices.Concat(rules...), keys: map[string]*keyIndex{}, noName: true}
	slices.SortStableFunc(t.rules, func(a, b rule[T]) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.order, b.order), cmp.Compare(b.when.conditions(), a.when.conditions()))
	})
	for i := range t.rules {
		w, n := &t.rules[i].when, int32(i)
		for j := range w.has {
			if low := strings.ToLower(w.has[j].is + w.has[j].item); w.has[j].low != low { // conditions are shared between tables
				w.has[j].low = low
			}
		}
		switch {
		case strings.Trim(w.name, "*") != "":
			t.names.add(w.name, n)
			t.noName = false
		case len(w.has) > 0:
			t.addKey(&w.has[0], n)
		case strings.Trim(w.event, "*") != "":
			t.events.add(w.event, n)
		case w.text != "":
			t.texts = append(t.texts, n)
		default:
			t.rest = append(t.rest, n)
		}
	}
	return t
}

func (t *table[T]) addKey(a *attrIs, n int32) {
	k := t.keys[a.key]
	if k == nil {
		k = &keyIndex{items: map[string][]int32{}}
		t.keys[a.key] = k
		t.some[slotOf(a.key)] = true
	}
	switch {
	case a.item != "":
		k.items[a.low] = append(k.items[a.low], n)
		k.reads = true
	case a.is != "":
		k.values.add(a.low, n)
		k.reads = true
	default:
		k.any = append(k.any, n)
	}
}

// conditions counts what a sign asks for.
func (w *sign) conditions() int {
	n := len(w.under) + len(w.has) + len(w.lacks)
	for _, given := range []bool{w.kinds != 0, w.name != "", w.scope != "", w.event != "", w.text != "", w.state != anyStatus} {
		if given {
			n++
		}
	}
	return n
}

// candidates gives the ranks of the rules whose anchor the span has, the
// strongest first, in the room given.
func (t *table[T]) candidates(f *facts, room []int32) []int32 {
	list := append(room[:0], t.rest...)
	if !t.noName {
		list = t.names.find(list, f.span.Name, f.slot)
	}
	for i := range f.attrs {
		a := &f.attrs[i]
		if i < len(f.slots) && !t.some[f.slots[i]] {
			continue
		}
		if k := t.keys[a.Key]; k != nil {
			list = k.find(list, a.Value)
		}
	}
	for i := range f.span.Events {
		name := f.span.Events[i].Name
		list = t.events.find(list, name, slotOf(name))
	}
	if f.text != "" {
		list = append(list, t.texts...)
	}
	if len(list) < 2 {
		return list
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// first is the rule that counts for a span; nil: none matches.
func (t *table[T]) first(f *facts) *rule[T] {
	var room [24]int32
	for _, n := range t.candidates(f, room[:]) {
		if f.match(&t.rules[n].when) {
			return &t.rules[n]
		}
	}
	return nil
}

// all yields every rule that matches, the strongest first.
func (t *table[T]) all(f *facts, yield func(*rule[T])) {
	var room [24]int32
	for _, n := range t.candidates(f, room[:]) {
		if f.match(&t.rules[n].when) {
			yield(&t.rules[n])
		}
	}
}

// tables are all that a span is asked.
type tables struct {
	parts     *table[partSays]
	counts    *table[countSays]
	phases    *table[phaseSays]
	outcomes  *table[outcomeSays]
	deadlines *table[deadlineSays]
	hedges    *table[hedgeSays]
	insteads  *table[insteadSays]
	signals   *UserSignals // never nil
}

// builtIn are the tables without rules of the user.
var builtIn = tables{partTable, countTable, phaseTable, outcomeTable, deadlineTable, hedgeTable, insteadTable, DefaultSignals()}

// facts are a span made ready for rules.
type facts struct {
	tables *tables
	trace  *ingest.Trace
	span   *ingest.Span
	words  bool // weak words count as well (T22)
	*look
}

// get is the value of a canonical key; "" where it was not recorded.
func (l *look) get(key string) string {
	for i := range l.attrs {
		if l.attrs[i].Key == key {
			return l.attrs[i].Value
		}
	}
	return ""
}

func (f *facts) match(w *sign) bool {
	s := f.span
	if !w.kinds.has(s.Kind) {
		return false
	}
	switch w.state {
	case unsetStatus:
		if s.Status != ingest.Unset {
			return false
		}
	case errorStatus:
		if s.Status != ingest.Error {
			return false
		}
	case notError:
		if s.Status == ingest.Error {
			return false
		}
	}
	if w.name != "" && !glob(w.name, s.Name) {
		return false
	}
	if len(w.under) > 0 && !slices.Contains(w.under, f.parent) {
		return false
	}
	for _, key := range w.lacks {
		if f.get(key) != "" {
			return false
		}
	}
	for i := range w.has {
		if !w.has[i].holds(f.get(w.has[i].key)) {
			return false
		}
	}
	if w.scope != "" && !anyGlob(w.scope, s.Scope) {
		return false
	}
	if w.event != "" && !slices.ContainsFunc(s.Events, func(e ingest.Event) bool { return glob(w.event, e.Name) }) {
		return false
	}
	return w.text == "" || contains(f.text, w.text)
}

// anyGlob reports whether one of the globs, separated by |, matches.
func anyGlob(globs, text string) bool {
	for pattern := range strings.SplitSeq(globs, "|") {
		if glob(pattern, text) {
			return true
		}
	}
	return false
}

// contains reports whether a part of the text matches, where * matches anything.
func contains(text, part string) bool {
	for more := true; more; {
		var piece string
		piece, part, more = strings.Cut(part, "*")
		at := strings.Index(text, piece)
		if at < 0 {
			return false
		}
		text = text[at+len(piece):]
	}
	return true
}

func (a *attrIs) holds(value string) bool {
	switch {
	case value == "":
		return false
	case a.min != 0 || a.max != 0:
		n, err := strconv.ParseFloat(value, 64)
		return err == nil && n >= a.min && n <= a.max
	case a.item != "":
		for item := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(item), a.low) {
				return true
			}
		}
		return false
	}
	return a.is == "" || glob(a.low, strings.ToLower(value))
}
