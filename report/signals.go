package report

import (
	"io"
	"slices"
	"strings"

	"overrun/analyze"
)

// inferred are the rules that are in no table of package analyze: what tells is
// how siblings lie in time (spec 3.2), or what calls that look alike were answered by.
var inferred = []analyze.SignalRow{
	{ID: "R3", Block: "attempts of one call: inferred from siblings", Source: "nothing marks them: inference",
		When: "the same parent, name and peer as an attempt before it, which failed in a way that clients try again and ended at most 5 s before it; where each has spans of the caller's own around it, those have the same parent and name but for a number",
		Says: "the next attempt of that call"},
	{ID: "H5", Block: "attempts of one call: inferred from siblings", Source: "nothing marks them: inference",
		When: "the same parent, name and peer as another attempt that it overlaps, or another address of the service; one of them was answered, and the other was cancelled as it was",
		Says: "copies of one hedged call"},
	{ID: "P2a", Block: "callee: inferred from calls that look alike", Source: "the callee left no span: inference",
		When: "the same peer name, RPC service or address as calls of this caller that were all answered by one service",
		Says: "that service"},
}

func isInferred(id string) bool {
	return slices.ContainsFunc(inferred, func(r analyze.SignalRow) bool { return r.ID == id })
}

// Rules lists all rules that Options.Explain may name: those of analyze.Signals,
// and those that infer from siblings.
func Rules() []analyze.SignalRow { return slices.Concat(analyze.Signals(), inferred) }

const idColumns = 6 // of the longest id, and the gap

// Signals writes rules for people: a table for each block, nothing cut.
func Signals(w io.Writer, rules []analyze.SignalRow, o Options) error {
	d := new(document)
	var t *table
	for i, r := range rules {
		if i == 0 || r.Block != rules[i-1].Block {
			d.head("Rules", r.Block)
			t = d.table("", column{head: "id", left: true}, column{head: "says", left: true})
		}
		says, details := r.Says, []line{say("when: ", r.When), say("source: ", r.Source)}
		if what, _, ok := strings.Cut(says, ": "); ok && columns(says) > o.width()-idColumns {
			says, details = what, append([]line{say("says: ", r.Says)}, details...)
		}
		t.rows = append(t.rows, row{cells: []cell{{line: say(r.ID)}, {line: say(says)}}, details: details})
	}
	if len(rules) == 0 {
		d.say("no rules")
	}
	out, err := layText(d, o)
	if err != nil {
		return err
	}
	return put(w, out)
}
