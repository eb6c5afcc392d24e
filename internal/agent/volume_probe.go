package agent

import (
	"context"
	"sync"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// looks are the looks at volumes that have not come back yet. One at a file system that does not
// answer may never; whoever asks again joins it, so that there is one at most for each volume.
type looks struct {
	mu      sync.Mutex
	pending map[string]*look
	// installation and besides say whose directories are told of; see dataset.Owners.
	installation, besides string
	// good are the newest looks that found nothing wrong.
	good map[string]*agentapi.Volume
}

// look is one look at one volume; volume is set when done is closed.
type look struct {
	done   chan struct{}
	volume *agentapi.Volume
}

// at looks at a volume, until the context ends. One that was good before is taken as it was when it
// does not answer now: it may be under load, and a conductor that connects again must not give the
// client up for that. Loading a step looks again.
func (l *looks) at(ctx context.Context, configured VolumeConfig) *agentapi.Volume {
	joined := l.join(configured)
	select {
	case <-joined.done:
		return joined.volume
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if good := l.good[configured.Name]; good != nil {
		return good
	}
	return &agentapi.Volume{Name: configured.Name, Path: configured.place().String(),
		Problem: "its file system does not answer; look whether its server is up"}
}

func (l *looks) join(configured VolumeConfig) *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	if pending := l.pending[configured.Name]; pending != nil {
		return pending
	}
	begun := &look{done: make(chan struct{})}
	if l.pending == nil {
		l.pending, l.good = map[string]*look{}, map[string]*agentapi.Volume{}
	}
	l.pending[configured.Name] = begun
	go func() {
		begun.volume = l.describe(configured)
		l.mu.Lock()
		delete(l.pending, configured.Name)
		if begun.volume.GetProblem() == "" {
			l.good[configured.Name] = begun.volume
		}
		l.mu.Unlock()
		close(begun.done)
	}()
	return begun
}

// describe looks at a volume, and at who else has directories there.
func (l *looks) describe(configured VolumeConfig) *agentapi.Volume {
	volume := describeVolume(configured)
	if volume.GetProblem() != "" || configured.Device || configured.ReadOnly {
		return volume
	}
	l.mu.Lock()
	before := l.good[configured.Name]
	l.mu.Unlock()
	if before != nil {
		// Once is enough, and a look under load takes its turn behind it.
		volume.Owners = before.GetOwners()
		return volume
	}
	// Where that cannot be told nobody is asked about, and nothing of theirs removed.
	if mount, err := configured.place().Find(); err == nil {
		volume.Owners, _ = dataset.Owners(mount, l.installation, l.besides)
	}
	return volume
}

// describeVolume looks at a volume, with its problem where it cannot be used.
func describeVolume(configured VolumeConfig) *agentapi.Volume {
	volume := &agentapi.Volume{Name: configured.Name, Path: configured.place().String()}
	if configured.Device {
		describeDevice(volume)
		return volume
	}
	mount, err := configured.place().Look()
	if err != nil {
		volume.Problem = configured.advise(err).Error()
		return volume
	}
	volume.FilesystemType, volume.Source, volume.Options = mount.FilesystemType, mount.Source, mount.Options
	volume.Device, volume.TotalBytes, volume.AvailableBytes = mount.Device, mount.TotalBytes, mount.AvailableBytes
	return volume
}
