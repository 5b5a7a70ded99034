package analyze

import (
	"slices"
	"testing"

	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
)

// Our spellings are those of the semantic conventions.
func TestSemconv(t *testing.T) {
	for _, key := range []string{string(semconv.HTTPRequestMethodKey), string(semconv.HTTPResponseStatusCodeKey), string(semconv.HTTPRequestResendCountKey),
		string(semconv.URLFullKey), string(semconv.ServerAddressKey), string(semconv.ServerPortKey), string(semconv.NetworkPeerAddressKey),
		string(semconv.DBSystemNameKey), string(semconv.DBNamespaceKey), string(semconv.DBQueryTextKey), string(semconv.DBQuerySummaryKey),
		string(semconv.DBOperationNameKey), string(semconv.DBCollectionNameKey), string(semconv.MessagingSystemKey), string(semconv.MessagingDestinationNameKey),
		string(semconv.MessagingDestinationTemplateKey), string(semconv.MessagingOperationNameKey), string(semconv.RPCMethodKey), string(semconv.RPCServiceKey),
		string(semconv.RPCSystemKey), string(semconv.RPCGRPCStatusCodeKey), string(semconv.RPCConnectRPCErrorCodeKey), string(semconv.ErrorTypeKey),
		string(semconv.HTTPRouteKey), string(semconv.URLTemplateKey), string(semconv.PeerServiceKey), string(semconv.CloudRegionKey), string(semconv.GCPClientServiceKey),
		string(semconv.AzureResourceProviderNamespaceKey), string(semconv.ExceptionTypeKey), string(semconv.ExceptionMessageKey)} {
		if !slices.Contains(keepKeys(&builtIn), key) {
			t.Errorf("keepKeys(&builtIn) lacks %s", key)
		}
	}
}
