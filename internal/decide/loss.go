package decide

import (
	"fmt"
	"slices"
	"time"
)

// lostParticipants returns the lost clients that a step still needs. A client that has completed the attempt is no
// longer needed. Once a step with load has begun, a client that does not take part in it is not needed either: the step
// continues, and the next step handles the loss. Under the policy FailRun, however, clients that do not take part are
// still needed.
func (s Snapshot) lostParticipants(step Step, record Record) []Client {
	attempt := Attempt{Step: step.ID, Number: record.Attempt}
	started := !record.Start.IsZero()
	return slices.DeleteFunc(s.withConnection(Lost), func(c Client) bool {
		part := c.Attempts[attempt]
		// Before the step's start, an attempt can only end because it was stopped, so it does not count as complete.
		done := started && part.Progress == Ended && part.Failed == nil && !part.AgentTerminated
		return done || started && s.Policy.OnLoss != FailRun && !step.Idle && !step.TakesPart(c.Key)
	})
}

// applyLossPolicy applies the loss policy to lost clients. It returns false if the run continues without them.
func (s Snapshot) applyLossPolicy(lost []Client, step Step, record Record) (Action, bool) {
	attempt := Attempt{Step: step.ID, Number: record.Attempt}
	switch s.Policy.OnLoss {
	case ContinueDegraded:
		if s.everyTargetHasClient(step) {
			return Action{}, false
		}
	case RestartStep:
		if action, pending := s.restart(lost, step, record, attempt); pending {
			return action, true
		}
	case FailRun:
	}
	cause, exceeded := lost[0], ""
	if s.Policy.OnLoss == RestartStep {
		cause = lost[max(0, slices.IndexFunc(lost, s.cannotBeReplaced))]
		exceeded = fmt.Sprintf("; maxRestarts (%d) has been reached", s.Policy.MaxRestarts)
	}
	message := fmt.Sprintf("client %s was lost: %s%s", cause.Key, orUnknown(cause.Message), exceeded)
	return Action{Kind: Fail, Failure: &Failure{Reason: ReasonClientLost, Message: message}}, true
}

// cannotBeReplaced reports whether a client has been replaced MaxRestarts times.
func (s Snapshot) cannotBeReplaced(c Client) bool { return c.Replacements >= s.Policy.MaxRestarts }

// restart stops the attempt on the remaining clients and replaces the lost clients. If a client has received the
// attempt or the step has started, the step is repeated as a new attempt. restart returns false if a lost client has
// already been replaced MaxRestarts times.
func (s Snapshot) restart(lost []Client, step Step, record Record, attempt Attempt) (Action, bool) {
	if slices.ContainsFunc(lost, s.cannotBeReplaced) {
		return Action{}, false
	}
	if live := s.live(step, attempt); len(live) > 0 {
		return Action{Kind: Stop, Attempt: attempt, Clients: live, Until: s.latestEnd(record)}, true
	}
	if len(s.count(step, attempt).loading) > 0 {
		return Action{Kind: Wait}, true
	}
	if !record.Start.IsZero() || s.attemptReceived(step, attempt) {
		return retry(step, record, "a client was lost", keys(lost)...), true
	}
	return Action{Kind: Replace, Clients: keys(lost)}, true
}

// cutShort reports whether an earlier conductor stopped clients in the current attempt because it had lost a client
// that this conductor can reach. The attempt did not apply the requested load, so it must be repeated.
func (s Snapshot) cutShort(step Step, record Record, counts counts) bool {
	if s.Policy.OnLoss != RestartStep || !record.Concluded.IsZero() || len(counts.stopped) == 0 {
		return false
	}
	return slices.ContainsFunc(s.Clients, func(c Client) bool {
		return c.Connection != Lost && step.TakesPart(c.Key) && s.LostAt[c.Key].After(record.Start)
	})
}

// repeatCutShort repeats a step that was cut short, after stopping the clients that still run it.
func (s Snapshot) repeatCutShort(step Step, record Record, attempt Attempt) Action {
	if live := s.live(step, attempt); len(live) > 0 {
		return Action{Kind: Stop, Attempt: attempt, Clients: live, Until: s.latestEnd(record)}
	}
	return retry(step, record, "clients were stopped because another client was lost")
}

// endNonRepeatable ends a step that cannot be repeated and has lost a client after its start. It stops the other
// clients and records the step's result, which names the missing clients. The loss policy is applied only when the next
// step begins.
func (s Snapshot) endNonRepeatable(step Step, record Record, now time.Time) (Action, bool) {
	attempt := Attempt{Step: step.ID, Number: record.Attempt}
	if !step.NonRepeatable || record.Start.IsZero() || s.Policy.OnLoss == FailRun {
		return Action{}, false
	}
	counts := s.count(step, attempt)
	lost := slices.ContainsFunc(s.lostParticipants(step, record), func(c Client) bool {
		_, known := c.Attempts[attempt]
		// Under ContinueDegraded, a client may have been lost in an earlier step. Its absence does not end this step. A
		// conductor that has taken over does not know what was sent to lost clients, only when they were lost.
		return known || s.LostAt[c.Key].After(record.Start) || s.Policy.OnLoss != ContinueDegraded
	})
	switch {
	case !lost && len(counts.terminated) == 0 && !s.cutShort(step, record, counts):
		return Action{}, false
	case len(counts.failed) > 0 && !counts.missedStart(record):
		return s.abandon(step, record, attempt, counts), true
	}
	if live := s.live(step, attempt); len(live) > 0 {
		return Action{Kind: Stop, Attempt: attempt, Clients: live, Until: s.latestEnd(record)}, true
	}
	if len(counts.loading)+len(counts.terminated) > 0 {
		// Wait until the loss of terminated clients is detected; otherwise the next step would include them.
		return Action{Kind: Wait}, true
	}
	// Wait for the other clients' results: a restarted conductor detects the loss before it has read them.
	if action, pending := s.awaitReady(now); pending {
		return action, true
	}
	return Action{Kind: RecordResult, Attempt: attempt}, true
}
