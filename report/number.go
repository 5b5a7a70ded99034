package report

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// unknown is what a cell without a value says.
const unknown = "–"

// Beyond days, durations are rough: a year is 365 days.
const (
	day  = 24 * time.Hour
	year = 365 * day
)

// units are the units of durations, the largest first. The next one is used from
// 1 on, after rounding.
var units = []struct {
	size time.Duration
	name string
}{{year, "y"}, {day, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"},
	{time.Millisecond, "ms"}, {time.Microsecond, "µs"}, {1, "ns"}}

// dur writes a duration with three significant digits: 29.8 ms. Halves round
// away from zero.
func dur(d time.Duration) string {
	if d == 0 {
		return "0 ms"
	}
	sign, n := "", uint64(d)
	if d < 0 {
		sign, n = "-", -uint64(d) // right for the smallest duration, too
	}
	for i, u := range units {
		size := uint64(u.size)
		// Would the next smaller unit reach this one by rounding? Then this is it:
		// 999.5 ms is 1.00 s. In the smallest unit nothing is rounded.
		if i+1 < len(units) && round(n, step(n, units[i+1].size)) < size {
			continue
		}
		if i+1 == len(units) {
			return sign + strconv.FormatUint(n, 10) + " " + u.name
		}
		by := step(n, u.size)
		whole, rest := round(n, by)/size, round(n, by)%size
		s := strconv.FormatUint(whole, 10)
		switch digits := size / by; digits {
		case 10, 100:
			frac := strconv.FormatUint(rest/by, 10)
			s += "." + strings.Repeat("0", len(strconv.FormatUint(digits, 10))-1-len(frac)) + frac
		}
		return sign + s + " " + u.name
	}
	panic("unreachable")
}

// step is the place of the third significant digit of n in a unit, but no more
// than the unit, and no less than a hundredth of it, or than 1 ns.
func step(n uint64, unit time.Duration) uint64 {
	size := uint64(unit)
	for _, part := range []uint64{100, 10} {
		if size%part == 0 && round(n, size/part) < size/part*1000 {
			return size / part
		}
	}
	return size
}

// round rounds n to a multiple of step.
func round(n, step uint64) uint64 { return (n + step/2) / step * step }

// setting writes a duration without trailing zeros: 50 ms.
func setting(d time.Duration) string {
	s := dur(d)
	number, unit, _ := strings.Cut(s, " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + unit
}

// orUnknown writes a value that may be missing.
func orUnknown[T any](v *T, write func(T) string) string {
	if v == nil {
		return unknown
	}
	return write(*v)
}

// between writes two bounds, with one unit where they share it.
func between(low, high *time.Duration) string {
	if low == nil && high == nil {
		return unknown
	}
	a, b := orUnknown(low, dur), orUnknown(high, dur)
	if a == b {
		return a
	}
	if number, unit, ok := strings.Cut(a, " "); ok && strings.HasSuffix(b, " "+unit) {
		a = number
	}
	return a + " … " + b
}

// part writes a part of a whole with one unit where they share it: 402 of 412 ms.
func part(of, whole time.Duration) string {
	a, b := setting(of), setting(whole)
	if number, unit, ok := strings.Cut(a, " "); ok && (strings.HasSuffix(b, " "+unit) || of == 0) {
		a = number
	}
	return a + " of " + b
}

// count writes a number in groups of three: 2 000.
func count[T int | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return sign + s
}

// Plural writes a count with its noun: 1 trace, 2 traces.
func Plural[T int | int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + severals(noun)
}

// severals is the noun for any number but one.
func severals(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "ry"); ok {
		return stem + "ries"
	}
	return noun + "s"
}

// percent writes a share: 0 % is none and 100 % is all, whatever the rounding.
func percent(share float64) string {
	p := share * 100
	switch {
	case math.IsNaN(p) || math.IsInf(p, 0):
		return unknown
	case p == 0:
		return "0 %"
	case p == 100:
		return "100 %"
	case p > 0 && p < 0.01:
		return "< 0.01 %"
	case p >= 99.95 && p < 100:
		return "> 99.9 %"
	case p < 9.995:
		return strconv.FormatFloat(p, 'f', 2, 64) + " %"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}

// share writes part / whole in percent; unknown where the whole is nothing.
func share[T int | int64 | time.Duration](part, whole T) string {
	switch {
	case whole == 0:
		return unknown
	case part == whole: // the division of large numbers might not give 1
		return percent(1)
	}
	s := float64(part) / float64(whole)
	if s == 1 {
		s = math.Nextafter(1, float64(part-whole))
	}
	return percent(s)
}

// Size writes a number of bytes in decimal units.
func Size(n int64) string {
	if n < 1000 {
		return count(n) + " B"
	}
	f := float64(n)
	for _, unit := range []string{"kB", "MB", "GB", "TB"} {
		f /= 1000
		switch {
		case f < 9.995:
			return strconv.FormatFloat(f, 'f', 2, 64) + " " + unit
		case f < 99.95:
			return strconv.FormatFloat(f, 'f', 1, 64) + " " + unit
		case f < 999.5:
			return strconv.FormatFloat(f, 'f', 0, 64) + " " + unit
		}
	}
	return strconv.FormatFloat(f/1000, 'f', 1, 64) + " PB"
}

// at writes an instant in UTC, to the millisecond.
func at(unix int64) string {
	return time.Unix(0, unix).UTC().Format("2006-01-02 15:04:05.000") + " UTC"
}

// fromTo writes a stretch of time in UTC, to the second; the day once where it is
// one day.
func fromTo(first, last int64) string {
	a, b := time.Unix(0, first).UTC(), time.Unix(0, last).UTC()
	end := time.DateTime
	if a.Format(time.DateOnly) == b.Format(time.DateOnly) {
		end = time.TimeOnly
	}
	return a.Format(time.DateTime) + " … " + b.Format(end) + " UTC"
}
