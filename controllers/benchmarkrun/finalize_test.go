package benchmarkrun

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestPodAfterTheEnd checks that a pod of the run is deleted even if the operator sees it only after all others were
// deleted and the run was marked as over. A pod that only has the run's label belongs to another owner and is kept.
func TestPodAfterTheEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.bound("data", corev1.ReadOnlyMany)
	run := w.start(small())
	w.until(run, "marked as over", func() bool { return over(run)() && run.Labels[v1alpha1.LabelOver] == isOver })
	made := func(name string, owners ...metav1.OwnerReference) *corev1.Pod {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{v1alpha1.LabelRun: run.Name}, OwnerReferences: owners},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "client", Image: "fio:test"}}},
		}
		must(t, api.Create(t.Context(), pod))
		return pod
	}
	foreign := made("foreign")
	late := made("late", *metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind(v1alpha1.BenchmarkRunKind)))
	w.untilGone(late)
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil || !foreign.DeletionTimestamp.IsZero() {
		t.Errorf("the pod of somebody else was touched: %v", err)
	}
}
