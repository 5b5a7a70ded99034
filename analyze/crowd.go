package analyze

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	"overrun/ingest"
)

// mostKeys is how many keys a crowd tells apart.
const mostKeys = 4096

// A crowd counts values by a key, to find one that holds more than half of them:
// Misra and Gries, Science of Computer Programming 2 (1982) 143. With more than mostKeys
// keys, counts are too low by at most a 4096th of all.
type crowd[K comparable] struct {
	all   int
	count map[K]int
}

func (c *crowd[K]) add(key K) {
	c.all++
	if c.count == nil {
		c.count = map[K]int{}
	}
	if _, ok := c.count[key]; ok || len(c.count) < mostKeys {
		c.count[key]++
		return
	}
	for k := range c.count {
		if c.count[k]--; c.count[k] == 0 {
			delete(c.count, k)
		}
	}
}

// most is the key with the highest count, the lowest of several; n is 0 where none is left: all
// keys may have gone, since more than mostKeys were told apart.
func (c *crowd[K]) most(order func(a, b K) int) (key K, n int) {
	for _, k := range slices.SortedFunc(maps.Keys(c.count), order) {
		if c.count[k] > n {
			key, n = k, c.count[k]
		}
	}
	return key, n
}

// A Cluster names where more than half of a dependency's slowest answers come from,
// which is more than chance would bring there: the interval of the quantile takes
// them for independent, and is too narrow.
type Cluster struct {
	Quantile string  `json:"quantile"` // p99 or p999
	Of       string  `json:"of"`       // minute, trace or instance
	Name     string  `json:"name"`     // RFC 3339, trace id, name of the instance
	Slow     int     `json:"slow"`     // answers above the low end of the quantile's interval
	Share    float64 `json:"share"`    // of those, from there
}

// A slowTable collects where and when the slow answers of a dependency come from.
type slowTable struct {
	median  *time.Duration
	low     [2]*time.Duration // low ends of the intervals of p99 and p99.9; nil: not known
	minute  [2]crowd[int64]   // answers above them
	trace   [2]crowd[ingest.TraceID]
	host    [2]crowd[string]
	minutes map[int64]*minuteTable
	now     *minuteTable // of minute
	at      int64
	long    bool // too many minutes: nothing is said by time
	answers int
	calls   map[ingest.TraceID]int // answers in the requests with slow ones, by trace
	last    ingest.SpanID          // the request that was counted last in calls
}

// A minuteTable counts the answers of calls that began in a minute.
type minuteTable struct {
	answers mass
	above   float64 // weight of those that took longer than the median of all
}

// mostMinutes is four weeks.
const mostMinutes = 4 * 7 * 24 * 60

// expect sets what is slow.
func (s *slowTable) expect(l *Latency) {
	s.median, s.low = l.P50.Point, [2]*time.Duration{l.P99.Low, l.P999.Low}
}

// add adds an answer to call k of a request.
func (s *slowTable) add(r *request, k int, t *attempt) {
	s.answers++
	minute := (r.start + int64(t.start)) / int64(time.Minute)
	if s.now == nil || minute != s.at {
		if s.minutes == nil {
			s.minutes = map[int64]*minuteTable{}
		}
		if s.now = s.minutes[minute]; s.now == nil {
			if s.long = s.long || len(s.minutes) == mostMinutes; s.long {
				clear(s.minutes)
			}
			s.now = new(minuteTable)
			s.minutes[minute] = s.now
		}
		s.at = minute
	}
	w := float64(t.weight.orOne()) / float64(oneWeight)
	s.now.answers = s.now.answers.plus(mass{1, w, w * w})
	if s.median != nil && t.took > *s.median {
		s.now.above += w
	}
	for i, low := range s.low {
		if low == nil || t.took <= *low {
			continue
		}
		s.minute[i].add(minute)
		s.trace[i].add(r.trace)
		s.host[i].add(t.instance)
		if i == 0 && r.span != s.last {
			s.last = r.span
			if s.calls == nil {
				s.calls = map[ingest.TraceID]int{}
			}
			if len(s.calls) < mostKeys || s.calls[r.trace] > 0 {
				for j := range r.calls {
					if r.calls[j].dep == r.calls[k].dep {
						s.calls[r.trace] += len(r.calls[j].attempts)
					}
				}
			}
		}
	}
}

// fewestSlow is how many slow answers it takes to speak of a cluster.
const fewestSlow = 5

// clusters lists where the slow answers come from, if over half come from one minute,
// trace or instance, binomial p < 0.001.
func (s *slowTable) clusters(instances map[string]*instanceTable) (list []Cluster) {
	for i, quantile := range []string{"p99", "p999"} {
		all := s.minute[i].all
		if all < fewestSlow {
			continue
		}
		add := func(of, name string, n, base int) {
			share := min(float64(base)/float64(s.answers), 1)
			if 2*n > all && binomialTail(all, n, share) < 0.001 {
				list = append(list, Cluster{quantile, of, name, all, float64(n) / float64(all)})
			}
		}
		if minute, n := s.minute[i].most(cmp.Compare[int64]); n > 0 && !s.long {
			add("minute", time.Unix(minute*60, 0).UTC().Format(time.RFC3339), n, s.minutes[minute].answers.n)
		}
		trace, n := s.trace[i].most(func(a, b ingest.TraceID) int { return bytes.Compare(a[:], b[:]) })
		add("trace", trace.String(), n, max(s.calls[trace], n))
		if host, n := s.host[i].most(cmp.Compare[string]); host != "" && instances[host] != nil {
			add("instance", host, n, instances[host].answers)
		}
	}
	return list
}

// A Drift says that a dependency got slower, or faster, from the first third of the
// time to the last: weighted shares of answers that took longer than the p50 of all.
type Drift struct {
	First float64 `json:"first_third_above_p50"`
	Last  float64 `json:"last_third_above_p50"`
}

// Limits of a drift: by so much do the shares differ, in thirds of so many answers.
const (
	leastDrift   = 0.10
	driftAnswers = 100
	driftSigmas  = 4.0
)

// drift compares the thirds; nil: no drift, or nothing to tell it by. The middle
// third has to lie between the others.
func (s *slowTable) drift() *Drift {
	if s.long || s.median == nil || len(s.minutes) < 3 {
		return nil
	}
	minutes := slices.Sorted(maps.Keys(s.minutes))
	from, to := minutes[0], minutes[len(minutes)-1]+1
	var third [3]minuteTable
	for _, m := range minutes {
		t := &third[(m-from)*3/(to-from)]
		t.answers = t.answers.plus(s.minutes[m].answers)
		t.above += s.minutes[m].above
	}
	share, n := [3]float64{}, [3]float64{} // n: effective
	for i, t := range third {
		if n[i] = rounded(t.answers.effective()); n[i] < driftAnswers {
			return nil
		}
		share[i] = t.above / t.answers.weight
	}
	d := share[2] - share[0]
	if d < 0 {
		d = -d
	}
	// Standard error of the difference of two shares, at its largest: 1/4 of each.
	variance := 0.25/n[0] + 0.25/n[2]
	if d < leastDrift || d*d < driftSigmas*driftSigmas*variance || (share[1]-share[0])*(share[2]-share[1]) < 0 {
		return nil
	}
	return &Drift{share[0], share[2]}
}
