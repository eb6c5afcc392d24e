package observation

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// maxEvaluations is the maximum number of points of a query; Prometheus refuses more than 11,000.
const maxEvaluations = 10_000

// Query asks Prometheus to evaluate one observation over the time of one step.
type Query struct {
	// Observation is the index of the observation in spec.run.observations.
	Observation int
	Expression  string
	// Step is empty for a query that only checks that the expression can be evaluated.
	Step string
	// Start and End are the times of the first and the last I/O of the step. Measured is the start of its measured
	// time.
	Start, Measured, End time.Time
	// Resolution is the interval between two evaluations. It divides the time from Start to End evenly, except for
	// rounding to milliseconds.
	Resolution time.Duration
}

// Evaluations returns how many times Prometheus evaluates the query.
func (q *Query) Evaluations() int {
	if q.Resolution <= 0 {
		return 1
	}
	return int(q.End.Sub(q.Start)/q.Resolution) + 1
}

// Checks returns one query per observation. The answers show, before any load starts, whether Prometheus can evaluate
// the observations.
func Checks(run *v1alpha1.RunSpec, now time.Time) []Query {
	var all []Query
	for i := range run.Observations {
		all = append(all, Query{Observation: i, Expression: run.Observations[i].Query, Start: now, Measured: now, End: now})
	}
	return all
}

// Queries returns the queries for all recorded steps of a run, in the order of the plan. interval is the scrape
// interval.
func Queries(run *v1alpha1.BenchmarkRun, interval time.Duration) []Query {
	var all []Query
	for i := range run.Spec.Steps {
		planned := &run.Spec.Steps[i]
		w, ok := windowOf(run.Status.Attempt(planned.ID), planned)
		if !ok {
			continue
		}
		for j := range run.Spec.Run.Observations {
			o := &run.Spec.Run.Observations[j]
			if len(o.Phases) > 0 && !slices.Contains(o.Phases, planned.Phase) {
				continue
			}
			w.Observation, w.Expression, w.Resolution = j, o.Query, resolution(w.End.Sub(w.Start), interval)
			all = append(all, w)
		}
	}
	return all
}

// LateIntervals is the number of scrape intervals that a run waits for late data after its last step.
const LateIntervals = 5

// End returns the end of the last recorded step for which the run has an observation, or the zero time if there is no
// such step.
func End(run *v1alpha1.BenchmarkRun) time.Time {
	var last time.Time
	for _, q := range Queries(run, time.Second) {
		if q.End.After(last) {
			last = q.End
		}
	}
	return last
}

// windowOf returns a query for the time from the first to the last I/O of a step's attempt. For an idle step, which
// does no I/O, it returns a query for the whole pause.
func windowOf(fact *v1alpha1.StepStatus, planned *v1alpha1.ResolvedStep) (Query, bool) {
	if fact == nil || fact.EndTime == nil {
		return Query{}, false
	}
	start, measured, end := fact.FirstIOTime, fact.MeasuredTime, fact.LastIOTime
	if planned.Purpose == v1alpha1.StepIdle {
		start, measured, end = fact.StartTime, fact.StartTime, fact.EndTime
	}
	if start == nil || end == nil || !end.After(start.Time) {
		return Query{}, false
	}
	// Round all times to milliseconds, which is the precision of timestamps in Prometheus.
	w := Query{Step: planned.ID, Start: ceil(start), Measured: ceil(start), End: end.Truncate(time.Millisecond)}
	if measured != nil && measured.After(start.Time) && measured.Before(end) {
		w.Measured = ceil(measured)
	}
	return w, !w.End.Before(w.Start)
}

func ceil(t *metav1.MicroTime) time.Time {
	return t.Add(time.Millisecond - 1).Truncate(time.Millisecond)
}

// resolution returns the interval at which to evaluate a query that covers the given length of time. It divides the
// length into equal parts: as few as possible without exceeding one scrape interval each, but never more than
// maxEvaluations. The result is rounded down to whole milliseconds, which adds less than 0.1 % more evaluations if the
// interval is a second or more.
func resolution(length, interval time.Duration) time.Duration {
	count := min(max((length+interval-1)/interval, 1), maxEvaluations)
	return max((length / count).Truncate(time.Millisecond), time.Millisecond)
}
