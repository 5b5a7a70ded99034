package analyze

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
)

// A reader reads the text of a deadline that was recorded at an instant. It
// refuses what its grammar does not cover, and what no sane caller would set.
type reader func(text string, at instant) (deadlineReading, bool)

// Limits of what is believed (5.4): a time left from 0 to 24 h, where negative
// means past; an absolute time from 1 h before the span began to 24 h after.
const (
	mostLeft = int64(24 * time.Hour)
	mostPast = int64(time.Hour)
)

// A form is a grammar with its name.
type form struct {
	name string
	says string // in words: whether it is relative or absolute, and how it is written
	read reader
}

// The forms in which deadlines are written.
var (
	grpcForm        = form{"grpc-timeout", "relative, up to 8 digits and one of HMSmun", readGRPC}
	nsForm          = form{"ns", "relative, ns", readNumber(time.Nanosecond)}
	usForm          = form{"us", "relative, µs", readNumber(time.Microsecond)}
	msForm          = form{"ms", "relative, ms", readNumber(time.Millisecond)}
	secondForm      = form{"s", "relative, s", readNumber(time.Second)}
	durationForm    = form{"duration", "relative, number with unit or ISO 8601 duration", readDuration}
	timeForm        = form{"time", "absolute, RFC 3339, HTTP date, or as Go, Ruby or Finagle print times", readTime}
	epochNsForm     = form{"epoch-ns", "absolute, ns since 1970", readEpoch(time.Nanosecond)}
	epochUsForm     = form{"epoch-us", "absolute, µs since 1970", readEpoch(time.Microsecond)}
	epochMsForm     = form{"epoch-ms", "absolute, ms since 1970", readEpoch(time.Millisecond)}
	epochSForm      = form{"epoch-s", "absolute, s since 1970", readEpoch(time.Second)}
	evidentForm     = form{"self-evident", "by what the value says itself: time, duration with unit, or time since 1970 by size; other numbers are refused", readAny(0)}
	anyMsForm       = form{"any-ms", "as self-evident, but other numbers are relative ms", readAny(time.Millisecond)}
	finagleForm     = form{"finagle", "absolute, two numbers of ns since 1970", readFinagle}
	finagleTextForm = form{"finagle-text", "absolute, the number after deadline:", readFinagleText}
	exceededForm    = form{"exceeded-ms", "relative, ms since it passed", readExceeded}
	ttlForm         = form{"ttl", "absolute, ttl=yyyyMMddTHHmmssZ", readTTL}
)

// userForms are those that rules of the user may name.
var userForms = []form{grpcForm, nsForm, usForm, msForm, secondForm, durationForm, timeForm,
	epochNsForm, epochUsForm, epochMsForm, epochSForm, evidentForm}

// left is a reading of a time left.
func left(n, grain int64) (deadlineReading, bool) {
	return deadlineReading{left: n, grain: grain}, n >= -mostLeft && n <= mostLeft
}

// until is a reading of an absolute time, in Unix nanoseconds.
func until(ns, grain int64, at instant) (deadlineReading, bool) {
	n := ns - int64(at)
	ok := (ns >= int64(at)) == (n >= 0) && n >= -mostPast && n <= mostLeft
	return deadlineReading{left: n, grain: grain, absolute: true}, ok
}

// headerText is the first value of a captured header, which may be a list (N3).
func headerText(text string) string {
	text, _, _ = strings.Cut(text, ",")
	return strings.Trim(text, " \t[]\"")
}

