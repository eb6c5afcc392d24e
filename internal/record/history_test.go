package record

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/plan"
)

// TestBucketEmpty checks that a drain has left the bucket empty for a step that follows it without a pause. A pause need
// not be planned: in an interference phase, for example, the target idles while others are loaded.
func TestBucketEmpty(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) *metav1.MicroTime {
		return &metav1.MicroTime{Time: start.Add(time.Duration(seconds) * time.Second)}
	}
	drain := v1alpha1.ResolvedStep{ID: "00-burst", Phase: "burst", Purpose: v1alpha1.StepDrain, Targets: []string{"data"}}
	load := v1alpha1.ResolvedStep{ID: "01-after", Phase: "after", Purpose: v1alpha1.StepMeasure, Targets: []string{"data"}}
	spent := func(id string, attempt int32, from, to int) v1alpha1.StepStatus {
		seconds := int64(to - from)
		return v1alpha1.StepStatus{ID: id, Attempt: attempt, FirstIOTime: at(from), LastIOTime: at(to),
			IO: []v1alpha1.StepIO{{Target: "data", Bytes: seconds * 20e6, Operations: seconds * 300}}}
	}
	for name, test := range map[string]struct {
		steps   []v1alpha1.StepStatus
		redrain bool
		want    bool
	}{
		"right after the drain":      {steps: []v1alpha1.StepStatus{spent("00-burst", 1, 0, 600), spent("01-after", 1, 603, 613)}, want: true},
		"after an unplanned pause":   {steps: []v1alpha1.StepStatus{spent("00-burst", 1, 0, 600), spent("01-after", 1, 660, 670)}},
		"after a pause, to redrain":  {steps: []v1alpha1.StepStatus{spent("00-burst", 1, 0, 600), spent("01-after", 1, 660, 670)}, redrain: true, want: true},
		"after an attempt that lost": {steps: []v1alpha1.StepStatus{spent("00-burst", 1, 0, 600), spent("01-after", 1, 603, 613), spent("01-after", 2, 616, 626)}, want: true},
		"after a repeated drain":     {steps: []v1alpha1.StepStatus{spent("00-burst", 1, 0, 20), spent("00-burst", 2, 23, 600), spent("01-after", 1, 603, 613)}, want: true},
		"in the drain's repetition":  {steps: []v1alpha1.StepStatus{spent("00-burst", 1, 0, 20), spent("00-burst", 2, 23, 600)}},
	} {
		t.Run(name, func(t *testing.T) {
			run := &v1alpha1.BenchmarkRun{}
			run.Spec.Steps = []v1alpha1.ResolvedStep{drain, load}
			run.Status.Steps = test.steps
			run.Status.Phases = []v1alpha1.PhaseResult{{Name: "burst", Kind: v1alpha1.PhaseBurstDrain, Targets: []v1alpha1.TargetResult{{Target: "data",
				Burst: &v1alpha1.BurstResult{Exhausted: true, Bytes: &v1alpha1.BurstSeries{Baseline: &v1alpha1.Estimate{Value: 20e6}}}}}}}
			newest := test.steps[len(test.steps)-1]
			attempt := decide.Attempt{Step: newest.ID, Number: int(newest.Attempt)}
			planned := plan.Step{ID: newest.ID, Redrain: test.redrain}
			if got := bucketEmpty(run, planned, attempt, "data", earlierIO(run, attempt, "data")); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

// TestRepeatedDrainBeganWithCredits checks that a drain that is repeated is not said to have begun without credits: its
// result is that of its newest attempt, and tells nothing about the end of an earlier one.
func TestRepeatedDrainBeganWithCredits(t *testing.T) {
	at := func(seconds int64) *metav1.MicroTime { return &metav1.MicroTime{Time: time.Unix(seconds, 0)} }
	attempt := func(number int32, from, to int64) v1alpha1.StepStatus {
		return v1alpha1.StepStatus{ID: "00-burst", Attempt: number, FirstIOTime: at(from), LastIOTime: at(to),
			IO: []v1alpha1.StepIO{{Target: "data", Bytes: (to - from) * 30e6}}}
	}
	run := &v1alpha1.BenchmarkRun{}
	drain := v1alpha1.ResolvedStep{ID: "00-burst", Phase: "burst", Purpose: v1alpha1.StepDrain, Targets: []string{"data"}}
	run.Spec.Steps = []v1alpha1.ResolvedStep{drain}
	run.Status.Steps = []v1alpha1.StepStatus{attempt(1, 0, 1), attempt(2, 4, 600)}
	series := &v1alpha1.BurstSeries{Burst: &v1alpha1.Estimate{Value: 60e6}, Baseline: &v1alpha1.Estimate{Value: 20e6}}
	found := v1alpha1.TargetResult{Target: "data", Burst: &v1alpha1.BurstResult{Exhausted: true, Bytes: series}}
	run.Status.Phases = []v1alpha1.PhaseResult{{Name: "burst", Targets: []v1alpha1.TargetResult{found}}}
	documented := limits.Limit{Name: "instance network", Dimension: limits.Bytes, Baseline: 20e6, Burst: 60e6}
	a := attributor{run: run, target: "data", demands: plan.NewDemandModel(&run.Spec.Run),
		documented: limits.Computed{Limits: []limits.Limit{documented}}}
	a.follow()
	if got := a.emptied["00-burst"]; len(got) > 0 {
		t.Errorf("the drain began without the credits of %q", got)
	}
}

// TestLastDrain checks which drain tells whether the credits are spent: the last one of the target up to the phase, in
// that phase or in an earlier one.
func TestLastDrain(t *testing.T) {
	drained := func(exhausted bool, milli int64) []v1alpha1.TargetResult {
		return []v1alpha1.TargetResult{{Target: "data", Burst: &v1alpha1.BurstResult{Exhausted: exhausted,
			Operations: &v1alpha1.BurstSeries{Baseline: &v1alpha1.Estimate{Value: milli}}}}}
	}
	run := &v1alpha1.BenchmarkRun{}
	run.Status.Phases = []v1alpha1.PhaseResult{
		{Name: "before", Targets: []v1alpha1.TargetResult{{Target: "data"}}},
		{Name: "burst", Targets: drained(true, 1_000_000)},
		{Name: "search", Targets: []v1alpha1.TargetResult{{Target: "data"}}},
		{Name: "again", Targets: drained(false, 2_000_000)},
		{Name: "last", Targets: drained(true, 3_000_000)},
	}
	for phase, want := range map[string]struct {
		any      bool
		baseline float64
	}{
		"before": {false, 0},
		"burst":  {true, 1000},
		"search": {true, 1000},
		"again":  {true, 0},
		"last":   {true, 3000},
	} {
		if got := lastDrain(run, phase, "data"); (got != nil) != want.any {
			t.Errorf("%s: the last drain is %+v", phase, got)
		}
		if got := operationsBaseline(run, phase, "data"); got != want.baseline {
			t.Errorf("%s: the baseline is %g, want %g", phase, got, want.baseline)
		}
	}
	if got := lastDrain(run, "search", "other"); got != nil {
		t.Errorf("another target has the drain %+v", got)
	}
}

// TestBaselines: the last drain that spent all credits has the rates.
func TestBaselines(t *testing.T) {
	drained := func(exhausted bool, burst, baseline int64) []v1alpha1.TargetResult {
		bytes := &v1alpha1.BurstSeries{Burst: &v1alpha1.Estimate{Value: burst}, Baseline: &v1alpha1.Estimate{Value: baseline}}
		return []v1alpha1.TargetResult{{Target: "data", Burst: &v1alpha1.BurstResult{Exhausted: exhausted, Bytes: bytes}}}
	}
	run := &v1alpha1.BenchmarkRun{}
	run.Status.Phases = []v1alpha1.PhaseResult{
		{Name: "burst", Targets: drained(true, 200e6, 100e6)},
		{Name: "again", Targets: drained(true, 170e6, 150e6)},
		{Name: "part", Targets: drained(false, 170e6, 170e6)},
	}
	if got, want := Baselines(run)["data"], (limits.Rates{Baseline: 150e6, Burst: 170e6}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
