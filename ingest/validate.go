package ingest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Check returns every invariant of the trace that does not hold, one line
// each; nil for a valid trace. It is for tests and for overrun check, and
// assumes nothing.
func (t *Trace) Check() []string {
	var breaches []string
	report := func(format string, args ...any) { breaches = append(breaches, fmt.Sprintf(format, args...)) }
	if len(t.Spans) == 0 {
		report("no spans")
	}
	if len(t.Spans) > 0 && t.Spans[0].Start != 0 {
		report("epoch: first span starts at %d, want 0", t.Spans[0].Start)
	}
	cut := make(map[int32]Code)
	for i, n := range t.Notes {
		if n.Span < 0 || int(n.Span) >= len(t.Spans) {
			report("note %d: no span %d", i, n.Span)
		}
		if i > 0 && compareNotes(t.Notes[i-1], n) > 0 {
			report("note %d: out of order", i)
		}
		switch n.Code {
		case Orphan, CycleCut, SelfParent:
			cut[n.Span] = n.Code
		}
	}
	for i := range t.Spans {
		s := &t.Spans[i]
		for _, breach := range s.check() {
			report("span %d: %s", i, breach)
		}
		if i > 0 && s.Resource != nil && t.Spans[i-1].Resource != nil {
			before := &t.Spans[i-1]
			if c := compareSpans(before, s); c > 0 {
				report("span %d: out of order", i)
			} else if c == 0 && s.ID != (SpanID{}) {
				report("span %d: copy of the one before", i)
			}
		}
		t.checkParent(i, cut, report)
	}
	t.checkCycles(report)
	return breaches
}

func (s *Span) check() (breaches []string) {
	add := func(format string, args ...any) { breaches = append(breaches, fmt.Sprintf(format, args...)) }
	if s.Start < 0 {
		add("starts %d before the epoch", -s.Start)
	}
	if s.End < s.Start {
		add("end %d before start %d", s.End, s.Start)
	}
	if s.Defect != 0 && s.End != s.Start {
		add("defect %03b and a duration", s.Defect)
	}
	if s.Kind > Consumer || s.Status > Error || s.Defect > NoStart|NoEnd|EndBeforeStart {
		add("kind %d, status %d or defect %03b is none", s.Kind, s.Status, s.Defect)
	}
	if s.Resource == nil {
		add("no resource")
	} else if !isSorted(s.Resource.Attrs) {
		add("resource attributes not sorted by key")
	}
	if !isSorted(s.Attrs) {
		add("attributes not sorted by key")
	}
	if !slices.IsSortedFunc(s.Events, compareEvents) {
		add("events not sorted by time, name and content")
	}
	for i := range s.Events {
		if !isSorted(s.Events[i].Attrs) {
			add("event %d: attributes not sorted by key", i)
		}
	}
	return breaches
}

// isSorted reports whether keys rise strictly.
func isSorted(attrs []Attr) bool {
	for i := 1; i < len(attrs); i++ {
		if cmp.Compare(attrs[i-1].Key, attrs[i].Key) >= 0 {
			return false
		}
	}
	return true
}

// checkParent checks that a link agrees with the recorded parent id, and that
// a missing one has its note.
func (t *Trace) checkParent(i int, cut map[int32]Code, report func(string, ...any)) {
	s := &t.Spans[i]
	switch {
	case s.Parent < -1 || int(s.Parent) >= len(t.Spans):
		report("span %d: no parent %d", i, s.Parent)
	case s.Parent >= 0:
		p := &t.Spans[s.Parent]
		shares := s.Kind == Server && p.Kind == Client && p.ID == s.ID
		if p.ID == (SpanID{}) || !shares && p.ID != s.ParentID {
			report("span %d: parent id %s, but parent %d has %s", i, s.ParentID, s.Parent, p.ID)
		}
	case s.ParentID != (SpanID{}) && cut[int32(i)] == "":
		report("span %d: parent id %s, no parent and no note", i, s.ParentID)
	}
}

func (t *Trace) checkCycles(report func(string, ...any)) {
	depth := make([]int32, len(t.Spans)) // 0: not known
	for i := range t.Spans {
		steps := 0
		at := int32(i)
		for at >= 0 && int(at) < len(t.Spans) && depth[at] == 0 {
			if steps++; steps > len(t.Spans) {
				report("span %d: in or under a cycle", i)
				return
			}
			at = t.Spans[at].Parent
		}
		for at := int32(i); at >= 0 && int(at) < len(t.Spans) && depth[at] == 0; at = t.Spans[at].Parent {
			depth[at] = 1
		}
	}
}

// Check returns every invariant of the dump and of its traces that does not
// hold.
func (d *Dump) Check() []string {
	var breaches []string
	seen := make(map[string]*Resource)
	spans, dropped := int64(0), int64(0)
	for i, t := range d.Traces {
		for _, b := range t.Check() {
			breaches = append(breaches, fmt.Sprintf("trace %s: %s", t.ID, b))
		}
		if i > 0 && t.ID != (TraceID{}) && slices.Compare(d.Traces[i-1].ID[:], t.ID[:]) >= 0 {
			breaches = append(breaches, fmt.Sprintf("trace %s: out of order", t.ID))
		}
		spans += int64(len(t.Spans))
		for _, n := range t.Notes {
			if n.Code == Duplicate {
				dropped++
			}
		}
		for k := range t.Spans {
			r := t.Spans[k].Resource
			if r == nil {
				continue
			}
			key := fmt.Sprintf("%q %q", r.Service, r.Attrs)
			if have := seen[key]; have == nil {
				seen[key] = r
			} else if have != r {
				breaches = append(breaches, fmt.Sprintf("trace %s: two resources %s", t.ID, key))
			}
		}
	}
	if spans+dropped != d.Spans {
		breaches = append(breaches, fmt.Sprintf("%d spans in traces and %d dropped, but %d read", spans, dropped, d.Spans))
	}
	inFiles := int64(0)
	for _, f := range d.Files {
		inFiles += f.Spans
	}
	if len(d.Files) > 0 && inFiles != d.Spans {
		breaches = append(breaches, fmt.Sprintf("%d spans in files, but %d read", inFiles, d.Spans))
	}
	for i := range d.Notes {
		if i > 0 && d.Notes[i-1].Code >= d.Notes[i].Code {
			breaches = append(breaches, fmt.Sprintf("note %s: out of order", d.Notes[i].Code))
		}
		if d.Notes[i].Count <= 0 || d.Notes[i].Bytes < 0 || d.Notes[i].Bytes > math.MaxInt64/2 {
			breaches = append(breaches, fmt.Sprintf("note %s: count %d, bytes %d", d.Notes[i].Code, d.Notes[i].Count, d.Notes[i].Bytes))
		}
	}
	return breaches
}
