package benchmarkrun

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestPriorityOfClients checks that a run whose clients have a system PriorityClass fails before it creates a pod.
func TestPriorityOfClients(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	w.operate()
	defer func() { w.stop() }()
	run := w.start(small().Mutate(func(r *v1alpha1.RunSpec) {
		r.Clients.Template = &v1alpha1.PodTemplate{PriorityClassName: "system-node-critical"}
	}))
	w.until(run, "over", over(run))
	got := reason(run, v1alpha1.ConditionFailed)
	for _, part := range []string{v1alpha1.ReasonInvalidWorkload + ": ", `spec.run.clients.template.priorityClassName: Invalid value: "system-node-critical"`,
		"but the run is in namespace " + w.namespace} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in %q", part, got)
		}
	}
	var pods corev1.PodList
	must(t, api.List(t.Context(), &pods, client.InNamespace(w.namespace)))
	if len(pods.Items) > 0 {
		t.Errorf("it made pod %s", pods.Items[0].Name)
	}
}
