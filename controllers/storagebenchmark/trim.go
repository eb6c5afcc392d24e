package storagebenchmark

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// CacheByObject is how the operator's cache has to hold objects: give it to the manager as
// cache.Options.ByObject. It is a matter of memory only; everything works without it.
func CacheByObject() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&v1alpha1.BenchmarkRun{}: {Transform: TrimEndedRun}}
}

// TrimEndedRun takes out of a run that has ended, and whose finalizer is gone, what no controller
// looks at any more: steps, results and what was frozen, up to 64 KiB and more a run, of which a
// benchmark keeps hundreds. Whoever needs them reads the run from the API server. It is a transformer
// of the cache, so what it changes is nobody else's; nobody may write back what a cache with it gives.
func TrimEndedRun(object any) (any, error) {
	run, ok := object.(*v1alpha1.BenchmarkRun)
	if !ok || !ended(run) || slices.Contains(run.Finalizers, v1alpha1.FinalizerRun) {
		return object, nil
	}
	run.ManagedFields = nil
	run.Annotations = nil
	run.Spec.Run, run.Spec.Steps = v1alpha1.RunSpec{}, nil
	run.Status = v1alpha1.BenchmarkRunStatus{
		ObservedGeneration: run.Status.ObservedGeneration,
		Conditions:         run.Status.Conditions,
		Stage:              run.Status.Stage,
		StartTime:          run.Status.StartTime,
		EndTime:            run.Status.EndTime,
	}
	return run, nil
}
