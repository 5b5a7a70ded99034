package analyze

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Compare puts two analyses side by side, which were made with the same options. It
// fails if no route is in both, or requests cannot be read back.
//
// Requests of one trace are not independent. Every number of values is therefore that
// of the traces (bunch): as if all that a trace says of a row were one value.
func Compare(before, after *Analysis) (*Comparison, error) {
	b, err := before.ledger()
	if err != nil {
		return nil, err
	}
	a, err := after.ledger()
	if err != nil {
		return nil, err
	}
	if err := disjoint(b, a); err != nil {
		return nil, err
	}
	c := &Comparison{Schema: CompareSchema, SplitBy: after.opts.SplitBy, ErrorRate: ErrorRate, Before: before.Report.Input, After: after.Report.Input,
		Routes: []RouteChange{}, Dependencies: []DependencyChange{}, Acceptance: []Check{}}
	for _, key := range union(b.routes, a.routes, routeKey.compare) {
		x, y := b.routes[key], a.routes[key]
		row := RouteChange{Service: key.service, Route: key.route, Split: after.split(key.split), Seen: seen(x, y), Warnings: []Warning{}}
		x, y = orNew(x), orNew(y)
		if x.blind || y.blind {
			row.Warnings = append(row.Warnings, ConnectInRead)
		}
		row.Differences = x.differences(y)
		row.Warnings = append(row.Warnings, doubts(row.Differences)...)
		c.Routes = append(c.Routes, row)
	}
	for _, name := range union(b.deps, a.deps, dependency.compare) {
		x, y := b.deps[name], a.deps[name]
		row := DependencyChange{Caller: name.caller, Callee: name.callee, Operation: name.operation, Split: after.split(name.split), Seen: seen(x, y), Warnings: []Warning{}}
		x, y = orNewDep(x), orNewDep(y)
		who := callerKey{name.caller, name.split}
		row.Differences = x.differences(y, orNew(b.callers[who]), orNew(a.callers[who]))
		row.Warnings = append(row.Warnings, doubts(row.Differences)...)
		c.Dependencies = append(c.Dependencies, row)
	}
	c.judge()
	c.Acceptance = after.opts.Policy.accept(c)
	return c, nil
}

// disjoint fails where there is nothing to compare.
func disjoint(b, a *ledger) error {
	for key := range b.routes {
		if a.routes[key] != nil {
			return nil
		}
	}
	if len(b.routes)+len(a.routes) == 0 {
		for name := range b.deps {
			if a.deps[name] != nil {
				return nil
			}
		}
		return errors.New("nothing to compare: no request, and no dependency that is in both")
	}
	list := func(t *ledger) string {
		const few = 3
		var names []string
		for _, key := range slices.SortedFunc(maps.Keys(t.routes), routeKey.compare) {
			names = append(names, key.String())
		}
		switch {
		case len(names) == 0:
			return "no route"
		case len(names) > few:
			return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
		}
		return strings.Join(names, ", ")
	}
	return fmt.Errorf("nothing to compare: no route is in both: before are %s, after are %s", list(b), list(a))
}

func (k routeKey) compare(l routeKey) int {
	return cmp.Or(cmp.Compare(k.service, l.service), cmp.Compare(k.route, l.route), cmp.Compare(k.split, l.split))
}

// union lists the keys of two maps in order.
func union[K comparable, V any](a, b map[K]V, compare func(K, K) int) []K {
	return slices.CompactFunc(slices.SortedFunc(func(yield func(K) bool) {
		for _, m := range []map[K]V{a, b} {
			for k := range m {
				if !yield(k) {
					return
				}
			}
		}
	}, compare), func(x, y K) bool { return x == y })
}

func seen[T any](before, after *T) Seen {
	switch {
	case before == nil:
		return SeenAfter
	case after == nil:
		return SeenBefore
	}
	return SeenBoth
}

func orNew[T any](v *T) *T {
	if v == nil {
		return new(T)
	}
	return v
}

func orNewDep(d *depLedger) *depLedger {
	if d == nil {
		return &depLedger{latency: new(Sample)}
	}
	return d
}

// doubts are the warnings about a row that its differences call for.
func doubts(list []Difference) (w []Warning) {
	if slices.ContainsFunc(list, func(d Difference) bool { return d.Verdict == NotKnown }) {
		w = append(w, HidesChange)
	}
	return w
}
