package analyze

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"overrun/ingest"
)

// testEpoch is when all test traces begin, in Unix ns: a whole second.

const testEpoch = 1_795_995_871 * int64(time.Second)

var testTrace = &ingest.Trace{ID: ingest.TraceID{15: 1}, Epoch: testEpoch}

// newSpan makes a span of 100 ms with attributes in pairs. @event@50ms is an event

// 50 ms after the start, !text the status text of a failed span, scope: its scope.

func newSpan(kind ingest.Kind, name string, attrs ...string) *ingest.Span {
	s := &ingest.Span{Kind: kind, Name: name, End: 100 * time.Millisecond, Resource: &ingest.Resource{Service: "shop"}}
	for _, a := range attrs {
		switch {
		case a == "!":
			s.Status = ingest.Error
		case a[0] == '!':
			s.Status, s.StatusText = ingest.Error, a[1:]
		case a[0] == '@':
			name, at, _ := strings.Cut(a[1:], "@")
			d, err := time.ParseDuration(at)
			if err != nil {
				panic(err)
			}
			s.Events = append(s.Events, ingest.Event{Name: name, At: d})
		case strings.HasPrefix(a, "scope:"):
			s.Scope = a[len("scope:"):]
		case strings.HasPrefix(a, "state:"):
			s.TraceState = a[len("state:"):]
		case strings.HasPrefix(a, "exception."):
			key, value, _ := strings.Cut(a, "=")
			if len(s.Events) == 0 || s.Events[len(s.Events)-1].Name != "exception" {
				s.Events = append(s.Events, ingest.Event{Name: "exception", At: 90 * time.Millisecond})
			}
			e := &s.Events[len(s.Events)-1]
			e.Attrs = append(e.Attrs, ingest.Attr{Key: key, Value: value})
		case strings.HasPrefix(a, "of event "):
			key, value, _ := strings.Cut(a[len("of event "):], "=")
			e := &s.Events[len(s.Events)-1]
			e.Attrs = append(e.Attrs, ingest.Attr{Key: key, Value: value})
		default:
			key, value, ok := strings.Cut(a, "=")
			if !ok {
				panic(a)
			}
			s.Attrs = append(s.Attrs, ingest.Attr{Key: key, Value: value})
		}
	}
	slices.SortFunc(s.Attrs, func(a, b ingest.Attr) int { return strings.Compare(a.Key, b.Key) })
	return s
}

func client(name string, attrs ...string) *ingest.Span { return newSpan(ingest.Client, name, attrs...) }

func inner(name string, attrs ...string) *ingest.Span {
	return newSpan(ingest.Internal, name, attrs...)
}

func entry(name string, attrs ...string) *ingest.Span { return newSpan(ingest.Server, name, attrs...) }

func factsOf(s *ingest.Span, parent part) *facts {
	f := new(canon).facts(testTrace, s, parent, new(look))
	return &f
}

// Every phase span of the reference that is of kind CLIENT (marked † there).

// What judge decided before there were tables stays as it was.

func TestFacts(t *testing.T) {
	s := client("x", "http.status_code=404", "rpc.grpc.status_code=2", "rpc.response.status_code=OK", "http.request.header.x_foo_bar=1",
		"exception.type=E", "exception.message=Oh No", "!Bad", "net.host.name=here", "net.peer.name=there")
	f := factsOf(s, noPart)
	for key, want := range map[string]string{"http status": "404", "http.response.status_code": "404", "rpc code": "", "header x-foo-bar": "1",
		"exception type": "E", "exception message": "Oh No", "server.address": "there", "nothing": ""} {
		if got := f.get(key); got != want {
			t.Errorf("get(%q) = %q, want %q", key, got, want)
		}
	}
	if f.text != "bad\noh no" {
		t.Errorf("text = %q", f.text)
	}
	for code, want := range map[string]string{"0": "OK", "4": "DEADLINE_EXCEEDED", "deadline_exceeded": "DEADLINE_EXCEEDED", "DeadlineExceeded": "DEADLINE_EXCEEDED",
		"CANCELED": "CANCELLED", "canceled": "CANCELLED", "20": "", "-32601": "", "": ""} {
		if got := rpcName(code); got != want {
			t.Errorf("rpcName(%q) = %q, want %q", code, got, want)
		}
	}
}

