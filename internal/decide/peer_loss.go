package decide

import (
	"fmt"
	"slices"
	"time"
)

// peerLossReasons lists the failures that a client of an MPI job can report because another client was lost. The
// loss itself may be detected only later.
var peerLossReasons = []string{ReasonClientLost, reasonKilled, reasonMPI}

// Reasons that an agent reports for an MPI job that was killed or could not be started.
const (
	reasonKilled = "Killed"
	reasonMPI    = "MPI"
)

// peerLost reports whether a client may have failed only because another client was lost.
func (s Step) peerLost(failure *Failure) bool {
	return s.Coupled && failure != nil && slices.Contains(peerLossReasons, failure.Reason)
}

// loadedForReplaced reports whether an earlier conductor loaded the step's MPI job before a client of the job was
// replaced. The loaded job would look for the lost client at its old address. This happens if a conductor that has just
// taken over replaces the client before it learns that the other clients have loaded the job.
func (s Snapshot) loadedForReplaced(step Step, attempt Attempt) bool {
	inherited, replaced := false, false
	for _, c := range s.Clients {
		part, known := c.Attempts[attempt]
		inherited = inherited || part.Inherited && part.Progress == Loaded
		replaced = replaced || !known && c.Replacements > 0 && step.TakesPart(c.Key)
	}
	return step.Coupled && inherited && replaced
}

// awaitPeerLoss ends an attempt of an MPI job whose clients have failed, possibly because another client was lost. The
// clients' reports do not name the lost client. So awaitPeerLoss first stops the load, and then waits until the
// conductor detects the loss. The loss policy then applies.
//
// If the conductor detects no loss within LossPatience, all clients are alive. If one of them reported
// ReasonClientLost, only the connection between some clients has failed: a step that cannot be repeated then ends with
// its results so far, and any other step is repeated, up to MaxRestarts times. In all other cases, the run fails. Under
// the policy FailRun, a report of ReasonClientLost fails the run as soon as the load has stopped.
func (s Snapshot) awaitPeerLoss(step Step, record Record, attempt Attempt, counts counts, now time.Time) Action {
	if live := s.live(step, attempt); len(live) > 0 {
		return Action{Kind: Stop, Attempt: attempt, Clients: live, Until: s.latestEnd(record)}
	}
	first := counts.peerLost[0]
	for _, one := range counts.peerLost {
		if one.failure.Reason == ReasonClientLost && first.failure.Reason != ReasonClientLost {
			first = one
		}
	}
	lost := first.failure.Reason == ReasonClientLost
	until := first.since.Add(s.Policy.LossPatience)
	switch {
	case lost && s.Policy.OnLoss == FailRun:
	case now.Before(until):
		return Action{Kind: Wait, Until: until}
	case len(counts.loading)+len(counts.terminated) > 0:
		return Action{Kind: Wait}
	case lost && step.NonRepeatable:
		return Action{Kind: RecordResult, Attempt: attempt}
	case lost && record.Attempt <= s.Policy.MaxRestarts:
		return retry(step, record, "a client lost its connection to another client")
	}
	return Action{Kind: Fail, Attempt: attempt, Failure: &Failure{Reason: first.failure.Reason,
		Message: fmt.Sprintf("step %s: client %s: %s", step.ID, first.key, first.failure.Message)}}
}
