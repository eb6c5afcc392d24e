package volumes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/dataset"
)

// maxStays limits the number of reported reasons why directories were not removed.
const maxStays = 16

// clearLeft removes the data that deleted benchmarks and earlier runs of this benchmark left on this client's
// volumes. It runs last, so that it does not affect the measurement.
func (s *Set) clearLeft(remove Removal) dataset.OrphanResult {
	if len(remove.Gone) == 0 && remove.Clients == 0 {
		return dataset.OrphanResult{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.env.Timeouts.Remove)
	defer cancel()
	cleared := make(chan dataset.OrphanResult, 1)
	go func() {
		var sum dataset.OrphanResult
		for _, volume := range s.env.Config.Volumes {
			if volume.Device || volume.ReadOnly {
				continue
			}
			found, err := s.clearVolume(ctx, volume, remove)
			sum.Removed += found.Removed
			sum.Stays = append(sum.Stays, found.Stays...)
			if err != nil {
				sum.Stays = append(sum.Stays, fmt.Sprintf("volume %s: %s", volume.Name, tool.OneLine(err)))
			}
		}
		sum.Stays = sum.Stays[:min(len(sum.Stays), maxStays)]
		cleared <- sum
	}()
	select {
	case left := <-cleared:
		return left
	case <-time.After(s.env.Timeouts.Remove + s.env.Timeouts.Gone):
		return dataset.OrphanResult{Stays: []string{fmt.Sprintf("the file system did not answer within %s",
			s.env.Timeouts.Remove)}}
	}
}

func (s *Set) clearVolume(ctx context.Context, volume tool.VolumeConfig, remove Removal) (dataset.OrphanResult, error) {
	var sum dataset.OrphanResult
	mount, err := volume.Place().Find()
	if err != nil {
		if errors.Is(err, dataset.ErrMissing) && volume.Folder != "" {
			err = nil // The run's directory was never created, so there is no data to remove.
		}
		return sum, err
	}
	var all []dataset.OrphanFilter
	for _, uid := range remove.Gone {
		all = append(all, dataset.OrphanFilter{BenchmarkUID: uid, Installation: s.env.Config.Installation,
			Holder: s.holder()})
	}
	if remove.Clients > 0 {
		all = append(all, dataset.OrphanFilter{
			BenchmarkUID: s.env.Config.BenchmarkUID, Own: true, Kept: !s.env.Config.KeepData, Holder: s.holder(),
			Spare: func(hash string, client int) bool { return hash == s.env.Config.DatasetHash && client < remove.Clients },
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
