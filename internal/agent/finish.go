package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/dataset"
)

// removeTimeout bounds the removal of one client's files.
const removeTimeout = 5 * time.Minute

// finish stops what is live, waits until it is gone, removes the data if asked, and lets the
// process exit. Later calls get the first one's outcome.
func (a *Agent) finish(removeData bool, reason string) finishOutcome {
	a.finishOnce.Do(func() {
		a.mu.Lock()
		a.finishing = true
		live := a.live
		a.mu.Unlock()
		if live != nil {
			live.stop(reason)
			<-live.ended
		}
		a.outcome = a.tidy(removeData)
		close(a.finished)
	})
	<-a.finished
	return a.outcome
}

// tidy removes this client's data from every volume.
func (a *Agent) tidy(removeData bool) finishOutcome {
	if !removeData {
		return finishOutcome{}
	}
	var problems []error
	for _, volume := range a.config.Volumes {
		if err := a.removeFrom(volume); err != nil {
			problems = append(problems, fmt.Errorf("volume %s: %w", volume.Name, err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return finishOutcome{problem: err.Error()}
	}
	return finishOutcome{removed: true}
}

// removeFrom removes this client's directory from a volume; none there is no error.
func (a *Agent) removeFrom(volume VolumeConfig) error {
	mount, err := dataset.ProveMount(volume.Path, volume.Expect)
	if err != nil {
		return err
	}
	directory, err := dataset.Open(mount, a.location())
	if errors.Is(err, dataset.ErrMissing) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), removeTimeout)
	defer cancel()
	return errors.Join(directory.Remove(ctx), directory.Close())
}

func (a *Agent) location() dataset.Location {
	return dataset.Location{
		BenchmarkUID: a.config.BenchmarkUID,
		DatasetHash:  a.config.DatasetHash,
		Client:       a.config.Client,
	}
}

// Abandon ends the agent when nobody is there to tell it so: its data goes unless it was to be
// kept. It returns what to say about it.
func (a *Agent) Abandon(reason string) string {
	outcome := a.finish(!a.config.KeepData, reason)
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
// the later of the last contact and the live step's deadline; or when the context ends.
func (a *Agent) WatchOrphaned(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		a.mu.Lock()
		since := a.lastContact
		if a.live != nil {
			since = max(since, a.live.deadline())
		}
		a.mu.Unlock()
		if time.Duration(a.clock.Monotonic()-since) > a.config.OrphanTimeout {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
