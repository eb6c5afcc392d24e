package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/cluster"
	"github.com/storagebench/storagebench/test/soak"
)

// The tests of this file run on three nodes. Each has the cluster to itself and leaves it with one node.

func threeNodes(t *testing.T) []cluster.Member {
	t.Helper()
	soak.Only(t)
	return requireNode(t).Nodes(t, 3)
}

// sharedClaim creates a claim whose volume is available on all nodes.
func (s *space) sharedClaim(name string) {
	s.Helper()
	class := cluster.SharedClassName
	s.create(&corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	})
}

// nodesOf returns the node names of pods, one per pod, sorted.
func nodesOf(pods []corev1.Pod) (names []string) {
	for _, pod := range pods {
		names = append(names, pod.Spec.NodeName)
	}
	slices.Sort(names)
	return names
}

func namesOf(members []cluster.Member) (names []string) {
	for _, m := range members {
		names = append(names, m.Name())
	}
	return names
}

// podsRunning waits until all pods of the run are running and returns them.
func (s *space) podsRunning(count int) (pods []corev1.Pod) {
	s.Helper()
	s.until("the pods run", hang, func() bool {
		pods = s.pods()
		return len(pods) == count && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Status.Phase != corev1.PodRunning })
	})
	return pods
}

// TestOnePerNode checks that three clients run on three nodes and that the figures cover all of them, both on a shared
// volume and with a volume per client.
func TestOnePerNode(t *testing.T) {
	for _, volumes := range []string{"shared", "own"} {
		t.Run(volumes, func(t *testing.T) {
			members := threeNodes(t)
			s := newSpace(t)
			benchmark := small(lossSeconds).Clients(3).Spread(v1alpha1.SpreadOnePerNode)
			if volumes == "shared" {
				s.sharedClaim("data")
			} else {
				benchmark.PerClient()
			}
			s.apply(benchmark.Obj())
			if nodes := nodesOf(s.podsRunning(3)); !slices.Equal(nodes, namesOf(members)) {
				t.Errorf("the clients run on %q, want one on each of %q", nodes, namesOf(members))
			}
			run := s.ended(wholeRun)
			isComplete(t, run)
			didAll(t, run, "write", 3, lossSeconds, 55)
			// All nodes are this machine, which the agents recognize by the kernel's boot ID.
			if got := warned(run, "write"); !slices.Contains(got, v1alpha1.WarningClientsShareNode) {
				t.Errorf("the result does not say that the nodes are one machine: %v", got)
			}
			s.clean()
		})
	}
}

// TestMPIOverNodes checks that twelve ranks run, four on each of three nodes, and that IOR's own counts cover all of
// them.
func TestMPIOverNodes(t *testing.T) {
	members := threeNodes(t)
	s, image := newMPISpace(t)
	s.sharedClaim("data")
	s.apply(mpiBenchmark(image, directIOR("4Mi"), "data").Clients(3).Processes(4).Spread(v1alpha1.SpreadOnePerNode).Prepare("layout").
		Steady("write", "6s").WithLoad(directIOR("4Mi").Overwrites().Engine()).
		Steady("metadata", "1m").WithLoad(builders.Mdtest()).Obj())
	pods := s.podsRunning(3)
	if nodes := nodesOf(pods); !slices.Equal(nodes, namesOf(members)) {
		t.Errorf("the clients run on %q, want one on each of %q", nodes, namesOf(members))
	}
	run := s.ended(hang)
	s.log(run)
	hasResults(t, run)
	own := targetOf(s, run, "write", "data").IOR
	if own == nil || own.Ranks != 12 || own.Clients != 3 || len(own.Operations) != 1 || own.Operations[0].Operation != v1alpha1.OperationWrite {
		t.Fatalf("IOR says %+v", own)
	}
	for _, repetition := range own.Operations[0].Repetitions {
		if repetition.Bytes == 0 || repetition.Bytes%(256<<10) != 0 {
			t.Errorf("a repetition wrote %d bytes, which are no whole transfers of 256 KiB", repetition.Bytes)
		}
	}
	if mdtest := targetOf(s, run, "metadata", "data").Mdtest; mdtest == nil || mdtest.Ranks != 12 || len(mdtest.Rates) == 0 {
		t.Errorf("mdtest says %+v", mdtest)
	}
	s.clean()
	s.noRanks("the run is over", pods)
}

// TestReadWriteOnceOnNodes checks that all clients of a ReadWriteOnce claim run on the node of its volume, and that the
// result warns that they shared a node.
func TestReadWriteOnceOnNodes(t *testing.T) {
	members := threeNodes(t)
	s := newSpace(t)
	s.claim("data", "1Gi")
	s.apply(small(lossSeconds).Clients(3).Spread(v1alpha1.SpreadPreferOnePerNode).Obj())
	nodes := nodesOf(s.podsRunning(3))
	if nodes[0] != nodes[2] || !slices.Contains(namesOf(members), nodes[0]) {
		t.Errorf("the clients of a ReadWriteOnce claim run on %q", nodes)
	}
	run := s.ended(wholeRun)
	isComplete(t, run)
	didAll(t, run, "write", 3, lossSeconds, 55)
	if got := warned(run, "write"); !slices.Contains(got, v1alpha1.WarningClientsShareNode) {
		t.Errorf("the result does not say that the clients shared a node: %v", got)
	}
	s.clean()
}

