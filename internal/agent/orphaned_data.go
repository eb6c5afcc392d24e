package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/dataset"
)

// maxStays limits the reported reasons for directories that could not be removed.
const maxStays = 16

// clearLeft removes the data that deleted benchmarks and earlier runs of this benchmark left on this client's
// volumes. It runs last, so that it does not affect the measurement.
func (a *Agent) clearLeft(remove removal) {
	if len(remove.gone) == 0 && remove.clients == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), a.timeouts.remove)
	defer cancel()
	cleared := make(chan dataset.OrphanResult, 1)
	go func() {
		var sum dataset.OrphanResult
		for _, volume := range a.config.Volumes {
			if volume.Device || volume.ReadOnly {
				continue
			}
			found, err := a.clearVolume(ctx, volume, remove)
			sum.Removed += found.Removed
			sum.Stays = append(sum.Stays, found.Stays...)
			if err != nil {
				sum.Stays = append(sum.Stays, fmt.Sprintf("volume %s: %s", volume.Name, oneLine(err)))
			}
		}
		sum.Stays = sum.Stays[:min(len(sum.Stays), maxStays)]
		cleared <- sum
	}()
	select {
	case a.outcome.left = <-cleared:
	case <-time.After(a.timeouts.remove + a.timeouts.gone):
		a.outcome.left.Stays = []string{fmt.Sprintf("the file system did not answer within %s", a.timeouts.remove)}
	}
}

func (a *Agent) clearVolume(ctx context.Context, volume VolumeConfig, remove removal) (dataset.OrphanResult, error) {
	var sum dataset.OrphanResult
	mount, err := volume.place().Find()
	if err != nil {
		if errors.Is(err, dataset.ErrMissing) && volume.Folder != "" {
			err = nil // the folder was never created
		}
		return sum, err
	}
	var all []dataset.OrphanFilter
	for _, uid := range remove.gone {
		all = append(all, dataset.OrphanFilter{BenchmarkUID: uid, Installation: a.config.Installation, Holder: a.holder()})
	}
	if remove.clients > 0 {
		all = append(all, dataset.OrphanFilter{
			BenchmarkUID: a.config.BenchmarkUID, Own: true, Kept: !a.config.KeepData, Holder: a.holder(),
			Spare: func(hash string, client int) bool { return hash == a.config.DatasetHash && client < remove.clients },
		})
	}
	var failed error
	for _, behind := range all {
		found, err := dataset.RemoveOrphans(ctx, mount, behind)
		sum.Removed += found.Removed
		sum.Stays = append(sum.Stays, found.Stays...)
		failed = errors.Join(failed, err)
	}
	return sum, failed
}
