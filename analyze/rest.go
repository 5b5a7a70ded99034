package analyze

// maxRows is how many routes, and how many dependencies, are told apart: each takes
// about 7 kB. A dump with more names than that (ids in names of services, say) has
// one more row of each for all the rest.
const maxRows = 20_000

// restOf is the name of what is not told apart any more.
const restOf = "(all others)"

var (
	restRoute      = routeKey{service: restOf, route: restOf}
	restDependency = dependency{caller: restOf, callee: restOf, operation: otherOperations}
)

// tableOf is the table of a request's route, which is added if it is new.
func (a *Analysis) tableOf(r *request) *routeTable {
	key := r.key()
	if len(a.routes) >= maxRows {
		key = restRoute
	}
	t := a.routeOf[key]
	if t == nil {
		t = &routeTable{key: key}
		a.hoard.lodge(t.samples()...)
		a.routeOf[key] = t
		a.routes = append(a.routes, t)
	}
	return t
}
