package report

import (
	"bytes"
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"overrun/analyze"
)

// CompareCSV writes all differences, one a line, in the order of the comparison. Times
// are nanoseconds, shares fractions: the column unit says which. An empty field is
// unknown.
func CompareCSV(w io.Writer, c *analyze.Comparison) error {
	var b bytes.Buffer
	out := csv.NewWriter(&b)
	fields := func(of, who, what, operation string, split *string, seen analyze.Seen, d *analyze.Difference, heads bool) (row []string) {
		add := func(head, value string) {
			if heads {
				value = head
			}
			row = append(row, value)
		}
		number := func(head string, v *float64) {
			add(head, ifKnown(v, func(f float64) string {
				if d.Unit == analyze.Times {
					return strconv.FormatFloat(math.Round(f), 'f', 0, 64)
				}
				return fraction(f)
			}))
		}
		add("of", of)
		add("service", inert(who))
		add("route_or_callee", inert(what))
		add("operation", inert(operation))
		add("split", ifKnown(split, inert))
		add("seen", string(seen))
		add("measure", inert(string(d.Measure)))
		add("unit", string(d.Unit))
		add("before_n", strconv.Itoa(d.Before.N))
		add("after_n", strconv.Itoa(d.After.N))
		number("before", d.Before.Point)
		number("before_low", d.Before.Low)
		number("before_high", d.Before.High)
		number("after", d.After.Point)
		number("after_low", d.After.Low)
		number("after_high", d.After.High)
		number("difference", d.Difference.Point)
		number("difference_low", d.Difference.Low)
		number("difference_high", d.Difference.High)
		add("p", ifKnown(d.P, fraction))
		add("p_adjusted", ifKnown(d.Adjusted, fraction))
		add("verdict", inert(string(d.Verdict)))
		return row
	}
	err := out.Write(fields("", "", "", "", nil, "", new(analyze.Difference), true))
	write := func(row []string) {
		if err == nil {
			err = out.Write(row)
		}
	}
	for i := range c.Routes {
		for k := range c.Routes[i].Differences {
			r := &c.Routes[i]
			write(fields("route", r.Service, r.Route, "", r.Split, r.Seen, &r.Differences[k], false))
		}
	}
	for i := range c.Dependencies {
		for k := range c.Dependencies[i].Differences {
			d := &c.Dependencies[i]
			write(fields("dependency", d.Caller, d.Callee, d.Operation, d.Split, d.Seen, &d.Differences[k], false))
		}
	}
	out.Flush()
	if err == nil {
		err = out.Error()
	}
	if err != nil {
		return err
	}
	return put(w, b.Bytes())
}
