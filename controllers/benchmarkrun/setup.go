package benchmarkrun

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
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
)

// +kubebuilder:rbac:groups=storagebench.dev,resources=benchmarkruns,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=storagebench.dev,resources=benchmarkruns/status,verbs=patch
// +kubebuilder:rbac:groups=storagebench.dev,resources=benchmarkruns/finalizers,verbs=update
// +kubebuilder:rbac:groups=storagebench.dev,resources=storagebenchmarks/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;create;delete
// +kubebuilder:rbac:groups="",resources=persistentvolumes,verbs=get;list
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses;volumeattributesclasses;csidrivers,verbs=get
// +kubebuilder:rbac:groups="",resources=events,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;create;delete

const (
	// parallelRuns is how many runs are reconciled at a time, unless Options say another number. A reconcile waits for the
	// API server only, never for an agent.
	parallelRuns = 8
	// defaultLossTimeout is how long an agent whose pod seems to live may be out of reach.
	defaultLossTimeout = time.Minute
)

// Options are what the controller needs beside the manager.
type Options struct {
	Settings objects.Settings
	// Master is the key that the identities of all runs derive from.
	Master identity.Master
	// Installation tells this operator's clusters from others, in what agents write to storage; empty where it is not known,
	// and nothing that benchmarks leave is removed when they are gone.
	Installation string
	// Epoch of this leader; an error when it does not lead any more.
	Epoch func(context.Context) (uint64, error)
	// Catalog is that of the documented limits as it holds now, with notes about it; nil is that of this version.
	Catalog func(context.Context) (*limits.Catalog, []string)
	// SharedQueues are the names of queues that are one in all namespaces.
	SharedQueues []string
	// Namespaces that are watched; none is all of them. Runs of others are not known, so nothing is kept apart from them.
	Namespaces []string
	// LossTimeout is how long an agent that was ready may be out of reach; 0 is the default.
	LossTimeout time.Duration
	// ParallelRuns is how many runs are reconciled at a time; 0 is the default.
	ParallelRuns int
	// Live, where it is not nil, tells from then on what goes on in the live runs.
	Live *Live
}

// Reconciler carries out BenchmarkRuns.
type Reconciler struct {
	client client.Client
	// direct reads what is in no cache.
	direct   client.Reader
	events   events.EventRecorder
	options  Options
	sessions *sessions
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
	}
	if options.Live != nil {
		options.Live.sessions.Store(r.sessions)
	}
	if err := mgr.Add(r.sessions); err != nil {
		return fmt.Errorf("add the sessions of live runs: %w", err)
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("benchmarkrun").
		For(&v1alpha1.BenchmarkRun{}).
		Watches(&v1alpha1.BenchmarkRun{}, handler.EnqueueRequestsFromMapFunc(r.waiters), builder.WithPredicates(makesRoom())).
		Owns(&corev1.Pod{}, builder.WithPredicates(predicate.Funcs{DeleteFunc: r.podDeleted})).
		WatchesRawSource(source.Channel(r.sessions.changed, &handler.TypedEnqueueRequestForObject[*v1alpha1.BenchmarkRun]{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: options.ParallelRuns}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller of BenchmarkRuns: %w", err)
	}
	return nil
}

// podDeleted looks at a pod before it is forgotten.
func (r *Reconciler) podDeleted(deleted event.DeleteEvent) bool {
	if pod, ok := deleted.Object.(*corev1.Pod); ok {
		r.sessions.saw(pod)
	}
	return true
}

// changed is how a session asks for a reconcile.
type changed = event.TypedGenericEvent[*v1alpha1.BenchmarkRun]
