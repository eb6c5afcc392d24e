package drive

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/observation"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/test/builders"
)

// asked counts the evaluations that were requested from an Observer.
type asked int

func (*asked) Interval() time.Duration               { return time.Second }
func (a *asked) Ask([]observation.Query)             { *a++ }
func (*asked) Answers() ([]observation.Answer, bool) { return nil, true }

// begun returns a run with one step and one observation, and its Driver.
func begun(t *testing.T, observer Observer) (*v1alpha1.BenchmarkRun, *Driver) {
	t.Helper()
	spec := builders.Benchmark("b").Target("data").Steady("write", "10s").Mutate(func(run *v1alpha1.RunSpec) {
		run.Observations = []v1alpha1.Observation{{Name: "level", Query: "level", Phases: []string{"write"}}}
	}).Run()
	planned, problems := plan.Make(spec, 1)
	if err := problems.ToAggregate(); err != nil {
		t.Fatal(err)
	}
	run := record.New(record.Identity{Name: "b-1", Namespace: "default", UID: "uid"}, spec, planned)
	record.Begin(run, builders.Start)
	made := conductor.New(conductor.Options{})
	t.Cleanup(made.Close)
	return run, NewDriver(Driver{Plan: planned, Conductor: made, Observer: observer})
}

// TestObserveOnceStored checks that an evaluation of observations begins only after the status is stored. If the write
// fails, the next decision starts the evaluation, so that answers to an earlier one never count as its answers.
func TestObserveOnceStored(t *testing.T) {
	var observer asked
	run, d := begun(t, &observer)
	out, err := d.Note(run, nil, decide.Snapshot{}, decide.Action{Kind: decide.Observe})
	if err != nil || observer != 0 || !d.observer.begun.IsZero() {
		t.Fatalf("before the status is stored: asked %d times, begun %v, %v", observer, d.observer.begun, err)
	}
	if err := out.Then(); err != nil || observer != 1 || d.observer.begun.IsZero() {
		t.Errorf("afterwards: asked %d times, begun %v, %v", observer, d.observer.begun, err)
	}
}

// TestCancelledTooLate checks that a run whose steps all have results does not fail if it is cancelled while its
// clients remove their data.
func TestCancelledTooLate(t *testing.T) {
	for name, done := range map[string]bool{"while a step runs": false, "after the last step": true} {
		t.Run(name, func(t *testing.T) {
			run, d := begun(t, new(asked))
			snapshot := decide.Snapshot{Cancel: &decide.Failure{Reason: v1alpha1.ReasonPreempted, Message: "a pod was preempted"},
				Steps: []decide.Step{{ID: "00-write"}}, Records: map[string]decide.Record{"00-write": {Attempt: 1, Done: done}}}
			if _, err := d.Note(run, nil, snapshot, decide.Action{Kind: decide.Wait}); err != nil {
				t.Fatal(err)
			}
			if got := meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFailed); got == done {
				t.Errorf("failed: %t", got)
			}
		})
	}
}

// TestSeriesOfTheAttemptThatCounts checks that the series of a layout is kept if a repetition finds the data in place.
// The repetition's own series must not replace it.
func TestSeriesOfTheAttemptThatCounts(t *testing.T) {
	for bytes, want := range map[int64]bool{0: true, 1e9: false} {
		run, d := begun(t, new(asked))
		run.Status.Steps = []v1alpha1.StepStatus{{ID: "00-write", Attempt: 1, State: v1alpha1.StepSucceeded,
			IO: []v1alpha1.StepIO{{Target: "data", Bytes: bytes}}}}
		out, err := d.Note(run, nil, decide.Snapshot{}, decide.Action{Kind: decide.RecordResult,
			Attempt: decide.Attempt{Step: "00-write", Number: 2}})
		if err != nil || (out.Series != nil) != want {
			t.Errorf("attempt 1 wrote %d bytes: attempt 2 has the series %+v, %v", bytes, out.Series, err)
		}
	}
}
