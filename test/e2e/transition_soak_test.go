package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/trial"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/soak"
)

// transitions returns a benchmark of eight clients with the given steady phases.
func transitions(name string, length time.Duration, phases ...string) *v1alpha1.StorageBenchmark {
	depth := int32(trial.Eight.QueueDepth)
	benchmark := builders.Benchmark(name).Target("data").Clients(int32(trial.Eight.Clients)).Prepare("layout").
		Workload(builders.Fio().Dataset("8Mi").BlockSize("32Ki").Mutate(func(fio *v1alpha1.FioProfile) { fio.QueueDepth = &depth }))
	for _, phase := range phases {
		benchmark.Steady(phase, v1alpha1.DurationOf(length))
	}
	return benchmark.Obj()
}

// begunOnce returns a status without the times of steps that did not succeed. If a step was repeated because a client
// received the start too late, the time between its phase and its neighbours is no transition.
func begunOnce(status v1alpha1.BenchmarkRunStatus) v1alpha1.BenchmarkRunStatus {
	known := *status.DeepCopy()
	for i := range known.Steps {
		if step := &known.Steps[i]; step.State != v1alpha1.StepSucceeded {
			step.FirstIOTime, step.MeasuredTime, step.LastIOTime = nil, nil, nil
		}
	}
	return known
}

// startsAgain returns how many of these steps were started more than once.
func startsAgain(run *v1alpha1.BenchmarkRun, steps ...string) int {
	again := 0
	for _, id := range steps {
		if step := stepOf(run, id); step != nil && step.Attempt > 1 {
			again++
		}
	}
	return again
}

// TestSlowTransition checks that operations in flight when a phase ends are in no figure, however long they take.
func TestSlowTransition(t *testing.T) {
	soak.Only(t)
	requireNode(t)
	s := newSpace(t)
	store := s.burstClaim("data", trial.Spent)
	s.apply(transitions("slow", trial.Phase, "a", "b", "c"))
	for i, phase := range []string{"a", "b"} {
		s.until("phase "+phase+" is at its end", 2*time.Minute, func() bool {
			step := stepOf(s.run(), fmt.Sprintf("%02d-%s", i+1, phase))
			if step == nil {
				return false
			}
			// Agents may start a little later than planned. Operations completed until then belong to the phase.
			left := time.Until(step.PlannedEndTime.Add(trial.LateBy))
			if left > time.Second {
				return false // the step may be repeated
			}
			time.Sleep(left)
			return true
		})
		store.Set(trial.Slow())
		time.Sleep(4 * time.Second)
		store.Set(trial.Spent)
	}
	run := s.ended(wholeRun)
	time.Sleep(time.Second)
	known := begunOnce(run.Status)
	for _, one := range truth.Transitions(store.Truth(), known) {
		t.Log(one)
	}
	want := 2 - startsAgain(run, "02-b", "03-c")
	if want == 0 {
		soak.Inconclusive(t, "the clients of each phase were told too late, so that it was begun again")
	}
	for _, problem := range trial.Untouched(store.Truth(), known, want) {
		t.Error(problem)
	}
	s.clean()
}
