package phasekind

import (
	"iter"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// steady measures one load for a fixed time, or until a program ends.
var steady = Kind{
	Label:   "steady",
	Limited: true,
	figures: steadyFigures,
	overall: steadyOverall,
}

func steadyFigures(result *v1alpha1.TargetResult) []Figure {
	if own := result.OwnRates(); own != nil {
		return rates(own)
	}
	var all []Figure
	if c := result.Command; c != nil && !c.CutShort {
		all = append(all, Figure{Name: v1alpha1.FigureDuration, Estimate: v1alpha1.Estimate{Value: c.DurationNanoseconds}, Main: true})
	}
	return append(all, Operations(result)...)
}

// steadyOverall returns the mean of the rates that the tool reports itself, if there are any; otherwise, the duration
// of a program; otherwise, the total throughput or, if no bytes are moved, the total operations per second.
func steadyOverall(result *v1alpha1.TargetResult) Overall {
	if own := result.OwnRates(); own != nil {
		return meanOfRates(own)
	}
	if result.Command != nil {
		return overallOf("duration", steadyFigures(result), v1alpha1.FigureDuration)
	}
	var cell []v1alpha1.StepOperation
	for i := range result.Operations {
		o := &result.Operations[i]
		if o.Operation == v1alpha1.OperationSync {
			continue
		}
		if o.IOPSMilli == nil || o.BytesPerSecond == nil {
			return Overall{} // the total is unknown if the rate of any operation is missing
		}
		cell = append(cell, v1alpha1.StepOperation{BytesPerSecond: *o.BytesPerSecond, IOPSMilli: *o.IOPSMilli})
	}
	value, unit := moved(cell)
	if unit == v1alpha1.UnitBytesPerSecond {
		return Overall{What: "throughput", Value: value, Unit: unit}
	}
	return Overall{What: "operations a second", Value: value, Unit: unit}
}

// meanOfRates returns the mean of the rates that the tool reports itself.
func meanOfRates(rates iter.Seq2[string, int64]) Overall {
	var all []float64
	for _, milli := range rates {
		all = append(all, float64(milli))
	}
	return meanOf("mean of the rates", v1alpha1.UnitIOPSMilli, all)
}
