package benchmarkrun

import (
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/internal/series"
)

// outcome is what follows from an action beside the facts that it notes.
type outcome struct {
	// series of a step that has ended; nil where none has. It is kept before the facts are.
	series *series.Step
	// then is done once the facts are stored; nil where nothing is.
	then func()
	// wait is how long the run may be left alone when nothing happens.
	wait time.Duration
}

// soon asks for the next decision at once: facts have changed, and nothing outside has to happen.
const soon = time.Millisecond

// apply notes the facts of an action in the run and says what is to be done.
func (r *Reconciler) apply(run *v1alpha1.BenchmarkRun, s *session, seen observation, action decide.Action) (outcome, error) {
	record.Losses(run, seen.snapshot.Clients, s.now())
	record.Warn(run, seen.warnings...)
	record.Storage(run, seen.storage)
	if why := seen.snapshot.Cancel; why != nil {
		record.Fail(run, *why, s.now())
	}
	switch action.Kind {
	case decide.Wait:
		narrate(run, s, seen)
		return outcome{then: r.finish(run, s, seen), wait: patience(s, action)}, nil
	case decide.Load:
		return s.load(run, action)
	case decide.Start:
		if len(run.Status.Environments) == 0 {
			record.Environments(run, s.conductor.Environments())
		}
		record.Intent(run, s.plan.Step(action.Attempt.Step), action)
		run.Status.Message = ""
		return outcome{wait: patience(s, action), then: func() {
			s.conductor.Start(action.Attempt, action.Clients, action.Start, action.Deadline)
		}}, nil
	case decide.Stop:
		reason := seen.snapshot.WhyStopped()
		return outcome{wait: patience(s, action), then: func() { s.conductor.Stop(action.Attempt, action.Clients, reason) }}, nil
	case decide.Conclude:
		record.Conclude(run, action, s.now())
		return outcome{wait: patience(s, action), then: func() { s.conductor.Stop(action.Attempt, action.Clients, action.Reason) }}, nil
	case decide.RecordResult:
		step, clients := s.plan.Step(action.Attempt.Step), s.conductor.Results(action.Attempt)
		record.Result(run, step, action.Attempt, clients, s.now())
		over := record.Series(run, step, action.Attempt, clients, s.conductor.Latencies(action.Attempt))
		return outcome{wait: soon, series: &over, then: func() { s.conductor.Forget(action.Attempt) }}, nil
	case decide.Retry:
		record.Retry(run, action, s.now())
	case decide.Replace:
		return s.replace(run, action, seen), nil
	case decide.Fail:
		record.Fail(run, *action.Failure, s.now())
	case decide.Finish:
		record.Finishing(run, s.now())
		return outcome{wait: beat, then: r.finish(run, s, seen)}, nil
	case decide.Done:
		record.Warn(run, leftBehind(run, s)...)
		record.Finished(run, leftovers(run, s), s.now())
	}
	return outcome{wait: soon}, nil
}

// patience is how long to wait when nothing happens.
func patience(s *session, action decide.Action) time.Duration {
	if action.Until.IsZero() {
		return beat
	}
	return max(soon, min(beat, action.Until.Sub(s.now())))
}

// load sends a step, rendered for each client, to its agents.
func (s *session) load(run *v1alpha1.BenchmarkRun, action decide.Action) (outcome, error) {
	shared := func(name string) bool {
		for i := range run.Spec.Run.Targets {
			if run.Spec.Run.Targets[i].Name == name {
				return plan.Shared(&run.Spec.Run.Targets[i])
			}
		}
		return false
	}
	requests, err := s.conductor.Requests(s.plan.Step(action.Attempt.Step), action.Clients, run.Spec.Seed, shared)
	var failure *decide.Failure
	switch {
	case errors.As(err, &failure):
		record.Fail(run, *failure, s.now())
		return outcome{wait: soon}, nil
	case err != nil:
		return outcome{}, err
	}
	return outcome{wait: beat, then: func() { s.conductor.Load(action.Attempt, action.Clients, requests) }}, nil
}

// replace notes that lost clients get a successor, and begins to reach for it. Its pod is made when
// the one before is really gone.
func (s *session) replace(run *v1alpha1.BenchmarkRun, action decide.Action, seen observation) outcome {
	for _, client := range seen.snapshot.Clients {
		if slices.Contains(action.Clients, client.Key) {
			record.Lost(run, client, true, s.now())
			// Its data went with it when its agent was told to end, or its claim is gone.
			record.Relayout(run, client.Key.Target)
		}
	}
	return outcome{wait: soon, then: func() {
		for _, key := range action.Clients {
			// The identity was made before from the same keys, so this cannot fail now.
			_ = s.connect(run, key, s.members[key].pod.Attempt+1)
		}
	}}
}

// finish tells agents to tidy up and leave, each once by every process that conducts the run: the one
// before may have died before it could. One that has worked for the process before, and was not met by
// this one yet, is given the time to be met: it has files to remove. A replacement that was never reached has none of its own;
// others remove what the client before it has left.
func (r *Reconciler) finish(run *v1alpha1.BenchmarkRun, s *session, seen observation) func() {
	since := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionDataRemoved)
	if since == nil {
		return nil
	}
	late := s.now().After(since.LastTransitionTime.Add(r.options.LossTimeout))
	told := map[string][]decide.ClientKey{}
	var unreached []*member
	for _, one := range seen.snapshot.Clients {
		m := s.members[one.Key]
		switch {
		case m.finishing, one.Connection == decide.Lost, one.Connection == decide.Finished:
		case one.Connection == decide.Connecting && m.worked && !late: // it is waited for
		case one.Connection == decide.Connecting && !m.reached:
			unreached = append(unreached, m)
		default:
			told[one.Key.Target] = append(told[one.Key.Target], one.Key)
		}
	}
	return func() {
		for _, m := range unreached {
			m.gone("its agent was never reached")
		}
		for _, target := range run.Spec.Run.Targets {
			for _, key := range told[target.Name] {
				s.members[key].finishing = true
			}
			remove := target.DataPolicy != v1alpha1.DataRetain
			s.conductor.Finish(told[target.Name], s.finishOptions(target, remove), s.answered)
		}
	}
}

// of is the clients of a target.
func (s *session) of(target string) []decide.ClientKey {
	return slices.DeleteFunc(slices.Clone(s.order), func(key decide.ClientKey) bool { return key.Target != target })
}
