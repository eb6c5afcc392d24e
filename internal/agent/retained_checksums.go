package agent

import (
	"context"
	"time"

	"github.com/storagebench/storagebench/internal/dataset"
)

// sumKept records checksums of some blocks of all retained data, so that the next run can verify the data. It runs
// once, at the end, because every writing step would invalidate the record, and because reads spend credits. If it
// fails, the next run checks only for zeros.
func (a *Agent) sumKept() {
	ctx, cancel := context.WithTimeout(context.Background(), a.timeouts.files)
	defer cancel()
	summed := make(chan struct{})
	go func() {
		defer close(summed)
		for _, volume := range a.config.Volumes {
			if volume.Device || volume.ReadOnly || a.holds.of(volume.Name) == nil {
				continue // the agent wrote nothing there
			}
			_ = a.sumVolume(ctx, volume)
		}
	}()
	select {
	case <-summed:
	case <-time.After(a.timeouts.files + a.timeouts.gone):
		// The file system does not respond. The record is not worth a longer wait.
	}
}

func (a *Agent) sumVolume(ctx context.Context, volume VolumeConfig) error {
	mount, err := volume.place().Find()
	if err != nil {
		return err
	}
	directory, err := dataset.Open(mount, a.location(a.config.Client))
	if err != nil {
		return err
	}
	defer func() { _ = directory.Close() }()
	if err := directory.Confirm(a.holds.of(volume.Name)); err != nil {
		return err
	}
	if a.config.KeepData {
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
