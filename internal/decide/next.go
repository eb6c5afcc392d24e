package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Next returns the action to take now. It returns the same action again until the snapshot shows that it was executed.
func Next(s Snapshot, now time.Time) Action {
	action := s.next(now)
	end := s.activeEnd()
	if !end.IsZero() && now.Before(end) && (action.Until.IsZero() || action.Until.After(end)) {
		// Never wait beyond the end of the run.
		action.Until = end
	}
	return action
}

// activeEnd returns the time at which the run must end, or zero if it has no limit.
func (s Snapshot) activeEnd() time.Time {
	if s.Policy.ActiveDeadline <= 0 {
		return time.Time{}
	}
	return s.Begun.Add(s.Policy.ActiveDeadline)
}

func (s Snapshot) next(now time.Time) Action {
	step, begun := s.current()
	switch {
	case step == nil, s.Failure != nil, s.Cancel != nil:
		return s.windUp(step, begun, now)
	case !s.FinishSent.IsZero():
		return s.finish(now)
	case !s.activeEnd().IsZero() && !now.Before(s.activeEnd()):
		return Action{Kind: Fail, Failure: &Failure{Reason: ReasonDeadline,
			Message: fmt.Sprintf("the run did not finish within its activeDeadline (%s)", s.Policy.ActiveDeadline)}}
	}
	if action, hangs := s.overdue(*step, begun, now); hangs {
		return action
	}
	if action, ends := s.endNonRepeatable(*step, begun, now); ends {
		return action
	}
	action, pending := s.awaitClients(*step, begun, now)
	if old, live := s.earlierAttempt(*step, begun); len(live) > 0 && (!pending || action.Kind == Wait) {
		// Stop the earlier attempt now instead of waiting until all clients are ready, because a replacement can take minutes
		// and the load is no longer needed.
		return Action{Kind: Stop, Attempt: old, Clients: live, Until: action.Until}
	}
	if pending {
		return s.stopConcluded(*step, begun, action)
	}
	if step.Idle {
		return s.idle(*step, begun, now)
	}
	return s.run(*step, begun, now)
}

// Measured reports whether all steps have a recorded result. A cancellation then comes too late to fail the run.
func (s Snapshot) Measured() bool {
	step, _ := s.current()
	return step == nil
}

// current returns the current step and its record. The current step is the first one without a recorded result. If all
// steps have a result, current returns nil.
func (s Snapshot) current() (*Step, Record) {
	for i := range s.Steps {
		if record := s.Records[s.Steps[i].ID]; !record.Done {
			return &s.Steps[i], record
		}
	}
	return nil, Record{}
}

// awaitClients waits until every client is ready, applies the loss policy to lost clients, and fails the run if
// necessary.
func (s Snapshot) awaitClients(step Step, record Record, now time.Time) (Action, bool) {
	if lost := s.lostParticipants(step, record); len(lost) > 0 {
		if action, pending := s.applyLossPolicy(lost, step, record); pending {
			return action, true
		}
	}
	return s.awaitReady(now)
}

// awaitReady waits for clients that are not ready yet, and fails the run if one cannot take part or does not become
// ready in time.
func (s Snapshot) awaitReady(now time.Time) (Action, bool) {
	if unfit := s.withConnection(Unfit); len(unfit) > 0 {
		first := unfit[0]
		return Action{Kind: Fail, Failure: &Failure{Reason: first.Reason,
			Message: fmt.Sprintf("client %s cannot take part: %s", first.Key, first.Message)}}, true
	}
	connecting := s.withConnection(Connecting)
	if len(connecting) == 0 {
		return Action{}, false
	}
	// The timeout applies to each client separately, and starts again for a replacement.
	var first time.Time
	var why []string
	for _, c := range connecting {
		begun := s.Begun
		if c.Since.After(begun) {
			begun = c.Since
		}
		expires := begun.Add(s.Policy.StartTimeout)
		if first.IsZero() || expires.Before(first) {
			first = expires
		}
		if !now.Before(expires) {
			why = append(why, fmt.Sprintf("%s (%s)", c.Key, orUnknown(c.Message)))
		}
	}
	if len(why) == 0 {
		return Action{Kind: Wait, Until: first}, true
	}
	return Action{Kind: Fail, Failure: &Failure{Reason: ReasonStartTimeout,
		Message: fmt.Sprintf("clients not ready after %s: %s",
			s.Policy.StartTimeout, strings.Join(why, ", "))}}, true
}

