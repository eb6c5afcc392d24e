package record

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/observation"
	"github.com/storagebench/storagebench/internal/trend"
)

// Finished records the end of the run and the state of its data, and evaluates the run.
func Finished(run *v1alpha1.BenchmarkRun, left []v1alpha1.DataLeft, now time.Time) {
	run.Status.EndTime = micro(now)
	run.Status.Live = nil
	removed(run, left, now)
	if step := unfinished(run); step != "" && failed(run) == nil {
		Fail(run, decide.Failure{Reason: v1alpha1.ReasonInternalError,
			Message: "the run ended before step " + step + " had a result"}, now)
	}
	judge(run, now)
	if why := failed(run); why != nil {
		run.Status.Stage = v1alpha1.StageFailed
		set(run, v1alpha1.ConditionComplete, metav1.ConditionFalse, why.Reason, "", now)
	} else {
		run.Status.Stage = v1alpha1.StageComplete
		set(run, v1alpha1.ConditionComplete, metav1.ConditionTrue, v1alpha1.ReasonAllPhasesDone, "", now)
		set(run, v1alpha1.ConditionFailed, metav1.ConditionFalse, v1alpha1.ReasonAllPhasesDone, "", now)
	}
	fit(run)
}

// Interrupted records the end of a run whose conductor died. The run has failed for the given reason, unless every step
// has a result: in that case, the conductor only had to remove the data and to evaluate the observations.
func Interrupted(run *v1alpha1.BenchmarkRun, why decide.Failure, left []v1alpha1.DataLeft, now time.Time) {
	switch {
	case unfinished(run) != "":
		Fail(run, why, now)
	case len(run.Spec.Run.Observations) > 0 && !observed(run):
		Warn(run, observation.Unasked(why.Message))
	}
	Finished(run, left, now)
}

// unfinished returns the ID of the first step whose newest attempt has no result, or "" if all steps have results.
func unfinished(run *v1alpha1.BenchmarkRun) string {
	for _, planned := range run.Spec.Steps {
		if newest := newestAttempt(run, planned.ID); newest == nil || newest.EndTime == nil {
			return planned.ID
		}
	}
	return ""
}

// removed records whether the data was removed, and which data remains.
func removed(run *v1alpha1.BenchmarkRun, left []v1alpha1.DataLeft, now time.Time) {
	run.Status.DataLeft = nil
	for _, one := range left[:min(len(left), maxDataLeft)] {
		one.Path = v1alpha1.Truncate(one.Path, maxPath)
		one.Reason = v1alpha1.Truncate(one.Reason, maxReason)
		run.Status.DataLeft = append(run.Status.DataLeft, one)
	}
	var kept []string
	for _, target := range run.Spec.Run.Targets {
		if target.DataPolicy == v1alpha1.DataRetain {
			kept = append(kept, target.Name)
		}
	}
	switch {
	case len(left) > 0:
		set(run, v1alpha1.ConditionDataRemoved, metav1.ConditionFalse, v1alpha1.ReasonRemovalFailed,
			fmt.Sprintf("data could not be removed from %s; the first: %s: %s", places(len(left)), left[0].Path, left[0].Reason), now)
	case len(kept) > 0 && len(kept) == len(run.Spec.Run.Targets):
		set(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue, v1alpha1.ReasonRetained, "", now)
	case len(kept) > 0:
		set(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue, v1alpha1.ReasonRemoved,
			"kept because of dataPolicy Retain: "+strings.Join(kept, ", "), now)
	default:
		set(run, v1alpha1.ConditionDataRemoved, metav1.ConditionTrue, v1alpha1.ReasonRemoved, "", now)
	}
}

// ObjectsLeft records why objects of a run that has ended still exist. An empty message means that none is left.
func ObjectsLeft(run *v1alpha1.BenchmarkRun, message string, now time.Time) {
	if message == "" {
		meta.RemoveStatusCondition(&run.Status.Conditions, v1alpha1.ConditionObjectsDeleted)
		return
	}
	set(run, v1alpha1.ConditionObjectsDeleted, metav1.ConditionFalse, v1alpha1.ReasonDeletionRefused, message, now)
}

// places returns the number of directories and raw devices in words, such as "2 places".
func places(count int) string {
	if count == 1 {
		return "1 place"
	}
	return fmt.Sprintf("%d places", count)
}

// judge sets the ObjectivesMet condition from the verdicts on the objectives. It sets the Valid condition from the
// first disqualifying warning or, if there is none, from the first step without a result.
func judge(run *v1alpha1.BenchmarkRun, now time.Time) {
	judgeObjectives(run, now)
	run.Status.Comparable = trend.Compare(run)
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
	for _, fact := range run.Status.Steps {
		// A failed step has no result and therefore no warnings, but a run with such a step must not count as valid.
		if fact.State == v1alpha1.StepFailed && !repeated(run, fact) && failed(run) == nil {
			set(run, v1alpha1.ConditionValid, metav1.ConditionFalse, string(v1alpha1.WarningResultIncomplete),
				fmt.Sprintf("step %s: %s", fact.ID, fact.Message), now)
			return
		}
	}
	set(run, v1alpha1.ConditionValid, metav1.ConditionTrue, v1alpha1.ReasonNoDisqualifyingWarning, "", now)
}

func repeated(run *v1alpha1.BenchmarkRun, fact v1alpha1.StepStatus) bool {
	return slices.ContainsFunc(run.Status.Steps, func(other v1alpha1.StepStatus) bool {
		return other.ID == fact.ID && other.Attempt > fact.Attempt
	})
}
