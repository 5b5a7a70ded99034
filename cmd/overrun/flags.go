package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"overrun/analyze"
	"overrun/ingest"
)

// sourceFlags are the flags of every command that reads dumps.
type sourceFlags struct {
	deadline time.Duration // 0: none
	policy   string        // "": none
	maxSkew  time.Duration
	workers  int    // 0: one a processor
	memory   int64  // bytes; 0: half of the machine's
	temp     string // "": the system's
	output   string // "", "-": standard output
	link     string // "": ids without links
	format   string
	top      int // rows of a table; 0: what report thinks right
	all      bool
	quiet    bool
	progress bool
	pick     analyze.Pick
	splitBy  string // attribute; "": rows are not split
	metrics  string // "": none
	sides    int    // dumps that are analysed one beside the other; 0: one
	decoder  string
	aside    func(path string) bool // see ingest.Options; nil: none
}

// bind adds the flags to a command that prints a report. The first format is the default.
func (f *sourceFlags) bind(cmd *cobra.Command, formats ...string) {
	f.bindPolicy(cmd)
	f.bindForm(cmd, formats)
	f.bindInput(cmd)
}

// bindPolicy adds what says when a request is late.
func (f *sourceFlags) bindPolicy(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(&durationValue{to: &f.deadline, positive: true}, "deadline", "`TIME` from the start of a top request to its deadline, such as 200ms,\nwhere neither the spans nor the policy give one")
	flags.Var(&textValue{&f.policy}, "policy", "policy `FILE` (YAML): deadlines of routes, rules of dependencies")
	_ = cmd.MarkFlagFilename("policy", "yaml", "yml") // fails only if the flag is unknown
}

// bindForm adds what says how a report looks.
func (f *sourceFlags) bindForm(cmd *cobra.Command, formats []string) {
	flags := cmd.Flags()
	f.format = formats[0]
	flags.Var(&choiceValue{&f.format, formats}, "format", "`FORM` of the output: "+strings.Join(formats, ", "))
	flags.VarP(&textValue{&f.output}, "output", "o", "write to `FILE`, which is replaced only when all went well")
	flags.Var(&linkValue{&f.link}, "link", "`URL` that trace ids link to, with {trace} in place of the id:\nin markdown, and in text on a terminal with colour")
	flags.Var(&countValue{to: &f.top, min: 1}, "top", "show `N` rows of each table, and not 10; text and markdown only")
	flags.BoolVar(&f.all, "all", false, "show all rows of each table")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if f.all && f.top > 0 {
			return usagef("--top and --all exclude each other: give one of them")
		}
		return f.loud()
	}
	complete(cmd, "format", formats)
}

// bindSplit adds what tells rows apart.
func (f *sourceFlags) bindSplit(cmd *cobra.Command) {
	cmd.Flags().Var(&textValue{&f.splitBy}, "split-by", "tell rows apart by the value of `ATTRIBUTE` of a request's entry span, or of its\nresource, such as cloud.region: like is to be compared with like")
}

// bindMetrics adds a file of numbers besides the report.
func (f *sourceFlags) bindMetrics(cmd *cobra.Command) {
	cmd.Flags().Var(&fileValue{&f.metrics}, "metrics", "write the numbers of the report to `FILE` besides, for Prometheus' textfile collector;\nit is replaced only when all went well")
}

// loud fails where progress is asked for and forbidden.
func (f *sourceFlags) loud() error {
	if f.progress && f.quiet {
		return usagef("--progress and --quiet exclude each other: give one of them")
	}
	return nil
}

