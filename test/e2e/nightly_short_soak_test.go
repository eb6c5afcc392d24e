package e2e

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/invariants"
	"github.com/storagebench/storagebench/test/soak"
)

// each minute, which is as often as a cron line can say.
const eachMinute = "* * * * *"

// timed is a benchmark of one client that runs by a cron line, for some seconds a run.
func (s *space) timed(name, claim, queue, line string, seconds int) *v1alpha1.StorageBenchmark {
	s.Helper()
	made := builders.Benchmark(name).Target("data").Workload(paced()).Steady("write", lasting(seconds)).Mutate(func(run *v1alpha1.RunSpec) {
		run.Targets[0].Volumes[0].ClaimName = claim
	}).Obj()
	made.Spec.Queue = queue
	made.Spec.Trigger = &v1alpha1.Trigger{Schedule: line}
	made.Spec.HistoryLimit = new(int32(keptRuns))
	return s.apply(made)
}

// keptRuns is the history limit of these benchmarks.
const keptRuns = 3

// deleted benchmarks take their runs with them, the one that is live and those that wait.
func (s *space) drop(benchmark *v1alpha1.StorageBenchmark) {
	s.Helper()
	must(s.T, s.api.Delete(s.Context(), benchmark, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// byStart are the runs of a space in the order in which they began.
func byStart(runs []v1alpha1.BenchmarkRun) []v1alpha1.BenchmarkRun {
	begun := slices.DeleteFunc(slices.Clone(runs), func(run v1alpha1.BenchmarkRun) bool { return run.Status.StartTime == nil })
	slices.SortFunc(begun, func(a, b v1alpha1.BenchmarkRun) int {
		return cmp.Or(a.Status.StartTime.Compare(b.Status.StartTime.Time), strings.Compare(a.Name, b.Name))
	})
	return begun
}

// inTurn fails where a run began before the one before it was over.
func inTurn(t *testing.T, runs []v1alpha1.BenchmarkRun) {
	t.Helper()
	begun := byStart(runs)
	for i := 1; i < len(begun); i++ {
		before := begun[i-1]
		if before.Status.EndTime == nil || begun[i].Status.StartTime.Time.Before(before.Status.EndTime.Time) {
			t.Errorf("run %s began at %s, and run %s ended at %v", begun[i].Name, begun[i].Status.StartTime, before.Name, before.Status.EndTime)
		}
	}
}

// TestScheduledRuns: three benchmarks on one claim are due at the same minute. They are run one after the other,
// each once, those that wait say for whom; one of them is deleted while it waits, and leaves nothing. The
// long form is TestHourOfRuns.
func TestScheduledRuns(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	requireNode(t)
	s := newSpace(t)
	s.claim("data", "1Gi")
	// All three are due at the end of the same minute, so that enough of it has to be left to make them in.
	if left := time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)); left < 30*time.Second {
		time.Sleep(left)
	}
	first := s.timed("first", "data", "", eachMinute, 3)
	second := s.timed("second", "data", "", eachMinute, 3)
	third := s.timed("third", "data", "", eachMinute, 3)
	benchmarks := []string{"first", "second", "third"}
	s.until("the benchmarks say when they are run", 20*time.Second, func() bool {
		return !slices.ContainsFunc(benchmarks, func(name string) bool { return s.benchmark(name).Status.NextScheduleTime == nil })
	})
	due := s.benchmark("third").Status.NextScheduleTime.Time
	if now := time.Now(); due.Sub(now) > time.Minute || due.Second() != 0 {
		t.Fatalf("the next run is due at %s, at %s", due, now)
	}
	s.until("all runs are made", 2*time.Minute, func() bool { return len(s.runs()) == 3 })
	s.until("two runs wait, and say for whom", 20*time.Second, func() bool {
		waiting := 0
		for _, run := range s.runs() {
			found := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionWaiting)
			if found != nil && found.Status == metav1.ConditionTrue && strings.HasPrefix(found.Message, "waits for run ") && strings.Contains(found.Message, "claim data") {
				waiting++
			}
		}
		return waiting == 2
	})
	// The last in turn goes before it begins. Who was first is not for the order to say: its run was let in before there were others.
	runs := slices.DeleteFunc(s.runs(), func(run v1alpha1.BenchmarkRun) bool {
		return !meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionWaiting)
	})
	if len(runs) == 0 {
		t.Fatal("no run waits any more")
	}
	slices.SortFunc(runs, func(a, b v1alpha1.BenchmarkRun) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	last := runs[len(runs)-1].Spec.BenchmarkRef.Name
	s.until("a benchmark whose run waits says so", 20*time.Second, func() bool {
		running := meta.FindStatusCondition(s.benchmark(last).Status.Conditions, v1alpha1.ConditionRunning)
		return running != nil && running.Reason == v1alpha1.ReasonRunQueued
	})
	for _, one := range []*v1alpha1.StorageBenchmark{first, second, third} {
		if one.Name == last {
			s.drop(one)
		} else {
			// The next minute is not waited for.
			before := s.benchmark(one.Name)
			after := before.DeepCopy()
			after.Spec.Suspend = new(true)
			must(t, s.api.Patch(t.Context(), after, client.MergeFrom(before)))
		}
	}
	s.until("the deleted benchmark's run is gone", time.Minute, func() bool { return len(s.runs()) == 2 })
	s.until("the others are over", wholeRun, func() bool {
		return !slices.ContainsFunc(s.runs(), func(run v1alpha1.BenchmarkRun) bool { return run.Status.EndTime == nil })
	})
	for _, run := range s.runs() {
		isComplete(t, &run)
		invariants.CheckObject(t, typed(&run))
	}
	inTurn(t, s.runs())
	for _, name := range benchmarks {
		if name == last {
			continue
		}
		s.until("the benchmark is judged", 20*time.Second, func() bool { return s.benchmark(name).Status.LastRun != nil })
		if status := s.benchmark(name).Status; status.LastScheduleTime == nil || !status.LastScheduleTime.Time.Equal(due) {
			t.Errorf("%s was run for %v, and was due at %s", name, status.LastScheduleTime, due)
		}
	}
	s.clean()
}

