package storagebenchmark

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// replaces reports whether the live run is to make way: another one is asked for, and the policy is not to
// wait. What asked for the live one does not ask again.
func replaces(obs observation) bool {
	trigger := obs.benchmark.Spec.Trigger
	return trigger != nil && trigger.ReplacePolicy == v1alpha1.ReplaceStop && !suspended(obs.benchmark) && another(obs)
}

// another reports whether one more run is asked for beside the one that is live.
func another(obs observation) bool {
	if requestOf(obs.benchmark).any() {
		return true
	}
	if obs.times.set {
		return !obs.times.due.At.IsZero()
	}
	return obs.benchmark.Status.ActiveRun.Hash != obs.hash
}

// told reports whether a run knows already that it has to make way.
func told(run *v1alpha1.BenchmarkRun) bool {
	return run.Annotations[v1alpha1.AnnotationReplaced] != ""
}

// stop tells a run to make way. Its controller ends it, with what it has measured so far.
func (r *reconciler) stop(ctx context.Context, run *v1alpha1.BenchmarkRun) outcome {
	why := "another run of the benchmark is due, and spec.trigger.replacePolicy is Stop"
	ctrl.LoggerFrom(ctx).Info("Stopping run, another is due", "run", run.Name)
	marked := &metav1.PartialObjectMetadata{}
	marked.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.BenchmarkRunKind))
	marked.SetNamespace(run.Namespace)
	marked.SetName(run.Name)
	marked.SetUID(run.UID)
	before := marked.DeepCopy()
	marked.SetAnnotations(map[string]string{v1alpha1.AnnotationReplaced: why})
	err := r.client.Patch(ctx, marked, client.MergeFrom(before))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return outcome{again: true}
	}
	if err != nil {
		return outcome{err: fmt.Errorf("tell run %s to make way: %w", run.Name, err)}
	}
	return outcome{}
}

// withoutVerdict reports whether a run ended for a reason that is no judgement of the storage: it was stopped
// for another one, or preempted.
func withoutVerdict(run *v1alpha1.BenchmarkRun) bool {
	return endedBy(run, v1alpha1.ReasonReplaced) || endedBy(run, v1alpha1.ReasonPreempted)
}

func endedBy(run *v1alpha1.BenchmarkRun, reason string) bool {
	failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed)
	return failed != nil && failed.Status == metav1.ConditionTrue && failed.Reason == reason
}

// pass notes a run that ended without a verdict. For one that was preempted another one is recorded at
// once: what asked for it was handled, and would ask no more.
func pass(status *v1alpha1.StorageBenchmarkStatus, obs observation) {
	run := obs.active.run
	status.LastReplacedRun, status.ActiveRun = run.Name, nil
	if endedBy(run, v1alpha1.ReasonPreempted) {
		status.ActiveRun = &v1alpha1.RunReference{Name: identityOf(obs.benchmark, status, obs.hash).name, Hash: obs.hash}
	}
}

// waiting is the run's condition Waiting where it is True; nil where the run has its turn.
func waiting(run *v1alpha1.BenchmarkRun) *metav1.Condition {
	if run == nil {
		return nil
	}
	found := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionWaiting)
	if found == nil || found.Status != metav1.ConditionTrue {
		return nil
	}
	return found
}

// clockText is a time as messages tell it.
func clockText(at time.Time) string { return at.UTC().Format(time.RFC3339) }
