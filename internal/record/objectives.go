package record

import (
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objective"
)

// judgeObjectives notes the verdict on each objective that the run was made with, and on all.
func judgeObjectives(run *v1alpha1.BenchmarkRun, now time.Time) {
	run.Status.Objectives = nil
	if len(run.Spec.Objectives) > 0 {
		run.Status.Objectives = objective.Evaluate(run.Spec.Objectives, &run.Spec, &run.Status)
	}
	status, reason, message := objective.Condition(run.Status.Objectives)
	set(run, v1alpha1.ConditionObjectivesMet, status, reason, message, now)
}

// shortenObjectives leaves the figures of objectives and less of what is said of them.
func shortenObjectives(length int) func(*v1alpha1.BenchmarkRunStatus) {
	return func(status *v1alpha1.BenchmarkRunStatus) {
		for i := range status.Objectives {
			status.Objectives[i].Message = v1alpha1.Truncate(status.Objectives[i].Message, length)
		}
	}
}

// dropHistograms forgets distributions: the usual percentiles stay.
func dropHistograms(status *v1alpha1.BenchmarkRunStatus) {
	eachTarget(status, func(target *v1alpha1.TargetResult) {
		for i := range target.Operations {
			if latency := target.Operations[i].Latency; latency != nil {
				latency.Histogram = nil
			}
		}
	})
}
