package decide

import (
	"slices"
	"time"
)

// start sends the time of the common start to the clients. It chooses this time unless an earlier decision has already
// recorded it. The lead is the time from the decision until the start. Each new attempt has four times the lead of the
// previous one, because a machine that was too busy to deliver the start in time will be just as busy a second later.
func (s Snapshot) start(step Step, record Record, attempt Attempt, loaded []ClientKey, now time.Time) Action {
	begin, deadline := record.Start, record.Deadline
	if begin.IsZero() {
		lead := s.Policy.StartLead << (2 * min(max(record.Attempt-1, 0), maxMissedStarts))
		begin = now.Add(min(lead, longestLead))
		deadline = begin.Add(step.Limit)
	}
	return Action{Kind: Start, Attempt: attempt, Clients: loaded, Start: begin, Deadline: deadline}
}

// missedStart reports whether the step must be repeated because clients received the start command too late to begin
// with the others, for example because the conductor died while sending it. It returns false if a client failed for
// another reason, or if the step was already repeated maxMissedStarts times.
//
// If one client of an MPI job missed the start, missedStart ignores the failures of the job's other clients, because
// they are only consequences.
func (c counts) missedStart(record Record) bool {
	if c.coupled && slices.ContainsFunc(c.failed, func(f failedClient) bool { return f.failure.Reason == ReasonStartMissed }) {
		return record.Attempt <= maxMissedStarts
	}
	return record.Attempt <= maxMissedStarts && !slices.ContainsFunc(c.failed, func(f failedClient) bool {
		return f.failure.Reason != ReasonStartMissed
	})
}

// maxMissedStarts limits how often a step is repeated because of missed starts. With one client, the first attempt has
// a lead of 42 ms and the third a lead of less than a second. Both leads were too short on a machine with two
// processors and fifty programs competing for them. The fifth attempt has a lead of ten seconds.
const maxMissedStarts = 4

// longestLead is the maximum time from the decision on the common start to the start itself. It affects only repeated
// attempts: even with many clients, the first attempt has a lead of only one second.
const longestLead = 16 * time.Second
