package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// gap stands between columns.
const gap = "  "

// columns is the width of a string in a terminal, as tablewriter sees it: escape
// sequences have none, ambiguous East Asian characters are narrow in every locale.
func columns(s string) int { return twwidth.WidthWithOptions(s, twwidth.Options{}) }

// align lays cells out in columns and gives the lines: heads, a rule, rows. Cells
// must be clean and of one line; left says which columns stand left.
//
// This is all that is used of tablewriter, and where its traps are shut: heads
// are not re-written, nothing is wrapped, trimmed or hidden, widths do not depend
// on the locale, slices are not shared, and a row that comes out as more than one
// line is an error.
func align(heads []string, left []bool, rows [][]string) ([]string, error) {
	var b bytes.Buffer
	cells := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoFormat: tw.Off, AutoWrap: tw.WrapNone},
		Padding:    tw.CellPadding{Global: tw.PaddingNone},
	}
	for _, l := range left {
		a := tw.AlignRight
		if l {
			a = tw.AlignLeft
		}
		cells.Alignment.PerColumn = append(cells.Alignment.PerColumn, a)
	}
	t := tablewriter.NewTable(&b,
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithConfig(tablewriter.Config{
			Header:   cells,
			Row:      cells,
			Behavior: tw.Behavior{TrimSpace: tw.Off, TrimLine: tw.Off, TrimTab: tw.Off, AutoHide: tw.Off},
		}),
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbolCustom("rule").WithRow("─").WithColumn(gap).WithCenter(gap).WithHeaderMid(gap).WithMidLeft("").WithMidRight(""),
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.On, BetweenRows: tw.Off, ShowHeader: tw.On},
				Lines:      tw.Lines{ShowHeaderLine: tw.On, ShowTop: tw.Off, ShowBottom: tw.Off},
			},
		})),
	)
	t.Header(append([]string(nil), heads...))
	for _, r := range rows {
		if err := t.Append(append([]string(nil), r...)); err != nil {
			return nil, fmt.Errorf("table: %w", err)
		}
	}
	if err := t.Render(); err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != len(rows)+2 {
		return nil, fmt.Errorf("table: %d lines for %d rows", len(lines), len(rows))
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines, nil
}
