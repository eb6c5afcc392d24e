package benchmarkrun

import (
	"context"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// store writes the status if it has changed, and sends events about the changes. It fails if the run has been changed
// since it was read, because the status must be derived from the current object.
func (r *Reconciler) store(ctx context.Context, before, run *v1alpha1.BenchmarkRun) error {
	if equality.Semantic.DeepEqual(before.Status, run.Status) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, run, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	r.sessions.wrote(run)
	r.sendEvents(run, before)
	return nil
}

// olderThan reports whether a is an older version of an object than b. Resource versions are increasing numbers.
func olderThan(a, b metav1.Object) bool {
	left, errLeft := strconv.ParseUint(a.GetResourceVersion(), 10, 64)
	right, errRight := strconv.ParseUint(b.GetResourceVersion(), 10, 64)
	return errLeft == nil && errRight == nil && left < right
}
