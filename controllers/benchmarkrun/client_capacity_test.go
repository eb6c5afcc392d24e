package benchmarkrun

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/queue"
)

// noPods gives a namespace a quota of 0 pods, with the status that a controller would set.
func (w *world) noPods() {
	w.Helper()
	none := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	must(w.T, api.Create(w.Context(), quota))
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	must(w.T, api.Status().Update(w.Context(), quota))
}

// TestAnotherTenantBegins checks that a namespace whose runs cannot get pods does not block the runs of another one.
// Five runs of the maximum size are live one at a time in a namespace whose quota allows no pods; meanwhile, a run in
// another namespace completes.
func TestAnotherTenantBegins(t *testing.T) {
	t.Parallel()
	w, greedy := newQuietWorld(t), newQuietWorld(t)
	w.more, w.limits = []string{greedy.namespace}, queue.Limits{Clients: 2000, PerNamespace: 1000}
	greedy.noPods()
	var runs []*v1alpha1.BenchmarkRun
	for i := range 5 {
		name := fmt.Sprintf("run-%d", i)
		runs = append(runs, greedy.startAs(name, crowd(name, 16, 62)))
	}
	w.runPods()
	w.operate()
	t.Cleanup(func() { w.stop() })
	state := func() (begun []*v1alpha1.BenchmarkRun, waiting int) {
		for _, run := range runs {
			must(t, api.Get(t.Context(), client.ObjectKeyFromObject(run), run))
			found := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionWaiting)
			switch {
			case run.Status.StartTime != nil:
				begun = append(begun, run)
			case found != nil && found.Status == metav1.ConditionTrue && found.Reason == v1alpha1.ReasonWaitsForClients:
				waiting++
			}
		}
		return begun, waiting
	}
	w.wait("not one run is live, and four wait for clients", func() bool {
		begun, waiting := state()
		return len(begun) == 1 && waiting == 4 && strings.Contains(begun[0].Status.Message, "exceeded quota")
	})
	other := w.start(brief())
	w.until(other, "over", over(other))
	if !is(other, v1alpha1.ConditionComplete, metav1.ConditionTrue) {
		t.Errorf("conditions %+v", other.Status.Conditions)
	}
	begun, waiting := state()
	if len(begun) != 1 || waiting != 4 || begun[0].Status.EndTime != nil {
		t.Fatalf("%d runs have begun, %d wait", len(begun), waiting)
	}
	// Deleting the live run lets the next one begin, which then no longer reports that it waits.
	first := begun[0]
	must(t, api.Delete(t.Context(), first))
	w.untilGone(first)
	runs = without(runs, first)
	w.wait("the next run does not begin", func() bool {
		begun, waiting := state()
		return len(begun) == 1 && waiting == 3 && is(begun[0], v1alpha1.ConditionWaiting, metav1.ConditionFalse)
	})
}

func without(runs []*v1alpha1.BenchmarkRun, gone *v1alpha1.BenchmarkRun) []*v1alpha1.BenchmarkRun {
	var left []*v1alpha1.BenchmarkRun
	for _, run := range runs {
		if run.Name != gone.Name {
			left = append(left, run)
		}
	}
	return left
}

// TestRunThatNeverHasRoom checks that a run with more clients than the limit fails and names the limit.
func TestRunThatNeverHasRoom(t *testing.T) {
	t.Parallel()
	w := newQuietWorld(t)
	w.limits = queue.Limits{Clients: 2000, PerNamespace: 1}
	run := w.startAs("large", brief())
	w.operate()
	t.Cleanup(func() { w.stop() })
	w.until(run, "over", func() bool { return run.Status.EndTime != nil })
	want := "InvalidWorkload: the run has 2 clients, but the operator allows at most 1 at a time in a namespace (--max-clients-per-namespace): " +
		"use fewer clients or targets, or raise the limit"
	if got := reason(run, v1alpha1.ConditionFailed); got != want {
		t.Errorf("failed: %s", got)
	}
	w.check(run)
}
