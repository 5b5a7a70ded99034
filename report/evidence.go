package report

import (
	"fmt"
	"strings"

	"overrun/analyze"
)

// headerLines say what a policy file rests on.
func headerLines(s *analyze.Suggestion) []string {
	in := &s.Input
	lines := []string{"Lines that begin with " + ownMark + " are written by overrun suggest, and anew each time it runs. All else is kept."}
	about := "From " + Plural(in.Requests, "request") + " of " + Plural(in.Traces, "trace")
	if in.Start != nil && in.End != nil {
		about += ", " + fromTo(*in.Start, *in.End)
	}
	lines = append(lines, about+". Intervals are 95 %.")
	for i, a := range s.Amplified() {
		if i == maxAmplified {
			lines = append(lines, "and more chains like it")
			break
		}
		lines = append(lines, "Attempts multiply: "+amplifiedText(&a))
	}
	return lines
}

// maxAmplified is how many chains of retries a file names.
const maxAmplified = 3

// amplifiedText says what a chain of retries can come to.
func amplifiedText(a *analyze.Amplified) string {
	names := []string{lineName(a.Path[0].Caller)}
	for _, d := range a.Path {
		names = append(names, lineName(d.Callee))
	}
	last := a.Path[len(a.Path)-1]
	return fmt.Sprintf("%s: up to %s of %s for one call at the top. Retry on one level only.", strings.Join(names, " → "),
		Plural(a.Attempts, "attempt"), lineName(strings.TrimSpace(last.Callee+" "+last.Operation)))
}

const lineColumns = 200 // of a name in a line

func lineName(s string) string { return cleanName(s, lineColumns, false) }

// ruleless says of routes without a deadline of their own why they have no rule.
func ruleless(routes []*analyze.SuggestedRoute) (lines []string) {
	for _, r := range routes {
		switch {
		case r.Varies():
			lines = append(lines, fmt.Sprintf("%s: no rule: each request brings what is left of another deadline (p50 %s, %s, n %s)%s", lineName(r.String()),
				dur(*r.Recorded.Measured), between(r.Least, r.Most), count(r.Recorded.N), reserveText(r)))
		case r.Rule != nil || r.Deadline != nil && *r.Deadline > 0:
		case r.Basis == analyze.BasisInherited:
			lines = append(lines, fmt.Sprintf("%s: no rule: what its callers leave it holds (p50 %s, n %s)%s", lineName(r.String()),
				orUnknown(r.Inherited.Measured, dur), count(r.Inherited.N), reserveText(r)))
		default:
			lines = append(lines, fmt.Sprintf("%s: no deadline is given, recorded or inferred in %s: decide, and write a rule%s", lineName(r.String()),
				Plural(r.Requests, "request"), reserveText(r)))
		}
	}
	return lines
}

func reserveText(r *analyze.SuggestedRoute) string {
	if r.Reserve.Measured == nil {
		return ""
	}
	return "; measured reserve " + dur(*r.Reserve.Measured)
}

// routeLines say what the data know of a route with a deadline.
func routeLines(r *analyze.SuggestedRoute) []string {
	head := lineName(r.String()) + ": " + Plural(r.Requests, "request")
	if r.Answered > 0 {
		head += fmt.Sprintf(", %s of %s answered late (%s)", count(r.Late), count(r.Answered), orUnknown(r.LateShare, percent))
	}
	head += ", p50 " + orUnknown(r.Latency.P50.Point, dur) + ", p99 " + orUnknown(r.Latency.P99.Point, dur)
	lines := []string{head}
	recorded := ""
	if r.Recorded.Measured != nil {
		recorded = fmt.Sprintf("recorded by %s: p50 %s, %s", Plural(r.Recorded.N, "request"), dur(*r.Recorded.Measured), between(r.Least, r.Most))
	}
	switch r.Basis {
	case analyze.BasisPolicy:
		if recorded != "" {
			lines = append(lines, "  deadline: this file says "+r.Deadline.String()+"; "+recorded)
		}
	case analyze.BasisRecorded:
		lines = append(lines, "  deadline: "+recorded)
	case analyze.BasisFlag:
		lines = append(lines, "  deadline: given by --deadline")
	}
	if i := r.Inferred; i != nil {
		lines = append(lines, fmt.Sprintf("  deadline: %s of %s callers that left did so after about %s; %s answered later. Inferred: is it what is promised?",
			count(i.Pile), count(i.Left), dur(i.At), count(i.Answer)))
	}
	switch v := &r.Reserve; {
	case v.Measured == nil:
		lines = append(lines, "  reserve: not known: no request shows own work after an answer")
	case v.Given != nil:
		lines = append(lines, fmt.Sprintf("  reserve: this file says %v; measured %s", *v.Given, valueText(v)))
	case r.Deadline != nil && *v.Measured >= *r.Deadline:
		lines = append(lines, fmt.Sprintf("  reserve: measured %s, which leaves nothing of the deadline for calls", valueText(v)))
	default:
		lines = append(lines, "  reserve: own work after the last answer, "+valueText(v))
	}
	return lines
}

// quantileName writes a quantile: p99.9.
func quantileName(q analyze.Quantile) string { return "p" + strings.TrimSuffix(shareValue(q), "%") }

