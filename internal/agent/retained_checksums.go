package agent

import (
	"context"
	"time"

	"github.com/storagebench/storagebench/internal/dataset"
)

// sumKept notes, of all data that stays behind, what some of its blocks hold: the next run then knows them again. It is done
// once, at the end, because every step that writes would make it untrue, and reads spend credits. Where it cannot be done
// the next run looks for zeros alone.
func (a *Agent) sumKept() {
	ctx, cancel := context.WithTimeout(context.Background(), a.timeouts.files)
	defer cancel()
	summed := make(chan struct{})
	go func() {
		defer close(summed)
		for _, volume := range a.config.Volumes {
			if volume.Device || volume.ReadOnly || a.holds.of(volume.Name) == nil {
				continue // It has made nothing there.
			}
			_ = a.sumVolume(ctx, volume)
		}
	}()
	select {
	case <-summed:
	case <-time.After(a.timeouts.files + a.timeouts.gone):
		// The file system does not answer; nobody waits for a courtesy.
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
