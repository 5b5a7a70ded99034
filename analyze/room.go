package analyze

import "time"

// A room is the memory that the analysis of one trace leaves to the next: slices
// of a value for each span, unit, request or call. Nobody may look at those of the
// trace before.
type room struct {
	emitters                                      []*emitter
	clock, from, kids, order                      []int32
	seen                                          []sighting
	look                                          []*look
	looks                                         pieces[look] // of the trace at hand
	nodes                                         []node
	forest                                        forestRoom
	leftAt, doubt                                 []time.Duration
	leftBy                                        []int32
	units                                         []unit
	attempts                                      []attempt
	calls                                         []call
	written                                       []*deadline
	sent                                          []time.Duration
	request, unit, attempt, local, under, byStart []int32
	held, outermost                               []int32
	async, orphan, inner, restless, around        []bool
	legs                                          []leg
	requests                                      pieces[request]
	meetings                                      pieces[meeting]
	groups                                        []group
	counts                                        []int
	members                                       [][]int32
	tree                                          []member
	own                                           forestRoom // of the tree of one request
	ownNodes                                      []node
}

// pieces holds values that are pointed at.
type pieces[T any] struct {
	list [][]T
	used int
}

// pieceSize is how many values lie side by side.
const pieceSize = 64

// next is a value that nobody points at any more.
func (p *pieces[T]) next() *T {
	if p.used == pieceSize*len(p.list) {
		p.list = append(p.list, make([]T, pieceSize))
	}
	v := &p.list[p.used/pieceSize][p.used%pieceSize]
	p.used++
	return v
}

// reset gives up all values.
func (p *pieces[T]) reset() { p.used = 0 }

// again gives n zero values in the memory given, or in more.
func again[T any](memory *[]T, n int) []T {
	if cap(*memory) < n {
		*memory = make([]T, n+n/4)
	}
	s := (*memory)[:n]
	clear(s)
	return s
}
