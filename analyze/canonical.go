package analyze

import (
	"slices"
	"strconv"
	"strings"

	"overrun/ingest"
)

// spellings lists, for the name of an attribute that rules use, what else it
// is or was called. Of several that one span carries, the canonical name
// counts before the others, and those in this order (N4, N5; schemas/1.44.0 of
// OpenTelemetry's semantic conventions).
var spellings = []struct {
	name  string
	older []string
}{
	{"http.request.method", []string{"http.method"}},
	{"http.response.status_code", []string{"http.status_code"}},
	{"http.request.resend_count", []string{"http.resend_count", "http.retry_count"}},
	{"url.full", []string{"http.url"}},
	{"server.address", []string{"net.peer.name", "net.host.name"}},
	{"server.port", []string{"net.peer.port"}},
	{"network.peer.address", []string{"net.sock.peer.addr", "net.peer.ip"}},
	{"db.system.name", []string{"db.system"}},
	{"db.namespace", []string{"db.name"}},
	{"db.query.text", []string{"db.statement"}},
	{"db.operation.name", []string{"db.operation"}},
	{"db.collection.name", []string{"db.sql.table", "db.mongodb.collection"}},
	{"messaging.destination.name", []string{"messaging.destination"}},
	{"messaging.operation.name", []string{"messaging.operation"}},
	{"messaging.rabbitmq.destination.routing_key", []string{"messaging.rabbitmq.routing_key"}},
	{"rpc.system.name", []string{"rpc.system"}},
	{"rpc.status_code", []string{"rpc.response.status_code", "rpc.grpc.status_code", "rpc.connect_rpc.error_code", "grpc.status_code"}},
	{"rpc.method", []string{"grpc.method"}},
	{"service.peer.name", []string{"peer.service"}},
	{"upstream_cluster.name", []string{"upstream_cluster"}},
	{"exception.message", []string{"grpc.error_message"}}, // opentelemetry-js-contrib instrumentation-grpc
	{"cloud.region", []string{"aws.region"}},              // opentelemetry-go-contrib otelaws
	{"retry.count", []string{"retry_count"}},
	{"db.couchbase.retries", []string{"couchbase.retries"}},
	{"sampler.type", []string{"jaeger.sampler.type"}},
	{"sampler.param", []string{"jaeger.sampler.param"}},
	{"az.namespace", []string{"azure.resource_provider.namespace"}},
}

// Prefixes that instrumentations put before the name of a captured header or of
// RPC metadata. canonical replaces those of requests by "header ", those of
// answers by "answer header ".
var (
	headerPrefixes = []string{
		"http.request.header.",
		"rpc.request.metadata.",
		"rpc.grpc.request.metadata.",
		"rpc.connect_rpc.request.metadata.",
		"rpc.request.headers.",
	}
	answerPrefixes = []string{
		"http.response.header.",
		"rpc.response.metadata.",
		"rpc.grpc.response.metadata.",
		"rpc.connect_rpc.response.metadata.",
	}
)

// Attributes that no span carries: facts makes them of what it does carry, so
// that a condition on them is data like any other.
const (
	rpcCodeKey          = "rpc code"          // in upper snake case (N5, N7)
	httpStatusKey       = "http status"       // 100 to 999
	exceptionTypeKey    = "exception type"    // of the first exception event, else of the span
	exceptionMessageKey = "exception message" // of the same
)

// A spelling is a canonical name, and how far down its list a key stands.
type spelling struct {
	name string
	rank int
	slot uint8 // of the name
}

var bySpelling = func() map[string]spelling {
	m := map[string]spelling{}
	for _, s := range spellings {
		m[s.name] = spelling{name: s.name, slot: slotOf(s.name)}
		for i, key := range s.older {
			m[key] = spelling{s.name, i + 1, slotOf(s.name)}
		}
	}
	return m
}()

// canonical is the name under which rules know an attribute: the current one of
// the semantic conventions, and for a captured header "header " and its name in
// lower case with - for _ (N2).
func canonical(key string) spelling {
	if s, ok := bySpelling[key]; ok {
		return s
	}
	for _, form := range []struct {
		prefixes []string
		name     string
	}{{headerPrefixes, "header "}, {answerPrefixes, "answer header "}} {
		for _, prefix := range form.prefixes {
			if name, ok := strings.CutPrefix(key, prefix); ok {
				name = form.name + strings.ReplaceAll(strings.ToLower(name), "_", "-")
				return spelling{name: name, slot: slotOf(name)}
			}
		}
	}
	return spelling{name: key, slot: slotOf(key)}
}

// spelled lists the keys under which the canonical name may be recorded.
func spelled(name string) []string {
	switch name {
	case rpcCodeKey:
		return spelled("rpc.status_code")
	case httpStatusKey:
		return spelled("http.response.status_code")
	case exceptionTypeKey:
		return []string{"exception.type"}
	case exceptionMessageKey:
		return spelled("exception.message")
	}
	var keys []string
	captured := func(header string, prefixes []string) {
		for _, prefix := range prefixes {
			keys = append(keys, prefix+header)
			if low := strings.ReplaceAll(header, "-", "_"); low != header {
				keys = append(keys, prefix+low)
			}
		}
	}
	if header, ok := strings.CutPrefix(name, "header "); ok {
		captured(header, headerPrefixes)
		return keys
	}
	if header, ok := strings.CutPrefix(name, "answer header "); ok {
		captured(header, answerPrefixes)
		return keys
	}
	keys = append(keys, name)
	for _, s := range spellings {
		if s.name == name {
			keys = append(keys, s.older...)
		}
	}
	return keys
}

