package benchmarkrun

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/invariants"
)

func cacheOf(namespaces ...string) cache.Options {
	options := cache.Options{DefaultNamespaces: map[string]cache.Config{}}
	for _, namespace := range namespaces {
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	return options
}

// small is a layout, a write and a read of two clients, as short as they can be.
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

// clean fails when anything of the run is left, beside the run itself.
func (w *world) clean() {
	w.Helper()
	entries, err := os.ReadDir(w.directory)
	must(w.T, err)
	for _, entry := range entries {
		w.Errorf("left on the volume: %s", entry.Name())
	}
	deadline := time.Now().Add(time.Minute)
	for {
		var pods corev1.PodList
		must(w.T, api.List(w.Context(), &pods, client.InNamespace(w.namespace)))
		if len(pods.Items) == 0 {
			break
		}
		if time.Now().After(deadline) {
			w.Fatalf("pod %s is left, phase %s", pods.Items[0].Name, pods.Items[0].Status.Phase)
		}
		time.Sleep(20 * time.Millisecond)
	}
	var policies networkingv1.NetworkPolicyList
	must(w.T, api.List(w.Context(), &policies, client.InNamespace(w.namespace)))
	if len(policies.Items) > 0 {
		w.Errorf("left: NetworkPolicy %s", policies.Items[0].Name)
	}
}

// TestGoodRun: from a BenchmarkRun to its figures.
func TestGoodRun(t *testing.T) {
	w := newWorld(t)
	run := w.start(small())
	w.until(run, time.Minute, "over", over(run))
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

// TestOperatorGoesAndComes: an operator that dies at any moment and comes back goes on where it was.
// The run must not differ from an undisturbed one by anything but its times.
func TestOperatorGoesAndComes(t *testing.T) {
	w := newWorld(t)
	run := w.start(small())
	random := rand.New(rand.NewPCG(7, 11))
	restarts := 0
	for began := time.Now(); time.Since(began) < 2*time.Minute; restarts++ {
		time.Sleep(time.Duration(200+random.IntN(1500)) * time.Millisecond)
		w.stop()
		must(t, api.Get(t.Context(), client.ObjectKeyFromObject(run), run))
		w.operate()
		if run.Status.EndTime != nil {
			break
		}
	}
	w.until(run, time.Minute, "over", over(run))
	t.Logf("%d restarts", restarts)
	if restarts < 4 {
		t.Errorf("only %d restarts", restarts)
	}
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) || !is(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue) {
		t.Errorf("conditions %+v", run.Status.Conditions)
	}
	for _, fact := range run.Status.Steps {
		// Who dies between telling one client to start and the other makes the step begin anew.
		if fact.State != v1alpha1.StepSucceeded && !strings.Contains(fact.Message, "since they were not all told in time") {
			t.Errorf("step %+v", fact)
		}
	}
	if len(run.Status.LostClients) > 0 {
		t.Errorf("lost: %+v", run.Status.LostClients)
	}
	for _, phase := range run.Status.Phases[1:] {
		target := phase.Targets[0]
		// One that begins late by less than half a second keeps its step, and on a busy machine two fios that are released
		// together begin up to as much apart once more (0.7 s at a load of 46); the result says so.
		window := time.Duration(target.WindowNanoseconds)
		told := slices.ContainsFunc(target.Warnings, func(w v1alpha1.Warning) bool {
			return w.Type == v1alpha1.WarningWindowsDiffer || w.Type == v1alpha1.WarningCommonWindowTooShort
		})
		if window < 1400*time.Millisecond || window > 2100*time.Millisecond || window < 1850*time.Millisecond && !told {
			t.Errorf("phase %s: the common window is %s of 2s, warnings %+v", phase.Name, window, target.Warnings)
		}
		if target.Clients != 2 {
			t.Errorf("phase %s: %d clients", phase.Name, target.Clients)
		}
	}
	w.clean()
}

// pod waits for a client's pod to run.
func (w *world) pod(name string) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := api.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, pod)
		if err == nil && pod.Status.Phase == corev1.PodRunning {
			return pod
		}
		if time.Now().After(deadline) {
			w.Fatalf("pod %s does not run: %v", name, err)
		}
	}
}

