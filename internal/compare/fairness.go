package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// Fairness measures how evenly the victims of an interference phase without aggressors share the storage. It uses only
// the blocks in which all victims were loaded and have valid results. It returns nil if there are no such blocks, or if
// the phase is not an interference phase without aggressors.
func Fairness(run *v1alpha1.RunSpec, phase *v1alpha1.PhaseResult) *v1alpha1.FairnessResult {
	blocks := phasekind.BlocksOf(run.Phase(phase.Name))
	equals := blocks.Victims
	if !blocks.Equal || len(equals) < 2 {
		return nil
	}
	rates := map[int32][]float64{}
	for i := range phase.Targets {
		target := &phase.Targets[i]
		if !slices.Contains(equals, target.Target) {
			continue
		}
		for j := range target.Steps {
			if step := &target.Steps[j]; step.Neighbours != nil && *step.Neighbours == blocks.Most && !step.Disqualified() {
				rates[step.Cell] = append(rates[step.Cell], phasekind.CellRate(step.Operations))
			}
		}
	}
	var jain, least []float64
	for _, all := range rates {
		if len(all) == len(equals) && slices.Max(all) > 0 {
			jain, least = append(jain, jainIndex(all)), append(least, slices.Min(all)/slices.Max(all))
		}
	}
	if len(jain) == 0 {
		return nil
	}
	made := &v1alpha1.FairnessResult{JainPPM: meanPPM(jain), LeastOfMostPPM: meanPPM(least)}
	made.Message = fmt.Sprintf("Jain's index of the %d targets is %.3f, and the lowest rate is %.1f %% of the highest", len(equals),
		float64(made.JainPPM.Value)/1e6, float64(made.LeastOfMostPPM.Value)/1e4)
	if least := made.LeastOfMostPPM; least.Lower != nil {
		made.Message += fmt.Sprintf(" (%.1f to %.1f %%)", float64(*least.Lower)/1e4, float64(*least.Upper)/1e4)
	}
	return made
}

// jainIndex returns the fairness index of Jain, Chiu and Hawe (1984): 1 if all n rates are equal, 1/n if only one rate
// is not zero.
func jainIndex(rates []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, rate := range rates {
		sum += rate
		squares += rate * rate
	}
	return sum * sum / (float64(len(rates)) * squares)
}

// meanPPM returns the mean of shares in millionths, with its interval.
func meanPPM(shares []float64) *v1alpha1.Estimate {
	// Sort the shares, so that rounding does not depend on their order.
	slices.Sort(shares)
	mean, squares := 0.0, 0.0
	for _, share := range shares {
		mean += share / float64(len(shares))
	}
	for _, share := range shares {
		squares += (share - mean) * (share - mean)
	}
	value := FromRounds(mean, math.Sqrt(squares/float64(max(1, len(shares)-1))), len(shares))
	made := &v1alpha1.Estimate{Value: ppm(value.Value)}
	if value.Known {
		made.Lower, made.Upper = new(ppm(value.Lower)), new(ppm(min(value.Upper, 1)))
	}
	return made
}

func ppm(share float64) int64 { return int64(math.Round(share * 1e6)) }
