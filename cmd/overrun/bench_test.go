package main

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
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
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("analyze", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(info.Size())
		for b.Loop() {
			if status := run([]string{"analyze", "--deadline", "200ms", path}, nil, io.Discard, io.Discard); status != 0 {
				b.Fatalf("status %d", status)
			}
		}
	})
	b.Run("pdata decode and discard", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(info.Size())
		for b.Loop() {
			if spans := decodeAndDiscard(b, path); spans == 0 {
				b.Fatal("no spans")
			}
		}
	})
}

// decodeAndDiscard is the peer: pdata, one message after the other.
func decodeAndDiscard(b *testing.B, path string) (spans int) {
	file, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	if err := messages(file, func(td ptrace.Traces) { spans += td.SpanCount() }); err != nil {
		b.Fatal(err)
	}
	return spans
}

// messages gives each message of JSON lines, or of the collector's length-prefixed
// protobuf, to use, as pdata decodes it. It holds one message at a time, in memory that
// serves all: to read the file is the least part of what it costs.
func messages(file io.Reader, use func(ptrace.Traces)) error {
	var asJSON ptrace.JSONUnmarshaler
	var asProto ptrace.ProtoUnmarshaler
	in := bufio.NewReaderSize(file, 1<<16)
	var message []byte
	for {
		head, err := in.Peek(4)
		if err == io.EOF && len(head) == 0 {
			return nil
		} else if err != nil {
			return err
		}
		var traces ptrace.Traces
		if head[0] == '{' {
			message = message[:0]
			for err = bufio.ErrBufferFull; err == bufio.ErrBufferFull; {
				var piece []byte
				piece, err = in.ReadSlice('\n')
				message = append(message, piece...)
			}
			if err == nil || err == io.EOF {
				traces, err = asJSON.UnmarshalTraces(message)
			}
		} else {
			n := int(binary.BigEndian.Uint32(head))
			message = slices.Grow(message[:0], 4+n)[:4+n]
			if _, err = io.ReadFull(in, message); err == nil {
				traces, err = asProto.UnmarshalTraces(message[4:])
			}
		}
		if err != nil {
			return err
		}
		use(traces)
	}
}
