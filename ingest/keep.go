package ingest

import (
	"strings"
	"unicode"
)

// serviceKey is the one resource attribute that is read whatever Options.Keep
// says.
const serviceKey = "service.name"

// A keeper answers whether an attribute, or an event, is kept.
type keeper struct {
	names    []string
	index    map[string]int // of a name in names
	prefixes [256][]string  // by first byte
	all      bool           // "*" is asked for

	columns        map[string]int // of a name as columnName has it, in names; the first of several
	columnPrefixes []string       // prefixes as columnName has them
	columnOf       []string       // the prefixes they stand for
}

func newKeeper(keep []string) *keeper {
	k := &keeper{index: make(map[string]int, len(keep)), columns: make(map[string]int, len(keep))}
	for _, key := range keep {
		prefix, isPrefix := strings.CutSuffix(key, "*")
		switch {
		case isPrefix && prefix == "":
			k.all = true
		case isPrefix:
			k.prefixes[prefix[0]] = append(k.prefixes[prefix[0]], prefix)
			k.columnPrefixes, k.columnOf = append(k.columnPrefixes, columnName(prefix)), append(k.columnOf, prefix)
		case key != "":
			column := columnName(key)
			if _, ok := k.columns[column]; !ok {
				k.columns[column] = len(k.names)
			}
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

// matchColumn is match for a column that was named after a key by columnName. Which key that
// was is known of those that are asked for; any other keeps the name of the column.
func (k *keeper) matchColumn(column []byte, cache *texts) (string, bool) {
	if i, ok := k.columns[string(column)]; ok {
		return k.names[i], true
	}
	for i, prefix := range k.columnPrefixes {
		if rest, ok := strings.CutPrefix(string(column), prefix); ok {
			return cache.get([]byte(k.columnOf[i] + rest)), true
		}
	}
	if k.all {
		return cache.get(column), true
	}
	return "", false
}

// columnName is what stores make of a key that give each attribute a column: letters in
// lower case, and _ for what is no letter, digit or _.
func columnName(key string) string {
	return strings.Map(func(c rune) rune {
		c = unicode.ToLower(c)
		if unicode.IsLetter(c) || unicode.IsNumber(c) {
			return c
		}
		return '_'
	}, key)
}

// own is a string that is equal to the key and may be kept: of a name that was asked for the
// one that match gives, which is quick to compare with.
func (k *keeper) own(key string) string {
	if i := k.find([]byte(key)); i >= 0 {
		return k.names[i]
	}
	return strings.Clone(key)
}