// running says that a step's I/O goes on.
func running(run *v1alpha1.BenchmarkRun, id string) func() bool {
	return func() bool {
		for _, fact := range run.Status.Steps {
			if fact.ID == id && fact.StartTime != nil && fact.EndTime == nil {
				return time.Since(fact.StartTime.Time) > 300*time.Millisecond
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

// TestLostClient: what a run does when a client is gone is what onLoss says.
func TestLostClient(t *testing.T) {
	kill := func(w *world, pod *corev1.Pod) { must(w.T, w.kubelet.Kill(pod.UID)) }
	remove := func(w *world, pod *corev1.Pod) { must(w.T, api.Delete(w.Context(), pod)) }
	for name, c := range map[string]struct {
		policy v1alpha1.OnLoss
		lose   func(*world, *corev1.Pod)
		check  func(*testing.T, *v1alpha1.BenchmarkRun)
	}{
		"RestartStep, killed":  {v1alpha1.OnLossRestartStep, kill, restarted},
		"RestartStep, deleted": {v1alpha1.OnLossRestartStep, remove, restarted},
		"FailRun, killed": {v1alpha1.OnLossFailRun, kill, func(t *testing.T, run *v1alpha1.BenchmarkRun) {
			t.Helper()
			if !is(run, v1alpha1.ConditionFailed, metav1.ConditionTrue) || !strings.Contains(reason(run, v1alpha1.ConditionFailed), "ClientLost: client data/1 was lost: its pod run-data-1-1 ended: container client: exit code 137") {
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
			w := newWorld(t)
			// The write goes on for seconds after it was seen to, and of both enough is common to the clients for a valid result.
			run := w.start(builders.Benchmark("b").Target("data").Clients(2).Prepare("layout").Steady("write", "5s").
				Steady("read", "4s").With(builders.Fio().Reads()).OnLoss(c.policy, 2))
			w.until(run, time.Minute, "writing", running(run, "01-write"))
			c.lose(w, w.pod("run-data-1-1"))
			w.until(run, time.Minute, "over", over(run))
			c.check(t, run)
			if len(run.Status.LostClients) != 1 || !is(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue) {
				t.Errorf("lost %+v, data removed %s", run.Status.LostClients, reason(run, v1alpha1.ConditionDataRemoved))
			}
			w.clean()
		})
	}
}

// restarted: the layout was written again, then the step was repeated.
func restarted(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	if !is(run, v1alpha1.ConditionComplete, metav1.ConditionTrue) || !is(run, v1alpha1.ConditionValid, metav1.ConditionTrue) {
		t.Errorf("conditions %+v", run.Status.Conditions)
	}
	var done []string
	for _, fact := range run.Status.Steps {
		done = append(done, fmt.Sprintf("%s#%d %s", fact.ID, fact.Attempt, fact.State))
	}
	slices.Sort(done)
	want := []string{"00-layout#1 Succeeded", "00-layout#2 Succeeded", "01-write#1 Failed", "01-write#2 Succeeded", "02-read#1 Succeeded"}
	if !slices.Equal(done, want) {
		t.Errorf("steps %q, want %q", done, want)
	}
}

// TestDeletedRunWithoutReplacements: a run whose clients were told to end, and whose next pods cannot be made,
// as in a namespace that is being deleted, waits for nobody. The clients have removed their data.
func TestDeletedRunWithoutReplacements(t *testing.T) {
	w := newWorld(t)
	run := w.start(small())
	w.until(run, time.Minute, "writing", running(run, "01-write"))
	for _, name := range []string{"run-data-0-2", "run-data-1-2"} {
		foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "somebody-elses", Image: "none"}}}}
		must(t, api.Create(t.Context(), foreign))
		t.Cleanup(func() { must(t, api.Delete(context.Background(), foreign, client.GracePeriodSeconds(0))) })
	}
	for _, name := range []string{"run-data-0-1", "run-data-1-1"} {
		must(t, api.Delete(t.Context(), w.pod(name)))
	}
	w.until(run, time.Minute, "replaced", func() bool {
		return len(run.Status.LostClients) == 2 && run.Status.LostClients[0].Replaced && run.Status.LostClients[1].Replaced
	})
	// Somebody else's finalizer keeps the record, to be looked at.
	before := run.DeepCopy()
	run.Finalizers = append(run.Finalizers, "test.storagebench.dev/look")
	must(t, api.Patch(t.Context(), run, client.MergeFrom(before)))
	must(t, api.Delete(t.Context(), run))
	began := time.Now()
	w.until(run, time.Minute, "over", func() bool { return run.Status.EndTime != nil })
	if took := time.Since(began); took > lossTimeout/2 {
		t.Errorf("it ended after %s: it has waited for clients that were never there", took)
	}
	if !is(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue) {
		t.Errorf("DataRemoved: %s; lost %+v", reason(run, v1alpha1.ConditionDataRemoved), run.Status.LostClients)
	}
	w.until(run, time.Minute, "left alone", func() bool { return len(run.Finalizers) == 1 })
	before = run.DeepCopy()
	run.Finalizers = nil
	must(t, api.Patch(t.Context(), run, client.MergeFrom(before)))
}

// TestDeletedRun: a run that is deleted at any time stops its load, has its data removed, and goes.
func TestDeletedRun(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]func(*world, *v1alpha1.BenchmarkRun){
		"before its clients are there": func(w *world, run *v1alpha1.BenchmarkRun) {
			w.until(run, time.Minute, "begun", func() bool { return run.Status.StartTime != nil })
		},
		"while it writes": func(w *world, run *v1alpha1.BenchmarkRun) {
			w.until(run, time.Minute, "writing", running(run, "01-write"))
		},
		"when it is over": func(w *world, run *v1alpha1.BenchmarkRun) { w.until(run, time.Minute, "over", over(run)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			run := w.start(small())
			when(w, run)
			must(t, api.Delete(t.Context(), run))
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
				if err := api.Get(t.Context(), client.ObjectKeyFromObject(run), run); apierrors.IsNotFound(err) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("it is still there: %+v", run.Status)
				}
			}
			w.clean()
		})
	}
}
