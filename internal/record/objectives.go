package record

import (
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objective"
)

// judgeObjectives records a verdict on each objective of the run, and an overall verdict.
func judgeObjectives(run *v1alpha1.BenchmarkRun, now time.Time) {
	run.Status.Objectives = nil
	if len(run.Spec.Objectives) > 0 {
		run.Status.Objectives = objective.Evaluate(run.Spec.Objectives, &run.Spec, &run.Status)
	}
	status, reason, message := objective.Condition(run.Status.Objectives)
	set(run, v1alpha1.ConditionObjectivesMet, status, reason, message, now)
}

// shortenObjectives shortens the messages of objectives and keeps their figures.
func shortenObjectives(length int) func(*v1alpha1.BenchmarkRunStatus) {
	return func(status *v1alpha1.BenchmarkRunStatus) {
		for i := range status.Objectives {
			status.Objectives[i].Message = v1alpha1.Truncate(status.Objectives[i].Message, length)
		}
	}
}

// dropHistograms drops the latency histograms and keeps the percentiles. Interference levels lose their percentiles
// too, because without a histogram the latencies of later blocks cannot be added to them.
func dropHistograms(status *v1alpha1.BenchmarkRunStatus) {
	eachTarget(status, func(target *v1alpha1.TargetResult) {
		for i := range target.Operations {
			if latency := target.Operations[i].Latency; latency != nil {
				latency.Histogram = nil
			}
		}
		if target.Interference == nil {
			return
		}
		for i := range target.Interference.Levels {
			operations := target.Interference.Levels[i].Operations
			for j := range operations {
				if o := &operations[j]; o.Histogram != nil {
					o.Histogram, o.P50Nanoseconds, o.P99Nanoseconds = nil, nil, nil
				}
			}
		}
	})
}
