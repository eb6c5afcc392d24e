package benchmarkrun

import (
	"net"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/identity"
)

// TestAgentDeposesNobody checks that an agent cannot depose the operator by claiming to obey a newer one: while the
// Lease names this operator, the run fails. Otherwise it would never end.
func TestAgentDeposesNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := newGate(t)
	run := w.start(g.benchmark())
	g.waitFor(w, run, 0, 1)
	pod := w.pod("run-data-0-1")
	authority, err := identity.ForRun(master, string(run.UID), validity(run))
	must(t, err)
	operator, err := authority.Operator()
	must(t, err)
	config, err := operator.ClientTLS(identity.ClientOf(string(run.UID), "data", 0))
	must(t, err)
	connection, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(agentPort(pod))),
		grpc.WithTransportCredentials(credentials.NewTLS(config)))
	must(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	// No operator has this epoch.
	_, err = agentapi.NewAgentClient(connection).Describe(t.Context(), &agentapi.DescribeRequest{Epoch: w.epoch.Load() + 1})
	must(t, err)
	w.until(run, "failed", func() bool { return is(run, v1alpha1.ConditionFailed, metav1.ConditionTrue) })
	if got := reason(run, v1alpha1.ConditionFailed); !strings.Contains(got, "client data/0 cannot take part: epoch 1 has ended") {
		t.Errorf("failed: %s", got)
	}
	g.open(t)
}
