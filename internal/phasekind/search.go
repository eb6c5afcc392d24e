package phasekind

import "github.com/storagebench/storagebench/api/v1alpha1"

// search finds the highest rate that meets an objective. Its figures are those measured at that rate.
var search = Kind{
	Label:      "search",
	Limited:    true,
	PicksRates: true,
	Block:      "Searches",
	OwnTables:  true,
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
	differs: func(a, b *v1alpha1.Phase) string {
		if a.Search.Objective == b.Search.Objective && a.Search.Regime == b.Search.Regime {
			return ""
		}
		return "their searches have different objectives or regimes"
	},
}

// Trial is one rate that a search tried.
type Trial struct {
	Offered int64
	// Achieved is the rate of completed operations in thousandths.
	Achieved v1alpha1.Estimate
	// SlowerPPM is the share of operations above the latency of the objective, in millionths; nil if unknown.
	SlowerPPM *int64
	// Confirms is true for a step that confirms the highest rate. Chosen is true if the step's rate is the result.
	Confirms, Chosen bool
	Operations       []v1alpha1.StepOperation
	Disqualified     bool
}

// Trials returns the rates that a search tried, in order, or nil for other results.
func Trials(result *v1alpha1.TargetResult) []Trial {
	var all []Trial
	for i := range result.Steps {
		step := &result.Steps[i]
		if step.OfferedIOPS == nil {
			continue
		}
		made := Trial{Offered: *step.OfferedIOPS, SlowerPPM: step.SlowerPPM, Confirms: step.Confirms != nil && *step.Confirms,
			Operations: step.Operations, Disqualified: step.Disqualified()}
		_, made.Achieved, _ = Total(step.Operations)
		made.Chosen = result.Search != nil && result.Search.Found && result.Search.OfferedIOPS != nil && *result.Search.OfferedIOPS == made.Offered
		all = append(all, made)
	}
	return all
}
