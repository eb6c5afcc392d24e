package agent

import (
	"context"
	"sync"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// looks are the looks at volumes that have not come back yet. One at a file system that does not
// answer may never; whoever asks again joins it, so that there is one at most for each volume.
type looks struct {
	mu      sync.Mutex
	pending map[string]*look
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
		begun.volume = describeVolume(configured)
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

// describeVolume looks at a volume, with its problem where it cannot be used.
func describeVolume(configured VolumeConfig) *agentapi.Volume {
	volume := &agentapi.Volume{Name: configured.Name, Path: configured.place().String()}
	mount, err := configured.place().Look()
	if err != nil {
		volume.Problem = configured.advise(err).Error()
		return volume
	}
	volume.FilesystemType, volume.Source, volume.Options = mount.FilesystemType, mount.Source, mount.Options
	volume.Device, volume.TotalBytes, volume.AvailableBytes = mount.Device, mount.TotalBytes, mount.AvailableBytes
	return volume
}
