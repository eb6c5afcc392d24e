package integration

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/binaries"
	"github.com/storagebench/storagebench/test/builders"
)

// schedule runs a real kube-scheduler until the test ends.
func schedule(t *testing.T) {
	t.Helper()
	programs, err := binaries.Build(t.Context(), os.Stderr, binaries.Scheduler)
	must(t, err)
	config := clientcmdapi.NewConfig()
	config.Clusters["it"] = &clientcmdapi.Cluster{Server: administrator.Host, CertificateAuthorityData: administrator.CAData}
	config.AuthInfos["it"] = &clientcmdapi.AuthInfo{ClientCertificateData: administrator.CertData, ClientKeyData: administrator.KeyData, Token: administrator.BearerToken}
	config.Contexts["it"] = &clientcmdapi.Context{Cluster: "it", AuthInfo: "it"}
	config.CurrentContext = "it"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, clientcmd.WriteToFile(*config, file))
	var log bytes.Buffer
	command := exec.CommandContext(t.Context(), programs[binaries.Scheduler], "--kubeconfig="+file, "--leader-elect=false", "--secure-port=0")
	command.Stdout, command.Stderr = &log, &log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Wait() // it was terminated
		if t.Failed() {
			t.Log(log.String())
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fourNodes creates four Node objects, without machines behind them.
func fourNodes(t *testing.T) {
	t.Helper()
	for i := range 4 {
		name := fmt.Sprintf("node-%d", i)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux"}}}
		must(t, cluster.Create(t.Context(), node))
		t.Cleanup(func() { must(t, cluster.Delete(context.Background(), node)) })
		node.Spec.Taints = nil // the taint of a node that has not reported yet
		must(t, cluster.Update(t.Context(), node))
		room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi"), corev1.ResourcePods: resource.MustParse("50"), corev1.ResourceEphemeralStorage: resource.MustParse("100Gi")}
		node.Status.Capacity, node.Status.Allocatable = room, room
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}}
		must(t, cluster.Status().Update(t.Context(), node))
	}
}

// boundClaim creates a bound claim that allows a pod on any node.
func boundClaim(t *testing.T, namespace, name string) {
	t.Helper()
	class, modes := "", []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
		Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: modes, VolumeName: namespace + "-" + name, Resources: corev1.VolumeResourceRequirements{Requests: size}},
	}
	must(t, cluster.Create(t.Context(), claim))
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: modes, Capacity: size}
	must(t, cluster.Status().Update(t.Context(), claim))
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}, Spec: corev1.PersistentVolumeSpec{
		Capacity: size, AccessModes: modes, ClaimRef: &corev1.ObjectReference{Namespace: namespace, Name: name, UID: claim.UID},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: namespace + name}}}}
	must(t, cluster.Create(t.Context(), volume))
	t.Cleanup(func() { must(t, cluster.Delete(context.Background(), volume)) })
}

