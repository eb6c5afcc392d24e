package result_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// blocksOf returns a phase that measures "data" four times alone and four times beside "x" and "y".
func blocksOf() *v1alpha1.Phase {
	return &v1alpha1.Phase{Name: "cost", Interference: &v1alpha1.InterferencePhase{Victims: []string{"data"}, Aggressors: []string{"x", "y"},
		Repetitions: new(int32(4)), Regime: v1alpha1.RegimeBaseline, BlockDuration: "1m"}}
}

// taken folds the blocks of a phase: 100 operations per second alone, 40 beside neighbours, and a drift of 1 % per
// block. change may modify the result of a block.
func taken(t *testing.T, phase *v1alpha1.Phase, history result.History, change func(block int, made *v1alpha1.TargetResult)) v1alpha1.TargetResult {
	t.Helper()
	var into v1alpha1.TargetResult
	drift := 1.0
	for block := range 8 {
		beside := block%4 == 1 || block%4 == 2
		step := plan.Step{Phase: phase.Name, Kind: v1alpha1.PhaseInterference, Purpose: plan.Measure, Targets: []string{"data"}, Cell: block}
		rate, slower := 100*drift, uint64(5000)
		if beside {
			step.Targets, rate, slower = []string{"data", "x", "y"}, 40*drift, 20_000
		}
		drift *= 1.01
		made := offered(t, rate, slower)
		made.Operations[0].Latency.P99Nanoseconds = new(int64(2e6))
		if beside {
			made.Operations[0].Latency.P99Nanoseconds = new(int64(8e6))
		}
		if change != nil {
			change(block, &made)
		}
		if block == 7 && into.Interference.Message != "the phase has not ended" {
			t.Errorf("before the last block: %q", into.Interference.Message)
		}
		result.Fold(phase, &into, step, history, made)
		again := *into.DeepCopy()
		result.Fold(phase, &again, step, history, made)
		if diff := cmp.Diff(into, again); diff != "" {
			t.Fatalf("folding block %d again changes the result: %s", block, diff)
		}
	}
	return into
}

func TestInterference(t *testing.T) {
	got := taken(t, blocksOf(), result.History{BucketEmpty: true}, nil)
	if len(got.Interference.Levels) != 2 || len(got.Steps) != 8 {
		t.Fatalf("%+v", got)
	}
	alone, beside := got.Interference.Levels[0], got.Interference.Levels[1]
	if alone.Neighbours != 0 || alone.Blocks != 4 || alone.RateRatioPPM != nil || beside.Neighbours != 2 || beside.Blocks != 4 {
		t.Errorf("%+v, %+v", alone, beside)
	}
	// The drift cancels out. Only the rounding of rates to thousandths remains.
	if r := beside.RateRatioPPM; r.Value < 399_900 || r.Value > 400_100 || *r.Lower < 399_000 || *r.Upper > 401_000 {
		t.Errorf("%+v", r)
	}
	// 2 % of the operations beside neighbours took 8 ms, but only 0.5 % of those alone.
	if o := beside.Operations[0]; *o.P99Nanoseconds < 7.9e6 || *o.P99Nanoseconds > 8.1e6 || *o.P50Nanoseconds > 2.1e6 || o.P99RatioPPM.Value != 4e6 || o.Histogram != nil {
		t.Errorf("%+v", o)
	}
	if o := alone.Operations[0]; *o.P99Nanoseconds > 2.1e6 || o.P99RatioPPM != nil {
		t.Errorf("%+v", o)
	}
	// The figures of the phase combine all blocks beside neighbours.
	if o := got.Operations[0]; o.Operations != 9941 || got.WindowNanoseconds != 240e9 {
		t.Errorf("%d operations in %d ns", o.Operations, got.WindowNanoseconds)
	}
	if want := "2 neighbours cost 60.0 % (60.0 to 60.0 %) of throughput; p99 4.00 times (4.00 to 4.00)"; got.Interference.Message != want {
		t.Errorf("%q, want %q", got.Interference.Message, want)
	}
}

// TestInterferenceOfInvalidBlocks checks that no figure includes an invalid block, and that its repetition has no
// ratio.
func TestInterferenceOfInvalidBlocks(t *testing.T) {
	got := taken(t, blocksOf(), result.History{BucketEmpty: true}, func(block int, made *v1alpha1.TargetResult) {
		if block == 1 {
			made.Operations[0].IOPSMilli, made.Operations[0].BytesPerSecond = new(int64(1)), new(int64(4))
			made.Warnings = []v1alpha1.Warning{v1alpha1.NewWarning(v1alpha1.WarningClientLost, v1alpha1.PhaseInterference, "lost", 0)}
		}
	})
	beside := got.Interference.Levels[1]
	if beside.Blocks != 3 || beside.Operations[0].IOPSMilli < 40_000 || beside.RateRatioPPM.Value < 395_000 || got.WindowNanoseconds != 180e9 {
		t.Errorf("%+v of %+v", beside, beside.RateRatioPPM)
	}
	if len(got.Warnings) != 1 {
		t.Errorf("%+v", got.Warnings)
	}
}

