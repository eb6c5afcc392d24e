package result_test

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/result"
)

func TestHeadline(t *testing.T) {
	phase := func(kind v1alpha1.PhaseKind, made v1alpha1.TargetResult) v1alpha1.PhaseResult {
		return v1alpha1.PhaseResult{Name: phasekind.Of(kind).Label, Kind: kind, Targets: []v1alpha1.TargetResult{made}}
	}
	named := func(name string, made v1alpha1.PhaseResult) v1alpha1.PhaseResult {
		made.Name = name
		return made
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
	drained := phase(v1alpha1.PhaseBurstDrain, burst(&v1alpha1.Estimate{Value: 7979e3}))
	cached := named("cached", phase(v1alpha1.PhaseSteady, figures(150e6)))
	metadata := named("metadata", phase(v1alpha1.PhaseSteady, v1alpha1.TargetResult{Mdtest: &v1alpha1.MdtestResult{
		Rates: []v1alpha1.MdtestRate{{Operation: "File stat", MeanOPSMilli: 90e6}, {Operation: "File creation", MeanOPSMilli: 18_699e3}}}}))
	program := named("zip", phase(v1alpha1.PhaseSteady, v1alpha1.TargetResult{Command: &v1alpha1.CommandResult{DurationNanoseconds: 12_340e6}}))
	refill := phase(v1alpha1.PhaseCooldown, v1alpha1.TargetResult{Burst: &v1alpha1.BurstResult{Exhausted: true, IdleNanoseconds: pointerTo(int64(600e9)),
		Bytes: &v1alpha1.BurstSeries{Burst: &v1alpha1.Estimate{Value: 65e6}, Baseline: &v1alpha1.Estimate{Value: 8e6}, Refill: &v1alpha1.Estimate{Value: 4e6}, RefillSource: "Measured"}}})
	two := phase(v1alpha1.PhaseSteady, figures(64e6))
	two.Targets[0].Target = "ssd"
	two.Targets = append(two.Targets, v1alpha1.TargetResult{Target: "hdd"})
	for name, test := range map[string]struct {
		phases              []v1alpha1.PhaseResult
		result, p99, figure string
		headline            string
	}{
		"a drain, then a cache read":       {phases: []v1alpha1.PhaseResult{layout, drained, two, refill, cached}, result: "7.979 MB/s", figure: "drain: baseline"},
		"the named cache read":             {phases: []v1alpha1.PhaseResult{drained, cached, two}, headline: "cached", result: "150.0 MB/s", figure: "cached: cache write"},
		"only a cache read":                {phases: []v1alpha1.PhaseResult{layout, cached}},
		"the named refill":                 {phases: []v1alpha1.PhaseResult{drained, refill}, headline: "cooldown", result: "4.000 MB/s", figure: "cooldown: refill"},
		"a name that the run has not":      {phases: []v1alpha1.PhaseResult{drained}, headline: "of-yesterday", result: "7.979 MB/s", figure: "drain: baseline"},
		"bytes, then rates of files":       {phases: []v1alpha1.PhaseResult{two, metadata}, result: "64.00 MB/s", figure: "steady/ssd: write"},
		"only rates of files":              {phases: []v1alpha1.PhaseResult{metadata}, result: "18,699/s", figure: "metadata: file creation"},
		"a program that names no rate":     {phases: []v1alpha1.PhaseResult{program}, result: "12.34s", figure: "zip: duration"},
		"the last of two of the same rank": {phases: []v1alpha1.PhaseResult{two, named("again", phase(v1alpha1.PhaseSteady, figures(32e6)))}, result: "32.00 MB/s", figure: "again: write"},

		"nothing":  {},
		"a layout": {phases: []v1alpha1.PhaseResult{layout}},
		"a drain":  {phases: []v1alpha1.PhaseResult{layout, phase(v1alpha1.PhaseBurstDrain, burst(&v1alpha1.Estimate{Value: 32e6}))}, result: "32.00 MB/s", figure: "drain: baseline"},
		"operations": {phases: []v1alpha1.PhaseResult{phase(v1alpha1.PhaseBurstDrain, v1alpha1.TargetResult{Burst: &v1alpha1.BurstResult{
			Exhausted: true, Dimension: "Operations", Bytes: &v1alpha1.BurstSeries{Baseline: &v1alpha1.Estimate{Value: 12e6}},
			Operations: &v1alpha1.BurstSeries{Baseline: &v1alpha1.Estimate{Value: 3000e3}}}})}, result: "3,000 IOPS", figure: "drain: baseline"},
		"no drop":       {phases: []v1alpha1.PhaseResult{phase(v1alpha1.PhaseBurstDrain, burst(nil))}, result: "260.0 MB/s", figure: "drain: burst"},
		"a ramp":        {phases: []v1alpha1.PhaseResult{layout, phase(v1alpha1.PhaseRamp, steps)}, figure: "ramp: most read", result: "300.0 MB/s", p99: "8.00 ms"},
		"then cooldown": {phases: []v1alpha1.PhaseResult{phase(v1alpha1.PhaseSteady, figures(64e6)), phase(v1alpha1.PhaseCooldown, burst(nil))}, result: "64.00 MB/s", figure: "steady: write"},
	} {
		t.Run(name, func(t *testing.T) {
			run := &v1alpha1.BenchmarkRun{Status: v1alpha1.BenchmarkRunStatus{Phases: test.phases}}
			run.Spec.Headline = test.headline
			run.Spec.Run.Phases = []v1alpha1.Phase{{Name: "cached", Expect: v1alpha1.ExpectServerCache}}
			got := result.Headline(run)
			if (got == nil) != (test.result == "") {
				t.Fatalf("%+v", got)
			}
			if got != nil && (got.Result != test.result || got.P99 != test.p99 || got.Figure != test.figure) {
				t.Errorf("%+v", got)
			}
		})
	}
}
