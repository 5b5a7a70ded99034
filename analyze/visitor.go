package analyze

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"overrun/ingest"
)

// A visitor goes over the stored requests of some services that count, in an order that
// depends on the data alone. It is for one goroutine.
//
// Visitors share the services among them. A dependency is of the service that calls it, and
// a route of the one that serves it, so that nobody else adds to their tables; and whatever
// the number of visitors, the same is added to each in the same order. So it is where a visitor
// takes the requests of a block one service after the other, whose tables are then at hand.
type visitor struct {
	*Analysis
	mine    []int32   // by number of symbols.routes: which of its services serves it, from 0; -1: of another visitor; nil: all are taken as they are stored
	heads   []heading // of the traces of the block at hand, without notes
	spots   []spot    // of the requests in it that are to be visited, as they are stored
	order   []uint64  // in which they are visited: number of the service, index in spots
	reader  *requestReader
	over    bool // nothing is left to be visited for
	chain   chain
	arrival arrival
	gaps    gapLog
	summary *summary
}

// A spot is where a request lies in the block at hand.
type spot struct {
	head int32 // of its trace, among visitor.heads
	at   int   // offset
	nth  int   // among all requests, from 1
}

func (a *Analysis) newVisitor() *visitor {
	v := &visitor{Analysis: a, reader: newRequestReader(a.symbols), summary: newSummary(a), gaps: gapLog{spool: a.spooler.NewSpool()}}
	a.hoard.lodge(&v.arrival.took)
	return v
}

// visit gives every request of the visitor that is picked to do. It, and all that it points
// to but strings, is valid during the visit only: copy what is to stay.
func (v *visitor) visit(do func(h *heading, r *request)) error {
	nth := 0
	for _, s := range v.stored {
		err := s.Blocks(func(b []byte) error {
			nth = v.lineUp(b, nth)
			v.serve(do)
			if v.over {
				return errOver
			}
			return nil
		})
		if err != nil && !errors.Is(err, errOver) {
			return err
		}
		if v.over {
			break
		}
	}
	return nil
}

// lineUp puts the requests of a block in order before which there are nth, and returns how
// many there are after it.
func (v *visitor) lineUp(b []byte, nth int) int {
	d := v.reader
	v.heads, v.spots, v.order = v.heads[:0], v.spots[:0], v.order[:0]
	for d.open(b); d.at < len(b); {
		d.at += sizeBytes
		h := d.heading()
		h.notes = nil
		v.heads = append(v.heads, h)
		for range h.requests {
			nth++
			at, end, route := d.ahead()
			d.at = end
			service := int32(0)
			if v.mine != nil {
				service = v.mine[route]
			}
			if service >= 0 {
				v.order = append(v.order, pairKey(service, int32(len(v.spots))))
				v.spots = append(v.spots, spot{head: int32(len(v.heads) - 1), at: at, nth: nth})
			}
		}
	}
	slices.Sort(v.order)
	return nth
}

// serve gives the requests that are lined up to do.
func (v *visitor) serve(do func(h *heading, r *request)) {
	d, picked := v.reader, v.opts.Pick == Pick{}
	for _, key := range v.order {
		s := &v.spots[uint32(key)]
		h := &v.heads[s.head]
		d.at = s.at
		r := d.next(h.id)
		if r.nth = s.nth; picked || v.opts.Pick.picks(r) {
			if do(h, r); v.over {
				return
			}
		}
	}
}

var errOver = errors.New("nothing is left to be visited for")

// each gives every picked request, ready, to do: see visitor.visit. Where requests cannot be
// read back, a.err says why.
func (a *Analysis) each(do func(r *request)) {
	a.pass([]*visitor{a.newVisitor()}, func(_ *visitor, r *request) { do(r) })
}

// pass gives every picked request, ready, to the visitor of its service.
func (a *Analysis) pass(visitors []*visitor, do func(v *visitor, r *request)) {
	errs := make([]error, len(visitors))
	run := func(i int) {
		v := visitors[i]
		errs[i] = v.visit(func(h *heading, r *request) {
			v.ready(r, h)
			do(v, r)
		})
	}
	var others sync.WaitGroup
	for i := range visitors[1:] {
		others.Go(func() { run(1 + i) })
	}
	run(0)
	others.Wait()
	a.err = cmp.Or(a.err, cmp.Or(errs...))
}

