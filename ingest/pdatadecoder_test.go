package ingest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

var pdataAll = Options{Keep: keepAll.Keep, Events: keepAll.Events, Links: true, Decoder: PdataDecoder}

// pdataReads lists the OTLP of the corpus in which pdata reads other than we,
// with how many spans it gives and why.
var pdataReads = map[string]struct {
	spans int64
	why   string
}{
	"nasty__attribute-kinds.json":              {0, "a null integer costs the object"},
	"nasty__ids.jsonl":                         {14, "ids of other lengths and spellings than hexadecimal cost the line"},
	"nasty__times.jsonl":                       {9, "fractions, exponents and RFC 3339 cost the line"},
	"otlp2parquet__invalid_base64.json":        {0, "an id that is none costs the object"},
	"otlp2parquet__invalid_kind.json":          {0, "a kind that is none costs the object"},
	"otlp2parquet__traces-b64-otel-demo.jsonl": {0, "ids in base64 cost the line"},
}

// Both decoders give the same spans of every file of OTLP, or the table above
// says why not.
func TestDecodersAgree(t *testing.T) {
	compared := 0
	for _, f := range corpus(t) {
		if !strings.Contains(f.form, "otlp") && !strings.Contains(f.form, "be32-len") {
			continue
		}
		path := filepath.Join(shared, "corpus", f.name)
		want, err := Read(context.Background(), []string{path}, keepAll)
		if err != nil {
			continue // TestCorpus says whether that is right
		}
		got, err := Read(context.Background(), []string{path}, pdataAll)
		d := &Dump{}
		if err == nil {
			d = got
			check(t, d)
		}
		if row, ok := pdataReads[f.name]; ok {
			if d.Spans != row.spans {
				t.Errorf("%s: pdata gives %d spans, want %d: %s", f.name, d.Spans, row.spans, row.why)
			}
			continue
		}
		compared++
		if err != nil {
			t.Errorf("%s (%s): %v", f.name, f.form, err)
		} else if diff := diff(want.Traces, got.Traces); diff != "" {
			t.Errorf("%s (%s): %d spans, pdata gives %d %.300s", f.name, f.form, want.Spans, got.Spans, diff)
		}
	}
	if compared < 40 {
		t.Errorf("%d files compared, want 40 or more", compared)
	}
}

// The exports of a real collector, those of one that was killed too: what
// breaks off is read by ours.
func TestDecodersAgreeOnExports(t *testing.T) {
	dir := filepath.Join(shared, "exports")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("NOT TESTED: the exports are not here: %v", err)
	}
	for _, name := range []string{"traces.json", "traces.binpb", "traces.json.zstd", "traces.binpb.zstd", "rot", "rotpz", "bysvc"} {
		for _, export := range []string{"legacy", "crash-native"} {
			path := filepath.Join(dir, export, name)
			want, got := mustRead(t, keepAll, path), mustRead(t, pdataAll, path)
			if d := diff(want.Traces, got.Traces); d != "" {
				t.Errorf("%s/%s %s", export, name, d)
			}
		}
	}
}

// The place of a span is that of what pdata was given, and one bad thing costs
// all of that.
func TestPdataDecoder(t *testing.T) {
	text := "\n " + three[0] + "\n" + three[1] + "\n" + strings.Replace(three[2], `"kind":1`, `"kind":true`, 1)
	path := write(t, "x", []byte(text))
	d := mustRead(t, pdataAll, path)
	if d.Spans != 2 || len(d.Traces) != 1 {
		t.Fatalf("%d spans in %d traces, want 2 in one", d.Spans, len(d.Traces))
	}
	for i, want := range []int64{2, int64(len("\n " + three[0] + "\n"))} {
		if got := d.Traces[0].Spans[i].Position; got != want {
			t.Errorf("span %d is at %d, want %d", i, got, want)
		}
	}
	want := Note{Code: Unreadable, Count: 1, Bytes: int64(len(text) - strings.LastIndex(text, "\n") - 1), Example: Place{File: path, Position: int64(strings.LastIndex(text, "\n") + 1)}}
	got := note(d, Unreadable)
	if !strings.HasPrefix(got.Text, "pdata: ") {
		t.Errorf("text %q, want what pdata says", got.Text)
	}
	if got.Text = ""; got != want {
		t.Errorf("note %+v, want %+v", got, want)
	}

	message, err := new(ptrace.ProtoMarshaler).MarshalTraces(everything())
	if err != nil {
		t.Fatal(err)
	}
	starts := map[int64]bool{} // of the fields of the message
	for at := 0; at < len(message); {
		starts[int64(at)] = true
		_, end, why := next(message, at)
		if why != "" {
			t.Fatal(why)
		}
		at = end
	}
	for _, trace := range mustRead(t, pdataAll, write(t, "x", message)).Traces {
		for _, s := range trace.Spans {
			if !starts[s.Position] {
				t.Errorf("a span at %d, where no ResourceSpans begins", s.Position)
			}
		}
	}
}

// pdata recurses without a bound; what would end the program is refused.
func TestPdataDecoderDepth(t *testing.T) {
	levels := 3_000_000
	deep := strings.Replace(three[0], `"kind":2`, `"attributes":[{"key":"k","value":`+strings.Repeat(`{"arrayValue":{"values":[`, levels)+strings.Repeat(`]}}`, levels)+`}]`, 1)
	value := nested(levels)
	span := append([]byte{0x0a, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, lengthField(fieldAttrs, append([]byte("\x0a\x01k"), lengthField(fieldValue, value)...))...)
	message := lengthField(fieldResourceSpans, lengthField(fieldScopes, lengthField(fieldSpans, span)))
	for name, content := range map[string][]byte{"JSON": []byte(deep + "\n" + three[1]), "protobuf": append(message, lengthField(fieldResourceSpans, nil)...)} {
		d, err := Read(context.Background(), []string{write(t, "x", content)}, pdataAll)
		if name == "protobuf" {
			if err == nil || !strings.HasSuffix(err.Error(), pdataTooDeep) {
				t.Errorf("%s: error %v, want %s", name, err, pdataTooDeep)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := note(d, Unreadable); d.Spans != 1 || n.Text != pdataTooDeep {
			t.Errorf("%s: %d spans and the note %+v, want one and %s", name, d.Spans, n, pdataTooDeep)
		}
	}
}

// lengthField is a length-delimited field of protobuf.
func lengthField(number int, body []byte) []byte {
	out := appendUvarint(nil, uint64(number)<<3|uint64(wireLength))
	out = appendUvarint(out, uint64(len(body)))
	return append(out, body...)
}

func appendUvarint(dst []byte, v uint64) []byte {
	for ; v >= 0x80; v >>= 7 {
		dst = append(dst, byte(v)|0x80)
	}
	return append(dst, byte(v))
}

// nested is an AnyValue of so many arrays in each other. It is written from the
// inside, backwards.
func nested(levels int) []byte {
	var reversed []byte
	for range levels {
		for _, number := range []int{fieldElements, fieldArray} {
			head := appendUvarint([]byte{byte(number)<<3 | byte(wireLength)}, uint64(len(reversed)))
			for i := len(head) - 1; i >= 0; i-- {
				reversed = append(reversed, head[i])
			}
		}
	}
	for i, k := 0, len(reversed)-1; i < k; i, k = i+1, k-1 {
		reversed[i], reversed[k] = reversed[k], reversed[i]
	}
	return reversed
}
