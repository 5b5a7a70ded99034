package analyze

import (
	"slices"
	"strings"

	"overrun/ingest"
)

// A meeting is whom a call goes to, as its own look and that of its callee's entry tell.
type meeting struct {
	meetingKey
	peer
	rules callRules
	rank  int // of the rules, those of the callee before those of the operation: lower ones tell more

	// Number of the peer among those of some symbols, where no split tells it from others.
	in     *symbols
	number uint32
}

// A meetingKey is what a meeting depends on. Of the callee's entry its look tells the
// name and the route.
type meetingKey struct {
	caller, callee *look  // callee: nil where the trace has no entry of it
	client, server string // services
}

// maxMeetings is how many meetings are remembered.
const maxMeetings = 1 << 13

// meet names the peer of a span that calls for a service; server is the entry of the
// callee, -1 where the trace has none.
func (t *traced) meet(from string, span, server int32) *meeting {
	key := meetingKey{caller: t.looks[span], client: from}
	kept := key.caller.kept && t.Spans[span].Resource.Service == from
	var entry *ingest.Span
	if server >= 0 {
		entry = &t.Spans[server]
		key.callee, key.server = t.looks[server], entry.Resource.Service
		kept = kept && key.callee.kept
	}
	if !kept {
		m, f := t.rec.room.meetings.next(), t.fact(span)
		*m = f.meet(from, entry)
		return m
	}
	last := &key.caller.met
	if *last != nil && (*last).meetingKey == key {
		return *last
	}
	m := t.rec.meetings[key]
	if m == nil {
		if len(t.rec.meetings) >= maxMeetings {
			clear(t.rec.meetings)
		}
		f := t.fact(span)
		own := f.meet(from, entry)
		own.peer = own.peer.clone()
		key.client, key.server = strings.Clone(key.client), strings.Clone(key.server)
		own.meetingKey = key
		m = &own
		t.rec.meetings[key] = m
	}
	*last = m
	return m
}

func (f *facts) meet(from string, server *ingest.Span) (m meeting) {
	m.to, m.rules = peerOf(f, server)
	m.to.caller = from
	m.rank = rankOf(calleeRules, m.rules.callee)*len(operationRules) + rankOf(operationRules, m.rules.operation)
	if m.rules.callee == "P2" {
		alone, _ := peerOf(f, nil)
		m.alone = [2]string{alone.callee, alone.operation}
	}
	m.nameable = slices.Contains(byAddress, m.rules.callee)
	m.protocol = m.rules.speaks(m.to.operation)
	return m
}

// rankOf is the place of a rule among those of its kind; -1: it is the user's, which come first.
func rankOf(rules []peerRule, id string) int {
	return slices.IndexFunc(rules, func(r peerRule) bool { return r.id == id })
}