// outline gives the headings of the stored traces to look, and returns how many bytes the
// requests of each of symbols.routes take.
func (a *Analysis) outline(look func(h *heading)) (sizes []int64) {
	d := newRequestReader(a.symbols)
	var h heading
	sizes = make([]int64, len(a.symbols.routes))
	a.err = cmp.Or(a.err, a.traces(func(b []byte) error {
		d.open(b[sizeBytes:])
		h = d.heading()
		look(&h)
		for range h.requests {
			at, end, route := d.ahead()
			sizes[route] += int64(end - at)
			d.at = end
		}
		return nil
	}))
	return sizes
}

// meet gives every peer its dependency and every route its table, in the order in which
// requests that count are stored, which numbers, and what is told apart, depend on. It ends
// when all are known.
func (a *Analysis) meet() {
	a.byPeer = slices.Repeat([]int32{-1}, len(a.symbols.peers))
	a.byRoute = make([]*routeTable, len(a.symbols.routes))
	left := len(a.byPeer) + len(a.byRoute)
	v := a.newVisitor()
	v.over = left == 0
	err := v.visit(func(h *heading, r *request) {
		r.tear(h)
		for k := range r.calls {
			if dep := &a.byPeer[r.calls[k].peer]; *dep < 0 {
				*dep = a.dependencyOf(&r.calls[k])
				left--
			}
		}
		if a.byRoute[r.number] == nil && !r.loose() && !r.broken {
			a.byRoute[r.number] = a.tableOf(r)
			left--
		}
		v.over = left == 0
	})
	a.err = cmp.Or(a.err, err)
}

// visitors parts the services among visitors, each of which has about the same number of
// bytes to read.
func (a *Analysis) visitors(sizes []int64) []*visitor {
	list := []*visitor{a.newVisitor()}
	_, rest := a.depOf[restDependency]
	if a.symbols.mixed.Load() || rest || a.routeOf[restRoute] != nil {
		return list // what is one row for all the rest is of all services
	}
	type share struct {
		routes []int // numbers
		bytes  int64
	}
	var shares []*share
	byService := map[string]*share{}
	for n, bytes := range sizes {
		service := a.symbols.routes[n].service
		s := byService[service]
		if s == nil {
			s = new(share)
			byService[service] = s
			shares = append(shares, s)
		}
		s.routes = append(s.routes, n)
		s.bytes += bytes
	}
	slices.SortStableFunc(shares, func(s, t *share) int { return cmp.Compare(t.bytes, s.bytes) })
	for range min(a.workers(), len(shares)) - len(list) {
		list = append(list, a.newVisitor())
	}
	load, services := make([]int64, len(list)), make([]int32, len(list))
	for _, v := range list {
		v.mine = slices.Repeat([]int32{-1}, len(sizes))
	}
	for _, s := range shares { // the largest first, to whom has least
		i := slices.Index(load, slices.Min(load))
		load[i] += s.bytes
		for _, n := range s.routes {
			list[i].mine[n] = services[i]
		}
		services[i]++
	}
	return list
}

// ready makes a stored request one that can be visited.
func (a *Analysis) ready(r *request, h *heading) {
	r.tear(h)
	r.cutAtDeadline()
	for k := range r.work {
		if r.work[k].to != (dependency{}) {
			r.work[k].to.split = r.split
		}
	}
	for k := range r.calls {
		c := &r.calls[k]
		c.dep = a.byPeer[c.peer]
		c.to = &a.deps[c.dep].name
	}
	if r.loose() || r.broken {
		return
	}
	if r.table = a.byRoute[r.number]; r.table.key == restRoute {
		r.service, r.route, r.split = restOf, restOf, ""
	}
}

// tear makes a fragment of a request of a trace that came in pieces which were torn apart
// within requests: none of them is known to be whole.
func (r *request) tear(h *heading) {
	if h.apart && h.torn && r.role != guest {
		r.role, r.deadline, r.timedOut, r.lost = fragment, nil, false, false
		r.work = nil
	}
}

// spread does n things, which do not depend on each other, with all workers.
func (a *Analysis) spread(n int, do func(i int)) {
	if a.workers() == 1 {
		for i := range n {
			do(i)
		}
		return
	}
	_ = ingest.Each(context.Background(), a.workers(), n, func(_, i int) error { // nothing can fail
		do(i)
		return nil
	})
}
