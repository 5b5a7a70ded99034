package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// benchFile is a dump for the benchmarks of the whole job: what
// OVERRUN_BENCH_FILE names (JSON lines, or the collector's length-prefixed
// protobuf), else the sample of the README, unpacked.
func benchFile(b *testing.B) string {
	if path := os.Getenv("OVERRUN_BENCH_FILE"); path != "" {
		return path
	}
	packed, err := os.Open("../../testdata/card-5.jsonl.gz")
	if err != nil {
		b.Fatal(err)
	}
	defer packed.Close()
	unpack, err := gzip.NewReader(packed)
	if err != nil {
		b.Fatal(err)
	}
	data, err := io.ReadAll(unpack)
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "card-5.jsonl")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkWholeJob times analyze beside what reading the same dump with the
// collector's own decoder costs when nothing is done with it. Compare the two:
// absolute times say nothing on a shared machine.
func BenchmarkWholeJob(b *testing.B) {
	path := benchFile(b)
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("analyze", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if status := run([]string{"analyze", "--deadline", "200ms", path}, nil, io.Discard, io.Discard); status != 0 {
				b.Fatalf("status %d", status)
			}
		}
	})
	b.Run("pdata decode and discard", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if spans := decodeAndDiscard(b, data); spans == 0 {
				b.Fatal("no spans")
			}
		}
	})
}

// decodeAndDiscard is the peer: pdata, one message after the other.
func decodeAndDiscard(b *testing.B, data []byte) (spans int) {
	err := messages(data, func(td ptrace.Traces) { spans += td.SpanCount() })
	if err != nil {
		b.Fatal(err)
	}
	return spans
}

// messages gives each message of JSON lines, or of the collector's length-prefixed
// protobuf, to use, as pdata decodes it.
func messages(data []byte, use func(ptrace.Traces)) error {
	var json ptrace.JSONUnmarshaler
	var proto ptrace.ProtoUnmarshaler
	for len(data) > 0 {
		var traces ptrace.Traces
		var err error
		if data[0] == '{' {
			line, rest, _ := bytes.Cut(data, []byte("\n"))
			traces, err = json.UnmarshalTraces(line)
			data = rest
		} else {
			n := 4 + binary.BigEndian.Uint32(data)
			traces, err = proto.UnmarshalTraces(data[4:n])
			data = data[n:]
		}
		if err != nil {
			return err
		}
		use(traces)
	}
	return nil
}
