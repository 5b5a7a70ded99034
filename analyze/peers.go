package analyze

import (
	"net/url"
	"strings"

	"overrun/ingest"
)

// A peerRule is one way to know whom a call goes to, or what it asks for. server
// is the entry span of the callee, nil where the trace has none.
type peerRule struct {
	id   string
	says string   // in words
	keys []string // canonical, that from reads
	from func(f *facts, server *ingest.Span) string
}

// calleeRules are tried in this order (9). What the user says comes before them:
// see peerOf.
var calleeRules = []peerRule{
	{"P2", "the callee's own service.name (not of a message's consumer)", nil, func(f *facts, server *ingest.Span) string {
		if server == nil || f.span.Kind == ingest.Producer {
			return ""
		}
		return server.Resource.Service
	}},
	{"P3", "service.peer.name with service.peer.namespace, or peer.service", []string{"service.peer.name", "service.peer.namespace"}, func(f *facts, _ *ingest.Span) string {
		name, space := f.get("service.peer.name"), f.get("service.peer.namespace")
		if name != "" && space != "" {
			return space + "/" + name
		}
		return name
	}},
	{"P5", "messaging system and destination; of RabbitMQ's default exchange, which has no name, the queue", []string{"messaging.system",
		"messaging.destination.name", "messaging.destination.template", "messaging.rabbitmq.destination.routing_key"}, func(f *facts, _ *ingest.Span) string {
		if topic := f.get("messaging.destination.template"); topic != "" {
			return join(f.get("messaging.system"), topic)
		}
		if topic := f.get("messaging.destination.name"); topic != "" {
			return join(f.get("messaging.system"), topic)
		}
		if queue := f.get("messaging.rabbitmq.destination.routing_key"); queue != "" && !strings.HasPrefix(queue, "amq.") { // amq.: made up by the server, one for each client
			return join(f.get("messaging.system"), queue)
		}
		return ""
	}},
	{"P2", "the service.name of a message's consumer", nil, func(f *facts, server *ingest.Span) string {
		if server == nil {
			return ""
		}
		return server.Resource.Service
	}},
	{"P6", "database system, namespace and address", []string{"db.system.name", "db.namespace"}, func(f *facts, _ *ingest.Span) string {
		system := f.get("db.system.name")
		if system == "" {
			return ""
		}
		return join(system, f.get("db.namespace"), f.address())
	}},
	{"P7", "RPC service of AWS, with cloud.region", []string{"rpc.system.name", "rpc.service", "rpc.method", "cloud.region"}, func(f *facts, _ *ingest.Span) string {
		if f.get("rpc.system.name") != "aws-api" && !anyGlob(awsScope, f.span.Scope) {
			return ""
		}
		if service := f.rpcService(); service != "" {
			return join(service, f.get("cloud.region"))
		}
		return ""
	}},
	{"P8", "Azure namespace and host, Google client service", []string{"az.namespace", "gcp.client.service"}, func(f *facts, _ *ingest.Span) string {
		if space := f.get("az.namespace"); space != "" {
			return join(space, f.host())
		}
		return f.get("gcp.client.service")
	}},
	{"P9", "Envoy's upstream cluster", []string{"upstream_cluster.name"}, func(f *facts, _ *ingest.Span) string {
		return envoyCluster(f.get("upstream_cluster.name"), f.span.Resource.Service)
	}},
	{"P10", "RPC service, or cut from the name of a gRPC span", []string{"rpc.service", "rpc.method"}, func(f *facts, _ *ingest.Span) string {
		return f.rpcService()
	}},
	{"P11", "address or host", []string{"server.address", "server.port", "http.host", "url.full", "client.name", "peer.hostname"}, func(f *facts, _ *ingest.Span) string {
		return f.address()
	}},
	{"P12", "an IP address, all as ip", []string{"network.peer.address"}, func(f *facts, _ *ingest.Span) string {
		if f.get("network.peer.address") != "" {
			return "ip"
		}
		return ""
	}},
	{"P13", "the template of the span's name", nil, func(f *facts, _ *ingest.Span) string { return template(f.span.Name) }},
}

