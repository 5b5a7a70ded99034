package analyze

import (
	"testing"
)

// checked is a trace of card, which calls prices and then recs, and answers
// 20 ms after it.
const checked = `
R - 0 100 k=SERVER s=card a=http.request.method=GET a=http.route=/card
p R 0 30 k=CLIENT s=card a=http.request.method=GET a=peer.service=prices
c R 30 80 k=CLIENT s=card a=http.request.method=GET a=peer.service=recs
`

func TestPolicyCheck(t *testing.T) {
	for _, row := range []struct {
		name, policy, want string // want "": nothing is wrong
	}{
		{"fits", `
deadlines:
- {service: card, route: "GET /card", deadline: 200ms}
dependencies:
- {callee: recs, minimum: 50ms, ceiling: 60ms}
- {callee: "*", ceiling: 1s}
`, ""},
		{"unknown names", `
deadlines:
- service: cart
  deadline: 200ms
dependencies:
- caller: card
  callee: rec
- {callee: "p*"}
`, `p.yaml:3: deadlines: no request in the traces is of cart *: they hold card GET /card: correct the name, or remove the rule
p.yaml:6: dependencies: no call in the traces is of card → rec *: they hold card → prices GET, card → recs GET: correct the name, or remove the rule`},
		{"ceiling below the measured minimum", `
dependencies:
- callee: recs
  ceiling: 49ms
`, `p.yaml:4: ceiling: 49ms is below the measured minimum of card → recs GET, 50ms (p50 of 1 attempts): no call would be made: write a higher ceiling, or a minimum`},
		{"minimum above the measured ceiling", // 50 ms + 20 % = 60 ms
			`
dependencies:
- callee: recs
  minimum: 61ms
`, `p.yaml:4: minimum: 61ms is above the measured ceiling of card → recs GET, 60ms: no call would be made: write a lower minimum, or a ceiling`},
		{"fixed timeouts know no minimum", `
timeouts: fixed
dependencies:
- callee: recs
  ceiling: 49ms
`, ""},
		{"measured reserve above the deadline", `
deadlines:
- service: card
  deadline: 20ms
`, `p.yaml:4: deadline: 20ms is used up by the measured reserve of card GET /card, 20ms (p99 of own work after the last answer): write a longer deadline, or the reserve that is meant`},
		{"a rule that an earlier one covers is no unknown name", `
dependencies:
- {callee: "*"}
- {callee: recs, attempts: 2}
`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := ParsePolicy("p.yaml", []byte(row.policy))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := p.Check("p.yaml", Run(worked(t, checked), Options{Policy: p})); err != nil {
				got = err.Error()
			}
			want(t, "Check", got, row.want)
		})
	}
}

func TestPolicyCheckOfPicked(t *testing.T) {
	// Another service may have what the picked requests do not.
	p := policy(t, "dependencies:\n- {callee: gone}\n")
	if err := p.Check("p.yaml", Run(worked(t, checked), Options{Policy: p, Pick: Pick{Service: "card"}})); err != nil {
		t.Errorf("Check = %v, want none", err)
	}
	if err := (*Policy)(nil).Check("", Run(worked(t, checked), Options{})); err != nil {
		t.Errorf("Check of no policy = %v, want none", err)
	}
}

func TestEdits(t *testing.T) {
	for _, row := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"same", "same", 0}} {
		if got := edits(row.a, row.b); got != row.want {
			t.Errorf("edits(%q, %q) = %d, want %d", row.a, row.b, got, row.want)
		}
	}
	want(t, "closest of many", meant("card → rec *", []string{"card → prices GET", "card → recs GET", "web → card GET", "web → db SELECT"}),
		": is card → recs GET meant? Correct the name, or remove the rule")
}

// A rule counts where one of the traces' routes matches, the first or the last.
func TestPolicyCheckOfSeveralRoutes(t *testing.T) {
	const two = checked + `
S - 200 300 k=SERVER s=till a=http.request.method=GET a=http.route=/till
`
	for _, service := range []string{"card", "till"} {
		p := policy(t, "deadlines:\n- {service: "+service+", deadline: 200ms}\n")
		if err := p.Check("p.yaml", Run(worked(t, two), Options{Policy: p})); err != nil {
			t.Errorf("%s: Check = %v, want none", service, err)
		}
	}
}
