package ingest

import (
	"strings"
	"time"
)

// Jaeger's JSON comes in four spellings, which share one reader:
//
//   - that of its UI and of /api/traces: traceID, startTime and duration in
//     microseconds, processes beside the spans (jaegerTrace);
//   - that of protobuf, as Kafka and lakes hold it: traceId in base64, startTime
//     as RFC 3339, duration as "0.000225s" or "5000ns";
//   - that of Elasticsearch: as the UI, with the process in the span, binary
//     values in hexadecimal, and tags as an object where that is configured; with
//     paths for keys where it went through Kibana (jaegerflat.go);
//   - that of Thrift, as clients and agents hold it: as the UI, with ids that are
//     integers, a trace id in two halves, and the fields of protobuf for values.

// jaegerState is what a reader of Jaeger's JSON remembers.
type jaegerState struct {
	processes map[string]*Resource // of the trace being decoded, by processID
	trace     TraceID              // that stands beside the spans; zero: none does
	process   *Resource            // of the span being decoded; nil: none named
	unowned   bool                 // whether spans may name a process that is nowhere
	refs      []jaegerRef          // of the span being decoded
	clock     clock                // of the span being decoded
	zeros     []zeroStart          // spans of the trace being decoded
	documents bool                 // whether binary values are hexadecimal
	flat      jaegerFlat           // of the span being decoded
	key, kind []byte               // of the tag being decoded
}

// A jaegerRef is a reference of a span.
type jaegerRef struct {
	trace   TraceID // zero: the span's own
	span    SpanID
	follows bool // FOLLOWS_FROM
}

// A zeroStart is a span that begins at 0.
type zeroStart struct {
	record int // its index
	lasts  time.Duration
}

// toyClock is how long after 1970 all spans of a trace end whose clock counts
// from 0: made by hand, as CRISP's tests are. A start of 0 is then a time.
//
// Note: OTLP has no such rule. A 0 is defined as unset there, protobuf does not write it,
// and a span that was left without a start would get one.
const toyClock = 24 * time.Hour

// jaegerTrace reads an object with spans and processes. A span whose process
// lies behind the point where the text breaks off is given up: nobody knows
// whose it is.
func (t *jsonText) jaegerTrace(o *object) {
	t.jaeger.trace = TraceID{}
	t.readAt(o.member("traceID"), func() {
		if at := t.offset(); !t.idOrLabel(t.jaeger.trace[:], t.idText(), at) {
			t.jaeger.trace = TraceID{}
		}
	})
	t.jaeger.processes = make(map[string]*Resource)
	t.readAt(o.member("processes"), t.jaegerProcesses)
	// A batch of Jaeger's agents has one process for all its spans.
	t.owner.reset()
	t.readAt(o.member("process"), t.jaegerProcess)
	known := o.member("process") > 0 && t.why == "" || !o.cut
	common := t.resource()
	if o.cut {
		t.why = ""
	}
	from := len(t.records)
	t.pos = o.member("spans")
	t.list(func() {
		saved := t.saved
		r := t.begin((*jsonText).jaegerFields)
		switch {
		case r == nil:
		case t.jaeger.process != nil:
			r.span.Resource = t.jaeger.process
		case known:
			r.span.Resource = common
		default:
			t.drop()
			t.saved = saved
			return
		}
		if c := t.jaeger.clock; r != nil && c.start == 0 && c.lasts && c.duration >= 0 {
			t.jaeger.zeros = append(t.jaeger.zeros, zeroStart{len(t.records) - 1, time.Duration(c.duration)})
		}
	})
	t.toyTimes(from)
	t.found[t.index].spans += int64(len(t.records) - from)
}

// toyTimes gives the spans of a trace that begin at 0 their times, if the trace
// is a toy. Its records begin at the index.
func (t *jsonText) toyTimes(from int) {
	last := time.Duration(0)
	for i := from; i < len(t.records); i++ {
		last = max(last, t.records[i].span.End)
	}
	for _, z := range t.jaeger.zeros {
		if s := &t.records[z.record].span; last < toyClock {
			s.Start, s.End, s.Defect = 0, z.lasts, 0
		}
	}
	t.jaeger.zeros = t.jaeger.zeros[:0]
}

