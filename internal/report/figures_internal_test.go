package report

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TestFiguresOfEqualOperations checks that a sweep has the p99 latency of reads and of writes, even if they are equal.
func TestFiguresOfEqualOperations(t *testing.T) {
	step := v1alpha1.StepResult{}
	for _, operation := range []v1alpha1.Operation{v1alpha1.OperationRead, v1alpha1.OperationWrite} {
		step.Operations = append(step.Operations, v1alpha1.StepOperation{
			Operation: operation, BytesPerSecond: 1e6, IOPSMilli: 250e3, P99Nanoseconds: new(int64(2e6))})
	}
	phase := v1alpha1.PhaseResult{Name: "sweep", Kind: v1alpha1.PhaseSweep,
		Targets: []v1alpha1.TargetResult{{Target: "data", Steps: []v1alpha1.StepResult{step}}}}
	known := map[string]bool{}
	for _, row := range figureRows(Document{}, &phase, inBlock) {
		known[row.name] = true
	}
	if !known["read p99 latency"] || !known["write p99 latency"] {
		t.Errorf("%v", known)
	}
}
