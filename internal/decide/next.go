package decide

import (
	"fmt"
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
	if action, ends := s.once(*step, begun, now); ends {
		return action
	}
	if action, pending := s.meet(*step, begun, now); pending {
		return action
	}
	if step.Idle {
		return s.idle(*step, begun, now)
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
	return s.reach(now)
}

// reach waits for clients that are not ready yet, and gives up on what never will be.
func (s Snapshot) reach(now time.Time) (Action, bool) {
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

// run brings one step from nothing to its recorded result.
func (s Snapshot) run(step Step, record Record, now time.Time) Action {
	if old, live := s.left(step, record); len(live) > 0 {
		return Action{Kind: Stop, Attempt: old, Clients: live}
	}
	attempt := Attempt{Step: step.ID, Number: record.Attempt}
	counts := s.count(step, attempt)
	switch {
	case len(counts.failed) > 0:
		return s.abandon(step, record, attempt, counts)
	case len(counts.parted) > 0:
		return s.part(step, record, attempt, counts, now)
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
	return s.running(step, record, attempt, counts, now)
}

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

// overdue gives up on a step whose agents should have ended it by themselves long ago.
func (s Snapshot) overdue(step Step, record Record, now time.Time) (Action, bool) {
	live := s.live(step, Attempt{Step: step.ID, Number: record.Attempt})
	if last := s.latestEnd(record); last.IsZero() || now.Before(last) || len(live) == 0 {
		return Action{}, false
	}
	end := "the step's deadline"
	if !record.Concluded.IsZero() {
		end = "it was told that enough was measured"
	}
	return Action{Kind: Fail, Failure: &Failure{Reason: ReasonUnresponsive,
		Message: fmt.Sprintf("step %s: client %s is still running %s after %s",
			step.ID, live[0], s.Policy.StopGrace, end)}}, true
}

// abandon ends an attempt in which a client failed: the others are stopped, their results kept. Where all
// that went wrong is that a client was told too late, there is another attempt.
func (s Snapshot) abandon(step Step, record Record, attempt Attempt, counts counts) Action {
	if live := s.live(step, attempt); len(live) > 0 {
		return Action{Kind: Stop, Attempt: attempt, Clients: live, Until: s.latestEnd(record)}
	}
	if len(counts.loading) > 0 {
		return Action{Kind: Wait}
	}
	if counts.missedStart(record) {
		return Action{Kind: Retry, Attempt: Attempt{Step: step.ID, Number: record.Attempt + 1}}
	}
	first := counts.failed[0]
	return Action{Kind: Fail, Attempt: attempt, Failure: &Failure{Reason: first.failure.Reason,
		Message: fmt.Sprintf("step %s: client %s: %s", step.ID, first.key, first.failure.Message)}}
}

// windUp ends a run that is complete, failed or cancelled: load off, result kept, agents away.
func (s Snapshot) windUp(step *Step, record Record, now time.Time) Action {
	if step != nil && s.FinishSent.IsZero() {
		attempt := Attempt{Step: step.ID, Number: record.Attempt}
		patience := s.EndingSince.Add(s.stopGrace())
		working, live := s.left(*step, record)
		if len(live) == 0 {
			working, live = attempt, s.live(*step, attempt)
		}
		if len(live) > 0 && now.Before(patience) {
			return Action{Kind: Stop, Attempt: working, Clients: live, Until: patience}
		}
		if s.touched(*step, attempt) || step.Idle && !record.Start.IsZero() {
			return Action{Kind: RecordResult, Attempt: attempt}
		}
	}
	return s.finish(now)
}

// deadlineGrace is how long tools may take to stop in good order once the run's own deadline has passed. Agents that are
// told to finish then kill theirs after a while.
const deadlineGrace = 20 * time.Second

// stopGrace is how long a run that ends waits for its clients to stop.
func (s Snapshot) stopGrace() time.Duration {
	if s.Failure != nil && s.Failure.Reason == ReasonDeadline {
		return min(deadlineGrace, s.Policy.StopGrace)
	}
	return s.Policy.StopGrace
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
