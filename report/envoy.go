package report

import (
	"io"
	"slices"
	"strings"

	"overrun/analyze"
)

// A RouteConfiguration of Envoy (envoy.config.route.v3), as YAML.
type envoyRoutes struct {
	Name         string             `yaml:"name"`
	VirtualHosts []envoyVirtualHost `yaml:"virtual_hosts"`
}

type envoyVirtualHost struct {
	Name    string       `yaml:"name"`
	Domains []string     `yaml:"domains"`
	Routes  []envoyRoute `yaml:"routes"`
}

type envoyRoute struct {
	Match envoyMatch  `yaml:"match"`
	Route envoyAction `yaml:"route"`
}

type envoyMatch struct {
	Path      string        `yaml:"path,omitempty"`
	Prefix    string        `yaml:"prefix,omitempty"`
	SafeRegex *envoyRegex   `yaml:"safe_regex,omitempty"`
	Headers   []envoyHeader `yaml:"headers,omitempty"`
	GRPC      *struct{}     `yaml:"grpc,omitempty"`
}

type envoyRegex struct {
	Regex string `yaml:"regex"`
}

type envoyHeader struct {
	Name        string      `yaml:"name"`
	StringMatch envoyString `yaml:"string_match"`
}

type envoyString struct {
	Exact string `yaml:"exact"`
}

type envoyAction struct {
	Cluster     string      `yaml:"cluster"`
	Timeout     string      `yaml:"timeout,omitempty"`
	RetryPolicy *envoyRetry `yaml:"retry_policy,omitempty"`
}

type envoyRetry struct {
	RetryOn              string        `yaml:"retry_on,omitempty"`
	NumRetries           int           `yaml:"num_retries"`
	PerTryTimeout        string        `yaml:"per_try_timeout,omitempty"`
	RetriableStatusCodes []int         `yaml:"retriable_status_codes,flow,omitempty"`
	RetryBackOff         *envoyBackOff `yaml:"retry_back_off,omitempty"`
}

type envoyBackOff struct {
	BaseInterval string `yaml:"base_interval"`
	MaxInterval  string `yaml:"max_interval"`
}

// envoyCodes are the gRPC codes that Envoy retries on by name.
var envoyCodes = []string{"cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable"}

// Envoy writes routes with timeouts and retries for the calls of one caller: the ceiling
// is per_try_timeout, the whole call timeout.
func Envoy(w io.Writer, s *analyze.Suggestion) error {
	var l limits
	l.shared("Envoy")
	l.say("Clusters and domains are named like the callees: put your own names in.")
	l.say("What no route is about goes to the last one of its host, with no timeout of ours and without retries.")
	list, err := deployable(s, &l, "Envoy", analyze.HTTP, analyze.GRPC)
	if err != nil {
		return err
	}
	config := envoyRoutes{Name: "overrun", VirtualHosts: []envoyVirtualHost{}}
	if callers := s.Callers(); len(callers) == 1 && callers[0] != "" {
		config.Name = callers[0]
	}
	for _, up := range upstreams(list) {
		host := envoyVirtualHost{Name: up.callee, Domains: envoyDomains(up.callee)}
		for i := range up.calls {
			c := &up.calls[i]
			if c.Deployable.Hedge > 0 {
				l.say("%s: no hedge: a second copy after a delay cannot be expressed in Envoy, which hedges only when per_try_timeout has passed.", lineName(c.String()))
				c.Deployable.Hedge = 0
			}
			host.Routes = append(host.Routes, envoyRoute{c.envoyMatch(), envoyAction{up.callee, protoDuration(c.Whole()), c.envoyRetry(&l)}})
		}
		host.Routes = append(host.Routes, envoyRoute{envoyMatch{Prefix: "/"}, envoyAction{Cluster: up.callee, RetryPolicy: &envoyRetry{}}})
		config.VirtualHosts = append(config.VirtualHosts, host)
	}
	return writeYAML(w, &l, []any{&config})
}

// envoyDomains are the values of Host that a callee is called by.
func envoyDomains(callee string) []string {
	if strings.Contains(callee, ":") {
		return []string{callee}
	}
	return []string{callee, callee + ":*"}
}

func (c *upstreamCall) envoyMatch() envoyMatch {
	m := envoyMatch{}
	switch {
	case c.path == "":
		m.Prefix = "/"
	case c.regex != "":
		m.SafeRegex = &envoyRegex{c.regex}
	default:
		m.Path = c.path
	}
	if c.method != "" {
		m.Headers = []envoyHeader{{":method", envoyString{c.method}}}
	}
	if c.Transport == analyze.GRPC {
		m.GRPC = &struct{}{}
	}
	return m
}

func (c *upstreamCall) envoyRetry(l *limits) *envoyRetry {
	r := &envoyRetry{PerTryTimeout: protoDuration(c.Deployable.Ceiling)}
	if c.Attempts < 2 {
		return r
	}
	statuses, names := splitCodes(c.RetryOn)
	on := []string{"connect-failure", "refused-stream"}
	for _, name := range names {
		if slices.Contains(envoyCodes, name) {
			on = append(on, name)
		} else {
			l.say("%s: no retry on %s, which Envoy does not know.", lineName(c.String()), lineName(name))
		}
	}
	if len(statuses) > 0 {
		on = append(on, "retriable-status-codes")
	}
	first, longest := backoff(&c.Deployable)
	r.RetryOn, r.NumRetries, r.RetriableStatusCodes = strings.Join(on, ","), c.Attempts-1, statuses
	r.RetryBackOff = &envoyBackOff{protoDuration(first), protoDuration(longest)}
	l.say("%s: Envoy draws the wait before the n-th retry from 0 to base_interval x (2^n - 1), which is longer than planned from the second on, and cuts it at max_interval.", lineName(c.String()))
	return r
}
