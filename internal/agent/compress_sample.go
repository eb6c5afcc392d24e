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

// likeTime bounds the time for sampling the user's own data.
const likeTime = 30 * time.Second

// knownLike caches the samples of user data whose compressibility the load imitates (compressLike), by volume and
// path. Each sample is taken once, so that all phases of a run write equally compressible data even if those files
// change meanwhile.
type knownLike struct {
	mu    sync.Mutex
	found map[string]*agentapi.DataSample
}

// findLike measures how well the user data named by compressLike compresses.
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

// sampleOf compresses records of the data with lz4, each record separately, as file systems do. A record that would
// grow counts with its uncompressed size.
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

// job returns fio's job, with the compression of the sampled data if there is one.
func (s *step) job() string {
	job := s.request.GetFio().GetJob()
	if s.like == nil {
		return job
	}
	return fio.WithCompressPercentage(job, int(s.like.GetPercent()))
}

// content identifies what the step writes into its files, including the compression ratio of sampled data; empty if
// the step writes nothing.
func (s *step) content() string {
	content := s.request.GetDataset().GetContent()
	if content != "" && s.like != nil {
		content += "-like-" + strconv.Itoa(int(s.like.GetPercent()))
	}
	return content
}
