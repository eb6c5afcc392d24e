package record

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// Begin records that the clients are being created.
func Begin(run *v1alpha1.BenchmarkRun, now time.Time) {
	run.Status.StartTime = micro(now)
	run.Status.Stage = v1alpha1.StageConnecting
	set(run, v1alpha1.ConditionComplete, metav1.ConditionFalse, v1alpha1.ReasonInProgress, "", now)
	set(run, v1alpha1.ConditionFailed, metav1.ConditionFalse, v1alpha1.ReasonInProgress, "", now)
}

// Intent records the planned start and end of a step, before any client is notified. It does not change an existing
// intent. The attempts of a run are sorted by start, and the last one is the current attempt. Intent therefore moves an
// attempt that was recorded before it started to the end.
func Intent(run *v1alpha1.BenchmarkRun, planned plan.Step, action decide.Action) {
	run.Status.Steps = slices.DeleteFunc(run.Status.Steps, func(fact v1alpha1.StepStatus) bool {
		return fact.ID == action.Attempt.Step && int(fact.Attempt) == action.Attempt.Number && fact.StartTime == nil
	})
	fact := step(run, action.Attempt)
	fact.State = v1alpha1.StepRunning
	if fact.StartTime == nil {
		fact.StartTime, fact.Deadline = micro(action.Start), micro(action.Deadline)
		fact.PlannedEndTime = micro(plannedEnd(planned, action))
		if rate := planned.Offered(); rate > 0 {
			fact.OfferedIOPS = &rate
		}
	}
	run.Status.Stage = v1alpha1.StageRunning
}

// plannedEnd returns the planned end of a step, or zero if it is not known in advance.
func plannedEnd(planned plan.Step, action decide.Action) time.Time {
	switch {
	case planned.WorkBound(), planned.Adaptive():
		return time.Time{}
	case planned.Purpose == plan.Idle:
		return action.Deadline
	}
	return action.Start.Add(planned.WarmUp + planned.Duration)
}

// Conclude records that a step has measured enough, before any client is told to stop.
func Conclude(run *v1alpha1.BenchmarkRun, action decide.Action, now time.Time) {
	fact := step(run, action.Attempt)
	if fact.ConcludedTime == nil {
		fact.ConcludedTime, fact.Conclusion = micro(now), v1alpha1.Truncate(action.Reason, maxConclusion)
	}
}

// Retry records that an attempt of a step has ended without a result, and that the next attempt begins. It also records
// the I/O that the clients reported for the failed attempt, because this I/O has spent credits.
func Retry(run *v1alpha1.BenchmarkRun, planned plan.Step, action decide.Action, clients []result.Client, now time.Time) {
	old := step(run, action.Attempt.Previous())
	old.State, old.EndTime = v1alpha1.StepFailed, micro(now)
	noteIO(old, planned.Targets, clients)
	old.Message = fmt.Sprintf("%s; repeated as attempt %d", action.Reason, action.Attempt.Number)
	step(run, action.Attempt).State = v1alpha1.StepStarting
	fit(run)
}

// Relayout adds a new attempt to each layout step that has ended on a target, and to the step that created the small
// files of the current step. It is called after the loss of a client, which may have destroyed data. The layout must be
// repeated even if the data survived, because only the client's replacement can check whether the data still exists,
// and only once it is running.
func Relayout(run *v1alpha1.BenchmarkRun, target string) {
	for i, planned := range run.Spec.Steps {
		if !phasekind.Of(planned.Kind).LaysOut && !filesInUse(run, i) || !slices.Contains(planned.Targets, target) {
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

// filesInUse reports whether the step with the given index creates small files that an unfinished step needs.
func filesInUse(run *v1alpha1.BenchmarkRun, index int) bool {
	creator := &run.Spec.Steps[index]
	if !createsFiles(creator) {
		return false
	}
	for i := index + 1; i < len(run.Spec.Steps); i++ {
		user := &run.Spec.Steps[i]
		if user.Phase != creator.Phase || !slices.Equal(user.Targets, creator.Targets) || createsFiles(user) {
			return false
		}
		if newest := newestAttempt(run, user.ID); newest == nil || newest.EndTime == nil {
			return true
		}
	}
	return false
}

// createsFiles reports whether a step creates the files of a smallFiles phase.
func createsFiles(step *v1alpha1.ResolvedStep) bool {
	return step.Overrides != nil &&
		(step.Overrides.Operation == v1alpha1.OperationCreate || step.Overrides.Operation == v1alpha1.OperationWrite)
}

// newestAttempt returns the status of a step's last attempt, or nil if there is none.
func newestAttempt(run *v1alpha1.BenchmarkRun, id string) *v1alpha1.StepStatus {
	var newest *v1alpha1.StepStatus
	for i := range run.Status.Steps {
		if fact := &run.Status.Steps[i]; fact.ID == id && (newest == nil || fact.Attempt > newest.Attempt) {
			newest = fact
		}
	}
	return newest
}

// Fail records why the run cannot complete. Only the first failure is recorded.
func Fail(run *v1alpha1.BenchmarkRun, failure decide.Failure, now time.Time) {
	if failed(run) != nil {
		return
	}
	reason, message := documented(failure)
	set(run, v1alpha1.ConditionFailed, metav1.ConditionTrue, reason, message, now)
	run.Status.Message = v1alpha1.Truncate(message, maxConditionMessage)
}

// Finishing records that the clients were instructed to remove their data and exit.
func Finishing(run *v1alpha1.BenchmarkRun, now time.Time) {
	run.Status.Stage = v1alpha1.StageFinishing
	set(run, v1alpha1.ConditionDataRemoved, metav1.ConditionUnknown, v1alpha1.ReasonInProgress, "", now)
}

// Environments records the environments of the clients, up to the API's limit. The clients of an environment beyond the
// limit are added to the client count of the first recorded environment of the same target.
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

// OtherTools warns of replacement clients that have other versions of the tools than the clients of their target had
// when the run began, for example because the operator was upgraded meanwhile.
func OtherTools(run *v1alpha1.BenchmarkRun, found []v1alpha1.Environment) {
	for i := range found {
		target, version := found[i].Target, found[i].ToolVersion
		replaced := slices.ContainsFunc(run.Status.LostClients, func(lost v1alpha1.LostClient) bool {
			return lost.Replaced && lost.Target == target
		})
		var begun []string
		for j := range run.Status.Environments {
			if e := &run.Status.Environments[j]; e.Target == target {
				begun = append(begun, e.ToolVersion)
			}
		}
		unknown := version == "" || len(begun) == 0 || slices.Contains(begun, "")
		if !replaced || unknown || slices.Contains(begun, version) {
			continue
		}
		message := fmt.Sprintf("a replacement client of target %s has %s, but the run began with %s: "+
			"figures from before and after the replacement may differ", target, version, begun[0])
		Warn(run, v1alpha1.NewWarning(v1alpha1.WarningToolVersionsDiffer, v1alpha1.PhaseSteady, message))
	}
}

// step returns the status of an attempt, and adds it to the run if necessary. The pointer is valid until the next call.
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
