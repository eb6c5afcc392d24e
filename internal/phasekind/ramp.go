package phasekind

import (
	"fmt"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// ramp raises one setting of the load, such as the queue depth, in steps.
var ramp = Kind{
	Label:     "ramp",
	Limited:   true,
	Block:     "Ramps",
	OwnTables: true,
	Cell:      "step",
	figures:   best,
	overall: func(result *v1alpha1.TargetResult) Overall {
		made := Overall{What: "best rate", Unit: v1alpha1.UnitBytesPerSecond}
		for i := range result.Steps {
			if value, unit := moved(result.Steps[i].Operations); value > made.Value && !result.Steps[i].Disqualified() {
				made.Value, made.Unit = value, unit
			}
		}
		return made
	},
	differs: func(a, b *v1alpha1.Phase) string {
		one, other := a.Ramp, b.Ramp
		if one.Dimension == other.Dimension && slices.Equal(one.Steps, other.Steps) {
			return ""
		}
		return fmt.Sprintf("the ramps have different steps: %s %v and %s %v",
			one.Dimension, one.Steps, other.Dimension, other.Steps)
	},
}

// DimensionName returns the name of the setting that a ramp raises.
func DimensionName(dimension v1alpha1.RampDimension) string {
	if dimension == v1alpha1.RampQueueDepth {
		return "queue depth"
	}
	return strings.ToLower(string(dimension))
}
