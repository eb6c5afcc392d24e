package phasekind

import (
	"math"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// sweep runs every combination of its axes.
var sweep = Kind{
	Label:   "sweep",
	Block:   "Sweeps",
	Cell:    "cell",
	figures: best,
	// The number of cells is part of the figure, because the mean over fewer cells is a different figure.
	overall: func(result *v1alpha1.TargetResult) Overall {
		if len(result.Steps) == 0 {
			return Overall{}
		}
		made := Overall{What: "mean rate", Unit: v1alpha1.UnitBytesPerSecond, Cells: len(result.Steps)}
		var sum float64
		for i := range result.Steps {
			value, unit := moved(result.Steps[i].Operations)
			sum += math.Log(value)
			made.Unit = unit
		}
		made.Value = math.Exp(sum / float64(len(result.Steps)))
		return made
	},
}
