package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/storagebench/storagebench/internal/dataset"
)

// removal lists the data that an agent removes when it exits.
type removal struct {
	// own is true if this client's data is removed.
	own bool
	// others are lost clients of the same target, whose data on volumes shared with this client is removed.
	others []int
	// gone are the UIDs of benchmarks that no longer exist, and clients is the number of clients of the target; see
	// FinishRequest.
	gone    []string
	clients int
}

// finish stops the live step, waits for its end, removes the data if requested, and lets the process exit. Later
// calls return the outcome of the first.
func (a *Agent) finish(remove removal, reason string) finishOutcome {
	a.finishOnce.Do(func() {
		a.mu.Lock()
		a.finishing = true
		live := a.live
		a.mu.Unlock()
		a.spare.close()
		if live != nil && !a.end(live, reason) {
			a.outcome = finishOutcome{problem: fmt.Sprintf(
				"step %s does not end, so its files were not touched: its file system does not answer", stepName(live.key))}
		} else {
			if !remove.own {
				a.sumKept()
			}
			a.outcome = a.tidy(remove)
			a.clearLeft(remove)
			a.holds.release()
			a.devices.release()
		}
		close(a.finished)
	})
	<-a.finished
	return a.outcome
}

// end stops a step, by force if that takes too long, and reports whether it has ended.
func (a *Agent) end(live *step, reason string) bool {
	live.stop(reason)
	select {
	case <-live.ended:
		return true
	case <-time.After(a.timeouts.finish):
	}
	live.abandon()
	select {
	case <-live.ended:
		return true
	case <-time.After(4 * a.timeouts.gone):
		// This exceeds the timeouts for output, process and descendants together.
		return false
	}
}

// tidy removes data from all volumes.
func (a *Agent) tidy(remove removal) finishOutcome {
	var clients []int
	if remove.own {
		clients = append(clients, a.config.Client)
	}
	for _, other := range remove.others {
		if !slices.Contains(clients, other) {
			clients = append(clients, other)
		}
	}
	if len(clients) == 0 {
		return finishOutcome{}
	}
	var problems []error
	for _, volume := range a.config.Volumes {
		if err := a.removeFrom(volume, clients); err != nil {
			problems = append(problems, fmt.Errorf("volume %s: %w", volume.Name, err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return finishOutcome{problem: oneLine(err)}
	}
	return finishOutcome{removed: remove.own}
}

// removeFrom removes the directories of clients from a volume. A missing directory is not an error.
func (a *Agent) removeFrom(volume VolumeConfig, clients []int) error {
	ctx, cancel := context.WithTimeout(context.Background(), a.timeouts.remove)
	defer cancel()
	removed := make(chan error, 1)
	go func() {
		var failed error
		for _, client := range clients {
			failed = errors.Join(failed, volume.advise(a.remove(ctx, volume, client)))
		}
		removed <- failed
	}()
	select {
	case err := <-removed:
		return err
	case <-time.After(a.timeouts.remove + a.timeouts.gone):
		// The context had no effect: a file system call has not returned.
		return fmt.Errorf("remove the data below %s: the file system did not answer within %s", volume.place(), a.timeouts.remove)
	}
}

func (a *Agent) remove(ctx context.Context, volume VolumeConfig, client int) error {
	if volume.Device {
		return a.clearDevice(ctx, volume, client)
	}
	if volume.ReadOnly {
		return nil // nothing was created there
	}
	place := volume.place()
	mount, err := place.Find()
	if errors.Is(err, dataset.ErrMissing) && place.Folder != "" {
		return nil // the folder was never created
	}
	if err != nil {
		return err
	}
	directory, err := a.openToRemove(ctx, volume, mount, client)
	if errors.Is(err, dataset.ErrMissing) {
		// Load may have failed after creating the directory, for example for lack of space, and left it empty.
		return dataset.RemoveEmpty(mount, a.location(client))
	}
	if err != nil {
		return err
	}
	return errors.Join(directory.Remove(ctx), directory.Close())
}

func (a *Agent) location(client int) dataset.Location {
	return dataset.Location{
		BenchmarkUID: a.config.BenchmarkUID,
		DatasetHash:  a.config.DatasetHash,
		Client:       client,
	}
}

// oneLine returns an error's message as one printable line, because an exiting agent prints only one line.
func oneLine(err error) string { return printable(strings.ReplaceAll(err.Error(), "\n", "; ")) }

// finishOutcome describes what happened to the data.
type finishOutcome struct {
	removed bool
	problem string
	// left describes the removal of data left by deleted benchmarks and by earlier runs.
	left dataset.OrphanResult
}
