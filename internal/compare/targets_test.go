package compare_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
	"github.com/storagebench/storagebench/test/builders"
)

// steady returns a result with all figures of one operation.
func steady(target string, bytesPerSecond, errorPPM int64) v1alpha1.TargetResult {
	nanoseconds, operation := 1_000_000_000_000/bytesPerSecond, v1alpha1.OperationResult{Operation: v1alpha1.OperationWrite, RateErrorPPM: &errorPPM,
		BytesPerSecond: &bytesPerSecond, IOPSMilli: new(bytesPerSecond / 65)}
	operation.Latency = &v1alpha1.LatencyResult{MeanNanoseconds: nanoseconds, P50Nanoseconds: &nanoseconds, P95Nanoseconds: &nanoseconds,
		P99Nanoseconds: &nanoseconds, P999Nanoseconds: &nanoseconds}
	return v1alpha1.TargetResult{Target: target, Clients: 1, Operations: []v1alpha1.OperationResult{operation},
		Usage: &v1alpha1.UsageResult{CompressionRatioMilli: new(bytesPerSecond / 1000)}}
}

// runOf returns a run specification with one phase and an fio profile.
func runOf(mode v1alpha1.PhaseMode, change func(*v1alpha1.FioProfile)) *v1alpha1.RunSpec {
	profile := builders.Fio().Obj()
	change(profile)
	return &v1alpha1.RunSpec{Workload: &v1alpha1.Workload{Engine: v1alpha1.Engine{Fio: profile}},
		Phases: []v1alpha1.Phase{{Name: "write", Mode: mode, Steady: &v1alpha1.SteadyPhase{}}}}
}

func unchanged(*v1alpha1.FioProfile) {}

func verdictsOf(one v1alpha1.TargetComparison) map[v1alpha1.FigureName]v1alpha1.FigureVerdict {
	verdicts := map[v1alpha1.FigureName]v1alpha1.FigureVerdict{}
	for _, figure := range one.Figures {
		verdicts[figure.Figure] = figure.Verdict
	}
	return verdicts
}

func TestTargets(t *testing.T) {
	phase := &v1alpha1.PhaseResult{Name: "write", Kind: v1alpha1.PhaseSteady, Targets: []v1alpha1.TargetResult{
		steady("one", 1_000_000, 10_000), steady("two", 1_100_000, 10_000), steady("three", 1_010_000, 10_000)}}
	all := compare.Targets(runOf(v1alpha1.PhaseParallel, unchanged), phase)
	if len(all) != 2 || all[0].Baseline != "one" || all[0].Target != "two" || all[1].Target != "three" {
		t.Fatalf("%+v", all)
	}
	two := verdictsOf(all[0])
	for figure, want := range map[v1alpha1.FigureName]v1alpha1.FigureVerdict{
		v1alpha1.FigureThroughput: v1alpha1.FigureTargetBetter, v1alpha1.FigureIOPS: v1alpha1.FigureTargetBetter,
		v1alpha1.FigureMeanLatency: v1alpha1.FigureTargetBetter, v1alpha1.FigureP99Latency: v1alpha1.FigureNotJudged,
		v1alpha1.FigureCompressionRatio: v1alpha1.FigureTargetBetter,
	} {
		if two[figure] != want {
			t.Errorf("%s: %s, want %s", figure, two[figure], want)
		}
	}
	if len(all[0].Figures) != 8 || len(all[0].Notes) > 0 {
		t.Errorf("%d figures, notes %q", len(all[0].Figures), all[0].Notes)
	}
	if three := verdictsOf(all[1]); three[v1alpha1.FigureThroughput] != v1alpha1.FigureNoDifference {
		t.Errorf("1 %% with intervals of 1 %%: %s", three[v1alpha1.FigureThroughput])
	}
	if again := compare.Targets(nil, phase); verdictsOf(again[0])[v1alpha1.FigureMeanLatency] != v1alpha1.FigureNotJudged {
		t.Error("the mean latency of an unknown load is judged")
	}
}

