package benchmarkrun

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/invariants"
)

// cacheOf returns the cache options of an operator that watches the given namespaces.
func cacheOf(namespaces ...string) cache.Options {
	options := cache.Options{DefaultNamespaces: map[string]cache.Config{},
		ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Transform: TrimPod}}}
	for _, namespace := range namespaces {
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// small returns a benchmark of two clients with a layout, a write and a read, all as short as possible.
func small() *builders.BenchmarkBuilder {
	return builders.Benchmark("b").Target("data").Clients(2).Prepare("layout").Steady("write", "2s").
		Steady("read", "2s").With(builders.Fio().Reads())
}

func over(run *v1alpha1.BenchmarkRun) func() bool {
	return func() bool { return run.Status.EndTime != nil && len(run.Finalizers) == 0 }
}

func is(run *v1alpha1.BenchmarkRun, kind string, status metav1.ConditionStatus) bool {
	return meta.IsStatusConditionPresentAndEqual(run.Status.Conditions, kind, status)
}

// clean fails the test if anything of the run is left except the BenchmarkRun.
func (w *world) clean() {
	w.Helper()
	entries, err := os.ReadDir(w.directory)
	must(w.T, err)
	for _, entry := range entries {
		w.Errorf("left on the volume: %s", entry.Name())
	}
	var pods corev1.PodList
	w.wait("the pods are not gone", func() bool {
		must(w.T, api.List(w.Context(), &pods, client.InNamespace(w.namespace)))
		return len(pods.Items) == 0
	}, func() { w.Logf("pod %s is left, phase %s", pods.Items[0].Name, pods.Items[0].Status.Phase) })
	var policies networkingv1.NetworkPolicyList
	must(w.T, api.List(w.Context(), &policies, client.InNamespace(w.namespace)))
	if len(policies.Items) > 0 {
		w.Errorf("left: NetworkPolicy %s", policies.Items[0].Name)
	}
}

// TestGoodRun checks a successful run, from the BenchmarkRun to its figures and the removal of its data.
func TestGoodRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.start(small())
	w.until(run, "over", over(run))
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) || !is(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue) {
		t.Errorf("conditions %+v", run.Status.Conditions)
	}
	if len(run.Status.Phases) != 3 || run.Status.Phases[2].Targets[0].Clients != 2 ||
		run.Status.Phases[2].Targets[0].Operations[0].Latency.Samples == 0 {
		t.Errorf("phases %+v", run.Status.Phases)
	}
	checkSeries(t, run)
	run.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.BenchmarkRunKind}
	invariants.CheckObject(t, run)
	w.clean()
}

// pod waits until a client's pod runs, and returns it.
func (w *world) pod(name string) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{}
	w.wait("pod "+name+" does not run", func() bool {
		return api.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, pod) == nil && pod.Status.Phase == corev1.PodRunning
	})
	return pod
}

func running(run *v1alpha1.BenchmarkRun, id string) func() bool {
	return func() bool {
		for _, fact := range run.Status.Steps {
			if fact.ID == id && fact.StartTime != nil && fact.EndTime == nil {
				return true
			}
		}
		return false
	}
}

func reason(run *v1alpha1.BenchmarkRun, kind string) string {
	if condition := meta.FindStatusCondition(run.Status.Conditions, kind); condition != nil {
		return condition.Reason + ": " + condition.Message
	}
	return ""
}

