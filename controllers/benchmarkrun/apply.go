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

// outcome is what follows from an action, in addition to the facts that it records.
type outcome struct {
	// series is the time series of a step that has ended; nil if none has. It is stored before the facts.
	series *series.Step
	// then is called once the facts are stored; nil if there is nothing to do.
	then func()
	// wait is the time until the next decision if nothing happens before.
	wait time.Duration
}

// soon requests the next decision at once: facts have changed, and nothing outside has to happen first.
const soon = time.Millisecond

// apply records the facts of an action in the run and returns what to do next.
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
		return r.replace(run, s, action, seen), nil
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

// patience returns how long to wait if nothing happens.
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

// replace records that lost clients get a replacement. The pod of the replacement is created when the previous one is
// really gone, and claims that are gone too are created again.
func (r *Reconciler) replace(run *v1alpha1.BenchmarkRun, s *session, action decide.Action, seen observation) outcome {
	for _, client := range seen.snapshot.Clients {
		if slices.Contains(action.Clients, client.Key) {
			record.Lost(run, client, true, s.now())
			// Its data is gone: its agent removed it when it was told to end, or its claim was deleted.
			record.Relayout(run, client.Key.Target)
		}
	}
	return outcome{wait: soon, then: func() {
		for _, key := range action.Clients {
			s.expect(run, key, s.members[key].pod.Attempt+1)
		}
		s.common = r.commonOf(run)
	}}
}

// finish tells agents to clean up and leave. Each process that conducts the run tells each agent once, because the
// previous process may have died before it could. An agent that worked for the previous process and has not connected
// to this one yet gets time to connect, because it has files to remove. A replacement that was never reached has no
// files of its own; other agents remove those of the client before it.
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
		case one.Connection == decide.Connecting && m.worked && !late: // wait for it
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

// of returns the clients of a target.
func (s *session) of(target string) []decide.ClientKey {
	return slices.DeleteFunc(slices.Clone(s.order), func(key decide.ClientKey) bool { return key.Target != target })
}
