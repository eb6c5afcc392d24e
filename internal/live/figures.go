package live

import (
	"fmt"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
)

// figuresOf are the main figures of a phase, in words.
func figuresOf(run *v1alpha1.BenchmarkRun, spec *v1alpha1.Phase) []string {
	var words []string
	for _, phase := range run.Status.Phases {
		if phase.Name != spec.Name {
			continue
		}
		for i := range phase.Targets {
			target := &phase.Targets[i]
			for _, word := range targetFigures(target, spec.Kind()) {
				if len(phase.Targets) > 1 {
					word = target.Target + " " + word
				}
				words = append(words, word)
			}
		}
	}
	return words
}

// targetFigures are what most people look at first: of a ramp or a sweep nothing, because no one cell is all of it.
func targetFigures(target *v1alpha1.TargetResult, kind v1alpha1.PhaseKind) []string {
	if target.Mdtest != nil {
		return metadataRates(target.Mdtest)
	}
	if burst := target.Burst; burst != nil && burst.Bytes != nil && burst.Bytes.Burst != nil && burst.Bytes.Baseline != nil {
		return []string{fmt.Sprintf("%s, then %s", rate(burst.Bytes.Burst.Value), rate(burst.Bytes.Baseline.Value))}
	}
	if kind == v1alpha1.PhaseRamp || kind == v1alpha1.PhaseSweep {
		return nil
	}
	var words []string
	for _, operation := range target.Operations {
		if operation.BytesPerSecond != nil && *operation.BytesPerSecond > 0 {
			words = append(words, string(operation.Operation)+" "+rate(*operation.BytesPerSecond))
		}
	}
	return words
}

func rate(bytesPerSecond int64) string { return measure.FormatBytesPerSecond(float64(bytesPerSecond)) }

// metadataRates are those of mdtest that most people look at first.
func metadataRates(mdtest *v1alpha1.MdtestResult) []string {
	var rates []string
	for _, rate := range mdtest.Rates {
		if rate.Operation == "File creation" || rate.Operation == "File stat" {
			rates = append(rates, fmt.Sprintf("%s %s/s", rate.Operation,
				strings.TrimSuffix(measure.FormatOperationsPerSecond(float64(rate.MeanOPSMilli)/1000), " IOPS")))
		}
	}
	return rates
}

// stepFigures are what one step has measured on each target, an operation each.
func stepFigures(run *v1alpha1.BenchmarkRun, step *plan.Step) []string {
	var words []string
	for _, phase := range run.Status.Phases {
		if phase.Name != step.Phase {
			continue
		}
		for i := range phase.Targets {
			target := &phase.Targets[i]
			for _, operation := range cellOperations(target, step) {
				if operation.BytesPerSecond > 0 {
					words = append(words, string(operation.Operation)+" "+rate(operation.BytesPerSecond))
				}
			}
			if step.Purpose != plan.Precondition && step.Purpose != plan.Idle {
				words = append(words, targetFigures(target, step.Kind)...)
			}
		}
	}
	return words
}

// cellOperations are the figures of the step's cell. Of one that is measured again the first ones are kept.
func cellOperations(target *v1alpha1.TargetResult, step *plan.Step) []v1alpha1.StepOperation {
	for _, cell := range target.Steps {
		if int(cell.Cell) == step.Cell && !step.Repeat {
			return cell.Operations
		}
	}
	return nil
}
