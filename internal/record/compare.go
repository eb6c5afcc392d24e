package record

import (
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/compare"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// sharedNodes returns remarks, by target, about clients that shared a machine with clients of another target in a step
// that loaded both targets. The results of such clients do not depend on their own storage alone. A client that does
// not report its machine is assumed to be alone on it.
func sharedNodes(planned plan.Step, clients []result.Client) map[string][]result.Remark {
	if planned.Purpose == plan.Idle || len(planned.Targets) < 2 {
		return nil
	}
	remarks := map[string][]result.Remark{}
	others := map[string][]string{}
	for _, one := range clients {
		if one.Machine == "" || !slices.Contains(planned.Targets, one.Target) {
			continue
		}
		shares := false
		for _, other := range clients {
			if other.Machine != one.Machine || other.Target == one.Target || !slices.Contains(planned.Targets, other.Target) {
				continue
			}
			shares = true
			if !slices.Contains(others[one.Target], other.Target) {
				others[one.Target] = append(others[one.Target], other.Target)
			}
		}
		if shares {
			remarks[one.Target] = append(remarks[one.Target], result.Remark{Warning: v1alpha1.WarningSharedClientNode, Client: one.Index})
		}
	}
	for target := range remarks {
		slices.Sort(others[target])
		for i := range remarks[target] {
			// Use the same message for all clients of a target, to report it only once.
			remarks[target][i].Message = "shared a machine with clients of " + strings.Join(others[target], ", ") +
				" that were running at the same time: they competed for CPU, memory and network, so the targets are not compared"
		}
	}
	return remarks
}

// compareTargets records the comparison of a phase's targets in the phase's result. For an interference phase without
// aggressors, it also records how evenly the victims shared the storage.
func compareTargets(run *v1alpha1.BenchmarkRun, planned plan.Step) {
	if planned.Purpose == plan.Idle && planned.Kind != v1alpha1.PhaseCooldown {
		return
	}
	phase := phaseResult(run, planned)
	phase.Comparisons, phase.Fairness = compare.Targets(&run.Spec.Run, phase), compare.Fairness(&run.Spec.Run, phase)
	for i := range phase.Comparisons {
		limitFigures(phase, &phase.Comparisons[i])
	}
}

// maxFigures is the API's limit on the number of figures of a comparison. No phase has more main figures.
const maxFigures = 12

// limitFigures drops the last figures of a comparison that has more than the API allows. It first moves the main
// figures to the front, to keep them.
func limitFigures(phase *v1alpha1.PhaseResult, comparison *v1alpha1.TargetComparison) {
	if len(comparison.Figures) <= maxFigures {
		return
	}
	known := phasekind.Of(phase.Kind).Figures(&phase.Targets[0])
	var main, other []v1alpha1.FigureComparison
	for _, one := range comparison.Figures {
		if figure := phasekind.Find(known, one.Figure, one.Operation); figure != nil && figure.Main {
			main = append(main, one)
		} else {
			other = append(other, one)
		}
	}
	comparison.Figures = slices.Concat(main, other)[:maxFigures]
}

// dropComparisons keeps only the first two figures of each comparison, and drops its notes. The dropped figures and
// notes can be recomputed from the results.
func dropComparisons(status *v1alpha1.BenchmarkRunStatus) {
	for i := range status.Phases {
		for j := range status.Phases[i].Comparisons {
			comparison := &status.Phases[i].Comparisons[j]
			comparison.Figures = comparison.Figures[:min(len(comparison.Figures), 2)]
			comparison.Notes = nil
		}
	}
}
