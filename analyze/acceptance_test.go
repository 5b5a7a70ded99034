package analyze

import (
	"strings"
	"testing"
)

// TestAccept: limits held against numbers whose intervals are known: 95 % of a share,
// from Wilson; a mean of one value everywhere, exactly that.
func TestAccept(t *testing.T) {
	share := func(p, low, high float64) Side { return Side{N: 1000, Effective: 1000, Range: Range{&p, &low, &high}} }
	row := RouteChange{Service: "card", Route: "GET /card", Seen: SeenBoth, Differences: []Difference{
		{Measure: InTime, Unit: Shares, Difference: Range{new(-0.02), new(-0.03), new(-0.01)}},
		{Measure: PartialAnswers, Unit: Shares, After: share(0.05, 0.04, 0.06)},
		{Measure: AttemptsEach, Unit: Counts, After: share(5, 5, 5)},
		{Measure: LatencyP99, Unit: Times, After: share(190e6, 180e6, 210e6)},
	}}
	for _, r := range []struct {
		limit string
		want  Ruling
		more  float64 // 0: none
	}{
		{"in_time_lower: 3%", Kept, 0},
		{"in_time_lower: 3.1%", Kept, 0},
		{"in_time_lower: 2.5%", Undecided, 4}, // the end is 1 % off, the limit 0.5 %
		{"in_time_lower: 1.5%", Undecided, 4},
		{"in_time_lower: 2%", Undecided, 0}, // the value is the limit: no number decides
		{"in_time_lower: 0.9%", Broken, 0},
		{"partial: 6%", Kept, 0},
		{"partial: 5.5%", Undecided, 4},
		{"partial: 3.9%", Broken, 0},
		{"attempts_per_request: 5", Kept, 0},
		{"attempts_per_request: 4.99", Broken, 0},
		{"p99: 210ms", Kept, 0},
		{"p99: 200ms", Undecided, 4},
		{"p99: 179ms", Broken, 0},
	} {
		p := policy(t, "acceptance:\n- service: card\n  route: GET *\n  "+r.limit)
		checks := p.accept(&Comparison{Routes: []RouteChange{row}})
		if len(checks) != 1 || checks[0].Ruling != r.want || checks[0].Line != 4 {
			t.Fatalf("%s: %+v, want %s in line 4", r.limit, checks, r.want)
		}
		switch more := checks[0].More; {
		case (more == nil) != (r.more == 0):
			t.Errorf("%s: more %v, want %v", r.limit, more, r.more)
		case more != nil:
			near(t, r.limit, *more, r.more, 1e-6)
		}
	}
}

// TestAcceptFew: what cannot be decided is neither kept nor broken.
func TestAcceptFew(t *testing.T) {
	const rules = "acceptance:\n- {in_time_lower: 1%, partial: 50%, attempts_per_request: 100, p99: 2s}"
	c := compared(t, newShop(30).dump(0, 20), newShop(31).dump(5000, 20), rules)
	got := map[Measure]Ruling{}
	for _, check := range c.Acceptance {
		got[check.Measure] = check.Ruling
	}
	// 20 requests: the difference of shares is known to about 20 points; that at most
	// half of the answers are partial is known from none of 20 (Wilson: 16 %).
	for m, want := range map[Measure]Ruling{InTime: Undecided, PartialAnswers: Kept, AttemptsEach: Undecided, LatencyP99: Undecided} {
		if got[m] != want {
			t.Errorf("%s: %q, want %q", m, got[m], want)
		}
	}
	// A route that is gone: its rules are undecided.
	after := newShop(33)
	after.route = "/b"
	both := newShop(32).dump(0, 100)
	both.Traces = append(both.Traces, after.dump(8000, 100).Traces...)
	c = compared(t, both, newShop(34).dump(5000, 100), "acceptance:\n- {route: GET /b, p99: 10s, in_time_lower: 100%}")
	if len(c.Acceptance) != 2 || c.Acceptance[0].Ruling != Undecided || c.Acceptance[1].Ruling != Undecided || c.Acceptance[0].N != 0 {
		t.Errorf("a route that is gone: %+v", c.Acceptance)
	}
}

// TestAcceptFirst: the first rule that matches counts, and one without a route is a
// mistake.
func TestAcceptFirst(t *testing.T) {
	p := policy(t, "acceptance:\n- {service: none, route: GET /, p99: 1s}\n- {route: GET /, partial: 10%}\n- {p99: 1ns}\n- {service: shop, route: none, p99: 1s}\n")
	c := &Comparison{Routes: []RouteChange{{Service: "shop", Route: "GET /"}, {Service: "shop", Route: "GET /b"}}}
	c.Acceptance = p.accept(c)
	if len(c.Acceptance) != 2 || c.Acceptance[0].Measure != PartialAnswers || c.Acceptance[1].Route != "GET /b" {
		t.Errorf("checks: %+v", c.Acceptance)
	}
	err := p.CheckAcceptance("p.yaml", c)
	if err == nil || !strings.HasPrefix(err.Error(), "p.yaml:2: acceptance: no request is of none GET /: they hold ") ||
		!strings.Contains(err.Error(), "p.yaml:5: acceptance: no request is of shop none: they hold ") {
		t.Errorf("CheckAcceptance = %v", err)
	}
	if err := policy(t, "acceptance:\n- {p99: 1s}").CheckAcceptance("p.yaml", c); err != nil {
		t.Error(err)
	}
}
