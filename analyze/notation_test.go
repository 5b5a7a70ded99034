package analyze

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"overrun/ingest"
	"pgregory.net/rapid"
)

// A shape is a trace in the notation of testdata/shapes/README.md, with the path
// and the notes that it should get.
type shape struct {
	Title   string   // the first # line: id and title
	Remarks []string // further # lines: the reasoning
	Spans   []shapeSpan
	Paths   [][]shapeSegment // one for each root, in the order of View
	Notes   []shapeNote
}

// A shapeSpan is a line of a span. Times are in units of the shape.
type shapeSpan struct {
	Name, Parent   string // Parent "-": none; a name that no span has: missing
	Start, End     int64
	NoStart, NoEnd bool // written ? in place of the time
	Kind           ingest.Kind
	Service        string // service.name
	Host           string // host.name; "": none
	Language       string // telemetry.sdk.language; "": none
	Status         string // OK, ERROR, CANCELLED, DEADLINE; "": unset
	Follows        bool
	Attrs          []ingest.Attr
}

// A shapeSegment is a slowChild of a path: name[start,end]{label,label}.
type shapeSegment struct {
	Name       string
	Start, End string   // in units, a decimal if not whole
	Labels     []string // sorted: in-flight, network, remote
}

// A shapeNote is a line ! code span amount. Amount "": any, or none.
type shapeNote struct {
	Code         ingest.Code
	Span, Amount string
}

// shapeBase is the Unix time of unit 0: a whole second.
const shapeBase int64 = 1_792_022_400_000_000_000

// missingParent is the parent id of spans whose parent is missing.
var missingParent = ingest.SpanID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// unit is what 1 in the shape's numbers stands for.
func (s *shape) unit() time.Duration {
	for text, unit := range map[string]time.Duration{
		"units = nanoseconds":  time.Nanosecond,
		"units = microseconds": time.Microsecond,
		"units = milliseconds": time.Millisecond,
	} {
		if strings.Contains(s.Title, text) {
			return unit
		}
	}
	return 100 * time.Microsecond
}

// units writes a duration in units of the shape.
func (s *shape) units(d time.Duration) string {
	unit := s.unit()
	if d%unit == 0 {
		return strconv.FormatInt(int64(d/unit), 10)
	}
	return strconv.FormatFloat(float64(d)/float64(unit), 'f', -1, 64)
}

// shapeID is the span id of the span on line i of the shape's spans, from 0: ids are
// ordered like lines.
func shapeID(i int) (id ingest.SpanID) {
	binary.BigEndian.PutUint64(id[:], uint64(i)+1)
	return id
}

// name is the name of the span with that id.
func (s *shape) name(id ingest.SpanID) string {
	if i := binary.BigEndian.Uint64(id[:]); i >= 1 && i <= uint64(len(s.Spans)) {
		return s.Spans[i-1].Name
	}
	return "?" + id.String()
}

var shapeKinds = map[string]ingest.Kind{
	"INTERNAL": ingest.Internal, "SERVER": ingest.Server, "CLIENT": ingest.Client,
	"PRODUCER": ingest.Producer, "CONSUMER": ingest.Consumer,
}

var shapeStatuses = []string{"OK", "ERROR", "CANCELLED", "DEADLINE"}

// parseShape reads the notation.
func parseShape(name, text string) (*shape, error) {
	s := &shape{}
	names := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		var err error
		switch mark, rest, _ := strings.Cut(line, " "); {
		case line == "":
		case mark == "#" && s.Title == "":
			s.Title = rest
		case mark == "#":
			s.Remarks = append(s.Remarks, rest)
		case mark == "=":
			err = s.parsePath(rest)
		case mark == "!":
			f := strings.Fields(rest)
			if len(f) < 2 || len(f) > 3 {
				err = fmt.Errorf("want ! code span [amount]")
				break
			}
			note := shapeNote{Code: ingest.Code(f[0]), Span: f[1]}
			if len(f) == 3 {
				note.Amount = f[2]
			}
			s.Notes = append(s.Notes, note)
		default:
			if err = s.parseSpan(line); err == nil && names[mark] {
				err = fmt.Errorf("second span %q", mark)
			}
			names[mark] = true
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
	}
	for _, n := range s.Notes {
		if !names[n.Span] {
			return nil, fmt.Errorf("%s: note %s about no span: %q", name, n.Code, n.Span)
		}
	}
	for _, p := range s.Paths {
		for _, seg := range p {
			if !names[seg.Name] {
				return nil, fmt.Errorf("%s: path over no span: %q", name, seg.Name)
			}
		}
	}
	return s, nil
}

