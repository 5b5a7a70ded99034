package analyze

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// TrendSchema is the version of the JSON form of a Trend.
const TrendSchema = "overrun.trend/v1"

// A Trend shows how dependencies did in one night after the other.
type Trend struct {
	Schema       string     `json:"schema"`
	SplitBy      string     `json:"split_by,omitempty"`
	Nights       []Night    `json:"nights"`       // oldest first
	NoNights     []NoNight  `json:"no_nights"`    // files that hold no span, in the order they were read
	Dependencies []TrendRow `json:"dependencies"` // sorted by name
}

// A NoNight is a file that is no night.
type NoNight struct {
	File string `json:"file"`
	Why  string `json:"why"` // what it holds instead of spans
}

// A Night is what one input was: of a night, or of any other stretch of time.
type Night struct {
	File     string `json:"file"`
	Start    *int64 `json:"start_unix_ns"` // null: no span has both its times
	End      *int64 `json:"end_unix_ns"`
	Spans    int64  `json:"spans"`
	Requests int    `json:"requests"`
	Notes    []Note `json:"notes"`
}

// A TrendRow is a dependency in all nights, in each of Figures.
type TrendRow struct {
	Caller    string   `json:"caller"`
	Callee    string   `json:"callee"`
	Operation string   `json:"operation"`
	Split     *string  `json:"split,omitempty"`
	Calls     int      `json:"calls"` // in the last night
	Series    []Series `json:"series"`
}

// A Figure is what a Series shows.
type Figure string

const (
	FigureP50     Figure = "p50_ns"
	FigureP999    Figure = "p999_ns"
	FigureCeiling Figure = "ceiling_ns" // as suggested
	// FigureLate is the late share of the answered requests with a deadline that call the
	// dependency.
	FigureLate Figure = "late_share"
	// FigureAttempts is how many attempts a request makes of those that call the
	// dependency.
	FigureAttempts Figure = "attempts_per_request"
)

// Figures lists all figures, in the order of the report.
var Figures = []Figure{FigureP50, FigureP999, FigureCeiling, FigureLate, FigureAttempts}

// A Series is one figure in all nights.
type Series struct {
	Figure Figure     `json:"figure"`
	Points []*Reading `json:"points"` // by night; null: the dependency was not called
	// Drift is up or down where the interval of the last night lies wholly above or below
	// those of more than half of the nights before that have one, and two nights before do;
	// else "".
	Drift string `json:"drift,omitempty"`
}

