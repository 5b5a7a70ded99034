package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// The system says of the heap that it is to lie in huge pages: the flag hg of
// proc_pid_smaps(5).
func TestHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("the system has no huge pages: ", err)
	}
	const least = 64 << 20
	layOutHeap(least)
	mappings, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	laidOut := 0
	for _, m := range regexp.MustCompile(`(?s)\nSize: +(\d+) kB\n.*?\nVmFlags:([^\n]*)`).FindAllSubmatch(mappings, -1) {
		if regexp.MustCompile(` hg\b`).Match(m[2]) {
			size, _ := strconv.Atoi(string(m[1]))
			laidOut += size << 10
		}
	}
	if laidOut < least {
		t.Errorf("%d bytes are to lie in huge pages, want %d at least", laidOut, least)
	}
}
