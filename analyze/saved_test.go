package analyze

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"overrun/ingest"
)

// goldenSummary is a summary of version 1 of the dumps goldenDumps, read with the flags
// of goldenOptions. It is never made anew: it has to stay readable.
const goldenSummary = "testdata/summary-v1.overrun"

var goldenDumps = []string{"../testdata/card-5.jsonl.gz", "../testdata/exports-legacy.binpb.zstd"}

func goldenOptions() Options { return Options{Deadline: 150 * time.Millisecond} }

func TestGoldenSummary(t *testing.T) {
	saved, err := os.ReadFile(goldenSummary)
	if err != nil {
		t.Fatal(err)
	}
	whole := mustAnalyse(t, goldenDumps, nil, goldenOptions())
	sameReport(t, "version 1", mustAnalyse(t, nil, [][]byte{saved}, goldenOptions()), whole)
}

// What is no summary, or not whole, is refused in words that say which.
func TestBadSummaries(t *testing.T) {
	o := nightOptions()
	good := save(t, mustAnalyse(t, []string{newNight(30).whole(t)}, nil, o))
	refuse := func(what string, b []byte, o Options, words ...string) {
		t.Helper()
		a, err := analysisOf(t, nil, [][]byte{b}, o)
		if err == nil {
			t.Errorf("%s: read all the same, %d requests", what, a.Report.Input.Requests)
			return
		}
		if !strings.HasPrefix(err.Error(), "night-0: ") {
			t.Errorf("%s: %v: does not name the file", what, err)
		}
		if len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(err.Error(), w) }) {
			t.Errorf("%s: %v: want one of %q", what, err, words)
		}
	}
	for n := range good {
		if n < 200 || n%37 == 0 || n > len(good)-50 {
			refuse(fmt.Sprintf("the first %d bytes", n), good[:n], o, "cut off")
		}
	}
	for at := range good {
		if at < 200 || at%41 == 0 || at > len(good)-50 {
			for _, bit := range []byte{1, 0x80} {
				b := bytes.Clone(good)
				b[at] ^= bit
				refuse(fmt.Sprintf("bit %#x of byte %d", bit, at), b, o, "damaged", "cut off", "no summary", "version", "made with")
			}
		}
	}
	// What the library says of bytes that do not unpack has many words: all mean damage.
	var names strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&names, "service-%d GET /route/%d/{id}", i*i%97, i%13)
	}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	text := w.EncodeAll([]byte(names.String()), []byte(SummaryMagic+"\x01"))
	for at := len(SummaryMagic) + 1; at < len(text); at++ {
		b := bytes.Clone(text)
		b[at] ^= 0x55
		refuse(fmt.Sprintf("byte %d of names", at), b, o, "damaged", "cut off")
	}
	newer := bytes.Clone(good)
	newer[len(SummaryMagic)] = summaryVersion + 1
	refuse("a newer one", newer, o, fmt.Sprintf("version %d", summaryVersion+1))
	refuse("nothing", nil, o, "cut off")
	refuse("a dump", []byte(`{"resourceSpans":[]}`), o, "no summary")
	refuse("more than one", append(bytes.Clone(good), good...), o, "damaged")
	refuse("a byte more", append(bytes.Clone(good), 0), o, "damaged")

	other := o
	other.MaxSkew = time.Second
	refuse("another max-skew", good, other, "max-skew 1m0s")
	other = o
	other.SplitBy = "cloud.region"
	refuse("rows that are split", good, other, "without --split-by")
	policy, err := ParsePolicy("policy.yaml", []byte("signals: {infer_retries: false, deadlines: [{key: x.budget, means: remaining, unit: ms}]}"))
	if err != nil {
		t.Fatal(err)
	}
	other = o
	other.Policy = policy
	refuse("other signals", good, other, "deadlines, infer_retries")
}

