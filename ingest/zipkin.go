package ingest

import (
	"bytes"
	"encoding/base64"
	"fmt"
)

// Zipkin writes an array of spans, at times one array a trace in it. Times are
// in microseconds; 0 means unset. The client and the server of a call share an
// id, which assembling knows about (link.go). Version 1 is read by the same
// function, and split into its two sides afterwards (zipkinv1.go). Tools that print
// what they hold of Zipkin's Thrift or protobuf write the names in snake case, ids as
// integers or base64, and kinds as numbers.

// zipkinState is the span being decoded.
type zipkinState struct {
	clock    clock
	kind     []byte
	service  string
	peer     endpoint
	tags     int // index of the tags, read once the sides are known; 0: none
	binary   int // index of the binary annotations
	sides    [4]side
	anyOwner string // service of the first annotation
	v1       bool
	loose    bool // a core annotation names no endpoint
	some     bool // it has what lines of a log with both ids do not have
}

// An endpoint is who sent or received.
type endpoint struct {
	service, address, port string
}

// zipkinSpan reads a span of either version.
func (t *jsonText) zipkinSpan(o *object) {
	if t.alone(o.start, (*jsonText).zipkinFields) && t.zipkin.v1 {
		t.otherSides(o.start)
	}
}

func (t *jsonText) zipkinFields(r *record) {
	z := &t.zipkin
	*z = zipkinState{kind: z.kind[:0]}
	high := [8]byte{} // half of the trace id
	t.object(func(key []byte) {
		switch string(key) {
		case "duration", "kind", "parentId", "localEndpoint", "remoteEndpoint", "annotations", "binaryAnnotations",
			"parent_id", "local_endpoint", "remote_endpoint", "binary_annotations":
			z.some = true
		}
		switch string(key) {
		case "traceId", "trace_id":
			t.id(r.trace[:])
		case "trace_id_high":
			t.idHalf(high[:])
		case "id":
			t.id(r.span.ID[:])
		case "parentId", "parent_id":
			t.parent(r.span.ParentID[:], t.idText())
		case "name":
			r.span.Name = t.cache.get(t.text())
		case "kind":
			z.kind = append(z.kind, t.word()...)
		case "timestamp":
			z.clock.start, _ = t.micros()
		case "duration":
			z.clock.duration, z.clock.lasts = t.micros()
			z.clock.lasts = z.clock.lasts && z.clock.duration != 0
		case "localEndpoint", "local_endpoint":
			z.service = t.endpoint().service
		case "remoteEndpoint", "remote_endpoint":
			z.peer = t.endpoint()
		case "annotations":
			t.zipkinAnnotations()
		case "tags":
			z.tags = t.skipTo()
		case "binaryAnnotations", "binary_annotations":
			z.v1 = true
			z.binary = t.skipTo()
		default: // among these shared and debug
			t.skip()
		}
	})
	if !z.some && (r.span.Name == "" || z.clock.start == 0) {
		t.fail("no span of Zipkin: duration, kind, parent, endpoints and annotations are missing")
	}
	if t.why != "" {
		return
	}
	if high != [8]byte{} {
		copy(r.trace[:8], high[:])
	}
	r.span.Kind = Internal // a span of one service only has no kind, as in OpenTelemetry's mapping
	if len(z.kind) > 0 {
		r.span.Kind = zipkinKind(z.kind)
	}
	if z.loose && len(z.kind) > 0 { // its own kind counts
		for i := range z.sides {
			if sideKinds[i] != r.span.Kind {
				z.sides[i] = side{}
			}
		}
	}
	if z.v1 = z.v1 || z.loose; z.v1 {
		t.firstSide(r)
	}
	t.serviceName([]byte(z.service))
	t.zipkinTags(&r.span, z.service, true)
	start, end := z.clock.times()
	t.finish(r, start, end)
}

// zipkinKind reads a kind, or its number in Zipkin's protobuf.
func zipkinKind(text []byte) Kind {
	if len(text) == 1 && text[0] >= '0' && text[0] <= '4' {
		return [...]Kind{Internal, Client, Server, Producer, Consumer}[text[0]-'0']
	}
	return kindOf(text)
}

