package volumes

import (
	"context"
	"sync"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// probes holds the pending probes of volumes. A probe of a file system that does not respond may never return. Later
// callers wait for the pending probe, so that each volume has at most one probe.
type probes struct {
	mu      sync.Mutex
	pending map[string]*probe
	// good holds the latest description without a problem, by volume.
	good map[string]*agentapi.Volume
}

// probe is one probe of one volume; volume is set when done is closed.
type probe struct {
	done   chan struct{}
	volume *agentapi.Volume
}

// describe describes a volume. If the volume does not respond before ctx is done, it returns the last good description,
// because the volume may only be under load, and a reconnecting conductor must not give up the client in this case. If
// the volume has a problem, the next step finds it, because loading a step checks the volume again.
func (s *Set) describe(ctx context.Context, configured tool.VolumeConfig) *agentapi.Volume {
	joined := s.probe(configured)
	select {
	case <-joined.done:
		return joined.volume
	case <-ctx.Done():
	}
	s.probes.mu.Lock()
	defer s.probes.mu.Unlock()
	if good := s.probes.good[configured.Name]; good != nil {
		return good
	}
	return &agentapi.Volume{Name: configured.Name, Path: configured.Place().String(),
		Problem: "the file system does not respond: check that its server is up"}
}

// probe begins a probe of a volume, or joins the pending one.
func (s *Set) probe(configured tool.VolumeConfig) *probe {
	known := &s.probes
	known.mu.Lock()
	defer known.mu.Unlock()
	if pending := known.pending[configured.Name]; pending != nil {
		return pending
	}
	begun := &probe{done: make(chan struct{})}
	if known.pending == nil {
		known.pending, known.good = map[string]*probe{}, map[string]*agentapi.Volume{}
	}
	known.pending[configured.Name] = begun
	before := known.good[configured.Name]
	go func() {
		begun.volume = s.describeWithOwners(configured, before)
		known.mu.Lock()
		delete(known.pending, configured.Name)
		if begun.volume.GetProblem() == "" {
			known.good[configured.Name] = begun.volume
		}
		known.mu.Unlock()
		close(begun.done)
	}()
	return begun
}

// describeWithOwners describes a volume, and lists the other benchmarks that have directories on it. The argument
// before is the latest description without a problem, or nil if there is none.
func (s *Set) describeWithOwners(configured tool.VolumeConfig, before *agentapi.Volume) *agentapi.Volume {
	volume := describeVolume(configured)
	if volume.GetProblem() != "" || configured.Device || configured.ReadOnly {
		return volume
	}
	if before != nil {
		// List the owners only once: if the volume is under load, another listing would have to wait for the I/O of the
		// load.
		volume.Owners = before.GetOwners()
		return volume
	}
	// If listing fails, no owners are reported, so none of their data is removed.
	if mount, err := configured.Place().Find(); err == nil {
		volume.Owners, _ = dataset.Owners(mount, s.env.Config.Installation, s.env.Config.BenchmarkUID)
	}
	return volume
}

// describeVolume describes a volume, with a problem if it cannot be used.
func describeVolume(configured tool.VolumeConfig) *agentapi.Volume {
	volume := &agentapi.Volume{Name: configured.Name, Path: configured.Place().String()}
	if configured.Device {
		describeDevice(volume)
		return volume
	}
	mount, err := configured.Place().Look()
	if err != nil {
		volume.Problem = configured.Advise(err).Error()
		return volume
	}
	volume.FilesystemType, volume.Source, volume.Options = mount.FilesystemType, mount.Source, mount.Options
	volume.Device, volume.TotalBytes, volume.AvailableBytes = mount.Device, mount.TotalBytes, mount.AvailableBytes
	return volume
}
