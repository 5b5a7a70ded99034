package ingest

import (
	"bytes"
	"cmp"
	"slices"
)

const (
	victoriaResource = "resource_attr:"
	victoriaSpan     = "span_attr:"
	victoriaEvent    = "event:event_"
	victoriaLink     = "link:link_"
)

// victoriaRow reads a row of VictoriaTraces, as its queries give it, one a
// line: flat, all values strings, - for the empty one, times in nanoseconds.
// The fields of events and links end in their number: event:event_name:0,
// event:event_attr:exception.type:0, link:link_span_id:0.
//
// A query may ask for some fields only, so any that no other form has tells a row.
//
// Reference: VictoriaTraces, app/vtinsert/opentelemetry/otlphttp.go.
func (t *jsonText) victoriaRow(o *object) { t.alone(o.start, (*jsonText).victoriaFields) }

func (t *jsonText) victoriaFields(r *record) {
	c := clock{}
	var events, links []numbered
	t.object(func(key []byte) {
		if name, ok := bytes.CutPrefix(key, []byte(victoriaResource)); ok {
			t.victoriaAttribute(name, true)
			return
		}
		if name, ok := bytes.CutPrefix(key, []byte(victoriaSpan)); ok {
			t.victoriaAttribute(name, false)
			return
		}
		if name, ok := bytes.CutPrefix(key, []byte(victoriaEvent)); ok && t.events != nil {
			events = append(events, t.numbered(name))
			return
		}
		if name, ok := bytes.CutPrefix(key, []byte(victoriaLink)); ok && t.links {
			links = append(links, t.numbered(name))
			return
		}
		switch string(key) {
		case "trace_id":
			t.victoriaID(r.trace[:])
		case "span_id":
			t.victoriaID(r.span.ID[:])
		case "parent_span_id":
			t.parent(r.span.ParentID[:], t.victoriaText())
		case "trace_state":
			r.span.TraceState = t.cache.get(t.victoriaText())
		case "name":
			r.span.Name = t.cache.get(t.victoriaText())
		case "kind":
			r.span.Kind = kindOf(t.victoriaText())
		case "start_time_unix_nano":
			c.start = t.victoriaNanos()
		case "end_time_unix_nano":
			c.end = t.victoriaNanos()
		case "duration":
			text := t.victoriaText()
			c.duration, c.lasts = scaled(text, 0)
		case "scope_name":
			r.span.Scope = t.cache.get(t.victoriaText())
		case "status_code":
			r.span.Status = statusOf(t.victoriaText())
		case "status_message":
			r.span.StatusText = t.cache.get(t.victoriaText())
		default: // among these _time, _stream and _msg
			t.skip()
		}
	})
	t.victoriaEvents(events)
	t.victoriaLinks(links)
	start, end := c.times()
	t.finish(r, start, end)
}

// A numbered field belongs to an event or a link of the row.
type numbered struct {
	number, field string
	at            int // index of its value
}

// numbered splits a key at its last colon and skips the value.
func (t *jsonText) numbered(key []byte) numbered {
	n := numbered{field: string(key)}
	if at := bytes.LastIndexByte(key, ':'); at >= 0 {
		n.field, n.number = string(key[:at]), string(key[at+1:])
	}
	n.at = t.skipTo()
	return n
}

// byNumber calls read with the fields of each event or link.
func byNumber(fields []numbered, read func([]numbered)) {
	slices.SortStableFunc(fields, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	for from := 0; from < len(fields); {
		to := from + 1
		for to < len(fields) && fields[to].number == fields[from].number {
			to++
		}
		read(fields[from:to])
		from = to
	}
}

func (t *jsonText) victoriaEvents(fields []numbered) {
	byNumber(fields, func(event []numbered) {
		name, kept := t.wantEvent(nil)
		ns := int64(0)
		for _, f := range event {
			t.readAt(f.at, func() {
				switch f.field {
				case "name":
					name, kept = t.wantEvent(t.victoriaText())
				case "time_unix_nano":
					ns, _ = scaled(t.victoriaText(), 0)
				}
			})
		}
		if !kept || t.why != "" {
			return
		}
		from := len(t.held)
		for _, f := range event {
			if key, ok := bytes.CutPrefix([]byte(f.field), []byte("attr:")); ok {
				t.readAt(f.at, func() { t.victoriaAttribute(key, false) })
			}
		}
		t.putEvent(name, uint64(max(ns, 0)), from)
	})
}

func (t *jsonText) victoriaLinks(fields []numbered) {
	byNumber(fields, func(link []numbered) {
		var l Link
		for _, f := range link {
			t.readAt(f.at, func() {
				switch f.field {
				case "trace_id":
					t.victoriaID(l.TraceID[:])
				case "span_id":
					t.victoriaID(l.SpanID[:])
				}
			})
		}
		t.putLink(l)
	})
}

// victoriaText reads a value.
func (t *jsonText) victoriaText() []byte {
	text := t.word()
	if string(text) == "-" {
		return nil
	}
	return text
}

func (t *jsonText) victoriaNanos() int64 {
	text := t.victoriaText()
	if len(text) == 0 {
		return 0
	}
	v, ok := scaled(text, 0)
	if !ok {
		t.fail("malformed time")
	}
	return v
}

func (t *jsonText) victoriaAttribute(key []byte, resource bool) {
	name, kept := t.want(key, resource)
	text := t.victoriaText()
	if kept && t.why == "" {
		t.value = append(t.value[:0], text...)
		t.put(name, resource)
	}
}

// victoriaID reads an id, which - says is none.
func (t *jsonText) victoriaID(dst []byte) {
	t.peek()
	at := t.pos
	t.anyID(dst, at, t.victoriaText())
}

// nothing passes over what is neither a span nor worth a word.
func (t *jsonText) nothing(*object) {}
