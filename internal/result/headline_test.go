package result_test

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/result"
)

func TestHeadline(t *testing.T) {
	phase := func(kind v1alpha1.PhaseKind, made v1alpha1.TargetResult) v1alpha1.PhaseResult {
		return v1alpha1.PhaseResult{Kind: kind, Targets: []v1alpha1.TargetResult{made}}
	}
	burst := func(baseline *v1alpha1.Estimate) v1alpha1.TargetResult {
		made := figures(120e6)
		made.Burst = &v1alpha1.BurstResult{Exhausted: baseline != nil, Bytes: &v1alpha1.BurstSeries{Burst: &v1alpha1.Estimate{Value: 260e6}, Baseline: baseline}}
		return made
	}
	steps := v1alpha1.TargetResult{Steps: []v1alpha1.StepResult{
		{Cell: 0, Operations: []v1alpha1.StepOperation{{Operation: v1alpha1.OperationRead, BytesPerSecond: 100e6, P99Nanoseconds: pointerTo(int64(2e6))}}},
		{Cell: 1, Operations: []v1alpha1.StepOperation{{Operation: v1alpha1.OperationRead, BytesPerSecond: 300e6, P99Nanoseconds: pointerTo(int64(8e6))}}},
		{Cell: 2, Operations: []v1alpha1.StepOperation{{Operation: v1alpha1.OperationRead, BytesPerSecond: 900e6}}, Warnings: []v1alpha1.WarningType{v1alpha1.WarningClientLost}},
	}}
	layout := phase(v1alpha1.PhasePrepare, figures(500e6))
	for name, test := range map[string]struct {
		phases          []v1alpha1.PhaseResult
		throughput, p99 string
	}{
		"nothing":  {},
		"a layout": {phases: []v1alpha1.PhaseResult{layout}},
		"a drain":  {phases: []v1alpha1.PhaseResult{layout, phase(v1alpha1.PhaseBurstDrain, burst(&v1alpha1.Estimate{Value: 32e6}))}, throughput: "32.00 MB/s"},
		"operations": {phases: []v1alpha1.PhaseResult{phase(v1alpha1.PhaseBurstDrain, v1alpha1.TargetResult{Burst: &v1alpha1.BurstResult{
			Exhausted: true, Dimension: "Operations", Bytes: &v1alpha1.BurstSeries{Baseline: &v1alpha1.Estimate{Value: 12e6}},
			Operations: &v1alpha1.BurstSeries{Baseline: &v1alpha1.Estimate{Value: 3000e3}}}})}, throughput: "3,000 IOPS"},
		"no drop":       {phases: []v1alpha1.PhaseResult{phase(v1alpha1.PhaseBurstDrain, burst(nil))}, throughput: "260.0 MB/s"},
		"a ramp":        {phases: []v1alpha1.PhaseResult{layout, phase(v1alpha1.PhaseRamp, steps)}, throughput: "300.0 MB/s", p99: "8.00 ms"},
		"then cooldown": {phases: []v1alpha1.PhaseResult{phase(v1alpha1.PhaseSteady, figures(64e6)), phase(v1alpha1.PhaseCooldown, burst(nil))}, throughput: "64.00 MB/s"},
	} {
		t.Run(name, func(t *testing.T) {
			got := result.Headline(test.phases)
			if (got == nil) != (test.throughput == "") {
				t.Fatalf("%+v", got)
			}
			if got != nil && (got.Throughput != test.throughput || got.P99 != test.p99) {
				t.Errorf("%+v", got)
			}
		})
	}
}