// zipkinTags reads the tags of a span, and of version 1 the binary annotations
// that belong to the service, or to none if loose.
func (t *jsonText) zipkinTags(span *Span, service string, loose bool) {
	z := &t.zipkin
	// The peer as OpenTelemetry names it; a tag of the same name wins.
	for _, a := range [...]Attr{{"peer.service", z.peer.service}, {"network.peer.address", z.peer.address}, {"network.peer.port", z.peer.port}} {
		if a.Value != "" {
			t.field(a.Key, []byte(a.Value), false)
		}
	}
	t.readAt(z.tags, func() {
		t.object(func(key []byte) {
			t.jaeger.key = append(t.jaeger.key[:0], key...)
			t.value = t.value[:0]
			t.native(plain, 0)
			if t.why == "" && !t.linkTag() {
				t.putTag(span, t.jaeger.key, false)
			}
		})
	})
	t.readAt(z.binary, func() {
		t.list(func() {
			t.binaryAnnotation(func(key []byte, of endpoint) {
				if isAddress(key) {
					return
				}
				if of.service == service || loose && (of.service == "" || !z.isOwner(of.service)) {
					t.putTag(span, key, false)
				}
			})
		})
	})
}

// zipkinAnnotations reads the events of a span, and of version 1 the ends of
// its two sides.
func (t *jsonText) zipkinAnnotations() {
	t.list(func() {
		at, text := int64(0), []byte(nil)
		of, owned := endpoint{}, false
		t.object(func(key []byte) {
			switch string(key) {
			case "timestamp":
				at, _ = scaled(t.word(), 3)
			case "value":
				text = append(t.value[:0], t.text()...)
				t.value = text
			case "endpoint", "host":
				owned = t.peek() == '{'
				of = t.endpoint()
			default:
				t.skip()
			}
		})
		if t.why != "" {
			return
		}
		if t.zipkin.annotate(text, of, owned, at) {
			return
		}
		event, attrs := splitAnnotation(text)
		if name, kept := t.wantEvent(event); kept {
			from := len(t.held)
			t.annotationAttributes(bytes.Clone(attrs))
			t.putEvent(name, uint64(max(at, 0)), from)
		}
	})
}

// splitAnnotation returns the name of an event, and its attributes as an object of
// JSON, of the text that exporters of OpenTelemetry make of the two:
//
//	"name": {"key":"value"}      the SDKs (specification, "OpenTelemetry to Zipkin")
//	name|{"key":"value"}|0       the collector; behind, how many were dropped
func splitAnnotation(text []byte) (name, attrs []byte) {
	if at := bytes.Index(text, []byte(`": {`)); at > 0 && text[0] == '"' && text[len(text)-1] == '}' {
		return text[1:at], text[at+3:]
	}
	first, last := bytes.Index(text, []byte("|{")), bytes.LastIndex(text, []byte("}|"))
	if first < 0 || last < first {
		return text, nil
	}
	if _, _, ok := parseInteger(text[last+2:]); !ok {
		return text, nil
	}
	return text[:first], text[first+1 : last+1]
}

// annotationAttributes reads attributes of an event. What cannot be read is not
// worth the event.
func (t *jsonText) annotationAttributes(attrs []byte) {
	if len(attrs) == 0 {
		return
	}
	from := len(t.held)
	if t.inText(attrs, t.base, func() { t.nativeAttributes(false) }) != "" {
		t.held = t.held[:from]
	}
}

// linkTag takes a tag that the collector makes of a link:
//
//	otlp.link.0: trace id|span id|trace state|attributes|how many were dropped
func (t *jsonText) linkTag() bool {
	if !bytes.HasPrefix(t.jaeger.key, []byte("otlp.link.")) {
		return false
	}
	trace, rest, _ := bytes.Cut(t.value, []byte("|"))
	span, _, ok := bytes.Cut(rest, []byte("|"))
	var l Link
	if !ok || !parseID(l.TraceID[:], trace) || !parseID(l.SpanID[:], span) {
		return false
	}
	if t.links {
		t.putLink(l)
	}
	return true
}

// address returns an address, which may be base64 of its four bytes.
func address(text []byte) []byte {
	var b [6]byte
	if n, err := base64.StdEncoding.Decode(b[:], text[:min(len(text), 8)]); err != nil || n != 4 || len(text) != 8 {
		return text
	}
	return fmt.Appendf(nil, "%d.%d.%d.%d", b[0], b[1], b[2], b[3])
}

// endpoint reads an endpoint.
func (t *jsonText) endpoint() (e endpoint) {
	t.object(func(key []byte) {
		switch string(key) {
		case "serviceName", "service_name":
			e.service = t.cache.get(t.text())
		case "ipv4":
			if t.peek() != '"' { // Thrift's is a number
				t.skip()
			} else if text := t.text(); len(text) > 0 {
				e.address = t.cache.get(address(text))
			}
		case "ipv6":
			if text := t.text(); len(text) > 0 && e.address == "" {
				e.address = t.cache.get(text)
			}
		case "port":
			if text := t.word(); string(text) != "0" {
				e.port = t.cache.get(text)
			}
		default:
			t.skip()
		}
	})
	return e
}
