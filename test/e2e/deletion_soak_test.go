package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/test/soak"
	"github.com/storagebench/storagebench/test/stillness"
)

// The effects of deleting an object, or of losing the operator, before the run creates anything (Deploy), while it is
// live, and when it has finished:
//
//	             before Deploy        live                                     finished
//	run          gone at once         load stopped, data removed, then gone    gone
//	benchmark    its runs too         as run                                   as run
//	namespace    gone                 agents clean up; nothing is created      gone
//	operator     nothing happens      agents go on, then clean up              nothing

// deletion deletes something of a space.
type deletion struct {
	what string
	do   func(*space)
	// keepsBenchmark says that the benchmark still exists afterwards.
	keepsBenchmark bool
}

var deletions = []deletion{
	{what: "run", keepsBenchmark: true, do: func(s *space) {
		s.Helper()
		must(s.T, s.api.Delete(s.Context(), s.run()))
	}},
	{what: "benchmark", do: func(s *space) { deleteBenchmark(s, metav1.DeletePropagationBackground) }},
	{what: "namespace", do: func(s *space) {
		s.Helper()
		must(s.T, s.api.Delete(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}))
	}},
}

// inForeground deletes a benchmark in the foreground. TestCore covers this for a live run.
var inForeground = deletion{what: "benchmark in the foreground", do: func(s *space) { deleteBenchmark(s, metav1.DeletePropagationForeground) }}

// TestDeletedBeforeDeploy checks that a run that has not started, its benchmark and its namespace are deleted at once,
// even without an operator, and that a run starts only when there is one.
func TestDeletedBeforeDeploy(t *testing.T) {
	soak.Only(t)
	in := requireNode(t)
	in.withoutOperator(t)
	t.Run("all", func(t *testing.T) {
		for _, test := range append(deletions, inForeground) {
			t.Run(test.what, func(t *testing.T) {
				t.Parallel()
				s := newSpace(t)
				pending(s)
				test.do(s)
				// Four namespaces are deleted at once, which takes the namespace controller some time.
				s.gone(test, 2*time.Minute)
			})
		}
	})
	s := newSpace(t)
	s.claim("data", "1Gi")
	run := pending(s)
	time.Sleep(2 * time.Second)
	if pods, now := s.pods(), s.run(); len(pods) > 0 || now.ResourceVersion != run.ResourceVersion {
		t.Errorf("without an operator there are %d pods, and the run is %+v", len(pods), now.Status)
	}
	in.scale(t, 1)
	if run = s.ended(wholeRun); !meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionComplete) {
		t.Errorf("with an operator it is not carried out: %s", told(run.Status.Conditions, v1alpha1.ConditionFailed))
	}
	s.clean()
}

// pending creates a benchmark and its run as they are if the operator dies right after it creates the run.
func pending(s *space) *v1alpha1.BenchmarkRun {
	s.Helper()
	benchmark := s.apply(small(2).Obj())
	planned, problems := plan.Make(&benchmark.Spec.Run, 1)
	must(s.T, problems.ToAggregate())
	hash := plan.RunHash(&benchmark.Spec.Run)
	run := record.New(record.Identity{Name: "bench-00000000", Namespace: s.namespace, Hash: hash, Seed: 1,
		Benchmark: v1alpha1.BenchmarkReference{Name: benchmark.Name, UID: string(benchmark.UID)}}, &benchmark.Spec.Run, planned)
	run.Labels = map[string]string{v1alpha1.LabelBenchmark: benchmark.Name}
	must(s.T, controllerutil.SetControllerReference(benchmark, run, s.api.Scheme()))
	s.create(run)
	benchmark.Status.ActiveRun = &v1alpha1.RunReference{Name: run.Name, UID: string(run.UID), Hash: hash}
	must(s.T, s.api.Status().Update(s.Context(), benchmark))
	return run
}

// gone waits until the deleted object and its runs are gone.
func (s *space) gone(of deletion, patience time.Duration) {
	s.Helper()
	if of.what == "namespace" {
		s.until("the namespace is gone", patience, func() bool {
			err := s.api.Get(s.Context(), client.ObjectKey{Name: s.namespace}, &corev1.Namespace{})
			must(s.T, client.IgnoreNotFound(err))
			return err != nil
		})
		return
	}
	s.until("its runs are gone", patience, func() bool {
		return len(s.runs()) == 0 && (of.keepsBenchmark || s.benchmark("bench") == nil)
	})
	s.clean()
}

