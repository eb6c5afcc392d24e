package e2e

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/cluster"
	"github.com/storagebench/storagebench/test/soak"
)

// cutFor is the time for which packets are dropped. It is longer than the operator's lease duration.
const cutFor = 20 * time.Second

// breakage is a temporary loss of packets between the operator and its peers: the agents or the API server. The
// operator replaces a client that it cannot reach for a minute.
type breakage struct {
	rules  func(operator string, pods []corev1.Pod) []string
	length time.Duration
}

func (b breakage) loses() bool { return b.length > time.Minute }

// lossy is a rule that drops a percentage of the packets at random.
func lossy(from, to string, percent int) string {
	return fmt.Sprintf("ip saddr %s ip daddr %s numgen random mod 100 < %d counter drop", from, to, percent)
}

var lostPackets = regexp.MustCompile(`packets ([1-9][0-9]*) `)

// cut drops the packets that match the rules on a node until mend is called. mend first waits until at least one packet
// was dropped. The first node forwards all packets between the other nodes.
func (s *space) cut(m cluster.Member, rules ...string) (mend func()) {
	s.Helper()
	const table = "storagebench_test_cut"
	text := "table ip " + table + " {\n"
	for _, hook := range []string{"forward", "input"} {
		text += fmt.Sprintf(" chain %s {\n  type filter hook %s priority -300;\n  %s\n }\n", hook, hook, strings.Join(rules, "\n  "))
	}
	s.inMember(m, "nft -f - <<'end'\n"+text+"}\nend")
	mend = sync.OnceFunc(func() {
		// A short cut may not have met any packet yet.
		s.until("a packet is lost", hang, func() bool { return lostPackets.MatchString(s.inMember(m, "nft list table ip "+table)) })
		s.inMember(m, "nft delete table ip "+table)
	})
	s.Cleanup(mend)
	return mend
}

// inMember runs a script in the namespaces of a node and returns its output. It also works after the test has ended.
func (s *space) inMember(m cluster.Member, script string) string {
	s.Helper()
	command, err := m.Enter(context.WithoutCancel(s.Context()), "sh", "-c", script)
	must(s.T, err)
	output, err := command.CombinedOutput()
	if err != nil {
		s.Fatalf("%s: %v: %s", script, err, output)
	}
	return string(output)
}

func drop(from, to string) string {
	return fmt.Sprintf("ip saddr %s ip daddr %s counter drop", from, to)
}

// TestBrokenNetworkOfOperator checks that a run survives a network that loses packets in the middle of a step. The
// clients keep writing meanwhile, so the same pods do the step once, with figures for its whole time. If the operator
// cannot reach a client for over a minute, it replaces the client and repeats the step, and the result has a warning.
func TestBrokenNetworkOfOperator(t *testing.T) {
	soak.Only(t)
	agent := func(operator string, pods []corev1.Pod) []string {
		return []string{drop(operator, pods[2].Status.PodIP), drop(pods[2].Status.PodIP, operator)}
	}
	server := func(operator string, _ []corev1.Pod) []string {
		return []string{"ip saddr " + operator + " tcp dport 6443 counter drop"}
	}
	for name, broken := range map[string]breakage{
		"from one agent, both ways":         {agent, cutFor},
		"from one agent, for a second":      {agent, time.Second},
		"from one agent, for 90 seconds":    {agent, 90 * time.Second},
		"from the API server":               {server, cutFor},
		"from the API server, for a minute": {server, time.Minute},
		"from all agents, a third of it all": {func(operator string, pods []corev1.Pod) (rules []string) {
			for _, pod := range pods {
				rules = append(rules, lossy(operator, pod.Status.PodIP, 33), lossy(pod.Status.PodIP, operator, 33))
			}
			return rules
		}, 50 * time.Second},
		"from one agent, its answers": {func(operator string, pods []corev1.Pod) []string {
			return []string{drop(pods[2].Status.PodIP, operator)}
		}, cutFor},
	} {
		t.Run(name, func(t *testing.T) {
			members := threeNodes(t)
			s := newSpace(t)
			s.sharedClaim("data")
			const seconds = 40
			s.apply(small(seconds).Clients(3).Spread(v1alpha1.SpreadOnePerNode).Obj())
			run := s.busy("01-write")
			census := s.census()
			mend := s.cut(members[0], broken.rules(s.operatorIP(), s.clientPods(run, 3))...)
			time.Sleep(broken.length)
			mend()
			run = s.ended(wholeRun)
			s.log(run)
			if broken.loses() {
				hasResults(t, run)
				if lost := run.Status.LostClients; len(lost) != 1 || !lost[0].Replaced || !strings.HasPrefix(lost[0].Reason, "unreachable for 1m0s") {
					t.Errorf("lost clients: %+v", lost)
				}
				if got := warned(run, "write"); !slices.Contains(got, v1alpha1.WarningClientReplaced) {
					t.Errorf("the result does not say that a client was replaced: %v", got)
				}
			} else {
				undisturbed(s, run, census)
			}
			didAll(t, run, "write", 3, seconds, 55)
			s.clean()
		})
	}
}

// TestBrokenNetworkOfRanks checks that an MPI job completes although the ranks of one node cannot reach the others for
// a while: the job waits for them, or the step is repeated.
func TestBrokenNetworkOfRanks(t *testing.T) {
	members := threeNodes(t)
	s, image := newMPISpace(t)
	s.sharedClaim("data")
	s.apply(mpiBenchmark(image, directIOR("4Mi"), "data").Clients(3).Processes(2).Spread(v1alpha1.SpreadOnePerNode).Prepare("layout").
		Steady("write", "12s").WithLoad(directIOR("4Mi").Overwrites().Engine()).Obj())
	run := s.busy("01-write")
	pods := s.clientPods(run, 3)
	var rules []string
	for _, other := range pods[:2] {
		rules = append(rules, drop(other.Status.PodIP, pods[2].Status.PodIP), drop(pods[2].Status.PodIP, other.Status.PodIP))
	}
	mend := s.cut(members[0], rules...)
	time.Sleep(cutFor)
	mend()
	run = s.ended(hang)
	t.Logf("attempts: %q", attempts(run))
	s.log(run)
	hasResults(t, run)
	if own := targetOf(s, run, "write", "data").IOR; own == nil || own.Ranks != 6 || len(own.Operations) != 1 {
		t.Errorf("IOR says %+v", own)
	}
	s.clean()
	s.noRanks("the run is over", pods)
}

// clientPods returns the pods of the clients of target data, by client index.
func (s *space) clientPods(run *v1alpha1.BenchmarkRun, count int) []corev1.Pod {
	s.Helper()
	pods := make([]corev1.Pod, count)
	for index := range pods {
		if !s.get(objects.PodName(run, objects.Client{Target: "data", Index: index, Attempt: 1}), &pods[index]) {
			s.Fatalf("client %d has no pod", index)
		}
	}
	return pods
}

func (s *space) operatorIP() string {
	s.Helper()
	return s.operatorPod().Status.PodIP
}

func (s *space) operatorPod() corev1.Pod {
	s.Helper()
	var pods corev1.PodList
	must(s.T, s.api.List(s.Context(), &pods, client.InNamespace(operatorNamespace)))
	if len(pods.Items) != 1 {
		s.Fatalf("there are %d operators", len(pods.Items))
	}
	return pods.Items[0]
}
