package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"overrun/analyze"
	"overrun/report"
)

const suggestHelp = `suggest writes the timeout policy that trace dumps suggest: the deadline of each
route, given, recorded or inferred, with the reserve it needs; and for each
dependency whether it is required, the minimum below which it is not called, the
ceiling beyond which nobody waits, and attempts or a hedge delay where repeating
is known to be safe (GET, HEAD, OPTIONS, a database read, or safe: true). Above
each rule stands what its numbers rest on, in lines that begin with #:

PATH is a file, a folder, a pattern such as 'traces-*.json', or - for standard
input. Times have a unit: ns, us, ms, s.

With --policy, or where the file of -o is there already, that file is kept as
it is: values, comments and order. What the data say now is written beside it,
and rules are added for what has none. A policy that contradicts itself or the
traces is an error that names its lines, and nothing is written.

--to writes another form of it:

  policy  the policy file, as YAML
  plan    for each route with a deadline how it is divided at worst, as JSON with
          times in milliseconds, a plan on a line; with --format markdown as a
          text in four parts. A plan that breaks a rule (sum above the total, no
          reserve, a required call below its minimum) is refused
  grpc    a gRPC service config for one caller (see --service), as JSON
  envoy   an Envoy RouteConfiguration for one caller, as YAML
  istio   an Istio VirtualService for each callee of one caller, as YAML

Each says what it cannot express: in comments, or for JSON on standard error. A
call that is not known to be safe to repeat gets no retry and no hedge in any.

Examples:

  overrun suggest --deadline 200ms testdata/card-5.jsonl.gz
  overrun suggest --policy testdata/policy.yaml --to plan testdata/card-5.jsonl.gz
  overrun suggest --policy testdata/policy.yaml --to istio --service card testdata/card-5.jsonl.gz
%s`

// suggestForms are the values of --to.
var suggestForms = []string{"policy", "plan", "grpc", "envoy", "istio"}

// suggestFlags are the flags of suggest.
type suggestFlags struct {
	sourceFlags
	to string
}

func (a *app) suggestCommand() *cobra.Command {
	f := suggestFlags{to: suggestForms[0]}
	cmd := &cobra.Command{
		Use:   "suggest [flags] PATH...",
		Short: "write the timeout policy that dumps suggest, or a form of it to deploy",
		Long:  fmt.Sprintf(suggestHelp, exitHelp),
		Args:  needPaths,
		RunE: a.starting(func(cmd *cobra.Command, paths []string) error {
			return runSuggest(cmd.Context(), a, &f, paths)
		}),
	}
	f.bindPolicy(cmd)
	flags := cmd.Flags()
	flags.Var(&choiceValue{&f.to, suggestForms}, "to", "`WHAT` to write: policy, plan, grpc, envoy, istio")
	flags.Var(&choiceValue{&f.format, []string{"json", "markdown"}}, "format", "`FORM` of --to plan: json, markdown")
	flags.VarP(&textValue{&f.output}, "output", "o", "write to `FILE`, which is replaced only when all went well")
	f.bindInput(cmd)
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if f.format != "" && f.to != "plan" {
			return usagef("--format is for --to plan: leave it out")
		}
		return f.loud()
	}
	complete(cmd, "to", suggestForms)
	complete(cmd, "format", []string{"json", "markdown"})
	return cmd
}

func runSuggest(ctx context.Context, a *app, f *suggestFlags, paths []string) error {
	policyFile := f.policy
	if f.to == "policy" {
		policyFile = "" // to be written anew
	}
	if err := apart(paths, policyFile, f.output); err != nil {
		return err
	}
	old, err := f.kept()
	if err != nil {
		return err
	}
	var policy *analyze.Policy
	if old != nil {
		if policy, err = analyze.ParsePolicy(f.policy, old); err != nil {
			return err
		}
	}
	out, err := a.create(ctx, f.output)
	if err != nil {
		return err
	}
	defer out.discard()
	in, err := a.open(ctx, &f.sourceFlags, policy, paths)
	if err != nil {
		return err
	}
	defer in.Close()
	o := f.analysis(policy)
	o.Hints = true
	analysis, err := in.analyse(ctx, o)
	if err != nil {
		return err
	}
	defer analysis.Close()
	if err := f.picked(&analysis.Report); err != nil {
		return err
	}
	if err := policy.Check(f.policy, analysis); err != nil {
		return err
	}
	suggestion, err := analysis.Suggest()
	if err != nil {
		return err
	}
	notes, err := f.write(out, suggestion, old)
	if err == nil {
		err = out.commit()
	}
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintf(a.stderr, "overrun: not in it: %s\n", n)
	}
	return nil
}

// kept is the policy file that is to be kept: that of --policy, or the one that -o
// would replace, which then is the policy; nil: there is none.
func (f *suggestFlags) kept() ([]byte, error) {
	if f.policy == "" && f.to == "policy" && f.output != "" && f.output != "-" {
		if info, err := os.Stat(f.output); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			f.policy = f.output
		}
	}
	if f.policy == "" {
		return nil, nil
	}
	data, err := os.ReadFile(f.policy)
	if err == nil && data == nil {
		data = []byte{}
	}
	return data, err
}

// write writes the form that --to names, and returns what that cannot express
// where it has no place for it.
func (f *suggestFlags) write(out *output, s *analyze.Suggestion, old []byte) (notes []string, err error) {
	switch f.to {
	case "policy":
		err = report.Policy(out, s, f.policy, old)
	case "plan":
		var plans []*analyze.Plan
		if plans, err = s.Plans(); err != nil {
			break
		}
		if f.format == "markdown" {
			err = report.PlanMarkdown(out, s, plans)
		} else {
			err = report.PlanJSON(out, plans)
		}
	case "grpc":
		notes, err = report.GRPC(out, s)
	case "envoy":
		err = report.Envoy(out, s)
	case "istio":
		err = report.Istio(out, s)
	}
	return notes, err
}
