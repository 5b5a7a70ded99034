package ingest

import "strings"

// serviceKey is the one resource attribute that is read whatever Options.Keep
// says.
const serviceKey = "service.name"

// A keeper answers whether an attribute, or an event, is kept.
type keeper struct {
	names    []string
	index    map[string]int // of a name in names
	prefixes [256][]string  // by first byte
	all      bool           // "*" is asked for
}

func newKeeper(keep []string) *keeper {
	k := &keeper{index: make(map[string]int, len(keep))}
	for _, key := range keep {
		prefix, isPrefix := strings.CutSuffix(key, "*")
		switch {
		case isPrefix && prefix == "":
			k.all = true
		case isPrefix:
			k.prefixes[prefix[0]] = append(k.prefixes[prefix[0]], prefix)
		case key != "":
			k.index[key] = len(k.names)
			k.names = append(k.names, key)
		}
	}
	return k
}

// find returns the index of a key in k.names, -1 if it is not there.
func (k *keeper) find(key []byte) int {
	if i, ok := k.index[string(key)]; ok {
		return i
	}
	return -1
}

// findLower reports whether the key has capitals, and is in k.names without them.
func (k *keeper) findLower(key []byte) bool {
	var room [longHead]byte
	if len(key) > len(room) {
		return false
	}
	capitals := false
	for i, c := range key {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
			capitals = true
		}
		room[i] = c
	}
	return capitals && k.find(room[:len(key)]) >= 0
}

// match returns the key as a string if it is kept. Only keys kept by prefix, or
// in spite of capitals, cost an allocation, and those go through the cache.
func (k *keeper) match(key []byte, cache *texts) (string, bool) {
	if i := k.find(key); i >= 0 {
		return k.names[i], true
	}
	if k.all || k.findLower(key) {
		return cache.get(key), true
	}
	if len(key) == 0 {
		return "", false
	}
	for _, prefix := range k.prefixes[key[0]] {
		if len(key) >= len(prefix) && string(key[:len(prefix)]) == prefix {
			return cache.get(key), true
		}
	}
	return "", false
}

// own is a string that is equal to the key and may be kept: of a name that was asked for the
// one that match gives, which is quick to compare with.
func (k *keeper) own(key string) string {
	if i := k.find([]byte(key)); i >= 0 {
		return k.names[i]
	}
	return strings.Clone(key)
}
