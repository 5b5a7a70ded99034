package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A bomb is input that asks for more than it is. It must end within the bounds,
// with the status and with words on one of the outputs.
type bomb struct {
	name   string
	input  func(t *testing.T, size int64) io.Reader // of about so many bytes where it can be chosen
	file   bool                                     // it is written to a file and named; else it is standard input
	status int
	want   string        // in the message, or in the report in JSON
	most   int64         // peak of resident memory, in MB
	within time.Duration // for size bombSize, several times what an idle machine takes
	heavy  bool          // only with bigBombs
}

const (
	// bombSize is how long bombs are that can be of any length: longer than what
	// is held whole.
	bombSize = 300 << 20
	// bigBombs is the variable of the environment that gives them another length,
	// in GB, and runs the heavy ones.
	bigBombs = "OVERRUN_BOMBS"
	// measured is the variable that names the file for the peak of memory.
	measured = "OVERRUN_MEASURED"
)

// repeat gives head, then the text again and again until there are n bytes, then
// the tail.
func repeat(head, text, tail string, n int64) io.Reader {
	block := strings.Repeat(text, max(1, 1<<20/len(text)))
	return io.MultiReader(strings.NewReader(head), &repeated{block: block, left: n / int64(len(block))}, strings.NewReader(tail))
}

type repeated struct {
	block string
	at    int
	left  int64 // blocks
}

func (r *repeated) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.block[r.at:])
	if r.at += n; r.at == len(r.block) {
		r.at = 0
		r.left--
	}
	return n, nil
}

// of makes the input of a bomb that has one length.
func of(s func() string) func(*testing.T, int64) io.Reader {
	return func(*testing.T, int64) io.Reader { return strings.NewReader(s()) }
}

// endless makes the input of a bomb of any length.
func endless(head, text, tail string) func(*testing.T, int64) io.Reader {
	return func(_ *testing.T, n int64) io.Reader { return repeat(head, text, tail, n) }
}

func spanOf(id int, members string) string {
	return fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x","name":"s","kind":2,"startTimeUnixNano":"1792022400000000000","endTimeUnixNano":"1792022400100000000"%s}`, id, id, members)
}

func resourceOf(service, spans string) string {
	return `{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"` + service + `"}}]},"scopeSpans":[{"scope":{"name":"x"},"spans":[` + spans + `]}]}`
}

func lineOf(spans string) string { return `{"resourceSpans":[` + resourceOf("svc", spans) + "]}\n" }

// deepSpan is a line whose span has an attribute that nests, the innermost value
// left out.
func deepSpan(key, open, close string, levels int) string {
	return lineOf(spanOf(1, `,"attributes":[{"key":"`+key+`","value":`+strings.Repeat(open, levels)+strings.Repeat(close, levels)+`}]`)) + lineOf(spanOf(2, ""))
}

// many writes n things with commas between.
func many(n int, one func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(one(i))
	}
	return b.String()
}

// packedBlocks is a stream of deflate that unpacks to n times the block.
func packedBlocks(block string, n int64) []byte {
	var one bytes.Buffer
	w, err := flate.NewWriter(&one, flate.BestCompression)
	if err != nil {
		panic(err)
	}
	io.WriteString(w, block)
	w.Flush() // the block ends at a whole byte and refers to itself only
	out := bytes.Repeat(one.Bytes(), int(n))
	return append(out, 3, 0) // an empty last block
}

// gzipBomb unpacks to head and then n bytes.
func gzipBomb(head string, n int64) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	io.WriteString(w, head)
	w.Close()
	const block = 64 << 20
	var member bytes.Buffer
	w.Reset(&member)
	io.WriteString(w, strings.Repeat("a", block))
	w.Close()
	for ; n > 0; n -= block {
		out.Write(member.Bytes())
	}
	return out.Bytes()
}