// Signals that are the same, wherever they stand in their files, are no other signals; nor
// are those that say what is the default.
func TestSameSignals(t *testing.T) {
	path := newNight(20).whole(t)
	with := func(text string) Options {
		p, err := ParsePolicy("policy.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return Options{Policy: p}
	}
	saved := save(t, mustAnalyse(t, []string{path}, nil, with("signals: {deadlines: [{key: x.budget, means: remaining, unit: ms}]}")))
	mustAnalyse(t, nil, [][]byte{saved}, with("\n\nmargin: 10%\nsignals:\n  deadlines:\n  - {means: remaining, unit: ms, key: x.budget}"))
	saved = save(t, mustAnalyse(t, []string{path}, nil, Options{}))
	mustAnalyse(t, nil, [][]byte{saved}, with("signals: {}"))
}

// Rows that a summary tells apart can be put together, as if nobody had split them.
func TestUnsplit(t *testing.T) {
	path := newNight(60).whole(t)
	o := nightOptions()
	o.SplitBy = "http.route"
	keep := append(Keep(nil), o.SplitBy)
	store, err := ingest.Open(t.Context(), []string{path}, ingest.Options{Keep: keep, Events: Events(nil), Links: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	split, err := RunSaved(t.Context(), store, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	defer split.Close()
	if split.Report.Routes[0].Split == nil {
		t.Error("nothing was split")
	}
	saved := save(t, split)
	sameReport(t, "split", mustAnalyse(t, nil, [][]byte{saved}, o), split)
	sameReport(t, "put together", mustAnalyse(t, nil, [][]byte{saved}, nightOptions()), mustAnalyse(t, []string{path}, nil, nightOptions()))
}

// A picked analysis has not all that a summary promises.
func TestSavePicked(t *testing.T) {
	o := nightOptions()
	o.Pick.Service = "shop"
	a := mustAnalyse(t, []string{newNight(5).whole(t)}, nil, o)
	if err := a.Save(io.Discard); err == nil {
		t.Error("a picked analysis was saved")
	}
}

// sealed makes a summary of records as they lie: it packs them, and adds the end that fits.
func sealed(t testing.TB, records []byte) []byte {
	a := newAnalysis(nightOptions())
	defer a.Close()
	l := a.newLoader()
	_ = l.load(t.Context(), bytes.NewReader(packed(t, records))) // it has no end; how far it came is what counts
	end := binary.AppendUvarint(binary.AppendUvarint(nil, l.traces), l.requests)
	end = append(end, sha(records)...)
	records = binary.AppendUvarint(append(slices.Clip(records), byte(endRecord)), uint64(len(end)))
	return packed(t, append(records, end...))
}

func sha(b []byte) []byte {
	sum := sha256.Sum256(b)
	return sum[:]
}

func packed(t testing.TB, records []byte) []byte {
	b := append([]byte(SummaryMagic), summaryVersion)
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(savedWindow))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(records, b)
}

// recordsOf unpacks a summary, without its end.
func recordsOf(t testing.TB, summary []byte) []byte {
	r, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := r.DecodeAll(summary[len(SummaryMagic)+1:], nil)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(b); {
		if recordKind(b[at]) == endRecord {
			return b[:at]
		}
		size, n := binary.Uvarint(b[at+1:])
		at += 1 + n + int(size)
	}
	t.Fatal("no end")
	return nil
}

// lastTrace cuts records into those before the last trace, and what it holds.
func lastTrace(records []byte) (before, trace []byte) {
	for at := 0; at < len(records); {
		size, n := binary.Uvarint(records[at+1:])
		next := at + 1 + n + int(size)
		if recordKind(records[at]) == traceRecord {
			before, trace = records[:at], records[at+1+n:next]
		}
		at = next
	}
	return before, trace
}

// TestSummaryOfZeros: what a record only says is there takes no memory. 16 MiB of zeros pack
// into 2 kB, and each place of a count is tried by what lies before them.
func TestSummaryOfZeros(t *testing.T) {
	const size = 16 << 20
	before, trace := lastTrace(recordsOf(t, save(t, mustAnalyse(t, []string{newNight(1).whole(t)}, nil, nightOptions()))))
	for _, kept := range []int{0, 16, 17, 18, 26, 30, 40, 60, len(trace) / 2, len(trace)} {
		for _, count := range []uint64{0, 1 << 10, 1 << 23} {
			record := slices.Clone(trace[:kept])
			if count > 0 {
				record = binary.AppendUvarint(record, count)
			}
			record = append(record, make([]byte, size-len(record))...)
			all := binary.AppendUvarint(append(slices.Clip(before), byte(traceRecord)), uint64(len(record)))
			summary := packed(t, append(all, record...))
			var from, to runtime.MemStats
			runtime.ReadMemStats(&from)
			a, err := RunSaved(t.Context(), nil, []Saved{{"a", func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(summary)), nil }}}, nightOptions())
			runtime.ReadMemStats(&to)
			if err == nil {
				t.Errorf("%d bytes of a trace, and zeros: it is read", kept)
				a.Close()
			}
			// The record grows to its length by and by, and is copied; work of requests, 200 bytes for 18.
			if used := to.TotalAlloc - from.TotalAlloc; used > 24*size {
				t.Errorf("%d bytes of a trace, %d, and zeros take %d MiB", kept, count, used>>20)
			}
		}
	}
}

// A summary of any content is refused, or gives a report: no panic, and no more memory
// than some times its length. trace is one more trace behind the records, since a record of
// another length makes the next none.
func FuzzSummary(f *testing.F) {
	for _, of := range []struct {
		traces int
		o      Options
	}{{1, nightOptions()}, {1, Options{}}, {3, nightOptions()}} {
		before, trace := lastTrace(recordsOf(f, save(f, mustAnalyse(f, []string{newNight(of.traces).whole(f)}, nil, of.o))))
		f.Add(before, trace)
	}
	f.Add([]byte("H\x02{}"), []byte{})
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, records, trace []byte) {
		if len(trace) > 0 {
			records = binary.AppendUvarint(append(slices.Clip(records), byte(traceRecord)), uint64(len(trace)))
			records = append(records, trace...)
		}
		for _, b := range [][]byte{sealed(t, records), append([]byte(SummaryMagic+"\x01"), records...)} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
			a, err := RunSaved(t.Context(), nil, []Saved{{"a", open}, {"b", open}}, nightOptions())
			runtime.ReadMemStats(&after)
			if used := int64(after.TotalAlloc - before.TotalAlloc); used > 128<<20+int64(len(records))<<7 {
				t.Errorf("%d bytes for %d bytes of records", used, len(records))
			}
			if err != nil {
				continue
			}
			if err := a.Save(io.Discard); err != nil {
				t.Errorf("it cannot be saved again: %v", err)
			}
			a.Close()
		}
	})
}
