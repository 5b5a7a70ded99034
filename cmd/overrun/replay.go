package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"overrun/analyze"
	"overrun/report"
)

const replayHelp = `replay predicts what would have happened to the recorded requests under a policy
(--policy), or if something had been otherwise. Every request is replayed with
its own calls: a call begins when the last of what it waits for has ended, plus
the own work that was recorded between. What waits for what is learned from all
requests of a route. Without a policy and without a change, every recorded
duration comes out exactly.

X names the dependencies that a change is about: a pattern over the callee, or over
"callee operation", in which * stands for any text.

  --policy FILE    timeouts (shared deadline, or fixed ceilings), optional calls,
                   retries and hedges as the file has them. Under timeouts: fixed a
                   ceiling that is left out is none; under the shared deadline it is
                   the measured one. What is not known to be safe is never repeated
  --order          sequential: each call after the one before; parallel: all at once
  --slower X=2x    twice as long; --faster X=2x half as long
  --without X      its calls are taken out, and not missed
  --cut X=30%      that share of its calls gets no answer
  --timeout X=2s   this timeout, and what it costs: requests saved, requests late all
                   the same, workers that wait
  --sweep ceiling:X=40ms..200ms   one ceiling after the other, or with /5ms in that
                   step: in time against complete

What the record does not say is drawn, with --seed: the latency of a call that was
cut, given that it took longer; waits before retries. Calls that a request never
made come from a donor, another request of the route. Where that cannot be, the
answer is a range: from "never answers" to "answers at the cut", and for second
copies from "as slow as the first" to "independent". drawn and bounded count the
requests concerned. Each request is replayed by itself: what a slower dependency
does to the callers of its caller is not. Intervals are those of the bootstrap over
requests, 95 %; of shares of 0 and 100 % those of Clopper and Pearson.

Examples:

  overrun replay --policy testdata/policy.yaml testdata/card-5.jsonl.gz
  overrun replay --deadline 200ms --slower dep-01=2x testdata/card-5.jsonl.gz
  overrun replay --deadline 200ms --sweep 'ceiling:dep-*=40ms..200ms' testdata/card-5.jsonl.gz
`

// replayFlags are the flags of replay.
type replayFlags struct {
	sourceFlags
	order   string
	seed    uint64
	changes []analyze.Change
	sweep   *analyze.Sweep
}

func (a *app) replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay [flags] PATH...",
		Short: "predict what a policy or a change would have done",
		Long:  replayHelp + exitHelp,
		Args:  needPaths,
		RunE: a.starting(func(cmd *cobra.Command, paths []string) error {
			return runReplay(cmd.Context(), a, &f, paths)
		}),
	}
	f.bind(cmd, "text", "markdown", "json", "csv")
	flags := cmd.Flags()
	orders := []string{string(analyze.Sequential), string(analyze.Parallel)}
	flags.Var(&choiceValue{&f.order, orders}, "order", "make the calls of a request in this `ORDER`: "+strings.Join(orders, ", "))
	for _, c := range []struct {
		kind        analyze.ChangeKind
		value, text string
	}{
		{analyze.Slower, "X=2x", "calls to X take so many times as long"},
		{analyze.Faster, "X=2x", "calls to X take a fraction of the time"},
		{analyze.Without, "X", "calls to X are taken out"},
		{analyze.Failing, "X=30%", "that share of the calls to X gets no answer"},
		{analyze.Timeout, "X=2s", "calls to X have another timeout; says what that costs"},
	} {
		flags.Var(&changeValue{c.kind, &f.changes}, string(c.kind), c.text+", as in `"+c.value+"`")
	}
	flags.Var(&sweepValue{&f.sweep}, "sweep", "replay with one ceiling of X after the other, as in `ceiling:X=40ms..200ms`")
	f.seed = 1
	flags.Var(&seedValue{&f.seed}, "seed", "`NUMBER` that all draws rest on")
	complete(cmd, "order", orders)
	return cmd
}

func runReplay(ctx context.Context, a *app, f *replayFlags, paths []string) error {
	if err := apart(paths, f.policy, f.output); err != nil {
		return err
	}
	policy, out, in, err := a.load(ctx, &f.sourceFlags, paths)
	if err != nil {
		return err
	}
	defer out.discard()
	defer in.Close()
	analysis, err := in.analyse(ctx, f.analysis(policy))
	if err != nil {
		return err
	}
	defer analysis.Close()
	if err := f.picked(&analysis.Report); err != nil {
		return err
	}
	if err := policy.Check(f.policy, analysis); err != nil {
		return err
	}
	result, err := analysis.Replay(analyze.ReplayOptions{Seed: f.seed, Order: analyze.Arrangement(f.order), Changes: f.changes, Sweep: f.sweep})
	if err != nil {
		return err
	}
	look := out.look(&f.sourceFlags)
	switch f.format {
	case "text":
		err = report.ReplayText(out, result, look)
	case "markdown":
		err = report.ReplayMarkdown(out, result, look)
	case "json":
		err = report.ReplayJSON(out, result)
	case "csv":
		err = report.ReplayCSV(out, result)
	}
	if err != nil {
		return err
	}
	return out.commit()
}

