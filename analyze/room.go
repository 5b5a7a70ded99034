package analyze

import "time"

// A room is the memory that the analysis of one trace leaves to the next: slices
// of a value for each span, unit, request or call. Nobody may look at those of the
// trace before.
type room struct {
	seen                                          []sighting
	known                                         []facts
	nodes                                         []node
	forest                                        forestRoom
	units                                         []unit
	attempts                                      []attempt
	calls                                         []call
	written                                       []*deadline
	sent                                          []time.Duration
	request, unit, attempt, local, under, byStart []int32
	async, orphan, inner                          []bool
	requests                                      [][]request // in pieces, since they are pointed at
	begun                                         int         // requests of the trace at hand
	groups                                        []group
	counts                                        []int
	members                                       [][]int32
	tree                                          []member
	own                                           forestRoom // of the tree of one request
	ownNodes                                      []node
}

// requestPiece is how many requests lie side by side.
const requestPiece = 64

// newRequest is a zero request.
func (r *room) newRequest() *request {
	if r.begun == requestPiece*len(r.requests) {
		r.requests = append(r.requests, make([]request, requestPiece))
	}
	n := &r.requests[r.begun/requestPiece][r.begun%requestPiece]
	r.begun++
	*n = request{}
	return n
}

// again gives n zero values in the memory given, or in more.
func again[T any](memory *[]T, n int) []T {
	if cap(*memory) < n {
		*memory = make([]T, n+n/4)
	}
	s := (*memory)[:n]
	clear(s)
	return s
}
