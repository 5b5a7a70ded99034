package analyze

import (
	"slices"
	"strings"
)

// A protocol is what a call speaks, as far as the rule that named its operation
// tells. All false: not told.
type protocol struct {
	http bool
	grpc bool
	safe bool // by its method or statement known to change nothing: HTTP GET, HEAD or OPTIONS, or a database read
	read bool // a database read
}

// speaks is the protocol of a call, by the rules that named its callee and operation.
func (by callRules) speaks(operation string) (p protocol) {
	switch by.operation {
	case "P20": // AWS (P7) names its HTTP calls like RPC methods
		p.grpc = by.callee != "P7"
	case "P21", "P22", "P22b", "P23", "P26": // METHOD and path, or METHOD
		p.http = true
		p.safe = safeMethod(firstWord(operation))
	case "P24":
		p.read = readsOnly(operation)
		p.safe = p.read
	}
	return p
}

// protocols counts what the calls to one dependency speak.
type protocols struct{ calls, safe, reads, http, grpc int }

func (p *protocols) learn(c protocol) {
	p.calls++
	if c.safe {
		p.safe++
	}
	if c.read {
		p.reads++
	}
	if c.http {
		p.http++
	}
	if c.grpc {
		p.grpc++
	}
}

// repeatable reports whether calls to a dependency are known to be safe to repeat, and
// by what: what the policy says, either way, stands above what the calls show, and that has
// to hold for all of them.
func (d *depTable) repeatable() (safe bool, by Basis) {
	p := &d.protocols
	switch {
	case d.rule != nil && (d.rule.Safe || d.rule.Lines["safe"] > 0):
		return d.rule.Safe, BasisPolicy
	case p.calls > 0 && p.reads == p.calls:
		return true, BasisRead
	case p.calls > 0 && p.safe == p.calls:
		return true, BasisMethod
	}
	return false, BasisNone
}

// A Transport is what a dependency is spoken to by.
type Transport string

const (
	HTTP           Transport = "http"
	GRPC           Transport = "grpc"
	OtherTransport Transport = "" // a database, a queue, or not told
)

// transport is that of all calls; OtherTransport where they differ.
func (p *protocols) transport() Transport {
	switch p.calls {
	case 0:
	case p.http:
		return HTTP
	case p.grpc:
		return GRPC
	}
	return OtherTransport
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

// safeMethod reports whether a method promises to change nothing. PUT and DELETE
// may be repeated by their definition, but what is behind them often may not.
func safeMethod(method string) bool {
	return method == "GET" || method == "HEAD" || method == "OPTIONS"
}

// reading are operations of databases that change nothing, as they begin a query's
// summary or are its name: SQL; Redis and memcached; MongoDB; DynamoDB. What can be either
// (MongoDB's aggregate, a stored procedure, "query") is not among them.
var reading = []string{"select", "get", "gets", "mget", "hget", "hmget", "hgetall", "exists", "strlen", "lrange", "llen",
	"smembers", "sismember", "zrange", "zscore", "ttl", "scan", "find", "findone", "count", "distinct", "getitem", "batchgetitem"}

// writing are words that may follow in the summary of a statement with several
// parts, as in SELECT orders INSERT audit.
var writing = []string{"insert", "update", "delete", "merge", "replace", "upsert", "truncate", "drop", "alter", "create",
	"call", "exec", "execute", "into", "grant", "lock", "do"}

// readsOnly reports whether the operation of a database call is known to change
// nothing. A function called by a SELECT is not seen.
func readsOnly(operation string) bool {
	words := strings.FieldsFunc(strings.ToLower(operation), func(r rune) bool { return r == ' ' || r == ';' || r == ',' || r == '(' || r == ')' })
	return len(words) > 0 && slices.Contains(reading, words[0]) &&
		!slices.ContainsFunc(words[1:], func(w string) bool { return slices.Contains(writing, w) })
}

// languages holds the languages of each service's SDK (telemetry.sdk.language), sorted; ""
// for spans that name none.
type languages map[string][]string

// maxServices is of how many services languages are told. Where there are more, all are
// forgotten (forget), so that what is left does not depend on which came first.
const maxServices = 1 << 16

// forget gives up the languages of too many services. Until then one more than
// maxServices are held.
func (l languages) forget() {
	if len(l) > maxServices {
		clear(l)
	}
}

// meet learns from the spans of a trace. It keeps no text of theirs.
func (l languages) meet(t *traced) {
	for i, e := range t.emitters {
		if !e.told {
			e.told = true
			l.add(t.Spans[i].Resource.Service, e.language)
		}
	}
}

func (l languages) add(service, language string) {
	list, known := l[service]
	at, ok := slices.BinarySearch(list, language)
	if ok {
		return
	}
	if !known {
		if len(l) > maxServices {
			return
		}
		service = strings.Clone(service)
	}
	l[service] = slices.Insert(list, at, strings.Clone(language))
}

// merge adds what other has learned.
func (l languages) merge(other languages) {
	for service, list := range other {
		for _, language := range list {
			l.add(service, language)
		}
	}
}

// A hint is what a trace hints at about a dependency being required.
type hint int

const (
	noHint hint = iota
	hintRequired
	hintOptional
)

// hintOf reads a depTable's hint. medium says nothing either way.
func hintOf(text string) hint {
	switch strings.ToLower(text) {
	case "fallback", "low":
		return hintOptional
	case "critical", "high":
		return hintRequired
	}
	return noHint
}