// run returns the next action for the current step, from loading it to recording its result.
func (s Snapshot) run(step Step, record Record, now time.Time) Action {
	attempt := Attempt{Step: step.ID, Number: record.Attempt}
	counts := s.count(step, attempt)
	switch {
	case len(counts.failed) > 0:
		return s.abandon(step, record, attempt, counts)
	case len(counts.peerLost) > 0:
		return s.awaitPeerLoss(step, record, attempt, counts, now)
	case record.Start.IsZero() && len(counts.ended) > 0:
		return s.unstartable(step, record, attempt, counts)
	case s.cutShort(step, record, counts):
		return s.repeatCutShort(step, record, attempt)
	case s.loadedForReplaced(step, attempt):
		// Stop the attempt on the clients that have loaded it; unstartable then repeats it.
		return Action{Kind: Stop, Attempt: attempt, Clients: s.live(step, attempt)}
	case len(counts.absent) > 0:
		return Action{Kind: Load, Attempt: attempt, Clients: counts.absent}
	case len(counts.loading) > 0:
		return Action{Kind: Wait}
	case len(counts.loaded) > 0:
		return s.start(step, record, attempt, counts.loaded, now)
	case len(counts.running) == 0 && len(counts.terminated) > 0:
		// Wait until the terminated clients are lost; then the loss policy decides how to continue.
		return Action{Kind: Wait}
	case len(counts.running) == 0:
		return Action{Kind: RecordResult, Attempt: attempt}
	}
	return s.running(step, record, attempt, counts, now)
}

// unstartable handles an attempt that cannot start on all clients, because it has already ended on some of them. If all
// of those clients are about to be lost, unstartable waits until the loss policy applies. Otherwise, it stops the other
// clients and repeats the step. A conductor has then stopped the ended clients: this one (see loadedForReplaced), or a
// previous one that died before it recorded that the step is repeated.
func (s Snapshot) unstartable(step Step, record Record, attempt Attempt, counts counts) Action {
	live := s.live(step, attempt)
	switch {
	case len(counts.ended) == len(counts.terminated), len(live) == 0 && len(counts.loading) > 0:
		return Action{Kind: Wait}
	case len(live) > 0:
		return Action{Kind: Stop, Attempt: attempt, Clients: live}
	}
	return retry(step, record, "clients were stopped before the step started")
}

// retry discards an attempt and begins the next one, with replacements for the lost clients.
func retry(step Step, record Record, reason string, lost ...ClientKey) Action {
	return Action{Kind: Retry, Attempt: Attempt{Step: step.ID, Number: record.Attempt + 1}, Clients: lost, Reason: reason}
}

// earlierAttempt returns an earlier attempt that is still loaded or running on some clients. If an ended step is
// repeated because a client and its data were lost, this can also be an attempt of a later step: a conductor that has
// just taken over repeats the ended step before it knows what the other clients are doing.
func (s Snapshot) earlierAttempt(step Step, record Record) (Attempt, []ClientKey) {
	for number := 1; number < record.Attempt; number++ {
		attempt := Attempt{Step: step.ID, Number: number}
		if live := s.live(step, attempt); len(live) > 0 {
			return attempt, live
		}
	}
	if record.Attempt == 1 {
		return Attempt{}, nil
	}
	for _, client := range s.Clients {
		for attempt, part := range client.Attempts {
			at := slices.IndexFunc(s.Steps, func(other Step) bool { return other.ID == attempt.Step })
			if attempt.Step == step.ID || at < 0 || part.Progress != Loaded && part.Progress != Running {
				continue
			}
			if live := s.live(s.Steps[at], attempt); len(live) > 0 {
				return attempt, live
			}
		}
	}
	return Attempt{}, nil
}

// overdue fails the run if an agent is still running the step when StopGrace has passed. StopGrace begins at the step's
// deadline or, if the step was concluded, when this conductor could first ask the agent to stop.
func (s Snapshot) overdue(step Step, record Record, now time.Time) (Action, bool) {
	live := s.live(step, Attempt{Step: step.ID, Number: record.Attempt})
	if last := s.latestEnd(record); last.IsZero() || now.Before(last) || len(live) == 0 {
		return Action{}, false
	}
	end := "the step's deadline"
	if !record.Concluded.IsZero() {
		end = "it was asked to stop"
	}
	return Action{Kind: Fail, Failure: &Failure{Reason: ReasonUnresponsive,
		Message: fmt.Sprintf("step %s: client %s is still running %s after %s",
			step.ID, live[0], s.Policy.StopGrace, end)}}, true
}

