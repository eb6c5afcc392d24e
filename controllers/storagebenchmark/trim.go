package storagebenchmark

import (
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TrimEndedRun is the transformer of BenchmarkRuns for the cache of the operator. Out of a run that has
// ended, and whose finalizer is gone, it takes what no controller looks at any more: steps, results and
// what was frozen, up to 64 KiB and more a run, of which a benchmark keeps hundreds. Whoever needs
// them reads the run from the API server. Nobody may write back what such a cache gives. It is a
// matter of memory only; the controller works without it.
func TrimEndedRun(object any) (any, error) {
	run, ok := object.(*v1alpha1.BenchmarkRun)
	if !ok {
		return object, nil
	}
	run.ManagedFields = nil
	if !ended(run) || slices.Contains(run.Finalizers, v1alpha1.FinalizerRun) {
		return object, nil
	}
	run.Annotations = nil
	run.Spec.Run, run.Spec.Steps = v1alpha1.RunSpec{}, nil
	run.Status = v1alpha1.BenchmarkRunStatus{
		ObservedGeneration: run.Status.ObservedGeneration,
		Conditions:         run.Status.Conditions,
		Stage:              run.Status.Stage,
		StartTime:          run.Status.StartTime,
		EndTime:            run.Status.EndTime,
		Comparable:         run.Status.Comparable,
	}
	return run, nil
}
