package storagebenchmark

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// replaces reports whether the live run must make way for another run: the benchmark is not suspended, the effective
// concurrency policy of spec.trigger is Replace, and one more run is requested. The request that started the live run
// does not count.
func replaces(obs observation) bool {
	return obs.benchmark.Spec.Trigger.Replaces() && !suspended(obs.benchmark) && moreRequested(obs)
}

// moreRequested reports whether another run is requested in addition to the live run.
func moreRequested(obs observation) bool {
	return requestOf(obs.benchmark).any() || !obs.times.due.At.IsZero() ||
		obs.startsOnChange() && obs.benchmark.Status.ActiveRun.Hash != obs.hash
}

// toldToStop reports whether a run was already told to make way for another run.
func toldToStop(run *v1alpha1.BenchmarkRun) bool {
	return run.Annotations[v1alpha1.AnnotationReplaced] != ""
}

// stop tells a run to make way for another run. The BenchmarkRun controller then ends the run and keeps the results
// that it has so far.
func (r *reconciler) stop(ctx context.Context, run *v1alpha1.BenchmarkRun) outcome {
	why := "the benchmark's next run is due and spec.trigger.concurrencyPolicy is Replace"
	ctrl.LoggerFrom(ctx).Info("Stopping run because the next one is due", "run", run.Name)
	marked := &metav1.PartialObjectMetadata{}
	marked.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.BenchmarkRunKind))
	marked.SetNamespace(run.Namespace)
	marked.SetName(run.Name)
	marked.SetResourceVersion(run.ResourceVersion)
	before := marked.DeepCopy()
	marked.SetAnnotations(map[string]string{v1alpha1.AnnotationReplaced: why})
	// The optimistic lock makes the API server reject the patch if a newer run has the same name.
	err := r.client.Patch(ctx, marked, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return outcome{again: true}
	}
	if err != nil {
		return outcome{err: fmt.Errorf("stop run %s for the next run: %w", run.Name, err)}
	}
	return outcome{}
}

// withoutVerdict reports whether a run ended for a reason that is unrelated to the storage: it made way for another
// run, or it was preempted.
func withoutVerdict(run *v1alpha1.BenchmarkRun) bool {
	return endedBy(run, v1alpha1.ReasonReplaced) || endedBy(run, v1alpha1.ReasonPreempted)
}

func endedBy(run *v1alpha1.BenchmarkRun, reason string) bool {
	failed := find(run.Status.Conditions, v1alpha1.ConditionFailed)
	return failed != nil && failed.Status == metav1.ConditionTrue && failed.Reason == reason
}

// followsReplaced reports whether the active run was stopped for a scheduled run. The scheduled run is recorded
// together with the end of the stopped run. If it were recorded later, its starting deadline would apply again, and
// could have passed while the live run was stopping.
func followsReplaced(obs observation) bool {
	return endedBy(obs.active.run, v1alpha1.ReasonReplaced) && !suspended(obs.benchmark) && !obs.times.due.At.IsZero()
}

// recordWithoutVerdict records a run that ended without a verdict. If the run was preempted, recordWithoutVerdict also
// makes its successor the active run. Otherwise the successor would not be started, because the request for the run
// already counts as handled.
func recordWithoutVerdict(status *v1alpha1.StorageBenchmarkStatus, obs observation) {
	run := obs.active.run
	status.LastReplacedRun, status.ActiveRun = run.Name, nil
	switch {
	case followsReplaced(obs):
		recordIntent(status, obs)
	case endedBy(run, v1alpha1.ReasonPreempted):
		status.ActiveRun = &v1alpha1.RunReference{Name: identityOf(obs.benchmark, status, obs.hash).name, Hash: obs.hash}
	}
}

// waiting returns the run's Waiting condition if it is True, or nil otherwise.
func waiting(run *v1alpha1.BenchmarkRun) *metav1.Condition {
	if run == nil || !isTrue(run.Status.Conditions, v1alpha1.ConditionWaiting) {
		return nil
	}
	return find(run.Status.Conditions, v1alpha1.ConditionWaiting)
}

// clockText formats a time for messages.
func clockText(at time.Time) string { return at.UTC().Format(time.RFC3339) }
