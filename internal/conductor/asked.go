package conductor

import (
	"slices"
	"sync"

	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
)

// interest is how much is kept of what an agent reports about an attempt.
type interest int

const (
	// unasked attempts are dropped: nobody asked the agent for them.
	unasked interest = iota
	// past attempts are recorded or repeated: only their progress is kept, and what they add to the totals.
	past
	// current attempts are kept whole until they are forgotten.
	current
)

// ahead is how many attempts may be missing from the records that a conductor begins with. Records that were read from
// a cache can be one write old, and an attempt needs several writes.
const ahead = 1

// asked holds the attempts that the clients of a run were asked for.
type asked struct {
	mu    sync.Mutex
	steps map[string]*askedStep
}

type askedStep struct {
	// takes reports whether a client takes part in the step.
	takes func(decide.ClientKey) bool
	// newest is the newest attempt that a client was asked for, recorded the newest one with a recorded result.
	newest, recorded int
}

// newAsked returns what earlier conductors may have asked for: every step of the plan, and the attempts that are
// recorded.
func newAsked(steps []plan.Step, records map[string]decide.Record) *asked {
	a := &asked{steps: map[string]*askedStep{}}
	for _, step := range steps {
		made := &askedStep{newest: 1 + ahead, takes: func(key decide.ClientKey) bool {
			return slices.Contains(step.Targets, key.Target) && key.Index < step.Clients
		}}
		if record := records[step.ID]; record.Attempt > 0 {
			made.newest = record.Attempt + ahead
			if made.recorded = record.Attempt - 1; record.Done {
				made.recorded = record.Attempt
			}
		}
		a.steps[step.ID] = made
	}
	return a
}

// ask adds an attempt that clients are asked for now. The attempts before it are past.
func (a *asked) ask(attempt decide.Attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	step := a.steps[attempt.Step]
	if step == nil {
		step = &askedStep{takes: func(decide.ClientKey) bool { return true }}
		a.steps[attempt.Step] = step
	}
	step.newest = max(step.newest, attempt.Number)
	step.recorded = max(step.recorded, attempt.Number-1)
}

// record notes that the result of an attempt is stored elsewhere.
func (a *asked) record(attempt decide.Attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if step := a.steps[attempt.Step]; step != nil {
		step.recorded = max(step.recorded, attempt.Number)
	}
}

// of returns how much is kept of a client's part in an attempt.
func (a *asked) of(key decide.ClientKey, attempt decide.Attempt) interest {
	a.mu.Lock()
	defer a.mu.Unlock()
	step := a.steps[attempt.Step]
	switch {
	case step == nil, attempt.Number < 1, attempt.Number > step.newest, !step.takes(key):
		return unasked
	case attempt.Number <= step.recorded:
		return past
	}
	return current
}