// A Reading is a number with its 95 % interval; nil is unknown, and of Low and High as well
// that the night says nothing about that end.
type Reading struct {
	Point *float64 `json:"point"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// Words of Series.Drift.
const (
	DriftUp   = "up"
	DriftDown = "down"
)

// A NightTable is what a Trend needs of one night, which is little.
type NightTable struct {
	Night
	splitBy string
	rows    map[dependency]*nightRow
}

type nightRow struct {
	split  *string
	calls  int
	values []Reading // by Figures
}

// callers counts the requests that call a dependency.
type callers struct {
	due, overdue headcount // answered ones with a deadline, and those of them that were late
	tries        weighed   // attempts of a request, those that spans hide too
	squares      wide      // of them, weighted
}

// add adds a request that makes so many attempts.
func (c *callers) add(w weight, tries int) {
	c.tries.add(w, int64(tries))
	c.squares.add(uint64(w.orOne()), uint64(tries), uint64(tries))
}

// NightTable gives what a Trend needs of the analysis of a file. It fails where requests
// cannot be read back.
func (a *Analysis) NightTable(file string) (*NightTable, error) {
	in := &a.Report.Input
	n := &NightTable{Night: Night{File: file, Start: in.Start, End: in.End, Spans: in.Spans, Requests: in.Requests, Notes: in.Notes},
		splitBy: a.opts.SplitBy, rows: map[dependency]*nightRow{}}
	by := make([]callers, len(a.deps))
	tries := map[int32]int{}
	a.each(func(r *request) {
		if r.table == nil {
			return
		}
		clear(tries)
		for k := range r.calls {
			tries[r.calls[k].dep] += r.calls[k].tries()
		}
		_, late := r.late()
		for dep, n := range tries {
			c := &by[dep]
			c.add(r.weight, n)
			if r.failed || r.deadline == nil {
				continue
			}
			c.due.add(r.weight)
			if late {
				c.overdue.add(r.weight)
			}
		}
	})
	for i, d := range a.deps {
		latency := d.latency.Latency()
		late := by[i].overdue.shareIn(&by[i].due)
		n.rows[d.name] = &nightRow{split: a.split(d.name.split), calls: d.calls, values: []Reading{
			readingOf(&latency.P50), readingOf(&latency.P999), d.ceilingReading(a.policy().Margin),
			{late.Point, late.Low, late.High}, by[i].mean()}}
		d.latency.putAway()
	}
	return n, a.failure()
}

func readingOf(e *Estimate) Reading {
	return Reading{nanoseconds(e.Point), nanoseconds(e.Low), nanoseconds(e.High)}
}

func nanoseconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	f := float64(*d)
	return &f
}

// ceilingReading is the suggested ceiling, between those that the ends of its quantile's
// interval suggest. One that is capped by what deadlines leave has no interval.
func (d *depTable) ceilingReading(margin Quantile) (v Reading) {
	v.Point = nanoseconds(d.ceiling)
	q := whole - d.falseTimeouts
	if d.capped || d.ceiling == nil || q <= 0 {
		return v
	}
	e := d.latency.estimates(q)[0]
	if e.Low != nil {
		low := d.ceilingFrom(*e.Low, margin)
		v.Low = nanoseconds(&low)
	}
	if e.High != nil {
		high := d.ceilingFrom(*e.High, margin)
		v.High = nanoseconds(&high)
	}
	return v
}

// mean is the mean number of attempts of a request, with its interval: the wider of that of
// the mean, and that of the number of repeats, which are few and rare.
//
//	mean    ± z sqrt(variance / n)
//	repeats + z²/2 ± z sqrt(repeats + z²/4)    (score interval of a Poisson mean: Rao 1948)
//
// repeats are the attempts beyond one a request, z = 1.96, n the effective number of requests.
func (c *callers) mean() (v Reading) {
	const z = ninetyFive
	v.Point = c.tries.mean()
	if v.Point == nil {
		return v
	}
	n, mean, square := c.tries.of.effective(), *v.Point, *c.tries.of.mean(&c.squares)
	if n < 2 {
		return v
	}
	off := z * math.Sqrt(max(square-mean*mean, 0)/(n-1))
	repeats := max((mean-1)*n, 0)
	middle, width := repeats+z*z/2, z*math.Sqrt(repeats+z*z/4)
	low, high := min(mean-off, 1+(middle-width)/n), max(mean+off, 1+(middle+width)/n)
	v.Low, v.High = &low, &high
	return v
}

// NewTrend shows the last nights of those given, by when they began, then by name.
func NewTrend(nights []*NightTable, last int) *Trend {
	nights = slices.Clone(nights)
	slices.SortStableFunc(nights, func(a, b *NightTable) int {
		return cmp.Or(cmp.Compare(a.began(), b.began()), cmp.Compare(a.File, b.File))
	})
	nights = nights[max(0, len(nights)-last):]
	t := &Trend{Schema: TrendSchema, Nights: []Night{}, NoNights: []NoNight{}, Dependencies: []TrendRow{}}
	names := map[dependency]bool{}
	for _, n := range nights {
		t.Nights = append(t.Nights, n.Night)
		t.SplitBy = n.splitBy
		for name := range n.rows {
			names[name] = true
		}
	}
	for name := range names {
		row := TrendRow{Caller: name.caller, Callee: name.callee, Operation: name.operation}
		for m, figure := range Figures {
			s := Series{Figure: figure, Points: []*Reading{}}
			for i, n := range nights {
				have := n.rows[name]
				if have == nil {
					s.Points = append(s.Points, nil)
					continue
				}
				row.Split = have.split
				s.Points = append(s.Points, &have.values[m])
				if i == len(nights)-1 {
					row.Calls = have.calls
				}
			}
			s.Drift = driftOf(s.Points)
			row.Series = append(row.Series, s)
		}
		t.Dependencies = append(t.Dependencies, row)
	}
	slices.SortFunc(t.Dependencies, func(a, b TrendRow) int {
		return cmp.Or(cmp.Compare(a.Caller, b.Caller), cmp.Compare(a.Callee, b.Callee), cmp.Compare(a.Operation, b.Operation), bySplit(a.Split, b.Split))
	})
	return t
}

// began is when the night began; without times, before all others.
func (n *Night) began() int64 {
	if n.Start == nil {
		return math.MinInt64
	}
	return *n.Start
}

// nightsBefore is how many nights it takes to call the next a drift: of two, one may be the
// odd one.
const nightsBefore = 2

// driftOf compares the interval of the last night with those before.
func driftOf(points []*Reading) string {
	known := func(v *Reading) bool { return v != nil && (v.Low != nil || v.High != nil) }
	last := len(points) - 1
	if last < 1 || !known(points[last]) {
		return ""
	}
	nights, above, below := 0, 0, 0
	for _, v := range points[:last] {
		if !known(v) {
			continue
		}
		nights++
		if l := points[last]; l.Low != nil && v.High != nil && *l.Low > *v.High {
			above++
		} else if l.High != nil && v.Low != nil && *l.High < *v.Low {
			below++
		}
	}
	switch {
	case nights < nightsBefore:
	case 2*above > nights:
		return DriftUp
	case 2*below > nights:
		return DriftDown
	}
	return ""
}
