package phasekind

import "github.com/storagebench/storagebench/api/v1alpha1"

// ramp raises one dimension in steps.
var ramp = Kind{
	Label:   "ramp",
	Block:   "Ramps",
	Cell:    "step",
	figures: best,
	overall: func(result *v1alpha1.TargetResult) Overall {
		made := Overall{What: "best rate", Unit: v1alpha1.UnitBytesPerSecond}
		for i := range result.Steps {
			if value, unit := moved(result.Steps[i].Operations); value > made.Value && !result.Steps[i].Disqualified() {
				made.Value, made.Unit = value, unit
			}
		}
		return made
	},
}
