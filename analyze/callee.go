package analyze

import "strings"

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

func (n naming) with(m naming) naming {
	if n == (naming{}) {
		return m
	}
	return naming{n.as, n.clash || m.clash || n.as != m.as}
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

// meet learns from a request's calls whose callee left a span. It keeps no text of
// theirs.
func (n *callees) meet(r *request) {
	for k := range r.calls {
		c := &r.calls[k]
		if c.alone.callee == "" {
			continue
		}
		learn(n.service, [2]string{c.to.caller, c.alone.callee}, c.to.callee, func(k [2]string) [2]string {
			return [2]string{strings.Clone(k[0]), strings.Clone(k[1])}
		})
		learn(n.operation, dependency{caller: c.to.caller, callee: c.to.callee, operation: c.alone.operation}, c.to.operation, func(k dependency) dependency {
			return dependency{caller: strings.Clone(k.caller), callee: strings.Clone(k.callee), operation: strings.Clone(k.operation)}
		})
	}
}

func learn[K comparable](m map[K]naming, key K, as string, clone func(K) K) {
	have, ok := m[key]
	if !ok {
		m[clone(key)] = naming{as: strings.Clone(as)}
	} else if !have.clash && have.as != as {
		m[key] = naming{have.as, true}
	}
}

// merge adds what other has learned.
func (n *callees) merge(other callees) {
	for key, as := range other.service {
		n.service[key] = n.service[key].with(as)
	}
	for key, as := range other.operation {
		n.operation[key] = n.operation[key].with(as)
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
	c.nameable = false
	c.to.callee, c.rules.callee = as.as, "P2a"
	if op := n.operation[dependency{caller: c.to.caller, callee: c.to.callee, operation: c.to.operation}]; op.as != "" && !op.clash {
		c.to.operation, c.rules.operation = op.as, "P2a"
	}
}

// dependencyOf is the index of a call's dependency, which it names finally. One
// that is new is added: in Views, that of a request that was not picked.
func (a *Analysis) dependencyOf(c *call) int32 {
	a.callees.name(c)
	dep, ok := a.depOf[c.to]
	if ok {
		return dep
	}
	pair := [2]string{c.to.caller, c.to.callee}
	if a.operations[pair] >= maxOperations {
		c.to.operation = otherOperations
		if dep, ok = a.depOf[c.to]; ok {
			return dep
		}
	}
	if len(a.deps) >= maxRows {
		c.to = restDependency
		if dep, ok = a.depOf[c.to]; ok {
			return dep
		}
	}
	dep = int32(len(a.deps))
	a.depOf[c.to] = dep
	a.deps = append(a.deps, a.newDep(c.to))
	a.operations[pair]++
	return dep
}
