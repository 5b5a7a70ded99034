package ingest

import "bytes"

// Kibana, exporters of Elasticsearch and shippers flatten a document: the keys are
// paths, and what was a list of objects is a list for each field of them.
//
//	{"traceID":"…","process.serviceName":"web","process.tag.hostname":"node-1","tag.span@kind":"server",
//	 "references.refType":["CHILD_OF"],"references.spanID":["…"],"tags.key":["error"],"tags.value":["true"]}
//
// In an answer to a search for fields, which Kibana shows as the JSON of a document,
// every value is in a list besides (jsonScanner.single).
//
// Logs have lists in their lists: flattened, those of more than one log no longer say
// which field was whose, and are left out, with a note.

// jaegerFlat is what is remembered of a document that is flattened.
type jaegerFlat struct {
	process     bool    // whether that is
	refs        columns // lists of spans, traces and types of references
	tags        columns // lists of keys and values
	processTags columns
	logs        columns // lists of keys and values of fields, and of times
}

// jaegerPath reads the member of a span whose key is a path, or skips it.
func (t *jsonText) jaegerPath(span *Span, path []byte) {
	flat := &t.jaeger.flat
	outer, name, _ := bytes.Cut(path, []byte("."))
	switch string(outer) {
	case "process":
		if !flat.process {
			t.owner.reset()
		}
		flat.process = true
		t.jaegerProcessPath(name)
	case "tag", "tags", "JaegerTag":
		t.jaegerTagPath(span, path, &flat.tags)
	case "logs":
		switch string(name) {
		case "fields.key":
			flat.logs[0] = t.skipTo()
		case "fields.value":
			flat.logs[1] = t.skipTo()
		case "timestamp":
			flat.logs[2] = t.skipTo()
		default:
			t.skip()
		}
	case "references":
		switch string(name) {
		case "spanID":
			flat.refs[0] = t.skipTo()
		case "traceID":
			flat.refs[1] = t.skipTo()
		case "refType":
			flat.refs[2] = t.skipTo()
		default:
			t.skip()
		}
	default:
		t.skip()
	}
}

func (t *jsonText) jaegerProcessPath(path []byte) {
	outer, _, dotted := bytes.Cut(path, []byte("."))
	if dotted && (string(outer) == "tag" || string(outer) == "tags") {
		t.jaegerTagPath(nil, path, &t.jaeger.flat.processTags)
	} else {
		t.jaegerProcessMember(path)
	}
}

// jaegerTagPath reads a tag, or remembers where all keys or all values of tags are. With
// span nil they are the process'.
func (t *jsonText) jaegerTagPath(span *Span, path []byte, lists *columns) {
	switch string(path) {
	case "tags.key":
		lists[0] = t.skipTo()
	case "tags.value":
		lists[1] = t.skipTo()
	case "tags.type":
		t.skip()
	default:
		_, name, _ := bytes.Cut(path, []byte("."))
		t.jaeger.key = appendDotted(t.jaeger.key[:0], name)
		if t.nativeOfOne(); t.why == "" {
			t.putTag(span, t.jaeger.key, span == nil)
		}
	}
}

// jaegerLists reads what is in lists of its own, once all were seen.
func (t *jsonText) jaegerLists(span *Span) {
	flat := t.jaeger.flat
	if flat == (jaegerFlat{}) {
		return
	}
	t.eachPair(flat.tags, func() { t.putTag(span, t.jaeger.key, false) })
	t.eachPair(flat.processTags, func() { t.putTag(nil, t.jaeger.key, true) })
	t.jaegerLogLists(flat.logs)
	if flat.process {
		t.jaeger.process = t.resource()
	}
	refs := []jaegerRef{}
	t.column(flat.refs[0], func(int) {
		ref := jaegerRef{}
		t.parent(ref.span[:], t.idText())
		refs = append(refs, ref)
	})
	t.columnOf(len(refs), flat.refs[1], func(i int) { t.id(refs[i].trace[:]) })
	t.columnOf(len(refs), flat.refs[2], func(i int) { refs[i].follows = t.jaegerFollows() })
	t.jaeger.refs = append(t.jaeger.refs, refs...)
}

// jaegerLogLists reads the fields of a log, if there is one.
func (t *jsonText) jaegerLogLists(lists columns) {
	if t.events == nil || lists[2] == 0 {
		return
	}
	at, size := int64(0), 0
	if n := t.column(lists[2], func(int) { at = t.jaegerLogTime() }); n > 1 {
		t.readAt(lists[2], func() { t.skip(); size = t.pos - lists[2] })
		t.notUsed(t.offsetOf(lists[2]), int64(size), "logs of a flattened document, which no longer says whose its fields are")
	} else if n == 1 {
		t.jaegerLog(at, func(use func()) { t.eachPair(lists, use) })
	}
}

// eachPair is eachTag for tags, or fields, whose keys and values are in lists.
func (t *jsonText) eachPair(lists columns, use func()) {
	var keys []string
	t.column(lists[0], func(int) { keys = append(keys, string(t.text())) })
	if len(keys) > 0 && lists[1] == 0 {
		t.fail("a flattened document that has keys without values")
	}
	t.columnOf(len(keys), lists[1], func(i int) {
		t.jaeger.key = append(t.jaeger.key[:0], keys[i]...)
		if t.nativeOfOne(); t.why == "" {
			use()
		}
	})
}

// column calls element for each element of the list at the index, or the one value there,
// and returns how many there were.
func (t *jsonText) column(at int, element func(i int)) (n int) {
	t.readAt(at, func() {
		t.listOrOne(func() {
			element(n)
			n++
		})
	})
	return n
}

// columnOf is column for a list that is to have so many elements, or not to be there.
// Stores that give a value once where it was twice leave none that belong together.
func (t *jsonText) columnOf(n, at int, element func(i int)) {
	if at == 0 {
		return
	}
	got := t.column(at, func(i int) {
		if i < n {
			element(i)
		} else {
			t.skip()
		}
	})
	if got != n {
		t.fail("a flattened document whose lists do not belong together")
	}
}
