package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/pierrec/lz4/v4"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// likeTime bounds a look at the user's own data.
const likeTime = 30 * time.Second

// knownLike is what was found in data that loads are to be like, by volume and path. It is looked at once: all phases of
// a run write alike, whatever becomes of those files meanwhile.
type knownLike struct {
	mu    sync.Mutex
	found map[string]*agentapi.DataSample
}

// findLike finds out how far the data can be compressed that the step's is to be like.
func (s *step) findLike() error {
	name := s.request.GetFio().GetCompressLike()
	if name == "" {
		return nil
	}
	volume, err := s.agent.volume(s.request.GetVolume())
	if err != nil {
		return refuse(ReasonVolume, err)
	}
	known := &s.agent.like
	known.mu.Lock()
	defer known.mu.Unlock()
	key := volume.Name + "/" + name
	if known.found[key] == nil {
		sample, err := sampleOf(volume.place().String(), name)
		if errors.Is(err, dataset.ErrMissing) {
			return refuse(ReasonMissing, fmt.Errorf("compressLike: %w: give a file or a folder with your own data, from the target's path on", err))
		}
		if err != nil {
			return refuse(ReasonVolume, fmt.Errorf("compressLike: %w", err))
		}
		if known.found == nil {
			known.found = map[string]*agentapi.DataSample{}
		}
		known.found[key] = sample
	}
	s.like = known.found[key]
	return nil
}

// sampleOf compresses records of data by lz4, each by itself, as file systems do; one that grows is stored as it is.
func sampleOf(root, name string) (*agentapi.DataSample, error) {
	ctx, cancel := context.WithTimeout(context.Background(), likeTime)
	defer cancel()
	var compressor lz4.Compressor
	target := make([]byte, lz4.CompressBlockBound(dataset.SampleRecordBytes))
	var bytes, stored uint64
	files, err := dataset.Sample(ctx, root, name, func(record []byte) {
		bytes += uint64(len(record))
		length, err := compressor.CompressBlock(record, target)
		if err != nil || length == 0 || length > len(record) {
			length = len(record)
		}
		stored += uint64(length) // #nosec G115 -- not negative
	})
	if err != nil {
		return nil, err
	}
	if bytes == 0 {
		return nil, fmt.Errorf("look at %s: nothing could be read of it", name)
	}
	ratio := float64(bytes) / float64(stored)
	return &agentapi.DataSample{
		Files: uint64(files),                                                                          // #nosec G115 -- not negative
		Bytes: bytes, RatioMilli: int64(ratio*1000 + 0.5), Percent: int32(fio.PercentFor(ratio))}, nil // #nosec G115 -- at most 98
}

// job is what fio is given.
func (s *step) job() string {
	job := s.request.GetFio().GetJob()
	if s.like == nil {
		return job
	}
	return fio.WithCompressPercentage(job, int(s.like.GetPercent()))
}

// content is what the step's files hold, by name; empty where nobody needs to know.
func (s *step) content() string {
	content := s.request.GetDataset().GetContent()
	if content != "" && s.like != nil {
		content += "-like-" + strconv.Itoa(int(s.like.GetPercent()))
	}
	return content
}
