// Package stillness measures for how long the machine keeps this process waiting when it is ready to run. A test that
// measures time can subtract or tolerate these waits, because the machine was stalled or busy.
package stillness

import (
	"sync"
	"testing"
	"time"
)

const (
	// look is the length of each sleep. A sleep that ends late by more than usual counts as a wait.
	look, usual = 5 * time.Millisecond, 10 * time.Millisecond
)

// Watch holds the waits that were found so far.
type Watch struct {
	mu    sync.Mutex
	waits []wait
}

// wait is a time for which the process was ready to run but did not run.
type wait struct{ from, to time.Time }

// During starts to measure, until the end of the test.
func During(t *testing.T) *Watch {
	t.Helper()
	found := &Watch{}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for t.Context().Err() == nil {
			due := time.Now().Add(look)
			time.Sleep(look)
			if now := time.Now(); now.Sub(due) > usual {
				found.add(wait{due, now})
			}
		}
	}()
	t.Cleanup(func() { <-ended }) // The test's context ends before cleanup functions run.
	return found
}

func (w *Watch) add(one wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = append(w.waits, one)
}

// Between returns the total waiting time between two instants.
func (w *Watch) Between(from, to time.Time) (sum time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.waits {
		begin, end := one.from, one.to
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		sum += max(end.Sub(begin), 0)
	}
	return sum
}

// Total returns the total waiting time so far.
func (w *Watch) Total() time.Duration { return w.Between(time.Time{}, time.Now()) }