// TestBlockWithoutAnOperation checks that an operation that is absent from a block counts with a rate of 0 in it, in
// the first block beside neighbours and in later ones.
func TestBlockWithoutAnOperation(t *testing.T) {
	for _, without := range []int{1, 2} {
		got := taken(t, blocksOf(), result.History{BucketEmpty: true}, func(block int, made *v1alpha1.TargetResult) {
			if block != without {
				made.Operations = append(made.Operations, v1alpha1.OperationResult{Operation: v1alpha1.OperationWrite,
					Operations: 6, Bytes: 6 << 20, IOPSMilli: new(int64(100)), BytesPerSecond: new(int64(100_000))})
			}
		})
		whole, beside := got.Operations[1], got.Interference.Levels[1].Operations[1]
		if whole.Operations != 18 || *whole.IOPSMilli != 75 || *whole.BytesPerSecond != 75_000 {
			t.Errorf("without in block %d: %d operations, %d milli-IOPS, %d bytes per second",
				without, whole.Operations, *whole.IOPSMilli, *whole.BytesPerSecond)
		}
		if beside.IOPSMilli != 75 || beside.BytesPerSecond != 75_000 {
			t.Errorf("without in block %d: %+v beside neighbours", without, beside)
		}
	}
}

// TestInterferenceWithoutDifference checks that equal figures alone and beside neighbours are reported as no loss.
func TestInterferenceWithoutDifference(t *testing.T) {
	got := taken(t, blocksOf(), result.History{BucketEmpty: true}, func(block int, made *v1alpha1.TargetResult) {
		*made = offered(t, 100+float64(block%3), 5000)
		made.Operations[0].Latency.P99Nanoseconds = new(int64(2e6))
	})
	if message := got.Interference.Message; !strings.HasPrefix(message, "2 neighbours: no throughput loss shown (") || !strings.HasSuffix(message, "no change in p99 shown (1.00 to 1.00 times)") {
		t.Error(message)
	}
}

// TestInterferenceOnCredits checks that the message warns of burst credits that may affect the result.
func TestInterferenceOnCredits(t *testing.T) {
	undrained := blocksOf()
	undrained.Interference.Regime = v1alpha1.RegimeAny
	for name, test := range map[string]struct {
		phase   *v1alpha1.Phase
		drained bool
		want    string
	}{
		"not drained":       {undrained, false, "Burst credits were not drained before, so this result may hold only as long as the credits last"},
		"not spent":         {blocksOf(), false, "The drain did not spend all burst credits, so this result may hold only as long as the credits last"},
		"spent, then saved": {blocksOf(), true, "Burst credits may have come back before 8 of the 8 blocks"},
	} {
		var into v1alpha1.TargetResult
		for block := range 8 {
			step := plan.Step{Phase: "cost", Kind: v1alpha1.PhaseInterference, Purpose: plan.Measure, Targets: []string{"data", "x", "y"}, Cell: block}
			if block%4 == 0 || block%4 == 3 {
				step.Targets = step.Targets[:1]
			}
			result.Fold(test.phase, &into, step, result.History{Drained: test.drained}, offered(t, 100, 5000))
		}
		if got := into; !strings.HasSuffix(got.Interference.Message, test.want) || got.Interference.BlocksWithCredits != 8 {
			t.Errorf("%s: %q", name, got.Interference.Message)
		}
	}
}

// TestInterferenceOfAnAggressor checks that an aggressor has figures, but no interference result.
func TestInterferenceOfAnAggressor(t *testing.T) {
	var into v1alpha1.TargetResult
	made := offered(t, 300, 5000)
	made.Target = "x"
	result.Fold(blocksOf(), &into, plan.Step{Phase: "cost", Kind: v1alpha1.PhaseInterference, Purpose: plan.Measure, Targets: []string{"data", "x", "y"}, Cell: 1}, result.History{}, made)
	if into.Interference != nil || len(into.Steps) != 1 || *into.Steps[0].Neighbours != 2 || *into.Operations[0].IOPSMilli != 300_000 {
		t.Errorf("%+v", into)
	}
}
