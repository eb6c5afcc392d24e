package record

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestInterferenceFits checks that a status that is too large loses the distributions of an interference phase,
// together with the percentiles that further blocks would change. It keeps the ratios, and the percentiles of phases
// that have ended.
func TestInterferenceFits(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.BenchmarkRun{}
	run.Spec.Steps = make([]v1alpha1.ResolvedStep, longRun+1)
	phases := []v1alpha1.PhaseResult{{Name: "live"}, {Name: "ended"}}
	for at := range phases {
		for range 16 {
			result := &v1alpha1.InterferenceResult{}
			for neighbours := range int32(16) {
				level := v1alpha1.InterferenceLevel{Neighbours: neighbours, RateRatioPPM: &v1alpha1.Estimate{Value: 1}}
				for _, operation := range []v1alpha1.Operation{v1alpha1.OperationRead, v1alpha1.OperationWrite} {
					one := v1alpha1.InterferenceOperation{Operation: operation, P50Nanoseconds: new(int64(1)), P99Nanoseconds: new(int64(2)),
						P99RatioPPM: &v1alpha1.Estimate{Value: 3}}
					if at == 0 {
						one.Histogram = make([]byte, 12<<10)
					}
					level.Operations = append(level.Operations, one)
				}
				result.Levels = append(result.Levels, level)
			}
			phases[at].Targets = append(phases[at].Targets, v1alpha1.TargetResult{Interference: result})
		}
	}
	run.Status.Phases = phases
	fit(run)
	if bytes := size(&run.Status); bytes > maxLongStatusBytes {
		t.Errorf("the status has %d bytes", bytes)
	}
	for at, phase := range run.Status.Phases {
		one := phase.Targets[15].Interference.Levels[15].Operations[1]
		if known := one.P50Nanoseconds != nil && one.P99Nanoseconds != nil; known != (at == 1) || one.P99RatioPPM == nil {
			t.Errorf("phase %s: %+v", phase.Name, one)
		}
	}
}
