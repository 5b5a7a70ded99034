package analyze

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"overrun/ingest"
)

// TestHoard: samples say the same where there is no room for their values, however they are
// added, merged, looked at and put away.
func TestHoard(t *testing.T) {
	few, exact := fewValues, exactValues
	defer func() { fewValues, exactValues = few, exact }()
	sent, dir := 0, t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		fewValues = rapid.IntRange(1, 5).Draw(t, "few")
		exactValues = rapid.SampledFrom([]int{20, 1 << 20}).Draw(t, "exact")
		h := &hoard{spooler: ingest.NewSpooler(1, dir), limit: int64(rapid.SampledFrom([]int{1, 100}).Draw(t, "limit"))}
		defer h.spooler.Close()
		var want, got [2]Sample
		h.lodge(&got[0], &got[1])
		values := drawValues(t, 60)
		for i, v := range values {
			at := i % rapid.SampledFrom([]int{1, 2}).Draw(t, "into one or two")
			v.to(&want[at])
			v.to(&got[at])
			switch rapid.IntRange(0, 9).Draw(t, "then") {
			case 0:
				got[at].Latency()
				fallthrough
			case 1:
				got[at].putAway()
			case 2:
				got[at].ShareAbove(5)
			case 3:
				want[0].merge(&want[1])
				got[0].merge(&got[1])
			}
		}
		for i := range want {
			if a, b := content(&want[i]), content(&got[i]); !reflect.DeepEqual(a, b) {
				t.Fatalf("sample %d of %+v:\n got %+v\nwant %+v", i, values, b, a)
			}
			got[i].putAway()
			if a, b := want[i].Latency(), got[i].Latency(); !reflect.DeepEqual(a, b) {
				t.Fatalf("latency %d of %+v:\n got %+v\nwant %+v", i, values, b, a)
			}
		}
		if h.spooler.Spilled() > 0 {
			sent++
		}
		got[0].drop()
		got[1].drop()
		if used := h.used.Load(); used != 0 || h.spooler.Err() != nil {
			t.Fatalf("%d bytes are still counted, failure %v", used, h.spooler.Err())
		}
	})
	if sent == 0 {
		t.Error("no value was ever sent away")
	}
}

// TestHoardRoom: values beyond the limit take no memory.
func TestHoardRoom(t *testing.T) {
	h := &hoard{spooler: ingest.NewSpooler(1, t.TempDir()), limit: 64 << 10}
	defer h.spooler.Close()
	var list [10]Sample
	for i := range list {
		h.lodge(&list[i])
	}
	for i := range 200_000 {
		list[i%len(list)].Add(time.Duration(i))
	}
	room := 0
	for i := range list {
		room += 8 * cap(list[i].answers.values)
	}
	if most := int(h.limit) + len(list)*8*fewValues; room > most {
		t.Errorf("room for values takes %d bytes, want %d at most", room, most)
	}
	for i := range list {
		s := &list[i]
		if p := s.Point(P50); p == nil || *p != time.Duration(99_990+i) { // of i, 10+i, ...: the 10 000th of 20 000
			t.Errorf("p50 of sample %d = %s", i, text(p))
		}
		s.putAway()
	}
	if used := h.used.Load(); used > h.limit {
		t.Errorf("%d bytes are used, of %d", used, h.limit)
	}
}

// TestHoardFails: where values cannot be read back, that is told.
func TestHoardFails(t *testing.T) {
	h := &hoard{spooler: ingest.NewSpooler(1, t.TempDir()), limit: 1}
	var s Sample
	h.lodge(&s)
	for i := range 1000 {
		s.Add(time.Duration(i))
	}
	if err := h.spooler.Err(); err != nil {
		t.Fatal(err)
	}
	h.spooler.Close()
	if s.Point(P50); h.spooler.Err() == nil {
		t.Error("nothing is said of values that are gone")
	}

	h = &hoard{spooler: ingest.NewSpooler(1, t.TempDir()+"/no/folder"), limit: 1}
	s = Sample{hoard: h}
	for i := range 1000 {
		s.Add(time.Duration(i))
	}
	if h.spooler.Err() == nil {
		t.Error("nothing is said of values that cannot be written")
	}
	if p := s.Point(P50); p == nil || *p != 499 {
		t.Errorf("p50 = %s, want 499: what cannot be written stays", text(p))
	}
}

// TestGapLog: the medians are those of a list a pair, by nearest rank, in however many
// readings they are found.
func TestGapLog(t *testing.T) {
	many := manyGaps
	defer func() { manyGaps = many }()
	spooler := ingest.NewSpooler(0, "")
	rapid.Check(t, func(t *rapid.T) {
		manyGaps = rapid.IntRange(1, 50).Draw(t, "many")
		l := gapLog{spool: spooler.NewSpool()}
		pairs := rapid.IntRange(0, 10).Draw(t, "pairs")
		lists := make([][]time.Duration, pairs)
		for range pairs {
			l.newPair()
		}
		if pairs > 0 {
			for range rapid.IntRange(0, 200).Draw(t, "gaps") {
				pair := rapid.IntRange(0, pairs-1).Draw(t, "pair")
				gap := time.Duration(rapid.SampledFrom([]int64{0, 1, 2, 1000, math.MaxInt64}).Draw(t, "gap"))
				l.calls++
				l.add(int32(pair), gap, oneWeight)
				l.add(int32(pair), gap+1, oneWeight) // after the same call
				lists[pair] = append(lists[pair], gap)
			}
		}
		l.settle()
		for pair, list := range lists {
			want := time.Duration(0)
			if slices.SortFunc(list, cmp.Compare); len(list) > 0 {
				want = list[(len(list)+1)/2-1]
			}
			if l.between[pair] != want {
				t.Fatalf("median of pair %d: %d, want %d of %v", pair, l.between[pair], want, list)
			}
		}
	})
}

// TestGapLogFails: a gap that cannot be written is told, since the median would be another.
func TestGapLogFails(t *testing.T) {
	a := newAnalysis(Options{Memory: 8, Temp: t.TempDir() + "/no/folder"})
	l := &a.newVisitor().gaps
	pair := l.newPair()
	for i := range 1000 {
		l.calls++
		l.add(pair, time.Duration(i), unknownWeight)
	}
	if a.failure() == nil {
		t.Error("nothing is said of gaps that cannot be written")
	}
}