// TestMeanLatencyOfOpenLoads checks that mean latency is not judged for loads that are not a closed loop, because only
// a closed loop ties the latency to the rate.
func TestMeanLatencyOfOpenLoads(t *testing.T) {
	iops := int64(100)
	for name, change := range map[string]func(*v1alpha1.FioProfile){
		"a rate":     func(p *v1alpha1.FioProfile) { p.RateLimit = &v1alpha1.FioRateLimit{IOPS: &iops} },
		"pauses":     func(p *v1alpha1.FioProfile) { p.Options = map[string]v1alpha1.FioOptionValue{"thinktime": "1ms"} },
		"a job file": func(p *v1alpha1.FioProfile) { p.JobFile = "[a]\nrw=read" },
	} {
		phase := &v1alpha1.PhaseResult{Name: "write", Kind: v1alpha1.PhaseSteady, Targets: []v1alpha1.TargetResult{steady("one", 1_000_000, 1000), steady("two", 2_000_000, 1000)}}
		got := verdictsOf(compare.Targets(runOf(v1alpha1.PhaseParallel, change), phase)[0])
		if got[v1alpha1.FigureMeanLatency] != v1alpha1.FigureNotJudged || got[v1alpha1.FigureThroughput] != v1alpha1.FigureTargetBetter {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestMeanLatencyOfAMix checks that the mean write latency of a mixed load is not judged. Reads and writes share the
// clients, so the rates do not determine the latency of the writes.
func TestMeanLatencyOfAMix(t *testing.T) {
	mixed, plain := steady("mixed", 1_000_000, 1000), steady("plain", 2_000_000, 1000)
	read := mixed.Operations[0]
	read.Operation = v1alpha1.OperationRead
	mixed.Operations = append(mixed.Operations, read)
	for _, results := range [][]v1alpha1.TargetResult{{mixed, plain}, {plain, mixed}} {
		phase := &v1alpha1.PhaseResult{Name: "write", Kind: v1alpha1.PhaseSteady, Targets: results}
		got := verdictsOf(compare.Targets(runOf(v1alpha1.PhaseParallel, unchanged), phase)[0])
		latency, rate := got[v1alpha1.FigureMeanLatency], got[v1alpha1.FigureThroughput]
		if latency != v1alpha1.FigureNotJudged || rate == v1alpha1.FigureNotJudged {
			t.Errorf("%s first: %v", results[0].Target, got)
		}
	}
}

func TestNotCompared(t *testing.T) {
	shared := v1alpha1.NewWarning(v1alpha1.WarningSharedClientNode, v1alpha1.PhaseSteady, "")
	wrong := v1alpha1.NewWarning(v1alpha1.WarningUnwrittenDataRead, v1alpha1.PhaseSteady, "")
	for name, test := range map[string]struct {
		kind   v1alpha1.PhaseKind
		change func(*v1alpha1.TargetResult)
		says   string
	}{
		"shared":             {v1alpha1.PhaseSteady, func(r *v1alpha1.TargetResult) { r.Warnings = []v1alpha1.Warning{shared} }, "SharedClientNode"},
		"shared sweep":       {v1alpha1.PhaseSweep, func(r *v1alpha1.TargetResult) { r.Warnings = []v1alpha1.Warning{shared} }, "Sequential"},
		"disqualified":       {v1alpha1.PhaseSteady, func(r *v1alpha1.TargetResult) { r.Warnings = []v1alpha1.Warning{wrong} }, "UnwrittenDataRead"},
		"disqualified sweep": {v1alpha1.PhaseSweep, func(r *v1alpha1.TargetResult) { r.Warnings = []v1alpha1.Warning{wrong} }, ""},
		"no client":          {v1alpha1.PhaseSteady, func(r *v1alpha1.TargetResult) { r.Clients = 0 }, "no result"},
		"shared layout":      {v1alpha1.PhasePrepare, func(r *v1alpha1.TargetResult) { r.Warnings = []v1alpha1.Warning{shared} }, ""},
	} {
		one, two := steady("one", 1_000_000, 1000), steady("two", 2_000_000, 1000)
		test.change(&two)
		for _, swapped := range []bool{false, true} {
			pair := compare.Pair{Kind: test.kind, Baseline: &one, Target: &two}
			if swapped {
				pair.Baseline, pair.Target = &two, &one
			}
			got := pair.Compare()
			if (got.Invalid == "") != (test.says == "") || !strings.Contains(got.Invalid, test.says) || got.Invalid != "" && (len(got.Figures) > 0 || got.Cells != nil) {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}

// TestNotes checks that notes mention targets measured one after the other, different workloads and different numbers
// of clients.
func TestNotes(t *testing.T) {
	run := runOf(v1alpha1.PhaseSequential, unchanged)
	run.Phases[0].TargetWorkloads = []v1alpha1.TargetWorkload{{Target: "two", Workload: *run.Workload}}
	two := steady("two", 2_000_000, 1000)
	two.Clients = 3
	phase := &v1alpha1.PhaseResult{Name: "write", Kind: v1alpha1.PhaseSteady, Targets: []v1alpha1.TargetResult{steady("one", 1_000_000, 1000), two}}
	notes := strings.Join(compare.Targets(run, phase)[0].Notes, "; ")
	for _, want := range []string{"different workloads", "one after the other", "one had 1 client, two had 3"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q does not say %q", notes, want)
		}
	}
}

func cell(index int32, repeatDeviation int64, rates ...int64) v1alpha1.StepResult {
	made := v1alpha1.StepResult{Cell: index}
	if repeatDeviation > 0 {
		made.DriftPermille = &repeatDeviation
	}
	for i, rate := range rates {
		made.Operations = append(made.Operations, v1alpha1.StepOperation{Operation: []v1alpha1.Operation{v1alpha1.OperationRead, v1alpha1.OperationWrite}[i],
			BytesPerSecond: rate, IOPSMilli: rate, RateErrorPPM: new(int64(20_000)), MeanNanoseconds: 1e15 / max(rate, 1)})
	}
	return made
}

func TestCells(t *testing.T) {
	invalid := cell(5, 0, 100_000)
	invalid.Warnings = []v1alpha1.WarningType{v1alpha1.WarningUnwrittenDataRead}
	alone := cell(4, 0, 100_000)
	alone.Operations[0].RateErrorPPM = nil
	one := v1alpha1.TargetResult{Target: "one", Steps: []v1alpha1.StepResult{cell(0, 0, 100_000), cell(1, 0, 100_000), cell(2, 0, 100_000), cell(3, 0, 50_000, 50_000), alone, invalid, cell(6, 0, 1)}}
	two := v1alpha1.TargetResult{Target: "two", Steps: []v1alpha1.StepResult{cell(0, 0, 110_000), cell(1, 0, 90_000), cell(2, 0, 102_000), cell(3, 0, 50_000, 60_000), cell(4, 0, 200_000), cell(5, 0, 200_000)}}
	count := func() v1alpha1.CellComparison {
		pair := compare.Pair{Kind: v1alpha1.PhaseSweep, Baseline: &one, Target: &two}
		return *pair.Compare().Cells
	}
	if got, want := count(), (v1alpha1.CellComparison{Compared: 5, TargetBetter: 2, BaselineBetter: 1, NoDifference: 1, NotJudged: 1, Omitted: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	// The second target lost one of its clients before the first cell.
	all := two.Steps
	two.Steps = slices.Clone(all)
	one.Steps[0].Clients, two.Steps[0].Clients = 4, 3
	two.Steps[0].Warnings = []v1alpha1.WarningType{v1alpha1.WarningClientsMissing}
	if got, want := count(), (v1alpha1.CellComparison{Compared: 4, TargetBetter: 1, BaselineBetter: 1, NoDifference: 1, NotJudged: 1, Omitted: 3}); got != want {
		t.Errorf("without a lost client: %+v, want %+v", got, want)
	}
	// The repetition of a cell deviated by 15 % from its first measurement, so smaller differences do not count.
	two.Steps = slices.Clone(all)
	two.Steps[0] = cell(0, 150, 110_000)
	if got := count(); got.TargetBetter != 0 || got.BaselineBetter != 0 || got.NoDifference != 4 {
		t.Errorf("with drift: %+v", got)
	}
}

// TestUncountedCells checks that cells without operation counts are compared by their bytes only.
func TestUncountedCells(t *testing.T) {
	one, two := cell(0, 0, 100_000), cell(0, 0, 100_000)
	one.Operations[0].IOPSMilli, two.Operations[0].IOPSMilli = 0, 0
	pair := compare.Pair{Kind: v1alpha1.PhaseRamp, Baseline: &v1alpha1.TargetResult{}, Target: &v1alpha1.TargetResult{}}
	if d, ok := pair.CellIOPS(&one, &two); ok {
		t.Errorf("operations per second: %+v", d)
	}
	if d, ok := pair.CellRate(&one, &two); !ok || d.Verdict != compare.NoDifference {
		t.Errorf("rate: %+v, %t", d, ok)
	}
}

// TestDrains checks that drains are compared by their levels, in the dimension that ran out on both targets.
func TestDrains(t *testing.T) {
	drain := func(target, dimension string, burst, baseline int64) v1alpha1.TargetResult {
		level := func(v int64) *v1alpha1.Estimate {
			return &v1alpha1.Estimate{Value: v, Lower: new(v - v/100), Upper: new(v + v/100)}
		}
		series := func(factor int64) *v1alpha1.BurstSeries {
			return &v1alpha1.BurstSeries{Burst: level(burst * factor), Sustained: level(burst * factor), Peak: level(burst * factor), Baseline: level(baseline * factor)}
		}
		return v1alpha1.TargetResult{Target: target, Clients: 1, Burst: &v1alpha1.BurstResult{Exhausted: true, Dimension: dimension, Bytes: series(1), Operations: series(2),
			NanosecondsToBaseline: level(60e9)}}
	}
	for _, test := range []struct {
		dimensions [2]string
		operation  string
		factor     int64
	}{{[2]string{"Bytes", "Bytes"}, "", 1}, {[2]string{"Operations", "Operations"}, "operations", 2}, {[2]string{"Operations", "Unknown"}, "", 1}} {
		one, two := drain("one", test.dimensions[0], 1000, 100), drain("two", test.dimensions[1], 1000, 200)
		got := (&compare.Pair{Kind: v1alpha1.PhaseBurstDrain, Baseline: &one, Target: &two}).Compare()
		verdicts := verdictsOf(got)
		if len(verdicts) != 3 || verdicts[v1alpha1.FigureBurst] != v1alpha1.FigureNoDifference || verdicts[v1alpha1.FigureBaseline] != v1alpha1.FigureTargetBetter ||
			verdicts[v1alpha1.FigureTimeToBaseline] != v1alpha1.FigureNoDifference || got.Figures[0].Operation != test.operation || got.Figures[0].Baseline != 1000*test.factor {
			t.Errorf("%v: %+v", test.dimensions, got.Figures)
		}
	}
}