func (s *shape) parsePath(text string) error {
	path := []shapeSegment{}
	for _, f := range strings.Fields(text) {
		name, rest, ok := strings.Cut(f, "[")
		times, labels, ok2 := strings.Cut(rest, "]")
		start, end, ok3 := strings.Cut(times, ",")
		if !ok || !ok2 || !ok3 {
			return fmt.Errorf("segment %q: want name[start,end]", f)
		}
		seg := shapeSegment{Name: name, Start: start, End: end}
		if labels != "" {
			if labels[0] != '{' || labels[len(labels)-1] != '}' {
				return fmt.Errorf("segment %q: want {label,label}", f)
			}
			seg.Labels = strings.Split(labels[1:len(labels)-1], ",")
			slices.Sort(seg.Labels)
		}
		path = append(path, seg)
	}
	s.Paths = append(s.Paths, path)
	return nil
}

func (s *shape) parseSpan(line string) error {
	f := strings.Fields(line)
	if len(f) < 4 {
		return fmt.Errorf("want name parent start end")
	}
	span := shapeSpan{Name: f[0], Parent: f[1], Kind: ingest.Internal, Service: "svc"}
	var err error
	if span.NoStart = f[2] == "?"; !span.NoStart {
		if span.Start, err = strconv.ParseInt(f[2], 10, 64); err != nil {
			return err
		}
	}
	if span.NoEnd = f[3] == "?"; !span.NoEnd {
		if span.End, err = strconv.ParseInt(f[3], 10, 64); err != nil {
			return err
		}
	}
	for _, option := range f[4:] {
		key, value, ok := strings.Cut(option, "=")
		switch {
		case !ok:
			return fmt.Errorf("option %q: want key=value", option)
		case key == "k":
			if span.Kind, ok = shapeKinds[value]; !ok {
				return fmt.Errorf("unknown kind %q", value)
			}
		case key == "s":
			span.Service = value
		case key == "h":
			span.Host = value
		case key == "lang":
			span.Language = value
		case key == "st":
			if span.Status = value; !slices.Contains(shapeStatuses, value) {
				return fmt.Errorf("unknown status %q", value)
			}
		case option == "ref=F":
			span.Follows = true
		case key == "a":
			key, value, ok := strings.Cut(value, "=")
			if !ok {
				return fmt.Errorf("option %q: want a=key=value", option)
			}
			span.Attrs = append(span.Attrs, ingest.Attr{Key: key, Value: value})
		default:
			return fmt.Errorf("unknown option %q", option)
		}
	}
	s.Spans = append(s.Spans, span)
	return nil
}

// String writes the notation; parseShape reads it back.
func (s *shape) String() string {
	var b strings.Builder
	if s.Title != "" {
		fmt.Fprintf(&b, "# %s\n", s.Title)
	}
	for _, r := range s.Remarks {
		fmt.Fprintf(&b, "# %s\n", r)
	}
	for i := range s.Spans {
		fmt.Fprintf(&b, "%s\n", &s.Spans[i])
	}
	for _, p := range s.Paths {
		fmt.Fprintf(&b, "= %s\n", pathText(p))
	}
	for _, n := range s.Notes {
		fmt.Fprintf(&b, "! %s\n", n)
	}
	return b.String()
}

