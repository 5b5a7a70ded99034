package ingest

import (
	"bytes"
	"slices"
	"strings"
)

// elasticsearchOldSpan reads a document of the collector's Elasticsearch exporter in its
// mapping modes none, the default for years, and raw. Keys are paths, or objects in each
// other (dedot): Attributes.http.route, Resource.service.name, Scope.name. In mode raw the
// attributes have no prefix, so that what has none here is one. Times are RFC 3339;
// Duration is in microseconds, and of no use beside the end.
//
// An event is Events.<name>.time, beside Events.<name>.<attribute>: of several with one
// name the exporter keeps the last. The links are JSON in a string.
//
// Reference: the collector's exporter/elasticsearchexporter (model.go, objmodel).
func (t *jsonText) elasticsearchOldSpan(o *object) {
	t.alone(o.start, (*jsonText).elasticsearchOldFields)
}

func (t *jsonText) elasticsearchOldFields(r *record) {
	c := clock{}
	var events []leaf
	t.object(func(key []byte) {
		switch string(key) {
		case "@timestamp":
			c.start = t.instant()
		case "EndTimestamp":
			c.end = t.instant()
		case "TraceId":
			t.id(r.trace[:])
		case "SpanId":
			t.id(r.span.ID[:])
		case "ParentSpanId":
			t.parent(r.span.ParentID[:], t.idText())
		case "Name":
			r.span.Name = t.cache.get(t.text())
		case "Kind":
			r.span.Kind = kindOf(t.word())
		case "TraceStatus":
			r.span.Status = statusOf(t.word())
		case "TraceStatusDescription":
			r.span.StatusText = t.cache.get(t.text())
		case "Link":
			t.within(func() { t.list(t.linkOf) })
		case "Scope":
			t.only("name", func() { r.span.Scope = t.cache.get(t.text()) })
		case "Scope.name":
			r.span.Scope = t.cache.get(t.text())
		case "Attributes":
			t.documentAttributes(false)
		case "Resource":
			t.documentAttributes(true)
		case "Duration", "data_stream":
			t.skip()
		default:
			outer, name, _ := bytes.Cut(key, []byte("."))
			switch string(outer) {
			case "Attributes":
				t.documentAttribute(name, false)
			case "Resource":
				t.documentAttribute(name, true)
			case "Events":
				t.leaves(string(name), 0, &events)
			case "Scope", "data_stream":
				t.skip()
			default:
				t.documentAttribute(key, false)
			}
		}
	})
	if t.events != nil {
		t.elasticsearchOldEvents(events)
	}
	start, end := c.times()
	t.finish(r, start, end)
}

// A leaf is a value that is no object, somewhere in objects.
type leaf struct {
	path string // the keys of the objects, with dots between them
	at   int    // index of the value
}

// leaves adds the leaves of the value that comes next, whose path it is given.
func (t *jsonText) leaves(path string, depth int, to *[]leaf) {
	if t.peek() != '{' || depth == maxValueDepth {
		*to = append(*to, leaf{path, t.skipTo()})
		return
	}
	t.object(func(key []byte) {
		t.leaves(strings.TrimPrefix(path+"."+string(key), "."), depth+1, to)
	})
}

func (t *jsonText) elasticsearchOldEvents(leaves []leaf) {
	slices.SortStableFunc(leaves, func(a, b leaf) int { return strings.Compare(a.path, b.path) })
	leaves = lastOfEach(leaves, func(l *leaf) string { return l.path })
	for _, l := range leaves {
		event, isTime := strings.CutSuffix(l.path, ".time")
		name, kept := t.wantEvent([]byte(event))
		ns, ok := int64(0), false
		t.readAt(l.at, func() {
			if isTime && kept && t.peek() == '"' {
				ns, ok = instant(t.text())
			}
		})
		if !ok || t.why != "" {
			continue
		}
		from := len(t.held)
		first, _ := slices.BinarySearchFunc(leaves, event+".", func(l leaf, path string) int { return strings.Compare(l.path, path) })
		for _, a := range leaves[first:] {
			key, some := strings.CutPrefix(a.path, event+".")
			if !some {
				break
			}
			if key != "time" {
				t.readAt(a.at, func() { t.nativeAttribute([]byte(key), false) })
			}
		}
		t.putEvent(name, uint64(max(ns, 0)), from)
	}
}
