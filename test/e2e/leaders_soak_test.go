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

// TestTwoLeaders: an operator stands still in the middle of a run, with open streams to the agents, for so
// long that another one takes over. When it wakes up it believes to lead still. The agents do
// not obey it, it ends, and the run has not noticed.
func TestTwoLeaders(t *testing.T) {
	soak.Only(t)
	in := requireNode(t)
	in.withoutOperator(t)
	first := in.operate(t)
	first.leads(time.Minute)
	second := in.operate(t)

	// For as long as it takes the second to lead and to meet the agents, which may be half a minute on a busy machine.
	const seconds = 45
	s := newSpace(t)
	s.claim("data", "1Gi")
	census := s.census()
	s.apply(small(seconds).Obj())
	run := s.busy("01-write")
	// Starts that were told too late have been made again by now.
	tries := len(run.Status.Steps)
	// What the first leader's epoch is at most.
	before := in.leaseVersion(t)

	first.signal(syscall.SIGSTOP)
	stood := time.Now()
	second.leads(leader.LeaseDuration + 10*time.Second)
	t.Logf("the second operator led %.1f s after the first stood still", time.Since(stood).Seconds())
	// It has met the agents when it tells how far the step is; before, it tells that it waits for them.
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
			t.Errorf("agent %d answers a leader of epoch %d, who was followed by another: %v", index, before, refusal)
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
	// The next test need not wait for the Lease.
	second.stop()
}

// leaseVersion is the version of the Lease, which epochs are made of.
func (in *installation) leaseVersion(t *testing.T) uint64 {
	t.Helper()
	var lease coordinationv1.Lease
	must(t, in.api.Get(t.Context(), client.ObjectKey{Namespace: operatorNamespace, Name: leader.LeaseName}, &lease))
	version, err := strconv.ParseUint(lease.ResourceVersion, 10, 64)
	must(t, err)
	return version
}

// describeAgent speaks to an agent as an operator of an epoch does, with all that the operator knows,
// and gives the agent's refusal; nil when it answers.
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

// asOperator is the operator's side of a connection to an agent.
func (s *space) asOperator(run *v1alpha1.BenchmarkRun, index int) *tls.Config {
	s.Helper()
	operator, err := s.authority(run, string(run.UID)).Operator()
	must(s.T, err)
	config, err := operator.ClientTLS(identity.ClientOf(string(run.UID), "data", index))
	must(s.T, err)
	return config
}

// hasReason reports whether an agent has refused with a reason.
func hasReason(refusal error, reason string) bool {
	for _, detail := range status.Convert(refusal).Details() {
		if info, ok := detail.(interface{ GetReason() string }); ok && info.GetReason() == reason {
			return true
		}
	}
	return false
}
