package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"overrun/analyze"
)

// A VirtualService of Istio (networking.istio.io/v1), as YAML.
type virtualService struct {
	APIVersion string        `yaml:"apiVersion"`
	Kind       string        `yaml:"kind"`
	Metadata   istioMetadata `yaml:"metadata"`
	Spec       istioSpec     `yaml:"spec"`
}

type istioMetadata struct {
	Name string `yaml:"name"`
}

type istioSpec struct {
	Hosts []string     `yaml:"hosts"`
	HTTP  []istioRoute `yaml:"http"`
}

type istioRoute struct {
	Name    string             `yaml:"name,omitempty"`
	Match   []istioMatch       `yaml:"match,omitempty"`
	Route   []istioDestination `yaml:"route"`
	Timeout string             `yaml:"timeout,omitempty"`
	Retries istioRetries       `yaml:"retries"`
}

type istioMatch struct {
	URI    map[string]string `yaml:"uri,omitempty"`
	Method map[string]string `yaml:"method,omitempty"`
}

type istioDestination struct {
	Destination istioHost `yaml:"destination"`
}

type istioHost struct {
	Host string `yaml:"host"`
}

// istioRetries is always written: Istio makes two retries where it is absent. Beside
// attempts: 0 Istio refuses all else (validateHTTPRetry of its pkg/config/validation).
type istioRetries struct {
	Attempts      int    `yaml:"attempts"` // beside the first; 0: none
	PerTryTimeout string `yaml:"perTryTimeout,omitempty"`
	RetryOn       string `yaml:"retryOn,omitempty"`
	Backoff       string `yaml:"backoff,omitempty"`
}

// Istio writes a VirtualService for each callee of one caller.
func Istio(w io.Writer, s *analyze.Suggestion) error {
	var l limits
	l.shared("A VirtualService")
	l.say("It holds for every caller of its host in the mesh, and these numbers are for one: where there are others, add sourceLabels to each match.")
	l.say("Hosts are named like the callees: put your own names in.")
	l.say("retries stands everywhere, since Istio makes two where it is absent; attempts counts those after the first, and 0 means none. What no match is about gets none, and no timeout.")
	list, err := deployable(s, &l, "Istio", analyze.HTTP, analyze.GRPC)
	if err != nil {
		return err
	}
	var documents []any
	used := map[string]int{}
	for _, up := range upstreams(list) {
		to := []istioDestination{{istioHost{up.callee}}}
		v := &virtualService{APIVersion: "networking.istio.io/v1", Kind: "VirtualService", Spec: istioSpec{Hosts: []string{up.callee}}}
		v.Metadata.Name = kubernetesName(up.calls[0].Caller+"-"+up.callee, used)
		for i := range up.calls {
			c := &up.calls[i]
			if c.Deployable.Hedge > 0 {
				l.say("%s: no hedge: Istio has none.", lineName(c.String()))
				c.Deployable.Hedge = 0
			}
			route := istioRoute{Match: c.istioMatch(), Route: to, Timeout: istioDuration(c.Whole()), Retries: c.istioRetries(&l)}
			v.Spec.HTTP = append(v.Spec.HTTP, route)
		}
		v.Spec.HTTP = append(v.Spec.HTTP, istioRoute{Route: to})
		documents = append(documents, v)
	}
	return writeYAML(w, &l, documents)
}

// istioDuration writes a time in whole milliseconds, and 1 ms at least: Istio takes no other
// (ValidateDuration of its pkg/config/validation). Parts of one are left out, so that no
// timeout is longer than what a deadline leaves.
func istioDuration(d time.Duration) string {
	return protoDuration(max(d.Truncate(time.Millisecond), time.Millisecond))
}

func (c *upstreamCall) istioMatch() []istioMatch {
	m := istioMatch{}
	switch {
	case c.path == "":
	case c.regex != "":
		m.URI = map[string]string{"regex": c.regex}
	default:
		m.URI = map[string]string{"exact": c.path}
	}
	if c.method != "" {
		m.Method = map[string]string{"exact": c.method}
	}
	if m.URI == nil && m.Method == nil {
		return nil
	}
	return []istioMatch{m}
}

func (c *upstreamCall) istioRetries(l *limits) istioRetries {
	if c.Attempts < 2 { // the timeout of the route is the ceiling
		return istioRetries{}
	}
	on := []string{"connect-failure", "refused-stream"}
	statuses, names := splitCodes(c.RetryOn)
	for _, name := range names {
		if strings.Contains(" "+strings.Join(envoyCodes, " ")+" ", " "+name+" ") {
			on = append(on, name)
		} else {
			l.say("%s: no retry on %s, which Istio does not know.", lineName(c.String()), lineName(name))
		}
	}
	for _, status := range statuses {
		on = append(on, fmt.Sprint(status))
	}
	first, _ := backoff(&c.Deployable)
	return istioRetries{c.Attempts - 1, istioDuration(c.Deployable.Ceiling), strings.Join(on, ","), istioDuration(first)}
}

// kubernetesName makes a name of a resource, with a number where it is taken: lower case
// letters, digits and dashes, 63 at the most.
func kubernetesName(text string, used map[string]int) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return '-'
	}, strings.ToLower(text))
	name = strings.Trim(name[:min(len(name), 55)], "-")
	if name == "" {
		name = "overrun"
	}
	if used[name]++; used[name] > 1 {
		name += fmt.Sprintf("-%d", used[name])
	}
	return name
}
