package workloadprofile

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// maxMessage is the maximum length of a condition's message, in characters.
const maxMessage = 1024

// Setup adds a controller for WorkloadProfiles to a manager and, if ofCluster is true, one for ClusterWorkloadProfiles.
func Setup(mgr ctrl.Manager, ofCluster bool) error {
	kinds := []client.Object{&v1alpha1.WorkloadProfile{}}
	if ofCluster {
		kinds = append(kinds, &v1alpha1.ClusterWorkloadProfile{})
	}
	for _, kind := range kinds {
		err := ctrl.NewControllerManagedBy(mgr).
			For(kind, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
			Complete(&reconciler{client: mgr.GetClient(), kind: kind})
		if err != nil {
			return fmt.Errorf("set up the %T controller: %w", kind, err)
		}
	}
	return nil
}

// reconciler reconciles either WorkloadProfiles or ClusterWorkloadProfiles.
type reconciler struct {
	client client.Client
	kind   client.Object
}

// Reconcile evaluates the profile and writes its status if it has changed.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := clone(r.kind)
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !object.GetDeletionTimestamp().IsZero() {
		return ctrl.Result{}, nil
	}
	before := clone(object)
	spec, status := specAndStatus(object)
	report(spec, status, object.GetGeneration())
	if _, old := specAndStatus(before); equality.Semantic.DeepEqual(old, status) {
		return ctrl.Result{}, nil
	}
	// Patch with the resource version that was evaluated, because the status of an older spec must not overwrite the
	// status of a newer one.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Status().Patch(ctx, object, patch); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("write the status of the profile: %w", err)
	}
	return ctrl.Result{}, nil
}

func clone(object client.Object) client.Object {
	return object.DeepCopyObject().(client.Object) // cannot panic: a deep copy has the type of the original
}

// specAndStatus returns the spec and the status of a profile of either kind.
func specAndStatus(object client.Object) (*v1alpha1.WorkloadProfileSpec, *v1alpha1.WorkloadProfileStatus) {
	switch profile := object.(type) {
	case *v1alpha1.WorkloadProfile:
		return &profile.Spec, &profile.Status
	case *v1alpha1.ClusterWorkloadProfile:
		return &profile.Spec, &profile.Status
	}
	panic(fmt.Sprintf("%T is not a profile", object))
}

// report evaluates a spec and writes the result, with the spec's generation, to a status.
func report(spec *v1alpha1.WorkloadProfileSpec, status *v1alpha1.WorkloadProfileStatus, generation int64) {
	status.ObservedGeneration = generation
	status.Engine = spec.EngineKind()
	set := func(kind string, value metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value, ObservedGeneration: generation,
			Reason: reason, Message: v1alpha1.Truncate(message, maxMessage),
		})
	}
	if problem := judge(spec); problem != nil {
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonInvalidWorkload, problem.Error())
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidWorkload, problem.Error())
		return
	}
	set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonValidWorkload, "The tool can run this workload.")
	meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionStalled)
}
