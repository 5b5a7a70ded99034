package report

import (
	"bytes"
	"encoding/xml"
	"io"

	"overrun/analyze"
)

// The form is that of https://github.com/testmoapp/junitxml, which CI servers read.
type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	junitCounts
	Suite junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	junitCounts
	Cases []junitCase `xml:"testcase"`
}

type junitCounts struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
}

// JUnit writes the rules of acceptance as JUnit XML: a case for each limit of each
// route. Broken ones failed. Undecided ones were skipped, or with strict failed too.
// policy is the file that has the rules.
func JUnit(w io.Writer, c *analyze.Comparison, policy string, strict bool) error {
	counts := junitCounts{Name: "acceptance"}
	suite := junitSuite{}
	for i := range c.Acceptance {
		check := &c.Acceptance[i]
		class := lineName(check.Service) + "." + lineName(check.Route)
		if check.Split != nil {
			class += " [" + lineName(*check.Split) + "]"
		}
		one := junitCase{Class: class, Name: checkText(check), File: lineName(policy), Line: check.Line}
		message := &junitMessage{Message: CheckText(check)}
		counts.Tests++
		switch {
		case check.Ruling == analyze.Broken, check.Ruling == analyze.Undecided && strict:
			message.Type = string(check.Ruling)
			one.Failure = message
			counts.Failures++
		case check.Ruling == analyze.Undecided:
			one.Skipped = message
			counts.Skipped++
		}
		suite.Cases = append(suite.Cases, one)
	}
	suite.junitCounts = counts
	counts.Name = "overrun compare"
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{junitCounts: counts, Suite: suite}); err != nil {
		return err
	}
	b.WriteByte('\n')
	return put(w, b.Bytes())
}
