package decide

import (
	"slices"
	"time"
)

// start sets the common start once; a recorded start is sent again unchanged. A machine that was too busy to deliver
// the start in time will be just as busy a second later, so each new attempt gets four times the lead.
func (s Snapshot) start(step Step, record Record, attempt Attempt, loaded []ClientKey, now time.Time) Action {
	begin, deadline := record.Start, record.Deadline
	if begin.IsZero() {
		lead := s.Policy.StartLead << (2 * min(max(record.Attempt-1, 0), maxMissedStarts))
		begin = now.Add(min(lead, longestLead))
		deadline = begin.Add(step.Limit)
	}
	return Action{Kind: Start, Attempt: attempt, Clients: loaded, Start: begin, Deadline: deadline}
}

// missedStart reports whether the step is to be repeated because clients received the start too late to begin with the
// others, for example because the conductor died while sending it. It returns false if a client failed for another
// reason, or after several such attempts.
//
// If one client of an MPI job missed the start, the failures of the job's other clients are only consequences and do
// not count.
func (c counts) missedStart(record Record) bool {
	if c.coupled && slices.ContainsFunc(c.failed, func(f failedClient) bool { return f.failure.Reason == ReasonStartMissed }) {
		return record.Attempt <= maxMissedStarts
	}
	return record.Attempt <= maxMissedStarts && !slices.ContainsFunc(c.failed, func(f failedClient) bool {
		return f.failure.Reason != ReasonStartMissed
	})
}

// maxMissedStarts limits how often a step is repeated because of missed starts. With one client the first attempt has a
// lead of 42 ms and the third less than a second, which was not enough on a machine with two processors and fifty
// programs competing for them. The fifth has ten seconds.
const maxMissedStarts = 4

// longestLead is the maximum lead. Even with many clients, the lead of the first attempt is only one second.
const longestLead = 16 * time.Second
