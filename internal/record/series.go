package record

import (
	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
	"github.com/storagebench/storagebench/internal/series"
)

// Series returns the figures of a step's targets over time, computed from the same clients as the result of the step.
// These time series are too large for the run's status. minutes holds the latencies of each target by minute; see
// conductor.Latencies.
func Series(run *v1alpha1.BenchmarkRun, planned plan.Step, attempt decide.Attempt, clients []result.Client, minutes map[string][]series.Minute) series.Step {
	made := series.Step{ID: planned.ID, Attempt: attempt.Number}
	if planned.Purpose == plan.Idle {
		return made
	}
	demands := plan.NewDemandModel(&run.Spec.Run)
	for _, target := range planned.Targets {
		p := contributionOf(run, planned, attempt, target, clients)
		one := result.OverTime(planned, target, p.clients, historyOf(run, demands, planned, attempt, target, p.present(planned)))
		one.Minutes = minutes[target]
		made.Targets = append(made.Targets, one)
	}
	return made
}