// operationRules are tried in this order (9).
var operationRules = []peerRule{
	{"P20", "RPC method", []string{"rpc.service", "rpc.method"}, func(f *facts, _ *ingest.Span) string { return f.rpcMethod() }},
	{"P21", "METHOD url.template", []string{"http.request.method", "url.template"}, func(f *facts, _ *ingest.Span) string {
		return f.withMethod(f.get("url.template"))
	}},
	{"P22", "METHOD http.route of the callee's span", []string{"http.route"}, func(f *facts, server *ingest.Span) string {
		if server == nil || f.span.Kind == ingest.Producer {
			return ""
		}
		return f.withMethod(server.Attr("http.route"))
	}},
	{"P22b", "the name of the callee's span, where it is METHOD /path", nil, func(f *facts, server *ingest.Span) string {
		if server == nil || f.span.Kind == ingest.Producer {
			return ""
		}
		method, path, ok := strings.Cut(server.Name, " ")
		if !ok || method != f.httpMethod() || !strings.HasPrefix(path, "/") {
			return ""
		}
		return f.withMethod(template(path))
	}},
	{"P23", "METHOD uri (Spring, a template)", []string{"uri", "method"}, func(f *facts, _ *ingest.Span) string {
		if uri := f.get("uri"); uri != "" && !strings.EqualFold(uri, "none") && !strings.EqualFold(uri, "unknown") {
			return f.withMethod(template(uri))
		}
		return ""
	}},
	{"P24", "query summary, or operation and collection of a database", []string{"db.query.summary", "db.operation.name", "db.collection.name"}, func(f *facts, _ *ingest.Span) string {
		if summary := f.get("db.query.summary"); summary != "" {
			return summary
		}
		if op := f.get("db.operation.name"); op != "" {
			return join(op, f.get("db.collection.name"))
		}
		return ""
	}},
	{"P25", "messaging operation", []string{"messaging.operation.name"}, func(f *facts, _ *ingest.Span) string { return f.get("messaging.operation.name") }},
	{"P26", "HTTP method", []string{"http.request.method", "method"}, func(f *facts, _ *ingest.Span) string { return f.httpMethod() }},
	{"P27", "the template of the span's name", nil, func(f *facts, _ *ingest.Span) string { return template(f.span.Name) }},
}

// calleeOf says whom a call goes to, and by which rule. "unknown" is for
// Envoy's clusters that stand for anything.
func calleeOf(f *facts, server *ingest.Span) (callee, id string) {
	return firstPeer(calleeRules, f, server)
}

// operationOf says what a call asks for, in few different words, and by which rule.
func operationOf(f *facts, server *ingest.Span) (operation, id string) {
	return firstPeer(operationRules, f, server)
}

func firstPeer(rules []peerRule, f *facts, server *ingest.Span) (string, string) {
	for i := range rules {
		if text := rules[i].from(f, server); text != "" {
			return text, rules[i].id
		}
	}
	return "", ""
}

// envoyCluster is the callee that a cluster's name says. Istio writes
// outbound|<port>|<subset>|<host>; inbound clusters are the service itself.
func envoyCluster(cluster, self string) string {
	switch {
	case cluster == "PassthroughCluster", cluster == "BlackHoleCluster", cluster == "InboundPassthroughCluster":
		return "unknown"
	case strings.HasPrefix(cluster, "inbound|"):
		return self
	case strings.HasPrefix(cluster, "outbound|"):
		return cluster[strings.LastIndexByte(cluster, '|')+1:]
	}
	return cluster
}

// rpcMethod is the full name of the RPC method, service/method; "" where none
// was recorded (N6). Native gRPC spans have it in their name only (G3, G4).
func (f *facts) rpcMethod() string {
	service, method := f.get("rpc.service"), strings.TrimPrefix(f.get("rpc.method"), "/")
	switch {
	case method != "" && service != "" && !strings.Contains(method, "/"):
		return service + "/" + method
	case method != "":
		return method
	}
	for _, prefix := range [...]string{"Sent.", "Attempt.", "Recv."} {
		if full, ok := strings.CutPrefix(f.span.Name, prefix); ok {
			if at := strings.LastIndexByte(full, '.'); at > 0 {
				return full[:at] + "/" + full[at+1:]
			}
		}
	}
	return ""
}

// rpcService is the service of the RPC method (N6).
func (f *facts) rpcService() string {
	method := f.rpcMethod()
	if at := strings.LastIndexByte(method, '/'); at > 0 {
		return method[:at]
	}
	return f.get("rpc.service")
}

// httpMethod is the HTTP method; Spring calls it method.
func (f *facts) httpMethod() string {
	if method := f.get("http.request.method"); method != "" {
		return method
	}
	if f.get("uri") != "" {
		return f.get("method")
	}
	return ""
}

// withMethod puts the HTTP method before a path; "" where there is no path.
func (f *facts) withMethod(path string) string {
	if path == "" {
		return ""
	}
	return join(f.httpMethod(), path)
}

// host is the name of the peer; "" where none was recorded.
func (f *facts) host() string {
	for _, key := range [...]string{"server.address", "http.host"} {
		if host := f.get(key); host != "" {
			return host
		}
	}
	if full := f.get("url.full"); full != "" {
		if u, err := url.Parse(full); err == nil && u.Host != "" {
			return u.Host
		}
	}
	for _, key := range [...]string{"client.name", "peer.hostname"} {
		if host := f.get(key); host != "" && !strings.EqualFold(host, "none") {
			return host
		}
	}
	return ""
}

// address is host and port of the peer; "" where neither was recorded.
func (f *facts) address() string {
	host := f.host()
	if port := f.get("server.port"); host != "" && port != "" && !strings.Contains(host, ":") {
		return host + ":" + port
	}
	return host
}
