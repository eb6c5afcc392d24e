package storagebenchmark

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
)

// soon is the delay before an object that has just changed is reconciled again. It gives the cache time to catch up.
const soon = 50 * time.Millisecond

// reconciler reconciles StorageBenchmarks. It is stateless: everything that it needs to remember is in their status.
type reconciler struct {
	client client.Client
	// live reads from the API server where a stale cache could cause the wrong run to be started or stopped.
	live   client.Reader
	scheme *runtime.Scheme
	clock  clock.PassiveClock
	// catalog returns the current catalog of documented limits. If it is nil, the built-in catalog is used.
	catalog func(context.Context) (*limits.Catalog, []string)
	events  events.EventRecorder
	// priorityClass is the operator's own priority class, which clients must not use.
	priorityClass string
	// noClusterProfiles is true if the operator is not allowed to read ClusterWorkloadProfiles.
	noClusterProfiles bool
}

// Reconcile makes one decision about a benchmark and carries it out: it writes at most one run, deletes old runs, and
// patches the status once.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	obs, err := r.observe(ctx, request.NamespacedName)
	if errors.Is(err, errStale) {
		// The API server has a newer version of the benchmark, which triggers another reconcile once the cache receives
		// it.
		return ctrl.Result{}, nil
	}
	if err != nil || obs == nil {
		return ctrl.Result{}, err
	}
	act := next(*obs)
	out := r.apply(ctx, *obs, act)
	reported := reportOn(*obs, act, out)
	err = r.patch(ctx, obs.benchmark, reported.status)
	if apierrors.IsConflict(err) {
		// A conflict is not an error, because the decision is repeated on the current object.
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	if apierrors.IsInvalid(err) {
		r.sendEvent(obs.benchmark, refusedEvent(err))
	}
	if err != nil {
		return ctrl.Result{}, errors.Join(err, out.err)
	}
	for _, one := range reported.events {
		r.sendEvent(obs.benchmark, one)
	}
	if out.again {
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	if out.err != nil {
		return ctrl.Result{}, out.err
	}
	return ctrl.Result{RequeueAfter: reported.wake}, nil
}

// patch writes the status if it has changed. The API server rejects a status that was derived from an old version of
// the object. The decision is then made again.
func (r *reconciler) patch(ctx context.Context, benchmark *v1alpha1.StorageBenchmark, status v1alpha1.StorageBenchmarkStatus) error {
	if equality.Semantic.DeepEqual(benchmark.Status, status) {
		return nil
	}
	changed := benchmark.DeepCopy()
	changed.Status = status
	base := client.MergeFromWithOptions(benchmark, client.MergeFromWithOptimisticLock{})
	err := r.client.Status().Patch(ctx, changed, base)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the status of %s: %w", klog.KObj(benchmark), err)
	}
	return nil
}

func (r *reconciler) sendEvent(benchmark *v1alpha1.StorageBenchmark, one benchmarkEvent) {
	// Leave related nil if there is no run, because an interface that holds a nil pointer is not nil.
	var related runtime.Object
	if one.related != nil {
		related = one.related
	}
	r.events.Eventf(benchmark, related, one.kind, one.reason, one.action, "%s", v1alpha1.EventNote("%s", one.note))
}
