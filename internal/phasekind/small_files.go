package phasekind

import (
	"math"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// smallFiles performs one operation after another on many files. Its figures are files per second, not bytes.
var smallFiles = Kind{
	Label:         "small files",
	OwnOperations: func(phase *v1alpha1.Phase) []v1alpha1.Operation { return phase.SmallFiles.OperationsOrDefault() },
	figures: func(result *v1alpha1.TargetResult) []Figure {
		all := Operations(result)
		for i := range all {
			all[i].Main = all[i].Name == v1alpha1.FigureIOPS || all[i].Name == v1alpha1.FigureP99Latency
		}
		return all
	},
	// The geometric mean gives each operation the same weight.
	overall: func(result *v1alpha1.TargetResult) Overall {
		sum, count := 0.0, 0
		for i := range result.Operations {
			rate := result.Operations[i].IOPSMilli
			if rate == nil || *rate <= 0 {
				continue
			}
			sum += math.Log(float64(*rate))
			count++
		}
		if count == 0 {
			return Overall{}
		}
		return Overall{What: "mean rate", Value: math.Exp(sum / float64(count)), Unit: v1alpha1.UnitIOPSMilli}
	},
}
