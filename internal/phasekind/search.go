package phasekind

import (
	"fmt"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// search finds the highest rate that meets an objective. Its figures are measured at that rate.
var search = Kind{
	Label:      "search",
	Limited:    true,
	PicksRates: true,
	Regime:     func(phase *v1alpha1.Phase) v1alpha1.Regime { return phase.Search.Regime },
	Block:      "Searches",
	OwnTables:  true,
	Goal: func(phase *v1alpha1.Phase) string {
		wanted := phase.Search.Objective.Latency
		return fmt.Sprintf("the highest rate with %s %% of operations within %s, up to %d operations/s; the rate of each step depends on the steps before it",
			wanted.Percentile, wanted.Max, phase.Search.Rate.Max)
	},
	figures: func(result *v1alpha1.TargetResult) []Figure {
		if result.Search == nil || !result.Search.Found {
			return nil
		}
		all := Operations(result)
		for i := range all {
			all[i].Main = all[i].Operation != string(v1alpha1.OperationSync) &&
				(all[i].Name == v1alpha1.FigureIOPS || all[i].Name == v1alpha1.FigureP99Latency)
		}
		return all
	},
	overall: func(result *v1alpha1.TargetResult) Overall {
		if result.Search == nil || !result.Search.Found || result.Search.AchievedIOPSMilli == nil {
			return Overall{}
		}
		return Overall{What: "highest rate", Value: float64(result.Search.AchievedIOPSMilli.Value), Unit: v1alpha1.UnitIOPSMilli}
	},
	without: func(result *v1alpha1.TargetResult) string {
		if result.Search == nil {
			return "the search has no result"
		}
		return result.Search.Message
	},
	differs: func(a, b *v1alpha1.Phase) string {
		if a.Search.Objective == b.Search.Objective && a.Search.Regime == b.Search.Regime {
			return ""
		}
		return "the searches have different objectives or regimes"
	},
}

// Trials returns, in order, the steps of a search that offered a rate. It returns nil if the phase is not a search.
func Trials(result *v1alpha1.TargetResult) []*v1alpha1.StepResult {
	var all []*v1alpha1.StepResult
	for i := range result.Steps {
		if step := &result.Steps[i]; step.OfferedIOPS != nil {
			all = append(all, step)
		}
	}
	return all
}
