package analyze

import (
	"slices"
	"strings"
	"time"

	"overrun/ingest"
)

// phaseTable says which events and attributes of a span bound a phase.
var phaseTable = newTable(phaseRules())

func phaseRules() []rule[phaseSays] {
	// Rules hang on the event that ends the phase, since a phase that has not ended is
	// no measurement.
	const (
		httptrace = "opentelemetry-go-contrib otelhttptrace/clienttrace.go (WithoutSubSpans)"
		browser   = "opentelemetry-js sdk-trace-web/utils.ts"
		sentry    = "sentry-javascript resourceTiming.ts"
		obi       = "opentelemetry-ebpf-instrumentation#2673 (proposed)"
		envoy     = "envoyproxy/envoy common_values.h, tracer_impl.cc"
		a72       = "grpc/proposal A72; grpc-go; grpc-java"
		spanner   = "googleapis/java-spanner#3095; OpencensusTracer.java"
	)
	events := func(id string, p part, source string, kinds kindSet, from, to []string) []rule[phaseSays] {
		return forEvents(rule[phaseSays]{id: id, priority: byEvent, source: source, when: sign{kinds: kinds},
			says: phaseSays{part: p, from: from, to: to}}, to[0])
	}
	hook := func(p part, name string) []rule[phaseSays] {
		list := events("C8", p, httptrace, innerKinds, []string{name + ".start"}, []string{name + ".done"})
		list[0].says.each = true
		return list
	}
	mark := func(p part, from string, to ...string) []rule[phaseSays] {
		return events("C36", p, browser, innerKinds, []string{from}, to)
	}
	seconds := func(p part, from string, to ...string) []rule[phaseSays] {
		const prefix = "http.request."
		for i := range to {
			to[i] = prefix + to[i]
		}
		return []rule[phaseSays]{{id: "C37", priority: byEvent, source: sentry,
			when: sign{kinds: innerKinds, has: []attrIs{{key: prefix + from}}},
			says: phaseSays{part: p, from: []string{prefix + from}, to: to, clock: true}}}
	}
	length := func(id string, p part, key string, unit time.Duration, loose bool, source string) []rule[phaseSays] {
		return []rule[phaseSays]{{id: id, priority: byEvent, source: source, when: sign{has: []attrIs{{key: key}}},
			says: phaseSays{part: p, length: key, unit: unit, loose: loose}}}
	}
	proposed := func(p part, key string) []rule[phaseSays] { // spelled both ways, ms both
		return slices.Concat(length("C38", p, key+"_ms", time.Millisecond, true, obi), length("C38", p, key, time.Millisecond, true, obi))
	}
	eachEvent := func(list []rule[phaseSays]) []rule[phaseSays] {
		for i := range list {
			list[i].says.each = true
		}
		return list
	}
	last := func(list []rule[phaseSays]) []rule[phaseSays] {
		for i := range list {
			list[i].says.last = true
		}
		return list
	}
	resolved := []string{"Delayed name resolution complete", "Delayed name resolution complete."}
	picked := []string{"Delayed LB pick complete", "Delayed LB pick complete."}
	sent := []string{"Outbound message", "Outbound message compressed"}
	getconn := func(p part, not bool) []rule[phaseSays] {
		list := hook(p, "http.getconn")
		list[0].says.where, list[0].says.not = attrIs{key: "http.conn.reused", is: "true", low: "true"}, not
		return list
	}
	return slices.Concat(
		getconn(poolPart, false), // all of it was waiting
		getconn(connectPart, true), hook(dnsPart, "http.dns"), hook(tcpPart, "http.connect.*"),
		hook(tlsPart, "http.tls"), hook(sendPart, "http.send"), hook(receivePart, "http.receive"),

		mark(poolPart, "fetchStart", "domainLookupStart"), // the browser's own queue
		mark(dnsPart, "domainLookupStart", "domainLookupEnd"),
		[]rule[phaseSays]{{id: "C36", priority: byEvent, source: browser, when: sign{kinds: innerKinds, event: "connectStart"},
			says: phaseSays{part: tcpPart, from: []string{"connectStart"}, to: []string{"secureConnectionStart", "connectEnd"}}}},
		mark(tlsPart, "secureConnectionStart", "connectEnd"),
		mark(waitPart, "requestStart", "responseStart"),
		mark(receivePart, "responseStart", "responseEnd"),

		seconds(poolPart, "fetch_start", "domain_lookup_start"),
		seconds(dnsPart, "domain_lookup_start", "domain_lookup_end"),
		seconds(tcpPart, "connect_start", "secure_connection_start", "connection_end"),
		seconds(tlsPart, "secure_connection_start", "connection_end"),
		seconds(waitPart, "request_start", "response_start"),
		seconds(receivePart, "response_start", "response_end"),

		proposed(dnsPart, "network.setup.dns.duration"), proposed(tcpPart, "network.setup.tcp_connect.duration"),
		proposed(tlsPart, "network.setup.tls_handshake.duration"),
		length("C40", poolPart, "db.pool.wait_time_ms", time.Millisecond, true, "DataDog/dd-trace-js#8914, #8915"),

		events("C41", connectPart, envoy, innerKinds, nil, []string{"first_upstream_tx_byte_sent"}), // about: it holds the wait for a connection
		events("C41", sendPart, envoy, innerKinds, []string{"first_upstream_tx_byte_sent"}, []string{"last_upstream_tx_byte_sent"}),
		last(events("C41", waitPart, envoy, innerKinds, []string{"last_upstream_tx_byte_sent"}, []string{"first_upstream_rx_byte_received"})),
		events("C41", receivePart, envoy, innerKinds, []string{"first_upstream_rx_byte_received"}, []string{"last_upstream_rx_byte_received"}),

		events("C42", resolvePart, a72, innerKinds, nil, resolved[:1]), events("C42", resolvePart, a72, innerKinds, nil, resolved[1:]),
		events("C42", pickPart, a72, innerKinds, nil, picked[:1]), events("C42", pickPart, a72, innerKinds, nil, picked[1:]),

		last(events("G5", waitPart, a72, innerKinds, sent, []string{"Inbound message"})),
		last(events("G5", waitPart, a72, innerKinds, sent, []string{"Inbound compressed message"})),

		// Back-off that only events and attributes tell.
		eachEvent(events("R16", backoffPart, spanner, 0, []string{"Attempt failed, scheduling next attempt"}, []string{"Starting RPC retry *"})),
		length("R17", backoffPart, "http.request.resend_delay", time.Second, false, "kiota-dotnet RetryHandler.cs"),
		[]rule[phaseSays]{{id: "R35", priority: byEvent, source: "found in public code", when: sign{event: "retry"},
			says: phaseSays{part: backoffPart, from: []string{"retry"}, each: true, length: "wait_ms", unit: time.Millisecond}}},
	)
}