// TestPlacement checks where the scheduler of Kubernetes places the pods of a run. Clients of targets that are loaded
// together never share a node unless they may; clients that share a volume of one node run on that node.
func TestPlacement(t *testing.T) {
	needsCluster(t)
	fourNodes(t)
	schedule(t)
	two := func() *builders.BenchmarkBuilder { return builders.Benchmark("b").Target("a").Target("z") }
	together := func(targets ...string) map[string]objects.Storage {
		all := map[string]objects.Storage{}
		for _, name := range targets {
			all[name] = objects.Storage{SameNodeTargets: targets}
		}
		return all
	}
	for name, c := range map[string]struct {
		benchmark *builders.BenchmarkBuilder
		storage   map[string]objects.Storage
		placed    int // number of pods that the scheduler places
		nodes     int // number of nodes that they are on; 0 means any
		node      string
	}{
		"a node each, over both targets":        {benchmark: two().Clients(2).Spread(v1alpha1.SpreadOnePerNode), placed: 4, nodes: 4},
		"too few nodes: none is shared":         {benchmark: two().Clients(3).Spread(v1alpha1.SpreadOnePerNode), placed: 4, nodes: 4},
		"any node":                              {benchmark: two().Clients(3).Spread(v1alpha1.SpreadAny), placed: 6},
		"a volume of one node":                  {benchmark: builders.Benchmark("b").Target("a").Clients(4).Spread(v1alpha1.SpreadAny), storage: together("a"), placed: 4, nodes: 1},
		"a volume of one node, of two targets":  {benchmark: two().Clients(2).Spread(v1alpha1.SpreadAny), storage: together("a", "z"), placed: 4, nodes: 1},
		"where the volume is":                   {benchmark: builders.Benchmark("b").Target("a").Clients(3).Spread(v1alpha1.SpreadAny), storage: map[string]objects.Storage{"a": {SameNodeTargets: []string{"a"}, Node: "node-2"}}, placed: 3, nodes: 1, node: "node-2"},
		"one client, where the volume is":       {benchmark: builders.Benchmark("b").Target("a").Spread(v1alpha1.SpreadOnePerNode), storage: map[string]objects.Storage{"a": {Node: "node-1"}}, placed: 1, nodes: 1, node: "node-1"},
		"where it is, beside the user's choice": {benchmark: builders.Benchmark("b").Target("a").Clients(2).Spread(v1alpha1.SpreadAny).Mutate(onNodes("node-0", "node-3")), storage: map[string]objects.Storage{"a": {SameNodeTargets: []string{"a"}, Node: "node-3"}}, placed: 2, nodes: 1, node: "node-3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "placement-"}}
			must(t, cluster.Create(t.Context(), namespace))
			run := &v1alpha1.BenchmarkRun{
				ObjectMeta: metav1.ObjectMeta{Name: "run", Namespace: namespace.Name, UID: "1"},
				Spec:       v1alpha1.BenchmarkRunSpec{BenchmarkRef: v1alpha1.BenchmarkReference{Name: "b"}, Run: *c.benchmark.Run()},
			}
			made := 0
			for _, target := range run.Spec.Run.Targets {
				boundClaim(t, namespace.Name, target.Name)
				for index := range int(max(1, run.Spec.Run.Clients.Count)) {
					pod := objects.Pod(objects.Settings{AgentImage: "a", FioImage: "f"}, run, objects.Client{Target: target.Name, Index: index, Attempt: 1}, c.storage[target.Name])
					must(t, cluster.Create(t.Context(), pod))
					t.Cleanup(func() { must(t, cluster.Delete(context.Background(), pod, client.GracePeriodSeconds(0))) })
					made++
				}
			}
			nodes := settled(t, namespace.Name, made)
			placed := len(nodes)
			slices.Sort(nodes)
			if on := slices.Compact(nodes); placed != c.placed || c.nodes > 0 && len(on) != c.nodes || c.node != "" && on[0] != c.node {
				t.Errorf("%d of %d pods are placed, on %q; want %d on %d nodes %s", placed, made, on, c.placed, c.nodes, c.node)
			}
		})
	}
}

// onNodes restricts clients to certain nodes, as a user may.
func onNodes(names ...string) func(*v1alpha1.RunSpec) {
	return func(r *v1alpha1.RunSpec) {
		var terms []corev1.NodeSelectorTerm
		for _, name := range names {
			terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}})
		}
		r.Clients.Template = &v1alpha1.PodTemplate{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}}
	}
}

// settled waits until the scheduler has decided on every pod, and returns the nodes of those that it has placed. Only a
// refusal because of anti-affinity is final: the scheduler takes back what it says before it has seen a pod's claim or
// volume, which it learns of by watching.
func settled(t *testing.T, namespace string, count int) []string {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var pods corev1.PodList
		must(t, cluster.List(t.Context(), &pods, client.InNamespace(namespace)))
		var nodes, refused, said []string
		for _, pod := range pods.Items {
			if pod.Spec.NodeName != "" {
				nodes = append(nodes, pod.Spec.NodeName)
				continue
			}
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable && strings.Contains(condition.Message, "anti-affinity") {
					refused = append(refused, condition.Message)
				}
				said = append(said, condition.Message)
			}
		}
		if len(nodes)+len(refused) == count {
			return nodes
		}
		if time.Now().After(deadline) {
			t.Fatalf("the scheduler has placed %d of %d pods and refused %s", len(nodes), count, strings.Join(said, "; "))
		}
	}
}
