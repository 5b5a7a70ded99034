package ingest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Lists of attributes are sorted as if each were by itself, also once there is no room
// to remember how.
func TestKeyLists(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := newSink(Options{}, newResources(), NewSpooler(0, ""), 1)
	known, unknown := 0, 0
	for range 20_000 {
		s.start(0)
		var want []Attr
		n := random.IntN(6)
		if random.IntN(50) == 0 {
			n = random.IntN(2 * maxKeys)
		}
		for i := range n {
			a := Attr{strings.Repeat("k", 1+random.IntN(20)), fmt.Sprint(i)}
			s.held, want = append(s.held, heldAttr{a, uint32(i)}), append(want, a)
		}
		came := slices.Clone(want)
		want = sortAttrs(want)
		s.finish(&s.records[0], 0, 0)
		list := attrList{s.held, s.records[0].keys}
		for i := range list.attrs {
			if a := list.sorted(i); fmt.Sprint(a.ref) != a.Value {
				t.Errorf("%v: number %d of %v", came, a.ref, a.Attr)
			}
		}
		if got := recordOf(s, 0).span.Attrs; !slices.Equal(got, want) {
			t.Fatalf("%v: %v, want %v", came, got, want)
		}
		if list.keys != nil {
			known++
		} else if len(came) > 0 {
			unknown++
		}
		s.clear()
	}
	if known == 0 || unknown == 0 {
		t.Errorf("%d lists were known and %d were not: want some of both", known, unknown)
	}
}

// recordOf is a record that was read, with its attributes by key.
func recordOf(s *sink, i int) record {
	r := s.records[i]
	list := attrList{s.held[r.from:r.to], r.keys}
	for k := range list.attrs {
		r.span.Attrs = append(r.span.Attrs, list.sorted(k).Attr)
	}
	r.from, r.to, r.keys = 0, 0, nil
	return r
}

// A value is known from before, lent until it is packed, or looked up: whichever, it is
// what pdata reads, and stays so when the memory it came from holds others.
func TestValuesLast(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	keys := []string{"a", "http.route", "server.address", "server.port", "url.full", "zone"}
	o := Options{Keep: append(keys, "p.*"), Events: []string{"*"}}
	pool := make([]string, 400)
	for i := range pool {
		pool[i] = strings.Repeat(string(rune('a'+i%26)), i) + fmt.Sprint(random.IntN(3))
	}
	pool[7], pool[8] = "", "é\n\"quoted\" \\ ü"
	all := ptrace.NewTraces()
	sinks := map[string]*sink{}
	for _, form := range []string{"proto", "JSON"} {
		sinks[form] = newSink(o, newResources(), NewSpooler(0, ""), 1)
	}
	for range 60 {
		td := ptrace.NewTraces()
		for service := range 3 {
			rs := td.ResourceSpans().AppendEmpty()
			rs.Resource().Attributes().PutStr("service.name", fmt.Sprint(service))
			ss := rs.ScopeSpans().AppendEmpty()
			for range 30 {
				span := ss.Spans().AppendEmpty()
				span.SetTraceID([16]byte{byte(random.IntN(9)), 1})
				span.SetSpanID([8]byte{1, byte(random.IntN(256)), byte(random.IntN(256)), byte(random.IntN(256))})
				span.SetStartTimestamp(1)
				span.SetEndTimestamp(2)
				span.SetName(fmt.Sprint(random.IntN(4)))
				e := span.Events().AppendEmpty()
				for n, attrs := range []interface {
					PutStr(string, string)
					PutInt(string, int64)
				}{span.Attributes(), e.Attributes()} {
					for _, i := range random.Perm(len(keys))[n:] {
						switch random.IntN(8) {
						case 0:
							attrs.PutInt(keys[i], int64(random.IntN(1000)))
						case 1:
							attrs.PutStr("p."+keys[i], pool[random.IntN(len(pool))])
						case 2:
							attrs.PutStr(keys[i], pool[random.IntN(len(pool))])
						case 3:
						default:
							attrs.PutStr(keys[i], pool[random.IntN(20)])
						}
					}
				}
			}
		}
		proto, text := marshalled(t, td)
		(&protoBytes{sink: sinks["proto"]}).decode(proto, 0, false)
		(&jsonText{sink: sinks["JSON"]}).decode(text, 0, endOfInput)
		for _, s := range sinks {
			s.flush()
			copy(s.lent[:cap(s.lent)], bytes.Repeat([]byte("?"), cap(s.lent)))
		}
		copy(proto, bytes.Repeat([]byte("?"), len(proto)))
		copy(text, bytes.Repeat([]byte("?"), len(text)))
		td.ResourceSpans().MoveAndAppendTo(all.ResourceSpans())
	}
	want := placeless(FromTraces(all, o).Traces)
	for form, s := range sinks {
		got := placeless(grouped(t, s))
		if len(got) != len(want) {
			t.Fatalf("%s: %d traces, want %d", form, len(got), len(want))
		}
		for i := range want {
			if a, b := len(want[i].Spans), len(got[i].Spans); a != b {
				t.Fatalf("%s: %d spans, want %d", form, b, a)
			}
			for k, a := range want[i].Spans { // one of them is shown: the difference of all takes minutes
				if b := got[i].Spans[k]; !reflect.DeepEqual(a, b) {
					t.Fatalf("%s: %+v, want %+v", form, b, a)
				}
			}
		}
	}
}
