package benchmarkrun

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/prometheus"
	"github.com/storagebench/storagebench/internal/queue"
)

// +kubebuilder:rbac:groups=storagebench.dev,resources=benchmarkruns,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=storagebench.dev,resources=benchmarkruns/status,verbs=patch
// +kubebuilder:rbac:groups=storagebench.dev,resources=benchmarkruns/finalizers,verbs=update
// +kubebuilder:rbac:groups=storagebench.dev,resources=storagebenchmarks/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;create;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumes,verbs=get;list
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses;volumeattributesclasses;csidrivers,verbs=get
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;create;delete

const (
	// parallelRuns is the default number of runs that are reconciled in parallel. A reconcile waits only for the API
	// server, never for an agent.
	parallelRuns = 8
	// defaultLossTimeout is the default limit on how long an agent may be unreachable while its pod appears to be running.
	defaultLossTimeout = time.Minute
)

// Options configures the controller.
type Options struct {
	Settings objects.Settings
	// Master is the key from which the identities of all runs are derived.
	Master identity.Master
	// Installation identifies this operator in the files that agents write to storage. If it is unknown and therefore
	// empty, data of deleted benchmarks is not removed.
	Installation string
	// Epoch returns the epoch of this leader, or an error if it no longer leads.
	Epoch func(context.Context) (uint64, error)
	// Catalog returns the current catalog of documented limits, with notes about it; nil means the built-in catalog.
	Catalog func(context.Context) (*limits.Catalog, []string)
	// SharedQueues names the queues that span all namespaces.
	SharedQueues []string
	// Namespaces are the watched namespaces; empty means all. The operator does not see runs in other namespaces, so it
	// cannot prevent its runs from overlapping with them.
	Namespaces []string
	// PriorityClass is the operator's own priority class, which clients must not use. It is empty if the operator has
	// none.
	PriorityClass string
	// LossTimeout limits how long an agent that was ready may be unreachable; 0 means the default.
	LossTimeout time.Duration
	// ParallelRuns is the number of runs that are reconciled in parallel; 0 means the default. It does not limit the
	// number of live runs.
	ParallelRuns int
	// Limits sets the maximum number of clients of live runs.
	Limits queue.Limits
	// Prometheus configures the server that evaluates the observations of runs; nil means none.
	Prometheus *prometheus.Config
	// Live, if not nil, provides the state of the live runs once Setup has returned.
	Live *Live
}

// Reconciler conducts BenchmarkRuns.
type Reconciler struct {
	client client.Client
	// direct reads from the API server, for objects that are not cached.
	direct   client.Reader
	events   events.EventRecorder
	options  Options
	sessions *sessions
	admitted admitted
	volumes  knownVolumes
}

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, options Options) error {
	if options.LossTimeout == 0 {
		options.LossTimeout = defaultLossTimeout
	}
	if options.ParallelRuns == 0 {
		options.ParallelRuns = parallelRuns
	}
	if options.Catalog == nil {
		builtin, err := limits.Builtin()
		if err != nil {
			return fmt.Errorf("read the catalog of limits: %w", err)
		}
		options.Catalog = func(context.Context) (*limits.Catalog, []string) { return builtin, nil }
	}
	r := &Reconciler{
		client:   mgr.GetClient(),
		direct:   mgr.GetAPIReader(),
		events:   mgr.GetEventRecorder("storagebench"),
		options:  options,
		sessions: newSessions(),
		admitted: admitted{runs: map[client.ObjectKey]queue.Run{}},
	}
	if options.Live != nil {
		options.Live.sessions.Store(r.sessions)
	}
	if err := mgr.Add(r.sessions); err != nil {
		return fmt.Errorf("register the sessions of live runs with the manager: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, indexRun, runOf); err != nil {
		return fmt.Errorf("index pods by their run: %w", err)
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("benchmarkrun").
		For(&v1alpha1.BenchmarkRun{}).
		Watches(&v1alpha1.BenchmarkRun{}, handler.EnqueueRequestsFromMapFunc(r.waitingRequests), builder.WithPredicates(freesCapacity())).
		Owns(&corev1.Pod{}, builder.WithPredicates(predicate.Funcs{DeleteFunc: r.podDeleted})).
		WatchesRawSource(source.Channel(r.sessions.changed, &handler.TypedEnqueueRequestForObject[*v1alpha1.BenchmarkRun]{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.ParallelRuns, RateLimiter: retries()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the BenchmarkRun controller: %w", err)
	}
	return nil
}

// retries limits the delay before a failed reconcile is retried to one beat, because a run's timeouts keep running
// during the delay.
func retries() workqueue.TypedRateLimiter[ctrl.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](soon, beat)
}

// indexRun is the index of pods by the UID of the run that controls them.
const indexRun = "run"

func runOf(pod client.Object) []string {
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == v1alpha1.BenchmarkRunKind {
		return []string{string(owner.UID)}
	}
	return nil
}

// podDeleted is the predicate for delete events. It records the last state of a pod that the operator has created, and
// lets every event pass.
func (r *Reconciler) podDeleted(deleted event.DeleteEvent) bool {
	pod, ok := deleted.Object.(*corev1.Pod)
	if !ok {
		return true
	}
	if owner := metav1.GetControllerOf(pod); owner != nil && r.hasProof(pod, owner.UID) {
		r.sessions.recordDeletedPod(pod, owner)
	}
	return true
}

// changed is the event with which a session requests a reconcile.
type changed = event.TypedGenericEvent[*v1alpha1.BenchmarkRun]
