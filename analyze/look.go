package analyze

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
	"strings"

	"overrun/ingest"
)

// A look is what rules see of a span, and what they say of it. It does not depend on
// when the span was, nor in which trace, so that the many spans that look alike are
// recognised once.
type look struct {
	attrs  []ingest.Attr // under their canonical keys, and those made of others
	text   string        // status text and exception message, in lower case
	parent part          // noPart: no parent, or none that is known
	slot   uint8         // of the span's name
	slots  [32]uint8     // of the keys

	sighting // but for what depends on times
	rules    sightingRules
	dated    bool // a rule for deadlines hangs on something that the span has
	phased   bool // a rule for phases does
	kept     bool // remembered: nothing of it lies in the memory of a trace

	// Filled when asked for.
	route    string
	weighing weighing // of a span without a tracestate
	met      *meeting // whom it called last
}

// looks remembers what spans looked like lately. It is for one goroutine.
type looks struct {
	near  [][2]nearLook // by what the store says of spans that are alike; empty until it says something
	known map[string]*look
	once  [1 << 12]uint64 // hashes of what was seen once: what never comes again is not remembered
	seed  maphash.Seed
	key   []byte
	loose loose
}

// A nearLook is the look of spans that the store says are alike.
type nearLook struct {
	lookMarks
	look  *look
	loose [len(looseKeys)]uint8 // index + 1 of an attribute whose value does not count
}

// lookMarks are what may differ between spans that are alike, and counts.
type lookMarks struct {
	alike  uint64
	kind   ingest.Kind
	status ingest.Status
	defect ingest.Defect
	parent part
	late   bool
}

// nearest is where the look of a span is if it was seen lately: one of two places, side by
// side. nil: it has none that can be told by what the store says.
func (l *looks) nearest(m lookMarks, s *ingest.Span) *[2]nearLook {
	if m.alike == 0 || s.StatusText != "" || len(s.Events) > 0 {
		return nil
	}
	if len(l.near) == 0 {
		l.near = make([][2]nearLook, 1<<nearBits)
	}
	hash := (m.alike ^ uint64(m.kind)<<60 ^ uint64(m.status)<<58 ^ uint64(m.parent)<<53) * 0x9e3779b97f4a7c15
	return &l.near[hash>>(64-nearBits)]
}

// holds reports whether the look is that of a span with the marks.
func (n *nearLook) holds(m lookMarks, s *ingest.Span, loose *loose) bool {
	if n.look == nil || n.lookMarks != m {
		return false
	}
	for i, at := range n.loose {
		if at > 0 && len(s.Attrs[at-1].Value) <= loose[i] {
			return false
		}
	}
	return true
}

// nearLookOf is the look of a span with the marks, to be remembered by them; ok is false
// where a value counts that others with the marks need not share.
func nearLookOf(m lookMarks, s *ingest.Span, as *look, loose *loose) (n nearLook, ok bool) {
	n = nearLook{lookMarks: m, look: as}
	for k := range s.Attrs {
		a := &s.Attrs[k]
		if i := loose.name(a.Key); i >= 0 {
			if !loose.is(s, a) || k >= math.MaxUint8 || n.loose[i] > 0 {
				return n, false
			}
			n.loose[i] = uint8(k + 1)
		}
	}
	return n, true
}

// Bounds of what is remembered: how many looks (near ones by the power of two), and the
// bytes of what tells one.
const (
	nearBits     = 12
	maxLooks     = 1 << 12
	maxLookBytes = 1 << 10
)

func newLooks(by *tables) looks {
	return looks{known: map[string]*look{}, seed: maphash.MakeSeed(), loose: newLoose(by)}
}

// find is the look of a span like this one; nil: none is known, and again is whether
// there was one before. late: its CLIENT parent timed out.
func (l *looks) find(s *ingest.Span, parent part, late bool) (known *look, again bool) {
	if len(s.Events) > 0 { // they have times
		return nil, false
	}
	size := len(s.Name) + len(s.Scope) + len(s.StatusText)
	b := append(l.key[:0], byte(s.Kind), byte(s.Status), byte(s.Defect), byte(parent), 0)
	if late {
		b[4] = 1
	}
	for _, text := range [...]string{s.Name, s.Scope, s.StatusText} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	for i := range s.Attrs {
		a := &s.Attrs[i]
		value := a.Value
		if l.loose.is(s, a) {
			value = looseValue
		}
		if size += len(a.Key) + len(value); size > maxLookBytes {
			return nil, false
		}
		b = append(binary.AppendUvarint(b, uint64(len(a.Key))), a.Key...)
		b = append(binary.AppendUvarint(b, uint64(len(value))), value...)
	}
	l.key = b
	if known := l.known[string(b)]; known != nil {
		return known, true
	}
	hash := maphash.Bytes(l.seed, b)
	seen := &l.once[hash%uint64(len(l.once))]
	again = *seen == hash
	*seen = hash
	return nil, again
}

