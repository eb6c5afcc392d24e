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

// eachMinute is the most frequent schedule that a cron line can have.
const eachMinute = "* * * * *"

// timed creates a benchmark of one client with a cron line. Each of its runs takes some seconds.
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

// drop deletes a benchmark and with it its live and waiting runs.
func (s *space) drop(benchmark *v1alpha1.StorageBenchmark) {
	s.Helper()
	must(s.T, s.api.Delete(s.Context(), benchmark, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// byStart returns the started runs of a space in the order of their starts.
func byStart(runs []v1alpha1.BenchmarkRun) []v1alpha1.BenchmarkRun {
	begun := slices.DeleteFunc(slices.Clone(runs), func(run v1alpha1.BenchmarkRun) bool { return run.Status.StartTime == nil })
	slices.SortFunc(begun, func(a, b v1alpha1.BenchmarkRun) int {
		return cmp.Or(a.Status.StartTime.Compare(b.Status.StartTime.Time), strings.Compare(a.Name, b.Name))
	})
	return begun
}

// inTurn checks that each run started after the previous one had ended.
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

// TestScheduledRuns schedules three benchmarks on one claim for the same minute. Each must run once, one after the
// other, and waiting runs must name the run that they wait for. One benchmark is deleted while its run waits, and
// nothing of it may be left. TestHourOfRuns is the long form.
func TestScheduledRuns(t *testing.T) {
	soak.Only(t)
	t.Parallel()
	requireNode(t)
	s := newSpace(t)
	s.claim("data", "1Gi")
	// All three must be created well before the same minute ends.
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
	// Delete the benchmark that is last in the queue. The first run cannot be predicted: it started before the others
	// existed.
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
			// Prevent further runs.
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
			t.Errorf("%s last ran for the time %v, but was due at %s", name, status.LastScheduleTime, due)
		}
	}
	s.clean()
}

// typed sets the kind of a run, which lists omit.
func typed(run *v1alpha1.BenchmarkRun) *v1alpha1.BenchmarkRun {
	run.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.BenchmarkRunKind))
	return run
}

// TestDeletedWhileQueued checks that deleting a waiting run, its benchmark or its namespace removes the run at once,
// and that the run that it waits for continues.
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

// after applies a deletion and returns it.
func (d deletion) after(s *space) deletion {
	s.Helper()
	d.do(s)
	return d
}

// runOf returns the run of a benchmark, or nil.
func (s *space) runOf(benchmark string) *v1alpha1.BenchmarkRun {
	s.Helper()
	for _, run := range s.runs() {
		if run.Spec.BenchmarkRef.Name == benchmark {
			return &run
		}
	}
	return nil
}