// TestTooFewNodes checks that a run of four clients that need a node each fails on three nodes, with the scheduler's
// reason and the field to change.
func TestTooFewNodes(t *testing.T) {
	threeNodes(t)
	s := newSpace(t)
	s.sharedClaim("data")
	s.apply(small(lossSeconds).Clients(4).Spread(v1alpha1.SpreadOnePerNode).StartTimeout("20s").Obj())
	run := s.ended(wholeRun)
	failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed)
	if failed == nil || failed.Reason != v1alpha1.ReasonStartTimeout {
		t.Fatalf("Failed is %s", told(run.Status.Conditions, v1alpha1.ConditionFailed))
	}
	s.names(failed.Message, "Unschedulable: 0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules",
		"spec.run.clients.spread is OnePerNode, which needs 4 free nodes")
	if strings.Count(failed.Message, "data/") != 1 {
		t.Errorf("more clients are missing than the one that has no node: %s", failed.Message)
	}
	s.clean()
}

// TestDrainedNode checks that a run survives a kubectl drain that evicts a client while it writes. The replacement
// stays pending until the node is uncordoned; then the step is repeated.
func TestDrainedNode(t *testing.T) {
	members := threeNodes(t)
	s := newSpace(t)
	s.sharedClaim("data")
	s.apply(small(lossSeconds).Clients(3).Spread(v1alpha1.SpreadOnePerNode).Obj())
	s.busy("01-write")
	drained := members[2].Name()
	u := s.tools()
	t.Cleanup(func() { u.kubectl("uncordon", drained) }) // before the node is removed
	lost := s.podOn(drained)
	u.kubectl("drain", drained, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=2m")
	s.until("the successor of the client waits for a node", hang, func() bool {
		return slices.ContainsFunc(s.pods(), func(pod corev1.Pod) bool {
			return pod.UID != lost.UID && pod.Labels[v1alpha1.LabelClient] == lost.Labels[v1alpha1.LabelClient] &&
				slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
					return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
				})
		})
	})
	s.until("the run says what it waits for", hang, func() bool {
		return strings.Contains(s.run().Status.Message, "Unschedulable")
	})
	u.kubectl("uncordon", drained)
	s.repeatedOnce(s.ended(wholeRun))
	s.clean()
}

// TestDeadNode checks that a run survives the death of a node: after all processes of a node are killed and the node is
// back, the client is replaced and the step repeated.
func TestDeadNode(t *testing.T) {
	members := threeNodes(t)
	s := newSpace(t)
	s.sharedClaim("data")
	s.apply(small(lossSeconds).Clients(3).Spread(v1alpha1.SpreadOnePerNode).Obj())
	s.busy("01-write")
	pid, err := members[2].PID()
	must(t, err)
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	s.until("the run says that a client does not answer", hang, func() bool {
		return strings.Contains(s.run().Status.Message, "1 of 3 clients do not answer (data/")
	})
	s.until("the node is seen to be dead", hang, func() bool { return !s.isReady(members[2].Name()) })
	s.Nodes(t, 3)
	s.repeatedOnce(s.ended(hang))
	s.clean()
}

// repeatedOnce checks that a run lost one client in its write step and repeated the step with all three.
func (s *space) repeatedOnce(run *v1alpha1.BenchmarkRun) {
	s.Helper()
	isComplete(s.T, run)
	if lost := run.Status.LostClients; len(lost) != 1 || lost[0].Step != "01-write" || !lost[0].Replaced {
		s.Errorf("lost clients %+v", lost)
	}
	want := []string{"00-layout Succeeded", "00-layout Succeeded", "01-write Failed a client was lost", "01-write Succeeded"}
	if got := attempts(run); !slices.Equal(got, want) {
		s.Errorf("steps\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := warned(run, "write"); !slices.Contains(got, v1alpha1.WarningClientReplaced) {
		s.Errorf("the result does not say that a client was replaced: %v", got)
	}
	didAll(s.T, run, "write", 3, lossSeconds, 55)
}

func (s *space) podOn(node string) corev1.Pod {
	s.Helper()
	pods := s.pods()
	index := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.Spec.NodeName == node })
	if index < 0 {
		s.Fatalf("no client runs on %s", node)
	}
	return pods[index]
}

func (s *space) isReady(node string) bool {
	s.Helper()
	found, err := s.clients.CoreV1().Nodes().Get(s.Context(), node, metav1.GetOptions{})
	must(s.T, err)
	return slices.ContainsFunc(found.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
