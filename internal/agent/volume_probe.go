package agent

import (
	"context"
	"sync"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// looks holds the pending probes of volumes. A probe of a file system that does not respond may never return. Later
// callers join it, so that each volume has at most one probe.
type looks struct {
	mu      sync.Mutex
	pending map[string]*look
	// installation and besides select the benchmarks whose directories are reported; see dataset.Owners.
	installation, besides string
	// good holds the latest result without a problem, by volume.
	good map[string]*agentapi.Volume
}

// look is one probe of one volume; volume is set when done is closed.
type look struct {
	done   chan struct{}
	volume *agentapi.Volume
}

// at describes a volume, within the lifetime of the context. If the volume does not respond in time, at returns its
// last good description: the volume may be under load, and a reconnecting conductor must not give up the client
// because of that. Loading a step checks the volume again.
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

// describe describes a volume, and lists the other benchmarks that have directories on it.
func (l *looks) describe(configured VolumeConfig) *agentapi.Volume {
	volume := describeVolume(configured)
	if volume.GetProblem() != "" || configured.Device || configured.ReadOnly {
		return volume
	}
	l.mu.Lock()
	before := l.good[configured.Name]
	l.mu.Unlock()
	if before != nil {
		// List the owners only once: under load, another listing would wait behind that load.
		volume.Owners = before.GetOwners()
		return volume
	}
	// On an error no owners are listed, so none of their data is removed.
	if mount, err := configured.place().Find(); err == nil {
		volume.Owners, _ = dataset.Owners(mount, l.installation, l.besides)
	}
	return volume
}

// describeVolume describes a volume, with a problem if it cannot be used.
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
