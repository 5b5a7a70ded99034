package ingest

import (
	"cmp"
	"slices"
)

// A keyList is the keys of a list of attributes in the order in which they came.
// Spans of one instrumentation nearly always have the same keys in the same
// order, so how they are sorted is found once. Lists are a tree: each goes on
// from the one without its last key.
type keyList struct {
	key    string     // the last
	last   *keyList   // which list with one key more was asked for last
	longer []*keyList // all that were
	order  []int32    // see sorted; nil: not found yet
	loose  uint64     // see packer.looseOf; valid with asked
	asked  bool
}

// keyLists holds up to maxKeyLists lists, of up to maxNext that go on from each. What is
// longer than maxKeys, or has a key of longText, is not held.
type keyLists struct {
	keep  *keeper
	empty keyList
	n     int
}

const (
	maxKeyLists = 1 << 12
	maxNext     = 1 << 4
	maxKeys     = 1 << 6
)

// find returns the list of the keys; nil: it is not held.
func (l *keyLists) find(attrs []heldAttr) *keyList {
	if len(attrs) > maxKeys {
		return nil
	}
	at := &l.empty
	for i := range attrs {
		next := at.last
		if next == nil || next.key != attrs[i].Key {
			if next = l.next(at, attrs[i].Key); next == nil {
				return nil
			}
			at.last = next
		}
		at = next
	}
	if at.order == nil {
		at.order = sorted(attrs)
	}
	return at
}

func (l *keyLists) next(at *keyList, key string) *keyList {
	for _, next := range at.longer {
		if next.key == key {
			return next
		}
	}
	if l.n == maxKeyLists || len(at.longer) == maxNext || len(key) >= longText {
		return nil
	}
	l.n++
	next := &keyList{key: l.keep.own(key)}
	at.longer = append(at.longer, next)
	return next
}

// sorted returns the places of the attributes sorted by key, without those that a
// later one with the same key replaces.
func sorted(attrs []heldAttr) []int32 {
	order := make([]int32, len(attrs))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(attrs[a].Key, attrs[b].Key) })
	return lastOfEach(order, func(at *int32) string { return attrs[*at].Key })
}
