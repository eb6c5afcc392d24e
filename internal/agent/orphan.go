package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/agent/volumes"
)

// Abandon ends the agent without a command from its conductor. It removes the agent's data unless KeepData is set, and
// returns the line to print.
func (a *Agent) Abandon(reason string) string {
	a.mu.Lock()
	a.leaving = true
	a.mu.Unlock()
	outcome := a.finish(volumes.Removal{Own: !a.env.Config.KeepData}, reason)
	line := fmt.Sprintf("agent %s/%d of run %s: %s",
		a.env.Config.Target, a.env.Config.Client, a.env.Config.RunName, reason)
	switch {
	case outcome.Problem != "":
		return line + "; its load was stopped, but its data remains: " + outcome.Problem
	case outcome.Removed:
		return line + "; its load was stopped and its data removed"
	}
	return line + "; its load was stopped and its data kept"
}

// WatchOrphaned returns when ctx is done, or when the agent has had no contact for the orphan timeout, counted from the
// last contact or the current step's deadline, whichever is later. An open Watch counts as contact, because the server
// notices when its peer is gone.
func (a *Agent) WatchOrphaned(ctx context.Context) error {
	ticker := time.NewTicker(min(time.Second, a.env.Config.OrphanTimeout))
	defer ticker.Stop()
	for {
		if a.silence() > a.env.Config.OrphanTimeout {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// silence returns the time since the last contact or since the current step's deadline, whichever is later.
func (a *Agent) silence() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watchers > 0 {
		a.lastContact = a.env.Clock.Monotonic()
	}
	since := a.lastContact
	if a.live != nil {
		since = max(since, a.live.deadline())
	}
	return time.Duration(a.env.Clock.Monotonic() - since)
}
