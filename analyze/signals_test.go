package analyze

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestKeep(t *testing.T) {
	keys := keepKeys(&builtIn)
	for _, key := range []string{"http.request.header.grpc-timeout", "http.request.header.grpc_timeout", "rpc.connect_rpc.request.metadata.connect_timeout_ms",
		"http.response.header.x-yataxi-deadline-expired", "http.status_code", "exception.type", "wait_ms", "http.conn.reused", "upstream_cluster", "SampleRate", "http.request.resend_delay"} {
		if !slices.Contains(keys, key) {
			t.Errorf("keepKeys() lacks %s", key)
		}
	}
	for _, key := range keys {
		if strings.Contains(key, " ") {
			t.Errorf("keepKeys() has %q, which nobody writes", key)
		}
	}
	events := keepEvents(&builtIn)
	for _, name := range []string{"exception", "http.connect.*", "Starting RPC retry *", "responseEnd", "Client Backup Request Won", "retry", "abort"} {
		if !slices.Contains(events, name) {
			t.Errorf("keepEvents() lacks %s", name)
		}
	}
	if slices.Contains(events, "*") {
		t.Error("keepEvents() keeps all events")
	}
}

// referenceIDs are the rows of the reference of signals. T24 is not in it: it is what drivers of
// databases said when they were run.
func referenceIDs() (list []string) {
	for _, block := range []struct {
		letter string
		last   int
	}{{"N", 11}, {"C", 44}, {"R", 35}, {"G", 12}, {"D", 21}, {"T", 24}, {"H", 7}, {"F", 9}, {"W", 11}} {
		for i := 1; i <= block.last; i++ {
			list = append(list, block.letter+strconv.Itoa(i))
		}
	}
	return append(list, "C16b", "T21b", "P2", "P3", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P13")
}

func TestEveryIDIsCovered(t *testing.T) {
	has, why := map[string]bool{}, map[string]string{}
	for _, r := range Signals() {
		has[r.ID] = true
		if r.Source == "" || r.When == "" || r.Says == "" || r.Block == "" {
			t.Errorf("Signals() has an incomplete row: %+v", r)
		}
	}
	for _, w := range withoutRule {
		if why[w.id] != "" || w.why == "" {
			t.Errorf("withoutRule has %s twice, or without a reason", w.id)
		}
		why[w.id] = w.why
	}
	known := referenceIDs()
	for _, id := range known {
		if has[id] == (why[id] != "") {
			t.Errorf("%s: has a rule: %v, has a reason to have none: %v", id, has[id], why[id] != "")
		}
	}
	for id := range has {
		if !slices.Contains(known, id) && id != "spec" && !regexp.MustCompile(`^P2\db?$`).MatchString(id) {
			t.Errorf("Signals() has %s, which the reference has not", id)
		}
	}
}

func TestSignalsFile(t *testing.T) {
	const file = "signals.md"
	want := signalsText()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not current: run go test -run Signals -update", file)
	}
}

func signalsText() string {
	var b strings.Builder
	b.WriteString("# What overrun recognises\n\nGenerated from the tables by `go test -run Signals -update`. Rules are tried from top to\n" +
		"bottom within a table; the first that matches counts. `*` in names matches\nanything, `header x` is a captured request header under any prefix, `rpc code`, `http status`,\n" +
		"`exception type` and `exception message` are made of what was recorded.\n\n" +
		"Where no rule matches: SERVER and CONSUMER spans are entries, CLIENT and PRODUCER spans\ncalls, others own work; a span ended well; there is no deadline, mark or count.\n")
	last := ""
	for _, r := range Signals() {
		if r.Block != last {
			fmt.Fprintf(&b, "\n## %s\n\n| id | a span with | says | source |\n|---|---|---|---|\n", r.Block)
			last = r.Block
		}
		escape := func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.ID, escape(r.When), escape(r.Says), escape(r.Source))
	}
	b.WriteString("\n## Rows of the reference without a rule\n\n| id | why |\n|---|---|\n")
	for _, w := range withoutRule {
		fmt.Fprintf(&b, "| %s | %s |\n", w.id, w.why)
	}
	return b.String()
}
