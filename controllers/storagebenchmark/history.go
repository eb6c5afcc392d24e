package storagebenchmark

import (
	"cmp"
	"slices"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// beyondHistoryLimit returns the oldest ended runs beyond the limits. Runs that the status names, such as the newest
// evaluated run, count towards the limits but are kept.
func beyondHistoryLimit(obs observation) []*v1alpha1.BenchmarkRun {
	status := &obs.benchmark.Status
	var complete, failed []*v1alpha1.BenchmarkRun
	for i := range obs.runs {
		run := &obs.runs[i]
		switch {
		case !ended(run) || !run.DeletionTimestamp.IsZero():
		case isTrue(run.Status.Conditions, v1alpha1.ConditionComplete):
			complete = append(complete, run)
		default:
			failed = append(failed, run)
		}
	}
	keptComplete, keptFailed := obs.benchmark.Spec.HistoryLimits()
	var prune []*v1alpha1.BenchmarkRun
	for _, kind := range []struct {
		runs  []*v1alpha1.BenchmarkRun
		limit int
	}{{complete, keptComplete}, {failed, keptFailed}} {
		slices.SortFunc(kind.runs, newestFirst)
		for _, run := range kind.runs[min(kind.limit, len(kind.runs)):] {
			if !named(status, run) {
				prune = append(prune, run)
			}
		}
	}
	return prune
}

// named reports whether the status refers to the run.
func named(status *v1alpha1.StorageBenchmarkStatus, run *v1alpha1.BenchmarkRun) bool {
	return status.LastRun != nil && status.LastRun.Name == run.Name ||
		status.ActiveRun != nil && status.ActiveRun.Name == run.Name
}

// newestFirst compares runs by their end or, if one has no end time, by their creation.
func newestFirst(a, b *v1alpha1.BenchmarkRun) int {
	if a.Status.EndTime != nil && b.Status.EndTime != nil {
		if order := b.Status.EndTime.Compare(a.Status.EndTime.Time); order != 0 {
			return order
		}
	}
	return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}
