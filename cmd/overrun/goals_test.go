package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	kgzip "github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// goalsDump is the variable of the environment that names the dumps of
// BenchmarkGoals without their endings: FILE.jsonl and FILE.pb, as
// dumpgen writes them.
const goalsDump = "OVERRUN_BENCH_DUMP"

// A cost is what a process took.
type cost struct {
	cpu, wall time.Duration
	memory    int64 // peak of resident memory, bytes
}

func (c *cost) add(d cost) {
	c.cpu += d.cpu
	c.wall += d.wall
	c.memory = max(c.memory, d.memory)
}

// costOf runs a program of TestMain in a process of its own.
func costOf(b *testing.B, name string, args ...string) cost {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return cost{cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), time.Since(start), used.Maxrss << 10}
}

// peer is the program that is measured beside overrun: it does one thing with a
// dump, and nothing else.
//
//	peer decode FILE      decode it with pdata, one message after the other
//	peer map FILE         do so, and keep its spans by trace
//	peer decompress FILE  take gzip or zstd off
func peer() {
	file, err := os.Open(os.Args[2])
	if err != nil {
		panic(err)
	}
	switch os.Args[1] {
	case "decode":
		decode(file, func(ptrace.Traces) {})
	case "map":
		spans := map[[16]byte][]ptrace.Span{}
		decode(file, func(td ptrace.Traces) {
			for _, rs := range td.ResourceSpans().All() {
				for _, ss := range rs.ScopeSpans().All() {
					for _, s := range ss.Spans().All() {
						spans[s.TraceID()] = append(spans[s.TraceID()], s)
					}
				}
			}
		})
		if len(spans) == 0 {
			panic("no spans")
		}
	case "decompress":
		var r io.Reader
		if strings.HasSuffix(os.Args[2], ".gz") {
			r, err = kgzip.NewReader(file)
		} else {
			r, err = zstd.NewReader(file, zstd.WithDecoderConcurrency(1))
		}
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			panic(err)
		}
	}
}

// decode gives each message of a file of JSON lines, or of the collector's length-prefixed
// protobuf, to use.
func decode(file *os.File, use func(ptrace.Traces)) {
	if err := messages(file, use); err != nil {
		panic(err)
	}
}

// BenchmarkGoals measures the whole job against its goals, each beside its peer in
// the same run. The figures are ratios, and bytes; times say nothing on
// a machine that others use too.
func BenchmarkGoals(b *testing.B) {
	prefix := os.Getenv(goalsDump)
	if prefix == "" {
		b.Skip("NOT MEASURED: " + goalsDump + " names no dump; the README says how")
	}
	if runtime.GOOS != "linux" {
		b.Skip("NOT MEASURED: the unit of peak memory is Linux's")
	}
	job := func(b *testing.B, path string, flags ...string) cost {
		return costOf(b, "overrun", append([]string{"analyze", "--quiet", "--deadline", "200ms", "--format", "json", "-o", os.DevNull, path}, flags...)...)
	}
	for _, form := range []struct{ name, ending string }{{"JSON", ".jsonl"}, {"protobuf", ".pb"}} {
		raw := prefix + form.ending
		spans := spansOf(b, raw)
		b.Run(form.name, func(b *testing.B) {
			var ours, decoded, mapped, one, little cost
			for b.Loop() {
				ours.add(job(b, raw))
				decoded.add(costOf(b, "peer", "decode", raw))
				mapped.add(costOf(b, "peer", "map", raw))
				one.add(job(b, raw, "--jobs", "1"))
				little.add(job(b, raw, "--memory", "256MiB"))
			}
			b.ReportMetric(ratio(ours.cpu, decoded.cpu), "CPU/pdata")
			b.ReportMetric(ratio(ours.cpu, mapped.cpu), "CPU/pdata+map")
			b.ReportMetric(float64(ours.memory)/float64(mapped.memory), "memory/pdata+map")
			b.ReportMetric((float64(ours.memory)-100e6)/float64(spans), "B/span-beyond-100MB")
			b.ReportMetric(ratio(one.wall, ours.wall), "one-worker/all")
			b.ReportMetric(float64(little.memory)/(1<<20), "MiB-at-256MiB")
			b.ReportMetric(ratio(little.cpu, ours.cpu), "CPU-at-256MiB/CPU")
		})
		for _, packed := range []string{".zst", ".gz"} {
			path := pack(b, raw, packed)
			b.Run(form.name+packed, func(b *testing.B) {
				var ours, peer cost
				for b.Loop() {
					ours.add(job(b, path))
					peer.add(costOf(b, "peer", "decompress", path))
				}
				b.ReportMetric(ratio(ours.cpu, peer.cpu), "CPU/decompress")
			})
		}
	}
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

// spansOf is how many spans the report counts.
func spansOf(b *testing.B, path string) (spans int) {
	out, err := exec.Command("overrun", "analyze", "--quiet", "--format", "json", path).Output()
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(out), `"spans":`)
	if _, err := fmt.Sscan(strings.TrimLeft(rest, " "), &spans); err != nil {
		b.Fatal(err)
	}
	return spans
}

// pack compresses a file as zstd -3 and gzip -6 do.
func pack(b *testing.B, path, ending string) string {
	from, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(b.TempDir(), filepath.Base(path)+ending))
	if err != nil {
		b.Fatal(err)
	}
	var w io.WriteCloser
	if ending == ".gz" {
		w, err = gzip.NewWriterLevel(to, 6)
	} else {
		w, err = zstd.NewWriter(to, zstd.WithEncoderLevel(zstd.SpeedDefault))
	}
	if err == nil {
		_, err = io.Copy(w, from)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = to.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	return to.Name()
}