// bindInput adds what says what is read, and at what cost.
func (f *sourceFlags) bindInput(cmd *cobra.Command) {
	flags := cmd.Flags()
	decoders := []string{string(ingest.OwnDecoder), string(ingest.PdataDecoder)}
	f.decoder = decoders[0]
	f.maxSkew = analyze.DefaultMaxSkew
	flags.Var(&instantValue{&f.pick.Since}, "since", "only requests that start at `TIME` or later, such as 2026-11-29T23:00Z;\na time without a zone is UTC")
	flags.Var(&instantValue{&f.pick.Until}, "until", "only requests that start before `TIME`")
	flags.Var(&textValue{&f.pick.Service}, "service", "only requests of services that match `GLOB`, in which * stands for any text")
	flags.Var(&textValue{&f.pick.Route}, "route", "only requests of routes that match `GLOB`")
	flags.Var(&durationValue{to: &f.maxSkew}, "max-skew", "move no clock by more than `TIME`; 0s: move none")
	flags.VarP(&countValue{to: &f.workers, most: runtime.GOMAXPROCS(0)}, "jobs", "j", "work on `N` processors; 0: on all. The output does not depend on it")
	flags.Var(&sizeValue{&f.memory}, "memory", "use at most `SIZE` of memory, such as 512MiB or 25%; what does not fit goes to a\nfile in --temp. Half of the machine's if not given. The output does not depend on it,\nunless a single trace is larger: a note says so")
	flags.Var(&textValue{&f.temp}, "temp", "`FOLDER` for what does not fit into memory; it is gone when the run ends, however")
	flags.Var(&choiceValue{&f.decoder, decoders}, "decoder", "`WHO` decodes OTLP: "+strings.Join(decoders, " or ")+" (the collector's library: slower, takes less, and a\nspan's position is that of the JSON object or the ResourceSpans that holds it)")
	flags.BoolVar(&f.progress, "progress", false, "where standard error is no terminal, write a line every "+logEvery.String()+" to it: bytes, spans, spans/s, time left")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress bar, no summary on standard error")
	complete(cmd, "decoder", decoders)
	_ = cmd.MarkFlagDirname("temp")
}

// share is the memory of one side.
func (f *sourceFlags) share() int64 { return f.memory / int64(max(f.sides, 1)) }

// folder fails where --temp leads to no folder: a long read would find out only when its
// memory is full.
func (f *sourceFlags) folder() error {
	if f.temp == "" {
		return nil
	}
	info, err := os.Stat(f.temp)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "stat", Path: f.temp, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return fmt.Errorf("--temp: %w", err)
	}
	return nil
}

// apart fails where a file would be written twice, or where what is written would take the
// place of what is read: a path that is given as input, or the policy file (policy: "" where
// that may be written). What lies in a folder that is given may be an output of the run before.
func apart(inputs []string, policy string, outputs ...string) error {
	for i, path := range outputs {
		if path == "" || path == "-" {
			continue
		}
		if slices.ContainsFunc(outputs[:i], func(other string) bool { return other != "" && other != "-" && sameFile(path, other) }) {
			return usagef("%s would be written twice: give each output a file of its own", path)
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue // nothing is lost
		}
		if policy != "" && sameFile(path, policy) {
			return usagef("%s is the policy, which would be replaced: give the output another file", path)
		}
		for _, input := range inputs {
			read := []string{input}
			if _, err := os.Stat(input); err != nil {
				read, _ = filepath.Glob(input) // of a bad pattern, whoever reads says so
			}
			if slices.ContainsFunc(read, func(other string) bool { return other != "-" && sameFile(path, other) }) {
				return usagef("%s is an input, which would be replaced: give the output another file", path)
			}
		}
	}
	return nil
}

// sameFile reports whether paths lead to one file, however they are written; it need not be
// there yet.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	if err == nil && err2 == nil {
		return os.SameFile(x, y)
	}
	return resolved(a) == resolved(b)
}

// resolved is a path without links, as far as it leads.
func resolved(path string) string {
	for range 40 { // links to what is not there yet
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
			break
		}
		to, err := os.Readlink(path)
		if err != nil {
			if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
				path = filepath.Join(folder, filepath.Base(path))
			}
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return path
}

// keep lists the attributes that are read.
func (f *sourceFlags) keep(policy *analyze.Policy) []string {
	list := analyze.Keep(policy)
	if f.splitBy != "" {
		list = append(list, f.splitBy)
	}
	return list
}

// analysis gives the options of the analysis.
func (f *sourceFlags) analysis(policy *analyze.Policy) analyze.Options {
	o := analyze.Options{Policy: policy, Deadline: f.deadline, MaxSkew: f.maxSkew, Workers: f.workers, Pick: f.pick, SplitBy: f.splitBy,
		Memory: f.share(), Temp: f.temp}
	if o.MaxSkew == 0 {
		o.MaxSkew = -1 // none is moved; 0 would be the default
	}
	return o
}

// picked fails where requests were picked and none is there: a report of nothing
// is no answer.
func (f *sourceFlags) picked(r *analyze.Report) error {
	if f.pick == (analyze.Pick{}) || r.Input.Requests+r.Input.Fragments > 0 {
		return nil
	}
	return errNotPicked
}

var errNotPicked = errors.New("no request is picked by --since, --until, --service and --route")

// complete offers words for the value of a flag.
func complete(cmd *cobra.Command, flag string, words []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err)
	}
}

// noEmpty says what is wrong with an empty argument or value: in a script that is a
// variable which was not set, and to go on would read another folder, or all services.
const noEmpty = "give a value, or leave it out"

// A textValue is any text but the empty one.
type textValue struct{ to *string }

