package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/binaries"
	"github.com/storagebench/storagebench/test/cluster"
)

// queued makes the kernel of a node ask the policy engine about each new TCP connection, except those that processes of
// the node itself open.
const queued = `set -e
iptables -w -t mangle -A POSTROUTING -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT
iptables -w -t mangle -A POSTROUTING -m owner --uid-owner 0 -j ACCEPT
iptables -w -t mangle -A POSTROUTING -p tcp -j NFQUEUE --queue-num 100`

// enforce enforces NetworkPolicies on nodes with the engine of kube-network-policies until lift is called.
func (s *space) enforce(members []cluster.Member) (lift func()) {
	s.Helper()
	built, err := binaries.Build(s.Context(), s.Output(), binaries.Policies)
	must(s.T, err)
	// Copy the kubeconfig: the cluster keeps it in /var, and each node has a /var of its own.
	kubeconfig := filepath.Join(s.TempDir(), "kubeconfig")
	text, err := os.ReadFile(s.State.Kubeconfig())
	must(s.T, err)
	must(s.T, os.WriteFile(kubeconfig, text, 0o600))
	var lifts []func()
	lift = sync.OnceFunc(func() {
		for _, one := range lifts {
			one()
		}
	})
	s.Cleanup(lift)
	for _, m := range members {
		engine, err := m.Enter(context.Background(), built[binaries.Policies], "-kubeconfig", kubeconfig, "-node", m.Name())
		must(s.T, err)
		var log bytes.Buffer
		engine.Stdout, engine.Stderr = &log, &log
		engine.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		must(s.T, engine.Start())
		rules := false
		lifts = append(lifts, func() {
			if rules {
				s.inMember(m, "iptables -w -t mangle -F POSTROUTING")
			}
			_ = syscall.Kill(-engine.Process.Pid, syscall.SIGKILL)
			_ = engine.Wait() // it was killed
			if s.Failed() {
				s.Logf("the engine of NetworkPolicies on %s:\n%s", m.Name(), log.String())
			}
		})
		s.until("the engine listens on "+m.Name(), hang, func() bool {
			return strings.Contains(s.inMember(m, "cat /proc/net/netfilter/nfnetlink_queue"), "  100 ")
		})
		s.inMember(m, queued)
		rules = true
	}
	return lift
}

// connects reports whether a connection from a pod's network namespace on node m to a port succeeds. If packets are
// dropped, it takes three seconds.
func (s *space) connects(m cluster.Member, from corev1.Pod, address string, port int32) bool {
	s.Helper()
	script := fmt.Sprintf(`for n in /proc/[0-9]*/ns/net; do
  if nsenter --net="$n" ip -o -4 address 2>/dev/null | grep -q ' %s/'; then
    exec nsenter --net="$n" timeout 3 bash -c 'exec 3<>/dev/tcp/%s/%d'
  fi
done
exit 99`, from.Status.PodIP, address, port)
	command, err := m.Enter(s.Context(), "sh", "-c", script)
	must(s.T, err)
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true
	case errors.As(err, &exit) && exit.ExitCode() == 124: // the exit code of timeout(1)
		return false
	}
	s.Fatalf("connecting from pod %s to %s:%d: %v: %s", from.Name, address, port, err, output)
	return false
}

// stranger creates a pod on the first node that does nothing.
func (s *space) stranger(namespace, name string, labels map[string]string) corev1.Pod {
	s.Helper()
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Spec: idle()}
	pod.Spec.NodeName = cluster.NodeName
	must(s.T, s.api.Create(s.Context(), &pod))
	s.Cleanup(func() {
		if err := s.api.Delete(context.Background(), &pod); err != nil {
			s.Error(err)
		}
	})
	s.until("pod "+name+" runs", hang, func() bool {
		made, err := s.clients.CoreV1().Pods(namespace).Get(s.Context(), name, metav1.GetOptions{})
		must(s.T, err)
		pod = *made
		return pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != ""
	})
	return pod
}

// TestEnforcedNetworkPolicies checks that, on three nodes that enforce NetworkPolicies, an MPI job over all nodes
// completes and the operator reaches its agents, but strangers do not: neither from the run's namespace, nor from
// another namespace with the labels of the operator or of the run. Without the engine, the same strangers reach the
// agents.
func TestEnforcedNetworkPolicies(t *testing.T) {
	members := threeNodes(t)
	s, image := newMPISpace(t)
	other := newSpace(t)
	s.sharedClaim("data")
	lift := s.enforce(members)
	s.apply(mpiBenchmark(image, directIOR("4Mi"), "data").Clients(3).Processes(2).Spread(v1alpha1.SpreadOnePerNode).Prepare("layout").
		Steady("write", "90s").WithLoad(directIOR("4Mi").Overwrites().Engine()).Obj())
	run := s.busy("01-write")
	pods := s.clientPods(run, 3)
	operator := s.operatorPod()
	strangers := map[string]corev1.Pod{
		"in the run's namespace":                     s.stranger(s.namespace, "stranger", nil),
		"with the operator's labels":                 s.stranger(other.namespace, "stranger", operator.Labels),
		"with the run's labels in another namespace": s.stranger(other.namespace, "like-a-client", pods[0].Labels),
	}
	place := members[slices.Index(namesOf(members), operator.Spec.NodeName)]
	for _, pod := range pods {
		if !s.connects(place, operator, pod.Status.PodIP, objects.AgentPort) {
			t.Errorf("the operator does not reach the agent on %s", pod.Spec.NodeName)
		}
		for name, stranger := range strangers {
			if s.connects(members[0], stranger, pod.Status.PodIP, objects.AgentPort) {
				t.Errorf("a stranger %s reaches the agent on %s", name, pod.Spec.NodeName)
			}
		}
	}
	lift()
	for name, stranger := range strangers {
		if !s.connects(members[0], stranger, pods[2].Status.PodIP, objects.AgentPort) {
			t.Errorf("a stranger %s does not reach an agent where nothing enforces policies, so the test shows nothing", name)
		}
	}
	run = s.ended(wholeRun + 2*time.Minute)
	s.log(run)
	hasResults(t, run)
	if own := targetOf(s, run, "write", "data").IOR; own == nil || own.Ranks != 6 {
		t.Errorf("IOR says %+v", own)
	}
	if slices.ContainsFunc(run.Status.Steps, func(step v1alpha1.StepStatus) bool { return step.Attempt > 1 }) {
		t.Errorf("steps were repeated: %q", attempts(run))
	}
	s.clean()
}
