package analyze

import (
	"cmp"
	"slices"
	"time"
)

// ownWork is what saved_by calls the own work of a late request.
const ownWork = "own work"

// slack says of each call of a request how much longer it could have taken without
// moving the end of the request; nil: nothing waited for it, or the request
// counts nowhere.
func (a *Analysis) slack(r *request) []*time.Duration {
	list := make([]*time.Duration, len(r.calls))
	if r.table == nil {
		return list
	}
	var g record
	a.record(r, &g)
	for i, slack := range g.slack() {
		if slack >= 0 && !g.pieces[i].aside {
			list[g.pieces[i].call] = &slack
		}
	}
	return list
}

// A remedy alone would have saved a late request.
type remedy struct {
	dep int32 // -1: own work
	end time.Duration
}

// remedies lists what alone would have saved a late request, the greatest gain first: a
// dependency, if the request is in time when every call to it takes its p50 at most, and
// all else is as recorded; own work, if it is in time when that takes its route's p50
// at most. Only who has no slack can have an effect.
func (a *Analysis) remedies(r *request) (list []remedy) {
	var g record
	a.record(r, &g)
	tried := map[int32]bool{}
	ends := make([]time.Duration, len(g.pieces))
	for i, slack := range g.slack() {
		dep := g.pieces[i].dep
		typical := a.deps[dep].minimum
		if slack != 0 || typical == nil || g.pieces[i].length <= *typical || tried[dep] {
			continue
		}
		tried[dep] = true
		end := g.endWith(ends, func(p *piece) time.Duration {
			if p.dep == dep {
				return min(p.length, *typical)
			}
			return p.length
		})
		if end <= g.budget {
			list = append(list, remedy{dep, end})
		}
	}
	if own := r.table.own; own != nil && r.time.Own > *own {
		if end := r.duration - (r.time.Own - *own); end <= g.budget {
			list = append(list, remedy{-1, end})
		}
	}
	slices.SortFunc(list, func(x, y remedy) int {
		return cmp.Or(cmp.Compare(x.end, y.end), cmp.Compare(a.remedyName(x), a.remedyName(y)))
	})
	return list
}

func (a *Analysis) remedyName(s remedy) string {
	if s.dep < 0 {
		return ownWork
	}
	name := &a.deps[s.dep].name
	return join(name.callee, name.operation)
}

// endWith is when the request would have ended with other lengths of its calls.
// ends has room for the new end of each.
func (g *record) endWith(ends []time.Duration, length func(*piece) time.Duration) time.Duration {
	reached := prefixMax{g: g, ends: ends}
	for i := range g.pieces {
		ends[i] = reached.latest(i) + g.pieces[i].gap + length(&g.pieces[i])
	}
	return reached.latest(len(g.pieces)) + g.gap
}
