package phasekind

import "github.com/storagebench/storagebench/api/v1alpha1"

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
	overall: func(result *v1alpha1.TargetResult) Overall {
		var rates []float64
		for i := range result.Operations {
			if rate := result.Operations[i].IOPSMilli; rate != nil && *rate > 0 {
				rates = append(rates, float64(*rate))
			}
		}
		return meanOf("mean rate", v1alpha1.UnitIOPSMilli, rates)
	},
}
