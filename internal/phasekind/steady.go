package phasekind

import (
	"math"

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
	if result.Mdtest != nil {
		return rates(result.Mdtest) // mdtest does not measure its reads and writes
	}
	var all []Figure
	if c := result.Command; c != nil && !c.CutShort {
		all = append(all, Figure{Name: v1alpha1.FigureDuration, Estimate: v1alpha1.Estimate{Value: c.DurationNanoseconds}, Main: true})
	}
	return append(all, Operations(result)...)
}

// steadyOverall returns the duration of a program, the mean of the rates of mdtest, or the total throughput. If no
// bytes are moved, it returns the operations per second instead.
func steadyOverall(result *v1alpha1.TargetResult) Overall {
	switch {
	case result.Command != nil:
		return overallOf("duration", steadyFigures(result), v1alpha1.FigureDuration)
	case result.Mdtest != nil:
		return meanOfRates(result.Mdtest.Rates)
	}
	var cell []v1alpha1.StepOperation
	for i := range result.Operations {
		o := &result.Operations[i]
		if o.Operation == v1alpha1.OperationSync {
			continue
		}
		if o.IOPSMilli == nil || o.BytesPerSecond == nil {
			return Overall{} // the rate of a part is not the total rate
		}
		cell = append(cell, v1alpha1.StepOperation{BytesPerSecond: *o.BytesPerSecond, IOPSMilli: *o.IOPSMilli})
	}
	value, unit := moved(cell)
	if unit == v1alpha1.UnitBytesPerSecond {
		return Overall{What: "throughput", Value: value, Unit: unit}
	}
	return Overall{What: "operations a second", Value: value, Unit: unit}
}

// meanOfRates returns the geometric mean, which gives each rate the same weight.
func meanOfRates(rates []v1alpha1.MdtestRate) Overall {
	if len(rates) == 0 {
		return Overall{}
	}
	var sum float64
	for i := range rates {
		sum += math.Log(float64(rates[i].MeanOPSMilli))
	}
	return Overall{What: "mean of the rates", Value: math.Exp(sum / float64(len(rates))), Unit: v1alpha1.UnitIOPSMilli}
}
