package analyze

// maxOperations is how many operations of one callee a caller's calls are told
// apart by. Names that hold ids are made alike before (template); where that does
// not help, the rest is one row.
const maxOperations = 200

// otherOperations is the operation of that row.
const otherOperations = "(other operations)"

// A naming is what calls that look alike were answered by; clash: by several.
type naming struct {
	as    string
	clash bool
}

// callees knows services by how calls to them look from outside, so that a
// call whose callee left no span (refused, cut, not sampled) stands in the row of those
// that were answered. Only what is always the same service counts.
type callees struct {
	service   map[[2]string]naming  // by caller and callee as the call alone names it
	operation map[dependency]naming // by caller, service, and operation as the call alone names it
}

// byAddress are the rules that name a callee by where the call went.
var byAddress = []string{"P3", "P10", "P11"}

func newCallees() callees { return callees{map[[2]string]naming{}, map[dependency]naming{}} }

// meet learns from a call whose callee left a span.
func (n *callees) meet(p *peer) {
	if p.alone[0] == "" {
		return
	}
	learn(n.service, [2]string{p.to.caller, p.alone[0]}, p.to.callee)
	learn(n.operation, dependency{caller: p.to.caller, callee: p.to.callee, operation: p.alone[1]}, p.to.operation)
}

func learn[K comparable](m map[K]naming, key K, as string) {
	have, ok := m[key]
	if !ok {
		m[key] = naming{as: as}
	} else if !have.clash && have.as != as {
		m[key] = naming{have.as, true}
	}
}

// name gives a call without a callee's span the name of the service that answers
// calls like it: rule P2a.
func (n *callees) name(c *call) {
	if !c.nameable {
		return
	}
	as := n.service[[2]string{c.to.caller, c.to.callee}]
	if as.as == "" || as.clash {
		return
	}
	to, by := *c.to, callRules{}
	if c.rules != nil {
		by = *c.rules
	}
	to.callee, by.callee = as.as, "P2a"
	if op := n.operation[dependency{caller: to.caller, callee: to.callee, operation: to.operation}]; op.as != "" && !op.clash {
		to.operation, by.operation = op.as, "P2a"
	}
	c.to, c.rules, c.nameable = &to, &by, false
}

// dependencyOf is the index of a call's dependency, which it names finally. One
// that is new is added: in Views, that of a request that was not picked.
func (a *Analysis) dependencyOf(c *call) int32 {
	a.callees.name(c)
	dep, ok := a.depOf[*c.to]
	if ok {
		return dep
	}
	to := *c.to
	pair := [2]string{to.caller, to.callee}
	if a.operations[pair] >= maxOperations {
		to.operation = otherOperations
		dep, ok = a.depOf[to]
	}
	if !ok && len(a.deps) >= maxRows {
		to = restDependency
		dep, ok = a.depOf[to]
	}
	if !ok {
		dep = int32(len(a.deps))
		a.depOf[to] = dep
		a.deps = append(a.deps, a.newDep(to))
		a.operations[pair]++
	}
	c.to = &a.deps[dep].name
	return dep
}
