package conductor

import (
	"slices"
	"sync"

	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
)

// interest determines which of an agent's reports about an attempt the conductor keeps.
type interest int

const (
	// unrequested means that the agent was never asked to run the attempt: its reports are dropped.
	unrequested interest = iota
	// past means that the attempt has been recorded or repeated. Only its contribution to the totals is kept and, until it
	// has ended, its progress.
	past
	// current means that all reports about the attempt are kept until it is forgotten.
	current
)

// maxUnrecorded is the maximum number of attempts per step that can be missing from the records when a conductor
// starts. It is 1, because records from a cache can lag behind by one write, and the status is written several times
// during an attempt.
const maxUnrecorded = 1

// requested holds the attempts that the clients of a run have been asked to run.
type requested struct {
	mu    sync.Mutex
	steps map[string]*requestedStep
}

type requestedStep struct {
	// takes reports whether a client takes part in the step.
	takes func(decide.ClientKey) bool
	// newest is the number of the newest attempt that may have been requested from a client. recorded is the number of
	// the newest attempt that counts as past, because its result is recorded or a later attempt was requested.
	newest, recorded int
}

// newRequested returns the attempts that earlier conductors may have requested. For each step of the plan, these are
// all attempts up to the newest recorded attempt (or the first attempt, if none is recorded), and maxUnrecorded further
// attempts.
func newRequested(steps []plan.Step, records map[string]decide.Record) *requested {
	a := &requested{steps: map[string]*requestedStep{}}
	for _, step := range steps {
		made := &requestedStep{newest: 1 + maxUnrecorded, takes: func(key decide.ClientKey) bool {
			return slices.Contains(step.Targets, key.Target) && key.Index < step.Clients
		}}
		if record := records[step.ID]; record.Attempt > 0 {
			made.newest = record.Attempt + maxUnrecorded
			if made.recorded = record.Attempt - 1; record.Done {
				made.recorded = record.Attempt
			}
		}
		a.steps[step.ID] = made
	}
	return a
}

// ask adds the attempt that is now being requested from the clients, and marks all earlier attempts of the step as
// past.
func (a *requested) ask(attempt decide.Attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	step := a.steps[attempt.Step]
	if step == nil {
		step = &requestedStep{takes: func(decide.ClientKey) bool { return true }}
		a.steps[attempt.Step] = step
	}
	step.newest = max(step.newest, attempt.Number)
	step.recorded = max(step.recorded, attempt.Number-1)
}

// record marks an attempt as past because its result has been recorded.
func (a *requested) record(attempt decide.Attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if step := a.steps[attempt.Step]; step != nil {
		step.recorded = max(step.recorded, attempt.Number)
	}
}

// of returns which of a client's reports about an attempt to keep.
func (a *requested) of(key decide.ClientKey, attempt decide.Attempt) interest {
	a.mu.Lock()
	defer a.mu.Unlock()
	step := a.steps[attempt.Step]
	switch {
	case step == nil, attempt.Number < 1, attempt.Number > step.newest, !step.takes(key):
		return unrequested
	case attempt.Number <= step.recorded:
		return past
	}
	return current
}
