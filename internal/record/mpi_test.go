package record_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// TestManyRepetitions checks that a thousand repetitions of IOR in every phase of two targets fit into the status. The
// figures over all repetitions must remain.
func TestManyRepetitions(t *testing.T) {
	benchmark := builders.Benchmark("b").Target("a").Target("b").Clients(2).Processes(4).Load(builders.IOR().Overwrites().Engine())
	for i := range 12 {
		benchmark.Steady(fmt.Sprintf("phase-%d", i), "10s")
	}
	run, planned := begun(t, benchmark)
	for _, step := range planned.Steps {
		record.Intent(run, step, decide.Action{Attempt: first(step), Start: builders.Start, Deadline: builders.Start.Add(time.Minute)})
		var clients []result.Client
		for _, target := range step.Targets {
			each := builders.Counter(100, 1<<20)
			clients = append(clients, builders.Client(target, 0).Rank(10, measure.Write, each).IORJob(8, 2, measure.Write, 1000, 10*time.Millisecond, 2<<20).Obj(),
				builders.Client(target, 1).Rank(10, measure.Write, each).Obj())
		}
		record.Result(run, step, first(step), clients, builders.Start.Add(time.Minute))
	}
	record.Finished(run, nil, builders.Start.Add(time.Hour))
	check(t, run)
	for _, phase := range run.Status.Phases {
		for _, target := range phase.Targets {
			one := target.IOR.Operations[0]
			if one.Count != 1000 || int(one.OmittedRepetitions)+len(one.Repetitions) != 1000 || len(one.Repetitions) < 2 || one.MeanBytesPerSecond == 0 {
				t.Errorf("%s/%s: %d repetitions, %d listed, %d left out", phase.Name, target.Target, one.Count, len(one.Repetitions), one.OmittedRepetitions)
			}
		}
	}
}

// TestStepsOfRanks checks that a run stores the ranks of each step of a ramp, and that the snapshot marks the steps
// that are MPI jobs.
func TestStepsOfRanks(t *testing.T) {
	run, planned := begun(t, builders.Benchmark("b").Target("a").Clients(2).Load(builders.IOR().Engine()).
		Ramp("ramp", v1alpha1.RampProcesses, "10s", 1, 2).BurstDrain("burst", "1m", "10m").Steady("fio", "10s").With(builders.Fio()))
	if got := run.Spec.Steps[1].Overrides; got == nil || got.Processes == nil || *got.Processes != 2 {
		t.Errorf("overrides of the second step: %+v", got)
	}
	snapshot, err := record.Snapshot(run, planned, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		together bool
		latest   time.Duration
	}{{true, 0}, {true, 0}, {true, 10 * time.Minute}, {false, 0}} {
		if step := snapshot.Steps[i]; step.Coupled != want.together || step.Latest != want.latest {
			t.Errorf("step %s: %+v", step.ID, step)
		}
	}
	if snapshot.Policy.LossPatience <= 0 {
		t.Error("a loss that other clients report is not awaited")
	}
}
