package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// nightOf makes the table of a night of requests to one dependency, as simulated: median
// latency in ms, share of requests that are late and of those that try again.
func nightOf(t *testing.T, rng *rand.Rand, at int, requests int, median, retry float64) *NightTable {
	t.Helper()
	n := &night{}
	const begin = int64(1_780_000_000_000_000_000)
	for i := range requests {
		trace, root := fmt.Sprintf("%016x%016x", rng.Uint64(), rng.Uint64()), fmt.Sprintf("%016x", rng.Uint64()|1)
		start := begin + int64(at)*int64(24*time.Hour) + int64(i)*int64(time.Second)
		took := func() int64 { return int64(median * 1e6 * math.Exp(0.5*rng.NormFloat64())) }
		now := start
		for try := 0; ; try++ {
			end, status := now+took(), 200
			if rng.Float64() < retry {
				status = 503
			}
			n.add(trace, fmt.Sprintf("%016x", rng.Uint64()|1), nightSpan{service: "shop", name: "prices", parent: root, kind: 3, start: now, end: end, status: status, resend: try})
			now = end
			if status == 200 {
				break
			}
		}
		n.add(trace, root, nightSpan{service: "shop", name: "/page", kind: 2, start: start, end: now + 1e6, status: 200})
	}
	a := mustAnalyse(t, []string{n.whole(t)}, nil, Options{Deadline: 100 * time.Millisecond})
	table, err := a.NightTable(fmt.Sprint("night ", at))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func drifts(t *Trend) (list []string) {
	for _, r := range t.Dependencies {
		for _, s := range r.Series {
			if s.Drift != "" {
				list = append(list, string(s.Figure)+" "+s.Drift)
			}
		}
	}
	return list
}

// Nights that are alike do not drift; one that is slower, or tries more often, does.
func TestTrendDrift(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	var nights []*NightTable
	for at := range 6 {
		nights = append(nights, nightOf(t, rng, at, 400, 40, 0.02))
	}
	trend := NewTrend(nights, 14)
	if got := drifts(trend); got != nil {
		t.Errorf("nights that are alike: %v", got)
	}
	slower := NewTrend(append(slices.Clone(nights), nightOf(t, rng, 6, 401, 60, 0.02)), 14)
	if got := drifts(slower); !slices.Contains(got, "p50_ns up") || !slices.Contains(got, "late_share up") || slices.Contains(got, "attempts_per_request up") {
		t.Errorf("a slower night: %v", got)
	}
	more := NewTrend(append(slices.Clone(nights), nightOf(t, rng, 6, 400, 40, 0.3)), 14)
	if got := drifts(more); !slices.Contains(got, "attempts_per_request up") || slices.Contains(got, "p50_ns up") {
		t.Errorf("a night with more attempts: %v", got)
	}

	// What the series hold is what the data were made of.
	row := slower.Dependencies[0]
	if row.Calls != 401 {
		t.Errorf("calls of the last night: %d, want one of each of 401 requests", row.Calls)
	}
	for f, want := range map[Figure][2]float64{FigureP50: {0.85 * 40e6, 1.15 * 40e6}, FigureAttempts: {1, 1.06}} {
		s := row.Series[slices.Index(Figures, f)]
		if len(s.Points) != 7 || *s.Points[0].Point < want[0] || *s.Points[0].Point > want[1] {
			t.Errorf("%s of the first of %d nights is %v, want %v", f, len(s.Points), *s.Points[0].Point, want)
		}
	}
	// Neither the order in which nights are given nor those that are older show.
	shuffled := []*NightTable{nights[3], nights[0], nights[5], nights[1], nights[4], nights[2]}
	if got := NewTrend(shuffled, 3); len(got.Nights) != 3 || got.Nights[0].File != "night 3" || got.Nights[2].File != "night 5" {
		t.Errorf("the last three nights are %v", got.Nights)
	}
}

// A dependency that was not called in a night has no point there, and no drift comes of it.
func TestTrendGaps(t *testing.T) {
	f := func(v float64) *float64 { return &v }
	point := func(low, high float64) *Reading { return &Reading{f((low + high) / 2), f(low), f(high)} }
	for _, test := range []struct {
		name   string
		points []*Reading
		want   string
	}{
		{"one night", []*Reading{point(1, 2)}, ""},
		{"two nights", []*Reading{point(1, 2), point(3, 4)}, ""},
		{"above both", []*Reading{point(1, 2), point(1, 2), point(3, 4)}, DriftUp},
		{"below both", []*Reading{point(3, 4), point(3, 4), point(1, 2)}, DriftDown},
		{"above one of two", []*Reading{point(1, 2), point(3, 5), point(3, 4)}, ""},
		{"above two of three", []*Reading{point(1, 2), point(3, 5), point(1, 2), point(3, 4)}, DriftUp},
		{"that touch", []*Reading{point(1, 3), point(1, 3), point(3, 4)}, ""},
		{"gaps do not count", []*Reading{nil, point(1, 2), nil, point(1, 2), {}, point(3, 4)}, DriftUp},
		{"gaps leave one", []*Reading{nil, nil, point(1, 2), point(3, 4)}, ""},
		{"absent at last", []*Reading{point(1, 2), point(1, 2), nil}, ""},
		{"open above", []*Reading{{f(2), f(1), nil}, {f(2), f(1), nil}, {f(9), f(8), nil}}, ""},
		{"open below the last", []*Reading{{f(2), f(1), f(3)}, {f(2), f(1), f(3)}, {f(9), f(8), nil}}, DriftUp},
	} {
		if got := driftOf(test.points); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// In nights that are alike a drift is rare: of 4 000 series of binomial repeats and of medians,
// less than one in 500 is flagged, be there few nights or many.
func TestTrendChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 19))
	for _, nights := range []int{3, 7, 14} {
		const series = 4000
		flagged := [2]int{}
		for range series {
			points := [2][]*Reading{}
			for range nights {
				var c callers
				var s Sample
				for range 60 {
					tries := 1
					for rng.Float64() < 0.03 {
						tries++
					}
					c.add(unknownWeight, tries)
					s.Add(time.Duration(1e7 * math.Exp(rng.NormFloat64())))
				}
				mean := c.mean()
				l := s.Latency()
				p50 := readingOf(&l.P50)
				points[0], points[1] = append(points[0], &mean), append(points[1], &p50)
			}
			for i := range points {
				if driftOf(points[i]) != "" {
					flagged[i]++
				}
			}
		}
		t.Logf("%d nights: %d and %d of %d", nights, flagged[0], flagged[1], series)
		if flagged[0] > series/500 || flagged[1] > series/500 {
			t.Errorf("%d nights: %v of %d series drift by chance", nights, flagged, series)
		}
	}
}

// The interval of attempts covers the true mean in at least 93 of 100 runs, rare repeats and
// frequent ones.
func TestAttemptsInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 29))
	for _, again := range []float64{0.002, 0.02, 0.3} {
		const runs = 2000
		truth, covered := 1/(1-again), 0
		for range runs {
			var c callers
			for range 200 {
				tries := 1
				for rng.Float64() < again {
					tries++
				}
				c.add(unknownWeight, tries)
			}
			if v := c.mean(); *v.Low <= truth && truth <= *v.High {
				covered++
			}
		}
		if covered < runs*93/100 {
			t.Errorf("repeats %v: %d of %d intervals cover", again, covered, runs)
		}
	}
}