// abandon ends an attempt in which a client failed: it first stops the other clients, whose results are kept. If
// clients failed only because they received the start command too late, it then repeats the step; otherwise, it fails
// the run.
func (s Snapshot) abandon(step Step, record Record, attempt Attempt, counts counts) Action {
	if live := s.live(step, attempt); len(live) > 0 {
		return Action{Kind: Stop, Attempt: attempt, Clients: live, Until: s.latestEnd(record)}
	}
	if len(counts.loading) > 0 {
		return Action{Kind: Wait}
	}
	if counts.missedStart(record) {
		return retry(step, record, "not all clients received the start command in time")
	}
	first := counts.failed[0]
	return Action{Kind: Fail, Attempt: attempt, Failure: &Failure{Reason: first.failure.Reason,
		Message: fmt.Sprintf("step %s: client %s: %s", step.ID, first.key, first.failure.Message)}}
}

// windUp ends a run that is complete, failed or cancelled: it stops the load, records the result, and directs the
// agents to finish.
func (s Snapshot) windUp(step *Step, record Record, now time.Time) Action {
	if step != nil && s.FinishSent.IsZero() {
		attempt := Attempt{Step: step.ID, Number: record.Attempt}
		patience := s.patience(record)
		working, live := s.earlierAttempt(*step, record)
		if len(live) == 0 {
			working, live = attempt, s.live(*step, attempt)
		}
		if len(live) > 0 && now.Before(patience) {
			return Action{Kind: Stop, Attempt: working, Clients: live, Until: patience}
		}
		// A conductor that has just taken over asks the step's clients for their results first.
		awaited := slices.ContainsFunc(s.withConnection(Connecting), func(c Client) bool { return step.TakesPart(c.Key) })
		if awaited && !record.Start.IsZero() && now.Before(patience) {
			return Action{Kind: Wait, Until: patience}
		}
		if s.attemptReceived(*step, attempt) || step.Idle && !record.Start.IsZero() {
			return Action{Kind: RecordResult, Attempt: attempt}
		}
	}
	return s.finish(now)
}

// deadlineGrace limits how long tools may take to stop after the run's own deadline. Then the operator directs the
// agents to finish, which makes them kill any tool that is still running.
const deadlineGrace = 20 * time.Second

// patience returns the time until which an ending run waits for its clients to stop. A conductor that took over during
// the step must first connect to them and read their logs, which can take longer than a stop.
func (s Snapshot) patience(record Record) time.Time {
	until := s.EndingSince.Add(s.stopGrace())
	if !record.Start.IsZero() && s.ConductedSince.After(record.Start) {
		until = later(until, s.ConductedSince.Add(s.Policy.StopGrace))
	}
	return until
}

// stopGrace returns the time that an ending run gives its clients to stop.
func (s Snapshot) stopGrace() time.Duration {
	if s.Failure != nil && s.Failure.Reason == ReasonDeadline {
		return min(deadlineGrace, s.Policy.StopGrace)
	}
	return s.Policy.StopGrace
}

// finish directs every client to clean up and exit, and waits until all have done so, but no longer than FinishTimeout.
// Then it evaluates the run's observations.
func (s Snapshot) finish(now time.Time) Action {
	// A conductor that has just taken over must first connect to the clients to learn whether they have finished.
	patience := later(s.FinishSent, s.ConductedSince).Add(s.Policy.FinishTimeout)
	var here []ClientKey
	for _, c := range s.Clients {
		if c.Connection != Lost && c.Connection != Finished {
			here = append(here, c.Key)
		}
	}
	switch {
	case len(here) > 0 && s.FinishSent.IsZero():
		return Action{Kind: Finish, Clients: here}
	case len(here) > 0 && now.Before(patience):
		return Action{Kind: Wait, Until: patience}
	}
	if action, pending := s.observe(now); pending {
		return action
	}
	return Action{Kind: Done}
}

func orUnknown(message string) string {
	if message == "" {
		return "unknown reason"
	}
	return message
}
