package analyze

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"overrun/ingest"
)

// A node is what the walk sees of a span, or of a call: an interval under a
// parent.
type node struct {
	id         ingest.SpanID
	parent     int32 // index of the parent node; -1: none
	kind       ingest.Kind
	state      state
	follows    bool // FOLLOWS_FROM: the source says that the parent did not wait
	unfinished bool // no end
	start, end time.Duration
	grain      time.Duration // of its clock, see grains
}

// eps is the time within which the ends of n and of its children count as
// one: max(min(1 % of the duration, 1 ms), grain).
func (n *node) eps() time.Duration {
	return max(min((n.end-n.start)/100, time.Millisecond), n.grain)
}

// A bond says whether a parent waits for a child, and why not.
type bond uint8

const (
	noParent    bond = iota
	waits            // inside, or cut to its parent
	waitsClip        // ends within eps after its parent: cut to it
	waitsLeft        // the parent timed out, was cancelled or failed; the child ran on: cut to it, abandoned
	leftFailing      // the parent failed fast with another child: no wait, abandoned all the same
	messagingTo      // PRODUCER -> CONSUMER
	followsBond      // FOLLOWS_FROM
	before           // ended before its parent began
	after            // began after its parent had ended
	overran          // ended after its parent, which was fine with that
	neverEnded       // unfinished under a parent that did not fail
)

// waited reports whether the parent waits for the child.
func (b bond) waited() bool { return b == waits || b == waitsClip || b == waitsLeft }

// async reports whether the parent is known not to care when the child ends.
// Nothing is inherited over such a bond.
func (b bond) async() bool {
	return b == messagingTo || b == followsBond || b == before || b == after || b == overran
}

// A forest is the nodes of a trace, or of a request, with their children and
// bonds. Nodes are sorted by start among siblings.
type forest struct {
	nodes []node
	bonds []bond
	loser []bool // cancelled because a sibling answered, or failed, first
	from  []int32
	kids  []int32 // kids[from[i]:from[i+1]] are the children of i, in the order of nodes
	*forestRoom
}

// A forestRoom is the memory of one forest, which the next may have.
type forestRoom struct {
	forest    forest
	bondRoom  []bond
	loserRoom []bool
	fromRoom  []int32
	kidsRoom  []int32
	path      []segment
	stack     []frame
	spare     [][]span        // of frames
	ends      []time.Duration // see markInFlight
	ended     []bool
}

// newForest links the nodes and decides all bonds.
func newForest(nodes []node, room *forestRoom) *forest {
	f := &room.forest
	*f = forest{nodes: nodes, bonds: again(&room.bondRoom, len(nodes)), loser: again(&room.loserRoom, len(nodes)),
		from: again(&room.fromRoom, len(nodes)+2), kids: again(&room.kidsRoom, len(nodes)), forestRoom: room}
	for i := range nodes {
		if p := nodes[i].parent; p >= 0 {
			f.from[p+2]++
		}
	}
	for i := 2; i < len(f.from); i++ {
		f.from[i] += f.from[i-1]
	}
	for i := range nodes {
		if p := nodes[i].parent; p >= 0 {
			f.kids[f.from[p+1]] = int32(i)
			f.from[p+1]++
		}
	}
	f.from = f.from[:len(nodes)+1]
	for i := range nodes {
		if kids := f.children(int32(i)); len(kids) > 0 {
			f.race(&nodes[i], kids)
			f.bind(&nodes[i], kids)
		}
	}
	return f
}

func (f *forest) children(i int32) []int32 { return f.kids[f.from[i]:f.from[i+1]] }

// bind decides for each child whether its parent waits for it:
//
//	parent         [=========]
//	waits            [====]            cut to the parent where it sticks out by eps or less
//	before     [==]
//	after                      [==]
//	overran            [=========]     waitsLeft if the parent stopped waiting
func (f *forest) bind(p *node, kids []int32) {
	var lastBroken, looked bool // the last child to end inside p failed, shortly before p's end
	eps := p.eps()
	for _, k := range kids {
		c := &f.nodes[k]
		switch {
		case p.kind == ingest.Producer && c.kind == ingest.Consumer:
			f.bonds[k] = messagingTo
		case c.follows:
			f.bonds[k] = followsBond
		case p.unfinished: // its end is not known, so neither is a reason not to wait
			f.bonds[k] = waits
		case c.start >= p.end:
			f.bonds[k] = after
		case c.unfinished && p.state == healthy:
			f.bonds[k] = neverEnded
		case c.unfinished:
			f.bonds[k] = waits
		case c.end <= p.start:
			f.bonds[k] = before
		case c.end <= p.end:
			f.bonds[k] = waits
		case c.end <= p.end+eps:
			f.bonds[k] = waitsClip
		case p.state == timedOut || p.state == cancelled:
			f.bonds[k] = waitsLeft
		case p.state == failed:
			if !looked {
				lastBroken, looked = f.failedFast(p, kids), true
			}
			f.bonds[k] = waitsLeft
			if lastBroken {
				f.bonds[k] = leftFailing
			}
		default:
			f.bonds[k] = overran
		}
	}
}

