package agent

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/storagebench/storagebench/internal/dataset"
)

// noticeHeld says that a client's last agent is waited for.
const noticeHeld = "DirectoryHeld"

// holds are the agent's grips on the client's directory, by volume. A pod that was deleted by force is gone for the
// cluster while its agent still lives: the client's next agent, in the same directory, waits for it here, and the old
// one touches nothing that is not its own any more.
type holds struct {
	mu    sync.Mutex
	taken map[string]*dataset.Hold
}

func (h *holds) of(volume string) *dataset.Hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.taken[volume]
}

func (h *holds) set(volume string, hold *dataset.Hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken == nil {
		h.taken = map[string]*dataset.Hold{}
	}
	h.taken[volume] = hold
}

// release lets go of all.
func (h *holds) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, hold := range h.taken {
		hold.Release()
	}
	h.taken = nil
}

// holder is how the agent names itself to whoever waits for it.
func (a *Agent) holder() dataset.Holder {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return dataset.Holder{Instance: a.instance, Run: a.config.RunName, RunUID: a.config.RunUID, Host: host}
}

// take makes the client's own directory on a volume and holds it until the agent ends. Where its last agent is not
// gone yet it waits for that, and says so.
func (s *step) take(volume VolumeConfig, mount dataset.Mount) (*dataset.Dataset, error) {
	a := s.agent
	location := a.location(a.config.Client)
	if hold := a.holds.of(volume.Name); hold != nil {
		directory, err := dataset.Create(mount, location, a.owner())
		if err != nil {
			return nil, err
		}
		err = directory.Confirm(hold)
		if err == nil {
			return directory, nil
		}
		_ = directory.Close()
		if !errors.Is(err, dataset.ErrMissing) {
			return nil, err
		}
		// All of it was removed, by whom it is not ours to ask.
		hold.Release()
	}
	ctx, cancel := context.WithTimeout(s.stopped, a.timeouts.held)
	defer cancel()
	directory, hold, err := dataset.Take(ctx, mount, location, a.owner(), a.holder(), func(other dataset.Holder) {
		s.notice(noticeHeld, "client %d's directory is still held by %s; its end is waited for, for %s at most",
			a.config.Client, other, a.timeouts.held)
	})
	if err != nil {
		return nil, err
	}
	a.holds.set(volume.Name, hold)
	return directory, nil
}

// openToRemove opens a client's directory for its removal, which nobody else may be using.
func (a *Agent) openToRemove(ctx context.Context, volume VolumeConfig, mount dataset.Mount, client int) (*dataset.Dataset, error) {
	location := a.location(client)
	if hold := a.holds.of(volume.Name); hold != nil && client == a.config.Client {
		directory, err := dataset.Open(mount, location)
		if err != nil {
			return nil, err
		}
		if err := directory.Confirm(hold); err != nil && !errors.Is(err, dataset.ErrMissing) {
			_ = directory.Close()
			return nil, err
		}
		return directory, nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeouts.heldAtEnd)
	defer cancel()
	directory, hold, err := dataset.TakeOver(ctx, mount, location, a.holder())
	if err == nil && client == a.config.Client {
		a.holds.set(volume.Name, hold)
	}
	return directory, err
}