// A phaseTime is a phase of a span that its events or attributes tell, in
// offsets from the trace's epoch.
type phaseTime struct {
	part       part
	start, end time.Duration
	id         string // of the rule
}

// A phaseLength is a phase of which only the length is known.
type phaseLength struct {
	part   part
	length time.Duration
	id     string
}

// phasesOf gives the phases that events and attributes of a span tell, by rule
// and then by start. They may overlap, and lie outside the span.
func phasesOf(f *facts) (list []phaseTime) {
	var known map[phaseTime]bool // those of a long list
	f.tables.phases.all(f, func(r *rule[phaseSays]) {
		if p := &r.says; !p.loose {
			p.times(f, func(start, end time.Duration) {
				one := phaseTime{p.part, start, end, r.id}
				if end <= start || known[one] || known == nil && slices.Contains(list, one) {
					return
				}
				if list = append(list, one); len(list) > 32 {
					if known == nil {
						known = map[phaseTime]bool{}
						for _, p := range list {
							known[p] = true
						}
					}
					known[one] = true
				}
			})
		}
	})
	return list
}

// lengthsOf gives the phases of a span of which only the length is known.
func lengthsOf(f *facts) (list []phaseLength) {
	f.tables.phases.all(f, func(r *rule[phaseSays]) {
		if p := &r.says; p.loose {
			if n, ok := scaled(f.get(p.length), p.unit); ok && n > 0 && n <= mostLeft {
				list = append(list, phaseLength{p.part, time.Duration(n), r.id})
			}
		}
	})
	return list
}

// times yields where a phase lies.
func (p *phaseSays) times(f *facts, yield func(start, end time.Duration)) {
	s := f.span
	switch {
	case p.clock:
		if from, ok := clockTime(f, p.from); ok {
			if to, ok := clockTime(f, p.to); ok && from >= s.Start-time.Hour && to <= s.End+time.Hour {
				yield(from, to)
			}
		}
	case p.length != "" && p.from == nil:
		if n, ok := scaled(f.get(p.length), p.unit); ok && n <= mostLeft {
			yield(s.Start, s.Start+time.Duration(n))
		}
	case p.length != "":
		for i := range s.Events {
			if e := &s.Events[i]; named(e, p.from) {
				if n, ok := scaled(eventAttr(e, p.length), p.unit); ok && n <= mostLeft {
					yield(e.At, e.At+time.Duration(n))
				}
			}
		}
	case p.each:
		both := strings.Contains(p.from[0], "*") && p.to != nil && strings.Contains(p.to[0], "*")
		next := map[string]int32{}                // the next event to end a phase, by the text of its *
		ends := make([]int32, 0, len(s.Events))   // of the phases, from the last
		begins := make([]int32, 0, len(s.Events)) // likewise
		for i := int32(len(s.Events)) - 1; i >= 0; i-- {
			e := &s.Events[i]
			if named(e, p.from) {
				if end, ok := next[starText(p.from[0], e.Name, both)]; ok {
					begins, ends = append(begins, i), append(ends, end)
				}
			}
			if named(e, p.to) {
				next[starText(p.to[0], e.Name, both)] = i
			}
		}
		for k := len(begins) - 1; k >= 0; k-- {
			e := &s.Events[ends[k]]
			if p.where.key == "" || p.where.holds(eventAttr(e, p.where.key)) != p.not {
				yield(s.Events[begins[k]].At, e.At)
			}
		}
	default:
		start, found := s.Start, p.from == nil
		for i := range s.Events {
			if named(&s.Events[i], p.from) && (!found || p.last) {
				start, found = s.Events[i].At, true
			}
		}
		if !found {
			return
		}
		for _, name := range p.to {
			for i := range s.Events {
				if glob(name, s.Events[i].Name) {
					yield(start, s.Events[i].At)
					return
				}
			}
		}
	}
}

func named(e *ingest.Event, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return glob(name, e.Name) })
}

// starText is what the * of a glob with one stands for in a name; "" where it does not matter.
func starText(pattern, name string, matters bool) string {
	before, after, ok := strings.Cut(pattern, "*")
	if !matters || !ok || strings.Contains(after, "*") {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(name, before), after)
}

// clockTime is the time that the first of the attributes that is there gives, in
// seconds since 1970. 0 means that the browser withheld it.
func clockTime(f *facts, keys []string) (time.Duration, bool) {
	for _, key := range keys {
		if n, ok := scaled(f.get(key), time.Second); ok && n > 0 {
			return time.Duration(n - f.trace.Epoch), true
		}
	}
	return 0, false
}
