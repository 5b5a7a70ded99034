package report

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
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
	Port   int               `yaml:"port,omitempty"` // of the host; 0: any
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

// Istio writes a VirtualService for each host that one caller calls.
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
	services := map[string]*virtualService{}
	ups := upstreams(list)
	// A host has one VirtualService, and what holds for one port of it comes first.
	slices.SortStableFunc(ups, func(x, y *upstream) int {
		_, first := x.address()
		_, second := y.address()
		return cmp.Compare(min(second, 1), min(first, 1))
	})
	for _, up := range ups {
		host, port := up.address()
		v := services[host]
		if v == nil {
			v = &virtualService{APIVersion: "networking.istio.io/v1", Kind: "VirtualService", Spec: istioSpec{Hosts: []string{host}}}
			v.Metadata.Name = kubernetesName(up.calls[0].Caller+"-"+host, used)
			services[host] = v
			documents = append(documents, v)
		}
		for i := range up.calls {
			c := &up.calls[i]
			if c.Deployable.Hedge > 0 {
				l.say("%s: no hedge: Istio has none.", lineName(c.String()))
				c.Deployable.Hedge = 0
			}
			v.Spec.HTTP = append(v.Spec.HTTP, istioRoute{Match: c.istioMatch(port), Route: istioTo(host), Timeout: istioDuration(c.Whole()), Retries: c.istioRetries(&l)})
		}
	}
	for host, v := range services {
		v.Spec.HTTP = append(v.Spec.HTTP, istioRoute{Route: istioTo(host)})
	}
	return writeYAML(w, &l, documents)
}

// istioTo is a destination; without a port it is the one that was called.
func istioTo(host string) []istioDestination { return []istioDestination{{istioHost{host}}} }

// address is the callee without its port, since Istio's hosts have none, and the port; 0: it
// names none.
func (u *upstream) address() (host string, port int) {
	host, text, err := net.SplitHostPort(u.callee)
	n, wrong := strconv.ParseUint(text, 10, 16)
	if err != nil || wrong != nil || n == 0 {
		return u.callee, 0
	}
	return host, int(n)
}

// istioDuration writes a time in whole milliseconds, and 1 ms at least: Istio takes no other
// (ValidateDuration of its pkg/config/validation). Parts of one are left out, so that no
// timeout is longer than what a deadline leaves.
func istioDuration(d time.Duration) string {
	return protoDuration(max(d.Truncate(time.Millisecond), time.Millisecond))
}

func (c *upstreamCall) istioMatch(port int) []istioMatch {
	m := istioMatch{Port: port}
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
	if m.URI == nil && m.Method == nil && port == 0 {
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