// failedFast reports whether the last child to end inside p failed, at most
// max(5 ms, 5 %) before the end of p. Losers do not count: one failure cancels
// the rest, which end a moment later.
func (f *forest) failedFast(p *node, kids []int32) bool {
	last := int32(-1)
	for _, k := range kids {
		c := &f.nodes[k]
		if c.unfinished || f.loser[k] || c.end > p.end || c.end <= p.start {
			continue
		}
		if last < 0 || f.before(span{k, c.start, c.end}, span{last, f.nodes[last].start, f.nodes[last].end}) < 0 {
			last = k
		}
	}
	return last >= 0 && f.nodes[last].state.broken() &&
		p.end-f.nodes[last].end <= max(5*time.Millisecond, (p.end-p.start)/20)
}

// race finds the losers among the children of p: a cancelled child c, with a
// sibling w that was not cancelled and
//
//	c.start < w.end <= c.end <= w.end + min(max(2 % of p, 1 ms), 5 ms)
//
// where w is healthy and p neither timed out nor was cancelled (a race was
// won), or w and p failed (one failure cancels the rest).
func (f *forest) race(p *node, kids []int32) {
	if !slices.ContainsFunc(kids, func(k int32) bool { return f.nodes[k].state == cancelled }) {
		return
	}
	var ends []time.Duration // of siblings that can have won
	for _, k := range kids {
		w := &f.nodes[k]
		won := w.state == healthy && (p.state == healthy || p.state == failed) || w.state.broken() && p.state == failed
		if won && !w.unfinished {
			ends = append(ends, w.end)
		}
	}
	slices.Sort(ends)
	within := min(max((p.end-p.start)/50, time.Millisecond), 5*time.Millisecond)
	for _, k := range kids {
		c := &f.nodes[k]
		if c.state != cancelled || c.unfinished {
			continue
		}
		i := sort.Search(len(ends), func(i int) bool { return ends[i] > c.end }) - 1 // the last end <= c.end
		f.loser[k] = i >= 0 && ends[i] > c.start && c.end-ends[i] <= within
	}
}

// A span is a child cut to the window of a visit.
type span struct {
	node       int32
	start, end time.Duration
}

// before orders children by end descending, start ascending, healthy first, id,
// and index.
func (f *forest) before(a, b span) int {
	if a.end != b.end {
		return cmp.Compare(b.end, a.end)
	}
	if a.start != b.start {
		return cmp.Compare(a.start, b.start)
	}
	x, y := &f.nodes[a.node], &f.nodes[b.node]
	return cmp.Or(cmp.Compare(min(x.state, 1), min(y.state, 1)), bytes.Compare(x.id[:], y.id[:]), cmp.Compare(a.node, b.node))
}

// A segment is a stretch of a critical path, spent in one node.
type segment struct {
	node       int32
	start, end time.Duration
}

// A frame is a visit of a node that is under way: the node's path from lo up
// to t is still to be found.
type frame struct {
	node  int32
	lo, t time.Duration
	kids  []span // that block, cut to the window of the visit, sorted by before
	next  int    // kids[next:] end at or before t, once entered are taken off
	// entered holds kids that end after t, the one that ends first on top. A
	// child whose middle is at or after t can never be near again, since t only
	// falls: it is dropped when it is met.
	entered []span
}

// walk is the critical path of the tree under root: the backward walk from its
// end along the child that ended last. The segments are in order and tile
// [start, end) of the root, and hold until the next call. visited is called for
// each node on the way, if not nil.
//
// The walk is iterative, and linear-log in the number of children: what a
// visit has passed it never looks at again.
func (f *forest) walk(root int32, visited func(node int32)) []segment {
	back := f.path[:0] // from the end
	emit := func(n int32, start, end time.Duration) {
		if start < end {
			back = append(back, segment{node: n, start: start, end: end})
		}
	}
	stack := append(f.stack[:0], f.visit(root, f.nodes[root].start, f.nodes[root].end))
	if visited != nil {
		visited(root)
	}
	for len(stack) > 0 {
		at := &stack[len(stack)-1]
		pick, ok := f.pick(at)
		if !ok {
			emit(at.node, at.lo, at.t)
			f.spare = append(f.spare, at.kids[:0], at.entered[:0])
			stack = stack[:len(stack)-1]
			continue
		}
		end := min(pick.end, at.t)
		emit(at.node, end, at.t)
		at.t = pick.start
		if visited != nil {
			visited(pick.node)
		}
		if len(f.children(pick.node)) == 0 {
			emit(pick.node, pick.start, end)
			continue
		}
		stack = append(stack, f.visit(pick.node, pick.start, end))
	}
	f.path, f.stack = back, stack
	slices.Reverse(back)
	return back
}

