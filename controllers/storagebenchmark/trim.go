package storagebenchmark

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// TrimEndedRun is the cache transform for BenchmarkRuns. From a run that has ended and no longer has its finalizer, it
// removes the parts that no controller reads again: steps, results and the frozen specification. They take 64 KiB or
// more per run, and a benchmark keeps hundreds of runs. To get these parts, read the run from the API server; never
// write back a run from such a cache. Trimming only saves memory; the controller works without it.
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

// TrimClaim is the cache transform for PersistentVolumeClaims. The cache holds the metadata of all claims, and
// TrimClaim keeps only what identifies a claim and whether it is being deleted. Otherwise, anyone who may create claims
// could fill the memory with annotations.
func TrimClaim(object any) (any, error) {
	if claim, ok := object.(metav1.Object); ok {
		claim.SetManagedFields(nil)
		claim.SetLabels(nil)
		claim.SetAnnotations(nil)
		claim.SetOwnerReferences(nil)
		claim.SetFinalizers(nil)
	}
	return object, nil
}