// TestLostClient checks that a run follows onLoss when it loses a client.
func TestLostClient(t *testing.T) {
	t.Parallel()
	kill := func(w *world, pod *corev1.Pod) { must(w.T, w.kubelet.Kill(pod.UID)) }
	remove := func(w *world, pod *corev1.Pod) { must(w.T, api.Delete(w.Context(), pod)) }
	for name, c := range map[string]struct {
		policy v1alpha1.OnLoss
		lose   func(*world, *corev1.Pod)
		check  func(*testing.T, *v1alpha1.BenchmarkRun)
	}{
		"RestartStep, deleted": {v1alpha1.OnLossRestartStep, remove, restarted},
		"FailRun, killed": {v1alpha1.OnLossFailRun, kill, func(t *testing.T, run *v1alpha1.BenchmarkRun) {
			t.Helper()
			if !is(run, v1alpha1.ConditionFailed, metav1.ConditionTrue) || !strings.Contains(reason(run, v1alpha1.ConditionFailed), "ClientLost: client data/1 was lost: pod run-data-1-1 ended: container client: exit code 137") {
				t.Errorf("failed: %s", reason(run, v1alpha1.ConditionFailed))
			}
		}},
		"ContinueDegraded, killed": {v1alpha1.OnLossContinueDegraded, kill, func(t *testing.T, run *v1alpha1.BenchmarkRun) {
			t.Helper()
			if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) || len(run.Status.Phases) != 3 || run.Status.Phases[2].Targets[0].Clients != 1 {
				t.Errorf("conditions %+v", run.Status.Conditions)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, gate := newWorld(t), newGate(t)
			run := w.start(gate.benchmark().Steady("after", "10m").WithLoad(program(`cat "$0/file"`, "$(DATA)")).OnLoss(c.policy, 2))
			gate.waitFor(w, run, 0, 1)
			c.lose(w, w.pod("run-data-1-1"))
			w.until(run, "told of its loss", func() bool { return len(run.Status.LostClients) > 0 })
			gate.open(t)
			w.until(run, "over", over(run))
			c.check(t, run)
			if len(run.Status.LostClients) != 1 || !is(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue) {
				t.Errorf("lost %+v, data removed %s", run.Status.LostClients, reason(run, v1alpha1.ConditionDataRemoved))
			}
			w.clean()
		})
	}
}

// late is part of the message of a step that was repeated because a busy machine or a dead operator delayed the start
// commands of some clients.
const late = "not all clients received the start command in time"

// attempts lists all attempts of steps with their final state, except late ones.
func attempts(run *v1alpha1.BenchmarkRun) []string {
	var all []string
	for _, fact := range run.Status.Steps {
		if !strings.Contains(fact.Message, late) {
			all = append(all, fmt.Sprintf("%s %s", fact.ID, fact.State))
		}
	}
	slices.Sort(all)
	return all
}

// restarted checks that the layout and then the step were repeated.
func restarted(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) || !is(run, v1alpha1.ConditionValid, metav1.ConditionTrue) {
		t.Errorf("conditions %+v", run.Status.Conditions)
	}
	done := attempts(run)
	want := []string{"00-layout Succeeded", "00-layout Succeeded", "01-write Failed", "01-write Succeeded", "02-after Succeeded"}
	if !slices.Equal(done, want) {
		t.Errorf("steps %q, want %q: %+v", done, want, run.Status.Steps)
	}
}

// TestDeletedRunWithoutReplacements checks that a deleted run does not wait for replacements whose pods cannot be
// created, for example because the namespace is being deleted. The former clients removed their data before they
// exited.
func TestDeletedRunWithoutReplacements(t *testing.T) {
	t.Parallel()
	w, gate := newWorld(t), newGate(t)
	run := w.start(gate.benchmark())
	gate.waitFor(w, run, 0, 1)
	for _, name := range []string{"run-data-0-2", "run-data-1-2"} {
		foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "somebody-elses", Image: "none"}}}}
		must(t, api.Create(t.Context(), foreign))
		t.Cleanup(func() { must(t, api.Delete(context.Background(), foreign, client.GracePeriodSeconds(0))) })
	}
	for _, name := range []string{"run-data-0-1", "run-data-1-1"} {
		must(t, api.Delete(t.Context(), w.pod(name)))
	}
	w.until(run, "replaced", func() bool {
		return len(run.Status.LostClients) == 2 && run.Status.LostClients[0].Replaced && run.Status.LostClients[1].Replaced
	})
	// A second finalizer keeps the deleted run for inspection.
	before := run.DeepCopy()
	run.Finalizers = append(run.Finalizers, "test.storagebench.dev/look")
	must(t, api.Patch(t.Context(), run, client.MergeFrom(before)))
	must(t, api.Delete(t.Context(), run))
	// Waiting for clients that never existed would hang.
	w.until(run, "over", func() bool { return run.Status.EndTime != nil })
	if !is(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue) {
		t.Errorf("DataRemoved: %s; lost %+v", reason(run, v1alpha1.ConditionDataRemoved), run.Status.LostClients)
	}
	w.until(run, "left alone", func() bool { return len(run.Finalizers) == 1 })
	before = run.DeepCopy()
	run.Finalizers = nil
	must(t, api.Patch(t.Context(), run, client.MergeFrom(before)))
}

