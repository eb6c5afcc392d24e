package record

import (
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/observation"
	"github.com/storagebench/storagebench/internal/result"
)

// Observing determines from the status of a run whether its observations must still be evaluated, and when. interval is
// the scrape interval.
func Observing(run *v1alpha1.BenchmarkRun, interval time.Duration) decide.Observing {
	end := observation.End(run)
	if end.IsZero() || observed(run) {
		return decide.Observing{}
	}
	return decide.Observing{
		Pending: true, From: end.Add(interval), By: end.Add(observation.LateIntervals * interval), Every: interval}
}

func observed(run *v1alpha1.BenchmarkRun) bool {
	return run.Status.Observations != nil && run.Status.Observations.EvaluatedTime != nil
}

// Observe records that the run is waiting for the data of its observations, until the time `by` at the latest.
func Observe(run *v1alpha1.BenchmarkRun, by time.Time) {
	if failed(run) == nil {
		run.Status.Message = "evaluating the observations; waiting for late data until " + by.UTC().Format(time.TimeOnly) + " UTC"
	}
}

// Observations records the outcome of evaluating the observations of a run. The warnings in the outcome replace the
// warnings from the check of the queries before the first step.
func Observations(run *v1alpha1.BenchmarkRun, outcome *observation.Outcome, now time.Time) {
	if failed(run) == nil {
		run.Status.Message = ""
	}
	run.Status.Observations = &v1alpha1.Observations{EvaluatedTime: micro(now), Series: outcome.Series,
		Omitted: int32(outcome.Omitted)} //nolint:gosec // There are far fewer.
	run.Status.Warnings = slices.DeleteFunc(run.Status.Warnings, func(w v1alpha1.Warning) bool {
		return w.Type == v1alpha1.WarningObservationFailed
	})
	Warn(run, outcome.Warnings...)
	for _, credit := range outcome.Credits {
		planned := resolved(run, credit.Step)
		if found := run.Status.Result(planned.Phase, credit.Target); found != nil {
			result.ObserveCredits(found, &planned, credit.Percent, credit.Observation)
		}
	}
	fit(run)
}

// omitObservations keeps at most `most` entries of the observations in the status.
func omitObservations(most int) func(*v1alpha1.BenchmarkRunStatus) {
	return func(status *v1alpha1.BenchmarkRunStatus) {
		if o := status.Observations; o != nil && len(o.Series) > most {
			o.Omitted += int32(len(o.Series) - most) //nolint:gosec // There are far fewer.
			o.Series = slices.Clone(o.Series[:most])
		}
	}
}
