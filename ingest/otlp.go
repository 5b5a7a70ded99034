package ingest

import (
	"context"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// FromTraces turns traces that are already in memory into a Dump, for programs
// that embed this one. It reads exactly what Read does. Files is empty, and the
// position of a span is its number in td, from 0.
func FromTraces(td ptrace.Traces, o Options) *Dump {
	known, spooler := newResources(), NewSpooler(0, "")
	s := newSink(o, known, spooler, 1)
	position := int64(-1)
	s.fromTraces(td, func() int64 { position++; return position })
	s.flush()
	o.Memory = 0
	store := newStore([]*sink{s}, known, spooler, o)
	store.Spans, store.Notes = s.found[0].spans, s.notes.List()
	d, _ := store.Dump(context.Background()) // nothing is read, and nothing ends it
	return d
}

// fromTraces takes the spans of td. position gives that of each, in order.
func (s *sink) fromTraces(td ptrace.Traces, position func() int64) {
	for _, rs := range td.ResourceSpans().All() {
		from := len(s.records)
		s.owner.reset()
		s.attributes(rs.Resource().Attributes(), true)
		for _, ss := range rs.ScopeSpans().All() {
			scope := s.cache.get([]byte(ss.Scope().Name()))
			for _, span := range ss.Spans().All() {
				s.fromSpan(span, scope, position())
			}
		}
		resource := s.resource()
		for i := from; i < len(s.records); i++ {
			s.records[i].span.Resource = resource
		}
		s.found[s.index].spans += int64(len(s.records) - from)
	}
}

func (s *sink) fromSpan(span ptrace.Span, scope string, position int64) {
	r := s.start(position)
	r.trace = TraceID(span.TraceID())
	r.span.ID, r.span.ParentID = SpanID(span.SpanID()), SpanID(span.ParentSpanID())
	r.span.Kind = kindNumber(int32(span.Kind()))
	r.span.Status = statusNumber(int32(span.Status().Code()))
	r.span.Name = s.cache.get([]byte(span.Name()))
	r.span.StatusText = s.cache.get([]byte(span.Status().Message()))
	r.span.TraceState = s.cache.get([]byte(span.TraceState().AsRaw()))
	r.span.Scope = scope
	s.attributes(span.Attributes(), false)
	for _, e := range span.Events().All() {
		if name, kept := s.wantEvent([]byte(e.Name())); kept {
			from := len(s.held)
			s.attributes(e.Attributes(), false)
			s.putEvent(name, uint64(e.Timestamp()), from)
		}
	}
	if s.links {
		for _, l := range span.Links().All() {
			s.putLink(Link{TraceID: TraceID(l.TraceID()), SpanID: SpanID(l.SpanID())})
		}
	}
	s.finish(r, uint64(span.StartTimestamp()), uint64(span.EndTimestamp()))
}

func (s *sink) attributes(attrs pcommon.Map, resource bool) {
	for key, v := range attrs.All() {
		if name, kept := s.want([]byte(key), resource); kept {
			s.value = appendPdata(s.value[:0], v, plain, 0)
			s.put(name, resource)
		}
	}
}

// appendPdata appends the text of a value.
func appendPdata(dst []byte, v pcommon.Value, s style, depth int) []byte {
	if depth >= maxValueDepth {
		return appendUnset(dst, s)
	}
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return appendText(dst, []byte(v.Str()), s)
	case pcommon.ValueTypeInt:
		return appendInt(dst, v.Int())
	case pcommon.ValueTypeDouble:
		return appendDouble(dst, v.Double(), s)
	case pcommon.ValueTypeBool:
		return appendBool(dst, v.Bool())
	case pcommon.ValueTypeBytes:
		return appendBytes(dst, v.Bytes().AsRaw(), s)
	case pcommon.ValueTypeSlice:
		dst = appendOpen(dst, s)
		for i, e := range v.Slice().All() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendPdata(dst, e, s.inside(), depth+1)
		}
		return appendClose(dst, s)
	case pcommon.ValueTypeMap:
		dst = append(dst, '{')
		first := true
		for key, e := range v.Map().All() {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(appendQuoted(dst, valid([]byte(key))), ':')
			dst = appendPdata(dst, e, asJSON, depth+1)
		}
		return append(dst, '}')
	}
	return appendUnset(dst, s)
}
