package report

import "testing"

// A name with a | is itself outside of tables; in a cell it needs an escape, also in a code
// span (GitHub Flavored Markdown, section 4.10, example 200).
func TestNamesWithBars(t *testing.T) {
	f := &markdownForm{width: 40}
	for _, test := range []struct{ name, prose, cell string }{
		{"a|b", "`a|b`", "`a\\|b`"},
		{"a\\|b", "`a\\|b`", "`a\\\\x7cb`"},
		{"|`|", "``|`|``", "``\\|`\\|``"},
	} {
		if got := f.line(say(named(test.name))); got != test.prose {
			t.Errorf("%q outside of tables: %s, want %s", test.name, got, test.prose)
		}
		if got := f.cell(say(named(test.name))); got != test.cell {
			t.Errorf("%q in a cell: %s, want %s", test.name, got, test.cell)
		}
	}
}