// spanList reads a list of spans, each of a form of its own. Those of Jaeger may
// name processes that the list came without, unless they were cut off. A trace id
// and a resource beside the list are those of spans without one of their own.
func (t *jsonText) spanList(o *object) {
	t.jaeger.unowned = !o.cut
	defer func(outer around) { t.jaeger.unowned, t.around = false, outer }(t.around)
	t.around = around{}
	for _, key := range []string{"traceId", "trace_id"} {
		t.readAt(o.member(key), func() { t.id(t.around.trace[:]) })
	}
	t.readAt(o.member("resource"), func() {
		if t.peek() == '{' {
			t.owner.reset()
			t.documentResource()
			t.around.resource = t.resource()
		}
	})
	t.inside(o)
}

// around is what stands beside the list of spans being read, and is said of all of them.
type around struct {
	trace    TraceID   // zero: none
	resource *Resource // nil: none
}

// jaegerAlone reads a span that stands alone.
func (t *jsonText) jaegerAlone(o *object) {
	t.jaeger.processes, t.jaeger.trace = nil, TraceID{}
	t.alone(o.start, (*jsonText).jaegerFields)
}

// jaegerDocument reads a document of Elasticsearch.
func (t *jsonText) jaegerDocument(o *object) {
	t.jaeger.documents = true
	defer func() { t.jaeger.documents = false }()
	t.jaegerAlone(o)
}

func (t *jsonText) jaegerFields(r *record) {
	c := &t.jaeger.clock
	id, name, lost, proto, started := false, false, false, false, false
	*c = clock{}
	r.trace = t.jaeger.trace
	t.jaeger.process, t.jaeger.refs, t.jaeger.flat = nil, t.jaeger.refs[:0], jaegerFlat{}
	t.object(func(key []byte) {
		switch string(key) {
		case "traceID", "traceId":
			t.id(r.trace[:])
		case "traceIdHigh":
			t.idHalf(r.trace[:8])
		case "traceIdLow":
			t.idHalf(r.trace[8:])
		case "spanID", "spanId":
			id = true
			t.id(r.span.ID[:])
		case "parentSpanID", "parentSpanId", "parentId": // of old documents, of others who took Jaeger's names
			ref := jaegerRef{}
			t.parent(ref.span[:], t.idText())
			t.jaeger.refs = append(t.jaeger.refs, ref)
		case "references":
			t.listOrOne(t.jaegerReference)
		case "operationName":
			name = true
			r.span.Name = t.cache.get(t.text())
		case "startTime":
			c.start, proto = t.jaegerTime()
			started = true
		case "duration", "durationMicros":
			c.duration, c.lasts = t.timespan(3)
		case "endTime": // of those others
			c.end, _ = t.jaegerTime()
		case "tags", "tag", "JaegerTags", "JaegerTag": // the latter of the collector's Logz.io exporter
			t.jaegerTags(&r.span, false)
		case "logs":
			t.jaegerLogs()
		case "processID", "processId":
			text := t.text()
			lost = len(text) > 0 && t.jaeger.processes == nil && !t.jaeger.unowned
			if p := t.jaeger.processes[string(text)]; p != nil {
				t.jaeger.process = p
			}
		case "serviceName": // of tables, which have a column for it
			t.owner.reset()
			t.serviceName(t.text())
			t.jaeger.process = t.resource()
		case "process":
			if t.peek() == 'n' && t.null() {
				return // beside a processID
			}
			t.owner.reset()
			t.jaegerProcess()
			t.jaeger.process = t.resource()
		default: // among these startTimeMillis, flags and warnings
			t.jaegerPath(&r.span, key)
		}
	})
	t.jaegerLists(&r.span)
	switch {
	case !id || !name:
		t.fail("no span of Jaeger: spanID or operationName is missing")
	case lost && t.jaeger.process == nil:
		t.fail("a span without its process")
	}
	t.jaegerParent(r)
	c.lasts = started && c.lasts || proto // that leaves out what is zero
	start, end := c.times()
	t.finish(r, start, end)
}

// jaegerTime reads microseconds, or RFC 3339, which is the spelling of protobuf.
func (t *jsonText) jaegerTime() (v int64, proto bool) {
	text := t.word()
	v, ok := scaled(text, 3)
	if !ok {
		v, ok = instant(text)
		proto = ok && len(text) > 0
	}
	if !ok {
		t.fail("malformed startTime")
	}
	return v, proto
}

// jaegerReference reads a reference. Some writers put the whole span that is
// meant into it, with its own references: it is in the trace as well.
func (t *jsonText) jaegerReference() {
	ref := jaegerRef{}
	t.object(func(key []byte) {
		switch string(key) {
		case "refType":
			ref.follows = t.jaegerFollows()
		case "traceID", "traceId":
			t.id(ref.trace[:])
		case "traceIdHigh":
			t.idHalf(ref.trace[:8])
		case "traceIdLow":
			t.idHalf(ref.trace[8:])
		case "spanID", "spanId":
			t.parent(ref.span[:], t.idText())
		default:
			t.skip()
		}
	})
	t.jaeger.refs = append(t.jaeger.refs, ref)
}

