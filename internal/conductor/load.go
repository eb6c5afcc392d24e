package conductor

import (
	"fmt"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/engine/fio"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// LoadRequest is what one client is told to do in a step. It follows from the plan and the run's
// seed alone, and of a job of MPI from what that is, so that an attempt that is sent again is the same to
// the byte.
func LoadRequest(step plan.Step, key decide.ClientKey, seed int64, job Job) (*agentapi.LoadRequest, error) {
	if step.SpansClients(key.Target) {
		request, err := mpiRequest(step, key, seed, job)
		if err != nil {
			return nil, fmt.Errorf("client %s: %w", key, err)
		}
		askForSpace(request, step, key.Target)
		return request, nil
	}
	if step.RunsCommand(key.Target) {
		return commandRequest(step, key), nil
	}
	profile := step.Workloads[key.Target].Fio
	parameters := step.FioParameters(seed, key.Index)
	names := step.Volumes[key.Target]
	parameters.Volumes, parameters.Devices = len(names), job.Devices
	traits, err := fio.DescribeStep(profile, parameters)
	if err != nil {
		return nil, fmt.Errorf("client %s: %w", key, err)
	}
	rendered, err := fio.Render(profile, parameters)
	if err != nil {
		return nil, fmt.Errorf("client %s: %w", key, err)
	}
	request := &agentapi.LoadRequest{
		Dataset: &agentapi.Dataset{NewBytes: step.NewBytes[key.Target], Files: files(traits, len(names))},
		Tool: &agentapi.LoadRequest_Fio{Fio: &agentapi.FioTool{
			Job:                       rendered,
			WarmUpNanoseconds:         int64(step.WarmUp),
			DurationNanoseconds:       int64(step.Duration),
			SampleIntervalNanoseconds: int64(result.SampleInterval / time.Nanosecond),
			Jobs:                      int32(min(traits.Jobs, 1<<30)), //nolint:gosec // Just bounded.
			MaxOutstanding:            traits.MaxOutstanding,
			Direct:                    !traits.Buffered,
			CompressLike:              profile.CompressLike,
		}},
	}
	place(request, step, key.Target, traits, job.Devices)
	expect(request, step, profile, traits)
	askForSpace(request, step, key.Target)
	return request, nil
}

// expect says what the step must find, what it must have done at its end, and what it writes.
func expect(request *agentapi.LoadRequest, step plan.Step, profile *v1alpha1.FioProfile, traits fio.Traits) {
	switch {
	case step.Purpose == plan.Prepare:
		request.Dataset.Writes = request.Dataset.Files
		request.Dataset.Reuse = true
		request.Dataset.MayHoldZeros = plan.MayHoldZeros(profile)
		request.GetFio().WrittenBytes = traits.DatasetBytes
	case step.Purpose == plan.Precondition:
		request.Dataset.Writes = request.Dataset.Files
		request.GetFio().WrittenBytes = overwritten(traits) * uint64(max(step.Passes, 1))
	case traits.Reads:
		request.Dataset.Reads = request.Dataset.Files
	}
	if step.WorkBound() || traits.Writes {
		request.Dataset.Content = plan.ContentOf(profile)
	}
	if traits.Trims && !step.WorkBound() {
		// What is trimmed is laid out no more, whatever is written beside it.
		request.Dataset.Content += "-trimmed"
	}
}

// overwritten is what one pass over the data writes at least: fio leaves out what remains of a file after
// its last whole block. Where sections have blocks of their own it is not known of which size that is, but
// no file is smaller than one.
func overwritten(traits fio.Traits) uint64 {
	var sum uint64
	for _, bytes := range traits.FileSizes {
		if traits.BlockBytes > 0 {
			sum += bytes - bytes%traits.BlockBytes
		} else {
			sum += bytes / 2
		}
	}
	return sum
}

// Requests gives each client its LoadRequest of a step, for Load. shared says of targets whether all of their
// clients work in one directory. An error that has a *decide.Failure in its chain is the run's.
func (c *Conductor) Requests(step plan.Step, keys []decide.ClientKey, seed int64, shared func(target string) bool) (func(decide.ClientKey) *agentapi.LoadRequest, error) {
	requests := map[decide.ClientKey]*agentapi.LoadRequest{}
	jobs := map[string]Job{}
	for _, key := range keys {
		job, known := jobs[key.Target]
		if step.SpansClients(key.Target) && !known {
			var err error
			if job, err = c.jobOf(step, key.Target, shared(key.Target)); err != nil {
				return nil, fmt.Errorf("step %s: %w", step.ID, err)
			}
			jobs[key.Target] = job
		}
		if job.Devices = c.onDevices(key); job.Devices && step.Clients > 1 && shared(key.Target) {
			return nil, &decide.Failure{Reason: v1alpha1.ReasonInvalidWorkload, Message: fmt.Sprintf(
				"the clients of target %s share a raw device, and would overwrite each other on it: give each a claim of its own by claimTemplate.scope PerClient, or use one client", key.Target)}
		}
		request, err := LoadRequest(step, key, seed, job)
		if err != nil && step.SpansClients(key.Target) {
			// What the plan could not know: this version of the tool does not take it.
			err = &decide.Failure{Reason: v1alpha1.ReasonInvalidWorkload, Message: err.Error()}
		}
		if err != nil {
			return nil, fmt.Errorf("step %s: %w", step.ID, err)
		}
		requests[key] = request
	}
	return func(key decide.ClientKey) *agentapi.LoadRequest { return requests[key] }, nil
}
