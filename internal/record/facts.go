package record

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
)

// Begin notes that clients are being made.
func Begin(run *v1alpha1.BenchmarkRun, now time.Time) {
	run.Status.StartTime = micro(now)
	run.Status.Stage = v1alpha1.StageMeeting
	set(run, v1alpha1.ConditionComplete, metav1.ConditionFalse, v1alpha1.ReasonInProgress, "", now)
	set(run, v1alpha1.ConditionFailed, metav1.ConditionFalse, v1alpha1.ReasonInProgress, "", now)
}

// Intent notes when a step is to start and to end, before anybody is told. An intent that is there
// already stays as it is.
func Intent(run *v1alpha1.BenchmarkRun, planned plan.Step, action decide.Action) {
	fact := step(run, action.Attempt)
	fact.State = v1alpha1.StepRunning
	if fact.StartTime == nil {
		fact.StartTime, fact.Deadline = micro(action.Start), micro(action.Deadline)
		fact.PlannedEndTime = micro(plannedEnd(planned, action))
	}
	run.Status.Stage = v1alpha1.StageRunning
}

// plannedEnd is when a step is to end; zero where that is not known before.
func plannedEnd(planned plan.Step, action decide.Action) time.Time {
	switch {
	case planned.WorkBound(), planned.Adaptive():
		return time.Time{}
	case planned.Purpose == plan.Idle:
		return action.Deadline
	}
	return action.Start.Add(planned.WarmUp + planned.Duration)
}

// Conclude notes that enough was measured, before anybody is told to stop.
func Conclude(run *v1alpha1.BenchmarkRun, action decide.Action, now time.Time) {
	fact := step(run, action.Attempt)
	if fact.ConcludedTime == nil {
		fact.ConcludedTime, fact.Conclusion = micro(now), v1alpha1.Truncate(action.Reason, maxConclusion)
	}
}

// Retry notes that an attempt is over without a result and the next one begins.
func Retry(run *v1alpha1.BenchmarkRun, action decide.Action, now time.Time) {
	old := step(run, decide.Attempt{Step: action.Attempt.Step, Number: action.Attempt.Number - 1})
	old.State, old.EndTime = v1alpha1.StepFailed, micro(now)
	why := "a client was lost"
	if len(action.Clients) == 0 {
		why = "not all clients began at the same time, since they were not all told in time"
	}
	old.Message = fmt.Sprintf("%s; tried again as attempt %d", why, action.Attempt.Number)
	step(run, action.Attempt).State = v1alpha1.StepStarting
	fit(run)
}

// Relayout notes that what the phases so far have laid out on a target may be gone with a client that
// was lost: each step that did so is to be done once more. A layout that is as it was is laid out
// again all the same, because nobody can tell before a replacement is there.
func Relayout(run *v1alpha1.BenchmarkRun, target string) {
	for _, planned := range run.Spec.Steps {
		if planned.Kind != v1alpha1.PhasePrepare || !slices.Contains(planned.Targets, target) {
			continue
		}
		newest := newestAttempt(run, planned.ID)
		if newest == nil || newest.EndTime == nil {
			continue
		}
		step(run, decide.Attempt{Step: planned.ID, Number: int(newest.Attempt) + 1}).State = v1alpha1.StepStarting
	}
	fit(run)
}

// newestAttempt is the facts of the last try at a step; nil when it was never begun.
func newestAttempt(run *v1alpha1.BenchmarkRun, id string) *v1alpha1.StepStatus {
	var newest *v1alpha1.StepStatus
	for i := range run.Status.Steps {
		if fact := &run.Status.Steps[i]; fact.ID == id && (newest == nil || fact.Attempt > newest.Attempt) {
			newest = fact
		}
	}
	return newest
}

// Fail notes the first reason why the run cannot be completed.
func Fail(run *v1alpha1.BenchmarkRun, failure decide.Failure, now time.Time) {
	if failed(run) != nil {
		return
	}
	reason, message := documented(failure)
	set(run, v1alpha1.ConditionFailed, metav1.ConditionTrue, reason, message, now)
	run.Status.Message = v1alpha1.Truncate(message, maxConditionMessage)
}

// Finishing notes that the clients were told to tidy up.
func Finishing(run *v1alpha1.BenchmarkRun, now time.Time) {
	run.Status.Stage = v1alpha1.StageFinishing
	set(run, v1alpha1.ConditionDataRemoved, metav1.ConditionUnknown, v1alpha1.ReasonInProgress, "", now)
}

// Environments notes what the clients run on: at most as many entries as the API holds, what is over
// is counted with an entry of the same target.
func Environments(run *v1alpha1.BenchmarkRun, found []v1alpha1.Environment) {
	run.Status.Environments = nil
	for _, one := range found {
		bound(&one)
		if len(run.Status.Environments) < maxEnvironments {
			run.Status.Environments = append(run.Status.Environments, one)
			continue
		}
		for i := range run.Status.Environments {
			if run.Status.Environments[i].Target == one.Target {
				run.Status.Environments[i].Clients += one.Clients
				break
			}
		}
	}
	fit(run)
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
