package report

import (
	"slices"
	"time"

	"overrun/analyze"
	"overrun/ingest"
)

// adviceSection says what to do, at most five lines, each with what it rests on.
func adviceSection(d *document, r *analyze.Report) {
	if len(r.Advice) == 0 {
		d.head("What to do")
		if slices.ContainsFunc(r.Routes, func(r analyze.Route) bool { return r.WithDeadline > 0 }) {
			d.say("nothing: no finding asks for a change")
		} else {
			d.say("nothing is known to do: without a deadline nothing can be late; see below how to give one")
		}
		return
	}
	d.head("What to do", "most requests affected first")
	t := d.table("", column{head: "affects"}, column{head: "since", left: true}, column{head: "what", left: true, fill: true})
	t.detail = "where and why"
	for i := range r.Advice {
		a := &r.Advice[i]
		why := append(adviceWhere(a), say(": ", adviceReason[a.Do])...)
		if a.SavesHigh != nil {
			why = append(why, say("; ", saves(a))...)
		}
		if a.Trace != (ingest.TraceID{}) {
			why = append(why, say("; worst: trace ", a.Trace)...)
		}
		t.rows = append(t.rows, row{
			cells:   []cell{{line: say(Plural(a.Requests, affected(a)))}, {line: say(since(a.Since))}, {line: adviceWords(a)}},
			details: []line{why},
		})
	}
}

// adviceWhere says whose request or call it is, and whom it waits for.
func adviceWhere(a *analyze.Advice) line {
	where := say(named(a.Service))
	if a.Route != "" {
		where = routeLabel(a.Service, a.Route, nil)
	}
	if a.Callee != "" {
		where = calling(where, a.Callee, a.Operation)
	}
	return append(where, splitLabel(a.Split)...)
}

// affected is what an advice counts.
func affected(a *analyze.Advice) string {
	switch a.Do {
	case analyze.CapOptional, analyze.SendHedge, analyze.SpeedUp, analyze.SpeedUpOwn, analyze.CommonCause:
		return "late request"
	case analyze.PassDeadline, analyze.StopWork, analyze.GiveUp:
		return "case"
	case analyze.LimitRetries, analyze.LimitHedges, analyze.DrainInstance:
		return "finding"
	}
	return attempted(a)
}

// attempted is what an advice about attempts is about: first ones and later ones are
// findings of their own.
func attempted(a *analyze.Advice) string {
	if a.OfRetries() {
		return "retry"
	}
	return "call"
}

// since writes an instant in UTC, to the minute.
func since(unix int64) string { return time.Unix(0, unix).UTC().Format("2006-01-02 15:04") }

// adviceWords says what to do, with what it is now.
func adviceWords(a *analyze.Advice) line {
	to, from := orUnknown(a.To, setting), orUnknown(a.From, setting)
	change := func(words string) line {
		switch {
		case a.To == nil:
			return say(words)
		case a.From == nil:
			return say(words, " to ", to)
		}
		return say(words, " from ", from, " to ", to)
	}
	switch a.Do {
	case analyze.CapOptional:
		if a.From != nil {
			return say("wait at most ", to, " for it, now ", from)
		}
		return say("wait at most ", to, " for it")
	case analyze.SendHedge:
		return say("send a second copy after ", to)
	case analyze.SpeedUp:
		if a.From != nil {
			return say("find out why it is slow, p99 ", from)
		}
		return say("find out why it is slow")
	case analyze.SpeedUpOwn:
		return say("find out why its own work is slow")
	case analyze.CommonCause:
		return say("look for what its calls share")
	case analyze.RaiseTimeout:
		return change("raise the timeout")
	case analyze.DeriveTimeout:
		if a.From != nil {
			return say("give it the time left, not always ", from)
		}
		return say("give it the time left")
	case analyze.SkipCalls:
		if a.To == nil {
			return say("make no ", attempted(a), " past the deadline")
		}
		return say("make no ", attempted(a), " with a computed timeout below ", to)
	case analyze.FitDeadline:
		return say("give it more time, or make it faster: its minimum is ", to)
	case analyze.PassDeadline:
		if analyze.FindingCode(a.Finding) == analyze.DeadlineWidened {
			return say("pass on no more time than is left")
		}
		return say("pass the deadline on")
	case analyze.StopWork:
		return say("stop working when the caller has left")
	case analyze.GiveUp:
		return say("give up at the deadline")
	case analyze.LimitRetries:
		return say("retry on one level only, and less often")
	case analyze.LimitHedges:
		return say("send fewer second copies")
	case analyze.KeepOpen:
		return say("keep connections open")
	case analyze.DrainInstance:
		return say("look at instance ", named(a.Instance))
	}
	return say(named(a.Do))
}

// adviceReason says what each advice rests on.
var adviceReason = map[analyze.AdviceCode]string{
	analyze.CapOptional:   "it is optional, and held late requests, failed ones too, beyond its ceiling",
	analyze.SendHedge:     "it held late requests, failed ones too, is safe to repeat, and few calls are slower",
	analyze.SpeedUp:       "it held these requests past their deadline, failed ones too, for longer than anything else",
	analyze.SpeedUpOwn:    "own work held these requests past their deadline, failed ones too, for longer than any dependency",
	analyze.CommonCause:   "parallel calls are slow together: far fewer requests are late or timed out than if each were slow by itself",
	analyze.RaiseTimeout:  "calls are cut whose answer would have come in time",
	analyze.DeriveTimeout: "its own timeout is longer than what is left of the deadline",
	analyze.SkipCalls:     "what the deadline left them, less the reserve, was below the minimum",
	analyze.FitDeadline:   "in half of the requests, or more, the deadline leaves less than the minimum",
	analyze.PassDeadline:  "callees do not know the deadline, or were promised more time than was left",
	analyze.StopWork:      "work runs on for nobody",
	analyze.GiveUp:        "work runs on after the deadline: an answer after it is worth nothing",
	analyze.LimitRetries:  "more attempts are made than the load can bear",
	analyze.LimitHedges:   "more second copies are sent than is accepted",
	analyze.KeepOpen:      "connecting takes too much of the timeout",
	analyze.DrainInstance: "it gives an outsized share of the slow answers",
}

// saves writes what an advice would save.
func saves(a *analyze.Advice) line {
	noun, what := "request", " would be in time"
	switch a.Do {
	case analyze.RaiseTimeout:
		noun, what = "call", " would be answered"
	case analyze.SkipCalls:
		noun, what = attempted(a), " would not be made"
	}
	low, high := 0, *a.SavesHigh
	if a.SavesLow != nil {
		low = *a.SavesLow
	}
	if low == high {
		return say(Plural(high, noun), what)
	}
	if a.Do == analyze.SpeedUp && a.To != nil {
		what += " if it took " + setting(*a.To)
	}
	return say(count(low), " to ", count(high), " ", severals(noun), what)
}