// TestDeletedWhileLive deletes a live run, its benchmark or its namespace. The load must end, the data must be removed,
// nothing new may be created, and only then may the object disappear. The volume outlives even its namespace, so that
// the test can inspect it.
func TestDeletedWhileLive(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	requireNode(t)
	for _, test := range deletions {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			folder := s.retained()
			s.apply(small(60).Obj())
			run := s.busy("01-write")
			if len(runFiles(s, folder)) == 0 {
				t.Errorf("there is no data to remove in %s: this test shows nothing", folder)
			}
			census := s.census()
			began := time.Now()
			test.do(s)
			s.until("its run is gone", 2*time.Minute, func() bool { return len(s.runs()) == 0 })
			t.Logf("the run is gone after %.1f s", time.Since(began).Seconds())
			// Kubernetes looks at a namespace again only after half of its pods' grace period of 120 s.
			s.gone(test, wholeRun)
			t.Logf("all is gone after %.1f s", time.Since(began).Seconds())
			if left := runFiles(s, folder); len(left) > 0 {
				t.Errorf("left on the volume: %s", strings.Join(left, ", "))
			}
			if pods, want := census.names(), []string{run.Name + "-data-0-1", run.Name + "-data-1-1"}; !slices.Equal(pods, want) {
				t.Errorf("there were the pods %s, want %s: nothing is created for what is being deleted", pods, want)
			}
			if test.keepsBenchmark {
				s.until("the benchmark says that its run was stopped", time.Minute, func() bool {
					last := s.benchmark("bench").Status.LastRun
					return last != nil && last.Name == run.Name && last.Reason == v1alpha1.ReasonStopped
				})
			}
		})
	}
}

// TestDeletedWhenFinished checks that a finished run, its benchmark and its namespace can be deleted. After its run is
// deleted, a benchmark keeps its verdict and starts no other run.
func TestDeletedWhenFinished(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	for _, test := range append(deletions, inForeground) {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.claim("data", "1Gi")
			s.apply(small(1).Obj())
			s.ended(wholeRun)
			s.until("the benchmark is judged", time.Minute, func() bool { return s.benchmark("bench").Status.LastRun != nil })
			s.clean()
			before := s.benchmark("bench").Status
			test.do(s)
			s.gone(test, 2*time.Minute)
			if test.keepsBenchmark {
				// The benchmark keeps the verdict, and a benchmark with a verdict starts no new run.
				time.Sleep(2 * time.Second)
				now := s.benchmark("bench").Status
				if now.LastRun == nil || *now.LastRun != *before.LastRun || len(s.runs()) > 0 {
					t.Errorf("the verdict was %+v and is %+v; there are %d runs", before.LastRun, now.LastRun, len(s.runs()))
				}
			}
		})
	}
}

// TestOperatorGoneWhileLive removes the operator during a step. The agents must finish the step, wait for
// orphanTimeout, remove their data and exit. A later operator finds lost clients and follows onLoss. A finished run
// must not change.
func TestOperatorGoneWhileLive(t *testing.T) {
	soak.Only(t)
	in := requireNode(t)
	still := stillness.During(t)
	// The operator must exit before the step ends, which takes some three seconds, or more on a busy machine.
	const seconds = 20
	s, finished := newSpace(t), newSpace(t)
	finished.claim("data", "1Gi")
	finished.apply(small(1).Obj())
	over := finished.ended(wholeRun)
	finished.clean()

	folder := s.retained()
	benchmark := small(seconds).Mutate(func(run *v1alpha1.RunSpec) { run.OrphanTimeout = "3s" })
	s.apply(benchmark.Obj())
	begun := beginOf(s.busy("01-write"), "01-write")
	in.withoutOperator(t)
	if time.Since(begun) > seconds*time.Second {
		soak.Inconclusive(t, "the operator left %s after the start of a step of %d s", time.Since(begun), seconds)
	}
	s.until("the agents leave", 2*time.Minute, func() bool {
		return !slices.ContainsFunc(s.pods(), func(pod corev1.Pod) bool { return pod.Status.Phase != corev1.PodSucceeded })
	})
	pods := s.pods()
	if len(pods) != 2 {
		t.Fatalf("there are %d pods", len(pods))
	}
	var last time.Duration
	for _, pod := range pods {
		left := pod.Status.ContainerStatuses[0].State.Terminated.FinishedAt.Sub(begun)
		t.Logf("the agent of %s left %.0f s after the start of a step of %d s", pod.Name, left.Seconds(), seconds)
		// The kubelet reports whole seconds.
		if left < (seconds-1)*time.Second {
			t.Errorf("the agent of %s left after %s: it had a step of %d s to do, and then 3 s to wait", pod.Name, left, seconds)
		}
		last = max(last, left)
		s.hasSaid(&pod, "no contact with its conductor for 3s; its load was stopped and its data removed")
	}
	if left := runFiles(s, folder); len(left) > 0 {
		t.Errorf("left on the volume: %s", strings.Join(left, ", "))
	}
	if now := finished.run(); now.ResourceVersion != over.ResourceVersion && now.Status.EndTime.Time != over.Status.EndTime.Time {
		t.Errorf("a finished run has changed: %+v", now.Status)
	}

	in.scale(t, 1)
	run := s.ended(wholeRun)
	isComplete(t, run)
	if lost := run.Status.LostClients; len(lost) != 2 || !lost[0].Replaced || !lost[1].Replaced {
		t.Errorf("lost clients %+v", lost)
	}
	didAll(t, run, "write", 2, seconds, 90)
	s.clean()
	within(t, still, fmt.Sprintf("a step of %d s, a wait of 3 s and the removal of the data", seconds), last, (seconds+15)*time.Second)
}

// hasSaid checks the log of a client's pod for a text.
func (s *space) hasSaid(pod *corev1.Pod, want string) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
	defer cancel()
	log, err := s.clients.CoreV1().Pods(s.namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	must(s.T, err)
	if !strings.Contains(string(log), want) {
		s.Errorf("pod %s has said %q; %q is not in it", pod.Name, log, want)
	}
}
