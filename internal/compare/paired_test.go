package compare_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
)

// TestPaired checks a comparison against figures computed by hand. The logarithms of the ratios are -0.5, -0.7, -0.5
// and -0.7 in one order, and -0.4, -0.6, -0.4 and -0.6 in the other. Their means are -0.6 and -0.5, so the ratio is
// exp(-0.55). The squared deviations within the orders add up to 0.08 with 6 degrees of freedom, for which Student's t
// is 2.4469. The interval of the logarithm is therefore ± 2.4469 * sqrt(0.08 / 6 * (1/4 + 1/4)) / 2 = 0.09990.
func TestPaired(t *testing.T) {
	var blocks []compare.Block
	for i, log := range []float64{-0.5, -0.4, -0.7, -0.6, -0.5, -0.4, -0.7, -0.6} {
		blocks = append(blocks, compare.Block{Baseline: 100, Other: 100 * math.Exp(log), Reversed: i%2 == 1})
	}
	blocks = append(blocks, compare.Block{Baseline: 100}) // not measured on both targets
	got, ok := compare.Paired(blocks)
	if !ok || !got.Known {
		t.Fatalf("%+v", got)
	}
	for name, one := range map[string]struct{ got, want float64 }{
		"ratio": {got.Value, math.Exp(-0.55)}, "lower": {got.Lower, math.Exp(-0.55 - 0.0999)}, "upper": {got.Upper, math.Exp(-0.55 + 0.0999)},
	} {
		if math.Abs(one.got-one.want) > 1e-4 {
			t.Errorf("%s is %g, want %g", name, one.got, one.want)
		}
	}
	if got, ok = compare.Paired(blocks[:2]); !ok || got.Known {
		t.Errorf("two blocks have an interval: %+v", got)
	}
	if _, ok = compare.Paired(blocks[8:]); ok {
		t.Error("a block without a figure has a ratio")
	}
}

// TestPairedDrift checks that a drift by the same factor from block to block changes neither the ratio nor its interval
// if the order alternates.
func TestPairedDrift(t *testing.T) {
	blocksOf := func(drift float64) []compare.Block {
		var blocks []compare.Block
		rate, noise := 100.0, rand.New(rand.NewPCG(1, 1))
		for i := range 6 {
			one := compare.Block{Reversed: i%2 == 1}
			figures := [2]*float64{&one.Baseline, &one.Other}
			for j := range figures {
				at := j
				if one.Reversed {
					at = 1 - j
				}
				*figures[at] = rate
				rate *= drift
			}
			one.Other *= 0.58 * math.Exp(0.01*noise.NormFloat64())
			blocks = append(blocks, one)
		}
		return blocks
	}
	still, _ := compare.Paired(blocksOf(1))
	drifts, _ := compare.Paired(blocksOf(0.97))
	for _, off := range []float64{drifts.Value - still.Value, drifts.Lower - still.Lower, drifts.Upper - still.Upper} {
		if math.Abs(off) > 1e-9 {
			t.Errorf("%+v with a drift, %+v without", drifts, still)
		}
	}
}

// TestPairedFalseAlarms checks that at most 5 % of comparisons without a true difference have an interval that excludes
// 1, despite a drift, and that the interval contains a known ratio in 95 %.
func TestPairedFalseAlarms(t *testing.T) {
	const rounds = 20_000
	for _, repetitions := range []int{4, 6, 10} {
		alarms, missed := 0, 0
		for seed := range uint64(rounds) {
			noise := rand.New(rand.NewPCG(seed, 7))
			var blocks, known []compare.Block
			for i := range repetitions {
				drift := 0.01
				if i%2 == 1 {
					drift = -drift
				}
				one := compare.Block{Reversed: i%2 == 1, Baseline: math.Exp(0.03 * noise.NormFloat64()), Other: math.Exp(drift + 0.03*noise.NormFloat64())}
				blocks = append(blocks, one)
				one.Other *= 0.25
				known = append(known, one)
			}
			if got, _ := compare.Paired(blocks); got.Lower > 1 || got.Upper < 1 {
				alarms++
			}
			if got, _ := compare.Paired(known); got.Lower > 0.25 || got.Upper < 0.25 {
				missed++
			}
		}
		// The upper limit is four standard deviations above 5 %.
		if most := 0.05*rounds + 4*math.Sqrt(0.05*0.95*rounds); float64(alarms) > most || float64(missed) > most || alarms < rounds/30 {
			t.Errorf("%d repetitions: %d false alarms and %d missed ratios of %d, at most %.0f", repetitions, alarms, missed, rounds, most)
		}
	}
}

