package drive

import (
	"errors"
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/earlystop"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/series"
)

// Clients controls the clients of a run, wherever they run.
type Clients interface {
	// Replace cleans up lost clients and connects their replacements to the conductor.
	Replace(keys []decide.ClientKey) error
	// Finish makes clients clean up and exit.
	Finish(keys []decide.ClientKey)
}

// Driver records the decisions about one run in the run's status, and sends the resulting commands to the run's
// clients.
type Driver struct {
	Plan      plan.Plan
	Conductor *conductor.Conductor
	// Shared reports whether all clients of a target mount the same volumes.
	Shared func(target string) bool
	// Observer evaluates the run's observations. It is nil if no Prometheus is configured.
	Observer Observer

	// begun is the time at which the Driver was created.
	begun   time.Time
	watcher *earlystop.Watcher
	// stopped is the most recent stop command that was sent.
	stopped  stopSent
	observer observing
}

// Outcome describes what the caller must do after an action was recorded in the run's status.
type Outcome struct {
	// Series is the series of the step whose result the action has recorded, or nil. Observed holds the observations
	// that the action has recorded. The caller stores both before it stores the status.
	Series   *series.Step
	Observed []series.Observed
	// Then, if not nil, is the function that the caller calls after it has stored the status.
	Then func() error
	// Settled is false if the next decision must be made immediately, because the status has changed.
	Settled bool
}

// NewDriver completes a Driver whose exported fields are set. The conductor must already know the clients of the run.
func NewDriver(d Driver) *Driver {
	d.begun, d.watcher = d.now(), earlystop.New(d.Conductor)
	return &d
}

func (d *Driver) now() time.Time { return d.Conductor.Reference.Now() }

// Snapshot records lost clients in the run, and returns the input for the next decision.
func (d *Driver) Snapshot(run *v1alpha1.BenchmarkRun, clients []decide.Client) (decide.Snapshot, error) {
	record.Losses(run, clients, d.now())
	snapshot, err := record.Snapshot(run, d.Plan, clients)
	if err != nil {
		return decide.Snapshot{}, err
	}
	snapshot.ConductedSince = d.begun
	snapshot.Observing = d.observing(run, &snapshot)
	snapshot.Enough = d.watcher.Look(d.Plan, snapshot, record.Baselines(run), record.Documented(run))
	return snapshot, nil
}

// Next returns the run's next action. If the run is being cancelled but the status does not record this yet, Next takes
// the current time as the time of the cancellation.
func (d *Driver) Next(snapshot decide.Snapshot) decide.Action {
	if snapshot.Cancel != nil && snapshot.EndingSince.IsZero() {
		snapshot.EndingSince = d.now()
	}
	return decide.Next(snapshot, d.now())
}

