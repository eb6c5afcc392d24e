package benchmarkrun

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestPodAfterTheEnd: a pod that the run made, and that the operator is told of only when all others were deleted and the run
// was marked as over, goes too. One that only has the run's label is somebody else's.
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