func (v *textValue) Type() string   { return "string" }
func (v *textValue) String() string { return *v.to }

func (v *textValue) Set(text string) error {
	if text == "" {
		return fmt.Errorf("it is empty: %s", noEmpty)
	}
	*v.to = text
	return nil
}

// A durationValue is a time with a unit, not negative.
type durationValue struct {
	to       *time.Duration
	positive bool // 0 is wrong
}

func (v *durationValue) Type() string { return "duration" }

func (v *durationValue) String() string {
	if v.to == nil || *v.to == 0 {
		return ""
	}
	return v.to.String()
}

func (v *durationValue) Set(text string) error {
	d, err := analyze.ParseDuration(text)
	if err == nil && v.positive && d == 0 {
		err = fmt.Errorf("%q is zero: write more, such as 200ms", text)
	}
	*v.to = d
	return err
}

// instantForms are the ways to write an instant, the fullest first.
var instantForms = []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly}

// An instantValue is an instant in Unix nanoseconds.
type instantValue struct{ to *int64 }

func (v *instantValue) Type() string { return "time" }

func (v *instantValue) String() string {
	if v.to == nil || *v.to == 0 {
		return ""
	}
	return time.Unix(0, *v.to).UTC().Format(time.RFC3339Nano)
}

func (v *instantValue) Set(text string) error {
	for _, form := range instantForms {
		if at, err := time.Parse(form, text); err == nil && at.Year() >= 1970 && at.Year() < 2262 {
			*v.to = at.UnixNano()
			return nil
		}
	}
	return fmt.Errorf("write a time such as 2026-11-29T23:00Z, or a day such as 2026-11-29")
}

// A choiceValue is one of a few words.
type choiceValue struct {
	to *string
	of []string
}

func (v *choiceValue) Type() string   { return "string" }
func (v *choiceValue) String() string { return *v.to }

func (v *choiceValue) Set(text string) error {
	if !slices.Contains(v.of, text) {
		return fmt.Errorf("it is none of %s", strings.Join(v.of, ", "))
	}
	*v.to = text
	return nil
}

// A countValue is a whole number, at least min.
type countValue struct {
	to   *int
	min  int
	most int // what is more counts as this; 0: no limit
}

func (v *countValue) Type() string   { return "int" }
func (v *countValue) String() string { return strconv.Itoa(*v.to) }

func (v *countValue) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < v.min {
		return fmt.Errorf("write a whole number, %d or more", v.min)
	}
	if v.most > 0 {
		n = min(n, v.most)
	}
	*v.to = n
	return nil
}

// A fileValue is a file to write besides the report: not standard output, which has
// the report.
type fileValue struct{ to *string }

func (v *fileValue) Type() string   { return "file" }
func (v *fileValue) String() string { return *v.to }

func (v *fileValue) Set(text string) error {
	if text == "" || text == "-" {
		return fmt.Errorf("write a file's name: the report goes to standard output")
	}
	*v.to = text
	return nil
}

// A linkValue is a URL with {trace} in it.
type linkValue struct{ to *string }

func (v *linkValue) Type() string   { return "url" }
func (v *linkValue) String() string { return *v.to }

func (v *linkValue) Set(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsAny(text, " <>\"'()`|\\"):
		return fmt.Errorf("write a URL that begins with http:// or https://, such as https://traces.example/trace/{trace}")
	case !strings.Contains(text, "{trace}"):
		return fmt.Errorf("it lacks {trace}, which stands for the id, as in https://traces.example/trace/{trace}")
	}
	*v.to = text
	return nil
}

// anyCode stands for every code in --fail-on.
const anyCode = "any"

// A codesValue is a list of finding codes.
type codesValue struct{ to *[]analyze.FindingCode }

func (v *codesValue) Type() string   { return "codes" }
func (v *codesValue) String() string { return "" }

func (v *codesValue) Set(text string) error {
	known := codeNames()
	for code := range strings.SplitSeq(text, ",") {
		code = strings.TrimSpace(code)
		switch {
		case code == anyCode:
			for _, c := range analyze.FindingCodes {
				*v.to = append(*v.to, c.Code)
			}
		case slices.Contains(known, code):
			*v.to = append(*v.to, analyze.FindingCode(code))
		default:
			return fmt.Errorf("unknown code %q: the codes are %s", code, strings.Join(known, ", "))
		}
	}
	return nil
}

// codeNames lists what --fail-on knows.
func codeNames() []string {
	names := []string{anyCode}
	for _, c := range analyze.FindingCodes {
		names = append(names, string(c.Code))
	}
	return names
}
