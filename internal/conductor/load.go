package conductor

import (
	"fmt"
	"maps"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/plan"
)

// LoadRequest returns the request that sends a step to one client. It depends only on the plan, the run's seed and the
// job, so a repeated request is byte-identical.
func LoadRequest(step plan.Step, key decide.ClientKey, seed int64, job Job) (*agentapi.LoadRequest, error) {
	request, made, err := render(step, key, seed, job)
	if err != nil {
		return nil, err
	}
	request.LoadTimeoutNanoseconds = step.RunLimit.Nanoseconds()
	dataset, use := request.GetDataset(), step.For(key.Target)
	dataset.NewBytes = newBytes(step, key, job)
	dataset.Sharing = uint32(job.Sharing) //nolint:gosec // Clients are few.
	if made.Files != nil {
		place(request, step, key.Target, maps.Collect(made.Files), job.Devices)
	}
	switch {
	case use.Layout():
		dataset.Writes = dataset.Files
	case made.NeedsFiles:
		dataset.Reads = dataset.Files
	}
	askForSpace(request, step, key.Target)
	return request, nil
}

// render returns the request of one client without its files, and the description of its load.
func render(step plan.Step, key decide.ClientKey, seed int64, job Job) (*agentapi.LoadRequest, engine.Description, error) {
	load, use, client := step.Load(key.Target), step.For(key.Target), step.Client(seed, max(job.Attempt, 1), key.Index)
	use.Devices, client.Version, client.Shared, client.Addresses = job.Devices, job.Version, job.Shared, job.Addresses
	if load.Kind == "" {
		return nil, engine.Description{}, fmt.Errorf("client %s: its target has no workload in step %s", key, step.ID)
	}
	request, err := load.Render(&use, &client)
	if err != nil {
		return nil, engine.Description{}, fmt.Errorf("client %s: %w", key, err)
	}
	made, err := load.Describe(&use)
	if err != nil {
		return nil, engine.Description{}, fmt.Errorf("client %s: %w", key, err)
	}
	return request, made, nil
}

// newBytes returns the number of bytes that the step adds to this client's directory. In a shared directory, client 0
// counts the bytes of all clients, including clients that only later steps load, and the others count none.
func newBytes(step plan.Step, key decide.ClientKey, job Job) uint64 {
	bytes := step.NewBytes[key.Target]
	switch {
	case !job.Shared:
		return bytes
	case key.Index == engine.Launcher:
		return bytes * uint64(max(step.Clients, job.Clients)) //nolint:gosec // Clients are few.
	}
	return 0
}

// Requests returns a function that builds each client's LoadRequest for an attempt of a step, for use with Load. shared
// reports whether all clients of a target work in one directory. An error that wraps a *decide.Failure fails the run.
//
// Requests checks that each request can be built, but does not keep the requests, because one that names 100,000 files
// takes 10 MB.
func (c *Conductor) Requests(step plan.Step, attempt int, keys []decide.ClientKey, seed int64, shared func(target string) bool) (func(decide.ClientKey) *agentapi.LoadRequest, error) {
	ofTarget, ofClient := map[string]Job{}, map[decide.ClientKey]Job{}
	for _, key := range keys {
		job, known := ofTarget[key.Target]
		if !known {
			var err error
			switch {
			case step.Load(key.Target).SpansClients:
				job, err = c.jobOf(step, key.Target, shared(key.Target))
			case shared(key.Target):
				job.Sharing = c.sharing(step, key.Target)
			}
			if err != nil {
				return nil, fmt.Errorf("step %s: %w", step.ID, err)
			}
			ofTarget[key.Target] = job
		}
		job.Attempt, job.Devices = attempt, c.onDevices(key)
		if job.Devices && step.Clients > 1 && shared(key.Target) {
			return nil, &decide.Failure{Reason: v1alpha1.ReasonInvalidWorkload, Message: fmt.Sprintf(
				"the clients of target %s share a raw device and would overwrite each other's data: set claimTemplate.scope to PerClient, or use one client", key.Target)}
		}
		if _, _, err := render(step, key, seed, job); err != nil {
			// The plan could not detect this error: the version of the client's tool was unknown, or another version of the
			// operator made the plan. A retry would fail in the same way, so the error ends the run.
			return nil, fmt.Errorf("step %s: %w", step.ID,
				&decide.Failure{Reason: v1alpha1.ReasonInvalidWorkload, Message: err.Error()})
		}
		ofClient[key] = job
	}
	return func(key decide.ClientKey) *agentapi.LoadRequest {
		request, _ := LoadRequest(step, key, seed, ofClient[key]) // only render, which succeeded above, returns errors
		return request
	}, nil
}
