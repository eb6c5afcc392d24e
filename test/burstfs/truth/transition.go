package truth

import (
	"fmt"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Transition describes the time between the loads of two consecutive steps.
type Transition struct {
	// Before and After are the IDs of the steps.
	Before, After string
	// Dead is the time from the answer to the last request of Before to the first request of After, by the store's record.
	Dead time.Duration
	// InFlight is the time that it took, before that, to answer the requests that were outstanding when the clients were
	// to end their load.
	InFlight time.Duration
	// OursInFlight is the same time as reported by the run.
	OursInFlight time.Duration
}

// Transitions returns the transitions of a run between consecutive steps that both loaded the store.
func Transitions(record Record, run v1alpha1.BenchmarkRunStatus) []Transition {
	var found []Transition
	for i := range max(0, len(run.Steps)-1) {
		before, after := run.Steps[i], run.Steps[i+1]
		if before.LastIOTime == nil || after.FirstIOTime == nil {
			continue
		}
		// The times that clients report are accurate to some milliseconds.
		pause, ok := record.LongestPause(before.LastIOTime.Add(-time.Second/2), after.FirstIOTime.Add(time.Second/2))
		if !ok {
			continue
		}
		one := Transition{Before: before.ID, After: after.ID, Dead: pause.Length(), InFlight: max(0, pause.From.Sub(loadEnd(before)))}
		one.OursInFlight = max(0, before.LastIOTime.Sub(loadEnd(before)))
		found = append(found, one)
	}
	return found
}

// String describes the transition in one line.
func (t Transition) String() string {
	return fmt.Sprintf("%s to %s: dead for %s, and before that %s for what was in flight (the run says %s)", t.Before, t.After,
		t.Dead.Round(time.Millisecond), t.InFlight.Round(time.Millisecond), t.OursInFlight.Round(time.Millisecond))
}
