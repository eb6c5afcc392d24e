package record_test

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/test/builders"
)

// TestSetupOfTheSecondTarget checks that the results of a phase are in the order of the run's targets, even if only the
// second target has a setup, which runs first. The first target is the one that others are compared with.
func TestSetupOfTheSecondTarget(t *testing.T) {
	program := func(setup ...string) v1alpha1.Engine {
		return v1alpha1.Engine{Command: &v1alpha1.CommandProfile{Command: []string{"zip", "a.zip"}, Setup: setup}}
	}
	benchmark := builders.Benchmark("b").Target("a").Target("b").Load(program()).Steady("zip", "10s")
	benchmark.Mutate(func(run *v1alpha1.RunSpec) {
		run.Phases[0].TargetWorkloads = []v1alpha1.TargetWorkload{{Target: "b", Workload: v1alpha1.Workload{Engine: program("mkdir", "a")}}}
	})
	run, planned := begun(t, benchmark)
	if setup := planned.Steps[0]; setup.Purpose != plan.Prepare || len(setup.Targets) != 1 || setup.Targets[0] != "b" {
		t.Fatalf("the first step is %+v", setup)
	}
	for _, step := range planned.Steps {
		var clients []result.Client
		for _, target := range step.Targets {
			clients = append(clients, builders.Client(target, 0).Obj())
		}
		record.Result(run, step, first(step), clients, builders.Start)
	}
	if targets := run.Status.Phases[0].Targets; len(targets) != 2 || targets[0].Target != "a" || targets[1].Target != "b" {
		t.Errorf("the results are of %+v", targets)
	}
}
