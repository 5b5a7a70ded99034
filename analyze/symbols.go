package analyze

import (
	"strings"
	"sync"
	"sync/atomic"
)

// symbols numbers texts. The first is "".
type symbols struct {
	mu      sync.Mutex
	index   map[string]uint32
	texts   []string
	peerAt  map[peer]uint32
	peers   []peer
	routeAt map[routeKey]uint32
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
	return &symbols{index: map[string]uint32{"": 0}, texts: []string{""}, peerAt: map[peer]uint32{}, routeAt: map[routeKey]uint32{}}
}

// numberOf is the number of a key in a list, and the key as it is kept: own copies a
// new one, whose texts may lie in a block of spans.
func numberOf[K comparable](s *symbols, at map[K]uint32, list *[]K, key K, own func(K) K) (uint32, K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := at[key]
	if !ok {
		key = own(key)
		n = uint32(len(*list))
		at[key] = n
		*list = append(*list, key)
	}
	return n, (*list)[n]
}

func (s *symbols) peer(p peer) (uint32, peer) { return numberOf(s, s.peerAt, &s.peers, p, peer.clone) }

func (s *symbols) route(r routeKey) (uint32, routeKey) {
	return numberOf(s, s.routeAt, &s.routes, r, routeKey.clone)
}

func (s *symbols) number(text string) (uint32, string) {
	return numberOf(s, s.index, &s.texts, text, strings.Clone)
}

func (p peer) clone() peer {
	p.to = dependency{strings.Clone(p.to.caller), strings.Clone(p.to.callee), strings.Clone(p.to.operation), strings.Clone(p.to.split)}
	p.alone = [2]string{strings.Clone(p.alone[0]), strings.Clone(p.alone[1])}
	return p
}

func (r routeKey) clone() routeKey {
	return routeKey{strings.Clone(r.service), strings.Clone(r.route), strings.Clone(r.split)}
}
