package ingest

import (
	"cmp"
	"slices"
)

// In version 1 of Zipkin's JSON a span has no kind. Four annotations tell its
// two sides, which one span may hold together:
//
//	client   cs ---------------- cr
//	server        sr ------ ss
//
// ms and mr are a message sent and received, at one moment or, with ws and wr,
// over an interval. Beside other sides ws and wr are events, as Finagle writes
// them. This package holds one span a side, with the same id.
//
// Reference: Zipkin, zipkin2.v1.V1SpanConverter.

// A side is one of the sides of a call.
type side struct {
	start, end int64 // ns; 0: not recorded
	service    string
	some       bool
	message    bool // one moment is all there is to it
}

// sideKinds are the kinds of zipkinState.sides, in their order.
var sideKinds = [...]Kind{Client, Server, Producer, Consumer}

// annotate takes a core annotation, and reports false for any other. An
// endpoint in an annotation is a sign of version 1. A core annotation without one
// is the span's own, as in the example of Zipkin's data model.
func (z *zipkinState) annotate(text []byte, of endpoint, owned bool, at int64) bool {
	z.v1 = z.v1 || owned
	if z.anyOwner == "" {
		z.anyOwner = of.service
	}
	if len(text) != 2 {
		return false
	}
	index, start := 0, true
	switch string(text) {
	case "cs":
	case "cr":
		start = false
	case "sr":
		index = 1
	case "ss":
		index, start = 1, false
	case "ms":
		index = 2
	case "mr":
		index, start = 3, false
	case "ws":
		z.sides[2].end = at
		return false
	case "wr":
		z.sides[3].start = at
		return false
	default:
		return false
	}
	z.loose = z.loose || !owned
	s := &z.sides[index]
	s.some, s.message = true, index > 1
	if start {
		s.start = at
	} else {
		s.end = at
	}
	if s.service == "" {
		s.service = of.service
	}
	return true
}

// isOwner reports whether a side belongs to the service.
func (z *zipkinState) isOwner(service string) bool {
	return slices.ContainsFunc(z.sides[:], func(s side) bool { return s.some && s.service == service })
}

// firstSide makes the span its first side. The span's own times are those of
// the side that began it, and more exact than the annotations'.
func (t *jsonText) firstSide(r *record) {
	z := &t.zipkin
	at := slices.IndexFunc(z.sides[:], func(s side) bool { return s.some })
	if at < 0 {
		if z.service == "" {
			z.service = t.localOwner()
		}
		return
	}
	s := z.sides[at]
	r.span.Kind = sideKinds[at]
	z.service = cmp.Or(s.service, z.service)
	if z.clock.start == 0 || !z.clock.lasts && s.end > 0 {
		z.clock = s.clock()
	}
	t.peerOf(at)
}

// clock returns the times of a side.
func (s side) clock() clock {
	if s.message && s.start == 0 {
		return clock{start: s.end}
	}
	return clock{start: s.start, end: s.end}
}

// localOwner returns the service of a span without sides: that of its
// annotations, else of a binary annotation, among these lc (local component).
func (t *jsonText) localOwner() string {
	if t.zipkin.anyOwner != "" {
		return t.zipkin.anyOwner
	}
	owner := ""
	t.readAt(t.zipkin.binary, func() {
		t.list(func() {
			t.binaryAnnotation(func(key []byte, of endpoint) {
				if owner == "" && !isAddress(key) {
					owner = of.service
				}
			})
		})
	})
	return owner
}

// isAddress reports whether the binary annotation names a peer.
func isAddress(key []byte) bool {
	return len(key) == 2 && key[1] == 'a' && (key[0] == 's' || key[0] == 'c' || key[0] == 'm')
}

// peerOf finds the address annotation that names the peer of a side: ca for a
// server, sa for a client, ma for messages.
func (t *jsonText) peerOf(index int) {
	want := [...]string{"sa", "ca", "ma", "ma"}[index]
	t.readAt(t.zipkin.binary, func() {
		t.list(func() {
			t.binaryAnnotation(func(key []byte, of endpoint) {
				if string(key) == want {
					t.zipkin.peer = of
				}
			})
		})
	})
}

// binaryAnnotation reads {"key":…,"value":…,"endpoint":{…}} and calls use with
// the text of the value in t.value. Addresses are passed on to peerOf only.
func (t *jsonText) binaryAnnotation(use func(key []byte, of endpoint)) {
	value, of := 0, endpoint{}
	t.jaeger.key = t.jaeger.key[:0]
	t.object(func(key []byte) {
		switch string(key) {
		case "key":
			t.jaeger.key = append(t.jaeger.key, t.text()...)
		case "value":
			value = t.skipTo()
		case "endpoint", "host":
			of = t.endpoint()
		default:
			t.skip()
		}
	})
	t.value = t.value[:0]
	t.readAt(value, func() { t.native(plain, 0) })
	if t.why == "" {
		use(t.jaeger.key, of)
	}
}

// otherSides adds the further sides of the span at the index, which has been
// read.
func (t *jsonText) otherSides(start int) {
	z := &t.zipkin
	first := slices.IndexFunc(z.sides[:], func(s side) bool { return s.some })
	for i := first + 1; i < len(z.sides) && t.why == ""; i++ {
		s := z.sides[i]
		if first < 0 || !s.some {
			continue
		}
		before := t.records[len(t.records)-1]
		z.peer = endpoint{}
		t.owner.reset()
		t.serviceName([]byte(cmp.Or(s.service, z.service)))
		r := t.start(t.offsetOf(start))
		r.trace = before.trace
		r.span.ID, r.span.ParentID, r.span.Name = before.span.ID, before.span.ParentID, before.span.Name
		r.span.Kind = sideKinds[i]
		t.peerOf(i)
		t.zipkinTags(&r.span, s.service, false)
		from, to := s.clock().times()
		t.finish(r, from, to)
		r.span.Resource = t.resource()
		t.found[t.index].spans++
	}
}
