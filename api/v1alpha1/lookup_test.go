package v1alpha1_test

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

func TestWorkloadOf(t *testing.T) {
	run := &v1alpha1.RunSpec{Workload: &v1alpha1.Workload{}, Phases: []v1alpha1.Phase{
		{Name: "runs"},
		{Name: "own", Workload: &v1alpha1.Workload{}, TargetWorkloads: []v1alpha1.TargetWorkload{{Target: "b"}}},
	}}
	own := run.Phase("own")
	for _, test := range []struct {
		phase, target string
		want          *v1alpha1.Workload
	}{
		{"runs", "a", run.Workload}, {"own", "a", own.Workload}, {"own", "b", &own.TargetWorkloads[0].Workload}, {"none", "a", nil},
	} {
		if got := run.WorkloadOf(run.Phase(test.phase), test.target); got != test.want {
			t.Errorf("%s on %s: %p, want %p", test.phase, test.target, got, test.want)
		}
	}
	var none *v1alpha1.RunSpec
	if got := none.WorkloadOf(none.Phase("own"), "a"); got != nil {
		t.Errorf("%+v of no run", got)
	}
}

// TestAttempt checks that the newest attempt of a step counts, unless it repeated a layout and found data that exists.
func TestAttempt(t *testing.T) {
	attempt := func(number int32, state v1alpha1.StepState, bytes ...int64) v1alpha1.StepStatus {
		made := v1alpha1.StepStatus{ID: "00-layout", Attempt: number, State: state}
		for _, moved := range bytes {
			made.IO = append(made.IO, v1alpha1.StepIO{Bytes: moved})
		}
		return made
	}
	const failed, succeeded = v1alpha1.StepFailed, v1alpha1.StepSucceeded
	wrote := attempt(1, succeeded, 30, 10)
	for name, test := range map[string]struct {
		steps []v1alpha1.StepStatus
		want  int32
	}{
		"repeated after a failure": {[]v1alpha1.StepStatus{attempt(1, failed, 40), attempt(2, succeeded, 5)}, 2},
		"found its data":           {[]v1alpha1.StepStatus{wrote, {ID: "01-read", Attempt: 3}, attempt(2, succeeded)}, 1},
		"one client wrote again":   {[]v1alpha1.StepStatus{wrote, attempt(2, succeeded, 10)}, 1},
		"all clients wrote again":  {[]v1alpha1.StepStatus{wrote, attempt(2, succeeded, 30, 10)}, 2},
	} {
		status := &v1alpha1.BenchmarkRunStatus{Steps: test.steps}
		if got := status.Attempt("00-layout"); got.Attempt != test.want || got.ID != "00-layout" {
			t.Errorf("%s: %+v, want attempt %d", name, got, test.want)
		}
		if got := status.Attempt("02-write"); got != nil {
			t.Errorf("%s: %+v of a step that has not begun", name, got)
		}
	}
}