// scaled reads a decimal number and scales it to nanoseconds, cutting what is
// finer. No float: an epoch in nanoseconds has more digits than one.
func scaled(text string, unit time.Duration) (int64, bool) {
	text, negative := strings.CutPrefix(text, "-")
	whole, part, _ := strings.Cut(text, ".")
	if whole == "" || len(whole) > 19 || len(part) > 40 || strings.Trim(whole+part, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > math.MaxInt64/int64(unit)-1 {
		return 0, false
	}
	n *= int64(unit)
	for i, digit := 0, int64(unit)/10; i < len(part) && digit > 0; i, digit = i+1, digit/10 {
		n += int64(part[i]-'0') * digit
	}
	if negative {
		n = -n
	}
	return n, true
}

// readGRPC reads gRPC's timeout: 1 to 8 digits and a unit (5.2; gRPC over
// HTTP/2, "Timeout").
func readGRPC(text string, _ instant) (deadlineReading, bool) {
	text = headerText(text)
	if len(text) < 2 || len(text) > 9 {
		return deadlineReading{}, false
	}
	var unit time.Duration
	switch text[len(text)-1] {
	case 'H':
		unit = time.Hour
	case 'M':
		unit = time.Minute
	case 'S':
		unit = time.Second
	case 'm':
		unit = time.Millisecond
	case 'u':
		unit = time.Microsecond
	case 'n':
		unit = time.Nanosecond
	default:
		return deadlineReading{}, false
	}
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	if err != nil || int64(n) > mostLeft/int64(unit) {
		return deadlineReading{}, false
	}
	return left(int64(n)*int64(unit), int64(unit))
}

// readNumber reads a decimal number of a unit. Numbers in milliseconds and
// seconds may have a fraction.
func readNumber(unit time.Duration) reader {
	return func(text string, _ instant) (deadlineReading, bool) {
		n, ok := scaled(headerText(text), unit)
		if !ok {
			return deadlineReading{}, false
		}
		return left(n, int64(min(unit, time.Millisecond)))
	}
}

// readEpoch reads an absolute time as a decimal number of a unit since 1970.
func readEpoch(unit time.Duration) reader {
	return func(text string, at instant) (deadlineReading, bool) {
		text = headerText(text)
		n, ok := scaled(text, unit)
		if !ok {
			return deadlineReading{}, false
		}
		grain := unit
		if strings.Contains(text, ".") {
			grain = min(grain, time.Millisecond)
		}
		return until(n, int64(grain), at)
	}
}

// readDuration reads a Go duration (1.5s), a number with a unit (250 ms, 2d), or
// an ISO 8601 duration (PT2.5S).
func readDuration(text string, _ instant) (deadlineReading, bool) {
	text = headerText(text)
	if n, ok := isoDuration(text); ok {
		return left(n, int64(time.Millisecond))
	}
	if text == "" || len(text) > 40 || strings.Trim(text, "+-0123456789.") == "" { // a number alone has no unit
		return deadlineReading{}, false
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, ok := scaled(strings.TrimSpace(days), 24*time.Hour)
		if !ok {
			return deadlineReading{}, false
		}
		return left(n, int64(time.Millisecond))
	}
	n, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		return deadlineReading{}, false
	}
	return left(int64(n), int64(time.Millisecond))
}

// isoDuration reads an ISO 8601 duration of weeks, days, hours, minutes and
// seconds. Years and months have no fixed length.
func isoDuration(text string) (int64, bool) {
	text, negative := strings.CutPrefix(text, "-")
	text, ok := strings.CutPrefix(text, "P")
	if !ok || text == "" || len(text) > 40 {
		return 0, false
	}
	var sum int64
	units, inTime, any := "WDHMS", false, false
	for text != "" {
		if text[0] == 'T' && !inTime {
			inTime, text = true, text[1:]
			continue
		}
		at := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if at <= 0 {
			return 0, false
		}
		next := strings.IndexByte(units, text[at]) // each unit once, the longer first
		if next < 0 || inTime != strings.Contains("HMS", text[at:at+1]) {
			return 0, false
		}
		unit := map[byte]time.Duration{'W': 7 * 24 * time.Hour, 'D': 24 * time.Hour, 'H': time.Hour, 'M': time.Minute, 'S': time.Second}[text[at]]
		n, ok := scaled(text[:at], unit)
		if !ok || n > math.MaxInt64-sum {
			return 0, false
		}
		sum += n
		units, text, any = units[next+1:], text[at+1:], true
	}
	if negative {
		sum = -sum
	}
	return sum, any
}