func (s *shapeSpan) String() string {
	var b strings.Builder
	time := func(n int64, unknown bool) string {
		if unknown {
			return "?"
		}
		return strconv.FormatInt(n, 10)
	}
	fmt.Fprintf(&b, "%s %s %s %s", s.Name, s.Parent, time(s.Start, s.NoStart), time(s.End, s.NoEnd))
	option := func(key, value, usual string) {
		if value != usual {
			fmt.Fprintf(&b, " %s=%s", key, value)
		}
	}
	for name, kind := range shapeKinds {
		if kind == s.Kind {
			option("k", name, "INTERNAL")
		}
	}
	option("s", s.Service, "svc")
	option("h", s.Host, "")
	option("lang", s.Language, "")
	option("st", s.Status, "")
	if s.Follows {
		b.WriteString(" ref=F")
	}
	for _, a := range s.Attrs {
		fmt.Fprintf(&b, " a=%s=%s", a.Key, a.Value)
	}
	return b.String()
}

func pathText(path []shapeSegment) string {
	var list []string
	for _, seg := range path {
		list = append(list, seg.String())
	}
	return strings.Join(list, " ")
}

func (s shapeSegment) String() string {
	text := fmt.Sprintf("%s[%s,%s]", s.Name, s.Start, s.End)
	if len(s.Labels) > 0 {
		text += "{" + strings.Join(s.Labels, ",") + "}"
	}
	return text
}

func (n shapeNote) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", n.Code, n.Span, n.Amount))
}

// spans builds the spans of a shape, with times since shapeBase.
func (s *shape) spans() []ingest.Span {
	resources := map[[3]string]*ingest.Resource{}
	byName := map[string]int{}
	for i := range s.Spans {
		byName[s.Spans[i].Name] = i
	}
	unit := s.unit()
	spans := make([]ingest.Span, len(s.Spans))
	for i := range s.Spans {
		from := &s.Spans[i]
		to := &spans[i]
		*to = ingest.Span{
			ID: shapeID(i), Parent: -1, Kind: from.Kind, FollowsFrom: from.Follows,
			Start: time.Duration(from.Start) * unit, End: time.Duration(from.End) * unit,
			Name: from.Name, Attrs: slices.Clone(from.Attrs),
			File: "shape", Position: int64(i),
		}
		if parent, ok := byName[from.Parent]; ok {
			to.ParentID = shapeID(parent)
		} else if from.Parent != "-" {
			to.ParentID = missingParent
		}
		// Ingest gives a missing time the value of the other one.
		switch {
		case from.NoStart && from.NoEnd:
			to.Defect = ingest.NoStart | ingest.NoEnd
		case from.NoStart:
			to.Defect, to.Start = ingest.NoStart, to.End
		case from.NoEnd:
			to.Defect, to.End = ingest.NoEnd, to.Start
		case to.End < to.Start:
			to.Defect, to.End = ingest.EndBeforeStart, to.Start
		}
		code := ""
		switch from.Status {
		case "OK":
			to.Status = ingest.OK
		case "ERROR":
			to.Status = ingest.Error
		case "CANCELLED":
			to.Status, code = ingest.Error, "CANCELLED"
		case "DEADLINE":
			to.Status, code = ingest.Error, "DEADLINE_EXCEEDED"
		}
		if code != "" {
			to.Attrs = append(to.Attrs, ingest.Attr{Key: "rpc.response.status_code", Value: code},
				ingest.Attr{Key: "rpc.system.name", Value: "grpc"})
		}
		slices.SortStableFunc(to.Attrs, func(a, b ingest.Attr) int { return cmp.Compare(a.Key, b.Key) })

		key := [3]string{from.Service, from.Host, from.Language}
		if resources[key] == nil {
			r := &ingest.Resource{Service: from.Service}
			if from.Host != "" {
				r.Attrs = append(r.Attrs, ingest.Attr{Key: "host.name", Value: from.Host})
			}
			if from.Language != "" {
				r.Attrs = append(r.Attrs, ingest.Attr{Key: "telemetry.sdk.language", Value: from.Language})
			}
			resources[key] = r
		}
		to.Resource = resources[key]
	}
	return spans
}

