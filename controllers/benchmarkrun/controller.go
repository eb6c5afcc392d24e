package benchmarkrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/series"
)

const (
	// beat is the interval at which a live run is reconciled if no event triggers a reconcile earlier.
	beat = 5 * time.Second
	// lostReminder is the interval at which a live run reports again that pods of lost clients cannot be deleted. It is
	// long because the run continues, and its next progress report soon replaces the message in its status.
	lostReminder = 10 * time.Minute
)

// Reconcile makes one decision about a run and carries it out. If the API server refuses a request, Reconcile reports
// this in an event and in the run's status.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	result, err := r.reconcile(ctx, request.NamespacedName)
	if err != nil && ignoreRefusal(err) == nil {
		r.explainRefusal(ctx, request.NamespacedName, err)
	}
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, key client.ObjectKey) (ctrl.Result, error) {
	run, err := r.read(ctx, key)
	if apierrors.IsNotFound(err) {
		r.sessions.forget(key)
		r.admitted.forget(key)
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
		// The run has not created any objects yet, so there is nothing to clean up.
		return r.finalize(ctx, run)
	}
	return r.begin(ctx, run)
}

// explainRefusal reports that the API server refuses a request that a run depends on, unless it reported a refusal for
// this run less than beat ago. It sends an event and, unless the run has ended, sets the run's message. It returns
// whether it reported the refusal.
func (r *Reconciler) explainRefusal(ctx context.Context, key client.ObjectKey, refusal error) bool {
	run, err := r.read(ctx, key)
	if err != nil {
		return false
	}
	message := v1alpha1.Truncate("the API server refuses a request from the operator, which keeps retrying: "+
		refusal.Error(), maxMessage)
	if run.Status.Message == message || !r.sessions.mayExplain(key, time.Now()) {
		return false
	}
	if run.Status.EndTime == nil {
		before := run.DeepCopy()
		run.Status.Message = message
		if err := r.store(ctx, before, run); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to record why the run cannot continue")
		}
	}
	r.sendEvent(run, corev1.EventTypeWarning, v1alpha1.EventRequestRefused, "Reconcile", "%s", message)
	return true
}

// read returns the newest known version of the run: the cached one, or the last one that this process wrote.
func (r *Reconciler) read(ctx context.Context, key client.ObjectKey) (*v1alpha1.BenchmarkRun, error) {
	run := &v1alpha1.BenchmarkRun{}
	if err := r.client.Get(ctx, key, run); err != nil {
		return nil, err
	}
	return r.sessions.newest(run), nil
}

// begin records the start of a run, once there is capacity for its clients and it is first in its queue. From then on,
// the run creates objects. begin adds the finalizer first, because created objects must be cleaned up. Each write uses
// the resource version of the preceding write, so it fails if the run was changed after the other runs were checked.
func (r *Reconciler) begin(ctx context.Context, run *v1alpha1.BenchmarkRun) (ctrl.Result, error) {
	if why := cmp.Or(replacedBy(run), lostStatus(run)); why != nil {
		return r.withdraw(ctx, run, *why)
	}
	if fits, result, err := r.awaitCapacity(ctx, run); err != nil || !fits {
		return result, err
	}
	if turn, result, err := r.takeTurn(ctx, run); err != nil || !turn {
		return result, err
	}
	if fits, err := r.takeCapacity(ctx, run); err != nil || !fits {
		return ctrl.Result{RequeueAfter: soon}, err
	}
	if err := r.noteBeginning(ctx, run); err != nil {
		r.admitted.forget(client.ObjectKeyFromObject(run))
		return retryConflict(err, "record the start of the run")
	}
	return r.conduct(ctx, run)
}

func (r *Reconciler) noteBeginning(ctx context.Context, run *v1alpha1.BenchmarkRun) error {
	if !controllerutil.ContainsFinalizer(run, v1alpha1.FinalizerRun) || run.Annotations[v1alpha1.AnnotationBegun] == "" {
		before := run.DeepCopy()
		controllerutil.AddFinalizer(run, v1alpha1.FinalizerRun)
		metav1.SetMetaDataAnnotation(&run.ObjectMeta, v1alpha1.AnnotationBegun, string(run.UID))
		if err := r.client.Patch(ctx, run, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("add the finalizer: %w", err)
		}
	}
	before := run.DeepCopy()
	run.Status.ObservedGeneration = run.Generation
	if meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionWaiting) {
		record.Waiting(run, false, v1alpha1.ReasonItsTurn, "enough clients are free", time.Now())
	}
	record.Begin(run, time.Now())
	return r.store(ctx, before, run)
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
	if seen.superseded != "" && !r.leads(ctx, session) {
		// Another operator conducts this run now, and only that operator may write the status.
		r.sessions.drop(client.ObjectKeyFromObject(run))
		return ctrl.Result{}, fmt.Errorf("run %s: %s", run.Name, seen.superseded)
	}
	action := session.driver.Next(seen.snapshot)
	out, err := r.apply(run, session, seen, action)
	if err != nil {
		return ctrl.Result{}, err
	}
	if out.Series != nil {
		r.keepSeries(ctx, run, out.Series.ID, out.Series.Attempt, &series.Log{Steps: []series.Step{*out.Series}})
	}
	if len(out.Observed) > 0 {
		r.keepSeries(ctx, run, observationsPart, 1, &series.Log{Observed: out.Observed})
	}
	if err := r.store(ctx, before, run); apierrors.IsInvalid(err) {
		// Fail the run instead of retrying: the API server would reject the same status again, and the clients would
		// wait in vain.
		return r.abandon(ctx, before, before.DeepCopy(), &cannotConduct{v1alpha1.ReasonInternalError, "the API server rejects the result: " +
			err.Error() + ". Check that the installed CRDs match the operator's version"})
	} else if err != nil {
		return retryConflict(err, "update the status")
	}
	session.follows(run)
	if out.Then != nil {
		if err := out.Then(); err != nil {
			return ctrl.Result{}, err
		}
	}
	more, err := r.populate(ctx, run, session, seen)
	lost := r.removeLost(ctx, run, session, seen.pods)
	if lost != nil && ignoreRefusal(lost) == nil {
		due := session.now().Sub(session.lostReported) >= lostReminder
		if due && r.explainRefusal(ctx, client.ObjectKeyFromObject(run), lost) {
			session.lostReported = session.now()
		}
		lost = nil // the run continues, and a later reconcile tries again to delete the pods
	}
	if err := errors.Join(err, lost); err != nil {
		return ctrl.Result{}, err
	}
	if more {
		return ctrl.Result{RequeueAfter: soon}, nil
	}
	return ctrl.Result{RequeueAfter: longestWait(session.now(), action, out.Settled, session.progress.next())}, nil
}

// leads reports whether this operator is still the leader, in the same term as when it began the session. An agent that
// claims to obey another operator may be hostile, so leads checks the Lease instead of trusting the agent. If this
// operator still leads, the agent counts as unfit, and the agent's run fails.
func (r *Reconciler) leads(ctx context.Context, s *session) bool {
	epoch, err := r.options.Epoch(ctx)
	return err == nil && epoch == s.epoch
}

// retryConflict retries after a conflict. A conflict means that the run was changed, for example because a user edited
// its labels, so the decision must be made again on the current state. A run that no longer exists is ignored.
func retryConflict(err error, intent string) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: 10 * time.Millisecond}, nil
	}
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, fmt.Errorf("%s: %w", intent, err)
}
