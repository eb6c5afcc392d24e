package volumes

import (
	"context"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/dataset"
)

// Checksum records checksums of some blocks of all retained data, so that the next run can verify the data. Checksum
// runs once, at the end, because every step that writes would invalidate the record, and because reads spend credits.
// If Checksum fails, the next run only checks the data for unexpected zeros.
func (s *Set) Checksum() {
	ctx, cancel := context.WithTimeout(context.Background(), s.env.Timeouts.Files)
	defer cancel()
	summed := make(chan struct{})
	go func() {
		defer close(summed)
		for _, volume := range s.env.Config.Volumes {
			if volume.Device || volume.ReadOnly || s.holds.of(volume.Name) == nil {
				continue // The agent wrote no files to this volume, so there are no checksums to record.
			}
			_ = s.sumVolume(ctx, volume)
		}
	}()
	select {
	case <-summed:
	case <-time.After(s.env.Timeouts.Files + s.env.Timeouts.Gone):
		// The file system does not respond. The checksums are optional, so do not wait any longer.
	}
}

func (s *Set) sumVolume(ctx context.Context, volume tool.VolumeConfig) error {
	mount, err := volume.Place().Find()
	if err != nil {
		return err
	}
	directory, err := dataset.Open(mount, s.Location(s.env.Config.Client))
	if err != nil {
		return err
	}
	defer func() { _ = directory.Close() }()
	if err := directory.Confirm(s.holds.of(volume.Name)); err != nil {
		return err
	}
	if s.env.Config.KeepData {
		if err := directory.Keep(); err != nil {
			return err
		}
	}
	known, err := directory.LaidOut()
	if err != nil || len(known) == 0 {
		return err
	}
	if err := directory.Sum(ctx, known); err != nil {
		return err
	}
	return directory.SetLaidOut(known)
}
