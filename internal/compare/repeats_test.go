package compare_test

import (
	"math"
	"slices"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
)

// ofOneRun returns a run that lays out data and then writes at the given rate. A p99 of 0 means that the latency is
// unknown.
func ofOneRun(bytesPerSecond, p99 int64) []v1alpha1.PhaseResult {
	writes := v1alpha1.OperationResult{Operation: v1alpha1.OperationWrite, Bytes: 1 << 30, Operations: 1 << 10, BytesPerSecond: &bytesPerSecond,
		Latency: &v1alpha1.LatencyResult{MeanNanoseconds: 1000}}
	if p99 > 0 {
		writes.Latency.P99Nanoseconds = &p99
	}
	target := []v1alpha1.TargetResult{{Target: "data", Clients: 1, Operations: []v1alpha1.OperationResult{writes}}}
	return []v1alpha1.PhaseResult{{Name: "layout", Kind: v1alpha1.PhasePrepare, Targets: target}, {Name: "write", Kind: v1alpha1.PhaseSteady, Targets: target}}
}

// TestRepeats checks the interval over repeated runs against figures computed by hand: the standard deviation of 98,
// 100 and 102 is 2, and Student's t with two degrees of freedom is 4.3027, so the interval is 100 ± 4.3027 * 2 /
// sqrt(3).
func TestRepeats(t *testing.T) {
	all := compare.Repeats([][]v1alpha1.PhaseResult{ofOneRun(98, 5000), ofOneRun(100, 0), ofOneRun(102, 7000)})
	var names []v1alpha1.FigureName
	for _, one := range all {
		if one.Phase != "write" || one.Target != "data" || one.Operation != "Write" {
			t.Errorf("a figure of phase %s, target %s, operation %s", one.Phase, one.Target, one.Operation)
		}
		names = append(names, one.Figure)
	}
	if want := []v1alpha1.FigureName{v1alpha1.FigureThroughput, v1alpha1.FigureMeanLatency, v1alpha1.FigureP99Latency}; !slices.Equal(names, want) {
		t.Fatalf("the figures are %v, want %v", names, want)
	}
	near := func(what string, got *float64, want float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > 1e-3 {
			t.Errorf("%s is %v, want %g", what, got, want)
		}
	}
	rate := all[0]
	if rate.Mean != 100 || rate.Minimum != 98 || rate.Maximum != 102 || rate.Unit != v1alpha1.UnitBytesPerSecond || len(rate.Values) != 3 {
		t.Errorf("the rate is %+v", rate)
	}
	near("the deviation", rate.StandardDeviation, 2)
	near("the coefficient of variation", rate.CoefficientOfVariation, 0.02)
	near("the lower end", rate.Lower, 100-4.30265*2/math.Sqrt(3))
	near("the upper end", rate.Upper, 100+4.30265*2/math.Sqrt(3))
	// A run without the figure is left out, not counted as 0.
	if p99 := all[2]; p99.Mean != 6000 || !slices.Equal(p99.Values, []int64{5000, 7000}) {
		t.Errorf("the p99 latency is %+v", p99)
	}
}

// A result that lacks clients is not a repetition, because fewer clients generate a different load.
func TestRepeatsWithoutMissingClients(t *testing.T) {
	degraded := ofOneRun(50, 9000)
	degraded[1].Targets[0].Warnings = []v1alpha1.Warning{{Type: v1alpha1.WarningClientsMissing}}
	all := compare.Repeats([][]v1alpha1.PhaseResult{ofOneRun(98, 5000), degraded, ofOneRun(102, 7000)})
	for i, want := range [][]int64{{98, 102}, {1000, 1000}, {5000, 7000}} {
		if len(all) != 3 || !slices.Equal(all[i].Values, want) {
			t.Errorf("the figures are %+v, want values %d", all, want)
			break
		}
	}
}

// TestOneRunHasNoVariance checks that a single run has neither a standard deviation nor an interval.
func TestOneRunHasNoVariance(t *testing.T) {
	for _, one := range compare.Repeats([][]v1alpha1.PhaseResult{ofOneRun(100, 5000)}) {
		if one.StandardDeviation != nil || one.CoefficientOfVariation != nil || one.Lower != nil || one.Upper != nil {
			t.Errorf("of one run: %+v", one)
		}
	}
	if all := compare.Repeats(nil); len(all) > 0 {
		t.Errorf("of no run: %+v", all)
	}
}
