package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"overrun/analyze"
)

func TestSpark(t *testing.T) {
	f := func(v float64) *analyze.Reading { return &analyze.Reading{Point: &v} }
	for want, points := range map[string][]*analyze.Reading{
		"":          nil,
		"▄":         {f(7)},
		"▁█":        {f(1), f(2)},
		"█▁":        {f(-1), f(-2)},
		"▁▂▃▄▅▆▇█":  {f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)},
		"▁·█·":      {f(0), nil, f(1e300), {}},
		"▄▄▄":       {f(0), f(0), f(0)},
		"▁▁▁▁▁▁▁▁█": {f(1), f(1), f(1), f(1), f(1), f(1), f(1), f(1), f(100)},
	} {
		if got := spark(points); got != want {
			t.Errorf("spark = %q, want %q", got, want)
		}
	}
}

// Names in a trend come from the input: they steer neither a terminal nor Markdown.
func TestTrendHostile(t *testing.T) {
	name := "a\x1b[2J|<b>\n# x"
	ten := 10.0
	value := &analyze.Reading{Point: &ten, Low: &ten, High: &ten}
	row := analyze.TrendRow{Caller: name, Callee: name, Operation: name, Split: &name}
	for _, f := range analyze.Figures {
		row.Series = append(row.Series, analyze.Series{Figure: f, Points: []*analyze.Reading{value, nil, value}, Drift: analyze.DriftUp})
	}
	trend := &analyze.Trend{Schema: analyze.TrendSchema, Nights: []analyze.Night{{File: name}, {File: name}, {File: name}}, Dependencies: []analyze.TrendRow{row}}
	var text, markdown, object bytes.Buffer
	for _, err := range []error{TrendText(&text, trend, Options{}), TrendMarkdown(&markdown, trend, Options{}), TrendJSON(&object, trend)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for what, out := range map[string]string{"text": text.String(), "markdown": markdown.String(), "JSON": object.String()} {
		if strings.Contains(out, "\x1b") {
			t.Errorf("%s has an escape sequence:\n%s", what, out)
		}
		if strings.Contains(out, "\n# x") {
			t.Errorf("%s has a line of the name's:\n%s", what, out)
		}
	}
	if outside := regexp.MustCompile("`[^`\n]*`").ReplaceAllString(markdown.String(), ""); strings.Contains(outside, "<b>") { // code spans hold it
		t.Errorf("Markdown has a tag:\n%s", markdown.String())
	}
}
