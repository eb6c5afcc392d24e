package local

import (
	"fmt"
	"slices"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/record"
)

// apply carries an action out. settled is false when it changed the facts at once, so that there is
// more to decide before anything happens outside.
func (r *runner) apply(action decide.Action, snapshot decide.Snapshot) (settled bool, err error) {
	switch action.Kind {
	case decide.Wait, decide.Done:
		return true, nil
	case decide.Load:
		return true, r.load(action)
	case decide.Start:
		if len(r.run.Status.Environments) == 0 {
			record.Environments(r.run, r.conductor.Environments())
		}
		record.Intent(r.run, action)
		r.conductor.Start(action.Attempt, action.Clients, action.Start, action.Deadline)
		return true, nil
	case decide.Stop:
		r.conductor.Stop(action.Attempt, action.Clients, snapshot.WhyStopped())
		return true, nil
	case decide.RecordResult:
		step := r.options.Plan.Step(action.Attempt.Step)
		record.Result(r.run, step, action.Attempt, r.conductor.Results(action.Attempt), r.now())
		r.conductor.Forget(action.Attempt)
	case decide.Retry:
		record.Retry(r.run, action, r.now())
	case decide.Replace:
		return true, r.replace(action, snapshot)
	case decide.Fail:
		record.Fail(r.run, *action.Failure, r.now())
	case decide.Finish:
		record.Finishing(r.run, r.now())
		r.finish(action.Clients)
		return true, nil
	}
	return false, nil
}

// load sends a step, rendered for each client, to its agents.
func (r *runner) load(action decide.Action) error {
	requests, err := conductor.LoadRequests(r.options.Plan.Step(action.Attempt.Step), action.Clients, r.run.Spec.Seed)
	if err != nil {
		return err
	}
	r.conductor.Load(action.Attempt, action.Clients, requests)
	return nil
}

// replace starts new agents in place of lost ones.
func (r *runner) replace(action decide.Action, snapshot decide.Snapshot) error {
	for _, client := range snapshot.Clients {
		if !slices.Contains(action.Clients, client.Key) {
			continue
		}
		record.Lost(r.run, client, true, r.now())
		// One that is out of reach may live, and load the files of its replacement.
		r.agents[client.Key].Kill()
		r.killOrphans()
		if err := r.add(client.Key); err != nil {
			return err
		}
	}
	return nil
}

// add starts an agent and connects to it.
func (r *runner) add(key decide.ClientKey) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.targets[key.Target]
	bundle, err := r.authority.Client(key.Target, key.Index)
	if err != nil {
		return fmt.Errorf("make the identity of client %s: %w", key, err)
	}
	spawned, err := StartAgent(r.options.AgentCommand, agent.Config{
		RunUID:       string(r.run.UID),
		RunName:      r.run.Name,
		Target:       key.Target,
		Client:       key.Index,
		Listen:       "127.0.0.1:0",
		Identity:     bundle,
		Volumes:      []agent.VolumeConfig{{Name: "data", Path: t.mount.Path, Expect: dataset.Expectation{Device: t.mount.Device, Inode: t.mount.Inode}}},
		Benchmark:    r.options.Benchmark.Name,
		BenchmarkUID: t.uid,
		DatasetHash:  r.options.Plan.DatasetHash,
		KeepData:     t.keep,
		FioPath:      r.options.FioPath,
		// The lifeline tells sooner; this is for a runner that lives and does not speak.
		OrphanTimeout: time.Hour,
	}, t.lock.File())
	if err != nil {
		return fmt.Errorf("client %s: %w", key, err)
	}
	r.agents[key] = spawned
	endpoint, err := spawned.Endpoint(key, string(r.run.UID), r.authority)
	if err != nil {
		return fmt.Errorf("client %s: %w", key, err)
	}
	lose := r.conductor.Connect(endpoint)
	spawned.Follow(func(message string) {
		r.killOrphans()
		lose(message)
	})
	return nil
}

// finish tells agents to leave, with or without their data.
func (r *runner) finish(keys []decide.ClientKey) {
	for _, t := range r.targets {
		var own []decide.ClientKey
		for _, key := range keys {
			if key.Target == t.name {
				own = append(own, key)
			}
		}
		r.conductor.Finish(own, conductor.FinishOptions{RemoveData: !t.keep}, func(decide.ClientKey, *agentapi.FinishResponse) {
			// What an agent could not remove is found and named by the sweep at the end.
		})
	}
}

// observe tells how the run stands.
func (r *runner) observe(snapshot decide.Snapshot) {
	progress := Progress{Run: r.run}
	for _, fact := range r.run.Status.Steps {
		if fact.State != v1alpha1.StepRunning || fact.EndTime != nil || fact.StartTime == nil {
			continue
		}
		attempt := decide.Attempt{Step: fact.ID, Number: int(fact.Attempt)}
		live := &Live{Step: r.options.Plan.Step(fact.ID), Elapsed: r.now().Sub(fact.StartTime.Time)}
		for _, client := range snapshot.Clients {
			if client.Attempts[attempt].Progress == decide.Running {
				live.Clients++
			}
		}
		live.BytesPerSecond, live.IOPS = r.conductor.Rate(attempt)
		progress.Live = live
	}
	r.options.Observe(progress)
}
