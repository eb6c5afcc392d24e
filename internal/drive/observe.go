package drive

import (
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/observation"
	"github.com/storagebench/storagebench/internal/record"
)

// Observer evaluates the observations of a run.
type Observer interface {
	// Interval returns the scrape interval.
	Interval() time.Duration
	// Ask starts evaluating queries in the background. It discards queries that were passed to earlier calls.
	Ask([]observation.Query)
	// Answers returns the answers to the latest queries, once they are complete.
	Answers() (answers []observation.Answer, ended bool)
}

// observing is the state of the evaluation that this process has started. The state is not stored: another process that
// continues the run starts its own evaluation.
type observing struct {
	// checked is true if this process has started a check of the queries, which happens before the first step.
	checked bool
	// begun is the start of the newest evaluation of the observations, or zero if there has been none.
	begun   time.Time
	outcome *observation.Outcome
}

// observing returns the progress of evaluating the run's observations. Before the first step, it asks the Prometheus
// server to check the queries.
func (d *Driver) observing(run *v1alpha1.BenchmarkRun, snapshot *decide.Snapshot) decide.Observing {
	if d.Observer == nil || len(run.Spec.Run.Observations) == 0 {
		return decide.Observing{}
	}
	if !d.observer.checked && len(run.Status.Steps) == 0 {
		d.observer.checked = true
		d.Observer.Ask(observation.Checks(&run.Spec.Run, d.now()))
	}
	if snapshot.FinishSent.IsZero() && slices.ContainsFunc(snapshot.Clients, func(c decide.Client) bool {
		return c.Connection != decide.Lost && c.Connection != decide.Finished
	}) {
		return decide.Observing{} // clients are still active, so no evaluation is due yet
	}
	state := record.Observing(run, d.Observer.Interval())
	if !state.Pending || d.observer.begun.IsZero() {
		return state
	}
	state.Begun = d.observer.begun
	if answers, ended := d.Observer.Answers(); ended && d.observer.outcome == nil {
		outcome := observation.Evaluate(run, answers, d.Observer.Interval())
		d.observer.outcome = &outcome
	}
	if d.observer.outcome != nil {
		state.Ended, state.Complete = true, d.observer.outcome.Complete
	}
	return state
}

// noteChecks records a warning for each query that the Prometheus server rejects, or a single warning if no Prometheus
// is configured.
func (d *Driver) noteChecks(run *v1alpha1.BenchmarkRun) {
	switch {
	case len(run.Spec.Run.Observations) == 0:
	case d.Observer == nil:
		record.Warn(run, observation.Unasked("no Prometheus is configured: set --prometheus-url of the operator, or --prometheus of a local run"))
	case d.observer.checked && d.observer.begun.IsZero(): // these answers come from the check of the queries
		if answers, ended := d.Observer.Answers(); ended {
			record.Warn(run, observation.Refused(&run.Spec.Run, answers)...)
		}
	}
}

// observe starts an evaluation of the run's observations once the status is stored.
func (d *Driver) observe(run *v1alpha1.BenchmarkRun, snapshot decide.Snapshot) Outcome {
	record.Observe(run, snapshot.Observing.By)
	queries := observation.Queries(run, d.Observer.Interval())
	return act(func() {
		d.observer = observing{checked: true, begun: d.now()}
		d.Observer.Ask(queries)
	})
}

// recordObservations records the outcome of the newest evaluation of the run's observations.
func (d *Driver) recordObservations(run *v1alpha1.BenchmarkRun) Outcome {
	outcome := d.observer.outcome
	if outcome == nil {
		outcome = &observation.Outcome{Warnings: []v1alpha1.Warning{observation.Unasked("Prometheus did not answer in time")}}
	}
	d.observer.outcome = nil // Free the memory of the evaluation's outcome.
	record.Observations(run, outcome, d.now())
	return Outcome{Observed: outcome.Over}
}
