package analyze

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
)

// symbols numbers texts. The first is "".
type symbols struct {
	mu      sync.Mutex
	textAt  lookup[string]
	texts   []string
	peerAt  lookup[peer]
	peers   []peer
	routeAt lookup[routeKey]
	routes  []routeKey

	mixed atomic.Bool // a request makes a call of another service
}

// A peer is whom a call goes to, as its trace alone tells.
type peer struct {
	to       dependency
	alone    [2]string // callee and operation as the call alone names them, where its callee left a span; else ""
	nameable bool
	protocol protocol
}

func newSymbols() *symbols {
	s := new(symbols)
	s.number("")
	return s
}

// A lookup finds keys in the list that numbers them. Beside the list it takes 5 to 11 bytes
// a key, where a map takes the key again: names may be millions. The zero value is empty.
type lookup[K comparable] struct {
	seed  maphash.Seed
	slots []uint32 // 2^k of them, a quarter of them free at the least: number + 1, or 0
}

// slot is where a key of the list lies, or would. There are slots.
func (l *lookup[K]) slot(list []K, key K) *uint32 {
	for at := maphash.Comparable(l.seed, key); ; at++ {
		s := &l.slots[at&uint64(len(l.slots)-1)]
		if *s == 0 || list[*s-1] == key {
			return s
		}
	}
}

// room makes room for one more key of the list.
func (l *lookup[K]) room(list []K) {
	if 4*len(list) < 3*len(l.slots) {
		return
	}
	if l.slots == nil {
		l.seed = maphash.MakeSeed()
	}
	l.slots = make([]uint32, max(8, 2*len(l.slots)))
	for n, key := range list {
		*l.slot(list, key) = uint32(n) + 1
	}
}

// numberOf is the number of a key in a list, and the key as it is kept: own copies a
// new one, whose texts may lie in a block of spans.
func numberOf[K comparable](s *symbols, at *lookup[K], list *[]K, key K, own func(K) K) (uint32, K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at.room(*list)
	n := at.slot(*list, key)
	if *n == 0 {
		*list = append(*list, own(key))
		*n = uint32(len(*list))
	}
	return *n - 1, (*list)[*n-1]
}

func (s *symbols) peer(p peer) (uint32, peer) { return numberOf(s, &s.peerAt, &s.peers, p, peer.clone) }

func (s *symbols) route(r routeKey) (uint32, routeKey) {
	return numberOf(s, &s.routeAt, &s.routes, r, routeKey.clone)
}

func (s *symbols) number(text string) (uint32, string) {
	return numberOf(s, &s.textAt, &s.texts, text, strings.Clone)
}

func (p peer) clone() peer {
	p.to = dependency{strings.Clone(p.to.caller), strings.Clone(p.to.callee), strings.Clone(p.to.operation), strings.Clone(p.to.split)}
	p.alone = [2]string{strings.Clone(p.alone[0]), strings.Clone(p.alone[1])}
	return p
}

func (r routeKey) clone() routeKey {
	return routeKey{strings.Clone(r.service), strings.Clone(r.route), strings.Clone(r.split)}
}
