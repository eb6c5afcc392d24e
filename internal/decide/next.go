package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Next returns what to do now. It never returns an action that was carried out already, unless
// nothing shows that it was.
func Next(s Snapshot, now time.Time) Action {
	action := s.next(now)
	end := s.activeEnd()
	if !end.IsZero() && now.Before(end) && (action.Until.IsZero() || action.Until.After(end)) {
		// Whatever is waited for after the action, the end of the run comes first.
		action.Until = end
	}
	return action
}

// activeEnd is when the run ends whatever it does; zero where nothing bounds it.
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
			Message: fmt.Sprintf("the run was still going %s after its start, which is its activeDeadline", s.Policy.ActiveDeadline)}}
	}
	if action, hangs := s.overdue(*step, begun, now); hangs {
		return action
	}
	if action, pending := s.meet(*step, begun, now); pending {
		return action
	}
	return s.run(*step, begun, now)
}

// current is the first step without a recorded result; nil when all have one.
func (s Snapshot) current() (*Step, Record) {
	for i := range s.Steps {
		if record := s.Records[s.Steps[i].ID]; !record.Done {
			return &s.Steps[i], record
		}
	}
	return nil, Record{}
}

// meet brings every client to be ready, replaces lost ones by policy, and gives up where it must.
func (s Snapshot) meet(step Step, record Record, now time.Time) (Action, bool) {
	if lost := s.missed(step, record); len(lost) > 0 {
		if action, pending := s.lose(lost, step, record); pending {
			return action, true
		}
	}
	if unfit := s.having(Unfit); len(unfit) > 0 {
		first := unfit[0]
		return Action{Kind: Fail, Failure: &Failure{Reason: first.Reason,
			Message: fmt.Sprintf("client %s cannot take part: %s", first.Key, first.Message)}}, true
	}
	connecting := s.having(Connecting)
	if len(connecting) == 0 {
		return Action{}, false
	}
	// Each one has the whole time, a replacement too.
	var latest time.Time
	for _, c := range connecting {
		begun := s.Begun
		if c.Since.After(begun) {
			begun = c.Since
		}
		if expires := begun.Add(s.Policy.StartTimeout); latest.IsZero() || expires.Before(latest) {
			latest = expires
		}
	}
	if now.Before(latest) {
		return Action{Kind: Wait, Until: latest}, true
	}
	var why []string
	for _, c := range connecting {
		why = append(why, fmt.Sprintf("%s (%s)", c.Key, orUnknown(c.Message)))
	}
	return Action{Kind: Fail, Failure: &Failure{Reason: ReasonStartTimeout,
		Message: fmt.Sprintf("after %s these clients were not ready: %s",
			s.Policy.StartTimeout, strings.Join(why, ", "))}}, true
}

// missed are the lost clients that are still needed in a step: one that has done its part is not.
func (s Snapshot) missed(step Step, record Record) []Client {
	attempt := Attempt{Step: step.ID, Number: record.Attempt}
	return slices.DeleteFunc(s.having(Lost), func(c Client) bool {
		part := c.Attempts[attempt]
		return part.Progress == Ended && part.Failed == nil && !part.Left
	})
}

// lose applies the policy to lost clients; false means that the run goes on without them.
func (s Snapshot) lose(lost []Client, step Step, record Record) (Action, bool) {
	attempt := Attempt{Step: step.ID, Number: record.Attempt}
	switch s.Policy.OnLoss {
	case ContinueDegraded:
		if len(s.having(Ready)) > 0 && s.everyTargetHasClient(step) {
			return Action{}, false
		}
	case RestartStep:
		if action, pending := s.restart(lost, step, record, attempt); pending {
			return action, true
		}
	case FailRun:
	}
	first := lost[0]
	message := fmt.Sprintf("client %s was lost: %s", first.Key, orUnknown(first.Message))
	if s.Policy.OnLoss == RestartStep {
		message += fmt.Sprintf("; it had been replaced %d times, the most that maxRestarts allows", first.Replacements)
	}
	return Action{Kind: Fail, Failure: &Failure{Reason: ReasonClientLost, Message: message}}, true
}

// restart stops what is left of the attempt, counts a new one, and replaces the lost clients.
// False means that a client was replaced too often.
func (s Snapshot) restart(lost []Client, step Step, record Record, attempt Attempt) (Action, bool) {
	for _, c := range lost {
		if c.Replacements >= s.Policy.MaxRestarts {
			return Action{}, false
		}
	}
	if live := s.live(step, attempt); len(live) > 0 {
		return Action{Kind: Stop, Attempt: attempt, Clients: live, Until: s.latestEnd(record)}, true
	}
	if len(s.count(step, attempt).loading) > 0 {
		return Action{Kind: Wait}, true
	}
	if !record.Start.IsZero() || s.touched(step, attempt) {
		return Action{Kind: Retry, Attempt: Attempt{Step: step.ID, Number: record.Attempt + 1}, Clients: keys(lost)}, true
	}
	return Action{Kind: Replace, Clients: keys(lost)}, true
}