// A changeValue adds a what-if: X, or X=VALUE. The value is what follows the last =.
type changeValue struct {
	kind analyze.ChangeKind
	to   *[]analyze.Change
}

func (v *changeValue) Type() string   { return "change" }
func (v *changeValue) String() string { return "" }

func (v *changeValue) Set(text string) error {
	c := analyze.Change{Kind: v.kind, Name: text}
	var err error
	if v.kind != analyze.Without {
		at := strings.LastIndex(text, "=")
		if at < 0 {
			return fmt.Errorf("write the dependency, = and a value, as in prices=%s", map[analyze.ChangeKind]string{
				analyze.Slower: "2x", analyze.Faster: "2x", analyze.Failing: "30%", analyze.Timeout: "2s"}[v.kind])
		}
		value := text[at+1:]
		c.Name = text[:at]
		switch v.kind {
		case analyze.Slower, analyze.Faster:
			c.Factor, err = parseFactor(value)
		case analyze.Failing:
			c.Share, err = analyze.ParseShare(value)
		case analyze.Timeout:
			err = (&durationValue{to: &c.Timeout, positive: true}).Set(value)
		}
	}
	switch {
	case err != nil:
	case c.Name == "":
		err = fmt.Errorf(`"" names no dependency: write "*" for all`)
	case c.Kind == analyze.Timeout && slices.ContainsFunc(*v.to, func(o analyze.Change) bool { return o.Kind == analyze.Timeout }):
		err = errors.New("what a timeout costs is answered for one: replay the other by itself, or name both by one pattern")
	}
	*v.to = append(*v.to, c)
	return err
}

// A seedValue is a number of 64 bits.
type seedValue struct{ to *uint64 }

func (v *seedValue) Type() string   { return "uint64" }
func (v *seedValue) String() string { return strconv.FormatUint(*v.to, 10) }

func (v *seedValue) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("write a whole number, 0 to %d", uint64(math.MaxUint64))
	}
	*v.to = n
	return nil
}

// parseFactor reads how many times: 2x, 1.5x or 2.
func parseFactor(text string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSuffix(text, "x"), 64)
	if err != nil || !(f >= 1./analyze.MaxFactor && f <= analyze.MaxFactor) {
		return 0, fmt.Errorf("%q is no factor: write how many times, such as 2x, from %gx to %dx", text, 1./analyze.MaxFactor, analyze.MaxFactor)
	}
	return f, nil
}

// A sweepValue is ceiling:X=FROM..TO, or with /STEP.
type sweepValue struct{ to **analyze.Sweep }

func (v *sweepValue) Type() string   { return "sweep" }
func (v *sweepValue) String() string { return "" }

func (v *sweepValue) Set(text string) error {
	if *v.to != nil {
		return errors.New("one ceiling is swept: replay the other by itself, or name both by one pattern")
	}
	const form = "ceiling:prices=40ms..200ms"
	rest, ok := strings.CutPrefix(text, "ceiling:")
	at := strings.LastIndex(rest, "=")
	if !ok || at < 1 {
		return fmt.Errorf("write what to sweep, the dependency and the values, as in %s", form)
	}
	values, step, stepped := strings.Cut(rest[at+1:], "/")
	from, to, ok := strings.Cut(values, "..")
	if !ok {
		return fmt.Errorf("write the first and the last value with .. between, as in %s", form)
	}
	s := &analyze.Sweep{Name: rest[:at]}
	for _, d := range []struct {
		text string
		to   *time.Duration
	}{{from, &s.From}, {to, &s.To}} {
		if err := (&durationValue{to: d.to, positive: true}).Set(d.text); err != nil {
			return err
		}
	}
	if s.From >= s.To {
		return fmt.Errorf("the first value has to be less than the last")
	}
	s.Step = analyze.SweepStep(s.From, s.To)
	if stepped {
		if err := (&durationValue{to: &s.Step, positive: true}).Set(step); err != nil {
			return err
		}
	}
	if (s.To-s.From)/s.Step >= analyze.MaxSweep {
		return fmt.Errorf("more than %d values: write a larger step, as in %s/10ms", analyze.MaxSweep, form)
	}
	*v.to = s
	return nil
}
