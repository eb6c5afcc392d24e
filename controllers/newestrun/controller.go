package newestrun

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/metrics"
)

// +kubebuilder:rbac:groups=storagebench.dev,resources=storagebenchmarks,verbs=get;list;watch
// +kubebuilder:rbac:groups=storagebench.dev,resources=benchmarkruns,verbs=get;list;watch

// Keeper stores the results of each benchmark's newest evaluated run, for the operator's metrics.
type Keeper struct {
	client client.Client
	// direct reads from the API server, because the cache trims runs that have ended.
	direct client.Reader

	mu   sync.Mutex
	kept map[client.ObjectKey]kept
}

type kept struct {
	// benchmark and run are UIDs, because names can be reused.
	benchmark, run string
	points         []metrics.Point
}

// Setup adds the keeper to a manager.
func Setup(mgr ctrl.Manager) (*Keeper, error) {
	k := &Keeper{client: mgr.GetClient(), direct: mgr.GetAPIReader(), kept: map[client.ObjectKey]kept{}}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("newestrun").
		For(&v1alpha1.StorageBenchmark{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: newestRunChanged})).
		Owns(&v1alpha1.BenchmarkRun{}, builder.WithPredicates(runDeleted)).
		Complete(k)
	if err != nil {
		return nil, fmt.Errorf("set up the controller for newest runs: %w", err)
	}
	return k, nil
}

// runDeleted selects deletions of runs. A new or changed run needs no reconcile, because an update of the benchmark's
// status announces each newly evaluated run.
var runDeleted = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(event.UpdateEvent) bool { return false },
}

// newestRunChanged reports whether the newest evaluated run of a benchmark has changed.
func newestRunChanged(updated event.UpdateEvent) bool {
	before, ok := updated.ObjectOld.(*v1alpha1.StorageBenchmark)
	after, also := updated.ObjectNew.(*v1alpha1.StorageBenchmark)
	return !ok || !also || newest(before) != newest(after)
}

// newest returns the UID of the newest evaluated run, or "" if there is none.
func newest(benchmark *v1alpha1.StorageBenchmark) string {
	if benchmark.Status.LastRun == nil {
		return ""
	}
	return benchmark.Status.LastRun.UID
}

// Reconcile reads the newest evaluated run of a benchmark and stores its results in the Keeper.
func (k *Keeper) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	benchmark := &v1alpha1.StorageBenchmark{}
	err := k.client.Get(ctx, request.NamespacedName, benchmark)
	switch {
	case apierrors.IsNotFound(err):
		k.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("read the benchmark: %w", err)
	}
	last := benchmark.Status.LastRun
	if last == nil || last.UID == "" {
		k.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	run := &v1alpha1.BenchmarkRun{}
	err = k.direct.Get(ctx, client.ObjectKey{Namespace: benchmark.Namespace, Name: last.Name}, run)
	switch {
	case apierrors.IsNotFound(err) || err == nil && string(run.UID) != last.UID:
		k.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("read the newest run %s: %w", last.Name, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept[request.NamespacedName] = kept{benchmark: string(benchmark.UID), run: last.UID, points: metrics.Results(run)}
	return ctrl.Result{}, nil
}

func (k *Keeper) forget(key client.ObjectKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.kept, key)
}

// Results returns the results of the newest evaluated run of a benchmark. known is false if they have not been read
// yet, or the run no longer exists.
func (k *Keeper) Results(benchmark *v1alpha1.StorageBenchmark) (results []metrics.Point, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, known := k.kept[client.ObjectKeyFromObject(benchmark)]
	if !known || found.benchmark != string(benchmark.UID) || found.run != newest(benchmark) {
		return nil, false
	}
	return found.points, true
}
