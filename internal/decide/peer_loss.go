package decide

import (
	"fmt"
	"slices"
	"time"
)

// parting are the failures of a part of a job of MPI that the loss of another client can be behind. That client
// may be seen to be gone only later.
var parting = []string{ReasonClientLost, reasonKilled, reasonMPI}

// What an agent says of a job that was killed, or that could not be started.
const (
	reasonKilled = "Killed"
	reasonMPI    = "MPI"
)

// parted reports whether a failure may be no more than a consequence of a loss.
func (s Step) parted(failure *Failure) bool {
	return s.Coupled && failure != nil && slices.Contains(parting, failure.Reason)
}

// part ends an attempt of a job that has lost a client, by what its other clients say: nobody knows yet who that is. The
// policy applies once that is seen. Where it is not for too long, the client lives, and was only out of the
// others' reach: then the step is tried again, or its failure is the run's.
func (s Snapshot) part(step Step, record Record, attempt Attempt, counts counts, now time.Time) Action {
	if live := s.live(step, attempt); len(live) > 0 {
		return Action{Kind: Stop, Attempt: attempt, Clients: live, Until: s.latestEnd(record)}
	}
	first := counts.parted[0]
	for _, one := range counts.parted {
		if one.failure.Reason == ReasonClientLost && first.failure.Reason != ReasonClientLost {
			first = one
		}
	}
	lost := first.failure.Reason == ReasonClientLost
	until := first.since.Add(s.Policy.LossPatience)
	switch {
	case lost && s.Policy.OnLoss == FailRun:
	case len(counts.loading) > 0:
		return Action{Kind: Wait}
	case now.Before(until) || len(counts.left) > 0:
		return Action{Kind: Wait, Until: until}
	case lost && step.NonRepeatable:
		return Action{Kind: RecordResult, Attempt: attempt}
	case lost && record.Attempt <= s.Policy.MaxRestarts:
		return Action{Kind: Retry, Attempt: Attempt{Step: step.ID, Number: record.Attempt + 1}}
	}
	return Action{Kind: Fail, Attempt: attempt, Failure: &Failure{Reason: first.failure.Reason,
		Message: fmt.Sprintf("step %s: client %s: %s", step.ID, first.key, first.failure.Message)}}
}