// Note records an action in the run's status. The Outcome describes what the caller must do before and after it stores
// the status.
func (d *Driver) Note(run *v1alpha1.BenchmarkRun, clients Clients, snapshot decide.Snapshot, action decide.Action) (Outcome, error) {
	if snapshot.Cancel != nil && !snapshot.Measured() {
		record.Fail(run, *snapshot.Cancel, d.now())
	}
	d.noteChecks(run)
	switch action.Kind {
	case decide.Wait, decide.Done:
		return Outcome{Settled: true}, nil
	case decide.Load:
		return d.load(run, action)
	case decide.Start:
		d.noteEnvironments(run)
		record.Intent(run, d.step(run, action), action)
		return act(func() { d.Conductor.Start(action.Attempt, action.Clients, action.Start, action.Deadline) }), nil
	case decide.Stop:
		if d.stopped.same(action) && d.now().Sub(d.stopped.at) < beat {
			// Do not send the same stop command more than once per beat: while I/O in flight completes, the same
			// decision is made thousands of times. The agents' logs will report the end of the step.
			return Outcome{Settled: true}, nil
		}
		reason := snapshot.WhyStopped()
		return act(func() {
			d.stopped = stopSent{action: action, at: d.now()}
			d.Conductor.Stop(action.Attempt, action.Clients, reason)
		}), nil
	case decide.Conclude:
		record.Conclude(run, action, d.now())
		return act(func() { d.Conductor.Stop(action.Attempt, action.Clients, action.Reason) }), nil
	case decide.RecordResult:
		step, ended := d.step(run, action), d.Conductor.Results(action.Attempt)
		record.Result(run, step, action.Attempt, ended, d.now())
		out := Outcome{Then: func() error { d.Conductor.Forget(action.Attempt); return nil }}
		// If a repeated layout found the data of an earlier attempt, keep the series of the attempt that wrote the data.
		if int(run.Status.Attempt(step.ID).Attempt) == action.Attempt.Number {
			over := record.Series(run, step, action.Attempt, ended, d.Conductor.Latencies(action.Attempt))
			out.Series = &over
		}
		return out, nil
	case decide.Retry:
		record.Retry(run, d.step(run, action), action, d.Conductor.Results(action.Attempt.Previous()), d.now())
	case decide.Replace:
		d.replace(run, action, snapshot)
		return Outcome{Then: func() error { return clients.Replace(action.Clients) }}, nil
	case decide.Observe:
		return d.observe(run, snapshot), nil
	case decide.RecordObservations:
		return d.recordObservations(run), nil
	case decide.Fail:
		record.Fail(run, *action.Failure, d.now())
	case decide.Finish:
		record.Finishing(run, d.now())
		return act(func() { clients.Finish(action.Clients) }), nil
	}
	return Outcome{}, nil
}

// noteEnvironments records the environments of the clients before the first step. Before later steps, it warns if
// replacements have different tools.
func (d *Driver) noteEnvironments(run *v1alpha1.BenchmarkRun) {
	found := d.Conductor.Environments()
	if len(run.Status.Environments) == 0 {
		record.Environments(run, found)
		return
	}
	record.OtherTools(run, found)
}

// act returns an Outcome whose Then calls the function `do`. No further decision is needed until the conductor reports
// a change.
func act(do func()) Outcome {
	return Outcome{Settled: true, Then: func() error { do(); return nil }}
}

// step returns the step that an action concerns. For a step of a search, it fills in the rate that the search offers in
// that step.
func (d *Driver) step(run *v1alpha1.BenchmarkRun, action decide.Action) plan.Step {
	return record.Offering(run, d.Plan.Step(action.Attempt.Step))
}

// load returns an Outcome that sends each of the action's clients its own request to load the step. If the requests
// cannot be created, for example because the workload is invalid, load records the failure in the run instead.
func (d *Driver) load(run *v1alpha1.BenchmarkRun, action decide.Action) (Outcome, error) {
	requests, err := d.Conductor.Requests(d.step(run, action), action.Attempt.Number, action.Clients, run.Spec.Seed, d.Shared)
	var failure *decide.Failure
	switch {
	case errors.As(err, &failure):
		record.Fail(run, *failure, d.now())
		return Outcome{}, nil
	case err != nil:
		return Outcome{}, err
	}
	return act(func() { d.Conductor.Load(action.Attempt, action.Clients, requests) }), nil
}

// replace records the replacement of lost clients. A replacement must lay out the data again, because either the lost
// client's agent removes the data when it is told to exit, or the client's claim is deleted.
func (d *Driver) replace(run *v1alpha1.BenchmarkRun, action decide.Action, snapshot decide.Snapshot) {
	for _, client := range snapshot.Clients {
		if !slices.Contains(action.Clients, client.Key) {
			continue
		}
		record.Lost(run, client, true, d.now())
		record.Relayout(run, client.Key.Target)
	}
}

// stopSent is a stop command and the time at which it was sent.
type stopSent struct {
	action decide.Action
	at     time.Time
}

func (s stopSent) same(action decide.Action) bool {
	return s.action.Attempt == action.Attempt && slices.Equal(s.action.Clients, action.Clients)
}
