package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/dataset"
)

// finish stops what is live, waits until it is gone, removes the data if asked, and lets the
// process exit. Later calls get the first one's outcome.
func (a *Agent) finish(removeData bool, reason string) finishOutcome {
	a.finishOnce.Do(func() {
		a.mu.Lock()
		a.finishing = true
		live := a.live
		a.mu.Unlock()
		if live != nil && !a.end(live, reason) {
			a.outcome = finishOutcome{problem: fmt.Sprintf(
				"step %s does not end, so its files were not touched: its file system does not answer", stepName(live.key))}
		} else {
			a.outcome = a.tidy(removeData)
		}
		close(a.finished)
	})
	<-a.finished
	return a.outcome
}

// end stops a step, by force when it takes long, and says whether it has ended.
func (a *Agent) end(live *step, reason string) bool {
	live.stop(reason)
	select {
	case <-live.ended:
		return true
	case <-time.After(a.patient.finish):
	}
	live.abandon()
	select {
	case <-live.ended:
		return true
	case <-time.After(4 * a.patient.gone):
		// More than the waits for output, process and descendants take together.
		return false
	}
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
	ctx, cancel := context.WithTimeout(context.Background(), a.patient.remove)
	defer cancel()
	removed := make(chan error, 1)
	go func() { removed <- remove(ctx, volume, a.location()) }()
	select {
	case err := <-removed:
		return err
	case <-time.After(a.patient.remove + a.patient.gone):
		// The context was not looked at: one call into the file system has not come back.
		return fmt.Errorf("remove the data below %s: the file system did not answer within %s", volume.Path, a.patient.remove)
	}
}

func remove(ctx context.Context, volume VolumeConfig, location dataset.Location) error {
	mount, err := dataset.ProveMount(volume.Path, volume.Expect)
	if err != nil {
		return err
	}
	directory, err := dataset.Open(mount, location)
	if errors.Is(err, dataset.ErrMissing) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(directory.Remove(ctx), directory.Close())
}

func (a *Agent) location() dataset.Location {
	return dataset.Location{
		BenchmarkUID: a.config.BenchmarkUID,
		DatasetHash:  a.config.DatasetHash,
		Client:       a.config.Client,
	}
}

// finishOutcome is what became of the data.
type finishOutcome struct {
	removed bool
	problem string
}