// valueText says what a measured value rests on: p99 20 ms (19.2 … 21 ms), n 2 000.
func valueText(v *analyze.Value) string {
	e := &v.Estimate
	text := quantileName(v.Quantile) + " "
	switch {
	case e.Point != nil:
		text += dur(*e.Point)
		if e.Low != nil || e.High != nil {
			text += " (" + between(e.Low, e.High) + ")"
		}
	case e.IfAnswered != nil:
		text += "not known: " + between(e.IfAnswered, e.IfNever) + ", since calls were cut"
	default:
		text += "not known"
	}
	return text + ", n " + count(v.N)
}

// whyHint says in words what a trace hints at.
func whyHint(hint string) string {
	if hint == "fallback" {
		return "after a failed call something else was done instead"
	}
	return "service.criticality of the callee is " + lineName(hint)
}

// dependencyLines say what the data know of a dependency.
func dependencyLines(d *analyze.SuggestedDependency) []string {
	lines := []string{fmt.Sprintf("%s: %s, %s, %s failed", lineName(d.String()), Plural(d.Calls, "call"), Plural(d.Attempts, "attempt"), count(d.Errors))}
	add := func(format string, args ...any) { lines = append(lines, "  "+fmt.Sprintf(format, args...)) }
	switch {
	case d.RequiredBasis == analyze.BasisHint:
		add("required: %t by a hint: %s. Is it so?", d.Required, whyHint(d.Hint))
	case d.RequiredBasis == analyze.BasisNone && d.Hint != "":
		add("required: to be decided, and until then it is; a hint: %s", whyHint(d.Hint))
	case d.RequiredBasis == analyze.BasisNone:
		add("required: to be decided, and until then it is: write required: false if the caller has a fallback")
	case d.Hint != "":
		add("required: this file says %t; a hint: %s", d.Required, whyHint(d.Hint))
	}
	switch v := &d.Minimum; {
	case v.Given != nil && v.Measured != nil:
		add("minimum: this file says %v; measured %s", *v.Given, valueText(v))
	default:
		add("minimum: %s", valueText(v))
	}
	add("%s", ceilingText(d))
	if c := d.Current; c != nil {
		add("today: a timeout of %s (%s), which cuts %s", setting(c.NS), lineName(c.Source), orUnknown(c.ShareCut, percent))
	}
	add("%s", againText(d))
	for _, key := range d.Refused {
		add("%s: what this file says is not obeyed: the call is not known to be safe to repeat. If it is, write safe: true", key)
	}
	return lines
}

func ceilingText(d *analyze.SuggestedDependency) string {
	v := &d.Ceiling
	text := "ceiling: "
	if v.Given != nil {
		text += fmt.Sprintf("this file says %v, which cuts %s; ", *v.Given, orUnknown(d.GivenCut, percent))
	}
	if v.Measured == nil {
		switch {
		case len(d.DoesNotFit) > 0:
			return text + "none suggested: the deadline of " + lineName(strings.Join(d.DoesNotFit, ", ")) + " leaves less than the minimum"
		case v.Estimate.Point != nil:
			return text + "none suggested: " + valueText(v) + " is below the minimum"
		}
		return text + "none suggested: " + valueText(v)
	}
	text += v.Measured.String() + " from " + valueText(v)
	if d.Margin > 0 {
		text += " and " + shareValue(d.Margin) + " margin"
	}
	if d.Capped {
		text += ", capped at what the deadline leaves"
	} else {
		text += ", rounded up"
	}
	text += "; cuts " + orUnknown(d.ShareCut, percent)
	if v.Estimate.High == nil {
		text += "; too few values: it may be far too low"
	}
	return text
}

func againText(d *analyze.SuggestedDependency) string {
	why := map[analyze.Basis]string{analyze.BasisPolicy: "safe by this file", analyze.BasisMethod: "safe by its method",
		analyze.BasisRead: "a database read"}[d.SafeBasis]
	key := "attempts: "
	if d.Rule != nil && d.Rule.Attempts != d.SuggestedAttempts && d.Again != analyze.AgainHedge {
		key += fmt.Sprintf("this file says %d; ", d.Rule.Attempts)
	}
	switch d.Again {
	case analyze.AgainUnsafe:
		if d.SafeBasis == analyze.BasisPolicy {
			return key + "1: this file says that it is not safe to repeat"
		}
		return key + "1: not known to be safe to repeat"
	case analyze.AgainRetry:
		return fmt.Sprintf("%s%d: %s of attempts fail, and two fit below the ceiling; %s. The base of the wait is the minimum, rounded up", key, d.SuggestedAttempts,
			orUnknown(d.ErrorShare, percent), why)
	case analyze.AgainHedge:
		return fmt.Sprintf("hedge_after: %s: %s; %s more requests; %s", orUnknown(d.HedgeAfter.Measured, setting), valueText(&d.HedgeAfter),
			orUnknown(d.HedgeLoad, percent), why)
	case analyze.AgainNoRoom:
		return fmt.Sprintf("%s1: %s of attempts fail, but two do not fit below the ceiling", key, orUnknown(d.ErrorShare, percent))
	case analyze.AgainNotKnown:
		return key + "1: minimum or ceiling are not known"
	}
	var no []string
	for _, not := range d.NoHedge {
		if words := noHedge[not]; words != "" {
			no = append(no, words)
		}
	}
	if no == nil {
		return key + "1: none failed, and nothing shows that a second copy would help"
	}
	return key + "1: none failed; no hedge: " + strings.Join(no, ", ")
}

// noHedge says in words why a second copy would not do.
var noHedge = map[string]string{
	"retried":           "the policy retries it",
	"does-not-fit":      "too few calls had the minimum left after the p95",
	"too-much-load":     "it would add more requests than accepted",
	"no-second-replica": "no second replica seen",
}
