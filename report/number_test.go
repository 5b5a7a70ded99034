package report

import (
	"math"
	"testing"
	"time"
)

func TestDur(t *testing.T) {
	const h = time.Hour
	for d, want := range map[time.Duration]string{
		0:                                    "0 ms",
		1:                                    "1 ns",
		-1:                                   "-1 ns",
		999:                                  "999 ns",
		1000:                                 "1.00 µs",
		9_994:                                "9.99 µs",
		9_995:                                "10.0 µs",
		99_949:                               "99.9 µs",
		99_950:                               "100 µs",
		410 * time.Microsecond:               "410 µs",
		999_499:                              "999 µs",
		999_500:                              "1.00 ms",
		1_004_999:                            "1.00 ms",
		1_005_000:                            "1.01 ms",
		29_800 * time.Microsecond:            "29.8 ms",
		-3 * ms:                              "-3.00 ms",
		999_499_999:                          "999 ms",
		999_500_000:                          "1.00 s",
		1230 * ms:                            "1.23 s",
		59_949 * ms:                          "59.9 s",
		59_950 * ms:                          "1.00 min",
		90 * time.Second:                     "1.50 min",
		59*time.Minute + 57*time.Second:      "1.00 h",
		23*h + 59*time.Minute:                "1.00 d",
		30 * 24 * h:                          "30.0 d",
		364 * 24 * h:                         "364 d",
		365 * 24 * h:                         "1.00 y",
		math.MaxInt64:                        "292 y",
		math.MinInt64:                        "-292 y",
		2 * time.Minute:                      "2.00 min",
		time.Duration(9.996 * float64(year)): "10.0 y",
	} {
		if got := dur(d); got != want {
			t.Errorf("dur(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestSetting(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 50 * ms: "50 ms", 1500 * ms: "1.5 s", 100 * ms: "100 ms", 10 * time.Second: "10 s", -8 * ms: "-8 ms", 1: "1 ns", 1_230_000: "1.23 ms",
	} {
		if got := setting(d); got != want {
			t.Errorf("setting(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestShare(t *testing.T) {
	for _, test := range []struct {
		part, whole int
		want        string
	}{
		{0, 0, "–"}, {1, 0, "–"}, {0, 7, "0 %"}, {7, 7, "100 %"},
		{1, 1_000_000, "< 0.01 %"}, {1, 10_000, "0.01 %"}, {5, 10_000, "0.05 %"}, {999_999, 1_000_000, "> 99.9 %"},
		{9994, 10_000, "99.9 %"}, {9995, 10_000, "> 99.9 %"}, {186, 1000, "18.6 %"}, {1895, 10_000, "18.9 %"}, {524, 10_000, "5.24 %"},
		{9994, 100_000, "9.99 %"}, {9996, 100_000, "10.0 %"}, {1, 3, "33.3 %"}, {3, 2, "150.0 %"},
		{math.MaxInt64 - 1, math.MaxInt64, "> 99.9 %"}, {1, math.MaxInt64, "< 0.01 %"},
	} {
		if got := share(test.part, test.whole); got != test.want {
			t.Errorf("share(%d, %d) = %q, want %q", test.part, test.whole, got, test.want)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1)} {
		if got := percent(f); got != unknown {
			t.Errorf("percent(%v) = %q, want unknown", f, got)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1 000", 2000: "2 000", 1234567: "1 234 567", -1000: "-1 000", -999: "-999",
		math.MaxInt64: "9 223 372 036 854 775 807", math.MinInt64: "-9 223 372 036 854 775 808"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.00 kB", 9994: "9.99 kB", 9996: "10.0 kB", 99_940: "99.9 kB", 99_960: "100 kB", 45_600_000_000: "45.6 GB", 12_400_000: "12.4 MB", 999_499: "999 kB", 999_500: "1.00 MB", 2_000_000_000: "2.00 GB",
		math.MaxInt64: "9223.4 PB"} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestBetween(t *testing.T) {
	for _, test := range []struct {
		low, high *time.Duration
		want      string
	}{
		{nil, nil, "–"}, {new(120 * ms), nil, "120 ms … –"}, {nil, new(120 * ms), "– … 120 ms"}, {new(120 * ms), new(450 * ms), "120 … 450 ms"},
		{new(900 * ms), new(1200 * ms), "900 ms … 1.20 s"}, {new(1 * ms), new(1 * ms), "1.00 ms"}, {new(2 * time.Second), new(3 * ms), "2.00 s … 3.00 ms"},
	} {
		if got := between(test.low, test.high); got != test.want {
			t.Errorf("between = %q, want %q", got, test.want)
		}
	}
}

func TestOffsets(t *testing.T) {
	for _, test := range []struct {
		whole, d time.Duration
		want     string
	}{
		{ms, 1, "0.000"}, {ms, -1, "0.000"}, {ms, 999_500, "1.000"}, {ms, 500, "0.001"}, {time.Second, 12_345_678, "12.35"}, {time.Second, -5 * ms, "-5.00"},
		{time.Hour, time.Hour, "3 600 000.0"}, {time.Second, 999_995_000, "1 000.00"},
	} {
		if got := offsets(test.whole)(test.d); got != test.want {
			t.Errorf("offsets(%v)(%d) = %q, want %q", test.whole, test.d, got, test.want)
		}
	}
}
