package builders

import "github.com/storagebench/storagebench/api/v1alpha1"

// Search adds a phase that searches for the highest rate, up to most, at which a percentile of the latency stays within
// a bound.
func (b *BenchmarkBuilder) Search(name, percentile string, latency v1alpha1.ShortDuration, most int64, each v1alpha1.Duration) *BenchmarkBuilder {
	return b.Phase(v1alpha1.Phase{Name: name, Search: &v1alpha1.SearchPhase{
		Objective: v1alpha1.SearchObjective{Latency: v1alpha1.SearchLatency{Percentile: percentile, Max: latency}},
		Rate:      v1alpha1.SearchRate{Max: most}, Regime: v1alpha1.RegimeAny, StepDuration: each, WarmUp: "5s"}})
}
