package agent

import (
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agent/volumes"
)

// finish stops the current step, waits for its end, removes the data if requested, and lets the process exit. Later
// calls wait for the first call and return its outcome.
func (a *Agent) finish(remove volumes.Removal, reason string) volumes.Outcome {
	a.finishOnce.Do(func() {
		a.mu.Lock()
		a.finishing = true
		live := a.live
		remove.Leaving = a.leaving
		a.mu.Unlock()
		a.tools.close()
		if live != nil && !a.end(live, reason) {
			a.outcome = volumes.Outcome{Problem: fmt.Sprintf(
				"step %s does not end because its file system does not respond; its files were left unchanged",
				tool.StepName(live.key))}
		} else {
			if !remove.Own {
				a.volumes.Checksum()
			}
			a.outcome = a.volumes.Remove(remove)
			a.volumes.Release()
		}
		close(a.finished)
	})
	<-a.finished
	return a.outcome
}

// end stops a step, by force if it does not stop in time, and reports whether it has ended.
func (a *Agent) end(live *step, reason string) bool {
	live.stop(reason)
	select {
	case <-live.ended:
		return true
	case <-time.After(a.env.Timeouts.Finish):
	}
	live.abandon()
	select {
	case <-live.ended:
		return true
	case <-time.After(4 * a.env.Timeouts.Gone):
		// The step hangs. The wait above was longer than the timeouts for the tool's output, process and descendants
		// together.
		return false
	}
}
