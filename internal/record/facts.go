package record

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
)

// maxMessageLength is the API's limit for messages of conditions and steps.
const maxMessageLength = 1024

// Begin notes that clients are being made.
func Begin(run *v1alpha1.BenchmarkRun, now time.Time) {
	run.Status.StartTime = micro(now)
	run.Status.Stage = v1alpha1.StageMeeting
	set(run, v1alpha1.ConditionComplete, metav1.ConditionFalse, v1alpha1.ReasonInProgress, "", now)
	set(run, v1alpha1.ConditionFailed, metav1.ConditionFalse, v1alpha1.ReasonInProgress, "", now)
}

// Intent notes when a step is to start and to end, before anybody is told.
func Intent(run *v1alpha1.BenchmarkRun, action decide.Action) {
	fact := step(run, action.Attempt)
	fact.State = v1alpha1.StepRunning
	if fact.StartTime == nil {
		fact.StartTime, fact.Deadline = micro(action.Start), micro(action.Deadline)
	}
	run.Status.Stage = v1alpha1.StageRunning
}

// Retry notes that an attempt is over without a result and the next one begins.
func Retry(run *v1alpha1.BenchmarkRun, action decide.Action, now time.Time) {
	old := step(run, decide.Attempt{Step: action.Attempt.Step, Number: action.Attempt.Number - 1})
	old.State, old.EndTime = v1alpha1.StepFailed, micro(now)
	old.Message = fmt.Sprintf("a client was lost; tried again as attempt %d", action.Attempt.Number)
	step(run, action.Attempt).State = v1alpha1.StepStarting
}

// Lost notes the loss of a client.
func Lost(run *v1alpha1.BenchmarkRun, client decide.Client, replaced bool, now time.Time) {
	lost := v1alpha1.LostClient{
		Target:   client.Key.Target,
		Client:   int32(client.Key.Index), //nolint:gosec // The API allows far fewer clients.
		Time:     micro(now),
		Reason:   v1alpha1.Truncate(client.Message, maxMessageLength),
		Replaced: replaced,
	}
	for _, fact := range run.Status.Steps {
		if fact.EndTime == nil {
			lost.Step = fact.ID
		}
	}
	run.Status.LostClients = append(run.Status.LostClients, lost)
}

// Fail notes the first reason why the run cannot be completed.
func Fail(run *v1alpha1.BenchmarkRun, failure decide.Failure, now time.Time) {
	if failed := condition(run, v1alpha1.ConditionFailed); failed != nil && failed.Status == metav1.ConditionTrue {
		return
	}
	set(run, v1alpha1.ConditionFailed, metav1.ConditionTrue, failure.Reason, failure.Message, now)
	run.Status.Message = v1alpha1.Truncate(failure.Message, maxMessageLength)
}

// Finishing notes that the clients were told to tidy up.
func Finishing(run *v1alpha1.BenchmarkRun, now time.Time) {
	run.Status.Stage = v1alpha1.StageFinishing
	set(run, v1alpha1.ConditionDataRemoved, metav1.ConditionUnknown, v1alpha1.ReasonInProgress, "", now)
}

// Finished notes what became of the data, and judges the run.
func Finished(run *v1alpha1.BenchmarkRun, left []v1alpha1.DataLeft, now time.Time) {
	run.Status.DataLeft = left
	run.Status.EndTime = micro(now)
	switch {
	case len(left) > 0:
		set(run, v1alpha1.ConditionDataRemoved, metav1.ConditionFalse, v1alpha1.ReasonRemovalFailed,
			fmt.Sprintf("%d directories are left, the first: %s: %s", len(left), left[0].Path, left[0].Reason), now)
	case retained(run):
		set(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue, v1alpha1.ReasonRetained, "", now)
	default:
		set(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue, v1alpha1.ReasonRemoved, "", now)
	}
	judge(run, now)
	if failed := condition(run, v1alpha1.ConditionFailed); failed != nil && failed.Status == metav1.ConditionTrue {
		run.Status.Stage = v1alpha1.StageFailed
		set(run, v1alpha1.ConditionComplete, metav1.ConditionFalse, failed.Reason, "", now)
		return
	}
	run.Status.Stage = v1alpha1.StageComplete
	set(run, v1alpha1.ConditionComplete, metav1.ConditionTrue, v1alpha1.ReasonAllPhasesDone, "", now)
	set(run, v1alpha1.ConditionFailed, metav1.ConditionFalse, v1alpha1.ReasonAllPhasesDone, "", now)
}

func retained(run *v1alpha1.BenchmarkRun) bool {
	for _, target := range run.Spec.Run.Targets {
		if target.DataPolicy != v1alpha1.DataRetain {
			return false
		}
	}
	return true
}

// step finds or adds the facts of an attempt. The pointer is good until the next call.
func step(run *v1alpha1.BenchmarkRun, attempt decide.Attempt) *v1alpha1.StepStatus {
	for i := range run.Status.Steps {
		if fact := &run.Status.Steps[i]; fact.ID == attempt.Step && int(fact.Attempt) == attempt.Number {
			return fact
		}
	}
	run.Status.Steps = append(run.Status.Steps, v1alpha1.StepStatus{
		ID: attempt.Step, Attempt: int32(attempt.Number), State: v1alpha1.StepStarting}) //nolint:gosec // Attempts are few.
	return &run.Status.Steps[len(run.Status.Steps)-1]
}

func condition(run *v1alpha1.BenchmarkRun, kind string) *metav1.Condition {
	return meta.FindStatusCondition(run.Status.Conditions, kind)
}

func set(run *v1alpha1.BenchmarkRun, kind string, status metav1.ConditionStatus, reason, message string, now time.Time) {
	meta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{
		Type:               kind,
		Status:             status,
		Reason:             reason,
		Message:            v1alpha1.Truncate(message, maxMessageLength),
		LastTransitionTime: metav1.Time{Time: now.Round(0).UTC()},
	})
}
