package ingest

import "bytes"

// axiomRow reads a row of a dataset of Axiom to which OpenTelemetry sends its spans: _time is
// the start, the duration a timespan as Go writes one ("1.5ms") or a number of nanoseconds.
// Attributes with names of the conventions are columns of their own (attributes.http.method,
// resource.k8s.pod.name), others are in attributes.custom and resource.custom. Those of the
// service and the SDK have no prefix.
//
// A row without the column of the parent is none of this form: each span would be a root.
//
// References: axiom.co/docs, "Explore traces" (trace schema overview) and "Run query", for
// the answer whose format is tabular; velddev/axiom-tempo-proxy, internal/spans/parse.go and
// docs/research/axiom-apl.md, for the spelling of a timespan and the shape of events.
func (t *jsonText) axiomRow(o *object) { t.alone(o.start, (*jsonText).axiomFields) }

// axiomTable reads a table of an answer, which has a list for each column.
func (t *jsonText) axiomTable(o *object) {
	var names [][]byte
	t.readAt(o.member("fields"), func() { names = t.columnNames() })
	t.tableColumns(o, names, o.member("columns"))
}

var axiomEvent = documentEvent("timestamp", nanosOrInstant)

func (t *jsonText) axiomFields(r *record) {
	c, failed := clock{}, false
	t.object(func(key []byte) {
		switch string(key) {
		case "_time":
			c.start = t.instant()
		case "duration":
			c.duration, c.lasts = t.timespan(0)
		case "trace_id":
			t.id(r.trace[:])
		case "span_id":
			t.id(r.span.ID[:])
		case "parent_span_id":
			t.parent(r.span.ParentID[:], t.text())
		case "trace_state":
			r.span.TraceState = t.cache.get(t.text())
		case "name":
			r.span.Name = t.cache.get(t.text())
		case "kind":
			r.span.Kind = kindOf(t.word())
		case "status.code":
			r.span.Status = statusOf(t.word())
		case "status.message":
			r.span.StatusText = t.cache.get(t.text())
		case "error":
			failed = string(t.word()) == "true"
		case "scope.name":
			r.span.Scope = t.cache.get(t.text())
		case "events":
			t.within(func() { t.eventsOf(&axiomEvent) })
		case "links":
			t.within(func() { t.list(t.linkOf) })
		case "attributes", "attributes.custom":
			t.customAttributes(false)
		case "resource", "resource.custom":
			t.customAttributes(true)
		default:
			outer, name, _ := bytes.Cut(key, []byte("."))
			switch string(outer) {
			case "attributes":
				t.columnAttribute(name, false)
			case "resource":
				t.columnAttribute(name, true)
			case "service", "telemetry":
				t.columnAttribute(key, true)
			default:
				t.skip()
			}
		}
	})
	if failed && r.span.Status == Unset {
		r.span.Status = Error
	}
	start, end := c.times()
	t.finish(r, start, end)
}

// customAttributes is documentAttributes where those of a member custom are beside the others.
func (t *jsonText) customAttributes(resource bool) {
	t.object(func(key []byte) {
		if string(key) == "custom" && t.peek() == '{' {
			t.flatAttributes(resource)
		} else {
			t.documentAttribute(key, resource)
		}
	})
}