// httpLayouts are the three ways to write a date in HTTP (RFC 9110, 5.6.7).
var httpLayouts = []string{"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC850, time.ANSIC}

// timeLayouts are ways to write an absolute time, beside those of HTTP.
var timeLayouts = []string{
	time.RFC3339Nano,
	"2006-01-02 15:04:05.999999999 Z0700",     // Finagle after its last colon is a point; Ruby
	"2006-01-02 15:04:05.999999999 MST",       // Ruby, UTC
	"2006-01-02 15:04:05.999999999 -0700 MST", // Go
	"2006-01-02T15:04:05.999999999-0700",
	"20060102T150405Z0700", // AWS
}

// readTime reads an absolute time: RFC 3339, an HTTP date, and what Finagle, Go
// and Ruby print.
func readTime(text string, at instant) (deadlineReading, bool) {
	text = strings.Trim(text, " \t[]\"")
	if len(text) < 16 || len(text) > 64 {
		return deadlineReading{}, false
	}
	for _, layout := range httpLayouts {
		if when, err := time.Parse(layout, text); err == nil {
			return untilTime(when, time.Second, at)
		}
	}
	text, _, _ = strings.Cut(text, " m=") // Go's monotonic clock
	text = headerText(text)
	if len(text) > 20 && text[4] == '-' && text[19] == ':' { // Finagle: yyyy-MM-dd HH:mm:ss:SSS Z
		text = text[:19] + "." + text[20:]
	}
	for _, layout := range timeLayouts {
		if when, err := time.Parse(layout, text); err == nil {
			grain := time.Second
			if when.Nanosecond() != 0 || strings.Contains(text, ".") {
				grain = time.Millisecond
			}
			return untilTime(when, grain, at)
		}
	}
	return deadlineReading{}, false
}

func untilTime(when time.Time, grain time.Duration, at instant) (deadlineReading, bool) {
	if year := when.Year(); year < 1970 || year > 2200 { // UnixNano is not defined for all times
		return deadlineReading{}, false
	}
	return until(when.UnixNano(), int64(grain), at)
}

// readAny reads a value without a grammar of its own (5.4): a time, a duration,
// or a number whose size says that it is an absolute time. Smaller numbers are a
// time left in the unit that the name of the key says; with unit 0 it says none,
// and they are refused as ambiguous.
func readAny(unit time.Duration) reader {
	return func(text string, at instant) (deadlineReading, bool) {
		if r, ok := readTime(text, at); ok {
			return r, true
		}
		if r, ok := readDuration(text, at); ok {
			return r, true
		}
		epoch := epochUnit(headerText(text))
		switch {
		case epoch > 0 && (unit == 0 || unit == epoch):
			return readEpoch(epoch)(text, at)
		case unit > 0:
			return readNumber(unit)(text, at)
		}
		return deadlineReading{}, false
	}
}

// epochUnit is the unit in which a number is a time since 1970, by its size; 0:
// it is too small to be one. The limits stand for 1973 to 5138.
func epochUnit(text string) time.Duration {
	n, ok := scaled(text, 1)
	switch {
	case !ok || n < 1e9:
		return 0
	case n < 1e11:
		return time.Second
	case n < 1e14:
		return time.Millisecond
	case n < 1e17:
		return time.Microsecond
	}
	return time.Nanosecond
}

// readFinagle reads Finagle's deadline: when it was issued and when it ends, in
// nanoseconds since 1970; as two numbers, or as two big-endian words (which reach us
// in base64).
func readFinagle(text string, at instant) (deadlineReading, bool) {
	text = headerText(text)
	if issued, ends, ok := strings.Cut(text, " "); ok {
		if _, err := strconv.ParseInt(issued, 10, 64); err != nil {
			return deadlineReading{}, false
		}
		n, err := strconv.ParseInt(strings.TrimSpace(ends), 10, 64)
		if err != nil || n < 0 {
			return deadlineReading{}, false
		}
		return until(n, 1, at)
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b) != 16 {
		return deadlineReading{}, false
	}
	n := binary.BigEndian.Uint64(b[8:])
	if n > math.MaxInt64 {
		return deadlineReading{}, false
	}
	return until(int64(n), 1, at)
}

// readFinagleText reads the number after "deadline:" in Finagle's
// finagle_deadline_ms.
func readFinagleText(text string, at instant) (deadlineReading, bool) {
	_, ends, ok := strings.Cut(text, ":deadline:")
	if !ok {
		return deadlineReading{}, false
	}
	ends, _, _ = strings.Cut(ends, ":")
	if unit := epochUnit(strings.TrimSpace(ends)); unit > 0 {
		return readEpoch(unit)(ends, at)
	}
	return deadlineReading{}, false
}

// readExceeded reads by how many milliseconds a deadline had passed.
func readExceeded(text string, _ instant) (deadlineReading, bool) {
	n, ok := scaled(headerText(text), time.Millisecond)
	if !ok || n < 0 {
		return deadlineReading{}, false
	}
	return left(-n, int64(time.Millisecond))
}

// readTTL reads the ttl of AWS's amz-sdk-request.
func readTTL(text string, at instant) (deadlineReading, bool) {
	return readTime(fieldOf(text, "ttl"), at)
}