// A canon remembers canonical names, one for each worker: keys are few.
type canon [1 << 10]struct {
	key string
	spelling
}

func (c *canon) key(key string) *spelling {
	at := &c[0]
	if n := len(key); n > 0 {
		at = &c[(n*131+int(key[n-1])*17+int(key[n/2])*7+int(key[n/3]))%len(c)]
	}
	if at.key != key {
		at.key, at.spelling = strings.Clone(key), canonical(key)
	}
	return &at.spelling
}

// facts makes a span of the trace ready for the built-in rules, in the room of a look
// that nobody needs any more.
func (c *canon) facts(t *ingest.Trace, s *ingest.Span, parent part, room *look) facts {
	*room = look{attrs: room.attrs[:0], parent: parent, slot: slotOf(s.Name)}
	f := facts{tables: &builtIn, trace: t, span: s, look: room}
	var made recorded
	var ranks [32]int8 // of the spellings taken
	older := false     // one of them is not canonical
	for i := range s.Attrs {
		value := s.Attrs[i].Value
		if value == "" {
			continue
		}
		key := c.key(s.Attrs[i].Key)
		at := -1
		if key.rank > 0 || older { // it may be there under another spelling
			at = slices.IndexFunc(f.attrs, func(a ingest.Attr) bool { return a.Key == key.name })
		}
		switch {
		case at < 0:
			at = len(f.attrs)
			f.push(key.name, value, key.slot)
		case at < len(ranks) && int8(key.rank) < ranks[at]:
			f.attrs[at].Value = value
		default:
			continue
		}
		if at < len(ranks) {
			ranks[at] = int8(key.rank)
		}
		older = older || key.rank > 0
		made.note(key.name, value)
	}
	f.addMade(&made)
	return f
}

func (f *facts) push(key, value string, slot uint8) {
	if n := len(f.attrs); n < len(f.slots) {
		f.slots[n] = slot
	}
	f.attrs = append(f.attrs, ingest.Attr{Key: key, Value: value})
}

// recorded are the attributes of which others are made.
type recorded struct{ rpcCode, httpStatus, exceptionType, exceptionMessage string }

func (r *recorded) note(key, value string) {
	switch key {
	case "rpc.status_code":
		r.rpcCode = value
	case "http.response.status_code":
		r.httpStatus = value
	case "exception.type":
		r.exceptionType = value
	case "exception.message":
		r.exceptionMessage = value
	}
}

// addMade adds the attributes that are made of others, and the words of the span.
func (f *facts) addMade(r *recorded) {
	if code := rpcName(r.rpcCode); code != "" && !(code == "OK" && f.span.Status == ingest.Error) {
		f.push(rpcCodeKey, code, slotOf(rpcCodeKey))
	}
	if text := r.httpStatus; text != "" {
		if n, err := strconv.Atoi(text); err == nil && n >= 100 && n <= 999 {
			f.push(httpStatusKey, text, slotOf(httpStatusKey))
		}
	}
	kind, message := r.exceptionType, r.exceptionMessage
	for i := range f.span.Events {
		if e := &f.span.Events[i]; e.Name == "exception" {
			kind, message = eventAttr(e, "exception.type"), eventAttr(e, "exception.message")
			break
		}
	}
	if kind != "" {
		f.push(exceptionTypeKey, kind, slotOf(exceptionTypeKey))
	}
	if message != "" {
		f.push(exceptionMessageKey, message, slotOf(exceptionMessageKey))
	}
	if f.span.StatusText != "" || message != "" {
		f.text = strings.ToLower(f.span.StatusText)
		if message != f.span.StatusText {
			f.text += "\n" + strings.ToLower(message)
		}
	}
}

// eventAttr is the value of an attribute of an event; "" where not recorded.
func eventAttr(e *ingest.Event, key string) string {
	for i := range e.Attrs {
		if e.Attrs[i].Key == key {
			return e.Attrs[i].Value
		}
	}
	return ""
}

// rpcNames are gRPC's status codes by number (grpc/status.proto).
var rpcNames = [...]string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
	"ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
	"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}

// rpcName is an RPC status in upper snake case, from its number, or its name in
// any case (N5). "" for what is no name and no number of gRPC: other
// protocols number otherwise.
func rpcName(code string) string {
	if code == "" {
		return ""
	}
	if n, err := strconv.Atoi(code); err == nil {
		if n >= 0 && n < len(rpcNames) {
			return rpcNames[n]
		}
		return ""
	}
	var name []byte
	for i := range len(code) {
		b := code[i]
		if i > 0 && b >= 'A' && b <= 'Z' && code[i-1] >= 'a' && code[i-1] <= 'z' { // DeadlineExceeded
			name = append(name, '_')
		}
		if b >= 'a' && b <= 'z' {
			b -= 'a' - 'A'
		}
		name = append(name, b)
	}
	if string(name) == "CANCELED" {
		return "CANCELLED"
	}
	if string(name) == code { // as recorded: no copy
		return code
	}
	return string(name)
}
