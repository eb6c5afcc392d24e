// Package stillness measures, beside a test, how long the machine kept a process waiting that wanted to run: what a machine that
// stands still, or is busy with other things, may take from all that a test measures meanwhile.
package stillness

import (
	"sync"
	"testing"
	"time"
)

const (
	// look is how long each sleep is, and usual from how long a wait beyond it on counts.
	look, usual = 5 * time.Millisecond, 10 * time.Millisecond
)

// Watch is what was found so far.
type Watch struct {
	mu    sync.Mutex
	waits []wait
}

// wait is a time in which the process wanted to run, and did not.
type wait struct{ from, to time.Time }

// During measures to the end of a test.
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
	t.Cleanup(func() { <-ended }) // The context of a test ends before.
	return found
}

func (w *Watch) add(one wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = append(w.waits, one)
}

// Between is how long it waited from one instant to another.
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

// Total is how long it waited, in all.
func (w *Watch) Total() time.Duration { return w.Between(time.Time{}, time.Now()) }
