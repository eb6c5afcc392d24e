package decide

import (
	"fmt"
	"slices"
	"time"
)

// running handles a step whose clients are running. It concludes the step when the step's Latest time is reached, or
// when the step has measured enough and its Earliest time has passed. Until then, it waits; in the meantime, the tools
// may finish and end the step.
func (s Snapshot) running(step Step, record Record, attempt Attempt, counts counts, now time.Time) Action {
	last := s.latestEnd(record)
	reason, earliest := s.Enough[attempt], record.Start.Add(step.Earliest)
	switch {
	case !record.Concluded.IsZero():
		// Send the stop command again, because the snapshot does not show whether all clients received it.
		return Action{Kind: Stop, Attempt: attempt, Clients: counts.running, Until: last}
	case step.Latest > 0 && !now.Before(record.Start.Add(step.Latest)):
		reason = fmt.Sprintf("maxDuration (%s) reached", step.Latest)
	case reason == "" || !counts.allRun():
		if step.Latest > 0 {
			last = earlier(last, record.Start.Add(step.Latest))
		}
		return Action{Kind: Wait, Until: last}
	case now.Before(earliest):
		return Action{Kind: Wait, Until: earlier(last, earliest)}
	}
	record.Concluded = now
	return Action{Kind: Conclude, Attempt: attempt, Clients: counts.running, Reason: reason, Until: s.latestEnd(record)}
}

// stopConcluded replaces Wait by Stop if clients still run a concluded step. An earlier conductor may have died before
// it stopped these clients, and waiting until the other clients are reached can take minutes.
func (s Snapshot) stopConcluded(step Step, record Record, action Action) Action {
	attempt := Attempt{Step: step.ID, Number: record.Attempt}
	live := s.live(step, attempt)
	if action.Kind != Wait || record.Concluded.IsZero() || len(live) == 0 {
		return action
	}
	return Action{Kind: Stop, Attempt: attempt, Clients: live, Until: earlier(action.Until, s.latestEnd(record))}
}

// allRun reports whether all remaining clients of the step are running. Once a client has ended or is about to be lost,
// the remaining load is not the requested load, so its samples must not conclude the step.
func (c counts) allRun() bool {
	return len(c.running) > 0 && len(slices.Concat(c.absent, c.loading, c.loaded, c.ended)) == 0
}

// latestEnd returns the time by which the last agent must have ended a step. It is zero before the step starts.
func (s Snapshot) latestEnd(record Record) time.Time {
	if record.Deadline.IsZero() {
		return time.Time{}
	}
	end := record.Deadline
	if !record.Concluded.IsZero() {
		// If this conductor took over after the conclusion, count from the takeover: an earlier conductor may have died
		// before it asked the agents to stop.
		end = earlier(end, later(record.Concluded, s.ConductedSince))
	}
	return end.Add(s.Policy.StopGrace)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
