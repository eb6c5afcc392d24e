package benchmarkrun

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/queue"
	"github.com/storagebench/storagebench/internal/record"
)

// admitted holds the runs that this process has started and that have not ended. It is needed because the cache lags
// behind and might not show yet that a run has begun. mu is locked from the check for capacity until the run is added.
type admitted struct {
	mu   sync.Mutex
	runs map[client.ObjectKey]queue.Run
}

func (a *admitted) forget(key client.ObjectKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.runs, key)
}

// awaitCapacity reports whether there is capacity for the clients of a run. If not, the run's status states what it is
// waiting for. If there can never be enough capacity, the run fails.
func (r *Reconciler) awaitCapacity(ctx context.Context, run *v1alpha1.BenchmarkRun) (bool, ctrl.Result, error) {
	r.admitted.mu.Lock()
	capacity, err := r.capacity(ctx, run)
	r.admitted.mu.Unlock()
	switch {
	case err != nil:
		return false, ctrl.Result{}, err
	case capacity.Fits():
		return true, ctrl.Result{}, nil
	case capacity.NeverFits():
		result, err := r.withdraw(ctx, run, decide.Failure{Reason: v1alpha1.ReasonInvalidWorkload, Message: capacity.Message()})
		return false, result, err
	}
	before := run.DeepCopy()
	record.Waiting(run, true, v1alpha1.ReasonWaitsForClients, capacity.Message(), time.Now())
	if err := r.store(ctx, before, run); err != nil {
		result, err := retryConflict(err, "record that the run waits for client capacity")
		return false, result, err
	}
	return false, ctrl.Result{RequeueAfter: queueBeat}, nil
}

// takeCapacity reports whether there is still capacity for the clients of a run that is about to begin. If so, it
// reserves the capacity; admitted.forget releases it again.
func (r *Reconciler) takeCapacity(ctx context.Context, run *v1alpha1.BenchmarkRun) (bool, error) {
	r.admitted.mu.Lock()
	defer r.admitted.mu.Unlock()
	capacity, err := r.capacity(ctx, run)
	if err != nil || !capacity.Fits() {
		return false, err
	}
	taken := described(run)
	taken.State = queue.Live
	r.admitted.runs[client.ObjectKeyFromObject(run)] = taken
	return true, nil
}

// capacity determines whether the limits on clients leave room for a run, given the runs that are live or wait for
// capacity. Callers hold admitted.mu.
func (r *Reconciler) capacity(ctx context.Context, run *v1alpha1.BenchmarkRun) (queue.Capacity, error) {
	var list v1alpha1.BenchmarkRunList
	// Skip the deep copy, because the runs are only read.
	if err := r.client.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return queue.Capacity{}, fmt.Errorf("list the runs: %w", err)
	}
	var others []queue.Run
	for i := range list.Items {
		other := &list.Items[i]
		_, counted := r.admitted.runs[client.ObjectKeyFromObject(other)]
		waits := meta.FindStatusCondition(other.Status.Conditions, v1alpha1.ConditionWaiting)
		switch {
		case counted, other.Status.EndTime != nil:
		case other.Status.StartTime != nil,
			waits != nil && waits.Reason == v1alpha1.ReasonWaitsForClients && other.DeletionTimestamp.IsZero():
			others = append(others, described(other))
		}
	}
	for _, other := range r.admitted.runs {
		others = append(others, other)
	}
	return r.options.Limits.CapacityFor(described(run), others), nil
}
