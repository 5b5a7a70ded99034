package ingest

import "strings"

// serviceKey is the one resource attribute that is read whatever Options.Keep
// says.
const serviceKey = "service.name"

// A keeper answers whether an attribute is kept. Nearly every attribute of a
// dump is asked about and most are not kept, so the answer costs one table
// look-up by length, first and last byte.
type keeper struct {
	exact    [256][]string
	prefixes [256][]string // by first byte
	all      bool          // "*" is asked for
}

func newKeeper(keep []string) *keeper {
	k := new(keeper)
	for _, key := range keep {
		prefix, isPrefix := strings.CutSuffix(key, "*")
		switch {
		case isPrefix && prefix == "":
			k.all = true
		case isPrefix:
			k.prefixes[prefix[0]] = append(k.prefixes[prefix[0]], prefix)
		case key != "":
			at := slot(key)
			k.exact[at] = append(k.exact[at], key)
		}
	}
	return k
}

func slot[T string | []byte](key T) uint8 {
	n := len(key)
	return uint8(n) ^ key[0]<<3 ^ key[n-1]<<1 ^ key[n/2]
}

// match returns the key as a string if it is kept. Only keys kept by prefix
// cost an allocation, and those go through the cache.
func (k *keeper) match(key []byte, cache *texts) (string, bool) {
	if len(key) == 0 {
		return "", k.all
	}
	for _, want := range k.exact[slot(key)] {
		if string(key) == want {
			return want, true
		}
	}
	if k.all {
		return cache.get(key), true
	}
	for _, prefix := range k.prefixes[key[0]] {
		if len(key) >= len(prefix) && string(key[:len(prefix)]) == prefix {
			return cache.get(key), true
		}
	}
	return "", false
}
