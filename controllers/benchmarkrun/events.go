package benchmarkrun

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/discover"
)

// runEvent is an event about a run. It is sent once the status change that it reports is stored.
type runEvent struct {
	kind, reason string
	// action is the machine-readable name of the operator's action.
	action, note string
}

// sendEvents sends events about the changes in a status that was stored.
func (r *Reconciler) sendEvents(run, before *v1alpha1.BenchmarkRun) {
	for _, one := range runEventsOf(run, before) {
		r.sendEvent(run, one.kind, one.reason, one.action, "%s", one.note)
	}
}

// runEventsOf returns events about those changes between two statuses that matter to users. Changes with the same
// reason share an event. Otherwise, the recorder would combine their events, and keep the note of only one of them.
func runEventsOf(run, before *v1alpha1.BenchmarkRun) []runEvent {
	var all []runEvent
	add := func(kind, reason, action, note string, arguments ...any) {
		text := fmt.Sprintf(note, arguments...)
		for i := range all {
			if all[i].kind == kind && all[i].reason == reason && all[i].action == action {
				all[i].note += "; " + text
				return
			}
		}
		all = append(all, runEvent{kind, reason, action, text})
	}
	turn(run, before, add)
	if before.Status.StartTime == nil && run.Status.StartTime != nil {
		add(corev1.EventTypeNormal, v1alpha1.EventRunStarted, "BeginRun", "starting the clients of a run with %d steps", len(run.Spec.Steps))
	}
	if len(before.Status.Environments) == 0 && len(run.Status.Environments) > 0 {
		add(corev1.EventTypeNormal, v1alpha1.EventClientsReady, "Connect", "all clients are connected")
	}
	steps(run, before, add)
	for i := len(before.Status.LostClients); i < len(run.Status.LostClients); i++ {
		lost, then := run.Status.LostClients[i], ""
		if lost.Replaced {
			then = " and is being replaced"
		}
		add(corev1.EventTypeWarning, v1alpha1.EventClientLost, "LoseClient", "client %s/%d was lost%s: %s", lost.Target, lost.Client, then, lost.Reason)
	}
	for i := len(before.Status.Warnings); i < len(run.Status.Warnings); i++ {
		if warning := run.Status.Warnings[i]; warning.Type == v1alpha1.WarningVolumeInUse {
			add(corev1.EventTypeWarning, v1alpha1.EventVolumeInUse, "CheckClaims", "%s", warning.Message)
		}
	}
	if kinds := discover.Unread(run.Status.Storage); len(before.Status.Storage) == 0 && len(kinds) > 0 {
		add(corev1.EventTypeWarning, v1alpha1.EventDiscoveryDenied, "DescribeStorage",
			"the operator is not allowed to read %s, so it may miss documented limits or other users of the volumes", strings.Join(kinds, ", "))
	}
	failed, ended := isTrue(run, v1alpha1.ConditionFailed), run.Status.EndTime != nil
	if failed != nil && isTrue(before, v1alpha1.ConditionFailed) == nil && !ended {
		add(corev1.EventTypeWarning, v1alpha1.EventRunStopping, "StopRun", "%s: %s", failed.Reason, failed.Message)
	}
	if before.Status.EndTime == nil && ended {
		end(run, failed, add)
	}
	if left := refusedDeletion(run); left != nil && refusedDeletion(before) == nil {
		add(corev1.EventTypeWarning, v1alpha1.EventObjectsLeft, "DeleteObjects", "%s", left.Message)
	}
	return all
}

type adder func(kind, reason, action, note string, arguments ...any)

// turn adds an event when a run begins to wait, and another when it stops waiting.
func turn(run, before *v1alpha1.BenchmarkRun, add adder) {
	now := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionWaiting)
	waited := isTrue(before, v1alpha1.ConditionWaiting) != nil
	switch {
	case now == nil || run.Status.EndTime != nil:
	case now.Status == metav1.ConditionTrue && !waited:
		add(corev1.EventTypeNormal, v1alpha1.EventRunQueued, "QueueRun", "%s", now.Message)
	case now.Status == metav1.ConditionFalse && waited:
		add(corev1.EventTypeNormal, v1alpha1.EventRunAdmitted, "AdmitRun", "%s", now.Message)
	}
}

// steps adds events for the steps that have begun or ended.
func steps(run, before *v1alpha1.BenchmarkRun, add adder) {
	known := map[string]v1alpha1.StepState{}
	for _, fact := range before.Status.Steps {
		known[stepName(fact)] = fact.State
	}
	for _, fact := range run.Status.Steps {
		if known[stepName(fact)] == fact.State {
			continue
		}
		switch fact.State {
		case v1alpha1.StepRunning:
			add(corev1.EventTypeNormal, v1alpha1.EventStepStarted, "StartStep", "step %s started", stepName(fact))
		case v1alpha1.StepSucceeded:
			why := ""
			if fact.Conclusion != "" {
				why = ", ended early: " + fact.Conclusion
			}
			add(corev1.EventTypeNormal, v1alpha1.EventStepSucceeded, "EndStep", "step %s completed%s", stepName(fact), why)
		case v1alpha1.StepFailed:
			add(corev1.EventTypeWarning, v1alpha1.EventStepFailed, "EndStep", "step %s: %s", stepName(fact), fact.Message)
		case v1alpha1.StepStarting, v1alpha1.StepSkipped:
		}
	}
}

// end adds events about the outcome of a run that has ended.
func end(run *v1alpha1.BenchmarkRun, failed *metav1.Condition, add adder) {
	valid := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionValid)
	switch {
	case failed != nil:
		add(corev1.EventTypeWarning, v1alpha1.EventRunFailed, "EndRun", "%s: %s", failed.Reason, failed.Message)
	case valid != nil && valid.Status == metav1.ConditionFalse:
		add(corev1.EventTypeWarning, v1alpha1.EventRunInvalid, "EndRun", "all phases completed, but the results are invalid: %s: %s",
			valid.Reason, valid.Message)
	default:
		add(corev1.EventTypeNormal, v1alpha1.EventRunComplete, "EndRun", "all phases completed")
	}
	for _, left := range run.Status.DataLeft {
		add(corev1.EventTypeWarning, v1alpha1.EventDataLeft, "RemoveData", "%s: %s", left.Path, left.Reason)
	}
}

// refusedDeletion returns the condition that names objects that the API server refuses to delete, or nil.
func refusedDeletion(run *v1alpha1.BenchmarkRun) *metav1.Condition {
	return meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionObjectsDeleted)
}

// isTrue returns the condition of the given type if it is True, otherwise nil.
func isTrue(run *v1alpha1.BenchmarkRun, kind string) *metav1.Condition {
	if found := meta.FindStatusCondition(run.Status.Conditions, kind); found != nil && found.Status == metav1.ConditionTrue {
		return found
	}
	return nil
}

func (r *Reconciler) sendEvent(run runtime.Object, kind, reason, action, note string, arguments ...any) {
	r.events.Eventf(run, nil, kind, reason, action, "%s", v1alpha1.EventNote(note, arguments...))
}

func stepName(fact v1alpha1.StepStatus) string {
	if fact.Attempt == 1 {
		return fact.ID
	}
	return fact.ID + " (attempt " + strconv.Itoa(int(fact.Attempt)) + ")"
}
