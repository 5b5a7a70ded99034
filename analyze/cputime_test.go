package analyze

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is what the process has used of the processors: unlike the time of day it
// does not grow while others have them.
func cpuTime(t testing.TB) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
