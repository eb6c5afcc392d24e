package builders

import "github.com/storagebench/storagebench/api/v1alpha1"

// Interference adds a phase that measures victims alone and beside aggressors.
func (b *BenchmarkBuilder) Interference(name string, victims, aggressors []string, each v1alpha1.Duration, neighbours ...int32) *BenchmarkBuilder {
	return b.Phase(v1alpha1.Phase{Name: name, Interference: &v1alpha1.InterferencePhase{
		Victims: victims, Aggressors: aggressors, Neighbours: neighbours, Repetitions: new(v1alpha1.DefaultRepetitions),
		Regime: v1alpha1.RegimeAny, BlockDuration: each, WarmUp: "5s"}})
}
