package result

import (
	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// Headline is the figures of a run that a list of runs shows: those of the last phase that measures,
// of its first target, of the operation that moved most. It is nil while there are none.
func Headline(phases []v1alpha1.PhaseResult) *v1alpha1.HeadlineDisplay {
	for i := len(phases) - 1; i >= 0; i-- {
		if phases[i].Kind == v1alpha1.PhasePrepare || len(phases[i].Targets) == 0 {
			continue
		}
		var most *v1alpha1.OperationResult
		for j := range phases[i].Targets[0].Operations {
			operation := &phases[i].Targets[0].Operations[j]
			if operation.BytesPerSecond != nil && (most == nil || *operation.BytesPerSecond > *most.BytesPerSecond) {
				most = operation
			}
		}
		if most == nil {
			continue
		}
		shown := &v1alpha1.HeadlineDisplay{Throughput: measure.FormatBytesPerSecond(float64(*most.BytesPerSecond))}
		if most.Latency != nil && most.Latency.P99Nanoseconds != nil {
			shown.P99 = measure.FormatLatency(uint64(max(*most.Latency.P99Nanoseconds, 0)))
		}
		return shown
	}
	return nil
}
