package ingest

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// formSeeds adds the samples whose names begin with one of the prefixes.
func formSeeds(f *testing.F, prefixes ...string) {
	files, err := os.ReadDir(filepath.Join(testdata, "forms"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		for _, prefix := range prefixes {
			if strings.HasPrefix(file.Name(), prefix) {
				content, err := os.ReadFile(filepath.Join(testdata, "forms", file.Name()))
				if err != nil {
					f.Fatal(err)
				}
				f.Add(content)
			}
		}
	}
}

// anyBytes reads any bytes: an error or valid traces, and no more memory than
// the decompressors' windows and the buffers need.
func anyBytes(t *testing.T, content []byte) {
	if len(content) > 1<<16 {
		return
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	readBytes(t, content)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 3*maxWindow {
		t.Errorf("%d MB allocated for %d bytes", grown>>20, len(content))
	}
}

func FuzzUnwrap(f *testing.F) {
	text := strings.Join(three, "\n")
	for _, content := range []string{
		tarOf(f, packed{"a", three[0]}, packed{"b.gz", string(gz([]byte(three[1])))}),
		zipOf(f, packed{"a", three[0]}, packed{"b.tar", tarOf(f, packed{"c", three[1]})}),
		string(gz([]byte(tarOf(f, packed{"a.zip", zipOf(f, packed{"b", three[0]})})))),
		string(zst([]byte(text))),
		utf16Of(text, binary.LittleEndian), utf16Of(text, binary.BigEndian),
		criOf(text, 100), dockerOf(text, 100),
		"INFO: " + strings.Join(three, "\nINFO: "),
	} {
		f.Add([]byte(content))
	}
	f.Fuzz(anyBytes)
}

func FuzzJaeger(f *testing.F) {
	formSeeds(f, "jaeger")
	f.Fuzz(anyBytes)
}

func FuzzZipkin(f *testing.F) {
	formSeeds(f, "zipkin")
	f.Fuzz(anyBytes)
}

// Rows are what stores and consoles write, a span an object.
func FuzzRows(f *testing.F) {
	formSeeds(f, "clickhouse", "signoz", "greptimedb", "openobserve", "axiom", "logfire", "google", "insights", "victoria", "quickwit", "stdouttrace", "python", "php", "js-", "otel-cli", "java", "tempo", "aspire",
		"data-prepper", "opensearch", "elasticsearch", "splunk", "cloudwatch", "vector", "plain")
	f.Fuzz(anyBytes)
}