// zipBomb has entries, which share the same packed bytes where they can.
func zipBomb(entries int, packed []byte, size int64) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := range entries {
		e, err := w.CreateRaw(&zip.FileHeader{Name: fmt.Sprint(i), Method: zip.Deflate, CRC32: crc32.ChecksumIEEE(nil), CompressedSize64: uint64(len(packed)), UncompressedSize64: uint64(size)})
		if err != nil {
			panic(err)
		}
		e.Write(packed)
	}
	w.Close()
	return out.Bytes()
}

func gzipOf(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

const aResource = `{"resource":{"attributes":[]},"scopeSpans":[]}`

var bombs = []bomb{
	// One line without end.
	{name: "a string", input: endless(`{"a":"`, "a", ""), status: exitCouldNot, want: "longer than 256 MiB", most: 700, within: time.Minute},
	{name: "spaces", input: endless("", " ", ""), status: exitCouldNot, want: "empty", most: 100, within: time.Minute},
	{name: "spaces in an object", input: endless(`{`, " ", ""), status: exitCouldNot, want: "longer than 256 MiB", most: 700, within: time.Minute, heavy: true},
	{name: "line feeds", input: endless("{}\n", "\n", ""), status: exitCouldNot, want: "no spans", most: 300, within: time.Minute, heavy: true},
	{name: "NULs", input: endless("{}", "\x00", ""), status: exitCouldNot, want: "no spans", most: 100, within: time.Minute, heavy: true},
	{name: "[", input: endless("", "[", ""), status: exitCouldNot, want: "no spans", most: 100, within: time.Minute, heavy: true},
	{name: "{", input: endless("", "{", ""), status: exitCouldNot, want: "broken JSON", most: 700, within: time.Minute, heavy: true},
	{name: `{"a":`, input: endless("", `{"a":`, ""), status: exitCouldNot, want: "longer than 256 MiB", most: 700, within: time.Minute, heavy: true},
	{name: `{"a":[`, input: endless("", `{"a":[`, ""), status: exitCouldNot, want: "longer than 256 MiB", most: 700, within: time.Minute, heavy: true},
	{name: "digits", input: endless("", "7", ""), status: exitCouldNot, want: "plain text", most: 700, within: time.Minute, heavy: true},
	{name: "digits in an object", input: endless(`{"a":`, "7", ""), status: exitCouldNot, want: "longer than 256 MiB", most: 700, within: time.Minute, heavy: true},
	{name: "digits as a time", input: endless(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"`, "7", ""), status: exitCouldNot, want: "longer than 256 MiB", most: 700, within: time.Minute},
	{name: "backslashes", input: endless(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"`, `\\`, ""), status: exitCouldNot, want: "longer than 256 MiB", most: 1100, within: time.Minute, heavy: true},
	{name: "letters", input: endless("", "a", ""), status: exitCouldNot, want: "plain text", most: 700, within: time.Minute, heavy: true},
	{name: "quotes", input: endless("", `"`, ""), status: exitCouldNot, want: "plain text", most: 700, within: time.Minute, heavy: true},
	{name: "lines of garbage", input: endless("", "}\n", ""), status: exitCouldNot, want: "plain text", most: 300, within: time.Minute, heavy: true},
	{name: "empty objects", input: endless("", "{}", ""), status: exitCouldNot, want: "no spans", most: 300, within: time.Minute, heavy: true},
	{name: "CRI parts", input: endless("", "2026-11-29T23:27:26.000000001Z stdout P aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", ""), status: exitCouldNot, want: "plain text, begins", most: 700, within: time.Minute, heavy: true},
	{name: "a CRI line", input: endless("2026-11-29T23:27:26.000000001Z stdout F {}\n2026-11-29T23:27:26.000000001Z stdout F ", "a", ""), status: exitCouldNot, want: "plain text, begins", most: 700, within: time.Minute},
	// One line that is a dump.
	{name: "resources on one line", input: endless(`{"resourceSpans":[`, aResource+",", resourceOf("svc", spanOf(1, ""))+"]}"), want: `"spans":1,`, most: 300, within: time.Minute, heavy: true},
	{name: "long spans on one line", input: endless(`{"resourceSpans":[{"resource":{},"scopeSpans":[{"scope":{},"spans":[`, spanOf(1, `,"attributes":[{"key":"k","value":{"stringValue":"`+strings.Repeat("a", 1<<19)+`"}}]`)+",", spanOf(2, "")+"]}]}]}"), want: `"traces":2,`, most: 300, within: time.Minute},
	{name: "logs on one line", input: endless(lineOf(spanOf(1, ""))+`{"resourceLogs":[`, "{},", "{}]}\n"+lineOf(spanOf(2, ""))), want: `"traces":2,`, most: 700, within: time.Minute, heavy: true},
	// Packed.
	{name: "gzip", file: true, input: func(_ *testing.T, n int64) io.Reader { return bytes.NewReader(gzipBomb(`{"a":"`, n)) }, status: exitCouldNot, want: "longer than 256 MiB", most: 700, within: time.Minute, heavy: true},
	{name: "gzip in gzip", file: true, input: func(_ *testing.T, n int64) io.Reader {
		return bytes.NewReader(gzipOf(gzipBomb(lineOf(spanOf(1, "")), max(n, 2<<30))))
	}, want: "unpacks to more than 1000 times its size", most: 700, within: time.Minute, heavy: true},
	{name: "gzip in gzip in gzip", file: true, input: func(_ *testing.T, n int64) io.Reader {
		return bytes.NewReader(gzipOf(gzipOf(gzipBomb(`{"a":"`, max(n, 2<<30)))))
	}, status: exitCouldNot, want: "longer than 256 MiB", most: 700, within: time.Minute, heavy: true},
	{name: "zip", file: true, input: func(_ *testing.T, n int64) io.Reader {
		return bytes.NewReader(zipBomb(1, packedBlocks(strings.Repeat("a", 64<<20), n/(64<<20)), n))
	}, status: exitCouldNot, want: "plain text, begins", most: 700, within: time.Minute, heavy: true},
	{name: "zip on standard input", input: func(_ *testing.T, n int64) io.Reader {
		return bytes.NewReader(zipBomb(8, packedBlocks(strings.Repeat("a", 64<<20), n/(64<<20)/8), n/8))
	}, status: exitCouldNot, want: "plain text, begins", most: 1700, within: time.Minute, heavy: true},
	{name: "archives in archives", file: true, input: func(*testing.T, int64) io.Reader {
		inner := []byte(lineOf(spanOf(1, "")))
		for range 5 {
			inner = zipOfCopies(inner, 16)
		}
		return bytes.NewReader(inner)
	}, want: `"spans":983040`, most: 1000, within: 2 * time.Minute, heavy: true},
	{name: "a zip of a million files", file: true, input: func(*testing.T, int64) io.Reader {
		return bytes.NewReader(zipBomb(1_000_000, packedBlocks("{}", 1), 2))
	}, status: exitCouldNot, want: "no spans", most: 700, within: 2 * time.Minute, heavy: true},
	// Much of something, well formed.
	{name: "a million resources", input: of(func() string {
		var b strings.Builder
		for i := range 1_000_000 {
			b.WriteString(`{"resourceSpans":[` + strings.Replace(resourceOf("svc", spanOf(i+1, "")), `"attributes":[`, fmt.Sprintf(`"attributes":[{"key":"service.instance.id","value":{"stringValue":"pod-%d"}},`, i), 1) + "]}\n")
		}
		return b.String()
	}), want: `"spans":1000000,`, most: 1500, within: 2 * time.Minute, heavy: true},
	{name: "100 000 attributes", input: of(func() string {
		return lineOf(spanOf(1, `,"attributes":[`+many(100_000, func(i int) string { return fmt.Sprintf(`{"key":"k%d","value":{"intValue":"%d"}}`, i, i) })+`]`))
	}), want: `"spans":1,`, most: 300, within: 10 * time.Second},
	{name: "100 000 attributes that are kept", input: of(func() string {
		return lineOf(spanOf(1, `,"attributes":[`+many(100_000, func(i int) string {
			return fmt.Sprintf(`{"key":"http.request.header.x%d","value":{"intValue":"%d"}}`, 100_000-i, i)
		})+`]`))
	}), want: `"spans":1,`, most: 300, within: 10 * time.Second},
	{name: "one attribute 100 000 times", input: of(func() string {
		return lineOf(spanOf(1, `,"attributes":[`+many(100_000, func(i int) string { return fmt.Sprintf(`{"key":"http.route","value":{"stringValue":"%d"}}`, i) })+`]`))
	}), want: `"spans":1,`, most: 300, within: 10 * time.Second},
	{name: "100 000 events", input: of(func() string {
		return lineOf(spanOf(1, `,"events":[`+many(100_000, func(i int) string {
			return fmt.Sprintf(`{"name":"exception","timeUnixNano":"1792022400%09d","attributes":[{"key":"exception.type","value":{"stringValue":"e%d"}}]}`, 100_000-i, i)
		})+`]`))
	}), want: `"spans":1,`, most: 300, within: 10 * time.Second},
	{name: "100 000 links", input: of(func() string {
		return lineOf(spanOf(1, `,"links":[`+many(100_000, func(i int) string { return fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x"}`, i%7+1, i+1) })+`]`) + "," + spanOf(2, ""))
	}), want: `"spans":2,`, most: 300, within: 10 * time.Second},
	// Deep.
	{name: "5 000 arrays in an attribute", input: of(func() string { return deepSpan("http.route", `{"arrayValue":{"values":[`, `]}}`, 5000) }), want: `"spans":2,`, most: 200, within: 10 * time.Second},
	{name: "5 000 maps in an attribute", input: of(func() string {
		return deepSpan("http.route", `{"kvlistValue":{"values":[{"key":"k","value":`, `}]}}`, 5000)
	}), want: `"spans":2,`, most: 200, within: 10 * time.Second},
	{name: "5 000 arrays in place of a value", input: of(func() string { return deepSpan("http.route", `[`, `]`, 5000) }), want: `"spans":2,`, most: 200, within: 10 * time.Second},
	{name: "5 000 objects in a member nobody knows", input: of(func() string {
		return lineOf(spanOf(1, `,"x":`+strings.Repeat(`{"a":`, 5000)+"1"+strings.Repeat("}", 5000)))
	}), want: `"spans":1,`, most: 200, within: 10 * time.Second},
	{name: "a million maps in an attribute", input: of(func() string {
		return deepSpan("http.route", `{"kvlistValue":{"values":[{"key":"k","value":`, `}]}}`, 1_000_000)
	}), want: `"spans":2,`, most: 700, within: 30 * time.Second, heavy: true},
	{name: "5 000 envelopes", input: of(func() string {
		return strings.Repeat(`{"data":`, 5000) + lineOf(spanOf(1, "")) + strings.Repeat("}", 5000)
	}), status: exitCouldNot, want: "too many envelopes in each other", most: 200, within: 10 * time.Second},
	// Lengths that lie.
	{name: "a field of 2 GB", input: of(func() string { return "\x0a\xf0\xff\xff\xff\x07\x0a\x00" }), status: exitCouldNot, want: "at 0: longer than 256 MiB", most: 100, within: 10 * time.Second},
	{name: "a field of 2 GB, all of it there", input: endless("\x0a\xf0\xff\xff\xff\x07\x12\x80\x80\x80\x80\x04", "\x12\x00", ""), status: exitCouldNot, want: "longer than 256 MiB", most: 700, within: time.Minute},
	{name: "a message of 4 GB", input: of(func() string {
		return string(binary.BigEndian.AppendUint32([]byte("\x00\x00\x00\x02\x0a\x00"), 0xffff_fff0)) + "\x0a\x00"
	}), status: exitCouldNot, want: "longer than 256 MiB", most: 100, within: 10 * time.Second},
	{name: "empty messages", input: endless("\x00\x00\x00\x02\x0a\x00", "\x00\x00\x00\x02\x0a\x00", ""), status: exitCouldNot, want: "no spans", most: 300, within: 2 * time.Minute, heavy: true},
	{name: "empty fields", input: endless("\x0a\x00", "\x0a\x00", ""), status: exitCouldNot, want: "empty", most: 300, within: 2 * time.Minute, heavy: true},
	{name: "fields of lengths beyond their message", input: endless("\x0a\x04\x12\x02\x12\x7f", "\x0a\x04\x12\x02\x12\x7f", ""), status: exitCouldNot, want: "input ends", most: 300, within: 2 * time.Minute, heavy: true},
}

func zipOfCopies(content []byte, n int) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := range n {
		e, err := w.Create(fmt.Sprint(i))
		if err != nil {
			panic(err)
		}
		e.Write(content)
	}
	w.Close()
	return out.Bytes()
}

// measure runs the program that its arguments name, and writes the peak of its
// resident memory in MB, and the seconds of CPU it took, to a file.
func measure() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	_ = cmd.Run() // its status is passed on
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	text := fmt.Sprint(used.Maxrss>>10, " ", cmd.ProcessState.UserTime().Seconds())
	if err := os.WriteFile(os.Getenv(measured), []byte(text), 0o666); err != nil {
		panic(err)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// Every bomb ends in bounded memory and time with a clear word. The memory is
// that of a process of its own.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: bombs")
	}
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: the unit of peak memory is Linux's")
	}
	size := int64(bombSize)
	big := os.Getenv(bigBombs) != ""
	if big {
		n, err := strconv.Atoi(os.Getenv(bigBombs))
		if err != nil {
			t.Fatal(err)
		}
		size = int64(n) << 30
	}
	for _, b := range bombs {
		t.Run(b.name, func(t *testing.T) {
			if b.heavy && !big {
				t.Skip("NOT TESTED without " + bigBombs)
			}
			input := b.input(t, size)
			name := "-"
			if b.file {
				name = filepath.Join(t.TempDir(), "bomb")
				f, err := os.Create(name)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(f, input); err != nil {
					t.Fatal(err)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				input = nil
			}
			// A process begins with the peak of the one that started it, which is this
			// one's without a small one in between.
			cmd := exec.Command("measure", "overrun", "analyze", "--format", "json", name)
			at := filepath.Join(t.TempDir(), "peak")
			cmd.Env = append(os.Environ(), measured+"="+at)
			cmd.Stdin = input
			var stdout, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			start := time.Now()
			_ = cmd.Run() // its status is checked
			took := time.Since(start)
			text, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			var peak int64
			var user float64
			if _, err := fmt.Sscan(string(text), &peak, &user); err != nil {
				t.Fatal(err)
			}
			out := stderr.String() + stdout.String()
			within := b.within
			if big {
				within *= 20
			}
			t.Logf("%d MB, %.1f s (user %.1f s): %.150q", peak, took.Seconds(), user, out)
			if status := cmd.ProcessState.ExitCode(); status != b.status || !strings.Contains(out, b.want) {
				t.Errorf("status %d, want %d and %q in: %.1000s", status, b.status, b.want, out)
			}
			if peak > b.most {
				t.Errorf("%d MB at the peak, want %d at most", peak, b.most)
			}
			if took > within {
				t.Errorf("took %v, want %v at most", took, within)
			}
			if strings.Contains(stderr.String(), "goroutine ") {
				t.Errorf("a panic: %.2000s", stderr.String())
			}
		})
	}
}
