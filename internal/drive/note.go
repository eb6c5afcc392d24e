package drive

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/series"
)

// outcome is what follows from an action, in addition to the facts that it notes.
type outcome struct {
	// series is that of a step that has ended; nil if none has.
	series *series.Step
	// then is called once the facts are stored; nil if there is nothing to do.
	then func() error
	// settled is false if the facts have changed, so that there is more to decide before anything happens outside.
	settled bool
}

// act returns a settled outcome that calls do.
func act(do func()) outcome {
	return outcome{settled: true, then: func() error { do(); return nil }}
}

// note records the facts of an action in the run, and returns what is to be done.
func (l *Loop) note(action decide.Action, snapshot decide.Snapshot) (outcome, error) {
	switch action.Kind {
	case decide.Wait, decide.Done:
		return outcome{settled: true}, nil
	case decide.Load:
		return l.load(action)
	case decide.Start:
		if err := l.noteSurroundings(); err != nil {
			return outcome{}, err
		}
		record.Intent(l.Run, l.Plan.Step(action.Attempt.Step), action)
		return act(func() { l.Conductor.Start(action.Attempt, action.Clients, action.Start, action.Deadline) }), nil
	case decide.Stop:
		if l.stopped.same(action) && l.now().Sub(l.stopped.at) < beat {
			// The Stop was sent already, and the log will report the end. If it were sent again after each answer, it
			// would be sent thousands of times while I/O in flight completes.
			return outcome{settled: true}, nil
		}
		l.stopped = stopSent{action: action, at: l.now()}
		reason := snapshot.WhyStopped()
		return act(func() { l.Conductor.Stop(action.Attempt, action.Clients, reason) }), nil
	case decide.Conclude:
		record.Conclude(l.Run, action, l.now())
		return act(func() { l.Conductor.Stop(action.Attempt, action.Clients, action.Reason) }), nil
	case decide.RecordResult:
		step, clients := l.Plan.Step(action.Attempt.Step), l.Conductor.Results(action.Attempt)
		record.Result(l.Run, step, action.Attempt, clients, l.now())
		over := record.Series(l.Run, step, action.Attempt, clients, l.Conductor.Latencies(action.Attempt))
		return outcome{series: &over, then: func() error { l.Conductor.Forget(action.Attempt); return nil }}, nil
	case decide.Retry:
		record.Retry(l.Run, action, l.now())
	case decide.Replace:
		return l.replace(action, snapshot), nil
	case decide.Fail:
		record.Fail(l.Run, *action.Failure, l.now())
	case decide.Finish:
		record.Finishing(l.Run, l.now())
		return act(func() { l.Clients.Finish(action.Clients) }), nil
	}
	return outcome{}, nil
}

// noteSurroundings records what the run measures on, before its first start.
func (l *Loop) noteSurroundings() error {
	if len(l.Run.Status.Environments) == 0 {
		record.Environments(l.Run, l.Conductor.Environments())
	}
	if l.Storage == nil {
		return nil
	}
	if err := l.Storage(); err != nil {
		return fmt.Errorf("record what is documented of the storage: %w", err)
	}
	return nil
}

// load sends a step, rendered for each client, to its agents.
func (l *Loop) load(action decide.Action) (outcome, error) {
	requests, err := l.Conductor.Requests(l.Plan.Step(action.Attempt.Step), action.Clients, l.Run.Spec.Seed, l.Shared)
	var failure *decide.Failure
	switch {
	case errors.As(err, &failure):
		record.Fail(l.Run, *failure, l.now())
		return outcome{}, nil
	case err != nil:
		return outcome{}, err
	}
	return act(func() { l.Conductor.Load(action.Attempt, action.Clients, requests) }), nil
}

// replace records that lost clients get a successor.
func (l *Loop) replace(action decide.Action, snapshot decide.Snapshot) outcome {
	for _, client := range snapshot.Clients {
		if !slices.Contains(action.Clients, client.Key) {
			continue
		}
		record.Lost(l.Run, client, true, l.now())
		if l.DataGoes {
			record.Relayout(l.Run, client.Key.Target)
		}
	}
	return outcome{settled: true, then: func() error { return l.Clients.Replace(action.Clients) }}
}

// stopSent is a Stop, and when it was sent.
type stopSent struct {
	action decide.Action
	at     time.Time
}

func (s stopSent) same(action decide.Action) bool {
	return s.action.Attempt == action.Attempt && slices.Equal(s.action.Clients, action.Clients)
}
