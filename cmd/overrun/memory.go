package main

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// leastMemory is the least that --memory takes: what a run needs besides the spans.
const leastMemory = 256 << 20

// garbage is how much of it may lie beside what is in use, in percent. Most of what a run holds
// are blocks without a pointer: to go over it more than twice as often as Go would costs next to nothing.
const garbage = 40

// A sizeValue is a number of bytes of memory, or a share of what the machine, or
// the container, has.
type sizeValue struct{ to *int64 }

func (v *sizeValue) Type() string { return "size" }

func (v *sizeValue) String() string {
	if v.to == nil || *v.to == 0 {
		return ""
	}
	return strconv.FormatInt(*v.to, 10)
}

// sizeUnits are the units of sizes.
var sizeUnits = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"B", 1},
}

func (v *sizeValue) Set(text string) error {
	size := 0.0
	if share, ok := strings.CutSuffix(text, "%"); ok {
		p, err := strconv.ParseFloat(share, 64)
		if err != nil || !(p > 0 && p <= 100) { // nor NaN
			return fmt.Errorf("%q is no share of the memory: write 1%% to 100%%", text)
		}
		size = p / 100 * float64(machineMemory())
	} else {
		unit := 0.0
		number := text
		for _, u := range sizeUnits {
			if n, ok := strings.CutSuffix(text, u.name); ok {
				number, unit = n, u.bytes
				break
			}
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || unit == 0 || !(n >= 0 && n*unit <= math.MaxInt64/2) { // nor NaN
			return fmt.Errorf("%q is no size: write a number with a unit, such as 512MiB, 2GB or 25%%", text)
		}
		size = n * unit
	}
	if size < leastMemory {
		return fmt.Errorf("%q is too little: at least %d MiB are needed", text, leastMemory>>20)
	}
	*v.to = int64(size)
	return nil
}

// machineMemory is how many bytes of memory the container, or the machine, has.
func machineMemory() int64 {
	n, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	if err != nil || n == 0 || n > math.MaxInt64 {
		return 2 << 30 // nobody says: what any machine has
	}
	return int64(n)
}

// limitMemory makes the memory a limit of the whole process, and returns it: half
// of the machine's where none is given.
func limitMemory(given int64) int64 {
	memory := given
	if memory == 0 {
		memory = max(machineMemory()/2, leastMemory)
	}
	// What the runtime does not count (the program itself, pages that are on their way
	// back) needs a little room.
	if limit := memory - memory/8; os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(limit)
	}
	percent := debug.SetGCPercent(-1) // while the heap is laid out
	if os.Getenv("GOGC") == "" {
		percent = garbage
	}
	layOutHeap(memory / 2)
	debug.SetGCPercent(percent)
	return memory
}
