package benchmarkrun

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// store writes the status, where it has changed, and fails on a run that somebody has changed since
// it was read: what is noted must follow from what is there.
func (r *Reconciler) store(ctx context.Context, before, run *v1alpha1.BenchmarkRun) error {
	if equality.Semantic.DeepEqual(before.Status, run.Status) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, run, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	r.sessions.wrote(run)
	return nil
}

// olderThan compares versions of the same object. They are numbers that grow.
func olderThan(a, b *v1alpha1.BenchmarkRun) bool {
	left, errLeft := strconv.ParseUint(a.ResourceVersion, 10, 64)
	right, errRight := strconv.ParseUint(b.ResourceVersion, 10, 64)
	return errLeft == nil && errRight == nil && left < right
}

// tell sends events about what is new in a status that was stored.
func (r *Reconciler) tell(run, before *v1alpha1.BenchmarkRun) {
	known := map[string]v1alpha1.StepState{}
	for _, fact := range before.Status.Steps {
		known[stepName(fact)] = fact.State
	}
	if len(before.Status.Environments) == 0 && len(run.Status.Environments) > 0 {
		r.say(run, corev1.EventTypeNormal, v1alpha1.EventClientsReady, "Connect", "all clients are connected")
	}
	for _, fact := range run.Status.Steps {
		if known[stepName(fact)] == fact.State {
			continue
		}
		switch fact.State {
		case v1alpha1.StepRunning:
			r.say(run, corev1.EventTypeNormal, v1alpha1.EventStepStarted, "StartStep", "step %s began", stepName(fact))
		case v1alpha1.StepSucceeded:
			r.say(run, corev1.EventTypeNormal, v1alpha1.EventStepSucceeded, "EndStep", "step %s has its result", stepName(fact))
		case v1alpha1.StepFailed:
			r.say(run, corev1.EventTypeWarning, v1alpha1.EventStepFailed, "EndStep", "step %s: %s", stepName(fact), fact.Message)
		case v1alpha1.StepStarting, v1alpha1.StepCollecting, v1alpha1.StepSkipped:
		}
	}
	for i := len(before.Status.LostClients); i < len(run.Status.LostClients); i++ {
		lost := run.Status.LostClients[i]
		r.say(run, corev1.EventTypeWarning, v1alpha1.EventClientLost, "LoseClient", "client %s/%d was lost: %s", lost.Target, lost.Client, lost.Reason)
	}
	if before.Status.EndTime == nil && run.Status.EndTime != nil {
		r.tellEnd(run)
	}
}

func (r *Reconciler) tellEnd(run *v1alpha1.BenchmarkRun) {
	if failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed); failed != nil && failed.Status == "True" {
		r.say(run, corev1.EventTypeWarning, v1alpha1.EventRunFailed, "EndRun", "%s: %s", failed.Reason, failed.Message)
	} else {
		r.say(run, corev1.EventTypeNormal, v1alpha1.EventRunComplete, "EndRun", "every phase has its result")
	}
	for _, left := range run.Status.DataLeft {
		r.say(run, corev1.EventTypeWarning, v1alpha1.EventDataLeft, "RemoveData", "%s: %s", left.Path, left.Reason)
	}
}

// maxNote is how much an event can say.
const maxNote = 1000

func (r *Reconciler) say(run runtime.Object, kind, reason, action, note string, arguments ...any) {
	for i, argument := range arguments {
		if text, ok := argument.(string); ok {
			arguments[i] = v1alpha1.Truncate(text, maxNote/len(arguments))
		}
	}
	r.events.Eventf(run, nil, kind, reason, action, note, arguments...)
}

func stepName(fact v1alpha1.StepStatus) string {
	if fact.Attempt == 1 {
		return fact.ID
	}
	return fact.ID + " (attempt " + strconv.Itoa(int(fact.Attempt)) + ")"
}
