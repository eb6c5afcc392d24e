package record

import (
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

func TestSharedNodes(t *testing.T) {
	on := func(target string, index int, machine string) result.Client {
		return result.Client{Target: target, Index: index, Machine: machine}
	}
	both := []string{"a", "b"}
	for name, test := range map[string]struct {
		step    plan.Step
		clients []result.Client
		want    map[string]int
	}{
		"apart":               {plan.Step{Purpose: plan.Measure, Targets: both}, []result.Client{on("a", 0, "x"), on("a", 1, "x"), on("b", 0, "y")}, nil},
		"one of two":          {plan.Step{Purpose: plan.Measure, Targets: both}, []result.Client{on("a", 0, "x"), on("a", 1, "y"), on("b", 0, "y")}, map[string]int{"a": 1, "b": 1}},
		"all":                 {plan.Step{Purpose: plan.Drain, Targets: both}, []result.Client{on("a", 0, "x"), on("a", 1, "x"), on("b", 0, "x")}, map[string]int{"a": 2, "b": 1}},
		"not known":           {plan.Step{Purpose: plan.Measure, Targets: both}, []result.Client{on("a", 0, ""), on("b", 0, "")}, nil},
		"one after the other": {plan.Step{Purpose: plan.Measure, Targets: []string{"a"}}, []result.Client{on("a", 0, "x"), on("b", 0, "x")}, nil},
		"idle":                {plan.Step{Purpose: plan.Idle, Targets: both}, []result.Client{on("a", 0, "x"), on("b", 0, "x")}, nil},
		"not of the step":     {plan.Step{Purpose: plan.Measure, Targets: both}, []result.Client{on("a", 0, "x"), on("b", 0, "y"), on("c", 0, "x")}, nil},
	} {
		got := sharedNodes(test.step, test.clients)
		if len(got) != len(test.want) {
			t.Errorf("%s: %v", name, got)
		}
		for target, count := range test.want {
			remarks := got[target]
			if len(remarks) != count || remarks[0].Warning != v1alpha1.WarningSharedClientNode || remarks[0].Message != remarks[count-1].Message {
				t.Errorf("%s, %s: %+v", name, target, remarks)
			}
		}
	}
}

// compared returns the figures that compare two targets with the given operations.
func compared(t *testing.T, kind v1alpha1.PhaseKind, operations ...v1alpha1.Operation) []v1alpha1.FigureComparison {
	t.Helper()
	target := func(name string) v1alpha1.TargetResult {
		made := v1alpha1.TargetResult{Target: name, Clients: 1}
		made.Usage = &v1alpha1.UsageResult{CompressionRatioMilli: new(int64(2000))}
		for _, operation := range operations {
			made.Operations = append(made.Operations, v1alpha1.OperationResult{
				Operation: operation, Bytes: 1 << 30, Operations: 1 << 10,
				BytesPerSecond: new(int64(100e6)), IOPSMilli: new(int64(95_000)),
				Latency: &v1alpha1.LatencyResult{MeanNanoseconds: 10e6, P99Nanoseconds: new(int64(20e6))}})
		}
		return made
	}
	run := &v1alpha1.BenchmarkRun{}
	run.Status.Phases = []v1alpha1.PhaseResult{
		{Name: "load", Kind: kind, Targets: []v1alpha1.TargetResult{target("a"), target("b")}}}
	compareTargets(run, plan.Step{Phase: "load", Kind: kind, Purpose: plan.Measure})
	figures := run.Status.Phases[0].Comparisons[0].Figures
	if len(figures) != maxFigures {
		t.Errorf("%s: %d figures, want %d:\n%+v", kind, len(figures), maxFigures, figures)
	}
	return figures
}

// TestComparisonsFit checks that a comparison with more figures than the API allows keeps the main ones.
func TestComparisonsFit(t *testing.T) {
	mixed := compared(t, v1alpha1.PhaseSteady, v1alpha1.OperationRead, v1alpha1.OperationWrite, v1alpha1.OperationTrim)
	if mixed[3].Figure != v1alpha1.FigureCompressionRatio {
		t.Errorf("the fourth figure is not the ratio:\n%+v", mixed)
	}
	phase := v1alpha1.SmallFilesPhase{}
	kept := map[v1alpha1.FigureName]int{}
	for _, figure := range compared(t, v1alpha1.PhaseSmallFiles, phase.OperationsOrDefault()...) {
		kept[figure.Figure]++
	}
	if kept[v1alpha1.FigureIOPS] != 5 || kept[v1alpha1.FigureP99Latency] != 5 ||
		kept[v1alpha1.FigureCompressionRatio] != 1 {
		t.Errorf("small files: %v", kept)
	}
}