// referenceIDs lists the rows of the reference of signals.

// The cost of a span does not grow with the number of rules.

func TestCandidates(t *testing.T) {
	count := func(s *ingest.Span) (n int) {
		f := factsOf(s, callPart)
		for _, c := range [][]int32{partTable.candidates(f, nil), countTable.candidates(f, nil), phaseTable.candidates(f, nil),
			outcomeTable.candidates(f, nil), deadlineTable.candidates(f, nil), hedgeTable.candidates(f, nil), insteadTable.candidates(f, nil)} {
			n += len(c)
		}
		return n
	}
	ok := client("HTTP GET", "http.request.method=GET", "http.response.status_code=200", "server.address=cart", "server.port=80", "url.full=http://cart/", "scope:otelhttp")
	const most = 8
	if n := count(ok); n > most {
		t.Errorf("an ordinary call looks at %d rules, want at most %d", n, most)
	}
	if n := count(inner("work")); n > 4 {
		t.Errorf("an ordinary span looks at %d rules, want at most 4", n)
	}
	// A thousand more rules change nothing.
	var more []rule[partSays]
	for i := range 1000 {
		more = append(more, rule[partSays]{id: "X", priority: byUser, when: sign{name: fmt.Sprintf("user rule %d *", i)}, says: partSays{part: ownPart}},
			rule[partSays]{id: "Y", priority: byUser, when: sign{has: []attrIs{{key: "user.key", is: strconv.Itoa(i)}}}, says: partSays{part: ownPart}},
			rule[partSays]{id: "Z", priority: byUser, when: sign{event: fmt.Sprintf("user event %d", i)}, says: partSays{part: ownPart}})
	}
	big := newTable(partTable.rules, more)
	s := client("http.getconn", "user.key=500", "@user event 7@1ms")
	if got, want := len(big.candidates(factsOf(s, callPart), nil)), len(partTable.candidates(factsOf(s, callPart), nil))+2; got != want {
		t.Errorf("with 3000 more rules %d are looked at, want %d", got, want)
	}
}

func TestNoAllocations(t *testing.T) {
	c := canon{}
	s := client("HTTP GET", "http.request.method=GET", "http.response.status_code=200", "server.address=cart", "url.full=http://cart/", "scope:otelhttp")
	room := new(look)
	c.facts(testTrace, s, noPart, room)
	if n := testing.AllocsPerRun(100, func() {
		f := c.facts(testTrace, s, noPart, room)
		partOf(&f)
		tallyOf(&f)
		outcomeOf(&f, false)
		hedgeOf(&f)
		insteadOf(&f)
	}); n > 2 {
		t.Errorf("an ordinary call costs %v allocations", n)
	}
}

func BenchmarkRecognise(b *testing.B) {
	c := canon{}
	s := client("HTTP GET", "http.request.method=GET", "http.response.status_code=200", "server.address=cart", "url.full=http://cart/", "scope:otelhttp")
	room := new(look)
	b.ReportAllocs()
	for b.Loop() {
		f := c.facts(testTrace, s, noPart, room)
		partOf(&f)
		tallyOf(&f)
		outcomeOf(&f, false)
		hedgeOf(&f)
		insteadOf(&f)
		phasesOf(&f)
	}
}

// signals.md says what the tables say. go test -run Signals -update rewrites it.

// Rules of the user come before all others.
func TestUserRules(t *testing.T) {
	own := builtIn
	own.parts = newTable(builtIn.parts.rules, []rule[partSays]{{id: "mine", priority: byUser, when: sign{name: "http.getconn"}, says: partSays{part: ownPart}}})
	f := factsOf(client("http.getconn"), noPart)
	f.tables = &own
	if got, id := partOf(f); got.part != ownPart || id != "mine" {
		t.Errorf("partOf with a rule of the user = %s by %q, want own work by mine", partNames[got.part], id)
	}
}
