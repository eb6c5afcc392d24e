package drive

import (
	"context"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/earlystop"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/series"
)

const (
	// beat is how often decisions are made again when nothing happens.
	beat = time.Second
	// liveEvery is how often the status says what the running step does at present.
	liveEvery = 500 * time.Millisecond
)

// Clients are the clients of a run, wherever they live.
type Clients interface {
	// Replace ends what is left of lost clients and connects their successors to the conductor.
	Replace(keys []decide.ClientKey) error
	// Finish has clients tidy up and leave.
	Finish(keys []decide.ClientKey)
}

// Options are what a Loop works on.
type Options struct {
	Run       *v1alpha1.BenchmarkRun
	Plan      plan.Plan
	Conductor *conductor.Conductor
	Clients   Clients
	// Shared says of a target whether all of its clients work in one directory.
	Shared func(target string) bool
	// DataGoes says that the data of a lost client goes with it, so that its successor lays it out again.
	DataGoes bool
	// Storage notes in the run what is documented of its storage, before the first start. May be nil.
	Storage func() error
	// Store keeps the facts of the run as an action has left them, and before them the series of a step that has just
	// ended; that is nil at other times. It is called before what the action does outside. An error ends the loop.
	Store func(decide.Action, *series.Step) error
	// Observe is called after each decision; may be nil.
	Observe func(Progress)
}

// Progress is a run as it stands.
type Progress struct {
	Run *v1alpha1.BenchmarkRun
	// Live is what the running step does at present; nil when none runs.
	Live *Live
}

// Live is the running step.
type Live struct {
	Step    plan.Step
	Elapsed time.Duration
	// BytesPerSecond and IOPS over all clients, of the newest whole second.
	BytesPerSecond, IOPS float64
	// Clients that run.
	Clients int
}

// Loop conducts one run.
type Loop struct {
	Options
	watcher   *earlystop.Watcher
	cancelled *decide.Failure
	// stopped is the newest Stop.
	stopped stopSent
	// shown is when the status last said what the running step does at present.
	shown time.Time
}

// New makes a Loop for a run that was begun (record.Begin), now or by a Loop before it.
func New(options Options) *Loop {
	return &Loop{Options: options, watcher: earlystop.New(options.Conductor)}
}

func (l *Loop) now() time.Time { return l.Conductor.Reference.Now() }

// Until decides and acts until nothing is left to do. When the context ends the load is stopped, and the run fails
// with the results so far.
func (l *Loop) Until(ctx context.Context) error {
	for {
		if ctx.Err() != nil && l.cancelled == nil {
			l.cancelled = &decide.Failure{Reason: v1alpha1.ReasonStopped, Message: context.Cause(ctx).Error()}
			record.Fail(l.Run, *l.cancelled, l.now())
		}
		clients := l.Conductor.Clients()
		record.Losses(l.Run, clients, l.now())
		snapshot, err := record.Snapshot(l.Run, l.Plan, clients)
		if err != nil {
			return err
		}
		snapshot.Enough = l.watcher.Look(l.Plan, snapshot, record.Baselines(l.Run), record.Documented(l.Run))
		snapshot.Cancel = l.cancelled
		action := decide.Next(snapshot, l.now())
		made, err := l.note(action, snapshot)
		if err != nil {
			return err
		}
		if err := l.Store(action, made.series); err != nil {
			return err
		}
		if made.then != nil {
			if err := made.then(); err != nil {
				return err
			}
		}
		l.observe(snapshot)
		if action.Kind == decide.Done {
			return nil
		}
		if made.settled {
			l.wait(ctx, action.Until)
		}
	}
}

// wait returns when there may be something to do: at the latest then, where that is known.
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

// observe reports how the run stands.
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
		if now := l.now(); now.Sub(l.shown) >= liveEvery {
			l.shown = now
			record.Live(l.Run, live.Step, attempt, l.Conductor.Doing(attempt), now)
		}
	}
	if l.Observe != nil {
		l.Observe(progress)
	}
}
