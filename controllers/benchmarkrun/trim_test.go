package benchmarkrun

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/test/builders"
)

// TestTrimPod checks that the cache keeps only the parts of a pod that the operator reads. The operators in other tests
// of this package read pods through the same cache.
func TestTrimPod(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Name: "run", Namespace: "here", UID: "uid"},
		Spec: v1alpha1.BenchmarkRunSpec{Run: *builders.Benchmark("b").Target("data").Steady("write", "1m").Run()}}
	pod := objects.Pod(objects.Settings{AgentImage: "operator", FioImage: "fio"}, run, objects.Client{Target: "data", Attempt: 1}, objects.Storage{})
	pod.Spec.NodeName, pod.Status.Phase, pod.Status.PodIP = "node", corev1.PodRunning, "10.0.0.1"
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/admission"}}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	pod.Labels[objects.KueueGroup] = "group"
	pod.Annotations = map[string]string{v1alpha1.AnnotationProof: "proof", objects.KueueRetriable: "false"}
	whole := pod.DeepCopy()
	pod.Labels["app"], pod.Annotations["example.com/large"] = "a", strings.Repeat("x", 4096)
	trimmed, err := TrimPod(pod)
	must(t, err)
	got, ok := trimmed.(*corev1.Pod)
	if !ok {
		t.Fatalf("%T", trimmed)
	}
	if agentPort(got) != agentPort(whole) || agentPort(got) == 0 || !uses(got, "data") || !objects.AwaitsQuota(got) || got.Spec.NodeName != "node" {
		t.Errorf("what is read is missing: %+v", got.Spec)
	}
	whole.ManagedFields = nil
	delete(whole.Labels, "sidecar.istio.io/inject")
	if !equality.Semantic.DeepEqual(got.ObjectMeta, whole.ObjectMeta) || !equality.Semantic.DeepEqual(got.Status, whole.Status) {
		t.Errorf("metadata or status differ: %+v", got)
	}
	spec := got.Spec
	if len(spec.Volumes) != 1 || len(spec.InitContainers) > 0 || spec.SecurityContext != nil || spec.Affinity != nil ||
		len(spec.Containers) != 1 || spec.Containers[0].Image != "" || len(spec.Containers[0].Args)+len(spec.Containers[0].Command) > 0 {
		t.Errorf("more than is read: %+v", spec)
	}
	if again, err := TrimPod(got.DeepCopy()); err != nil || !equality.Semantic.DeepEqual(again, trimmed) {
		t.Errorf("trimmed once more it differs: %v, %+v", err, again)
	}
	if other, err := TrimPod("tombstone"); err != nil || other != "tombstone" {
		t.Errorf("%v, %v", other, err)
	}
}
