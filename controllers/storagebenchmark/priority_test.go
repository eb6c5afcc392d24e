package storagebenchmark

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
)

// TestPriorityOfClients checks that a benchmark whose clients have a system PriorityClass is refused before it has a
// run.
func TestPriorityOfClients(t *testing.T) {
	b := newBed(t)
	b.operator(nil)
	b.put(builders.Benchmark("bench").Target("data").
		Template(v1alpha1.ClaimShared, v1alpha1.ClaimForRun, builders.ClaimSpec(corev1.ReadWriteOnce, "1Gi")).Prepare("layout").Mutate(func(r *v1alpha1.RunSpec) {
		r.Clients.Template = &v1alpha1.PodTemplate{PriorityClassName: "system-cluster-critical"}
	}).Obj())
	b.until("a refusal", func(benchmark *v1alpha1.StorageBenchmark) bool {
		stalled := find(benchmark.Status.Conditions, v1alpha1.ConditionStalled)
		return stalled != nil && stalled.Reason == v1alpha1.ReasonInvalidWorkload && strings.Contains(stalled.Message, "spec.run.clients.template.priorityClassName")
	})
}
