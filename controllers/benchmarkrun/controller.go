package benchmarkrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/record"
)

// beat is how often a live run is looked at when nothing asks for it.
const beat = 5 * time.Second

// Reconcile brings a run one decision further.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	run, err := r.read(ctx, request.NamespacedName)
	if apierrors.IsNotFound(err) {
		r.sessions.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read the run: %w", err)
	}
	switch {
	case run.Status.EndTime != nil:
		return r.finalize(ctx, run)
	case run.Status.StartTime != nil:
		return r.conduct(ctx, run)
	case !run.DeletionTimestamp.IsZero():
		// Nothing was made yet, so nothing has to be tidied up.
		return r.finalize(ctx, run)
	}
	return r.begin(ctx, run)
}

// read gets the run as it is known here: what was written last may not be in the cache yet.
func (r *Reconciler) read(ctx context.Context, key client.ObjectKey) (*v1alpha1.BenchmarkRun, error) {
	run := &v1alpha1.BenchmarkRun{}
	if err := r.client.Get(ctx, key, run); err != nil {
		return nil, err
	}
	return r.sessions.newest(run), nil
}

// begin notes that the run makes objects from now on, once it is its turn. The finalizer comes first: what
// is made has to be tidied up. Each write has the version of the one before, so that nothing comes between
// the look at the other runs and the beginning.
func (r *Reconciler) begin(ctx context.Context, run *v1alpha1.BenchmarkRun) (ctrl.Result, error) {
	if replacedBy(run) != nil {
		return r.withdraw(ctx, run)
	}
	if turn, result, err := r.takeTurn(ctx, run); err != nil || !turn {
		return result, err
	}
	if !controllerutil.ContainsFinalizer(run, v1alpha1.FinalizerRun) {
		before := run.DeepCopy()
		controllerutil.AddFinalizer(run, v1alpha1.FinalizerRun)
		if err := r.client.Patch(ctx, run, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return again(err, "add the finalizer")
		}
	}
	before := run.DeepCopy()
	run.Status.ObservedGeneration = run.Generation
	record.Begin(run, time.Now())
	if err := r.store(ctx, before, run); err != nil {
		return again(err, "note the beginning of the run")
	}
	r.tell(run, before)
	return r.conduct(ctx, run)
}

// conduct makes one decision about a live run and carries it out.
func (r *Reconciler) conduct(ctx context.Context, run *v1alpha1.BenchmarkRun) (ctrl.Result, error) {
	before := run.DeepCopy()
	session, err := r.resume(ctx, run)
	if cannot, is := errors.AsType[*cannotConduct](err); is {
		return r.abandon(ctx, before, run, cannot)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	seen, err := r.observe(ctx, run, session)
	if err != nil {
		return ctrl.Result{}, err
	}
	if seen.superseded != "" {
		// Somebody else conducts this run now; what we would write is not ours to say.
		r.sessions.drop(client.ObjectKeyFromObject(run))
		return ctrl.Result{}, fmt.Errorf("run %s: %s", run.Name, seen.superseded)
	}
	action := decide.Next(seen.snapshot, session.now())
	out, err := r.apply(run, session, seen, action)
	if err != nil {
		return ctrl.Result{}, err
	}
	if out.series != nil {
		r.keepSeries(ctx, run, *out.series)
	}
	if err := r.store(ctx, before, run); err != nil {
		return again(err, "note what happened")
	}
	session.follows(run)
	r.tell(run, before)
	if out.then != nil {
		out.then()
	}
	if err := r.populate(ctx, run, session, seen); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: out.wait}, nil
}

// again gives a conflict another try: somebody has changed the run, such as its labels, and the
// decision is to be made on what it is now.
func again(err error, intent string) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: 10 * time.Millisecond}, nil
	}
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, fmt.Errorf("%s: %w", intent, err)
}
