package analyze

import (
	"time"

	"overrun/ingest"
)

// clockKeys tell machines apart, the best first.
var clockKeys = []string{"host.id", "host.name", "k8s.node.name", "k8s.pod.uid", "container.id", "service.instance.id"}

// instanceKeys tell the instances of a service apart, the best first.
var instanceKeys = []string{"service.instance.id", "k8s.pod.uid", "k8s.pod.name", "host.id", "host.name", "container.id"}

// An emitter is what a resource says of the spans that it emits.
type emitter struct {
	machine     *machine // whose clock it reads; nil: not recorded, and its spans are never moved
	instance    string
	criticality string
	language    string
	told        bool // languages know of it
	coarse      bool // its SDK is known to write whole milliseconds (Node, browsers)

	// Of one trace.
	trace         uint64 // serial number of that trace
	starts, whole int    // spans with a start, and those that start at a whole millisecond
}

// A machine has a clock.
type machine struct {
	trace  uint64 // serial number of the last trace
	number int32  // among the machines of that trace, from 1
}

// emitters remembers the resources met lately. It is for one goroutine.
type emitters struct {
	of       map[*ingest.Resource]*emitter
	machines map[string]*machine
	trace    uint64 // serial number of the trace at hand
}

// maxEmitters is how many resources are remembered.
const maxEmitters = 1 << 16

func newEmitters() emitters {
	return emitters{of: map[*ingest.Resource]*emitter{}, machines: map[string]*machine{}}
}

// emit gives each span of a trace its emitter, in the room given.
func (e *emitters) emit(t *ingest.Trace, room []*emitter) {
	e.trace++
	machines := int32(0)
	var last *ingest.Resource
	var at *emitter
	for i := range t.Spans {
		s := &t.Spans[i]
		if s.Resource != last || at == nil {
			last, at = s.Resource, e.find(s.Resource)
			if at.trace != e.trace {
				at.trace, at.starts, at.whole = e.trace, 0, 0
				if m := at.machine; m != nil && m.trace != e.trace {
					machines++
					m.trace, m.number = e.trace, machines
				}
			}
		}
		room[i] = at
		if s.Defect&ingest.NoStart != 0 {
			continue
		}
		at.starts++
		if (t.Epoch+int64(s.Start))%int64(time.Millisecond) == 0 {
			at.whole++
		}
	}
}

func (e *emitters) find(r *ingest.Resource) *emitter {
	at := e.of[r]
	if at != nil {
		return at
	}
	if len(e.of) >= maxEmitters {
		e.of, e.machines = map[*ingest.Resource]*emitter{}, map[string]*machine{}
	}
	language := r.Attr("telemetry.sdk.language")
	at = &emitter{instance: first(r, instanceKeys), criticality: r.Attr("service.criticality"), language: language, coarse: language == "nodejs" || language == "webjs"}
	for _, key := range clockKeys {
		if name := r.Attr(key); name != "" {
			name = key + "=" + name
			if e.machines[name] == nil {
				e.machines[name] = new(machine)
			}
			at.machine = e.machines[name]
			break
		}
	}
	e.of[r] = at
	return at
}

// first is the first of the attributes that was recorded; "": none.
func first(r *ingest.Resource, keys []string) string {
	for _, key := range keys {
		if v := r.Attr(key); v != "" {
			return v
		}
	}
	return ""
}

// clock is a small number for the clock of the emitter in the trace at hand; 0 is none.
func (e *emitter) clock() int32 {
	if e.machine == nil {
		return 0
	}
	return e.machine.number
}

// grain is that of the emitter's clock: 1 ms where the SDK is known to write whole
// milliseconds, or where all starts in the trace, three or more, are whole milliseconds.
func (e *emitter) grain() time.Duration {
	if e.coarse || e.starts >= 3 && e.whole == e.starts {
		return time.Millisecond
	}
	return 0
}