// trace builds the trace of a shape.
func (s *shape) trace() *ingest.Trace { return traceOfSpans(s.spans()) }

// traceOfSpans builds a trace of spans with times since shapeBase. It leaves the slice
// as it is.
func traceOfSpans(spans []ingest.Span) *ingest.Trace {
	return ingest.NewTrace(ingest.TraceID{15: 1}, shapeBase, slices.Clone(spans))
}

// readShapes reads testdata/shapes, by file name.
func readShapes(t *testing.T) map[string]*shape {
	t.Helper()
	files, err := filepath.Glob("testdata/shapes/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no shapes: %v", err)
	}
	shapes := map[string]*shape{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parseShape(file, string(text))
		if err != nil {
			t.Fatal(err)
		}
		shapes[strings.TrimSuffix(filepath.Base(file), ".txt")] = s
	}
	return shapes
}

func TestNotationFiles(t *testing.T) {
	for name, want := range readShapes(t) {
		got, err := parseShape(name, want.String())
		if err != nil {
			t.Errorf("print of %s does not parse: %v", name, err)
			continue
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("parse(print(%s)): -want +got\n%s", name, diff)
		}
	}
}

func TestNotationErrors(t *testing.T) {
	for _, text := range []string{
		"R - 0", "R - 0 x", "R - y 1", "R - 0 1 q", "R - 0 1 k=ROOT", "R - 0 1 st=BAD", "R - 0 1 ref=C",
		"R - 0 1 a=b", "R - 0 1\nR - 0 1", "R - 0 1\n= R", "R - 0 1\n= R[0,1]x", "R - 0 1\n= Q[0,1]",
		"R - 0 1\n! skew", "R - 0 1\n! skew Q 1", "R - 0 1\n! skew R 1 2",
	} {
		if _, err := parseShape("test", text); err == nil {
			t.Errorf("parseShape(%q): no error", text)
		} else if !strings.HasPrefix(err.Error(), "test:") {
			t.Errorf("parseShape(%q): error %q does not say where", text, err)
		}
	}
}

// TestNotationTrace compares one trace with what the notation says about it.
func TestNotationTrace(t *testing.T) {
	s, err := parseShape("test", `# T units = microseconds
R - 1 9 k=SERVER s=web h=A
a R 2 ? k=CLIENT s=web h=A st=DEADLINE a=peer.service=db
b gone 3 2 st=ERROR lang=nodejs ref=F
c R ? 7 s=web h=A st=OK
`)
	if err != nil {
		t.Fatal(err)
	}
	spans := s.spans()
	web := spans[0].Resource
	for i := range spans {
		if shared := spans[i].Resource == web; shared != (i != 2) {
			t.Errorf("span %d shares the resource of R: %v", i, shared)
		}
		spans[i].Resource = nil
	}
	if want := (ingest.Resource{Service: "web", Attrs: []ingest.Attr{{Key: "host.name", Value: "A"}}}); !gocmp.Equal(*web, want) {
		t.Errorf("resource = %v, want %v", *web, want)
	}
	const us = time.Microsecond
	want := []ingest.Span{
		{ID: shapeID(0), Parent: -1, Kind: ingest.Server, Start: us, End: 9 * us, Name: "R", File: "shape"},
		{ID: shapeID(1), ParentID: shapeID(0), Parent: -1, Kind: ingest.Client, Status: ingest.Error, Defect: ingest.NoEnd, Start: 2 * us, End: 2 * us, Name: "a", File: "shape", Position: 1,
			Attrs: []ingest.Attr{{Key: "peer.service", Value: "db"}, {Key: "rpc.response.status_code", Value: "DEADLINE_EXCEEDED"}, {Key: "rpc.system.name", Value: "grpc"}}},
		{ID: shapeID(2), ParentID: missingParent, Parent: -1, Kind: ingest.Internal, Status: ingest.Error, Defect: ingest.EndBeforeStart, FollowsFrom: true, Start: 3 * us, End: 3 * us, Name: "b", File: "shape", Position: 2},
		{ID: shapeID(3), ParentID: shapeID(0), Parent: -1, Kind: ingest.Internal, Status: ingest.OK, Defect: ingest.NoStart, Start: 7 * us, End: 7 * us, Name: "c", File: "shape", Position: 3},
	}
	if diff := gocmp.Diff(want, spans); diff != "" {
		t.Errorf("spans: -want +got\n%s", diff)
	}
}