// keep remembers the look of a span that find has just looked for in vain.
func (l *looks) keep(as *look, s *ingest.Span) *look {
	if len(l.known) >= maxLooks {
		clear(l.known)
	}
	own := *as
	own.rule = &own.rules
	own.text, own.attrs = strings.Clone(as.text), slices.Clone(as.attrs)
	var counts [len(looseKeys)]bool
	for i := range s.Attrs {
		if a := &s.Attrs[i]; !l.loose.is(s, a) {
			if k := l.loose.name(a.Key); k >= 0 {
				counts[k] = true
			}
		}
	}
	for i := range own.attrs {
		a := &own.attrs[i]
		if k := l.loose.name(a.Key); k >= 0 && !counts[k] {
			a.Value = looseValue
		} else {
			a.Value = strings.Clone(a.Value)
		}
	}
	own.kept = true
	l.known[string(l.key)] = &own
	return &own
}

// looseValue stands for a value that does not count. It is no UTF-8, which values are.
const looseValue = "\xff"

// Loose is what ingest.Options.Loose may be.
func Loose() (keys []string) {
	for _, k := range looseKeys {
		keys = append(keys, spelled(k.name)...)
	}
	return keys
}

// looseKeys are attributes that are there or not, and hardly ever count for more,
// while spans that are alike in all else have many values of them.
var looseKeys = [...]struct {
	name string
	// counts reports whether all values count under such signals, and countsOn whether those
	// of a span do; nil: never.
	counts   func(*UserSignals) bool
	countsOn func(*ingest.Span) bool
}{
	{name: "db.query.text"},
	{name: "url.full", countsOn: func(s *ingest.Span) bool { // nothing else names the host
		return s.Attr("server.address") == "" && s.Attr("net.peer.name") == ""
	}},
	{name: "network.peer.address", counts: func(s *UserSignals) bool {
		return slices.ContainsFunc(s.Dependencies, func(p PeerSignal) bool { return p.Address != "*" })
	}},
}

// looseSpellings are the spellings of looseKeys, by length.
var looseSpellings = func() (by [32][]looseSpelling) {
	for i, k := range looseKeys {
		for _, key := range spelled(k.name) {
			by[len(key)] = append(by[len(key)], looseSpelling{key, i})
		}
	}
	return by
}()

// A looseSpelling is a key, and its index in looseKeys.
type looseSpelling struct {
	key string
	of  int
}

// loose tells values of looseKeys that no rule looks at, by how long they are.
type loose [len(looseKeys)]int

// newLoose asks the rules: those that look for a few texts look at no longer ones.
func newLoose(by *tables) (l loose) {
	signs, read := allSigns(by), readKeys(by)
	for i, loose := range looseKeys {
		for _, w := range signs {
			for k := range w.has {
				switch a := &w.has[k]; {
				case a.key != loose.name:
				case a.item != "" || a.min != 0 || a.max != 0 || strings.Contains(a.is, "*"):
					l[i] = math.MaxInt
				default:
					l[i] = max(l[i], len(a.is))
				}
			}
		}
		if slices.Contains(read, loose.name) || loose.counts != nil && loose.counts(by.signals) {
			l[i] = math.MaxInt
		}
	}
	return l
}

// name is which of looseKeys a key is, or was; -1: none.
func (l *loose) name(key string) int {
	if len(key) < len(looseSpellings) {
		for _, s := range looseSpellings[len(key)] {
			if s.key == key {
				return s.of
			}
		}
	}
	return -1
}

// is reports whether the value of an attribute of the span does not count.
func (l *loose) is(s *ingest.Span, a *ingest.Attr) bool {
	i := l.name(a.Key)
	if i < 0 || len(a.Value) <= l[i] {
		return false
	}
	counts := looseKeys[i].countsOn
	return counts == nil || !counts(s)
}

// recorded is the value of a canonical key as the span has it, loose or not.
func (f *facts) recorded(name string) (value string) {
	value = f.get(name)
	if value != looseValue {
		return value
	}
	rank := math.MaxInt
	for i := range f.span.Attrs {
		if a := &f.span.Attrs[i]; a.Value != "" {
			if s := canonical(a.Key); s.name == name && s.rank < rank {
				value, rank = a.Value, s.rank
			}
		}
	}
	return value
}
