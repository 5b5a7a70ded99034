package report

import (
	"bytes"
	"io"
	"time"

	"overrun/analyze"
)

// A shortPlan is the short form of a plan. Times are milliseconds.
type shortPlan struct {
	Schema    string  `json:"schema"`
	Service   string  `json:"service"`
	Route     string  `json:"route"`
	Total     float64 `json:"total_ms"`
	Reserve   float64 `json:"reserve_ms"`
	WorstCase float64 `json:"worst_case_ms"`
	// InSequence is as Plan.InSequence.
	InSequence *float64    `json:"worst_case_in_sequence_ms,omitempty"`
	Calls      []shortCall `json:"calls"`
}

type shortCall struct {
	Name        string  `json:"name"`
	Budget      float64 `json:"budget_ms"`
	MaxAttempts int     `json:"max_attempts"`
	Required    bool    `json:"required"`
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// PlanJSON writes the short form of each plan on a line.
func PlanJSON(w io.Writer, plans []*analyze.Plan) error {
	var b bytes.Buffer
	for _, p := range plans {
		short := shortPlan{analyze.PlanSchema, p.Route.Service, p.Route.Route, millis(p.Total), millis(p.Reserve), millis(p.WorstCase), nil, []shortCall{}}
		if p.InSequence != nil {
			worst := millis(*p.InSequence)
			short.InSequence = &worst
		}
		for i := range p.Calls {
			c := &p.Calls[i]
			short.Calls = append(short.Calls, shortCall{c.Name, millis(c.Budget), c.MaxAttempts, c.Dependency.Required})
		}
		if err := appendJSON(&b, &short); err != nil {
			return err
		}
	}
	return put(w, b.Bytes())
}

// PlanMarkdown writes plans for the person who said "just raise the timeout", each
// in four parts: what eats the time now, how it is divided, what retries eat, and
// what happens past the budget.
func PlanMarkdown(w io.Writer, s *analyze.Suggestion, plans []*analyze.Plan) error {
	d := new(document)
	for _, p := range plans {
		d.head("Plan", named(p.Route.Service), " ", named(p.Route.Route))
		basis := map[analyze.Basis]string{analyze.BasisPolicy: "by the policy", analyze.BasisFlag: "by --deadline",
			analyze.BasisRecorded: "recorded", analyze.BasisInferred: "inferred"}[p.Route.Basis]
		d.say("total ", setting(p.Total), " (", basis, "), reserve ", setting(p.Reserve), ", worst case ", setting(p.WorstCase))
		planNow(d, p)
		planDivided(d, p)
		planRetries(d, s, p)
		planPast(d, p)
	}
	return put(w, layMarkdown(d, Options{All: true}))
}

// planNow is the first part.
func planNow(d *document, p *analyze.Plan) {
	d.head("What eats the time now")
	r := p.Route
	d.say(Plural(r.Requests, "request"), ": p50 ", orUnknown(r.Latency.P50.Point, dur), ", p95 ", orUnknown(r.Latency.P95.Point, dur), ", p99 ",
		orUnknown(r.Latency.P99.Point, dur), "; late ", count(r.Late), " of ", count(r.Answered), " (", orUnknown(r.LateShare, percent), ")")
	t := d.table("call", column{head: "path"}, column{head: "p50"}, column{head: "n"}, column{head: "required", left: true})
	t.columns[0].notes = []int{t.foot("share of the time of all requests for which the call alone held them up, by timing")}
	shares, own := p.PathShares()
	for i := range p.Calls {
		c := &p.Calls[i]
		path := unknown
		if shares != nil {
			path = percent(shares[i])
		}
		t.rows = append(t.rows, row{label: say(named(c.Name)), cells: []cell{{line: say(path)},
			{line: say(orUnknown(c.Dependency.Minimum.Measured, dur))}, {line: say(count(c.Dependency.Minimum.N))}, {line: say(yesNo(c.Dependency.Required))}}})
	}
	t.rows = append(t.rows, row{label: say("own work"), cells: []cell{{line: say(orUnknown(own, percent))}, {line: say("")}, {line: say("")}, {line: say("")}}})
	if p.Seldom > 0 {
		d.say(Plural(p.Seldom, "further call"), " that less than 1 % of the requests make: not planned")
	}
}

// planDivided is the second part.
func planDivided(d *document, p *analyze.Plan) {
	d.head("How it is divided")
	d.prose("At worst, each call before takes its whole budget. A call gets min(total - start - kept after it, ceiling); an optional one that would get less than its minimum is not made.")
	t := d.table("call", column{head: "starts by"}, column{head: "kept after"}, column{head: "minimum"}, column{head: "ceiling"}, column{head: "budget"})
	t.columns[1].notes = []int{t.foot("own work after the last answer, and the minimums of required calls ahead")}
	sum := time.Duration(0)
	for _, c := range p.Longest {
		sum += p.Calls[c].Budget
	}
	for i := range p.Calls {
		c := &p.Calls[i]
		t.rows = append(t.rows, row{label: say(named(c.Name)), cells: []cell{{line: say(setting(c.Start))}, {line: say(setting(c.Reserve))},
			{line: say(orUnknown(c.Dependency.Minimum.InForce(), setting))}, {line: say(orUnknown(c.Dependency.Ceiling.InForce(), setting))}, {line: say(setting(c.Budget))}}})
	}
	var path []any
	for i, c := range p.Longest {
		if i > 0 {
			path = append(path, ", ")
		}
		path = append(path, named(p.Calls[c].Name))
	}
	d.say(append([]any{"longest path: calls ", setting(sum), " + reserve ", setting(p.Reserve), " = ", setting(p.WorstCase), " of ", setting(p.Total), ": "}, path...)...)
	if p.InSequence != nil {
		d.say("some calls are now in sequence and now side by side: they are side by side here; in sequence the worst case is ", setting(*p.InSequence))
	}
}

// planRetries is the third part.
func planRetries(d *document, s *analyze.Suggestion, p *analyze.Plan) {
	d.head("What retries eat")
	d.prose("All attempts of a call, and the waits between them, come out of its budget. The wait before the n-th retry is drawn from 0 to base · 2^(n-1); at worst it is as long as that.")
	t := d.table("call", column{head: "attempts"}, column{head: "fit"}, column{head: "base"}, column{head: "waits"}, column{head: "at worst"}, column{head: "budget"})
	t.columns[1].notes = []int{t.foot("the most attempts that fit into the budget, each with its minimum and the longest waits")}
	t.columns[4].notes = []int{t.foot("as many attempts as fit, and the waits between them")}
	unsafe := 0
	for i := range p.Calls {
		c := &p.Calls[i]
		dep := c.Dependency
		if !dep.Safe {
			if unsafe == 0 {
				unsafe = t.foot("not known to be safe to repeat: one attempt")
			}
		}
		worst, waits, base := unknown, unknown, unknown
		if m := dep.Minimum.InForce(); m != nil && c.MaxAttempts > 0 {
			w := dep.Waits(c.MaxAttempts)
			worst, waits = setting(time.Duration(c.MaxAttempts)**m+w), setting(w)
			if dep.Safe {
				base = setting(dep.Waits(2))
			}
		}
		fit := cell{line: say(count(c.MaxAttempts))}
		if !dep.Safe {
			fit.notes = []int{unsafe}
		}
		t.rows = append(t.rows, row{label: say(named(c.Name)), cells: []cell{{line: say(count(dep.Attempt))}, fit, {line: say(base)},
			{line: say(waits)}, {line: say(worst)}, {line: say(setting(c.Budget))}}})
	}
	for _, a := range s.Amplified() {
		if a.Path[0].Caller == p.Route.Service {
			d.say("attempts multiply: ", amplifiedText(&a))
		}
	}
}

// planPast is the fourth part.
func planPast(d *document, p *analyze.Plan) {
	d.head("What happens past the budget")
	d.prose("An answer after the total is worth nothing to the client. A required call that is not answered within its budget fails the request at once; an optional one gives way to its fallback; what has less than its minimum left is not called. Whoever just raises a timeout gets this:")
	t := d.table("call", column{head: "slower"}, column{head: "twice the budget"}, column{head: "over the total"}, column{head: "today"}, column{head: "today at worst"})
	t.columns[0].notes = []int{t.foot("share of attempts that take longer than the budget: the most that a longer timeout can save")}
	t.columns[1].notes = []int{t.foot("worst case of the request with twice the budget for this call, and how far that is beyond the total")}
	t.columns[3].notes = []int{t.foot("the fixed timeout that was seen, and the worst case of the request with it in place of the budget: for so long a worker is bound")}
	for i := range p.Calls {
		c := &p.Calls[i]
		twice, over, today, bound := unknown, unknown, unknown, unknown
		if c.Budget > 0 {
			worst := p.WorstWith(i, 2*c.Budget)
			twice, over = setting(worst), setting(max(0, worst-p.Total))
		}
		if now := c.Dependency.Current; now != nil {
			today, bound = setting(now.NS), setting(p.WorstWith(i, now.NS))
		}
		t.rows = append(t.rows, row{label: say(named(c.Name)), cells: []cell{{line: say(orUnknown(c.Beyond, percent))}, {line: say(twice)}, {line: say(over)},
			{line: say(today)}, {line: say(bound)}}})
	}
	if p.Route.LateShare != nil {
		d.say("late already: ", percent(*p.Route.LateShare), " of answered requests; a longer timeout makes none of them earlier")
	}
}
