package compare

import (
	"math"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/phasekind"
)

// RepeatedFigure is one figure of several runs of the same specification, and its variation between them. Values are in
// the unit that the API uses for the figure.
type RepeatedFigure struct {
	Phase     string              `json:"phase"`
	Target    string              `json:"target"`
	Figure    v1alpha1.FigureName `json:"figure"`
	Operation string              `json:"operation,omitempty"`
	Unit      v1alpha1.FigureUnit `json:"unit,omitempty"`
	// Values are the figures of the runs, in order. Runs without the figure are left out.
	Values  []int64 `json:"values"`
	Mean    float64 `json:"mean"`
	Minimum int64   `json:"minimum"`
	Maximum int64   `json:"maximum"`
	// StandardDeviation is the sample standard deviation. CoefficientOfVariation is the standard deviation divided by
	// the mean. Lower and Upper are the ends of the 95 % interval of the mean, by Student's t distribution. All of them
	// are absent if there is only one value.
	StandardDeviation      *float64 `json:"standardDeviation,omitempty"`
	CoefficientOfVariation *float64 `json:"coefficientOfVariation,omitempty"`
	Lower                  *float64 `json:"lower,omitempty"`
	Upper                  *float64 `json:"upper,omitempty"`
}

// Repeats collects the results of several runs of the same specification. For each phase and target, it returns the
// main figures, mean latencies and p99 latencies, in the order in which they first occur. It does not compute
// percentiles across runs: each value is the percentile of one run. It leaves out results that lack clients, because
// fewer clients generate a different load.
func Repeats(runs [][]v1alpha1.PhaseResult) []RepeatedFigure {
	var all []RepeatedFigure
	for _, phases := range runs {
		for phase, target := range v1alpha1.TargetResults(phases) {
			kind := phasekind.Of(phase.Kind)
			if kind.LaysOut || target.HasWarning(v1alpha1.WarningClientsMissing) {
				continue
			}
			for _, figure := range kind.Figures(target) {
				if figure.Main || figure.Name == v1alpha1.FigureMeanLatency || figure.Name == v1alpha1.FigureP99Latency {
					all = fold(all, phase.Name, target.Target, &figure)
				}
			}
		}
	}
	for i := range all {
		all[i].summarize()
	}
	return all
}

// fold adds a run's value to the list entry of its figure, and creates the entry if it is missing.
func fold(all []RepeatedFigure, phase, target string, figure *phasekind.Figure) []RepeatedFigure {
	at := slices.IndexFunc(all, func(f RepeatedFigure) bool {
		return f.Phase == phase && f.Target == target && f.Figure == figure.Name && f.Operation == figure.Operation
	})
	if at < 0 {
		at = len(all)
		all = append(all, RepeatedFigure{Phase: phase, Target: target, Figure: figure.Name, Operation: figure.Operation, Unit: figure.Unit()})
	}
	all[at].Values = append(all[at].Values, figure.Value)
	return all
}

func (f *RepeatedFigure) summarize() {
	count := float64(len(f.Values))
	for _, value := range f.Values {
		f.Mean += float64(value) / count
	}
	f.Minimum, f.Maximum = slices.Min(f.Values), slices.Max(f.Values)
	if len(f.Values) < 2 {
		return
	}
	squares := 0.0
	for _, value := range f.Values {
		squares += (float64(value) - f.Mean) * (float64(value) - f.Mean)
	}
	deviation := math.Sqrt(squares / (count - 1))
	f.StandardDeviation = &deviation
	if f.Mean > 0 {
		share := deviation / f.Mean
		f.CoefficientOfVariation = &share
	}
	if mean := FromRounds(f.Mean, deviation, len(f.Values)); mean.Known {
		f.Lower, f.Upper = &mean.Lower, &mean.Upper
	}
}
