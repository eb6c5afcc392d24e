package storagebenchmark

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
)

// +kubebuilder:rbac:groups=storagebench.dev,resources=storagebenchmarks,verbs=get;list;watch
// +kubebuilder:rbac:groups=storagebench.dev,resources=storagebenchmarks/status,verbs=patch
// +kubebuilder:rbac:groups=storagebench.dev,resources=storagebenchmarks/finalizers,verbs=update
// +kubebuilder:rbac:groups=storagebench.dev,resources=benchmarkruns,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=storagebench.dev,resources=workloadprofiles;clusterworkloadprofiles,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Name is the name of the controller, in logs, metrics and events.
const Name = "storagebenchmark"

// Names of the cache's indexes.
const (
	// indexOwner finds runs by the UID of the benchmark that controls them.
	indexOwner = "storagebenchmark.owner"
	// indexReferences finds benchmarks by the objects that their spec.run refers to.
	indexReferences = "storagebenchmark.references"
)

// Options configures the controller.
type Options struct {
	// Clock provides the time; nil means the real clock.
	Clock clock.PassiveClock
	// Catalog returns the current catalog of documented limits, with notes about it; nil means the built-in catalog.
	Catalog func(context.Context) (*limits.Catalog, []string)
	// PriorityClass is the operator's own priority class, which clients must not use. It is empty if the operator has
	// none.
	PriorityClass string
	// NoClusterProfiles is true if the operator is not allowed to read ClusterWorkloadProfiles.
	NoClusterProfiles bool
}

// Setup adds the controller to a manager, whose scheme must contain v1alpha1.
func Setup(manager ctrl.Manager, options Options) error {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	r := &reconciler{
		client:  manager.GetClient(),
		live:    manager.GetAPIReader(),
		scheme:  manager.GetScheme(),
		clock:   options.Clock,
		catalog: options.Catalog,
		events:  manager.GetEventRecorder(Name),

		priorityClass:     options.PriorityClass,
		noClusterProfiles: options.NoClusterProfiles,
	}
	if err := index(manager.GetFieldIndexer()); err != nil {
		return err
	}
	building := ctrl.NewControllerManagedBy(manager).
		Named(Name).
		For(&v1alpha1.StorageBenchmark{}).
		Owns(&v1alpha1.BenchmarkRun{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: runUpdateMatters})).
		Watches(&v1alpha1.WorkloadProfile{}, r.referrers(v1alpha1.WorkloadProfileKind),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesMetadata(&corev1.PersistentVolumeClaim{}, r.referrers(claimKind),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: deletionBegins}))
	if !options.NoClusterProfiles {
		building = building.Watches(&v1alpha1.ClusterWorkloadProfile{}, r.referrers(v1alpha1.ClusterWorkloadProfileKind),
			builder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	if err := building.Complete(r); err != nil {
		return fmt.Errorf("set up the controller %s: %w", Name, err)
	}
	return nil
}

func index(indexer client.FieldIndexer) error {
	ctx := context.Background()
	err := indexer.IndexField(ctx, &v1alpha1.BenchmarkRun{}, indexOwner, func(object client.Object) []string {
		owner := metav1.GetControllerOf(object)
		if owner == nil || owner.Kind != v1alpha1.StorageBenchmarkKind {
			return nil
		}
		return []string{string(owner.UID)}
	})
	if err != nil {
		return fmt.Errorf("index runs by owner: %w", err)
	}
	err = indexer.IndexField(ctx, &v1alpha1.StorageBenchmark{}, indexReferences, func(object client.Object) []string {
		benchmark, ok := object.(*v1alpha1.StorageBenchmark)
		if !ok {
			return nil
		}
		return referencesOf(benchmark)
	})
	if err != nil {
		return fmt.Errorf("index benchmarks by their references: %w", err)
	}
	return nil
}

// referrers returns a handler that enqueues the benchmarks that refer to an object of the given kind. For a namespaced
// object, the handler searches the object's namespace; for a cluster-scoped object, it searches all namespaces.
func (r *reconciler) referrers(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		benchmarks := &v1alpha1.StorageBenchmarkList{}
		err := r.client.List(ctx, benchmarks, client.InNamespace(object.GetNamespace()),
			client.MatchingFields{indexReferences: referenceKey(kind, object.GetName())})
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to list benchmarks that refer to an object", "kind", kind, "name", object.GetName())
			return nil
		}
		var requests []reconcile.Request
		for i := range benchmarks.Items {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{
				Namespace: benchmarks.Items[i].Namespace, Name: benchmarks.Items[i].Name}})
		}
		return requests
	})
}

// runUpdateMatters reports whether an update of a run may affect its benchmark. Most updates do not.
func runUpdateMatters(update event.UpdateEvent) bool {
	before, ok := update.ObjectOld.(*v1alpha1.BenchmarkRun)
	if !ok {
		return true
	}
	after, ok := update.ObjectNew.(*v1alpha1.BenchmarkRun)
	if !ok {
		return true
	}
	return before.Status.Stage != after.Status.Stage ||
		ended(before) != ended(after) ||
		!equality.Semantic.DeepEqual(waiting(before), waiting(after)) ||
		toldToStop(before) != toldToStop(after) ||
		before.UID != after.UID ||
		!before.DeletionTimestamp.Equal(after.DeletionTimestamp) ||
		!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
}

// deletionBegins reports whether the deletion of a claim has begun or the claim was replaced. Other changes do not
// matter.
func deletionBegins(update event.UpdateEvent) bool {
	return update.ObjectOld.GetDeletionTimestamp().IsZero() != update.ObjectNew.GetDeletionTimestamp().IsZero() ||
		update.ObjectOld.GetUID() != update.ObjectNew.GetUID()
}
