package decide

import (
	"slices"
	"time"
)

// start sets the common instant once; an intent that is recorded is sent again as it is. A machine so busy
// that clients are told too late will be as busy a second later, so each new attempt is given four times
// as long to tell them.
func (s Snapshot) start(step Step, record Record, attempt Attempt, loaded []ClientKey, now time.Time) Action {
	begin, deadline := record.Start, record.Deadline
	if begin.IsZero() {
		lead := s.Policy.StartLead << (2 * min(max(record.Attempt-1, 0), maxMissedStarts))
		begin = now.Add(min(lead, longestLead))
		deadline = begin.Add(step.Limit)
	}
	return Action{Kind: Start, Attempt: attempt, Clients: loaded, Start: begin, Deadline: deadline}
}

// missedStart says that a client was told to start too late to begin with the others, such as when who
// was to tell it died in between. The step begins anew, so that all do their work at the same time;
// where that happens again and again it fails.
//
// The others of a job that one client had no part in have failed too, whatever they say.
func (c counts) missedStart(record Record) bool {
	if c.coupled && slices.ContainsFunc(c.failed, func(f failedClient) bool { return f.failure.Reason == ReasonStartMissed }) {
		return record.Attempt <= maxMissedStarts
	}
	return record.Attempt <= maxMissedStarts && !slices.ContainsFunc(c.failed, func(f failedClient) bool {
		return f.failure.Reason != ReasonStartMissed
	})
}

// maxMissedStarts of one step. With the 42 ms that one client is given at first, the third attempt has less than a second, which
// a machine of two processors with fifty programs that want them has needed more than; the fifth has ten.
const maxMissedStarts = 4

// longestLead is how far ahead a start is set at most: with many clients the first attempt has a second.
const longestLead = 16 * time.Second
