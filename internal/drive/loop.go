package drive

import (
	"context"
	"fmt"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
)

const (
	// beat is the longest interval between two decisions if the conductor reports no change.
	beat = time.Second
	// liveEvery is the interval at which the running step's live figures are written to the status.
	liveEvery = 500 * time.Millisecond
)

// Options configures a Loop.
type Options struct {
	*Driver
	Run     *v1alpha1.BenchmarkRun
	Clients Clients
	// Storage, if not nil, is called before the first step starts. It records the documented properties of the run's
	// storage in the run.
	Storage func() error
	// Store saves the run's status, after an action has changed it and before the action has any other effect. The series
	// in the outcome is saved first. An error ends the loop.
	Store func(decide.Action, Outcome) error
	// Observe is called with the run's progress after each action. It may be nil.
	Observe func(Progress)
}

// Progress is the current state of a run.
type Progress struct {
	Run *v1alpha1.BenchmarkRun
	// Live holds the running step's live figures, or nil if no step runs.
	Live *Live
}

// Live describes the running step.
type Live struct {
	Step    plan.Step
	Elapsed time.Duration
	// BytesPerSecond and IOPS are sums over all clients for the latest whole second.
	BytesPerSecond, IOPS float64
	// Clients is the number of running clients.
	Clients int
}

// Loop conducts one run.
type Loop struct {
	Options
	cancelled *decide.Failure
	// liveWrittenAt is the time at which the live figures were last written to the status.
	liveWrittenAt time.Time
}

// New returns a Loop for a run whose start was recorded by record.Begin. An earlier Loop may already have conducted
// part of the run.
func New(options Options) *Loop {
	return &Loop{Options: options}
}

// Until decides and acts until nothing is left to do. If ctx is canceled, it stops the load. The run then fails, but
// keeps its results so far.
func (l *Loop) Until(ctx context.Context) error {
	for {
		if ctx.Err() != nil && l.cancelled == nil {
			l.cancelled = &decide.Failure{Reason: v1alpha1.ReasonStopped, Message: context.Cause(ctx).Error()}
		}
		snapshot, err := l.Snapshot(l.Run, l.Conductor.Clients())
		if err != nil {
			return err
		}
		snapshot.Cancel = l.cancelled
		action := l.Next(snapshot)
		if action.Kind == decide.Start && l.Storage != nil {
			l.noteEnvironments(l.Run) // l.Storage reads the mounts from the recorded environments
			if err := l.Storage(); err != nil {
				return fmt.Errorf("record the documented limits of the storage: %w", err)
			}
		}
		out, err := l.Note(l.Run, l.Clients, snapshot, action)
		if err != nil {
			return err
		}
		if err := l.Store(action, out); err != nil {
			return err
		}
		if out.Then != nil {
			if err := out.Then(); err != nil {
				return err
			}
		}
		l.observe(snapshot)
		if action.Kind == decide.Done {
			return nil
		}
		if out.Settled {
			l.wait(ctx, action.Until)
		}
	}
}

// wait waits until the conductor reports a change, the run is cancelled, or beat has passed, because another decision
// may then be due. If latest is not zero, wait returns no later than that time.
func (l *Loop) wait(ctx context.Context, latest time.Time) {
	stopped := ctx.Done()
	if l.cancelled != nil {
		stopped = nil
	}
	longest := beat
	if !latest.IsZero() {
		longest = max(0, min(beat, latest.Sub(l.now())))
	}
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-l.Conductor.Changed():
	case <-timer.C:
	case <-stopped:
	}
}

// observe writes the running step's live figures to the status, and reports the run's progress.
func (l *Loop) observe(snapshot decide.Snapshot) {
	progress := Progress{Run: l.Run}
	for _, fact := range l.Run.Status.Steps {
		if fact.State != v1alpha1.StepRunning || fact.EndTime != nil || fact.StartTime == nil {
			continue
		}
		attempt := decide.Attempt{Step: fact.ID, Number: int(fact.Attempt)}
		live := &Live{Step: l.Plan.Step(fact.ID), Elapsed: l.now().Sub(fact.StartTime.Time)}
		for _, client := range snapshot.Clients {
			if client.Attempts[attempt].Progress == decide.Running {
				live.Clients++
			}
		}
		live.BytesPerSecond, live.IOPS = l.Conductor.Rate(attempt)
		progress.Live = live
		if now := l.now(); now.Sub(l.liveWrittenAt) >= liveEvery {
			l.liveWrittenAt = now
			record.Live(l.Run, live.Step, attempt, l.Conductor.Doing(attempt), now)
		}
	}
	if l.Observe != nil {
		l.Observe(progress)
	}
}
