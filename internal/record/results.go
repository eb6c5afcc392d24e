package record

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// Result notes what came out of a step: figures and warnings of each of its targets.
func Result(run *v1alpha1.BenchmarkRun, planned plan.Step, attempt decide.Attempt, clients []result.Client, now time.Time) {
	fact := step(run, attempt)
	fact.EndTime = micro(now)
	fact.State = v1alpha1.StepSucceeded
	for _, client := range clients {
		if client.Failure != "" || client.Stopped {
			fact.State = v1alpha1.StepFailed
		}
	}
	run.Status.Stage = v1alpha1.StageCollecting
	start, end := extent(clients)
	if start.IsZero() {
		// No client did any I/O: there is nothing to make a result of.
		fact.State = v1alpha1.StepFailed
		return
	}
	phase := phaseResult(run, planned)
	if phase.StartTime == nil {
		phase.StartTime = micro(start)
	}
	phase.EndTime = micro(end)
	for _, target := range planned.Targets {
		var own []result.Client
		for _, client := range clients {
			if client.Target == target {
				own = append(own, client)
			}
		}
		made := result.Target(planned, target, own)
		notePast(run, planned, target, &made)
		phase.Targets = append(phase.Targets, made)
	}
}

// notePast adds the warnings that only the run's history gives.
func notePast(run *v1alpha1.BenchmarkRun, planned plan.Step, target string, made *v1alpha1.TargetResult) {
	for _, lost := range run.Status.LostClients {
		if lost.Target != target || lost.Step != planned.ID {
			continue
		}
		kind, what := v1alpha1.WarningClientsMissing, "went on without it"
		if lost.Replaced {
			kind, what = v1alpha1.WarningClientReplaced, "the step was repeated with a replacement"
		}
		made.Warnings = append(made.Warnings, v1alpha1.Warning{
			Type: kind, Severity: kind.Severity(planned.Kind), Clients: []int32{lost.Client},
			Message: v1alpha1.Truncate(fmt.Sprintf("client %d was lost (%s); %s", lost.Client, lost.Reason, what), maxMessageLength),
		})
	}
}

// extent is from the first to the last measured I/O of all clients; zero where there was none.
func extent(clients []result.Client) (start, end time.Time) {
	for _, client := range clients {
		if client.IOStart.IsZero() {
			continue
		}
		if start.IsZero() || client.IOStart.Before(start) {
			start = client.IOStart
		}
		if client.IOEnd.After(end) {
			end = client.IOEnd
		}
	}
	return start, end
}

func phaseResult(run *v1alpha1.BenchmarkRun, planned plan.Step) *v1alpha1.PhaseResult {
	for i := range run.Status.Phases {
		if run.Status.Phases[i].Name == planned.Phase {
			return &run.Status.Phases[i]
		}
	}
	run.Status.Phases = append(run.Status.Phases, v1alpha1.PhaseResult{Name: planned.Phase, Kind: planned.Kind})
	return &run.Status.Phases[len(run.Status.Phases)-1]
}

// judge sets Valid by the worst warning.
func judge(run *v1alpha1.BenchmarkRun, now time.Time) {
	set(run, v1alpha1.ConditionObjectivesMet, metav1.ConditionTrue, v1alpha1.ReasonNoObjectives, "", now)
	if len(run.Status.Phases) == 0 {
		set(run, v1alpha1.ConditionValid, metav1.ConditionUnknown, v1alpha1.ReasonNoResult, "no phase has a result", now)
		return
	}
	for _, phase := range run.Status.Phases {
		for _, target := range phase.Targets {
			for _, warning := range target.Warnings {
				if warning.Severity == v1alpha1.SeverityDisqualifying {
					set(run, v1alpha1.ConditionValid, metav1.ConditionFalse, string(warning.Type),
						fmt.Sprintf("phase %s, target %s: %s", phase.Name, target.Target, warning.Message), now)
					return
				}
			}
		}
	}
	set(run, v1alpha1.ConditionValid, metav1.ConditionTrue, v1alpha1.ReasonNoDisqualifyingWarning, "", now)
}
