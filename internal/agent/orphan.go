package agent

import (
	"context"
	"fmt"
	"time"
)

// Abandon ends the agent when nobody is there to tell it so: its data goes unless it was to be
// kept. It returns what to say about it.
func (a *Agent) Abandon(reason string) string {
	a.mu.Lock()
	a.leaving = true
	a.mu.Unlock()
	outcome := a.finish(removal{own: !a.config.KeepData}, reason)
	said := fmt.Sprintf("agent %s/%d of run %s: %s", a.config.Target, a.config.Client, a.config.RunName, reason)
	switch {
	case outcome.problem != "":
		return said + "; its load is stopped, but data is left: " + outcome.problem
	case outcome.removed:
		return said + "; its load is stopped and its data removed"
	}
	return said + "; its load is stopped and its data kept"
}

// WatchOrphaned returns when nobody has spoken to the agent for the orphan timeout, counted from
// the later of the last contact and the live step's deadline; or when the context ends. An open
// Watch is contact: the server finds out when there is nobody at its other end.
func (a *Agent) WatchOrphaned(ctx context.Context) error {
	ticker := time.NewTicker(min(time.Second, a.config.OrphanTimeout))
	defer ticker.Stop()
	for {
		if a.silence() > a.config.OrphanTimeout {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// silence is how long nobody has spoken.
func (a *Agent) silence() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watchers > 0 {
		a.lastContact = a.clock.Monotonic()
	}
	since := a.lastContact
	if a.live != nil {
		since = max(since, a.live.deadline())
	}
	return time.Duration(a.clock.Monotonic() - since)
}