// TestDeletedRun checks that deleting a run at any time stops its load and removes its data, its objects and finally
// the run itself. TestOperatorDiesAtEachFact covers the deletion during a write.
func TestDeletedRun(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]func(*world, gate, *v1alpha1.BenchmarkRun){
		"before its pods run": func(w *world, _ gate, run *v1alpha1.BenchmarkRun) {
			w.until(run, "begun", func() bool { return run.Status.StartTime != nil })
			must(w.T, api.Delete(w.Context(), run))
			w.runPods()
		},
		"while no operator is there": func(w *world, g gate, run *v1alpha1.BenchmarkRun) {
			w.runPods()
			g.waitFor(w, run, 0, 1)
			w.stop()
			must(w.T, api.Delete(w.Context(), run))
			must(w.T, api.Get(w.Context(), client.ObjectKeyFromObject(run), run)) // its finalizer keeps it
			w.operate()
		},
		"while a client is replaced": func(w *world, g gate, run *v1alpha1.BenchmarkRun) {
			w.runPods()
			g.waitFor(w, run, 0, 1)
			// Only the remaining client can remove the data of the killed one.
			w.kubelet.Hold.Store(true)
			must(w.T, w.kubelet.Kill(w.pod("run-data-1-1").UID))
			w.until(run, "replaced", func() bool { return len(run.Status.LostClients) > 0 && run.Status.LostClients[0].Replaced })
			must(w.T, api.Delete(w.Context(), run))
		},
		"when it is over": func(w *world, g gate, run *v1alpha1.BenchmarkRun) {
			w.runPods()
			g.open(w.T)
			w.until(run, "over", over(run))
			must(w.T, api.Delete(w.Context(), run))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, gate := newQuietWorld(t), newGate(t)
			w.operate()
			t.Cleanup(func() { w.stop() })
			when(w, gate, w.start(gate.benchmark().OnLoss(v1alpha1.OnLossRestartStep, 2)))
			run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "run"}}
			w.untilGone(run)
			w.clean()
		})
	}
}

// TestLeadersTakeOver checks that a new version of the operator takes over a live run. The previous operator does not
// notice at once that it no longer leads, but disturbs neither the run nor its clients.
func TestLeadersTakeOver(t *testing.T) {
	t.Parallel()
	w, gate := newWorld(t), newGate(t)
	run := w.start(gate.benchmark())
	gate.waitFor(w, run, 0, 1)
	before := w.stop
	w.image = "operator:next"
	w.operate()
	defer before()
	gate.open(t)
	w.until(run, "over", over(run))
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) || len(run.Status.LostClients) > 0 {
		t.Errorf("lost %+v, conditions %+v", run.Status.LostClients, run.Status.Conditions)
	}
	if got, want := attempts(run), []string{"00-layout Succeeded", "01-write Succeeded"}; !slices.Equal(got, want) {
		t.Errorf("steps %q, want %q: %+v", got, want, run.Status.Steps)
	}
	w.clean()
}