// TestNotationRoundTrip is the property that parse∘print is identity.
func TestNotationRoundTrip(t *testing.T) {
	word := rapid.StringMatching(`[a-z][a-z0-9._/-]{0,6}`)
	text := rapid.StringMatching(`[!-~]{1,5}( [!-~]{1,5}){0,3}`)
	number := rapid.Int64Range(-1000, 1_000_000_000)
	attr := rapid.Custom(func(t *rapid.T) ingest.Attr {
		return ingest.Attr{Key: word.Draw(t, "key"), Value: rapid.StringMatching(`[!-~]{0,8}`).Draw(t, "value")}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := &shape{Title: text.Draw(t, "title"), Remarks: rapid.SliceOfN(text, 0, 2).Draw(t, "remarks")}
		n := rapid.IntRange(0, 6).Draw(t, "spans")
		var names []string
		for i := range n {
			s := shapeSpan{
				Name: fmt.Sprintf("%s%d", word.Draw(t, "name"), i), Parent: "-",
				NoStart: rapid.IntRange(0, 9).Draw(t, "no start") == 0, NoEnd: rapid.IntRange(0, 9).Draw(t, "no end") == 0,
				Kind:    rapid.SampledFrom([]ingest.Kind{ingest.Internal, ingest.Server, ingest.Client, ingest.Producer, ingest.Consumer}).Draw(t, "kind"),
				Service: rapid.SampledFrom([]string{"svc", "web", "a=b"}).Draw(t, "service"), Host: rapid.SampledFrom([]string{"", "A"}).Draw(t, "host"),
				Language: rapid.SampledFrom([]string{"", "nodejs"}).Draw(t, "language"),
				Status:   rapid.SampledFrom(append([]string{""}, shapeStatuses...)).Draw(t, "status"), Follows: rapid.Bool().Draw(t, "follows"),
				Attrs: rapid.SliceOfN(attr, 0, 2).Draw(t, "attributes"),
			}
			if len(s.Attrs) == 0 {
				s.Attrs = nil
			}
			if !s.NoStart {
				s.Start = number.Draw(t, "start")
			}
			if !s.NoEnd {
				s.End = number.Draw(t, "end")
			}
			if i > 0 {
				s.Parent = rapid.SampledFrom(append(names, "-", "gone")).Draw(t, "parent")
			}
			names = append(names, s.Name)
			want.Spans = append(want.Spans, s)
		}
		if len(want.Remarks) == 0 {
			want.Remarks = nil
		}
		for range rapid.IntRange(0, 2).Draw(t, "paths") {
			path := []shapeSegment{}
			for range rapid.IntRange(0, min(n, 3)).Draw(t, "segments") {
				path = append(path, shapeSegment{Name: rapid.SampledFrom(names).Draw(t, "of"),
					Start: want.units(time.Duration(number.Draw(t, "from"))), End: want.units(time.Duration(number.Draw(t, "to"))),
					Labels: rapid.SampledFrom([][]string{nil, {"in-flight"}, {"in-flight", "network"}, {"remote"}}).Draw(t, "labels")})
			}
			want.Paths = append(want.Paths, path)
		}
		for range rapid.IntRange(0, min(n, 2)).Draw(t, "notes") {
			want.Notes = append(want.Notes, shapeNote{Code: ingest.Code(word.Draw(t, "code")),
				Span: rapid.SampledFrom(names).Draw(t, "about"), Amount: rapid.SampledFrom([]string{"", "7", "-0.5"}).Draw(t, "amount")})
		}
		got, err := parseShape("test", want.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, want)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("parse(print(shape)): -want +got\n%s\n%s", diff, want)
		}
	})
}