// visit opens the frame of a node in the window [lo, hi].
func (f *forest) visit(n int32, lo, hi time.Duration) frame {
	kids := f.children(n)
	at := frame{node: n, lo: lo, t: hi}
	if last := len(f.spare) - 2; last >= 0 {
		at.kids, at.entered, f.spare = f.spare[last], f.spare[last+1], f.spare[:last]
	}
	for _, k := range kids {
		if c := &f.nodes[k]; f.bonds[k].waited() && !f.loser[k] {
			end := c.end
			if c.unfinished {
				end = f.nodes[n].end
			}
			if s := (span{k, max(c.start, lo), min(end, hi)}); s.start < s.end {
				at.kids = append(at.kids, s)
			}
		}
	}
	slices.SortFunc(at.kids, f.before)
	return at
}

// pick finds the child that explains why the node of the frame was where it
// was at t: the last to end at or before t, or one that ends within eps after t
// and lies mostly before it, if that is nearer.
func (f *forest) pick(at *frame) (span, bool) {
	eps := f.nodes[at.node].eps()
	for at.next < len(at.kids) && at.kids[at.next].end > at.t {
		// Of several that end at once the first in order has to come up first.
		group := at.next + 1
		for group < len(at.kids) && at.kids[group].end == at.kids[at.next].end {
			group++
		}
		for i := group - 1; i >= at.next; i-- {
			at.entered = append(at.entered, at.kids[i])
		}
		at.next = group
	}
	var near span
	isNear := false
	for len(at.entered) > 0 {
		top := at.entered[len(at.entered)-1]
		// 2 (end - t) <= end - start, written so that it cannot overflow.
		if top.end-at.t <= at.t-top.start {
			near, isNear = top, top.end <= at.t+eps
			break
		}
		at.entered = at.entered[:len(at.entered)-1]
	}
	if at.next < len(at.kids) {
		if pick := at.kids[at.next]; !isNear || pick.end >= at.t-eps {
			at.next++
			return pick, true
		}
	}
	if isNear {
		at.entered = at.entered[:len(at.entered)-1]
	}
	return near, isNear
}

// markInFlight marks the stretches of a path during which a child of their span ran: it was
// not waited for.
func (f *forest) markInFlight(path []stretch) {
	ends, ended := again(&f.ends, len(f.kids)), again(&f.ended, len(f.nodes)) // by child: the latest end up to it; by node: known
	for i := range path {
		s := &path[i]
		kids, ends := f.children(s.node), ends[f.from[s.node]:f.from[s.node+1]]
		if len(kids) == 0 {
			continue
		}
		if !ended[s.node] {
			ended[s.node] = true
			latest := time.Duration(math.MinInt64)
			for k, kid := range kids {
				if c := &f.nodes[kid]; c.end > c.start { // no length, or none that is known: not seen to run
					latest = max(latest, c.end)
				}
				ends[k] = latest
			}
		}
		begun := sort.Search(len(kids), func(k int) bool { return f.nodes[kids[k]].start >= s.end })
		s.inFlight = begun > 0 && ends[begun-1] > s.start
	}
}

// A pathNote is a doubt or a repair that the walk met at a node. amount is
// negative where the code measures nothing.
type pathNote struct {
	code   ingest.Code
	node   int32
	amount time.Duration
}

// notes lists what is noteworthy about the children of a node.
func (f *forest) notes(n int32) (list []pathNote) {
	p := &f.nodes[n]
	for _, k := range f.children(n) {
		c := &f.nodes[k]
		switch f.bonds[k] {
		case messagingTo:
			list = append(list, pathNote{AsyncMessaging, k, -1})
		case followsBond:
			list = append(list, pathNote{FollowsFrom, k, -1})
		case before:
			list = append(list, pathNote{DetachedBefore, k, -1})
		case after:
			list = append(list, pathNote{DetachedAfter, k, -1})
		case overran:
			list = append(list, pathNote{OverrunAsync, k, c.end - p.end})
		case waitsLeft, leftFailing:
			list = append(list, pathNote{Abandoned, k, c.end - p.end})
		case waitsClip:
			list = append(list, pathNote{OverrunClipped, k, c.end - p.end})
		}
		if f.bonds[k].waited() && c.start < p.start {
			list = append(list, pathNote{EarlyClipped, k, p.start - c.start})
		}
		if f.loser[k] {
			list = append(list, pathNote{CancelledLoser, k, -1})
		}
	}
	return list
}
