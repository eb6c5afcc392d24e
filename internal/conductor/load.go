package conductor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// LoadRequest is what one client is told to do in a step. It follows from the plan and the run's
// seed alone, so that an attempt that is sent again is the same to the byte.
func LoadRequest(step plan.Step, key decide.ClientKey, seed int64) (*agentapi.LoadRequest, error) {
	profile := step.Workloads[key.Target].Fio
	traits, err := fio.Describe(profile)
	if err != nil {
		return nil, fmt.Errorf("client %s: %w", key, err)
	}
	parameters := fio.Parameters{
		Purpose:     fio.Measure,
		Duration:    step.Duration,
		WarmUp:      step.WarmUp,
		Seed:        uint64(seed) + uint64(step.PhaseIndex)<<32, //nolint:gosec // Any bits are a seed.
		ClientIndex: key.Index,
	}
	if step.Purpose == plan.Prepare {
		parameters.Purpose = fio.Prepare
	}
	job, err := fio.Render(profile, parameters)
	if err != nil {
		return nil, fmt.Errorf("client %s: %w", key, err)
	}
	request := &agentapi.LoadRequest{
		Dataset: &agentapi.Dataset{NewBytes: step.NewBytes[key.Target], Files: files(traits)},
		Tool: &agentapi.LoadRequest_Fio{Fio: &agentapi.FioTool{
			Job:                       job,
			WarmUpNanoseconds:         int64(step.WarmUp),
			DurationNanoseconds:       int64(step.Duration),
			SampleIntervalNanoseconds: int64(result.SampleInterval / time.Nanosecond),
			Jobs:                      int32(min(traits.Jobs, 1<<30)), //nolint:gosec // Just bounded.
			MaxOutstanding:            traits.MaxOutstanding,
			Direct:                    !traits.Buffered,
		}},
	}
	switch {
	case step.Purpose == plan.Prepare:
		request.Dataset.Writes = files(traits)
		request.GetFio().WrittenBytes = traits.DatasetBytes
	case traits.Reads:
		request.Dataset.Reads = files(traits)
	}
	return request, nil
}

// LoadRequests gives each client its LoadRequest of a step, for Conductor.Load.
func LoadRequests(step plan.Step, keys []decide.ClientKey, seed int64) (func(decide.ClientKey) *agentapi.LoadRequest, error) {
	requests := map[decide.ClientKey]*agentapi.LoadRequest{}
	for _, key := range keys {
		request, err := LoadRequest(step, key, seed)
		if err != nil {
			return nil, fmt.Errorf("step %s: %w", step.ID, err)
		}
		requests[key] = request
	}
	return func(key decide.ClientKey) *agentapi.LoadRequest { return requests[key] }, nil
}

func files(traits fio.Traits) []*agentapi.DataFile {
	var all []*agentapi.DataFile
	for _, name := range slices.Sorted(maps.Keys(traits.FileSizes)) {
		all = append(all, &agentapi.DataFile{Name: name, Bytes: traits.FileSizes[name]})
	}
	return all
}
