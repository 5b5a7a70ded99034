package analyze

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// What programs did that ran with real instrumentations, and the spans that these wrote, in ms.
// What is wanted comes from the program.

func TestObeyedOnOneHost(t *testing.T) {
	// Both services on one host. The call is left after 80 ms, and its callee, which hears of that
	// 0.4 ms later, returns: the usual handler in Go says 200. That it would have succeeded is not known.
	const spans = "R - 0 90 k=SERVER s=web h=A\nc R 0.2 80.2 k=CLIENT s=web h=A a=http.request.method=GET a=server.address=b st=DEADLINE\n" +
		"s c 0.4 %v k=SERVER s=b h=A%s"
	for _, test := range []struct {
		end  float64
		how  string
		want []string
		ran  int
	}{
		{80.6, "", nil, 0},
		{80.6, " st=CANCELLED", nil, 0},
		{79.9, "", nil, 0},
		{120, "", []string{"false-timeout web R -> b: 1+0"}, 1},
		{60, "", []string{"false-timeout web R -> b: 1+0"}, 0}, // its answer was on the way
	} {
		a := Run(worked(t, fmt.Sprintf(spans, test.end, test.how)), Options{Deadline: 200 * time.Millisecond})
		got := slices.DeleteFunc(findings(&a.Report), func(s string) bool { return !strings.HasPrefix(s, "false-timeout") })
		want(t, fmt.Sprint(test.end, test.how), fmt.Sprint(got, a.Report.Dependencies[0].RanOn), fmt.Sprint(test.want, test.ran))
	}
}

func TestTimeLeftOnTheWay(t *testing.T) {
	// grpc-go over two hops on one host: what is left is passed on as it is, and counts anew where
	// it arrives, 0.3 ms later.
	a := Run(worked(t, "R - 0 80 k=SERVER s=web h=A a=rpc.request.metadata.grpc-timeout=90000u\nc R 10 70 k=CLIENT s=web h=A\n"+
		"s c 10.3 60 k=SERVER s=db h=A a=rpc.request.metadata.grpc-timeout=80000u"), Options{})
	want(t, "findings", len(findings(&a.Report)), 0)
}

func TestWorkAfterABadAnswer(t *testing.T) {
	// A server answers 503, and goes on for 16 ms, with its log: nobody left it.
	a := Run(worked(t, "R - 0 60 k=SERVER s=web h=A\nc R 0 37"+get+"h=A a=server.address=b a=http.response.status_code=503 st=ERROR\n"+
		"s c 9 53 k=SERVER s=b h=A a=http.response.status_code=503 st=ERROR"), Options{})
	want(t, "findings", len(findings(&a.Report)), 0)
}
