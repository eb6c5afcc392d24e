package benchmarkrun

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/drive"
	"github.com/storagebench/storagebench/internal/record"
)

// soon is the delay before the next decision about a run whose status has changed, unless the run must first wait for
// an external event.
const soon = time.Millisecond

// apply records an action in the run's status, and returns what to do once the status is stored.
func (r *Reconciler) apply(run *v1alpha1.BenchmarkRun, s *session, seen observation, action decide.Action) (drive.Outcome, error) {
	record.Warn(run, seen.warnings...)
	record.Storage(run, seen.storage)
	clients := clients{r, run, s, seen}
	if action.Kind == decide.RecordResult || action.Kind == decide.Retry {
		r.sessions.computing.Lock()
		defer r.sessions.computing.Unlock()
	}
	out, err := s.driver.Note(run, clients, seen.snapshot, action)
	switch action.Kind {
	case decide.Wait:
		updateProgress(run, s, seen)
		if finishing(run) {
			out.Then = func() error { clients.Finish(action.Clients); return nil }
		}
	case decide.Start:
		run.Status.Message = ""
	case decide.Done:
		record.Warn(run, orphanWarnings(run, s)...)
		record.Finished(run, remainingData(run, s), s.now())
		out.Settled = false
	default: // Note has already recorded the action, and out.Then carries it out
	}
	return out, err
}

// longestWait returns the time after which the run is reconciled even if no event triggers a reconcile. If the next
// decision must be made immediately (settled is false), longestWait returns the constant soon. Otherwise, it returns
// the time until the action's deadline or the next progress report, but at most the constant beat.
func longestWait(now time.Time, action decide.Action, settled bool, nextReport time.Time) time.Duration {
	if !settled {
		return soon
	}
	wait := beat
	if !action.Until.IsZero() {
		wait = min(wait, action.Until.Sub(now))
	}
	if nextReport.After(now) {
		wait = min(wait, nextReport.Sub(now))
	}
	return max(soon, wait)
}

// clients implements drive.Clients with the pods of a run.
type clients struct {
	*Reconciler
	run  *v1alpha1.BenchmarkRun
	s    *session
	seen observation
}

// Replace implements drive.Clients: it plans a new pod for each of the given clients. The pod is created only after the
// client's previous pod is gone. Any of the run's claims that were deleted in the meantime are recreated as well. The
// claims are inspected again, because the other pods that use them, and with those pods the volumes, may have moved to
// another node.
func (c clients) Replace(keys []decide.ClientKey) error {
	for _, key := range keys {
		c.s.expect(c.run, key, c.s.members[key].pod.Attempt+1)
	}
	c.s.common = c.commonOf(c.run)
	c.s.inspectAgain = true
	return nil
}

// Finish implements drive.Clients: it tells agents to clean up and exit. Each operator process that conducts the run
// sends this command once to each agent, because an earlier process may have died before sending it. If an agent took
// part in a step under an earlier process, it has files to remove. Finish therefore waits until that agent has
// connected to this process, but no longer than the loss timeout. A replacement agent that has never connected has no
// files of its own; other agents remove the files of its predecessor.
func (c clients) Finish([]decide.ClientKey) {
	asked := leaving(c.run).LastTransitionTime.Time
	if since := c.seen.snapshot.ConductedSince; since.After(asked) {
		asked = since // an earlier process recorded that the clients were told to exit
	}
	late := c.s.now().After(asked.Add(c.options.LossTimeout))
	notified := map[string][]decide.ClientKey{}
	for _, one := range c.seen.snapshot.Clients {
		m := c.s.members[one.Key]
		switch {
		case m.finishing, one.Connection == decide.Lost, one.Connection == decide.Finished:
		case one.Connection == decide.Connecting && m.worked && !late: // wait for the agent to connect
		case one.Connection == decide.Connecting && !m.reached:
			m.gone("this operator process never connected to the agent")
		default:
			m.finishing = true
			notified[one.Key.Target] = append(notified[one.Key.Target], one.Key)
		}
	}
	for _, target := range c.run.Spec.Run.Targets {
		agents, remove := notified[target.Name], target.DataPolicy != v1alpha1.DataRetain
		c.s.conductor.Finish(agents, c.s.finishOptions(target, agents, remove), c.s.answered)
	}
}

// leaving returns the DataRemoved condition, which records when the clients were told to exit. It returns nil if they
// have not been told yet.
func leaving(run *v1alpha1.BenchmarkRun) *metav1.Condition {
	return meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionDataRemoved)
}

// of returns the clients of a target.
func (s *session) of(target string) []decide.ClientKey {
	return slices.DeleteFunc(slices.Clone(s.order), func(key decide.ClientKey) bool { return key.Target != target })
}
