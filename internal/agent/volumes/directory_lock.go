package volumes

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/dataset"
)

// noticeHeld is the notice logged while the agent waits for the client's previous agent to exit.
const noticeHeld = "DirectoryHeld"

// holds contains the agent's locks on the client's directory, by volume. When a pod is deleted by force, its agent may
// still run although the cluster no longer lists the pod. The client's next agent uses the same directory and waits
// here for the old agent. The old agent does not touch files that it no longer owns.
type holds struct {
	mu    sync.Mutex
	taken map[string]*dataset.Hold
	// owners holds, by volume, the UID of the benchmark whose retained data the agent reads. All steps must read the same
	// data, because only that data is locked.
	owners map[string]string
}

func (h *holds) of(volume string) *dataset.Hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.taken[volume]
}

// set stores the lock on a volume's directory and releases the previous one.
func (h *holds) set(volume string, hold *dataset.Hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken == nil {
		h.taken = map[string]*dataset.Hold{}
	}
	h.taken[volume].Release()
	h.taken[volume] = hold
}

func (h *holds) readFrom(volume string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.owners[volume]
}

func (h *holds) setReadFrom(volume, benchmarkUID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.owners == nil {
		h.owners = map[string]string{}
	}
	h.owners[volume] = benchmarkUID
}

// drop releases the lock on a volume's directory. It also removes the lock from h, because the lock's file is closed.
func (h *holds) drop(volume string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken[volume].Release()
	delete(h.taken, volume)
}

// release releases all locks.
func (h *holds) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, hold := range h.taken {
		hold.Release()
	}
	h.taken = nil
}

// holder describes this agent to other agents that wait for its directory.
func (s *Set) holder() dataset.Holder {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return dataset.Holder{Instance: s.instance, Run: s.env.Config.RunName, RunUID: s.env.Config.RunUID, Host: host}
}

// take creates the client's own directory on a volume and locks it until the agent exits. If the client's previous
// agent still holds the lock, take logs a notice and waits.
func (f *Files) take(mount dataset.Mount) (*dataset.Dataset, error) {
	s, client := f.set, f.set.env.Config.Client
	location := s.Location(client)
	if hold := s.holds.of(f.volume.Name); hold != nil {
		directory, err := dataset.Create(mount, location, s.owner())
		if err != nil {
			return nil, err
		}
		confirm := directory.Confirm
		if f.laysOut() {
			confirm = directory.ConfirmMark
		}
		if err = confirm(hold); err == nil {
			return directory, nil
		}
		_ = directory.Close()
		if !errors.Is(err, dataset.ErrMissing) {
			return nil, err
		}
		// The directory and its holder record were removed after an earlier step. Create and lock the directory again.
		s.holds.drop(f.volume.Name)
	}
	timeout := s.env.Timeouts.Held
	ctx, cancel := context.WithTimeout(f.step.Stopped, timeout)
	defer cancel()
	directory, hold, err := dataset.Take(ctx, mount, location, s.owner(), s.holder(), func(other dataset.Holder) {
		f.step.Notice(noticeHeld, "client %d's directory is still locked by %s; waiting at most %s for that agent to exit",
			client, other, timeout)
	})
	if err != nil {
		return nil, err
	}
	s.holds.set(f.volume.Name, hold)
	return directory, nil
}

// laysOut reports whether the step creates the data that later steps use.
func (f *Files) laysOut() bool {
	wanted := f.request.GetDataset()
	return wanted.GetNewBytes() > 0 || len(wanted.GetWrites()) > 0 || len(wanted.GetNewFolders()) > 0
}

// openToRemove opens a client's directory for removal, once no other agent uses it. The conductor knows which agents
// are gone, so at its request openToRemove takes the directory over from them. If leaving is true, the agent exits
// without a request and may already have been replaced by another agent. In this case, openToRemove takes only a
// directory that is certainly unused; see dataset.TakeUnused.
func (s *Set) openToRemove(ctx context.Context, volume tool.VolumeConfig, mount dataset.Mount, client int, leaving bool) (*dataset.Dataset, error) {
	location := s.Location(client)
	if hold := s.holds.of(volume.Name); hold != nil && client == s.env.Config.Client {
		directory, err := dataset.Open(mount, location)
		if err != nil {
			if errors.Is(err, dataset.ErrMissing) {
				s.holds.drop(volume.Name) // Unlock the holder record, which cannot be removed while it is locked.
			}
			return nil, err
		}
		if err = directory.ConfirmMark(hold); err == nil {
			return directory, nil
		}
		_ = directory.Close()
		if !errors.Is(err, dataset.ErrMissing) {
			return nil, err
		}
		s.holds.drop(volume.Name) // The holder record is gone, so the directory was already removed.
	}
	takeOver := dataset.TakeOver
	if leaving {
		takeOver = dataset.TakeUnused
	}
	ctx, cancel := context.WithTimeout(ctx, s.env.Timeouts.HeldAtEnd)
	defer cancel()
	directory, hold, err := takeOver(ctx, mount, location, s.holder())
	if err == nil && client == s.env.Config.Client {
		s.holds.set(volume.Name, hold)
	}
	return directory, err
}
