package phasekind

import "github.com/storagebench/storagebench/api/v1alpha1"

// cooldown pauses the load. If it measures the refill, it then drains the target again.
var cooldown = Kind{
	Label: "cooldown",
	Block: burstCredits,
	figures: func(result *v1alpha1.TargetResult) []Figure {
		all := Levels(result.Burst)
		for i := range all {
			all[i].Main = all[i].Name == v1alpha1.FigureRefill && all[i].Operation == all[0].Operation
		}
		return all
	},
	overall: func(result *v1alpha1.TargetResult) Overall {
		_, operation := MainSeries(result.Burst)
		refill := Find(Levels(result.Burst), v1alpha1.FigureRefill, operation)
		if refill == nil {
			return Overall{}
		}
		return Overall{What: "refill", Value: float64(refill.Value), Unit: refill.Unit()}
	},
}
