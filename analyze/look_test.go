package analyze

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"overrun/ingest"
)

// asked is what the rules say of a span of the trace when they are asked, whatever is
// remembered.
func (t *traced) asked(i int32, s *ingest.Span) (sighting, callee) {
	above, late := noPart, false
	if p := s.Parent; p >= 0 {
		above = t.seen[p].part
		late = t.Spans[p].Kind == ingest.Client && t.seen[p].state == timedOut
	}
	f := new(canon).facts(t.Trace, s, above, new(look))
	f.tables, f.words = t.rec.tables, t.rec.tables.signals.Words
	f.recognise(late)
	var server *ingest.Span
	if a := t.attempt[i]; a >= 0 && t.attempts[a].server >= 0 {
		server = &t.Spans[t.attempts[a].server]
	}
	return f.look.sighting, callee{f.meet(s.Resource.Service, server), f.route(), f.dated, f.phased, *f.look.rule}
}

// A callee is what else a look tells.
type callee struct {
	met           meeting
	route         string
	dated, phased bool
	rules         sightingRules
}

// What is remembered of a look is what the rules say of every span that has it, whatever
// the values are that do not count.
func TestLooks(t *testing.T) {
	policy, err := ParsePolicy("signals", []byte("signals:\n  dependencies: [{address: '10.*', name: ten}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	spans, kept, loosened, alike := 0, 0, 0, 0
	for _, p := range []*Policy{nil, policy} {
		rec := newRecogniser(p.tables())
		for _, path := range dumpsAtHand(t) {
			if info, err := os.Stat(path); err != nil || info.IsDir() || info.Size() > 8<<20 {
				continue
			}
			store, err := ingest.Open(t.Context(), []string{path}, ingest.Options{Keep: Keep(p), Loose: Loose(), Events: Events(p), Links: true})
			if err != nil {
				continue // a file that is refused, as TestCorpus of ingest tells
			}
			rec.looks.near = nil // of another store
			for pass := range 4 {
				visit(t, store, func(trace *ingest.Trace) {
					for i := range trace.Spans {
						if pass == 3 { // as if the store said nothing
							trace.Spans[i].Alike = 0
						} else if trace.Spans[i].Alike > 0 {
							alike++
						}
					}
					tr := newTraced(trace, &Options{Policy: p}, rec, nil)
					for i := range tr.Spans {
						spans++
						s, l := &tr.Spans[i], tr.looks[i]
						server := int32(-1)
						if a := tr.attempt[i]; a >= 0 {
							server = tr.attempts[a].server
						}
						got := callee{*tr.meet(s.Resource.Service, int32(i), server), tr.routeOf(int32(i)), l.dated, l.phased, *l.rule}
						check := func(s *ingest.Span, what string) {
							sighting, rest := tr.asked(int32(i), s)
							have := l.sighting
							have.rule, sighting.rule = nil, nil
							if sighting != have || !cmp.Equal(got, rest, cmpopts.IgnoreTypes(meetingKey{}), cmp.AllowUnexported(callee{}, meeting{}, peer{}, dependency{}, protocol{}, callRules{}, sightingRules{})) {
								t.Fatalf("%s: span %s %v, %s: remembered %+v %+v, asked %+v %+v", path, s.Name, s.Attrs, what, have, got, sighting, rest)
							}
						}
						check(s, "as it is")
						if !l.kept {
							continue
						}
						kept++
						for k := range s.Attrs {
							if rec.looks.loose.is(s, &s.Attrs[k]) {
								loosened++
								other := *s
								other.Attrs = slices.Clone(s.Attrs)
								other.Attrs[k].Value = strings.Repeat("10.", 40)
								check(&other, "with another "+s.Attrs[k].Key)
							}
						}
					}
				})
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if spans < 10_000 || kept < spans/3 || loosened < 100 || alike < spans/5 {
		t.Errorf("%d spans, %d remembered, %d alike, %d values that do not count", spans, kept, alike, loosened)
	}
}

// visit gives all traces of a store.
func visit(t *testing.T, store *ingest.Store, use func(*ingest.Trace)) {
	for part := range store.Parts() {
		err := store.Part(t.Context(), part, func(trace *ingest.Trace) error {
			use(trace)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Values that rules look at count.
func TestLoose(t *testing.T) {
	s := client("x", "db.query.text=SELECT 1", "url.full=http://a/b", "network.peer.address=10.0.0.1", "server.address=a")
	loosely := func(by *tables) (list []bool) {
		l := newLoose(by)
		for _, k := range looseKeys {
			list = append(list, l.is(s, &ingest.Attr{Key: k.name, Value: s.Attr(k.name)}))
		}
		return list
	}
	read := func(when sign) *tables {
		own := builtIn
		own.parts = newTable(builtIn.parts.rules, []rule[partSays]{{id: "mine", when: when}})
		return &own
	}
	signals := func(text string) *tables {
		p, err := ParsePolicy("signals", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return p.tables()
	}
	for i, test := range []struct {
		by   *tables
		want []bool
	}{
		{&builtIn, []bool{true, true, true}},
		{read(sign{has: []attrIs{{key: "db.query.text", is: "SELECT*"}}}), []bool{false, true, true}},
		{read(sign{has: []attrIs{{key: "url.full", item: "x"}}}), []bool{true, false, true}},
		{read(sign{has: []attrIs{{key: "network.peer.address", is: "10.0.0.2"}}}), []bool{true, true, false}},
		{read(sign{has: []attrIs{{key: "network.peer.address", is: "::1"}}}), []bool{true, true, true}},
		{signals("signals: {dependencies: [{address: '10.*', name: ten}]}"), []bool{true, true, false}},
		{signals("signals: {deadlines: [{key: db.query.text, means: remaining, unit: ms}]}"), []bool{false, true, true}},
		{signals("signals: {sampling: [{key: url.full, means: weight}]}"), []bool{true, false, true}},
	} {
		if got := loosely(test.by); !slices.Equal(got, test.want) {
			t.Errorf("%d: %v, want %v", i, got, test.want)
		}
	}
	l := newLoose(&builtIn)
	if l.is(client("connect", "db.query.text=connect"), &ingest.Attr{Key: "db.query.text", Value: "connect"}) {
		t.Error("a rule looks for db.query.text=connect: it counts")
	}
	if l.is(client("GET", "url.full=http://a/b"), &ingest.Attr{Key: "url.full", Value: "http://a/b"}) {
		t.Error("a URL that alone names the host counts")
	}
}

// What counts of a look that is remembered is there when it is asked for later.
func TestLooksKeepWhatCounts(t *testing.T) {
	for _, test := range []struct{ attrs, callee string }{
		{"a=url.full=http://alone.internal/cart?x=1 a=http.request.method=GET", "alone.internal"}, // nothing else names the host
		{"a=http.url=http://alone.internal/cart?x=1 a=http.method=GET", "alone.internal"},
		{"a=url.full=http://alone.internal/cart a=server.address=named a=http.request.method=GET", "named"},
		{"a=url.full=http://alone.internal/cart a=net.peer.name=named a=http.request.method=GET", "named"},
		{"a=network.peer.address=10.0.0.1", "ip"},
	} {
		rec := newRecogniser(&builtIn)
		for range 4 {
			trace := worked(t, "R - 0 50 k=SERVER s=web\nx R 5 20 k=CLIENT s=web "+test.attrs+"\n").Traces[0]
			r := newTraced(trace, &Options{}, rec, nil).requests[0]
			if len(r.calls) != 1 || r.calls[0].to.callee != test.callee {
				t.Fatalf("%s: calls %v, want one to %s", test.attrs, r.calls, test.callee)
			}
		}
	}
}
