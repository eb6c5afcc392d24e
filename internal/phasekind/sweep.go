package phasekind

import (
	"fmt"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// sweep runs every combination of its axes.
var sweep = Kind{
	Label:   "sweep",
	Limited: true,
	Regime:  func(phase *v1alpha1.Phase) v1alpha1.Regime { return phase.Sweep.Regime },
	Block:   "Sweeps",
	Cell:    "cell",
	figures: best,
	// Cells records the number of cells, because means over different numbers of cells are not comparable.
	overall: func(result *v1alpha1.TargetResult) Overall {
		rates, unit := make([]float64, len(result.Steps)), v1alpha1.UnitBytesPerSecond
		for i := range result.Steps {
			rates[i], unit = moved(result.Steps[i].Operations)
		}
		made := meanOf("mean rate", unit, rates)
		made.Cells = len(rates)
		return made
	},
	differs: func(a, b *v1alpha1.Phase) string {
		one, other := axesText(&a.Sweep.Axes), axesText(&b.Sweep.Axes)
		if one == other {
			return ""
		}
		return fmt.Sprintf("the sweeps have different axes: %s and %s", one, other)
	},
}

func axesText(a *v1alpha1.SweepAxes) string {
	sizes := make([]string, len(a.BlockSize))
	for i := range a.BlockSize {
		sizes[i] = a.BlockSize[i].String()
	}
	return fmt.Sprintf("clients %v, jobs %v, queue depth %v, block size %v, %% reads %v",
		a.Clients, a.Jobs, a.QueueDepth, sizes, a.ReadPercent)
}
