package decide

import "time"

// idle waits until a step without load is over. The step's start and deadline are recorded first, as for any step, so a
// caller that restarts waits until the same instant.
func (s Snapshot) idle(step Step, record Record, now time.Time) Action {
	attempt := Attempt{Step: step.ID, Number: record.Attempt}
	switch {
	case record.Start.IsZero():
		end := step.idleEnd(now)
		return Action{Kind: Start, Attempt: attempt, Start: now, Deadline: end, Until: end}
	case now.Before(record.Deadline):
		return Action{Kind: Wait, Until: record.Deadline}
	}
	return Action{Kind: RecordResult, Attempt: attempt}
}

// idleEnd returns the end of an idle step that begins now: Until, if earlier steps have determined it, but at most
// Limit from now.
func (s Step) idleEnd(now time.Time) time.Time {
	end := now.Add(s.Limit)
	switch {
	case s.Until.IsZero(), s.Until.After(end):
		return end
	case s.Until.Before(now):
		return now
	}
	return s.Until
}