// jaegerFollows reads the type of a reference: CHILD_OF, or FOLLOWS_FROM, or their numbers.
func (t *jsonText) jaegerFollows() bool {
	text := string(t.word())
	return text == "1" || strings.EqualFold(text, "FOLLOWS_FROM")
}

// idHalf reads one half of a trace id, an integer of 64 bits.
func (t *jsonText) idHalf(dst []byte) {
	if text := t.idText(); t.why == "" && !parseID(dst, text) {
		t.fail("malformed id")
	}
}

// jaegerParent makes the first CHILD_OF within the trace the parent, else the
// first FOLLOWS_FROM, as Jaeger does. The other references are links.
func (t *jsonText) jaegerParent(r *record) {
	parent := -1
	for i, ref := range t.jaeger.refs {
		inside := ref.span != (SpanID{}) && (ref.trace == r.trace || ref.trace == (TraceID{}))
		if inside && (parent < 0 || t.jaeger.refs[parent].follows && !ref.follows) {
			parent = i
		}
	}
	if parent >= 0 {
		r.span.ParentID, r.span.FollowsFrom = t.jaeger.refs[parent].span, t.jaeger.refs[parent].follows
	}
	for i, ref := range t.jaeger.refs {
		if t.links && i != parent && ref.span != (SpanID{}) && (ref.span != r.span.ParentID || ref.trace != r.trace && ref.trace != (TraceID{})) {
			if ref.trace == (TraceID{}) {
				ref.trace = r.trace
			}
			t.putLink(Link{TraceID: ref.trace, SpanID: ref.span})
		}
	}
}

// jaegerProcesses reads processes by their ids: an object, or a list of those that name
// their own, which tables make of it.
func (t *jsonText) jaegerProcesses() {
	put := func(id string) {
		if t.why == "" {
			t.jaeger.processes[id] = t.resource()
		}
	}
	if t.peek() != '[' {
		t.object(func(key []byte) {
			id := string(key)
			t.owner.reset()
			t.jaegerProcess()
			put(id)
		})
		return
	}
	t.list(func() {
		id := ""
		t.owner.reset()
		t.object(func(key []byte) {
			switch string(key) {
			case "processID", "processId", "key", "id":
				id = string(t.text())
			case "process", "value":
				t.jaegerProcess()
			default:
				t.jaegerProcessMember(key)
			}
		})
		if id == "" {
			t.fail("a process without its id")
		}
		put(id)
	})
}

func (t *jsonText) jaegerProcess() { t.object(t.jaegerProcessMember) }

func (t *jsonText) jaegerProcessMember(key []byte) {
	switch string(key) {
	case "serviceName":
		t.serviceName(t.text())
	case "tags", "tag":
		t.jaegerTags(nil, true)
	default:
		t.skip()
	}
}

// jaegerLogs reads the logs of a span. OpenTelemetry's exporters put the name
// of an event into the field event.
func (t *jsonText) jaegerLogs() {
	if t.events == nil {
		t.skip()
		return
	}
	t.list(func() {
		at, fields := int64(0), 0
		t.object(func(key []byte) {
			switch string(key) {
			case "timestamp":
				at = t.jaegerLogTime()
			case "fields":
				fields = t.skipTo()
			default:
				t.skip()
			}
		})
		t.jaegerLog(at, func(use func()) { t.readAt(fields, func() { t.eachTag(use) }) })
	})
}

// jaegerLogTime reads microseconds, or RFC 3339. One that cannot be read is as good as
// none.
func (t *jsonText) jaegerLogTime() int64 {
	text := t.word()
	at, ok := scaled(text, 3)
	if !ok {
		at, _ = instant(text)
	}
	return at
}

// jaegerLog reads a log whose fields each gives.
func (t *jsonText) jaegerLog(at int64, each func(use func())) {
	name, kept := t.wantEvent(nil)
	each(func() {
		if string(t.jaeger.key) == "event" {
			name, kept = t.wantEvent(t.value)
		}
	})
	if !kept || t.why != "" {
		return
	}
	from := len(t.held)
	each(func() {
		if want, kept := t.want(t.jaeger.key, false); kept && string(t.jaeger.key) != "event" {
			t.put(want, false)
		}
	})
	t.putEvent(name, uint64(max(at, 0)), from)
}
