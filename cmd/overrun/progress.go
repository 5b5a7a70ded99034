package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/cheggaaa/pb/v3"

	"overrun/ingest"
	"overrun/report"
)

// logEvery is how often --progress writes a line.
const logEvery = 10 * time.Second

// A pace tells how fast the reading goes.
type pace struct {
	now   func() time.Time
	start time.Time
}

// text says how many spans were read, how many a second since the start, and how
// long the rest takes if it goes on like this. What cannot be told is left out.
func (p *pace) text(at ingest.Progress) string {
	text := report.Plural(at.Spans, "span")
	elapsed := p.now().Sub(p.start)
	if elapsed <= 0 {
		return text
	}
	// spans/s = spans / elapsed; left = elapsed * (total - read) / read
	text += ", " + report.Plural(int64(math.Round(float64(at.Spans)/elapsed.Seconds())), "span") + "/s"
	if left, ok := p.left(at, elapsed); ok {
		text += ", " + left.Round(time.Second).String() + " left"
	}
	return text
}

func (p *pace) left(at ingest.Progress, elapsed time.Duration) (time.Duration, bool) {
	if at.Read <= 0 || at.Total < at.Read {
		return 0, false
	}
	left := float64(elapsed) * float64(at.Total-at.Read) / float64(at.Read)
	return time.Duration(left), left < float64(1000*time.Hour)
}

// A progressLog writes lines about the reading, at most one each logEvery.
type progressLog struct {
	pace
	to   io.Writer
	last time.Time
}

// tell writes a line if it is time for one. That it cannot be written is no
// reason to end the work.
func (l *progressLog) tell(at ingest.Progress) {
	now := l.now()
	if now.Sub(l.last) < logEvery {
		return
	}
	l.last = now
	read := report.Size(at.Read)
	if at.Total > 0 {
		read += fmt.Sprintf(" of %s (%d %%)", report.Size(at.Total), 100*at.Read/at.Total)
	}
	fmt.Fprintf(l.to, "overrun: %s, %s\n", read, l.text(at))
}

// barTemplate is pb's with what it does not know: spans.
const barTemplate = `{{counters . }} {{bar . }} {{percent . }} {{string . "pace"}}`

// showProgress begins to show how far the reading is: a bar on a terminal, lines
// elsewhere if they are asked for. It returns what is to be told, nil for
// nothing, and what is to be called at the end.
func (a *app) showProgress(f *sourceFlags, terminal bool) (tell func(ingest.Progress), finish func()) {
	start := pace{now: time.Now, start: time.Now()}
	switch {
	case terminal && os.Getenv("TERM") != "dumb":
		bar := newBar(a.stderr)
		bar.Start()
		return func(at ingest.Progress) { start.show(bar, at) }, func() { bar.Finish() }
	case f.progress:
		l := &progressLog{pace: start, to: a.stderr, last: start.start}
		return l.tell, func() {}
	}
	return nil, func() {}
}

func newBar(to io.Writer) *pb.ProgressBar {
	bar := pb.New64(0).SetTemplateString(barTemplate).SetWriter(to)
	return bar.Set(pb.Bytes, true).Set(pb.SIBytesPrefix, true).Set(pb.Terminal, true).Set(pb.CleanOnFinish, true)
}

func (p *pace) show(bar *pb.ProgressBar, at ingest.Progress) {
	bar.SetTotal(at.Total).SetCurrent(at.Read).Set("pace", p.text(at))
}