func TestRatioVerdict(t *testing.T) {
	for name, test := range map[string]struct {
		ratio      compare.Value
		better     compare.Direction
		percentile bool
		want       compare.Verdict
	}{
		"no interval":                        {compare.WithoutInterval(0.5), compare.HigherIsBetter, false, compare.NotJudged},
		"an interval around 1":               {compare.Between(0.9, 0.8, 1.1), compare.HigherIsBetter, false, compare.NoDifference},
		"a lower rate":                       {compare.Between(0.9, 0.8, 0.95), compare.HigherIsBetter, false, compare.BaselineBetter},
		"a higher rate":                      {compare.Between(1.1, 1.05, 1.2), compare.HigherIsBetter, false, compare.OtherBetter},
		"a longer latency":                   {compare.Between(1.1, 1.05, 1.2), compare.LowerIsBetter, true, compare.BaselineBetter},
		"a rate within the resolution":       {compare.Between(0.996, 0.995, 0.997), compare.HigherIsBetter, false, compare.NoDifference},
		"a percentile in the next bucket":    {compare.Between(1.015, 1.015, 1.015), compare.LowerIsBetter, true, compare.NoDifference},
		"a rate beyond the resolution":       {compare.Between(0.99, 0.989, 0.991), compare.HigherIsBetter, false, compare.BaselineBetter},
		"a percentile beyond its one bucket": {compare.Between(1.03, 1.03, 1.03), compare.LowerIsBetter, true, compare.BaselineBetter},
	} {
		if got := compare.RatioVerdict(test.ratio, test.better, test.percentile); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestFairness checks Jain's index against values computed by hand: rates of 1, 2 and 3 give 36 / (3 * 14), and equal
// rates give 1. A block with a target that is not valid does not count.
func TestFairness(t *testing.T) {
	names := []string{"a", "b", "c"}
	run := &v1alpha1.RunSpec{Phases: []v1alpha1.Phase{{Name: "equals", Interference: &v1alpha1.InterferencePhase{Victims: names}}}}
	phase := v1alpha1.PhaseResult{Name: "equals", Kind: v1alpha1.PhaseInterference}
	for i, name := range names {
		made := v1alpha1.TargetResult{Target: name}
		for cell, rates := range [][]int64{{1000, 2000, 3000}, {2000, 2000, 2000}, {9, 1, 1}} {
			step := v1alpha1.StepResult{Cell: int32(3 + 4*cell), Neighbours: new(int32(2)), Operations: []v1alpha1.StepOperation{{Operation: v1alpha1.OperationRead, BytesPerSecond: rates[i]}}}
			if cell == 2 && i == 0 {
				step.Warnings = []v1alpha1.WarningType{v1alpha1.WarningClientLost}
			}
			made.Steps = append(made.Steps, step)
		}
		made.Steps = append(made.Steps, v1alpha1.StepResult{Cell: int32(i), Neighbours: new(int32(0)), Operations: []v1alpha1.StepOperation{{BytesPerSecond: 5000}}})
		phase.Targets = append(phase.Targets, made)
	}
	got := compare.Fairness(run, &phase)
	if got == nil || got.JainPPM.Value != 928_571 || got.LeastOfMostPPM.Value != 666_667 || got.JainPPM.Lower == nil || *got.JainPPM.Upper != 1e6 {
		t.Fatalf("%+v", got)
	}
	run.Phases[0].Interference.Victims, run.Phases[0].Interference.Aggressors = names[:2], names[2:]
	if got = compare.Fairness(run, &phase); got != nil {
		t.Errorf("victims and aggressors are no equals: %+v", got)
	}
}
