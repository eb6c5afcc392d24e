package decide

import (
	"fmt"
	"time"
)

// running decides on a step in which somebody is still at work: it ends by what it has measured, where
// that was said and not too early, else by itself.
func (s Snapshot) running(step Step, record Record, attempt Attempt, counts counts, now time.Time) Action {
	last := s.latestEnd(record)
	reason, earliest := s.Enough[attempt], record.Start.Add(step.Earliest)
	switch {
	case !record.Concluded.IsZero():
		// Nothing shows whether all were told.
		return Action{Kind: Stop, Attempt: attempt, Clients: counts.running, Until: last}
	case step.Latest > 0 && !now.Before(record.Start.Add(step.Latest)):
		reason = fmt.Sprintf("it has lasted for %s, the longest that it may", step.Latest)
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

// allRun says that everybody who is left in the step is at work. While one has ended, or is about to be
// lost, the load is no longer what the step asks for, and what it measures says nothing.
func (c counts) allRun() bool {
	return len(c.running) > 0 && len(c.absent)+len(c.loading)+len(c.loaded)+len(c.ended) == 0
}

// latestEnd is when the last agent must have ended a step; zero while it is not started.
func (s Snapshot) latestEnd(record Record) time.Time {
	if record.Deadline.IsZero() {
		return time.Time{}
	}
	end := record.Deadline
	if !record.Concluded.IsZero() {
		end = earlier(end, record.Concluded)
	}
	return end.Add(s.Policy.StopGrace)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