// typed is a run with its kind, which a list leaves out.
func typed(run *v1alpha1.BenchmarkRun) *v1alpha1.BenchmarkRun {
	run.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.BenchmarkRunKind))
	return run
}

// TestDeletedWhileQueued: a run that waits for another one is gone at once, whatever is deleted, and nothing of it
// is left; the one that it waited for goes on.
func TestDeletedWhileQueued(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	requireNode(t)
	for _, what := range []string{"run", "benchmark", "namespace"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.claim("data", "1Gi")
			holder := small(60).Clients(1).Obj()
			holder.Name = "holder"
			holder = s.apply(holder)
			s.busy("01-write")
			live := s.runOf("holder").Name
			queued := s.apply(small(60).Clients(1).Obj())
			var run *v1alpha1.BenchmarkRun
			s.until("the second run waits", time.Minute, func() bool {
				run = s.runOf("bench")
				return run != nil && meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionWaiting)
			})
			began := time.Now()
			switch what {
			case "run":
				must(t, s.api.Delete(t.Context(), run))
			case "benchmark":
				s.drop(queued)
			case "namespace":
				s.gone(deletions[len(deletions)-1].after(s), 3*time.Minute)
				return
			}
			s.until("the run is gone", time.Minute, func() bool { return s.runOf("bench") == nil })
			t.Logf("gone after %.1f s", time.Since(began).Seconds())
			if now := s.runOf("holder"); now == nil || now.Name != live || now.Status.EndTime != nil {
				t.Errorf("the live run was harmed: %+v", now)
			}
			if what == "run" {
				s.until("the benchmark says that its run was deleted", time.Minute, func() bool {
					last := s.benchmark("bench").Status.LastRun
					return last != nil && last.Reason == v1alpha1.ReasonStopped
				})
				s.drop(queued)
			}
			s.drop(holder)
			s.until("the live run is gone too", 2*time.Minute, func() bool { return len(s.runs()) == 0 })
			s.clean()
		})
	}
}

// after does a deletion.
func (d deletion) after(s *space) deletion {
	s.Helper()
	d.do(s)
	return d
}

// runOf is the run of a benchmark; nil when there is none.
func (s *space) runOf(benchmark string) *v1alpha1.BenchmarkRun {
	s.Helper()
	for _, run := range s.runs() {
		if run.Spec.BenchmarkRef.Name == benchmark {
			return &run
		}
	}
	return nil
}