// run brings one step from nothing to its recorded result.
func (s Snapshot) run(step Step, record Record, now time.Time) Action {
	if old, live := s.left(step, record); len(live) > 0 {
		return Action{Kind: Stop, Attempt: old, Clients: live}
	}
	attempt := Attempt{Step: step.ID, Number: record.Attempt}
	counts := s.count(step, attempt)
	switch {
	case len(counts.failed) > 0 && counts.missedStart(record):
		return Action{Kind: Retry, Attempt: Attempt{Step: step.ID, Number: record.Attempt + 1}}
	case len(counts.failed) > 0:
		return s.abandon(step, record, attempt, counts)
	case len(counts.absent) > 0:
		return Action{Kind: Load, Attempt: attempt, Clients: counts.absent}
	case len(counts.loading) > 0:
		return Action{Kind: Wait}
	case len(counts.loaded) > 0:
		return s.start(step, record, attempt, counts.loaded, now)
	case len(counts.running) == 0 && len(counts.left) > 0:
		// What to do without it is for lose to say, once it is gone.
		return Action{Kind: Wait}
	case len(counts.running) == 0:
		return Action{Kind: RecordResult, Attempt: attempt}
	}
	return Action{Kind: Wait, Until: s.latestEnd(record)}
}

// missedStart says that a client was told to start too late to begin with the others, such as when who
// was to tell it died in between. The step begins anew, so that all do their work at the same time;
// where that happens again and again it fails.
func (c counts) missedStart(record Record) bool {
	return record.Attempt <= maxMissedStarts && !slices.ContainsFunc(c.failed, func(f failedClient) bool {
		return f.failure.Reason != ReasonStartMissed
	})
}

// maxMissedStarts of one step.
const maxMissedStarts = 2

// left is an earlier attempt that some clients are still at.
func (s Snapshot) left(step Step, record Record) (Attempt, []ClientKey) {
	for number := 1; number < record.Attempt; number++ {
		attempt := Attempt{Step: step.ID, Number: number}
		if live := s.live(step, attempt); len(live) > 0 {
			return attempt, live
		}
	}
	return Attempt{}, nil
}

// start sets the common instant once; an intent that is recorded is sent again as it is. A machine so busy
// that clients are told too late will be as busy a second later, so each new attempt is given four times
// as long to tell them.
func (s Snapshot) start(step Step, record Record, attempt Attempt, loaded []ClientKey, now time.Time) Action {
	begin, deadline := record.Start, record.Deadline
	if begin.IsZero() {
		begin = now.Add(s.Policy.StartLead << (2 * min(max(record.Attempt-1, 0), maxMissedStarts)))
		deadline = begin.Add(step.Limit)
	}
	return Action{Kind: Start, Attempt: attempt, Clients: loaded, Start: begin, Deadline: deadline}
}

// overdue gives up on a step whose agents should have ended it by themselves long ago.
func (s Snapshot) overdue(step Step, record Record, now time.Time) (Action, bool) {
	live := s.live(step, Attempt{Step: step.ID, Number: record.Attempt})
	if last := s.latestEnd(record); last.IsZero() || now.Before(last) || len(live) == 0 {
		return Action{}, false
	}
	return Action{Kind: Fail, Failure: &Failure{Reason: ReasonUnresponsive,
		Message: fmt.Sprintf("step %s: client %s is still running %s after the step's deadline",
			step.ID, live[0], s.Policy.StopGrace)}}, true
}

// latestEnd is when the last agent must have ended a step; zero while it is not started.
func (s Snapshot) latestEnd(record Record) time.Time {
	if record.Deadline.IsZero() {
		return time.Time{}
	}
	return record.Deadline.Add(s.Policy.StopGrace)
}

// abandon ends an attempt in which a client failed: the others are stopped, their results kept.
func (s Snapshot) abandon(step Step, record Record, attempt Attempt, counts counts) Action {
	if live := s.live(step, attempt); len(live) > 0 {
		return Action{Kind: Stop, Attempt: attempt, Clients: live, Until: s.latestEnd(record)}
	}
	if len(counts.loading) > 0 {
		return Action{Kind: Wait}
	}
	first := counts.failed[0]
	return Action{Kind: Fail, Attempt: attempt, Failure: &Failure{Reason: first.failure.Reason,
		Message: fmt.Sprintf("step %s: client %s: %s", step.ID, first.key, first.failure.Message)}}
}

// windUp ends a run that is complete, failed or cancelled: load off, result kept, agents away.
func (s Snapshot) windUp(step *Step, record Record, now time.Time) Action {
	if step != nil && s.FinishSent.IsZero() {
		attempt := Attempt{Step: step.ID, Number: record.Attempt}
		overdue := !now.Before(s.EndingSince.Add(s.Policy.StopGrace))
		if live := s.live(*step, attempt); len(live) > 0 && !overdue {
			return Action{Kind: Stop, Attempt: attempt, Clients: live, Until: s.EndingSince.Add(s.Policy.StopGrace)}
		}
		if s.touched(*step, attempt) {
			return Action{Kind: RecordResult, Attempt: attempt}
		}
	}
	return s.finish(now)
}

// finish tells every client to leave and waits for it, for a time.
func (s Snapshot) finish(now time.Time) Action {
	var here []ClientKey
	for _, c := range s.Clients {
		if c.Connection != Lost && c.Connection != Finished {
			here = append(here, c.Key)
		}
	}
	switch {
	case len(here) == 0:
		return Action{Kind: Done}
	case s.FinishSent.IsZero():
		return Action{Kind: Finish, Clients: here}
	case now.Before(s.FinishSent.Add(s.Policy.FinishTimeout)):
		return Action{Kind: Wait, Until: s.FinishSent.Add(s.Policy.FinishTimeout)}
	}
	return Action{Kind: Done}
}

func orUnknown(message string) string {
	if message == "" {
		return "no reason is known"
	}
	return message
}
