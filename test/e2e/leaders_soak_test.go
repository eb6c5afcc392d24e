package e2e

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/leader"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/soak"
)

// TestTwoLeaders stops an operator during a run, with open streams to the agents, until another one leads, and then
// resumes it. The old leader still believes that it leads, but the agents must refuse its epoch, it must exit, and the
// run must be unaffected.
func TestTwoLeaders(t *testing.T) {
	soak.Only(t)
	in := requireNode(t)
	in.withoutOperator(t)
	first := in.operate(t)
	first.leads(time.Minute)
	second := in.operate(t)

	// Long enough for the second operator to lead and to connect to the agents, which may take half a minute on a busy
	// machine.
	const seconds = 45
	s := newSpace(t)
	s.claim("data", "1Gi")
	census := s.census()
	s.apply(small(seconds).Obj())
	run := s.busy("01-write")
	// Steps whose start command came too late have been repeated by now.
	tries := len(run.Status.Steps)
	// An upper bound of the first leader's epoch.
	before := in.leaseVersion(t)

	first.signal(syscall.SIGSTOP)
	stood := time.Now()
	second.leads(leader.LeaseDuration + 10*time.Second)
	t.Logf("the second operator led %.1f s after the first stood still", time.Since(stood).Seconds())
	// It has connected to the agents once its message shows the step's progress. Until then, it says that it waits for
	// them.
	told := s.run().Status.Message
	s.until("the second operator conducts the run", 20*time.Second, func() bool {
		now := s.run().Status.Message
		return now != told && strings.HasPrefix(now, "write: ")
	})

	woken := time.Now()
	first.signal(syscall.SIGCONT)
	for index := range 2 {
		refusal := s.describeAgent(run, index, before)
		if !hasReason(refusal, agentapi.ReasonSuperseded) {
			t.Errorf("agent %d does not refuse a leader of epoch %d, which another one has superseded: %v", index, before, refusal)
		}
	}
	select {
	case <-first.ended:
		t.Logf("the first operator ended %.1f s after it woke up: %s", time.Since(woken).Seconds(), tail(first.log(), 1))
	case <-time.After(leader.RenewDeadline):
		t.Errorf("the first operator goes on beside the second\n%s", tail(first.log(), 20))
	}

	run = s.ended(wholeRun)
	isComplete(t, run)
	didAll(t, run, "write", 2, seconds, 95)
	if steps, want := attempts(run), []string{"00-layout Succeeded", "01-write Succeeded"}; !slices.Equal(steps, want) || len(run.Status.Steps) != tries {
		t.Errorf("steps %q, want %q, and none begun again after the first operator stood still", steps, want)
	}
	if pods, want := census.names(), []string{run.Name + "-data-0-1", run.Name + "-data-1-1"}; !slices.Equal(pods, want) {
		t.Errorf("there were the pods %q, want %q", pods, want)
	}
	if len(run.Status.LostClients) > 0 {
		t.Errorf("lost clients %+v", run.Status.LostClients)
	}
	s.clean()
	// Release the Lease, so that the next test does not have to wait for it.
	second.stop()
}

// leaseVersion returns the resource version of the Lease. Epochs are derived from it.
func (in *installation) leaseVersion(t *testing.T) uint64 {
	t.Helper()
	var lease coordinationv1.Lease
	must(t, in.api.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: leader.LeaseName}, &lease))
	version, err := strconv.ParseUint(lease.ResourceVersion, 10, 64)
	must(t, err)
	return version
}

// describeAgent calls an agent with the identity of the operator and an epoch. It returns the agent's refusal, or nil
// if the agent answers.
func (s *space) describeAgent(run *v1alpha1.BenchmarkRun, index int, epoch uint64) error {
	s.Helper()
	var pod corev1.Pod
	if !s.get(objects.PodName(run, objects.Client{Target: "data", Index: index, Attempt: 1}), &pod) {
		s.Fatalf("client %d has no pod", index)
	}
	connection, err := grpc.NewClient("passthrough:///"+net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(objects.AgentPort)),
		grpc.WithTransportCredentials(credentials.NewTLS(s.asOperator(run, index))))
	must(s.T, err)
	defer connection.Close()
	ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
	defer cancel()
	_, err = agentapi.NewAgentClient(connection).Describe(ctx, &agentapi.DescribeRequest{Epoch: epoch})
	return err
}

// asOperator returns the TLS configuration of an operator that calls an agent.
func (s *space) asOperator(run *v1alpha1.BenchmarkRun, index int) *tls.Config {
	s.Helper()
	operator, err := s.authority(run, string(run.UID)).Operator()
	must(s.T, err)
	config, err := operator.ClientTLS(identity.ClientOf(string(run.UID), "data", index))
	must(s.T, err)
	return config
}

// hasReason reports whether a refusal has a reason.
func hasReason(refusal error, reason string) bool {
	for _, detail := range status.Convert(refusal).Details() {
		if info, ok := detail.(interface{ GetReason() string }); ok && info.GetReason() == reason {
			return true
		}
	}
	return false
}
