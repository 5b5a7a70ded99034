package report

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"overrun/analyze"
)

// A service config of gRPC: grpc/service_config.proto of grpc-proto, as JSON. Retries and
// hedges: gRPC proposal A6.
type serviceConfig struct {
	MethodConfig    []methodConfig  `json:"methodConfig"`
	RetryThrottling retryThrottling `json:"retryThrottling"`
}

type methodConfig struct {
	Name          []methodName   `json:"name"`
	Timeout       string         `json:"timeout"`
	RetryPolicy   *retryPolicy   `json:"retryPolicy,omitempty"`
	HedgingPolicy *hedgingPolicy `json:"hedgingPolicy,omitempty"`
}

type methodName struct {
	Service string `json:"service"`
	Method  string `json:"method"`
}

type retryPolicy struct {
	MaxAttempts          int      `json:"maxAttempts"`
	InitialBackoff       string   `json:"initialBackoff"`
	MaxBackoff           string   `json:"maxBackoff"`
	BackoffMultiplier    float64  `json:"backoffMultiplier"`
	RetryableStatusCodes []string `json:"retryableStatusCodes"`
}

type hedgingPolicy struct {
	MaxAttempts         int      `json:"maxAttempts"`
	HedgingDelay        string   `json:"hedgingDelay"`
	NonFatalStatusCodes []string `json:"nonFatalStatusCodes"`
}

// retryThrottling holds A6's own example: retries stop while more than half of ten
// tokens are used up, and each success gives a tenth of one back.
type retryThrottling struct {
	MaxTokens  int     `json:"maxTokens"`
	TokenRatio float64 `json:"tokenRatio"`
}

// maxGRPCAttempts is the most attempts that gRPC makes of a call (A6).
const maxGRPCAttempts = 5

// hedging are the languages (telemetry.sdk.language) whose gRPC sends hedges.
var hedging = []string{"dotnet", "java", "nodejs"}

// GRPC writes a gRPC service config for the calls of one caller. What it cannot
// express is returned, since JSON has no comments.
func GRPC(w io.Writer, s *analyze.Suggestion) (notes []string, err error) {
	var l limits
	l.shared("A service config")
	l.say("timeout bounds the whole call, attempts and waits in it, never one attempt; a context whose deadline is earlier wins.")
	list, err := deployable(s, &l, "gRPC", analyze.GRPC)
	if err != nil {
		return nil, err
	}
	config := serviceConfig{MethodConfig: []methodConfig{}, RetryThrottling: retryThrottling{10, 0.1}}
	for _, m := range methods(list, &l) {
		d := m.Deployable
		c := methodConfig{Name: []methodName{m.methodName}}
		switch {
		case d.Hedge > 0 && !hedges(d.Languages):
			l.say("%s: no hedges: gRPC for %s does not send them (only for %s).", lineName(d.String()), languageNames(d.Languages), strings.Join(hedging, ", "))
			d.Hedge = 0
		case d.Hedge > 0:
			c.HedgingPolicy = &hedgingPolicy{2, protoDuration(d.Hedge), []string{"UNAVAILABLE"}}
		case d.Attempts > 1:
			c.RetryPolicy = grpcRetry(d, &l)
		}
		c.Timeout = protoDuration(d.Whole())
		config.MethodConfig = append(config.MethodConfig, c)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := e.Encode(&config); err != nil {
		return nil, err
	}
	return l.list, put(w, b.Bytes())
}

// A method is a call as a service config names it: without its callee.
type method struct {
	methodName
	*analyze.Deployable
}

// methods names each method once. Where several callees have it, it gets the least of
// their ceilings, and neither retries nor hedges.
func methods(list []analyze.Deployable, l *limits) (ms []method) {
	at := map[methodName]int{}
	for i := range list {
		d := &list[i]
		service, name := splitMethod(d.Operation)
		m := method{methodName{service, name}, d}
		k, ok := at[m.methodName]
		if !ok {
			at[m.methodName] = len(ms)
			ms = append(ms, m)
			continue
		}
		had := ms[k].Deployable
		l.say("%s: the config names a method once, whatever the callee: with that of %s it gets the shorter timeout of both, and no retries.", lineName(d.String()), lineName(had.Callee))
		had.Ceiling, had.Attempts, had.Hedge = min(had.Ceiling, d.Ceiling), 1, 0
	}
	return ms
}

// hedges reports whether gRPC sends hedges for all of the languages.
func hedges(languages []string) bool {
	return len(languages) > 0 && !slices.ContainsFunc(languages, func(l string) bool { return !slices.Contains(hedging, l) })
}

func languageNames(languages []string) string {
	var names []string
	for _, l := range languages {
		if l == "" {
			l = "an SDK that names no language"
		}
		names = append(names, lineName(l))
	}
	if names == nil {
		return "an unknown language"
	}
	return strings.Join(names, " and ")
}

// grpcCodes are the names of the codes that a failed call can have.
var grpcCodes = []string{"CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}

// grpcRetry is the retry policy of a call, whose attempts become those that gRPC makes;
// nil: gRPC has no code to retry it on, and makes one.
func grpcRetry(d *analyze.Deployable, l *limits) *retryPolicy {
	statuses, names := splitCodes(d.RetryOn)
	var codes []string
	for _, name := range names {
		if code := strings.ToUpper(strings.ReplaceAll(name, "-", "_")); slices.Contains(grpcCodes, code) {
			codes = append(codes, code)
		} else {
			l.say("%s: no retry on %s, which is no code of gRPC.", lineName(d.String()), lineName(name))
		}
	}
	for _, status := range statuses {
		// Proxies' statuses as gRPC reads them: doc/http-grpc-status-mapping.md.
		if status == 429 || status == 502 || status == 503 || status == 504 {
			if !slices.Contains(codes, "UNAVAILABLE") {
				codes = append(codes, "UNAVAILABLE")
			}
			continue
		}
		l.say("%s: no retry on HTTP status %d, which is no code of gRPC.", lineName(d.String()), status)
	}
	if len(codes) == 0 {
		d.Attempts = 1
		return nil
	}
	if d.Attempts > maxGRPCAttempts {
		l.say("%s: %d of %d attempts: gRPC makes no more.", lineName(d.String()), maxGRPCAttempts, d.Attempts)
		d.Attempts = maxGRPCAttempts
	}
	first, longest := backoff(d)
	return &retryPolicy{d.Attempts, protoDuration(first), protoDuration(longest), 2, codes}
}
