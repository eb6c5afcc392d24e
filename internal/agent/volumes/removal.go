package volumes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/dataset"
)

// Removal lists the data that an agent removes when it exits.
type Removal struct {
	// Own is true if the agent removes its own client's data.
	Own bool
	// Others lists lost clients of the same target. The agent removes their data from volumes that they shared with its
	// own client.
	Others []int
	// Gone lists the UIDs of benchmarks that no longer exist, and Clients is the number of clients of the target; see
	// FinishRequest.
	Gone    []string
	Clients int
	// Leaving is true if the agent exits without a request from its conductor.
	Leaving bool
}

// Outcome is the result of removing the data when an agent finishes.
type Outcome struct {
	Removed bool
	Problem string
	// Left describes the removal of data left by deleted benchmarks and by earlier runs.
	Left dataset.OrphanResult
}

// Remove removes data from all volumes.
func (s *Set) Remove(remove Removal) Outcome {
	outcome := s.removeClients(remove)
	outcome.Left = s.clearLeft(remove)
	return outcome
}

// Release releases the agent's locks on its directories and devices.
func (s *Set) Release() {
	s.holds.release()
	s.devices.release()
}

func (s *Set) removeClients(remove Removal) Outcome {
	var clients []int
	if remove.Own {
		clients = append(clients, s.env.Config.Client)
	}
	for _, other := range remove.Others {
		if !slices.Contains(clients, other) {
			clients = append(clients, other)
		}
	}
	if len(clients) == 0 {
		return Outcome{}
	}
	var problems []error
	for _, volume := range s.env.Config.Volumes {
		if err := s.removeFrom(volume, clients, remove.Leaving); err != nil {
			problems = append(problems, fmt.Errorf("volume %s: %w", volume.Name, err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return Outcome{Problem: tool.OneLine(err)}
	}
	return Outcome{Removed: remove.Own}
}

// removeFrom removes the directories of clients from a volume. A missing directory is not an error.
func (s *Set) removeFrom(volume tool.VolumeConfig, clients []int, leaving bool) error {
	timeouts := &s.env.Timeouts
	ctx, cancel := context.WithTimeout(context.Background(), timeouts.Remove)
	defer cancel()
	removed := make(chan error, 1)
	go func() {
		var failed error
		for _, client := range clients {
			failed = errors.Join(failed, volume.Advise(s.remove(ctx, volume, client, leaving)))
		}
		removed <- failed
	}()
	select {
	case err := <-removed:
		return err
	case <-time.After(timeouts.Remove + timeouts.Gone):
		// The context's deadline had no effect, because a file system call has not returned.
		return fmt.Errorf("remove the data below %s: the file system did not answer within %s",
			volume.Place(), timeouts.Remove)
	}
}

func (s *Set) remove(ctx context.Context, volume tool.VolumeConfig, client int, leaving bool) error {
	if volume.Device {
		return s.clearDevice(ctx, volume, client)
	}
	if volume.ReadOnly {
		return nil // The volume is read-only, so it contains nothing to remove.
	}
	place := volume.Place()
	mount, err := place.Find()
	if errors.Is(err, dataset.ErrMissing) && place.Folder != "" {
		return nil // The run's directory was never created, so there is nothing to remove.
	}
	if err != nil {
		return err
	}
	directory, err := s.openToRemove(ctx, volume, mount, client, leaving)
	if errors.Is(err, dataset.ErrMissing) {
		// Load may have created the directory and then failed, for example for lack of space. Remove the empty
		// directory.
		return dataset.RemoveEmpty(mount, s.Location(client))
	}
	if err != nil {
		return err
	}
	removal := directory.Remove
	if leaving {
		removal = directory.RemoveWithLock
	}
	return errors.Join(removal(ctx), directory.Close())
}
