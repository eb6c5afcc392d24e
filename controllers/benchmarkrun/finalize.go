package benchmarkrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/record"
)

const (
	// deletionBeat is the interval at which the operator tries again to delete objects that the API server refuses to
	// delete.
	deletionBeat = 30 * time.Second
	// deletionPatience limits how long an ended run keeps its finalizer while the API server refuses a deletion. After
	// that, users can delete the run, and other runs wait only for pods of the run that may still be running.
	deletionPatience = 10 * time.Minute
)

// finalize deletes the objects that an ended run has created, then removes its finalizer.
func (r *Reconciler) finalize(ctx context.Context, run *v1alpha1.BenchmarkRun) (ctrl.Result, error) {
	r.sessions.drop(client.ObjectKeyFromObject(run))
	r.admitted.forget(client.ObjectKeyFromObject(run))
	before := run.DeepCopy()
	finalized := controllerutil.RemoveFinalizer(run, v1alpha1.FinalizerRun)
	marked := run.Status.EndTime != nil && markOver(run)
	if !finalized && !marked {
		// Check again for remaining pods: the cache may lag, so a pod that was created just before the run ended may appear
		// in it only after all other pods have been deleted.
		err := errors.Join(r.clearPods(ctx, run)...)
		if err != nil && ignoreRefusal(err) == nil {
			// The ObjectsDeleted condition already gives the reason.
			return ctrl.Result{RequeueAfter: deletionBeat}, nil
		}
		return ctrl.Result{}, err
	}
	refused, err := r.clear(ctx, run)
	if err != nil {
		return ctrl.Result{}, err
	}
	now, noted := time.Now(), before.DeepCopy()
	if len(refused) == 0 || r.sessions.mayExplain(client.ObjectKeyFromObject(run), now) {
		record.ObjectsLeft(noted, leftMessage(refused), now)
	}
	if err := r.store(ctx, before, noted); err != nil {
		return retryConflict(err, "record which objects of the run remain")
	}
	left := refusedDeletion(noted)
	if len(refused) > 0 && (left == nil || now.Before(left.LastTransitionTime.Add(deletionPatience))) {
		return ctrl.Result{RequeueAfter: deletionBeat}, nil
	}
	if err := r.client.Patch(ctx, run, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return retryConflict(err, "remove the finalizer")
	}
	return ctrl.Result{}, nil
}

// clear deletes the run's objects. Before it deletes an object, it verifies that the object belongs to the run. It
// returns refusals of the API server separately from other errors.
func (r *Reconciler) clear(ctx context.Context, run *v1alpha1.BenchmarkRun) (refused []error, err error) {
	problems := append(r.clearPods(ctx, run), r.removeOwn(ctx, run, objects.NetworkPolicy(r.options.Settings, run)))
	for _, claim := range objects.Claims(run) {
		problems = append(problems, r.removeOwn(ctx, run, claim))
	}
	var failed []error
	for _, problem := range problems {
		switch {
		case problem == nil:
		case ignoreRefusal(problem) == nil:
			refused = append(refused, problem)
		default:
			failed = append(failed, problem)
		}
	}
	return refused, errors.Join(failed...)
}

// leftMessage names the objects that the API server refuses to delete, or returns "" if there are none.
func leftMessage(refused []error) string {
	if len(refused) == 0 {
		return ""
	}
	message := "the API server refuses to delete objects of the run: allow the operator to delete them, or delete them yourself"
	for _, refusal := range refused {
		message += "; " + refusal.Error()
	}
	return message
}

// clearPods deletes those pods of the run that the cache shows.
func (r *Reconciler) clearPods(ctx context.Context, run *v1alpha1.BenchmarkRun) []error {
	pods, err := r.podsOf(ctx, run)
	if err != nil {
		return []error{err}
	}
	var problems []error
	for i := range pods {
		if err := r.endGroup(ctx, &pods[i]); err != nil {
			problems = append(problems, err)
		}
		if err := r.remove(ctx, &pods[i]); err != nil {
			problems = append(problems, fmt.Errorf("delete pod %s: %w", pods[i].Name, err))
		}
	}
	return problems
}

// endGroup marks the Kueue pod group of a pod as ended, so that Kueue releases the pod and its quota.
func (r *Reconciler) endGroup(ctx context.Context, pod *corev1.Pod) error {
	changed := pod.DeepCopy()
	if !objects.EndKueueGroup(changed) {
		return nil
	}
	err := r.client.Patch(ctx, changed, client.MergeFrom(pod))
	if apierrors.IsForbidden(err) {
		// The permission to patch pods was revoked after the run had begun. The run's other objects must still be
		// deleted.
		ctrl.LoggerFrom(ctx).Error(err, "Failed to end the pod group in Kueue, so the group may keep its quota; to grant the permission, set kueue.enabled=true in the "+
			"chart, or apply config/kueue", "pod", pod.Name)
		return nil
	}
	if err := ignoreUnlabelled(ctx, pod, err); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("end the group of pod %s in Kueue: %w", pod.Name, err)
	}
	return nil
}

// removeOwn reads an object by its name, and deletes it if the run owns it.
func (r *Reconciler) removeOwn(ctx context.Context, run *v1alpha1.BenchmarkRun, object client.Object) error {
	kind := object.GetObjectKind().GroupVersionKind().Kind
	err := r.direct.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil && ownedBy(object, run.UID) {
		err = r.remove(ctx, object)
	}
	if err != nil {
		return fmt.Errorf("delete %s %s: %w", kind, object.GetName(), err)
	}
	return nil
}
