package fio

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pierrec/lz4/v4"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// likeTime limits the time for sampling the user's own data.
const likeTime = 30 * time.Second

// knownLike caches samples of the user data that compressLike names, by volume and path. The load writes data that
// compresses as well as the sample. Each sample is taken once, so that all phases of a run write equally compressible
// data even if the user's files change during the run.
type knownLike struct {
	mu    sync.Mutex
	found map[string]*agentapi.DataSample
}

// findLike measures how well the user data named by compressLike compresses. It returns nil if the step does not set
// compressLike.
func (t *Tool) findLike(step *tool.Step) (*agentapi.DataSample, error) {
	name := step.Request.GetFio().GetCompressLike()
	if name == "" {
		return nil, nil
	}
	volume, err := t.volumes.Named(step.Request.GetVolume())
	if err != nil {
		return nil, tool.Refuse(tool.ReasonVolume, err)
	}
	known := &t.like
	known.mu.Lock()
	defer known.mu.Unlock()
	key := volume.Name + "/" + name
	if known.found[key] == nil {
		sample, err := sampleOf(volume.Place().String(), name)
		if errors.Is(err, dataset.ErrMissing) {
			return nil, tool.Refuse(tool.ReasonMissing, fmt.Errorf("compressLike: %w: specify a file or a directory "+
				"with your own data, relative to the target's path", err))
		}
		if err != nil {
			return nil, tool.Refuse(tool.ReasonVolume, fmt.Errorf("compressLike: %w", err))
		}
		if known.found == nil {
			known.found = map[string]*agentapi.DataSample{}
		}
		known.found[key] = sample
	}
	return known.found[key], nil
}

// sampleOf compresses records of the data with lz4, each record separately, as file systems do. A record that
// compression would enlarge counts at its uncompressed size.
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
		return nil, fmt.Errorf("sample %s: no data could be read", name)
	}
	ratio := float64(bytes) / float64(stored)
	return &agentapi.DataSample{
		Files: uint64(files),                                                                          // #nosec G115 -- not negative
		Bytes: bytes, RatioMilli: int64(ratio*1000 + 0.5), Percent: int32(fio.PercentFor(ratio))}, nil // #nosec G115 -- at most 98
}
